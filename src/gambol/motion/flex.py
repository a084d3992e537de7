"""A flex clip: every joint bent in turn, left and right together. It shows bad weights and broken hand-offs."""

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.rig import build_rig
from gambol.character.skeleton import Pose
from gambol.motion.export import poses_from_world
from gambol.motion.kinematics import Kinematics
from gambol.motion.motion import Motion, Path, Track, continuous

Array = np.ndarray

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
) -> Motion:
    """Bend each joint by `degrees` forth and back about its bend axis, from the root outwards; mirror images as one.

    Each track has keys only while its node moves, so that a large rig does not make a huge file.
    """
    rig = build_rig(anatomy)
    kinematics = Kinematics(rig, dtype=torch.float64)
    groups = [{joint, int(p)} - {-1} for joint, p in enumerate(anatomy.partners) if p < 0 or joint <= p]
    still = torch.zeros(len(BENDS), 3, dtype=torch.float64)
    bends = torch.tensor(BENDS, dtype=torch.float64) * np.radians(degrees)
    keys = _Keys(character, np.linspace(0, seconds_per_joint, len(BENDS)))
    for turn, group in enumerate(groups):
        angles = torch.zeros(len(BENDS), len(rig.nodes), 3, dtype=torch.float64)
        for joint in group:
            angles[:, joint, 0] = bends
        world = kinematics(angles, still, still).numpy()
        keys.add(turn, poses_from_world(character.skeleton, rig, world))
        on_progress(turn + 1, len(groups))
    return Motion(name, keys.tracks())


class _Keys:
    """Collects, turn by turn, the keys of the nodes that move in it."""

    def __init__(self, character: Character, times: Float[Array, " keys"]):
        self._rest, self._times = character.skeleton.rest, times
        self._moving: dict[tuple[int, Path], list[tuple[int, Array]]] = {}
        self._neutral: Pose | None = None
        self._turns = 0

    def add(self, turn: int, poses: Pose) -> None:
        self._neutral = poses  # its first key, as that of every turn, is the neutral pose
        self._turns = turn + 1
        for path in PATHS:
            values = getattr(poses, path)
            for node in np.flatnonzero((values != values[0]).any((0, 2))).tolist():
                self._moving.setdefault((node, path), []).append((turn, values[:, node]))

    def tracks(self) -> tuple[Track, ...]:
        """One a node and property that moves, or that is not at rest in the neutral pose."""
        found = []
        for path in PATHS:
            neutral, rest = getattr(self._neutral, path)[0], getattr(self._rest, path)
            for node in range(len(rest)):
                turns = self._moving.get((node, path), [])
                if turns or (neutral[node] != rest[node]).any():
                    found.append(self._track(node, path, neutral[node], turns))
        return tuple(found)

    def _track(self, node: int, path: Path, neutral: Array, turns: list[tuple[int, Array]]) -> Track:
        length = self._times[-1]
        times = [np.zeros(1), *(turn * length + self._times for turn, _ in turns), np.array([self._turns * length])]
        values = [neutral[None], *(rows for _, rows in turns), neutral[None]]
        moments, first = np.unique(np.round(np.concatenate(times), 6), return_index=True)
        rows = np.concatenate(values)[first]
        return Track(node, path, moments, continuous(rows) if path == "rotation" else rows)
