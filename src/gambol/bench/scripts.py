"""Topics whose benchmarks are scripts beside gambol's source: each runs in a process of its own, and what it prints is
kept until it is asked for with other arguments."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import gambol
from gambol.distillation.harvest import HarvestConfig
from gambol.distillation.harvest_many import Job, harvest_all
from gambol.errors import GambolError
from gambol.files import write_file
from gambol.formats import character_files
from gambol.text import printable

SCRIPTS = Path(gambol.__file__).resolve().parents[2] / "benchmarks"
TITLES = {
    "poses": "Pose spaces",
    "rig": "Automatic skeletons",
    "retarget": "Retargeting",
    "speed": "Speed beside rivals",
}
Progress = Callable[[str, int, int], None]
LAST_WORDS = 3
"""Lines of what a script that failed said last, that are told."""


@dataclass(frozen=True)
class Script:
    """One benchmark script."""

    title: str
    arguments: tuple[str, ...]
    """The script's name, and what it is given."""
    needs: str = ""
    """What a script that fails may lack, for the user."""


def run_scripts(
    topic: str,
    inputs: Sequence[Path],
    quick: bool,
    folder: Path,
    on_progress: Progress = lambda what, done, total: None,
) -> list[str]:
    """Return the lines of a topic's section."""
    if not SCRIPTS.is_dir():
        raise GambolError(
            f"the benchmarks of '{topic}' are scripts beside gambol's source, not part of the installed package: "
            "install from a checkout (`pip install -e .`), or run `gambol bench paper`"
        )
    folder.mkdir(parents=True, exist_ok=True)
    plan = _PLANS[topic]([path.resolve() for path in inputs], quick, folder.resolve(), on_progress)
    lines = []
    for number, script in enumerate(plan):
        on_progress(script.title, number, len(plan))
        lines += [f"### {script.title}", "", f"`python benchmarks/{shlex.join(script.arguments)}`", ""]
        lines += [_printed(script, folder), ""]
    on_progress(topic, len(plan), len(plan))
    return lines


def _printed(script: Script, folder: Path) -> str:
    """Return what a script prints, from an earlier run with the same arguments if there was one, as Markdown."""
    key = hashlib.sha256(json.dumps(script.arguments).encode()).hexdigest()[:10]
    kept = folder / f"{Path(script.arguments[0]).stem}-{key}.txt"
    if not kept.exists():
        began = time.monotonic()
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, str(SCRIPTS / script.arguments[0]), *script.arguments[1:]]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        if done.returncode:
            last = printable(" ".join(done.stderr.strip().splitlines()[-LAST_WORDS:]))
            return f"It failed: {last}{'. ' + script.needs if script.needs else ''}"
        write_file(kept, f"{done.stdout.rstrip()}\n\n({time.monotonic() - began:.0f} s)\n".encode())
    text = kept.read_text()
    return re.sub("^#+", "####", text, flags=re.MULTILINE) if "\n| " in text else f"```\n{text.rstrip()}\n```"


def _speed(inputs: Sequence[Path], quick: bool, folder: Path, on_progress: Progress) -> list[Script]:
    if len(inputs) > 1 or any(path.is_dir() for path in inputs):
        raise GambolError("give one file: speed is measured on one character")
    character = [str(path) for path in inputs]
    scripts = [
        Script("Rasteriser, beside its twin in torch and plain loops (numba)", ("rasterizer.py",), "pip install numba"),
        Script("Skinning of Gaussians, beside torch", ("skinning.py",)),
        Script("Kinematics, beside plain torch", ("kinematics.py",)),
        Script("The small video model, beside the peak of the machine", ("prior.py",)),
        Script("The whole job, beside its limits", ("animate.py", *character)),
    ]
    if quick:
        return scripts
    return [
        *scripts,
        Script("Gaussians fitted to a mesh, beside the rasteriser alone", ("fit.py", *character)),
        Script("Tracking, beside the paper's way, Newton and MuJoCo", ("physics.py",), "pip install 'gambol[bench]'"),
        Script("Skin weights by heat", ("heat.py",)),
    ]


def _rig(inputs: Sequence[Path], quick: bool, folder: Path, on_progress: Progress) -> list[Script]:
    scripts = [Script("Animals of the zoo", ("rig.py", "--zoo", "4" if quick else "24"))]
    scripts += [Script(f"Characters of {path.name}", ("rig.py", str(path), "--zoo", "0")) for path in inputs]
    return scripts


def _retarget(inputs: Sequence[Path], quick: bool, folder: Path, on_progress: Progress) -> list[Script]:
    most = ("--most", "4" if quick else "20")
    if not inputs:
        return [Script("Animals of the zoo", ("retarget.py", *most))]
    return [Script(f"Characters of {path.name}", ("retarget.py", str(path), *most)) for path in inputs]


def _poses(inputs: Sequence[Path], quick: bool, folder: Path, on_progress: Progress) -> list[Script]:
    """Poses of the characters' own clips are the truth; those of random creatures by the prior stand for the training,
    of which the ranges of joints and the nearest rig are taken."""
    if not inputs:
        raise GambolError("give folders of characters with clips by artists, which samples are compared with")
    creatures, most = (3, 3) if quick else (30, 12)
    files = character_files(inputs)
    true, training = folder / "true", folder / f"training-{most}"
    for place in (true, training):
        place.mkdir(exist_ok=True)
    clips = Job("clips", "tracks", (), HarvestConfig(poses=40), true)
    harvest_all(clips, files, partial(on_progress, "poses of clips"))
    shown = Job("prior", "tracks", (), HarvestConfig(most=most), training)
    harvest_all(shown, list(range(creatures)), partial(on_progress, "poses of the prior"))
    families = sorted({file.parent.name for file in files})
    folders = ("--true", str(true), "--training", str(training), "--characters", *map(str, inputs))
    few = ("--quick",) if quick else ()
    rest = ("--families", *families, "-o", str(folder / "rigs"), *few)
    return [Script("Poses of artists' clips beside samples", ("poses.py", *folders, *rest))]


_PLANS = {"speed": _speed, "rig": _rig, "retarget": _retarget, "poses": _poses}
