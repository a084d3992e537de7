"""Deeds of who moves as one piece: compact bodies without legs, and fliers."""

import numpy as np
import pytest
from character.creatures import CLAY, GREY, bird, dog, fish, snake

from gambol.character.anatomy import analyze
from gambol.creatures.deeds import build_of, deeds_of, perform


def blob():
    """A body of two joints on a foot, without legs."""
    return CLAY["clay"](
        "blob",
        {
            "foot": (None, (0, 0.25, 0), (0, 0.3, 0.05), 0.3, 0.35, GREY),
            "body": ("foot", (0, 0.35, 0), (0, 0.6, 0), 0.4, 0.38, GREY),
            "head": ("body", (0, 0.6, 0), (0, 0.8, 0.05), 0.38, 0.3, GREY),
        },
    )


def cobra():
    """A snake whose front is upright: as high as it is long."""
    bones, above = {"belly": (None, (0, 0.06, 0.0), (0, 0.06, 0.1), 0.06, 0.06, GREY)}, "belly"
    for number in range(5):
        y = 0.06 + 0.18 * number
        bones[f"front{number}"] = (above, (0, y, 0.1), (0, y + 0.18, 0.1), 0.06, 0.05, GREY)
        above = f"front{number}"
    bones["head"] = (above, (0, 0.96, 0.1), (0, 0.96, 0.25), 0.06, 0.04, GREY)
    above = "belly"
    for number in range(5):
        z = -0.16 * number
        bones[f"tail{number}"] = (above, (0, 0.06, z), (0, 0.06, z - 0.16), 0.05, 0.04, GREY)
        above = f"tail{number}"
    return CLAY["clay"]("cobra", bones)


def legless_bird():
    middle = {
        "chest": (None, (0, 0.5, -0.1), (0, 0.52, 0.15), 0.13, 0.12, GREY),
        "head": ("chest", (0, 0.58, 0.2), (0, 0.6, 0.4), 0.09, 0.04, GREY),
    }
    left = {
        "wing": ("chest", (0.1, 0.56, 0.05), (0.5, 0.58, 0.02), 0.02, 0.02, GREY),
        "wing_tip": ("wing", (0.5, 0.58, 0.02), (1.0, 0.58, -0.1), 0.02, 0.01, GREY),
    }
    return CLAY["clay"]("flier", CLAY["both_sides"](middle, left))


def skin_heights(anatomy, world, without=()):
    """Heights of the skin above the ground in heights of the body, and its joints' rotations from the bind pose."""
    body = anatomy.body
    moved = world @ np.linalg.inv(body.T_world_node[body.nodes])
    held = np.flatnonzero((body.owners >= 0) & ~np.isin(body.owners, without))
    points = np.einsum("fvij,vj->fvi", moved[:, body.owners[held]], np.c_[body.vertices[held], np.ones(len(held))])
    return (points[..., :3] @ anatomy.up - anatomy.ground) / anatomy.height


@pytest.mark.parametrize(
    ("make", "build"),
    [(blob, "compact"), (cobra, "legless"), (snake, "legless"), (fish, None), (legless_bird, "flier"),
     (bird, "biped"), (dog, "quadruped")],
)  # fmt: skip
def test_blobs_are_no_snakes(make, build):
    assert build_of(analyze(make())) == build


@pytest.mark.parametrize("action", ["walk", "run", "hop", "jump", "attack", "die", "hit", "dance", "sleep", "stand"])
@pytest.mark.parametrize("seed", [0, 1])
def test_blobs_neither_sink_nor_float(action, seed):
    body = analyze(blob())
    deed = deeds_of(body)[action]
    world = perform(body, deed, 40, np.random.default_rng(seed)).world
    lowest = skin_heights(body, world).min(1)
    assert lowest.min() > -0.02
    if action in ("walk", "run", "hop", "jump"):
        assert lowest.max() > 0.1 and (lowest < 0.03).mean() > 0.15
    if action in ("die", "sleep", "stand"):
        assert lowest[-1] < 0.02


def test_blobs_go_forward_in_hops():
    body = analyze(blob())
    deed = deeds_of(body)["walk"]
    world = perform(body, deed, 40, np.random.default_rng(0)).world
    ahead = world[:, 0, :3, 3] @ body.forward / body.height
    step, lowest = np.diff(ahead), skin_heights(body, world).min(1)
    flies = (lowest[1:] > 0.03) & (lowest[:-1] > 0.03)
    assert ahead[-1] - ahead[0] > 0.7 * deed.travel
    assert step[flies].mean() > 2 * np.abs(step[~flies]).mean()


def test_blobs_stay_in_one_piece():
    """Nothing but neck and head bends, and that little: no coils of a snake."""
    body = analyze(blob())
    for action in ("attack", "die", "dance", "walk"):
        world = perform(body, deeds_of(body)[action], 30, np.random.default_rng(0)).world
        turned = (world @ np.linalg.inv(body.body.T_world_node[body.body.nodes]))[..., :3, :3]
        apart = np.einsum("fij,fkij->fk", turned[:, 0], turned)
        assert np.degrees(np.arccos(np.clip((apart - 1) / 2, -1, 1))).max() < 35, action


def test_who_dies_in_the_air_falls_and_lies():
    flier = analyze(legless_bird())
    wings = [joint for limb in flier.limbs if limb.kind == "wing" for joint in limb.joints]
    found = perform(flier, deeds_of(flier)["die"], 50, np.random.default_rng(0))
    lowest = skin_heights(flier, found.world, wings).min(1)
    assert lowest[0] > 0.1 and lowest.min() > -0.02 and np.abs(lowest[-10:]).max() < 0.03
    assert found.wings[0] > 0.9 and found.wings[-1] == pytest.approx(0, abs=1e-6)
    left = found.world[-1, 0, :3, :3] @ np.linalg.inv(flier.body.T_world_node[flier.body.nodes[0]][:3, :3])
    assert (left @ flier.up) @ flier.up < 0.5
