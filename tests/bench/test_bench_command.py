"""`gambol bench` on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gambol.bench import scripts
from gambol.bench.paper import run as paper
from gambol.cli import main
from gambol.errors import GambolError


@pytest.fixture
def made_up(tmp_path, monkeypatch) -> Path:
    """Scripts that count how often they are run."""
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (folder / "rig.py").write_text(
        "import pathlib, sys\n"
        "ran = pathlib.Path(__file__).parent / 'ran'\n"
        "ran.write_text((ran.read_text() if ran.exists() else '') + ' '.join(sys.argv[1:]) + '\\n')\n"
        "print('# head\\n\\n| a | b |\\n| - | - |\\n| 1 | 2 |')\n"
    )
    (folder / "retarget.py").write_text("import sys; print('plain text'); sys.exit(len(sys.argv) > 4)\n")
    monkeypatch.setattr(scripts, "SCRIPTS", folder)
    monkeypatch.chdir(tmp_path)
    return folder


def test_scripts_are_run_once(made_up, capsys):
    """What they printed is kept, and asked for again with other arguments only."""
    for _ in range(2):
        main(["bench", "rig", "--quick"])
    assert (made_up / "ran").read_text() == "--zoo 4\n" and "wrote bench/REPORT.md" in capsys.readouterr().out
    text = Path("bench/REPORT.md").read_text()
    assert "## Automatic skeletons" in text and "| 1 | 2 |" in text and "#### head" in text
    main(["bench", "rig"])
    assert (made_up / "ran").read_text() == "--zoo 4\n--zoo 24\n"
    main(["bench", "retarget"])
    text = Path("bench/REPORT.md").read_text()
    assert "## Automatic skeletons" in text and "```\nplain text" in text


def test_a_script_that_fails_is_told(made_up):
    (made_up / "retarget.py").write_text("raise SystemExit('no such animal')\n")
    main(["bench", "retarget"])
    assert "It failed: no such animal" in Path("bench/REPORT.md").read_text()
    (made_up / "retarget.py").write_text("print('mended')\n")
    main(["bench", "retarget"])
    assert "mended" in Path("bench/REPORT.md").read_text(), "it was run again"


def test_without_the_source_it_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(scripts, "SCRIPTS", tmp_path / "none")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(["bench", "speed"])
    assert "not part of the installed package" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["paper", "none.glb"], "there is no file or folder 'none.glb'"),
        (["paper", "--sentence", "zzz"], "zzz"),
        (["paper", "--prior", "tracks"], "sees none: use pixels"),
        (["paper", "--prior", "nobody"], "there is no prior 'nobody'"),
        (["poses"], "give folders of characters"),
    ],
)
def test_bad_input(arguments, told, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(["bench", *arguments])
    assert told in capsys.readouterr().err


def test_paper_is_written_with_its_settings(tmp_path, monkeypatch):
    """Of the command line; the sections have tests of their own."""
    asked = []

    def run_paper(config, inputs, folder, on_progress):
        asked.append((config, inputs, folder))
        on_progress("comparing", 1, 2)
        return ["a table"]

    monkeypatch.setattr(paper, "run_paper", run_paper)
    monkeypatch.chdir(tmp_path)
    main(["bench", "paper", "--quick", "--steps", "7", "--seed", "3", "--videophy", "2", "-o", "out"])
    config, inputs, folder = asked[0]
    assert (config.steps, config.seed, config.videophy, config.characters) == (7, 3, 2, paper.QUICK.characters)
    assert inputs == () and folder == Path("out/paper") and "a table" in Path("out/REPORT.md").read_text()


def test_every_topic_has_scripts_that_exist(tmp_path):
    for topic in ("speed", "rig", "retarget"):
        for script in scripts._PLANS[topic]([], False, tmp_path, lambda *_: None):
            assert (Path(__file__).parents[2] / "benchmarks" / script.arguments[0]).exists()
    with pytest.raises(GambolError, match="give folders"):
        scripts._PLANS["poses"]([], False, tmp_path, lambda *_: None)
