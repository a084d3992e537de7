"""Contacts: when which foot is on the ground in any clip, whether it loops or not, goes somewhere or stays in place."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.errors import GambolError
from gambol.motion.footage import Footage, footage_of
from gambol.motion.going import facing, find_going
from gambol.motion.motion import Motion
from gambol.motion.stances import find_plants, soles_of

Array = np.ndarray

RATE = 60.0
"""Frames a second at which a clip is looked at."""
FEWEST, MOST = 64, 7200
"""Frames: of a short clip, and of a long one, which then is looked at less often."""
TOUCHES = 0.012
"""A sole so little above where it stands is on the ground [height]."""
REACHES = 0.06
"""A foot whose lowest place is so far above where it stands never bears anything [height]."""
LOW = 0.15
"""Share of a foot's lift below which it is low."""
SLOW = 0.3
"""A foot that bears moves slower than this share of its own fastest; only for clips whose ground stands."""
SLIDES = 0.5
"""A foot that is never faster than this only slides, if it moves at all [heights a second]."""
ODD = 0.02
"""Share of the frames that may be odd."""
LANDED, SETTLED = 0.01, 0.001
"""A foot that is no more above the level at which it bears is down: share of its lift, or this much [height]. So our
own strides, whose feet come down without speed, are found 0.04 cycles too long on average; with 0.06, 0.08."""
BRIEF = 0.04
"""Contacts and gaps that last less are noise [s]; at most a twentieth of a round."""


@dataclass(frozen=True, eq=False)
class Contacts:
    """Of one clip."""

    footage: Footage
    times: Float[Array, " frames"]
    """Even, since the clip's start [s]; of what loops, the frame after the last is the first again."""
    down: Bool[Array, "legs frames"]
    """Whether each leg of `Anatomy.legs` has its foot on the ground."""
    ground: Float[Array, 3]
    """How fast the ground passes below a round in place [file units a second]; zero where the body itself goes."""
    loops: bool
    """Whether it goes round, and goes straight."""

    @property
    def rate(self) -> float:
        """Frames a second; those of a single pose are all the same, at RATE."""
        return 1.0 / float(self.times[1] - self.times[0]) if self.footage.duration > 0 else RATE

    def poses(self) -> Float[Array, "frames joints 4 4"]:
        """T_world_joint as the clip has it [file units]."""
        return plain(self.footage).poses(self.times)

    def spans(self, leg: int) -> list[tuple[float, float]]:
        """Times since the start at which a foot comes down and is lifted [s]. A contact that goes on across the seam of
        a loop ends beyond the end of the clip; one that is there from the start, or until the end, of what does not
        loop begins or ends there."""
        down, duration, step = self.down[leg], self.footage.duration, 1.0 / self.rate
        if down.all():
            return [(0.0, duration)]
        found = [(float(run[0]) * step, float(run[0] + len(run)) * step) for run in runs(down, self.loops)]
        return found if self.loops else [(start, min(end, duration)) for start, end in found]


def find_contacts(character: Character, anatomy: Anatomy, motion: Motion) -> Contacts:
    """Of any clip of the character, also of one that is not in its file."""
    footage = Footage(anatomy, character.skeleton, motion, max(motion.duration, 0.0), False, np.zeros(3))
    with suppress(GambolError):  # a single pose, or nothing moves
        footage = footage_of(character, anatomy, motion, may_travel=True, may_turn=True)
    straight = footage.loops and footage.pivot is None
    count = int(np.clip(round(footage.duration * RATE), FEWEST, MOST))
    times = footage.even(count) if straight else np.linspace(0.0, footage.duration, count)
    return _contacts(footage, times, straight)


def plain(footage: Footage) -> Footage:
    """As the clip has it, once: with its way, and its turn."""
    return replace(footage, loops=False, drift=np.zeros(3), turn=0.0, pivot=None)


def _contacts(footage: Footage, times: Float[Array, " frames"], straight: bool) -> Contacts:
    anatomy, still = footage.anatomy, np.zeros(3)
    if not (anatomy.legs and anatomy.stands):
        return Contacts(footage, times, np.zeros((len(anatomy.legs), len(times)), bool), still, straight)
    poses = footage.poses(times) if straight else plain(footage).poses(times)
    soles = _heights(anatomy, poses)
    above = np.stack([sole.min(1) for sole in soles])
    low = _reaching(above)
    if footage.duration <= 0:
        return Contacts(footage, times, low, still, straight)
    in_place = footage.pivot is None and not footage.drift.any()
    planted, ground = _planted_on_the_way(footage, poses) if straight or in_place else (None, still)
    if planted is None:
        planted = _planted(above, _speeds(anatomy, poses, footage.duration))
    return Contacts(footage, times, _steady(low & planted, soles, times, straight), ground, straight)


def _planted_on_the_way(
    footage: Footage, poses: Float[Array, "frames joints 4 4"]
) -> tuple[Bool[Array, "legs frames"] | None, Float[Array, 3]]:
    """Feet of a round on the spot that move with the ground, and how fast that passes if the clip itself stays in place
    [file units a second]; None for the feet if the round leads nowhere."""
    if footage.drift.any():
        return find_plants(facing(footage.anatomy, footage.drift), poses)[0], np.zeros(3)
    planted, passing = find_going(footage.anatomy, poses) or (None, np.zeros(3))
    return planted, passing / footage.duration


def _heights(anatomy: Anatomy, poses: Float[Array, "frames joints 4 4"]) -> list[Float[Array, "frames points"]]:
    """How high the points of each leg's sole are above where they stand in the neutral pose [height]."""
    neutral = anatomy.body.T_world_node[anatomy.body.nodes][None]
    found = []
    for leg in anatomy.legs:
        stand = soles_of(anatomy, leg, neutral)[0] @ anatomy.up
        found.append((soles_of(anatomy, leg, poses) @ anatomy.up - stand) / anatomy.height)
    return found


def _reaching(above: Float[Array, "legs frames"]) -> Bool[Array, "legs frames"]:
    """Which feet are low: near where they stand, or near the lowest place they come to, if that is near too."""
    lowest, lift = _lowest_and_lift(above)
    margin = np.maximum(LOW * lift, TOUCHES)
    return (above < TOUCHES) | ((above < lowest + margin) & (lowest < REACHES))


def _lowest_and_lift(above: Float[Array, "legs frames"]) -> tuple[Float[Array, "legs 1"], Float[Array, "legs 1"]]:
    """Of each foot. Single frames do not count: motion capture often begins with one in another pose."""
    lowest, highest = np.quantile(above, [ODD, 1 - ODD], axis=1)[..., None]
    return lowest, highest - lowest


def _speeds(anatomy: Anatomy, poses: Float[Array, "frames joints 4 4"], duration: float) -> Float[Array, "legs frames"]:
    """Of each sole's slowest point over the ground, so one that rolls stands [heights a second]."""
    found = []
    for leg in anatomy.legs:
        speed = np.gradient(soles_of(anatomy, leg, poses), duration / len(poses), axis=0)
        found.append(np.linalg.norm(speed - (speed @ anatomy.up)[..., None] * anatomy.up, axis=-1).min(1))
    return np.stack(found) / anatomy.height


def _planted(above: Float[Array, "legs frames"], speeds: Float[Array, "legs frames"]) -> Bool[Array, "legs frames"]:
    """Which feet do not swing, where the ground stands still: being low and being slow, each for that foot, vote as
    `find_plants` has it. So a foot that slides all the time is still seen to be down."""
    lowest, lift = _lowest_and_lift(above)
    heights = 1 - (above - lowest) / np.maximum(LOW * lift, TOUCHES)
    slowest, fastest = np.quantile(speeds, [0.05, 0.95], axis=1)[..., None]
    slowness = 1 - (speeds - slowest) / np.maximum(SLOW * (fastest - slowest), SLIDES)
    return np.clip(heights, -1, 1) + np.clip(slowness, -1, 1) > 0


def _steady(
    down: Bool[Array, "legs frames"],
    soles: list[Float[Array, "frames points"]],
    times: Float[Array, " frames"],
    loops: bool,
) -> Bool[Array, "legs frames"]:
    """Without gaps that are too brief, what is but nearly down, and contacts that are too brief."""
    step = float(times[1] - times[0]) if len(times) > 1 else 0.0
    shortest = min(BRIEF, len(times) * step / 20) / step if step > 0 else 0.0
    found = []
    for each, heights in zip(down, soles, strict=True):
        each = _landed(_without(each, False, shortest, loops), heights, loops)
        found.append(_without(each, True, shortest, loops))
    return np.stack(found)


def _landed(down: Bool[Array, " frames"], sole: Float[Array, "frames points"], loops: bool) -> Bool[Array, " frames"]:
    """Contacts without the last bit of the way down and the first of the way up: a foot has come down once it is no
    higher than at some time in the middle half of the contact, when it surely bears, but for a little. Every point
    of the sole counts from the lowest it comes to in that contact, since few lie on the ground exactly."""
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


def _without(down: Bool[Array, " frames"], value: bool, shortest: float, loops: bool) -> Bool[Array, " frames"]:
    """Runs of a value that are too short get the other one."""
    found = down.copy()
    for run in runs(down == value, loops):
        inside = loops or (run[0] > 0 and run[-1] < len(down) - 1)
        if len(run) < min(shortest, len(down)) and inside:
            found[run] = not value
    return found


def runs(flags: Bool[Array, " frames"], loops: bool) -> list[Int[Array, " run"]]:
    """Frames of each stretch of true, in order of their starts; one across the seam of a loop is one."""
    shift = int(np.flatnonzero(~flags)[-1]) + 1 if loops and not flags.all() else 0
    edges = np.flatnonzero(np.diff(np.concatenate([[False], np.roll(flags, -shift), [False]]).astype(int)))
    found = [(np.arange(a, b) + shift) % len(flags) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    return sorted(found, key=lambda run: int(run[0]))
