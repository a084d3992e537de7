"""Pacing: how long an action takes this body. A prior of one cycle does not say; size and gait do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gambol.character.anatomy import Anatomy
from gambol.creatures.gaits.gait import actions_for, likely_metres, plan_gait
from gambol.priors.pocket.takes.herd import FASTER

GAIT_OF = {"stand": "idle", "trot": ("trot", "jog"), "run": ("gallop", "run")}
"""What actions are called among gaits, if otherwise; the first that a body knows."""
SECONDS = {
    "fly": 0.4,
    "swim": 1.4,
    "crawl": 0.8,
    "dance": 1.5,
    "eat": 3.3,
    "attack": 0.8,
    "kick": 0.8,
    "punch": 0.75,
    "wave": 1.5,
    "die": 0.9,
    "stand": 2.2,
    "walk": 0.9,
    "trot": 0.7,
    "run": 0.6,
    "hop": 0.8,
    "jump": 1.0,
    "turn left": 1.4,
    "turn right": 1.4,
}
"""Of a body a metre high, where there is no gait of that name [s]: medians of 187 clips by artists, their characters
taken to be 1.7 m high, as the units of their files say little; what they did not show is a guess."""


LENGTHWISE = 0.7
"""What has no legs to stand on counts as so high, as a share of its length: a snake of 2 m is not as quick as a mouse
that is as low. A guess; foxes, elephants, horses and dogs of the zoo are 0.6 to 0.9 with their tails."""
UNHURRIED = 2.0
"""A deed may take this many times as long as it usually does, or as short."""


def seconds_for(anatomy: Anatomy, action: str, pace: float = 0.0) -> float:
    """How long a round of an action takes, or a deed from start to end [s].

    Legs swing like pendulums: times grow with the root of the size. Gaits take theirs from the height of the hip, by
    Froude number (`creatures.gaits.footfalls`). pace: -1 slowly, 0 as usual, 1 fast.
    """
    named = GAIT_OF.get(action, action)
    known = actions_for(anatomy)
    for gait in (named,) if isinstance(named, str) else named:
        if gait in known:
            return plan_gait(anatomy, gait, speed=FASTER**pace).period
    return float(SECONDS[action] * np.clip(_metres(anatomy), 0.05, 20.0) ** 0.5 / FASTER**pace)


def _metres(anatomy: Anatomy) -> float:
    """The height of what stands on legs; of what lies, swims or flies, the height it would have if it stood [m]."""
    if anatomy.legs and anatomy.stands:
        return anatomy.height * likely_metres(anatomy)
    size = max(anatomy.height, LENGTHWISE * anatomy.body.size)
    return size if 0.02 <= size <= 30 else 1.0  # as in `likely_metres`


@dataclass(frozen=True)
class Timing:
    """How a motion fills a clip."""

    seconds: float
    """Of one round, or of the deed from start to end [s]."""
    loops: bool
    rounds: int = 1
    still: float = 0.0
    """How long the last pose is held after the deed [s]."""
    note: str = ""
    """What of the wish is not as the user may think."""


def timing_for(natural: float, asked: float | None, fps: float, *, loops: bool, cyclic: bool) -> Timing:
    """What goes round is repeated, at a pace near its own; a deed is done once, and not endlessly slowly.

    natural: how long a round or the deed takes of its own [s]. asked: for the whole clip [s]. loops: whether the end is
    to lead back to the start. cyclic: whether the action does that of its own.
    """
    whole = _of_whole_frames(asked or natural, fps)
    if asked is None:
        return Timing(whole, loops)
    note = ""
    if asked < natural / UNHURRIED:
        note = f"this usually takes {natural:.2f} s; in {whole:.2f} s it is {natural / whole:.1f} times as fast"
    drawn_out = asked > UNHURRIED * natural
    if loops or (cyclic and drawn_out):
        rounds = max(round(asked / natural), 1)
        if not loops:
            note = f"this goes round every {natural:.2f} s, so {whole:.2f} s of it are {rounds} rounds, and they loop"
        return Timing(whole / rounds, True, rounds, note=note)
    if drawn_out and (still := whole - _of_whole_frames(natural, fps)) > 0:
        note = f"this usually takes {natural:.2f} s: after that the last pose is held for {still:.2f} s"
        return Timing(whole - still, False, still=still, note=note)
    return Timing(whole, False, note=note)


def _of_whole_frames(seconds: float, fps: float) -> float:
    return max(round(seconds * fps), 2) / fps
