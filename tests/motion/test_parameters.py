"""What moves in a fit, and what holds it back."""

import numpy as np
import pytest
import torch
from character.creatures import dog, human, spider

from gambol.character.anatomy import analyze
from gambol.character.rig import build_rig
from gambol.motion.joint_limits import find_limits
from gambol.motion.legs import folding_limbs, legs_of
from gambol.motion.parameters import CurveParameters, _basis
from gambol.motion.rig_motion import RigMotion
from gambol.motion.stances import soles_of
from gambol.priors.image_loss import image_difference, image_target
from gambol.priors.pixels.figure import BACKGROUND, VIEWS, draw_stick_figure
from gambol.priors.pixels.views import StickViews, _limb_colors


@pytest.fixture(scope="module", params=[dog, human, spider])
def anatomy(request):
    return analyze(request.param())


def parameters_of(anatomy, loops=True):
    rig, figure = build_rig(anatomy), draw_stick_figure(anatomy)
    base = RigMotion.at_rest(len(rig.nodes), 16, 1.0, loops)
    return CurveParameters(anatomy, rig, base, np.unique(figure.joints), figure.leg, 4)


def test_zero_parameters_leave_the_neutral_pose(anatomy):
    movement = parameters_of(anatomy)()
    neutral = torch.tensor(anatomy.body.T_world_node[anatomy.body.nodes][:, :3], dtype=torch.float32)
    torch.testing.assert_close(movement.T_world_joint, neutral.expand(16, -1, -1, -1), rtol=0, atol=1e-5)


def test_folding_brings_a_foot_nearer_to_its_hip_and_moves_no_other(anatomy):
    for number, leg in enumerate(legs_of(anatomy)):
        params = parameters_of(anatomy)
        with torch.no_grad():
            params.folding[0, number] = 0.3
            heads = params().T_world_joint[0, :, :, 3].double().numpy()
            last = params().T_world_joint[0, leg.links[-1]].double().numpy()
        neutral = anatomy.body.T_world_node[anatomy.body.nodes[leg.links[-1]]]
        end = last @ np.linalg.solve(neutral, np.append(leg.end, 1.0))
        hip = anatomy.body.heads[leg.links[0]]
        assert np.linalg.norm(end - hip) < np.linalg.norm(leg.end - hip) - 1e-3
        others = [joint for joint in range(len(heads)) if joint not in leg.limb.joints]
        np.testing.assert_allclose(heads[others], anatomy.body.heads[others], atol=1e-5)


def test_a_turn_goes_on_while_all_else_returns(anatomy):
    params = parameters_of(anatomy)
    with torch.no_grad():
        params.turning.fill_(1.6)
        yaw = params().root_angles[:, 0]
    torch.testing.assert_close(yaw, 0.1 * torch.arange(16.0))


def test_curves_that_loop_are_periodic_and_others_need_not_be():
    ramp = torch.linspace(0, 1, 16)[:, None]
    left_over = [
        (basis @ torch.linalg.lstsq(basis, ramp).solution - ramp).abs().max()
        for basis in (_basis(16, False, 4), _basis(16, True, 4))
    ]
    assert left_over[0] < 0.02
    assert left_over[1] > 0.2


def test_knees_are_stopped_only_on_the_wrong_way(anatomy):
    limits, count = find_limits(anatomy, 1.0), len(folding_limbs(anatomy))
    params = parameters_of(anatomy)
    with torch.no_grad():
        assert limits.overbent(params().T_world_joint) < 1e-6
        params.folding[0, :count] = 0.4
        assert limits.overbent(params().T_world_joint) < 1e-6
        params.folding[0, :count] = -2.5
        assert limits.overbent(params().T_world_joint) > 0.01


def test_soles_are_stopped_by_the_ground(anatomy):
    leg = draw_stick_figure(anatomy).leg
    limits, up = find_limits(anatomy, leg), torch.tensor(anatomy.up, dtype=torch.float32)
    params = parameters_of(anatomy)
    with torch.no_grad():
        params.root[0, :3] = 0.3 * up
        assert limits.sunk(params().T_world_joint) == 0
        params.root[0, :3] = -0.3 * up
        sunk = limits.sunk(params().T_world_joint)
    neutral = anatomy.body.T_world_node[anatomy.body.nodes][None]
    soles = np.concatenate([soles_of(anatomy, each, neutral)[0] for each in anatomy.legs]) @ anatomy.up
    depths = np.maximum(anatomy.ground + 0.3 * leg - soles, 0) / leg
    assert float(sunk) == pytest.approx((depths**2).mean(), rel=1e-3)


def test_cameras_stand_on_both_sides_by_turns(anatomy):
    figure = draw_stick_figure(anatomy)
    toward = StickViews(figure, 6, 60).cameras.positions.numpy() - figure.rest.reshape(-1, 3).mean(0)
    angles = np.degrees(np.arctan2(toward @ anatomy.left, toward @ anatomy.forward))
    np.testing.assert_allclose(np.sign(angles), [1, -1, 1, -1, 1, -1])
    np.testing.assert_allclose(np.sort(angles), np.sort(VIEWS), atol=8)
    opposite = np.abs((angles[::2] - angles[1::2]) % 360 - 180)
    assert opposite[:2].min() > 20, "views of a pair that are exactly opposite show the same outline"
    with pytest.raises(ValueError, match="1 to 6 views, got 7"):
        StickViews(figure, 7, 60)


def test_the_image_difference_leads_from_afar(anatomy):
    """A figure moved aside by half its picture hardly overlaps itself, yet every step back is an improvement."""
    figure = draw_stick_figure(anatomy)
    renderer = StickViews(figure, 1, 60)
    points = torch.tensor(figure.rest, dtype=torch.float32)[None]
    target = image_target(renderer.rest_images(), _limb_colors(figure), BACKGROUND)
    half = float(renderer.halves[0])
    along = torch.tensor(anatomy.forward, dtype=torch.float32)
    losses = [
        float(image_difference(renderer.render_points(points + share * half * along)[0], target, slice(0, 1)))
        for share in (0, 0.05, 0.15, 0.3, 0.5)
    ]
    assert losses[0] < 1e-6
    assert losses == sorted(losses)
