"""Known answers: bodies that glide, sink and hover by so much are said to do so."""

import dataclasses

import numpy as np
import pytest
import torch
from character.creatures import dog, turned
from distillation.odd_characters import scaled
from performers import near_ground, on_stage, stage_of, take_of

from gambol.motion.draft import Draft
from gambol.physics.footprints import bones_apart, loaded_slip, measure_footprints
from gambol.physics.take import Physique

HALF = np.sqrt(0.5)


def glided(draft: Draft, physique: Physique, speed: float, sideways: float = 0.0) -> Draft:
    """Too fast by so much [heights a second]."""
    way = (
        (speed * physique.anatomy.forward + sideways * physique.anatomy.left) * physique.anatomy.height * draft.seconds
    )
    return draft.leading(draft.way + torch.as_tensor(way).float())


def lifted(draft: Draft, physique: Physique, height: float) -> Draft:
    shift = torch.as_tensor(height * physique.anatomy.height * physique.anatomy.up).float()
    return dataclasses.replace(draft, root_translation=draft.root_translation + shift)


def standing(physique: Physique, loops: bool = True) -> Draft:
    return Draft.at_rest(len(physique.rig.nodes), 12, 0.7, loops)


STAGES = {
    "dog": lambda: stage_of("dog", "walk"),
    "spider": lambda: stage_of("spider", "walk"),
    "tiny": lambda: on_stage(scaled(dog(), 1e-3)),
    "huge, z up": lambda: on_stage(turned(scaled(dog(), 1e3), (HALF, HALF, 0.0, 0.0))),
}


@pytest.fixture(scope="module", params=STAGES)
def physique(request) -> Physique:
    return STAGES[request.param]()


@pytest.mark.parametrize("loops", [True, False])
def test_who_stands_does_nothing(physique, loops):
    found = measure_footprints(physique, standing(physique, loops))
    for value in dataclasses.astuple(found):
        assert value == pytest.approx(0.0, abs=0.02)


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize(("ahead", "sideways"), [(0.1, 0.0), (-0.1, 0.0), (0.03, 0.04)])
def test_who_glides_slips(physique, loops, ahead, sideways):
    """0.1 heights a second are 10 cm/s at a height of 1 m."""
    found = measure_footprints(physique, glided(standing(physique, loops), physique, ahead, sideways))
    expected = 100 * np.hypot(ahead, sideways)
    assert found.slip == pytest.approx(expected, rel=0.01)
    assert found.worst_slip == pytest.approx(expected, rel=0.02)
    assert found.worst_depth < 0.02 and found.hovers < 0.02


def test_who_is_lowered_sinks(physique):
    found = measure_footprints(physique, lifted(standing(physique), physique, -0.002))
    assert found.depth == pytest.approx(2.0, abs=0.05) and found.worst_depth == pytest.approx(2.0, abs=0.05)
    assert found.hovers == 0.0


def test_who_is_raised_hovers(physique):
    found = measure_footprints(physique, lifted(standing(physique), physique, 0.003))
    assert found.hovers == pytest.approx(3.0, abs=0.05)
    assert found.depth == found.worst_depth == 0.0


def test_who_is_high_does_not_slip(physique):
    found = measure_footprints(physique, lifted(glided(standing(physique), physique, 1.0), physique, 0.05))
    assert found.slip == found.worst_slip == 0.0
    assert found.hovers == pytest.approx(50.0, abs=0.5)


def test_who_sinks_for_a_moment_sinks_deepest_then(physique):
    draft = standing(physique)
    shift = draft.root_translation.clone()
    shift[3] -= torch.as_tensor(0.01 * physique.anatomy.height * physique.anatomy.up).float()
    found = measure_footprints(physique, dataclasses.replace(draft, root_translation=shift))
    assert found.worst_depth == pytest.approx(10.0, rel=0.05)
    assert 0.5 < found.depth < 2.0, "one frame in twelve, smoothly"


@pytest.mark.parametrize("name", ["dog", "spider"])
def test_gaits_slip_as_much_as_they_are_too_fast(name):
    take = take_of(name, "walk")
    clean = measure_footprints(take.physique, take.raw)
    assert clean.slip < 2.0
    fast = measure_footprints(take.physique, glided(take.raw, take.physique, 0.1))
    assert fast.slip == pytest.approx(10.0, abs=0.3 + clean.slip)


@pytest.mark.parametrize("name", ["dog", "human", "spider"])
def test_gaits_sink_as_much_as_they_are_lowered(name):
    take = take_of(name, "walk")
    clean = measure_footprints(take.physique, take.raw)
    low = measure_footprints(take.physique, lifted(take.raw, take.physique, -0.002))
    assert low.worst_depth == pytest.approx(clean.worst_depth + 2.0, abs=0.05)
    assert low.depth > clean.depth + 1.0


def test_what_bears_weight_slips_by_its_weight():
    """One point glides on with the body; if it bears all the weight, that is the slip."""
    take = take_of("dog", "walk")
    physique, ragdoll = take.physique, near_ground(take)
    draft = glided(standing(physique), physique, 0.1)
    bearing = torch.zeros(len(draft), len(ragdoll.points))
    assert loaded_slip(physique, ragdoll, draft, bearing) == 0.0
    bearing[:, 3] = 1.0
    assert loaded_slip(physique, ragdoll, draft, bearing) == pytest.approx(10.0, rel=0.01)
    assert loaded_slip(physique, ragdoll, standing(physique), bearing) == pytest.approx(0.0, abs=1e-3)


def test_two_frames_are_enough():
    physique = stage_of("dog", "walk")
    draft = Draft.at_rest(len(physique.rig.nodes), 2, 0.1, False)
    found = measure_footprints(physique, glided(draft, physique, 0.5))
    assert found.slip == pytest.approx(50.0, rel=0.01)


def test_how_far_bones_stray_from_a_clip():
    """By what the whole body is raised; a faster pace is none of it."""
    take = take_of("dog", "walk")
    raised = lifted(take.raw, take.physique, 0.03)
    assert bones_apart(take.physique, take.raw, take.raw) == 0
    assert bones_apart(take.physique, raised, take.raw) == pytest.approx(0.03, rel=1e-3)
    assert bones_apart(take.physique, glided(take.raw, take.physique, 0.1), take.raw) == pytest.approx(0.0, abs=1e-5)
