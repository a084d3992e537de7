"""Skeletons and flesh of all species and of random creatures, without meshes."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gambol import GambolError
from gambol.creatures.colors import Coat
from gambol.creatures.heads import Head
from gambol.creatures.quadruped import Quadruped
from gambol.creatures.species import PLANS, SPECIES
from gambol.creatures.zoo import random_creature, ranges_of


def check(blueprint, plan) -> None:
    """What holds for every creature."""
    heads, tips = blueprint.heads, blueprint.tips
    assert np.isfinite(heads).all()
    assert np.isfinite(tips).all()
    assert np.linalg.norm(tips - heads, axis=1).min() > 0
    assert (blueprint.parents < np.arange(len(heads))).all()
    assert (blueprint.parents < 0).sum() == 1
    height = blueprint.bounds[1][1]
    index = {name: i for i, name in enumerate(blueprint.names)}
    assert len(index) == len(blueprint.names)
    for name, i in index.items():
        if name.endswith(".L"):
            j = index[name.removesuffix(".L") + ".R"]
            assert heads[j].tolist() == (heads[i] * (-1, 1, 1)).tolist()
            assert tips[j].tolist() == (tips[i] * (-1, 1, 1)).tolist()
            assert heads[i, 0] > 0
        elif not name.endswith(".R"):
            assert heads[i, 0] == tips[i, 0] == 0
    feet = [name for name in index if ("toes" in name or ("leg_" in name and "foot" in name)) and name.endswith(".L")]
    assert 2 * len(feet) == plan.legs
    for foot in feet:
        lowest = min(piece.box[0][1] for piece in blueprint.flesh if piece.bone == foot)
        assert lowest < 0.002 * height  # stands on the ground
        assert heads[index[foot], 1] < 0.25 * height
    for prefix in ("", "hind_", "front_"):
        if f"{prefix}lower_leg.L" in index:
            hip, knee, ankle = (heads[index[prefix + part]] for part in ("upper_leg.L", "lower_leg.L", "foot.L"))
            assert hip[1] > knee[1] > ankle[1] or "front_" in prefix or plan.__class__.__name__ == "Reptile"
            assert knee[1] > ankle[1]


@pytest.mark.parametrize("name", SPECIES)
def test_species_stand_mirrored_on_the_ground(name):
    check(SPECIES[name].blueprint(), SPECIES[name])


@settings(max_examples=120, deadline=None)
@given(seed=st.integers(0, 2**32), plan=st.sampled_from(list(PLANS)))
def test_random_creatures_stand_mirrored_on_the_ground(seed, plan):
    creature = random_creature(seed, plan)
    check(creature.blueprint, creature.plan)


@pytest.mark.parametrize("name", ["cat", "dog", "horse", "elephant", "giraffe", "rabbit"])
def test_legs_of_quadrupeds_bend_as_nature_does(name):
    blueprint = SPECIES[name].blueprint()
    z = {bone.name: bone.head[2] for bone in blueprint.bones}
    assert z["hind_lower_leg.L"] > z["hind_upper_leg.L"]  # the knee is ahead of the hip
    assert z["hind_foot.L"] < z["hind_lower_leg.L"]  # the hock behind the knee
    assert z["front_lower_leg.L"] < z["front_upper_leg.L"]  # the elbow behind the shoulder
    assert z["head"] > z["chest"] > z["hips"] > z["tail_1"]


@pytest.mark.parametrize("name", ["ostrich", "flamingo", "trex", "velociraptor"])
def test_ankles_of_birds_and_dinosaurs_point_backwards(name):
    z = {bone.name: bone.head[2] for bone in SPECIES[name].blueprint().bones}
    assert z["lower_leg.L"] > z["upper_leg.L"]
    assert z["foot.L"] < z["lower_leg.L"]
    assert z["toes.L"] > z["foot.L"]


def test_true_sizes():
    tall = {name: float(plan.blueprint().bounds[1][1]) for name, plan in SPECIES.items()}
    assert 0.03 < tall["mouse"] < 0.1 < tall["cat"] < 0.5 < tall["wolf"] < 1.2 < tall["horse"] < 2.6
    assert 2.8 < tall["elephant"] < 3.6 < tall["giraffe"] < 5.5
    assert 1.6 < tall["human"] < 1.9
    assert tall["ant"] < 0.02


def test_there_are_enough_species_over_enough_plans():
    assert len(SPECIES) >= 29
    assert len(PLANS) >= 6


def test_the_same_seed_gives_the_same_creature_and_another_seed_another():
    assert random_creature(3) == random_creature(3)
    assert random_creature(3, "bird").plan != random_creature(4, "bird").plan


def test_an_unknown_plan_is_refused_with_the_known_ones():
    with pytest.raises(GambolError, match=r"no body plan 'fish'; known: quadruped, .*arachnid"):
        random_creature(0, "fish")


def test_parameters_outside_their_range_are_refused():
    with pytest.raises(GambolError, match=r"height must be from 0\.02 to 5\.0, got 50"):
        Quadruped(height=50)
    with pytest.raises(GambolError, match="eye_azimuth must be"):
        Head(eye_azimuth=0)


@pytest.mark.parametrize("kind", sorted({type(plan) for plan in SPECIES.values()} | {Head}, key=lambda k: k.__name__))
def test_every_number_has_a_range_that_holds_its_default(kind):
    ranges = ranges_of(kind)
    for field in dataclasses.fields(kind):
        if isinstance(field.default, (int, float)):
            assert field.name in ranges
            number, limits = ranges[field.name]
            assert isinstance(field.default, number)
            assert limits.least <= field.default <= limits.most


def test_scaling_scales_everything():
    blueprint = SPECIES["fox"].blueprint()
    twice = blueprint.scaled(2.0)
    np.testing.assert_allclose(twice.heads, 2 * blueprint.heads)
    np.testing.assert_allclose(twice.bounds, 2 * np.array(blueprint.bounds))
    points = np.random.default_rng(0).normal(size=(50, 3))
    for piece, larger in zip(blueprint.flesh, twice.flesh, strict=True):
        np.testing.assert_allclose(larger.distance(2 * points), 2 * piece.distance(points), atol=1e-6)
    np.testing.assert_allclose(twice.details[0].points, 2 * np.array(blueprint.details[0].points))


def test_dyeing_keeps_what_a_person_wears():
    coat = SPECIES["human"].coat
    red = coat.recolored("#ff0000")
    assert red.main == "#ff0000"
    assert (red.face, red.mane, red.feet) == (coat.face, coat.mane, coat.feet)
    assert Coat("#804020", belly="#ffffff", mane=None).recolored("#0000ff").belly == "#7373ff"
