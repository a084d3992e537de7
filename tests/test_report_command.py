"""`gambol report` as a user runs it."""

import json

import numpy as np
import pytest
from formats.bvh_texts import ARM

import gambol
from gambol.cli import main
from gambol.quality.measures import MEASURES


@pytest.fixture(scope="module")
def fox_file(tmp_path_factory):
    """A fox that walks and trots."""
    path = tmp_path_factory.mktemp("report") / "fox.glb"
    fox = gambol.load("fox")
    anatomy = gambol.study(fox)
    gambol.save(fox, path, gambol.gait(fox, anatomy, "walk"))
    gambol.save(gambol.load(path), path, gambol.gait(fox, anatomy, "trot"), overwrite=True)
    return path


def report(*arguments) -> None:
    main(["report", *map(str, arguments)])


def refused(capsys, *arguments) -> str:
    with pytest.raises(SystemExit) as stopped:
        report(*arguments)
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("gambol: ") and error.count("\n") == 1
    return error


def test_one_clip(fox_file, tmp_path, capsys):
    """With the prior that ships."""
    report(fox_file, "--clip", "walk", "-o", tmp_path / "out")
    told = capsys.readouterr().out
    for words in (
        "feet slide",
        "among artist 'walk' clips",
        "gait: walk",
        "walk: good",
        "seen by the prior",
        "report.html",
    ):
        assert words in told, told
    plain = json.loads((tmp_path / "out/report.json").read_text())
    assert plain["clip"] == "walk" and plain["loops"] and plain["gait"]["name"] == "walk"
    assert plain["metrics"]["foot_slide_mean"]["value"] < 2
    assert all(plain["metrics"][each.key]["value"] is not None for each in MEASURES if each.key != "beyond_limits")
    page = (tmp_path / "out/report.html").read_text()
    assert page.startswith("<!doctype html>") and "gambol-player" in page


def test_all_clips(fox_file, tmp_path, capsys):
    report(fox_file, "-o", tmp_path / "out", "--prior", "none", "--no-page")
    told = capsys.readouterr().out
    assert "walk" in told and "trot" in told and "verdict" in told
    found = {path.parent.name: json.loads(path.read_text()) for path in (tmp_path / "out").glob("*/report.json")}
    assert {name: plain["gait"]["name"] for name, plain in found.items()} == {"walk": "walk", "trot": "trot"}
    assert not list((tmp_path / "out").rglob("*.html"))


def test_against_another_clip_and_another_file(fox_file, tmp_path, capsys):
    usual = ("-o", tmp_path / "out", "--prior", "none")
    report(fox_file, "--clip", "walk", "--against", "trot", *usual)
    plain = json.loads((tmp_path / "out/report.json").read_text())
    assert plain["clip"] == "walk" and plain["against"]["clip"] == "trot"
    assert plain["against"]["metrics"]["motion_amount"]["value"] > plain["metrics"]["motion_amount"]["value"]
    assert ">trot</span>" in (tmp_path / "out/report.html").read_text()
    report(fox_file, "--clip", "walk", "--against", fox_file, *usual, "--no-page")
    plain = json.loads((tmp_path / "out/report.json").read_text())
    assert plain["against"]["metrics"] == plain["metrics"], "the clip of the same name"
    assert "slide" in capsys.readouterr().out


def test_a_skeleton_alone(tmp_path, capsys):
    path = tmp_path / "arm.bvh"
    path.write_text(ARM)
    report(path, "-o", tmp_path / "out", "--prior", "none")
    plain = json.loads((tmp_path / "out/report.json").read_text())
    assert plain["metrics"]["motion_amount"]["value"] > 0 and plain["metrics"]["foot_slide_mean"]["value"] is None
    assert plain["metrics"]["volume_drift"]["value"] is None, "bars are no skin"


def test_losses_of_the_run_that_made_it(fox_file, tmp_path, capsys):
    run = tmp_path / "run"
    run.mkdir()
    (run / "clip.glb").write_bytes(fox_file.read_bytes())
    rows = [
        {"act": "fitting", "number": 0, "step": step, "steps": 2, "losses": {"total": 1 / step}, "trouble": ""}
        for step in (1, 2)
    ]
    (run / "losses.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    report(run / "clip.glb", "--clip", "walk", "-o", tmp_path / "out", "--prior", "none")
    assert "Losses of the run" in (tmp_path / "out/report.html").read_text()


def test_mistakes_are_one_line(fox_file, tmp_path, capsys):
    assert "has no clip 'fly'. Available: walk, trot" in refused(capsys, fox_file, "--clip", "fly")
    assert "choose it by --clip" in refused(capsys, fox_file, "--against", "walk")
    error = refused(capsys, fox_file, "--clip", "walk", "--against", "nothing.glb")
    assert "neither a file nor a clip" in error
    assert "--against-clip needs --against" in refused(capsys, fox_file, "--against-clip", "walk")
    assert "has no clips" in refused(capsys, _without_clips(tmp_path))
    (tmp_path / "taken").write_text("")
    assert "is a file" in refused(capsys, fox_file, "--clip", "walk", "-o", tmp_path / "taken")
    assert np.all([not path.name.endswith("-report") for path in tmp_path.iterdir()])


def _without_clips(folder):
    path = folder / "still.glb"
    gambol.save(gambol.load("duck"), path)
    return path
