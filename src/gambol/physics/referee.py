"""The referee: the same control in somebody else's physics. How far does MuJoCo's body stray from ours?

MuJoCo holds bones together exactly where we have springs, and solves contacts as an optimisation where we have springs
and viscous, then Coulomb friction. Its hinges answer each to its own angle where our PD control answers to the whole
turn of a bone: the same to first order only. So two bodies that are both right stray from each other, and as steps
amplify every difference, one that walks strays further the longer it walks. What must not happen is that it falls.

Only this file knows MuJoCo (`pip install 'gambol[mujoco]'`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from torch import Tensor

from gambol.errors import GambolError
from gambol.physics.mjcf import (
    control_of,
    coordinates_of,
    depth_first,
    frames_a_second,
    from_mujoco,
    mjcf_of,
    refinement,
    to_mujoco,
)
from gambol.physics.ragdoll import Ragdoll
from gambol.physics.simulation import Simulation, Start, States

Array = np.ndarray

LOW = 0.5
"""A body has fallen if its root is lower than this share of its height, or of that of our own if that crouches."""
LEANING = 60.0
"""A body has fallen if its root's up is further from where it should point [degrees]."""


@dataclass(frozen=True)
class Verdict:
    """How far MuJoCo's body strayed from ours."""

    distances: Float[Array, "frames bones"]
    """Between centres of mass, in parts of the character's height. Infinite from where MuJoCo's numbers blew up."""
    fps: float
    fell: float | None
    """When MuJoCo's body fell, if it did [s]."""

    @property
    def mean(self) -> float:
        """Over bones and frames, in parts of the height, as all figures here."""
        return float(self.distances.mean())

    @property
    def worst(self) -> float:
        return float(self.distances.max())

    @property
    def after_a_second(self) -> float | None:
        """Mean over bones, one second after the start; None if the motion is shorter."""
        frame = round(self.fps)
        return float(self.distances[frame].mean()) if frame < len(self.distances) else None

    @property
    def at_end(self) -> float:
        """Mean over bones, at the last frame."""
        return float(self.distances[-1].mean())

    def __str__(self) -> str:
        """For people, without a full stop."""
        if self.fell is not None and not np.isfinite(self.worst):
            return f"in MuJoCo the body flies apart after {self.fell:.2f} s"
        drift = [f"{100 * self.mean:.1f} % of the height on average", f"{100 * self.worst:.1f} % at worst"]
        if self.after_a_second is not None:
            drift.append(f"{100 * self.after_a_second:.1f} % after a second")
        drift.append(f"{100 * self.at_end:.1f} % at the end")
        outcome = "it did not fall" if self.fell is None else f"it fell after {self.fell:.2f} s"
        return f"in MuJoCo the body strays {', '.join(drift)}; {outcome}"


def judge(
    simulation: Simulation,
    start: Start,
    targets: Float[Tensor, "knots worlds bones 3"],
    upwards: Float[Tensor, "knots worlds 3"],
    ground: Float[Tensor, "worlds 3"] | None,
    states: States,
    *,
    world: int = 0,
    height: float | None = None,
) -> Verdict:
    """Replay the control of one world in MuJoCo, and compare with our own states, all of them, as simulated.

    height: of the character, in the ragdoll's lengths; if None, that of its boxes in the neutral pose.
    """
    steps = (len(targets) - 1) * simulation.law.substeps
    if len(states.x) != steps + 1:
        raise ValueError(f"the referee needs the states of all {steps + 1} substeps, got {len(states.x)}")
    for name, part in (*start._asdict().items(), ("targets", targets), ("upwards", upwards)):
        if not bool(part.isfinite().all()):
            raise ValueError(f"the referee needs numbers, '{name}' has others")
    wanted = upwards[:, world].detach().double().cpu().numpy()
    moving = np.zeros(3) if ground is None else ground[world].detach().double().cpu().numpy()
    if moving[1] != 0:
        raise ValueError(f"the ground must move level, got {moving}")
    ours = states.x[:: simulation.substeps, world].detach().double().cpu().numpy()
    centers, ups = _replay(simulation, start, targets, wanted, moving, world)
    height = height_of(simulation.ragdoll) if height is None else height
    distances = np.linalg.norm(centers - ours, axis=-1) / height
    distances = np.where(np.isfinite(distances), distances, np.inf)
    fps = frames_a_second(simulation)
    fallen = _fallen(simulation.ragdoll, centers, ups, ours, wanted[:: simulation.knots])
    return Verdict(distances, fps, float(np.argmax(fallen)) / fps if fallen.any() else None)


def height_of(ragdoll: Ragdoll) -> float:
    """Of the highest corner of a box above the ground, in the neutral pose."""
    boxes = ragdoll.boxes
    return float((boxes.centers[:, 1] + (np.abs(boxes.axes[:, 1]) * boxes.half_sizes).sum(1)).max())


def _fallen(
    ragdoll: Ragdoll,
    centers: Float[Array, "frames bones 3"],
    ups: Float[Array, "frames 3"],
    ours: Float[Array, "frames bones 3"],
    wanted: Float[Array, "frames 3"],
) -> Array:
    low = centers[:, 0, 1] < LOW * np.minimum(ours[:, 0, 1], ragdoll.height_of_root)
    wanted = wanted / np.linalg.norm(wanted, axis=1, keepdims=True)
    leaning = (ups * wanted).sum(1) < np.cos(np.radians(LEANING))
    return low | leaning | ~np.isfinite(centers).all((1, 2))


def _replay(
    simulation: Simulation,
    start: Start,
    targets: Float[Tensor, "knots worlds bones 3"],
    wanted: Float[Array, "knots 3"],
    moving: Float[Array, 3],
    world: int,
) -> tuple[Float[Array, "frames bones 3"], Float[Array, "frames 3"]]:
    """Centres of mass and the root's up at the frames, in the ragdoll's space; NaN after numbers blew up.

    MuJoCo's floor stands still. Physics are the same on a train, so a moving ground is a standing one if its velocity
    is taken off from all others.
    """
    mujoco = _mujoco()
    ragdoll, law, finer = simulation.ragdoll, simulation.law, refinement(simulation)
    model = _model(mujoco, simulation)
    data = mujoco.MjData(model)
    first = coordinates_of(ragdoll, States(*(part[None] for part in start)), targets[:1], world)
    data.qpos[:], data.qvel[:] = first.qpos[0], first.qvel[0]
    data.qvel[:3] -= to_mujoco(moving)
    control, wanted = control_of(ragdoll, targets, world), to_mujoco(wanted)
    between, every = law.substeps * finer, simulation.substeps * finer
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
                centers[now // every, order] = from_mujoco(data.xipos[1:]) + moving * (now * law.dt / finer)
                ups[now // every] = from_mujoco(data.xmat[1].reshape(3, 3)[:, 2])
            if now < steps:
                knot, along = now // between, now % between / between
                data.ctrl[:] = control[knot] * (1 - along) + control[knot + 1] * along
                _set_upright(data, law, wanted[knot] * (1 - along) + wanted[knot + 1] * along)
                mujoco.mj_step(model, data)
    return centers, ups


def _blown(mujoco: Any) -> tuple[int, ...]:
    """Warnings of MuJoCo about numbers that are not finite, or huge."""
    kinds = mujoco.mjtWarning
    return int(kinds.mjWARN_BADQPOS), int(kinds.mjWARN_BADQVEL), int(kinds.mjWARN_BADQACC)


@contextmanager
def _silence(mujoco: Any) -> Iterator[None]:
    """MuJoCo prints warnings, and writes them to a file where it runs; we report them ourselves."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)


def _set_upright(data: Any, law: Any, wanted: Float[Array, 3]) -> None:
    """The virtual force on the root. Its damping about the root's own level axes is the free joint's (see `_model`);
    here is only the difference to what is at right angles to the wanted direction."""
    wanted = wanted / np.linalg.norm(wanted)
    rotation = _rotation(data.qpos[3:7])
    up, w = rotation[:, 2], rotation @ data.qvel[3:6]
    data.xfrc_applied[1, 3:] = law.upright * np.cross(up, wanted) + law.upright_damping * (
        wanted * (wanted @ w) - up * (up @ w)
    )


def _rotation(wxyz: Float[Array, 4]) -> Float[Array, "3 3"]:
    w, (x, y, z) = wxyz[0], wxyz[1:]
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 * w * skew + 2 * skew @ skew


def _model(mujoco: Any, simulation: Simulation) -> Any:
    """Damping of the upright force is that of the free joint, because only that is implicit in MuJoCo."""
    try:
        model = mujoco.MjModel.from_xml_string(mjcf_of(simulation))
    except ValueError as error:
        raise GambolError(f"MuJoCo cannot load the body: {error}") from None
    model.dof_damping[3:5] = simulation.law.upright_damping
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    return model


def _mujoco() -> Any:
    try:
        import mujoco
    except ImportError:
        raise GambolError("the referee needs MuJoCo: pip install 'gambol[mujoco]'") from None
    return mujoco
