"""The tables of pose spaces for one rig: sampling, inverse kinematics, in-betweening, and what the model withstands."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from gambol.motion.joint_poses import world_poses
from gambol.poses.measures import compare_sets, distances, handle_error, jerk, places, turn_error
from gambol.poses.model import RigPoses
from gambol.poses.pose_skeleton import KINDS, RADIUS, PoseSkeleton
from gambol.poses.poses import MIRROR, Poses
from gambol.poses.reach import reach
from gambol.poses.sampling import SamplingConfig, sample_poses
from gambol.poses.tween import tween
from gambol.rigging.rig import rig_mesh

from pose_baselines import Components, carried, gaussian, mixture, nearest_rig, uniform
from pose_solvers import damped, slerp, slerp_on_feet, within_components
from pose_subject import FEWEST, PosedCharacter, Subject, Values, evenly
from pose_variants import variants
from rig import bare

FPS = 30.0
LENGTHS = (5, 15, 30)
"""Frames from key to key."""
HANDLES = (1, 3, 5)
MOVING = 0.05
"""How far a true motion gets from its first frame at least [leg lengths]."""
STANDING = 0.06
"""Height above where it is at rest up to which a foot stands [leg lengths]."""
TIMED = 8
"""Poses that are sampled and inverted to see how fast and how exactly."""
Rows = Iterator[tuple[str, Values]]


def compared(subject: Subject, samples: Poses, true: Poses) -> Values:
    """Samples beside as many true poses."""
    count = min(len(samples), len(true))
    sets = [places(subject.skeleton, evenly(each, count)) for each in (samples, true)]
    return {**compare_sets(*sets), **subject.faults(samples)}


def sampling(subject: Subject) -> Rows:
    """Sets of poses beside the true ones; rows are empty where they do not apply."""
    skeleton, true, world = subject.skeleton, subject.true, subject.world
    count, every = len(true), subject.every
    rest, generator = subject.space.rest, subject.generator(0)
    order = torch.as_tensor(generator.permutation(len(every)))
    half = len(every) // 2
    yield "artists: halves of all frames", compared(subject, *(evenly(every[order[a]], count) for a in _halves(half)))
    clips = generator.permutation(np.unique(subject.clips))
    some = np.isin(subject.clips, clips[: len(clips) // 2])
    if min(some.sum(), (~some).sum()) >= 8:
        sets = [evenly(every[torch.as_tensor(np.flatnonzero(each))], count) for each in (some, ~some)]
        yield "artists: halves of the clips", compared(subject, *sets)
    for deviation in (0.2, 0.4):
        poses = gaussian(rest, deviation, count, generator)
        yield f"Gaussian {deviation} rad", compared(subject, poses, true)
    yield "uniform within limits", compared(subject, uniform(world.ranges, skeleton, count, generator), true)
    components = Components.of(every)
    yield "PCA of the test rig (oracle)", compared(subject, components.sample(count, generator), true)
    yield "GMM of the test rig (oracle)", compared(subject, mixture(components, every, count, generator), true)
    source = nearest_rig(skeleton, world.training)
    chosen = torch.as_tensor(generator.choice(len(source.poses), count, replace=len(source.poses) < count))
    yield "nearest training rig", compared(subject, carried(skeleton, source.skeleton, source.poses[chosen]), true)
    flat = RigPoses(subject.rig.model, without_mesh(skeleton))
    yield "ours without mesh", compared(subject, sample_poses(flat, count, subject.seed), true)
    free = SamplingConfig(validate=False)
    yield "ours without validators", compared(subject, sample_poses(subject.rig, count, subject.seed, free), true)
    drawn = sample_poses(subject.rig, count, subject.seed, SamplingConfig(spare=0))
    yield "ours, as drawn, not the most different", compared(subject, drawn, true)
    yield "ours", compared(subject, sample_poses(subject.rig, count, subject.seed), true)


def sources(subject: Subject) -> Rows:
    """Samples of models that learned from the prior's motions and from artists' clips, without validators."""
    models = {"the prior's motions": subject.rig.model, "artists' clips": subject.world.artists}
    count, validators = len(subject.true), subject.validators
    true = places(subject.skeleton, subject.true)
    for name, model in models.items():
        if model is not None:
            rig, config = RigPoses(model, subject.skeleton), SamplingConfig(validate=False)
            poses = sample_poses(rig, count, subject.seed, config)
            invalid = 100 * float((~validators.valid(poses)).float().mean())
            yield name, {**compare_sets(places(subject.skeleton, poses), true), "invalid": invalid}


def _halves(half: int) -> tuple[slice, slice]:
    return slice(0, half), slice(half, 2 * half)


def without_mesh(skeleton: PoseSkeleton) -> PoseSkeleton:
    """The rig without its flesh, of which neither the network nor the validators then know."""
    numbers = skeleton.numbers.clone()
    numbers[:, RADIUS : RADIUS + 2] = 0
    return replace(
        skeleton, flesh=torch.zeros_like(skeleton.flesh), girth=torch.zeros_like(skeleton.girth), numbers=numbers
    )


def handles_of(skeleton: PoseSkeleton) -> np.ndarray:
    """What one would drag: the last joint of each chain, and the first of the trunk."""
    found: dict[tuple[int, int, int], tuple[int, int]] = {}
    parts = (skeleton.kinds, skeleton.sides, skeleton.ranks, skeleton.stations)
    for joint, (kind, side, rank, station) in enumerate(zip(*(each.tolist() for each in parts), strict=True)):
        if kind < KINDS.index("digit"):
            key = (kind, side, rank)
            found[key] = max(found.get(key, (-1, joint)), (station, joint))
    return np.array(sorted({joint for _, joint in found.values()} | {0}), np.int64)


def inverse_kinematics(subject: Subject, handles: int) -> Rows:
    """Poses from rest that reach handles of true poses, one row for each solve."""
    skeleton, rest = subject.skeleton, subject.space.rest
    generator, ends = subject.generator(10 + handles), handles_of(subject.skeleton)
    low, high = (bound.double().numpy() for bound in subject.world.ranges.of_joints(skeleton))
    every = places(skeleton, subject.every)
    warm: set[str] = set()
    for number in generator.choice(len(subject.every), subject.world.sizes.solves, replace=False):
        joints = generator.choice(ends, min(handles, len(ends)), replace=False)
        targets = every[number, joints].double().numpy()
        others = np.flatnonzero(subject.clips != subject.clips[number])

        dragged = (rest, joints, targets)
        solvers: dict[str, Callable[[], tuple[Poses, np.ndarray]]] = {
            "damped least squares": partial(damped, skeleton, *dragged),
            "damped least squares, limits": partial(damped, skeleton, *dragged, (low, high)),
        }
        if len(others) >= FEWEST:
            components = Components.of(subject.every[torch.as_tensor(others)])
            solvers["PCA of the rig's other clips (oracle)"] = partial(
                within_components, skeleton, components, *dragged
            )
        solvers["ours"] = partial(_reached, subject.rig, *dragged)
        for name, solve in solvers.items():
            if name not in warm:  # what is only done once is not timed
                solve()
                warm.add(name)
            start = time.perf_counter()
            pose, shift = solve()
            seconds = time.perf_counter() - start
            points = places(skeleton, pose)
            reached = points[0, joints].double().numpy() + np.array([shift[0], 0.0, shift[1]])
            apart = distances(points, every)[0]
            yield (
                name,
                {
                    "handle error": handle_error(reached, targets, subject.height),
                    "from its pose": float(apart[number]),
                    "nearest": float(apart.min()),
                    **subject.faults(pose),
                    "ms": 1000 * seconds,
                },
            )


def _reached(rig: RigPoses, start: Poses, joints: np.ndarray, targets: np.ndarray) -> tuple[Poses, np.ndarray]:
    found = reach(rig, start, joints, targets)
    return found.pose, found.shift


def motions(subject: Subject, length: int) -> Iterator[Poses]:
    """Pieces of true clips in which something moves, of so many frames from key to key."""
    generator, space, found = subject.generator(20 + length), subject.space, 0
    clips = list(subject.character.clips.values())
    for number in generator.permutation(len(clips)):
        clip = clips[number]
        spare = clip.duration - length / FPS
        if found == subject.world.sizes.motions or spare < 0:
            continue
        times = clip.start + generator.uniform(0, spare) + np.arange(length + 1) / FPS
        world = world_poses(subject.character.skeleton, subject.anatomy, clip, times)[..., :3, :]
        if not np.isfinite(world).all():
            continue
        poses = space.poses_of(torch.as_tensor(world).float())
        points = places(subject.skeleton, poses)
        if distances(points[:1], points).max() >= MOVING:
            found += 1
            yield poses


def in_betweening(subject: Subject, length: int) -> Rows:
    """Motions between the first and last frame of true ones, one row for each."""
    skeleton, rest = subject.skeleton, subject.space.rest
    for true in motions(subject, length):
        first, last = true[[0]], true[[-1]]
        lowest = [places(skeleton, each)[0, :, 1] for each in (rest, first, last)]
        standing = skeleton.feet & (lowest[1] - lowest[0] < STANDING) & (lowest[2] - lowest[0] < STANDING)
        feet = np.flatnonzero(standing.numpy())
        makers: dict[str, Callable[[], Poses]] = {
            "the true clip": partial(evenly, true, len(true)),
            "slerp": partial(slerp, first, last, length),
            "slerp, standing feet by IK": partial(slerp_on_feet, skeleton, first, last, length, feet),
            "ours, --walk": partial(_tweened, subject, first, last, length, True),
            "ours": partial(_tweened, subject, first, last, length, False),
        }
        for name, make in makers.items():
            start = time.perf_counter()
            made = make()
            milliseconds = 1000 * (time.perf_counter() - start) / (length - 1)
            points, wanted = places(skeleton, made), places(skeleton, true)
            yield (
                name,
                {
                    "position error": 100 * float((points - wanted).norm(dim=-1)[1:-1].mean()),
                    "angle error": float(turn_error(made, true)[1:-1].mean()),
                    "jerk": jerk(points, FPS),
                    **subject.faults(made[1:-1]),
                    "ms a frame": float("nan") if name == "the true clip" else milliseconds,
                },
            )


def _tweened(subject: Subject, first: Poses, last: Poses, length: int, walk: bool) -> Poses:
    return tween(subject.rig, subject.space.rest, [(0, first), (length, last)], walk=walk).poses


def withstanding(subject: Subject) -> Rows:
    """Samples on the rig with fewer or more joints, or misread; measured on the rig itself."""
    true = evenly(subject.every, subject.world.sizes.poses // 2)
    for variant in variants(subject.skeleton, subject.seed):
        rig = RigPoses(subject.rig.model, variant.skeleton)
        samples = variant.back(sample_poses(rig, len(true), subject.seed, SamplingConfig(validate=False)))
        yield variant.name, {"joints": float(len(variant.skeleton)), **compared(subject, samples, true)}


def automatic_rig(subject: Subject) -> Rows:
    """Samples on the rig of the artist and on one that is found for the bare mesh."""
    count = subject.world.sizes.mesh_poses
    other = PosedCharacter(subject.world, rig_mesh(bare(subject.character)).character, subject.seed)
    for name, each in (("the artist's rig", subject), ("the automatic rig", other)):
        poses = sample_poses(each.rig, count, subject.seed)
        yield name, {"joints": float(len(each.skeleton)), **each.faults(poses)}


def reversibility(subject: Subject) -> Rows:
    """Whether mirrored noise gives mirrored poses, and whether inverted poses come back [degrees]; speed."""
    rig, skeleton = subject.rig, subject.skeleton
    noise = rig.noise(4, torch.Generator().manual_seed(subject.seed))
    flip = torch.tensor(MIRROR)
    made = rig.decode(rig.sample(noise))
    image = type(rig)(rig.model, skeleton.mirrored())
    back = image.decode(image.sample(noise * flip))
    mirrored = turn_error(Poses(back.turns * flip, back.heights), made)
    swapped = noise.clone()
    swapped[:, 0] = noise[:, 0] * flip
    swapped[:, 1:] = (noise[:, 1:] * flip)[:, skeleton.partners]
    other = rig.decode(rig.sample(swapped)).mirrored(skeleton)
    start = time.perf_counter()
    sample_poses(rig, TIMED, subject.seed)
    seconds = time.perf_counter() - start
    true = evenly(subject.every, TIMED)
    again = rig.decode(rig.restore(rig.invert(rig.encode(true))))
    yield (
        "ours",
        {
            "mirror image of the rig": float(mirrored.max()),
            "left and right swapped": float(turn_error(other, made).mean()),
            "there and back": float(turn_error(again, true).mean()),
            "poses/s": TIMED / seconds,
        },
    )
