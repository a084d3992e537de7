"""From a clip as it was made to one as it is needed, in the order in which its changes make sense."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.errors import GambolError
from gambol.finishing.cycles import find_cycle
from gambol.finishing.events import with_events
from gambol.finishing.locking import lock_feet, require_feet
from gambol.finishing.loops import make_loop
from gambol.finishing.path import RootMotion
from gambol.finishing.root_motion import in_place, require_root, root_node, with_root_motion
from gambol.finishing.timing import from_zero, own_extras, resample, smooth, speed, trim
from gambol.motion.footage import footage_of
from gambol.motion.motion import Motion


@dataclass(frozen=True)
class FinishConfig:
    """What is done to a clip; nothing by default, but that it gets its events."""

    trim: tuple[float, float | None] | None = None
    """The part to keep, since the clip's start [s]; None as its end is that of the clip."""
    speed: float = 1.0
    """How many times as fast."""
    loop: bool = False
    """Cut to the best cycle, its end made to lead into its start."""
    force: bool = False
    """Loop also what does not come round."""
    smooth: float | None = None
    """Standard deviation of the average over time [s]."""
    lock_feet: bool = False
    """Let feet that bear weight stand still."""
    in_place: bool = False
    """Take travel and turn out."""
    root_motion: bool = False
    """Put travel and turn on the node at the root."""
    fps: float | None = None
    """Frames a second; as it is keyed if None."""
    events: bool = True
    """Write contacts of feet, and the way of the body, into its extras."""

    def __post_init__(self) -> None:
        if self.in_place and self.root_motion:
            raise GambolError("in place and root motion exclude each other: travel is taken out, or put on the root")
        if self.force and not self.loop:
            raise GambolError("only a loop can be forced: ask for one, or do not force it")

    @property
    def words(self) -> tuple[str, ...]:
        """What is done, for the name of the new clip."""
        said = {
            "part": self.trim is not None,
            f"x{self.speed:g}": self.speed != 1,
            "loop": self.loop,
            "smooth": self.smooth is not None,
            "locked": self.lock_feet,
            "in place": self.in_place,
            "root motion": self.root_motion,
            f"{self.fps or 0:g} fps": self.fps is not None,
        }
        return tuple(word for word, done in said.items() if done)


@dataclass(frozen=True)
class Finished:
    """A clip, ready to be handed over."""

    motion: Motion
    notes: tuple[str, ...]
    """What was done, in words."""
    root_motion: RootMotion | None = None
    """If travel is apart from the rest."""


def check(character: Character, anatomy: Anatomy, config: FinishConfig) -> None:
    """Refuse, before a clip is made, what cannot be done to any clip of this character."""
    if config.root_motion:
        require_root(character, anatomy)
    if config.lock_feet:
        require_feet(character, anatomy)


def finish(
    character: Character,
    anatomy: Anatomy,
    motion: Motion,
    config: FinishConfig,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Finished:
    """All that the config asks for: trim, speed, loop, smooth, lock feet, in place or root motion, fps, events."""
    if not motion.tracks:
        raise GambolError(f"the clip '{motion.name}' has no tracks: nothing moves in it")
    notes: list[str] = []
    motion = from_zero(motion)
    if config.trim is not None:
        first, last = config.trim
        last = motion.duration if last is None else last
        motion = trim(motion, first, last)
        notes.append(f"trimmed to {first:g} to {last:.4g} s")
    if config.speed != 1:
        motion = speed(motion, config.speed)
        notes.append(f"{config.speed:g} times as fast")
    if config.loop:
        motion = _looped(character, anatomy, motion, config.force, notes)
    if config.smooth is not None:
        loops = _loops(character, anatomy, motion)
        motion = smooth(motion, config.smooth, loops)
        notes.append(f"smoothed over {config.smooth:g} s{', across the seam' if loops else ''}")
    if config.lock_feet:
        motion = _locked(character, anatomy, motion, notes, on_progress)
    motion, path, node = _with_path(character, anatomy, motion, config, notes)
    if config.fps is not None:
        motion, path = _at(motion, config.fps, path, notes)
    motion = replace(motion, extras=own_extras(motion))
    if config.events:
        motion = with_events(character, anatomy, motion, path, node, config.loop)
        count = len(motion.extras["gambol"]["contacts"])
        if count:
            notes.append(f"{count} contact{'s' if count > 1 else ''} of feet noted")
    return Finished(motion, tuple(notes), path)


def _loops(character: Character, anatomy: Anatomy, motion: Motion) -> bool:
    """Whether it ends as it begins; a way may go on."""
    try:
        footage = footage_of(character, anatomy, motion, may_travel=True, may_turn=True)
    except GambolError:  # a single pose, or no bone moves
        return False
    return footage.loops and footage.duration == motion.duration


def _looped(character: Character, anatomy: Anatomy, motion: Motion, force: bool, notes: list[str]) -> Motion:
    cycle = find_cycle(character, anatomy, motion, force)
    found = make_loop(character, anatomy, motion, cycle)
    if cycle.closed and cycle.end <= motion.duration:
        notes.append("loops already")
    elif cycle.closed:
        notes.append(f"looped, with the key that was missing at {cycle.end:.2f} s")
    else:
        part = "" if cycle.whole else f" {cycle.start:.2f} s to {cycle.end:.2f} s"
        notes.append(f"looped{part}; seam {cycle.gap:.1%} of the height closed")
    return found


def _locked(
    character: Character, anatomy: Anatomy, motion: Motion, notes: list[str], on_progress: Callable[[int, int], None]
) -> Motion:
    locked = lock_feet(character, anatomy, motion, on_progress)
    if locked.changed:
        notes.append(
            f"feet locked: they slide {locked.after:.1f} instead of {locked.before:.1f} cm/s at a height of 1 m"
        )
    else:
        notes.append(f"feet left as they were: they slide {locked.before:.1f} cm/s at a height of 1 m")
    return locked.motion


def _with_path(
    character: Character, anatomy: Anatomy, motion: Motion, config: FinishConfig, notes: list[str]
) -> tuple[Motion, RootMotion | None, str | None]:
    """Travel and turn apart from the rest; and the node they are on, if they are."""
    if config.in_place:
        motion, path = in_place(character, anatomy, motion)
        notes.append(f"in place; {_way(anatomy, path, motion)}")
        return motion, path, None
    if config.root_motion:
        motion, path, node = with_root_motion(character, anatomy, motion)
        sways = " with its own sway, as nothing is above it" if root_node(character, anatomy) is None else ""
        notes.append(f"root motion on '{node}'{sways}; {_way(anatomy, path, motion)}")
        return motion, path, node
    return motion, None, None


def _way(anatomy: Anatomy, path: RootMotion, motion: Motion) -> str:
    if not path.moves:
        return "it goes nowhere"
    way = float(np.linalg.norm(path.positions[-1])) / anatomy.height
    turn = float(np.degrees(path.yaw[-1]))
    turned = f", turns {abs(turn):.0f}° to the {'left' if turn > 0 else 'right'}" if abs(turn) >= 1 else ""
    return f"goes {way:.2f} heights in {motion.duration:.2f} s{turned}"


def _at(motion: Motion, fps: float, path: RootMotion | None, notes: list[str]) -> tuple[Motion, RootMotion | None]:
    found = resample(motion, fps)
    stretched = found.duration / motion.duration - 1 if motion.duration > 0 else 0.0
    longer = f", {abs(stretched):.1%} {'longer' if stretched > 0 else 'shorter'}" if abs(stretched) > 5e-4 else ""
    count = round(found.duration * fps)
    notes.append(f"{count} frame{'s' if count > 1 else ''} at {fps:g} a second{longer}")
    return found, path and path.lasting(found.duration)
