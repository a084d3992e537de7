"""Feeds broken character files to the reader: each must be read or refused with an AssetError, nothing else.

    python fuzz/fuzz.py --count 20000 --seed 0 --assets FOLDER
    python fuzz/fuzz.py --format bvh --count 3000
    python fuzz/fuzz.py --format vrm --count 1000
    python fuzz/fuzz.py --format usd --count 1000
    python fuzz/fuzz.py --format fbx --count 3000
    python fuzz/fuzz.py --format plain --count 3000
    python fuzz/fuzz.py --format rig --count 1000

Item i of a seed and format is always the same file; `--only i` runs that one here, with its traceback. What fails is
saved in `fuzz/failures/`, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection, wait
from pathlib import Path
from random import Random
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src"), str(HERE.parent / "tests")]

import numpy as np  # noqa: E402
from bvh import mutate_bvh, own_bvh_samples, real_bvh_samples  # noqa: E402
from fbx import mutate_fbx, own_fbx_samples, real_fbx_samples  # noqa: E402
from mutate import mutate  # noqa: E402
from plain import mutate_beast, mutate_plain, own_beast_samples, own_plain_samples  # noqa: E402
from samples import Sample, own_samples, real_samples  # noqa: E402
from usd_files import mutate_usd, own_usd_samples  # noqa: E402
from vrm import own_vrm_samples  # noqa: E402

from gambol.character.anatomy import analyze  # noqa: E402
from gambol.character.bone_mesh import visible  # noqa: E402
from gambol.character.character import Character  # noqa: E402
from gambol.character.clip import Clip, Track  # noqa: E402
from gambol.character.info import describe  # noqa: E402
from gambol.character.rig import build_rig  # noqa: E402
from gambol.character.skeleton import Pose  # noqa: E402
from gambol.character.sketch import sketch  # noqa: E402
from gambol.errors import GambolError  # noqa: E402
from gambol.formats import READERS, WRITERS, export, load, save  # noqa: E402
from gambol.formats.convert import ENDINGS, convert  # noqa: E402
from gambol.formats.gltf.document import SUFFIXES  # noqa: E402
from gambol.formats.npz import read_npz  # noqa: E402
from gambol.formats.shapes import SHAPES  # noqa: E402
from gambol.motion.cuboids import fit_cuboids  # noqa: E402
from gambol.motion.flex import flex  # noqa: E402
from gambol.render.splat_files import read_splats  # noqa: E402
from gambol.rigging.joint_positions import read_joint_positions, write_joint_positions  # noqa: E402
from gambol.rigging.options import RigOptions  # noqa: E402
from gambol.rigging.rig import rig_mesh  # noqa: E402

WORKERS = 2
LONGEST = 20.0
"""[s] Processor time one file may take; on the clock three times that, since other programs may be busy."""
READING = 2.0
"""[s] Processor time that reading a .bvh file may take."""
MEMORY = 2 * 1024**3
"""[bytes] One file may take beyond what the worker holds anyway."""
WRITTEN, STUDIED = 1000, 100
"""Joints of motion capture up to which it is also written again, and studied: more take their time and no other way."""
CLIPS = 20
"""Clips sampled of one file."""


@dataclass(frozen=True)
class Result:
    """What became of one file."""

    index: int
    outcome: str
    """ok, refused, or the kind of failure."""
    detail: str = ""
    warnings: tuple[str, ...] = ()
    """numpy's RuntimeWarnings by place: not failures, but numbers out of hand."""
    seconds: float = 0.0
    peak: int = 0
    """[bytes] The most memory the worker ever held."""


def exercise(path: Path, scratch: Path) -> None:
    """All that gambol does with a file before it animates it: read, pose, sample, save with a clip, read again."""
    character = load(path)
    check(character)
    character.vertices()
    pose = None
    for clip in list(character.clips.values())[:CLIPS]:
        times = np.array([clip.start - 1, clip.start, (clip.start + clip.end) / 2, clip.end, clip.end + 1])
        clip.sample(character.skeleton, times)
        pose = clip.sample(character.skeleton, float(times[2]))
    character.vertices(pose)
    if len(character.skeleton):
        for suffix in sorted({path.suffix, ".glb"} & set(SUFFIXES)):
            save_and_reload(character, scratch / f"out{suffix}")
        convert_and_reload(character, pose, scratch)
    understand(character, scratch / "out.glb")


def exercise_plain(path: Path, scratch: Path) -> None:
    """The same for a mesh without a skeleton; a .ply may hold Gaussians instead."""
    if path.suffix == ".ply":
        with contextlib.suppress(GambolError):
            read_splats(path)
    exercise(path, scratch)


def exercise_rig(path: Path, scratch: Path) -> None:
    """Give a mesh a skeleton, with joints by hand if there is a file of them; write it and read it again."""
    hand = path.with_name("joints.json")
    joints = read_joint_positions(hand) if hand.is_file() else None
    rigged = rig_mesh(load(path), RigOptions(joints=joints))
    check(rigged.character)
    assert len(rigged.sentence) < 1000
    for note in (*rigged.notes, *rigged.character.warnings):
        assert note.isprintable() and len(note) < 1000, note
    write_joint_positions(scratch / "joints.json", rigged.character.skeleton)
    read_joint_positions(scratch / "joints.json")
    save_and_reload(rigged.character, scratch / "out.glb")


def exercise_vrm(path: Path, scratch: Path) -> None:
    """The same for a person: also written as VRM animation, if that can be told of what is left of him."""
    exercise(path, scratch)
    character = load(path)
    for clip in list(character.clips.values())[:CLIPS]:
        try:
            export(character, clip, scratch / "again.vrma", fps=10)
        except GambolError:
            continue
        try:
            check(again := load(scratch / "again.vrma"))
        except GambolError as error:
            raise AssertionError(f"gambol cannot read what it wrote: {error}") from error
        assert again.hints


def exercise_usd(path: Path, scratch: Path) -> None:
    """The same for USD: what breaks its parsers ends their process and is refused, what breaks our reader is not."""
    try:
        exercise(path, scratch)
    except GambolError as error:
        assert "(code 1)" not in str(error), "the reader failed in its process"
        raise
    character = load(path)
    if len(character.skeleton) > STUDIED or sum(len(mesh.faces) for mesh in character.meshes) > 5000:
        return
    save(character, scratch / "again.usda")
    try:
        check(again := load(scratch / "again.usda"))
    except GambolError as error:
        raise AssertionError(f"gambol cannot read what it wrote: {error}") from error
    assert len(again.clips) == len(character.clips)


def exercise_fbx(path: Path, scratch: Path) -> None:
    """Read, pose, write as .fbx and .glb and read both again. ufbx may crash: it runs in a process of its own."""
    character = load(path)
    check(character)
    for clip in list(character.clips.values())[:CLIPS]:
        character.vertices(clip.sample(character.skeleton, np.array([clip.start, clip.end])))
    if len(character.skeleton):
        save_and_reload(character, scratch / "out.fbx")
        save_and_reload(character, scratch / "out.glb")
    understand(character, scratch / "out.glb")


def exercise_bvh(path: Path, scratch: Path) -> None:
    """The same for motion capture, which has no mesh: also write it as joints alone."""
    character = load(path)
    check(character)
    for clip in character.clips.values():
        character.skeleton.world(clip.sample(character.skeleton, np.array([clip.start, clip.end])))
    if len(character.skeleton) <= WRITTEN:
        save_and_reload(character, scratch / "out.glb")
        export_and_reload(character, scratch)
    if len(character.skeleton) <= STUDIED:
        understand(visible(character), scratch / "out.glb")


def read_soon(path: Path) -> None:
    begin = time.process_time()
    try:
        load(path)
    finally:
        seconds = time.process_time() - begin
        assert seconds < READING, f"reading took {seconds:.1f} s"


def export_and_reload(character: Character, scratch: Path) -> None:
    """What gambol can write of a clip alone, it must read again."""
    for clip in character.clips.values():
        for name in ("again.bvh", "again.npz"):
            export(character, clip, scratch / name)
        try:
            again = load(scratch / "again.bvh")
            read_npz(character, scratch / "again.npz")
        except GambolError as error:
            raise AssertionError(f"gambol cannot read what it wrote: {error}") from error
        check(again)
        assert len(again.clips) == 1


def convert_and_reload(character: Character, pose: Pose | None, scratch: Path) -> None:
    """What gambol reads it writes in every format, or refuses with a sentence, and reads again. The clips of a glTF are
    written anew, without the bytes of the old ones."""
    clips = list(character.clips.values())[:CLIPS]
    for ending in (ending for ending in ENDINGS if ending not in WRITERS):  # those take a process each
        target = scratch / f"converted{ending}"
        try:
            lost = convert(character, target, clips, pose=pose if ending in SHAPES else None)
        except GambolError:
            continue
        assert all(sentence.isprintable() for sentence in lost), lost
        if ending not in READERS:
            continue
        try:
            check(load(target))
        except GambolError as error:
            if "beyond" not in str(error):  # a pose of a broken clip may fling a shape out of range
                raise AssertionError(f"gambol cannot read the {ending} it wrote: {error}") from error


def understand(character: Character, target: Path) -> None:
    """All that gambol finds out about a character, and a clip that moves all of it."""
    anatomy = analyze(character)
    json.dumps(describe(character, anatomy), allow_nan=False, ensure_ascii=False).encode()
    rig = build_rig(anatomy)
    fit_cuboids(character, rig)
    if len(anatomy.body) < 100:  # larger ones take their time and no other way
        save(character, target, flex(character, anatomy))
    if sum(len(mesh.faces) for mesh in character.meshes) < 5000:
        sketch(character, anatomy, target.with_suffix(".png"), size=64)


def check(character: Character) -> None:
    """What the rest of gambol relies on; a file that breaks it should have been refused."""
    nodes = len(character.skeleton)
    for mesh in character.meshes:
        vertices = len(mesh.positions)
        for name in ("positions", "normals", "uvs", "colors", "morph_positions", "morph_weights"):
            values = getattr(mesh, name)
            assert values is None or np.isfinite(values).all(), f"{name} of mesh '{mesh.name}' are not finite"
        assert mesh.weights.shape == mesh.binds.shape == (vertices, mesh.binds.shape[1])
        assert np.allclose(mesh.weights.sum(1), 1) and (mesh.weights >= 0).all(), "weights must sum to 1"
        assert mesh.binds.min(initial=0) >= 0 and mesh.binds.max(initial=0) < len(character.bind_nodes)
        assert mesh.faces.min(initial=0) >= 0 and mesh.faces.max(initial=0) < vertices
        assert mesh.colors is None or mesh.colors.shape == (vertices, 4)
    assert np.isfinite(character.skeleton.world()).all(), "the rest pose is not finite"
    for clip in character.clips.values():
        for track in clip.tracks:
            assert 0 <= track.node < nodes and (np.diff(track.times) >= 0).all(), "keys out of order"


def save_and_reload(character: Character, target: Path) -> None:
    """A file that gambol itself wrote must be read without complaint and hold the new clip."""
    node = len(character.skeleton) - 1
    turn = Track(node, "rotation", np.array([0.0, 1.0]), np.array([[1.0, 0, 0, 0], [0.8, 0.6, 0, 0]]))
    name = save(character, target, Clip("fuzz", (turn,)))
    try:
        assert name and load(target).clips[name].end == 1.0
    except GambolError as error:
        raise AssertionError(f"gambol cannot read what it wrote: {error}") from error


MUTATE = {
    "gltf": mutate,
    "vrm": mutate,
    "usd": mutate_usd,
    "bvh": mutate_bvh,
    "fbx": mutate_fbx,
    "plain": mutate_plain,
    "rig": mutate_beast,
}
EXERCISE = {
    "gltf": exercise,
    "vrm": exercise_vrm,
    "usd": exercise_usd,
    "bvh": exercise_bvh,
    "fbx": exercise_fbx,
    "plain": exercise_plain,
    "rig": exercise_rig,
}


@cache
def samples(kind: str) -> tuple[list[Sample], list[float]]:
    """Own and real files with their odds: small ones often, big ones rarely, since each takes its time."""
    from assets import asset_files, assets_folder

    if kind == "bvh":
        own, real = own_bvh_samples(), real_bvh_samples(assets_folder())
    elif kind == "vrm":
        own, real = own_vrm_samples(), []
    elif kind == "usd":
        own, real = own_usd_samples(), []
    elif kind == "fbx":
        own, real = own_fbx_samples(), real_fbx_samples(assets_folder())
    elif kind == "plain":
        own, real = own_plain_samples(), []
    elif kind == "rig":
        own, real = own_beast_samples(), []
    else:
        own, real = own_samples(), real_samples(asset_files())
    sizes = [sum(map(len, sample.files.values())) for sample in real]
    odds = [0.3 if size < 50_000 else 0.05 if size < 500_000 else 0.004 for size in sizes]
    return own + real, [1.0] * len(own) + odds


def item(kind: str, seed: int, index: int) -> Sample:
    rng = Random(f"{seed} {index}")
    return MUTATE[kind](rng.choices(*samples(kind))[0], rng)


def write(sample: Sample, folder: Path) -> Path:
    """Puts a sample on disk and returns the file to open."""
    for name, data in sample.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder / sample.name


def run(kind: str, seed: int, index: int) -> Result:
    """One item, here; whatever is raised becomes its result."""
    sample, begin = item(kind, seed, index), time.process_time()
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        folder, scratch = Path(name, "in"), Path(name, "out")
        scratch.mkdir()
        outcome, detail = "ok", ""
        try:
            path = write(sample, folder)
            if kind == "bvh":
                read_soon(path)
            EXERCISE[kind](path, scratch)
        except GambolError as error:
            outcome, detail = "refused", str(error)
        except BaseException as error:  # anything else is what this program looks for
            outcome, detail = type(error).__name__, traceback.format_exc()
    places = tuple(f"{Path(w.filename).name}:{w.lineno} {w.message}" for w in noted if w.category is RuntimeWarning)
    seconds = time.process_time() - begin
    if seconds > LONGEST:
        outcome, detail = "slow", f"{seconds:.0f} s, then: {outcome}\n{detail}"
    return Result(index, outcome, detail, places, seconds, peak_memory())


def peak_memory() -> int:
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def limit_memory() -> None:
    """From here on this process cannot grow by more than MEMORY: it gets a MemoryError instead."""
    try:
        import resource

        held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (ImportError, OSError):  # not Linux
        return
    resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY, held + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def work(pipe: Connection, kind: str, seed: int) -> None:
    """A worker: takes numbers, gives results, until it is told to stop."""
    samples(kind)
    limit_memory()
    pipe.send("ready")
    while (index := pipe.recv()) is not None:
        pipe.send(run(kind, seed, index))


class Worker:
    """A process that may hang or crash without taking us along."""

    def __init__(self, kind: str, seed: int):
        self._kind, self._seed = kind, seed
        self._begin()

    def _begin(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=work, args=(theirs, self._kind, self._seed), daemon=True)
        self._process.start()
        theirs.close()
        self.pipe.recv()  # until it is ready: on a busy machine imports alone take a minute
        self.index: int | None = None

    def give(self, index: int | None) -> None:
        self.index, self._since = index, time.monotonic()
        self.pipe.send(index)

    def result(self) -> Result:
        """What came through the pipe; a closed pipe means that the process died."""
        assert self.index is not None
        index, self.index = self.index, None
        try:
            return self.pipe.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            code = self._process.exitcode
            self._begin()
            return Result(index, "crash", f"the process ended with code {code}")

    def overdue(self) -> Result | None:
        """Ends a process that takes too long."""
        if self.index is None or time.monotonic() - self._since < 3 * LONGEST:
            return None
        index = self.index
        self._process.kill()
        self._process.join()
        self._begin()
        return Result(index, "hang", f"no answer within {3 * LONGEST:.0f} s")


def results(kind: str, seed: int, count: int):
    """Yields results as they come, from all workers."""
    workers = [Worker(kind, seed) for _ in range(min(WORKERS, count))]
    numbers = iter(range(count))
    done = 0
    while done < count:
        for worker in workers:
            if worker.index is None and (number := next(numbers, None)) is not None:
                worker.give(number)
        ready = wait([worker.pipe for worker in workers if worker.index is not None], timeout=1.0)
        for worker in workers:
            result = worker.result() if worker.pipe in ready else worker.overdue()
            if result:
                done += 1
                yield result
    for worker in workers:
        worker.give(None)


def keep(kind: str, seed: int, result: Result) -> None:
    """Saves a failure with what is needed to look into it."""
    folder = HERE / "failures" / f"{kind}-{seed}-{result.index}-{result.outcome}"
    shutil.rmtree(folder, ignore_errors=True)
    path = write(item(kind, seed, result.index), folder)
    again = f"python fuzz/fuzz.py --format {kind} --seed {seed} --only {result.index}"
    (folder / "report.txt").write_text(f"{path.name}\n{again}\n\n{result.detail}")
    (folder.parent / ".gitignore").write_text("*\n")


def show(kind: str, seed: int, count: int) -> bool:
    """Runs all items behind a progress bar and sums them up; True if none failed."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    tally: Counter[str] = Counter()
    noted: Counter[str] = Counter()
    slowest, peak = Result(-1, ""), 0
    columns = [BarColumn(), TextColumn("{task.completed}/{task.total} {task.fields[counts]}"), TimeRemainingColumn()]
    console = Console(highlight=False, soft_wrap=True)
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=count, counts="")
        for result in results(kind, seed, count):
            became = result.outcome if result.outcome in ("ok", "refused") else "failed"
            tally[became] += 1
            tally["stopped"] += "stopped the reader" in result.detail
            noted.update(set(result.warnings))
            slowest, peak = max(slowest, result, key=lambda r: r.seconds), max(peak, result.peak)
            if became == "failed":
                keep(kind, seed, result)
                last = result.detail.strip().splitlines()[-1:]
                console.print(f"item {result.index}: {result.outcome}: {''.join(last)[:200]}", markup=False)
            counts = f"ok {tally['ok']} refused {tally['refused']} failed {tally['failed']}"
            progress.update(task, advance=1, counts=counts)
    for place, times in noted.most_common(5):
        console.print(f"numpy warned in {times} files: {place}", markup=False)
    console.print(
        f"{count} {kind} files of seed {seed}: "
        f"{tally['ok']} read, {tally['refused']} refused, {tally['failed']} failed; "
        + (f"{tally['stopped']} of the refused crashed ufbx; " if kind == "fbx" else "")
        + f"slowest {slowest.seconds:.1f} s (item {slowest.index}), most memory {peak / 2**20:.0f} MiB"
    )
    return not tally["failed"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20000, help="how many broken files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--format", choices=tuple(MUTATE), default="gltf", help="of which format")
    parser.add_argument("--assets", type=Path, help="a folder of real files to break as well")
    parser.add_argument("--only", type=int, help="run this item alone and show its traceback")
    options = parser.parse_args()
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):  # the workers share the cores already
        os.environ.setdefault(variable, "1")
    if options.assets:
        os.environ["GAMBOL_ASSETS"] = str(options.assets)  # also for the workers
    if options.only is None:
        return 0 if show(options.format, options.seed, options.count) else 1
    result: Any = run(options.format, options.seed, options.only)
    print(result.outcome, result.detail, *result.warnings, sep="\n")
    return 0 if result.outcome in ("ok", "refused") else 1


if __name__ == "__main__":
    sys.exit(main())
