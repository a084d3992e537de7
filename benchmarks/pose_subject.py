"""A held-out character, its true poses, and what all of its tables are measured with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from gambol.character.character import Character
from gambol.errors import GambolError
from gambol.poses.harvest_files import HarvestedPoses
from gambol.poses.measures import distinct, places
from gambol.poses.model import PoseModel, RigPoses
from gambol.poses.pose_space import PoseSpace
from gambol.poses.poses import Poses
from gambol.poses.turn_ranges import TurnRanges
from gambol.poses.validators import Validators
from gambol.quality.posed_mesh import PosedMesh

FEWEST = 16
"""A rig with fewer different true poses is left out."""
Values = dict[str, float]


@dataclass(frozen=True)
class Sizes:
    """How much is measured of each rig."""

    poses: int = 40
    """Poses of each set."""
    mesh_poses: int = 10
    """Those of them that are tested for intersections."""
    triangles: int = 2000
    solves: int = 3
    """For each number of handles."""
    motions: int = 1
    """For each number of frames."""


@dataclass(frozen=True, eq=False)
class World:
    """What all rigs are measured with."""

    weights: Path | None
    artists: PoseModel | None
    """Trained on artists' clips instead."""
    training: Sequence[HarvestedPoses]
    """Characters that are not held out."""
    ranges: TurnRanges
    sizes: Sizes


class PosedCharacter:
    """A character with the weights that are measured."""

    def __init__(self, world: World, character: Character, seed: int):
        self.world, self.character, self.seed = world, character, seed
        self.space = PoseSpace(character, world.weights)
        self.anatomy, self.skeleton = self.space.anatomy, self.space.skeleton

    @property
    def rig(self) -> RigPoses:
        """The pose model as it is used."""
        return self.space.rig_poses

    @cached_property
    def validators(self) -> Validators:
        return Validators(self.skeleton)

    @cached_property
    def mesh(self) -> PosedMesh:
        return PosedMesh(self.character, self.anatomy, self.world.sizes.triangles)

    @property
    def height(self) -> float:
        """Of the body [leg lengths]."""
        return self.anatomy.height / self.space.chains.unit

    def faults(self, poses: Poses) -> Values:
        """Invalid poses, joints beyond their ranges, and intersections [%]."""
        some = evenly(poses, self.world.sizes.mesh_poses)
        return {
            "intersections": float(self.mesh.intersecting(self.space.world(some)).mean()),
            "invalid": 100 * float((~self.validators.valid(poses)).float().mean()),
            "beyond range": float(self.world.ranges.violations(self.skeleton, poses).mean()),
        }


class Subject(PosedCharacter):
    """A held-out character and its true poses."""

    def __init__(self, world: World, character: Character, harvest: HarvestedPoses, seed: int):
        super().__init__(world, character, seed)
        self.harvest = harvest
        if len(harvest.skeleton) != len(self.skeleton):
            raise GambolError(f"'{character.name}' has other joints than in its harvest: harvest it again")
        if len(self.every) < FEWEST:
            raise GambolError(f"'{character.name}' has {len(self.every)} different poses, fewer than {FEWEST}")

    @cached_property
    def _distinct(self) -> tuple[np.ndarray, np.ndarray]:
        """True poses without those that hardly differ from the one before in their clip, and the clip of each."""
        points = places(self.skeleton, self.harvest.poses)
        kept, clips, start = [np.zeros(0, int)], [np.zeros(0, int)], 0
        for clip, origin in enumerate(self.harvest.origins):
            own = start + distinct(points[start : start + origin.poses])
            kept.append(own)
            clips.append(np.full(len(own), clip))
            start += origin.poses
        return np.concatenate(kept), np.concatenate(clips)

    @cached_property
    def every(self) -> Poses:
        """All different true poses."""
        return self.harvest.poses[torch.as_tensor(self._distinct[0])]

    @property
    def clips(self) -> np.ndarray:
        """Which clip each of them is from."""
        return self._distinct[1]

    @cached_property
    def true(self) -> Poses:
        """As many of them as are compared, evenly over all clips."""
        return evenly(self.every, self.world.sizes.poses)

    def generator(self, task: int) -> np.random.Generator:
        return np.random.default_rng((self.seed, task))


def evenly(poses: Poses, most: int) -> Poses:
    """Some of the poses, evenly over all."""
    return poses[torch.linspace(0, len(poses) - 1, min(most, len(poses))).round().long()]
