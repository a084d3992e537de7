"""Drafts: clips in the rig's terms and back, other frame rates, several rounds."""

import numpy as np
import pytest
import torch
from character.creatures import dog, fish, human

from gambol.character.anatomy import study
from gambol.character.rig import build_rig
from gambol.creatures.gaits import gait
from gambol.motion.draft import Draft, draft_of


def drafted(make, action, frames=24, loops=True):
    character = make()
    anatomy = study(character)
    rig, motion = build_rig(anatomy), gait(character, anatomy, action)
    steps = frames if loops else frames - 1
    times = motion.start + motion.duration * np.arange(frames) / steps
    return character, rig, motion, times, draft_of(character, rig, motion, times, loops)


@pytest.mark.parametrize("make", [dog, human])
@pytest.mark.parametrize("action", ["walk", "jump", "turn left"])
@pytest.mark.parametrize("loops", [True, False])
def test_a_clip_becomes_a_draft_of_the_same_poses(make, action, loops):
    character, rig, motion, times, draft = drafted(make, action, loops=loops)
    true = character.skeleton.world(motion.sample(character.skeleton, times))[:, rig.nodes]
    np.testing.assert_allclose(draft.world(rig).numpy(), true[:, :, :3], atol=2e-5)
    assert draft.seconds == pytest.approx(motion.duration)


@pytest.mark.parametrize("action", ["walk", "turn left", "turn right"])
def test_rounds_follow_each_other_without_a_seam(action):
    """The frame after a round is the first frame of the next, where the clip itself ends."""
    character, rig, motion, _, draft = drafted(dog, action)
    end = character.skeleton.world(motion.sample(character.skeleton, np.array([motion.end])))[:, rig.nodes]
    twice = draft.repeated(2, rig)
    assert len(twice) == 2 * len(draft)
    assert twice.seconds == pytest.approx(2 * draft.seconds)
    np.testing.assert_allclose(twice.world(rig)[len(draft)].numpy(), end[0, :, :3], atol=1e-4)
    thrice = draft.repeated(3, rig).world(rig)
    steps = (thrice[1:] - thrice[:-1])[..., 3].norm(dim=-1).amax(1)
    assert steps[len(draft) - 1] <= 1.2 * steps[: len(draft) - 1].max(), "nor does anything jump there"
    if action != "walk":
        assert np.sign(twice.turn) == (1 if action == "turn left" else -1)


@pytest.mark.parametrize("loops", [True, False])
def test_other_frame_rates_keep_the_motion(loops):
    _, rig, _, _, draft = drafted(dog, "walk", 32, loops)
    more = draft.resampled(64 if loops else 63)
    assert more.seconds == draft.seconds
    assert more.rate == pytest.approx(2 * draft.rate)
    assert torch.equal(more.resampled(len(more)).angles, more.angles)
    torch.testing.assert_close(more.world(rig)[::2], draft.world(rig), rtol=0, atol=1e-5)


def test_on_the_spot_a_walk_leads_nowhere():
    _, rig, _, _, draft = drafted(dog, "walk")
    still = draft.on_the_spot()
    assert not still.travel.any()
    way = (still.repeated(2, rig).world(rig)[len(draft)] - still.world(rig)[0]).abs().max()
    assert way < 1e-6
    assert draft.travel.norm() > 0.1


def test_a_glide_is_even():
    draft = Draft.at_rest(3, 5, 2.0, loops=False, glide=np.array([0.0, 0.0, 4.0]))
    assert draft.root_translation[:, 2].tolist() == [0, 1, 2, 3, 4]
    assert draft.rate == 2.0


def test_state_holds_all_of_it():
    _, _, _, _, draft = drafted(dog, "turn left")
    again = Draft.from_state(draft.state())
    assert all(torch.equal(value, again.state()[name]) for name, value in draft.state().items())
    assert (again.loops, again.seconds, again.turn) == (draft.loops, draft.seconds, draft.turn)


def test_what_does_not_loop_cannot_be_repeated():
    rig = build_rig(study(fish()))
    with pytest.raises(ValueError, match="only what loops"):
        Draft.at_rest(len(rig.nodes), 4, 1.0, loops=False).repeated(2, rig)
