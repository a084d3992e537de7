"""Events of a clip for games: touchdown and lift-off of feet, root motion, and whether it loops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.editing.path import RootMotion
from gambol.motion.contacts import Contacts, find_contacts

VERSION = 1
"""Version of the extras."""


def contact_events(character: Character, anatomy: Anatomy, contacts: Contacts) -> list[dict[str, Any]]:
    """Every contact of a foot with the ground, in the order of touchdowns.

    foot: name such as 'left front leg'; node: name of the foot's joint; down, up: times of touchdown and lift-off since
    the clip's start [s]. A contact that continues across the seam of a loop has `up` after the end of the clip. In a
    clip that does not loop, contacts at its ends begin at 0 and end with it.
    """
    found = []
    for number, leg in enumerate(anatomy.legs):
        joint = leg.foot if leg.foot is not None else leg.chain[-1]
        node = character.skeleton.names[anatomy.body.nodes[joint]]
        for down, up in contacts.spans(number):
            found.append({"foot": anatomy.limb_name(leg), "node": node, "down": round(down, 4), "up": round(up, 4)})
    return sorted(found, key=lambda event: event["down"])


def with_events(
    character: Character,
    anatomy: Anatomy,
    clip: Clip,
    root_motion: RootMotion | None = None,
    node: str | None = None,
    loops: bool = False,
) -> Clip:
    """The clip with its contacts, whether it loops, and its root motion in the extras, under `gambol`. A glTF file
    keeps them as extras of the animation.

    root_motion: travel that was separated from the clip; node: the node that carries it, if any. loops: the clip is
    known to loop, as one in which only a face moves.
    """
    contacts = find_contacts(character, anatomy, clip)
    extras: dict[str, Any] = {
        "version": VERSION,
        "loops": loops or contacts.looped.loops,
        "contacts": contact_events(character, anatomy, contacts),
    }
    if root_motion is not None:
        extras["root_motion"] = {"node": node, **root_motion.json()}
    return replace(clip, extras={**clip.extras, "gambol": extras})
