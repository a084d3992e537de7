"""Pinhole cameras, one for each frame, in the convention of OpenCV: +z ahead, x to the right and y down in the image.

To place them: `box_centers` of the moving Gaussians, `follow` them smoothly, `frame_distance` away, in `orbit` around
them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

FRAMES_AT_ONCE = 1024
"""Number of frames whose path is smoothed at once: ten minutes are 18,000 frames, and all pairs of those would take 10
GB."""


@dataclass(frozen=True)
class Cameras:
    """Pinhole cameras. The centre of the pixel in column i and row j is at (i + 0.5, j + 0.5)."""

    T_camera_world: Float[Tensor, "frames 3 4"]
    """From the world to the camera's space, where z is the depth."""
    focal: Float[Tensor, "frames 2"]
    """Focal lengths along x and y [pixels]."""
    center: Float[Tensor, "frames 2"]
    """Principal point: where the viewing axis meets the image [pixels]."""
    width: int
    height: int
    near: float = 0.01
    """Distance of the near plane; nothing nearer is seen [file units]."""

    def __len__(self) -> int:
        return len(self.T_camera_world)

    def __getitem__(self, chosen: slice | Tensor) -> Cameras:
        """Return the cameras of some of the frames."""
        some = {name: getattr(self, name)[chosen] for name in ("T_camera_world", "focal", "center")}
        return replace(self, **some)

    def to(self, *args, **kwargs) -> Cameras:
        """Return the cameras with another device or dtype; arguments as for `Tensor.to`."""
        moved = {name: getattr(self, name).to(*args, **kwargs) for name in ("T_camera_world", "focal", "center")}
        return replace(self, **moved)

    @property
    def positions(self) -> Float[Tensor, "frames 3"]:
        """Positions of the cameras in the world."""
        rotation, shift = self.T_camera_world[..., :3], self.T_camera_world[..., 3:]
        return -(rotation.mT @ shift)[..., 0]

    def rays(self) -> Float[Tensor, "frames height width 3"]:
        """Return unit vectors through the centres of the pixels, in the world."""
        columns, rows = (torch.arange(count).to(self.focal) + 0.5 for count in (self.width, self.height))
        x = (columns - self.center[:, :1]) / self.focal[:, :1]
        y = (rows - self.center[:, 1:]) / self.focal[:, 1:]
        x, y = torch.broadcast_tensors(x[:, None, :], y[:, :, None])
        seen = torch.nn.functional.normalize(torch.stack([x, y, torch.ones_like(x)], -1), dim=-1)
        return torch.einsum("fhwc,fcx->fhwx", seen, self.T_camera_world[..., :3])


def concatenate(cameras: Sequence[Cameras]) -> Cameras:
    """Return cameras of the same image size, concatenated."""
    first = cameras[0]
    placed, focal, center = (
        torch.cat([getattr(each, name) for each in cameras]) for name in ("T_camera_world", "focal", "center")
    )
    return Cameras(placed, focal, center, first.width, first.height, min(each.near for each in cameras))


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
    """Return cameras around targets: azimuth 0 is in front of a character that faces forward, 90 on its left side.

    Angles are in degrees, the field of view is that of the shorter side of the image, the distance is in file units.
    """
    count, like = len(targets), targets
    angles = [torch.as_tensor(angle, dtype=like.dtype, device=like.device).deg2rad() for angle in (azimuth, elevation)]
    turn, lift = (angle.expand(count)[:, None] for angle in angles)
    far = torch.as_tensor(distance, dtype=like.dtype, device=like.device).expand(count)[:, None]
    right, above, toward = _orbit_axes(up, forward, turn, lift)
    rotation = torch.stack([right, -above, -toward], dim=-2)
    T_camera_world = torch.cat([rotation, -(rotation @ (targets + far * toward)[..., None])], dim=-1)
    focal = 0.5 * min(width, height) / math.tan(math.radians(field_of_view) / 2)
    center = torch.tensor([width / 2, height / 2], dtype=like.dtype, device=like.device)
    focals = torch.full_like(targets[:, :2], focal)
    return Cameras(T_camera_world, focals, center.repeat(count, 1), width, height, near=0.01 * float(far.min()))


def _orbit_axes(
    up: Float[Tensor, 3], forward: Float[Tensor, 3], turn: Float[Tensor, "frames 1"], lift: Float[Tensor, "frames 1"]
) -> tuple[Float[Tensor, "frames 3"], Float[Tensor, "frames 3"], Float[Tensor, "frames 3"]]:
    """Return the axes to the right and upwards in the image and towards the camera, also straight from above. Angles in
    radians."""
    left = torch.linalg.cross(up, forward)
    level = forward * turn.cos() + left * turn.sin()
    right = left * turn.cos() - forward * turn.sin()
    return right, up * lift.cos() - level * lift.sin(), level * lift.cos() + up * lift.sin()


def box_centers(means: Float[Tensor, "frames gaussians 3"]) -> Float[Tensor, "frames 3"]:
    """Return the centres of the boxes around the means in each frame; no gradient, as losses do not move cameras."""
    still = means.detach()
    return (still.amin(1) + still.amax(1)) / 2


def follow(
    centers: Float[Tensor, "frames 3"],
    smoothing: float = 12.0,
    loop: bool = False,
    travel: Float[Tensor, 3] | None = None,
) -> Float[Tensor, "frames 3"]:
    """A smooth path along the centres of a moving character, for a camera to look at.

    smoothing: standard deviation of a Gaussian window [frames]. Swaying and hops shorter than that stay in the picture
        instead of shaking it; 12 frames (0.4 s at 30 frames a second) hold back two thirds of a half-second hop.
    loop: the first frame comes again after the last, `travel` [file units] farther on (default: at the same place).

    Each point is the value at its time of the line fitted to the centres around it, weighted by the window. So a
    character that stands or glides is followed exactly, at the ends of the clip too.
    """
    frames = len(centers)
    times = torch.arange(frames, dtype=torch.float64, device=centers.device)
    if loop:
        away = times - times[:, None]
        turns = torch.arange(-(repetitions := math.ceil(6 * smoothing / max(frames, 1)) + 1), repetitions + 1).to(times)
        window = torch.exp(-0.5 * ((away[..., None] + turns * frames) / smoothing) ** 2).sum(-1)
        weights = window / window.sum(1, keepdim=True)
        drift = torch.zeros_like(centers) if travel is None else travel * (times[:, None] / max(frames, 1)).to(centers)
        return weights.to(centers) @ (centers - drift) + drift
    reach = math.ceil(10 * smoothing)  # there the window has fallen to 1e-22
    path = [centers[:0]]
    for start in range(0, frames, FRAMES_AT_ONCE):
        end = min(start + FRAMES_AT_ONCE, frames)
        near = slice(max(start - reach, 0), end + reach)
        away = times[near] - times[start:end, None]
        window = torch.exp(-0.5 * (away / smoothing) ** 2)
        sums = [(window * away**power).sum(1, keepdim=True) for power in range(3)]
        spread = sums[2] + 1e-9  # of a single frame, or within a very narrow window, there is none
        weights = window * (spread - sums[1] * away) / (sums[0] * spread - sums[1] ** 2)
        path.append(weights.to(centers) @ centers[near])
    return torch.cat(path)


def sphere_distance(radius: float, field_of_view: float, fill: float = 0.8) -> float:
    """Return the distance from its centre at which a sphere fills that share of the shorter side of the image [file
    units]."""
    return radius / math.sin(math.atan(fill * math.tan(math.radians(field_of_view) / 2)))


def frame_distance(
    points: Float[Tensor, "frames points 3"],
    targets: Float[Tensor, "frames 3"],
    up: Float[Tensor, 3],
    forward: Float[Tensor, 3],
    azimuth: float | Float[Tensor, " frames"],
    elevation: float | Float[Tensor, " frames"],
    field_of_view: float,
    width: int,
    height: int,
    fill: float = 0.8,
) -> float:
    """Return the smallest distance at which cameras of `orbit` keep all points of all frames within that share of the
    image.

    Angles as for `orbit`. Points behind the target allow no camera nearer than themselves, however wide its view [file
    units].
    """
    turn, lift = (
        torch.as_tensor(angle).to(points).deg2rad().expand(len(points))[:, None] for angle in (azimuth, elevation)
    )
    axes = torch.stack(_orbit_axes(up, forward, turn, lift), dim=-1)
    right, above, toward = ((points - targets[:, None]) @ axes).unbind(-1)
    tangent = fill * math.tan(math.radians(field_of_view) / 2) / min(width, height)
    needed = toward + torch.maximum(right.abs() / (tangent * width), above.abs() / (tangent * height))
    return float(needed.max())
