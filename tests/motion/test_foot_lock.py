"""Feet on the ground: gaits whose truth is known are made to slide, and must be found again."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from character.creatures import dog, fish, human, spider

from gambol.actions import ACTIONS
from gambol.character.anatomy import analyze
from gambol.character.rig import build_rig
from gambol.creatures.gaits import gait
from gambol.distillation.timing import seconds_for
from gambol.motion.contacts import find_contacts
from gambol.motion.foot_lock import FootLock, FootLockConfig, contact_loads, find_loads, grounded
from gambol.motion.ground import LowSkin
from gambol.motion.rig_motion import RigMotion, clip_of, rig_motion_of
from gambol.priors.pixels.figure import draw_stick_figure
from gambol.quality.measures import ground_values
from gambol.quality.normalized_clip import normalize_clip


class Case:
    def __init__(self, make, action, frames=32):
        self.character = make()
        self.anatomy = analyze(self.character)
        self.rig, self.length = build_rig(self.anatomy), draw_stick_figure(self.anatomy).leg
        clip = gait(self.character, self.anatomy, action)
        times = clip.start + clip.duration * np.arange(frames) / frames
        self.truth = rig_motion_of(self.character, self.rig, clip, times, True)
        self.skin = LowSkin(self.character, self.anatomy, self.rig, 200)

    def loads(self, rig_motion, leaps=False):
        return find_loads(self.anatomy, self.rig, rig_motion, self.length, goes=True, leaps=leaps)

    def begin(self, rig_motion):
        loads = self.loads(rig_motion)
        travel = torch.as_tensor(loads.travel, dtype=torch.float32)
        shift = rig_motion.root_translation + rig_motion.along[:, None] * (travel - rig_motion.travel)
        return grounded(
            self.anatomy, replace(rig_motion, root_translation=shift, travel=travel), loads, self.rig
        ), loads

    def measures(self, rig_motion):
        clip = clip_of(self.character, self.rig, rig_motion, "clip", rig_motion.fps)
        return ground_values(normalize_clip(self.character, clip, self.anatomy))


@pytest.mark.parametrize(
    "make, action", [(dog, "walk"), (dog, "gallop"), (human, "walk"), (human, "run"), (spider, "walk")]
)
def test_the_speed_of_a_gait_on_the_spot_is_found(make, action):
    case = Case(make, action)
    travel = case.loads(case.truth.in_place()).travel
    np.testing.assert_allclose(travel, case.truth.travel.numpy(), atol=0.06 * float(case.truth.travel.norm()))


@pytest.mark.parametrize("make, action", [(dog, "trot"), (human, "walk")])
def test_feet_that_slide_and_sink_are_put_right(make, action):
    """Legs get swings of their own that the ground knows nothing of."""
    case = Case(make, action)
    waves = torch.sin(2 * torch.pi * case.truth.along[:, None] + torch.arange(len(case.rig.nodes)))
    spoilt = case.truth.in_place()
    spoilt = replace(spoilt, angles=spoilt.angles + 0.06 * torch.nn.functional.pad(waves[..., None], (0, 2)))
    start, loads = case.begin(spoilt)
    lock = FootLock(case.anatomy, case.rig, case.skin, start, loads, case.length, FootLockConfig())
    losses = [lock.step(number)["total"] for number in range(lock.steps)]
    before, after = case.measures(start), case.measures(lock.rig_motion())
    assert losses[-1] < 0.3 * losses[0]
    assert after["foot_slide_mean"] < 0.5 * before["foot_slide_mean"]
    assert after["penetration_mean"] < 0.5 * before["penetration_mean"]
    changed = (lock.rig_motion().angles - start.angles).abs()
    assert changed.max() < 0.6, "legs are changed as little as possible"
    legs = [joint for leg in case.anatomy.legs for joint in leg.joints]
    assert not changed[:, [joint for joint in range(len(case.rig.nodes)) if joint not in legs]].any()
    assert abs(float(lock.rig_motion().travel.norm() / case.truth.travel.norm()) - 1) < 0.25


def test_a_good_gait_is_left_alone():
    case = Case(dog, "walk")
    start, loads = case.begin(case.truth.in_place())
    lock = FootLock(case.anatomy, case.rig, case.skin, start, loads, case.length, FootLockConfig())
    for number in range(lock.steps):
        lock.step(number)
    assert case.measures(lock.rig_motion())["foot_slide_mean"] < 2.0, "cm/s"
    assert (lock.rig_motion().angles - start.angles).abs().mean() < 0.03


def test_contacts_say_which_feet_bear_and_which_keep_their_height():
    case = Case(dog, "trot", frames=40)
    clip = clip_of(case.character, case.rig, case.truth, "trot", case.truth.fps)
    contacts = find_contacts(case.character, case.anatomy, clip)
    loads = contact_loads(case.anatomy, case.rig, case.truth, case.length, contacts)
    up = torch.as_tensor(case.anatomy.up, dtype=torch.float32)
    heights = (loads.points(case.truth.world(case.rig)) @ up - loads.stand) / case.length
    for leg, down in enumerate(contacts.down):
        share = float((loads.weights[:, loads.legs == leg].amax(1) > 0.5).float().mean())
        assert share == pytest.approx(down.mean(), abs=0.08)
    assert not (loads.weights * loads.clear).any(), "no foot does both"
    assert (loads.clear <= heights.clamp(min=0) + 1e-6).all(), "nobody has to be higher than it is"
    assert loads.clear.max() > 0.03 and (loads.clear[loads.weights == 0] > 0).float().mean() > 0.8


def test_who_stands_does_not_travel():
    case = Case(dog, "idle")
    loads = find_loads(case.anatomy, case.rig, case.truth, case.length, goes=False)
    assert np.abs(loads.travel).max() < 1e-6
    assert (loads.weights > 0.9).float().mean() > 0.9
    lock = FootLock(case.anatomy, case.rig, case.skin, case.truth, loads, case.length, FootLockConfig(steps=3))
    for number in range(3):
        lock.step(number)
    assert lock.rig_motion().travel.abs().max() < 1e-6


def test_who_stands_is_not_shaken():
    case = Case(human, "idle", 96)
    sway = 0.01 * torch.sin(2 * torch.pi * case.truth.along)[:, None] * torch.tensor([1.0, 0.3, 0.5])
    swaying = replace(case.truth, root_translation=case.truth.root_translation + sway)
    loads = find_loads(case.anatomy, case.rig, swaying, case.length, goes=False)
    assert not loads.change
    lock = FootLock(case.anatomy, case.rig, case.skin, swaying, loads, case.length, FootLockConfig(steps=60))
    for number in range(60):
        lock.step(number)
    before, after = (_jerk(each.world(case.rig)) for each in (swaying, lock.rig_motion()))
    assert after < 10 * before  # a hundred times as much with changes as quick as those of steps
    assert case.measures(lock.rig_motion())["foot_slide_mean"] < case.measures(swaying)["foot_slide_mean"]


def _jerk(world):
    """Mean size of the third differences of joints over time."""
    return float(torch.diff(world[..., 3], n=3, dim=0).norm(dim=-1).mean())


def test_the_legless_have_no_feet_to_care_for():
    character = fish()
    anatomy = analyze(character)
    rig = build_rig(anatomy)
    rig_motion = RigMotion.at_rest(len(rig.nodes), 16, 1.0, loops=True)
    loads = find_loads(anatomy, rig, rig_motion, 1.0, goes=True)
    assert not len(loads.joints)
    lock = FootLock(anatomy, rig, LowSkin(character, anatomy, rig), rig_motion, loads, 1.0, FootLockConfig(steps=2))
    assert np.isfinite(lock.step(0)["total"])
    assert torch.isfinite(lock.rig_motion().world(rig)).all()


@pytest.mark.parametrize("make", [dog, human, spider, fish])
def test_every_action_takes_its_time(make):
    anatomy = analyze(make())
    seconds = {action: seconds_for(anatomy, action) for action in ACTIONS}
    assert all(0.05 < value < 10 for value in seconds.values())
    assert seconds["run"] < seconds["walk"] < seconds["stand"]
    assert seconds_for(anatomy, "walk", 1.0) < seconds["walk"] < seconds_for(anatomy, "walk", -1.0)


def test_who_falls_lies_on_the_ground():
    """A body that is turned on its side in the air comes down with it."""
    character = dog()
    anatomy = analyze(character)
    rig = build_rig(anatomy)
    motion = RigMotion.at_rest(len(rig.nodes), 12, 1.0, False)
    turns = torch.zeros(12, 3)
    turns[:, 2] = torch.linspace(0, torch.pi / 2, 12)
    motion = replace(motion, root_angles=turns, root_translation=torch.tensor([0.0, 0.3, 0.0]).repeat(12, 1))
    skin = LowSkin(character, anatomy, rig, lies=True)
    assert skin.heights(motion.world(rig)).amin(1).min() > 0.05
    lowest = skin.heights(skin.settled(rig, motion).world(rig)).amin(1)
    assert lowest.abs().max() < 0.03 * anatomy.height
