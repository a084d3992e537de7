"""Tracking in MuJoCo: iLQR on derivatives by finite differences (mjd_transitionFD), with our body and our gains.

`pip install 'gambol[mujoco]'`. The root is not free but slides along three axes and turns by yaw, pitch and roll, so
that a state is a plain vector, and the virtual force that keeps the root upright is an actuator like the others.
The search begins with a few frames and takes in more of them by and by: feet that touch make what comes later depend so
much on what came before that no linear answer holds for all frames at once.
"""

from __future__ import annotations

import time
import xml.etree.ElementTree as ET
from typing import Any, NamedTuple

import gambol  # noqa: F401  # before torch
import mujoco
import numpy as np
import torch
from gambol.character.transforms import matrix_from_quaternion
from gambol.physics.coordinates import control_of, coordinates_of, depth_first, to_mujoco
from gambol.physics.mjcf import mjcf_of
from gambol.physics.ragdoll import Ragdoll
from gambol.physics.reference import Reference
from gambol.physics.simulation import Simulation, States
from gambol.physics.tracking import Control
from scipy.linalg import cho_factor, cho_solve
from torch import Tensor

Array = np.ndarray

STEPS, HELD = 10, 5
"""A frame, and those for which a target is held: two targets a frame, as ours. With one for every step feedback is so
strong that most tries end in NaN: an error of 1.6 % after 6 iterations over 8 frames, of 1.0 % with two a frame."""
MORE, OFTEN, LAST = 6, 3, 6
"""Frames that are taken in at a time, iterations for each time, and for all of them in the end. All 36 at once are off
by 6.5 % after 22 iterations, and by 4.1 % after 20 if they are taken in by and by."""
TURNING = 0.1
"""Weight of a difference between rotations [size a rad], beside those between places."""
EFFORT = 1e-4
"""Weight of the square of what a target, or a velocity at the start, is changed by [size^2]."""
FAST = 0.01
"""How much a velocity that is changed counts beside a place, where a plan is kept from straying [s]."""
PACES = (1.0, 0.5, 0.25, 0.1, 0.03)
"""Shares of a plan that are tried, the largest first."""
NUDGE = 1e-4
"""Of finite differences. With 1e-6 a foot that just touches had derivatives of 1e6."""
SOFT = (1e-4, 0.9, 0.002)
"""MuJoCo's `solimp`: contacts begin at nothing instead of with a blow, which has no derivative."""
ROOT = ("slide 1 0 0", "slide 0 1 0", "slide 0 0 1", "hinge 0 0 1", "hinge 0 1 0", "hinge 1 0 0")


class Task:
    """A body in MuJoCo, what it should do, and where a search begins."""

    def __init__(self, simulation: Simulation, reference: Reference, control: Control):
        ragdoll = simulation.ragdoll
        self.model = _model(simulation, 1 / (reference.fps * STEPS))
        self.data = mujoco.MjData(self.model)
        self.frames = len(reference) - 1
        """Those that count at present, after the first."""
        order = depth_first(ragdoll)
        self.places = to_mujoco(reference.x.double().numpy())[:, order]
        turns = reference.q.double().numpy()[:, order]
        self.turns = np.concatenate([turns[..., :1], to_mujoco(turns[..., 1:])], axis=-1)
        still = torch.zeros_like(reference.x)[:, None]
        states = States(reference.x[:, None], reference.q[:, None], still, still)
        shown = self._coordinates(ragdoll, states, reference.angles[:, None])
        moments = np.arange(self.frames * STEPS) / STEPS
        self.upright = _between(shown[:, 4:6], moments)
        """Controls of the last two actuators at every step, which are given."""
        self.targets = _between(
            control_of(ragdoll, control.targets), (moments[::HELD] + HELD / STEPS / 2) * simulation.knots
        )
        """Controls of the others, every time that they change."""
        states = States(control.start.x[None], control.start.q[None], still[:1], still[:1])
        stands = self._coordinates(ragdoll, states, control.targets[:1])[0]
        self.start = np.concatenate([stands, (shown[1] - shown[0]) * reference.fps])

    def _coordinates(self, ragdoll: Ragdoll, states: States, near: Tensor) -> Array:
        """Of slides and hinges, the root's first [frames, nv]."""
        qpos = coordinates_of(ragdoll, states, near).qpos
        turns = _yaw_pitch_roll(matrix_from_quaternion(qpos[:, 3:7]))
        return np.concatenate([qpos[:, :3] - self.model.body_pos[1], turns, qpos[:, 7:]], axis=1)

    def load(self, state: Array) -> None:
        self.data.qpos[:], self.data.qvel[:] = np.split(state, 2)

    def control(self, step: int, targets: Array) -> None:
        self.data.ctrl[:] = np.concatenate([targets, self.upright[step]])

    def residuals(self, state: Array, frame: int) -> Array:
        """How far bones are off, places and then turns [6 * bones]."""
        self.load(state)
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        astray = np.zeros_like(self.places[frame])
        for bone, wanted in enumerate(self.turns[frame]):
            mujoco.mju_subQuat(astray[bone], self.data.xquat[bone + 1], wanted)
        astray = (matrix_from_quaternion(self.turns[frame]) @ astray[..., None])[..., 0]
        return np.concatenate([self.data.xipos[1:] - self.places[frame], TURNING * astray]).ravel()

    def slopes(self) -> Array:
        """Of the residuals for the state they were last asked for [6 * bones, nv]."""
        bones, nv = len(self.places[0]), self.model.nv
        places, turns = np.zeros((bones, 3, nv)), np.zeros((bones, 3, nv))
        for bone in range(bones):
            mujoco.mj_jacBodyCom(self.model, self.data, places[bone], turns[bone], bone + 1)
        return np.concatenate([places, TURNING * turns]).reshape(-1, nv)

    def derivatives(self, states: Array, first: int, targets: Array) -> tuple[Array, Array]:
        """Of the state after targets were held, for the one before and for the targets. states: while they were."""
        width, controls = states.shape[1], self.model.nu
        A, B = np.eye(width), np.zeros((width, len(targets)))
        one, other = np.zeros((width, width)), np.zeros((width, controls))
        for step, state in enumerate(states, first):
            self.load(state)
            self.control(step, targets)
            mujoco.mj_forward(self.model, self.data)
            mujoco.mjd_transitionFD(self.model, self.data, NUDGE, False, one, other, None, None)
            A, B = one @ A, one @ B + other[:, : len(targets)]
        return A, B


class Path(NamedTuple):
    """A rollout and the control that led to it."""

    states: Array
    """At all steps of the frames that count."""
    targets: Array
    cost: float
    distance: float
    """Mean over frames and bones [size]."""


class Plan(NamedTuple):
    """How to change a path: its start, its targets, and targets in answer to other states than its own."""

    start: Array
    leads: Array
    gains: Array


def roll_out(task: Task, start: Array, targets: Array, path: Path | None = None, plan: Plan | None = None) -> Path:
    """From a start, with targets, and with the plan's answers to what strays from a path."""
    data, targets = task.data, targets.copy()
    states = np.zeros((task.frames * STEPS + 1, len(start)))
    states[0] = start
    mujoco.mj_resetData(task.model, data)
    for step in range(len(states) - 1):
        knot = step // HELD
        if path is not None and plan is not None and step % HELD == 0:
            targets[knot] += plan.gains[knot] @ (states[step] - path.states[step])
        task.load(states[step])
        task.control(step, targets[knot])
        mujoco.mj_step(task.model, data)
        states[step + 1] = np.concatenate([data.qpos, data.qvel])
    off = np.stack([task.residuals(states[frame * STEPS], frame) for frame in range(task.frames + 1)])
    effort = ((targets - task.targets) ** 2).sum() + ((states[0] - task.start) ** 2).sum()
    distance = np.linalg.norm(off.reshape(len(off), 2, -1, 3)[:, 0], axis=-1).mean()
    return Path(states, targets, float((off[1:] ** 2).sum() + EFFORT * effort), float(distance))


def improve(task: Task, path: Path, stiffening: float) -> Plan:
    """The backward pass, with its matrices halved; `stiffening` keeps the new path near to this one."""
    controls, (steps, width), nv = path.targets.shape[1], path.states.shape, task.model.nv
    slope, curvature = np.zeros(width), np.zeros((width, width))  # of all that is still to come
    leads, gains = np.zeros_like(path.targets), np.zeros((*path.targets.shape, width))
    near = stiffening * np.repeat([1.0, FAST**2], nv)
    for step in range(steps - 1, -1, -HELD):
        if step < steps - 1:
            knot = step // HELD
            A, B = task.derivatives(path.states[step : step + HELD], step, path.targets[knot])
            by_targets = B.T @ slope + EFFORT * (path.targets[knot] - task.targets[knot])
            across, own = B.T @ curvature @ A, B.T @ curvature @ B + EFFORT * np.eye(controls)
            factor = cho_factor(own + (B.T * near) @ B)
            lead, gain = -cho_solve(factor, by_targets), -cho_solve(factor, across + (B.T * near) @ A)
            slope = A.T @ slope + gain.T @ (own @ lead + by_targets) + across.T @ lead
            curvature = A.T @ curvature @ A + gain.T @ (own @ gain + across) + across.T @ gain
            curvature = (curvature + curvature.T) / 2
            leads[knot], gains[knot] = lead, gain
        if step % STEPS == 0 and step:
            off = task.residuals(path.states[step], step // STEPS)
            J = task.slopes()
            slope[:nv] += J.T @ off
            curvature[:nv, :nv] += J.T @ J
    start, changed = np.zeros(width), path.states[0] - task.start
    fixed = curvature[nv:, nv:] + EFFORT * np.eye(nv) + np.diag(near[nv:])
    start[nv:] = -np.linalg.solve(fixed, slope[nv:] + EFFORT * changed[nv:])
    return Plan(start, leads, gains)


def track_in_mujoco(simulation: Simulation, reference: Reference, control: Control) -> tuple[list[float], list[float]]:
    """Mean distance of bones, over the frames that counted [size], and seconds, of every iteration."""
    mujoco.set_mju_user_warning(lambda text: None)  # of tries that blow up; it would write them to a file
    task = Task(simulation, reference, control)
    start, targets = task.start, task.targets
    distances, seconds = [], []
    for frames in (*range(MORE, len(reference) - 1, MORE), len(reference) - 1):
        task.frames, stiffening = frames, 1.0
        path = roll_out(task, start, targets)
        for _ in range(OFTEN if frames < len(reference) - 1 else LAST):
            began = time.thread_time()
            plan = improve(task, path, stiffening)
            tried = (
                (roll_out(task, path.states[0] + pace * plan.start, path.targets + pace * plan.leads, path, plan), pace)
                for pace in PACES
            )
            path, pace = next(((each, pace) for each, pace in tried if each.cost < path.cost), (path, 0.0))
            stiffening *= 10 if not pace else 3 if pace < 0.2 else 1 if pace < 0.4 else 0.2
            distances.append(path.distance)
            seconds.append(time.thread_time() - began)
        start, targets = path.states[0], path.targets
    return distances, seconds


def _model(simulation: Simulation, dt: float) -> Any:
    """Ours, with another root: see the top of this file."""
    params = simulation.params
    tree = ET.fromstring(mjcf_of(simulation))
    option, actuators, body = tree.find("option"), tree.find("actuator"), tree.find("worldbody/body")
    assert option is not None and actuators is not None and body is not None
    option.set("timestep", str(dt))
    free = body.find("freejoint")
    assert free is not None
    body.remove(free)
    for number, text in enumerate(ROOT):
        kind, axis = text.split(" ", 1)
        body.insert(number, ET.Element("joint", name=f"root_{number}", type=kind, axis=axis))
    for number in (4, 5):
        upright = {"name": f"upright_{number}", "joint": f"root_{number}"}
        ET.SubElement(actuators, "position", {**upright, "kp": str(params.upright), "kv": str(params.upright_damping)})
    model = mujoco.MjModel.from_xml_string(ET.tostring(tree, encoding="unicode"))
    model.geom_solimp[:, :3] = SOFT
    return model


def _yaw_pitch_roll(rotations: Array) -> Array:
    """Angles about z, y and x, each in the space that the one before left [rad]."""
    r = rotations
    yaw, roll = np.arctan2(r[:, 1, 0], r[:, 0, 0]), np.arctan2(r[:, 2, 1], r[:, 2, 2])
    return np.stack([np.unwrap(yaw), -np.arcsin(np.clip(r[:, 2, 0], -1, 1)), np.unwrap(roll)], axis=1)


def _between(values: Array, places: Array) -> Array:
    """Linear between rows."""
    left = np.minimum(places.astype(int), len(values) - 2)
    share = (places - left)[:, None]
    return values[left] * (1 - share) + values[left + 1] * share
