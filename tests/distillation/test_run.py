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
from gambol.distillation import run as runs
from gambol.distillation.config import DistillConfig, Preset, preset_for
from gambol.distillation.distill import acts_of
from gambol.distillation.fit import FitConfig
from gambol.distillation.footing import FootingConfig
from gambol.distillation.play import Moment
from gambol.distillation.recipe import PriorChoice, Recipe, mark_character, mark_prior
from gambol.distillation.run import LossLog, Run, claim_folder, read_losses, steps_of
from gambol.distillation.sampled import SampleConfig
from gambol.distillation.score_distillation import ScoreConfig
from gambol.errors import GambolError
from gambol.priors.catalogue import open_prior

SHORT = DistillConfig(
    levels=(1.0, 0.6),
    sample=SampleConfig(views=1, steps=2),
    fit=FitConfig(steps=3, views=1),
    score=ScoreConfig(steps=4),
    footing=FootingConfig(steps=12),
    seed=3,
)
"""Three acts of 5, 5 and 12 steps."""
ALL = sum(steps_of(SHORT))


class Killed(BaseException):
    """Ends a run as kill -9 does, but for this process: nobody may catch it."""


@pytest.fixture(scope="module")
def dog_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "dog.glb"
    gambol.save(dog(), path)
    return path


@pytest.fixture(scope="module")
def prior():
    return open_prior("pocket")


def recipe_of(dog_file, config=SHORT):
    return Recipe(character=str(dog_file), prompt="a dog is walking", config=config)


def scene_of(recipe, prior):
    return recipe.scene(gambol.load(recipe.character), prior)


@pytest.fixture(scope="module")
def scene(dog_file, prior):
    return scene_of(recipe_of(dog_file), prior)


@pytest.fixture(scope="module")
def whole(dog_file, scene, tmp_path_factory):
    """A run that nothing interrupted: its play and its losses."""
    run = begun(tmp_path_factory.mktemp("whole") / "run", dog_file)
    return run.perform(scene), read_losses(run.folder)


def begun(folder, dog_file, config=SHORT):
    claim_folder(folder)
    return Run.begin(folder, recipe_of(dog_file, config))


def stopped_after(count, error):
    """Told of every step, stops the run after so many."""
    seen = []

    def on_step(moment, play):
        seen.append(moment)
        if len(seen) == count:
            raise error

    return on_step


def assert_same(play, other):
    ours, theirs = play.state(), other.state()
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        assert torch.equal(value, theirs[name]), name


@pytest.mark.parametrize("error", [KeyboardInterrupt, Killed])
@pytest.mark.parametrize("stops", [(1, 6), (2, 1, 5, 12), (9,), (ALL - 1, 1)])
def test_stopped_runs_end_as_if_they_had_not_been(stops, error, dog_file, scene, whole, tmp_path):
    run = begun(tmp_path / "run", dog_file)
    for count in stops:
        with pytest.raises(error):
            run.perform(scene, stopped_after(count, error))
        run = Run.open(tmp_path / "run")
    play = run.perform(scene)
    assert_same(play, whole[0])
    assert read_losses(run.folder) == whole[1]


def test_ctrl_c_loses_no_step_and_kill_some(dog_file, scene, tmp_path):
    for error, left in ((KeyboardInterrupt, ALL - 7), (Killed, ALL - 5)):  # the first act ends after step 5
        run, later = begun(tmp_path / error.__name__, dog_file), []
        with pytest.raises(error):
            run.perform(scene, stopped_after(7, error))
        run.perform(scene, lambda moment, play, later=later: later.append(moment))
        assert len(later) == left


def test_states_are_saved_by_the_clock(dog_file, scene, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "SAVE_EVERY", 0.0)
    monkeypatch.setattr(runs._Pace, "__exit__", lambda pace, *_: None)
    run, later = begun(tmp_path / "run", dog_file), []
    with pytest.raises(Killed):
        run.perform(scene, stopped_after(4, Killed))
    run.perform(scene, lambda moment, play: later.append(moment))
    assert len(later) == ALL - 3, "all steps but the one it was killed in"


def test_scores_can_be_stopped_too(dog_file, prior, tmp_path):
    config = dataclasses.replace(SHORT, method="score", footing=None)
    scene = scene_of(recipe_of(dog_file, config), prior)
    expected = begun(tmp_path / "whole", dog_file, config).perform(scene)
    run = begun(tmp_path / "run", dog_file, config)
    with pytest.raises(KeyboardInterrupt):
        run.perform(scene, stopped_after(2, KeyboardInterrupt))
    assert_same(run.perform(scene), expected)


KILLED = """
import os, signal, sys
from pathlib import Path
import gambol, torch
from gambol.distillation.run import Run
torch.set_num_threads(1)
run = Run.open(Path(sys.argv[1]))
scene = run.recipe.scene(gambol.load(run.recipe.character), run.recipe.prior.open())
steps = []
def on_step(moment, play):
    steps.append(moment)
    if len(steps) == 14:
        os.kill(os.getpid(), signal.SIGKILL)
run.perform(scene, on_step)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9 on this system")
def test_a_killed_process_is_gone_on_with_by_another(dog_file, scene, whole, tmp_path):
    folder = tmp_path / "run"
    begun(folder, dog_file)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(folder)], capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert len(read_losses(folder)) == 14
    half = folder / ".state-abcd1234.safetensors"
    half.write_bytes(b"what was being written")
    run = Run.open(folder)
    assert not run.finished
    play = run.perform(scene)
    assert_same(play, whole[0])
    assert read_losses(folder) == whole[1]
    assert not half.exists()


def test_one_ctrl_c_waits_for_the_step(dog_file, scene, tmp_path):
    run, seen = begun(tmp_path / "run", dog_file), []

    def on_step(moment, play):
        seen.append(moment)
        if len(seen) == 3:
            os.kill(os.getpid(), signal.SIGINT)
            seen.append("still here")

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run.perform(scene, on_step)
    assert seen[3:] == ["still here"]
    assert signal.getsignal(signal.SIGINT) is before
    assert len(read_losses(run.folder)) == 3


def test_losses_have_one_line_a_step(whole):
    rows = whole[1]
    assert [(row["number"], row["step"]) for row in rows] == [
        (act, step + 1) for act, steps in enumerate(steps_of(SHORT)) for step in range(steps)
    ]
    assert rows[0]["losses"] == {} and rows[2]["losses"]["total"] > 0


def test_losses_that_are_no_numbers_stay_json(tmp_path):
    log = LossLog(tmp_path / "losses.jsonl", 0)
    log.add(Moment("footing", 0, 1, 9, {"total": float("nan"), "slide": 2.0}, trouble="went back"))
    log.close()
    (row,) = read_losses(tmp_path)
    assert row["losses"] == {"total": None, "slide": 2.0}
    assert row["trouble"] == "went back"


def test_a_run_uses_its_own_number_of_threads(dog_file, scene, tmp_path):
    claim_folder(tmp_path / "run")
    run, seen = Run.begin(tmp_path / "run", dataclasses.replace(recipe_of(dog_file), threads=2)), []
    before = torch.get_num_threads()

    def on_step(moment, play):
        seen.append(torch.get_num_threads())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.perform(scene, on_step)
    assert seen == [2]
    assert torch.get_num_threads() == before


def test_pictures_are_drawn_now_and_then(dog_file, scene, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "PREVIEW_EVERY", 0.0)
    run, drawn = begun(tmp_path / "run", dog_file), []
    run.perform(scene, draw=lambda play, path: drawn.append((play.number, path.name)))
    assert {name for _, name in drawn} == {"preview.png"}
    assert {number for number, _ in drawn} >= {1, 2, 3}, "also at the end of every act"


def test_short_runs_draw_nothing(dog_file, scene, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "PREVIEW_EVERY", 1e9)
    drawn = []
    begun(tmp_path / "run", dog_file).perform(scene, draw=lambda play, path: drawn.append(path))
    assert not drawn


@pytest.mark.parametrize("look", ["parts", "own"])
@pytest.mark.parametrize("preset", ["draft", "standard", "paper"])
def test_recipes_survive_json(preset: Preset, look):
    prior = namedtuple("Look", "look")(look)
    config = dataclasses.replace(
        preset_for(preset, prior, seed=7),
        fps=29.97,
        seconds=1 / 3,
        loop=True,
        init="walk",
        only=(3, 9),
        pins=((0, "rest"), (4, "walk@0.5")),
        keep=("head", 'a "quoted" joint'),
    )
    choice = PriorChoice("pocket", "weights.safetensors", device="cuda:1", offload=True)
    recipe = Recipe("fox.glb", "ein Fuchs läuft", config, preset, choice, name="Lauf", up="+z", threads=5)
    again = Recipe.from_json(recipe.json())
    assert again == recipe
    assert again.json() == recipe.json()
    assert isinstance(again.config.pins[1], tuple)


def test_one_seed_is_for_everything():
    config = DistillConfig(seed=5)
    assert config.sample.seed == config.score.seed == 5
    assert dataclasses.replace(config, seed=6).sample.seed == 6


@pytest.mark.parametrize("preset", ["draft", "standard", "paper"])
def test_steps_are_known_beforehand(preset: Preset, scene, prior):
    config = preset_for(preset, prior)
    planned = steps_of(config)
    acts = acts_of(dataclasses.replace(scene, config=config))
    assert [make(scene.start).steps for make in acts] == list(planned)


def test_taken_folders_are_refused(dog_file, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(GambolError, match="file is a file; give the name of a folder"):
        claim_folder(tmp_path / "file")
    with pytest.raises(GambolError, match="cannot be written to: Not a directory"):
        claim_folder(tmp_path / "file" / "run")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "report.html").write_text("mine")
    with pytest.raises(GambolError, match=r"holds report\.html, which is not of a run"):
        claim_folder(tmp_path / "other")
    run = begun(tmp_path / "run", dog_file)
    with pytest.raises(GambolError, match=r"already holds an unfinished run: .*--resume"):
        claim_folder(run.folder)
    (run.folder / "report.html").write_text("done")
    with pytest.raises(GambolError, match=r"already holds a finished run"):
        claim_folder(run.folder)


def test_read_only_folders_are_refused(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.raises(GambolError, match="cannot be written to: Permission denied"):
        claim_folder(tmp_path / "run")


def test_full_disks_are_refused(tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 10**9 - 5_000_000, 5_000_000))
    with pytest.raises(GambolError, match="has 5 MB free and the run may need 200 MB; make room"):
        claim_folder(tmp_path / "run")


def test_a_disk_that_fills_up_is_one_line(dog_file, scene, tmp_path, monkeypatch):
    run = begun(tmp_path / "run", dog_file)

    def full(path, data):
        raise GambolError(f"{path} cannot be written: No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(runs, "write_file", full)
        with pytest.raises(GambolError, match="No space left"):
            run.perform(scene)


def test_what_is_no_run_is_refused(dog_file, scene, tmp_path):
    with pytest.raises(GambolError, match="there is no folder"):
        Run.open(tmp_path / "nothing")
    with pytest.raises(GambolError, match=r"holds no run: there is no config\.json"):
        Run.open(tmp_path)
    run = begun(tmp_path / "run", dog_file)
    config = json.loads((run.folder / "config.json").read_text())
    for broken, message in (
        ({**config, "colour": "red"}, r"fields this version of gambol knows \(colour\)"),
        ({**config, "prompt": 3}, r"config\.prompt must be str, got 3"),
        ({**config, "preset": "best"}, r"config\.preset must be one of draft"),
        ({**config, "config": {**config["config"], "levels": 1.0}}, r"config\.config\.levels must be a list"),
        ({**config, "config": {**config["config"], "fps": 0}}, "fps must be from 1 to 240"),
    ):
        (run.folder / "config.json").write_text(json.dumps(broken))
        with pytest.raises(GambolError, match=message):
            Run.open(run.folder)
    (run.folder / "config.json").write_text("{")
    with pytest.raises(GambolError, match="cannot be gone on with"):
        Run.open(run.folder)
    (run.folder / "state.safetensors").write_bytes(b"nonsense")
    with pytest.raises(GambolError, match=r"is no state of this run .*delete it to begin anew"):
        run.perform(scene)


def test_other_ingredients_are_refused(dog_file, prior, tmp_path):
    character = gambol.load(dog_file)
    recipe = dataclasses.replace(
        recipe_of(dog_file), character_mark=mark_character(character), prior_mark=mark_prior(prior)
    )
    assert scene_of(recipe, prior).title == "walk"
    other = tmp_path / "dog.glb"
    gambol.save(character, other, gambol.gait(character, gambol.study(character), "walk"))
    with pytest.raises(GambolError, match="is no longer the character this run began with"):
        recipe.scene(gambol.load(other), prior)
    with pytest.raises(GambolError, match="weights of the prior pocket are no longer those"):
        scene_of(dataclasses.replace(recipe, prior_mark="other"), prior)


def test_other_weights_are_for_pocket_alone(tmp_path):
    with pytest.raises(GambolError, match=r"for the prior pocket alone, not for the prior wan-2\.1-1\.3b"):
        PriorChoice("wan-2.1-1.3b", weights="weights.safetensors").open()
    with pytest.raises(GambolError, match="there is no file"):
        PriorChoice(weights=str(tmp_path / "none.safetensors")).open()
    with pytest.raises(GambolError, match="the prior pocket has no option device"):
        PriorChoice(device="cpu").open()


def test_paths_mean_the_same_from_everywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("model").mkdir()
    assert PriorChoice("model", "w.safetensors").lasting() == PriorChoice(
        str(tmp_path / "model"), str(tmp_path / "w.safetensors")
    )
    assert PriorChoice("wan-2.1-1.3b").lasting() == PriorChoice("wan-2.1-1.3b")
