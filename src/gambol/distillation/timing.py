"""Duration of an action, from the size and the gait of a body: a prior that shows one cycle does not give it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gambol.actions import ACTIONS
from gambol.character.anatomy import Anatomy
from gambol.creatures.gaits.gait import FASTER, actions_for, likely_metres, plan_gait

HEIGHT_OF_LENGTH = 0.7
"""Assumed height of a body without legs, as a share of its length: a snake of 2 m is not as quick as a mouse that is as
low. A guess; foxes, elephants, horses and dogs of the zoo are 0.6 to 0.9 with their tails."""
STRETCH = 2.0
"""Largest factor by which an action may be slower, or faster, than usual."""


def seconds_for(anatomy: Anatomy, action: str, pace: float = 0.0) -> float:
    """Return the duration of one cycle of an action, or of all of an action that does not loop [s].

    Legs swing like pendulums: times grow with the root of the size. Those of gaits follow from the height of the hip by
    Froude number (`creatures.gaits.footfalls`). pace: -1 slow, 0 usual, 1 fast.
    """
    known, row = actions_for(anatomy), ACTIONS[action]
    for gait in row.gaits:
        if gait in known:
            return plan_gait(anatomy, gait, speed=FASTER**pace).period
    return float(row.seconds * np.clip(_metres(anatomy), 0.05, 20.0) ** 0.5 / FASTER**pace)


def _metres(anatomy: Anatomy) -> float:
    """Return the height of a body that stands on legs; of any other, the height it would have if it stood [m]."""
    if anatomy.legs and anatomy.stands:
        return anatomy.height * likely_metres(anatomy)
    size = max(anatomy.height, HEIGHT_OF_LENGTH * anatomy.body.size)
    return size if 0.02 <= size <= 30 else 1.0  # as in `likely_metres`


@dataclass(frozen=True)
class Timing:
    """How a motion fills a clip."""

    seconds: float
    """Duration of one cycle, or of the motion if it does not loop [s]."""
    loops: bool
    cycles: int = 1
    """Number of cycles in the clip."""
    hold: float = 0.0
    """How long the last pose is held at the end [s]."""
    cut: float | None = None
    """Time after which the cycles are cut off, in a clip that is not to loop [s]; None if they are whole."""
    note: str = ""
    """Caveat to show the user."""


def timing_for(natural: float, asked: float | None, fps: float, *, loops: bool, cyclic: bool) -> Timing:
    """Return how an action fills a clip: a loop is repeated at a pace near its own; an action that does not loop is
    done once, and its last pose held if there is time left.

    natural: usual duration of a cycle or of the action [s]. asked: length of the clip [s]. loops: whether the clip is
    to loop. cyclic: whether the action is cyclic.
    """
    whole = _of_whole_frames(asked or natural, fps)
    if asked is None:
        return Timing(whole, loops)
    note = ""
    if asked < natural / STRETCH:
        note = f"this usually takes {natural:.2f} s; in {whole:.2f} s it is {natural / whole:.1f} times as fast"
    long = asked > STRETCH * natural
    if loops or (cyclic and long):
        cycles = max(round(asked / natural), 1)
        if not loops:
            note = f"a cycle takes {natural:.2f} s, so the {whole:.2f} s are {cycles} cycles, and they loop"
        return Timing(whole / cycles, True, cycles, note=note)
    if long and (hold := whole - _of_whole_frames(natural, fps)) > 0:
        note = f"this usually takes {natural:.2f} s: after that the last pose is held for {hold:.2f} s"
        return Timing(whole - hold, False, hold=hold, note=note)
    return Timing(whole, False, note=note)


def timing_without_loop(natural: float, asked: float | None, fps: float) -> Timing:
    """Return how a cyclic action fills a clip that is not to loop: at its own pace, cut off where the clip ends.

    natural: usual duration of a cycle [s]. asked: length of the clip [s]; by default one cycle.
    """
    cycle, whole = _of_whole_frames(natural, fps), _of_whole_frames(asked or natural, fps)
    cycles = max(math.ceil(whole / cycle - 1e-6), 1)
    if abs(cycles * cycle - whole) > 1e-6:
        return Timing(cycle, True, cycles, cut=whole)
    note = f"whole cycles of {cycle:.2f} s end as they begin, so that the clip loops; give other --seconds"
    return Timing(cycle, True, cycles, note=note)


def _of_whole_frames(seconds: float, fps: float) -> float:
    return max(round(seconds * fps), 2) / fps
