"""Diagrams: what is drawn is what was measured."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from character.creatures import fish
from motion.strides import body, longer, standing, stride

from gambol import Clip, analyze
from gambol.character.clip import Track
from gambol.quality.charts import LABELS, WIDTH, VerticalAxis, gait_diagram, joint_angles, joint_curves
from gambol.quality.normalized_clip import normalize_clip


def bars_of(svg):
    """Left and right ends as shares of the clip, the row, and the fill of every bar."""
    found = []
    for bar in ElementTree.fromstring(svg).iter("rect"):
        if bar.get("class") == "contact":
            left, width = float(bar.get("x")), float(bar.get("width"))
            ends = (np.array([left, left + width]) - LABELS) / (WIDTH - 4 - LABELS)
            found.append((*ends, int(float(bar.get("y")) // 20), bar.get("fill")))
    return found


@pytest.mark.parametrize("name, action", [("dog", "walk"), ("human", "run"), ("spider", "walk")])
def test_every_contact_is_a_bar_in_its_row(name, action):
    clip = stride(name, action).examined()
    bars = bars_of(gait_diagram(clip))
    for leg in range(len(clip.anatomy.legs)):
        drawn = [bar for bar in bars if bar[2] == leg]
        spans = np.array(clip.contacts.spans(leg)) / clip.seconds
        solid = [bar for bar in drawn if not bar[3].startswith("url")]
        np.testing.assert_allclose([bar[:2] for bar in solid], np.minimum(spans, 1.0), atol=1e-3)
        across = [bar for bar in drawn if bar[3].startswith("url")]
        np.testing.assert_allclose([bar[1] for bar in across], [end - 1 for _, end in spans if end > 1], atol=1e-3)
        assert all(bar[0] == 0 for bar in across)
        shown = sum(bar[1] - bar[0] for bar in drawn)
        assert shown == pytest.approx(clip.down[leg].mean(), abs=5e-3)


def test_the_seam_is_spoken_of_only_where_a_foot_is_down_on_it():
    loop, once = stride("dog", "walk").examined(), stride("dog", "walk")
    assert "hatched" in gait_diagram(loop)
    longer_clip = gait_diagram(once.examined(longer(once.clip, 1.5)))
    assert "hatched" not in longer_clip and "url(" not in "".join(bar[3] for bar in bars_of(longer_clip))


def test_a_gait_diagram_says_which_gait_and_names_every_leg():
    clip = stride("dog", "trot").examined()
    svg = gait_diagram(clip)
    assert "Gait: trot" in svg and "strides/s" in svg
    for leg in clip.anatomy.legs:
        assert clip.anatomy.limb_name(leg) in svg


def test_nothing_is_drawn_of_what_has_no_legs_or_no_time():
    character = fish()
    assert gait_diagram(normalize_clip(character, standing(character), analyze(character))) == ""
    character, anatomy = body("dog")
    pose = normalize_clip(character, standing(character, 0.0), anatomy)
    assert gait_diagram(pose) == "" and joint_curves(pose) == ""
    assert joint_curves(normalize_clip(character, standing(character), anatomy)) == ""


def swung(character, name, axis, degrees):
    node, half = character.skeleton.names.index(name), np.radians(degrees) / 2
    values = np.column_stack([np.cos(half), np.sin(half)[:, None] * axis])
    return Clip("swung", (Track(node, "rotation", np.linspace(0.0, 2.0, len(values)), values),))


@pytest.mark.parametrize("axis", [(1.0, 0.0, 0.0), (0.0, 0.6, -0.8)])
@pytest.mark.parametrize("offset", [0.0, 40.0])
def test_angles_are_how_far_a_joint_was_turned(axis, offset):
    character, anatomy = body("human")
    degrees = offset + 30 * np.sin(np.linspace(0.0, 4 * np.pi, 241))
    clip = normalize_clip(character, swung(character, "shin.L", np.array(axis), degrees), anatomy)
    angles = joint_angles(clip)
    joint = int(np.ptp(angles, axis=0).argmax())
    assert character.skeleton.names[anatomy.body.nodes[joint]] == "shin.L"
    expected = np.interp(clip.times, np.linspace(0.0, 2.0, 241), degrees)
    error = min(np.abs(angles[:, joint] - sign * expected).max() for sign in (1, -1))
    assert error < 0.2
    others = np.delete(angles, joint, axis=1)
    assert np.abs(others).max() < 1e-3


def test_a_joint_that_goes_on_turning_is_counted_on():
    character, anatomy = body("human")
    clip = swung(character, "head", np.array([0.0, 1.0, 0.0]), np.linspace(0.0, 720.0, 241))
    angles = joint_angles(normalize_clip(character, clip, anatomy))
    assert np.ptp(angles, axis=0).max() == pytest.approx(720.0, rel=0.02)


def test_the_joints_that_move_most_are_drawn_and_no_more_than_asked_for():
    clip = stride("human", "walk").examined()
    for most in (1, 3, 8):
        drawing = ElementTree.fromstring(joint_curves(clip, most))
        assert len(list(drawing.iter("polyline"))) == most
    ranges = np.ptp(joint_angles(clip), axis=0)
    names = [clip.character.skeleton.names[node] for node in clip.anatomy.body.nodes]
    assert names[int(ranges.argmax())] in joint_curves(clip, 1)


def test_names_are_text_never_markup():
    made = stride("human", "walk")
    skeleton = made.character.skeleton
    names = tuple(f"<b>{name}" for name in skeleton.names)
    character = replace(made.character, skeleton=replace(skeleton, names=names))
    svg = joint_curves(replace(made.examined(), character=character))
    assert "<b>" not in svg and "&lt;b&gt;" in svg
    ElementTree.fromstring(svg)


def test_round_numbers_stand_beside_the_lines():
    marks = VerticalAxis(-40.0, 130.0, False).rules()
    assert ">100<" in marks and ">-0<" not in marks and "e+" not in marks
