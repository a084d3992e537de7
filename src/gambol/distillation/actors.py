"""The film set of the big priors: the character as it is, on a checkerboard, filmed by cameras that go along (AKD)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.rig import Rig
from gambol.errors import GambolError
from gambol.motion.draft import Draft
from gambol.priors.pocket.look import draw_figure
from gambol.render.actor import Actor, attach
from gambol.render.cameras import Cameras, box_centers, follow, frame_distance, orbit
from gambol.render.harmonics import shade
from gambol.render.rasterize import Kernel
from gambol.render.splat import SplatConfig, splat
from gambol.render.stage import Backdrop, Stage

Array = np.ndarray

SPLATS = SplatConfig(kernels=5000)
"""How the character becomes Gaussians."""
AZIMUTHS = (55.0, -55.0, 90.0, -90.0, 35.0, -35.0)
"""In which order cameras are used [degrees; 90 is the character's left side]: both sides by turns; three-quarter before
side, as it shows the stride and also how far apart legs are; none from behind, where videos seldom are from."""
ELEVATION = 10.0
"""Of the cameras [degrees]."""
FIELD_OF_VIEW = 30.0
"""Of the picture's shorter side [degrees]."""
FILL = 0.6
"""Share of the picture's height or width that the first draft fills; the rest is room for strides."""
STEADY = 0.4
"""Standard deviation of the window over which a camera's path is smoothed [s]."""
SHADOW = 0.5
"""Share of light that is missing where a foot touches the ground."""
PIXELS_AT_ONCE = 2_500_000
"""Filmed at a time: 7 frames of 720 x 480."""
MOST_PIXELS = 20_000_000
"""Of a film whose pictures are drawn once; larger ones are drawn again in the backward pass. 49 frames of 720 x 480 (17
million) and their gradient take 2.8 GB drawn once and 1.4 to 1.8 drawn twice, in a tenth more time. Of Wan 2.2's 121
frames of 1280 x 704 (109 million) that would be 18 GB."""


class ActorSet:
    """Each view has a camera that follows the middle of the character smoothly, frame by frame, so that the ground
    scrolls by below it. Pictures have gradients to the joints, but not by way of the cameras."""

    part_colors = torch.zeros(0, 3)

    def __init__(
        self,
        actor: Actor,
        stage: Stage,
        rig: Rig,
        start: Float[Tensor, "frames joints 3 4"],
        *,
        size: tuple[int, int],
        views: int,
        length: float,
        steady: float,
        kernel: Kernel = "auto",
    ):
        """start: a motion that all cameras have in view. size: height and width [pixels]. length: of a leg [file
        units]. steady: standard deviation of the window over which a camera's path is smoothed [frames]."""
        if not 1 <= views <= len(AZIMUTHS):
            raise ValueError(f"there must be 1 to {len(AZIMUTHS)} views, got {views}")
        self.actor, self.stage, self.kernel = actor, stage, kernel
        self.size, self.views, self.length, self.steady = size, views, length, steady
        self.joints = _seen(actor, rig)
        self._neutral = torch.as_tensor(rig.world()[None, :, :3]).to(actor.means)
        self._path: Float[Tensor, "frames 3"] | None = None
        """What the cameras look at in each frame; None if they follow what they film."""
        self._backdrops: dict[tuple[int, int], Backdrop] = {}
        with torch.no_grad():
            means, _ = actor.posed(start.to(actor.means))
        self._start = follow(box_centers(means), steady)
        self._distances = [self._distance(means, view) for view in range(views)]

    def film(
        self, T_world_joint: Float[Tensor, "frames joints 3 4"], views: Int[Tensor, " chosen"] | None = None
    ) -> Float[Tensor, "chosen frames height width 3"]:
        means, covariances = self.actor.posed(T_world_joint.to(self.actor.means))
        path = follow(box_centers(means), self.steady) if self._path is None else self._path[: len(means)]
        if len(path) < len(means):
            raise ValueError(f"cameras were aimed at {len(path)} frames, got {len(means)}")
        chosen = range(self.views) if views is None else views.tolist()
        together = max(PIXELS_AT_ONCE // (self.size[0] * self.size[1]), 1)
        small = len(chosen) * len(means) * self.size[0] * self.size[1] <= MOST_PIXELS
        pieces = []
        for view in chosen:
            cameras = self._cameras(path, view)
            for first in range(0, len(means), together):
                some = slice(first, first + together)
                given = means[some], covariances[some], cameras[some]
                if small:
                    pieces.append(self._shoot(*given, self._backdrop(cameras[some], view, first)))
                else:
                    pieces.append(_DrawTwice.apply(self._shoot, *given))
        return torch.cat(pieces).unflatten(0, (len(chosen), len(means))).to(T_world_joint)

    def aimed(self, T_world_joint: Float[Tensor, "frames joints 3 4"]) -> ActorSet:
        other = copy.copy(self)
        with torch.no_grad():
            means, _ = self.actor.posed(T_world_joint.to(self.actor.means))
        other._path, other._backdrops = follow(box_centers(means), self.steady), {}
        return other

    @torch.no_grad()
    def at_rest(self) -> Float[Tensor, "views height width 3"]:
        return self.aimed(self._neutral).film(self._neutral)[:, 0].cpu()

    @cached_property
    def background(self) -> Float[Tensor, "height width 3"]:
        """The mean of some pictures of the empty stage along the first draft."""
        some = self._start[:: max(len(self._start) // 4, 1)]
        pictures = [self.stage.backdrop(self._cameras(some, view)).image.mean(0) for view in range(self.views)]
        return torch.stack(pictures).mean(0).cpu()

    def _shoot(
        self,
        means: Float[Tensor, "frames kernels 3"],
        covariances: Float[Tensor, "frames kernels 6"],
        cameras: Cameras,
        backdrop: Backdrop | None = None,
    ) -> Float[Tensor, "frames height width 3"]:
        colors = shade(self.actor.harmonics, means, cameras)
        return self.stage.film(
            means, covariances, self.actor.opacities, colors, cameras, backdrop=backdrop, kernel=self.kernel
        )

    def _backdrop(self, cameras: Cameras, view: int, first: int) -> Backdrop:
        """The empty stage, which takes a third of the time of a film: kept if the cameras' path does not change."""
        if self._path is None:
            return self.stage.backdrop(cameras)
        known = self._backdrops.get((view, first))
        if known is None or len(known.image) != len(cameras):
            known = self._backdrops[view, first] = self.stage.backdrop(cameras)
        return known

    def _cameras(self, path: Float[Tensor, "frames 3"], view: int) -> Cameras:
        up, forward = (path.new_tensor(axis) for axis in (self.stage.up, self.stage.forward))
        height, width = self.size
        where = AZIMUTHS[view], ELEVATION, self._distances[view]
        return orbit(path, up, forward, *where, FIELD_OF_VIEW, width, height)

    def _distance(self, means: Float[Tensor, "frames kernels 3"], view: int) -> float:
        up, forward = (means.new_tensor(axis) for axis in (self.stage.up, self.stage.forward))
        height, width = self.size
        angles = AZIMUTHS[view], ELEVATION, FIELD_OF_VIEW
        return frame_distance(means, self._start, up, forward, *angles, width, height, FILL)


def actor_set(
    character: Character, anatomy: Anatomy, rig: Rig, size: tuple[int, int], start: Draft, views: int
) -> ActorSet:
    """A character as Gaussians (made once, then from the cache), ready to be filmed.

    size: height and width [pixels]. start: the first draft, by which cameras are placed; all later ones have its frame
    rate. The pictures are drawn on a GPU if there is one.
    """
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    gaussians = splat(character, SPLATS.standing(anatomy)).gaussians.to(device)
    actor = attach(gaussians, character, rig)
    if not (actor.joints >= 0).any():
        raise GambolError(f"no joint moves the surface of '{character.name}'; `gambol skin` binds it to a skeleton")
    stage, length = Stage.of(anatomy, shadow=SHADOW), draw_figure(anatomy).leg
    return ActorSet(
        actor, stage, rig, start.world(rig), size=size, views=views, length=length, steady=STEADY * start.rate
    )


class _DrawTwice(torch.autograd.Function):
    """Pictures of which nothing is kept for the backward pass. Torch's own `checkpoint` does not see what a rasteriser
    keeps, and would take 2.3 GB for 49 frames of 720 x 480 where this takes 1.4 to 1.8."""

    @staticmethod
    def forward(
        ctx: Any, shoot: Callable[..., Tensor], means: Tensor, covariances: Tensor, cameras: Cameras
    ) -> Float[Tensor, "frames height width 3"]:
        ctx.save_for_backward(means, covariances)
        ctx.shoot, ctx.cameras = shoot, cameras
        return shoot(means, covariances, cameras)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Any) -> tuple[Tensor | None, ...]:
        given = [tensor.detach().requires_grad_() for tensor in ctx.saved_tensors]
        with torch.enable_grad():
            pictures = ctx.shoot(*given, ctx.cameras)
        return None, *torch.autograd.grad(pictures, given, upstream[0]), None


def _seen(actor: Actor, rig: Rig) -> Int[Array, " seen"]:
    """Joints that carry kernels, and those above them."""
    seen = np.zeros(len(rig.nodes), bool)
    carriers = actor.joints.cpu().numpy()
    seen[carriers[carriers >= 0]] = True
    for joint in range(len(seen) - 1, -1, -1):  # parents come before their children
        if seen[joint] and rig.parents[joint] >= 0:
            seen[rig.parents[joint]] = True
    return np.flatnonzero(seen)
