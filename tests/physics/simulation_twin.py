"""The simulation in plain torch: a readable reference of the kernel, in any precision, with gradients by autograd.

It solves the dense system that the kernel factorises along the tree:

    (M + dt D + dt^2 K) v_new = M v + dt f

The unknowns are the linear and angular velocities of all bones. Everything that acts on bones is one of `Forces`, which
depend on velocities u = J v, such as that of a gap at a joint or of a point on the ground: D = sum J^T damping J,
K = sum J^T stiffness J, f = sum J^T force. Costs grow with the cube of the number of bones, and gradients are not
clipped: for tests and for readers.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.motion.kinematics import compound_rotation
from gambol.physics.simulation import Simulation, State, States, rotate


class Forces(NamedTuple):
    """Forces `force` - `damping` u - dt `stiffness` u for velocities u = `jacobian` v, all of them 3-vectors."""

    jacobian: Float[Tensor, "worlds forces 3 unknowns"]
    force: Float[Tensor, "worlds forces 3"]
    stiffness: Float[Tensor, "worlds forces 3 3"]
    damping: Float[Tensor, "worlds forces 3 3"]


def rollout(
    simulation: Simulation,
    start: State,
    targets: Float[Tensor, "knots worlds bones 3"],
    upwards: Float[Tensor, "knots worlds 3"],
    ground: Float[Tensor, "worlds 3"] | None = None,
) -> States:
    """States at all substeps, as `Simulation.__call__` returns them; without a guide."""
    ground = torch.zeros_like(upwards[0]) if ground is None else ground
    substeps, states = simulation.params.substeps, [start]
    for now in range((len(targets) - 1) * substeps):
        knot, along = now // substeps, now % substeps / substeps
        angles = targets[knot] * (1 - along) + targets[knot + 1] * along
        upward = upwards[knot] * (1 - along) + upwards[knot + 1] * along
        states.append(substep(simulation, states[-1], angles, upward, ground))
    return States(*(torch.stack(parts) for parts in zip(*states, strict=True)))


def substep(
    simulation: Simulation,
    state: State,
    angles: Float[Tensor, "worlds bones 3"],
    upward: Float[Tensor, "worlds 3"],
    ground: Float[Tensor, "worlds 3"],
) -> State:
    """The state after one substep.

    angles: targets of the PD controllers [rad]. upward: wanted direction of the root's up axis. ground: its velocity.
    """
    params, dt = simulation.params, simulation.params.dt
    rotations = _rotations(state.q)
    velocity = torch.cat([state.v, state.w], -1).flatten(1)
    matrix, right = _inertia(simulation, state, rotations)
    for forces in (
        joint_springs(simulation, state, rotations),
        pd_control(simulation, rotations, angles),
        upright_force(simulation, rotations, upward),
        contacts(simulation, state, rotations, ground),
    ):
        forward, back = forces.jacobian, forces.jacobian.mT
        force = forces.force[..., None]
        if params.implicit:
            matrix = matrix + (back @ (dt * forces.damping + dt**2 * forces.stiffness) @ forward).sum(1)
        else:
            force = force - forces.damping @ (forward @ velocity[:, None, :, None])
        right = right + dt * (back @ force).sum(1)[..., 0]
    v, w = torch.linalg.solve(matrix, right).unflatten(-1, (-1, 6)).split(3, -1)
    return State(state.x + dt * v, turned_on(state.q, w, dt), v, w)


def _inertia(
    simulation: Simulation, state: State, rotations: Float[Tensor, "worlds bones 3 3"]
) -> tuple[Float[Tensor, "worlds unknowns unknowns"], Float[Tensor, "worlds unknowns"]]:
    """M, and M v plus the impulses of gravity and of gyroscopic torque in a substep."""
    params, ragdoll = simulation.params, simulation.ragdoll
    masses = torch.as_tensor(ragdoll.masses).to(state.x)[:, None]
    inertias = rotations @ torch.as_tensor(ragdoll.inertias).to(state.x) @ rotations.mT
    spin = (inertias @ state.w[..., None])[..., 0]
    push = masses * (state.v - params.dt * params.gravity * _up(state.x))
    twist = spin - params.dt * torch.linalg.cross(state.w, spin)
    blocks = state.x.new_zeros(*state.x.shape[:2], 6, 6)
    blocks[..., :3, :3] = masses[..., None] * torch.eye(3).to(state.x)
    blocks[..., 3:, 3:] = inertias
    matrix = torch.stack([torch.block_diag(*each) for each in blocks])
    return matrix, torch.cat([push, twist], -1).flatten(1)


def joint_springs(simulation: Simulation, state: State, rotations: Float[Tensor, "worlds bones 3 3"]) -> Forces:
    """Springs that hold every bone but the root to its parent, between the joint's places on both."""
    params, ragdoll = simulation.params, simulation.ragdoll
    parents = torch.as_tensor(ragdoll.parents[1:])
    bones = torch.arange(1, len(ragdoll))
    anchors, centers = torch.as_tensor(ragdoll.anchors[1:]), torch.as_tensor(ragdoll.centers)
    above = _turned(rotations[:, parents], anchors - centers[parents])
    below = _turned(rotations[:, bones], anchors - centers[bones])
    gap = state.x[:, parents] + above - state.x[:, bones] - below
    count = len(ragdoll)
    jacobian = _velocities_of_points(parents, above, count) - _velocities_of_points(bones, below, count)
    one = torch.eye(3).to(gap).expand(*gap.shape, 3)
    return Forces(jacobian, -params.joint_stiffness * gap, params.joint_stiffness * one, params.joint_damping * one)


def pd_control(
    simulation: Simulation, rotations: Float[Tensor, "worlds bones 3 3"], angles: Float[Tensor, "worlds bones 3"]
) -> Forces:
    """PD torques that turn every bone but the root, relative to its parent, towards its target."""
    params, ragdoll = simulation.params, simulation.ragdoll
    parents = torch.as_tensor(ragdoll.parents[1:])
    wanted = compound_rotation(angles[:, 1:], torch.as_tensor(ragdoll.axes[1:]).to(rotations))
    error = small_turn(rotations[:, parents] @ wanted @ rotations[:, 1:].mT)
    arms, count = torch.zeros_like(error), len(ragdoll)
    jacobian = _angular_velocities(torch.arange(1, count), arms, count) - _angular_velocities(parents, arms, count)
    one = torch.eye(3).to(error).expand(*error.shape, 3)
    return Forces(jacobian, params.stiffness * error, params.stiffness * one, params.damping * one)


def upright_force(
    simulation: Simulation, rotations: Float[Tensor, "worlds bones 3 3"], upward: Float[Tensor, "worlds 3"]
) -> Forces:
    """Virtual torque that tilts the root's up axis towards the wanted direction; rotation about that is free."""
    params = simulation.params
    wanted = torch.nn.functional.normalize(upward, dim=-1)[:, None]
    lean = torch.linalg.cross(rotations[:, :1, :, 1], wanted)
    leaning = torch.eye(3).to(lean) - wanted[..., :, None] * wanted[..., None, :]
    jacobian = _angular_velocities(torch.zeros(1, dtype=torch.long), torch.zeros_like(lean), len(simulation.ragdoll))
    return Forces(jacobian, params.upright * lean, params.upright * leaning, params.upright_damping * leaning)


def contacts(
    simulation: Simulation,
    state: State,
    rotations: Float[Tensor, "worlds bones 3 3"],
    ground: Float[Tensor, "worlds 3"],
) -> Forces:
    """Normal force and Coulomb friction of the ground on points that are below it."""
    params, ragdoll = simulation.params, simulation.ragdoll
    bones = torch.as_tensor(ragdoll.point_bones)
    arms = _turned(rotations[:, bones], torch.as_tensor(ragdoll.points - ragdoll.centers[ragdoll.point_bones]))
    speed = state.v[:, bones] + torch.linalg.cross(state.w[:, bones], arms) - ground[:, None]
    depth = -(state.x[:, bones] + arms)[..., 1]
    touching = (depth > 0).to(depth)
    up = _up(depth)
    steep = up[:, None] * up
    level = torch.eye(3).to(depth) - steep

    bounce = params.ground_damping * (depth / params.soft).clamp(max=1.0) * touching
    load = (params.ground_stiffness * depth - bounce * speed[..., 1]).clamp(min=0.0) * touching
    slide = speed @ level
    grip = params.friction * load / (slide.square().sum(-1) + params.creep**2).sqrt()
    lift = params.ground_stiffness * (depth * touching)[..., None] * up
    stiffness = (params.ground_stiffness * touching)[..., None, None] * steep
    damping = grip[..., None, None] * level + bounce[..., None, None] * steep
    drag = (damping @ ground[:, None, :, None])[..., 0]
    return Forces(_velocities_of_points(bones, arms, len(ragdoll)), lift + drag, stiffness, damping)


def small_turn(rotations: Float[Tensor, "*batch 3 3"]) -> Float[Tensor, "*batch 3"]:
    """2 sin(angle / 2) along the axis: the rotation vector to first order; undefined for an angle of pi."""
    across = rotations - rotations.mT  # 2 sin(angle) times the axis, as a cross product
    twice = torch.stack([across[..., 2, 1], across[..., 0, 2], across[..., 1, 0]], -1)
    doubled_cosine = (1 + rotations.diagonal(dim1=-2, dim2=-1).sum(-1)).sqrt()  # of half the angle
    return twice / doubled_cosine[..., None]


def turned_on(q: Float[Tensor, "*batch 4"], w: Float[Tensor, "*batch 3"], dt: float) -> Float[Tensor, "*batch 4"]:
    """The rotation after a time step with a constant angular velocity: q + dt/2 (0, w) q, normalised."""
    scalar, vector = q[..., :1], q[..., 1:]
    along = -(w * vector).sum(-1, keepdim=True)
    across = scalar * w + torch.linalg.cross(w, vector)
    return torch.nn.functional.normalize(q + 0.5 * dt * torch.cat([along, across], -1), dim=-1)


def _velocities_of_points(
    bones: Int[Tensor, " points"], arms: Float[Tensor, "worlds points 3"], count: int
) -> Float[Tensor, "worlds points 3 unknowns"]:
    """Jacobian of v + w x arm, for points at the end of arms from the centres of bones."""
    one = torch.eye(3).to(arms).expand(*arms.shape, 3)
    crossed = torch.linalg.cross(one, arms[..., None, :]).mT  # w x arm, column by column of w
    return _spread(torch.cat([one, crossed], -1), bones, count)


def _angular_velocities(
    bones: Int[Tensor, " chosen"], like: Float[Tensor, "worlds chosen 3"], count: int
) -> Float[Tensor, "worlds chosen 3 unknowns"]:
    """Jacobian of w."""
    one = torch.eye(3).to(like).expand(*like.shape, 3)
    return _spread(torch.cat([torch.zeros_like(one), one], -1), bones, count)


def _spread(
    blocks: Float[Tensor, "worlds chosen 3 6"], bones: Int[Tensor, " chosen"], count: int
) -> Float[Tensor, "worlds chosen 3 unknowns"]:
    """Blocks in the columns of their bones' unknowns, zeros elsewhere."""
    places = torch.eye(count).to(blocks)[bones]
    return torch.einsum("cb,wcij->wcibj", places, blocks).flatten(-2)


def _rotations(q: Float[Tensor, "*batch 4"]) -> Float[Tensor, "*batch 3 3"]:
    columns = [rotate(q, axis) for axis in torch.eye(3).to(q)]
    return torch.stack(columns, -1)


def _turned(rotations: Float[Tensor, "*batch 3 3"], vectors: Tensor) -> Float[Tensor, "*batch 3"]:
    return (rotations @ vectors.to(rotations)[..., None])[..., 0]


def _up(like: Tensor) -> Float[Tensor, 3]:
    return like.new_tensor([0.0, 1.0, 0.0])
