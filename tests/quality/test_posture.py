"""Posture, where the answer is known: one joint is turned by a known angle and back."""

import numpy as np
import pytest
from character.creatures import dog, fish, human, snake, turned
from motion.strides import body

from gambol import Clip, analyze
from gambol.character.clip import Track
from gambol.character.transforms import quaternion_multiply
from gambol.quality.normalized_clip import normalize_clip
from gambol.quality.posture import (
    arm_swing,
    hand_height,
    head_tilt,
    head_turn,
    tail_swing,
    trunk_pitch,
    trunk_twist,
    trunk_yaw,
)

X, Y, Z = np.eye(3)
TIMES = np.linspace(0.0, 1.0, 61)


def swung(character, joint, axis, degrees, base=None):
    """A clip in which a joint turns about an axis of its parent's space to ±degrees, and the root by base (axis,
    degrees) all the time. Joints of clay have no rotation of their own at rest, so axes are those of the world."""
    half = np.radians(degrees) * np.sin(2 * np.pi * TIMES)[:, None] / 2
    node = character.skeleton.names.index(joint)
    turns = np.concatenate([np.cos(half), np.sin(half) * axis], axis=1)
    tracks = [Track(node, "rotation", TIMES, quaternion_multiply(turns, character.skeleton.rest.rotation[node]))]
    if base is not None:
        root = int(np.flatnonzero(character.skeleton.is_joint)[0])
        half = np.radians(base[1]) / 2
        turn = np.append(np.cos(half), np.sin(half) * base[0])
        tracks.append(Track(root, "rotation", TIMES[[0, -1]], np.tile(turn, (2, 1))))
    return Clip("swing", tuple(tracks))


def measured(measure, character, *arguments, **options):
    return measure(normalize_clip(character, swung(character, *arguments, **options), analyze(character)))


@pytest.mark.parametrize("degrees", [1.0, 20.0, 50.0])
def test_a_chest_that_turns_to_both_sides_twists_the_trunk_by_twice_the_angle(degrees):
    assert measured(trunk_twist, human(), "spine", Y, degrees) == pytest.approx(2 * degrees, rel=0.01)
    assert measured(trunk_twist, human(), "spine", X, degrees) == pytest.approx(0.0, abs=0.01), "a bow is no twist"


@pytest.mark.parametrize("degrees", [1.0, 25.0])
@pytest.mark.parametrize("turn", [0.0, 90.0, 360.0])
def test_a_body_that_swings_to_both_sides_yaws_by_twice_the_angle_however_it_turns(degrees, turn):
    """Chest and hips go together, so that the trunk does not twist. A turn of 360 degrees is that of a loop."""
    character = human()
    yaw = np.radians(degrees * np.sin(4 * np.pi * TIMES) + turn * TIMES)[:, None] / 2
    node = character.skeleton.names.index("hips")
    turns = np.concatenate([np.cos(yaw), np.sin(yaw) * Y], axis=1)
    clip = Clip("walk", (Track(node, "rotation", TIMES, turns),))
    normalized = normalize_clip(character, clip, analyze(character))
    assert trunk_yaw(normalized) == pytest.approx(2 * degrees, rel=0.01, abs=0.05)
    assert trunk_twist(normalized) == pytest.approx(0.0, abs=0.01)


def test_a_bow_is_no_yaw():
    assert measured(trunk_yaw, human(), "spine", X, 40.0) == pytest.approx(0.0, abs=0.01)
    assert measured(trunk_yaw, human(), "spine", Y, 20.0) == pytest.approx(40.0, rel=0.01)


def test_a_quadruped_twists_about_the_line_from_hips_to_shoulders():
    clip = normalize_clip(dog(), swung(dog(), "chest", Z, 15.0), analyze(dog()))
    limbs = {limb.chain[0] for limb in clip.anatomy.legs}
    assert len(limbs) == 4
    assert trunk_twist(clip) == pytest.approx(30.0, rel=0.05), "the line is level but for some degrees"


def test_legs_and_arms_that_swing_do_not_twist_the_trunk():
    """Also if their first joint swings: positions of hips would call that a twist."""
    for joint in ("thigh.L", "upper_arm.L"):
        assert measured(trunk_twist, human(), joint, Y, 40.0) == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize("degrees", [5.0, 30.0])
def test_a_trunk_that_bows_pitches(degrees):
    """Upright is the highest that the line from hips to shoulders can point, so a bow to either side counts once."""
    assert measured(trunk_pitch, human(), "hips", X, degrees) == pytest.approx(degrees, abs=1.0)
    assert measured(trunk_pitch, dog(), "hips", X, degrees / 2) == pytest.approx(degrees, rel=0.05)
    assert measured(trunk_pitch, human(), "hips", Y, degrees) == pytest.approx(0.0, abs=0.05)


def test_arms_swing_in_the_frame_of_the_chest():
    character = human()
    assert measured(arm_swing, character, "upper_arm.L", Y, 30.0) == pytest.approx(30.0, rel=0.01), "mean of both arms"
    assert measured(arm_swing, character, "spine", Y, 40.0) == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize("degrees, height", [(90.0, 1.0), (30.0, 0.5), (0.0, 0.0)])
def test_a_hand_that_points_straight_up_is_an_arm_higher_than_its_shoulder(degrees, height):
    """Arms of the clay human are level in the neutral pose."""
    assert measured(hand_height, human(), "upper_arm.L", Z, degrees) == pytest.approx(height, abs=0.01)


def test_heads_turn_against_the_hips_and_lean_against_the_world():
    character = human()
    assert measured(head_turn, character, "head", Y, 25.0) == pytest.approx(50.0, rel=0.01)
    assert measured(head_tilt, character, "head", Y, 25.0) == pytest.approx(0.0, abs=0.01)
    assert measured(head_tilt, character, "head", X, 25.0) == pytest.approx(25.0, rel=0.01)
    assert measured(head_turn, character, "hips", X, 25.0) == pytest.approx(0.0, abs=0.01)
    assert measured(head_tilt, character, "hips", X, 25.0) == pytest.approx(25.0, rel=0.01)
    upside_down = measured(head_tilt, character, "head", Y, 0.0, base=(X, 180.0))
    assert upside_down == pytest.approx(180.0, abs=0.1)


def test_tails_swing_against_the_hips():
    """The tail of the clay dog is in the plane of symmetry."""
    character = dog()
    anatomy = analyze(character)
    tail = character.skeleton.names[anatomy.body.nodes[anatomy.joints_of("tail")[0]]]
    assert measured(tail_swing, character, tail, X, 20.0) == pytest.approx(40.0, rel=0.01)
    assert measured(tail_swing, character, "hips", X, 20.0) == pytest.approx(0.0, abs=0.01)


def test_nothing_is_said_of_parts_that_are_not_there():
    for make in (snake, fish):
        clip = normalize_clip(make(), Clip("pose", ()), analyze(make()))
        assert [each(clip) for each in (trunk_twist, trunk_yaw, trunk_pitch, arm_swing, hand_height)] == [None] * 5
    clip = normalize_clip(*_still("human"))
    assert tail_swing(clip) is None and head_turn(clip) == pytest.approx(0.0, abs=1e-3)
    clip = normalize_clip(*_still("dog"))
    assert arm_swing(clip) is None and hand_height(clip) is None


def _still(name):
    character, anatomy = body(name)
    return character, Clip("pose", ()), anatomy


@pytest.mark.parametrize(
    "measure, joint, axis",
    [
        (trunk_twist, "spine", Y),
        (trunk_yaw, "spine", Y),
        (trunk_pitch, "spine", X),
        (arm_swing, "upper_arm.L", Y),
        (hand_height, "upper_arm.R", Z),
        (head_turn, "head", Y),
        (head_tilt, "head", X),
    ],
)
def test_heading_size_and_units_do_not_count(measure, joint, axis):
    plain = measured(measure, human(), joint, axis, 20.0)
    assert measured(measure, human(), joint, axis, 20.0, base=(Y, 70.0)) == pytest.approx(plain, abs=0.02)
    for scale, heading in ((100.0, 0.0), (0.01, 40.0)):
        half = np.radians(heading) / 2
        other = turned(human(), (np.cos(half), 0.0, np.sin(half), 0.0), scale)
        anatomy = analyze(other)
        clip = normalize_clip(other, swung(other, joint, axis, 20.0), anatomy)
        assert measure(clip) == pytest.approx(plain, rel=1e-3, abs=0.02)
