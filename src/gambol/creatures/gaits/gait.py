"""Gaits: analytic motions of any character that stands on legs.

Feet follow paths that are fixed in the world while they bear weight, the trunk rides above them, and inverse
kinematics puts the legs between. Conventions:

- a clip is one stride, from the touchdown of the left hind foot (a biped's left foot) at its first frame to the next;
  a leap lands at its first frame. The last key equals the first, one stride farther on;
- units are metres if the character is 2 cm to 30 m high; otherwise it is taken to be 1 m high;
- speed and period follow from the height of the hip by Froude number, see `gambol.creatures.gaits.footfalls`.
"""

import numpy as np
from jaxtyping import Float

from gambol.actions import gait_names
from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.clip import Clip, Track, continuous
from gambol.character.rig import build_rig
from gambol.character.skeleton import Pose
from gambol.creatures.gaits.fit import above_ground, fitted
from gambol.creatures.gaits.foot_paths import FootPath, GroundPath, Roll
from gambol.creatures.gaits.footfalls import GRAVITY, Footfalls, GaitName, speed_of, stride_length, table_for
from gambol.creatures.gaits.plan import GaitPlan, with_breaks
from gambol.creatures.gaits.trunk import TrunkMotion
from gambol.errors import GambolError
from gambol.motion.export import poses_from_world
from gambol.motion.legs import Leg, hip_height_of, legs_of, stature_of

FASTER = 1.3
"""Factor on the usual speed of a gait that is done at pace 1, "fast"; at pace -1, "slowly", its inverse."""
FEWEST_KEYS = 64
"""Keys in a cycle, twice as many in a leap: a mouse's gallop lasts four frames, too few to draw it. With 24 a planted
foot of the clay dog slid at 0.7 cm/s between keys, with 64 below 0.1."""


CALMER = ((1.0, 1.0), (0.5, 1.0), (0.25, 1.0), (0.1, 1.0), (0.1, 0.7), (0.1, 0.5))
"""Factors on the movement of the trunk and on the stride, tried until a low belly stays above the ground."""
STRUT, STRUT_SPEED = np.radians(28.0), 1.4
"""How far legs without knees swing to each side, and how much faster than their size says such bodies go. Animals made
of blocks swing theirs by 25 to 40 degrees in artists' clips."""
SHORTEST = 0.42
"""Shortest stride of theirs [s]; artists' cubes take 0.5."""
FLAT = Roll(0.0, 0.0, 1.0)
"""The sole of a leg that is all foot does not roll over."""
SHUFFLE = 0.2
"""Share of the usual height to which they are lifted: without knees, that takes them far ahead."""
HIGHEST = 0.004
"""Share of its height by which a body may be raised off its belly without the legs losing the ground."""


def actions_for(anatomy: Anatomy) -> tuple[str, ...]:
    """What this body can do; nothing if it does not stand on pairs of legs."""
    able = anatomy.stands and anatomy.legs and hip_height_of(anatomy) > 0.02 * anatomy.height
    return tuple(table_for(len(anatomy.legs))) if able else ()


def gait(
    character: Character,
    anatomy: Anatomy,
    action: str,
    *,
    speed: float = 1.0,
    stride: float = 1.0,
    bounce: float = 1.0,
    fps: float = 30.0,
    frames: int | None = None,
    in_place: bool = False,
    metres_per_unit: float | None = None,
) -> Clip:
    """One stride of an action as a clip named after it.

    speed: factor on the usual speed of the gait.
    stride: factor on the length of a stride at that speed; longer strides come less often.
    bounce: factor on the movement of the trunk.
    fps: the stride lasts a whole number of frames at this rate.
    frames: that number, if it is not to follow from size and speed.
    in_place: without root motion, feet sliding backwards as on a treadmill; a turn goes on turning.
    metres_per_unit: what a unit of the file is; guessed from the character's height if not given.
    """
    for calm, short in CALMER:
        style = {"speed": speed, "stride": short * stride, "bounce": calm * bounce}
        plan = plan_gait(anatomy, action, **style, metres_per_unit=metres_per_unit)
        plan, raised = above_ground(character, plan)
        if raised < HIGHEST:
            break
    count = max(round(plan.period * fps), 2) if frames is None else frames
    if count < 2:
        raise ValueError(f"frames must be at least 2, got {frames}")
    period = count / fps
    between = int(np.ceil(FEWEST_KEYS * (1 + plan.footfalls.leap) / count))
    cycles = np.arange(count * between + 1) / (count * between)
    cycles = with_breaks(cycles, plan.breaks())
    return _keyed(character, plan, cycles, period, in_place)


def plan_gait(
    anatomy: Anatomy,
    action: str,
    *,
    speed: float = 1.0,
    stride: float = 1.0,
    bounce: float = 1.0,
    metres_per_unit: float | None = None,
) -> GaitPlan:
    """Choose speed, period and strides, and lower the body until all feet reach the ground."""
    for name, value in (("speed", speed), ("stride", stride), ("bounce", bounce)):
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be positive, got {value}")
    known = _named(anatomy, action)
    footfalls = table_for(len(anatomy.legs))[known]
    hip_height = hip_height_of(anatomy)
    metres = metres_per_unit or likely_metres(anatomy)
    legs = legs_of(anatomy)
    stature = hip_height if footfalls.leap else stature_of(legs, hip_height)
    length, period = _stride_and_period(footfalls, stature * metres, speed, stride, bounce)
    stiff = all(len(leg.links) == 1 for leg in legs)
    if stiff and length and not footfalls.leap:
        length, period = _strutting(legs, anatomy, footfalls.duty, length / metres, period)
        length = length * metres
    rig = build_rig(anatomy)
    trunk = TrunkMotion(anatomy, footfalls, rig.pivot, hip_height, bounce)
    centre = np.mean([leg.end for leg in legs], axis=0)
    path = GroundPath(anatomy.forward, anatomy.up, centre, length / metres, np.radians(footfalls.turning) * stride)
    lift = (footfalls.lift + (footfalls.bounce * bounce if footfalls.leap else 0.0)) * stature
    lift = lift * SHUFFLE if stiff and not footfalls.leap else lift
    hind = max(leg.limb.rank for leg in legs)
    feet = tuple(
        FootPath(
            leg,
            footfalls.phase(leg.limb, hind + 1),
            path,
            footfalls.duty,
            lift,
            FLAT if stiff and not footfalls.leap else _roll(trunk, leg.limb.rank == hind),
            anatomy.ground,
        )
        for leg in legs
    )
    plan = GaitPlan(known, anatomy, rig, footfalls, path, feet, trunk, period)
    return fitted(plan)


def _named(anatomy: Anatomy, action: str) -> GaitName:
    known = actions_for(anatomy)
    if not known:
        raise GambolError("gaits need a character that stands on legs; this one has none it could stand on")
    for name in gait_names(action):
        if name in known:
            return name  # type: ignore[return-value]
    raise GambolError(f"no action '{action}' for a {anatomy.plan}. Available: {', '.join(known)}")


def likely_metres(anatomy: Anatomy) -> float:
    """What a unit of the file is [m]."""
    return 1.0 if 0.02 <= anatomy.height <= 30 else 1.0 / anatomy.height


def _stride_and_period(
    footfalls: Footfalls, stature: float, speed: float, stride: float, bounce: float
) -> tuple[float, float]:
    """Return the length of a stride [m] and its duration [s]."""
    if footfalls.duty >= 1:
        return 0.0, float(np.clip(4.0 * (stature / 0.9) ** 0.5, 1.5, 6.0)) / speed  # two breaths
    froude = footfalls.froude * speed**2
    pace = speed_of(stature, froude)
    if footfalls.leap:
        flight = (8 * footfalls.bounce * bounce * stature / GRAVITY) ** 0.5
        period = flight / (1 - footfalls.duty)
        return pace * period * stride, period
    length = stride_length(stature, froude) * stride
    return (0.0 if footfalls.turning else length), length / pace


def _strutting(legs: list[Leg], anatomy: Anatomy, duty: float, length: float, period: float) -> tuple[float, float]:
    """Stride [file units] and period [s] of legs without knees, which swing wide and quickly, as artists' blocks do."""
    height = min(float((leg.chain.points[0] - leg.end) @ anatomy.up) for leg in legs)
    wide = 2 * height * np.sin(STRUT) / duty
    return max(length, wide), max(period * max(wide / length, 1.0) / STRUT_SPEED, SHORTEST)


def _roll(trunk: TrunkMotion, hind: bool) -> Roll:
    """Humans land on the heel; hooves, paws and claws land flat; hind feet push off more than fore feet."""
    if trunk.footfalls.leap:
        return Roll(0.0, np.radians(40), rising_from=0.85)
    if trunk.upright:
        return Roll(np.radians(20 - 16 * trunk.vigour), np.radians(45 + 8 * trunk.vigour), 0.5)
    return Roll(np.radians(3), np.radians((35 if hind else 18) + 15 * trunk.vigour), rising_from=0.72)


def _keyed(
    character: Character, plan: GaitPlan, cycles: Float[np.ndarray, " keys"], period: float, in_place: bool
) -> Clip:
    """Cubic tracks: with tangents taken from the motion itself a planted foot stands still between keys too."""
    step = 1e-6
    around = (cycles[:, None] + np.array([-step, 0.0, step])).ravel()
    world = plan.world(around)
    if in_place:
        world[..., :3, 3] -= (plan.path.stride * around)[:, None, None] * plan.anatomy.forward
    poses = poses_from_world(character.skeleton, plan.rig.nodes, world)
    return Clip(plan.action, tuple(_tracks(character, poses, cycles * period, step * period)))


def _tracks(character: Character, poses: Pose, times: Float[np.ndarray, " keys"], step: float) -> list[Track]:
    """Poses come in threes: just before, at, and just after each key."""
    rest, tracks = character.skeleton.rest, []
    for node in range(len(character.skeleton)):
        for path in ("translation", "rotation", "scale"):
            values = getattr(poses, path)[:, node]
            if path == "rotation":
                values = continuous(values)
            if np.allclose(values, getattr(rest, path)[node], rtol=1e-7, atol=1e-9):
                continue
            before, at, after = values.reshape(len(times), 3, -1).swapaxes(0, 1)
            splines = np.stack([(at - before) / step, at, (after - at) / step], axis=1)
            tracks.append(Track(node, path, times, splines, "CUBICSPLINE"))
    return tracks
