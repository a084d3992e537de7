"""Harvests: a folder with a file for each character, which holds its poses, its rig and where each pose came from."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from gambol.errors import AssetError, GambolError
from gambol.poses.pose_skeleton import PoseSkeleton
from gambol.poses.poses import Poses
from gambol.tensor_files import read_tensors, write_tensors

SUFFIX = ".safetensors"


@dataclass(frozen=True)
class Origin:
    """A motion of which some frames became poses."""

    motion: str
    """The sentence, or the clip."""
    action: str
    """The action it shows; empty if that is not known."""
    made_by: str
    """'prior tracks', 'a formula', 'artist'."""
    seed: int
    times: tuple[float, ...]
    """When each pose that was taken from it is shown [s]; these poses follow those of the motions before it."""

    @property
    def poses(self) -> int:
        """Number of poses taken from it."""
        return len(self.times)


@dataclass(frozen=True, eq=False)
class HarvestedPoses:
    """Poses of one character."""

    name: str
    family: str
    """Characters that share motions, of which all or none are held out."""
    skeleton: PoseSkeleton
    poses: Poses
    origins: tuple[Origin, ...]
    rejected: tuple[tuple[str, int], ...] = ()
    """Why poses were left out, and how many."""

    @property
    def actions(self) -> list[str]:
        """The action of each pose."""
        return [origin.action for origin in self.origins for _ in range(origin.poses)]


def write_harvest(path: Path, harvest: HarvestedPoses) -> None:
    """Write the poses of a character; turns in half precision, which is a hundredth of a degree."""
    tensors = {f"skeleton.{name}": value for name, value in harvest.skeleton.state().items()}
    tensors |= {"turns": harvest.poses.turns.half(), "heights": harvest.poses.heights.half()}
    facts = {
        "name": harvest.name,
        "family": harvest.family,
        "origins": json.dumps([asdict(origin) for origin in harvest.origins]),
        "rejected": json.dumps(harvest.rejected),
    }
    write_tensors(path, tensors, facts)


def read_harvest(path: Path) -> HarvestedPoses:
    """Read what `write_harvest` wrote."""
    tensors, facts = read_tensors(path)
    try:
        skeleton = PoseSkeleton.from_state({name[9:]: v for name, v in tensors.items() if name.startswith("skeleton.")})
        poses = Poses(tensors["turns"].float(), tensors["heights"].float())
        origins = tuple(Origin(**{**row, "times": tuple(row["times"])}) for row in json.loads(facts["origins"]))
        rejected = tuple((str(why), int(count)) for why, count in json.loads(facts["rejected"]))
        if poses.turns.shape != (len(poses), len(skeleton), 3) or sum(each.poses for each in origins) != len(poses):
            raise ValueError("its tensors do not fit together")
        return HarvestedPoses(facts["name"], facts["family"], skeleton, poses, origins, rejected)
    except (LookupError, TypeError, ValueError) as error:
        raise AssetError(f"'{path}' holds no poses of a harvest: {error}") from None


def read_harvests(
    folder: Path, on_progress: Callable[[int, int], None] = lambda done, total: None
) -> list[HarvestedPoses]:
    """All characters of a folder that have poses."""
    if not folder.is_dir():
        raise GambolError(f"'{folder}' is not a folder: give one that `gambol harvest` wrote")
    paths = sorted(folder.glob(f"*{SUFFIX}"))
    found = []
    for number, path in enumerate(paths):
        found.append(read_harvest(path))
        on_progress(number + 1, len(paths))
    found = [each for each in found if len(each.poses)]
    if not found:
        raise GambolError(f"'{folder}' holds no poses: give a folder that `gambol harvest` wrote")
    return found


def is_finite(poses: Poses) -> torch.Tensor:
    """Which poses consist of numbers."""
    return poses.turns.isfinite().flatten(1).all(1) & poses.heights.isfinite()
