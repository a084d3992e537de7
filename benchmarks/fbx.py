"""Compare what gambol reads from FBX files with Blender's importer and with ufbx's own evaluation.

    python benchmarks/fbx.py [--assets FOLDER] [--blender-python PATH] [--written] [FILES...]

Each file is loaded, every clip posed at five of the file's frames (and, for ufbx, at five times between), and the
distance of every vertex from where the others have it is taken, relative to the character's height. With `--written`
each file (also .glb) is first written as FBX by gambol, and that file is read by all three.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from blender import find_blender_python
from gambol.character.character import Character
from gambol.character.skeleton import Pose
from gambol.errors import GambolError
from gambol.formats import load, save
from scipy.spatial import cKDTree

TOLERANCE = 1e-4
TIMES = 5
HEADER = (
    "file",
    "version",
    "clips",
    "vertices",
    "ufbx: rest",
    "at frames",
    "between",
    "Blender: at frames",
    "off",
    "agrees",
)


@dataclass
class Result:
    """Largest distances, relative to the height."""

    rest: float = 0.0
    frames: float = 0.0
    between: float = 0.0
    """For information: between two frames FBX interpolates angles, and we rotations."""
    blender: float | None = None
    off: int = 0
    """Vertices that are farther than the tolerance from Blender's in some frame."""
    vertices: int = 0
    notes: list[str] = field(default_factory=list)


def sample_times(character: Character) -> dict[str, list[float]]:
    """Of each clip: times at frames of the file, then times a third of a frame later."""
    fps = character.source.fps
    found = {}
    for name, clip in character.clips.items():
        frames = np.unique(np.linspace(0, np.floor(clip.end * fps + 1e-6), TIMES).round())
        inner = frames[frames + 0.34 <= clip.end * fps]
        found[name] = [*(frames / fps), *((inner + 1 / 3) / fps)]
    return found


class Ours:
    """Our vertices, each with the vertices of the file that may be the same: those at its place in the geometry."""

    def __init__(self, character: Character, theirs: Mapping[str, np.ndarray]):
        self.character = character
        low, high = character.bounds
        self.height = max(float(high[1] - low[1]), 0.1 * float((high - low).max()), 1e-9)
        names = character.skeleton.names
        self.candidates: list[tuple[str, list[list[int]]] | None] = []
        rest = character.vertices()
        for mesh, points in zip(character.meshes, rest, strict=True):
            name = names[mesh.node]
            source = theirs.get(f"points/{name}")
            if source is None:
                self.candidates.append(None)
                continue
            ours = mesh.positions
            if not mesh.skinned:
                source, ours = theirs[f"rest/{name}"], points
            size = float(np.ptp(source, axis=0).max()) or 1.0
            self.candidates.append((name, cKDTree(source).query_ball_point(ours, 2e-6 * size)))

    def distances(self, pose: Pose | None, theirs: Mapping[str, np.ndarray], key: str) -> list[np.ndarray]:
        """Of every vertex of each mesh from the nearest of those that may be the same; missing meshes are far."""
        found = []
        for points, mapped in zip(self.character.vertices(pose), self.candidates, strict=True):
            there = theirs.get(f"{key}/{mapped[0]}") if mapped else None
            if there is None or mapped is None:
                found.append(np.full(len(points), np.inf))
                continue
            first = np.array([each[0] if each else 0 for each in mapped[1]])
            away = np.linalg.norm(points - there[first], axis=1)
            for i, each in enumerate(mapped[1]):
                if len(each) != 1:
                    away[i] = min((float(np.linalg.norm(points[i] - there[j])) for j in each), default=np.inf)
            found.append(away / self.height)
        return found

    def nodes(self, pose: Pose | None, theirs: Mapping[str, np.ndarray], key: str) -> float:
        """Largest distance of any node; helper nodes that only gambol has come last."""
        there = theirs[f"{key}/:nodes"]
        here = self.character.skeleton.world(pose)[: len(there), :3, 3]
        return float(np.linalg.norm(here - there, axis=1).max(initial=0)) / self.height


def compare(path: Path, python: str | None) -> tuple[Character, Result]:
    character = load(path)
    times, fps = sample_times(character), character.source.fps
    frames = {name: each[: sum(abs(t * fps - round(t * fps)) < 0.01 for t in each)] for name, each in times.items()}
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        ufbx = _ask(sys.executable, "fbx_ufbx_side.py", path, times, here, {})
        starts = json.loads(str(ufbx["facts"]))["starts"]
        blender, refused = {}, ""
        try:
            blender = _ask(python, "fbx_blender_side.py", path, frames, here, starts) if python else {}
        except GambolError as error:  # such as a version that its importer does not read
            refused = str(error)
    ours = Ours(character, ufbx)
    result = Result(vertices=sum(len(mesh.positions) for mesh in character.meshes))
    result.notes += [refused] if refused else []
    result.rest = max((float(each.max(initial=0)) for each in ours.distances(None, ufbx, "rest")), default=0.0)
    result.rest = max(result.rest, ours.nodes(None, ufbx, "rest"))
    worst = [np.zeros(len(mesh.positions)) for mesh in character.meshes]
    for name, clip in character.clips.items():
        for i, time in enumerate(times[name]):
            pose = clip.sample(character.skeleton, time)
            away = ours.distances(pose, ufbx, f"{name}/{i}")
            far = max([ours.nodes(pose, ufbx, f"{name}/{i}"), *(float(each.max(initial=0)) for each in away)])
            if i < len(frames[name]):
                result.frames = max(result.frames, far)
            else:
                result.between = max(result.between, far)
            if i >= len(frames[name]) or not blender:
                continue
            if not any(key.startswith(f"{name}/{i}/") for key in blender):
                result.notes.append(f"Blender has no action of {name}")
                break
            away = ours.distances(pose, blender, f"{name}/{i}")
            worst = [np.maximum(a, b) for a, b in zip(worst, away, strict=True)]
            bones = _bones(ours, pose, blender, f"{name}/{i}")
            result.blender = max([result.blender or 0.0, bones, *(float(each.max(initial=0)) for each in away)])
    result.off = sum(int((each > TOLERANCE).sum()) for each in worst)
    if blender:
        result.notes += json.loads(str(blender["facts"]))["warnings"]
    return character, result


def _bones(ours: Ours, pose: Pose, theirs: Mapping[str, np.ndarray], key: str) -> float:
    """Largest distance of a joint's head from Blender's, by name."""
    world = ours.character.skeleton.world(pose)[:, :3, 3]
    away = [
        float(np.linalg.norm(world[node] - theirs[f"{key}/:{name}"]))
        for node, name in enumerate(ours.character.skeleton.names)
        if ours.character.skeleton.is_joint[node] and f"{key}/:{name}" in theirs
    ]
    return max(away, default=0.0) / ours.height


def _ask(
    python: str | None, script: str, path: Path, times: dict[str, list[float]], folder: Path, starts: dict[str, float]
) -> dict[str, np.ndarray]:
    output, jobs = folder / f"{script}.npz", folder / "jobs.json"
    clips = [{"take": name, "times": [t + starts.get(name, 0.0) for t in each]} for name, each in times.items()]
    jobs.write_text(json.dumps([{"path": str(path.resolve()), "clips": clips, "output": str(output)}]))
    command = [str(python), str(Path(__file__).with_name(script)), str(jobs)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    if done.returncode or not output.exists():
        raise GambolError(f"{script} failed: {' '.join((done.stderr or done.stdout).strip().splitlines()[-1:])}")
    with np.load(output) as file:
        return dict(file)


def row(label: str, character: Character, result: Result) -> str:
    blender = "" if result.blender is None else f"{result.blender:.1e}"
    fine = max(result.rest, result.frames, result.blender or 0.0) < TOLERANCE
    clips = [f"{result.frames:.1e}", f"{result.between:.1e}"] if character.clips else ["", ""]
    cells = (
        *(label, str(character.source.version), str(len(character.clips)), str(result.vertices)),
        *(f"{result.rest:.1e}", *clips, blender),
        *(str(result.off), "yes" if fine else "no"),
    )
    return f"| {' | '.join(cells)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILES")
    parser.add_argument("--assets", type=Path, help="folder searched for .fbx (default: GAMBOL_ASSETS)")
    parser.add_argument("--blender-python", help="interpreter that has bpy (default: GAMBOL_BLENDER_PYTHON, or this)")
    parser.add_argument("--no-blender", action="store_true", help="compare with ufbx only")
    parser.add_argument("--written", action="store_true", help="compare what gambol writes of each file")
    arguments = parser.parse_args()
    assets = arguments.assets or (None if arguments.files else os.environ.get("GAMBOL_ASSETS"))
    files = [(path, path.name) for path in arguments.files]
    if assets:
        files += [(path, str(path.relative_to(assets))) for path in sorted(Path(assets).rglob("*.fbx"))]
    python = None if arguments.no_blender else find_blender_python(arguments.blender_python)
    print(f"| {' | '.join(HEADER)} |", "|---" * len(HEADER) + "|", sep="\n")
    bad = 0
    for path, label in files:
        with tempfile.TemporaryDirectory() as folder:
            shown = path
            if arguments.written:
                shown = Path(folder, f"{path.stem}.fbx")
                save(load(path), shown)
            character, result = compare(shown, python)
        line = row(label, character, result)
        bad += "| no |" in line
        print(line, flush=True)
        for note in result.notes:
            print(f"  {note}")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
