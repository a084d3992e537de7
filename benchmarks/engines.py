"""Files made with each --for, opened by programs that they are for: Blender, three.js, Babylon.js, Godot 3.

    python benchmarks/engines.py [--blender-python PATH] [--node-modules FOLDER] [--godot PROGRAM] FILES_OR_ANIMALS...

Of each character one clip (an animal of the zoo: its walk) is written for each engine and read by Blender's importer,
by three.js and Babylon.js (`npm install three gltf-validator @babylonjs/core @babylonjs/loaders` in FOLDER), and by
Khronos' validator. Compared are the places of all joints with those that gambol samples from the file, at keys and
between them, relative to the height; and the name of the clip. Of Godot (3, as Debian's godot3-server), the name, the
length and whether it loops.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from gambol import analyze, load
from gambol.character.clip import natural_fps
from gambol.creatures.gaits import gait
from gambol.editing.edit import EditConfig
from gambol.engines.fit import fit
from gambol.engines.targets import ENGINES, EngineName
from gambol.formats.convert import convert

SIDE = Path(__file__).with_name("engines_side")
TOLERANCE = 1e-3
"""Largest distance of a joint [height]: Blender's and our interpolation of rotations differ between keys."""


def made(name: str, engine: EngineName, folder: Path) -> tuple[Path, str, int]:
    """A file for an engine, the name of its clip, and the bytes of the same file with all keys and for no engine."""
    character, clip_name = load(name.partition(":")[0]), name.partition(":")[2]
    anatomy = analyze(character)
    if character.clips:
        clip = next(clip for key, clip in character.clips.items() if clip_name in key)
    else:
        clip = gait(character, anatomy, "walk")
    plain = fit(character, anatomy, clip, EditConfig())
    convert(replace(plain.character, clips={}), folder / "plain.glb", [plain.clip], meshes=False)
    done = fit(character, anatomy, clip, EditConfig(), engine)
    path = folder / f"{engine}.glb"
    convert(done.character, path, [done.clip], meshes=False, compact=ENGINES[engine].compact)
    return path, done.clip.name, (folder / "plain.glb").stat().st_size


def asked(command: list[str], job: dict, folder: Path, cwd: Path | None = None) -> dict:
    """The answer of a program that opens a file."""
    asking, answer = folder / "job.json", folder / "answer.json"
    answer.unlink(missing_ok=True)
    asking.write_text(json.dumps(job | {"output": str(answer)}))
    done = subprocess.run([*command, str(asking)], cwd=cwd, capture_output=True, text=True, timeout=600)
    if not answer.exists():
        sys.exit(f"{command}: {done.stderr or done.stdout}")
    return json.loads(answer.read_text())


def godot(program: str, path: Path, clip: str, seconds: float, folder: Path) -> str:
    """Whether Godot has the clip under its name, looping if its name says so, and as long."""
    project = folder / "project"
    project.mkdir()
    (project / "project.godot").write_text('config_version=4\n[application]\nconfig/name="check"\n')
    shutil.copy(path, project / "out.glb")
    shutil.copy(SIDE / "godot.gd", project)
    told = ""
    for arguments in (["-e", "--quit"], ["-s", "godot.gd"]):
        command = [program, "--path", str(project), *arguments]
        told = subprocess.run(command, capture_output=True, text=True, timeout=600).stdout
    found = [line.removeprefix("CLIP ").split("|") for line in told.splitlines() if line.startswith("CLIP ")]
    if [name for name, _, _ in found] != [clip] or abs(float(found[0][2]) - seconds) > 1e-3:
        return f"wrong: {found}"
    return "loops" if found[0][1] == "True" else "once"


def compared(answer: dict, path: Path, clip: str, times: np.ndarray, by_name: bool) -> str:
    """The largest distance of a joint [height], or what is wrong."""
    if clip not in answer["names"]:
        return f"clip is called {answer['names']}"
    character = load(path)
    skeleton = character.skeleton
    ours = skeleton.world(character.clips[clip].sample(skeleton, times))[..., :3, 3]
    joints = np.flatnonzero(skeleton.is_joint)
    height = float(np.ptp(ours[0, joints], axis=0).max())
    worst, count = 0.0, 0
    for frame, theirs in zip(ours, answer["places"], strict=True):
        for joint in joints:
            place = theirs.get(skeleton.names[joint] if by_name else str(joint))
            if place is not None:
                worst, count = max(worst, float(np.linalg.norm(frame[joint] - place)) / height), count + 1
    if count < len(times) * len(joints):
        return f"{worst:.1e} ({count // len(times)} of {len(joints)} joints)"
    return f"{worst:.1e}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["fox"], metavar="FILES_OR_ANIMALS[:CLIP]")
    parser.add_argument("--blender-python")
    parser.add_argument("--godot", help="Godot 3 without a window")
    parser.add_argument("--node-modules", type=Path, help="folder that holds node_modules")
    arguments = parser.parse_args()
    wrong = 0
    print("| character | for | clip | bytes, all keys | bytes | errors | Blender | three.js | Babylon.js | Godot |")
    print("|---" * 10 + "|")
    for name in arguments.names:
        for engine in ENGINES:
            with tempfile.TemporaryDirectory() as temporary:
                folder = Path(temporary)
                path, clip, plain = made(name, engine, folder)
                found = load(path).clips[clip]
                fps = natural_fps(found)
                times = found.start + found.duration * np.linspace(0, 1, 9)
                keys = np.unique(np.concatenate([track.times for track in found.tracks]))
                times = np.unique(np.concatenate([times, keys[:: max(len(keys) // 8, 1)]]))
                job = {"path": str(path), "clip": clip, "times": times.tolist(), "fps": fps}
                cells = ["", "", "", "", ""]
                if arguments.godot and engine == "godot":
                    cells[4] = godot(arguments.godot, path, clip, found.duration, folder)
                    wrong += cells[4] != ("loops" if clip.endswith("-loop") else "once")
                if arguments.node_modules:
                    for number, side in enumerate(("validate", "three", "babylon")):
                        answer = asked(["node", str(SIDE / f"{side}.mjs")], job, folder, arguments.node_modules)
                        found_wrong = len(answer["errors"]) if side == "validate" else 0
                        cell = str(found_wrong) if side == "validate" else compared(answer, path, clip, times, False)
                        cells[number if number == 0 else number + 1] = cell
                if arguments.blender_python:
                    answer = asked([arguments.blender_python, str(SIDE / "blender_import.py")], job, folder)
                    cells[1] = compared(answer, path, clip, times, True)
                    if answer["off_frame"] > 1e-3:
                        cells[1] += f", keys {answer['off_frame']:.2f} frames off"
                for cell in cells[1:4]:
                    wrong += bool(cell) and not (cell[0].isdigit() and float(cell.split()[0].strip(",")) <= TOLERANCE)
                wrong += cells[0] not in ("", "0")
                title = Path(name.partition(":")[0]).name
                row = (title, engine, clip, f"{plain:,}", f"{path.stat().st_size:,}", *cells)
                print("| " + " | ".join(row) + " |", flush=True)
    print(f"\n{wrong} cells are wrong: another name, an error, or a joint off by more than {TOLERANCE:g} of the height")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
