"""The small video model over a ground: what it sees, and how far a motion goes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from gambol import analyze, open_prior
from gambol.character.rig import build_rig
from gambol.creatures.zoo import create
from gambol.distillation.animate import prepare
from gambol.distillation.config import AnimateConfig
from gambol.distillation.score_distillation import ScoreConfig
from gambol.distillation.stage_runner import StageRunner
from gambol.distillation.stages import stages_of
from gambol.errors import GambolError
from gambol.motion.parameters import FrameParameters
from gambol.motion.rig_motion import RigMotion
from gambol.priors.pixels.data.stroke_motion import mirrored, render_motions, varied
from gambol.priors.pixels.data.synthetic import motions_of_creature
from gambol.priors.pixels.figure import draw_stick_figure
from gambol.priors.pixels.network import PixelNetwork
from gambol.priors.pixels.prior import PixelPrior, load_network, save_network
from gambol.priors.pixels.training.dataset import BatchSampler
from gambol.priors.pixels.views import StickViews


@pytest.fixture(scope="module")
def walk():
    return next(motion for motion in motions_of_creature(0) if motion.action == "walk")


def test_feet_that_stand_stay_on_their_tile(walk):
    """The way of a motion is that of its feet, whatever its proportions; mirrored, it goes ahead as well."""
    for motion in (walk, varied(walk, np.random.default_rng(3)), mirrored(walk)):
        legs = [stroke for stroke, part in enumerate(motion.parts) if " leg " in part]
        feet = motion.travelling()[:, legs, 1]
        feet = feet[:, motion.rest[legs, 1, 1] < 0.15]
        slowest = np.linalg.norm(np.diff(feet, axis=0)[..., [0, 2]], axis=-1).min(0)
        step = np.linalg.norm(motion.travel) / len(motion.points)
        assert motion.travel[2] > 0.3 and slowest.min() < 0.15 * step, "some foot stands at some time"


def test_videos_on_all_stages(walk):
    videos, rests = {}, {}
    for stage in ("none", "ground", "shadow"):
        videos[stage], rests[stage] = render_motions([walk], np.random.default_rng(0), 40, 0.0, (stage,))
    ground = videos["ground"][0]
    assert (ground[:, -3:] - ground[:1, -3:]).abs().max() > 0.05, "it scrolls"
    assert rests["ground"].std() != rests["none"].std()
    darker = (videos["ground"] - videos["shadow"]).amin((0, 1, 4))
    assert darker.min() > -1e-4 and (videos["ground"] - videos["shadow"]).max() > 0.02, "a shadow only darkens"


def test_cameras_follow_and_gradients_flow():
    anatomy = analyze(create("dog"))
    rig = build_rig(anatomy)
    still = StickViews(draw_stick_figure(anatomy), 2, 40, "ground")
    ahead = torch.as_tensor(anatomy.forward).float()
    glide = RigMotion.at_rest(len(rig.nodes), 8, 1.0, True, 3.0 * anatomy.height * anatomy.forward).world(rig)
    rest = RigMotion.at_rest(len(rig.nodes), 8, 1.0, True).world(rig)
    gliding, standing = (still.without_ground().render(poses) for poses in (glide, rest))
    torch.testing.assert_close(gliding, standing, atol=0.02, rtol=0)
    assert (still.render(glide) - still.render(rest)).abs().max() > 0.05, "but the ground passes"
    aimed = still.following(rest)
    assert (aimed.without_ground().render(glide) - standing).abs().max() > 0.2, "cameras that stand see it leave"
    torch.testing.assert_close(still.following(glide).rest_images(), still.rest_images())
    poses = glide.clone().requires_grad_()
    still.render(poses).mean().backward()
    assert poses.grad is not None and float((poses.grad[..., 3] @ ahead).abs().max()) > 0


def test_weights_say_where_they_saw_figures(tmp_path):
    network = PixelNetwork(replace(PixelPrior.load().network.config, fine=8, width=14, depth=1))
    assert network.stages == ("none",)
    with pytest.raises(GambolError, match="on the stages 'none' only, not on 'ground'"):
        PixelPrior(network, "ground")
    network.stages = ("ground", "none")
    save_network(network, tmp_path / "weights.safetensors")
    assert load_network(tmp_path / "weights.safetensors").stages == ("ground", "none")
    prior = PixelPrior.load(tmp_path / "weights.safetensors", "ground")
    assert prior.name == "pixels-ground" and not prior.in_place and PixelPrior.load().in_place


def test_batches_are_on_all_stages(walk):
    sampler = BatchSampler([walk], [], 40, stages=("none", "shadow"))
    rests = sampler.batch(np.random.default_rng(0), 12).rests
    grey = (rests[:, -2:].abs() > 0.1).float().mean((1, 2, 3))
    assert 0 < int((grey > 0.3).sum()) < 12, "some on a ground, some not"


def test_a_loop_goes_as_far_as_its_parameters_say():
    anatomy = analyze(create("dog"))
    rig = build_rig(anatomy)
    base = RigMotion.at_rest(len(rig.nodes), 8, 1.0, True, 2.0 * anatomy.forward)
    params = FrameParameters(rig, base, 1.0, may_travel=True)
    assert not FrameParameters(rig, base, 1.0).way.requires_grad
    with torch.no_grad():
        params.way.copy_(torch.as_tensor(anatomy.forward).float())
    moved = params.rig_motion()
    farther = moved.travel - base.travel
    assert float(farther.norm()) > 0.01
    torch.testing.assert_close(moved.root_translation[4] - base.root_translation[4], farther / 2)


def test_distillation_changes_how_far_it_goes():
    """Where the prior sees the ground, and not where it does not."""
    for name, moves in (("pixels-shadow", True), ("pixels", False)):
        config = AnimateConfig(method="score", foot_lock=None, score=ScoreConfig(steps=2))
        problem = prepare(create("dog"), "a dog is walking", open_prior(name), config)
        motion = StageRunner(stages_of(problem), problem.start).run()
        assert bool((motion.travel - problem.start.travel).abs().max() > 1e-5) == moves
