import numpy as np
import pytest
from character.creatures import dog

from gambol import study
from gambol.motion.flex import flex


def test_every_joint_moves_and_all_return():
    character = dog()
    motion = flex(character, study(character), degrees=20, seconds_per_joint=0.2, fps=30)
    assert {track.node for track in motion.tracks} == set(np.flatnonzero(character.skeleton.is_joint))
    assert all(track.path == "rotation" for track in motion.tracks)
    rest = character.skeleton.rest
    for time in (motion.start, motion.end):
        assert np.allclose(motion.sample(character.skeleton, time).rotation, rest.rotation, atol=1e-6)


@pytest.mark.parametrize("degrees", [10.0, 45.0])
def test_joints_bend_as_far_as_told(degrees):
    character = dog()
    motion = flex(character, study(character), degrees=degrees, seconds_per_joint=0.4, fps=60)
    for track in motion.tracks:
        turn = 2 * np.degrees(
            np.arccos(np.clip(np.abs(track.values @ character.skeleton.rest.rotation[track.node]), 0, 1))
        )
        assert turn.max() == pytest.approx(degrees, rel=0.01)
