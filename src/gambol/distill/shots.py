"""Shots: videos of one motion of a figure, filmed in place from several sides."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.priors.pocket.look import Figure, aim, film
from gambol.render.cameras import Cameras

Array = np.ndarray

ELEVATION = 12.0
"""Of the cameras that look at a motion [degrees]."""
SPREAD = 35.0
"""Cameras stand within this angle of either side [degrees]; the pocket prior knows up to 43."""


@dataclass(frozen=True)
class Viewpoints:
    """Cameras that stand still, one for each view."""

    cameras: Cameras
    halves: Float[Tensor, " views"]
    """Half the side of each picture at the character's middle [file units]."""

    def __len__(self) -> int:
        return len(self.cameras)


@dataclass(frozen=True)
class Shots:
    """Videos with the places they were taken from. Left and right of the character alternate."""

    videos: Float[Tensor, "views frames size size 3"]
    """sRGB"""
    viewpoints: Viewpoints


def both_sides(figure: Figure, views: int, size: int) -> Viewpoints:
    """Cameras on both sides by turns, left first: a leg behind another one is before it for the opposite camera."""
    if views < 1:
        raise ValueError(f"there must be at least 1 view, got {views}")
    pairs = (views + 1) // 2
    offsets = np.linspace(-SPREAD, SPREAD, pairs) if pairs > 1 else np.zeros(1)
    # Not exactly opposite: together the two of a pair also see how near things are.
    places = zip(offsets, np.roll(offsets, 1), strict=True)
    azimuths = [float(azimuth) for left, right in places for azimuth in (90 + left, -90 + right)]
    return viewpoints(figure, azimuths[:views], size)


def viewpoints(figure: Figure, azimuths: list[float], size: int, elevation: float = ELEVATION) -> Viewpoints:
    """Cameras as the pocket prior knows them (`look.aim`), angles in degrees."""
    aimed = [aim(figure, azimuth, elevation, size) for azimuth in azimuths]
    T_camera_world, focal, center = (
        torch.cat([getattr(camera, name) for camera, _ in aimed]) for name in ("T_camera_world", "focal", "center")
    )
    near = min(camera.near for camera, _ in aimed)
    cameras = replace(aimed[0][0], T_camera_world=T_camera_world, focal=focal, center=center, near=near)
    return Viewpoints(cameras, torch.tensor([half for _, half in aimed]))


def film_views(
    figure: Figure, points: Float[Tensor, "frames strokes 2 3"], viewpoints: Viewpoints
) -> Float[Tensor, "views frames size size 3"]:
    """The figure's strokes (`Figure.points`) from all viewpoints; differentiable."""
    frames, views = len(points), len(viewpoints)
    colors = torch.as_tensor(figure.colors).to(points)
    widths = torch.as_tensor(figure.widths).to(points) * viewpoints.halves[:, None].to(points)
    view = torch.arange(views).repeat_interleave(frames)
    pictures = film(points.repeat(views, 1, 1, 1), colors, widths[view], viewpoints.cameras[view])
    return pictures.unflatten(0, (views, frames))


def film_motion(figure: Figure, T_world_joint: Float[Array, "frames joints 4 4"], viewpoints: Viewpoints) -> Shots:
    """Videos of known poses, on the spot [file units]."""
    points = figure.points(torch.as_tensor(T_world_joint, dtype=torch.float32))
    return Shots(film_views(figure, points, viewpoints), viewpoints)


def film_rest(figure: Figure, viewpoints: Viewpoints) -> Float[Tensor, "views size size 3"]:
    """Pictures of the figure at rest."""
    return film_views(figure, torch.as_tensor(figure.rest, dtype=torch.float32)[None], viewpoints)[:, 0]
