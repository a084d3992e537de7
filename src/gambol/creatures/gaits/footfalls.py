"""When which foot is on the ground, and how fast: gaits as biomechanics describes them.

Phases are parts of a stride, counted from the touchdown of the left hind foot (a biped's left foot). The duty factor
is the part of a stride that a foot spends on the ground. The Froude number v^2 / (g h), with h the height of the hip,
says at which speed animals of any size use a gait; at equal Froude number they move alike (Alexander and Jayes 1983).

Sources:
Alexander 1976, Nature 261:129, Estimates of speeds of dinosaurs: stride length = 2.3 h Fr^0.3.
Alexander and Jayes 1983, J. Zool. 201:135, A dynamic similarity hypothesis for the gaits of quadrupedal mammals: walk
    below Fr 0.5, trot about 1, gallop above 2 to 3; duty factors fall as Fr rises.
Hildebrand 1965, Science 150:701, and 1989, BioScience 39:766: symmetrical gaits by duty factor and fore-hind phase:
    lateral-sequence walk 25 %, trot 50 %, pace 0 %; gallops, half-bounds and bounds.
Novacheck 1998, Gait & Posture 7:77, The biomechanics of running: stance 62 % in walking, 31 to 39 % in running.
Gatesy and Biewener 1991, J. Zool. 224:127: birds and humans share duty factors at equal Froude number.
Wilson 1966, Annu. Rev. Entomol. 11:103, Insect walking: the alternating tripod.
Spagna and Peattie 2012, J. Insect Physiol. 58:599, Terrestrial locomotion in arachnids: the alternating tetrapod.
"""

from dataclasses import dataclass, replace
from typing import Literal

from gambol.character.limbs import Limb

GaitName = Literal["walk", "trot", "pace", "gallop", "jog", "run", "hop", "jump", "idle", "turn left", "turn right"]
GRAVITY = 9.81
"""Acceleration of free fall [m/s^2]."""


@dataclass(frozen=True)
class Footfalls:
    """One gait of one body plan."""

    duty: float
    """Part of a stride a foot is on the ground."""
    froude: float
    """v^2 / (g h) at the usual speed; 0 stays in place."""
    phases: tuple[tuple[float, float], ...]
    """Touchdown (left, right) of each pair of legs, hindmost first; pairs beyond repeat the last two in turn."""
    lift: float
    """How high the sole rises in swing, in hip heights."""
    bounce: float
    """Half the rise and fall of the body, in hip heights; for leaps what the body rises above its take-off."""
    highest: float
    """Phase at which the body is highest."""
    bounces: int
    """Rises of the body in a stride."""
    pitch: float = 0.0
    """Nose up and down, once a stride, both ways [degrees]."""
    nose_up: float = 0.0
    """Phase at which the nose is highest."""
    flexion: float = 0.0
    """Bending of the back, both ways, most arched when the hind feet land [degrees]."""
    leap: bool = False
    """All feet leave the ground at once: the body flies freely, and the stride lasts as long as that takes."""
    vigour: float = 0.0
    """From 0, a walk, to 1, a run: how much the trunk, the arms and the feet put into it."""
    turning: float = 0.0
    """Turn of the whole body to its left in a stride [degrees]."""

    def phase(self, limb: Limb, pairs: int) -> float:
        """Return the phase at which a leg touches down."""
        from_behind = pairs - 1 - limb.rank
        if from_behind >= len(self.phases):
            from_behind = len(self.phases) - 2 + (from_behind - len(self.phases)) % 2
        return self.phases[from_behind][0 if limb.side == "left" else 1]


ALTERNATING = ((0.0, 0.5), (0.5, 0.0))
TOGETHER = ((0.0, 0.0), (0.0, 0.0))

BIPED: dict[GaitName, Footfalls] = {
    "walk": Footfalls(0.62, 0.20, ((0, 0.5),), 0.08, 0.026, 0.31, 2),
    "jog": Footfalls(0.40, 0.70, ((0, 0.5),), 0.15, 0.035, 0.45, 2, vigour=0.5),
    "run": Footfalls(0.33, 1.60, ((0, 0.5),), 0.22, 0.040, 0.415, 2, vigour=1.0),
    "hop": Footfalls(0.40, 0.35, ((0, 0),), 0.08, 0.12, 0.70, 1, leap=True),
    "jump": Footfalls(0.62, 0.12, ((0, 0),), 0.14, 0.32, 0.81, 1, leap=True),
    "turn left": Footfalls(0.64, 0.10, ((0, 0.5),), 0.08, 0.008, 0.32, 2, turning=60),
}
QUADRUPED: dict[GaitName, Footfalls] = {
    "walk": Footfalls(0.65, 0.20, ((0, 0.5), (0.25, 0.75)), 0.08, 0.008, 0.20, 2, pitch=0.8),
    "trot": Footfalls(0.42, 0.75, ((0, 0.5), (0.5, 0)), 0.15, 0.025, 0.46, 2, vigour=0.5),
    "pace": Footfalls(0.44, 0.65, ((0, 0.5), (0, 0.5)), 0.14, 0.020, 0.47, 2, vigour=0.5),
    "gallop": Footfalls(
        0.28, 2.20, ((0, 0.10), (0.34, 0.44)), 0.22, 0.040, 0.86, 1, pitch=5, nose_up=0.08, flexion=16, vigour=1.0
    ),
    "hop": Footfalls(0.34, 0.60, ((0, 0), (0.46, 0.52)), 0.18, 0.05, 0.24, 1, pitch=9, nose_up=0.22, flexion=18),
    "jump": Footfalls(0.62, 0.15, TOGETHER, 0.16, 0.35, 0.81, 1, leap=True),
    "turn left": Footfalls(0.66, 0.12, ((0, 0.5), (0.25, 0.75)), 0.10, 0.005, 0.20, 2, turning=36),
}
MANY_LEGS: dict[GaitName, Footfalls] = {
    "walk": Footfalls(0.58, 0.15, ALTERNATING, 0.22, 0.010, 0.29, 2),
    "trot": Footfalls(0.50, 0.40, ALTERNATING, 0.26, 0.020, 0.0, 2, vigour=0.5),
    "run": Footfalls(0.42, 0.90, ALTERNATING, 0.30, 0.030, 0.46, 2, vigour=1.0),
    "hop": Footfalls(0.42, 0.30, TOGETHER, 0.12, 0.25, 0.71, 1, leap=True),
    "jump": Footfalls(0.62, 0.20, TOGETHER, 0.20, 0.60, 0.81, 1, leap=True),
    "turn left": Footfalls(0.60, 0.12, ALTERNATING, 0.22, 0.006, 0.30, 2, turning=36),
}
IDLE = Footfalls(1.0, 0.0, TOGETHER, 0.0, 0.004, 0.0, 1)
"""Standing: every foot stays where it is."""


def stride_length(hip_height: float, froude: float) -> float:
    """Return the length of a stride [m] (Alexander 1976)."""
    return 2.3 * hip_height * froude**0.3


def speed_of(hip_height: float, froude: float) -> float:
    """Return the speed at a Froude number [m/s]."""
    return (froude * GRAVITY * hip_height) ** 0.5


def table_for(legs: int) -> dict[GaitName, Footfalls]:
    """What a body plan does, by the name of the action; more than four legs are one plan."""
    gaits = {2: BIPED, 4: QUADRUPED}.get(legs, MANY_LEGS)
    left = gaits["turn left"]
    return {**gaits, "turn right": replace(left, turning=-left.turning), "idle": IDLE}
