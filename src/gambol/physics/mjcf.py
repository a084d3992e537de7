"""Export of the ragdoll as MJCF, MuJoCo's file format, and of its motion as arrays. Does not need MuJoCo.

In MuJoCo's space z is up, x forward and y to the left; units are seconds and the ragdoll's own, with a total mass of 1.
Every bone is a body whose rotation is the identity in the neutral pose; the root's origin is its centre of mass, that
of any other bone is its joint. MuJoCo applies the hinges of a body one after the other, so hinges x, y, z rotate it by
Rx Ry Rz about the axes of the compound joint, as our own kinematics do.
"""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
from jaxtyping import Float
from torch import Tensor

from gambol.character.transforms import quaternion_from_matrix
from gambol.errors import GambolError
from gambol.files import check_folder, write_file
from gambol.physics.coordinates import TURN, control_of, coordinates_of, depth_first, to_mujoco
from gambol.physics.mass import LIGHTEST, THINNEST
from gambol.physics.ragdoll import SIZE, STANDARD_GRAVITY, Ragdoll
from gambol.physics.simulation import Simulation, SolverConfig, States
from gambol.text import safe_names

RADIUS = 0.002
"""Radius of the spheres that stand for contact points. The floor is lower by the same, so that a sphere touches it when
its centre is at height 0."""
ARMATURE = LIGHTEST * THINNEST**2
"""Armature inertia of every hinge, equal to the inertia of the lightest bone: keeps the mass matrix regular where the
outer hinges are parallel."""
CONTACT = 0.014
"""Time constant of MuJoCo's contacts [sqrt(L/g)] that matches the default depth of ours. Points of standing bodies
then sink by 0.24 (human), 0.26 (trex) and 0.55 (dog) thousandths of a length where ours sink by 0.27, 0.27 and 0.24."""
REFINED = 8
"""MuJoCo's time steps in that time: it solves contacts as if its hinges were not damped implicitly, which takes shorter
steps than ours if feet are light. A standing dog strays from ours by 0.07 % of its height in 1.5 s with 8 and with 32,
by 0.14 % with 4 and by 2.4 % with 2, when its paws creep away."""
DEEPEST = 480
"""Longest chain of bones that MuJoCo reads: its parser allows elements 500 deep."""
HINGES = "xyz"


def mjcf_of(simulation: Simulation, name: str = "ragdoll") -> str:
    """The ragdoll as the text of an MJCF file, with its gravity, PD gains, friction and time step.

    The virtual torque that keeps the root upright is not part of it.
    """
    ragdoll, params = simulation.ragdoll, simulation.params
    names = body_names(ragdoll)
    root = ET.Element("mujoco", model=safe_names((name,))[0])
    metres = STANDARD_GRAVITY / ragdoll.gravity
    root.append(
        ET.Comment(f" Written by gambol. z is up, x forward. Length 1 is {metres:.6g} m, the total mass is 1. ")
    )
    ET.SubElement(root, "compiler", angle="radian", autolimits="true")
    ET.SubElement(
        root,
        "option",
        timestep=_text(params.dt / refinement(simulation)),
        gravity=_text([0, 0, -ragdoll.gravity]),
        integrator="implicitfast",
        cone="elliptic",
        impratio="10",
    )
    _defaults(root, simulation)
    world = ET.SubElement(root, "worldbody")
    ET.SubElement(world, "light", pos="0 0 4", directional="true")
    floor = {"name": "floor", "type": "plane", "size": "0 0 0.1", "pos": _text([0, 0, -RADIUS]), "class": "touch"}
    ET.SubElement(world, "geom", {**floor, "contype": "1", "conaffinity": "0", "rgba": "0.8 0.8 0.8 1", "group": "0"})
    _require_shallow(ragdoll)
    bodies: list[ET.Element] = []
    for bone in range(len(ragdoll)):
        above = ragdoll.parents[bone]
        bodies.append(_body(world if above < 0 else bodies[above], ragdoll, bone, names[bone]))
    actuators = ET.SubElement(root, "actuator")
    for joint in hinge_names(ragdoll):
        ET.SubElement(actuators, "position", name=joint, joint=joint)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def body_names(ragdoll: Ragdoll) -> list[str]:
    """Unique names of the bones; none is 'world', which MuJoCo reserves."""
    return safe_names(("world", *ragdoll.names))[1:]


def hinge_names(ragdoll: Ragdoll) -> list[str]:
    """Names of the hinges in MuJoCo's order; the root has none, its joint is free."""
    names = body_names(ragdoll)
    return [f"{names[bone]}_{axis}" for bone in depth_first(ragdoll) if bone for axis in HINGES]


def _require_shallow(ragdoll: Ragdoll) -> None:
    depths: list[int] = []
    for parent in ragdoll.parents:
        depths.append(depths[parent] + 1 if parent >= 0 else 1)
    if max(depths) > DEEPEST:
        raise GambolError(f"MuJoCo reads bodies of up to {DEEPEST} bones in a row, this one has {max(depths)}")


def refinement(simulation: Simulation) -> int:
    """Number of MuJoCo's time steps in one of ours."""
    return max(int(np.ceil(REFINED * simulation.params.dt / _contact_time(simulation) - 0.3)), 1)


def frames_a_second(simulation: Simulation) -> float:
    return round(1 / (simulation.params.dt * simulation.substeps), 6)


def _contact_time(simulation: Simulation) -> float:
    """Time constant of MuJoCo's contacts [s]; their depth grows with its square."""
    deeper = simulation.config.sink / SolverConfig().sink
    return CONTACT * np.sqrt(deeper * SIZE / simulation.ragdoll.gravity)


def _defaults(root: ET.Element, simulation: Simulation) -> None:
    params = simulation.params
    defaults = ET.SubElement(root, "default")
    ET.SubElement(defaults, "joint", armature=_text(ARMATURE))
    ET.SubElement(defaults, "position", kp=_text(params.stiffness), kv=_text(params.damping))
    touch = ET.SubElement(defaults, "default", {"class": "touch"})
    ET.SubElement(
        touch,
        "geom",
        type="sphere",
        size=_text(RADIUS),
        condim="3",
        contype="0",
        conaffinity="1",
        friction=_text([params.friction, 0, 0]),
        solref=_text([_contact_time(simulation), 1]),
        solimp="0.9 0.9 0.001",
        group="3",
    )
    look = ET.SubElement(defaults, "default", {"class": "look"})
    ET.SubElement(look, "geom", type="box", contype="0", conaffinity="0", density="0", group="2", rgba="0.7 0.6 0.5 1")


def _body(above: ET.Element, ragdoll: Ragdoll, bone: int, name: str) -> ET.Element:
    parent = int(ragdoll.parents[bone])
    origin = _origin(ragdoll, bone)
    shift = origin - _origin(ragdoll, parent) if parent >= 0 else origin
    body = ET.SubElement(above, "body", name=name, pos=_text(to_mujoco(shift)))
    if parent < 0:
        ET.SubElement(body, "freejoint", name=f"{name}_free")
    for axis, direction in zip(HINGES, ragdoll.axes[bone].T if parent >= 0 else (), strict=False):
        ET.SubElement(body, "joint", name=f"{name}_{axis}", type="hinge", axis=_text(to_mujoco(direction)))
    inertia = ragdoll.inertias[bone][np.ix_(TURN, TURN)]
    ET.SubElement(
        body,
        "inertial",
        pos=_text(to_mujoco(ragdoll.centers[bone] - origin)),
        mass=_text(ragdoll.masses[bone]),
        fullinertia=_text(inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]),
    )
    boxes = ragdoll.boxes
    for box in np.flatnonzero(boxes.bones == bone):
        wxyz = quaternion_from_matrix(boxes.axes[box][TURN])
        place = _text(to_mujoco(boxes.centers[box] - origin))
        size = _text(np.maximum(boxes.half_sizes[box], 1e-6))
        ET.SubElement(body, "geom", {"class": "look"}, pos=place, quat=_text(wxyz), size=size)
    for point in ragdoll.points[ragdoll.point_bones == bone]:
        ET.SubElement(body, "geom", {"class": "touch"}, pos=_text(to_mujoco(point - origin)))
    return body


def _origin(ragdoll: Ragdoll, bone: int) -> Float[np.ndarray, 3]:
    return ragdoll.anchors[bone] if ragdoll.parents[bone] >= 0 else ragdoll.centers[bone]


def _text(values: float | list[float] | np.ndarray) -> str:
    return " ".join(f"{float(value):.12g}" for value in np.atleast_1d(values))


def export_mjcf(
    path: Path,
    simulation: Simulation,
    states: States,
    targets: Float[Tensor, "knots worlds bones 3"],
    upwards: Float[Tensor, "knots worlds 3"],
    ground: Float[Tensor, "worlds 3"] | None = None,
    *,
    world: int = 0,
    name: str = "ragdoll",
) -> Path:
    """Write the body to `path` and its motion beside it as .npz; returns the path of the latter.

    states: at the frames. targets, upwards and ground: inputs of the simulation.

    The motion holds, in MuJoCo's space and the ragdoll's units:
        fps: frames a second.
        qpos [frames, nq], qvel [frames, nv]: the motion, as in MuJoCo's data.
        ctrl [frames, nu]: targets of the PD control at the frames [rad]; linear between them but for finer knots.
        joints [nu]: names of the hinges, and of their actuators.
        bodies [bones]: names of the bodies, in MuJoCo's order.
        gravity: downwards [units/s^2].
        metres: length 1 in metres, if gravity is that of the earth.
        up [frames, 3]: where the virtual force wants the root's up to point.
        upright, upright_damping: its torque is upright * cross(root's z axis, up) less upright_damping * the root's
            angular velocity at right angles to up; MJCF cannot hold it.
        ground [3]: velocity of the ground, as of a treadmill [units/s]. MuJoCo's floor stands still: take it off from
            velocities to run there.
    """
    if path.suffix.lower() != ".xml":
        raise GambolError(f"{path} cannot hold a body for MuJoCo: give a name that ends in .xml")
    beside = path.with_suffix(".npz")
    ragdoll, params = simulation.ragdoll, simulation.params
    check_folder(path)
    check_folder(beside)
    at_frames = slice(None, None, simulation.knots)
    if len(states.x) != len(targets[at_frames]):
        raise ValueError(f"there are knots for {len(targets[at_frames])} frames, but states of {len(states.x)}")
    motion = coordinates_of(ragdoll, states, targets[at_frames], world)
    moving = np.zeros(3) if ground is None else ground[world].detach().double().cpu().numpy()
    names = body_names(ragdoll)
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        fps=np.float64(frames_a_second(simulation)),
        qpos=motion.qpos,
        qvel=motion.qvel,
        ctrl=control_of(ragdoll, targets[at_frames], world),
        joints=np.array(hinge_names(ragdoll)),
        bodies=np.array([names[bone] for bone in depth_first(ragdoll)]),
        gravity=np.float64(ragdoll.gravity),
        metres=np.float64(STANDARD_GRAVITY / ragdoll.gravity),
        up=to_mujoco(upwards[at_frames, world].detach().double().cpu().numpy()),
        upright=np.float64(params.upright),
        upright_damping=np.float64(params.upright_damping),
        ground=to_mujoco(moving),
    )
    write_file(path, mjcf_of(simulation, name).encode())
    write_file(beside, buffer.getvalue())
    return beside
