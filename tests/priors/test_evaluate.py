"""Evaluating priors: those who know the truth must pass, those who know nothing must not."""

import json

import numpy as np
import pytest
import torch
from character.creatures import dog, human
from distillation.knowing_prior import IgnorantPrior, KnowingPrior

import gambol
from gambol.character.anatomy import analyze
from gambol.cli import main
from gambol.commands.eval_prior import EvalPriorCommand
from gambol.creatures.gaits import gait
from gambol.errors import GambolError
from gambol.jsonable import jsonable
from gambol.motion.gait import measure_gait
from gambol.priors.pixels.data.clips import read_library
from gambol.priors.pixels.data.cycle import poses_in_place
from gambol.priors.pixels.data.synthetic import gait_cycle
from gambol.priors.pixels.evaluation import (
    EVALUATED,
    HeldOutCharacter,
    classify,
    evaluate,
    held_out_creatures,
    held_out_rigs,
    leg_measurements,
    render_cycles,
    sample_actions,
)
from gambol.priors.pixels.network import NetworkConfig, PixelNetwork
from gambol.priors.pixels.prior import save_network

SMALL = NetworkConfig(size=20, patch=5, fine=24, local=1, width=64, depth=1, heads=2)


@pytest.fixture(scope="module")
def characters():
    found = []
    for make in (dog, human):
        character = make()
        anatomy = analyze(character)
        cycles = [gait_cycle(anatomy, name) for name in ("walk", "trot", "run", "jump", "idle")]
        found.append(HeldOutCharacter(make.__name__, character, anatomy, {cycle.action: cycle for cycle in cycles}))
    return found


@pytest.fixture(scope="module")
def batch(characters):
    return render_cycles(characters, size=30)


@pytest.fixture(scope="module")
def knowing(batch):
    prior = KnowingPrior([], size=30)
    videos, rests = prior.decode(batch.videos), prior.decode(batch.rests)
    prior.known = list(zip(rests, batch.actions, videos, strict=True))
    return prior


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("prior") / "weights.safetensors"
    save_network(PixelNetwork(SMALL), path)
    return path


def true_poses(character, prompt):
    return poses_in_place(character.cycles[prompt])


def at_rest(character, prompt):
    return np.repeat(character.anatomy.body.T_world_node[character.anatomy.body.nodes][None], 16, 0)


def test_videos_show_every_character_in_every_action(batch):
    assert sorted(batch.actions) == sorted(EVALUATED * 2)
    assert batch.videos.shape == (10, 16, 30, 30, 3)


def test_who_knows_the_truth_recognises_everything(knowing, batch):
    assert tuple(classify(knowing, batch.videos, batch.rests)) == batch.actions


def test_who_knows_nothing_guesses(batch):
    found = [
        np.mean(np.array(classify(IgnorantPrior(30, seed), batch.videos, batch.rests, seed)) == batch.actions)
        for seed in range(6)
    ]
    assert 0.05 < np.mean(found) < 0.4, "chance is 0.2"


def test_samples_of_who_knows_are_the_truth(knowing, batch):
    torch.testing.assert_close(sample_actions(knowing, batch), batch.videos, rtol=0, atol=1e-4)


def test_fitted_gaits_are_compared_with_the_truth(characters):
    told = []
    found = leg_measurements(characters, true_poses, 1, lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)], "the dog's walk, trot and run"
    np.testing.assert_allclose(found["flexion"], 1)
    np.testing.assert_allclose(found["lift"], 1)
    assert all(len(found[gait]) == 3 and np.abs(found[gait]).max() < 1e-9 for gait in ("walk", "trot", "run"))
    still = leg_measurements(characters, at_rest, 1, print)
    assert np.abs(still["flexion"]).max() < 1e-6 and (still["walk"] == 0.5).all()


def test_held_out_creatures_come_in_all_plans_and_are_always_the_same():
    first, second = held_out_creatures(2)
    assert (first.name, second.name) == ("quadruped 1", "humanoid 2")
    assert set(first.cycles) == set(second.cycles) == set(EVALUATED)
    again = held_out_creatures(1)[0]
    np.testing.assert_array_equal(first.cycles["walk"].T_world_joint, again.cycles["walk"].T_world_joint)


def test_rigs_bring_their_own_truth(tmp_path):
    path = tmp_path / "rigs" / "rex.glb"
    path.parent.mkdir()
    character = dog()
    for action in ("walk", "gallop", "hop"):
        clip = gait(character, analyze(character), action, in_place=True)
        gambol.save(character, path, clip, overwrite=True)
        character = gambol.load(path)
    (path.parent / "broken.glb").write_bytes(b"no")
    library = read_library(path.parent)
    [rig] = held_out_rigs(library)
    assert rig.name == "rex"
    assert set(rig.cycles) == {"walk", "run"}, "hops are not among the actions that are evaluated"
    assert any("broken" in reason for reason in library.skipped)
    truth = measure_gait(rig.anatomy, poses_in_place(rig.cycles["walk"]))
    known = measure_gait(rig.anatomy, poses_in_place(gait_cycle(rig.anatomy, "walk")))
    np.testing.assert_allclose(truth.flexion, known.flexion, rtol=0.1)


def test_no_characters_is_an_error(tmp_path):
    with pytest.raises(GambolError, match=r"no character in .* has a clip"):
        held_out_rigs(read_library(tmp_path))


def test_who_knows_the_truth_passes_and_who_knows_nothing_fails(knowing, characters):
    good = evaluate(knowing, characters, true_poses, fitted=2)
    assert len(good) == 9 and all(check.passed for check in good)
    bad = evaluate(IgnorantPrior(30), characters, at_rest, fitted=2)
    assert not any(check.passed for check in bad)
    assert json.dumps(jsonable(bad), allow_nan=False)


def test_the_command_prints_the_checks_and_writes_a_report(weights, tmp_path, capsys):
    EvalPriorCommand(weights, tmp_path / "report.json", prior="pixels", creatures=1, quick=True).run()
    shown = capsys.readouterr().out
    for expected in ("FAIL", "knee flexion", "report.json"):
        assert expected in shown
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["characters"] == ["quadruped 1"]
    assert {"name", "found", "rule", "passed"} == set(report["checks"][0])


def test_mistakes_are_told_before_any_work(weights, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    for options, message in (
        ({"rigs": file}, "is not a folder"),
        ({"output": tmp_path / "nowhere" / "report.json"}, "nowhere"),
        ({"weights": tmp_path / "none"}, "there is no file"),
        ({"weights": file}, "cannot be read as .safetensors"),
    ):
        with pytest.raises(GambolError, match=message):
            EvalPriorCommand(**{"weights": weights, "prior": "pixels", **options}).run()


@pytest.mark.parametrize("option", ["--creatures", "--fitted"])
def test_counts_must_be_positive(option, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["eval-prior", "--prior", "pixels", option, "0"])
    assert stopped.value.code == 2 and f"{option} must be from 1 to" in capsys.readouterr().err
