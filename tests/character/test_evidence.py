"""What tells plan and facing where names do not: clips, detail, and trees that are hung or rooted oddly."""

import dataclasses

import numpy as np
import pytest
from creatures import CLAY, GREY, bird, dog, even_table, spider, without_names
from test_anatomy import hung_elsewhere

from gambol import analyze
from gambol.character import names, symmetry
from gambol.character.axes import axis_name
from gambol.character.body import find_body
from gambol.character.clip import Clip
from gambol.character.skeleton import Pose
from gambol.character.transforms import decompose
from gambol.creatures.gaits import gait


def swinging(character, name, joint, axis, radians=0.5):
    """The character with a clip in which one joint swings about an axis of its own."""
    skeleton = character.skeleton
    times = np.arange(21) / 20
    half = radians * np.sin(2 * np.pi * times) / 2
    rotation = np.tile(skeleton.rest.rotation, (len(times), 1, 1))
    rotation[:, joint] = np.concatenate([np.cos(half)[:, None], np.sin(half)[:, None] * np.asarray(axis)], axis=1)
    still = [np.tile(each, (len(times), 1, 1)) for each in (skeleton.rest.translation, skeleton.rest.scale)]
    clip = Clip.from_poses(name, Pose(still[0], rotation, still[1]), skeleton, 20)
    return dataclasses.replace(character, clips={name: clip})


def with_positions(character, change):
    """The character with the vertices of its only mesh changed, given those and the name of the joint of each."""
    (mesh,) = character.meshes
    owners = character.bind_nodes[mesh.binds[np.arange(len(mesh.binds)), mesh.weights.argmax(1)]]
    positions = change(mesh.positions.copy(), np.array(character.skeleton.names)[owners])
    return dataclasses.replace(character, meshes=(dataclasses.replace(mesh, positions=positions),))


def denser(character, where):
    """The character with four vertices instead of one where a function of positions says so."""
    (mesh,) = character.meshes
    more = np.flatnonzero(where(mesh.positions))
    every = np.concatenate([np.arange(len(mesh.positions)), *[more] * 3])
    arrays = {name: getattr(mesh, name)[every] for name in ("positions", "binds", "weights")}
    detailed = dataclasses.replace(mesh, **arrays, normals=None, uvs=None, colors=None)
    return dataclasses.replace(character, meshes=(detailed,))


@pytest.mark.parametrize("forward", ["+z", "-z"])
@pytest.mark.parametrize("called", ["walk", "Man_Run"])
def test_feet_on_the_ground_move_backwards(forward, called):
    """A table with two equal ends faces the way it walks in its own clip."""
    table = without_names(even_table())
    clip = gait(table, analyze(table, forward=forward), "walk", metres_per_unit=1.0)
    walking = dataclasses.replace(table, clips={called: dataclasses.replace(clip, name=called)})
    assert axis_name(analyze(walking).forward) == forward


def test_a_walk_backwards_says_nothing():
    table = without_names(even_table())
    clip = gait(table, analyze(table, forward="-z"), "walk", metres_per_unit=1.0)
    walking = dataclasses.replace(table, clips={"walk_back": dataclasses.replace(clip, name="walk_back")})
    assert axis_name(analyze(walking).forward) == axis_name(analyze(table).forward) == "+z"


def bar():
    """Three equal sausages in a line, the middle one the root."""
    bones = {
        "middle": (None, (0, 0.5, -0.2), (0, 0.5, 0.2), 0.1, 0.1, GREY),
        "one": ("middle", (0, 0.5, 0.2), (0, 0.5, 0.6), 0.1, 0.1, GREY),
        "other": ("middle", (0, 0.5, -0.2), (0, 0.5, -0.6), 0.1, 0.1, GREY),
    }
    return without_names(CLAY["clay"]("bar", bones))


@pytest.mark.parametrize(("joint", "forward"), [(1, "-z"), (2, "+z")])
def test_tails_sway_more_than_heads(joint, forward):
    anatomy = analyze(swinging(bar(), "swim", joint, (0, 1, 0)))
    assert axis_name(anatomy.forward) == forward
    assert anatomy.plan == "no legs"


@pytest.mark.parametrize(("sign", "forward"), [(-1, "-z"), (1, "+z")])
def test_a_face_has_more_vertices_than_a_back(sign, forward):
    """A ball, without limbs, faces the side with more detail."""
    ball = without_names(CLAY["clay"]("ball", {"ball": (None, (0, 0.2, 0), (0, 0.5, 0), 0.25, 0.3, GREY)}))
    assert axis_name(analyze(denser(ball, lambda points: sign * points[:, 2] > 0.1)).forward) == forward


def test_a_body_without_pairs_is_halved_where_its_skin_is_symmetric():
    """A head whose hat is askew: joints in one vertical line say nothing about left and right."""
    bones = {
        "low": (None, (0, 0.2, 0), (0, 0.5, 0), 0.25, 0.3, GREY),
        "high": ("low", (0, 0.5, 0), (0, 0.8, 0), 0.3, 0.25, GREY),
        "hat": ("high", (0, 0.9, 0), (0.12, 1.1, 0.15), 0.1, 0.1, GREY),
    }
    anatomy = analyze(without_names(CLAY["clay"]("ball", bones)))
    assert np.abs(anatomy.forward).max() == pytest.approx(1)


def test_a_snake_is_not_mirrored_in_its_own_middle():
    """Its root lies in the middle, and both halves have as many joints of the same lengths."""
    bones = {"root": (None, (0, 0.05, -0.1), (0, 0.05, 0.1), 0.05, 0.05, GREY)}
    for side, sign in (("a", 1), ("b", -1)):
        above = "root"
        for number in range(4):
            near, far = sign * (0.1 + 0.3 * number), sign * (0.4 + 0.3 * number)
            bones[f"{side}{number}"] = (above, (0, 0.05, near), (0, 0.05, far), 0.05, 0.05, GREY)
            above = f"{side}{number}"
    anatomy = analyze(without_names(CLAY["clay"]("snake", bones)))
    assert abs(anatomy.forward[2]) == pytest.approx(1)
    assert anatomy.plan == "no legs" and not anatomy.limbs


def whale():
    middle = {
        "body": (None, (0, 0.3, 0.4), (0, 0.3, -0.6), 0.28, 0.22, GREY),
        "head": ("body", (0, 0.3, 0.4), (0, 0.3, 1.0), 0.28, 0.2, GREY),
        "tail": ("body", (0, 0.3, -0.6), (0, 0.3, -1.4), 0.2, 0.06, GREY),
    }
    left = {"flipper": ("body", (0.2, 0.2, 0.2), (0.24, 0.0, 0.1), 0.05, 0.03, GREY)}
    return without_names(CLAY["clay"]("whale", CLAY["both_sides"](middle, left)))


def test_flippers_of_what_only_swims_are_no_legs():
    alone, swimming = analyze(whale()), analyze(swinging(whale(), "Swim_Slow", 2, (0, 1, 0)))
    assert (alone.plan, swimming.plan) == ("biped", "no legs")
    walking = swinging(whale(), "walk", 2, (0, 1, 0))
    assert analyze(walking).plan == "biped"


def folded_bird():
    """A bird with flat wings along its sides."""
    bones = {
        "pelvis": (None, (0, 0.45, -0.1), (0, 0.5, 0.1), 0.12, 0.12, GREY),
        "chest": ("pelvis", (0, 0.5, 0.1), (0, 0.55, 0.25), 0.13, 0.1, GREY),
        "head": ("chest", (0, 0.62, 0.3), (0, 0.85, 0.4), 0.07, 0.07, GREY),
        "tail": ("pelvis", (0, 0.48, -0.2), (0, 0.5, -0.55), 0.06, 0.02, GREY),
    }
    left = {
        "wing": ("chest", (0.15, 0.58, 0.2), (0.15, 0.45, -0.3), 0.1, 0.06, GREY),
        "thigh": ("pelvis", (0.07, 0.4, 0.0), (0.08, 0.22, 0.06), 0.05, 0.03, GREY),
        "shin": ("thigh", (0.08, 0.22, 0.06), (0.08, 0.04, 0.0), 0.02, 0.02, GREY),
    }
    made = CLAY["clay"]("bird", CLAY["both_sides"](bones, left))

    def flatten(points, owners):
        wings = np.char.startswith(owners, "wing")
        points[wings, 0] = np.sign(points[wings, 0]) * (0.15 + 0.15 * (np.abs(points[wings, 0]) - 0.15))
        return points

    return with_positions(made, flatten)


def test_folded_wings_are_wings_and_not_ears():
    assert analyze(without_names(folded_bird())).plan == "biped, winged"


def test_short_legs_below_wide_wings_are_legs():
    middle = {"Torso": (None, (0, 0.2, -0.2), (0, 0.25, 0.2), 0.1, 0.1, GREY)}
    left = {
        "Wing": ("Torso", (0.1, 0.3, 0), (1.5, 0.3, 0), 0.03, 0.02, GREY),
        "Leg": ("Torso", (0.05, 0.12, 0), (0.05, 0.02, 0.02), 0.02, 0.02, GREY),
    }
    assert analyze(CLAY["clay"]("bird", CLAY["both_sides"](middle, left))).plan == "biped, winged"


def test_short_legs_of_a_long_body_without_names_are_legs():
    middle = {
        "trunk": (None, (0, 0.15, 0.6), (0, 0.15, -0.6), 0.07, 0.07, GREY),
        "head": ("trunk", (0, 0.15, 0.6), (0, 0.15, 0.9), 0.08, 0.05, GREY),
        "tail": ("trunk", (0, 0.15, -0.6), (0, 0.15, -0.9), 0.06, 0.02, GREY),
    }
    left = {
        name: ("trunk", (0.05, 0.13, z), (0.18, 0.01, z), 0.02, 0.01, GREY) for name, z in (("f", 0.5), ("h", -0.5))
    }
    assert analyze(without_names(CLAY["clay"]("olm", CLAY["both_sides"](middle, left)))).plan == "quadruped"


def test_a_leg_that_is_the_root_of_its_file_is_a_leg():
    odd = hung_elsewhere(dog(), {"hips": "thigh.L", "thigh.L": None})
    anatomy, whole = analyze(without_names(odd)), analyze(without_names(dog()))
    assert anatomy.plan == "quadruped"
    chains = [{tuple(each.body.nodes[list(leg.chain)]) for leg in each.legs} for each in (anatomy, whole)]
    assert chains[0] == chains[1]


def legs_on_legs():
    """A spider without names, each leg of which hangs on the one before it."""
    odd = {f"leg{i}_upper.{side}": f"leg{i - 1}_upper.{side}" for i in (1, 2, 3) for side in "LR"}
    return without_names(hung_elsewhere(spider(), odd))


def test_limbs_that_hang_on_their_neighbours_are_limbs():
    """As where the tree of rigid parts was guessed by nearness."""
    character = legs_on_legs()
    (mesh,) = character.meshes
    heaviest = mesh.binds[np.arange(len(mesh.binds)), mesh.weights.argmax(1)][:, None]
    parts = dataclasses.replace(mesh, binds=heaviest, weights=np.ones((len(heaviest), 1)))
    anatomy = analyze(dataclasses.replace(character, meshes=(parts,)))
    assert anatomy.plan == "eight legs"
    assert all(len(leg.joints) == 2 for leg in anatomy.legs)


def test_joints_of_a_blended_skin_may_sit_beside_each_other():
    """As twists and helpers do: only the tree of rigid parts is doubted."""
    assert not len(analyze(legs_on_legs()).body.reparented)


def test_a_root_beside_the_middle_carries_pairs():
    character = without_names(bird())
    skeleton, offset = character.skeleton, np.eye(4)
    offset[0, 3] = 0.3
    world = skeleton.world()
    moved = world.copy()
    moved[0] = world[0] @ offset
    above = np.where((skeleton.parents >= 0)[:, None, None], moved[skeleton.parents], np.eye(4))
    rest = Pose(*decompose(np.linalg.solve(above, moved)))
    inverse = np.linalg.solve(moved[character.bind_nodes], world[character.bind_nodes] @ character.inverse_binds)
    odd = dataclasses.replace(
        character, skeleton=dataclasses.replace(skeleton, rest=rest), inverse_binds=inverse.astype(np.float32)
    )
    assert analyze(odd).plan == analyze(character).plan == "biped"


def test_front_and_hind_legs_are_no_pair_though_they_are_images():
    """As of a tortoise, as long as wide: what has no image then, its head and tail, speaks against that plane."""
    bones = {
        "shell": (None, (0, 6.3, 1.1), (0, 2.1, 1.1), 2.0, 2.0, GREY),
        "tail": ("shell", (0, 2.5, 2.9), (0, 1.5, 4.9), 0.3, 0.1, GREY),
        "head": ("shell", (0, 2.1, -0.5), (0, 4.4, -5.6), 0.6, 0.6, GREY),
        "hind left": ("shell", (2.0, 2.5, 2.5), (1.6, 1.5, 6.5), 0.5, 0.5, GREY),
        "hind right": ("shell", (-2.0, 2.5, 2.5), (-1.6, 1.5, 6.5), 0.5, 0.5, GREY),
        "front left": ("shell", (2.0, 2.5, -0.6), (1.6, 1.5, -4.5), 0.5, 0.5, GREY),
        "front right": ("shell", (-2.0, 2.5, -0.5), (-1.6, 1.5, -4.4), 0.5, 0.5, GREY),
    }
    anatomy = analyze(without_names(CLAY["clay"]("tortoise", bones)))
    assert abs(anatomy.forward[2]) == pytest.approx(1)


def test_two_left_legs_are_no_pair():
    """Of a cube on four legs only names say which way it faces."""
    middle = {"body": (None, (0, 0.5, 0), (0, 0.8, 0), 0.4, 0.4, GREY)}
    left = {
        f"leg-{name}": ("body", (0.2, 0.3, z), (0.2, 0.05, z), 0.05, 0.05, GREY)
        for name, z in (("front", 0.3), ("back", -0.3))
    }
    anatomy = analyze(CLAY["clay"]("pet", CLAY["both_sides"](middle, left)))
    assert (anatomy.plan, axis_name(anatomy.forward)) == ("quadruped", "+z")


def test_a_flier_that_draws_its_legs_in_does_not_hang():
    bones = {
        "spine": (None, (0, 1, -0.2), (0, 1, 0.3), 0.2, 0.2, GREY),
        "head": ("spine", (0, 1, 0.4), (0, 1, 0.6), 0.08, 0.05, GREY),
    }
    left = {
        "wing": ("spine", (0.1, 1, 0.1), (0.5, 1, 0.1), 0.03, 0.02, GREY),
        "leg": ("spine", (0.06, 0.9, 0.1), (0.06, 0.9, 0.5), 0.04, 0.03, GREY),
        "foot": ("leg", (0.06, 0.9, 0.5), (0.06, 0.9, 0.9), 0.03, 0.03, GREY),
    }
    anatomy = analyze(CLAY["clay"]("phoenix", CLAY["both_sides"](bones, left)))
    assert (axis_name(anatomy.up), axis_name(anatomy.forward), anatomy.plan) == ("+y", "+z", "biped, winged")


def test_the_fork_of_a_tail_is_no_pair_of_legs():
    middle = {"Spine": (None, (0, 0.5, 0.3), (0, 0.5, -0.3), 0.2, 0.15, GREY)}
    left = {
        "Tail1": ("Spine", (0.05, 0.4, -0.1), (0.1, 0.2, -0.1), 0.03, 0.03, GREY),
        "Tail2": ("Tail1", (0.1, 0.2, -0.1), (0.1, 0.0, -0.1), 0.03, 0.02, GREY),
    }
    assert analyze(CLAY["clay"]("goldfish", CLAY["both_sides"](middle, left))).plan == "no legs"


def test_names():
    assert (names.side("LizardLFrontLegUpper"), names.side("LizardRArmLower")) == ("left", "right")
    assert names.hint("Chest_fin_L") == "fin"
    assert names.are_meaningful(["body", "leg.L", "leg.R"])
    assert not names.are_meaningful(["body", "part_01", "part_02"])


@pytest.mark.parametrize(("gain", "angle"), [(1.1, 0), (1.3, 15)])
def test_a_plane_askew_must_be_much_better_than_one_along_an_axis(gain, angle, monkeypatch):
    """As of one who holds a gun in one hand."""

    def match(self, normal):
        found = round(np.degrees(np.arctan2(normal[2], normal[0]))) % 180
        return symmetry.Symmetry(normal, np.zeros(1, int), {0: 1.0, 15: gain}.get(found, 0.0))

    monkeypatch.setattr(symmetry._Matcher, "match", match)
    character = dog()
    found = symmetry.find_symmetry(find_body(character), np.array([0, 1.0, 0]), list(character.skeleton.names))
    assert np.degrees(np.arctan2(found.normal[2], found.normal[0])) % 180 == pytest.approx(angle)


@pytest.mark.parametrize(("called", "forward"), [("Eye_Black", "-z"), ("Hooves", "+z")])
def test_eyes_look_forward(called, forward):
    """A table with two equal ends faces the way in which a mesh is that is called after eyes; others say nothing."""
    table = without_names(even_table())
    (mesh,) = table.meshes
    small = np.arange(3)
    corners = np.array([[0.02, 0.65, -0.9], [-0.02, 0.65, -0.9], [0.0, 0.67, -0.9]], mesh.positions.dtype)
    eye = dataclasses.replace(mesh.only(small, np.array([[0, 1, 2]])), positions=corners, name=called)
    assert axis_name(analyze(dataclasses.replace(table, meshes=(mesh, eye))).forward) == forward
