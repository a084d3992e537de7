"""Foot contacts of any clip: looping or not, in place or travelling."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.motion.joint_poses import Poses
from gambol.motion.loops import LoopedClip, loop_if_any
from gambol.motion.stances import facing, find_planted_feet, find_travel, soles_of

RATE = 60.0
"""Frames per second at which a clip is sampled."""
FEWEST, MOST = 64, 7200
"""Smallest and largest number of frames."""
TOUCHES = 0.012
"""Largest height of a sole on the ground above where it is in the neutral pose [height]."""
REACHES = 0.06
"""A foot that never comes lower than this above where it is in the neutral pose has no contacts [height]."""
LOW = 0.15
"""Share of a foot's lift below which it is low."""
SLOW = 0.3
"""Largest speed of a loaded foot as a share of its own fastest; only for clips whose ground stands still."""
SLIDES = 0.5
"""A foot that is never faster than this does not swing [heights/s]."""
ODD = 0.02
"""Share of the frames that are ignored as outliers."""
LANDED, SETTLED = 0.01, 0.001
"""Largest height of a foot that is down above the level at which it bears: share of its lift, or [height]. Contacts of
our own gaits are then found 0.04 cycles too long on average; with 0.06, 0.08."""
BRIEF = 0.04
"""Contacts and gaps that last less are noise [s]; at most a twentieth of a clip."""


@dataclass(frozen=True, eq=False)
class Contacts:
    """Foot contacts of one clip."""

    looped: LoopedClip
    times: Float[np.ndarray, " frames"]
    """Even times since the clip's start [s]; the frame after the last of a loop is its first."""
    down: Bool[np.ndarray, "legs frames"]
    """Whether each leg of `Anatomy.legs` has its foot on the ground."""
    ground: Float[np.ndarray, 3]
    """Velocity of the ground below a loop in place [file units/s]; zero if the root travels."""
    loops: bool
    """Whether the clip loops without turning."""

    @property
    def fps(self) -> float:
        """Frames per second; RATE for a single pose."""
        return 1.0 / float(self.times[1] - self.times[0]) if self.looped.duration > 0 else RATE

    def poses(self) -> Poses:
        """T_world_joint as the clip has it [file units]."""
        return plain(self.looped).poses(self.times)

    def spans(self, leg: int) -> list[tuple[float, float]]:
        """Times of touchdown and lift-off of a foot since the start [s]. A contact that continues across the seam of a
        loop ends after the end of the clip."""
        down, duration, step = self.down[leg], self.looped.duration, 1.0 / self.fps
        if down.all():
            return [(0.0, duration)]
        found = [(float(run[0]) * step, float(run[0] + len(run)) * step) for run in runs(down, self.loops)]
        return found if self.loops else [(start, min(end, duration)) for start, end in found]


def find_contacts(character: Character, anatomy: Anatomy, clip: Clip) -> Contacts:
    """Find the foot contacts of a clip."""
    looped = loop_if_any(character, anatomy, clip)
    straight = looped.loops and looped.pivot is None
    count = int(np.clip(round(looped.duration * RATE), FEWEST, MOST))
    times = looped.even(count) if straight else np.linspace(0.0, looped.duration, count)
    return _contacts(looped, times, straight)


def plain(looped: LoopedClip) -> LoopedClip:
    """The clip as it is, with its travel and its turn, without looping."""
    return replace(looped, loops=False, travel=np.zeros(3), turn=0.0, pivot=None)


def _contacts(looped: LoopedClip, times: Float[np.ndarray, " frames"], straight: bool) -> Contacts:
    anatomy, still = looped.anatomy, np.zeros(3)
    if not (anatomy.legs and anatomy.stands):
        return Contacts(looped, times, np.zeros((len(anatomy.legs), len(times)), bool), still, straight)
    poses = looped.poses(times) if straight else plain(looped).poses(times)
    soles = _heights(anatomy, poses)
    above = np.stack([sole.min(1) for sole in soles])
    low = _reaching(above)
    if looped.duration <= 0:
        return Contacts(looped, times, low, still, straight)
    in_place = looped.pivot is None and not looped.travel.any()
    planted, ground = _planted_on_the_way(looped, poses) if straight or in_place else (None, still)
    if planted is None:
        planted = _planted(above, _speeds(anatomy, poses, looped.duration))
    return Contacts(looped, times, _steady(low & planted, soles, times, straight), ground, straight)


def _planted_on_the_way(
    looped: LoopedClip, poses: Poses
) -> tuple[Bool[np.ndarray, "legs frames"] | None, Float[np.ndarray, 3]]:
    """Feet of a loop in place that move with the ground, and the velocity of the ground if the root does not travel
    [file units/s]; None for the feet if the loop leads nowhere."""
    if looped.travel.any():
        return find_planted_feet(facing(looped.anatomy, looped.travel), poses)[0], np.zeros(3)
    planted, passing = find_travel(looped.anatomy, poses) or (None, np.zeros(3))
    return planted, passing / looped.duration


def _heights(anatomy: Anatomy, poses: Poses) -> list[Float[np.ndarray, "frames points"]]:
    """Heights of the points of each leg's sole above where they are in the neutral pose [height]."""
    neutral = anatomy.body.T_world_node[anatomy.body.nodes][None]
    found = []
    for leg in anatomy.legs:
        stand = soles_of(anatomy, leg, neutral)[0] @ anatomy.up
        found.append((soles_of(anatomy, leg, poses) @ anatomy.up - stand) / anatomy.height)
    return found


def _reaching(above: Float[np.ndarray, "legs frames"]) -> Bool[np.ndarray, "legs frames"]:
    """Which feet are low: near their neutral height, or near the lowest they come to, if that is near it too."""
    lowest, lift = _lowest_and_lift(above)
    margin = np.maximum(LOW * lift, TOUCHES)
    return (above < TOUCHES) | ((above < lowest + margin) & (lowest < REACHES))


def _lowest_and_lift(
    above: Float[np.ndarray, "legs frames"],
) -> tuple[Float[np.ndarray, "legs 1"], Float[np.ndarray, "legs 1"]]:
    """Lowest height and lift of each foot [height], without outliers: motion capture often begins with a T-pose."""
    lowest, highest = np.quantile(above, [ODD, 1 - ODD], axis=1)[..., None]
    return lowest, highest - lowest


def _speeds(anatomy: Anatomy, poses: Poses, duration: float) -> Float[np.ndarray, "legs frames"]:
    """Horizontal speed of each sole's slowest point, so that a sole that rolls stands still [heights/s]."""
    found = []
    for leg in anatomy.legs:
        speed = np.gradient(soles_of(anatomy, leg, poses), duration / len(poses), axis=0)
        found.append(np.linalg.norm(speed - (speed @ anatomy.up)[..., None] * anatomy.up, axis=-1).min(1))
    return np.stack(found) / anatomy.height


def _planted(
    above: Float[np.ndarray, "legs frames"], speeds: Float[np.ndarray, "legs frames"]
) -> Bool[np.ndarray, "legs frames"]:
    """Which feet do not swing where the ground stands still. Height and speed of a foot vote (see `find_planted_feet`),
    so that a foot that slides all the time counts as down."""
    lowest, lift = _lowest_and_lift(above)
    heights = 1 - (above - lowest) / np.maximum(LOW * lift, TOUCHES)
    slowest, fastest = np.quantile(speeds, [0.05, 0.95], axis=1)[..., None]
    slowness = 1 - (speeds - slowest) / np.maximum(SLOW * (fastest - slowest), SLIDES)
    return np.clip(heights, -1, 1) + np.clip(slowness, -1, 1) > 0


def _steady(
    down: Bool[np.ndarray, "legs frames"],
    soles: list[Float[np.ndarray, "frames _"]],
    times: Float[np.ndarray, " frames"],
    loops: bool,
) -> Bool[np.ndarray, "legs frames"]:
    """Contacts without brief gaps, without their nearly-down ends, and without brief contacts."""
    step = float(times[1] - times[0]) if len(times) > 1 else 0.0
    shortest = min(BRIEF, len(times) * step / 20) / step if step > 0 else 0.0
    found = []
    for each, heights in zip(down, soles, strict=True):
        each = _landed(_without(each, False, shortest, loops), heights, loops)
        found.append(_without(each, True, shortest, loops))
    return np.stack(found)


def _landed(
    down: Bool[np.ndarray, " frames"], sole: Float[np.ndarray, "frames points"], loops: bool
) -> Bool[np.ndarray, " frames"]:
    """Contacts without their nearly-down ends: a foot is down once it is hardly higher than the highest it is in the
    middle half of the contact. Every point of the sole counts from the lowest it comes to in that contact."""
    if down.all():
        return down
    found = down.copy()
    little = max(LANDED * float(np.ptp(sole.min(1))), SETTLED)
    for run in runs(down, loops):
        above = (sole[run] - sole[run].min(0)).min(1)
        quarter = len(run) // 4
        bears = np.flatnonzero(above <= above[quarter : len(run) - quarter].max() + little)
        first = bears[0] if loops or run[0] > 0 else 0
        last = bears[-1] if loops or run[-1] < len(down) - 1 else len(run)
        found[run[:first]] = found[run[last + 1 :]] = False
    return found


def _without(
    down: Bool[np.ndarray, " frames"], value: bool, shortest: float, loops: bool
) -> Bool[np.ndarray, " frames"]:
    """The flags with runs of a value that are too short inverted."""
    found = down.copy()
    for run in runs(down == value, loops):
        inside = loops or (run[0] > 0 and run[-1] < len(down) - 1)
        if len(run) < min(shortest, len(down)) and inside:
            found[run] = not value
    return found


def runs(flags: Bool[np.ndarray, " frames"], loops: bool) -> list[Int[np.ndarray, " run"]]:
    """Frames of each run of true flags, by their starts; a run across the seam of a loop is one."""
    shift = int(np.flatnonzero(~flags)[-1]) + 1 if loops and not flags.all() else 0
    edges = np.flatnonzero(np.diff(np.concatenate([[False], np.roll(flags, -shift), [False]]).astype(int)))
    found = [(np.arange(a, b) + shift) % len(flags) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    return sorted(found, key=lambda run: int(run[0]))
