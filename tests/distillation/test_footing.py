"""Feet on the ground: gaits whose truth is known are made to slide, and must be found again."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from character.creatures import dog, fish, human, spider

from gambol.character.anatomy import study
from gambol.character.rig import build_rig
from gambol.creatures.gaits import gait
from gambol.distillation.footing import Footing, FootingConfig, find_loads, grounded
from gambol.distillation.pacing import seconds_for
from gambol.motion.draft import Draft, draft_of
from gambol.motion.low_skin import LowSkin
from gambol.priors.pocket.actions import ACTIONS
from gambol.priors.pocket.look import draw_figure
from gambol.quality.feet import measure_feet


class Case:
    def __init__(self, make, action, frames=32):
        self.character = make()
        self.anatomy = study(self.character)
        self.rig, self.length = build_rig(self.anatomy), draw_figure(self.anatomy).leg
        motion = gait(self.character, self.anatomy, action)
        times = motion.start + motion.duration * np.arange(frames) / frames
        self.truth = draft_of(self.character, self.rig, motion, times, True)
        self.skin = LowSkin(self.character, self.anatomy, self.rig, 200)

    def loads(self, draft, leaps=False):
        return find_loads(self.anatomy, self.rig, draft, self.length, goes=True, leaps=leaps)

    def begin(self, draft):
        loads = self.loads(draft)
        travel = torch.as_tensor(loads.travel, dtype=torch.float32)
        shift = draft.root_translation + draft.along[:, None] * (travel - draft.travel)
        return grounded(self.anatomy, replace(draft, root_translation=shift, travel=travel), loads, self.rig), loads

    def feet(self, draft):
        world = draft.repeated(2, self.rig).world(self.rig)[: len(draft) + 1]
        loads = self.loads(draft)
        return measure_feet(
            loads.points(world),
            self.skin.heights(world),
            up=torch.as_tensor(self.anatomy.up, dtype=torch.float32),
            stand=loads.stand,
            length=self.length,
            rate=draft.rate,
            speed=float(draft.travel.norm()) / draft.seconds,
        )


@pytest.mark.parametrize(
    "make, action", [(dog, "walk"), (dog, "gallop"), (human, "walk"), (human, "run"), (spider, "walk")]
)
def test_the_speed_of_a_gait_on_the_spot_is_found(make, action):
    case = Case(make, action)
    travel = case.loads(case.truth.on_the_spot()).travel
    np.testing.assert_allclose(travel, case.truth.travel.numpy(), atol=0.06 * float(case.truth.travel.norm()))


@pytest.mark.parametrize("make, action", [(dog, "trot"), (human, "walk")])
def test_feet_that_slide_and_sink_are_put_right(make, action):
    """Legs get swings of their own that the ground knows nothing of."""
    case = Case(make, action)
    waves = torch.sin(2 * torch.pi * case.truth.along[:, None] + torch.arange(len(case.rig.nodes)))
    spoilt = case.truth.on_the_spot()
    spoilt = replace(spoilt, angles=spoilt.angles + 0.06 * torch.nn.functional.pad(waves[..., None], (0, 2)))
    start, loads = case.begin(spoilt)
    act = Footing(case.anatomy, case.rig, case.skin, start, loads, case.length, FootingConfig())
    losses = [act.step(number)["total"] for number in range(act.steps)]
    before, after = case.feet(start), case.feet(act.draft())
    assert losses[-1] < 0.3 * losses[0]
    assert after.slide < 0.5 * before.slide
    assert after.depth < 0.04
    changed = (act.draft().angles - start.angles).abs()
    assert changed.max() < 0.6, "legs are changed as little as possible"
    legs = [joint for leg in case.anatomy.legs for joint in leg.joints]
    assert not changed[:, [joint for joint in range(len(case.rig.nodes)) if joint not in legs]].any()
    assert abs(float(act.draft().travel.norm() / case.truth.travel.norm()) - 1) < 0.25


def test_a_good_gait_is_left_alone():
    case = Case(dog, "walk")
    start, loads = case.begin(case.truth.on_the_spot())
    act = Footing(case.anatomy, case.rig, case.skin, start, loads, case.length, FootingConfig())
    for number in range(act.steps):
        act.step(number)
    assert case.feet(act.draft()).skating < case.feet(case.truth).skating + 0.02
    assert (act.draft().angles - start.angles).abs().mean() < 0.03


def test_who_stands_does_not_travel():
    case = Case(dog, "idle")
    loads = find_loads(case.anatomy, case.rig, case.truth, case.length, goes=False)
    assert np.abs(loads.travel).max() < 1e-6
    assert (loads.weights > 0.9).float().mean() > 0.9
    act = Footing(case.anatomy, case.rig, case.skin, case.truth, loads, case.length, FootingConfig(steps=3))
    for number in range(3):
        act.step(number)
    assert act.draft().travel.abs().max() < 1e-6


def test_the_legless_have_no_feet_to_care_for():
    character = fish()
    anatomy = study(character)
    rig = build_rig(anatomy)
    draft = Draft.at_rest(len(rig.nodes), 16, 1.0, loops=True)
    loads = find_loads(anatomy, rig, draft, 1.0, goes=True)
    assert not len(loads.joints)
    act = Footing(anatomy, rig, LowSkin(character, anatomy, rig), draft, loads, 1.0, FootingConfig(steps=2))
    assert np.isfinite(act.step(0)["total"])
    assert torch.isfinite(act.draft().world(rig)).all()


@pytest.mark.parametrize("make", [dog, human, spider, fish])
def test_every_action_takes_its_time(make):
    anatomy = study(make())
    seconds = {action: seconds_for(anatomy, action) for action in ACTIONS}
    assert all(0.05 < value < 10 for value in seconds.values())
    assert seconds["run"] < seconds["walk"] < seconds["stand"]
    assert seconds_for(anatomy, "walk", 1.0) < seconds["walk"] < seconds_for(anatomy, "walk", -1.0)
