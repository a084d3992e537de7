"""From clips to clips that a body could do: which candidate is chosen, and what is said of it."""

from dataclasses import replace

import pytest
import torch
from bodies import body_of, near_ground, target_of

from gambol.physics import track as module
from gambol.physics.target import TrackingTarget
from gambol.physics.track import TrackedClip, track_clips, worse_than
from gambol.physics.tracking import TrackConfig, TrackingResult, track_references
from gambol.quality.measures import movement_values
from gambol.quality.normalized_clip import normalize_clip


def values(**known) -> dict[str, float | None]:
    keys = ("foot_slide_mean", "foot_slide_worst", "penetration_mean", "penetration_worst", "floating", "alternation")
    return dict.fromkeys(keys, 0.0) | known


@pytest.fixture(scope="module")
def candidates() -> list[TrackingResult]:
    """Of the walk of a dog; the search has hardly begun."""
    target = target_of("dog", "walk")
    return track_references(near_ground(target), [target.reference], TrackConfig(iterations=3, guided=0.0))


def chosen(candidates, monkeypatch, slides) -> TrackedClip:
    """The result, if the feet of the candidates' clips slide like this [cm/s]."""
    left = list(slides)
    monkeypatch.setattr(module, "track_references", lambda *arguments: candidates)
    monkeypatch.setattr(module, "movement_values", lambda clip: values(foot_slide_mean=left.pop(0)))
    monkeypatch.setattr(module, "LOOP_SECONDS", 0.5)
    monkeypatch.setattr(TrackingTarget, "polished", lambda target, rig_motion, *_: rig_motion)
    (done,) = track_clips(body_of("dog", "walk"), ["walk"], fix_feet=False)
    assert not left, "all are measured"
    return done


@pytest.mark.parametrize("best", [0, 1, 2])
def test_measures_choose_among_candidates(candidates, best, monkeypatch):
    """Whatever their losses were."""
    assert len(candidates) == 3
    done = chosen(candidates, monkeypatch, [9.0 if number != best else 1.0 for number in range(3)])
    assert done.tracking is candidates[best] and done.after["foot_slide_mean"] == 1.0
    assert done.name == "walk" and done.clip.name == "walk physics"


def test_of_candidates_with_the_same_feet_the_nearest_is_chosen(candidates, monkeypatch):
    done = chosen(candidates, monkeypatch, [1.0] * 3)
    errors = [each.tracked[0].error for each in candidates]
    assert len(set(errors)) == 3 and done.tracked.error == min(errors)


@pytest.mark.parametrize(("slides", "kept"), [([9, 9, 9, 5, 1], 0.25), ([9, 9, 9, 5, 4, 3], 0.0), ([1, 9, 9], 1.0)])
def test_no_clip_gets_worse(candidates, slides, kept, monkeypatch):
    """Less of the simulation is kept until nothing is visibly worse; at last the clip stays as it was."""
    done = chosen(candidates, monkeypatch, [float(slide) for slide in slides])
    assert done.kept == kept and not done.worse
    assert done.refused == (() if kept == 1 else (f"feet slide 9.0 cm/s, {done.before['foot_slide_mean']:.1f} before",))
    if len(slides) == 6:
        assert done.after == done.before and done.deviation == 0 and done.clip.name == "walk physics"


@pytest.mark.parametrize(
    ("after", "before", "words"),
    [
        ({"foot_slide_mean": 12.54}, {"foot_slide_mean": 0.3}, ["feet slide 12.5 cm/s, 0.3 before"]),
        ({"foot_slide_mean": 2.2}, {"foot_slide_mean": 0.3}, []),  # nobody sees that
        ({"foot_slide_mean": 12.5}, {"foot_slide_mean": 40.0}, []),
        ({"foot_slide_mean": 12.5}, {"foot_slide_mean": None}, []),
        ({"foot_slide_mean": None}, {}, []),
        ({"alternation": 1.0}, {"alternation": 0.0}, []),  # neither better nor worse
        (
            {"penetration_worst": 30.0, "floating": 8.0},
            {},
            ["skin sinks, deepest 30.0 mm, 0.0 before", "floats 8%, 0 before"],
        ),
    ],
)
def test_what_got_worse_in_words(after, before, words):
    assert worse_than(values(**after), values(**before)) == words


def test_feet_that_the_report_finds_on_the_ground_are_held():
    """Also where the simulation loads nothing."""
    target = target_of("dog", "walk")
    body, rig_motion = target.body, target.locked_clip.raw
    legs = [joint for leg in body.anatomy.legs for joint in leg.joints]
    waves = torch.sin(2 * torch.pi * rig_motion.along[:, None] + torch.arange(len(legs)))
    angles = rig_motion.angles.clone()
    angles[:, legs, 0] += 0.05 * waves
    skating = replace(rig_motion, angles=angles)
    polished = target.polished(skating, body.ragdoll, torch.zeros(len(rig_motion), len(body.ragdoll.points)))
    before, after = (
        movement_values(normalize_clip(body.character, target.as_clip(each, "walk", each.fps), body.anatomy))
        for each in (skating, polished)
    )
    assert before["foot_slide_mean"] > 5.0, "cm/s"
    assert after["foot_slide_mean"] < 0.4 * before["foot_slide_mean"]
    assert body.distance(polished, skating) < 0.01, "height"
