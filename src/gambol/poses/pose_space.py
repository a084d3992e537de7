"""The pose space of a character: plausible poses to sample, to drag, to go through."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.character.anatomy import Anatomy, analyze
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.character.lookup import find_joint, find_moment
from gambol.character.rig import build_rig
from gambol.errors import GambolError
from gambol.language import require_intent
from gambol.motion.chains import find_chains
from gambol.motion.export import poses_from_world
from gambol.motion.joint_poses import world_poses
from gambol.poses.grounding import Grounding
from gambol.poses.in_between import walk_between
from gambol.poses.model import PoseModel, RigPoses
from gambol.poses.pose_skeleton import KINDS, MOST_JOINTS, pose_skeleton
from gambol.poses.poses import Poses, body_points, poses_of_world, world_of_poses
from gambol.poses.reach import reach
from gambol.poses.sampling import SamplingConfig, sample_poses
from gambol.poses.tween import tween
from gambol.poses.validators import Validators

STANDING = 0.05
"""Height above where it is at rest up to which a foot stands [leg lengths]."""
PARTS = {"arms": ("arm", "wing"), "legs": ("leg",), "head": ("neck",), "tail": ("tail",), "spine": ("trunk", "neck")}
"""Parts of which poses can be sampled alone, by the chains they are."""


class PoseSpace:
    """Which poses of a character are plausible, by one model for all rigs.

    Poses face forward and stand on the ground; `world` puts them into the character's space.
    """

    def __init__(self, character: Character, weights: str | Path | None = None, anatomy: Anatomy | None = None):
        """weights: that `gambol train-poses` wrote, by default those that come with gambol."""
        self.character, self.anatomy = character, anatomy or analyze(character)
        if len(self.anatomy.body) > MOST_JOINTS:
            raise GambolError(
                f"'{character.name}' has {len(self.anatomy.body)} joints; pose spaces have up to {MOST_JOINTS}"
            )
        self.chains = find_chains(self.anatomy)
        self.skeleton = pose_skeleton(self.chains)
        self.model = PoseModel.load(None if weights is None else Path(weights))
        self.rig_poses = RigPoses(self.model, self.skeleton)
        self.grounding = Grounding(self.chains, self.skeleton)

    @property
    def joints(self) -> list[str]:
        """Names of the joints, in the order of the poses."""
        return [self.character.skeleton.names[node] for node in self.anatomy.body.nodes]

    def joint(self, name: str) -> int:
        """Index of the joint that a name means; see `gambol.character.lookup`."""
        nodes = self.anatomy.body.nodes.tolist()
        own = dict(zip(nodes, self.joints, strict=True))
        return nodes.index(find_joint(own, name, f"'{self.character.name}' has no joint"))

    @property
    def rest(self) -> Poses:
        """The pose that the skin was bound in."""
        return self.poses_of(torch.as_tensor(build_rig(self.anatomy).world()[None, :, :3]).float())

    def pose_at(self, moment: str) -> Poses:
        """A pose by its name: 'rest', a clip (its first frame), or 'walk@0.5' (half a second into it)."""
        if moment == "rest":
            return self.rest
        clip, time = find_moment(self.character, moment)
        world = world_poses(self.character.skeleton, self.anatomy, clip, np.array([time]))
        return self.poses_of(torch.as_tensor(world[..., :3, :]).float())

    def poses_of(self, T_world_joint: Float[Tensor, "poses joints 3 4"]) -> Poses:
        """Read poses from transforms of the joints [file units]."""
        return poses_of_world(self.chains, self.skeleton, T_world_joint)

    def world(self, poses: Poses, shift: Sequence[float] = (0.0, 0.0)) -> Float[Tensor, "poses joints 3 4"]:
        """T_world_joint of poses [file units]. shift: to the left and forward [leg lengths]."""
        found = world_of_poses(self.chains, self.skeleton, poses)
        way = self.chains.unit * (shift[0] * self.anatomy.left + shift[1] * self.anatomy.forward)
        return torch.cat([found[..., :3], found[..., 3:] + torch.as_tensor(way).float()[:, None]], -1)

    def sample(
        self,
        count: int,
        seed: int = 0,
        *,
        text: str = "",
        near: Poses | None = None,
        part: str | None = None,
        config: SamplingConfig | None = None,
        on_progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Poses:
        """Plausible poses. text: what they show, as 'a fox sits'. near: a pose that they are like. part: one of PARTS,
        which alone differs from `near`, or from the rest pose."""
        action = 0
        if text.strip():
            known = [name for name in self.model.actions if name != "any"]
            action = self.model.actions.index(require_intent(text, known).action)
        free = None
        if part is not None:
            free, near = self._part(part), self.rest if near is None else near
        poses = sample_poses(
            self.rig_poses, count, seed, config, action=action, near=near, free=free, on_progress=on_progress
        )
        return poses if near is not None else self.grounding(poses)

    def _part(self, part: str) -> Tensor:
        """Joints of a part, with what hangs on them."""
        if part not in PARTS:
            raise GambolError(f"there is no part '{part}'. Available: {', '.join(PARTS)}")
        wanted = [KINDS.index(kind) for kind in PARTS[part]]
        free = [kind in wanted for kind in self.skeleton.kinds.tolist()]
        inner = [KINDS.index(kind) for kind in ("digit", "loose")]
        for joint, parent in enumerate(self.skeleton.parents.tolist()):
            if parent >= 0 and self.skeleton.kinds[joint] in inner:
                free[joint] = free[parent]
        if not any(free):
            raise GambolError(f"'{self.character.name}' has no {part}")
        return torch.tensor(free)

    def solve(
        self, handles: Mapping[str, Sequence[float]], start: Poses | None = None, keep: Collection[str] | None = None
    ) -> Float[Tensor, "1 joints 3 4"]:
        """T_world_joint of a plausible pose in which joints are where they should be, or as near as they get.

        handles: where each joint goes, by its name [file units, world]. start: one pose, by default at rest. keep:
        names of joints that stay where they are in `start`; by default feet that stand and whose leg is not moved.
        """
        start = self.rest if start is None else start
        places = body_points(self.skeleton, start)[1][0].double().numpy()
        moved = [self.joint(name) for name in handles]
        if len(set(moved)) < len(moved):
            raise GambolError("two handles are of one joint: give each joint one place")
        kept = self._standing(start, moved) if keep is None else [self.joint(name) for name in keep]
        joints = np.array([*moved, *(joint for joint in kept if joint not in moved)], np.int64)
        if not len(joints):
            raise GambolError("there is nothing to reach: give at least one handle")
        targets = places[joints]
        given = np.array([handles[name] for name in handles], float).reshape(-1, 3)
        if not np.isfinite(given).all():
            raise GambolError("handles must be at finite places")
        targets[: len(moved)] = (given - self._spot) @ self.chains.axes / self.chains.unit
        found = reach(self.rig_poses, start, joints, targets)
        return self.world(found.pose, found.shift.tolist())

    @property
    def _spot(self) -> Float[np.ndarray, 3]:
        """Where the body stands: the point on the ground below the anchor [file units]."""
        anatomy, anchor = self.anatomy, self.chains.anchor
        return anchor - (anchor @ anatomy.up - anatomy.ground) * anatomy.up

    def _standing(self, pose: Poses, moved: Sequence[int]) -> list[int]:
        """Joints of feet that bear weight in a pose, but not of legs that have a joint that is moved."""
        feet = self.skeleton.feet.clone()
        for joint in moved:
            feet &= ~self.skeleton.same_limb(joint)
        if not feet.any():
            return []
        here, rest = (body_points(self.skeleton, each)[1][0, :, 1] for each in (pose, self.rest))
        return torch.nonzero(feet & (here - rest < STANDING))[:, 0].tolist()

    def between(self, first: Poses, last: Poses, shares: Float[np.ndarray, " poses"]) -> Poses:
        """Plausible poses on the way from one pose to another. shares: how far along it, from 0 to 1."""
        ends = Poses(torch.cat([first.turns, last.turns]), torch.cat([first.heights, last.heights]))
        return walk_between(self.rig_poses, ends, shares)

    def tween(
        self,
        keys: Sequence[tuple[int, Poses]],
        on_progress: Callable[[int, int], None] = lambda done, total: None,
        *,
        walk: bool = False,
    ) -> Float[Tensor, "frames joints 3 4"]:
        """T_world_joint of a motion through key poses, from the first to the last. keys: frame and pose of each. walk:
        through poses that the model finds between the keys, as `between` does, instead of the short way."""
        found = tween(self.rig_poses, self.rest, keys, on_progress, walk=walk)
        shifts = torch.as_tensor(found.shifts).float()
        return torch.cat([self.world(found.poses[[i]], shifts[i].tolist()) for i in range(len(found.poses))])

    def valid(self, poses: Poses) -> Tensor:
        """Which poses neither go through themselves nor sink into the ground nor bend joints backwards."""
        return Validators(self.skeleton).valid(poses)

    def clip(self, T_world_joint: Float[Tensor, "poses joints 3 4"], name: str, fps: float = 1.0) -> Clip:
        """Poses as a clip, one after the other."""
        poses = poses_from_world(self.character.skeleton, self.anatomy.body.nodes, T_world_joint.double().numpy())
        return Clip.from_poses(name, poses, self.character.skeleton, fps)
