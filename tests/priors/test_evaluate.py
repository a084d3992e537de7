"""Evaluating priors: those who know the truth must pass, those who know nothing must not."""

import json

import numpy as np
import pytest
import torch
from character.creatures import dog, human
from distillation.knowing_prior import IgnorantPrior, KnowingPrior
from PIL import Image

import gambol
from gambol.character.anatomy import study
from gambol.commands.eval_prior import EvalPrior
from gambol.creatures.gaits import gait
from gambol.distillation.report import ReportConfig, as_plain, report_on
from gambol.errors import GambolError
from gambol.priors.pocket.artists.clips import gather, on_the_spot
from gambol.priors.pocket.evaluation.evaluate import (
    classify_films,
    classify_samples,
    confusion_of,
    sample_films,
    write_samples,
)
from gambol.priors.pocket.evaluation.subjects import (
    TOLD,
    Subject,
    film_subjects,
    held_out_creatures,
    real_bodies,
    real_rigs,
)
from gambol.priors.pocket.look import draw_figure
from gambol.priors.pocket.network import NetworkConfig, PocketNetwork
from gambol.priors.pocket.prior import PocketPrior, save_network
from gambol.priors.pocket.takes.herd import gait_cycle
from gambol.quality.gait import measure_gait

SMALL = NetworkConfig(size=20, patch=5, fine=24, local=1, width=64, depth=1, heads=2)


@pytest.fixture(scope="module")
def subjects():
    found = []
    for make in (dog, human):
        anatomy = study(make())
        cycles = [gait_cycle(anatomy, name) for name in ("walk", "trot", "run", "jump", "idle")]
        found.append(Subject(make.__name__, anatomy, draw_figure(anatomy), {cycle.action: cycle for cycle in cycles}))
    return found


@pytest.fixture(scope="module")
def films(subjects):
    return film_subjects(subjects, size=30)


@pytest.fixture(scope="module")
def knowing(films):
    prior = KnowingPrior([], size=30)
    videos, rests = prior.decode(films.lesson.videos), prior.decode(films.lesson.rests)
    prior.known = list(zip(rests, films.lesson.actions, videos, strict=True))
    return prior


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("prior") / "weights.safetensors"
    save_network(PocketNetwork(SMALL), path)
    return path


def test_films_show_every_subject_in_every_action(films):
    assert films.subjects == ("dog",) * 5 + ("human",) * 5
    assert sorted(films.lesson.actions) == sorted(list(TOLD) * 2)
    assert films.lesson.videos.shape == (10, 16, 30, 30, 3)


def test_who_knows_the_truth_recognises_everything(knowing, films):
    confusion = classify_films(knowing, films)
    assert confusion.accuracy == 1
    assert all(row == {shown: 2} for shown, row in confusion.counts.items())


def test_who_knows_nothing_guesses(films):
    found = [classify_films(IgnorantPrior(30, seed), films, seed).accuracy for seed in range(6)]
    assert 0.05 < np.mean(found) < 0.4, "chance is 0.2"


def test_samples_of_who_knows_are_recognised_and_told_nothing_are_anything(knowing, films):
    told, silent = (sample_films(knowing, films, told=told, steps=1, guidance=1.0) for told in (True, False))
    torch.testing.assert_close(told.latents, films.lesson.videos, rtol=0, atol=1e-4)
    assert classify_samples(knowing, films, told).accuracy == 1
    confusion = classify_samples(knowing, films, silent)
    assert set(confusion.counts) == {""}
    assert sum(confusion.counts[""].values()) == 10


def test_confusion_counts():
    confusion = confusion_of(["walk", "walk", "run", "walk"], ["walk", "run", "run", "walk"])
    assert confusion.accuracy == 0.75
    assert confusion.share("walk", "run") == pytest.approx(1 / 3)
    assert confusion.share("walk", "jump") == confusion.share("jump", "walk") == 0
    assert confusion_of([], []).accuracy == 0


def test_a_sheet_has_two_rows_for_each_film(knowing, films, tmp_path):
    samples = sample_films(knowing, films, steps=1, guidance=1.0)
    write_samples(knowing, films, samples, tmp_path / "sheet.png", subjects=1)
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.height == 5 * 2 * 30


def test_held_out_creatures_come_in_all_plans_and_are_always_the_same():
    first, second = held_out_creatures(2)
    assert (first.name, second.name) == ("quadruped 1", "humanoid 2")
    assert set(first.cycles) == set(second.cycles) == set(TOLD)
    again = held_out_creatures(1)[0]
    np.testing.assert_array_equal(first.cycles["walk"].T_world_joint, again.cycles["walk"].T_world_joint)


def test_rigs_bring_their_own_truth(tmp_path):
    path = tmp_path / "rigs" / "rex.glb"
    path.parent.mkdir()
    character = dog()
    for action in ("walk", "gallop", "hop"):
        motion = gait(character, study(character), action, in_place=True)
        gambol.save(character, path, motion, overwrite=True)
        character = gambol.load(path)
    (path.parent / "broken.glb").write_bytes(b"no")
    gathered = gather(path.parent)
    [subject] = real_rigs(gathered)
    assert subject.name == "rex"
    assert set(subject.cycles) == {"walk", "run"}, "hops are not among the actions that are told apart"
    assert any("broken" in reason for reason in gathered.skipped)
    truth = measure_gait(subject.anatomy, on_the_spot(subject.cycles["walk"]))
    known = measure_gait(subject.anatomy, on_the_spot(gait_cycle(subject.anatomy, "walk")))
    np.testing.assert_allclose(truth.flexion, known.flexion, rtol=0.1)


def test_the_same_rigs_move_in_our_gaits_too(tmp_path):
    gambol.save(dog(), tmp_path / "rex.glb")
    [subject] = real_bodies(gather(tmp_path))
    assert subject.name == "rex" and set(subject.cycles) == set(TOLD)
    known = gait_cycle(subject.anatomy, "walk")
    np.testing.assert_array_equal(subject.cycles["walk"].T_world_joint, known.T_world_joint)


def test_no_subjects_is_an_error(tmp_path):
    with pytest.raises(GambolError, match="at least 1 creature"):
        held_out_creatures(0)
    with pytest.raises(GambolError, match=r"no character in .* has a clip"):
        real_rigs(gather(tmp_path))
    assert real_bodies(gather(tmp_path)) == []


def test_a_report_is_the_same_again_and_an_untrained_prior_fails(subjects, weights):
    prior = PocketPrior.load(weights)
    quick = ReportConfig.quick()
    config = ReportConfig(1, 1, 1, quick.sample, quick.fit.__class__(steps=3, views=2))
    reports = [report_on(prior, "creatures", subjects, config=config) for _ in range(2)]
    assert json.dumps(as_plain(reports[0]), allow_nan=False) == json.dumps(as_plain(reports[1]), allow_nan=False)
    checks = {check.name: check.passed for check in reports[0].checks}
    assert not checks["actions recognised in true videos"]
    assert not all(checks.values())
    assert {trial.told for trial in reports[0].trials} == {"walk", "trot", "run", "stand", ""}
    assert set(reports[0].swings) == {"walk", "trot", "run", "stand", ""}


def test_the_command_prints_tables_and_writes_a_report(weights, tmp_path, capsys):
    EvalPrior(weights, tmp_path / "report", creatures=1, quick=True).run()
    shown = capsys.readouterr().out
    for expected in ("asked of the prior", "FAIL", "knee flexion", "told nothing", "report.json"):
        assert expected in shown
    report = json.loads((tmp_path / "report" / "report.json").read_text())["creatures"]
    assert report["films"] == 5
    assert {"name", "found", "rule", "passed"} == set(report["checks"][0])
    with Image.open(tmp_path / "report" / "samples-creatures.png") as sheet:
        assert sheet.height == 10 * SMALL.size


def test_mistakes_are_told_before_any_work(weights, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    for options, message in (
        ({"creatures": 0}, "--creatures must be at least 1, got 0"),
        ({"fitted": 0}, "--fitted must be at least 1, got 0"),
        ({"rigs": file}, "is not a folder"),
        ({"output": file}, "is a file; give the name of a folder"),
        ({"weights": tmp_path / "none"}, "there is no file"),
        ({"weights": file}, "is no pocket prior"),
    ):
        with pytest.raises(GambolError, match=message):
            EvalPrior(**{"weights": weights, **options}).run()
