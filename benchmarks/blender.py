"""Compare posed vertices with Blender's, and open saved clips in Blender.

    python benchmarks/blender.py --assets FOLDER [--blender-python PATH] [FILES...]

One side: `gambol.formats.load`, `Clip.sample` and `Character.vertices`. The other: Blender's glTF importer and
armature evaluation, run by `blender_side.py` in an interpreter of its own. Then a new clip is written with
`gambol.formats.save` and the saved file goes the same way. docs/ground-truth.md says what is compared, and why so.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from gambol.character.character import Character
from gambol.character.clip import Clip, Track, continuous
from gambol.character.skeleton import Pose, Skeleton
from gambol.character.transforms import normalize, quaternion_multiply
from gambol.errors import GambolError
from gambol.formats import load, save
from gambol.formats.gltf.clips import unique_name
from jaxtyping import Float

Array = np.ndarray
Sampler = Callable[[Clip, Skeleton, float], Pose]

TOLERANCE = 1e-4
"""Largest distance of any vertex from Blender's, relative to the character's height."""
FILES_NEEDED = 10
TIMES = 5
"""Sampled at keys and again between keys, each clip."""
NEW_CLIP = "gambol bend"
HELP = """{problem}. Make an interpreter with Blender's Python module and name it, for example:
  python3.11 -m venv bpy-env && bpy-env/bin/pip install "bpy~=4.5"
  python benchmarks/blender.py --blender-python bpy-env/bin/python ...
or set the environment variable GAMBOL_BLENDER_PYTHON to its path."""
HEADER = (
    "file",
    "clips",
    "frames",
    "vertices",
    "rest",
    "at keys: max",
    "mean",
    "between: slerp",
    "between: Blender's rule",
    "vertices off",
    "agrees",
    "saved clip",
    "agrees",
)


@dataclass
class Deviation:
    """Distances between our vertices and Blender's, relative to the character's height."""

    worst: dict[int, Float[Array, " vertices"]] = field(default_factory=dict)
    """The largest of each vertex so far, by node."""
    total: float = 0.0
    count: int = 0

    def add(self, node: int, distances: Float[Array, " vertices"]) -> None:
        self.worst[node] = np.maximum(self.worst.get(node, 0.0), distances)
        self.total += float(distances.sum())
        self.count += len(distances)

    @property
    def largest(self) -> float:
        return max((float(distances.max(initial=0)) for distances in self.worst.values()), default=np.nan)

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else np.nan

    def off(self) -> int:
        """Vertices beyond the tolerance in at least one frame."""
        return sum(int((~(distances <= TOLERANCE)).sum()) for distances in self.worst.values())


@dataclass
class Comparison:
    """What came out for one file."""

    name: str
    clips: int
    frames: int = 0
    rest: Deviation = field(default_factory=Deviation)
    at_keys: Deviation = field(default_factory=Deviation)
    """As we sample, at times where Blender interpolates as glTF says."""
    slerp: Deviation = field(default_factory=Deviation)
    """As we sample, between keys: for information."""
    between: Deviation = field(default_factory=Deviation)
    """Between keys, our rotations interpolated by Blender's rule."""
    saved: Deviation = field(default_factory=Deviation)
    """The new clip of the saved file."""
    complaints: list[str] = field(default_factory=list)
    """What the saved file lost or gained beside the new clip."""

    @property
    def off(self) -> int:
        return max(deviation.off() for deviation in (self.rest, self.at_keys, self.between))

    @property
    def agrees(self) -> bool:
        return self.frames > 0 and not self.off

    @property
    def saved_agrees(self) -> bool:
        return self.saved.count > 0 and not self.saved.off() and not self.complaints

    def row(self) -> tuple[str, ...]:
        posed = (self.at_keys.largest, self.at_keys.mean, self.slerp.largest, self.between.largest)
        vertices = sum(len(distances) for distances in self.rest.worst.values())
        verdicts = ("yes" if self.agrees else "no") if self.clips else "", "yes" if self.saved_agrees else "no"
        return (
            self.name,
            *map(str, (self.clips, self.frames, vertices)),
            *map(_figure, (self.rest.largest, *posed)),
            *(str(self.off), verdicts[0], _figure(self.saved.largest)),
            verdicts[1] if self.saved.count else "",
        )


def _figure(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.1e}"


@dataclass
class TestedClip:
    """A clip and the times it is compared at [s]."""

    number: int
    """Its place in the file; Blender and we call nameless clips differently."""
    clip: Clip
    at_keys: Float[Array, " times"]
    between: Float[Array, " times"]

    @staticmethod
    def of(number: int, clip: Clip) -> TestedClip:
        return TestedClip(number, clip, fair_times(clip), times_between(clip))

    @property
    def times(self) -> list[float]:
        return [*self.at_keys.tolist(), *self.between.tolist()]


def fair_times(clip: Clip) -> Float[Array, " times"]:
    """A few key times at which Blender's interpolation plays no part.

    Blender interpolates each component of a quaternion, and its importer drops cubic tangents. So a time is fair if
    every track that is under way by one of these rules has a key there. Steps, and linear translations, scales and
    morph weights, mean the same to both at any time.
    """
    times = _key_times(clip)
    fair = np.ones(len(times), bool)
    for track in clip.tracks:
        if track.interpolation == "CUBICSPLINE" or (track.interpolation == "LINEAR" and track.path == "rotation"):
            under_way = (times > track.times[0]) & (times < track.times[-1])
            fair &= ~under_way | np.isin(times, track.times)
    times = times[fair]
    inner = np.linspace(0, len(times) - 1, TIMES + 2)[1:-1] if len(times) else np.zeros(0)
    return times[np.unique(inner.round().astype(int))]


def times_between(clip: Clip) -> Float[Array, " times"]:
    """A third of the way from a key to the next; half-way would hide how the two rules differ. None for cubic clips."""
    times = _key_times(clip)
    if len(times) < 2 or any(track.interpolation == "CUBICSPLINE" for track in clip.tracks):
        return np.zeros(0)
    left = np.unique(np.linspace(0, len(times) - 2, TIMES).round().astype(int))
    return times[left] + np.diff(times)[left] / 3


def _key_times(clip: Clip) -> Float[Array, " keys"]:
    return np.unique(np.concatenate([track.times for track in clip.tracks]))


def sample_as_gltf(clip: Clip, skeleton: Skeleton, time: float) -> Pose:
    return clip.sample(skeleton, time)


def sample_as_blender(clip: Clip, skeleton: Skeleton, time: float) -> Pose:
    """The same, except that the components of linear rotations are interpolated one by one."""
    pose = clip.sample(skeleton, time)
    for track in clip.tracks:
        if track.path == "rotation" and track.interpolation == "LINEAR":
            componentwise = Track(track.node, "translation", track.times, continuous(track.values))
            pose.rotation[track.node] = normalize(componentwise.sample(np.array([time]))[0])
    return pose


def bend(character: Character) -> Clip:
    """A second in which five joints from all over the skeleton swing by 40 degrees, about different axes."""
    skeleton, rest = character.skeleton, character.skeleton.rest
    joints = np.flatnonzero(skeleton.is_joint)
    angles = np.deg2rad(40) * np.sin(np.linspace(0, 2 * np.pi, 31))
    translation, rotation, scale = (
        np.repeat(value[None], len(angles), axis=0) for value in (rest.translation, rest.rotation, rest.scale)
    )
    for i, joint in enumerate(joints[np.unique(np.linspace(0, len(joints) - 1, 5).round().astype(int))]):
        swing = np.zeros((len(angles), 4))
        swing[:, 0], swing[:, 1 + i % 3] = np.cos(angles / 2), np.sin(angles / 2)
        rotation[:, joint] = quaternion_multiply(rotation[:, joint], swing)
    return Clip.from_poses(NEW_CLIP, Pose(translation, rotation, scale), skeleton)


def numbered_clips(character: Character) -> list[TestedClip]:
    """The clips we could read, with their places in the file."""
    names: dict[str, int] = {}
    for i, animation in enumerate(character.source.json.get("animations", [])):
        names[unique_name(animation.get("name") or f"clip {i}", names)] = i
    return [TestedClip.of(names[name], clip) for name, clip in character.clips.items()]


def vertices_by_node(character: Character, pose: Pose | None = None) -> dict[int, Float[Array, "vertices 3"]]:
    """In the order of Blender's importer: the primitives of a node in one piece, without vertices no face uses."""
    parts: dict[int, list[Array]] = {}
    for mesh, positions in zip(character.meshes, character.vertices(pose), strict=True):
        parts.setdefault(mesh.node, []).append(positions[np.unique(mesh.faces)])
    return {node: np.concatenate(pieces) for node, pieces in parts.items()}


class Comparer:
    """Our vertices of one character against what Blender wrote down."""

    def __init__(self, character: Character):
        low, high = character.bounds
        self._character, self._height = character, float(high[1] - low[1])

    def rest(self, theirs: Mapping[str, Array], into: Deviation) -> None:
        self._add(into, vertices_by_node(self._character), theirs, "rest")

    def clip(
        self, theirs: Mapping[str, Array], into: Deviation, tested: TestedClip, between: bool, sampler: Sampler
    ) -> int:
        """Adds the frames at keys or those between; returns how many there are."""
        times = tested.between if between else tested.at_keys
        for i, time in enumerate(times, start=len(tested.at_keys) if between else 0):
            pose = sampler(tested.clip, self._character.skeleton, float(time))
            self._add(into, vertices_by_node(self._character, pose), theirs, f"{tested.number}/{i}")
        return len(times)

    def _add(self, into: Deviation, ours: dict[int, Array], theirs: Mapping[str, Array], key: str) -> None:
        for node, positions in ours.items():
            found = theirs.get(f"{key}/{node}")
            if found is None or found.shape != positions.shape:
                into.add(node, np.full(len(positions), np.inf))
            else:
                into.add(node, np.linalg.norm(positions - found, axis=1) / self._height)


def compare(path: Path, label: str, python: str, bones: str) -> Comparison | None:
    """Both parts for one file; None if it has neither clips nor a skeleton to show."""
    character = load(path)
    rigged = any(mesh.skinned for mesh in character.meshes)
    if not character.meshes or not (rigged or character.clips):
        return None
    clips = numbered_clips(character)
    result = Comparison(label, len(clips))
    with tempfile.TemporaryDirectory() as folder:
        jobs = [_job(path, clips, bones, Path(folder, "original.npz"))]
        if rigged:
            clip = bend(character)
            saved = Path(folder, path.name)
            name = save(character, saved, clip)
            new = TestedClip.of(len(character.source.json.get("animations", [])), clip)
            jobs.append(_job(saved, [*clips[:1], new], bones, Path(folder, "saved.npz")))
        outputs = _run_blender(python, jobs, Path(folder, "jobs.json"))
    _judge_clips(result, Comparer(character), outputs[0], clips)
    if rigged:
        Comparer(character).clip(outputs[1], result.saved, new, False, sample_as_gltf)
        result.complaints = structure_complaints(outputs[0], outputs[1], str(name))
    return result


def _judge_clips(result: Comparison, comparer: Comparer, theirs: Mapping[str, Array], clips: list[TestedClip]) -> None:
    comparer.rest(theirs, result.rest)
    for clip in clips:
        result.frames += comparer.clip(theirs, result.at_keys, clip, False, sample_as_gltf)
        result.frames += comparer.clip(theirs, result.between, clip, True, sample_as_blender)
        comparer.clip(theirs, result.slerp, clip, True, sample_as_gltf)


def structure_complaints(original: Mapping[str, Array], saved: Mapping[str, Array], name: str) -> list[str]:
    """The saved file must hold what the original held, and the new clip under its name."""
    before, after = (json.loads(str(output["summary"])) for output in (original, saved))
    complaints = [
        f"{before[key]} {key} became {after[key]}"
        for key in ("armatures", "meshes", "bones")
        if before[key] != after[key]
    ]
    if after["actions"] != sorted([*before["actions"], name]):
        complaints.append(f"actions {before['actions']} became {after['actions']}")
    if after["tracks"][-1:] != [name]:
        complaints.append(f"the new clip is not the last: {after['tracks']}")
    for key in set(original) & set(saved) - {"summary"}:
        if not np.array_equal(original[key], saved[key], equal_nan=True):
            complaints.append(f"{key} (clip/time/node) is not where it was in the original")
    return complaints


def _job(path: Path, clips: list[TestedClip], bones: str, output: Path) -> dict:
    requests = [{"number": clip.number, "times": clip.times} for clip in clips]
    return {"path": str(path.resolve()), "clips": requests, "bones": bones, "output": str(output)}


def _run_blender(python: str, jobs: list[dict], jobs_file: Path) -> list[dict[str, Array]]:
    """One process a file: a crash of Blender costs that file only."""
    jobs_file.write_text(json.dumps(jobs))
    command = [python, str(Path(__file__).with_name("blender_side.py")), str(jobs_file)]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=900)
    if finished.returncode:
        last = (finished.stderr or finished.stdout).strip().splitlines()[-1:]
        raise GambolError(f"Blender could not do it: {' '.join(last)}")
    outputs = []
    for job in jobs:
        with np.load(job["output"]) as arrays:
            outputs.append(dict(arrays))
    return outputs


def find_blender_python(given: str | None) -> str:
    """The interpreter asked for, or this one, provided it has bpy."""
    chosen = given or os.environ.get("GAMBOL_BLENDER_PYTHON")
    if chosen is None:
        if importlib.util.find_spec("bpy") is None:
            sys.exit(HELP.format(problem="This interpreter has no module bpy"))
        return sys.executable
    try:
        subprocess.run([chosen, "-c", "import bpy"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        sys.exit(HELP.format(problem=f"{chosen} cannot import bpy"))
    return chosen


def find_files(assets: Path | None, files: list[Path]) -> list[tuple[Path, str]]:
    """Files to compare and what the table calls them."""
    found = [(path, path.name) for path in files]
    if assets:
        everything = sorted(path for suffix in ("glb", "gltf") for path in assets.rglob(f"*.{suffix}"))
        found += [(path, str(path.relative_to(assets))) for path in everything]
    if not found:
        sys.exit("no files: name some, or a folder of .glb and .gltf files with --assets (or GAMBOL_ASSETS)")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILES")
    parser.add_argument("--assets", type=Path, help="folder searched for .glb and .gltf (default: GAMBOL_ASSETS)")
    parser.add_argument("--blender-python", help="interpreter that has bpy (default: GAMBOL_BLENDER_PYTHON, or this)")
    parser.add_argument("--bones", choices=("BLENDER", "TEMPERANCE"), default="BLENDER", help="the importer's Bone Dir")
    arguments = parser.parse_args()
    python = find_blender_python(arguments.blender_python)
    assets = arguments.assets or (None if arguments.files else os.environ.get("GAMBOL_ASSETS"))
    files = find_files(Path(assets) if assets else None, arguments.files)
    comparisons = []
    print(_table_line(HEADER), "|---" * len(HEADER) + "|", sep="\n")
    for path, label in files:
        try:
            comparison = compare(path, label, python, arguments.bones)
        except GambolError as error:
            print(f"{label}: {error}", file=sys.stderr)
            continue
        if comparison:
            comparisons.append(comparison)
            print(_table_line(comparison.row()), flush=True)
    return summarise(comparisons)


def _table_line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def summarise(comparisons: list[Comparison]) -> int:
    for comparison in comparisons:
        for complaint in comparison.complaints:
            print(f"{comparison.name}, saved: {complaint}")
    posed, rigged = sum(c.frames > 0 for c in comparisons), sum(c.saved.count > 0 for c in comparisons)
    agree, saved = sum(c.agrees for c in comparisons), sum(c.saved_agrees for c in comparisons)
    print(f"\n{agree} of {posed} files with clips agree to {TOLERANCE:g} of the height")
    print(f"{saved} of {rigged} saved files open with all they had, and their new clip agrees")
    broken = any(comparison.complaints for comparison in comparisons)
    return int(min(agree, saved) < FILES_NEEDED or broken)


if __name__ == "__main__":
    sys.exit(main())
