"""A flex clip: every joint bent in turn, left and right together. It shows bad weights and broken exports."""

from collections.abc import Callable

import numpy as np
import torch

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.clip import Clip, Path, Track, continuous
from gambol.character.rig import build_rig
from gambol.character.skeleton import Pose
from gambol.motion.export import poses_from_world
from gambol.motion.kinematics import Kinematics

BENDS = (0.0, 1.0, 0.0, -1.0, 0.0)
"""The keys of one joint, in parts of the full bend: forth and back."""
PATHS: tuple[Path, ...] = ("translation", "rotation", "scale")


def flex(
    character: Character,
    anatomy: Anatomy,
    degrees: float = 30.0,
    seconds_per_joint: float = 0.6,
    name: str = "flex",
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Clip:
    """Bend each joint by `degrees` forth and back about its bend axis, from the root outwards; mirror images as one.

    Each track has keys only while its node moves, so that a large rig does not make a huge file.
    """
    rig = build_rig(anatomy)
    kinematics = Kinematics(rig, dtype=torch.float64)
    groups = [{joint, int(p)} - {-1} for joint, p in enumerate(anatomy.partners) if p < 0 or joint <= p]
    still = torch.zeros(len(BENDS), 3, dtype=torch.float64)
    bends = torch.tensor(BENDS, dtype=torch.float64) * np.radians(degrees)
    times = np.linspace(0, seconds_per_joint, len(BENDS))
    moving: dict[tuple[int, Path], list[tuple[np.ndarray, np.ndarray]]] = {}
    neutral = character.skeleton.rest
    for turn, group in enumerate(groups):
        angles = torch.zeros(len(BENDS), len(rig.nodes), 3, dtype=torch.float64)
        for joint in group:
            angles[:, joint, 0] = bends
        poses = poses_from_world(character.skeleton, rig.nodes, kinematics(angles, still, still).numpy())
        neutral = Pose(poses.translation[0], poses.rotation[0], poses.scale[0])  # as in every turn
        for path in PATHS:
            values = getattr(poses, path)
            for node in np.flatnonzero((values != values[0]).any((0, 2))).tolist():
                moving.setdefault((node, path), []).append((turn * seconds_per_joint + times, values[:, node]))
        on_progress(turn + 1, len(groups))
    tracks = []
    for path in PATHS:
        first, rest = getattr(neutral, path), getattr(character.skeleton.rest, path)
        for node in range(len(rest)):
            keys = moving.get((node, path), [])
            if keys or (first[node] != rest[node]).any():
                tracks.append(_track(node, path, first[node], keys, len(groups) * seconds_per_joint))
    return Clip(name, tuple(tracks))


def _track(
    node: int, path: Path, neutral: np.ndarray, keys: list[tuple[np.ndarray, np.ndarray]], seconds: float
) -> Track:
    """The track through (times, values) of the turns in which a node moves; neutral at the start and at the end."""
    times = np.concatenate([np.zeros(1), *(when for when, _ in keys), np.array([seconds])])
    values = np.concatenate([neutral[None], *(rows for _, rows in keys), neutral[None]])
    moments, first = np.unique(np.round(times, 6), return_index=True)
    return Track(node, path, moments, continuous(values[first]) if path == "rotation" else values[first])
