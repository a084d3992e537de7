"""Files of a run that were damaged or forged: they are refused with one line, never a traceback or a hang."""

import contextlib
import dataclasses
import json
import os
import random
import shutil
import signal

import pytest
import torch
from character.creatures import dog

import gambol
from gambol.cli import main
from gambol.distillation import outputs
from gambol.distillation.config import AnimateConfig
from gambol.distillation.fit import VideoFitConfig
from gambol.distillation.run import Run
from gambol.distillation.sample_and_fit import SampleConfig
from gambol.distillation.stage_runner import StageRunner
from gambol.errors import GambolError
from gambol.motion.foot_lock import FootLockConfig
from gambol.priors.pixels.prior import PixelPrior, load_network, save_network
from gambol.tensor_files import read_tensors, write_tensors

LONGEST = 60
"""A command that takes longer hangs [s]."""


@pytest.fixture(autouse=True)
def blind(monkeypatch):
    """Without pictures and measures, which take longer than the short run."""
    monkeypatch.setattr(outputs.ClipRenderer, "preview", lambda *_: None)
    monkeypatch.setattr(outputs.ClipRenderer, "movie", lambda *_: None)

    def report(*_, **__):
        raise GambolError("not measured")

    monkeypatch.setattr("gambol.quality.report.report", report)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A real run that was stopped in the middle of its second stage."""
    place = tmp_path_factory.mktemp("stopped")
    gambol.save(dog(), place / "dog.glb")
    usual, done = StageRunner.step, []

    def step(runner):
        if len(done) == 7:
            raise KeyboardInterrupt
        done.append(runner)
        return usual(runner)

    def preset_for(preset, prior, seed=0):
        sample, foot_lock = SampleConfig(views=1, steps=2, seed=seed), FootLockConfig(steps=4)
        return AnimateConfig(sample=sample, fit=VideoFitConfig(steps=3, views=1), foot_lock=foot_lock, seed=seed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gambol.distillation.config.preset_for", preset_for)
        patch.setattr(StageRunner, "step", step)
        with pytest.raises(SystemExit):
            options = ["-o", str(place / "run"), "--prior", "pixels", "--export", "npz"]
            main(["animate", str(place / "dog.glb"), "a dog is walking", *options])
    assert (place / "run" / "state.safetensors").exists()
    return place / "run"


@pytest.fixture
def folder(stopped, tmp_path):
    """A copy of it, to be damaged."""
    shutil.copytree(stopped, tmp_path / "run")
    return tmp_path / "run"


@contextlib.contextmanager
def in_time():
    def late(*_):
        raise AssertionError("hangs")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(LONGEST)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def resumed(folder, capsys, *options) -> tuple[int, str]:
    """Exit code and standard error of `gambol animate --resume`; a refusal is one line, as are all warnings."""
    code = 0
    with in_time():
        try:
            main(["animate", "--resume", str(folder), *options])
        except SystemExit as ended:
            code = int(ended.code or 0)
    error = capsys.readouterr().err
    assert code in (0, 2), error
    lines = error.splitlines()
    assert all(line.startswith(("gambol: ", "warning: ")) for line in lines), error
    assert sum(line.startswith("gambol: ") for line in lines) == (code == 2), error
    return code, error


def test_an_undamaged_run_is_resumed(folder, capsys):
    assert resumed(folder, capsys) == (0, "")
    assert (folder / "report.html").exists() and not list(folder.glob(".*"))


@pytest.mark.parametrize("seed", range(8))
def test_flipped_bits_of_a_state_are_found(folder, capsys, seed):
    path, source = folder / "state.safetensors", random.Random(seed)
    data = bytearray(path.read_bytes())
    data[source.randrange(len(data))] ^= 1 << source.randrange(8)
    path.write_bytes(data)
    code, error = resumed(folder, capsys)
    assert code == 2 and "cannot resume from" in error and "state.safetensors" in error


@pytest.mark.parametrize("seed", range(8))
def test_flipped_bits_of_a_config_are_found_or_harmless(folder, capsys, seed):
    path, source = folder / "config.json", random.Random(seed)
    data = bytearray(path.read_bytes())
    data[source.randrange(len(data))] ^= 1 << source.randrange(8)
    path.write_bytes(data)
    assert resumed(folder, capsys)[0] == 2, "the checkpoint was written with other settings"


@pytest.mark.parametrize("name", ["config.json", "state.safetensors"])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
def test_truncated_files_are_refused(folder, capsys, name, share):
    path = folder / name
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    code, error = resumed(folder, capsys)
    assert code == 2 and name in error


def leaves(value, path=()):
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    yield path
    for key, each in inner:
        yield from leaves(each, (*path, key))


WRONG = [None, True, -1, 0, 10**30, 1e308, float("nan"), float("-inf"), "", "\ud800", "x" * 20_000, [], {}, [[[]]]]


def test_every_field_of_a_config_is_checked(folder):
    """Each field gets each wrong value, or goes missing: either it is refused with a reason, or it is in range."""
    text, accepted = (folder / "config.json").read_text(), 0
    fields = [path for path in leaves(json.loads(text)) if path]
    assert len(fields) > 60
    for path in fields:
        for wrong in (*WRONG, KeyError):
            content = inner = json.loads(text)
            for key in path[:-1]:
                inner = inner[key]
            if wrong is KeyError:
                del inner[path[-1]]
            else:
                inner[path[-1]] = wrong
            (folder / "config.json").write_text(json.dumps(content))
            try:
                run_config = Run.open(folder).run_config
            except GambolError as error:
                assert "cannot resume from" in str(error) and len(str(error)) < 500
                continue
            accepted += 1
            config = run_config.config
            steps = (config.fit.steps, config.sample.steps, config.score.steps)
            assert max(steps) <= 1_000_000 and config.sample.views <= 6 and 0 < config.fps <= 240, path
            assert run_config.threads <= 1024 and run_config.json()
    assert accepted < 0.25 * len(fields) * len(WRONG)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"version": "0.0.9"}', "[]", "null", "\x00", '"\\ud800"'])
def test_a_config_that_is_none(folder, capsys, text):
    (folder / "config.json").write_text(text)
    code, error = resumed(folder, capsys)
    assert code == 2 and "cannot resume from" in error
    if "version" in text:
        assert f"it was written by version 0.0.9, and this is {gambol.__version__}" in error


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes on this system")
@pytest.mark.parametrize("name", ["config.json", "state.safetensors", "losses.jsonl"])
def test_pipes_and_folders_in_place_of_files(folder, capsys, name):
    (folder / name).unlink()
    os.mkfifo(folder / name)
    code, error = resumed(folder, capsys)
    assert code == 2 or "losses.jsonl cannot be read: it is not a regular file" in error
    (folder / name).unlink(missing_ok=True)
    if code == 2:
        (folder / name).mkdir()
        assert resumed(folder, capsys)[0] == 2


def forged(folder, change):
    """The checkpoint with changed tensors and facts, and a checksum that is right."""
    tensors, facts = read_tensors(folder / "state.safetensors")
    change(tensors, facts)
    write_tensors(folder / "state.safetensors", tensors, facts)


def angles(tensors):
    return next(name for name in tensors if name.endswith(".angles"))


def moment(tensors):
    return next(name for name in tensors if ".mean." in name)


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors, facts: tensors.pop("runner.counts"),
        lambda tensors, facts: tensors.update({"runner.counts": torch.tensor([-1, 0, 0, 0])}),
        lambda tensors, facts: tensors.update({"runner.counts": torch.tensor([0, 10**12, 0, 0])}),
        lambda tensors, facts: tensors.update({"runner.counts": torch.tensor([9, 0, 0, 0])}),
        lambda tensors, facts: tensors.update({"runner.counts": torch.zeros(2)}),
        lambda tensors, facts: tensors.update({"runner.losses": torch.tensor([float("nan"), 0.0])}),
        lambda tensors, facts: tensors.pop(angles(tensors)),
        lambda tensors, facts: tensors.update({angles(tensors): tensors[angles(tensors)][:, :2].contiguous()}),
        lambda tensors, facts: tensors.update({angles(tensors): tensors[angles(tensors)] * float("nan")}),
        lambda tensors, facts: tensors.update({angles(tensors): tensors[angles(tensors)].int()}),
        lambda tensors, facts: tensors.update({moment(tensors): torch.zeros(3)}),
        lambda tensors, facts: tensors.update({moment(tensors): tensors[moment(tensors)].double()}),
        lambda tensors, facts: tensors.update({"stage.search": torch.tensor([1e300, -1e300]).double()}),
        lambda tensors, facts: facts.update(lines="many"),
        lambda tensors, facts: facts.update(lines="1" * 5_000),
        lambda tensors, facts: facts.update(seconds="nan"),
        lambda tensors, facts: facts.update(config="other"),
        lambda tensors, facts: facts.clear(),
    ],
)
def test_forged_states_are_refused(folder, capsys, change):
    forged(folder, change)
    code, error = resumed(folder, capsys)
    assert code == 2 and "state.safetensors" in error


@pytest.mark.parametrize(
    "line", ["", "null", "[]", "{}", '{"stage": 1}', "\x00", "[" * 100_000, '{"losses": {"total": NaN}}', "\udcff"]
)
def test_damaged_losses_are_left_out(folder, capsys, line):
    path = folder / "losses.jsonl"
    rows = path.read_text().splitlines()
    path.write_bytes("\n".join([rows[0], line, *rows[2:]]).encode("utf-8", "surrogateescape") + b"\n")
    code, error = resumed(folder, capsys)
    assert code == 0 and "1 damaged lines are left out" in error
    assert len(path.read_text().splitlines()) == 8, "nine steps, one of them lost"


def test_resuming_downloads_nothing_unless_the_model_is_named_again(folder, capsys, monkeypatch):
    asked = []

    def fetch(hub, families, download):
        asked.append((hub, download))
        raise GambolError(f"{hub} is not on this machine")

    monkeypatch.setattr("gambol.priors.video_models.model_folder.check_installed", lambda: None)
    monkeypatch.setattr("gambol.priors.video_models.model_folder.fetch", fetch)
    content = json.loads((folder / "config.json").read_text())
    content["prior"]["name"] = "somebody/model"
    (folder / "config.json").write_text(json.dumps(content))
    code, error = resumed(folder, capsys)
    assert code == 2 and "resuming downloads nothing unless you name the model again: gambol animate --resume" in error
    assert resumed(folder, capsys, "--prior", "somebody/model")[0] == 2
    assert asked == [("somebody/model", False), ("somebody/model", True)]
    assert "cannot be resumed with another one" in resumed(folder, capsys, "--prior", "wan-2.1-1.3b")[1]


def header_changed(**changes):
    def change(tensors, facts):
        facts["network"] = json.dumps({**json.loads(facts["network"]), **changes})

    return change


@pytest.mark.parametrize(
    "change",
    [
        header_changed(depth=10**9),
        header_changed(width=10**9),
        header_changed(depth=6),
        header_changed(heads=0),
        header_changed(size="60"),
        header_changed(patch=0),
        header_changed(colour=1),
        lambda tensors, facts: facts.update(network="[" * 100_000),
        lambda tensors, facts: facts.pop("network"),
        lambda tensors, facts: tensors.pop(next(iter(tensors))),
        lambda tensors, facts: tensors.update({next(iter(tensors)): torch.zeros(1)}),
    ],
)
def test_weights_are_checked_before_a_network_is_built(tmp_path, change):
    path = tmp_path / "weights.safetensors"
    save_network(PixelPrior.load().network, path)
    tensors, facts = read_tensors(path)
    change(tensors, facts)
    write_tensors(path, tensors, facts)
    with in_time(), pytest.raises(GambolError, match="holds no weights of the prior pixels"):
        load_network(path)


def test_flipped_bits_of_weights_are_found(tmp_path):
    path = tmp_path / "weights.safetensors"
    data = bytearray(gambol.priors.pixels.prior.shipped().read_bytes())
    data[-1000] ^= 1
    path.write_bytes(data)
    with pytest.raises(GambolError, match="is damaged: its contents do not match its checksum"):
        load_network(path)
    assert dataclasses.asdict(load_network(gambol.priors.pixels.prior.shipped()).config)
