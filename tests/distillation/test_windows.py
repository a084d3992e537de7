"""Clips longer than a prior's videos, in parts that overlap."""

from dataclasses import replace
from itertools import pairwise
from unittest.mock import Mock

import pytest
import torch
from character.creatures import dog

from gambol.character.anatomy import analyze
from gambol.character.rig import build_rig
from gambol.distillation.windows import lengthened, onwards_of, windows_for, windows_over
from gambol.motion.parameters import FrameParameters
from gambol.motion.rig_motion import RigMotion
from gambol.priors.prior import VideoFormat, VideoPrior

CLIPS = [(17, 16, 1), (40, 16, 1), (161, 49, 4), (50, 49, 4), (20, 9, 4), (6, 5, 4), (121, 81, 4), (90, 17, 4)]
"""Frames of a clip, frames of a window, frames of a latent."""


def latents_of(temporal_compression, windows, doubled=0, axis=1, views=2, seed=0):
    """Random ones in the layout of a prior, and that prior as far as it matters."""
    count = (windows.length - 1) // temporal_compression + 1 + doubled
    shape = [views * len(windows), 3, 2]
    shape.insert(axis, count)
    parts = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return parts, Mock(spec=VideoPrior, time_axis=axis, temporal_compression=temporal_compression)


def by_place(parts, windows, prior, doubled=0):
    """All values that windows have at the same place of the clip, as lists; latents of single frames left out."""
    alone = 1 + doubled if prior.temporal_compression > 1 else 0
    found = {}
    for number, start in enumerate(windows.starts):
        own = parts[number :: len(windows)].movedim(prior.time_axis, 0)
        for index in range(0 if number == 0 else alone, len(own)):
            found.setdefault(start // prior.temporal_compression + index, []).append(own[index])
    return found


@pytest.mark.parametrize("frames, length, temporal_compression", CLIPS)
def test_windows_cover_the_clip_in_whole_latents(frames, length, temporal_compression):
    windows = windows_over(frames, length, temporal_compression)
    assert windows.starts[0] == 0 and len(windows) > 1
    assert all(start % temporal_compression == 0 for start in windows.starts)
    assert frames <= windows.frames < frames + temporal_compression
    assert all(
        0 < after - before <= max(0.6 * length, temporal_compression) for before, after in pairwise(windows.starts)
    )


@pytest.mark.parametrize(
    "frames, length", [(1, 9), (9, 9), (10, 17), (17, 17), (18, 25), (49, 49), (50, 49), (200, 49)]
)
def test_a_prior_sees_the_clip_at_once_if_it_can(frames, length):
    prior = Mock(spec=VideoPrior, format=VideoFormat((49, 9, 17, 25), ((8, 8),), 8), temporal_compression=4)
    windows = windows_for(prior, frames)
    assert windows.length == length
    assert (len(windows) == 1) == (frames <= 49)


@pytest.mark.parametrize("frames, length, temporal_compression", CLIPS)
def test_what_was_cut_is_joined_again(frames, length, temporal_compression):
    windows = windows_over(frames, length, temporal_compression)
    videos = torch.rand(2, windows.frames, 2, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    parts = windows.cut(videos)
    assert parts.shape == (2 * len(windows), length, 2, 3)
    torch.testing.assert_close(windows.joined(parts), videos)
    torch.testing.assert_close(parts[1], videos[0, windows.starts[1] : windows.starts[1] + length])


@pytest.mark.parametrize("frames, length, temporal_compression", CLIPS)
def test_weights_sum_to_one_and_fade(frames, length, temporal_compression):
    windows = windows_over(frames, length, temporal_compression)
    shares = []
    for number in range(len(windows)):
        parts = torch.zeros(len(windows), length, 1, dtype=torch.float64)
        parts[number] = 1
        shares.append(windows.joined(parts)[0, :, 0])
    weights = torch.stack(shares)
    assert weights.min() >= 0
    torch.testing.assert_close(weights.sum(0), torch.ones_like(weights[0]))
    steps = weights.diff(dim=1).abs().max()
    assert steps <= 0.5, "a window must not end at once"


@pytest.mark.parametrize("frames, length, temporal_compression", CLIPS)
@pytest.mark.parametrize("axis, doubled", [(1, 0), (2, 0), (1, 1)])
@pytest.mark.parametrize("way", ["agreed", "alike"])
def test_windows_agree_where_they_overlap(frames, length, temporal_compression, axis, doubled, way):
    windows, doubled = windows_over(frames, length, temporal_compression), doubled if temporal_compression > 1 else 0
    parts, prior = latents_of(temporal_compression, windows, doubled, axis)
    once = getattr(windows, way)(parts, prior)
    assert once.isfinite().all() and once.shape == parts.shape
    before, after = by_place(parts, windows, prior, doubled), by_place(once, windows, prior, doubled)
    assert any(len(values) > 1 for values in after.values()) or length == temporal_compression + 1
    for place, values in after.items():
        for value in values[1:]:
            torch.testing.assert_close(value, values[0])
        low, high = torch.stack(before[place]).aminmax(dim=0)
        assert (values[0] >= low - 1e-9).all() and (values[0] <= high + 1e-9).all()
        if way == "alike":
            assert torch.equal(values[0], before[place][0])
    torch.testing.assert_close(getattr(windows, way)(once, prior), once)
    if temporal_compression > 1:  # latents of single frames stay as they were
        assert torch.equal(once.narrow(axis, 0, 1 + doubled), parts.narrow(axis, 0, 1 + doubled))


def test_a_single_window_is_left_alone():
    windows = windows_over(9, 9, 4)
    parts, prior = latents_of(4, windows)
    assert windows.agreed(parts, prior) is parts and windows.alike(parts, prior) is parts


@pytest.mark.parametrize("temporal_compression", [1, 4])
def test_noise_of_windows_is_noise(temporal_compression):
    windows = windows_over(33, 17, temporal_compression)
    parts, prior = latents_of(temporal_compression, windows, views=4000)
    noise = windows.alike(parts, prior).unflatten(0, (-1, len(windows)))
    few = 5 / (4000 * 6) ** 0.5  # five standard errors
    assert noise.mean((0, 3, 4)).abs().max() < few
    assert (noise.square().mean((0, 3, 4)) - 1).abs().max() < 1.5 * few
    whole = windows.joined(noise.flatten(0, 1)) if temporal_compression == 1 else noise[:, 0]
    apart = whole.flatten(2).permute(1, 0, 2).flatten(1)
    others = torch.corrcoef(apart) - torch.eye(len(apart))
    assert others.abs().max() < 1.5 * few


def spinning_loop(loops=True):
    """A dog that turns to the left and walks on in each round, with joints that move."""
    anatomy = analyze(dog())
    rig = build_rig(anatomy)
    rig_motion = RigMotion.at_rest(len(rig.nodes), 6, 1.0, loops, anatomy.height * anatomy.forward)
    generator = torch.Generator().manual_seed(0)
    yaw = torch.nn.functional.pad((0.5 * rig_motion.along)[:, None], (0, 2))
    rig_motion = replace(
        rig_motion,
        angles=0.3 * torch.randn(rig_motion.angles.shape, generator=generator),
        root_translation=rig_motion.root_translation + torch.tensor([0.1, 0.2, 0.3]),
        root_angles=yaw,
        turn=0.5 if loops else 0.0,
    )
    return FrameParameters(rig, rig_motion, 1.0), rig_motion, rig


def test_loops_go_on_as_they_repeat():
    params, rig_motion, rig = spinning_loop()
    movement = params()
    longer = lengthened(movement.T_world_joint, 15, onwards_of(params, movement))
    torch.testing.assert_close(longer, rig_motion.repeated(3, rig).world(rig)[:15], rtol=0, atol=1e-5)


def test_what_does_not_loop_stands_still():
    params, rig_motion, _ = spinning_loop(loops=False)
    movement = params()
    assert onwards_of(params, movement) is None
    longer = lengthened(movement.T_world_joint, 9, None)
    assert torch.equal(longer[:6], movement.T_world_joint)
    assert torch.equal(longer[6:], movement.T_world_joint[-1:].expand(3, -1, -1, -1))
    assert lengthened(movement.T_world_joint, len(rig_motion)) is movement.T_world_joint
