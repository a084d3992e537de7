"""Tracking a clip with physics: our solver against the paper's way and against MuJoCo, error and seconds.

    OMP_NUM_THREADS=1 python benchmarks/physics.py [CHARACTER]    3 minutes, most of them for Newton and MuJoCo
    OMP_NUM_THREADS=1 python benchmarks/physics.py --quick        less than a minute, without these two

All follow the same target with the same bones: a walk whose feet skate, as it goes 15 % too fast for its steps, and
whose joints tremble. No feet are locked first. All begin with the same targets for the PD control (by inverse
dynamics), and the error is the mean distance of bones from where the target has them, in parts of the height. Seconds
are those of one thread, in its own time, which other programs hardly disturb. Baselines:

    paper     our own kernel with the paper's scheme: explicit, a target for every one of some 200 substeps a frame
    Newton    the paper's way, a tape for every few tens of substeps (`pip install newton`): see physics_newton.py
    MuJoCo    iLQR with finite differences (`pip install 'gambol[mujoco]'`): see physics_mujoco.py

The first two need heavier light bones and softer contacts than ours, or they blow up (`PAPER`, `Ragdoll.sturdy`).
Then how the cost of an iteration grows with bones and with frames.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, NamedTuple

import gambol  # isort: skip  # before torch
import numpy as np
import torch
import tyro
from gambol.character.anatomy import analyze
from gambol.creatures.gaits import gait
from gambol.motion.rig_motion import RigMotion, rig_motion_of
from gambol.physics.ragdoll import Boxes, Ragdoll
from gambol.physics.reference import Reference, reference_of
from gambol.physics.simulation import PAPER, SolverConfig
from gambol.physics.target import PhysicalCharacter
from gambol.physics.tracking import TrackConfig, TrackingResult, track_references

TOO_FAST, TREMBLE = 1.15, 0.03
"""Speed of the body in parts of that of its feet; standard deviation of the noise on joint angles [rad]."""
ITERATIONS = 200
"""The paper's, and ours."""
HASTE = TrackConfig(lr=0.01, guide=0.0)
"""For a search that has time for a handful of iterations only."""
BONES, FRAMES = (5, 10, 20, 40, 80), (15, 30, 60, 120)


@dataclass
class Options:
    character: Annotated[str, tyro.conf.Positional] = "human"
    """A file with legs, or a name of the zoo."""
    seconds: float = 1.2
    """Length of the walk [s]."""
    iterations: int = ITERATIONS
    """Iterations of our optimiser."""
    paper_iterations: int = 60
    newton_iterations: int = 6
    quick: bool = False
    """Fewer iterations, and without Newton and MuJoCo."""


class Target(NamedTuple):
    ragdoll: Ragdoll
    reference: Reference
    height: float


class Row(NamedTuple):
    name: str
    iterations: int
    each: float
    """Seconds an iteration."""
    total: float
    error: float
    """Mean distance of the bones from the target, as a share of the height."""
    note: str = ""


def dirty_walk(name: str, seconds: float) -> Target:
    character = gambol.load(name)
    anatomy = analyze(character)
    body = PhysicalCharacter(character, anatomy)
    clip = gait(character, anatomy, "walk")
    count, frames = round(clip.duration * body.fps), round(seconds * body.fps) + 1
    times = clip.start + clip.duration * np.arange(count) / count
    steps = rig_motion_of(character, body.rig, clip, times, loops=True)
    long = steps.repeated(-(-frames // count), body.rig)
    ahead = (TOO_FAST - 1) * torch.arange(frames)[:, None] / count * steps.travel
    noise = TREMBLE * torch.randn(long.angles[:frames].shape, generator=torch.Generator().manual_seed(0))
    rig_motion = RigMotion(
        long.angles[:frames] + noise,
        long.root_translation[:frames] + ahead,
        long.root_angles[:frames],
        (frames - 1) / count * steps.seconds,
        loops=False,
        travel=torch.zeros(3),
    )
    reference = reference_of(body.ragdoll, body.rig, rig_motion)
    return Target(body.ragdoll.only_points(body.near_ground(reference)), reference, body.height)


def ours(name: str, target: Target, config: TrackConfig, note: str = "") -> Row:
    began = time.thread_time()
    ends = [began]
    tracking, *_ = track_references(
        target.ragdoll, [target.reference], config, lambda done, total, error: ends.append(time.thread_time())
    )
    each = float(np.median(np.diff(ends))) if config.iterations else 0.0
    note = note or f"{tracking.simulation.substeps} substeps a frame"
    error = tracking.tracked[0].error / target.height
    return Row(name, config.iterations, each, time.thread_time() - began, error, note)


def begin(target: Target, config: SolverConfig) -> TrackingResult:
    """Where all searches begin."""
    return track_references(target.ragdoll, [target.reference], TrackConfig(config, iterations=0))[0]


def compare(options: Options) -> None:
    target = dirty_walk(options.character, options.seconds)
    ragdoll, frames = target.ragdoll, len(target.reference)
    heavy = target._replace(ragdoll=ragdoll.sturdy())
    print(f"{options.character}: {len(ragdoll)} bones, {len(ragdoll.points)} points, {frames} frames")
    ours("once, to compile", target, TrackConfig(iterations=1))
    if options.quick:
        options = replace(options, iterations=60, paper_iterations=5)
    first = ours("ours", target, TrackConfig(iterations=options.iterations))
    print(f"  {'':14} iterations   s each   / {first.name}   s in all   / {first.name}    error   / {first.name}")
    show(first, first)
    show(ours("no search", target, TrackConfig(iterations=0), "PD control at where all begin"), first)
    show(until_all(ours("paper", heavy, TrackConfig(PAPER, options.paper_iterations))), first)
    if options.quick:
        return
    haste = replace(HASTE, iterations=options.newton_iterations)
    show(ours("ours in haste", target, haste, "without a guide, at a higher rate: as Newton below"), first)
    for rival, needs in ((partial(newton_row, heavy, haste), "newton"), (partial(mujoco_row, target), "mujoco")):
        if importlib.util.find_spec(needs) is None:
            print(f"  {needs}: not installed, left out (pip install {needs})")
        else:
            show(rival(), first)


def newton_row(target: Target, haste: TrackConfig) -> Row:
    from physics_newton import track_in_newton

    start = begin(target, PAPER)
    distances, seconds = track_in_newton(start.simulation, target.reference, start.control, haste)
    each = float(np.median(seconds[1:]))  # the first compiles
    note = f"{start.simulation.substeps} substeps a frame"
    return until_all(Row("Newton", len(seconds), each, len(seconds) * each, min(distances) / target.height, note))


def mujoco_row(target: Target) -> Row:
    from physics_mujoco import LAST, STEPS, track_in_mujoco

    start = begin(target, SolverConfig())
    distances, seconds = track_in_mujoco(start.simulation, target.reference, start.control)
    note = f"{STEPS} steps a frame; seconds of an iteration that takes in all frames"
    each = float(np.median(seconds[-LAST:]))
    return Row("MuJoCo iLQR", len(seconds), each, sum(seconds), distances[-1] / target.height, note)


def show(row: Row, first: Row) -> None:
    each = f"{row.each:8.3f} {row.each / first.each:8.1f}" if row.iterations else " " * 17
    total = f"{row.total:10.1f} {row.total / first.total:8.2f}"
    error = f"{row.error:8.2%} {row.error / first.error:8.2f}"
    print(f"  {row.name:14} {row.iterations:10} {each} {total} {error}   {row.note}", flush=True)


def until_all(row: Row) -> Row:
    """The row with a note on how long all iterations would take, if fewer were run."""
    if row.iterations >= ITERATIONS:
        return row
    all_of_them = f"{ITERATIONS} iterations would take {ITERATIONS * row.each:.0f} s (extrapolated)"
    return row._replace(note=f"{row.note}; {all_of_them}")


def chain(bones: int, frames: int) -> Target:
    """Links in a row on the ground, to and fro."""
    length = 0.1
    centers = np.tile([0.0, 0.05, 0.0], (bones, 1))
    centers[:, 2] = -length * np.arange(bones)
    half = np.array([0.02, 0.05, length / 2])
    masses = np.full(bones, 1 / bones)
    inertias = masses[:, None, None] * np.diag((half**2).sum() - half**2) / 3
    axes = np.tile(np.eye(3), (bones, 1, 1))
    points = (centers[:, None] + np.array([[0.02, -0.05, 0.0], [-0.02, -0.05, 0.0]])).reshape(-1, 3)
    ragdoll = Ragdoll(
        joints=np.arange(bones),
        names=tuple(f"link {number}" for number in range(bones)),
        parents=np.arange(bones) - 1,
        masses=masses,
        inertias=inertias,
        centers=centers,
        anchors=centers + np.array([0.0, 0.0, length / 2]),
        axes=axes,
        boxes=Boxes(np.arange(bones), centers, axes, np.tile(half, (bones, 1))),
        point_bones=np.repeat(np.arange(bones), 2),
        points=points,
        unit=1.0,
        gravity=9.81,
        T_ragdoll_file=np.eye(4),
    )
    sway = torch.zeros(frames, 1, 3)
    sway[:, 0, 2] = 0.02 * torch.sin(torch.arange(frames) / 5)
    identity = torch.tensor([1.0, 0.0, 0.0, 0.0]).expand(frames, bones, 4)
    up, forward = (torch.tensor(axis).expand(frames, 3) for axis in ([0.0, 1.0, 0.0], [0.0, 0.0, 1.0]))
    x = torch.as_tensor(centers).float() + sway
    still = torch.zeros(frames, bones, 3)
    return Target(ragdoll, Reference(x, identity, still, up, forward, torch.zeros(3), False, 30.0), 1.0)


def grow(name: str, sizes: Sequence[tuple[int, int]]) -> None:
    """The cost of an iteration over sizes, the least of three runs; the last column compares with one in the middle."""
    rows = [min(ours("", chain(*size), TrackConfig(iterations=5)).each for _ in range(3)) for size in sizes]
    base = rows[len(rows) // 2] / np.prod(sizes[len(sizes) // 2])
    print(
        f"  chains, more {name}:  bones   frames   ms an iteration   us a bone and frame   / {sizes[len(sizes) // 2]}"
    )
    for (bones, frames), each in zip(sizes, rows, strict=True):
        share = each / (bones * frames)
        print(f"  {'':20} {bones:6} {frames:8} {1e3 * each:17.1f} {1e6 * share:21.1f} {share / base:14.2f}", flush=True)


def main(options: Options) -> None:
    torch.set_num_threads(1)
    compare(options)
    grow("bones", [(bones, 30) for bones in BONES])
    grow("frames", [(20, frames) for frames in FRAMES])


if __name__ == "__main__":
    main(tyro.cli(Options))
