import dataclasses

import numpy as np
import pytest
from rigging.bare_meshes import animal, from_arrays, jackstone, moved, sphere, stripped

import gambol
from gambol import GambolError, analyze
from gambol.character.surface import Surface
from gambol.creatures.zoo import create
from gambol.rigging.options import RigOptions
from gambol.rigging.rig import is_bare, rig_mesh

PLANS = {
    "fox": "quadruped",
    "a man": "biped",
    "T. rex": "biped",
    "spider": "eight legs",
    "beetle": "six legs",
}


@pytest.mark.parametrize("name", PLANS)
def test_animals_are_recognised_by_the_rest_of_gambol(name):
    rigged = rig_mesh(animal(name))
    assert rigged.anatomy.plan == rigged.plan == PLANS[name]
    assert rigged.forward == "+z"
    assert rigged.anatomy.forward @ (0, 0, 1) > 0.99


@pytest.mark.parametrize("name", ["fox", "a man"])
def test_joints_are_where_the_zoo_has_them(name):
    own = analyze(create(name))
    ours = rig_mesh(animal(name)).anatomy
    size = np.ptp(own.body.vertices, axis=0).max()
    for kind in ("leg", "arm"):
        theirs = [limb for limb in own.limbs if limb.kind == kind]
        found = [limb for limb in ours.limbs if limb.kind == kind]
        assert len(found) == len(theirs)
        for a, b in zip(found, theirs, strict=True):
            assert (a.side, a.rank) == (b.side, b.rank)
            tips = ours.body.tips[a.chain[-1]] - own.body.tips[b.chain[-1]]
            assert np.linalg.norm(tips) < 0.1 * size


def test_the_mesh_stays_as_it_was():
    mesh = animal("fox")
    rigged = gambol.rig(mesh)
    np.testing.assert_allclose(rigged.rest_vertices, mesh.rest_vertices, atol=1e-6)
    for before, after in zip(mesh.meshes, rigged.meshes, strict=True):
        assert np.array_equal(before.faces, after.faces)
        assert np.array_equal(before.colors, after.colors)
        assert after.material == before.material
        np.testing.assert_allclose(after.weights.sum(1), 1, atol=1e-9)
        assert after.weights.shape[1] <= 4


def test_left_and_right_are_mirror_images_by_name():
    rigged = gambol.rig(animal("fox"))
    heads = dict(zip(rigged.skeleton.names, rigged.skeleton.world()[:, :3, 3], strict=True))
    sides = [name for name in heads if name.endswith(".L")]
    assert len(sides) >= 8
    for name in sides:
        image = heads[name[:-1] + "R"]
        assert heads[name][0] > 0  # facing +z, left is +x
        np.testing.assert_allclose(
            heads[name] * (-1, 1, 1), image, atol=0.02 * np.ptp(rigged.rest_vertices, axis=0).max()
        )


def test_chains_end_in_a_tip_and_joints_lie_inside():
    mesh = animal("fox")
    rigged = gambol.rig(mesh)
    skeleton = rigged.skeleton
    last = [node for node in np.flatnonzero(skeleton.is_joint) if not skeleton.children[node]]
    assert all("_tip" in skeleton.names[node] for node in last)
    inner = [node for node in np.flatnonzero(skeleton.is_joint) if skeleton.children[node]]
    surface = Surface(mesh.meshes[0].positions, mesh.meshes[0].faces)
    assert surface.contains(skeleton.world()[inner, :3, 3]).mean() > 0.9


@pytest.mark.parametrize("scale, shift", [(1000.0, (0, 0, 0)), (0.001, (5, -3, 2)), (1.0, (100, 0, 0))])
def test_size_and_place_do_not_matter(scale, shift):
    mesh = animal("fox")
    usual, other = (rig_mesh(each) for each in (mesh, moved(mesh, np.eye(3), scale, shift)))
    assert usual.character.skeleton.names == other.character.skeleton.names
    joints = usual.character.skeleton.is_joint
    places = [each.character.skeleton.world()[joints, :3, 3] for each in (usual, other)]
    size = np.ptp(mesh.rest_vertices, axis=0).max()
    np.testing.assert_allclose((places[1] - np.asarray(shift)) / scale, places[0], atol=0.03 * size)


def test_z_up_can_be_given():
    lying = moved(animal("fox"), [[1, 0, 0], [0, 0, -1], [0, 1, 0]])  # y up becomes z up, +z becomes -y
    given = rig_mesh(lying, RigOptions(up="+z", forward="-y"))
    assert given.plan == "quadruped"
    assert given.forward == "-y" and given.forward_certainty == 1.0
    left = given.character.skeleton.names.index("hind_upper_leg.L")
    assert given.character.skeleton.world()[left, 0, 3] > 0


@pytest.mark.parametrize("name", ["fox", "a man"])
def test_what_lies_or_has_z_up_is_found_to(name):
    turns = {"+z": [[1, 0, 0], [0, 0, -1], [0, 1, 0]], "-x": [[0, -1, 0], [1, 0, 0], [0, 0, 1]]}
    for up, turn in turns.items():
        rigged = rig_mesh(moved(animal(name), turn))
        assert rigged.plan == PLANS[name]
        np.testing.assert_allclose(rigged.anatomy.up, np.array(turn) @ (0, 1, 0), atol=1e-6)
        assert any(f"stands with {up} up" in note for note in rigged.notes)


def test_the_user_knows_better():
    mesh = animal("fox")
    turned = rig_mesh(mesh, RigOptions(forward="-z"))
    assert turned.forward == "-z"
    names = gambol.rig(mesh, spine=5, tail=6).skeleton.names
    assert {"spine_4", "tail_6"} <= set(names) and "tail_7" not in names
    assert not any(name.startswith("tail") for name in gambol.rig(mesh, tail=0).skeleton.names)
    with pytest.raises(GambolError, match="eight-legs needs 4 pair"):
        gambol.rig(mesh, plan="eight-legs")
    with pytest.raises(GambolError, match="must be different axes"):
        gambol.rig(mesh, up="+z", forward="-z")
    with pytest.raises(GambolError, match="up must be one of"):
        gambol.rig(mesh, up="north")


def test_the_same_mesh_gives_the_same_skeleton():
    mesh = animal("T. rex")
    first, second = (gambol.rig(mesh) for _ in range(2))
    assert np.array_equal(first.skeleton.world(), second.skeleton.world())
    assert all(np.array_equal(a.weights, b.weights) for a, b in zip(first.meshes, second.meshes, strict=True))


def test_what_has_no_plan_gets_bones_along_its_branches():
    found = jackstone()
    rigged = rig_mesh(from_arrays(*found))
    names, world = rigged.character.skeleton.names, rigged.character.skeleton.world()[:, :3, 3]
    tips = np.array([point for name, point in zip(names, world, strict=True) if name.endswith("_tip")])
    assert len(tips) >= 5
    assert any("follow its branches" in note for note in rigged.notes)
    far = np.linalg.norm(found[0], axis=1).max()
    assert np.linalg.norm(tips, axis=1).max() > 0.85 * far


def test_legs_that_touch_are_put_in_by_guess():
    """A person in a gown to the ground."""
    man = create("a man")
    points = man.rest_vertices
    height = np.ptp(points[:, 1])
    axis = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    rings = np.linspace(points[:, 1].min(), points[:, 1].min() + 0.5 * height, 12)
    gown = np.stack(
        [np.stack([0.16 * height * np.cos(axis), np.full(24, y), 0.13 * height * np.sin(axis)], 1) for y in rings]
    )
    quads = [
        (i * 24 + j, i * 24 + (j + 1) % 24, (i + 1) * 24 + (j + 1) % 24, (i + 1) * 24 + j)
        for i in range(11)
        for j in range(24)
    ]
    faces = np.array([corner for a, b, c, d in quads for corner in ((a, b, c), (a, c, d))])
    lids = [(0, j + 1, j) for j in range(1, 23)] + [(264, 264 + j, 265 + j) for j in range(1, 23)]
    own = stripped(man)
    dressed = from_arrays(
        np.concatenate([own.rest_vertices, gown.reshape(-1, 3)]),
        np.concatenate([own.meshes[0].faces, np.concatenate([faces, np.array(lids)]) + len(points)]),
    )
    rigged = rig_mesh(dressed)
    assert rigged.plan == "biped"
    assert rigged.plan_certainty <= 0.4
    assert any("put in by guess" in note for note in rigged.notes)


def test_only_bare_meshes_are_rigged():
    fox = create("fox")
    assert not is_bare(fox) and is_bare(stripped(fox))
    with pytest.raises(GambolError, match="has a skeleton already"):
        gambol.rig(fox)
    empty = dataclasses.replace(stripped(fox), meshes=())
    with pytest.raises(GambolError, match="no mesh with faces"):
        gambol.rig(empty)


def test_a_sentence_says_plan_and_way_out():
    rigged = rig_mesh(animal("fox"))
    assert "quadruped" in rigged.sentence and "--plan" in rigged.sentence and "+z" in rigged.sentence


def test_flat_things_are_refused():
    square = [(0, 0, 0), (1, 0, 0), (1, 0, 1), (0, 0, 1)]
    with pytest.raises(GambolError, match="flat"):
        gambol.rig(from_arrays(square, [(0, 1, 2), (0, 2, 3)]))
    with pytest.raises(GambolError, match="flat"):
        gambol.rig(from_arrays(np.random.default_rng(0).random((400, 3)) * (1, 0, 1), np.arange(399).reshape(-1, 3)))


def test_nan_is_refused():
    mesh = animal("fox")
    points = mesh.meshes[0].positions.copy()
    points[7] = np.nan
    with pytest.raises(GambolError, match="NaN"):
        gambol.rig(dataclasses.replace(mesh, meshes=(dataclasses.replace(mesh.meshes[0], positions=points),)))


def test_a_sphere_gets_a_chain():
    assert rig_mesh(from_arrays(*sphere())).anatomy.plan == "no legs"


def test_twenty_objects_are_refused_with_the_reason():
    points, faces = sphere(0.3)
    scene = np.concatenate([points + np.array([6 * (i % 5), 0, 6 * (i // 5)]) for i in range(20)])
    with pytest.raises(GambolError, match="20 objects far from each other"):
        gambol.rig(from_arrays(scene, np.concatenate([faces + i * len(points) for i in range(20)])))


def test_what_floats_far_away_follows_the_body():
    points, faces = sphere(0.2)
    both = np.concatenate([points, 0.2 * points + np.array([0, 4, 0])])
    rigged = rig_mesh(from_arrays(both, np.concatenate([faces, faces + len(points)])))
    assert any("1 piece(s) far from the body" in note for note in rigged.notes)


@pytest.mark.parametrize("seed", range(2))
def test_a_soup_of_triangles_is_rigged_or_refused(seed):
    points = np.random.default_rng(seed).normal(size=(3000, 3))
    try:
        rigged = gambol.rig(from_arrays(points, np.arange(3000).reshape(-1, 3)))
    except GambolError as error:
        assert str(error)
    else:
        assert np.isfinite(rigged.rest_vertices).all()


def test_weights_can_be_those_of_the_paper():
    mesh = animal("fox")
    usual, paper = (gambol.rig(mesh, weights=method) for method in ("normals", "paper"))
    assert np.array_equal(usual.skeleton.world(), paper.skeleton.world())
    dense = [np.zeros((len(mesh.rest_vertices), len(usual.bind_nodes))) for _ in range(2)]
    for weights, rigged in zip(dense, (usual, paper), strict=True):
        (part,) = rigged.meshes
        for column in range(part.weights.shape[1]):
            np.add.at(weights, (np.arange(len(weights)), part.binds[:, column]), part.weights[:, column])
        np.testing.assert_allclose(weights.sum(1), 1, atol=1e-9)
    assert 0.01 < np.abs(dense[0] - dense[1]).sum(1).mean() / 2 < 0.5
