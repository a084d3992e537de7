"""Motions by formula, from which the prior tracks starts where nothing else taught it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from character.creatures import CLAY, GREY, bird, dog, human, spider
from test_tracks import tiny_prior

from gambol.actions import ACTIONS
from gambol.character.anatomy import analyze
from gambol.commands.actions import known_actions
from gambol.creatures.load import load
from gambol.distillation.animate import prepare
from gambol.distillation.config import preset_for
from gambol.distillation.stage_runner import StageRunner
from gambol.distillation.stages import stages_of
from gambol.distillation.track_layout import FORMULA_LEVEL
from gambol.distillation.track_sampling import in_manner
from gambol.language import Manner
from gambol.motion.chains import find_chains
from gambol.priors.tracks.experience import Experience
from gambol.priors.tracks.features import CONTACT, features_of, points_of, shape_of
from gambol.priors.tracks.formulas import formula_actions, formula_tracks
from gambol.priors.tracks.turning import canonical_points


def chains_of(make):
    return find_chains(analyze(make()))


def ends(chains, tracks):
    """Where the last station of each part ends, seen from the anchor [leg lengths]."""
    shape = shape_of(chains)
    columns = features_of(tracks).parts[..., :CONTACT].unflatten(-1, (8, 2, 3))
    return points_of(columns, shape.bones, shape.offsets, shape.hangs_on)[:, :, -1]


def test_bodies_do_what_their_parts_allow():
    assert {"walk", "run"} <= set(formula_actions(chains_of(spider)))
    assert "fly" in formula_actions(chains_of(bird)) and "fly" not in formula_actions(chains_of(dog))
    assert formula_tracks(chains_of(human), "dance", np.random.default_rng(0)) is None


def test_the_pace_is_kept():
    slow, fast = (formula_tracks(chains_of(dog), "walk", np.random.default_rng(0), pace) for pace in (-1.0, 1.0))
    speeds = [float(each.travel.norm()) / each.seconds for each in (slow, fast)]
    assert speeds[1] > 1.5 * speeds[0]


@pytest.mark.parametrize(("make", "side"), [(dog, "left"), (dog, "right"), (human, "left"), (human, "right")])
def test_steps_to_a_side_lead_there(make, side):
    chains = chains_of(make)
    for seed in range(3):
        tracks = formula_tracks(chains, "sidestep", np.random.default_rng(seed))
        found = in_manner(tracks, chains, Manner(side=side), ACTIONS["sidestep"])
        assert float(found.travel[0]) * (1 if side == "left" else -1) > 0.2
        assert abs(float(found.travel[1])) < 0.05 * abs(float(found.travel[0]))


def test_legs_of_a_dog_that_steps_to_a_side_do_not_cross():
    chains = chains_of(dog)
    tracks = formula_tracks(chains, "sidestep", np.random.default_rng(0))
    feet = ends(chains, tracks)[:, chains.legs, 0]
    sides = [chains.chains[number].side for number in chains.legs]
    ranks = [chains.chains[number].rank for number in chains.legs]
    for rank in set(ranks):
        left, right = (
            next(n for n in range(len(sides)) if sides[n] == side and ranks[n] == rank) for side in ("left", "right")
        )
        apart = feet[:, left] - feet[:, right]
        assert apart.min() > 0 and float(apart.max() - apart.min()) > 0.15


def test_steps_to_a_side_are_not_experimental():
    for make in (human, dog):
        row = next(row for row in known_actions(analyze(make())) if row.action == "sidestep")
        assert row.note == ""


def test_birds_walk_with_folded_wings():
    chains = chains_of(bird)
    wings = [number for number, chain in enumerate(chains.chains) if chain.kind == "wing"]
    walking, flying = (formula_tracks(chains, action, np.random.default_rng(0)) for action in ("walk", "fly"))
    aside = [ends(chains, each)[:, wings, 0].abs().amax() for each in (walking, flying)]
    assert aside[0] < 0.6 * aside[1]


@pytest.mark.parametrize(("make", "level"), [(spider, 0.0), (human, 1.0)])
def test_all_but_people_move_by_formula(make, level):
    prior = tiny_prior()
    build = shape_of(chains_of(make)).build
    prior.experience = (Experience("walk", build, "artist", True, 20, 20),)
    problem = prepare(make(), "it walks", prior, preset_for("draft", prior))
    assert bool(problem.start.angles.abs().sum() > 0) == (level < 1)
    assert stages_of(problem)[0](problem.start).level == level
    assert problem.made_by == ("a formula" if level < 1 else "prior tracks")
    assert not any("experimental" in warning for warning in problem.warnings)


def test_a_formula_is_shown_as_it_is_but_for_a_slight_style():
    prior = tiny_prior()
    prior.experience = (Experience("sit", "leg4", "artist", True, 20, 20),)
    problem = prepare(dog(), "it sits", prior, preset_for("draft", prior))
    stage = stages_of(problem)[0](problem.start)
    stage.step(0)
    assert (stage.rig_motion().world(problem.rig) - problem.start.world(problem.rig)).abs().max() < 0.02
    walks = []
    for seed in (0, 1):
        problem = prepare(dog(), "it walks", prior, preset_for("draft", prior, seed))
        stage = stages_of(problem)[0](problem.start)
        stage.step(0)
        walks.append(stage.rig_motion().resampled(16).world(problem.rig))
    assert (walks[0] - walks[1]).abs().max() > 0.02


def test_kept_poses_have_the_formula_resampled():
    prior = tiny_prior()
    prior.experience = (Experience("walk", "leg4", "artist", True, 20, 20),)
    config = replace(preset_for("draft", prior), pins=((3, "rest"),))
    problem = prepare(dog(), "it walks", prior, config)
    assert stages_of(problem)[0](problem.start).level == FORMULA_LEVEL


def test_frozen_joints_stay_as_they_are_at_rest():
    prior = tiny_prior()
    prior.experience = (Experience("walk", "leg4", "artist", True, 20, 20),)
    config = replace(preset_for("draft", prior), freeze=("tail.1",))
    assert not prepare(dog(), "it walks", prior, config).start.angles.any()


def test_seeds_give_other_styles():
    chains = chains_of(dog)
    one, two = (formula_tracks(chains, "walk", np.random.default_rng(seed)) for seed in (0, 1))
    assert len(one) != len(two) or not torch.allclose(one.rotations, two.rotations, atol=1e-3)


def test_flukes_beat_up_and_down_and_other_tails_sideways():
    for height, width, axis in ((0.02, 0.3, 1), (0.3, 0.02, 0)):
        middle = {"body": (None, (0, 1, 0.6), (0, 1, -0.2), 0.2, 0.12, GREY)}
        middle["tail.1"] = ("body", (0, 1, -0.2), (0, 1, -0.6), 0.12, 0.05, GREY)
        middle["tail.2"] = ("tail.1", (0, 1, -0.6), (0, 1, -0.9), 0.05, 0.02, GREY)
        left = {"end": ("tail.2", (0.0, 1.0, -0.88), (width, 1.0 + height, -0.97), 0.02, 0.02, GREY)}
        chains = find_chains(analyze(CLAY["clay"]("swimmer", CLAY["both_sides"](middle, left)), forward="+z"))
        tracks = formula_tracks(chains, "swim", np.random.default_rng(0))
        tail = next(number for number, chain in enumerate(chains.chains) if chain.side == "middle" and number)
        moved = canonical_points(chains, tracks.rotations)[:, tail, -1]
        spread = (moved.amax(0) - moved.amin(0))[:2]
        assert spread[axis] > 5 * spread[1 - axis]


def test_a_body_without_depth_has_no_flukes():
    """A flat picture on a bone: everything is at its rear end."""
    bones = {
        "body": (None, (0, 0.2, 0), (0, 1, 0), 0.2, 0.2, GREY),
        "head": ("body", (0, 1, 0), (0, 2, 0), 0.2, 0.1, GREY),
    }
    character = CLAY["clay"]("picture", bones)
    flat = tuple(replace(each, positions=each.positions * [1, 1, 0]) for each in character.meshes)
    chains = find_chains(analyze(replace(character, meshes=flat), forward="+z"))
    assert np.ptp(chains.anatomy.body.vertices @ chains.anatomy.forward) == 0
    assert formula_tracks(chains, "swim", np.random.default_rng(0)) is not None


def test_a_dog_barks_with_its_mouth():
    prior = tiny_prior()
    prior.experience = (Experience("bark", "leg4", "artist", True, 20, 20),)
    problem = prepare(load("fox"), "it barks", prior, preset_for("draft", prior))
    stage = stages_of(problem)[0](problem.start)
    stage.step(0)
    jaw = problem.anatomy.jaw.joint
    assert float(torch.rad2deg(stage.rig_motion().angles[:, jaw].abs().amax())) > 20


def block_fish(joints):
    """A fish of so many blocks, one behind the other."""
    bones, previous = {}, None
    for number in range(joints):
        front, length = 0.6 - 1.2 * number / joints, 1.2 / joints
        thick = 0.2 * (1 - number / joints) + 0.03
        bones[f"b{number}"] = (previous, (0, 1.0, front), (0, 1.0, front - length), thick, 0.8 * thick, GREY)
        previous = f"b{number}"
    left = {"fin": ("b0", (0.15, 0.95, 0.3), (0.35, 0.85, 0.2), 0.04, 0.01, GREY)}
    return CLAY["clay"]("fish", CLAY["both_sides"](bones, left))


@pytest.mark.parametrize("joints", [2, 3, 5])
def test_fish_of_few_joints_swing_their_whole_body(joints):
    chains = find_chains(analyze(block_fish(joints), forward="+z"))
    for seed in (0, 1):
        tracks = formula_tracks(chains, "swim", np.random.default_rng(seed))
        forward = tracks.rotations[:, 0, 0, :, 2]
        assert float(torch.rad2deg(torch.atan2(forward[:, 0], forward[:, 2]).abs().amax())) > 12


@pytest.mark.parametrize(("seconds", "cycles"), [(None, 2), (4.0, None)])
def test_steps_of_who_reels_differ_from_cycle_to_cycle(seconds, cycles):
    prior = tiny_prior()
    config = replace(preset_for("draft", prior), seconds=seconds)
    problem = prepare(human(), "a drunk man walks", prior, config)
    sober = prepare(human(), "a man walks", prior, config)
    assert sober.varied == 1 and (cycles is None or problem.timing.cycles == problem.varied == cycles)
    whole = problem.whole(StageRunner(stages_of(problem), problem.start).run())
    assert whole.seconds == pytest.approx(problem.seconds) and problem.timing.cycles % problem.varied == 0
    if cycles:
        half = len(whole) // 2
        assert float((whole.angles[:half] - whole.angles[half : 2 * half]).abs().max()) > 0.1
