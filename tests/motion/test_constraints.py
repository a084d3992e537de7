"""What users pin, keep or leave alone stays as it is."""

import numpy as np
import pytest
import torch
from character.creatures import dog

from gambol.character.anatomy import analyze
from gambol.character.rig import build_rig
from gambol.distillation.config import AnimateConfig
from gambol.distillation.constraints import constraints_of
from gambol.errors import GambolError
from gambol.motion.constraints import Constraints, Pin, no_constraints
from gambol.motion.parameters import FrameParameters
from gambol.motion.rig_motion import RigMotion

JOINTS = 5
UP = torch.tensor([0.0, 1.0, 0.0])


def controls(frames=20, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(shape, generator=generator) for shape in ((frames, JOINTS, 3), (frames, 3), (frames, 3)))


def base(frames=20, loops=True):
    return RigMotion.at_rest(JOINTS, frames, 1.0, loops)


def pin(moment, seed):
    generator = torch.Generator().manual_seed(seed)
    return Pin(moment, torch.randn(JOINTS, 3, generator=generator), 0.3 * seed, torch.randn(3, generator=generator))


def test_nothing_held_changes_nothing():
    given = controls()
    for found, was in zip(no_constraints(JOINTS).applied(given, base(), UP), given, strict=True):
        assert torch.equal(found, was)


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("moments", [(0.0,), (0.0, 0.5), (0.2, 0.3, 0.9), (0.95, 0.0)])
def test_pinned_poses_are_exact_and_others_are_eased_towards_them(loops, moments):
    pins = tuple(pin(moment, seed) for seed, moment in enumerate(moments))
    rig_motion = base(loops=loops)
    constraints = Constraints(torch.zeros(JOINTS, dtype=torch.bool), pins)
    given = controls()
    angles, shift, turns = constraints.applied(given, rig_motion, UP)
    for each, frame in zip(pins, constraints.pinned_frames(rig_motion).tolist(), strict=True):
        torch.testing.assert_close(angles[frame], each.angles, rtol=0, atol=1e-4)
        assert float(shift[frame] @ UP) == pytest.approx(each.height, abs=1e-4)
        torch.testing.assert_close(turns[frame, 1:], each.root_angles[1:], rtol=0, atol=1e-4)
    assert torch.equal(turns[:, 0], given[2][:, 0]), "the heading is free"
    assert torch.equal(shift[:, [0, 2]], given[1][:, [0, 2]]), "so is the way"


def test_a_pin_is_felt_nearby_and_not_far_away():
    rig_motion = RigMotion.at_rest(JOINTS, 60, 4.0, loops=False)
    nothing = tuple(
        torch.zeros_like(part) for part in (rig_motion.angles, rig_motion.root_translation, rig_motion.root_angles)
    )
    angles, _, _ = Constraints(torch.zeros(JOINTS, dtype=torch.bool), (pin(0.5, 1),)).applied(nothing, rig_motion, UP)
    size = angles.norm(dim=(1, 2))
    assert size[:10].max() < 1e-3 * size.max() > size[-10:].max()
    middle = int(size.argmax())
    assert (size[middle + 1 : middle + 8].diff() < 0).all()


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("frames", [(4, 5, 6), (0, 1, 59), (3, 20, 21)])
def test_pins_of_neighbouring_frames_do_not_throw_others_about(frames, loops):
    rig_motion = RigMotion.at_rest(JOINTS, 60, 2.0, loops)
    last = 60 if loops else 59
    pins = tuple(pin(frame / last, seed) for seed, frame in enumerate(frames))
    nothing = tuple(
        torch.zeros_like(part) for part in (rig_motion.angles, rig_motion.root_translation, rig_motion.root_angles)
    )
    angles, shift, _ = Constraints(torch.zeros(JOINTS, dtype=torch.bool), pins).applied(nothing, rig_motion, UP)
    assert angles.abs().max() <= max(each.angles.abs().max() for each in pins) + 1e-5
    assert shift.abs().max() <= max(each.height for each in pins) + 1e-5
    for each, frame in zip(pins, frames, strict=True):
        torch.testing.assert_close(angles[frame], each.angles, rtol=0, atol=1e-5)


def test_pins_that_share_a_frame_of_a_coarse_motion_meet_in_the_middle():
    rig_motion = base(frames=8)
    pins = (pin(0.50, 1), pin(0.52, 2))
    constraints = Constraints(torch.zeros(JOINTS, dtype=torch.bool), pins)
    assert constraints.pinned_frames(rig_motion).tolist() == [4, 4]
    angles, _, _ = constraints.applied(controls(frames=8), rig_motion, UP)
    torch.testing.assert_close(angles[4], (pins[0].angles + pins[1].angles) / 2, rtol=0, atol=1e-5)


def test_outside_a_segment_everything_stays():
    rig_motion = base(loops=False)
    constraints = Constraints(torch.zeros(JOINTS, dtype=torch.bool), segment=(0.25, 0.75))
    given = controls()
    free = constraints.freedom(rig_motion)
    inside, outside = (
        (rig_motion.along > 0.45) & (rig_motion.along < 0.55),
        (rig_motion.along < 0.24) | (rig_motion.along > 0.76),
    )
    assert (free[inside] == 1).all() and (free[outside] == 0).all()
    for found, now, was in zip(
        constraints.applied(given, rig_motion, UP),
        given,
        (rig_motion.angles, rig_motion.root_translation, rig_motion.root_angles),
        strict=True,
    ):
        assert torch.equal(found[outside], was[outside])
        torch.testing.assert_close(found[inside], now[inside])


def test_kept_joints_do_not_move_whatever_is_pinned():
    frozen = torch.tensor([False, True, False, False, True])
    angles, _, _ = Constraints(frozen, (pin(0.5, 1),)).applied(controls(), base(), UP)
    assert not angles[:, frozen].any()
    assert angles[:, ~frozen].any()


def test_gradients_flow_where_there_is_freedom():
    rig = build_rig(analyze(dog()))
    rig_motion = RigMotion.at_rest(len(rig.nodes), 12, 1.0, loops=False)
    frozen = torch.zeros(len(rig.nodes), dtype=torch.bool)
    frozen[2] = True
    params = FrameParameters(rig, rig_motion, 1.0, Constraints(frozen, segment=(0.3, 0.9)))
    params().T_world_joint.square().sum().backward()
    assert params.angles.grad is not None
    assert not params.angles.grad[:, 2].any()
    assert not params.angles.grad[:3].any()
    assert params.angles.grad[6].any()


def test_names_and_frames_of_users_become_holds():
    character = dog()
    rig = build_rig(analyze(character))
    rig_motion = RigMotion.at_rest(len(rig.nodes), 16, 2.0, loops=True)
    name = character.skeleton.names[rig.nodes[3]]
    constraints = constraints_of(
        character, rig, AnimateConfig(freeze=(name,), pins=((30, "rest"),)), rig_motion, cycles=3
    )
    assert np.flatnonzero(constraints.frozen).tolist() == [3]
    assert constraints.pins[0].moment == pytest.approx(0.5)
    assert not constraints.pins[0].angles.any()


@pytest.mark.parametrize("frame", [0, 18, 19, 150, 299])
def test_frames_count_through_rounds_that_are_no_whole_number_of_them(frame):
    character = dog()
    rig = build_rig(analyze(character))
    rig_motion = RigMotion.at_rest(len(rig.nodes), 16, 10 / 16, loops=True)  # 18.75 frames
    constraints = constraints_of(character, rig, AnimateConfig(pins=((frame, "rest"),)), rig_motion, cycles=16)
    assert constraints.pins[0].moment == pytest.approx(frame / 18.75 % 1)
    with pytest.raises(GambolError, match="the clip has frames 0 to 299"):
        constraints_of(character, rig, AnimateConfig(pins=((300, "rest"),)), rig_motion, cycles=16)


@pytest.mark.parametrize(
    "wish, message",
    [
        ({"freeze": ("nose",)}, "has no joint 'nose'. Available: "),
        ({"pins": ((400, "rest"),)}, "the clip has frames 0 to 59"),
        ({"pins": ((3, "wink"),)}, "has no clip 'wink'. Available: rest"),
        ({"pins": ((3, "rest"), (3, "rest"))}, "pinned to the same frame"),
        ({"pins": ((3, "rest"),), "init": "trot", "frames": (3, 9)}, "pin 3:rest is outside the frames 3:9"),
    ],
)
def test_what_is_not_there_cannot_be_held(wish, message):
    character = dog()
    rig = build_rig(analyze(character))
    with pytest.raises(GambolError, match=message):
        constraints_of(
            character, rig, AnimateConfig(**wish), RigMotion.at_rest(len(rig.nodes), 16, 2.0, loops=True), cycles=1
        )


@pytest.mark.parametrize(
    "wish, message",
    [
        ({"fps": 0.0}, "fps must be from 1 to 240, got 0"),
        ({"seconds": -1.0}, "seconds must be from 0.1 to 600"),
        ({"frames": (3, 9)}, "frames 3:9 needs the clip to redo"),
        ({"frames": (9, 3), "init": "walk"}, "frames 9:3 goes from a frame to a later one"),
        ({"strength": 0.0}, "strength must be from"),
        ({"seed": 10**8}, "seed must be from 0 to 1,000,000"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wish, message):
    with pytest.raises(GambolError, match=message):
        AnimateConfig(**wish)
