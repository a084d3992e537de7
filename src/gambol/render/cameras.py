"""Cameras: one for each frame, looking along their +z with x to the right and y down in the picture (as in OpenCV)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class Cameras:
    """Pinhole cameras. The centre of the pixel in column i and row j is at (i + 0.5, j + 0.5)."""

    T_camera_world: Float[Tensor, "frames 3 4"]
    """From the world to the camera's space, where z is the depth."""
    focal: Float[Tensor, "frames 2"]
    """Focal lengths along x and y [pixels]."""
    center: Float[Tensor, "frames 2"]
    """Where the axis of view meets the picture [pixels]."""
    width: int
    height: int
    near: float = 0.01
    """What is nearer than this is not seen [file units]."""

    def __len__(self) -> int:
        return len(self.T_camera_world)

    def __getitem__(self, chosen: slice | Tensor) -> Cameras:
        """Some of the frames."""
        some = {name: getattr(self, name)[chosen] for name in ("T_camera_world", "focal", "center")}
        return replace(self, **some)

    @property
    def positions(self) -> Float[Tensor, "frames 3"]:
        """Where the cameras are in the world."""
        rotation, shift = self.T_camera_world[..., :3], self.T_camera_world[..., 3:]
        return -(rotation.mT @ shift)[..., 0]

    def rays(self) -> Float[Tensor, "frames height width 3"]:
        """Unit directions through the centres of the pixels, in the world."""
        columns, rows = (torch.arange(count).to(self.focal) + 0.5 for count in (self.width, self.height))
        x = (columns - self.center[:, :1]) / self.focal[:, :1]
        y = (rows - self.center[:, 1:]) / self.focal[:, 1:]
        x, y = torch.broadcast_tensors(x[:, None, :], y[:, :, None])
        seen = torch.nn.functional.normalize(torch.stack([x, y, torch.ones_like(x)], -1), dim=-1)
        return torch.einsum("fhwc,fcx->fhwx", seen, self.T_camera_world[..., :3])


def look_at(
    positions: Float[Tensor, "frames 3"], targets: Float[Tensor, "frames 3"], up: Float[Tensor, 3]
) -> Float[Tensor, "frames 3 4"]:
    """T_camera_world of cameras that look from positions to targets with the world's up upwards in the picture."""
    normalize = torch.nn.functional.normalize
    ahead = normalize(targets - positions, dim=-1)
    right = normalize(torch.linalg.cross(ahead, up.expand_as(ahead)), dim=-1)
    down = torch.linalg.cross(ahead, right)
    rotation = torch.stack([right, down, ahead], dim=-2)
    return torch.cat([rotation, -(rotation @ positions[..., None])], dim=-1)


def orbit(
    targets: Float[Tensor, "frames 3"],
    up: Float[Tensor, 3],
    forward: Float[Tensor, 3],
    azimuth: float | Float[Tensor, " frames"],
    elevation: float | Float[Tensor, " frames"],
    distance: float | Float[Tensor, " frames"],
    field_of_view: float,
    width: int,
    height: int,
) -> Cameras:
    """Cameras around targets: azimuth 0 is straight ahead of a character that faces forward, 90 on its left side.

    Angles in degrees, the field of view is that of the picture's shorter side, the distance in file units.
    """
    count, like = len(targets), targets
    angles = [torch.as_tensor(angle, dtype=like.dtype, device=like.device).deg2rad() for angle in (azimuth, elevation)]
    turn, lift = (angle.expand(count)[:, None] for angle in angles)
    far = torch.as_tensor(distance, dtype=like.dtype, device=like.device).expand(count)[:, None]
    left = torch.linalg.cross(up, forward)
    toward = (forward * turn.cos() + left * turn.sin()) * lift.cos() + up * lift.sin()
    T_camera_world = look_at(targets + far * toward, targets, up)
    focal = 0.5 * min(width, height) / math.tan(math.radians(field_of_view) / 2)
    center = torch.tensor([width / 2, height / 2], dtype=like.dtype, device=like.device)
    focals = torch.full_like(targets[:, :2], focal)
    return Cameras(T_camera_world, focals, center.repeat(count, 1), width, height, near=0.01 * float(far.min()))
