"""All edits of a clip, in the order in which they make sense."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.editing.locking import lock_feet, require_feet
from gambol.editing.loops import make_loop
from gambol.editing.path import RootMotion
from gambol.editing.root_motion import in_place, require_root, root_node, with_root_motion
from gambol.editing.timing import own_extras, resample, smooth, speed, trim
from gambol.errors import GambolError
from gambol.motion.contacts import Contacts, find_contacts
from gambol.motion.cycles import find_cycle
from gambol.motion.loops import loop_if_any
from gambol.ranges import FPS, SMOOTH, SPEED

VERSION = 1
"""Version of the extras."""


@dataclass(frozen=True)
class EditConfig:
    """Edits of a clip; by default only its events are written."""

    trim: tuple[float, float | None] | None = None
    """Start and end of the part to keep, since the clip's start [s]; None for the end of the clip."""
    speed: Annotated[float, SPEED] = 1.0
    """Factor on the speed."""
    loop: bool = False
    """Cut the clip to its best cycle and close the seam."""
    force: bool = False
    """Loop also a clip in which nothing repeats."""
    smooth: Annotated[float, SMOOTH] | None = None
    """Standard deviation of the Gaussian over time [s]."""
    lock_feet: bool = False
    """Lock feet that bear weight to the ground."""
    in_place: bool = False
    """Remove travel and turn."""
    root_motion: bool = False
    """Move travel and turn to the root node."""
    fps: Annotated[float, FPS] | None = None
    """Frames per second; the clip's own keys if None."""
    events: bool = True
    """Write foot contacts and root motion into the extras."""

    def __post_init__(self) -> None:
        if self.in_place and self.root_motion:
            raise GambolError("in place and root motion exclude each other: travel is taken out, or put on the root")
        if self.force and not self.loop:
            raise GambolError("force is for loop: set both, or leave force out")

    @property
    def words(self) -> tuple[str, ...]:
        """The edits in words, for the name of the new clip."""
        edits = {
            "part": self.trim is not None,
            f"x{self.speed:g}": self.speed != 1,
            "loop": self.loop,
            "smooth": self.smooth is not None,
            "locked": self.lock_feet,
            "in place": self.in_place,
            "root motion": self.root_motion,
            f"{self.fps or 0:g} fps": self.fps is not None,
        }
        return tuple(word for word, done in edits.items() if done)


@dataclass(frozen=True)
class EditedClip:
    """An edited clip."""

    clip: Clip
    notes: tuple[str, ...]
    """The edits in sentences for the user."""
    root_motion: RootMotion | None = None
    """Travel that was separated from the rest; None if it was not."""


def check(character: Character, anatomy: Anatomy, config: EditConfig) -> None:
    """GambolError if an edit cannot be applied to any clip of this character; called before a clip is made."""
    if config.root_motion:
        require_root(character, anatomy)
    if config.lock_feet:
        require_feet(character, anatomy)


def edit(
    character: Character,
    anatomy: Anatomy,
    clip: Clip,
    config: EditConfig,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> EditedClip:
    """Apply the edits: trim, speed, loop, smooth, foot lock, in place or root motion, frame rate, events."""
    if not clip.tracks:
        raise GambolError(f"the clip '{clip.name}' has no tracks: nothing moves in it")
    notes: list[str] = []
    clip = clip.from_zero()
    if config.trim is not None:
        first, last = config.trim
        last = clip.duration if last is None else last
        clip = trim(clip, first, last)
        notes.append(f"trimmed to {first:g} to {last:.4g} s")
    if config.speed != 1:
        clip = speed(clip, config.speed)
        notes.append(f"{config.speed:g} times as fast")
    if config.loop:
        clip = _looped(character, anatomy, clip, config.force, notes)
    if config.smooth is not None:
        loops = _loops(character, anatomy, clip)
        clip = smooth(clip, config.smooth, loops)
        notes.append(f"smoothed over {config.smooth:g} s{', across the seam' if loops else ''}")
    if config.lock_feet:
        clip = _locked(character, anatomy, clip, notes, on_progress)
    clip, path, node = _with_path(character, anatomy, clip, config, notes)
    if config.fps is not None:
        clip, path = _at(clip, config.fps, path, notes)
    clip = replace(clip, extras=own_extras(clip))
    if config.events:
        clip = with_events(character, anatomy, clip, path, node, config.loop)
        count = len(clip.extras["gambol"]["contacts"])
        if count:
            notes.append(f"{count} contact{'s' if count > 1 else ''} of feet noted")
    return EditedClip(clip, tuple(notes), path)


def _loops(character: Character, anatomy: Anatomy, clip: Clip) -> bool:
    """Whether the clip ends as it begins, apart from travel and turn."""
    looped = loop_if_any(character, anatomy, clip)
    return looped.loops and looped.duration == clip.duration


def _looped(character: Character, anatomy: Anatomy, clip: Clip, force: bool, notes: list[str]) -> Clip:
    cycle = find_cycle(character, anatomy, clip, force)
    found = make_loop(character, anatomy, clip, cycle)
    if cycle.closed and cycle.end <= clip.duration:
        notes.append("loops already")
    elif cycle.closed:
        notes.append(f"looped, with the key that was missing at {cycle.end:.2f} s")
    else:
        part = "" if cycle.whole else f" {cycle.start:.2f} s to {cycle.end:.2f} s"
        notes.append(f"looped{part}; seam {cycle.gap:.1%} of the height closed")
    return found


def _locked(
    character: Character, anatomy: Anatomy, clip: Clip, notes: list[str], on_progress: Callable[[int, int], None]
) -> Clip:
    locked = lock_feet(character, anatomy, clip, on_progress)
    if locked.changed:
        notes.append(
            f"feet locked: they slide {locked.after:.1f} instead of {locked.before:.1f} cm/s at a height of 1 m"
        )
    else:
        notes.append(f"feet left as they were: they slide {locked.before:.1f} cm/s at a height of 1 m")
    return locked.clip


def _with_path(
    character: Character, anatomy: Anatomy, clip: Clip, config: EditConfig, notes: list[str]
) -> tuple[Clip, RootMotion | None, str | None]:
    """The clip with its root motion separated, the root motion, and the node that carries it, if any."""
    if config.in_place:
        clip, path = in_place(character, anatomy, clip)
        notes.append(f"in place; {_way(anatomy, path, clip)}")
        return clip, path, None
    if config.root_motion:
        clip, path, node = with_root_motion(character, anatomy, clip)
        sways = ", which keeps its sway since it has no parent" if root_node(character, anatomy) is None else ""
        notes.append(f"root motion on '{node}'{sways}; {_way(anatomy, path, clip)}")
        return clip, path, node
    return clip, None, None


def _way(anatomy: Anatomy, path: RootMotion, clip: Clip) -> str:
    if not path.moves:
        return "no travel"
    way = float(np.linalg.norm(path.positions[-1])) / anatomy.height
    turn = float(np.degrees(path.yaw[-1]))
    turned = f", turns {abs(turn):.0f}° to the {'left' if turn > 0 else 'right'}" if abs(turn) >= 1 else ""
    return f"travels {way:.2f} body heights in {clip.duration:.2f} s{turned}"


def _at(clip: Clip, fps: float, path: RootMotion | None, notes: list[str]) -> tuple[Clip, RootMotion | None]:
    found = resample(clip, fps)
    stretched = found.duration / clip.duration - 1 if clip.duration > 0 else 0.0
    longer = f", {abs(stretched):.1%} {'longer' if stretched > 0 else 'shorter'}" if abs(stretched) > 5e-4 else ""
    count = round(found.duration * fps)
    notes.append(f"{count} frame{'s' if count > 1 else ''} at {fps:g} a second{longer}")
    return found, path and path.lasting(found.duration)


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
