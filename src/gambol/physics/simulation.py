"""The simulation as a differentiable function of torch tensors, with gradients clipped during the backward pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from gambol.character.transforms import quaternion_from_matrix, xyzw_from_wxyz
from gambol.physics import kernels
from gambol.physics.ragdoll import SIZE, STANDARD_GRAVITY, Ragdoll
from gambol.warp_device import DEVICE, quiet_warp

wp = quiet_warp()


@dataclass(frozen=True)
class SolverConfig:
    """Settings of the simulation, with forces in units of the weight Mg and lengths in units of the size L
    (`ragdoll`)."""

    implicit: bool = True
    """Linearly implicit, or explicit as in the paper, which needs hundreds of substeps a frame."""
    substeps: int = 12
    """Substeps per frame at 30 frames per second for a body of human size; smaller bodies take more."""
    knots: int = 2
    """Knots of the control per frame; 0 for one at every substep, as in the paper."""
    chunk: int = 8
    """Number of substeps between two clippings of the gradient."""
    clip: float = 0.5
    """Largest norm of the gradient of a world's state."""
    stiffness: float = 4.0
    """Stiffness of the PD controllers [MgL per rad]."""
    damping: float = 0.04
    """Damping of the PD controllers over their stiffness [s]."""
    upright: float = 4.0
    """Stiffness of the virtual torque that keeps the root upright [MgL per rad]."""
    sink: float = 3e-4
    """Depth to which four points sink that share the weight [L]."""
    friction: float = 1.0
    """Coefficient of Coulomb friction; that of rubber on concrete is 1."""
    creep: float = 0.002
    """Speed below which friction is viscous [sqrt(gL)]."""
    joints: float = 4000.0
    """Stiffness of the springs that hold bones together [Mg / L]."""


PAPER = SolverConfig(
    implicit=False, substeps=200, knots=0, chunk=25, damping=0.01, upright=1.0, sink=2e-3, creep=0.05, joints=2000.0
)
"""The paper's scheme: explicit steps with a target for each. All forces are softer than in ours, or steps of this
length are unstable: a T. rex is with 1.5 times the damping, or twice the upright stiffness. Light bones need
`Ragdoll.sturdy`."""


class States(NamedTuple):
    """States of all bones over time, in the ragdoll's space: positions, rotations (wxyz) and velocities."""

    x: Float[Tensor, "steps worlds bones 3"]
    """Centres of mass."""
    q: Float[Tensor, "steps worlds bones 4"]
    v: Float[Tensor, "steps worlds bones 3"]
    w: Float[Tensor, "steps worlds bones 3"]
    """Angular velocity [rad/s]."""


class State(NamedTuple):
    """State of all worlds at one time."""

    x: Float[Tensor, "worlds bones 3"]
    q: Float[Tensor, "worlds bones 4"]
    v: Float[Tensor, "worlds bones 3"]
    w: Float[Tensor, "worlds bones 3"]


class Guide(NamedTuple):
    """A virtual force that pulls the root along the reference, for the first iterations of an optimisation."""

    stiffness: float
    """[Mg / L]"""
    places: Float[Tensor, "knots worlds 3"]
    """Wanted positions of the root's centre."""
    forwards: Float[Tensor, "knots worlds 3"]
    """Wanted directions of the root's forward axis."""


class Simulation:
    """Simulates a ragdoll. Not thread-safe, since it keeps scratch memory."""

    def __init__(self, ragdoll: Ragdoll, fps: float, config: SolverConfig | None = None):
        self.ragdoll, self.config = ragdoll, config or SolverConfig()
        self.substeps = substeps_for(ragdoll, fps, self.config)
        """Substeps per frame."""
        self.knots = min(self.config.knots or self.substeps, self.substeps)
        self.params = _parameters(ragdoll, self.config, 1.0 / (fps * self.substeps), self.substeps // self.knots)
        self.bones = _bones(ragdoll)
        self._scratch: _Scratch | None = None

    def __call__(
        self,
        start: State,
        targets: Float[Tensor, "knots worlds bones 3"],
        upwards: Float[Tensor, "knots worlds 3"],
        ground: Float[Tensor, "worlds 3"] | None = None,
        guide: Guide | None = None,
    ) -> States:
        """States at all substeps from the first knot to the last, including the start.

        targets: angles of the PD controllers about each bone's axes [rad], `knots` per frame and one more at the end;
        those of the root have no effect. upwards: wanted directions of the root's up axis. ground: velocity of the
        ground [1/s], 0 if None. guide: no force if None.
        """
        worlds = targets.shape[1]
        ground = torch.zeros(worlds, 3) if ground is None else ground
        guide = guide or Guide(0.0, torch.zeros_like(upwards), torch.zeros_like(upwards))
        self.params.guide = guide.stiffness * self.ragdoll.gravity / SIZE
        self.params.guide_damping = 0.3 * np.sqrt(self.params.guide)
        self.params.guide_turn = self.params.guide * SIZE**2 / 4
        self.params.upright = self.config.upright * self.ragdoll.gravity * SIZE + self.params.guide_turn
        return States(*_Rollout.apply(self, *start, targets, upwards, guide.places, guide.forwards, ground))

    def loads(self, states: States) -> Float[Tensor, "steps worlds points"]:
        """Share of the body's weight on each contact point, from its depth in the ground."""
        depth = -self.points(states)[..., 1]
        return depth.clamp(min=0) * (self.params.ground_stiffness / self.ragdoll.gravity)

    def points(self, states: States) -> Float[Tensor, "steps worlds points 3"]:
        """Positions of the contact points."""
        return contact_points(self.ragdoll, states.x, states.q)

    def point_speeds(self, states: States) -> Float[Tensor, "steps worlds points 3"]:
        bones, arms = _arms(self.ragdoll, states.q)
        return states.v[..., bones, :] + torch.linalg.cross(states.w[..., bones, :], arms)

    def scratch(self, worlds: int) -> _Scratch:
        if self._scratch is None or self._scratch.worlds != worlds:
            self._scratch = _Scratch(self.config.chunk, worlds, len(self.ragdoll.points), len(self.ragdoll))
        return self._scratch


def contact_points(
    ragdoll: Ragdoll, x: Float[Tensor, "*batch bones 3"], q: Float[Tensor, "*batch bones 4"]
) -> Float[Tensor, "*batch points 3"]:
    """Positions of the contact points for given positions and rotations of the bones."""
    bones, arms = _arms(ragdoll, q)
    return x[..., bones, :] + arms


def _arms(ragdoll: Ragdoll, q: Float[Tensor, "*batch bones 4"]) -> tuple[Tensor, Float[Tensor, "*batch points 3"]]:
    """Bone of each contact point, and vector from the bone's centre to the point."""
    bones = torch.as_tensor(ragdoll.point_bones)
    local = torch.as_tensor(ragdoll.points - ragdoll.centers[ragdoll.point_bones]).to(q)
    return bones, rotate(q[..., bones, :], local)


def substeps_for(ragdoll: Ragdoll, fps: float, config: SolverConfig) -> int:
    """Substeps per frame: more for small bodies, which fall faster in units of their size, and for low frame rates."""
    hurry = np.sqrt(ragdoll.gravity / STANDARD_GRAVITY) * 30 / fps
    knots = max(config.knots, 1)
    count = int(np.ceil(config.substeps * np.clip(hurry, 0.5, 8) / knots - 1e-6))
    return max(count, 1) * knots


def _parameters(ragdoll: Ragdoll, config: SolverConfig, dt: float, substeps: int) -> Any:
    weight = ragdoll.gravity
    params = kernels.Parameters()
    params.dt, params.implicit, params.gravity, params.substeps = dt, float(config.implicit), ragdoll.gravity, substeps
    params.stiffness = config.stiffness * weight * SIZE
    params.damping = config.damping * params.stiffness * np.sqrt(STANDARD_GRAVITY / ragdoll.gravity)
    params.joint_stiffness = config.joints * weight / SIZE
    params.joint_damping = 0.1 * np.sqrt(params.joint_stiffness * float(ragdoll.masses.mean()))
    params.upright = config.upright * weight * SIZE
    params.upright_damping = 0.1 * params.upright * np.sqrt(STANDARD_GRAVITY / ragdoll.gravity)
    params.ground_stiffness = weight / (4 * config.sink * SIZE)
    params.ground_damping = 0.5 * np.sqrt(params.ground_stiffness / 4)
    params.soft = config.sink * SIZE
    params.friction, params.creep = config.friction, config.creep * np.sqrt(ragdoll.gravity * SIZE)
    return params


def _bones(ragdoll: Ragdoll) -> Any:
    """Arrays of the kernel: vectors relative to centres of mass, and the chains of siblings and of points."""
    count, points = len(ragdoll), len(ragdoll.points)
    above, below = np.zeros((count, 3)), ragdoll.anchors - ragdoll.centers
    hung = ragdoll.parents >= 0
    above[hung] = ragdoll.anchors[hung] - ragdoll.centers[ragdoll.parents[hung]]
    last_child, sibling = np.full(count, count), np.full(count, count)
    for bone in range(count - 1, 0, -1):
        parent = ragdoll.parents[bone]
        sibling[bone], last_child[parent] = last_child[parent], bone
    last_point, before = np.full(count, points), np.full(points, points)
    for point, bone in enumerate(ragdoll.point_bones):
        before[point], last_point[bone] = last_point[bone], point
    bones = kernels.BoneArrays()
    integers = {
        "parents": ragdoll.parents,
        "last_child": last_child,
        "sibling": sibling,
        "last_point": last_point,
        "point_bones": ragdoll.point_bones,
        "before": before,
    }
    for name, values in integers.items():
        setattr(bones, name, wp.array(np.asarray(values, np.int32), dtype=int, device=DEVICE))
    bones.masses = wp.array(ragdoll.masses.astype(np.float32), dtype=float, device=DEVICE)
    bones.inertias = wp.array(ragdoll.inertias.astype(np.float32), dtype=wp.mat33, device=DEVICE)
    for name, vectors in (
        ("above", above),
        ("below", below),
        ("places", ragdoll.points - ragdoll.centers[ragdoll.point_bones]),
    ):
        setattr(bones, name, wp.array(vectors.astype(np.float32), dtype=wp.vec3, device=DEVICE))
    quaternions = xyzw_from_wxyz(quaternion_from_matrix(ragdoll.axes)).astype(np.float32)
    bones.axes = wp.array(quaternions, dtype=wp.quat, device=DEVICE)
    return bones


class _Scratch:
    """Intermediate results of a chunk of substeps, and their gradients, each in one block of memory."""

    def __init__(self, rows: int, worlds: int, points: int, bones: int):
        self.worlds = worlds
        equations: Any = kernels.Equations
        elimination: Any = kernels.Elimination
        shapes = [(points, equations), (bones, equations), (bones, elimination)]
        widths = {wp.mat33: 9, wp.vec3: 3}
        total = 0
        wanted = []
        for number, (count, struct) in enumerate(shapes):
            for name, var in struct.vars.items():
                size = rows * worlds * (count + 1) * widths[var.type.dtype]
                wanted.append((number, name, var.type.dtype, (rows, worlds, count + 1), total, size))
                total += size
        self.values, self.gradients = torch.zeros(total), torch.zeros(total)
        self.structs = [struct() for _, struct in shapes]
        for number, name, dtype, shape, begin, size in wanted:
            own = (9,) if dtype is wp.mat33 else (3,)
            inner = (3, 3) if dtype is wp.mat33 else own
            values, gradients = (
                part[begin : begin + size].view(*shape, *inner) for part in (self.values, self.gradients)
            )
            array = wp.from_torch(values, dtype=dtype, requires_grad=False)
            array.grad = wp.from_torch(gradients, dtype=dtype, requires_grad=False)
            setattr(self.structs[number], name, array)


class _Rollout(torch.autograd.Function):
    """The simulation as an autograd function; backward, Warp's adjoint of the kernel runs chunk by chunk from the
    end."""

    @staticmethod
    def forward(
        ctx: Any,
        simulation: Simulation,
        x: Tensor,
        q: Tensor,
        v: Tensor,
        w: Tensor,
        targets: Tensor,
        upwards: Tensor,
        places: Tensor,
        forwards: Tensor,
        ground: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        steps = (len(targets) - 1) * simulation.params.substeps
        states = [part.new_empty(steps + 1, *part.shape) for part in (x, q, v, w)]
        for values, part in zip(states, (x, _to_xyzw(q), v, w), strict=True):
            values[0] = part
        inputs = [part.detach().contiguous() for part in (targets, upwards, places, forwards, ground)]
        launch = _Launch(simulation, states, inputs)
        for first in range(0, steps, simulation.config.chunk):
            launch.forward(first, min(simulation.config.chunk, steps - first))
        # Not the outputs themselves: they know this node, which would keep them until the garbage is collected.
        ctx.simulation, ctx.states, ctx.inputs = simulation, [part.detach() for part in states], inputs
        return states[0], _to_wxyz(states[1]), states[2], states[3]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        simulation, chunk = ctx.simulation, ctx.simulation.config.chunk
        by_x, by_q, by_v, by_w = gradients
        by_x, by_v, by_w = (part.clone(memory_format=torch.contiguous_format) for part in (by_x, by_v, by_w))
        of_states = [by_x, _to_xyzw(by_q), by_v, by_w]
        of_inputs = [torch.zeros_like(part) for part in ctx.inputs]
        launch = _Launch(simulation, ctx.states, ctx.inputs, of_states, of_inputs)
        steps = len(ctx.states[0]) - 1
        for first in range(steps - steps % chunk, -1, -chunk):
            if first == steps:
                continue
            launch.backward(first, min(chunk, steps - first))
        x, q, v, w = (part[0] for part in of_states)
        return None, x, _to_wxyz(q), v, w, *of_inputs


class _Launch:
    """The kernel with its arrays, forward or backward."""

    def __init__(
        self,
        simulation: Simulation,
        states: list[Tensor],
        inputs: list[Tensor],
        of_states: list[Tensor] | None = None,
        of_inputs: list[Tensor] | None = None,
    ):
        self.scratch = simulation.scratch(states[0].shape[1])
        self.worlds = states[0].shape[1]
        own_states, own_control = kernels.StateArrays(), kernels.ControlArrays()
        kinds = (wp.vec3, wp.quat, wp.vec3, wp.vec3)
        _fill(own_states, "xqvw", states, of_states, kinds)
        names = ("targets", "upwards", "places", "forwards", "ground")
        _fill(own_control, names, inputs, of_inputs, (wp.vec3,) * 5)
        self.arguments = [simulation.params, simulation.bones, own_control, own_states, *self.scratch.structs]
        self._forward = self._recorded(kernels.simulate, [*self.arguments, 0, 0])
        if of_states is not None:
            of_own_states = kernels.StateArrays()
            _fill(of_own_states, "xqvw", of_states, None, kinds)
            adjoints = [type(each)() for each in self.arguments]  # gradients are beside the arrays themselves
            self._backward = self._recorded(kernels.simulate, [*self.arguments, 0, 0], [*adjoints, 0, 0])
            self._clip = self._recorded(kernels.clip_gradients, [of_own_states, 0, simulation.config.clip])

    def _recorded(self, kernel: Any, inputs: list[Any], adjoints: list[Any] | None = None) -> Any:
        """A recorded launch: packing its arguments takes longer than a chunk of a small body."""
        options = {"adj_inputs": adjoints, "adj_outputs": [], "adjoint": True} if adjoints else {}
        return wp.launch(kernel, dim=self.worlds, inputs=inputs, device=DEVICE, record_cmd=True, **options)

    def forward(self, first: int, count: int) -> None:
        self._forward.set_param_at_index(7, first)
        self._forward.set_param_at_index(8, count)
        self._forward.launch()

    def backward(self, first: int, count: int) -> None:
        """Backward pass of a chunk. It runs forward first, since scratch still holds another chunk."""
        self.forward(first, count)
        self.scratch.gradients.zero_()
        self._backward.set_param_at_index(7, first)
        self._backward.set_param_at_index(8, count)
        self._backward.launch()
        self._clip.set_param_at_index(1, first)
        self._clip.launch()


def _fill(struct: Any, names: Any, values: list[Tensor], gradients: list[Tensor] | None, kinds: Any) -> None:
    for number, name in enumerate(names):
        array = wp.from_torch(values[number], dtype=kinds[number], requires_grad=False)
        if gradients is not None:
            array.grad = wp.from_torch(gradients[number], dtype=kinds[number], requires_grad=False)
        setattr(struct, name, array)


def _to_xyzw(wxyz: Float[Tensor, "*batch 4"]) -> Float[Tensor, "*batch 4"]:
    return wxyz.roll(-1, -1).contiguous()


def _to_wxyz(xyzw: Float[Tensor, "*batch 4"]) -> Float[Tensor, "*batch 4"]:
    return xyzw.roll(1, -1).contiguous()


def rotate(wxyz: Float[Tensor, "*batch 4"], vectors: Float[Tensor, "*vectors 3"]) -> Float[Tensor, "*batch 3"]:
    """Vectors rotated by unit quaternions; shapes broadcast."""
    axis = wxyz[..., 1:]
    vectors = vectors.expand(axis.shape)
    twice = 2 * torch.linalg.cross(axis, vectors)
    return vectors + wxyz[..., :1] * twice + torch.linalg.cross(axis, twice)
