"""Rig motions: from clips and back, at other frame rates, several cycles."""

import numpy as np
import pytest
import torch
from character.creatures import dog, fish, human

from gambol.character.anatomy import analyze
from gambol.character.rig import build_rig
from gambol.character.transforms import rotation_about
from gambol.creatures.gaits import gait
from gambol.motion.rig_motion import RigMotion, rig_motion_of, rig_motion_of_poses


def gait_on_rig(make, action, frames=24, loops=True):
    character = make()
    anatomy = analyze(character)
    rig, clip = build_rig(anatomy), gait(character, anatomy, action)
    steps = frames if loops else frames - 1
    times = clip.start + clip.duration * np.arange(frames) / steps
    return character, rig, clip, times, rig_motion_of(character, rig, clip, times, loops)


@pytest.mark.parametrize("make", [dog, human])
@pytest.mark.parametrize("action", ["walk", "jump", "turn left"])
@pytest.mark.parametrize("loops", [True, False])
def test_a_clip_becomes_a_rig_motion_of_the_same_poses(make, action, loops):
    character, rig, clip, times, rig_motion = gait_on_rig(make, action, loops=loops)
    true = character.skeleton.world(clip.sample(character.skeleton, times))[:, rig.nodes]
    np.testing.assert_allclose(rig_motion.world(rig).numpy(), true[:, :, :3], atol=2e-5)
    assert rig_motion.seconds == pytest.approx(clip.duration)


@pytest.mark.parametrize("action", ["walk", "turn left", "turn right"])
def test_rounds_follow_each_other_without_a_seam(action):
    """The frame after a round is the first frame of the next, where the clip itself ends."""
    character, rig, clip, _, rig_motion = gait_on_rig(dog, action)
    end = character.skeleton.world(clip.sample(character.skeleton, np.array([clip.end])))[:, rig.nodes]
    twice = rig_motion.repeated(2, rig)
    assert len(twice) == 2 * len(rig_motion)
    assert twice.seconds == pytest.approx(2 * rig_motion.seconds)
    np.testing.assert_allclose(twice.world(rig)[len(rig_motion)].numpy(), end[0, :, :3], atol=1e-4)
    thrice = rig_motion.repeated(3, rig).world(rig)
    steps = (thrice[1:] - thrice[:-1])[..., 3].norm(dim=-1).amax(1)
    assert steps[len(rig_motion) - 1] <= 1.2 * steps[: len(rig_motion) - 1].max(), "nor does anything jump there"
    if action != "walk":
        assert np.sign(twice.turn) == (1 if action == "turn left" else -1)


@pytest.mark.parametrize("loops", [True, False])
def test_other_frame_rates_keep_the_motion(loops):
    _, rig, _, _, rig_motion = gait_on_rig(dog, "walk", 32, loops)
    more = rig_motion.resampled(64 if loops else 63)
    assert more.seconds == rig_motion.seconds
    assert more.fps == pytest.approx(2 * rig_motion.fps)
    assert torch.equal(more.resampled(len(more)).angles, more.angles)
    torch.testing.assert_close(more.world(rig)[::2], rig_motion.world(rig), rtol=0, atol=1e-5)


def test_on_the_spot_a_walk_leads_nowhere():
    _, rig, _, _, rig_motion = gait_on_rig(dog, "walk")
    still = rig_motion.in_place()
    assert not still.travel.any()
    way = (still.repeated(2, rig).world(rig)[len(rig_motion)] - still.world(rig)[0]).abs().max()
    assert way < 1e-6
    assert rig_motion.travel.norm() > 0.1


def test_a_glide_is_even():
    rig_motion = RigMotion.at_rest(3, 5, 2.0, loops=False, glide=np.array([0.0, 0.0, 4.0]))
    assert rig_motion.root_translation[:, 2].tolist() == [0, 1, 2, 3, 4]
    assert rig_motion.fps == 2.0


def test_state_holds_all_of_it():
    _, _, _, _, rig_motion = gait_on_rig(dog, "turn left")
    again = RigMotion.from_state(rig_motion.state())
    assert all(torch.equal(value, again.state()[name]) for name, value in rig_motion.state().items())
    assert (again.loops, again.seconds, again.turn) == (rig_motion.loops, rig_motion.seconds, rig_motion.turn)


def test_what_does_not_loop_cannot_be_repeated():
    rig = build_rig(analyze(fish()))
    with pytest.raises(ValueError, match="only a loop can be repeated"):
        RigMotion.at_rest(len(rig.nodes), 4, 1.0, loops=False).repeated(2, rig)


def test_the_heading_of_who_falls_on_its_front_does_not_jump():
    """Frames in between are those of the fall, though the body faces the ground and then what was behind it."""
    anatomy = analyze(human())
    rig = build_rig(anatomy)
    pitch = np.radians(np.linspace(0, 100, 21))
    turned = np.tile(np.eye(4), (21, 1, 1))
    turned[:, :3, :3] = rotation_about(anatomy.left, pitch)
    poses = turned[:, None] @ rig.world()
    motion = rig_motion_of_poses(rig, poses, 1.0, False)
    assert motion.root_angles[:, 0].abs().max() < 1e-4
    between = motion.resampled(41).world(rig)[1::2]
    halfway = np.tile(np.eye(4), (20, 1, 1))
    halfway[:, :3, :3] = rotation_about(anatomy.left, (pitch[1:] + pitch[:-1]) / 2)
    np.testing.assert_allclose(between.numpy(), (halfway[:, None] @ rig.world())[:, :, :3], atol=0.01)
