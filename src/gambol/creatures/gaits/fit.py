"""A gait fitted to a body: feet that reach the ground, and a trunk, tail, head and skin that stay above it."""

import itertools
from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int
from scipy.interpolate import CubicSpline

from gambol.character.anatomy import Part
from gambol.character.character import Character
from gambol.creatures.gaits.foot_paths import FootPath, PerFrame, Vectors
from gambol.creatures.gaits.plan import GaitPlan, with_breaks
from gambol.creatures.gaits.trunk import transforms
from gambol.motion.export import poses_from_world
from gambol.motion.inverse_kinematics import COMFORTABLE

DEEPEST, DEEPEST_RUN = 0.085, 0.13
"""The body is lowered by at most this share of the hip's height before strides are shortened instead."""
DEEPEST_STIFF = 0.17
"""The same for legs without knees, which swing by 30 degrees then; the body rises by as much when they are upright."""
FARTHEST = 0.12
"""Feet are set down up to this share of the hip's height farther ahead or behind than at rest."""
SPRINGY = 0.955
"""Share of its reach to which a leg is stretched at take-off and landing: it has to give way at once."""
SAMPLES = 96
"""Times in a cycle at which the skin is examined."""
LOW = 0.3
"""Share of the height below which skin can come near the ground at all."""
ITERATIONS = 4
"""Largest number of rounds in which feet and body are raised."""


def fitted(plan: GaitPlan) -> GaitPlan:
    """Lower the body, shorten strides and calm the trunk as far as this body needs."""
    return _clear_of_ground(_not_too_near(_within_reach(plan)))


def _within_reach(plan: GaitPlan) -> GaitPlan:
    """The plan with the body low enough, and strides short enough at the same speed, for all planted feet."""
    deepest = (DEEPEST_RUN if plan.footfalls.duty < 0.5 else DEEPEST) * plan.trunk.hip_height
    deepest = DEEPEST_STIFF * plan.trunk.hip_height if plan.stiff else deepest
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
    """Each pair of feet set down where it lets the body stay highest, and how far the body must come down."""
    cycles = with_breaks(np.arange(49) / 48, plan.breaks())  # the last moments of stance need the most
    hips = _hips(plan, cycles)
    farthest = FARTHEST * plan.trunk.hip_height if plan.footfalls.duty < 1 else 0.0
    shifts = np.linspace(-farthest, farthest, 9)
    share = SPRINGY if plan.footfalls.leap else 1.0 if plan.stiff else 0.995 * COMFORTABLE
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


def _hips(plan: GaitPlan, cycles: PerFrame) -> list[Vectors]:
    """Where each leg begins, as long as the body is not lowered."""
    root = plan.root(cycles)
    rotations, shifts = transforms(plan.anatomy, plan.trunk.turns(cycles), root)
    found = []
    for foot in plan.feet:
        parent = int(plan.anatomy.body.parents[foot.leg.links[0]])
        rotation, shift = (rotations[:, parent], shifts[:, parent]) if parent >= 0 else root
        found.append(rotation @ foot.leg.chain.points[0] + shift)
    return found


def _drop(foot: FootPath, cycles: PerFrame, hip: Vectors, share: float) -> float:
    """How far a hip must come down for its foot to be within a share of its reach while planted; infinite if never."""
    way = (hip - foot.pose(cycles)[0])[foot.planted(cycles)]
    above = way @ foot.path.up
    aside = np.linalg.norm(way - above[:, None] * foot.path.up, axis=1)
    room = (share * foot.leg.chain.reach) ** 2 - aside**2
    return float((above - np.sqrt(np.maximum(room, 0.0))).max()) if (room > 0).all() else np.inf


def _not_too_near(plan: GaitPlan) -> GaitPlan:
    """A leap's plan that gives way no farther than the legs fold and the belly is above the ground."""
    cycles = np.arange(96) / 96
    for spring in (0.2, 0.15, 0.1, 0.06, 0.03) if plan.footfalls.leap else ():
        plan = replace(plan, trunk=replace(plan.trunk, spring=spring))
        room = [
            np.linalg.norm(hip - foot.pose(cycles)[0], axis=1)[foot.planted(cycles)].min() - foot.leg.chain.shortest
            for foot, hip in zip(plan.feet, _hips(plan, cycles), strict=True)
        ]
        if min(room) > 0 and _lowest(plan, ("trunk",)) >= -0.005:
            break
    return plan


def _clear_of_ground(plan: GaitPlan) -> GaitPlan:
    """The plan with tail and head carried so high, and a low trunk moved so little, that none dips into the ground."""
    calmer = plan
    for bounce in (1.0, 0.6, 0.3, 0.1):
        if plan.footfalls.leap:
            break
        calmer = replace(plan, trunk=replace(plan.trunk, bounce=bounce * plan.trunk.bounce))
        if _lowest(calmer, ("trunk",)) >= -0.005:
            break
    if calmer.trunk.bounce != plan.trunk.bounce:
        calmer = _within_reach(replace(calmer, crouch=0.0))
    for degrees in range(0, 61, 5):
        raised = replace(calmer, trunk=replace(calmer.trunk, tail_lift=float(np.radians(degrees))))
        if _lowest(raised, ("tail",)) >= 0:
            break
    for degrees in range(0, 31, 3):
        level = replace(raised, trunk=replace(raised.trunk, head_lift=float(np.radians(degrees))))
        if _lowest(level, ("neck", "head")) >= 0:
            break
    return level


def _lowest(plan: GaitPlan, parts: tuple[Part, ...]) -> float:
    """Height of the lowest skin of some parts above the ground over a cycle, in heights of the character."""
    body, up = plan.anatomy.body, plan.anatomy.up
    cycles = np.arange(24) / 24
    rotations, shifts = transforms(plan.anatomy, plan.trunk.turns(cycles), plan.root(cycles))
    lowest = np.inf
    for joint in (joint for part in parts for joint in plan.anatomy.joints_of(part)):
        skin = body.skin_of([joint])[::3]
        if len(skin):
            heights = np.einsum("fij,pj,i->fp", rotations[:, joint], skin, up) + (shifts[:, joint] @ up)[:, None]
            lowest = min(lowest, float(heights.min()))
    return (lowest - plan.anatomy.ground) / plan.anatomy.height


def above_ground(character: Character, plan: GaitPlan) -> tuple[GaitPlan, float]:
    """Raise each foot, over the cycle, by what its own skin sinks, and the body by what the rest of it does.

    Also returns how far the body was raised, as a share of its height: legs may not reach down from there.

    Joints know nothing of the skin around them: a heel of which the shin holds a part goes deeper than the foot's
    contact points, an elephant's by a hundredth of its height.
    """
    cycles = np.arange(SAMPLES) / SAMPLES
    lows = _low_skin(character, plan)
    raised, crouch = np.zeros((len(plan.feet), SAMPLES)), plan.crouch
    for _ in range(ITERATIONS):
        depths, body = _depths(lows, plan, cycles)
        if max(depths.max(initial=0.0), body) < 2e-4 * plan.anatomy.height:
            break
        raised += depths
        feet = tuple(replace(foot, raised=_around(cycles, row)) for foot, row in zip(plan.feet, raised, strict=True))
        plan = replace(plan, feet=feet, crouch=plan.crouch - body)
    return plan, (crouch - plan.crouch) / plan.anatomy.height


def _around(cycles: Float[np.ndarray, " samples"], heights: Float[np.ndarray, " samples"]) -> CubicSpline:
    """A smooth periodic curve through the samples."""
    return CubicSpline(np.append(cycles, 1.0), np.append(heights, heights[0]), bc_type="periodic")


def _low_skin(character: Character, plan: GaitPlan) -> tuple[Character, Int[np.ndarray, " low"]]:
    """The character with only the vertices that can come near the ground, and the foot each of them belongs to, or -1.

    Arms and wings are left out: what a hand holds may touch the ground without lifting the body.
    """
    body, anatomy = plan.anatomy.body, plan.anatomy
    foot_of = np.full(len(body) + 1, -1)
    for number, foot in enumerate(plan.feet):
        foot_of[list(foot.leg.limb.joints)] = number
    free = np.array([part in ("arm", "wing", "fin") for part in anatomy.parts] + [True])
    low = ~free[body.owners] & (body.vertices @ anatomy.up < anatomy.ground + LOW * anatomy.height)
    meshes, start = [], 0
    for mesh in character.meshes:
        kept = low[start : start + len(mesh.positions)]
        start += len(mesh.positions)
        meshes.append(mesh.only(kept))
    return replace(character, meshes=tuple(meshes)), foot_of[body.owners[low]]


def _depths(
    lows: tuple[Character, Int[np.ndarray, " low"]], plan: GaitPlan, cycles: Float[np.ndarray, " samples"]
) -> tuple[Float[np.ndarray, "feet samples"], float]:
    """How deep the skin of each foot is at each time, and the rest of the body at its deepest [file units]."""
    character, owner = lows
    poses = poses_from_world(character.skeleton, plan.rig.nodes, plan.world(cycles))
    points = np.concatenate([np.zeros((len(cycles), 0, 3)), *character.vertices(poses)], axis=1)
    sunk = np.maximum(plan.anatomy.ground - points @ plan.anatomy.up, 0.0)
    feet = np.stack([sunk[:, owner == number].max(1, initial=0.0) for number in range(len(plan.feet))])
    return feet, float(sunk[:, owner < 0].max(initial=0.0))
