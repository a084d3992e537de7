"""Poses as numbers: the turn of each joint from where its parent holds it, and how high the body is.

A turn is a rotation vector in body axes of the canonical rest pose, where zero means the same on every rig; its mirror
image is the mirror image of the vector. The heading is left out: poses face forward.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.motion.body_tracks import anchor_path, turns_of_poses
from gambol.motion.chains import Chains
from gambol.poses.pose_skeleton import PoseSkeleton

MIRROR = (1.0, -1.0, -1.0)
"""What a mirror does to the components of a rotation vector."""
HEADED = 0.1
"""A root whose heading shows less, from 0 to 2, is nearly upside down: how it turns then has no gradient."""


@dataclass(frozen=True, eq=False)
class Poses:
    """Poses of one rig."""

    turns: Float[Tensor, "poses joints 3"]
    """Rotation vector of each joint relative to its parent [rad]."""
    heights: Float[Tensor, " poses"]
    """Height of the anchor above where it is in the canonical rest pose [leg lengths]."""

    def __len__(self) -> int:
        return len(self.turns)

    def __getitem__(self, chosen: slice | Tensor | list[int]) -> Poses:
        return Poses(self.turns[chosen], self.heights[chosen])

    @staticmethod
    def canonical(skeleton: PoseSkeleton) -> Poses:
        """The canonical rest pose, one pose."""
        return Poses(torch.zeros(1, len(skeleton), 3), torch.zeros(1))

    @property
    def numbers(self) -> Float[Tensor, "poses tokens 3"]:
        """As the network takes them: the height first, in a row of its own, then the turns."""
        first = torch.nn.functional.pad(self.heights[:, None, None], (0, 2))
        return torch.cat([first, self.turns], 1)

    @staticmethod
    def of_numbers(numbers: Float[Tensor, "poses tokens 3"]) -> Poses:
        return Poses(numbers[:, 1:], numbers[:, 0, 0])

    def mirrored(self, skeleton: PoseSkeleton) -> Poses:
        """The mirror images: left does what right did."""
        return Poses((self.turns * torch.tensor(MIRROR))[:, skeleton.partners], self.heights)


def joined(poses: list[Poses]) -> Poses:
    """All poses of a list."""
    return Poses(torch.cat([each.turns for each in poses]), torch.cat([each.heights for each in poses]))


def rotation_matrices(vectors: Float[Tensor, "*batch 3"]) -> Float[Tensor, "*batch 3 3"]:
    """Rotations of rotation vectors (Rodrigues), differentiable also at zero."""
    square = vectors.square().sum(-1)[..., None, None]
    small = square < 1e-8
    angle = torch.where(small, torch.ones_like(square), square).sqrt()
    a = torch.where(small, 1 - square / 6, angle.sin() / angle)
    b = torch.where(small, 0.5 - square / 24, (1 - angle.cos()) / angle.square())
    x, y, z = vectors.unbind(-1)
    zero = torch.zeros_like(x)
    cross = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], -1).unflatten(-1, (3, 3))
    outer = vectors[..., :, None] * vectors[..., None, :]
    eye = torch.eye(3, dtype=vectors.dtype)
    return eye + a * cross + b * (outer - square * eye)


def rotation_vectors(rotations: Float[Tensor, "*batch 3 3"]) -> Float[Tensor, "*batch 3"]:
    """Rotation vectors of rotations, of at most half a turn, differentiable also at zero; at half a turn they jump to
    their opposites.

    The outer square of the unit quaternion (w, x, y, z) is linear in the rotation: its largest row is the quaternion.
    """
    xx, yy, zz = rotations.diagonal(dim1=-2, dim2=-1).unbind(-1)
    a, b = rotations, rotations.mT
    differ, total = a - b, a + b
    wx, wy, wz = differ[..., 2, 1], differ[..., 0, 2], differ[..., 1, 0]
    xy, xz, yz = total[..., 0, 1], total[..., 0, 2], total[..., 1, 2]
    squares = [
        *(1 + xx + yy + zz, wx, wy, wz),
        *(wx, 1 + xx - yy - zz, xy, xz),
        *(wy, xy, 1 - xx + yy - zz, yz),
        *(wz, xz, yz, 1 - xx - yy + zz),
    ]
    square = torch.stack(squares, -1).unflatten(-1, (4, 4))
    largest = square.diagonal(dim1=-2, dim2=-1).argmax(-1)[..., None, None].expand(*square.shape[:-2], 1, 4)
    quaternion = torch.nn.functional.normalize(square.gather(-2, largest)[..., 0, :], dim=-1)
    quaternion = torch.where(quaternion[..., :1] < 0, -quaternion, quaternion)
    way = quaternion[..., 1:]
    sine = way.square().sum(-1, keepdim=True)
    small = sine < 1e-12
    sine = torch.where(small, torch.ones_like(sine), sine).sqrt()
    angle = 2 * torch.atan2(sine, quaternion[..., :1])
    return way * torch.where(small, torch.full_like(sine, 2.0), angle / sine)


def forward_kinematics(
    turns: Float[Tensor, "*batch joints 3"],
    parents: Int[Tensor, "*#batch joints"],
    offsets: Float[Tensor, "*#batch joints 3"],
) -> tuple[Float[Tensor, "*batch joints 3 3"], Float[Tensor, "*batch joints 3"]]:
    """Rotations of all joints from the canonical rest pose, and their places seen from the anchor's rest [leg lengths].

    Chains are multiplied by doubling: after k rounds each joint holds the product of the 2^k joints up from it. The
    parent of a root, -1, is the last place, which holds the identity.
    """
    rotations = rotation_matrices(turns)
    batch, count = turns.shape[:-2], turns.shape[-2]
    eye = torch.eye(3, dtype=turns.dtype).expand(*batch, 1, 3, 3)
    rotations = torch.cat([rotations, eye], -3)
    places = torch.cat([offsets.expand(*batch, count, 3), turns.new_zeros(*batch, 1, 3)], -2)
    above = torch.nn.functional.pad(torch.where(parents < 0, count, parents), (0, 1), value=count)
    above = above.expand(*batch, count + 1)
    while bool((above < count).any()):
        held = above[..., None, None].expand(*batch, count + 1, 3, 3)
        outer = torch.gather(rotations, -3, held)
        moved = (outer * places[..., None, :]).sum(-1)
        places = torch.gather(places, -2, held[..., 0]) + moved
        rotations = (outer[..., :, :, None] * rotations[..., None, :, :]).sum(-2)
        above = torch.gather(above, -1, above)
    return rotations[..., :count, :, :], places[..., :count, :]


def body_points(skeleton: PoseSkeleton, poses: Poses) -> tuple[Tensor, Tensor]:
    """Rotations of all joints from the canonical rest pose, and their places above the ground below the anchor
    [leg lengths]; y is up."""
    rotations, places = forward_kinematics(poses.turns, skeleton.parents, skeleton.offsets)
    points = places + (rotations * skeleton.anchor_ways[..., None, :]).sum(-1)
    anchor = (skeleton.anchor_weights[:, None] * points).sum(-2)
    height = torch.nn.functional.pad((poses.heights + skeleton.rest_height)[:, None], (1, 1))
    return rotations, places + (height - anchor)[:, None]


def poses_of_world(chains: Chains, skeleton: PoseSkeleton, T_world_joint: Float[Tensor, "poses joints 3 4"]) -> Poses:
    """Read poses from transforms of a rig's joints, differentiable; their heading and place are lost, and so is stretch
    of bones."""
    axes = torch.as_tensor(chains.axes, dtype=T_world_joint.dtype)
    turned = axes.T @ turns_of_poses(chains, T_world_joint) @ axes
    root = turned[:, chains.chains[0].joints[0]]
    turned = _about_up(-_yaw(root))[:, None] @ turned @ torch.as_tensor(chains.canonical, dtype=turned.dtype)
    held = torch.cat([turned, torch.eye(3, dtype=turned.dtype).expand(len(turned), 1, 3, 3)], 1)[:, skeleton.parents]
    vectors = rotation_vectors((held.mT @ turned).double())
    above = anchor_path(chains, T_world_joint) @ torch.as_tensor(chains.anatomy.up, dtype=turned.dtype)
    heights = (above - chains.anatomy.ground - chains.rest_height) / chains.unit
    return Poses(vectors.float(), heights.float())


def _yaw(root: Float[Tensor, "poses 3 3"]) -> Float[Tensor, " poses"]:
    """Angle by which a root faces left [rad]."""
    left, ahead = root[:, 0, 2] - root[:, 2, 0], root[:, 0, 0] + root[:, 2, 2]
    shown = left.detach().square() + ahead.detach().square() > HEADED**2
    left, ahead = (torch.where(shown, each, each.detach()) for each in (left, ahead))
    return torch.atan2(left, ahead)


def world_of_poses(chains: Chains, skeleton: PoseSkeleton, poses: Poses) -> Float[Tensor, "poses joints 3 4"]:
    """T_world_joint of a rig in poses, facing forward where it stands at rest [file units]."""
    body = chains.anatomy.body
    axes = torch.as_tensor(chains.axes).float()
    rotations, places = body_points(skeleton, poses)
    turned = axes @ rotations @ torch.as_tensor(chains.canonical).float().mT @ axes.T
    rest = torch.as_tensor(body.T_world_node[body.nodes]).float()[:, :3, :3]
    up = torch.as_tensor(chains.anatomy.up).float()
    anchor = torch.as_tensor(chains.anchor).float()
    spot = anchor - (anchor @ up - chains.anatomy.ground) * up
    return torch.cat([turned @ rest, (spot + chains.unit * places @ axes.T)[..., None]], -1)


def _about_up(angles: Float[Tensor, " poses"]) -> Float[Tensor, "poses 3 3"]:
    """Turns to the left [rad] in body axes."""
    return rotation_matrices(torch.nn.functional.pad(angles[:, None], (1, 1)))
