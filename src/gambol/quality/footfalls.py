"""Footfalls: which feet are down when, and which gait that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from gambol.motion.contacts import runs
from gambol.quality.periods import find_period
from gambol.quality.specimen import Specimen

Array = np.ndarray

EVEN = 0.3
"""The feet of a pair that are at least so far apart come down by turns; exactly so is half a cycle."""
UNISON = 0.06
"""Feet that come down so little apart come down at once [cycles]: touchdowns are found to 0.02 or so."""
NEAR = 0.125
"""Fore feet so near to half a cycle, or none, after the hind ones of their side trot, or pace [cycles]: Hildebrand's
sectors of an eighth."""
WALKS, RUNS = 0.48, 0.5
"""Duty factors: what goes by turns walks above the first, and trots or paces up to the second. In theory both are 0.5,
but they are measured to about 0.04: our own jog and pace, which have 0.40 and 0.44, at up to 0.50, and artists' fast
walks at 0.49."""
SLOWEST = 0.6
"""Duty factor up to which asymmetrical gaits are bounds and gallops."""
SHORT = 0.4
"""A contact that is shorter than this share of the leg's longest is no step but a scrape."""


@dataclass(frozen=True)
class Pattern:
    """Of one clip; legs in the order of `Anatomy.legs`."""

    name: str
    """See `gait_pattern`."""
    legs: tuple[str, ...]
    duty: tuple[float, ...]
    """Part of the time each foot is on the ground."""
    phases: tuple[float | None, ...]
    """When each foot comes down after the left hind one does [cycles, 0 to 1]; None for a foot that does not, or if
    there are no cycles."""
    cycles: float | None
    """How many the clip holds; None if it does not repeat."""
    frequency: float | None
    """Strides a second."""


def gait_pattern(specimen: Specimen) -> Pattern | None:
    """The gait, by which feet are down when. A cycle is the time after which the pose comes again. Duty factor: part of
    the cycle a foot is down, here the mean over the legs. Phase: when it comes down.

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
    if not specimen.grounded:
        return None
    anatomy = specimen.anatomy
    names = tuple(anatomy.limb_name(leg) for leg in anatomy.legs)
    period = find_period(specimen)
    steps = [_steps(specimen, leg, period) for leg in range(len(names))]
    duty, landings = tuple(each for each, _ in steps), [times for _, times in steps]
    phases = _phases(specimen, landings, period) if period else (None,) * len(names)
    name = _name(specimen, duty, phases, all(landings))
    if period is None:
        return Pattern(name, names, duty, phases, None, None)
    return Pattern(name, names, duty, phases, specimen.seconds / period, 1.0 / period)


def alternation(specimen: Specimen) -> float | None:
    """How left and right feet come down, from -1 (at once) to +1 (by turns, half a cycle apart): minus the cosine of
    the phase between them, the mean over all pairs of legs. None without cycles, or if no pair of feet comes down."""
    pattern = gait_pattern(specimen)
    if pattern is None:
        return None
    lags = _lags(_by_place(specimen, pattern.phases))
    return float(np.mean([-np.cos(2 * np.pi * lag) for lag in lags])) if lags else None


def _steps(specimen: Specimen, leg: int, period: float | None) -> tuple[float, list[float]]:
    """A foot's duty factor, over whole cycles, and when it comes down [s]."""
    down, around = specimen.down[leg], specimen.contacts.footage.loops
    if around and not specimen.loops:  # it turns as it goes round: the last frame is the first again
        down = down[:-1]
    if down.all() or not down.any() or not specimen.seconds > 0:
        return float(down.mean()), []
    found = [(run[0] / specimen.rate, len(run) / specimen.rate) for run in runs(down, around)]
    if not around:
        found = [(start, length) for start, length in found if start > 0]
    longest = max((length for _, length in found), default=0.0)
    steps = [start for start, length in found if length >= SHORT * longest]
    if not around and period:
        down = down[: round(specimen.seconds // period * period * specimen.rate)]
    return float(down.mean()), steps


def _phases(specimen: Specimen, landings: list[list[float]], period: float) -> tuple[float | None, ...]:
    """Means on the circle, each time after the last step of the left hind foot, in its own time to the next."""
    legs, seconds = specimen.anatomy.legs, specimen.seconds
    hind = max(leg.rank for leg in legs)
    first = next(times for leg, times in zip(legs, landings, strict=True) if leg.rank == hind and leg.side == "left")
    if not first:
        return (None,) * len(legs)
    clock = np.array(first)
    if specimen.contacts.footage.loops:
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


def _by_place(specimen: Specimen, phases: tuple[float | None, ...]) -> Places:
    legs = specimen.anatomy.legs
    return {(leg.rank, leg.side): phase for leg, phase in zip(legs, phases, strict=True) if phase is not None}


def _lags(places: Places) -> list[float]:
    """Of the right foot after the left, pair by pair [cycles, 0 to 1]."""
    pairs = [(phase, places.get((rank, "right"))) for (rank, side), phase in places.items() if side == "left"]
    return [(right - left) % 1.0 for left, right in pairs if right is not None]


def _name(specimen: Specimen, duty: tuple[float, ...], phases: tuple[float | None, ...], lands: bool) -> str:
    """lands: every foot comes down at some time."""
    down = specimen.down
    if down.all():
        return "still"
    if not down.any():
        return "aloft"
    places = _by_place(specimen, phases)
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


def _leap_together(down: Bool[Array, "legs frames"]) -> bool:
    """Whether all feet are in the air for most of the time that any is."""
    return bool((~down).all(0).sum() > 0.5 * (~down).any(0).sum())


def _apart(a: float, b: float) -> float:
    """Between two phases, at most half a cycle."""
    return abs((a - b + 0.5) % 1.0 - 0.5)
