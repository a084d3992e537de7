"""A run can be stopped anywhere, even by kill -9, and ends as if it had not been."""

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest
import torch
from character.creatures import dog

import gambol
from gambol.creatures.gaits import gait
from gambol.distillation import run as runs
from gambol.distillation.config import AnimateConfig, Preset, preset_for, steps_of
from gambol.distillation.fit import VideoFitConfig
from gambol.distillation.run import LossLog, Run, check_unused, read_losses
from gambol.distillation.run_config import PriorChoice, RunConfig, hash_character
from gambol.distillation.sample_and_fit import SampleConfig
from gambol.distillation.score_distillation import ScoreConfig
from gambol.distillation.stage_runner import StepLog
from gambol.distillation.stages import stages_of
from gambol.errors import GambolError
from gambol.files import locked_folder
from gambol.motion.foot_lock import FootLockConfig
from gambol.priors.catalogue import open_prior
from gambol.priors.pixels.prior import PixelPrior
from gambol.priors.prior import VideoPrior

SHORT = AnimateConfig(
    levels=(1.0, 0.6),
    sample=SampleConfig(views=1, steps=2),
    fit=VideoFitConfig(steps=3, views=1),
    score=ScoreConfig(steps=4),
    foot_lock=FootLockConfig(steps=12),
    seed=3,
)
"""Three stages of 5, 5 and 12 steps."""
ALL = sum(steps_of(SHORT, "pixels"))


class Killed(BaseException):
    """Ends a run as kill -9 does, but for this process: nobody may catch it."""


@pytest.fixture(scope="module")
def dog_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "dog.glb"
    gambol.save(dog(), path)
    return path


@pytest.fixture(scope="module")
def prior():
    return open_prior("pixels")


def config_of(dog_file, config=SHORT):
    return RunConfig(str(dog_file), "a dog is walking", config, prior=PriorChoice("pixels"))


def problem_of(run_config, prior):
    return run_config.problem(gambol.load(run_config.character), prior)


@pytest.fixture(scope="module")
def problem(dog_file, prior):
    return problem_of(config_of(dog_file), prior)


@pytest.fixture(scope="module")
def whole(dog_file, problem, tmp_path_factory):
    """A run that nothing interrupted: its runner and its losses."""
    run = begun(tmp_path_factory.mktemp("whole") / "run", dog_file)
    return run.solve(problem), read_losses(run.folder)


def begun(folder, dog_file, config=SHORT):
    folder.mkdir(parents=True)
    return Run.begin(folder, config_of(dog_file, config))


def stopped_after(count, error):
    """Told of every step, stops the run after so many."""
    seen = []

    def on_step(log, runner):
        seen.append(log)
        if len(seen) == count:
            raise error

    return on_step


def assert_same(runner, other):
    ours, theirs = runner.state(), other.state()
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        assert torch.equal(value, theirs[name]), name


@pytest.mark.parametrize("error", [KeyboardInterrupt, Killed])
@pytest.mark.parametrize("stops", [(1, 6), (2, 1, 5, 12), (9,), (ALL - 1, 1)])
def test_stopped_runs_end_as_if_they_had_not_been(stops, error, dog_file, problem, whole, tmp_path):
    run = begun(tmp_path / "run", dog_file)
    for count in stops:
        with pytest.raises(error):
            run.solve(problem, stopped_after(count, error))
        run = Run.open(tmp_path / "run")
    runner = run.solve(problem)
    assert_same(runner, whole[0])
    assert read_losses(run.folder) == whole[1]


def test_ctrl_c_loses_no_step_and_kill_some(dog_file, problem, tmp_path):
    for error, left in ((KeyboardInterrupt, ALL - 7), (Killed, ALL - 5)):  # the first stage ends after step 5
        run, later = begun(tmp_path / error.__name__, dog_file), []
        with pytest.raises(error):
            run.solve(problem, stopped_after(7, error))
        run.solve(problem, lambda log, runner, later=later: later.append(log))
        assert len(later) == left


def test_states_are_saved_by_the_clock(dog_file, problem, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "SAVE_EVERY", 0.0)
    monkeypatch.setattr(runs._Interval, "__exit__", lambda interval, *_: None)
    run, later = begun(tmp_path / "run", dog_file), []
    with pytest.raises(Killed):
        run.solve(problem, stopped_after(4, Killed))
    run.solve(problem, lambda log, runner: later.append(log))
    assert len(later) == ALL - 3, "all steps but the one it was killed in"


def test_scores_can_be_stopped_too(dog_file, prior, tmp_path):
    config = dataclasses.replace(SHORT, method="score", foot_lock=None)
    problem = problem_of(config_of(dog_file, config), prior)
    expected = begun(tmp_path / "whole", dog_file, config).solve(problem)
    run = begun(tmp_path / "run", dog_file, config)
    with pytest.raises(KeyboardInterrupt):
        run.solve(problem, stopped_after(2, KeyboardInterrupt))
    assert_same(run.solve(problem), expected)


KILLED = """
import os, signal, sys
from pathlib import Path
import gambol, torch
from gambol.distillation.run import Run
torch.set_num_threads(1)
run = Run.open(Path(sys.argv[1]))
problem = run.run_config.problem(gambol.load(run.run_config.character), run.run_config.prior.open())
steps = []
def on_step(log, runner):
    steps.append(log)
    if len(steps) == 14:
        os.kill(os.getpid(), signal.SIGKILL)
run.solve(problem, on_step)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9 on this system")
def test_a_killed_process_is_resumed_by_another(dog_file, problem, whole, tmp_path):
    folder = tmp_path / "run"
    begun(folder, dog_file)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(folder)], capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert len(read_losses(folder)) == 14
    half = folder / ".state-abcd1234.safetensors"
    half.write_bytes(b"what was being written")
    run = Run.open(folder)
    assert not run.finished
    runner = run.solve(problem)
    assert_same(runner, whole[0])
    assert read_losses(folder) == whole[1]
    assert not half.exists()


def test_one_ctrl_c_waits_for_the_step(dog_file, problem, tmp_path):
    run, seen = begun(tmp_path / "run", dog_file), []

    def on_step(log, runner):
        seen.append(log)
        if len(seen) == 3:
            os.kill(os.getpid(), signal.SIGINT)
            seen.append("still here")

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run.solve(problem, on_step)
    assert seen[3:] == ["still here"]
    assert signal.getsignal(signal.SIGINT) is before
    assert len(read_losses(run.folder)) == 3


def test_losses_have_one_line_a_step(whole):
    rows = whole[1]
    assert [(row["number"], row["step"]) for row in rows] == [
        (stage, step + 1) for stage, steps in enumerate(steps_of(SHORT, "pixels")) for step in range(steps)
    ]
    assert rows[0]["losses"] == {} and rows[2]["losses"]["total"] > 0


def test_losses_that_are_no_numbers_stay_json(tmp_path):
    log = LossLog(tmp_path / "losses.jsonl", 0)
    log.add(StepLog("locking feet", 0, 1, 9, {"total": float("nan"), "slide": 2.0}, trouble="went back"))
    log.close()
    (row,) = read_losses(tmp_path)
    assert row["losses"] == {"total": None, "slide": 2.0}
    assert row["trouble"] == "went back"


def test_a_run_uses_its_own_number_of_threads(dog_file, problem, tmp_path):
    (tmp_path / "run").mkdir()
    run, seen = Run.begin(tmp_path / "run", dataclasses.replace(config_of(dog_file), threads=2)), []
    before = torch.get_num_threads()

    def on_step(log, runner):
        seen.append(torch.get_num_threads())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.solve(problem, on_step)
    assert seen == [2]
    assert torch.get_num_threads() == before


def test_pictures_are_drawn_now_and_then(dog_file, problem, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "PREVIEW_EVERY", 0.0)
    run, drawn = begun(tmp_path / "run", dog_file), []
    run.solve(problem, draw=lambda runner, path: drawn.append((runner.number, path.name)))
    assert {name for _, name in drawn} == {"preview.png"}
    assert {number for number, _ in drawn} >= {1, 2, 3}, "also at the end of every stage"


def test_short_runs_draw_nothing(dog_file, problem, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "PREVIEW_EVERY", 1e9)
    drawn = []
    begun(tmp_path / "run", dog_file).solve(problem, draw=lambda runner, path: drawn.append(path))
    assert not drawn


@pytest.mark.parametrize("kind", [PixelPrior, VideoPrior])
@pytest.mark.parametrize("preset", ["draft", "standard", "paper"])
def test_configs_survive_json(preset: Preset, kind):
    config = dataclasses.replace(
        preset_for(preset, kind, seed=7),
        fps=29.97,
        seconds=1 / 3,
        loop=True,
        init="walk",
        frames=(3, 9),
        pins=((0, "rest"), (4, "walk@0.5")),
        freeze=("head", 'a "quoted" joint'),
    )
    choice = PriorChoice("pixels", "weights.safetensors", device="cuda:1", offload=True)
    then = ("er bellt",)
    run_config = RunConfig("fox.glb", "ein Fuchs läuft", config, then, preset, choice, "Lauf", up="+z", threads=5)
    again = RunConfig.from_json(run_config.json())
    assert again == run_config
    assert again.json() == run_config.json()
    assert isinstance(again.config.pins[1], tuple)


def test_one_seed_is_for_everything():
    config = AnimateConfig(seed=5)
    assert config.sample.seed == config.score.seed == 5
    assert dataclasses.replace(config, seed=6).sample.seed == 6


@pytest.mark.parametrize("preset", ["draft", "standard", "paper"])
def test_steps_are_known_beforehand(preset: Preset, problem, prior):
    config = preset_for(preset, prior)
    planned = steps_of(config, "pixels")
    stages = stages_of(dataclasses.replace(problem, config=config))
    assert [make(problem.start).steps for make in stages] == list(planned)


def test_taken_folders_are_refused(dog_file, tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(GambolError, match="file is a file; give the name of a folder"),
        locked_folder(tmp_path / "file"),
    ):
        pass
    inside = tmp_path / "file" / "run"
    with pytest.raises(GambolError, match="cannot be written to: Not a directory"), locked_folder(inside):
        pass
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "report.html").write_text("mine")
    with pytest.raises(GambolError, match=r"holds report\.html, which is not from a run"):
        check_unused(tmp_path / "other")
    run = begun(tmp_path / "run", dog_file)
    with pytest.raises(GambolError, match=r"already holds an unfinished run: .*--resume"):
        check_unused(run.folder)
    (run.folder / "report.html").write_text("done")
    with pytest.raises(GambolError, match=r"already holds a finished run"):
        check_unused(run.folder)


def test_read_only_folders_are_refused(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.raises(GambolError, match="cannot be written to: Permission denied"), locked_folder(tmp_path / "run"):
        pass
    assert not (tmp_path / "run").exists()


def test_full_disks_are_refused(tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 10**9 - 5_000_000, 5_000_000))
    with pytest.raises(GambolError, match="has 5 MB free and the run may need 200 MB; make room"):
        check_unused(tmp_path)


def test_a_disk_that_fills_up_is_one_line(dog_file, problem, tmp_path, monkeypatch):
    run = begun(tmp_path / "run", dog_file)

    def full(path, data):
        raise GambolError(f"{path} cannot be written: No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("gambol.tensor_files.write_file", full)
        with pytest.raises(GambolError, match="No space left"):
            run.solve(problem)


def test_what_is_no_run_is_refused(dog_file, problem, tmp_path):
    with pytest.raises(GambolError, match="there is no folder"):
        Run.open(tmp_path / "nothing")
    with pytest.raises(GambolError, match=r"cannot resume: there is no config\.json in"):
        Run.open(tmp_path)
    run = begun(tmp_path / "run", dog_file)
    config = json.loads((run.folder / "config.json").read_text())
    for broken, message in (
        ({**config, "colour": "red"}, r"fields that this version of gambol knows \(colour\)"),
        ({**config, "prompt": 3}, r"config\.prompt must be str, got 3"),
        ({**config, "preset": "best"}, r"config\.preset must be one of draft"),
        ({**config, "config": {**config["config"], "levels": 1.0}}, r"config\.config\.levels must be a list"),
        ({**config, "config": {**config["config"], "fps": 0}}, "fps must be from 1 to 240"),
    ):
        (run.folder / "config.json").write_text(json.dumps(broken))
        with pytest.raises(GambolError, match=message):
            Run.open(run.folder)
    (run.folder / "config.json").write_text("{")
    with pytest.raises(GambolError, match=r"cannot resume from .*config\.json: "):
        Run.open(run.folder)
    (run.folder / "state.safetensors").write_bytes(b"nonsense")
    with pytest.raises(GambolError, match=r"cannot resume from .*; delete it to start from the first step"):
        run.solve(problem)


def test_other_ingredients_are_refused(dog_file, prior, tmp_path):
    character = gambol.load(dog_file)
    run_config = dataclasses.replace(
        config_of(dog_file), character_hash=hash_character(character), prior_hash=prior.fingerprint()
    )
    assert problem_of(run_config, prior).title == "walk"
    other = tmp_path / "dog.glb"
    gambol.save(character, other, gait(character, gambol.analyze(character), "walk"))
    with pytest.raises(GambolError, match="is no longer the character this run began with"):
        run_config.problem(gambol.load(other), prior)
    with pytest.raises(GambolError, match="weights of the prior pixels are no longer those"):
        problem_of(dataclasses.replace(run_config, prior_hash="other"), prior)


def test_other_weights_are_for_pixels_alone(tmp_path):
    with pytest.raises(GambolError, match=r"for gambol's own priors alone, not for the prior wan-2\.1-1\.3b"):
        PriorChoice("wan-2.1-1.3b", weights="weights.safetensors").open()
    with pytest.raises(GambolError, match="there is no file"):
        PriorChoice("pixels", weights=str(tmp_path / "none.safetensors")).open()
    with pytest.raises(GambolError, match="the prior pixels has no option device"):
        PriorChoice("pixels", device="cpu").open()


def test_paths_mean_the_same_from_everywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("model").mkdir()
    assert PriorChoice("model", "w.safetensors").lasting() == PriorChoice(
        str(tmp_path / "model"), str(tmp_path / "w.safetensors")
    )
    assert PriorChoice("wan-2.1-1.3b").lasting() == PriorChoice("wan-2.1-1.3b")
