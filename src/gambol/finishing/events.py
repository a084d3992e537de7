"""Events: when feet come down and leave the ground, for footsteps that can be heard and dust that can be seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.finishing.path import RootMotion
from gambol.motion.contacts import Contacts, find_contacts
from gambol.motion.motion import Motion

VERSION = 1
"""Of what is written into extras."""


def contact_events(character: Character, anatomy: Anatomy, motion: Motion) -> list[dict[str, Any]]:
    """Every time a foot is on the ground, in the order in which they come down.

    foot: as in 'left front leg'; node: the foot's joint in the file; down, up: since the clip's start [s]. Of a contact
    that goes on across the seam of a loop, `up` is after the end of the clip. In a clip that does not loop, `down` is 0
    of feet that stand as it begins, and `up` its length of those that stand as it ends.
    """
    return _events(character, anatomy, find_contacts(character, anatomy, motion))


def _events(character: Character, anatomy: Anatomy, contacts: Contacts) -> list[dict[str, Any]]:
    found = []
    for number, leg in enumerate(anatomy.legs):
        joint = leg.foot if leg.foot is not None else leg.chain[-1]
        node = character.skeleton.names[anatomy.body.nodes[joint]]
        for down, up in contacts.spans(number):
            times = {"down": round(down, 4), "up": round(up, 4)}
            found.append({"foot": anatomy.limb_name(leg), "node": node, **times})
    return sorted(found, key=lambda event: event["down"])


def with_events(
    character: Character,
    anatomy: Anatomy,
    motion: Motion,
    root_motion: RootMotion | None = None,
    node: str | None = None,
    loops: bool = False,
) -> Motion:
    """The clip with what a game wants to know of it in its extras, as `gambol`: contacts, whether it loops, and the way
    of the body. A glTF file keeps them as extras of the animation.

    root_motion: if travel is apart from the rest; node: the one that carries it, if one does. loops: it is known to,
    though it may be a face alone that moves.
    """
    contacts = find_contacts(character, anatomy, motion)
    said: dict[str, Any] = {
        "version": VERSION,
        "loops": loops or contacts.footage.loops,
        "contacts": _events(character, anatomy, contacts),
    }
    if root_motion is not None:
        said["root_motion"] = {"node": node, **root_motion.json()}
    return replace(motion, extras={**motion.extras, "gambol": said})
