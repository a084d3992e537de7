"""Footfalls: the gait of a clip, by the times at which feet are on the ground."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from gambol.motion.contacts import runs
from gambol.quality.normalized_clip import NormalizedClip

EVEN = 0.3
"""Smallest phase between the feet of a pair that alternate [cycles]; ideally it is 0.5."""
UNISON = 0.06
"""Largest phase between feet that come down together [cycles]; touchdowns are found to about 0.02."""
NEAR = 0.125
"""Largest distance of the lag of fore feet behind hind feet from 0.5 in a trot, and from 0 in a pace [cycles]:
Hildebrand's sectors of an eighth."""
WALKS, RUNS = 0.48, 0.5
"""Duty factors: alternating gaits are walks above the first, and trots or paces up to the second. In theory both are
0.5, but they are measured to about 0.04: our own jog and pace, which have 0.40 and 0.44, at up to 0.50, and artists'
fast walks at 0.49."""
SLOWEST = 0.6
"""Duty factor up to which asymmetrical gaits are bounds and gallops."""
SHORT = 0.4
"""A contact that is shorter than this share of the leg's longest is not a step."""


@dataclass(frozen=True)
class GaitPattern:
    """The gait of one clip; legs in the order of `Anatomy.legs`."""

    name: str
    """Name of the gait; see `gait_pattern`."""
    legs: tuple[str, ...]
    duty: tuple[float, ...]
    """Duty factor of each foot: share of the time that it is on the ground."""
    phases: tuple[float | None, ...]
    """Phase of each foot: its touchdown after that of the left hind foot [cycles, 0 to 1]; None for a foot without
    touchdowns, or without cycles."""
    cycles: float | None
    """Number of cycles in the clip; None if it does not repeat."""
    frequency: float | None
    """Strides per second."""


def gait_pattern(clip: NormalizedClip) -> GaitPattern | None:
    """The gait of a clip. A cycle is the time after which the pose repeats. The duty factor is the share of the cycle
    that a foot is down, mean over the legs.

    Of all:        still: no foot leaves the ground; stand: at least half of them do not; aloft: none touches it;
                   hop: all feet come down at once, or, without cycles, are in the air together and come down again;
                   irregular: none of what follows.
    Two legs:      by turns, a walk above a duty factor of 0.5, a run below (Alexander 2003, Principles of Animal
                   Locomotion; 62 % and 31 to 39 % in humans, Novacheck 1998).
    Four legs:     symmetrical if the feet of both pairs come down by turns (Hildebrand 1965, Science 150:701). Then a
                   walk above 0.5; below, a trot or a pace if fore feet come down half a cycle, or none, after the hind
                   ones of their side, within an eighth, else an amble (running walk, toelt). Asymmetrical else
                   (Hildebrand 1977, J. Mammal. 58:131): a bound if the hind feet come down at once, be it a half bound,
                   else a gallop, canter included.
    Six and more:  a tripod (with eight legs a tetrapod) if neighbours, and left and right, are half a cycle apart
                   (Wilson 1966; Spagna and Peattie 2012); a wave (metachronal) if steps run along each side with the
                   same lag from leg to leg; a walk if left and right go by turns.
    None for a body that does not stand on legs.
    """
    if not clip.grounded:
        return None
    anatomy = clip.anatomy
    names = tuple(anatomy.limb_name(leg) for leg in anatomy.legs)
    period = clip.period
    steps = [_steps(clip, leg, period) for leg in range(len(names))]
    duty, landings = tuple(each for each, _ in steps), [times for _, times in steps]
    phases = _phases(clip, landings, period) if period else (None,) * len(names)
    name = _name(clip, duty, phases, all(landings))
    if period is None:
        return GaitPattern(name, names, duty, phases, None, None)
    return GaitPattern(name, names, duty, phases, clip.seconds / period, 1.0 / period)


def alternation(clip: NormalizedClip) -> float | None:
    """How left and right feet come down, from -1 (at once) to +1 (by turns, half a cycle apart): minus the cosine of
    the phase between them, the mean over all pairs of legs. None without cycles, or if no pair of feet comes down."""
    pattern = gait_pattern(clip)
    if pattern is None:
        return None
    lags = _lags(_by_place(clip, pattern.phases))
    return float(np.mean([-np.cos(2 * np.pi * lag) for lag in lags])) if lags else None


def _steps(clip: NormalizedClip, leg: int, period: float | None) -> tuple[float, list[float]]:
    """Duty factor of a foot over whole cycles, and the times of its touchdowns [s]."""
    down, around = clip.down[leg], clip.contacts.looped.loops
    if around and not clip.loops:  # a loop that turns has its first frame again at the end
        down = down[:-1]
    if down.all() or not down.any() or not clip.seconds > 0:
        return float(down.mean()), []
    found = [(run[0] / clip.fps, len(run) / clip.fps) for run in runs(down, around)]
    if not around:
        found = [(start, length) for start, length in found if start > 0]
    longest = max((length for _, length in found), default=0.0)
    steps = [start for start, length in found if length >= SHORT * longest]
    if not around and period:
        down = down[: round(clip.seconds // period * period * clip.fps)]
    return float(down.mean()), steps


def _phases(clip: NormalizedClip, landings: list[list[float]], period: float) -> tuple[float | None, ...]:
    """Circular mean of the phases of each foot, relative to the steps of the left hind foot."""
    legs, seconds = clip.anatomy.legs, clip.seconds
    first = landings[clip.anatomy.left_hind]
    if not first:
        return (None,) * len(legs)
    clock = np.array(first)
    if clip.contacts.looped.loops:
        clock = np.concatenate([clock - seconds, clock, clock + seconds])
    clock = np.concatenate([[clock[0] - period], clock, [clock[-1] + period]])
    cycles = np.arange(len(clock))
    found: list[float | None] = []
    for times in landings:
        around = np.interp(times, clock, cycles) + (np.array(times) - np.clip(times, clock[0], clock[-1])) / period
        turn = float(np.angle(np.exp(2j * np.pi * around).mean())) / (2 * np.pi) % 1.0 if times else 0.0
        found.append((turn if turn < 1 - 1e-6 else 0.0) if times else None)
    return tuple(found)


Places = dict[tuple[int, str], float]
"""Phases by rank, front to back, and side."""


def _by_place(clip: NormalizedClip, phases: tuple[float | None, ...]) -> Places:
    legs = clip.anatomy.legs
    return {(leg.rank, leg.side): phase for leg, phase in zip(legs, phases, strict=True) if phase is not None}


def _lags(places: Places) -> list[float]:
    """Lag of the right foot behind the left, for each pair [cycles, 0 to 1]."""
    pairs = [(phase, places.get((rank, "right"))) for (rank, side), phase in places.items() if side == "left"]
    return [(right - left) % 1.0 for left, right in pairs if right is not None]


def _name(clip: NormalizedClip, duty: tuple[float, ...], phases: tuple[float | None, ...], lands: bool) -> str:
    """The name of the gait. lands: whether every foot comes down at some time."""
    down = clip.down
    if down.all():
        return "still"
    if not down.any():
        return "aloft"
    places = _by_place(clip, phases)
    if 2 * sum(foot.all() for foot in down) >= len(down):
        return "stand"
    if len(places) < len(duty):
        return "hop" if lands and _leap_together(down) else "irregular"
    if max(_apart(a, b) for a in places.values() for b in places.values()) <= NEAR and _leap_together(down):
        return "hop"
    name = {2: _biped, 4: _quadruped}.get(len(duty), _many_legs)
    return name(places, float(np.mean(duty)))


def _biped(places: Places, duty: float) -> str:
    if _apart(places[0, "left"], places[0, "right"]) < EVEN:
        return "irregular"
    return "walk" if duty > WALKS else "run"


def _quadruped(places: Places, duty: float) -> str:
    fore, hind = (_apart(places[rank, "left"], places[rank, "right"]) for rank in (0, 1))
    after = [places[0, side] - places[1, side] for side in ("left", "right")]
    lag = float(np.angle(np.exp(2j * np.pi * np.array(after)).mean()) / (2 * np.pi)) % 1.0
    if min(fore, hind) >= EVEN:
        if duty <= RUNS and _apart(lag, 0.5) <= NEAR:
            return "trot"
        if duty <= RUNS and _apart(lag, 0.0) <= NEAR:
            return "pace"
        return "walk" if duty > WALKS else "amble"
    if duty > SLOWEST:
        return "irregular"
    return "bound" if hind <= UNISON else "gallop"


def _many_legs(places: Places, duty: float) -> str:
    ranks = range(max(rank for rank, _ in places))
    along = [[(places[rank, side] - places[rank + 1, side]) % 1.0 for rank in ranks] for side in ("left", "right")]
    across = all(_apart(lag, 0.5) <= 2 * NEAR for lag in _lags(places))
    if across and all(_apart(lag, 0.5) <= NEAR for side in along for lag in side):
        return "tripod" if len(ranks) == 2 else "tetrapod"
    if all(np.ptp(side) <= NEAR and min(side) > NEAR / 2 and max(side) < 1 - NEAR / 2 for side in along):
        return "wave"
    return "walk" if across else "irregular"


def _leap_together(down: Bool[np.ndarray, "legs frames"]) -> bool:
    """Whether all feet are in the air for most of the time that any is."""
    return bool((~down).all(0).sum() > 0.5 * (~down).any(0).sum())


def _apart(a: float, b: float) -> float:
    """Distance of two phases on the circle [cycles, up to 0.5]."""
    return abs((a - b + 0.5) % 1.0 - 0.5)
