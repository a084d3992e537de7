"""How plausible the poses of a clip are, in the report and on its page."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from character.creatures import dog
from poses.small_poses import harvested, model

from gambol.bench.spoiling import SPOILERS, Source
from gambol.character.anatomy import analyze
from gambol.creatures.gaits import gait
from gambol.poses import plausibility
from gambol.poses.model import PoseModel
from gambol.poses.training.calibrate import usual_errors
from gambol.quality import pose_plausibility as measured
from gambol.quality.normalized_clip import normalize_clip
from gambol.quality.page import report_page
from gambol.quality.pose_plausibility import pose_plausibility
from gambol.quality.report import json_of, report


@cache
def pose_model():
    """The pose model of the dog, which knows its usual errors."""
    known = model()
    return PoseModel(known.network, known.deviations, known.actions, usual_errors(known, [harvested()]))


@cache
def walking():
    character = dog()
    anatomy = analyze(character)
    return character, anatomy, gait(character, anatomy, "walk")


def test_frames_are_spread_over_the_clip():
    character, anatomy, clip = walking()
    normalized = normalize_clip(character, clip, anatomy)
    found = pose_plausibility(normalized, pose_model())
    assert found.times[0] == 0 and found.times[-1] == normalized.times[-1]
    assert len(found.times) == measured.MOST_JOINTS // len(anatomy.body) == len(found.implausibility)
    assert np.isfinite(found.implausibility).all() and found.usual > 1


@pytest.mark.parametrize("kind", ["twisted 60°", "head upside down"])
def test_spoiled_poses_are_less_plausible(kind):
    character, anatomy, clip = walking()
    copy = SPOILERS[kind](Source(character, anatomy, clip, "walk"))
    own, worse = (pose_plausibility(normalize_clip(character, each, anatomy), pose_model()) for each in (clip, copy))
    assert worse.mean > 1.3 * own.mean and worse.unusual >= own.unusual


def test_by_a_model_that_does_not_know_what_is_usual_nothing_is_said(monkeypatch):
    character, anatomy, clip = walking()
    normalized = normalize_clip(character, clip, anatomy)
    monkeypatch.setattr(measured, "shipped_model", model)
    assert pose_plausibility(normalized) is None
    found = report(character, clip, anatomy)
    assert found.values["pose_implausibility"] is None and found.values["unusual_poses"] is None
    assert "<h2>How plausible its poses are</h2>" not in report_page(found)


def test_too_many_joints_are_not_looked_at(monkeypatch):
    character, anatomy, clip = walking()
    monkeypatch.setattr(plausibility, "MOST_JOINTS", 3)
    assert pose_plausibility(normalize_clip(character, clip, anatomy), pose_model()) is None


def test_the_report_shows_it_and_judges_as_before(monkeypatch):
    character, anatomy, clip = walking()
    monkeypatch.setattr(measured, "shipped_model", model)
    before = report(character, clip, anatomy)
    monkeypatch.setattr(measured, "shipped_model", pose_model)
    found = report(character, clip, anatomy)
    assert found.values["pose_implausibility"] == pytest.approx(found.poses.mean) and found.values["unusual_poses"] >= 0
    worst = replace(found, values={**found.values, "pose_implausibility": 1e3, "unusual_poses": 100.0})
    assert found.verdict == before.verdict == worst.verdict and found.summary == before.summary == worst.summary
    plain = json.loads(json_of(found))
    assert plain["metrics"]["pose_implausibility"]["value"] == pytest.approx(found.poses.mean)
    assert len(plain["pose_plausibility"]["implausibility"]) == len(found.poses.times)
    page = report_page(found)
    assert "<h2>How plausible its poses are</h2>" in page and "Implausibility of poses" in page
    assert "poses are implausible" in page
