"""Implausible poses as a loss of fitting and of score distillation."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from character.creatures import dog
from distillation.fitting import fit_videos
from poses.small_poses import chains_of, model

from gambol.distillation.animate import prepare
from gambol.distillation.config import AnimateConfig
from gambol.distillation.fit import VideoFitConfig
from gambol.distillation.run_config import RunConfig
from gambol.distillation.sample_and_fit import SampleConfig
from gambol.distillation.score_distillation import ScoreConfig
from gambol.distillation.stage_runner import StageRunner
from gambol.distillation.stages import stages_of
from gambol.errors import GambolError
from gambol.poses.model import PoseModel, RigPoses
from gambol.poses.plausibility import ImplausibilityLoss, pose_reader
from gambol.priors.catalogue import open_prior
from gambol.priors.pixels.data.cycle import poses_in_place
from gambol.priors.pixels.data.synthetic import gait_cycle
from gambol.priors.pixels.figure import draw_stick_figure
from gambol.priors.pixels.views import StickViews

WALK = "a dog is walking"
SAMPLE = AnimateConfig(sample=SampleConfig(views=1, steps=1), fit=VideoFitConfig(steps=4, views=1), foot_lock=None)
SCORE = AnimateConfig(method="score", score=ScoreConfig(steps=4), foot_lock=None)


@pytest.fixture(scope="module")
def pixels():
    return open_prior("pixels")


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "weights.safetensors"
    model().save(path, {})
    return str(path)


def weighted(config, weight, weights=None):
    part = "score" if config.method == "score" else "fit"
    return replace(
        config, **{part: replace(getattr(config, part), plausible=weight)}, pose_weights=weights and str(weights)
    )


def solved(problem):
    """The motion, and the losses of all steps."""
    losses = []
    motion = StageRunner(stages_of(problem), problem.start).run(lambda log: losses.append(log.losses))
    return motion, losses


@pytest.mark.parametrize("config", [SAMPLE, SCORE], ids=["sample", "score"])
def test_without_weight_the_pose_model_is_not_asked(config, pixels, weights, monkeypatch):
    plain, losses = solved(prepare(dog(), WALK, pixels, config))
    problem = prepare(dog(), WALK, pixels, weighted(config, 0.0, weights))
    assert problem.implausibility is None
    given = replace(problem, implausibility=ImplausibilityLoss(pose_reader(problem.anatomy, model())))
    monkeypatch.setattr(RigPoses, "clean", lambda *_: pytest.fail("asked without weight"))
    again, others = solved(given)
    assert torch.equal(plain.angles, again.angles) and torch.equal(plain.root_translation, again.root_translation)
    assert losses == others and "implausible" not in losses[-1]


@pytest.mark.parametrize("config", [SAMPLE, SCORE], ids=["sample", "score"])
def test_with_weight_the_motion_is_another_and_repeats(config, pixels, weights):
    plain, _ = solved(prepare(dog(), WALK, pixels, config))
    (first, losses), (again, others) = (
        solved(prepare(dog(), WALK, pixels, weighted(config, 0.1, weights))) for _ in range(2)
    )
    assert torch.equal(first.angles, again.angles) and losses == others
    assert not torch.equal(plain.angles, first.angles) and losses[-1]["implausible"] > 0
    assert losses[-1]["total"] == pytest.approx(sum(v for name, v in losses[-1].items() if name != "total"), abs=1e-5)


def test_a_fit_to_noise_stays_more_plausible():
    """One view of a walk that can hardly be made out."""
    chains = chains_of()
    anatomy = chains.anatomy
    renderer = StickViews(draw_stick_figure(anatomy), 1, 48)
    truth = torch.as_tensor(poses_in_place(gait_cycle(anatomy, "walk"))[:, :, :3]).float()
    videos = renderer.render(truth)
    videos = videos + 2.0 * torch.randn(videos.shape, generator=torch.Generator().manual_seed(0))
    loss = ImplausibilityLoss(pose_reader(anatomy, model(), chains))

    def implausible(weight):
        config = VideoFitConfig(steps=60, views=1, plausible=weight)
        poses = fit_videos(anatomy, renderer, videos, config=config, implausibility=loss)[1]
        world = torch.as_tensor(poses[..., :3, :]).float()
        return sum(float(loss(world, torch.Generator().manual_seed(seed))) for seed in range(4))

    assert implausible(1.0) < 0.8 * implausible(0.0)


def test_what_is_sampled_from_tracks_has_no_such_loss(weights):
    with pytest.raises(GambolError, match=r"fit.plausible is 0.1, and what the prior tracks samples is not fitted"):
        prepare(dog(), WALK, open_prior("tracks"), weighted(SAMPLE, 0.1, weights))
    problem = prepare(dog(), WALK, open_prior("tracks"), weighted(SCORE, 0.1, weights))
    assert solved(problem)[1][-1]["implausible"] > 0


def test_a_run_goes_on_with_the_same_pose_model_only(pixels, weights):
    config = weighted(SAMPLE, 0.1, weights)
    run_config = RunConfig("dog.glb", WALK, config, pose_hash=model().fingerprint())
    with pytest.raises(GambolError, match="the weights of the pose model are no longer those this run began with"):
        run_config.problem(dog(), pixels)
    loaded = PoseModel.load(Path(weights))
    assert replace(run_config, pose_hash=loaded.fingerprint()).problem(dog(), pixels).implausibility is not None
    assert RunConfig.from_json(run_config.json()) == run_config
