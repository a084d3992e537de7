"""Fitting a motion to videos whose motion is known."""

import numpy as np
import pytest
import torch
from character.creatures import dog, fish, human

from gambol.character.anatomy import study
from gambol.creatures.zoo import random_creature
from gambol.distillation.figures import FigureSet
from gambol.distillation.fit import FitConfig, _views, fit_motion
from gambol.priors.pocket.artists.clips import on_the_spot
from gambol.priors.pocket.look import draw_figure
from gambol.priors.pocket.takes.herd import gait_cycle
from gambol.quality.gait import measure_gait, phase_errors


def filmed(anatomy, poses, views=4):
    film_set = FigureSet(draw_figure(anatomy), views, 60)
    return film_set, film_set.film(torch.as_tensor(poses[:, :, :3], dtype=torch.float32))


@pytest.mark.parametrize("plan, gait", [("theropod", "run"), ("quadruped", "trot")])
def test_knees_feet_and_phases_are_found_again(plan, gait):
    """On creatures of seeds that nothing was tuned on."""
    anatomy = study(random_creature(1_000_040, plan).character())
    poses = on_the_spot(gait_cycle(anatomy, gait))
    film_set, videos = filmed(anatomy, poses)
    fit = fit_motion(anatomy, film_set, videos)
    found, truth = (measure_gait(anatomy, each) for each in (fit.T_world_joint, poses))
    np.testing.assert_allclose(found.flexion / truth.flexion, 1, atol=0.15)
    np.testing.assert_allclose(found.lift / truth.lift, 1, atol=0.15)
    assert np.nanmax(phase_errors(found.phases, truth.phases)) < 0.02
    assert fit.losses[-1] < 0.1 * fit.losses[0]


def test_who_stands_still_stays_still():
    anatomy = study(human())
    film_set = FigureSet(draw_figure(anatomy), 2, 60)
    videos = film_set.at_rest()[:, None].expand(-1, 16, -1, -1, -1)
    fit = fit_motion(anatomy, film_set, videos, config=FitConfig(steps=12))
    assert fit.draft.angles.abs().max() < 0.05
    assert fit.draft.root_translation.abs().max() < 0.02 * film_set.length
    neutral = anatomy.body.heads
    assert np.linalg.norm(fit.T_world_joint[..., :3, 3] - neutral, axis=-1).max() < 0.08 * film_set.length


def test_what_does_not_loop_need_not_end_as_it_began():
    """The body rises by a third of a leg from the first frame to the last."""
    anatomy = study(dog())
    leg = draw_figure(anatomy).leg
    poses = np.repeat(anatomy.body.T_world_node[anatomy.body.nodes][None], 16, 0)
    rise = np.linspace(0, leg / 3, 16)
    poses[..., :3, 3] += rise[:, None, None] * anatomy.up
    film_set, videos = filmed(anatomy, poses, views=2)
    settings = FitConfig(steps=60)
    heights = [
        fit_motion(anatomy, film_set, videos, loops=loops, config=settings).T_world_joint[:, 0, :3, 3] @ anatomy.up
        for loops in (False, True)
    ]
    true = poses[:, 0, :3, 3] @ anatomy.up
    straight, looping = (np.abs(height - true)[[0, -1]].mean() / leg for height in heights)
    assert straight < 0.03
    assert looping > 1.5 * straight


def test_the_same_videos_give_the_same_motion():
    anatomy = study(dog())
    film_set, videos = filmed(anatomy, on_the_spot(gait_cycle(anatomy, "walk")), views=2)
    seen = []
    fits = [
        fit_motion(anatomy, film_set, videos, config=FitConfig(steps=3), on_progress=lambda *done: seen.append(done))
        for _ in range(2)
    ]
    np.testing.assert_array_equal(fits[0].T_world_joint, fits[1].T_world_joint)
    assert seen[:3] == [(1, 3), (2, 3), (3, 3)]
    assert fits[0].T_world_joint.shape == (16, len(anatomy.body), 4, 4)


def test_the_legless_can_be_fitted_too():
    anatomy = study(fish())
    poses = np.repeat(anatomy.body.T_world_node[anatomy.body.nodes][None], 16, 0)
    film_set, videos = filmed(anatomy, poses, views=2)
    assert np.isfinite(fit_motion(anatomy, film_set, videos, config=FitConfig(steps=2)).T_world_joint).all()


@pytest.mark.parametrize("count, together", [(6, 2), (6, 6), (5, 2), (1, 4), (3, 2)])
def test_all_views_are_looked_at(count, together):
    groups = [_views(step, count, together) for step in range(count)]
    assert set(torch.cat(groups).tolist()) == set(range(count))
    assert all(len(group) == min(count, together) for group in groups)
