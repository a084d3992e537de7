"""docs/formats.md says what is so: its code and its commands run, and its table lists the arrays that are written."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gambol import analyze, export, load, save
from gambol.creatures.gaits import gait

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "formats.md").read_text()


@pytest.fixture(scope="module")
def fox():
    character = load("fox")
    return character, gait(character, analyze(character), "walk")


def run(*arguments, cwd):
    done = subprocess.run([sys.executable, *map(str, arguments)], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_its_python_runs(tmp_path):
    (code,) = re.findall(r"```python\n(.+?)```", PAGE, re.DOTALL)
    run("-c", code, cwd=tmp_path)
    fox = load(tmp_path / "higher.glb")
    (clip,) = fox.clips.values()
    hips = fox.skeleton.names.index("hips")
    walking = fox.skeleton.world(clip.sample(fox.skeleton, clip.start))
    assert walking[hips, 1, 3] > fox.skeleton.world()[hips, 1, 3] + 0.02  # on air


def test_its_commands_run(fox, tmp_path):
    save(fox[0], tmp_path / "fox.glb", fox[1])
    blocks = re.findall(r"```\n(.+?)```", PAGE, re.DOTALL)
    commands = re.findall(r"^gambol (.+)$", "\n".join(blocks), re.MULTILINE)
    assert len(commands) == 7
    for command in commands:
        small = ["--size", "48", "--samples", "1"] if command.startswith("render") else []
        run("-m", "gambol", *shlex.split(command), *small, cwd=tmp_path)
    assert (tmp_path / "walk.mp4").exists() and (tmp_path / "fox-clip.fbx").exists()


def test_its_table_lists_the_arrays(fox, tmp_path):
    export(*fox, tmp_path / "walk.npz", fps=20)
    with np.load(tmp_path / "walk.npz") as file:
        arrays = dict(file)
    told = {}
    for names, shape in re.findall(r"^\| (`[a-z_`, ]+`) \| (\(.*?\)) \|", PAGE, re.MULTILINE):
        told |= dict.fromkeys(re.findall(r"`(\w+)`", names), shape)
    assert set(told) == set(arrays)
    frames, joints = arrays["rotations"].shape[:2]
    for name, shape in told.items():
        assert arrays[name].shape == eval(shape, {"frames": frames, "joints": joints}), name


def test_its_links_resolve():
    for link in re.findall(r"\]\(([^)#:]+)\)", PAGE):
        assert (ROOT / "docs" / link).exists(), link
