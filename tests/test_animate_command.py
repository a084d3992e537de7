"""`gambol animate` from the sentence to the files."""

import dataclasses
import gc
import json
import re
import shutil
import subprocess
import sys
import types
from collections import namedtuple

import av
import numpy as np
import pytest
from character.creatures import dog
from PIL import Image
from poses.small_poses import model

import gambol
from gambol.character.clip import Clip
from gambol.cli import main
from gambol.creatures.gaits import gait
from gambol.distillation import outputs
from gambol.distillation import run as runs
from gambol.distillation.config import AnimateConfig, GuideConfig
from gambol.distillation.fit import VideoFitConfig
from gambol.distillation.guide import hash_guide
from gambol.distillation.sample_and_fit import SampleConfig
from gambol.distillation.stage_runner import StageRunner
from gambol.formats.gltf.document import glb_bytes
from gambol.motion.foot_lock import FootLockConfig
from gambol.poses.model import PoseModel
from gambol.render import clip_renderer


@pytest.fixture(scope="module")
def dog_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("animate") / "dog.glb"
    gambol.save(dog(), path)
    return path


@pytest.fixture(autouse=True)
def short(monkeypatch, tmp_path):
    """Presets of a few steps, small movies, in a folder of their own."""

    def preset_for(preset, prior, seed=0):
        sample, foot_lock = SampleConfig(views=1, steps=2, seed=seed), FootLockConfig(steps=4)
        return AnimateConfig(sample=sample, fit=VideoFitConfig(steps=3, views=1), foot_lock=foot_lock, seed=seed)

    monkeypatch.setattr("gambol.distillation.config.preset_for", preset_for)
    monkeypatch.setattr(clip_renderer, "MOVIE_SIZE", 32)
    monkeypatch.setattr(outputs, "MOVIE_FPS", 8.0)
    monkeypatch.chdir(tmp_path)


def animate(*arguments):
    main(["animate", *map(str, arguments)])


def refused(arguments, capsys) -> str:
    with pytest.raises(SystemExit) as stopped:
        animate(*arguments)
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("gambol: ") and error.count("\n") == 1, error
    return error


def interrupted(monkeypatch, after, error=KeyboardInterrupt):
    """The run stops with an error once so many steps are done."""
    usual, done = StageRunner.step, []

    def step(runner):
        done.append(usual(runner))
        if len(done) >= after:
            raise error
        return done[-1]

    monkeypatch.setattr(StageRunner, "step", step)
    return usual


def test_from_a_sentence_to_the_files(dog_file, tmp_path, capsys):
    animate(dog_file, "a dog is walking", "--seconds", "1.4", "--name", "stroll", "--seed", "5")
    told = capsys.readouterr()
    folder = tmp_path / "dog-walk"
    assert "animating 'dog': 'walk', a loop of 1.40 s, by a formula, preset standard, 6 steps in dog-walk" in told.out
    assert re.search(r"sampling: 2 steps, after", told.out)
    written = "clip.glb, preview.mp4, sheet.png, report.json, report.html"
    assert f"wrote dog-walk/: {written}; clip 'stroll', 1.40 s, loops" in told.out
    assert re.match(r"(good|plausible|doubtful): ", told.out.splitlines()[-1])
    assert told.err == ""
    assert not list(folder.glob(".*")), "nothing half-written"

    config = json.loads((folder / "config.json").read_text())
    assert config["character"] == str(dog_file) and config["prompt"] == "a dog is walking"
    assert config["config"]["seed"] == config["config"]["sample"]["seed"] == 5
    assert config["version"] == gambol.__version__
    before, after = gambol.load(dog_file), gambol.load(folder / "clip.glb")
    assert list(after.clips) == ["stroll"] and after.skeleton.names == before.skeleton.names
    assert after.clips["stroll"].duration == pytest.approx(1.4, abs=1e-5)
    with av.open(str(folder / "preview.mp4")) as movie:
        assert movie.streams.video[0].frames >= 2.0 * 8
    with Image.open(folder / "sheet.png") as sheet:
        assert sheet.width >= 4 * 32
    assert len((folder / "losses.jsonl").read_text().splitlines()) == 6
    page = (folder / "report.html").read_text()
    assert "a dog is walking" in page and "gambol-player" in page and "data:image/png;base64," in page
    assert str(dog_file.parent) not in page, "where files are on this machine is nobody's business"

    animate("--resume", folder)
    assert f"{folder} is finished: there is nothing left to do" in capsys.readouterr().out
    error = refused([dog_file, "a dog is walking", "-o", folder], capsys)
    assert "already holds a finished run: resume it with `gambol animate --resume" in error


@pytest.fixture
def blind(monkeypatch):
    """Without pictures, which take longer than the short run."""
    monkeypatch.setattr(outputs.ClipRenderer, "preview", lambda *_: None)
    monkeypatch.setattr(outputs.ClipRenderer, "movie", lambda *_: None)


def test_ctrl_c_says_how_to_go_on_and_the_result_is_the_same(dog_file, tmp_path, capsys, blind, monkeypatch):
    animate(dog_file, "a dog is walking", "-o", "whole")
    usual = interrupted(monkeypatch, 6, GeneratorExit)  # in the middle of a step: as bad as kill -9
    with pytest.raises(GeneratorExit):
        animate(dog_file, "a dog is walking", "-o", "my run")
    monkeypatch.setattr(StageRunner, "step", usual)
    capsys.readouterr()

    def interrupt(self, log):
        if log.number == 1 and log.step == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("gambol.commands.animate_progress.StepReporter.step", interrupt)
        with pytest.raises(SystemExit) as stopped:
            animate("--resume", "my run")
    assert stopped.value.code == 130
    told = capsys.readouterr().err
    assert "resume with: gambol animate --resume 'my run'" in told and told.endswith("gambol: stopped\n")
    monkeypatch.chdir(tmp_path / "my run")  # paths in the config do not depend on where one is
    animate("--resume", tmp_path / "my run")
    for name in ("clip.glb", "losses.jsonl"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "my run" / name).read_bytes(), name


def test_stopped_while_rendering(dog_file, tmp_path, capsys, blind, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(outputs.ClipRenderer, "movie", stop)
        with pytest.raises(SystemExit) as stopped:
            animate(dog_file, "a dog trots")
    assert stopped.value.code == 130
    assert "--resume dog-trot" in capsys.readouterr().err
    with monkeypatch.context() as patch:
        patch.setattr(StageRunner, "step", stop)  # all steps were done
        animate("--resume", "dog-trot")
    assert (tmp_path / "dog-trot" / "report.html").exists()


def test_trouble_is_told_and_reported(dog_file, tmp_path, capsys, blind, monkeypatch):
    usual = StageRunner.step

    def step(runner):
        return dataclasses.replace(usual(runner), trouble="<b>the loss</b> became nan" if runner.done == 2 else "")

    monkeypatch.setattr(StageRunner, "step", step)
    animate(dog_file, "a dog is walking with a sword")
    told = capsys.readouterr().err
    assert "warning: not understood: 'with a sword'" in told
    assert "warning: <b>the loss</b> became nan" in told
    page = (tmp_path / "dog-walk" / "report.html").read_text()
    assert "&lt;b&gt;the loss&lt;/b&gt; became nan" in page and "<b>the loss" not in page
    assert "not understood: &#x27;with a sword&#x27;" in page


def test_zoo_animals_are_known_by_their_words(tmp_path, blind, monkeypatch):
    interrupted(monkeypatch, 1, GeneratorExit)
    for options, folder in (([], "fox-run"), ([], "fox-run-2"), (["-o", "fox"], "fox")):
        with pytest.raises(GeneratorExit):
            animate("fox", "it runs", *options)
        assert json.loads((tmp_path / folder / "config.json").read_text())["character"] == "fox"
    with pytest.raises(GeneratorExit):
        animate("--resume", "fox")  # though there is a folder of that name now


def test_options_reach_the_config(dog_file, tmp_path, capsys, blind, monkeypatch):
    character = gambol.load(dog_file)
    walk = gait(character, gambol.analyze(character), "walk")
    gambol.save(character, "walking.glb", walk)
    interrupted(monkeypatch, 1, GeneratorExit)
    options = (
        "--init walk --strength 0.4 --frames 2:9 --pin 3:rest --pin 6:walk@0.1 --fps 24 --no-loop --freeze head neck"
    )
    with pytest.raises(GeneratorExit):
        animate("walking.glb", "a dog walks", "-o", "run", "--up", "+y", "--forward", "+z", *options.split())
    run_config = runs.Run.open(tmp_path / "run").run_config
    config = run_config.config
    assert (config.init, config.strength, config.frames, config.fps, config.loop) == ("walk", 0.4, (2, 9), 24, False)
    assert config.pins == ((3, "rest"), (6, "walk@0.1")) and config.freeze == ("head", "neck")
    assert (run_config.up, run_config.forward) == ("+y", "+z")


def test_the_loss_of_implausible_poses_reaches_the_run(dog_file, tmp_path, capsys, blind, monkeypatch):
    model().save(tmp_path / "poses.safetensors", {})
    with monkeypatch.context() as patch:
        interrupted(patch, 3, GeneratorExit)
        with pytest.raises(GeneratorExit):
            options = ("--prior", "pixels", "--plausible", "0.1", "--pose-weights", "poses.safetensors")
            animate(dog_file, "a dog walks", "-o", "run", *options)
    run_config = runs.Run.open(tmp_path / "run").run_config
    assert (run_config.config.fit.plausible, run_config.config.score.plausible) == (0.1, 0.0)
    assert run_config.config.pose_weights == str(tmp_path / "poses.safetensors") and run_config.pose_hash
    save_another(model(), tmp_path / "poses.safetensors")
    assert "the weights of the pose model are no longer those this run began with" in refused(
        ["--resume", "run"], capsys
    )
    model().save(tmp_path / "poses.safetensors", {})
    animate("--resume", "run")
    lines = [json.loads(line) for line in (tmp_path / "run" / "losses.jsonl").read_text().splitlines()]
    assert sum("implausible" in line["losses"] for line in lines) == run_config.config.fit.steps


def save_another(known, path):
    """Write a pose model that differs a little."""
    PoseModel(known.network, 1.01 * known.deviations, known.actions).save(path, {})


@pytest.mark.parametrize("prior", ["tracks", "pixels"])
def test_poses_as_a_guide(dog_file, tmp_path, capsys, blind, prior):
    """From a file of poses, as `gambol poses` writes it, to the clip."""
    character = gambol.load(dog_file)
    walk = gait(character, gambol.analyze(character), "walk")
    row = walk.sample(character.skeleton, np.array([0.0, 0.2, 0.4]))
    gambol.save(character, "poses.glb", Clip.from_poses("poses", row, character.skeleton, fps=1.0))
    options = ("--prior", prior, "--strength", "0.5", "--seconds", "1")
    animate(dog_file, "a dog walks", "--guide", "poses.glb", *options, "-o", "run")
    assert "guided by 'poses.glb' as start, preset standard" in capsys.readouterr().out
    run_config = runs.Run.open(tmp_path / "run").run_config
    guide = GuideConfig(str(tmp_path / "poses.glb"))
    assert (run_config.config.guide, run_config.config.strength) == (guide, 0.5)
    assert run_config.guide_hash == hash_guide(guide) != ""
    assert str(tmp_path) not in (tmp_path / "run" / "report.html").read_text()
    clips = gambol.load(tmp_path / "run" / "clip.glb").clips
    assert list(clips) == ["walk"] and clips["walk"].duration == pytest.approx(1, abs=1e-5)


def test_watching(dog_file, capsys, blind, monkeypatch):
    shown = []

    class LivePage:
        def __init__(self, problem):
            self.url = "http://localhost:1"

        def show(self, runner, step=None):
            shown.append((len(runner.rig_motion()) > 0, step and step.step))

        def close(self):
            shown.append("closed")

    monkeypatch.setitem(sys.modules, "gambol.live.page", types.SimpleNamespace(LivePage=LivePage))
    animate(dog_file, "a dog is walking", "--watch")
    assert "watch it at http://localhost:1" in capsys.readouterr().out
    assert shown == [(True, step) for step in (1, 2, 1, 2, 3, 4, None)] + ["closed"]


def test_characters_without_a_mesh_have_no_pictures(dog_file, tmp_path, capsys, monkeypatch):
    bare = dataclasses.replace(gambol.load(dog_file), meshes=(), source=None)
    gambol.save(bare, "bare.glb")
    animate("bare.glb", "it walks", "--up", "+y", "--forward", "+z")
    told = capsys.readouterr()
    assert "wrote bare-walk/: clip.glb, report.json, report.html;" in told.out
    assert "warning: no movie and no contact sheet were rendered: " in told.err and "no mesh with faces" in told.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], 'a character and a sentence is needed, as in: gambol animate fox "a fox is walking"'),
        (["DOG"], "a sentence that says what it does is needed"),
        (["DOG", "  "], "a sentence that says what it does is needed"),
        (["nothing.glb", "it walks"], "nothing.glb does not exist"),
        (["DOG", "a dog philosophises"], "no action was recognised in 'a dog philosophises'"),
        (["DOG", "it walks", "--loop", "--no-loop"], "--loop and --no-loop exclude each other"),
        (["DOG", "it walks", "--seed", "-1"], "--seed must be from 0 to 1,000,000, got -1"),
        (["DOG", "it walks", "--name", " "], "--name must not be empty"),
        (["DOG", "it walks", "--fps", "0"], "fps must be from 1 to 240, got 0"),
        (["DOG", "it walks", "--seconds", "nan"], "seconds must be from 0.1 to 600, got nan"),
        (["DOG", "it walks", "--strength", "2"], "strength must be from 0.01 to 1, got 2"),
        (["DOG", "it walks", "--strength", "0.5"], "--strength says how much a clip may change"),
        (["DOG", "it walks", "--init", "x", "--strength", "0.5", "--preset", "paper"], "--strength is for draft and"),
        (["DOG", "it walks", "--frames", "3", "--init", "x"], "--frames takes two frames, as in 10:25, got '3'"),
        (["DOG", "it walks", "--frames", "3:5"], "--frames names frames of a clip to redo: name that clip with --init"),
        (["DOG", "it walks", "--pin", "rest"], "--pin takes a frame and a pose, as in 0:rest"),
        (["DOG", "it walks", "--pin", "0:hop"], "'dog' has no clip 'hop'. Available: rest"),
        (["DOG", "it walks", "--init", "trot"], "'dog' has no clip 'trot' to start from. It has none"),
        (["DOG", "it walks", "--guide", "trot"], "'dog' has no clip 'trot' to be guided by, and there is no such file"),
        (["DOG", "it walks", "--guide", "x", "--init", "x"], "--init and --guide both name a motion to begin with"),
        (["DOG", "it walks", "--guide-as", "control"], "--guide-as control needs a motion: name it with --guide"),
        (["DOG", "it walks", "--guide", "x", "--control-scale", "0.5"], "--control-scale is for --guide-as control"),
        (["DOG", "it walks", "--guide", "x", "--control-kind", "depth"], "--control-kind is for --guide-as control"),
        (
            ["DOG", "it walks", "--guide", "x", "--guide-as", "control"],
            "tracks takes no guide as control, only as",
        ),
        (
            ["DOG", "it walks", "--guide", "x", "--guide-as", "first-frame", "--strength", "0.5"],
            "--strength says how much a clip may change",
        ),
        (["DOG", "it walks", "--freeze", "wing"], "'dog' has no joint 'wing'. Available: "),
        (["DOG", "it walks", "--preset", "best"], "invalid choice 'best'"),
        (["DOG", "it walks", "--prior", "cogvideo"], "there is no prior 'cogvideo'"),
        (["DOG", "it walks", "--offload"], "the prior tracks has no option offload"),
        (["DOG", "it walks", "--weights", "none.safetensors"], "there is no file 'none.safetensors'"),
        (["DOG", "it walks", "--plausible", "-1"], "plausible must be from 0 to"),
        (["DOG", "it walks", "--plausible", "0.1"], "--plausible is for motions that are optimised, and those of"),
        (
            ["DOG", "it walks", "--pose-weights", "x"],
            "--pose-weights is the pose model of --plausible: give",
        ),
        (
            ["DOG", "it walks", "--prior", "pixels", "--plausible", "0.1", "--pose-weights", "none.safetensors"],
            "none.safetensors'",
        ),
        (["DOG", "it walks", "-o", "DOG"], "dog.glb is a file; give the name of a folder"),
        (["--resume", "nothing"], "cannot resume: there is no folder nothing"),
        (["--resume", "."], "cannot resume: there is no config.json in"),
        (["DOG", "--resume", "x"], "--resume uses the run's own settings: leave out the character"),
        (["--resume", "x", "--seed", "3"], "leave out --seed"),
        (["--resume", "x", "--no-loop"], "leave out --no-loop"),
    ],
)
def test_mistakes_leave_nothing_behind(dog_file, tmp_path, arguments, message, capsys):
    error = refused([dog_file if argument == "DOG" else argument for argument in arguments], capsys)
    assert message in error
    assert not list(tmp_path.iterdir())


def test_a_page_that_cannot_be_shown_leaves_nothing_behind(dog_file, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("gambol.commands.animate.find_spec", lambda name: None)
    assert "pip install 'gambol[watch]'" in refused([dog_file, "it walks", "--watch"], capsys)
    assert not list(tmp_path.iterdir())


def test_full_disks_are_found_before_the_work(dog_file, tmp_path, capsys, monkeypatch):
    def load(*_):
        raise AssertionError("worked in vain")

    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 0, 10**8))
    monkeypatch.setattr("gambol.formats.load", load)
    assert "has 100 MB free and the run may need 200 MB" in refused([dog_file, "it walks"], capsys)


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of resources")
def test_a_disk_that_is_full_from_the_start_leaves_nothing_behind(dog_file, tmp_path):
    """No file may be larger than 50 bytes: the first one that is written is config.json."""
    import resource

    ended = subprocess.run(
        [sys.executable, "-m", "gambol", "animate", str(dog_file), "a dog is walking", "-o", "new/run"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50, 50)),
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 2 and "config.json cannot be written: File too large" in ended.stderr, ended.stderr
    assert ended.stderr.count("\n") == 1 and not list(tmp_path.iterdir())


def test_what_the_clip_is_called(dog_file, tmp_path):
    character = gambol.load(dog_file)
    for path, chunks, name in (("a.VRM", (), "clip.vrm"), ("a.glb", (), "clip.glb"), ("a.gltf", None, "clip.glb")):
        source = dataclasses.replace(character.source, path=tmp_path / path, chunks=chunks)
        assert outputs.clip_file(dataclasses.replace(character, source=source)) == name
    assert outputs.clip_file(dog()) == "clip.glb"


def test_files_that_a_run_would_overwrite_are_refused(dog_file, tmp_path, capsys):
    source = gambol.load(dog_file).source
    content = {**source.json, "images": [{"uri": "preview.png"}]}
    (tmp_path / "named.glb").write_bytes(glb_bytes(content, source.chunks))
    error = refused(["named.glb", "it walks"], capsys)
    assert "named.glb needs a file preview.png beside it, and a run writes one" in error


def test_from_python():
    assert {"animate", "AnimateConfig", "open_prior"} <= set(gambol.__all__)
    config = gambol.AnimateConfig(
        sample=SampleConfig(views=1, steps=1), fit=VideoFitConfig(steps=1, views=1), foot_lock=None, fps=20
    )
    clip = gambol.animate(dog(), "a dog is walking", gambol.open_prior("pixels"), config, name="stroll")
    assert clip.name == "stroll" and clip.tracks


def test_garbage_is_collected_again_once_all_is_loaded(dog_file, capsys):
    refused([dog_file, "a dog is walking", "--seed", "-1"], capsys)
    assert gc.isenabled()
