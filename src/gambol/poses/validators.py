"""What no pose may do, whoever is posed: go through itself, sink into the ground, bend knees and elbows backwards.

All is measured on spheres along the bones, as thick as the skin about them, and differentiable; a pose is compared with
the rest pose of the same rig, so that there is nothing to tune for a fat belly or a folded wing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gambol.poses.pose_skeleton import KINDS, RADIUS, PoseSkeleton
from gambol.poses.poses import Poses, body_points, rotation_matrices

ALONG = (0.1, 0.5, 0.9)
"""Places of spheres along a bone."""
OVERLAP, SUNK, BACKWARDS = 0.8, 0.25, 0.6
"""Faults above which a pose is called invalid [share, leg lengths, sine]: less than one of twenty of artists' poses has
more."""
THIN = 0.8
"""Radius of spheres, as a share of the mean distance of the skin from the bone."""
UPRIGHT = 0.7
"""Cosine of the angle between the vertical and the trunk, at rest, of those who stand upright."""
NEAR = 3
"""Bones that are no more joints apart touch each other anyway."""


@dataclass(frozen=True, eq=False)
class Validators:
    """Faults of poses of one rig; each is a number per pose, zero if there is none."""

    skeleton: PoseSkeleton

    @cached_property
    def _joints(self) -> Int[Tensor, " bones"]:
        """Bones with spheres: not those of fingers and loose parts, nor those without skin."""
        kinds, radius = self.skeleton.kinds, self.skeleton.numbers[:, RADIUS]
        inner = (kinds != KINDS.index("digit")) & (kinds != KINDS.index("loose"))
        return torch.nonzero(inner & (radius > 1e-3))[:, 0]

    @cached_property
    def _pairs(self) -> tuple[Int[Tensor, " pairs"], Int[Tensor, " pairs"], Float[Tensor, " pairs"]]:
        """Spheres that may meet, and how near their middles may come: not as near as at rest, if they overlap there."""
        bones = torch.arange(len(self._joints)).repeat_interleave(len(ALONG))
        first, second = torch.triu_indices(len(bones), len(bones), 1)
        here, there = self._joints[bones[first]], self._joints[bones[second]]
        apart = self.skeleton.hops[here, there] > NEAR
        for limb in ("leg", "arm", "wing"):  # folded limbs touch themselves
            own = self.skeleton.kinds == KINDS.index(limb)
            same = self.skeleton.ranks[here] == self.skeleton.ranks[there]
            same &= self.skeleton.sides[here] == self.skeleton.sides[there]
            apart &= ~(own[here] & own[there] & same)
        first, second = first[apart], second[apart]
        radius = THIN * self.skeleton.numbers[self._joints[bones], RADIUS]
        rest = Poses.canonical(self.skeleton)
        spheres = self._spheres(*body_points(self.skeleton, rest))[0]
        distance = (spheres[first] - spheres[second]).norm(dim=-1)
        return first, second, torch.minimum(radius[first] + radius[second], distance).clamp(min=1e-3)

    def _spheres(self, rotations: Tensor, places: Tensor) -> Float[Tensor, "poses spheres 3"]:
        """Middles of all spheres."""
        ways = (rotations[:, self._joints] * self.skeleton.bones[self._joints, None]).sum(-1)
        along = torch.tensor(ALONG)
        return (places[:, self._joints, None] + along[:, None] * ways[:, :, None]).flatten(1, 2)

    def overlap(self, rotations: Tensor, places: Tensor) -> Float[Tensor, " poses"]:
        """How far the body goes through itself: root of the sum of squares over pairs of spheres of how much nearer
        they come than they may, as a share of that."""
        first, second, near = self._pairs
        if not len(first):
            return places.new_zeros(len(places))
        spheres = self._spheres(rotations, places)
        distance = (spheres[:, first] - spheres[:, second]).square().sum(-1).add(1e-12).sqrt()
        return (1 - distance / near).clamp(min=0).square().sum(-1).add(1e-12).sqrt() - 1e-6

    def sunk(self, rotations: Tensor, places: Tensor) -> Float[Tensor, " poses"]:
        """How deep the lowest bone is below the ground, of who stands on it."""
        if not bool(self.skeleton.feet.any()):
            return places.new_zeros(len(places))
        rest = Poses.canonical(self.skeleton)
        lowest = self._ends(*body_points(self.skeleton, rest)).amin(1).clamp(max=0)
        return (lowest - self._ends(rotations, places).amin(1)).clamp(min=0)

    def gap(self, poses: Poses) -> Float[Tensor, " poses"]:
        """How high the skin about the lowest bone is above where it is at rest; below 0 it is lower."""
        return self._lowest(poses) - self._lowest(Poses.canonical(self.skeleton))

    def stature(self, poses: Poses) -> Float[Tensor, " poses"]:
        """How high the middle of the body is above its lowest bone, as a share of how high it is at rest."""
        rest = Poses.canonical(self.skeleton)
        own, standing = (each.heights + self.skeleton.rest_height - self._lowest(each) for each in (poses, rest))
        return own / standing.clamp(min=1e-3)

    def upright(self, poses: Poses) -> Float[Tensor, " poses"]:
        """Cosine of the angle between the vertical and the way from the hips to the neck, of who is upright at rest; 1
        for others."""
        trunk, neck = (torch.nonzero(self.skeleton.kinds == KINDS.index(kind))[:, 0] for kind in ("trunk", "neck"))
        if not len(trunk) or not len(neck):
            return torch.ones(len(poses))
        own, rest = (
            torch.nn.functional.normalize(places[:, neck[0]] - places[:, trunk[0]], dim=-1)[:, 1]
            for _, places in (body_points(self.skeleton, each) for each in (poses, Poses.canonical(self.skeleton)))
        )
        return own if float(rest) > UPRIGHT else torch.ones(len(poses))

    def _lowest(self, poses: Poses) -> Float[Tensor, " poses"]:
        """Height of the skin about the lowest bone of those that bear bodies; of arms to the wrists only, since hands
        may hold things."""
        arms, bears = self.skeleton.kinds == KINDS.index("arm"), self.bears
        heights = self._ends(*body_points(self.skeleton, poses)).unflatten(1, (2, -1))
        heights = heights - torch.where(arms, 0.0, self.skeleton.numbers[:, RADIUS])
        heads, tips = heights[:, 0, bears], heights[:, 1, bears & ~arms]
        return torch.cat([heads, tips], 1).amin(1)

    @cached_property
    def bears(self) -> Bool[Tensor, " joints"]:
        """Joints of parts that bodies stand, sit and lie on: not of tails, wings, fingers and loose parts."""
        kinds = self.skeleton.kinds
        bears = ~torch.stack([kinds == KINDS.index(kind) for kind in ("tail", "wing", "loose")]).any(0)
        for joint, parent in enumerate(self.skeleton.parents.tolist()):
            if kinds[joint] == KINDS.index("digit") and parent >= 0:  # toes bear, fingers do not
                bears[joint] = bears[parent] and kinds[parent] != KINDS.index("arm")
        return bears

    def _ends(self, rotations: Tensor, places: Tensor) -> Float[Tensor, "poses points"]:
        """Heights of both ends of all bones."""
        tips = places[..., 1] + (rotations[..., 1, :] * self.skeleton.bones).sum(-1)
        return torch.cat([places[..., 1], tips], 1)

    def backwards(self, poses: Poses) -> Float[Tensor, " poses"]:
        """How far knees and elbows bend the wrong way, the worst of them [sine]."""
        hinged = torch.nonzero(self.skeleton.hinges.norm(dim=-1) > 0)[:, 0]
        if not len(hinged):
            return poses.heights.new_zeros(len(poses))
        before = torch.nn.functional.normalize(self.skeleton.offsets[hinged], dim=-1)
        after = torch.nn.functional.normalize(self.skeleton.bones[hinged], dim=-1)
        after = (rotation_matrices(poses.turns[:, hinged]) * after[:, None]).sum(-1)
        bend = (torch.linalg.cross(before.expand_as(after), after) * self.skeleton.hinges[hinged]).sum(-1)
        return (-bend).clamp(min=0).amax(1)

    def energy(self, poses: Poses) -> Float[Tensor, " poses"]:
        """Sum of squares of all faults: what a sampler descends."""
        points = body_points(self.skeleton, poses)
        return self.overlap(*points).square() + self.sunk(*points).square() + self.backwards(poses).square()

    def faults(self, poses: Poses) -> dict[str, Bool[Tensor, " poses"]]:
        """Which poses are wrong, by fault."""
        points = body_points(self.skeleton, poses)
        return {
            "goes through itself": self.overlap(*points) > OVERLAP,
            "sinks into the ground": self.sunk(*points) > SUNK,
            "bends backwards": self.backwards(poses) > BACKWARDS,
        }

    def valid(self, poses: Poses) -> Bool[Tensor, " poses"]:
        """Poses without any fault."""
        return ~torch.stack(list(self.faults(poses).values())).any(0)
