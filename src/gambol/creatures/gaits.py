"""Gaits: analytic motions of any character that stands on legs.

Feet follow paths that are fixed in the world while they bear weight, the trunk rides above them, and inverse
kinematics puts the legs between. Conventions:

- a clip is one stride, from the touchdown of the left hind foot (a biped's left foot) at its first frame to the next;
  a leap lands at its first frame. The last key equals the first, one stride farther on;
- units are metres if the character is 2 cm to 30 m high; otherwise it is taken to be 1 m high;
- speed and period follow from the height of the hip by Froude number, see `gambol.creatures.footfalls`.
"""

import itertools
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.rig import Rig, build_rig
from gambol.character.skeleton import Pose
from gambol.creatures.footfalls import GRAVITY, Action, Footfalls, speed_of, stride_length, table_for
from gambol.creatures.gaits_legs import FootPath, Leg, Path, Roll, find_legs
from gambol.creatures.gaits_trunk import Carriage, transforms
from gambol.errors import GambolError
from gambol.motion.export import poses_from_world
from gambol.motion.inverse_kinematics import COMFORTABLE
from gambol.motion.motion import Motion, Track, continuous

Array = np.ndarray

SAME = {"jog": "trot", "run": "gallop", "trot": "jog", "gallop": "run", "turn": "turn left"}
"""Other words for an action, if the body plan does not have the one asked for."""
FEWEST_KEYS = 64
"""Keys in a cycle, twice as many in a leap: a mouse's gallop lasts four frames, too few to draw it. With 24 a planted
foot of the clay dog slid at 0.7 cm/s between keys, with 64 below 0.1."""
DEEPEST, DEEPEST_RUN = 0.085, 0.13
"""The body is lowered by at most this share of the hip's height before strides are shortened instead."""

FARTHEST = 0.12
"""Feet are set down up to this share of the hip's height farther ahead or behind than at rest."""
SPRINGY = 0.955
"""Share of its reach to which a leg is stretched at take-off and landing: it has to give way at once."""


def actions_for(anatomy: Anatomy) -> tuple[str, ...]:
    """What this body can do; nothing if it does not stand on pairs of legs."""
    return tuple(table_for(len(anatomy.legs))) if anatomy.stands and anatomy.legs else ()


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
) -> Motion:
    """One stride of an action as a clip named after it.

    speed: factor on the usual speed of the gait.
    stride: factor on the length of a stride at that speed; longer strides come less often.
    bounce: factor on the movement of the trunk.
    fps: the stride lasts a whole number of frames at this rate.
    frames: that number, if it is not to follow from size and speed.
    in_place: stay on the spot, feet sliding backwards as on a treadmill.
    """
    plan = plan_gait(anatomy, action, speed=speed, stride=stride, bounce=bounce)
    count = max(round(plan.period * fps), 2) if frames is None else frames
    if count < 2:
        raise ValueError(f"frames must be at least 2, got {frames}")
    period = count / fps
    between = int(np.ceil(FEWEST_KEYS * (1 + plan.footfalls.leap) / count))
    cycles = np.arange(count * between + 1) / (count * between)
    cycles = _with_breaks(cycles, plan.breaks())
    return _keyed(character, plan, cycles, period, in_place)


@dataclass(frozen=True)
class GaitPlan:
    """All that an action needs to be evaluated at any time, counted in cycles."""

    action: Action
    anatomy: Anatomy
    rig: Rig
    footfalls: Footfalls
    path: Path
    feet: tuple[FootPath, ...]
    carriage: Carriage
    period: float
    """[s]"""
    crouch: float = 0.0
    """How far the body is lowered so that all feet reach the ground [file units]."""

    def breaks(self) -> Float[Array, " breaks"]:
        return np.concatenate([self.carriage.breaks(), *(foot.breaks() for foot in self.feet)])

    def root(self, cycles: Float[Array, " frames"]) -> tuple[Float[Array, "frames 3 3"], Float[Array, "frames 3"]]:
        """The body's own movement, then its way over the ground."""
        rotation, shift = self.carriage.root(cycles)
        shift = shift - self.crouch * self.anatomy.up
        shift = shift + (self.path.stride * self.carriage.surge(cycles))[:, None] * self.anatomy.forward
        return self.path.rotation(cycles) @ rotation, self.path.apply(shift, cycles)

    def world(self, cycles: Float[Array, " frames"]) -> Float[Array, "frames joints 4 4"]:
        """T_world_joint [file units]."""
        root, turns = self.root(cycles), self.carriage.turns(cycles)
        rotations, shifts = transforms(self.anatomy, turns, root)
        for foot in self.feet:
            parent = int(self.anatomy.body.parents[foot.leg.links[0]])
            above = (rotations[:, parent], shifts[:, parent]) if parent >= 0 else root
            place_foot(turns, foot, cycles, above)
        rotations, shifts = transforms(self.anatomy, turns, root)
        moved = np.zeros((len(cycles), len(self.anatomy.body), 4, 4))
        moved[..., :3, :3], moved[..., :3, 3], moved[..., 3, 3] = rotations, shifts, 1.0
        return moved @ self.rig.world()


def place_foot(
    turns: Float[Array, "frames joints 3 3"],
    foot: FootPath,
    cycles: Float[Array, " frames"],
    above: tuple[Array, Array],
) -> None:
    """Write the turns of a leg's joints. above: rotation and shift of what the leg hangs on."""
    leg = foot.leg
    place, turned = foot.pose(cycles)
    curl = foot.curl(cycles)
    links = leg.chain.rotations(_seen_from(above, place), curl)
    if leg.foot is None:  # the tip rocks about the point it stands on: raise it by what would sink into the ground
        for _ in range(3):
            place = place + foot.sunk(place, above[0] @ links[:, -1])[:, None] * foot.path.up
            links = leg.chain.rotations(_seen_from(above, place), curl)
    before = np.tile(np.eye(3), (len(cycles), 1, 1))
    for number, joint in enumerate(leg.links):
        turns[:, joint] = before.transpose(0, 2, 1) @ links[:, number]
        before = links[:, number]
    if leg.foot is not None:
        turns[:, leg.foot] = (above[0] @ before).transpose(0, 2, 1) @ turned


def _seen_from(above: tuple[Array, Array], place: Float[Array, "frames 3"]) -> Float[Array, "frames 3"]:
    """World points in the neutral coordinates of a part that was turned and shifted."""
    return np.einsum("fji,fj->fi", above[0], place - above[1])


def plan_gait(
    anatomy: Anatomy, action: str, *, speed: float = 1.0, stride: float = 1.0, bounce: float = 1.0
) -> GaitPlan:
    """Choose speed, period and strides, and lower the body until all feet reach the ground."""
    for name, value in (("speed", speed), ("stride", stride), ("bounce", bounce)):
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be positive, got {value}")
    known = _named(anatomy, action)
    footfalls = table_for(len(anatomy.legs))[known]
    hips = [anatomy.body.heads[limb.chain[0]] @ anatomy.up - anatomy.ground for limb in anatomy.legs[-2:]]
    hip_height = float(np.mean(hips))
    metres = metres_per_unit(anatomy)
    length, period = _stride_and_period(footfalls, hip_height * metres, speed, stride, bounce)
    rig = build_rig(anatomy)
    carriage = Carriage(anatomy, footfalls, known, rig.pivot, hip_height, bounce)
    legs = find_legs(anatomy, footfalls, hip_height)
    centre = np.mean([leg.end for leg in legs], axis=0)
    path = Path(anatomy.forward, anatomy.up, centre, length / metres, np.radians(footfalls.turning) * stride)
    roll = _roll(carriage)
    lift = (footfalls.lift + (footfalls.bounce * bounce if footfalls.leap else 0.0)) * hip_height
    feet = tuple(FootPath(leg, path, footfalls.duty, lift, roll, anatomy.ground, footfalls.leap) for leg in legs)
    return _with_tail_up(_within_reach(GaitPlan(known, anatomy, rig, footfalls, path, feet, carriage, period)))


def _named(anatomy: Anatomy, action: str) -> Action:
    known = actions_for(anatomy)
    if not known:
        raise GambolError("gaits need a character that stands on legs; this one has none it could stand on")
    for name in (action, SAME.get(action)):
        if name in known:
            return name  # type: ignore[return-value]
    raise GambolError(f"no action '{action}' for a {anatomy.plan}. Available: {', '.join(known)}")


def metres_per_unit(anatomy: Anatomy) -> float:
    return 1.0 if 0.02 <= anatomy.height <= 30 else 1.0 / anatomy.height


def _stride_and_period(
    footfalls: Footfalls, hip_height: float, speed: float, stride: float, bounce: float
) -> tuple[float, float]:
    """[m], [s]"""
    if footfalls.duty >= 1:
        return 0.0, float(np.clip(4.0 * (hip_height / 0.9) ** 0.5, 1.5, 6.0)) / speed  # two breaths
    froude = footfalls.froude * speed**2
    pace = speed_of(hip_height, froude)
    if footfalls.leap:
        flight = (8 * footfalls.bounce * bounce * hip_height / GRAVITY) ** 0.5
        period = flight / (1 - footfalls.duty)
        return pace * period * stride, period
    length = stride_length(hip_height, froude) * stride
    return (0.0 if footfalls.turning else length), length / pace


def _roll(carriage: Carriage) -> Roll:
    """Humans land on the heel; hooves, paws and claws land flat and curl more when they leave the ground."""
    if carriage.footfalls.leap:
        return Roll(0.0, np.radians(40), rising_from=0.85)
    if carriage.upright:
        return Roll(np.radians(20 - 16 * carriage.vigour), np.radians(45 + 8 * carriage.vigour), 0.5)
    return Roll(np.radians(3), np.radians(50), rising_from=0.72)


def _within_reach(plan: GaitPlan) -> GaitPlan:
    """The plan with the body low enough, and strides short enough at the same speed, for all planted feet."""
    deepest = (DEEPEST_RUN if plan.footfalls.duty < 0.5 else DEEPEST) * plan.carriage.hip_height
    for _ in range(60):
        plan, crouch = _well_placed(plan)
        if crouch <= deepest:
            return replace(plan, crouch=crouch)
        path = replace(plan.path, stride=0.94 * plan.path.stride, turning=0.94 * plan.path.turning)
        feet = tuple(replace(foot, path=path) for foot in plan.feet)
        period = plan.period if plan.footfalls.leap else 0.94 * plan.period
        plan = replace(plan, path=path, feet=feet, period=period)
    return replace(plan, crouch=deepest)


def _well_placed(plan: GaitPlan) -> tuple[GaitPlan, float]:
    """Each pair of feet set down as far ahead or behind as lets the body stay highest, and how far it must come down."""
    cycles = _with_breaks(np.arange(49) / 48, plan.breaks())  # the last moments of stance need the most
    hips = _hips(plan, cycles)
    farthest = FARTHEST * plan.carriage.hip_height if plan.footfalls.duty < 1 else 0.0
    shifts = np.linspace(-farthest, farthest, 9)
    share = SPRINGY if plan.footfalls.leap else 0.995 * COMFORTABLE
    feet, crouch = list(plan.feet), 0.0
    for rank in {foot.leg.limb.rank for foot in plan.feet}:
        pair = [index for index, foot in enumerate(plan.feet) if foot.leg.limb.rank == rank]
        drops = np.zeros(len(shifts))
        for index, (number, shift) in itertools.product(pair, enumerate(shifts)):
            foot = replace(plan.feet[index], ahead=float(shift))
            drops[number] = max(drops[number], _drop(foot, cycles, hips[index], share))
        best = int((drops + 0.1 * np.abs(shifts)).argmin())
        crouch = max(crouch, float(drops[best]))
        for index in pair:
            feet[index] = replace(plan.feet[index], ahead=float(shifts[best]))
    return replace(plan, feet=tuple(feet)), crouch


def _hips(plan: GaitPlan, cycles: Float[Array, " frames"]) -> list[Float[Array, "frames 3"]]:
    """Where each leg begins, as long as the body is not lowered."""
    root = plan.root(cycles)
    rotations, shifts = transforms(plan.anatomy, plan.carriage.turns(cycles), root)
    found = []
    for foot in plan.feet:
        parent = int(plan.anatomy.body.parents[foot.leg.links[0]])
        rotation, shift = (rotations[:, parent], shifts[:, parent]) if parent >= 0 else root
        found.append(rotation @ foot.leg.chain.points[0] + shift)
    return found


def _drop(foot: FootPath, cycles: Float[Array, " frames"], hip: Float[Array, "frames 3"], share: float) -> float:
    """How far a hip must come down for its foot to be within a share of its reach while planted; infinite if never."""
    way = (hip - foot.pose(cycles)[0])[foot.planted(cycles)]
    above = way @ foot.path.up
    aside = np.linalg.norm(way - above[:, None] * foot.path.up, axis=1)
    room = (share * foot.leg.chain.reach) ** 2 - aside**2
    return float((above - np.sqrt(np.maximum(room, 0.0))).max()) if (room > 0).all() else np.inf


def _with_tail_up(plan: GaitPlan) -> GaitPlan:
    """The plan with the tail carried high enough not to dip into the ground, at most 60 degrees higher than at rest."""
    body, up = plan.anatomy.body, plan.anatomy.up
    tail = plan.anatomy.joints_of("tail")
    own = [(joint, body.skin_of([joint])[::4]) for joint in tail]
    own = [(joint, skin) for joint, skin in own if len(skin)]
    if not own:
        return plan
    cycles = np.arange(24) / 24
    for lift in np.radians(np.arange(0, 61, 5)):
        raised = replace(plan, carriage=replace(plan.carriage, tail_lift=float(lift)))
        rotations, shifts = transforms(plan.anatomy, raised.carriage.turns(cycles), raised.root(cycles))
        heights = [
            (rotations[:, joint] @ skin.T + shifts[:, joint, :, None]).swapaxes(1, 2) @ up for joint, skin in own
        ]
        if min(height.min() for height in heights) >= plan.anatomy.ground:
            break
    return raised


def _with_breaks(cycles: Float[Array, " frames"], breaks: Float[Array, " breaks"]) -> Float[Array, " keys"]:
    """Even keys and those where some movement changes its law."""
    even = len(cycles) - 1
    extra = np.unique(np.round(breaks % 1.0, 9))
    apart = np.abs(extra * even - np.round(extra * even)) / even > 1e-7
    return np.unique(np.concatenate([cycles, extra[apart]]))


def _keyed(
    character: Character, plan: GaitPlan, cycles: Float[Array, " keys"], period: float, in_place: bool
) -> Motion:
    """Cubic tracks: with tangents taken from the motion itself a planted foot stands still between keys too."""
    step = 1e-6
    around = (cycles[:, None] + np.array([-step, 0.0, step])).ravel()
    world = plan.world(around)
    if in_place:
        world[..., :3, 3] -= (plan.path.stride * around)[:, None, None] * plan.anatomy.forward
    poses = poses_from_world(character.skeleton, plan.rig, world)
    return Motion(plan.action, tuple(_tracks(character, poses, cycles * period, step * period)))


def _tracks(character: Character, poses: Pose, times: Float[Array, " keys"], step: float) -> list[Track]:
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
