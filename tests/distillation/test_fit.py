"""Fitting a motion to videos whose motion is known."""

import numpy as np
import pytest
import torch
from character.creatures import dog, fish, human
from distillation.fitting import fit_videos

from gambol.character.anatomy import analyze
from gambol.creatures.zoo import random_creature
from gambol.distillation.fit import VideoFitConfig, _views
from gambol.motion.gait import measure_gait, phase_errors
from gambol.motion.legs import leg_length
from gambol.priors.pixels.data.cycle import poses_in_place
from gambol.priors.pixels.data.synthetic import gait_cycle
from gambol.priors.pixels.figure import draw_stick_figure
from gambol.priors.pixels.views import StickViews


def rendered(anatomy, poses, views=4):
    renderer = StickViews(draw_stick_figure(anatomy), views, 60)
    return renderer, renderer.render(torch.as_tensor(poses[:, :, :3], dtype=torch.float32))


@pytest.mark.parametrize("plan, gait", [("theropod", "run"), ("quadruped", "trot")])
def test_knees_feet_and_phases_are_found_again(plan, gait):
    """On creatures of seeds that nothing was tuned on."""
    anatomy = analyze(random_creature(1_000_040, plan).character())
    poses = poses_in_place(gait_cycle(anatomy, gait))
    renderer, videos = rendered(anatomy, poses)
    _, fitted, losses = fit_videos(anatomy, renderer, videos)
    found, truth = (measure_gait(anatomy, each) for each in (fitted, poses))
    np.testing.assert_allclose(found.flexion / truth.flexion, 1, atol=0.15)
    np.testing.assert_allclose(found.lift / truth.lift, 1, atol=0.15)
    assert np.nanmax(phase_errors(found.phases, truth.phases)) < 0.02
    assert losses[-1] < 0.1 * losses[0]


def test_who_stands_still_stays_still():
    anatomy = analyze(human())
    renderer = StickViews(draw_stick_figure(anatomy), 2, 60)
    videos = renderer.rest_images()[:, None].expand(-1, 16, -1, -1, -1)
    rig_motion, poses, _ = fit_videos(anatomy, renderer, videos, config=VideoFitConfig(steps=12))
    assert rig_motion.angles.abs().max() < 0.05
    assert rig_motion.root_translation.abs().max() < 0.02 * renderer.length
    neutral = anatomy.body.heads
    assert np.linalg.norm(poses[..., :3, 3] - neutral, axis=-1).max() < 0.08 * renderer.length


def test_what_does_not_loop_need_not_end_as_it_began():
    """The body rises by a third of a leg from the first frame to the last."""
    anatomy = analyze(dog())
    leg = leg_length(anatomy)
    poses = np.repeat(anatomy.body.T_world_node[anatomy.body.nodes][None], 16, 0)
    rise = np.linspace(0, leg / 3, 16)
    poses[..., :3, 3] += rise[:, None, None] * anatomy.up
    renderer, videos = rendered(anatomy, poses, views=2)
    settings = VideoFitConfig(steps=60)
    heights = [
        fit_videos(anatomy, renderer, videos, loops, settings)[1][:, 0, :3, 3] @ anatomy.up for loops in (False, True)
    ]
    true = poses[:, 0, :3, 3] @ anatomy.up
    straight, looping = (np.abs(height - true)[[0, -1]].mean() / leg for height in heights)
    assert straight < 0.03
    assert looping > 1.5 * straight


def test_the_same_videos_give_the_same_motion():
    anatomy = analyze(dog())
    renderer, videos = rendered(anatomy, poses_in_place(gait_cycle(anatomy, "walk")), views=2)
    first, again = (fit_videos(anatomy, renderer, videos, config=VideoFitConfig(steps=3))[1] for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert first.shape == (16, len(anatomy.body), 4, 4)


def test_the_legless_can_be_fitted_too():
    anatomy = analyze(fish())
    poses = np.repeat(anatomy.body.T_world_node[anatomy.body.nodes][None], 16, 0)
    renderer, videos = rendered(anatomy, poses, views=2)
    assert np.isfinite(fit_videos(anatomy, renderer, videos, config=VideoFitConfig(steps=2))[1]).all()


@pytest.mark.parametrize("count, together", [(6, 2), (6, 6), (5, 2), (1, 4), (3, 2)])
def test_all_views_are_looked_at(count, together):
    groups = [_views(step, count, together) for step in range(count)]
    assert set(torch.cat(groups).tolist()) == set(range(count))
    assert all(len(group) == min(count, together) for group in groups)
