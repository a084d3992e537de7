"""Compare what gambol reads from FBX files with Blender's importer and with ufbx's own evaluation.

    python benchmarks/fbx_readers.py [--assets FOLDER] [--blender-python PATH] [--written] [FILES...]

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
from gambol.character.character import Character
from gambol.character.clip import frame_times, natural_fps
from gambol.character.skeleton import Pose
from gambol.errors import GambolError
from gambol.formats import load, save
from scipy.spatial import cKDTree

from blender import find_blender_python

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


def sample_times(character: Character, written: bool) -> tuple[dict[str, list[float]], dict[str, int]]:
    """Of each clip: times at frames, then times a third of a frame later; and how many of them are frames."""
    found, counts = {}, {}
    for name, clip in character.clips.items():
        fps = natural_fps(clip) if written else character.source.fps
        every = frame_times(clip, fps) if written else np.arange(np.floor(clip.end * fps + 1e-6) + 1) / fps
        frames = every[np.unique(np.linspace(0, len(every) - 1, TIMES).round().astype(int))]
        between = frames[:-1] + 1 / (3 * fps)
        found[name], counts[name] = [*frames.tolist(), *between.tolist()], len(frames)
    return found, counts


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
            name = name if f"points/{name}" in theirs else f"{name} mesh"  # a mesh that a bone carries
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

    def nodes(self, pose: Pose | None, theirs: Mapping[str, np.ndarray], key: str, joints: bool) -> float:
        """Largest distance of any node, or of any joint, from the one of the same name."""
        world, skeleton = self.character.skeleton.world(pose)[:, :3, 3], self.character.skeleton
        away = [
            float(np.linalg.norm(world[node] - theirs[f"{key}/:{name}"]))
            for node, name in enumerate(skeleton.names)
            if f"{key}/:{name}" in theirs
            and skeleton.names.count(name) == 1
            and (skeleton.is_joint[node] or not joints)
        ]
        return max(away, default=0.0) / self.height


def compare(character: Character, path: Path, python: str | None, written: bool) -> Result:
    times, counts = sample_times(character, written)
    frames = {name: each[: counts[name]] for name, each in times.items()}
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        ufbx = _ask(sys.executable, "fbx_ufbx_side.py", path, times, here, not written)
        starts = {} if written else json.loads(str(ufbx["facts"]))["starts"]
        shifted = {name: [t + starts.get(name, 0.0) for t in each] for name, each in frames.items()}
        blender, refused = {}, ""
        try:
            blender = _ask(python, "fbx_blender_side.py", path, shifted, here, False) if python else {}
        except GambolError as error:  # such as a version that its importer does not read
            refused = str(error)
    ours = Ours(character, ufbx)
    result = Result(vertices=sum(len(mesh.positions) for mesh in character.meshes))
    result.notes += [refused] if refused else []
    rest = [float(each.max(initial=0)) for each in ours.distances(None, ufbx, "rest")]
    result.rest = max([ours.nodes(None, ufbx, "rest", False), *rest])
    worst = [np.zeros(len(mesh.positions)) for mesh in character.meshes]
    for name, clip in character.clips.items():
        for i, time in enumerate(times[name]):
            pose, key = clip.sample(character.skeleton, time), f"{name}/{i}"
            away = ours.distances(pose, ufbx, key)
            far = max([ours.nodes(pose, ufbx, key, False), *(float(each.max(initial=0)) for each in away)])
            if i >= counts[name]:
                result.between = max(result.between, far)
                continue
            result.frames = max(result.frames, far)
            if not any(other.startswith(f"{key}/") for other in blender):
                continue
            away = ours.distances(pose, blender, key)
            worst = [np.maximum(a, b) for a, b in zip(worst, away, strict=True)]
            far = max([ours.nodes(pose, blender, key, True), *(float(each.max(initial=0)) for each in away)])
            result.blender = max(result.blender or 0.0, far)
    result.off = sum(int((each > TOLERANCE).sum()) for each in worst)
    if blender:
        facts = json.loads(str(blender["facts"]))
        result.notes += facts["warnings"]
        actions = " ".join(facts["actions"])
        result.notes += [
            f"Blender has no action of {name}" for name in character.clips if f"|{name}"[:40] not in actions
        ]
    return result


def _ask(
    python: str | None, script: str, path: Path, times: dict[str, list[float]], folder: Path, from_start: bool
) -> dict[str, np.ndarray]:
    output, jobs = folder / f"{script}.npz", folder / "jobs.json"
    clips = [{"take": name, "times": each} for name, each in times.items()]
    job = {"path": str(path.resolve()), "clips": clips, "output": str(output), "from_start": from_start}
    jobs.write_text(json.dumps([job]))
    command = [str(python), str(Path(__file__).with_name(script)), str(jobs)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    if done.returncode or not output.exists():
        raise GambolError(f"{script} failed: {' '.join((done.stderr or done.stdout).strip().splitlines()[-1:])}")
    with np.load(output) as file:
        return dict(file)


def row(label: str, version: str, character: Character, result: Result) -> str:
    blender = "" if result.blender is None else f"{result.blender:.1e}"
    fine = max(result.rest, result.frames, result.blender or 0.0) < TOLERANCE
    clips = [f"{result.frames:.1e}", f"{result.between:.1e}"] if character.clips else ["", ""]
    cells = (
        *(label, version, str(len(character.clips)), str(result.vertices)),
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
            character = load(path)
            shown = Path(folder, f"{path.stem}.fbx") if arguments.written else path
            if arguments.written:
                save(character, shown)
            version = "" if arguments.written else str(character.source.version)
            result = compare(character, shown, python, arguments.written)
        line = row(label, version, character, result)
        bad += "| no |" in line
        print(line, flush=True)
        for note in result.notes:
            print(f"  {note}")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
