"""The scale: shares of clips that are worse, by hand and against counting."""

import numpy as np
import pytest
from benchmark_modules import load_benchmark

from gambol.quality.measures import BY_KEY, MEASURES
from gambol.quality.scale import FEWEST, Scale, artists

recording = load_benchmark("artists")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("count", [8, 30, 51, 400])
def test_shares_are_those_of_counting(seed, count):
    rng = np.random.default_rng(seed)
    values = rng.lognormal(size=count)
    found = recording.distribution_of(list(values))
    for value in rng.choice(values, 5):
        assert found.above(value) == pytest.approx((values > value).mean(), abs=0.03 + 2 / count)
        assert found.below(value) == pytest.approx((values < value).mean(), abs=0.03 + 2 / count)


def test_ties_are_neither_better_nor_worse():
    found = recording.distribution_of([0.0] * 60 + [1.0] * 40)
    assert found.above(0.0) == pytest.approx(0.4, abs=0.03)
    assert found.below(0.0) == 0.0
    assert found.below(1.0) == pytest.approx(0.6, abs=0.03)
    assert found.above(1.0) == 0.0


def test_beyond_the_ends():
    found = recording.distribution_of(list(range(10)))
    assert (found.above(-1), found.above(9), found.below(10), found.below(0)) == (1.0, 0.0, 1.0, 0.0)


def scale_of(walks: int) -> Scale:
    clips = [
        ("walk", "biped", {"foot_slide_mean": 10.0 + number, "agreement": 50.0 + number, "trunk_twist": 20.0 + number})
        for number in range(walks)
    ]
    others = [(None, "biped", {"foot_slide_mean": 100.0 + number, "agreement": None}) for number in range(20)]
    return recording.scale_of([*clips, *others])


def test_better_is_lower_or_higher():
    scale = scale_of(21)
    low, high = scale.place("foot_slide_mean", 12.0, "walk"), scale.place("agreement", 68.0, "walk")
    assert low.group == high.group == "walk" and low.clips == high.clips == 21
    assert low.share == pytest.approx(0.9)
    assert high.share == pytest.approx(0.9)


@pytest.mark.parametrize("few", [recording.FEWEST - 1, FEWEST - 1])
def test_few_clips_of_an_action_are_compared_with_all(few):
    scale = scale_of(few)
    rank = scale.place("foot_slide_mean", 50.0, "walk")
    assert rank.group == "all" and rank.clips == few + 20
    assert rank.share == pytest.approx(20 / (few + 20), abs=0.05)
    assert "artist clips" in rank.among


def test_posture_is_compared_by_action_and_body_plan():
    """And by nothing else: what is usual for a biped says nothing of a quadruped."""
    scale = scale_of(21)
    inside = scale.place("trunk_twist", 30.0, "walk", "biped")
    assert (inside.group, inside.clips, inside.bad) == ("walk biped", 21, False)
    assert inside.share == pytest.approx(1.0)
    assert inside.kind == "artist 'walk biped' clips"
    tolerance = BY_KEY["trunk_twist"].tolerance
    assert not scale.place("trunk_twist", 39.0 + tolerance, "walk", "biped").bad
    assert scale.place("trunk_twist", 41.0 + tolerance, "walk", "biped").bad
    assert scale.place("trunk_twist", 30.0, "walk", "quadruped") is None
    assert scale.place("trunk_twist", 30.0, None, "biped") is None
    assert "trunk_twist" not in scale.groups["all"] and "foot_slide_mean" not in scale.groups["walk biped"]


def test_what_nobody_sees_is_not_bad():
    scale = scale_of(21)
    low = recording.scale_of([("walk", "biped", {"foot_slide_mean": 0.1})] * 20)
    assert not low.place("foot_slide_mean", BY_KEY["foot_slide_mean"].tolerance, "walk").bad
    assert low.place("foot_slide_mean", 1.1 * BY_KEY["foot_slide_mean"].tolerance, "walk").bad
    assert scale.place("foot_slide_mean", 200.0, "walk").bad and not scale.place("foot_slide_mean", 20.0, "walk").bad


def test_nothing_to_compare():
    scale = scale_of(10)
    assert scale.place("foot_slide_mean", None, "walk") is None
    assert scale.place("jerk", 1.0, "walk") is None


def test_json_round_trip():
    scale = scale_of(12)
    assert Scale.from_json(recording.json_of(scale)).groups == scale.groups


def test_a_recording_of_some_measures_leaves_the_others_as_they_are():
    scale = scale_of(10)
    other = recording.scale_of([("walk", "biped", {"pose_implausibility": 1.0}), ("hop", "biped", {})] * 10)
    found = recording.with_groups(scale, other).groups
    assert found["walk"] == {**scale.groups["walk"], **other.groups["walk"]}
    assert "pose_implausibility" in found["walk"] and "pose_implausibility" not in scale.groups["walk"]


def test_the_scale_that_ships():
    """Recorded from artists' clips: every measure that has a direction has a distribution, in ascending order."""
    scale = artists()
    for measure in MEASURES:
        group = "walk biped" if measure.better == "usual" else "all"
        if measure.key != "tail_swing":  # few bipeds have tails
            assert scale.groups[group][measure.key].clips >= 20, measure.key
    assert scale.groups["walk quadruped"]["tail_swing"].clips >= 8
    assert scale.groups["walk"]["foot_slide_mean"].clips >= 20
    for keys in scale.groups.values():
        for key, each in keys.items():
            assert key in BY_KEY and list(each.knots) == sorted(each.knots)


def test_what_is_perfect_is_as_good_as_others_that_are():
    scale = recording.scale_of(
        [("walk", "biped", {"floating": 0.0})] * 15 + [("walk", "biped", {"floating": 50.0})] * 5
    )
    rank = scale.place("floating", 0.0, "walk")
    assert rank.share == 1.0 and rank.worse == pytest.approx(0.25, abs=0.06)
    assert scale.place("floating", 60.0, "walk").share == 0.0


def test_rounding_is_not_seen():
    scale = recording.scale_of(
        [("walk", "biped", {"seam_pose": 0.0})] * 15 + [("walk", "biped", {"seam_pose": 1.0})] * 5
    )
    assert scale.place("seam_pose", 3e-7, "walk") == scale.place("seam_pose", 0.0, "walk")


def test_a_walk_whose_upper_body_swings_by_50_degrees_is_bad():
    """An artist's 20 degrees are not."""
    place = artists().place
    assert place("trunk_yaw", 50.0, "walk", "biped").bad and not place("trunk_yaw", 20.0, "walk", "biped").bad
