import dataclasses

import numpy as np
from creatures import CLAY, GREY, dog, posed

from gambol.character.anatomy import analyze
from gambol.character.body import find_body, vertex_areas
from gambol.character.character import Character, Mesh
from gambol.character.neutral import neutral_world
from gambol.character.skeleton import Pose, Skeleton


def renested(character, name, under):
    """The character with one joint hung under another node of the file, its place in the world unchanged."""
    skeleton = character.skeleton
    node, parent = skeleton.names.index(name), skeleton.names.index(under)
    parents = skeleton.parents.copy()
    parents[node] = parent
    translation = skeleton.rest.translation.copy()
    world = skeleton.world()[:, :3, 3]
    translation[node] = world[node] - world[parent]
    rest = dataclasses.replace(skeleton.rest, translation=translation)
    return dataclasses.replace(character, skeleton=dataclasses.replace(skeleton, parents=parents, rest=rest))


def with_joint(character, name, parent, position):
    """The character with one more joint that moves nothing."""
    skeleton = character.skeleton
    world = skeleton.world()[:, :3, 3]
    above = skeleton.names.index(parent) if parent else -1
    offset = np.array(position, float) - (world[above] if parent else 0)
    rest = Pose(
        np.concatenate([skeleton.rest.translation, offset[None]]),
        np.concatenate([skeleton.rest.rotation, [[1.0, 0, 0, 0]]]),
        np.concatenate([skeleton.rest.scale, np.ones((1, 3))]),
    )
    grown = dataclasses.replace(
        skeleton,
        names=(*skeleton.names, name),
        parents=np.append(skeleton.parents, above),
        rest=rest,
        is_joint=np.append(skeleton.is_joint, True),
    )
    return dataclasses.replace(character, skeleton=grown)


def parents_by_name(character, body):
    names = [character.skeleton.names[node] for node in body.nodes]
    return {name: names[parent] if parent >= 0 else None for name, parent in zip(names, body.parents, strict=True)}


def test_the_tree_of_a_plain_rig_is_the_files_own():
    character = dog()
    body = find_body(character)
    skeleton = character.skeleton
    assert len(body) == skeleton.is_joint.sum()
    assert not len(body.reparented)
    for name, parent in parents_by_name(character, body).items():
        above = skeleton.parents[skeleton.names.index(name)]
        assert parent == (skeleton.names[above] if above >= 0 else None)


def test_parents_come_first():
    body = find_body(posed(dog(), 3))
    assert (body.parents < np.arange(len(body))).all()


def test_a_paw_under_an_ik_control_hangs_on_its_shin_again():
    character = with_joint(dog(), "IK.L", None, (0.1, 0.03, -0.29))
    body = find_body(renested(character, "hind_paw.L", "IK.L"))
    assert parents_by_name(character, body)["hind_paw.L"] == "hock.L"
    assert [character.skeleton.names[body.nodes[joint]] for joint in body.reparented] == ["hind_paw.L"]
    assert "IK.L" not in parents_by_name(character, body)


def test_control_bones_and_end_markers_are_no_part_of_the_body():
    character = with_joint(with_joint(dog(), "pole.L", "hips", (0.1, 0.3, 0.5)), "head_end", "snout", (0, 0.7, 0.9))
    body = find_body(character)
    assert not {"pole.L", "head_end"} & set(parents_by_name(character, body))


def test_tips_are_at_the_child_that_goes_on():
    character = dog()
    body = find_body(character)
    names = [character.skeleton.names[node] for node in body.nodes]
    assert np.allclose(body.tips[names.index("shin.L")], body.heads[names.index("hock.L")])
    snout = names.index("snout")
    assert np.allclose(body.tips[snout], (0, 0.745, 0.71), atol=0.03)  # 0.14 of bone and 0.035 of nose


def test_mass_is_the_share_of_the_skin():
    body = find_body(dog())
    assert np.isclose(body.mass.sum(), 1)
    assert (body.mass > 0).all()


def test_vertex_areas_of_a_square():
    square = np.array([[0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0]], float)
    areas = vertex_areas(square, np.array([[0, 1, 2], [0, 2, 3]]))
    assert np.allclose(areas, [4 / 3, 2 / 3, 4 / 3, 2 / 3])


def test_the_neutral_pose_is_the_one_the_skin_was_bound_in():
    character = dog()
    bound = character.skeleton.world()
    for seed in range(3):
        moving = posed(character, seed)
        found = neutral_world(moving)
        joints = character.skeleton.is_joint
        # The pose is recovered up to where it stands: positions relative to the hips.
        relative = found[joints, :3, 3] - found[0, :3, 3]
        assert np.allclose(relative, bound[joints, :3, 3] - bound[0, :3, 3], atol=1e-6)


def test_a_rest_pose_equal_to_the_bind_pose_is_kept_exactly():
    character = dog()
    assert np.array_equal(neutral_world(character), character.skeleton.world())


def test_inverse_binds_that_are_no_pose_of_the_skeleton_are_not_believed():
    character = dog()
    generator = np.random.default_rng(0)
    nonsense = character.inverse_binds.copy()
    nonsense[:, :3, 3] = generator.uniform(-5, 5, nonsense[:, :3, 3].shape)
    assert np.array_equal(
        neutral_world(dataclasses.replace(character, inverse_binds=nonsense)), character.skeleton.world()
    )


def test_a_joint_scaled_to_nothing_is_left_out_and_its_children_are_kept():
    character = dog()
    skeleton = character.skeleton
    scale = skeleton.rest.scale.copy()
    scale[skeleton.names.index("ear.L")] = (1, 0, 1)
    rest = dataclasses.replace(skeleton.rest, scale=scale)
    hidden = dataclasses.replace(
        character, skeleton=dataclasses.replace(skeleton, rest=rest), inverse_binds=character.inverse_binds
    )
    found = parents_by_name(hidden, find_body(hidden))
    assert found["thigh.L"] == "hips"
    assert "ear.R" in found


def test_a_foot_that_begins_where_the_heel_does_hangs_on_the_shin():
    """Rigid parts share no skin: only their places tell."""
    middle = {"hips": (None, (0, 0.95, 0), (0, 1.5, 0), 0.13, 0.12, GREY)}
    left = {
        "thigh": ("hips", (0.1, 0.92, 0), (0.1, 0.5, 0.01), 0.08, 0.06, GREY),
        "shin": ("thigh", (0.1, 0.5, 0.01), (0.1, 0.1, -0.02), 0.055, 0.04, GREY),
        "heel": ("shin", (0.1, 0.1, -0.02), (0.1, 0.03, -0.1), 0.03, 0.03, GREY),
    }
    bones = CLAY["both_sides"](middle, left)
    for side, x in ((".L", 0.1), (".R", -0.1)):
        bones[f"sole{side}"] = (None, (x, 0.1, -0.02), (x, 0.04, 0.2), 0.03, 0.03, GREY)
    character = CLAY["clay"]("robot", bones)
    body = analyze(character).body
    names = [character.skeleton.names[node] for node in body.nodes]
    assert body.parents[names.index("sole.L")] == names.index("shin.L")
    assert body.parents[names.index("sole.R")] == names.index("shin.R")


def test_a_foot_that_shares_no_skin_with_its_shin_does_not_hang_on_its_own_toes():
    """Boxes on one joint each, but for a foot that blends with its toes, were a tree with a cycle."""
    names = ("hips", "lower_leg.L", "foot.L", "toes.L")
    heads = np.array([(0, 2, 0), (0, 1.5, 0), (0, 0.5, 0), (0, 0.2, 0.5)], float)
    rest = Pose(np.diff(heads, axis=0, prepend=0), np.tile([1.0, 0, 0, 0], (4, 1)), np.ones((4, 3)))
    skeleton = Skeleton(names, np.array([-1, 0, 1, 2]), rest, np.ones(4, bool))
    box = np.array(list(np.ndindex(2, 2, 2))) * 0.3
    faces = np.array([(0, 1, 2), (1, 3, 2), (4, 6, 5), (5, 6, 7)])
    weights = np.repeat(np.eye(4), 8, axis=0)
    weights[16:24] = (0, 0, 0.6, 0.4)
    mesh = Mesh(
        "boxes",
        0,
        np.concatenate([box + head for head in heads]),
        np.concatenate([faces + 8 * number for number in range(4)]),
        np.tile(np.arange(4), (32, 1)),
        weights,
    )
    inverse = np.tile(np.eye(4), (4, 1, 1))
    inverse[:, :3, 3] = -heads
    character = Character("boxes", skeleton, (mesh,), np.arange(4), inverse)
    assert parents_by_name(character, find_body(character)) == {
        "hips": None,
        "lower_leg.L": "hips",
        "foot.L": "lower_leg.L",
        "toes.L": "foot.L",
    }
