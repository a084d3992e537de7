import json
from dataclasses import replace

import pytest

from gambol.cli import main
from gambol.priors import machine as machines
from gambol.priors.catalogue import PRIORS
from gambol.priors.machine import Machine, feasibility_of

WORKSTATION = Machine(64.0, "RTX 4090", 24.0, ())


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))


def test_lists_every_prior_with_licence_needs_and_a_verdict(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    main(["priors"])
    shown = capsys.readouterr().out
    for prior in PRIORS.values():
        rows = [line.split() for line in shown.splitlines() if line.split()[:1] == [prior.name]]
        assert [row[0] for row in rows] == 3 * [prior.name]  # in each of the tables, on a line of its own
        assert rows[1][1:] == [*(prior.hub or "comes with gambol").split(), *prior.licence.split()]
        assert rows[2][1] in ("yes:", "no:")
    assert "CogVideoX License" in shown
    assert "664" in next(line for line in shown.splitlines() if line.startswith("cogvideox-5b"))
    assert "This machine: " in shown


def test_json_is_json(capsys):
    main(["priors", "--json"])
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert list(rows) == list(PRIORS)
    assert rows["pixels"]["runs"] and rows["pixels"]["hub"] is None
    millions = [rows[name]["parameters_millions"] for name in ("wan-2.2-a14b", "wan-2.1-14b")]
    assert millions[0] == pytest.approx(2 * millions[1], abs=2)
    assert rows["cogvideox-5b"]["licence"] == "CogVideoX License"
    assert rows["cogvideox-5b"]["call_tflop"] == 664


def test_the_way_to_install_is_shown_as_it_is(capsys, monkeypatch):
    monkeypatch.setattr(machines, "missing_packages", lambda: ["diffusers"])
    main(["priors"])
    assert "Large video models need diffusers: pip install 'gambol[diffusers]'" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "changes", "runs", "text"),
    [
        ("pixels", {"gpu": None}, True, "yes: on the CPU"),
        ("cogvideox-5b", {"gpu": "A100", "gpu_memory": 40.0}, True, "yes: on A100; 20 GiB or more to download"),
        ("cogvideox-5b", {}, True, "yes: on RTX 4090 with offload; 20 GiB or more to download"),
        ("cogvideox-5b", {"gpu_memory": 16.0}, False, "no: needs 18 GiB, RTX 4090 has 16"),
        ("wan-2.1-14b", {}, False, "no: needs 34 GiB, RTX 4090 has 24"),
        ("cogvideox-5b", {"memory": 8.0}, False, "no: offload needs 20 GiB of main memory, there are 8"),
        ("cogvideox-5b", {"gpu": None}, False, "no: no CUDA GPU, and the CPU would need 56 GiB"),
        ("cogvideox-5b", {"missing": ("ftfy",)}, False, "no: first pip install 'gambol[diffusers]', then on RTX 4090"),
    ],
)
def test_verdicts(name, changes, runs, text):
    prior = PRIORS[name]
    verdict = feasibility_of(prior, replace(WORKSTATION, **changes))
    assert verdict.runs == runs
    assert text in verdict.text


def test_main_memory_is_plausible():
    assert 2**28 < machines.main_memory() < 2**50
