"""Results that are kept, and the report that is written of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gambol.bench.markdown import NOTHING, mean_and_spread, number, table
from gambol.bench.plots import write_bars, write_curves
from gambol.bench.report import REPORT, write_section
from gambol.bench.results import FAILED, Results
from gambol.errors import GambolError


def test_what_was_measured_is_not_measured_again(tmp_path):
    """But with other settings it is."""
    asked = []

    def measure() -> dict:
        asked.append(1)
        return {"slide": float(len(asked)), "left": (1, 2)}

    results = Results(tmp_path / "kept")
    first = results.figures("fox: it/walks", {"seed": 0}, measure)
    assert results.figures("fox: it/walks", {"seed": 0}, measure) == first == {"slide": 1.0, "left": [1, 2]}
    assert Results(tmp_path / "kept").figures("fox: it/walks", {"seed": 0}, measure) == first
    assert results.figures("fox: it/walks", {"seed": 1}, measure)["slide"] == 2.0 and len(asked) == 2


def test_what_cannot_be_measured_is_told_and_not_tried_again(tmp_path):
    def fails() -> dict:
        raise GambolError("it has no legs")

    results = Results(tmp_path)
    assert results.figures("snake", {}, fails) == {FAILED: "it has no legs"}
    assert results.figures("snake", {}, lambda: {"never": 1}) == {FAILED: "it has no legs"}


def test_tensors_are_kept_and_made_anew_if_damaged(tmp_path):
    made = []

    def make():
        made.append(1)
        return {"points": torch.arange(3.0)}, {"calls": 7, "parts": ("head",)}

    results = Results(tmp_path)
    for _ in range(2):
        tensors, facts = results.tensors("walk", {"steps": 3}, make)
        assert torch.equal(tensors["points"], torch.arange(3.0)) and facts["calls"] == 7 and len(made) == 1
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-5])
    results.tensors("walk", {"steps": 3}, make)
    assert len(made) == 2


def test_an_interrupt_keeps_nothing_half(tmp_path):
    def stopped() -> dict:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Results(tmp_path).figures("walk", {}, stopped)
    assert not list(tmp_path.iterdir())


def test_tables():
    assert table(["", "SA"], [["a|b", "0.5"]]) == "|  | SA |\n| --- | ---: |\n| a/b | 0.5 |"
    assert number(0.456) == "0.46" and number(None) == number(np.nan) == NOTHING
    assert mean_and_spread([1.0, 3.0, None], 1) == "2.0 ± 1.4" and mean_and_spread([None]) == NOTHING
    assert mean_and_spread([2.0]) == "2.00"


def test_plots_show_every_point(tmp_path):
    write_curves(tmp_path / "a.svg", "SA <1>", "calls", {"one": [(10, 0.2), (100, 0.4)], "two": [(50, 0.1)]}, True)
    text = (tmp_path / "a.svg").read_text()
    assert text.count("<circle") == 3 and "SA &lt;1&gt;" in text and ">100<" in text
    write_bars(tmp_path / "b.svg", "both", ["SA", "PC"], {"AKD": [0.2, None], "field": [0.1, 0.3]})
    assert (tmp_path / "b.svg").read_text().count("<rect") == 1 + 3 + 2, "background, bars, legend"
    write_curves(tmp_path / "c.svg", "nothing", "", {})
    assert not (tmp_path / "c.svg").exists()


def test_the_report_holds_all_topics_of_a_folder(tmp_path):
    write_section(tmp_path, "speed", "Speed", "gambol bench speed", ["fast"], 10)
    report = write_section(tmp_path, "paper", "The paper's tables", "gambol bench paper", ["wins"], 600)
    text = report.read_text()
    assert report == tmp_path / REPORT and text.index("The paper's tables") < text.index("Speed")
    assert "`gambol bench paper` · last start 10 min" in text and "torch" in text and "cores" in text
    write_section(tmp_path, "speed", "Speed", "gambol bench speed", ["faster"], 10)
    assert "faster" in report.read_text() and "wins" in report.read_text() and "fast\n" not in report.read_text()
