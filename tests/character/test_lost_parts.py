"""Bodies some parts of which have no joint, no mesh or no name: a lost trunk, antennae on feet, arms of one bone."""

import dataclasses

import numpy as np
import pytest
from creatures import CLAY, GREY, cock, dog, without_names
from test_evidence import denser, swinging

from gambol import analyze
from gambol.character.axes import axis_name
from gambol.character.body import find_body
from gambol.character.ends import Ends, with_head_in_front

UP = np.array([0, 1.0, 0])


def rigid(name, bones):
    """A character of parts that move with one joint each, without names."""
    character = without_names(CLAY["clay"](name, bones))
    (mesh,) = character.meshes
    heaviest = mesh.binds[np.arange(len(mesh.binds)), mesh.weights.argmax(1)][:, None]
    parts = dataclasses.replace(mesh, binds=heaviest, weights=np.ones((len(heaviest), 1)))
    return dataclasses.replace(character, meshes=(parts,))


def leg(parent, x, z, y=0.4):
    return (parent, (0.15 * x, y, z), (0.6 * x, 0.03, 1.3 * z), 0.03, 0.02, GREY)


def test_legs_hang_on_nothing_where_the_trunk_has_no_mesh():
    """As of an ant, each leg of which was hung on the next one, around the body."""
    bones = {
        "l0": leg(None, 1, 0.5),
        "l1": leg("l0", 1, 0.2),
        "l2": leg("l1", 1, -0.6),
        "r2": leg("l2", -1, -0.6),
        "r1": leg("r2", -1, 0.2),
        "r0": leg("r1", -1, 0.5),
    }
    anatomy = analyze(rigid("ant", bones))
    assert anatomy.plan == "six legs"
    assert (anatomy.body.parents < 0).all()


def test_front_and_hind_legs_are_no_images_if_the_heavy_part_has_none():
    """As of a reindeer with a head and no trunk: its legs are farther apart lengthwise than across."""
    bones = {
        "head": (None, (0, 0.9, 0.8), (0, 1.3, 1.6), 0.3, 0.3, GREY),
        "front right": ("head", (-0.2, 0.6, 0.8), (-0.2, 0.03, 0.8), 0.06, 0.06, GREY),
        "front left": ("head", (0.2, 0.6, 0.8), (0.2, 0.03, 0.8), 0.06, 0.06, GREY),
        "hind left": ("front left", (0.2, 0.6, -0.8), (0.2, 0.03, -0.8), 0.06, 0.06, GREY),
        "hind right": ("hind left", (-0.2, 0.6, -0.8), (-0.2, 0.03, -0.8), 0.06, 0.06, GREY),
        "tail": ("hind right", (0, 0.55, -0.9), (0, 0.4, -1.1), 0.05, 0.05, GREY),
    }
    anatomy = analyze(rigid("reindeer", bones))
    assert anatomy.plan == "quadruped"
    assert abs(anatomy.forward[2]) == pytest.approx(1)


def insect():
    """Three pairs of legs, and antennae that hang on the front legs, at the end with fewer vertices."""
    middle = {"trunk": (None, (0, 0.4, 0.7), (0, 0.4, -0.7), 0.1, 0.1, GREY)}
    left = {f"leg{number}": leg("trunk", 1, z) for number, z in enumerate((0.35, 0.0))}
    left["leg2"] = ("trunk", (0.12, 0.4, -0.2), (0.25, 0.03, -0.8), 0.03, 0.02, GREY)
    left["antenna"] = ("leg2", (0.05, 0.42, -0.72), (0.1, 0.5, -1.0), 0.01, 0.01, GREY)
    character = rigid("insect", CLAY["both_sides"](middle, left))
    return denser(character, lambda points: points[:, 2] > 0.4)


def test_antennae_do_not_leave_feet_and_are_in_front():
    anatomy = analyze(insect())
    assert anatomy.plan == "six legs"
    assert all(len(limb.joints) == 1 for limb in anatomy.legs)
    assert [limb.kind for limb in anatomy.limbs].count("ear") == 2
    assert axis_name(anatomy.forward) == "-z"


def flier():
    middle = {
        "body": (None, (0, 0.5, -0.2), (0, 0.5, 0.2), 0.1, 0.1, GREY),
        "front": ("body", (0, 0.5, 0.2), (0, 0.5, 0.6), 0.1, 0.1, GREY),
        "back": ("body", (0, 0.5, -0.2), (0, 0.5, -0.6), 0.1, 0.1, GREY),
    }
    left = {"wing": ("body", (0.1, 0.5, 0.5), (1.2, 0.5, 0.5), 0.12, 0.12, GREY)}
    made = CLAY["clay"]("flier", CLAY["both_sides"](middle, left))
    (mesh,) = made.meshes
    positions = mesh.positions.copy()
    wings = np.abs(positions[:, 0]) > 0.2
    positions[wings, 1] = 0.5 + 0.1 * (positions[wings, 1] - 0.5)
    return without_names(dataclasses.replace(made, meshes=(dataclasses.replace(mesh, positions=positions),)))


@pytest.mark.parametrize("radians", [0.0, 0.8])
def test_the_end_at_which_wings_flap_is_not_the_tail(radians):
    still = flier()
    wing = next(limb.chain[0] for limb in analyze(still).limbs if limb.kind == "wing")
    node = int(analyze(still).body.nodes[wing])
    anatomy = analyze(swinging(still, "fly", node, (0, 0, 1), radians))
    assert axis_name(anatomy.forward) == axis_name(analyze(still).forward) == "+z"


def test_arms_of_one_bone_are_no_ears():
    middle = {
        "hips": (None, (0, 0.6, 0), (0, 0.7, 0), 0.13, 0.12, GREY),
        "body": ("hips", (0, 0.7, 0), (0, 1.1, 0), 0.15, 0.15, GREY),
        "head": ("body", (0, 1.2, 0), (0, 1.5, 0.03), 0.2, 0.2, GREY),
    }
    left = {
        "arm": ("body", (0.2, 1.05, 0), (0.3, 0.6, 0), 0.05, 0.045, GREY),
        "leg": ("hips", (0.1, 0.55, 0), (0.1, 0.03, 0), 0.08, 0.06, GREY),
    }
    anatomy = analyze(without_names(CLAY["clay"]("goblin", CLAY["both_sides"](middle, left))))
    assert {limb.kind for limb in anatomy.limbs} == {"leg", "arm"}


@pytest.mark.parametrize("sure", [True, False])
def test_the_facing_tells_the_head_from_the_tail(sure):
    body = find_body(without_names(dog()))
    named = [dog().skeleton.names[node] for node in body.nodes]
    neck, head = named.index("neck"), named.index("head")
    tail = [named.index(f"tail.{number}") for number in (1, 2, 3)]
    labels = [f"node {node}" for node in body.nodes]
    forward = np.array([0, 0, 1.0])

    found = with_head_in_front(body, Ends([], [], [neck, head]), UP, forward, sure, labels)
    assert ([*found.neck, *found.head], found.tail) == ([neck, head], [])
    found = with_head_in_front(body, Ends([], tail, []), UP, forward, sure, labels)
    assert found == (Ends([], [], tail) if sure else Ends([], tail, []))
    kept = Ends([], [], [neck, head])
    assert with_head_in_front(body, kept, UP, forward, sure, named) == kept, "names say what they are"


def test_legs_that_are_called_so_bear_a_body_with_a_heavy_tail():
    """A cock whose tail feathers weigh more than the rest."""
    anatomy = analyze(cock())
    assert anatomy.stands and len(anatomy.legs) == 2
