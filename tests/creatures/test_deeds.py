"""Deeds of animals from goals for their parts."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from character.creatures import CLAY, GREY, snake

from gambol.actions import ACTIONS
from gambol.character.anatomy import analyze
from gambol.creatures.deeds import BUILDS, build_of, deeds_of, perform
from gambol.creatures.deeds.keys import _table
from gambol.creatures.gaits.trunk import line_to_head
from gambol.creatures.zoo import create, random_creature
from gambol.motion.chains import find_chains
from gambol.motion.legs import legs_of
from gambol.priors.tracks.formulas import formula_actions

PLANS = {"quadruped": "quadruped", "biped": "bird", "crawler": "arachnid"}


@pytest.fixture(scope="module", params=PLANS)
def animal(request):
    found = analyze(random_creature(7, PLANS[request.param]).character())
    assert build_of(found) == request.param
    return found


def test_every_deed_is_an_action_and_loops_as_it_does():
    for build in BUILDS:
        for name, deed in _table()[build].items():
            single = build in ("compact", "person") and name == "jump"  # as all the jumps of such bodies that were seen
            assert (ACTIONS[name].loops and not single) == deed.loops, (build, name)
            assert not ACTIONS[name].needs or set(ACTIONS[name].needs) <= {"legs", "wings", "arms"}


def test_every_deed_can_be_done(animal):
    for name, deed in deeds_of(animal).items():
        found = perform(animal, deed, 24, np.random.default_rng(0))
        assert np.isfinite(found.world).all() and found.world.shape[:2] == (24, len(animal.body)), name
        jumps = np.abs(np.diff(found.world[..., :3, 3], axis=0)).max()
        assert jumps < 0.6 * animal.body.size, name


def test_styles_differ_by_seed_and_a_seed_gives_one(animal):
    deed = deeds_of(animal)["attack"]
    a, b, c = (perform(animal, deed, 16, np.random.default_rng(seed)).world for seed in (1, 1, 2))
    assert np.array_equal(a, b) and not np.allclose(a, c)


def test_feet_stand_where_they_are_said_to(animal):
    for name in ("attack", "look", "hit"):
        found = perform(animal, deeds_of(animal)[name], 40, np.random.default_rng(0))
        rest = animal.body.T_world_node[animal.body.nodes]
        for number, leg in enumerate(legs_of(animal)):
            joint = leg.foot if leg.foot is not None else leg.links[-1]
            local = np.linalg.solve(rest[joint], np.append(leg.end, 1.0))
            places = (found.world[:, joint] @ local)[:, :3]
            down = (found.down[1:, number] > 0) & (found.down[:-1, number] > 0)
            assert np.linalg.norm(np.diff(places, axis=0), axis=1)[down].max(initial=0) < 0.03 * animal.height, name


def head_heights(anatomy, action):
    head = line_to_head(anatomy)[-1]
    world = perform(anatomy, deeds_of(anatomy)[action], 30, np.random.default_rng(0)).world[:, head]
    rest = anatomy.body.T_world_node[anatomy.body.nodes[head]]
    skin = anatomy.body.skin_of(anatomy.body.subtree(head))
    local = np.linalg.solve(rest, np.c_[skin, np.ones(len(skin))].T)
    return ((world @ local)[:, :3].swapaxes(1, 2) @ anatomy.up).min(1) - anatomy.ground


def test_who_eats_brings_the_muzzle_to_the_ground():
    horse = analyze(random_creature(7, "quadruped").character())
    standing = head_heights(horse, "stand").mean()
    assert head_heights(horse, "eat").max() < 0.4 * standing


def test_who_sits_lowers_the_hips_and_not_the_shoulders():
    dog = analyze(random_creature(7, "quadruped").character())
    world = perform(dog, deeds_of(dog)["sit down"], 30, np.random.default_rng(0)).world
    hip, shoulder = (
        next(limb.chain[0] for limb in dog.legs if limb.rank == rank) for rank in (max(leg.rank for leg in dog.legs), 0)
    )
    heights = world[..., :3, 3] @ dog.up - dog.ground
    assert heights[-1, hip] < 0.55 * heights[0, hip]
    assert heights[-1, shoulder] > 0.8 * heights[0, shoulder]


def test_who_dies_lies_on_the_ground():
    for plan in PLANS.values():
        animal = analyze(random_creature(7, plan).character())
        world = perform(animal, deeds_of(animal)["die"], 30, np.random.default_rng(0)).world
        body, rest = animal.body, animal.body.T_world_node[animal.body.nodes]
        wings = [joint for limb in animal.limbs if limb.kind == "wing" for joint in limb.joints]
        held = np.flatnonzero((body.owners >= 0) & ~np.isin(body.owners, wings))
        moved = world[-1] @ np.linalg.inv(rest)
        points = np.einsum("vij,vj->vi", moved[body.owners[held]], np.c_[body.vertices[held], np.ones(len(held))])
        assert abs((points[:, :3] @ animal.up).min() - animal.ground) < 0.06 * animal.height, plan


def test_who_takes_off_is_in_the_air_at_the_end_and_who_lands_at_the_start():
    bird = analyze(random_creature(7, "bird").character())
    for name, ends in (("take off", (0, -1)), ("land", (-1, 0))):
        found = perform(bird, deeds_of(bird)[name], 40, np.random.default_rng(0))
        hips = found.world[:, bird.legs[0].chain[0], :3, 3] @ bird.up - bird.ground
        on_ground, aloft = (hips[end] for end in ends)
        assert aloft > 1.5 * on_ground, name
        assert found.down[ends[0]].all() and not found.down[ends[1]].any(), name
        assert found.wings[ends[1]] > 0.9 and found.wings[ends[0]] < 0.1, name


def test_who_begs_raises_its_forefeet():
    dog = analyze(random_creature(7, "quadruped").character())
    found = perform(dog, deeds_of(dog)["beg"], 40, np.random.default_rng(0))
    front = [number for number, leg in enumerate(legs_of(dog)) if leg.limb.rank == 0]
    assert not found.down[20, front].any() and found.down[0].all()
    feet = [legs_of(dog)[number].links[-1] for number in front]
    heights = found.world[..., :3, 3] @ dog.up - dog.ground
    assert (heights[20, feet] > heights[0, feet] + 0.2 * dog.height).all()


def test_people_have_deeds_of_their_own():
    found = deeds_of(analyze(random_creature(7, "humanoid").character()))
    assert "point" in found and "wag tail" not in found


def test_the_docs_list_them():
    page = (Path(__file__).parents[2] / "docs" / "actions.md").read_text(encoding="utf-8")
    listed = [row.split("|")[2].strip().split(", ") for row in page.splitlines() if row.startswith("| ")][1:]
    assert listed == [sorted(_table()[build]) for build in BUILDS]


@pytest.mark.parametrize("name", ["fox", "dog", "horse"])
def test_who_lies_down_gets_there_on_forelegs_that_do_not_fold(name):
    anatomy = analyze(create(name))
    world = perform(anatomy, deeds_of(anatomy)["lie down"], 48, np.random.default_rng(0)).world
    rest = anatomy.body.T_world_node[anatomy.body.nodes]
    shoulders = [leg.chain[0] for leg in anatomy.legs if leg.rank == 0]
    heights = [float((each[shoulders, :3, 3] @ anatomy.up).mean()) - anatomy.ground for each in (rest, world[-1])]
    assert heights[1] < 0.6 * heights[0]


def test_snakes_know_twenty_actions():
    found = analyze(snake())
    assert {"hiss", "tail strike", "play dead"} <= set(deeds_of(found))
    assert len(formula_actions(find_chains(found))) >= 20


def low(leg, knees):
    """Four short legs, with or without knees, below a long body."""
    middle = {
        "trunk": (None, (0, leg + 0.1, -0.5), (0, leg + 0.1, 0.5), 0.17, 0.17, GREY),
        "head": ("trunk", (0, leg + 0.25, 0.6), (0, leg + 0.25, 0.9), 0.15, 0.1, GREY),
    }
    left = {}
    for name, z in (("fore", 0.45), ("hind", -0.4)):
        bend = (0.14, 0.55 * leg, z + (0.06 if name == "fore" else -0.06))
        ends = ((0.14, leg, z), bend, (0.14, 0.03, z)) if knees else ((0.14, leg, z), (0.14, 0.03, z))
        previous = "trunk"
        for number, (start, end) in enumerate(pairwise(ends)):
            left[f"{name}{number}"] = (previous, start, end, 0.05, 0.05, GREY)
            previous = f"{name}{number}"
    return analyze(CLAY["clay"]("low", CLAY["both_sides"](middle, left)), forward="+z")


@pytest.mark.parametrize("knees", [True, False])
def test_short_legs_sit_by_pitching_the_trunk_and_stay_above_the_ground(knees):
    animal = low(0.2, knees)
    world = perform(animal, deeds_of(animal)["sit"], 8, np.random.default_rng(0)).world
    body, rest = animal.body, animal.body.T_world_node[animal.body.nodes]
    ahead = world[:, 0, :3, :3] @ np.linalg.inv(rest[0, :3, :3]) @ animal.forward
    assert np.degrees(np.arcsin(ahead @ animal.up)).min() > 15
    skin = body.vertices[np.isin(body.owners, animal.joints_of("trunk"))]
    local = np.linalg.solve(rest[0], np.c_[skin, np.ones(len(skin))].T)
    heights = ((world[:, 0] @ local)[:, :3].swapaxes(1, 2) @ animal.up).min(1) - animal.ground
    assert np.abs(heights).max() < 0.03 * animal.height  # the rump is on the ground, and not below


def test_legs_without_knees_are_stretched_for_who_lies():
    animal = low(0.35, False)
    world = perform(animal, deeds_of(animal)["lie down"], 30, np.random.default_rng(0)).world
    rest = animal.body.T_world_node[animal.body.nodes]
    for leg in legs_of(animal):
        local = np.linalg.solve(rest[leg.links[0]], np.append(leg.end, 1.0))
        height = (world[-1, leg.links[0]] @ local)[:3] @ animal.up - leg.end @ animal.up
        assert abs(height) < 0.08 * animal.height
    hips = [leg.links[0] for leg in legs_of(animal)]
    heights = world[..., :3, 3][:, hips] @ animal.up - animal.ground
    assert (heights[-1] < 0.65 * heights[0]).all()
