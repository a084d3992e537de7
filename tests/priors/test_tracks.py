"""The prior on tracks: features and back, a network that knows no seam, sampling that keeps what is given, training."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from character.creatures import dog, human

from gambol.character.anatomy import analyze
from gambol.character.rig import build_rig
from gambol.distillation.animate import prepare
from gambol.distillation.config import AnimateConfig, preset_for
from gambol.distillation.sample_and_fit import SampleConfig
from gambol.distillation.score_distillation import ScoreConfig
from gambol.distillation.stage_runner import StageRunner
from gambol.distillation.stages import stages_of
from gambol.errors import GambolError
from gambol.motion.body_tracks import tracks_of_poses
from gambol.motion.chains import CHAIN_KINDS, STATIONS, find_chains
from gambol.priors.tracks.features import CONTACT, PART, PATH, TURNING, features_of, points_of, shape_of, tracks_of
from gambol.priors.tracks.network import PATCH, TrackNetwork, TrackNetworkConfig
from gambol.priors.tracks.prior import BodyTrackPrior, Normalization, TrackPrior, conditions_of
from gambol.priors.tracks.training.batches import BatchSampler, collate, resampled, vary
from gambol.priors.tracks.training.dataset import creature_samples
from gambol.priors.tracks.training.labels import ACTION_NAMES, LABELS, label_of
from gambol.priors.tracks.training.procedural import procedural_samples
from gambol.priors.tracks.training.train import TrackTrainConfig, TrackTraining, normalization_of

TINY = TrackNetworkConfig(width=32, layers=2, heads=2)


def tiny_prior(seed=0):
    torch.manual_seed(seed)
    network = TrackNetwork(TINY)
    for out in (network.part_out, network.path_out):
        torch.nn.init.normal_(out.weight, std=0.05)
    kinds = len(CHAIN_KINDS)
    parts, path = torch.zeros(kinds, PART), torch.zeros(PATH)
    normalization = Normalization(parts, parts + 1, path, path + 1)
    return TrackPrior(network, normalization, ACTION_NAMES)


@pytest.fixture(scope="module")
def dog_body():
    anatomy = analyze(dog())
    return anatomy, find_chains(anatomy), build_rig(anatomy)


@pytest.fixture(scope="module")
def walk(dog_body):
    _, chains, _ = dog_body
    found = procedural_samples(chains, "dog", "dogs", np.random.default_rng(0))
    return next(sample for sample in found if sample.action == "walk")


def test_features_and_back(walk):
    tracks = tracks_of(walk.features, len(walk.features.path) / 30, True)
    again = features_of(tracks)
    assert torch.allclose(again.parts, walk.features.parts, atol=1e-5)
    assert torch.allclose(again.path, walk.features.path, atol=1e-4)


def test_points_of_features_are_where_the_joints_are(dog_body, walk):
    """Forward kinematics of the features: feet of a gait that are down stay where they are."""
    columns = walk.features.parts[..., :CONTACT].unflatten(-1, (STATIONS, 2, 3))
    shape = walk.shape
    points = points_of(columns, shape.bones, shape.offsets, shape.hangs_on)
    legs = [i for i, kind in enumerate(shape.kinds.tolist()) if CHAIN_KINDS[kind] == "leg"]
    feet = points[:, legs, -1]
    path = torch.cumsum(walk.features.path[:, 1:3] / 30, 0)
    world = torch.stack([feet[..., 0] + path[:, None, 0], feet[..., 2] + path[:, None, 1]], -1)
    speed = torch.diff(world, dim=0).norm(dim=-1) * 30
    down = walk.features.parts[1:, legs, CONTACT] * walk.features.parts[:-1, legs, CONTACT] > 0
    assert speed[down].median() < 0.15 * speed[~down].median()


def test_a_loop_has_no_seam(dog_body):
    """Rolling a noisy loop by whole patches rolls the estimate by as many."""
    _, chains, _ = dog_body
    prior, frames = tiny_prior(), 6 * PATCH
    body = BodyTrackPrior(prior, shape_of(chains), frames, True, 1.6)
    noisy = torch.randn(1, frames, body.width)
    prompt = prior.embed("a dog walks")
    clean = body.denoise(noisy, 0.7, prompt)
    rolled = body.denoise(noisy.roll(2 * PATCH, 1), 0.7, prompt)
    assert torch.allclose(rolled, clean.roll(2 * PATCH, 1), atol=1e-4)
    deed = BodyTrackPrior(prior, shape_of(chains), frames, False, 1.6)
    straight = deed.denoise(noisy, 0.7, prompt)
    assert not torch.allclose(
        deed.denoise(noisy.roll(2 * PATCH, 1), 0.7, prompt), straight.roll(2 * PATCH, 1), atol=1e-3
    )


def test_padding_changes_nothing(walk):
    """A body in a batch with a larger one gets the same estimate as alone."""
    network = tiny_prior().network
    other = creature_samples(2, 3, lambda done, total: None)
    largest = max(other, key=lambda sample: sample.features.parts.shape[1])
    alone, together = collate([vary(walk, None)]), collate([vary(walk, None), vary(largest, None)])
    levels = torch.tensor([0.6])
    with torch.no_grad():
        one, _ = network(alone.parts, alone.path, levels, alone.conditions)
        both, _ = network(together.parts, together.path, levels.repeat(2), together.conditions)
    frames, parts = alone.parts.shape[1:3]
    assert torch.allclose(both[0, :frames, :parts], one[0], atol=1e-4)


def test_weights_come_back(tmp_path):
    prior = tiny_prior()
    prior.save(tmp_path / "w.safetensors", {"seed": 0})
    again = TrackPrior.load(tmp_path / "w.safetensors")
    assert again.actions == prior.actions and again.fingerprint() == prior.fingerprint()
    (tmp_path / "w.safetensors").write_bytes(b"nothing")
    with pytest.raises(GambolError, match="cannot be read"):
        TrackPrior.load(tmp_path / "w.safetensors")


def solved(character, sentence, prior, **settings):
    usual = preset_for("draft", prior)
    config = replace(usual, sample=SampleConfig(views=1, steps=4, guidance=1.5), foot_lock=None, **settings)
    problem = prepare(character, sentence, prior, config)
    return problem, StageRunner(stages_of(problem), problem.start).run()


def test_seeds_differ_and_repeat():
    prior = tiny_prior()
    _, one = solved(dog(), "a dog is walking", prior, seed=1)
    _, same = solved(dog(), "a dog is walking", prior, seed=1)
    _, other = solved(dog(), "a dog is walking", prior, seed=2)
    assert torch.equal(one.angles, same.angles) and not torch.allclose(one.angles, other.angles, atol=1e-2)


def test_frozen_joints_and_pins_are_kept_exactly():
    prior, character = tiny_prior(), human()
    names = character.skeleton.names
    frozen = next(name for name in names if "arm" in name.lower())
    problem, motion = solved(character, "a man waves", prior, freeze=(frozen,), pins=((0, "rest"),))
    index = [names[node] for node in problem.rig.nodes].index(frozen)
    assert motion.angles[:, index].abs().max() < 1e-6
    assert motion.angles[0].abs().max() < 1e-5
    _, free = solved(character, "a man waves", prior)
    assert free.angles[:, index].abs().max() > 1e-2


def test_what_is_pinned_changes_what_is_around_it():
    """Inpainting: the estimate of other frames depends on the pinned pose, not only those that are blended with it."""
    prior, character = tiny_prior(), dog()
    _, free = solved(character, "a dog attacks", prior, seed=5, seconds=4.0)
    _, pinned = solved(character, "a dog attacks", prior, seed=5, seconds=4.0, pins=((0, "rest"),))
    far = len(free) - 5  # more than a second after the pin
    assert not torch.allclose(free.angles[far], pinned.angles[far], atol=1e-5)


def test_score_distillation_runs_on_tracks():
    prior = tiny_prior()
    config = AnimateConfig(method="score", score=ScoreConfig(steps=3), foot_lock=None)
    problem = prepare(dog(), "a dog is walking", prior, config)
    runner = StageRunner(stages_of(problem), problem.start)
    losses = []
    motion = runner.run(lambda log: losses.append(log.losses["score"]))
    assert len(losses) == 3 and all(np.isfinite(losses)) and motion.angles.abs().max() > 1e-3


def test_the_observer_has_gradients(dog_body):
    _, chains, rig = dog_body
    prior = tiny_prior()
    body = BodyTrackPrior(prior, shape_of(chains), 2 * PATCH, False, 0.5)
    poses = torch.as_tensor(rig.world()[None, :, :3]).float().repeat(2 * PATCH, 1, 1, 1).requires_grad_()
    latents = body.encode(tracks_of_poses(chains, poses, 0.5, False))
    latents.square().sum().backward()
    assert latents.shape == (1, 2 * PATCH, body.width) and poses.grad.abs().max() > 0


def test_durations_follow_the_body(dog_body):
    _, chains, _ = dog_body
    conditions = conditions_of(shape_of(chains), 1, True, PATCH)
    assert tiny_prior().network.log_seconds(conditions).shape == (1, 2)


@pytest.mark.parametrize(
    ("clip", "label"),
    [
        ("CharacterArmature|Walk", "walk"), ("Running_A", "run"), ("AnimalArmature|Gallop", "run"), ("Death", "die"),
        ("HitRecieve_1", "hit"), ("Sitting_Enter", "sit down"), ("Sit_Floor_StandUp", "get up"), ("Wave", "wave"),
        ("attack-kick-left", "kick"), ("SwordSlash", "sword"), ("Jump_Idle", None), ("T-Pose", None), ("Idle", "stand"),
        ("Yes", "nod"), ("No", "shake head"), ("Eating", "eat"), ("Walking_Backwards", "walk backwards"),
        ("Salute", "salute"), ("Kneeling_Down", "kneel"), ("Shiver", "shiver"), ("Lift_Off", None), ("Crying", "cry"),
    ],
)  # fmt: skip
def test_labels_of_clips(clip, label):
    found = label_of(clip)
    assert (found.name if found else None) == label


def test_labels_are_unique_and_fit_the_network():
    assert len(set(ACTION_NAMES)) == len(ACTION_NAMES) == len([each for each in LABELS if each.name]) + 1
    assert len(ACTION_NAMES) <= TrackNetworkConfig().actions


def test_another_tempo_keeps_the_way(walk):
    """A cycle in more frames is slower, and leads as far."""
    count = len(walk.features.parts)
    _, path = resampled(walk.features.parts, walk.features.path, 2 * count, True)
    assert path[:, 2].mean() * 2 * count == pytest.approx(float(walk.features.path[:, 2].mean()) * count, rel=1e-3)


def test_training_learns(walk):
    """Forty steps on one walk: the error on it falls by far."""
    samples = [walk]
    sampler = BatchSampler(samples)
    training = TrackTraining(
        TrackTrainConfig(steps=40, warmup_steps=5, network=TINY), normalization_of(samples, sampler.weights)
    )
    batch = collate([vary(walk, np.random.default_rng(i)) for i in range(8)])
    losses = [sum(training.learn([batch]).values()) for _ in range(40)]
    assert np.mean(losses[-5:]) < 0.6 * np.mean(losses[:5])


def test_training_resumes_where_it_stopped(walk, tmp_path):
    sampler = BatchSampler([walk])
    config = TrackTrainConfig(steps=4, network=TINY)
    batch = collate([vary(walk, np.random.default_rng(0))])

    def fresh():
        return TrackTraining(config, normalization_of([walk], sampler.weights))

    whole, half = fresh(), fresh()
    for _ in range(4):
        whole.learn([batch, batch])
    for _ in range(2):
        half.learn([batch, batch])
    half.save(tmp_path / "state.pt")
    again = fresh()
    again.load(tmp_path / "state.pt")
    for _ in range(2):
        again.learn([batch, batch])
    for name, value in whole.network.named_parameters():
        assert torch.equal(value, dict(again.network.named_parameters())[name]), name
    (tmp_path / "state.pt").write_bytes(b"x" * 100)
    with pytest.raises(GambolError, match="cannot resume"):
        fresh().load(tmp_path / "state.pt")


def test_a_training_that_was_stopped_ends_as_if_it_had_not_been(walk, tmp_path, monkeypatch):
    """Also between two batches that were drawn together."""
    monkeypatch.setattr("gambol.priors.tracks.training.batches.DRAWN", 6)
    monkeypatch.setattr("gambol.priors.tracks.training.batches.TOKENS", 40)
    sampler, whole = BatchSampler([walk]), tmp_path / "whole"
    assert len(sampler.batches(np.random.default_rng(0))) > 2
    stopped = tmp_path / "stopped"
    for folder in (whole, stopped):
        folder.mkdir()

    def fresh():
        config = TrackTrainConfig(steps=5, network=TINY)
        return TrackTraining(config, normalization_of([walk], sampler.weights))

    def stop_at_four(step, steps):
        if step == 4:
            raise KeyboardInterrupt

    once = fresh()
    once.train(sampler.batches, dict, whole, lambda step, steps: None)
    with pytest.raises(KeyboardInterrupt):
        fresh().train(sampler.batches, dict, stopped, stop_at_four)
    again = fresh()
    again.load(stopped / "state.pt")
    assert again.step == 4
    again.train(sampler.batches, dict, stopped, lambda step, steps: None)
    for name, value in once.network.named_parameters():
        assert torch.equal(value, dict(again.network.named_parameters())[name]), name


def test_the_mirror_image_of_a_turn_is_a_turn_to_the_other_side():
    chains = find_chains(analyze(dog()))
    samples = [s for s in procedural_samples(chains, "dog", "dogs", np.random.default_rng(0)) if "turn" in s.action]
    assert {sample.action for sample in samples} == {"turn left", "turn right"}
    for sample in samples:
        for seed in range(6):
            varied = vary(sample, np.random.default_rng(seed))
            turned = float(varied.path[:, TURNING].mean())
            assert (turned > 0) == (varied.sample.action == "turn left")
