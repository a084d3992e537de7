# mypy: ignore-errors
"""The paper's way to track: Newton's semi-implicit solver, a Warp tape for every few tens of substeps (AKD, section 4).

`pip install newton`. Newton's bodies, joints and contacts get the masses, gains and points of our own simulation, so
that only the way differs: eight launches a substep instead of one for a whole chunk. Contacts are found once, with all
points that may touch, and not again at every substep as in Newton's examples, which is to Newton's advantage.
"""

from __future__ import annotations

import copy
import time
from typing import Any

import gambol  # noqa: F401  # before torch
import newton
import numpy as np
import torch
import warp as wp
from gambol.physics.reference import Reference, rotation_matrices
from gambol.physics.simulation import Simulation, quaternions_of
from gambol.physics.tracking import Control, TrackConfig
from torch import Tensor
from torch.autograd.function import once_differentiable

RADIUS = 0.002
"""Of the spheres that stand for points; the ground is as much lower."""


@wp.kernel
def keep_upright(
    body_q: wp.array[wp.transform],
    body_qd: wp.array[wp.spatial_vector],
    wanted: wp.vec3,
    stiffness: float,
    damping: float,
    body_f: wp.array[wp.spatial_vector],
):
    """The virtual force on the root, as in our own kernel."""
    up = wp.quat_rotate(wp.transform_get_rotation(body_q[0]), wp.vec3(0.0, 1.0, 0.0))
    w = wp.spatial_bottom(body_qd[0])
    torque = stiffness * wp.cross(up, wanted) - damping * (w - wanted * wp.dot(wanted, w))
    body_f[0] = wp.spatial_vector(wp.vec3(0.0), torque)


class NewtonBody:
    """A ragdoll in Newton, with all of its states from the first substep to the last."""

    def __init__(self, simulation: Simulation, control: Control, chunk: int):
        params = simulation.params
        self.params, self.chunk = params, chunk
        self.model = _model(simulation)
        self.solver = newton.solvers.SolverSemiImplicit(
            self.model,
            angular_damping=0.0,
            friction_smoothing=params.creep,
            joint_attach_ke=params.joint_stiffness,
            joint_attach_kd=params.joint_damping,
        )
        self.steps = len(control.targets) - 1
        self.states = [self.model.state() for _ in range(self.steps + 1)]
        self.upwards = torch.nn.functional.normalize(control.upwards[:, 0], dim=-1).tolist()
        usual = self.model.control()
        self.controls = [copy.copy(usual) for _ in range(self.steps)]
        for each in self.controls:
            each.joint_target_q = wp.zeros_like(usual.joint_target_q, requires_grad=True)
        self.firsts = self.model.joint_target_q_start.numpy()[1 : len(simulation.ragdoll)]
        pipeline = newton.CollisionPipeline(self.model, broad_phase="explicit", requires_grad=True)
        self.contacts = pipeline.contacts()
        pipeline.collide(self.states[0], self.contacts)
        found, wanted = int(self.contacts.rigid_contact_count.numpy()[0]), len(simulation.ragdoll.points)
        if found != wanted:
            raise RuntimeError(f"Newton found {found} contacts of {wanted}")

    def rows(self, targets: Tensor) -> Tensor:
        """Targets [substeps, bones, 3] as Newton's coordinates; the free joint of the root has seven of its own."""
        rows = targets.new_zeros(len(targets), len(self.model.joint_target_q))
        rows[:, self.firsts[:, None] + np.arange(3)] = targets[:, 1:]
        return rows

    def run(self, first: int, last: int) -> None:
        for now in range(first, last):
            state = self.states[now]
            state.body_f.zero_()
            gains = [wp.vec3(*self.upwards[now]), self.params.upright, self.params.upright_damping]
            wp.launch(keep_upright, 1, [state.body_q, state.body_qd, *gains], [state.body_f], device="cpu")
            self.solver.step(state, self.states[now + 1], self.controls[now], self.contacts, self.params.dt)


class _Chunk(torch.autograd.Function):
    """A few tens of substeps and their tape; gradients that come back are clipped."""

    @staticmethod
    def forward(ctx: Any, body: NewtonBody, first: int, clip: float, q: Tensor, qd: Tensor, rows: Tensor) -> Any:
        last = first + len(rows)
        start, end = body.states[first], body.states[last]
        wp.to_torch(start.body_q, requires_grad=False).copy_(q)
        wp.to_torch(start.body_qd, requires_grad=False).copy_(qd)
        for control, row in zip(body.controls[first:last], rows, strict=True):
            wp.to_torch(control.joint_target_q, requires_grad=False).copy_(row)
        ctx.tape, ctx.clip, ctx.arrays = wp.Tape(), clip, (start, end, body.controls[first:last])
        with ctx.tape:
            body.run(first, last)
        return tuple(wp.to_torch(part, requires_grad=False).clone() for part in (end.body_q, end.body_qd))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_q: Tensor, by_qd: Tensor) -> Any:
        start, end, controls = ctx.arrays
        norm = float(torch.sqrt(by_q.square().sum() + by_qd.square().sum()))
        scale = min(1.0, ctx.clip / max(norm, 1e-30))
        wp.to_torch(end.body_q.grad).copy_(by_q * scale)
        wp.to_torch(end.body_qd.grad).copy_(by_qd * scale)
        ctx.tape.backward()
        of_start = [wp.to_torch(part.grad).clone() for part in (start.body_q, start.body_qd)]
        of_rows = torch.stack([wp.to_torch(each.joint_target_q.grad).clone() for each in controls])
        ctx.tape.zero()
        return None, None, None, *of_start, of_rows


def track_in_newton(
    simulation: Simulation, reference: Reference, control: Control, config: TrackConfig
) -> tuple[list[float], list[float]]:
    """Mean distance of bones that each iteration finds, before it changes anything [size], and its seconds.

    The loss is the paper's (13). control: where to begin, with targets at every substep.
    """
    chunk = simulation.config.chunk
    body = NewtonBody(simulation, control, chunk)
    every = simulation.substeps
    q = torch.cat([control.start.x[0], control.start.q[0].roll(-1, -1)], -1).detach()
    qd = torch.cat([control.start.v[0], control.start.w[0]], -1).detach().requires_grad_()
    targets = control.targets[:-1, 0].detach().clone().requires_grad_()
    optimiser = torch.optim.Adam([{"params": [targets]}, {"params": [qd], "lr": config.velocity_lr}], config.lr)
    turns = rotation_matrices(reference.q)
    distances, seconds = [], []
    for _ in range(config.iterations):
        began = time.thread_time()
        rows, now, then, frames = body.rows(targets), q, qd, [q]
        for first in range(0, body.steps, every):
            for begin in range(first, first + every, chunk):
                some = rows[begin : min(begin + chunk, first + every)]
                now, then = _Chunk.apply(body, begin, simulation.config.clip, now, then, some)
            frames.append(now)
        shown = torch.stack(frames)
        apart = shown[..., :3] - reference.x
        turned = rotation_matrices(shown[..., 3:].roll(1, -1)) - turns
        second = targets[2:] - 2 * targets[1:-1] + targets[:-2]
        loss = apart[1:].abs().sum(-1).mean() + config.rotation * turned[1:].abs().sum((-1, -2)).mean()
        optimiser.zero_grad()
        (loss + config.smooth * second.abs().mean()).backward()
        optimiser.step()
        distances.append(float(apart.detach().norm(dim=-1).mean()))
        seconds.append(time.thread_time() - began)
    return distances, seconds


def _model(simulation: Simulation) -> Any:
    ragdoll, params = simulation.ragdoll, simulation.params
    builder = newton.ModelBuilder(up_axis=newton.Axis.Y, gravity=(0.0, -float(ragdoll.gravity), 0.0))
    axes = quaternions_of(torch.as_tensor(ragdoll.axes)).roll(-1, -1).tolist()
    gains = {"target_ke": params.stiffness, "target_kd": params.damping}
    joints = []
    for bone, parent in enumerate(ragdoll.parents.tolist()):
        builder.add_link(
            xform=wp.transform(wp.vec3(*ragdoll.centers[bone]), wp.quat_identity()),
            mass=float(ragdoll.masses[bone]),
            inertia=wp.mat33(*ragdoll.inertias[bone].flatten()),
            lock_inertia=True,
        )
        if parent < 0:
            joints.append(builder.add_joint_free(child=bone))
            continue
        own, above = (wp.vec3(*(ragdoll.anchors[bone] - ragdoll.centers[at])) for at in (bone, parent))
        joints.append(
            builder.add_joint_d6(
                parent,
                bone,
                angular_axes=[
                    newton.ModelBuilder.JointDofConfig(axis=axis, **gains)
                    for axis in (newton.Axis.X, newton.Axis.Y, newton.Axis.Z)
                ],
                parent_xform=wp.transform(above, wp.quat(*axes[bone])),
                child_xform=wp.transform(own, wp.quat(*axes[bone])),
            )
        )
    builder.add_articulation(joints)
    touch = _material(params)
    builder.add_ground_plane(height=-RADIUS, cfg=touch)
    touch = copy.copy(touch)
    touch.collision_group = -1  # with the ground only
    for bone, point in zip(ragdoll.point_bones.tolist(), ragdoll.points, strict=True):
        place = wp.transform(wp.vec3(*(point - ragdoll.centers[bone])), wp.quat_identity())
        builder.add_shape_sphere(bone, xform=place, radius=RADIUS, cfg=touch)
    return builder.finalize("cpu", requires_grad=True)


def _material(params: Any) -> Any:
    """Newton multiplies Coulomb's limit by 1 / smoothing where points slide faster than that, so `mu` makes up for it;
    below, friction is viscous, such that a quarter of the weight reaches the limit at the speed `creep`."""
    return newton.ModelBuilder.ShapeConfig(
        density=0.0,
        ke=params.ground_stiffness,
        kd=params.ground_damping,
        kf=params.friction * params.gravity / 4 / params.creep,
        mu=params.friction * params.creep,
        gap=10.0,
    )
