"""Shots: videos of one motion of a figure, filmed in place from several sides."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.priors.pocket.look import ELEVATION, Figure, aim, film
from gambol.render.cameras import Cameras

Array = np.ndarray

ORDER = (55.0, -55.0, 125.0, -125.0, 90.0, -90.0)
"""In which order cameras the prior knows (`look.VIEWS`) are used, if not all are [degrees]: both sides by turns, since
a leg behind another one is before it for a camera on the other side, and first those that are not opposite to each
other, which together see how near things are."""


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
    """Cameras where the pocket prior knows them, left and right by turns."""
    if not 1 <= views <= len(ORDER):
        raise ValueError(f"there must be 1 to {len(ORDER)} views, got {views}")
    aimed = [aim(figure, azimuth, ELEVATION, size) for azimuth in ORDER[:views]]
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
