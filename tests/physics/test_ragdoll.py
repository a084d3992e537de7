"""Ragdolls of the zoo, of odd characters, and of boxes whose masses are known."""

import dataclasses
from functools import cache
from itertools import product

import numpy as np
import pytest
import torch
from assets import asset_files, needs_assets
from character.creatures import dog, fish, snake, turned
from distillation.odd_characters import (
    joints_alone,
    mesh_alone,
    one_joint,
    one_joint_and_no_mesh,
    scaled,
    together,
    with_scale,
)
from motion.builders import box_points, chain_skeleton, character_of, mesh_of
from scipy.spatial import cKDTree
from small_ragdolls import still

from gambol.character.anatomy import Anatomy, analyze
from gambol.character.character import Character, Mesh
from gambol.character.rig import Rig, build_rig
from gambol.character.skeleton import line_up
from gambol.creatures.zoo import create
from gambol.errors import GambolError
from gambol.formats import load
from gambol.motion.cuboids import fit_cuboids
from gambol.motion.kinematics import compound_rotation
from gambol.motion.rig_motion import RigMotion
from gambol.physics.mass import LIGHTEST, THINNEST
from gambol.physics.ragdoll import SIZE, STANDARD_GRAVITY, Ragdoll, build_ragdoll
from gambol.physics.simulation import Simulation

SPECIES = ("fox", "human", "duck", "trex", "spider", "crocodile", "ladybug")
HALF = np.sqrt(0.5)
Studied = tuple[Character, Anatomy, Rig, Ragdoll]
every_species = pytest.mark.parametrize("species", SPECIES)


def analyzed(character: Character, **axes) -> Studied:
    anatomy = analyze(character, **axes)
    rig = build_rig(anatomy)
    return character, anatomy, rig, build_ragdoll(character, anatomy, rig)


@cache
def of_the_zoo(species: str) -> Studied:
    return analyzed(create(species))


@cache
def of_clay() -> Studied:
    return analyzed(dog())


def skin(anatomy: Anatomy, ragdoll: Ragdoll) -> np.ndarray:
    return anatomy.body.vertices @ ragdoll.T_ragdoll_file[:3, :3].T + ragdoll.T_ragdoll_file[:3, 3]


def check(found: Studied) -> None:
    """What is true of every ragdoll."""
    character, anatomy, rig, ragdoll = found
    count = len(ragdoll)
    for field in dataclasses.fields(ragdoll):
        value = getattr(ragdoll, field.name)
        if isinstance(value, np.ndarray | float):
            assert np.isfinite(value).all(), field.name
    assert all(np.isfinite(getattr(ragdoll.boxes, field.name)).all() for field in dataclasses.fields(ragdoll.boxes))
    check_tree(character, rig, ragdoll)
    check_masses(ragdoll)
    vertices = skin(anatomy, ragdoll)
    with_skin = np.unique(ragdoll.boxes.bones)
    centers = ragdoll.centers[with_skin]
    assert (centers > vertices.min(0) - 1e-6).all()
    assert (centers < vertices.max(0) + 1e-6).all()
    identities = ragdoll.axes @ ragdoll.axes.transpose(0, 2, 1)
    np.testing.assert_allclose(identities, np.broadcast_to(np.eye(3), (count, 3, 3)), atol=1e-9)
    assert (np.linalg.det(ragdoll.axes) > 0).all()
    check_points(anatomy, ragdoll, vertices)


def check_tree(character: Character, rig: Rig, ragdoll: Ragdoll) -> None:
    count = len(ragdoll)
    assert ragdoll.parents[0] == -1
    assert (ragdoll.parents[1:] >= 0).all()
    assert (ragdoll.parents < np.arange(count)).all()
    assert len(set(ragdoll.joints.tolist())) == count == len(ragdoll.names)
    assert ragdoll.names == tuple(character.skeleton.names[node] for node in rig.nodes[ragdoll.joints])
    bones = {int(joint): bone for bone, joint in enumerate(ragdoll.joints)}
    for joint, bone in zip(fit_cuboids(character, rig).joints, ragdoll.boxes.bones, strict=True):
        carriers = [bones[above] for above in line_up(rig.parents, int(joint)) if above in bones]
        assert bone == (carriers[0] if carriers else 0)


def check_masses(ragdoll: Ragdoll) -> None:
    assert ragdoll.masses.sum() == pytest.approx(1.0)
    assert ragdoll.masses.min() > 0.8 * LIGHTEST
    np.testing.assert_allclose(ragdoll.inertias, ragdoll.inertias.transpose(0, 2, 1), atol=1e-12)
    moments = np.linalg.eigvalsh(ragdoll.inertias)
    assert (moments >= 0.99 * ragdoll.masses[:, None] * THINNEST**2).all()
    assert (moments[:, 2] <= moments[:, :2].sum(1) * (1 + 1e-6)).all()  # no body has another


def check_points(anatomy: Anatomy, ragdoll: Ragdoll, vertices: np.ndarray) -> None:
    assert (np.diff(ragdoll.point_bones) >= 0).all()
    assert ragdoll.point_bones.max() < len(ragdoll)
    away, _ = cKDTree(vertices).query(ragdoll.points)
    assert away.max() < 1e-6
    # The ground is where the lowest vertex is, and nothing else of the skin may be the first to touch it.
    assert ragdoll.points[:, 1].min() == pytest.approx(0.0, abs=1e-5)
    for bone in np.unique(ragdoll.point_bones):
        owners = np.where(anatomy.body.owners >= 0, anatomy.body.owners, -1)
        own = vertices[np.isin(owners, [j for j in range(len(anatomy.body)) if carrier(anatomy, ragdoll, j) == bone])]
        points = ragdoll.points[ragdoll.point_bones == bone]
        if len(own):
            assert points[:, 1].min() <= own[:, 1].min() + 1e-6


def carrier(anatomy: Anatomy, ragdoll: Ragdoll, joint: int) -> int:
    bones = {int(joint): bone for bone, joint in enumerate(ragdoll.joints)}
    return next((bones[above] for above in line_up(anatomy.body.parents, joint) if above in bones), 0)


@every_species
def test_the_zoo(species):
    check(of_the_zoo(species))


@every_species
def test_all_that_legs_stand_on_is_simulated(species):
    _, anatomy, _, ragdoll = of_the_zoo(species)
    assert len(anatomy.legs) in (2, 4, 6, 8)
    for leg in anatomy.legs:
        assert {joint for joint, _ in leg.contacts} <= set(ragdoll.joints.tolist())
        assert any(
            ragdoll.points[ragdoll.point_bones == bone, 1].min() < 0.03 * SIZE for bone in bones_of(ragdoll, leg)
        )


def bones_of(ragdoll: Ragdoll, leg) -> list[int]:
    return [bone for bone in np.flatnonzero(np.isin(ragdoll.joints, leg.joints)) if bone in ragdoll.point_bones]


@every_species
def test_hips_are_as_high_as_all_hips(species):
    _, anatomy, rig, ragdoll = of_the_zoo(species)
    heads = rig.world()[[leg.chain[0] for leg in anatomy.legs], :3, 3]
    heights = (heads @ ragdoll.T_ragdoll_file[:3, :3].T + ragdoll.T_ragdoll_file[:3, 3])[:, 1]
    assert heights.max() <= SIZE * (1 + 1e-9)
    longest = np.ptp(skin(anatomy, ragdoll), axis=0).max()
    assert max(heights.max(), 0.3 * longest) == pytest.approx(SIZE)


@every_species
def test_bones_turn_about_their_axes_as_joints_do(species):
    assert_same_turns(of_the_zoo(species))


@pytest.mark.parametrize("scale", [1.0, 0.01, (-1.0, 1.0, 1.0)], ids=["plain", "small", "mirrored"])
def test_bones_under_an_armature_turn_as_joints_do(scale):
    assert_same_turns(analyzed(turned(dog(), (HALF, 0, HALF, 0), scale)))


def assert_same_turns(found: Studied) -> None:
    """One joint turned in each frame."""
    _, _, rig, ragdoll = found
    count = len(rig.nodes)
    angles = torch.zeros(count, count, 3, dtype=torch.float64)
    angles[range(count), range(count)] = torch.tensor([0.7, -0.4, 0.3], dtype=torch.float64)
    at_rest = RigMotion.at_rest(count, count, 1.0, True)
    rig_motion = dataclasses.replace(at_rest, angles=angles.to(at_rest.angles))
    T_world = rig_motion.world(rig)[range(count), range(count), :, :3].double().numpy()
    relative = T_world @ np.linalg.inv(rig.world()[:, :3, :3])
    turn = ragdoll.T_ragdoll_file[:3, :3] * ragdoll.unit
    expected = turn @ relative[ragdoll.joints] @ turn.T
    own = compound_rotation(angles[range(count), range(count)][ragdoll.joints], torch.as_tensor(ragdoll.axes))
    np.testing.assert_allclose(own, expected, atol=1e-5)


def test_fingers_of_a_human_are_no_bones():
    character, _, rig, ragdoll = of_the_zoo("human")
    joints = {character.skeleton.names[node] for node in rig.nodes}
    assert {"fingers.L", "thumb.R"} <= joints
    assert not {"fingers.L", "fingers.R", "thumb.L", "thumb.R"} & set(ragdoll.names)
    assert {"upper_leg.L", "foot.R", "forearm.L", "head", "chest"} <= set(ragdoll.names)


# Known answers


def box(half_sizes, center, joint: int) -> Mesh:
    """A closed surface, fine enough that it matters little which corners share their vertices."""
    line = np.linspace(-1, 1, 9)
    u, v = (each.ravel() for each in np.meshgrid(line, line, indexing="ij"))
    corners = np.arange(81).reshape(9, 9)
    a, b, c, d = corners[:-1, :-1].ravel(), corners[1:, :-1].ravel(), corners[1:, 1:].ravel(), corners[:-1, 1:].ravel()
    outside = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    points, faces = [], []
    for axis, side in product(range(3), (-1, 1)):
        face = np.stack([np.full(81, side), u, v], 1)
        faces.append((outside if side > 0 else outside[:, ::-1]) + 81 * len(points))
        points.append(np.roll(face, axis, axis=1))
    positions = np.concatenate(points) * np.array(half_sizes, float) + np.array(center, float)
    return dataclasses.replace(mesh_of(positions, np.full(len(positions), joint)), faces=np.concatenate(faces))


def two_boxes(leaf: Mesh | None = None) -> Character:
    """A box of 1 x 1 x 1 along the first bone, one of 1 x 1 x 3 along the second; another joint at its end, perhaps."""
    skeleton = chain_skeleton(3 if leaf else 2, step=(0.0, 0.0, 1.0))
    if leaf:
        skeleton.rest.translation[2] = (0.0, 0.0, 3.0)
    boxes = [box((0.5, 0.5, 0.5), (0, 0, 0.5), 0), box((0.5, 0.5, 1.5), (0, 0, 2.5), 1)]
    return character_of(skeleton, *boxes, *([leaf] if leaf else []))


def test_masses_are_volumes():
    _, _, _, ragdoll = analyzed(two_boxes(), up="+y", forward="+z")
    np.testing.assert_allclose(ragdoll.masses, [0.25, 0.75])
    unit = ragdoll.unit
    np.testing.assert_allclose(ragdoll.centers * unit, [[0.0, 0.5, 0.5], [0.0, 0.5, 2.5]], atol=1e-9)
    np.testing.assert_allclose(ragdoll.anchors * unit, [[0.0, 0.5, 0.0], [0.0, 0.5, 1.0]], atol=1e-9)
    own = ragdoll.inertias - ragdoll.masses[:, None, None] * THINNEST**2 * np.eye(3)
    expected = [0.25 * np.diag([2, 2, 2]), 0.75 * np.diag([10, 10, 2])]  # m (b^2 + c^2) / 12
    np.testing.assert_allclose(own * unit**2 * 12, expected, rtol=0.12, atol=0.02)  # lumps are not spread evenly
    assert ragdoll.gravity == pytest.approx(STANDARD_GRAVITY / unit)


def test_bones_of_several_boxes_have_their_common_inertia():
    """A long, light third box is part of the second bone: parallel axes."""
    thick, long = 0.06, 10.0
    leaf = box((thick / 2, thick / 2, long / 2), (0, 0, 4 + long / 2), 2)
    ragdoll = analyzed(two_boxes(leaf), up="+y", forward="+z")[3]
    assert len(ragdoll) == 2
    assert ragdoll.boxes.bones.tolist() == [0, 1, 1]
    volumes, places = np.array([3.0, thick**2 * long]), np.array([2.5, 4 + long / 2])
    middle = (volumes * places).sum() / volumes.sum()
    assert ragdoll.centers[1, 2] * ragdoll.unit == pytest.approx(middle, rel=1e-3)
    density = ragdoll.masses[1] / volumes.sum()
    about_x = np.array([(1 + 9) / 12, (thick**2 + long**2) / 12]) + (places - middle) ** 2
    expected = density * (volumes * about_x).sum() / ragdoll.unit**2 + ragdoll.masses[1] * THINNEST**2
    assert ragdoll.inertias[1, 0, 0] == pytest.approx(expected, rel=0.03)


def test_fewer_points():
    ragdoll = of_clay()[3]
    chosen = ragdoll.points[:, 1] < 0.1
    fewer = ragdoll.only_points(chosen)
    assert 0 < len(fewer.points) == chosen.sum() < len(ragdoll.points)
    assert (fewer.point_bones == ragdoll.point_bones[chosen]).all()


# Size and direction


def assert_alike(found: Ragdoll, expected: Ragdoll, tolerance: float = 1e-5) -> None:
    """In their own space, which knows neither the file's size nor its directions."""
    assert found.names == expected.names
    assert (found.parents == expected.parents).all()
    for name in ("masses", "inertias", "centers", "anchors", "axes"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=tolerance, err_msg=name)
    for bone in range(len(found)):
        ours, theirs = (each.points[each.point_bones == bone] for each in (found, expected))
        assert (len(ours) > 0) == (len(theirs) > 0)
        if len(ours):  # of vertices that are equally far out, rounding decides
            np.testing.assert_allclose(ours.min(0), theirs.min(0), atol=1e-3)
            np.testing.assert_allclose(ours.max(0), theirs.max(0), atol=1e-3)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_size_does_not_matter(factor):
    _, anatomy, _, expected = of_clay()
    found = analyzed(scaled(dog(), factor))[3]
    assert_alike(found, expected)
    assert found.unit == pytest.approx(factor * expected.unit, rel=1e-5)
    # Nobody knows what its unit is, so it is as if it were a metre high.
    assert found.gravity == pytest.approx(expected.gravity * anatomy.height, rel=1e-5)


DIRECTIONS = {
    "z up": ((HALF, HALF, 0.0, 0.0), {"up": "+z", "forward": "-y"}),
    "x forward": ((HALF, 0.0, HALF, 0.0), {"up": "+y", "forward": "+x"}),
    "upside down": ((0.0, 0.0, 0.0, 1.0), {"up": "-y", "forward": "+z"}),
}


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_directions_do_not_matter(direction, scale):
    wxyz, axes = DIRECTIONS[direction]
    found = analyzed(turned(dog(), wxyz, scale), **axes)
    check(found)
    assert_alike(found[3], of_clay()[3])
    turn = found[3].T_ragdoll_file[:3, :3] * found[3].unit
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(turn) == pytest.approx(1.0)


# Odd characters


def point_character() -> Character:
    return character_of(chain_skeleton(2), mesh_of(np.zeros((5, 3)), np.ones(5, int)))


def flat() -> Character:
    """A sheet of paper on two joints."""
    return character_of(chain_skeleton(2), box((0.5, 0.0, 1.0), (0, 0, 1.0), 0), box((0.5, 0.0, 0.5), (0, 0, 1.5), 1))


def cloud() -> Character:
    """Points without faces between them."""
    points = box_points(np.full(3, 0.5))
    return character_of(chain_skeleton(2), mesh_of(points, (points[:, 2] > 0).astype(int)))


@pytest.mark.parametrize("make", [joints_alone, one_joint_and_no_mesh, point_character, flat, cloud])
def test_what_has_no_volume_is_told_so(make):
    with pytest.raises(GambolError, match="has no volume: physics needs skin around its joints"):
        analyzed(make())


def colocated() -> Character:
    """Four joints in one place, each with its own skin, and one more farther on."""
    skeleton = chain_skeleton(5, step=(0.0, 0.0, 0.0))
    skeleton.rest.translation[4] = (0.0, 0.0, 2.0)
    places = skeleton.world()[:, :3, 3]
    return character_of(skeleton, *(box(np.full(3, 0.3 + 0.1 * joint), places[joint], joint) for joint in range(5)))


def hidden_tail() -> Character:
    return with_scale(dog(), 0.0, *(name for name in dog().skeleton.names if "tail" in name))


def all_in_one_place() -> Character:
    skeleton = chain_skeleton(3, step=(0.0, 0.0, 0.0))
    return character_of(skeleton, *(box(np.full(3, 0.5), (0, 0, 0), joint) for joint in range(3)))


ODD = [one_joint, mesh_alone, colocated, all_in_one_place, hidden_tail, snake, fish, two_boxes]


@pytest.mark.parametrize("make", [*ODD, lambda: together(dog(), dog(), 2.0)], ids=[m.__name__ for m in ODD] + ["two"])
def test_odd_characters_have_ragdolls_that_can_be_simulated(make):
    found = analyzed(make())
    check(found)
    simulation = Simulation(found[3], 30.0)
    scene = still(simulation, 5)
    targets = 0.2 * torch.randn(scene.targets.shape, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        states = simulation(scene.start, targets, scene.upwards)
    assert all(part.isfinite().all() for part in states)
    assert states.x.abs().max() < 20


def test_a_joint_scaled_to_nothing_takes_its_skin_along():
    names = of_clay()[3].names
    assert any("tail" in name for name in names)
    found = analyzed(hidden_tail())[3]
    assert set(found.names) <= {name for name in names if "tail" not in name} | {"hips"}


@needs_assets
@pytest.mark.parametrize("name", ["HVGirl.glb", "Fox.glb", "Snake.glb", "Triceratops.glb", "platformer_Crab.glb"])
def test_real_characters(name):
    path = next((path for path in asset_files() if path.name == name), None)
    if path is None:
        pytest.skip(f"no {name}")
    found = analyzed(load(path))
    check(found)
    if name == "HVGirl.glb":  # of 40 joints
        assert len(found[3]) < 20
