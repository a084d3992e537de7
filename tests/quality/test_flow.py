"""Speed, jerk, shaking, ranges and seams of movements whose formulas are known."""

import numpy as np
import pytest
from character.creatures import dog, human, snake, turned

from gambol import Clip
from gambol.character.anatomy import analyze
from gambol.character.clip import Track
from gambol.motion.gait import knee_of
from gambol.motion.legs import legs_of
from gambol.quality.flow import jitter, joint_range, loop_seam, motion_amount
from gambol.quality.normalized_clip import normalize_clip

UP = (0.0, 1.0, 0.0)


@pytest.fixture(scope="module")
def body():
    character = human()
    return character, analyze(character)


def shifted(character, offsets, seconds, name="hips"):
    """A node moved from its place along a curve of evenly spaced keys [file units]."""
    node = character.skeleton.names.index(name)
    values = character.skeleton.rest.translation[node] + offsets
    return Clip("shifted", (Track(node, "translation", np.linspace(0, seconds, len(values)), values),))


def swung(character, name, axis, degrees, seconds=1.0):
    """A joint turned about an axis of the file by angles at evenly spaced keys."""
    node, half = character.skeleton.names.index(name), np.radians(np.asarray(degrees, float)) / 2
    values = np.column_stack([np.cos(half), np.sin(half)[:, None] * axis])
    return Clip("swung", (Track(node, "rotation", np.linspace(0, seconds, len(values)), values),))


def heave(character, height, parts, seconds=2.0, rate=240, axis=UP):
    """The whole body up and down: a sum of sines (amplitude [m at 1 m height], frequency [Hz])."""
    times = np.arange(round(seconds * rate) + 1) / rate
    wave = sum(amplitude * np.sin(2 * np.pi * frequency * times) for amplitude, frequency in parts)
    return shifted(character, height * wave[:, None] * axis, seconds)


def measured(metric, body, clip):
    return metric(normalize_clip(body[0], clip, body[1]))


@pytest.mark.parametrize("amplitude, frequency", [(0.1, 1), (0.05, 2), (0.02, 4)])
def test_a_sine_has_the_speed_and_the_jerk_of_its_formula(body, amplitude, frequency):
    omega, step = 2 * np.pi * frequency, 1 / 30
    clip = heave(body[0], body[1].height, [(amplitude, frequency)])
    assert measured(motion_amount, body, clip) == pytest.approx(amplitude * omega * 2 / np.pi, rel=0.02)
    found = measured(jitter, body, clip)
    difference = 2 * np.sin(omega * step / 2) / step  # what differences make of omega
    assert found["jerk"] == pytest.approx(amplitude * difference**3 * 2 / np.pi, rel=0.03)
    assert found["high_frequency"] < 0.1


@pytest.mark.parametrize("rise", [0.0, 0.5])
def test_shaking_is_its_share_of_the_energy(body, rise):
    """12 Hz added to 2 Hz, in a loop and in a clip that ends elsewhere."""
    clip = heave(body[0], body[1].height, [(0.05, 2), (0.001, 12)], 3.0)
    ramp = rise * np.linspace(0, 1, len(clip.tracks[0].times))[:, None] * UP
    clip = shifted(body[0], clip.tracks[0].values - clip.tracks[0].values[0] + ramp, 3.0)
    normalized = normalize_clip(body[0], clip, body[1])
    assert normalized.loops is (rise == 0)
    true = (0.001 * 12) ** 2 / ((0.05 * 2) ** 2 + (0.001 * 12) ** 2)
    assert jitter(normalized)["high_frequency"] == pytest.approx(100 * true, rel=0.03)


def test_shaking_of_one_joint_is_found(body):
    times = np.linspace(0, 2, 481)
    calm = swung(body[0], "upper_arm.L", (0, 0, 1), 30 * np.sin(np.pi * times), 2.0)
    shaking = swung(body[0], "upper_arm.L", (0, 0, 1), 30 * np.sin(np.pi * times) + np.sin(24 * np.pi * times), 2.0)
    still, moved = measured(jitter, body, calm), measured(jitter, body, shaking)
    true = (12 * 1) ** 2 / ((0.5 * 30) ** 2 + 12**2)
    assert still["high_frequency"] < 0.1 and moved["high_frequency"] == pytest.approx(100 * true, rel=0.1)
    assert moved["jerk"] > 20 * still["jerk"]


@pytest.mark.parametrize("rate", [24, 30, 60, 120])
def test_the_rate_of_keys_hardly_matters(body, rate):
    parts = [(0.05, 1), (0.02, 2), (0.01, 3)]
    fine, coarse = (measured(jitter, body, heave(body[0], body[1].height, parts, rate=r)) for r in (480, rate))
    assert coarse["jerk"] == pytest.approx(fine["jerk"], rel=0.15)
    assert coarse["high_frequency"] < 0.2


def test_a_statue_does_not_move_even_if_it_is_pushed(body):
    """Level ways of the whole body are no motion; neither are they jerky, at an even speed."""
    still = shifted(body[0], np.zeros((31, 3)), 1.0)
    pushed = shifted(body[0], np.linspace(0, 3, 31)[:, None] * (0.6, 0, 0.8), 1.0)
    for clip in (still, pushed):
        assert measured(motion_amount, body, clip) < 1e-6
        found = measured(jitter, body, clip)
        assert found["jerk"] < 1e-3 and found["high_frequency"] < 1e-4
    stops = shifted(body[0], np.minimum(np.linspace(0, 6, 31), 3)[:, None] * (0.6, 0, 0.8), 1.0)
    assert measured(motion_amount, body, stops) < 1e-6


def test_motion_does_not_depend_on_size_or_direction():
    """In other units, another way up and other axes the same clip is the same."""
    found = []
    for scale, wxyz in ((1.0, (1, 0, 0, 0)), (100.0, (0.5**0.5, 0.5**0.5, 0, 0))):
        character = turned(human(), wxyz, scale)
        up = ("+y", "+z")[scale > 1]
        clip = normalize_clip(
            character, swung(character, "thigh.L", (1, 0, 0), [0, -40, 0, 30, 0]), analyze(character, up=up)
        )
        shaken = jitter(clip)
        found.append([motion_amount(clip), shaken["jerk"], shaken["high_frequency"], joint_range(clip)["joint_range"]])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4)


def test_ranges_are_the_angles_between_extremes(body):
    there = measured(joint_range, body, swung(body[0], "forearm.L", (0, 1, 0), np.linspace(0, 70, 31)))
    assert there["joint_range"] == pytest.approx(70, abs=0.01)
    swings = measured(
        joint_range, body, swung(body[0], "thigh.R", (1, 0, 0), 30 * np.sin(np.linspace(0, 2 * np.pi, 61)))
    )
    assert swings["joint_range"] == pytest.approx(60, abs=0.2)
    two = Clip(
        "two", (*swung(body[0], "head", UP, [0, 20]).tracks, *swung(body[0], "shin.L", (1, 0, 0), [0, 50]).tracks)
    )
    assert measured(joint_range, body, two)["joint_range"] == pytest.approx(50, abs=0.01)


def test_a_body_that_turns_as_a_whole_bends_nothing(body):
    found = measured(joint_range, body, swung(body[0], "hips", UP, np.linspace(0, 90, 31)))
    assert found["joint_range"] < 1e-3


@pytest.mark.parametrize("make", [human, dog])
def test_knees_that_bend_the_wrong_way_are_beyond(make):
    """For half of the time, by 60 degrees more than at rest; the right way they may."""
    character = make()
    anatomy = analyze(character)
    leg = legs_of(anatomy)[0]
    knee = knee_of(leg)
    name = character.skeleton.names[anatomy.body.nodes[leg.links[knee]]]
    right = np.repeat([0.0, 60.0 * np.sign(leg.chain.fold[knee])], 50)
    fine = joint_range(normalize_clip(character, swung(character, name, leg.chain.normal, right), anatomy))
    wrong = joint_range(normalize_clip(character, swung(character, name, leg.chain.normal, -2 * right), anatomy))
    assert fine["beyond_limits"] == 0
    hinges = 50 / wrong["beyond_limits"]
    assert hinges == pytest.approx(round(hinges), rel=0.05) and 1 < hinges < 20


def test_where_nothing_can_be_said():
    character = human()
    pose = Clip("pose", (Track(0, "translation", np.zeros(1), character.skeleton.rest.translation[:1]),))
    clip = normalize_clip(character, pose)
    assert [metric(clip) for metric in (jitter, motion_amount, joint_range, loop_seam)] == [{}, None, {}, {}]
    crawler = snake()
    assert joint_range(normalize_clip(crawler, swung(crawler, "body3", UP, [0, 20, 0])))["beyond_limits"] is None


def test_a_perfect_loop_has_no_seam(body):
    seam = measured(loop_seam, body, heave(body[0], body[1].height, [(0.05, 1), (0.02, 2)], rate=30))
    assert seam["seam_pose"] < 1e-6 and seam["seam_velocity"] < 0.02


def test_a_loop_cut_short(body):
    """A sine ends at its lowest after three quarters: where it rests, and should be at its fastest."""
    whole = heave(body[0], body[1].height, [(0.05, 1)], 1.0)
    short = shifted(body[0], whole.tracks[0].values[:181] - whole.tracks[0].values[0], 0.75)
    seam = measured(loop_seam, body, short)
    assert seam["seam_pose"] == pytest.approx(5, rel=1e-6)
    assert seam["seam_velocity"] == pytest.approx(np.pi / 2, rel=0.02)


def test_a_key_short_of_a_loop_is_as_far_as_its_key(body):
    """The file ends where a player jumps, even if we would close it."""
    whole = heave(body[0], body[1].height, [(0.05, 1)], 1.0, rate=30)
    short = shifted(body[0], whole.tracks[0].values[:-1] - whole.tracks[0].values[0], 29 / 30)
    clip = normalize_clip(body[0], short, body[1])
    assert clip.loops
    assert loop_seam(clip)["seam_pose"] == pytest.approx(5 * np.sin(2 * np.pi / 30), rel=1e-6)


def test_ways_and_turns_are_no_seam(body):
    """A walk that goes on, and a turn on the spot, both at an even speed."""
    legs = swung(body[0], "thigh.L", (1, 0, 0), 20 * np.sin(np.linspace(0, 2 * np.pi, 31))).tracks
    goes = Clip("goes", (*shifted(body[0], np.linspace(0, 1, 31)[:, None] * (0, 0, 1.5), 1.0).tracks, *legs))
    turns = Clip("turns", (*swung(body[0], "hips", UP, np.linspace(0, 90, 31)).tracks, *legs))
    for clip in (goes, turns):
        seam = measured(loop_seam, body, clip)
        assert seam["seam_pose"] < 0.01 and seam["seam_velocity"] < 0.1
    hops = Clip("hops", (*shifted(body[0], np.linspace(0, 1, 31)[:, None] * (0, 0.2, 0), 1.0).tracks, *legs))
    assert measured(loop_seam, body, hops)["seam_pose"] == pytest.approx(20 / body[1].height, rel=1e-3)


@pytest.mark.parametrize("frequency", [0.5, 1, 2])
@pytest.mark.parametrize("amplitude", [0.02, 0.2])
def test_roughness_knows_neither_size_nor_pace(body, amplitude, frequency):
    """1 for a sine wave; with a third of its size at three times its frequency, what the formula says."""
    smooth = measured(jitter, body, heave(body[0], body[1].height, [(amplitude, frequency)], 4.0, 60))
    assert smooth["roughness"] == pytest.approx(1, rel=0.05)
    rough = measured(
        jitter, body, heave(body[0], body[1].height, [(amplitude, frequency), (amplitude / 3, 3 * frequency)], 4.0, 60)
    )
    phase = np.linspace(0, 2 * np.pi, 10_000)
    jerk, speed = (np.abs(np.cos(phase) + 3 ** (power - 1) * np.cos(3 * phase)).mean() for power in (3, 1))
    width = np.sqrt(((np.sin(phase) + np.sin(3 * phase) / 3) ** 2).mean())
    assert rough["roughness"] == pytest.approx(
        np.sqrt(jerk / speed) * 4 * np.sqrt(2) * width / speed / (2 * np.pi), rel=0.08
    )


def test_shaking_begins_at_eight_hertz(body):
    slow = [(0.05, 0.5)]
    calm, shaken = (
        measured(jitter, body, heave(body[0], body[1].height, [*slow, (0.005, f)], 2.0)) for f in (6.5, 9.5)
    )
    assert calm["high_frequency"] < 1 < 30 < shaken["high_frequency"]


def test_brisk_loops_in_few_keys_have_no_seam(body):
    """Every key changes the velocity of what is keyed coarsely; the seam is as good as any."""
    seam = measured(loop_seam, body, heave(body[0], body[1].height, [(0.05, 1), (0.03, 3)], rate=15))
    assert seam["seam_pose"] < 1e-6 and seam["seam_velocity"] < 0.15
