"""Evaluating the prior tracks: measures with known answers, a classifier that learns what there is to learn."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from character.creatures import dog, human

import gambol
from gambol.character.anatomy import analyze
from gambol.commands.eval_prior import EvalPriorCommand
from gambol.creatures.gaits import gait
from gambol.errors import GambolError
from gambol.motion.chains import CHAIN_KINDS, find_chains
from gambol.priors.tracks import classifier, formulas
from gambol.priors.tracks.classifier import describe, train_classifier
from gambol.priors.tracks.evaluation import (
    ClipResult,
    Judge,
    check_families,
    chosen_clips,
    cut,
    row_of,
    rows_of,
    sample_motions,
    split_by_family,
    table_of,
    trained_without,
)
from gambol.priors.tracks.features import CONTACT, FORWARD, PART, PATH, TURNING, Features
from gambol.priors.tracks.measures import amplitude, distances, foot_slide, trunk_twist
from gambol.priors.tracks.network import TrackNetwork, TrackNetworkConfig
from gambol.priors.tracks.prior import PRESETS, Normalization, TrackPrior
from gambol.priors.tracks.training.labels import ACTION_NAMES
from gambol.priors.tracks.training.procedural import procedural_samples


def motions(anatomy, name, family, seed=0):
    found = procedural_samples(find_chains(anatomy), name, family, np.random.default_rng(seed))
    return [replace(each, source="artist") for each in found]


@pytest.fixture(autouse=True, scope="module")
def few_gaits():
    """Bodies do only a few things by formula, for the sake of time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(formulas, "actions_for", lambda anatomy: ("walk", "idle", "turn left"))
        yield


@pytest.fixture(scope="module")
def zoo(few_gaits):
    """Motions of dogs (families 0, 2, 4) and people (1, 3, 5), each of another style."""
    bodies = [analyze(make()) for make in (dog, human)]
    found = [motions(bodies[n % 2], f"body {n}", f"family {n}", n) for n in range(6)]
    return [sample for own in found for sample in own]


@pytest.fixture(scope="module")
def walk(zoo):
    return next(sample for sample in zoo if sample.family == "family 5" and sample.action == "walk")


@pytest.fixture(scope="module")
def prior():
    torch.manual_seed(0)
    network = TrackNetwork(TrackNetworkConfig(width=32, layers=1, heads=2))
    for out in (network.part_out, network.path_out):
        torch.nn.init.normal_(out.weight, std=0.1)
    kinds = len(CHAIN_KINDS)
    mean = torch.tensor([1.0, 0, 0, 0, 1, 0] * (CONTACT // 6) + [0.5]).expand(kinds, PART).clone()
    normalization = Normalization(mean, torch.full((kinds, PART), 0.2), torch.zeros(PATH), torch.ones(PATH))
    return TrackPrior(network, normalization, ACTION_NAMES)


def with_path(sample, column, factor):
    path = sample.features.path.clone()
    path[:, column] *= factor
    return replace(sample, features=Features(sample.features.parts, path))


def rolled(sample, frames):
    return replace(
        sample, features=Features(sample.features.parts.roll(frames, 0), sample.features.path.roll(frames, 0))
    )


def test_a_copy_is_at_no_distance_wherever_it_begins(walk, zoo):
    others = [sample for sample in zoo if sample.action == "walk" and sample is not walk]
    assert distances(walk, [walk])[0] < 1e-3
    assert distances(walk, [rolled(walk, len(walk.features.path) // 2)])[0] < 1e-3
    apart = distances(walk, others)
    people = np.array([len(each.shape.kinds) == len(walk.shape.kinds) for each in others])
    assert (apart[people] > 0.01).all() and np.isinf(apart[~people]).all(), "other builds are not compared"


def test_the_motion_and_not_the_body_is_compared(walk):
    longer = replace(walk, shape=replace(walk.shape, bones=1.3 * walk.shape.bones))
    assert distances(walk, [longer])[0] < 1e-3


def test_a_mirror_image_is_a_copy(walk):
    parts = walk.features.parts.clone()
    flip = torch.tensor([-1.0, 1.0, 1.0])
    columns = parts[..., :CONTACT].unflatten(-1, (-1, 2, 3)) * flip * flip[:2, None]
    parts[..., :CONTACT] = columns.flatten(-3)
    mirrored = replace(walk, features=Features(parts[:, walk.partners], walk.features.path))
    assert distances(walk, [mirrored])[0] < 1e-2


def test_a_loop_that_was_cut_from_a_longer_clip_is_found(walk):
    thrice = Features(walk.features.parts.repeat(3, 1, 1), walk.features.path.repeat(3, 1))
    longer = replace(rolled(replace(walk, features=thrice), 5), loops=False)
    assert distances(walk, [longer])[0] < 0.03
    assert np.isinf(distances(longer, [walk])[0]), "a loop is nothing to compare a deed with"


def test_range_and_twist_have_known_answers(walk):
    still = Features(walk.features.parts[:1].expand(24, -1, -1).clone(), walk.features.path[:1].expand(24, -1))
    sample = replace(walk, features=still)
    assert amplitude(sample) < 1e-5 < 0.05 < amplitude(walk)
    assert trunk_twist(sample) < 1e-3
    angle = 0.25 * torch.sin(2 * torch.pi * torch.arange(24) / 24)
    zero = torch.zeros(24)
    columns = torch.stack([angle.cos(), zero, -angle.sin(), zero, zero + 1, zero], -1)
    still.parts[:, 0, :6] = torch.tensor([1.0, 0, 0, 0, 1, 0])
    still.parts[:, 0, CONTACT - 6 : CONTACT] = columns
    assert trunk_twist(sample) == pytest.approx(np.degrees(0.5), rel=1e-3)


def test_feet_of_a_gait_stand_and_slide_if_the_path_is_doubled(zoo):
    for family in ("family 0", "family 5"):
        [walk] = [each for each in zoo if (each.family, each.action) == (family, "walk")]
        speed = float(walk.features.path[:, FORWARD].mean()) * len(walk.features.path) / 30 / walk.seconds
        assert foot_slide(walk) < 0.3 * speed
        assert foot_slide(with_path(walk, FORWARD, 2.0)) == pytest.approx(speed, rel=0.35)
        [turn] = [each for each in zoo if (each.family, each.action) == (family, "turn left")]
        assert foot_slide(turn) < foot_slide(with_path(turn, TURNING, 0.0)), "feet turn with the body"


def test_without_feet_on_the_ground_there_is_no_slide(walk):
    parts = walk.features.parts.clone()
    parts[..., CONTACT] = 0
    assert np.isnan(foot_slide(replace(walk, features=Features(parts, walk.features.path))))


def test_the_classifier_learns_actions_and_not_noise(zoo, monkeypatch):
    monkeypatch.setattr(classifier, "STEPS", 120)
    known = [sample for sample in zoo if sample.family not in ("family 4", "family 5")]
    held_out = [sample for sample in zoo if sample.family in ("family 4", "family 5")]
    found = train_classifier(known)
    assert all(found.can_tell(sample) for sample in held_out)
    assert np.mean([found.ranked(sample)[0] == sample.action for sample in held_out]) > 0.9
    labels = np.random.default_rng(1).permutation([sample.action for sample in known])
    shuffled = [replace(sample, action=str(label)) for sample, label in zip(known, labels, strict=True)]
    found = train_classifier(shuffled)
    right = [found.ranked(sample)[0] == sample.action for sample in held_out if found.can_tell(sample)]
    assert np.mean(right) < 0.7, "chance is less than a third"


def test_statistics_do_not_tell_how_long_a_motion_takes(walk):
    torch.testing.assert_close(describe(walk), describe(replace(walk, seconds=9.0)))


def test_a_classifier_needs_two_actions(walk):
    with pytest.raises(GambolError, match="fewer than two actions"):
        train_classifier([walk, walk])


def test_families_are_held_out_as_a_whole(zoo):
    by_formula = replace(zoo[0], family="family 5", source="procedural")
    part = replace(zoo[0], family="family 5", loops=False)
    split = split_by_family([*zoo, by_formula, part], ["family 5"])
    assert set(split.families) == {"family 5"} and "family 5" not in {each.family for each in split.known}
    assert by_formula not in split.held_out and part not in split.held_out


def test_a_family_that_is_spelt_wrong_is_refused(tmp_path):
    for name in ("horses/a.glb", "cmu/16_01.bvh"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(b"")
    check_families([tmp_path], ["horses", "cmu-16"])
    with pytest.raises(GambolError, match=r"no file is of the family 'horse'; there are cmu-16, horses"):
        check_families([tmp_path], ["horse"])


def test_actions_with_two_clips_are_evaluated(zoo):
    chosen = chosen_clips(zoo, ACTION_NAMES, 3)
    counts = {action: [each.action for each in chosen].count(action) for action in {each.action for each in chosen}}
    assert max(counts.values()) == 3 and min(counts.values()) >= 2
    assert len({each.family for each in chosen if each.action == "walk"}) == 3
    with pytest.raises(GambolError, match="no action that the prior has learned is shown by 2 held-out clips"):
        chosen_clips(zoo[:1], ACTION_NAMES, 3)


def test_who_copies_is_nearer_than_the_truth(zoo, monkeypatch):
    monkeypatch.setattr(classifier, "STEPS", 60)
    known = [sample for sample in zoo if sample.family != "family 5"]
    truth = cut(next(sample for sample in zoo if sample.family == "family 5" and sample.action == "walk"))
    copied = [
        sample for sample in known if sample.action == "walk" and len(sample.shape.kinds) == len(truth.shape.kinds)
    ]
    made = replace(truth, features=copied[0].features, seconds=copied[0].seconds)
    judge = Judge(known, train_classifier(known))
    copy, honest = judge.judge(truth, [made, made]), judge.judge(truth, [truth])
    assert copy.nearest < 0.2 * copy.nearest_true and copy.variety < 1e-3
    assert honest.nearest == pytest.approx(honest.nearest_true) and np.isnan(honest.variety)
    assert (honest.amplitude, honest.tempo) == (1.0, 1.0)
    assert (honest.twist, honest.slide) == (honest.twist_true, honest.slide_true)
    assert honest.recognised == honest.recognised_true


def test_rows_are_medians_and_unknowns_are_left_out():
    values = dict.fromkeys((name for name in ClipResult.__dataclass_fields__ if name not in IDENTITY), 1.0)
    results = [
        ClipResult("a", "f", "walk", "leg4", **{**values, "slide": float("nan"), "recognised": 0.0}),
        ClipResult("b", "f", "walk", "leg4", **{**values, "slide": 3.0}),
        ClipResult("c", "f", "run", "leg4", **{**values, "slide": float("nan")}),
    ]
    rows = rows_of(results)
    assert [(row.name, row.clips) for row in rows] == [("walk", 2), ("run", 1), ("all", 3)]
    assert row_of("walk", results[:2]).values["slide"] == 3.0 and rows[0].values["recognised"] == 0.5
    text = table_of(rows)
    assert "1.00 / -" in text and "recognised" in text.splitlines()[0]


IDENTITY = ("name", "family", "action", "build")


def test_seeds_give_motions_of_the_same_body(prior, walk):
    found = sample_motions(prior, walk, range(2), PRESETS["draft"])
    again = sample_motions(prior, walk, [1], PRESETS["draft"])
    assert all(each.shape is walk.shape and each.loops and each.action == "walk" for each in found)
    assert found[0].seconds == pytest.approx(prior.seconds(walk.shape, "walk", True))
    torch.testing.assert_close(found[1].features.parts, again[0].features.parts, rtol=1e-3, atol=1e-3)
    assert distances(found[0], [found[1]])[0] > 1e-3


def folder_of_clips(folder):
    """A person that walks and stands, once in the family 'kept' and twice in 'other'."""
    first, *others = [folder / name for name in ("kept/a.glb", "other/b.glb", "other/c.glb")]
    character = human()
    first.parent.mkdir(parents=True)
    for name in ("walk", "idle"):
        gambol.save(character, first, gait(character, analyze(character), name), overwrite=True)
        character = gambol.load(first)
    for path in others:
        path.parent.mkdir(exist_ok=True)
        shutil.copy(first, path)
    return folder


def test_the_command_prints_a_table_and_writes_a_report(prior, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(classifier, "STEPS", 20)
    weights = tmp_path / "weights.safetensors"
    prior.save(weights, {"exclude": ["other"]})
    assert trained_without(weights) == ("other",)
    folder = folder_of_clips(tmp_path / "clips")
    EvalPriorCommand(weights, prior="tracks", output=tmp_path / "report.json", clips=(folder,), quick=True).run()
    shown = capsys.readouterr().out
    for expected in ("recognised", "walk", "all", "report.json", "4 held-out clips (families: 1)"):
        assert expected in shown
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["held_out"] == {"other": 4} and report["rows"][-1]["name"] == "all"
    assert {"recognised_true", "nearest", "slide"} <= set(report["clips"][0])


def test_mistakes_are_told_before_any_work(prior, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    weights = tmp_path / "weights.safetensors"
    prior.save(weights, {})
    for options, message in (
        ({"clips": (file,)}, "is not a folder"),
        ({"exclude": ("x",)}, "--exclude is about characters of --clips"),
        ({"against": "pixels"}, "--against is about characters of --clips"),
        ({"rigs": tmp_path}, "--rigs is for the prior pixels"),
        ({"prior": "pixels", "clips": (tmp_path,)}, "--clips is for the prior tracks"),
        ({"clips": (tmp_path,)}, "do not say what they were trained without"),
        ({"weights": tmp_path / "none"}, "there is no file"),
    ):
        with pytest.raises(GambolError, match=message):
            EvalPriorCommand(**{"weights": weights, "prior": "tracks", **options}).run()
