"""The ground of a stick figure, and cameras that follow it.

On a ground cameras follow the figure, as in AKD: their path is nearly straight, so that steps and leaps stay in the
picture, and the ground scrolls by below it. That is how a prior sees how far a motion goes, and whether it floats.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.priors.pixels.figure import BACKGROUND, StickFigure
from gambol.priors.pixels.stage import Stage
from gambol.render.cameras import Cameras, box_centers, follow
from gambol.render.ground_plane import GroundPlane

TILE = 1.0
"""Side of a tile [leg lengths]: a gallop passes less than half of one from frame to frame."""
HAZE = 12.0
"""Distance at which the ground has faded into the background by 63 % [leg lengths]; a camera is some 8 away."""
DARK = 0.72
"""Brightness of dark tiles; light ones are as bright as the background."""
SHADOW, SHADOW_HEIGHT = 0.6, 0.5
"""Share of light that is missing below a foot on the ground, and height at which 1/e of that is left [leg lengths]."""
STEADY = 16.0
"""Standard deviation of the window over which a camera's path is smoothed [frames]: all of a cycle."""


def ground_of(figure: StickFigure, stage: Stage) -> GroundPlane | None:
    """Return the ground below a figure, on which the corners of four tiles meet below the middle of its ends at rest;
    None if there is none."""
    if stage == "none":
        return None
    middle = figure.rest.reshape(-1, 3).mean(0)
    origin = middle + (figure.ground - middle @ figure.up) * figure.up
    light, dark = (BACKGROUND,) * 3, (DARK,) * 3
    return GroundPlane(
        origin=tuple(origin.tolist()),
        up=tuple(figure.up.tolist()),
        forward=tuple(figure.forward.tolist()),
        tile=TILE * figure.leg,
        haze=HAZE * figure.leg,
        beta=1 / (SHADOW_HEIGHT * figure.leg),
        shadow=SHADOW if stage == "shadow" else 0.0,
        light=light,
        dark=dark,
        sky=light,
    )


def path_of(
    points: Float[Tensor, "frames strokes corners 3"], rest: Float[Tensor, "strokes 2 3"]
) -> Float[Tensor, "frames 3"]:
    """Return how far a camera that stands before the figure at rest goes to follow its motion; no gradient, as losses
    do not move cameras."""
    return follow(box_centers(points.flatten(1, 2)), STEADY) - box_centers(rest.flatten(0, 1)[None])[0]


def moved(cameras: Cameras, way: Float[Tensor, "cameras 3"]) -> Cameras:
    """Return cameras that stand farther on by as much [file units]."""
    placed = cameras.T_camera_world.clone()
    placed[..., 3] -= torch.einsum("nij,nj->ni", placed[..., :3], way.to(placed))
    return replace(cameras, T_camera_world=placed)
