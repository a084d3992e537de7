"""A gait fitted to the skin: soles and bellies that would sink into the ground are raised by what they sink."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float
from scipy.interpolate import CubicSpline

from gambol.character.character import Character
from gambol.creatures.gaits.plan import GaitPlan
from gambol.motion.export import poses_from_world

Array = np.ndarray

SAMPLES = 96
"""Moments of a cycle at which the skin is looked at."""
LOW = 0.3
"""Share of the height below which skin can come near the ground at all."""
ROUNDS = 4


def above_ground(character: Character, plan: GaitPlan) -> tuple[GaitPlan, float]:
    """Raise each foot, moment by moment, by what its own skin sinks, and the body by what the rest of it does.

    Also returns how far the body was raised, as a share of its height: legs may not reach down from there.

    Joints know nothing of the skin around them: a heel of which the shin holds a part goes deeper than the foot's
    contact points, an elephant's by a hundredth of its height.
    """
    cycles = np.arange(SAMPLES) / SAMPLES
    lows = _low_skin(character, plan)
    raised, crouch = np.zeros((len(plan.feet), SAMPLES)), plan.crouch
    for _ in range(ROUNDS):
        depths, body = _depths(lows, plan, cycles)
        if max(depths.max(initial=0.0), body) < 2e-4 * plan.anatomy.height:
            break
        raised += depths
        feet = tuple(replace(foot, raised=_around(cycles, row)) for foot, row in zip(plan.feet, raised, strict=True))
        plan = replace(plan, feet=feet, crouch=plan.crouch - body)
    return plan, (crouch - plan.crouch) / plan.anatomy.height


def _around(cycles: Float[Array, " samples"], heights: Float[Array, " samples"]) -> CubicSpline:
    """A smooth periodic curve through the samples."""
    return CubicSpline(np.append(cycles, 1.0), np.append(heights, heights[0]), bc_type="periodic")


def _low_skin(character: Character, plan: GaitPlan) -> tuple[Character, Array]:
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
        changed = {"positions": mesh.positions[kept], "binds": mesh.binds[kept], "weights": mesh.weights[kept]}
        morphs = None if mesh.morph_positions is None else mesh.morph_positions[:, kept]
        meshes.append(replace(mesh, **changed, morph_positions=morphs, faces=np.zeros((0, 3), np.int64)))
    return replace(character, meshes=tuple(meshes)), foot_of[body.owners[low]]


def _depths(
    lows: tuple[Character, Array], plan: GaitPlan, cycles: Float[Array, " samples"]
) -> tuple[Float[Array, "feet samples"], float]:
    """How deep the skin of each foot is at each moment, and the rest of the body at its deepest [file units]."""
    character, owner = lows
    poses = poses_from_world(character.skeleton, plan.rig, plan.world(cycles))
    points = np.concatenate([np.zeros((len(cycles), 0, 3)), *character.vertices(poses)], axis=1)
    sunk = np.maximum(plan.anatomy.ground - points @ plan.anatomy.up, 0.0)
    feet = np.stack([sunk[:, owner == number].max(1, initial=0.0) for number in range(len(plan.feet))])
    return feet, float(sunk[:, owner < 0].max(initial=0.0))
