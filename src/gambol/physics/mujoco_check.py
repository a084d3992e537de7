"""Replay of the control in MuJoCo, an independent check of our simulation: how far does its body drift from ours?

MuJoCo has ideal joints where we have springs, and solves contacts as an optimisation where we have springs and
regularised Coulomb friction. Its PD controllers act on single hinges, ours on the rotation of a bone, which agree to
first order only. So two correct simulations drift apart, and the more the longer they walk, since steps amplify every
difference. But the body must not fall.

The only file that imports MuJoCo (`pip install 'gambol[mujoco]'`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from torch import Tensor

from gambol.character.transforms import matrix_from_quaternion
from gambol.errors import GambolError
from gambol.physics.coordinates import control_of, coordinates_of, depth_first, from_mujoco, to_mujoco
from gambol.physics.mjcf import frames_a_second, mjcf_of, refinement
from gambol.physics.ragdoll import Ragdoll
from gambol.physics.simulation import Simulation, State, States

LOW = 0.5
"""A body has fallen if its root is lower than this share of its neutral height, or of its height in our simulation if
that is less."""
LEANING = 60.0
"""A body has fallen if the angle between its root's up axis and the wanted direction is larger [degrees]."""


@dataclass(frozen=True)
class MujocoCheck:
    """Drift of MuJoCo's body from ours."""

    distances: Float[np.ndarray, "frames bones"]
    """Distances between the bones' centres of mass [height]; infinite once MuJoCo's simulation is unstable."""
    fps: float
    fell: float | None
    """Time at which MuJoCo's body fell [s]; None if it did not."""

    @property
    def mean(self) -> float:
        """Mean distance over bones and frames [height]."""
        return float(self.distances.mean())

    @property
    def worst(self) -> float:
        return float(self.distances.max())

    @property
    def after_a_second(self) -> float | None:
        """Mean distance over bones one second after the start [height]; None if the motion is shorter."""
        frame = round(self.fps)
        return float(self.distances[frame].mean()) if frame < len(self.distances) else None

    @property
    def at_end(self) -> float:
        """Mean distance over bones at the last frame [height]."""
        return float(self.distances[-1].mean())

    def __str__(self) -> str:
        """A sentence for the user, without a full stop."""
        if self.fell is not None and not np.isfinite(self.worst):
            return f"in MuJoCo the simulation is unstable after {self.fell:.2f} s"
        drift = [f"{100 * self.mean:.1f} % of the height on average", f"{100 * self.worst:.1f} % at worst"]
        if self.after_a_second is not None:
            drift.append(f"{100 * self.after_a_second:.1f} % after a second")
        drift.append(f"{100 * self.at_end:.1f} % at the end")
        result = "it did not fall" if self.fell is None else f"it fell after {self.fell:.2f} s"
        return f"in MuJoCo the body drifts {', '.join(drift)}; {result}"


def check_in_mujoco(
    simulation: Simulation,
    start: State,
    targets: Float[Tensor, "knots worlds bones 3"],
    upwards: Float[Tensor, "knots worlds 3"],
    ground: Float[Tensor, "worlds 3"] | None,
    states: States,
    *,
    world: int = 0,
    height: float | None = None,
) -> MujocoCheck:
    """Replay the control of one world in MuJoCo and compare with our own states.

    states: at all substeps. height: of the character in the ragdoll's space; that of its boxes if None.
    """
    steps = (len(targets) - 1) * simulation.params.substeps
    if len(states.x) != steps + 1:
        raise ValueError(f"the check needs the states of all {steps + 1} substeps, got {len(states.x)}")
    for name, part in (*start._asdict().items(), ("targets", targets), ("upwards", upwards)):
        if not bool(part.isfinite().all()):
            raise ValueError(f"the check needs finite numbers, '{name}' has others")
    wanted = upwards[:, world].detach().double().cpu().numpy()
    moving = np.zeros(3) if ground is None else ground[world].detach().double().cpu().numpy()
    if moving[1] != 0:
        raise ValueError(f"the velocity of the ground must be horizontal, got {moving}")
    ours = states.x[:: simulation.substeps, world].detach().double().cpu().numpy()
    centers, ups = _replay(simulation, start, targets, wanted, moving, world)
    height = height_of(simulation.ragdoll) if height is None else height
    distances = np.linalg.norm(centers - ours, axis=-1) / height
    distances = np.where(np.isfinite(distances), distances, np.inf)
    fps = frames_a_second(simulation)
    fallen = _fallen(simulation.ragdoll, centers, ups, ours, wanted[:: simulation.knots])
    return MujocoCheck(distances, fps, float(np.argmax(fallen)) / fps if fallen.any() else None)


def height_of(ragdoll: Ragdoll) -> float:
    """Height of the highest corner of a box in the neutral pose [ragdoll lengths]."""
    boxes = ragdoll.boxes
    return float((boxes.centers[:, 1] + (np.abs(boxes.axes[:, 1]) * boxes.half_sizes).sum(1)).max())


def _fallen(
    ragdoll: Ragdoll,
    centers: Float[np.ndarray, "frames bones 3"],
    ups: Float[np.ndarray, "frames 3"],
    ours: Float[np.ndarray, "frames bones 3"],
    wanted: Float[np.ndarray, "frames 3"],
) -> np.ndarray:
    low = centers[:, 0, 1] < LOW * np.minimum(ours[:, 0, 1], ragdoll.height_of_root)
    wanted = wanted / np.linalg.norm(wanted, axis=1, keepdims=True)
    leaning = (ups * wanted).sum(1) < np.cos(np.radians(LEANING))
    return low | leaning | ~np.isfinite(centers).all((1, 2))


def _replay(
    simulation: Simulation,
    start: State,
    targets: Float[Tensor, "knots worlds bones 3"],
    wanted: Float[np.ndarray, "knots 3"],
    moving: Float[np.ndarray, 3],
    world: int,
) -> tuple[Float[np.ndarray, "frames bones 3"], Float[np.ndarray, "frames 3"]]:
    """Centres of mass and the root's up axis at the frames, in the ragdoll's space; NaN once the simulation is
    unstable.

    MuJoCo's floor stands still, so the ground's velocity is subtracted from all others (a Galilean transformation).
    """
    mujoco = import_mujoco()
    ragdoll, params, finer = simulation.ragdoll, simulation.params, refinement(simulation)
    model = _model(mujoco, simulation)
    data = mujoco.MjData(model)
    first = coordinates_of(ragdoll, States(*(part[None] for part in start)), targets[:1], world)
    data.qpos[:], data.qvel[:] = first.qpos[0], first.qvel[0]
    data.qvel[:3] -= to_mujoco(moving)
    control, wanted = control_of(ragdoll, targets, world), to_mujoco(wanted)
    between, every = params.substeps * finer, simulation.substeps * finer
    steps = (len(targets) - 1) * between
    frames = steps // every + 1
    centers, ups = np.full((frames, len(ragdoll), 3), np.nan), np.full((frames, 3), np.nan)
    order = depth_first(ragdoll)
    with _silence(mujoco):
        for now in range(steps + 1):
            if now % every == 0:
                mujoco.mj_kinematics(model, data)
                mujoco.mj_comPos(model, data)
                if any(data.warning[kind].number for kind in _blown(mujoco)):
                    break
                centers[now // every, order] = from_mujoco(data.xipos[1:]) + moving * (now * params.dt / finer)
                ups[now // every] = from_mujoco(data.xmat[1].reshape(3, 3)[:, 2])
            if now < steps:
                knot, along = now // between, now % between / between
                data.ctrl[:] = control[knot] * (1 - along) + control[knot + 1] * along
                _set_upright(data, params, wanted[knot] * (1 - along) + wanted[knot + 1] * along)
                mujoco.mj_step(model, data)
    return centers, ups


def _blown(mujoco: Any) -> tuple[int, ...]:
    """MuJoCo's warnings about numbers that are not finite or huge."""
    kinds = mujoco.mjtWarning
    return int(kinds.mjWARN_BADQPOS), int(kinds.mjWARN_BADQVEL), int(kinds.mjWARN_BADQACC)


@contextmanager
def _silence(mujoco: Any) -> Iterator[None]:
    """Keep MuJoCo from printing warnings and writing them to a file in the working folder; we report them ourselves."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)


def _set_upright(data: Any, params: Any, wanted: Float[np.ndarray, 3]) -> None:
    """Apply the virtual upright torque on the root. Its damping about the root's horizontal axes is that of the free
    joint (see `_model`), so only the difference to damping about axes normal to the wanted direction is added here."""
    wanted = wanted / np.linalg.norm(wanted)
    rotation = matrix_from_quaternion(data.qpos[3:7])
    up, w = rotation[:, 2], rotation @ data.qvel[3:6]
    data.xfrc_applied[1, 3:] = params.upright * np.cross(up, wanted) + params.upright_damping * (
        wanted * (wanted @ w) - up * (up @ w)
    )


def _model(mujoco: Any, simulation: Simulation) -> Any:
    """MuJoCo's model of the body. The damping of the upright torque is that of the free joint, because only joint
    damping is implicit in MuJoCo."""
    try:
        model = mujoco.MjModel.from_xml_string(mjcf_of(simulation))
    except ValueError as error:
        raise GambolError(f"MuJoCo cannot load the body: {error}") from None
    model.dof_damping[3:5] = simulation.params.upright_damping
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    return model


def import_mujoco() -> Any:
    try:
        import mujoco
    except ImportError:
        raise GambolError("the check needs MuJoCo: pip install 'gambol[mujoco]'") from None
    return mujoco
