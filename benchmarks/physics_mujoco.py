"""Tracking in MuJoCo: iLQR on derivatives by finite differences (mjd_transitionFD), with our body and our gains.

`pip install 'gambol[mujoco]'`. The root is not free but slides along three axes and turns by yaw, pitch and roll, so
that a state is a plain vector, and the virtual force that keeps the root upright is an actuator like the others.
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
from gambol.physics.mjcf import control_of, coordinates_of, depth_first, mjcf_of, to_mujoco
from gambol.physics.ragdoll import SIZE, Ragdoll
from gambol.physics.reference import Reference
from gambol.physics.simulation import Simulation, States
from gambol.physics.track import FADED, Control, TrackConfig
from scipy.linalg import cho_factor, cho_solve
from torch import Tensor

Array = np.ndarray

STEPS, HELD = 10, 5
"""A frame, and those for which a target is held: two targets a frame, as ours. With a target for every step feedback is
so strong that most steps of the search end in NaN: 1.6 % after 6 of them over 8 frames, 1.0 % with two a frame."""
TURNING = 0.1
"""Weight of a difference between rotations [size a rad], beside those between places."""
EFFORT = 1e-4
"""Weight of the square of what a target, or a velocity at the start, is changed by [size^2]."""
PACES = (1.0, 0.5, 0.25, 0.1, 0.03, 0.0)
"""Shares of a step that are tried, the longest first."""
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
        order = depth_first(ragdoll)
        self.places = to_mujoco(reference.x.double().numpy())[:, order]
        turns = reference.q.double().numpy()[:, order]
        self.turns = np.concatenate([turns[..., :1], to_mujoco(turns[..., 1:])], axis=-1)
        steps = (len(reference) - 1) * STEPS
        self.law, self.gravity = simulation.law, ragdoll.gravity
        knots = control_of(ragdoll, control.targets)
        self.targets = _between(knots, (np.arange(0, steps, HELD) + HELD / 2) / STEPS * simulation.knots)
        """Those of the others, every time for as many steps as they are held."""
        still = torch.zeros_like(reference.x)[:, None]
        states = States(reference.x[:, None], reference.q[:, None], still, still)
        shown = self._coordinates(ragdoll, states, reference.angles[:, None])
        self.root = _between(shown[:, :6], np.arange(steps) / STEPS)
        """Controls of the last six actuators at every step, which are given."""
        x, q = control.start.x[None], control.start.q[None]
        stands = self._coordinates(ragdoll, States(x, q, still[:1], still[:1]), control.targets[:1])[0]
        self.start = np.concatenate([stands, (shown[1] - shown[0]) * reference.fps])

    def guide(self, stiffness: float) -> None:
        """Set the virtual force that leads the root while a search begins [Mg / L], as our own has it."""
        pull = stiffness * self.gravity / SIZE
        drag = 0.3 * np.sqrt(pull)
        turn, upright = (pull * SIZE**2, 0.0), (self.law.upright, self.law.upright_damping)
        gains = np.array([(pull, drag), (pull, drag), (pull, drag), turn, upright, upright])
        self.model.actuator_gainprm[-6:, 0] = gains[:, 0]
        self.model.actuator_biasprm[-6:, 1:3] = -gains

    def _coordinates(self, ragdoll: Ragdoll, states: States, near: Tensor) -> Array:
        """Of slides and hinges, the root's first [frames, nv]."""
        qpos = coordinates_of(ragdoll, states, near).qpos
        turns = _yaw_pitch_roll(matrix_from_quaternion(qpos[:, 3:7]))
        return np.concatenate([qpos[:, :3] - self.model.body_pos[1], turns, qpos[:, 7:]], axis=1)

    def load(self, state: Array) -> None:
        self.data.qpos[:], self.data.qvel[:] = np.split(state, 2)

    def control(self, step: int, targets: Array) -> None:
        self.data.ctrl[:] = np.concatenate([targets, self.root[step]])

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
    targets: Array
    cost: float
    distance: float
    """Mean over frames and bones [size]."""


class Plan(NamedTuple):
    """How to change a path: start, targets, and targets in answer to other states than expected."""

    start: Array
    leads: Array
    gains: Array


def roll_out(task: Task, path: Path | None = None, plan: Plan | None = None, pace: float = 0.0) -> Path:
    """The first path, or one changed by a share of the plan."""
    data, model = task.data, task.model
    targets = task.targets.copy() if path is None else path.targets.copy()
    states = np.zeros((len(targets) * HELD + 1, 2 * model.nv))
    states[0] = task.start if path is None or plan is None else path.states[0] + pace * plan.start
    mujoco.mj_resetData(model, data)
    for step in range(len(states) - 1):
        knot = step // HELD
        if path is not None and plan is not None and step % HELD == 0:
            targets[knot] += pace * plan.leads[knot] + plan.gains[knot] @ (states[step] - path.states[step])
        task.load(states[step])
        task.control(step, targets[knot])
        mujoco.mj_step(model, data)
        states[step + 1] = np.concatenate([data.qpos, data.qvel])
    off = np.stack([task.residuals(states[frame * STEPS], frame) for frame in range(len(task.places))])
    effort = ((targets - task.targets) ** 2).sum() + ((states[0] - task.start) ** 2).sum()
    distance = np.linalg.norm(off.reshape(len(off), 2, -1, 3)[:, 0], axis=-1).mean()
    return Path(states, targets, float((off[1:] ** 2).sum() + EFFORT * effort), float(distance))


def improve(task: Task, path: Path, stiffening: float) -> Plan:
    """The backward pass; `stiffening` is added to the curvature for the targets."""
    (knots, controls), width, nv = path.targets.shape, path.states.shape[1], task.model.nv
    slope, curvature = np.zeros(width), np.zeros((width, width))  # of all that is still to come, halved
    leads, gains = np.zeros((knots, controls)), np.zeros((knots, controls, width))
    for knot in range(knots, -1, -1):
        step = knot * HELD
        if knot < knots:
            A, B = task.derivatives(path.states[step : step + HELD], step, path.targets[knot])
            by_targets = B.T @ slope + EFFORT * (path.targets[knot] - task.targets[knot])
            across, own = B.T @ curvature @ A, B.T @ curvature @ B + EFFORT * np.eye(controls)
            factor = cho_factor(own + stiffening * np.eye(controls))
            lead, gain = -cho_solve(factor, by_targets), -cho_solve(factor, across)
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
    fixed = curvature[nv:, nv:] + (EFFORT + stiffening) * np.eye(nv)
    start[nv:] = -np.linalg.solve(fixed, slope[nv:] + EFFORT * changed[nv:])
    return Plan(start, leads, gains)


def track_in_mujoco(
    simulation: Simulation, reference: Reference, control: Control, iterations: int
) -> tuple[list[float], list[float]]:
    """Mean distance of bones [size] of the start and after every iteration, and the seconds that each took."""
    task = Task(simulation, reference, control)
    config = TrackConfig()
    task.guide(config.guide)
    path = roll_out(task)
    distances, seconds, stiffening = [], [], 1e-2
    for number in range(iterations):
        began = time.perf_counter()
        plan = improve(task, path, stiffening)
        share = (number + 1) / (config.guided * iterations)
        guided = share <= 1
        task.guide(config.guide * FADED**share if share < 1 else 0.0)
        tried = {pace: roll_out(task, path, plan, pace) for pace in PACES}
        pace = min(tried, key=lambda pace: tried[pace].cost)
        stiffening *= 10 if not pace else 3 if pace < 0.2 else 1 if pace < 0.4 else 0.2
        path = tried[pace]
        distances.append(path.distance)
        seconds.append(time.perf_counter() - began)
        print(number, round(share, 2), pace, stiffening, path.cost, path.distance / 1.59 * 100, flush=True)
    return distances, seconds


def _model(simulation: Simulation, dt: float) -> Any:
    """Ours, with another root: see the top of this file."""
    tree = ET.fromstring(mjcf_of(simulation))
    option, actuators = tree.find("option"), tree.find("actuator")
    assert option is not None and actuators is not None
    option.set("timestep", str(dt))
    body = tree.find("worldbody/body")
    assert body is not None
    body.remove(body.find("freejoint"))
    for number, text in enumerate(ROOT):
        kind, axis = text.split(" ", 1)
        body.insert(number, ET.Element("joint", name=f"root_{number}", type=kind, axis=axis))
        ET.SubElement(actuators, "position", name=f"root_{number}", joint=f"root_{number}")
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
