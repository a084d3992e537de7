"""One verdict, and it names its reason."""

from dataclasses import replace
from functools import cache

import pytest
from motion.strides import stride

from gambol.quality.measures import BY_KEY, MEASURES
from gambol.quality.prior_score import UNLIKELY, PriorScore
from gambol.quality.recognition import Comparison
from gambol.quality.report import FROZEN, STILL, Report, report
from gambol.quality.scale import Distribution, Scale

TYPICAL = Comparison(20, 0.5, "run", {"tempo": 0.1, "speed": 0.1, "reach": 0.1})
WALK = "good: recognised as 'walk', with the tempo, speed and reach of 20 artists' clips of it"


@pytest.fixture(autouse=True)
def scale(monkeypatch):
    """A scale by hand: low is good up to 10, and 20 to 40 is usual for walks of bipeds."""
    low = {each.key: Distribution(50, (0.0, 5.0, 10.0)) for each in MEASURES if each.better == "low"}
    usual = {each.key: Distribution(50, (20.0, 30.0, 40.0)) for each in MEASURES if each.better == "usual"}
    monkeypatch.setattr("gambol.quality.report.artists", lambda: Scale({"all": low, "walk biped": usual}))


@cache
def measured() -> Report:
    """A walk of a human, with measures set by hand in the tests."""
    made = stride("human", "walk")
    return report(made.character, made.clip, made.anatomy)


def walk(**changes) -> Report:
    low = {each.key: 1.0 for each in MEASURES if each.better == "low"}
    usual = {each.key: 30.0 for each in MEASURES if each.better == "usual"}
    values = {**measured().values, **low, **usual, **changes.pop("values", {})}
    return replace(measured(), values=values, **{"comparison": TYPICAL, **changes})


def score(**shares) -> PriorScore:
    order = sorted(shares, key=lambda word: -shares[word])
    return PriorScore("pixels", tuple(order), tuple(shares[word] for word in order), 5.0)


def test_a_walk_in_which_all_is_usual_is_good():
    assert walk().verdict == "good" and walk().summary.startswith(WALK)
    assert walk(prior_score=score(walk=0.9, run=0.1)).verdict == "good"


@pytest.mark.parametrize(
    "changes, reason",
    [
        ({"broken_rule": "left and right legs do not alternate"}, "left and right legs do not alternate"),
        ({"values": {"foot_slide_mean": 25.0}}, "feet slide 25.0 cm/s (better than 0% of 50 artist clips)"),
        ({"values": {"penetration_mean": 30.0}}, "skin sinks into the ground 30.0 mm"),
        ({"values": {"trunk_twist": 100.0}}, "trunk twists 100° (unusual for 50 artist 'walk biped' clips)"),
        ({"values": {"head_tilt": 180.0}}, "head leans 180°"),
        ({"prior_score": score(run=0.97, walk=0.03)}, "the prior takes it for 'run'"),
    ],
)
def test_a_doubtful_verdict_names_its_reason(changes, reason):
    found = walk(**changes)
    assert found.verdict == "doubtful"
    assert found.summary.startswith("doubtful: ") and reason in found.summary


def test_all_reasons_are_named_the_rule_first():
    found = walk(broken_rule="no rule", prior_score=score(run=1.0, walk=0.0), values={"foot_slide_mean": 25.0})
    assert found.summary.startswith("doubtful: no rule; the prior takes it for 'run'; feet slide 25.0 cm/s (")


def test_posture_is_bad_only_well_outside_the_usual_range():
    tolerance = BY_KEY["trunk_twist"].tolerance
    for twist, bad in (
        (40.0 + 0.9 * tolerance, False),
        (40.0 + 1.1 * tolerance, True),
        (max(20 - 0.9 * tolerance, 0), False),
    ):
        assert bool(walk(values={"trunk_twist": twist}).bad) == bad, twist


def test_posture_is_compared_with_the_same_action_and_body_plan_only():
    found = replace(walk(values={"trunk_twist": 100.0}), action="dance", comparison=None)
    assert found.ranks["trunk_twist"] is None and found.verdict == "plausible"


def test_a_prior_that_is_not_sure_does_not_decide():
    """Nor one that was not offered the action."""
    assert walk(prior_score=score(run=1 - 2 * UNLIKELY, walk=2 * UNLIKELY)).verdict == "good"
    assert walk(prior_score=score(run=1.0)).verdict == "good"


@pytest.mark.parametrize("action", ["walk", "attack", None])
def test_what_cannot_be_compared_is_plausible_at_best(action):
    found = walk(action=action, comparison=None)
    assert found.verdict == "plausible" and found.summary.startswith("plausible: nothing wrong was found, but ")


@pytest.mark.parametrize(
    "changes, reason",
    [
        ({"peers": 0}, "too few artists' clips show this action on such a body"),
        ({"nearer": None}, "too few artists' clips show this action on such a body"),
        ({"nearer": 1.1}, "it is not clearly told from 'run'"),
        ({"beside": {"tempo": -0.6, "speed": 0.0, "reach": 0.0}}, "1.8 times slower than 20 artists' clips"),
        ({"beside": {"tempo": 0.0, "speed": -1.0, "reach": 0.0}}, "2.7 times less speed than 20 artists' clips"),
    ],
)
def test_what_is_not_typical_of_its_action_is_plausible_and_says_why(changes, reason):
    found = walk(comparison=replace(TYPICAL, **changes))
    assert found.verdict == "plausible" and reason in found.summary


def test_a_deed_without_a_rule_for_the_legs_can_be_good():
    assert walk(action="attack").verdict == "good"


def test_an_action_that_artists_show_is_doubtful_if_it_is_not_recognised():
    other = walk(action="attack", comparison=Comparison(20, 3.0, "die", {}))
    assert other.verdict == "doubtful" and "it looks more like 'die'" in other.summary
    assert "upside" in walk(faults=("the head is upside down",)).summary


def test_what_hardly_moves_gets_no_rating():
    still = walk(values={"motion_amount": 0.9 * STILL, "foot_slide_mean": 1e3}, broken_rule="no rule")
    assert still.verdict == "still" and still.summary.startswith("still: ")
    breathes = replace(walk(values={"motion_amount": 0.9 * STILL}), action="stand")
    assert breathes.verdict == "good"
    assert replace(breathes, values={**breathes.values, "motion_amount": 0.9 * FROZEN}).verdict == "still"
