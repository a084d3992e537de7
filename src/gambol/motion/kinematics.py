"""Forward kinematics: joint angles and the body's path in, world transforms of all joints out, differentiable.

Inside, arrays keep the frames on the last axis, `[joints, 3, 4, frames]`, which is six times faster on a CPU than a
batched matrix product (0.29 against 1.7 ms for 32,000 products).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from gambol.character.rig import Rig


def rotations_of(wxyz: Float[Tensor, "*batch 4"]) -> Float[Tensor, "*batch 3 3"]:
    """Rotation matrices of quaternions wxyz of any length but zero."""
    w, x, y, z = torch.nn.functional.normalize(wxyz, dim=-1).unbind(-1)
    rows = [
        1 - 2 * (y * y + z * z),
        2 * (x * y - w * z),
        2 * (x * z + w * y),
        2 * (x * y + w * z),
        1 - 2 * (x * x + z * z),
        2 * (y * z - w * x),
        2 * (x * z - w * y),
        2 * (y * z + w * x),
        1 - 2 * (x * x + y * y),
    ]
    return torch.stack(rows, -1).unflatten(-1, (3, 3))


def compound_rotation(
    angles: Float[Tensor, "*batch 3"], axes: Float[Tensor, "*axes 3 3"]
) -> Float[Tensor, "*batch 3 3"]:
    """Three turns [rad] about the columns of `axes`: axes Rx Ry Rz axes^T; leading axes broadcast.

    The turns follow the right-hand rule if the axes are right-handed and the left-hand rule if they are left-handed.
    """
    turns = torch.stack(_rotation_entries(*angles.unbind(-1)), dim=-1).unflatten(-1, (3, 3))
    return axes @ turns @ axes.mT


def _rotation_entries(x: Tensor, y: Tensor, z: Tensor) -> list[Tensor]:
    """The nine entries of Rx Ry Rz, row by row."""
    sin_x, sin_y, sin_z = x.sin(), y.sin(), z.sin()
    cos_x, cos_y, cos_z = x.cos(), y.cos(), z.cos()
    sin_x_sin_y, cos_x_sin_y = sin_x * sin_y, cos_x * sin_y
    return [
        cos_y * cos_z,
        -cos_y * sin_z,
        sin_y,
        cos_x * sin_z + sin_x_sin_y * cos_z,
        cos_x * cos_z - sin_x_sin_y * sin_z,
        -sin_x * cos_y,
        sin_x * sin_z - cos_x_sin_y * cos_z,
        sin_x * cos_z + cos_x_sin_y * sin_z,
        cos_x * cos_y,
    ]


Rounds = tuple[tuple[Int[Tensor, " _"], Int[Tensor, " _"]], ...]
"""Joints to be multiplied from the left, and the joints whose transforms they are multiplied by, round after round."""


def doubling_rounds(parents: Int[np.ndarray, " joints"], device: torch.device | str = "cpu") -> Rounds:
    """How to multiply transforms down a tree in log2(depth) rounds; -1 for a root's parent, any order.

    Before round r every transform reaches up 2^r ancestors (or to the root), so multiplying it by that of the joint it
    starts from doubles its reach. With 500 joints and 64 frames, forward and backward, doubling took 4.1 ms against 4.5
    level by level at depth 13, and 9.4 against 34 for a single chain.
    """
    ancestors = np.asarray(parents)
    rounds: list[tuple[Tensor, Tensor]] = []
    while (ancestors >= 0).any():
        if len(rounds) > len(parents):
            raise ValueError("parents contain a cycle")
        moved = np.flatnonzero(ancestors >= 0)
        rounds.append((torch.as_tensor(moved, device=device), torch.as_tensor(ancestors[moved], device=device)))
        ancestors = np.where(ancestors >= 0, ancestors[ancestors], -1)
    return tuple(rounds)


def chain(T_local: Float[Tensor, "frames joints 3 4"], rounds: Rounds) -> Float[Tensor, "frames joints 3 4"]:
    """Transforms relative to the parents in, transforms relative to the world out."""
    return _Chain.apply(T_local.permute(1, 2, 3, 0), rounds).permute(3, 0, 1, 2)


class _Chain(torch.autograd.Function):
    """`chain` with the frames last. The backward pass written by hand takes half the time of torch's own."""

    @staticmethod
    def forward(
        ctx: Any, T_local: Float[Tensor, "joints 3 4 frames"], rounds: Rounds
    ) -> Float[Tensor, "joints 3 4 frames"]:
        T = T_local.clone(memory_format=torch.contiguous_format)
        factors = []
        for moved, by in rounds:
            factors.append(T.index_select(0, moved))
            T.index_copy_(0, moved, _multiply(T.index_select(0, by), factors[-1]))
        ctx.rounds = rounds
        ctx.save_for_backward(T, *factors)
        return T

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, gradient: Float[Tensor, "joints 3 4 frames"]
    ) -> tuple[Float[Tensor, "joints 3 4 frames"], None]:
        """A joint moves all its descendants: G_j = sum over d below j of gradient_d T_j_d^T, then T_parent^T G_j.

        The sum is the matrix series 1 + N + N^2 + ... = (1 + N)(1 + N^2)(1 + N^4)... with N the step to the parent.
        Its factors are the forward rounds and commute, so their order is free.
        """
        T_world, *factors = ctx.saved_tensors
        G = gradient.clone(memory_format=torch.contiguous_format)
        for (moved, by), factor in zip(ctx.rounds, factors, strict=True):
            G.index_add_(0, by, _multiply_transposed(G.index_select(0, moved), factor))
        if ctx.rounds:
            children, parents = ctx.rounds[0]
            T_parent, G_child = T_world.index_select(0, parents), G.index_select(0, children)
            G.index_copy_(0, children, (T_parent[:, :, :3, None] * G_child[:, :, None]).sum(1))
        return G, None


def _multiply(
    a: Float[Tensor, "joints 3 4 frames"], b: Float[Tensor, "joints 3 4 frames"]
) -> Float[Tensor, "joints 3 4 frames"]:
    """The affine product a b; the last row of both, 0 0 0 1, is implied."""
    product = (a[:, :, :3, None] * b[:, None]).sum(2)
    product[:, :, 3] += a[:, :, 3]
    return product


def _multiply_transposed(
    gradient: Float[Tensor, "joints 3 4 frames"], b: Float[Tensor, "joints 3 4 frames"]
) -> Float[Tensor, "joints 3 4 frames"]:
    """Gradient with regard to a, given that of the product a b."""
    result = gradient.clone()
    result[:, :, :3] = (gradient[:, :, None] * b[:, None]).sum(3)
    return result


class Kinematics:
    """World transforms of a rig's joints.

    The transform of a joint relative to its parent is affine in the nine entries of Rx Ry Rz, so one constant
    matrix per joint holds its rest transform, its axes and its scale.
    """

    def __init__(self, rig: Rig, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu") -> None:
        def constant(array: np.ndarray) -> Tensor:
            return torch.as_tensor(array, dtype=dtype, device=device)

        self.joints = len(rig.nodes)
        # The body is one more joint, number 0, above all roots: so its motion needs no step of its own.
        self._rounds = doubling_rounds(np.concatenate([[-1], rig.parents + 1]), device)
        before = rig.T_parent_joint[:, :3, :3] @ rig.axes
        after = rig.axes.transpose(0, 2, 1) * rig.scale[:, None, :]
        linear = np.zeros((self.joints, 3, 4, 3, 3))
        linear[:, :, :3] = np.einsum("jra,jbc->jrcab", before, after)
        offset = np.zeros((self.joints, 3, 4))
        offset[:, :, 3] = rig.T_parent_joint[:, :3, 3]
        self._linear = constant(linear.reshape(self.joints, 12, 9))
        self._offset = constant(offset.reshape(self.joints, 12, 1))
        self._root_axes = constant(rig.root_axes)
        self.pivot = constant(rig.pivot)

    def __call__(
        self,
        angles: Float[Tensor, "frames joints 3"],
        root_translation: Float[Tensor, "frames 3"],
        root_angles: Float[Tensor, "frames 3"],
    ) -> Float[Tensor, "frames joints 3 4"]:
        """T_world_joint [file units]; all zeros give the neutral pose, the one the skin was bound in.

        angles: turns about each joint's axes [rad].
        root_translation: shift of the body from its rest position [file units].
        root_angles: yaw, pitch and roll about the rig's pivot [rad]: positive yaw turns left, positive pitch raises the
            nose and positive roll leans right.
        """
        frames = len(angles)
        _require_shape("angles", angles, (frames, self.joints, 3))
        _require_shape("root_translation", root_translation, (frames, 3))
        _require_shape("root_angles", root_angles, (frames, 3))
        turns = torch.stack(_rotation_entries(*angles.permute(2, 1, 0).contiguous()), dim=1)
        joints = torch.baddbmm(self._offset, self._linear, turns).unflatten(1, (3, 4))
        body = self._body(root_translation, root_angles).permute(1, 2, 0)
        T_local = torch.cat([body[None], joints])
        return chain(T_local.permute(3, 0, 1, 2), self._rounds)[:, 1:]

    def _body(
        self, translation: Float[Tensor, "frames 3"], angles: Float[Tensor, "frames 3"]
    ) -> Float[Tensor, "frames 3 4"]:
        """Trans(pivot + translation) R Trans(-pivot)."""
        rotation = compound_rotation(angles, self._root_axes)
        shift = self.pivot + translation - rotation @ self.pivot
        return torch.cat([rotation, shift[:, :, None]], dim=-1)


def _require_shape(name: str, tensor: Tensor, shape: Sequence[int]) -> None:
    if tuple(tensor.shape) != tuple(shape):
        raise ValueError(f"{name} must have shape {tuple(shape)} (frames first), got {tuple(tensor.shape)}")
