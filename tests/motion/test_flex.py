import numpy as np
import pytest
from character.creatures import dog, human, posed

from gambol import analyze
from gambol.motion.flex import flex


def test_every_joint_moves_and_all_return():
    character = dog()
    clip = flex(character, analyze(character), degrees=20, seconds_per_joint=0.2)
    assert {track.node for track in clip.tracks} == set(np.flatnonzero(character.skeleton.is_joint))
    assert all(track.path == "rotation" for track in clip.tracks)
    rest = character.skeleton.rest
    for time in (clip.start, clip.end):
        assert np.allclose(clip.sample(character.skeleton, time).rotation, rest.rotation, atol=1e-6)


@pytest.mark.parametrize("degrees", [10.0, 45.0])
def test_joints_bend_as_far_as_told(degrees):
    character = dog()
    clip = flex(character, analyze(character), degrees=degrees, seconds_per_joint=0.4)
    for track in clip.tracks:
        turn = 2 * np.degrees(
            np.arccos(np.clip(np.abs(track.values @ character.skeleton.rest.rotation[track.node]), 0, 1))
        )
        assert turn.max() == pytest.approx(degrees, rel=0.01)


def test_keys_only_where_a_joint_moves():
    character = dog()
    clip = flex(character, analyze(character))
    assert max(len(track.times) for track in clip.tracks) <= 7  # five of its own, the beginning and the end


def test_mirror_images_move_as_mirror_images():
    character = human()
    anatomy = analyze(character)
    clip = flex(character, anatomy, degrees=40, seconds_per_joint=1.0)
    names = character.skeleton.names
    left, right = names.index("hand.L"), names.index("hand.R")
    world = character.skeleton.world(clip.sample(character.skeleton, clip.times(10)))[..., :3, 3]
    assert np.ptp(world[:, left], axis=0).max() > 0.1
    np.testing.assert_allclose(world[:, left] * (-1, 1, 1), world[:, right], atol=1e-6)


def test_a_file_that_shows_another_pose_is_flexed_about_the_neutral_one():
    character = posed(dog(), 1)
    anatomy = analyze(character)
    clip = flex(character, anatomy)
    start = character.skeleton.world(clip.sample(character.skeleton, 0.0))
    np.testing.assert_allclose(start[anatomy.body.nodes], anatomy.body.T_world_node[anatomy.body.nodes], atol=1e-6)
