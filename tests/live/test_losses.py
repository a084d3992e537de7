"""The text and the loss curves of the live page."""

import math

import numpy as np
import pytest

from gambol.distillation.stage_runner import StepLog
from gambol.live.losses import MOST_POINTS, LossHistory


def step(number, total=1.0, stage=0, trouble="", **losses):
    return StepLog("fitting <b>", stage, number, 900, {"total": total, **losses}, trouble)


def test_text_says_where_the_run_is_and_is_escaped():
    history = LossHistory("a <script> & a fox")
    assert "about to begin" in history.html()
    history.add(step(31, 0.25))
    text = history.html()
    assert "stage 1" in text and "step 31 of 900" in text and "0.25" in text
    assert "<script>" not in text and "a &lt;script&gt; &amp; a fox" in text and "fitting &lt;b&gt;" in text


def test_curves_of_the_current_stage():
    history = LossHistory("")
    assert history.curves() == {}
    history.add(step(1, stage=0))
    assert history.curves() == {}  # one point is no curve
    for number in (1, 2, 3):
        history.add(step(number, 10.0 / number, stage=1, sunk=1.0, never=0.0))
    curves = history.curves()
    assert list(curves) == ["step", "total", "sunk"]  # zeros have no place on a logarithmic axis
    assert curves["step"].tolist() == [1, 2, 3]
    assert curves["total"] == pytest.approx([10, 5, 10 / 3])


def test_undone_steps_are_removed():
    history = LossHistory("")
    for number in range(1, 16):
        history.add(step(number))
    history.add(step(10, math.nan, trouble="the loss became nan; went back to step 10"))
    assert [number for number, _ in history.losses] == list(range(1, 11))
    assert "went back to step 10" in history.html()
    history.add(step(11, math.inf))
    curves = history.curves()
    assert curves["step"][-1] == 10 and np.isfinite(curves["total"]).all()


def test_long_curves_are_thinned_and_include_the_latest_step():
    history = LossHistory("")
    for number in range(1, 10_001):
        history.add(step(number, 1 + 1 / number))
    steps = history.curves()["step"]
    assert MOST_POINTS / 2 < len(steps) <= MOST_POINTS
    assert steps[0] < 50 and steps[-1] == 10_000
    assert (np.diff(steps) > 0).all()
