"""`gambol report` as a user runs it."""

import json
import re

import numpy as np
import pytest
from formats.bvh_texts import ARM
from motion.strides import body, slower, stride

import gambol
from gambol.cli import main
from gambol.creatures.gaits import gait
from gambol.distillation.config import AnimateConfig
from gambol.distillation.fit import VideoFitConfig
from gambol.distillation.sample_and_fit import SampleConfig
from gambol.motion.foot_lock import FootLockConfig
from gambol.quality.measures import BY_KEY, MEASURES


@pytest.fixture(scope="module")
def fox_file(tmp_path_factory):
    """A fox that walks and trots."""
    path = tmp_path_factory.mktemp("report") / "fox.glb"
    fox = gambol.load("fox")
    anatomy = gambol.analyze(fox)
    gambol.save(fox, path, gait(fox, anatomy, "walk"))
    gambol.save(gambol.load(path), path, gait(fox, anatomy, "trot"), overwrite=True)
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
        "walk: plausible: nothing wrong was found",
        "seen by the prior",
        "report.html",
    ):
        assert words in told, told
    plain = json.loads((tmp_path / "out/report.json").read_text())
    assert plain["clip"] == "walk" and plain["loops"] and plain["gait"]["name"] == "walk"
    assert plain["metrics"]["foot_slide_mean"]["value"] < 2
    unknown = {each.key for each in MEASURES if plain["metrics"][each.key]["value"] is None}
    no_arms, no_pose_model = {"beyond_limits", "arm_swing", "hand_height"}, {"pose_implausibility", "unusual_poses"}
    assert unknown <= no_arms | no_pose_model
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
    assert plain["metrics"]["volume_drift"]["value"] is None, "bones are no skin"


def test_losses_of_the_run_that_made_it(fox_file, tmp_path, capsys):
    run = tmp_path / "run"
    run.mkdir()
    (run / "clip.glb").write_bytes(fox_file.read_bytes())
    rows = [
        {"stage": "fitting", "number": 0, "step": step, "steps": 2, "losses": {"total": 1 / step}, "trouble": ""}
        for step in (1, 2)
    ]
    (run / "losses.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    report(run / "clip.glb", "--clip", "walk", "-o", tmp_path / "out", "--prior", "none")
    assert "Losses of the run" in (tmp_path / "out/report.html").read_text()


def test_mistakes_are_one_line(fox_file, tmp_path, capsys):
    assert "has no clip 'fly'. Available: walk, trot" in refused(capsys, fox_file, "--clip", "fly")
    assert "choose it by --clip" in refused(capsys, fox_file, "--against", "walk")
    error = refused(capsys, fox_file, "--clip", "walk", "--against", "nothing.glb")
    assert "no clip 'nothing.glb' to compare with, and there is no such file" in error
    assert "--against-clip needs --against" in refused(capsys, fox_file, "--against-clip", "walk")
    assert "has no clips" in refused(capsys, _without_clips(tmp_path))
    (tmp_path / "taken").write_text("")
    assert "is a file" in refused(capsys, fox_file, "--clip", "walk", "-o", tmp_path / "taken")
    assert np.all([not path.name.endswith("-report") for path in tmp_path.iterdir()])


def _without_clips(folder):
    path = folder / "still.glb"
    gambol.save(gambol.load("duck"), path)
    return path


def metrics(file, clip, folder, *options) -> dict:
    report(file, "--clip", clip, "--prior", "none", "--no-page", "-o", folder, *options)
    return json.loads((folder / "report.json").read_text())["metrics"]


def test_gambol_clip_tells_the_same_slide(tmp_path, capsys):
    """`gambol track` does too: see test_track_command."""
    made = stride("dog", "walk")
    before, after = tmp_path / "before.glb", tmp_path / "after.glb"
    gambol.save(made.character, before, slower(made, 0.7))
    main(["clip", str(before), "--lock-feet", "-o", str(after)])
    told = re.search(r"they slide (\S+) instead of (\S+) cm/s at a height of 1 m", capsys.readouterr().out)
    (clip,) = gambol.load(before).clips
    new = [name for name in gambol.load(after).clips if name != clip][-1]
    numbers = [metrics(file, name, tmp_path / "out") for file, name in ((after, new), (before, clip))]
    slide = BY_KEY["foot_slide_mean"]
    assert told.groups() == tuple(slide.number(each[slide.key]["value"]) for each in numbers)


def test_gambol_animate_tells_the_same_numbers(tmp_path, monkeypatch):
    short = AnimateConfig(
        sample=SampleConfig(views=1, steps=2), fit=VideoFitConfig(steps=3, views=1), foot_lock=FootLockConfig(steps=4)
    )
    monkeypatch.setattr("gambol.distillation.config.preset_for", lambda *_, **__: short)
    monkeypatch.setattr("gambol.distillation.outputs.ClipRenderer.movie", lambda *_: None)
    monkeypatch.setattr("gambol.distillation.outputs.ClipRenderer.preview", lambda *_: None)
    gambol.save(body("dog")[0], tmp_path / "dog.glb")
    run = tmp_path / "run"
    main(["animate", str(tmp_path / "dog.glb"), "a dog is walking", "-o", str(run)])
    plain = json.loads((run / "report.json").read_text())
    again = metrics(run / "clip.glb", plain["clip"], tmp_path / "out", "--prompt", "a dog is walking")
    for key, measure in BY_KEY.items():
        if measure.family != "prior":
            assert measure.text(plain["metrics"][key]["value"]) == measure.text(again[key]["value"]), key
