"""What is read on the live page."""

import math

import numpy as np
import pytest

from gambol.distillation.journal import POINTS, Journal
from gambol.distillation.play import Moment


def moment(step, total=1.0, number=0, trouble="", **losses):
    return Moment("fitting <b>", number, step, 900, {"total": total, **losses}, trouble)


def test_it_says_where_the_work_is_and_trusts_no_text():
    journal = Journal("a <script> & a fox")
    assert "about to begin" in journal.lines()
    journal.note(moment(31, 0.25))
    text = journal.lines()
    assert "act 1" in text and "step 31 of 900" in text and "0.25" in text
    assert "<script>" not in text and "a &lt;script&gt; &amp; a fox" in text and "fitting &lt;b&gt;" in text


def test_curves_of_the_current_act():
    journal = Journal("")
    assert journal.curves() == {}
    journal.note(moment(1, number=0))
    assert journal.curves() == {}  # one point is no curve
    for step in (1, 2, 3):
        journal.note(moment(step, 10.0 / step, number=1, sunk=1.0, never=0.0))
    curves = journal.curves()
    assert list(curves) == ["total", "sunk"]  # what is always zero has no place on a logarithmic axis
    steps, total = curves["total"]
    assert steps.tolist() == [1, 2, 3]
    assert total == pytest.approx([10, 5, 10 / 3])


def test_what_was_undone_is_forgotten():
    journal = Journal("")
    for step in range(1, 16):
        journal.note(moment(step))
    journal.note(moment(10, math.nan, trouble="the loss became nan; went back to step 10"))
    assert [step for step, _ in journal.losses] == list(range(1, 11))
    assert "went back to step 10" in journal.lines()
    journal.note(moment(11, math.inf))
    steps, total = journal.curves()["total"]
    assert steps[-1] == 10 and np.isfinite(total).all()


def test_long_curves_are_thinned_but_end_where_they_end():
    journal = Journal("")
    for step in range(1, 10_001):
        journal.note(moment(step, 1 + 1 / step))
    steps, _ = journal.curves()["total"]
    assert POINTS / 2 < len(steps) <= POINTS + 1
    assert steps[0] == 1 and steps[-1] == 10_000
    assert (np.diff(steps) > 0).all()
