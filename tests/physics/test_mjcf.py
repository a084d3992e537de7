"""The body as MuJoCo reads it: axes, masses, names, contacts, and motions in its coordinates."""

import dataclasses
import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest
import torch
from small_ragdolls import TREES, joint_gaps, random_ragdoll, still, tumbling

from gambol.character.transforms import matrix_from_quaternion, near_angles, quaternion_from_matrix
from gambol.errors import GambolError
from gambol.motion.kinematics import compound_rotation
from gambol.physics.coordinates import (
    control_of,
    coordinates_of,
    depth_first,
    from_mujoco,
    hinge_directions,
    to_mujoco,
)
from gambol.physics.mjcf import DEEPEST, body_names, export_mjcf, hinge_names, mjcf_of
from gambol.physics.ragdoll import Ragdoll
from gambol.physics.simulation import Simulation, SolverConfig, States
from gambol.text import safe_names

ODD = ("world", 'a "quoted" & <tagged>', "a _quoted_ & <tagged>", "", "左足", "\x00\ud800\n", "world")


def turns_of(angles) -> np.ndarray:
    return compound_rotation(torch.as_tensor(angles), torch.eye(3, dtype=torch.float64)).numpy()


def posed(ragdoll: Ragdoll, angles: np.ndarray, seed: int = 0) -> States:
    """Bones at such angles [frames, bones, 3], joints closed, the root anywhere, all turning at random."""
    rng = np.random.default_rng(seed)
    relative = compound_rotation(torch.as_tensor(angles), torch.as_tensor(ragdoll.axes)).numpy()
    rotations, x = relative.copy(), np.zeros(angles.shape)
    x[:, 0] = rng.normal(size=(len(x), 3))
    for bone, parent in enumerate(ragdoll.parents):
        if parent >= 0:
            rotations[:, bone] = rotations[:, parent] @ relative[:, bone]
            joint = x[:, parent] + rotations[:, parent] @ (ragdoll.anchors[bone] - ragdoll.centers[parent])
            x[:, bone] = joint + rotations[:, bone] @ (ragdoll.centers[bone] - ragdoll.anchors[bone])
    q = torch.as_tensor(quaternion_from_matrix(rotations))
    v, w = (torch.as_tensor(rng.normal(size=x.shape)) for _ in range(2))
    return States(*(part[:, None] for part in (torch.as_tensor(x), q, v, w)))


def shown(mujoco, simulation: Simulation, qpos, qvel):
    """MuJoCo's model and data in a state, forces and all."""
    model = mujoco.MjModel.from_xml_string(mjcf_of(simulation))
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = qpos, qvel
    mujoco.mj_forward(model, data)
    return model, data


def in_our_space(matrices: np.ndarray) -> np.ndarray:
    """Linear maps of MuJoCo's space as those of the ragdoll's."""
    return np.swapaxes(from_mujoco(np.swapaxes(from_mujoco(matrices), -1, -2)), -1, -2)


def in_our_order(ragdoll: Ragdoll, values: np.ndarray) -> np.ndarray:
    result = np.empty_like(values)
    result[depth_first(ragdoll)] = values
    return result


# Hinges


@pytest.mark.parametrize("seed", range(5))
def test_angles_of_hinges_stay_near(seed):
    rng = np.random.default_rng(seed)
    angles = rng.uniform(-7, 7, (100, 3))
    angles[:10, 1] = np.pi / 2 * rng.choice([-1, 1, 3], 10)
    near = angles + rng.normal(size=angles.shape) * 0.1
    noise = rng.normal(size=(100, 3, 3)) * 1e-9
    found = near_angles(turns_of(angles) + noise, near)
    assert np.allclose(turns_of(found), turns_of(angles), atol=1e-7)
    well = np.abs(np.cos(angles[:, 1])) > 0.3
    assert np.allclose(found[well], angles[well], atol=1e-6)
    assert np.abs(found[:10] - near[:10]).max() < 0.5, "the singular ones split what they can where `near` does"


@pytest.mark.parametrize("seed", range(3))
def test_directions_of_hinges_are_derivatives(seed):
    rng = np.random.default_rng(seed)
    angles, speeds = rng.uniform(-3, 3, (2, 20, 3))
    step = 1e-6
    change = (turns_of(angles + step * speeds) - turns_of(angles - step * speeds)) / (2 * step)
    spin = change @ np.swapaxes(turns_of(angles), -1, -2)
    w = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=-1)
    assert np.allclose((hinge_directions(angles) @ speeds[..., None])[..., 0], w, atol=1e-8)


# The body


def test_mujoco_stands_on_its_z_and_looks_along_its_x():
    left, up, forward = np.eye(3)
    assert np.array_equal(to_mujoco(np.stack([forward, left, up])), np.eye(3))
    assert np.array_equal(from_mujoco(to_mujoco(np.array([1.0, 2.0, 3.0]))), [1.0, 2.0, 3.0])


@pytest.mark.parametrize("seed", range(3))
def test_poses_and_velocities_are_the_same_in_mujoco(mujoco, seed):
    simulation = Simulation(random_ragdoll(seed, gravity=3.0 + seed), 30.0)
    ragdoll = simulation.ragdoll
    angles = np.random.default_rng(seed).uniform(-3, 3, (5, len(ragdoll), 3))
    states = posed(ragdoll, angles, seed)
    near = torch.as_tensor(angles)[:, None]
    motion = coordinates_of(ragdoll, states, near)
    hung = [bone for bone in depth_first(ragdoll) if bone]
    well = np.abs(np.cos(angles[:, hung, 1])) > 0.1
    assert np.allclose(motion.qpos[:, 7:].reshape(5, -1, 3)[well], angles[:, hung][well], atol=1e-6)
    elsewhere = coordinates_of(ragdoll, states, near * 0)
    for frame in range(5):
        _, data = shown(mujoco, simulation, motion.qpos[frame], motion.qvel[frame])
        assert np.allclose(in_our_order(ragdoll, from_mujoco(data.xipos[1:])), states.x[frame, 0], atol=1e-6)
        rotations = matrix_from_quaternion(states.q[frame, 0].numpy())
        found = in_our_space(data.xmat[1:].reshape(-1, 3, 3))
        assert np.allclose(in_our_order(ragdoll, found), rotations, atol=1e-6)
        _, other = shown(mujoco, simulation, elsewhere.qpos[frame], elsewhere.qvel[frame])
        assert np.allclose(other.xipos, data.xipos, atol=1e-6)
        if well[frame].all():
            w = in_our_order(ragdoll, from_mujoco(data.cvel[1:, :3]))
            assert np.allclose(w, states.w[frame, 0], atol=1e-6)
        assert np.allclose(from_mujoco(data.qvel[:3]), states.v[frame, 0, 0])


def test_masses_inertias_and_gravity_are_the_same_in_mujoco(mujoco):
    simulation = Simulation(random_ragdoll(1, gravity=3.0), 30.0)
    ragdoll = simulation.ragdoll
    model, data = shown(mujoco, simulation, *still_in_mujoco(simulation))
    assert np.allclose(in_our_order(ragdoll, model.body_mass[1:]), ragdoll.masses, rtol=1e-9)
    assert model.body_mass.sum() == pytest.approx(1.0, abs=1e-9)
    main = data.ximat[1:].reshape(-1, 3, 3)
    inertias = in_our_space(main @ (model.body_inertia[1:, :, None] * np.swapaxes(main, -1, -2)))
    assert np.allclose(in_our_order(ragdoll, inertias), ragdoll.inertias, rtol=1e-6, atol=1e-9)
    assert np.allclose(model.opt.gravity, [0, 0, -3.0])


def still_in_mujoco(simulation: Simulation, height: float = 0.0):
    start, targets, _, _ = still(simulation, 1, height=height)
    motion = coordinates_of(simulation.ragdoll, States(*(part[None] for part in start)), targets[:1])
    return motion.qpos[0], motion.qvel[0]


def test_only_the_floor_is_touched_and_where_we_touch_it(mujoco):
    ragdoll = random_ragdoll(2)
    ragdoll.points[-1] = ragdoll.points[3]  # of two bones, neither of which hangs on the other
    simulation = Simulation(ragdoll, 30.0)
    lowered = 0.05
    model, data = shown(mujoco, simulation, *still_in_mujoco(simulation, -lowered))
    heights = simulation.ragdoll.points[:, 1] - lowered
    assert (heights < 0).sum() > 3
    floor = model.geom("floor").id
    assert all(floor in contact.geom for contact in data.contact)
    assert np.allclose(sorted(data.contact.dist), sorted(heights[heights < 0]), atol=1e-9)
    assert all(contact.dim == 3 and contact.friction[0] == 1.0 for contact in data.contact)


def test_gains_are_the_same_in_mujoco(mujoco):
    simulation = Simulation(random_ragdoll(3), 30.0, SolverConfig(stiffness=1.0, damping=0.1))
    qpos, qvel = still_in_mujoco(simulation, height=9.0)
    qvel[7] = 0.5
    model, data = shown(mujoco, simulation, qpos, qvel)
    data.ctrl[0], data.ctrl[1] = 0.2, 0.3
    mujoco.mj_forward(model, data)
    params = simulation.params
    assert data.actuator_force[0] == pytest.approx(0.2 * params.stiffness)
    assert data.actuator_force[1] == pytest.approx(0.3 * params.stiffness - 0.5 * params.damping)
    names = [model.actuator(number).name for number in range(model.nu)]
    assert names == hinge_names(simulation.ragdoll) == [model.joint(1 + number).name for number in range(model.nu)]


def test_names_are_safe_and_different():
    safe = body_names(dataclasses.replace(random_ragdoll(0), names=ODD))
    assert len(set(safe)) == len(ODD)
    assert safe[4] == "左足" and "world" not in safe and all(safe)
    assert all(sign.isalnum() or sign in "_.-" for name in safe for sign in name)
    assert safe_names(("hip", "hip", "hip.001")) == ["hip", "hip.001", "hip.001.001"]


def test_xml_is_a_tree_of_bones():
    ragdoll = dataclasses.replace(random_ragdoll(0), names=ODD)
    root = ET.fromstring(mjcf_of(Simulation(ragdoll, 30.0), 'odd "name"').encode())
    names = body_names(ragdoll)
    parents = {child.get("name"): body.get("name") for body in root.iter() for child in body.findall("body")}
    expected = {
        name: names[parent] if parent >= 0 else None for name, parent in zip(names, ragdoll.parents, strict=True)
    }
    assert parents == expected
    joints = [joint.get("name") for joint in root.iter("joint") if joint.get("name")]
    assert joints == hinge_names(ragdoll) == [each.get("joint") for each in root.iter("position") if each.get("joint")]


def test_odd_bodies_load(mujoco):
    """Names that repeat or that XML cannot hold, bones in one place, flat boxes."""
    ragdoll = random_ragdoll(0)
    anchors, half_sizes = ragdoll.anchors.copy(), ragdoll.boxes.half_sizes.copy()
    anchors[1:], half_sizes[:, 0] = anchors[0], 0.0
    boxes = dataclasses.replace(ragdoll.boxes, half_sizes=half_sizes)
    odd = dataclasses.replace(ragdoll, names=ODD, anchors=anchors, boxes=boxes)
    simulation = Simulation(odd, 30.0)
    model, data = shown(mujoco, simulation, *still_in_mujoco(simulation))
    assert np.isfinite(data.qacc).all()
    assert [model.body(1 + number).name for number in range(7)] == [body_names(odd)[bone] for bone in depth_first(odd)]


def test_boxes_are_where_ours_are(mujoco, human):
    simulation = Simulation(human, 30.0)
    model, data = shown(mujoco, simulation, *still_in_mujoco(simulation))
    looks = model.geom_group == 2
    order = np.concatenate([np.flatnonzero(human.boxes.bones == bone) for bone in depth_first(human)])
    assert np.allclose(from_mujoco(data.geom_xpos[looks]), human.boxes.centers[order], atol=1e-6)
    assert np.allclose(model.geom_size[looks], human.boxes.half_sizes[order])
    axes = from_mujoco(np.swapaxes(data.geom_xmat[looks].reshape(-1, 3, 3), -1, -2))
    assert np.allclose(np.swapaxes(axes, -1, -2), human.boxes.axes[order], atol=1e-6)


def test_rows_of_bones_that_mujoco_cannot_read(monkeypatch):
    monkeypatch.setitem(TREES, "row", list(range(-1, 1200)))
    with pytest.raises(GambolError, match=f"{DEEPEST} bones in a row, this one has 1201"):
        mjcf_of(Simulation(random_ragdoll(0, "row"), 30.0))


@pytest.mark.parametrize("tree", ["single", "chain"])
def test_bodies_of_few_bones_load(mujoco, tree):
    simulation = Simulation(random_ragdoll(0, tree).only_points(np.zeros(0, int)), 30.0)
    model, _ = shown(mujoco, simulation, *still_in_mujoco(simulation))
    assert model.nu == 3 * (len(simulation.ragdoll) - 1)


# The motion


def test_a_simulated_motion_is_the_same_in_mujoco(mujoco, human, tmp_path):
    """But for the gaps that our springs leave in the joints, which add up from the root to a bone."""
    simulation = Simulation(human, 30.0)
    scene = still(simulation, frames=10)
    targets = scene.targets + 0.2 * torch.linspace(0, 1, len(scene.targets))[:, None, None, None].sin()
    states = simulation(scene.start, targets, scene.upwards)
    frames = States(*(part[:: simulation.substeps] for part in states))
    beside = export_mjcf(tmp_path / "human.xml", simulation, frames, targets, scene.upwards, name="human")
    motion = np.load(beside)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "human.xml"))
    data = mujoco.MjData(model)
    gaps = joint_gaps(simulation, frames)[:, 0].numpy()
    for frame, qpos in enumerate(motion["qpos"]):
        data.qpos[:] = qpos
        mujoco.mj_forward(model, data)
        apart = np.linalg.norm(in_our_order(human, from_mujoco(data.xipos[1:])) - frames.x[frame, 0].numpy(), axis=1)
        open_above = np.zeros(len(human))
        for bone in range(1, len(human)):
            open_above[bone] = open_above[human.parents[bone]] + gaps[frame, bone - 1]
        assert (apart <= open_above + 1e-4).all()
        rotations = matrix_from_quaternion(frames.q[frame, 0].double().numpy())
        found = in_our_order(human, in_our_space(data.xmat[1:].reshape(-1, 3, 3)))
        assert np.abs(found - rotations).max() < 1e-4


def test_the_file_beside_says_all(tmp_path):
    simulation = Simulation(random_ragdoll(1, gravity=19.62), 24.0)
    scene = tumbling(simulation, seed=0, frames=4, worlds=2)
    scene.ground[:, 1] = 0
    states = simulation(*scene)
    frames = States(*(part[:: simulation.substeps] for part in states))
    beside = export_mjcf(tmp_path / "body.xml", simulation, frames, *scene[1:], world=1)
    assert (
        sorted(path.name for path in tmp_path.iterdir()) == ["body.npz", "body.xml"] and beside == tmp_path / "body.npz"
    )
    motion = np.load(beside, allow_pickle=False)
    assert motion["fps"] == pytest.approx(24.0) and motion["gravity"] == 19.62 and motion["metres"] == 0.5
    assert motion["qpos"].shape == (5, 25) and motion["qvel"].shape == (5, 24) and motion["ctrl"].shape == (5, 18)
    assert motion["joints"].tolist() == hinge_names(simulation.ragdoll)
    assert np.allclose(motion["ctrl"], control_of(simulation.ragdoll, scene.targets, 1)[:: simulation.knots])
    assert np.allclose(motion["up"], to_mujoco(scene.upwards[:: simulation.knots, 1].numpy()))
    assert np.allclose(motion["ground"], to_mujoco(scene.ground[1].numpy()))
    speeds = [np.abs(b - a).max() for a, b in pairwise(motion["qpos"][:, 7:])]
    assert max(speeds) < np.pi, "angles do not jump"


def test_bad_names_of_files(tmp_path):
    simulation = Simulation(random_ragdoll(1), 30.0)
    scene = still(simulation, frames=1)
    frames = States(*(part[None].repeat(2, 1, 1, 1) for part in scene.start))
    for path, message in [
        (tmp_path / "body.npz", "ends in .xml"),
        (tmp_path / "body", "ends in .xml"),
        (tmp_path / "missing" / "body.xml", "does not exist"),
    ]:
        with pytest.raises(GambolError, match=message):
            export_mjcf(path, simulation, frames, scene.targets, scene.upwards)
    with pytest.raises(ValueError, match="knots for 2 frames"):
        export_mjcf(tmp_path / "body.xml", simulation, States(*(part[:1] for part in frames)), *scene[1:3])
    assert not list(tmp_path.iterdir())
