"""Ground plane, sky and shadow around Gaussians: a checkerboard below a plain sky (AKD, "Ground", "Shadow").

The ground is ray-cast in closed form as a layer behind the Gaussians. It depends on the cameras alone, so for cameras
that do not change it is computed once (`GroundPlane.backdrop`) and passed to `GroundPlane.render`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.render.cameras import Cameras
from gambol.render.rasterize import rasterize

Vector = tuple[float, float, float]

TILE = 0.3
"""Side of a tile, in parts of the geometric mean of a character's height and its longest side."""
HAZE = 12.0
"""Distance at which the ground has faded into the sky by 63 %, in longest sides of the character."""
BETA = 2.0
"""Decay of the shadow with height, per height of the character."""
LONGEST_SHADOW_MAP = 256
"""Largest side of the shadow map [pixels]."""
FAR = 1e3
"""Distance at which rays that miss the ground are placed, in distances of haze."""
SHADOW_DISTANCE = 100.0
"""Distance of the camera of the shadow map, in sides of its image: so far that its rays are parallel to 1/200."""


@dataclass(frozen=True)
class Backdrop:
    """Ground and sky without a character, as cameras see them."""

    image: Float[Tensor, "frames height width 3"]
    ground: Float[Tensor, "frames height width 3"]
    """The ground's part of the image: its colour times the share of the pixel that it covers."""
    places: Float[Tensor, "frames height width 2"]
    """The point of the ground in each pixel, from the origin along forward and left [file units]; far away where there
    is none."""


@dataclass(frozen=True)
class GroundPlane:
    """Ground, sky and shadow around a character. Lengths are in file units, colours in sRGB."""

    origin: Vector
    """A point of the ground below the character, where the corners of four tiles meet."""
    up: Vector
    forward: Vector
    tile: float
    """Side of a tile."""
    haze: float
    """Distance at which the ground has faded into the sky by 63 %."""
    beta: float
    """Decay of the shadow with height [1 / file units]."""
    shadow: float = 0.0
    """s_max: share of the light that is missing where the character touches the ground; 0 casts no shadow."""
    light: Vector = (0.90, 0.89, 0.87)
    dark: Vector = (0.74, 0.73, 0.71)
    sky: Vector = (0.80, 0.87, 0.95)

    @staticmethod
    def of(anatomy: Anatomy, shadow: float) -> GroundPlane:
        """Return the ground plane of a character in its neutral pose."""
        body, up = anatomy.body, anatomy.up
        points = body.vertices if len(body.vertices) else body.heads
        middle = (points.min(0) + points.max(0)) / 2
        origin = middle + (anatomy.ground - middle @ up) * up
        longest = max(float(np.ptp(points, axis=0).max()), anatomy.height)
        height = max(anatomy.height, 0.05 * longest)  # of what lies flat
        return GroundPlane(
            origin=tuple(origin.tolist()),
            up=tuple(up.tolist()),
            forward=tuple(anatomy.forward.tolist()),
            tile=TILE * float(np.sqrt(height * longest)),
            haze=HAZE * longest,
            beta=BETA / height,
            shadow=shadow,
        )

    def render(
        self,
        means: Float[Tensor, "frames gaussians 3"],
        covariances: Float[Tensor, "frames gaussians 6"],
        opacities: Float[Tensor, "... gaussians"],
        colors: Float[Tensor, "... gaussians 3"],
        cameras: Cameras,
        *,
        backdrop: Backdrop | None = None,
    ) -> Float[Tensor, "frames height width 3"]:
        """Return images of moving Gaussians on the ground; differentiable with respect to all tensors.

        backdrop: the result of `backdrop(cameras)`, if it has been computed already.
        """
        backdrop = self.backdrop(cameras) if backdrop is None else backdrop
        visible = self.hide_below(means, opacities)
        behind = backdrop.image
        if self.shadow > 0:
            dimmed = self.cast_shadow(means, covariances, visible, backdrop.places)
            behind = behind - backdrop.ground * dimmed[..., None]
        return rasterize(means, covariances, visible, colors, cameras).over(behind)

    def hide_below(
        self, means: Float[Tensor, "*frames gaussians 3"], opacities: Float[Tensor, "... gaussians"]
    ) -> Float[Tensor, "*frames gaussians"]:
        """Return the opacities, with 0 for Gaussians below the ground; no gradient flows through being below."""
        return torch.where(self.heights(means.detach()) < 0, 0.0, opacities)

    def heights(self, points: Float[Tensor, "*points 3"]) -> Float[Tensor, "*points"]:
        """Return the heights of points above the ground [file units]."""
        return (points - points.new_tensor(self.origin)) @ points.new_tensor(self.up)

    def backdrop(self, cameras: Cameras) -> Backdrop:
        """Return the ground in perspective, its tiles averaged over each pixel, fading into the sky far away."""
        (ahead, aside), (length, width), share = self._ground(cameras)
        tiles = _square_wave(ahead / self.tile, length / self.tile) * _square_wave(aside / self.tile, width / self.tile)
        light, dark, sky = ([*color] for color in (self.light, self.dark, self.sky))
        ground = [share * (0.5 * (a + b) + 0.5 * (a - b) * tiles) for a, b in zip(light, dark, strict=True)]
        image = [part + (1 - share) * color for part, color in zip(ground, sky, strict=True)]
        return Backdrop(torch.stack(image, -1), torch.stack(ground, -1), torch.stack([ahead, aside], -1))

    def nearness(self, cameras: Cameras) -> Float[Tensor, "frames height width"]:
        """Return the inverse depth of the ground in each pixel [1 / file units], 0 where there is none."""
        up = cameras.focal.new_tensor(self.up)
        down = -(cameras.T_camera_world[..., :3] @ up)  # of the camera's axes: a ray (x, y, 1) sinks by d . down
        columns, rows = (torch.arange(count).to(up) + 0.5 for count in (cameras.width, cameras.height))
        x = (columns - cameras.center[:, :1]) / cameras.focal[:, :1]
        y = (rows - cameras.center[:, 1:]) / cameras.focal[:, 1:]
        sinks = x[:, None, :] * down[:, 0, None, None] + y[:, :, None] * down[:, 1, None, None] + down[:, 2, None, None]
        heights = self.heights(cameras.positions)[:, None, None]
        return torch.where(heights > 0, sinks / heights.clamp(min=1e-9), 0.0).clamp(min=0)

    def _ground(self, cameras: Cameras) -> tuple[list[Tensor], list[Tensor], Tensor]:
        """Return where the ray of each pixel meets the ground, how much ground the pixel covers, and its share of the
        pixel.

        The first two are along forward and left. A ray o + t d meets the ground at o + d h / -d_up, with h the height
        of o. In pixel coordinates everything is a quotient of linear functions, so the derivatives, and with them the
        footprint of a pixel, are exact. Every number is an array of its own: twice as fast as arrays of pairs.
        """
        axes = self._axes(cameras.focal)
        eye = (cameras.positions - cameras.focal.new_tensor(self.origin)) @ axes.mT
        along = cameras.T_camera_world[..., :3] @ axes.mT  # columns: forward, left and up as the camera sees them
        height, down = eye[:, 2:], -along[..., 2:]
        linear = torch.cat([eye[:, None, :2] * down + height[..., None] * along[..., :2], down], -1)
        slopes = linear[:, :2] / cameras.focal[..., None]  # of the three numbers, per pixel to the right and down
        start = linear[:, 2] - ((cameras.center - 0.5)[..., None] * slopes).sum(1)
        columns, rows = (torch.arange(count).to(eye) for count in (cameras.width, cameras.height))
        right, lower = (slope[:, :, None, None].unbind(1) for slope in slopes.unbind(1))
        values = [start[:, i, None, None] + right[i] * columns + lower[i] * rows[:, None] for i in range(3)]
        hit = (values[2] > 1e-6) & (height > 0)[..., None]
        per = 1 / torch.where(hit, values[2], 1.0)
        places = [torch.where(hit, value * per, FAR * self.haze) for value in values[:2]]
        footprint = [
            ((right[i] - place * right[2]).abs() + (lower[i] - place * lower[2]).abs()) * per
            for i, place in enumerate(places)
        ]
        offsets = [place - eye[:, i, None, None] for i, place in enumerate(places)]
        edge = (right[2].abs() + lower[2].abs()).clamp_min(1e-9)
        share = (0.5 + values[2] / edge).clamp(0, 1) * torch.exp(
            (offsets[0] ** 2 + offsets[1] ** 2) * (-1 / self.haze**2)
        )
        return places, footprint, torch.where(hit, share, 0.0)

    def cast_shadow(
        self,
        means: Float[Tensor, "frames gaussians 3"],
        covariances: Float[Tensor, "frames gaussians 6"],
        opacities: Float[Tensor, "... gaussians"],
        places: Float[Tensor, "... height width 2"],
    ) -> Float[Tensor, "frames height width"]:
        """Return 1 - s(P), the share of light missing at places on the ground: s_max exp(-beta d) below the character.

        The height d above a place is that of the character's underside. So the Gaussians are rasterized as seen from
        far below, each in the colour exp(-beta d): blending gives the expected value, smoothly 0 where nothing is
        above. It is differentiable with respect to heights, through that colour, and to all inputs of the rasterizer;
        the extent of the shadow map is a constant.
        """
        if not means.shape[1]:
            return means.new_zeros(len(means), *places.shape[-3:-1])
        size = min(LONGEST_SHADOW_MAP, *places.shape[-3:-1])
        middle, half = self._shadow_frame(means.detach(), covariances.detach(), size)
        axes, far = self._axes(means), SHADOW_DISTANCE * half
        eye = torch.cat([middle, torch.full_like(middle[:, :1], -far)], -1) + axes @ means.new_tensor(self.origin)
        # Forward is to the right in this picture, left is downwards and up is ahead.
        T_camera_world = torch.cat([axes.expand(len(means), 3, 3), -eye[..., None]], -1)
        center = torch.full_like(middle, size / 2)
        cameras = Cameras(T_camera_world, center * SHADOW_DISTANCE, center, size, size, near=0.5 * far)
        darkness = torch.exp(-self.beta * self.heights(means).clamp_min(0))[..., None].expand_as(means)
        seen = rasterize(means, covariances, opacities, darkness, cameras).image[..., 0]
        there = ((places - middle[:, None, None]) / half).clamp(-2, 2)  # beyond 1 there is no shadow
        return self.shadow * torch.nn.functional.grid_sample(seen[:, None], there, align_corners=False)[:, 0]

    def _shadow_frame(
        self, means: Float[Tensor, "frames gaussians 3"], covariances: Float[Tensor, "frames gaussians 6"], size: int
    ) -> tuple[Float[Tensor, "frames 2"], float]:
        """Return middle and half side of a square on the ground around the Gaussians [file units].

        The side grows in steps and the middle moves by whole pixels of the shadow map. So a shadow keeps its shape when
        the character moves, and the square needs no derivative.
        """
        plane = (means - means.new_tensor(self.origin)) @ self._axes(means)[:2].mT
        low, high = plane.amin(1), plane.amax(1)
        margin = 3 * covariances[..., [0, 3, 5]].amax().sqrt()
        half = 2 ** (math.ceil(4 * math.log2(float((high - low).max() / 2 + margin) + 1e-30) + 0.5) / 4)
        pixel = 2 * half / size
        return ((low + high) / (2 * pixel)).round() * pixel, half

    def _axes(self, like: Tensor) -> Float[Tensor, "3 3"]:
        """Return the axes as rows: forward, left, up."""
        forward, up = like.new_tensor(self.forward), like.new_tensor(self.up)
        return torch.stack([forward, torch.linalg.cross(up, forward), up])


def _square_wave(x: Tensor, width: Tensor) -> Tensor:
    """Return a square wave of +1 and -1, one unit each, averaged over an interval around x; 0 for wide intervals.

    The mean is a difference of the integral of the wave, which is a triangle wave. A box filter passes some of a wave
    that is finer than it, which shows as moiré, so the result fades out before the interval is two tiles wide.
    """
    width = width.clamp_min(1e-4)
    ends = [1 - (2 * (0.5 * (x + side * width)).frac().abs() - 1).abs() for side in (0.5, -0.5)]
    return (ends[0] - ends[1]) / width * (2 - width).clamp(0, 1)
