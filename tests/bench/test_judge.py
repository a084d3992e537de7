"""The judge: corrupted copies, what the network sees, the training, and known orders with the shipped weights."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from motion.strides import body, stride

import gambol
from gambol.bench.body_motion import FRAMES, BodyMotion, body_motion_of
from gambol.bench.judge.checks import held, resting, tables_of
from gambol.bench.judge.clips import ArtistMotion, marches_in_place, motions_of_clip, read_file
from gambol.bench.judge.corruption import CORRUPTIONS, TRAINED, UNSEEN, corrupted
from gambol.bench.judge.features import batch_of, tokens_of
from gambol.bench.judge.model import Judge, is_kind, judge, shipped_judge
from gambol.bench.judge.network import JudgeNetwork, JudgeNetworkConfig
from gambol.bench.judge.stroke_parts import StrokeParts, able, build_of, mean_velocity
from gambol.bench.judge.training import batches
from gambol.bench.judge.training.batches import (
    FEWEST,
    FEWEST_FAMILIES,
    BatchSampler,
    _with_more_joints,
    change_of,
    mirrored,
    sampled,
    varied,
    vocabulary,
)
from gambol.bench.judge.training.train import JudgeTrainConfig, JudgeTraining
from gambol.cli import main
from gambol.creatures.gaits import gait
from gambol.creatures.zoo import create
from gambol.errors import GambolError


@cache
def motion(name: str = "human", action: str = "walk") -> BodyMotion:
    made = stride(name, action)
    return body_motion_of(made.character, made.clip, made.anatomy, skin=False)


@cache
def idle(name: str = "human") -> BodyMotion:
    character, anatomy = body(name)
    return body_motion_of(character, gait(character, anatomy, "idle"), anatomy, skin=False)


def lengths(strokes):
    return np.linalg.norm(strokes[:, :, 1] - strokes[:, :, 0], axis=-1)


@pytest.mark.parametrize("kind", CORRUPTIONS)
def test_copies_are_the_farther_from_a_motion_the_stronger_they_are(kind):
    for name in ("human", "dog"):
        own = motion(name)
        none, weak, strong = (
            np.mean([change_of(own, corrupted(own, kind, strength, seed, "walk")) for seed in range(4)])
            for strength in (0.0, 0.3, 1.0)
        )
        assert none < 1e-6 < weak < strong


@pytest.mark.parametrize(
    "kind", ["tremble", "frozen limbs", "exaggerated", "random angles", "misplaced limb", "tilted"]
)
def test_some_copies_keep_the_lengths_of_bones(kind):
    own = motion("dog")
    np.testing.assert_allclose(lengths(corrupted(own, kind, 1.0, 2, "walk").strokes), lengths(own.strokes), atol=1e-6)


def test_a_deformation_moves_points_that_are_one_point_together():
    own = motion("dog")
    parts = StrokeParts.of(own)
    for kind in ("wobble", "jitter"):
        shift = (corrupted(own, kind, 1.0, 2).strokes - own.strokes)[:, parts.index == parts.index[-1, 0]]
        np.testing.assert_allclose(shift, shift[:, :1].repeat(shift.shape[1], 1), atol=1e-9)


def test_what_flies_neither_floats_nor_slides():
    own = motion("dog")
    for kind in ("float or sink", "slide", "bob"):
        assert corrupted(own, kind, 1.0, 0, "fly") is None
        assert corrupted(own, kind, 1.0, 0, "walk") is not None
    assert corrupted(own, "tilted", 1.0, 0, "die") is None
    assert set(UNSEEN).isdisjoint(TRAINED) and len(UNSEEN) + len(TRAINED) == len(CORRUPTIONS)


def test_builds_and_what_they_can_do():
    assert [build_of(motion(name).parts) for name in ("human", "dog", "spider")] == ["biped", "quadruped", "many legs"]
    assert able(motion("human").parts, "wave") and not able(motion("dog").parts, "wave")
    assert is_kind("sneak", "walk") and not is_kind("walk", "sneak") and not is_kind("", "walk")


def test_a_motion_is_judged_alike_alone_and_beside_a_larger_body():
    torch.manual_seed(0)
    network = JudgeNetwork(JudgeNetworkConfig(5)).eval()
    small, large = tokens_of(motion("human")), tokens_of(motion("spider"))
    with torch.no_grad():
        alone, together = network(batch_of([small])), network(batch_of([small, large]))
    for one, both in zip(alone, together, strict=True):
        torch.testing.assert_close(one[0], both[0], atol=1e-5, rtol=1e-4)


def test_variations_leave_a_motion_right():
    own = motion("dog")
    twice = mirrored(mirrored(own))
    np.testing.assert_allclose(twice.strokes, own.strokes)
    assert twice.parts == own.parts and mirrored(own).parts != own.parts
    np.testing.assert_allclose(sampled(own, np.arange(FRAMES) * 1.0), own.strokes, atol=1e-9)
    np.testing.assert_allclose(sampled(own, np.arange(FRAMES) + 1.0 * FRAMES), own.strokes + own.travel, atol=1e-9)
    cut = _with_more_joints(own, np.random.default_rng(0))
    assert set(cut.parts) == set(own.parts) and len(cut.parts) > len(own.parts)
    np.testing.assert_allclose(lengths(cut.strokes).sum(1), lengths(own.strokes).sum(1))
    for seed in range(20):
        sample = varied(ArtistMotion(own, "walk", "a", "b"), np.random.default_rng(seed))
        speeds = np.linalg.norm(mean_velocity(sample.motion)) / np.linalg.norm(mean_velocity(own))
        assert 0.5 < speeds < 2 and np.isfinite(sample.motion.strokes).all()


def test_rare_actions_count_as_the_more_general_one():
    samples = [ArtistMotion(motion(), "walk", str(i % FEWEST_FAMILIES), "") for i in range(FEWEST)]
    samples += [ArtistMotion(motion(), "sneak", str(i % FEWEST_FAMILIES), "") for i in range(FEWEST - 1)]
    samples += [ArtistMotion(motion(), "jump", "one family", "") for _ in range(2 * FEWEST)]
    assert vocabulary(samples) == ("walk",)
    samples += [ArtistMotion(motion(), "sneak", "", "")]
    assert vocabulary(samples) == ("walk", "sneak")


def test_long_clips_are_cut_and_gaits_must_lead_somewhere():
    made = stride("human", "walk")
    long = replace(made.clip, tracks=tuple(replace(t, times=t.times * 8) for t in made.clip.tracks))
    windows = motions_of_clip(made.character, made.anatomy, long)
    assert len(windows) == round(long.duration / 3) and all(each.seconds == pytest.approx(3.0) for each in windows)
    assert marches_in_place(resting(motion(), 0.0), "walk") and not marches_in_place(motion(), "walk")
    assert not marches_in_place(resting(motion(), 0.0), "stand")


def test_a_judge_learns_a_clip_from_its_copies():
    config = JudgeTrainConfig(steps=30, warmup_steps=5)
    samples = [ArtistMotion(each, action, "a", "b") for each, action in ((motion(), "walk"), (idle(), "stand"))]
    sampler, training = BatchSampler(samples, ("stand", "walk")), JudgeTraining(config, 2)
    generator = np.random.default_rng(0)
    found = [training.learn([sampler.batch(generator)]) for _ in range(30)]
    for name in ("action", "artist", "order"):
        assert np.mean([each[name] for each in found[-5:]]) < 0.9 * np.mean([each[name] for each in found[:5]])


def test_training_is_resumed_and_checked(tmp_path, capsys, monkeypatch):
    clips, character = tmp_path / "clips", create("fox")
    made = {name: gait(character, gambol.analyze(character), name) for name in ("walk", "idle")}
    for family in ("a", "b", "c", "held-out"):
        (clips / family).mkdir(parents=True)
        gambol.save(replace(character, clips=made), clips / family / "fox.glb")
    (clips / "a" / "broken.glb").write_bytes(b"no glb")
    folder = tmp_path / "trained"
    arguments = ["train-judge", str(folder), "--clips", str(clips), "--steps", "2", "--exclude"]
    with pytest.raises(SystemExit):
        main([*arguments, "held-out"])
    assert "too few" in capsys.readouterr().err
    monkeypatch.setattr(batches, "FEWEST", 3)
    monkeypatch.setattr(batches, "FEWEST_FAMILIES", 3)
    main([*arguments, "held-out"])
    said = capsys.readouterr().out
    assert "6 motions to train on, 2 to validate on, 1 left out" in said
    assert "broken.glb" in (folder / "skipped.txt").read_text() and '"better"' in (folder / "log.jsonl").read_text()
    trained = Judge.load(folder / "weights.safetensors")
    assert set(trained.actions) == {"walk", "stand"} and trained.about["exclude"] == ["held-out"]
    main([*arguments, "held-out"])
    again = Judge.load(folder / "weights.safetensors")
    assert again.judge(motion("dog"), "walk") == trained.judge(motion("dog"), "walk")
    with pytest.raises(SystemExit):
        main([*arguments, "dogs"])
    assert "there is no family 'dogs'. Available: a, b, c, held-out" in capsys.readouterr().err
    motions, _ = read_file(clips / "held-out" / "fox.glb")
    tables = tables_of(motions, trained)
    assert len(tables) == 5 and all(table.markdown().startswith("### ") for table in tables)
    assert [row[0] for row in tables[2].rows][-2:] == ["shuffled (not in the training)", "all"]


def test_the_shipped_judge_says_what_it_knows():
    assert {"walk", "run", "stand", "jump", "attack", "die", "dance", "eat"} <= set(shipped_judge().actions)
    assert shipped_judge().about["exclude"]
    with pytest.raises(GambolError, match="knows nothing like 'wag tail'"):
        judge(motion(), "wag tail")
    answer = judge(motion(), "sneak")
    assert sum(answer.probabilities.values()) == pytest.approx(1, abs=1e-5)
    assert judge(motion(), "walk").semantic >= answer.semantic


@pytest.mark.parametrize("name", ["human", "dog"])
def test_a_pose_that_glides_is_no_walk(name):
    own = motion(name)
    for copy in (resting(own, 0.0), resting(own, 0.8), held(own)):
        assert judge(copy, "walk").semantic < 0.5 * judge(own, "walk").semantic


@pytest.mark.parametrize("name", ["human", "dog"])
def test_copies_lose_in_order(name):
    own = motion(name)
    kinds = (
        "jitter",
        "tremble",
        "wobble",
        "stretched limbs",
        "random angles",
        "jumps",
        "breathing size",
        "float or sink",
    )
    wins = []
    for kind in kinds:
        values = [judge(own, "walk").physical]
        values += [judge(corrupted(own, kind, each, 1, "walk"), "walk").physical for each in (1 / 3, 1.0)]
        wins.append(values[0] > values[2] and values[1] > values[2])
    assert np.mean(wins) >= 0.75
