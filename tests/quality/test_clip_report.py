"""The report on a clip: what stands out, what is told, the file and the page."""

import json
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from motion.strides import stride
from tube import swing, tube

from gambol import analyze, load
from gambol.character.clip import Clip, Track
from gambol.creatures.gaits import gait
from gambol.quality.measures import BY_KEY, MEASURES
from gambol.quality.page import report_page
from gambol.quality.report import SCHEMA, Report, action_for, json_of, report, rows_of


@cache
def fox():
    character = load("fox")
    anatomy = analyze(character)
    return character, anatomy, gait(character, anatomy, "walk")


@cache
def walk() -> Report:
    character, anatomy, clip = fox()
    return report(character, clip, anatomy)


def skating() -> Clip:
    """The walk at a third of its way: feet slide by the rest of it."""
    _, anatomy, clip = fox()
    tracks = []
    for track in clip.tracks:
        if track.path == "translation" and np.ptp(track.values[..., 2]) > 0.3 * anatomy.height:
            values = track.values.copy()
            values[..., 2] /= 3
            track = replace(track, values=values)
        tracks.append(track)
    assert any(a is not b for a, b in zip(tracks, clip.tracks, strict=True))
    return replace(clip, tracks=tuple(tracks))


def test_nothing_is_wrong_with_our_own_walk():
    found = walk()
    assert found.action == "walk" and found.pattern.name == "walk" and found.normalized.loops
    assert found.verdict in ("good", "plausible"), found.summary
    assert found.values["foot_slide_mean"] < 2 and found.values["penetration_worst"] < 5
    assert found.ranks["foot_slide_mean"].share > 0.9


def test_what_skates_is_told():
    character, anatomy, _ = fox()
    found = report(character, skating(), anatomy)
    assert found.values["foot_slide_mean"] > 20 * walk().values["foot_slide_mean"]
    assert found.ranks["foot_slide_mean"].share < walk().ranks["foot_slide_mean"].share


def test_a_walk_with_perfect_feet_is_doubtful_if_the_trunk_twists_by_100_degrees():
    """By the scale that ships."""
    made = stride("human", "walk")
    spine = made.character.skeleton.names.index("spine")
    times = np.linspace(0.0, made.clip.duration, 61)
    half = np.radians(50) * np.sin(2 * np.pi * times / times[-1]) / 2
    turn = Track(spine, "rotation", times, np.stack([np.cos(half), 0 * half, np.sin(half), 0 * half], axis=1))
    others = tuple(track for track in made.clip.tracks if (track.node, track.path) != (spine, "rotation"))
    twisted = report(made.character, replace(made.clip, tracks=(*others, turn)), made.anatomy)
    assert twisted.verdict == "doubtful" and "trunk twists 100° (unusual for" in twisted.summary
    assert twisted.values["foot_slide_mean"] < 2
    usual = report(made.character, made.clip, made.anatomy)
    assert not {each.family for each in usual.bad} & {"posture"}, usual.summary


def test_standing_still_cannot_win():
    character, anatomy, clip = fox()
    first = [each.sample(each.times[:1]) for each in clip.tracks]
    held = [
        replace(each, values=np.repeat(value, len(each.times), 0), interpolation="LINEAR")
        for each, value in zip(clip.tracks, first, strict=True)
    ]
    still = replace(clip, tracks=tuple(held))
    found = report(character, still, anatomy)
    assert found.values["motion_amount"] == pytest.approx(0, abs=1e-9)
    assert found.verdict == "still" and found.summary.startswith("still")


def test_what_is_worse_than_most_stands_out_unless_nobody_sees_it():
    bad = {**walk().values, "foot_slide_mean": 1e4, "penetration_mean": BY_KEY["penetration_mean"].tolerance}
    found = replace(walk(), values=bad)
    assert [each.key for each in found.bad] == ["foot_slide_mean"]
    assert found.verdict == "doubtful" and "feet slide 10000.0 cm/s" in found.summary


def test_a_seam_counts_only_for_what_loops():
    bad = {**walk().values, "seam_pose": 1e3}
    assert [each.key for each in replace(walk(), values=bad).bad] == ["seam_pose"]
    contacts = replace(walk().normalized.contacts, loops=False)
    once = replace(walk(), values=bad, normalized=replace(walk().normalized, contacts=contacts))
    assert not once.bad


def test_words_decide_what_it_is_compared_with():
    assert action_for("Armature|Run", None) == "run"
    assert action_for("clip 0", "a fox is walking") == "walk"
    assert action_for("clip 0", None) is None


def test_the_file_keeps_its_schema():
    plain = json.loads(json_of(walk(), walk()))
    assert plain["schema"] == SCHEMA == "gambol.report/2"
    assert list(plain["metrics"]) == [each.key for each in MEASURES]
    slide = plain["metrics"]["foot_slide_mean"]
    assert set(slide) == {"value", "unit", "better", "artists"} and set(slide["artists"]) == {"share", "group", "clips"}
    assert {contact["foot"] for contact in plain["contacts"]} == {
        "left front leg", "right front leg", "left hind leg", "right hind leg",
    }  # fmt: skip
    assert all(contact["up"] > contact["down"] >= 0 for contact in plain["contacts"])
    assert plain["against"]["metrics"] == plain["metrics"]


def test_rows_leave_out_what_was_not_measured():
    keys = [each.key for each, *_ in rows_of(walk())]
    assert "agreement" not in keys and "foot_slide_mean" in keys
    assert len(keys) == sum(value is not None for value in walk().values.values())


def test_a_body_without_legs_has_no_feet():
    found = report(tube(), swing())
    assert found.values["foot_slide_mean"] is None and found.pattern is None
    assert found.values["motion_amount"] > 0
    assert json.loads(json_of(found))["gait"] is None


def test_the_page_says_it_all():
    text = report_page(walk(), replace(walk(), values={**walk().values, "jerk": 123.0}), prompt="a <b>fox</b> walks")
    assert "a &lt;b&gt;fox&lt;/b&gt; walks" in text and "<b>fox" not in text
    for words in ("feet slide", "Gait", "Joints that turn most", "123 m/s³", 'class="scale"', "gambol-player"):
        assert words in text
    assert not re.search(r"(?:src|href)\s*=\s*[\"']?(?:https?:)?//", text), "nothing is fetched from elsewhere"


def test_a_clip_that_cannot_be_played_still_has_a_page():
    """Keys of which two are at the same time once they are written as glTF wants them."""
    _, _, clip = fox()
    times = np.array([0.0, 1.0, 1.0 + 1e-9, 2.0])
    turned = Track(clip.tracks[0].node, "rotation", times, np.tile([1.0, 0, 0, 0], (4, 1)))
    character, anatomy, _ = fox()
    text = report_page(report(character, replace(clip, tracks=(*clip.tracks[1:], turned)), anatomy))
    assert "It cannot be shown in 3D" in text and "feet slide" in text
