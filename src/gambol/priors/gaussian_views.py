"""The views of video models: the character as Gaussians on a checkerboard, with cameras that follow it (AKD)."""

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
from gambol.character.rig import Rig, build_rig
from gambol.errors import GambolError
from gambol.motion.contacts import Contacts
from gambol.motion.keypoints import Keypoints
from gambol.motion.legs import leg_length
from gambol.motion.rig_motion import RigMotion
from gambol.priors.image_loss import loss_to_videos
from gambol.priors.prior import VideoPrior
from gambol.priors.views import ClipVideos, PoseLoss
from gambol.render.cameras import Cameras, box_centers, follow, frame_distance, orbit
from gambol.render.depth import depth_pictures
from gambol.render.gaussians import shade
from gambol.render.ground_plane import GroundPlane
from gambol.render.pose_drawing import pose_pictures
from gambol.render.skinned_gaussians import SkinnedGaussians, bind_gaussians
from gambol.render.splat import SplatConfig, splat

SPLATS = SplatConfig(gaussians=5000)
"""Settings with which the character is fitted with Gaussians."""
AZIMUTHS = (55.0, -55.0, 90.0, -90.0, 35.0, -35.0)
"""In which order cameras are used [degrees; 90 is the character's left side]: both sides by turns; three-quarter before
side, as it shows the stride and also how far apart legs are; none from behind, where videos seldom are from."""
ELEVATION = 10.0
"""Elevation of the cameras [degrees]."""
FIELD_OF_VIEW = 30.0
"""Field of view of the picture's shorter side [degrees]."""
FILL = 0.6
"""Share of the picture's height or width that the start motion fills; the rest is room for strides."""
STEADY = 0.4
"""Standard deviation of the window over which a camera's path is smoothed [s]."""
SHADOW = 0.5
"""Share of light that is missing where a foot touches the ground."""
SCORED_VIEWS = 2
"""Cameras for a clip that a prior scores, one on either side."""
PIXELS_AT_ONCE = 2_500_000
"""Pixels rendered at a time: 7 frames of 720 x 480."""
MOST_PIXELS = 20_000_000
"""Most pixels of videos whose frames are rendered once; more are rendered again in the backward pass. 49 frames of
720 x 480 (17 million) and their gradient take 2.8 GB, or 1.4 to 1.8 rendered twice in a tenth more time."""


class GaussianViews:
    """Renders Gaussians on a ground. Each view has a camera that follows the middle of the character smoothly, so that
    the ground scrolls by below it. Pictures have gradients to the joints, but not by way of the cameras."""

    def __init__(
        self,
        gaussians: SkinnedGaussians,
        ground: GroundPlane,
        rig: Rig,
        start: Float[Tensor, "frames joints 3 4"],
        *,
        size: tuple[int, int],
        views: int,
        length: float,
        steady: float,
    ):
        """start: a motion that all cameras have in view. size: height and width [pixels]. length: of a leg [file
        units]. steady: standard deviation of the window over which a camera's path is smoothed [frames]."""
        if not 1 <= views <= len(AZIMUTHS):
            raise ValueError(f"there must be 1 to {len(AZIMUTHS)} views, got {views}")
        self.gaussians, self.ground = gaussians, ground
        self.size, self.views, self.length, self.steady = size, views, length, steady
        self.joints = _seen(gaussians, rig)
        self._neutral = torch.as_tensor(rig.world()[None, :, :3]).to(gaussians.means)
        self._path: Float[Tensor, "frames 3"] | None = None
        """What the cameras look at in each frame; None if they follow the motion they render."""
        with torch.no_grad():
            means, _ = gaussians.posed(start.to(gaussians.means))
        self._start = follow(box_centers(means), steady)
        self._distances = [self._distance(means, view) for view in range(views)]

    def render(
        self, T_world_joint: Float[Tensor, "frames joints 3 4"], views: Int[Tensor, " chosen"] | None = None
    ) -> Float[Tensor, "chosen frames height width 3"]:
        return self._seen_by(self._render_frames, T_world_joint, views)

    @torch.no_grad()
    def render_depth(
        self, T_world_joint: Float[Tensor, "frames joints 3 4"], views: Int[Tensor, " chosen"] | None = None
    ) -> Float[Tensor, "chosen frames height width 3"]:
        """Videos of depth from the chosen cameras, by default from all, as estimators of depth draw it."""
        return self._seen_by(self._draw_depth, T_world_joint, views)

    @torch.no_grad()
    def render_pose(
        self,
        T_world_joint: Float[Tensor, "frames joints 3 4"],
        keypoints: Keypoints,
        views: Int[Tensor, " chosen"] | None = None,
    ) -> Float[Tensor, "chosen frames height width 3"]:
        """Drawings of the pose of a person from the chosen cameras, by default from all, as detectors draw it."""
        points = keypoints.points(T_world_joint)
        path = self._aim(self.gaussians.posed(T_world_joint.to(self.gaussians.means))[0]).to(points)
        pictures = []
        for view in range(self.views) if views is None else views.tolist():
            cameras = self._cameras(path, view)
            seen = keypoints.seen(T_world_joint, points, cameras.positions)
            pictures.append(pose_pictures(points, seen, cameras))
        return torch.stack(pictures)

    def _aim(self, means: Float[Tensor, "frames gaussians 3"]) -> Float[Tensor, "frames 3"]:
        """What the cameras look at in each frame."""
        path = follow(box_centers(means), self.steady) if self._path is None else self._path[: len(means)]
        if len(path) < len(means):
            raise ValueError(f"cameras were aimed at {len(path)} frames, got {len(means)}")
        return path

    def _seen_by(
        self,
        draw: Callable[[Tensor, Tensor, Cameras], Tensor],
        T_world_joint: Float[Tensor, "frames joints 3 4"],
        views: Int[Tensor, " chosen"] | None,
    ) -> Float[Tensor, "chosen frames height width 3"]:
        posed = self.gaussians.posed(T_world_joint.to(self.gaussians.means))
        return self._drawn(draw, *posed, views).to(T_world_joint)

    def render_gaussians(
        self,
        means: Float[Tensor, "frames gaussians 3"],
        covariances: Float[Tensor, "frames gaussians 6"],
        views: Int[Tensor, " chosen"] | None = None,
    ) -> Float[Tensor, "chosen frames height width 3"]:
        """Videos of the Gaussians wherever they have been moved to, not by joints [file units]."""
        return self._drawn(self._render_frames, means, covariances, views)

    def neutral_gaussians(self) -> tuple[Float[Tensor, "gaussians 3"], Float[Tensor, "gaussians 6"]]:
        """Means [file units] and packed covariances in the neutral pose."""
        means, covariances = self.gaussians.posed(self._neutral)
        return means[0], covariances[0]

    def _drawn(
        self,
        draw: Callable[[Tensor, Tensor, Cameras], Tensor],
        means: Float[Tensor, "frames gaussians 3"],
        covariances: Float[Tensor, "frames gaussians 6"],
        views: Int[Tensor, " chosen"] | None,
    ) -> Float[Tensor, "chosen frames height width 3"]:
        path = self._aim(means)
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
                    pieces.append(draw(*given))
                else:
                    pieces.append(_DrawTwice.apply(draw, *given))
        return torch.cat(pieces).unflatten(0, (len(chosen), len(means)))

    def following(self, T_world_joint: Float[Tensor, "frames joints 3 4"]) -> GaussianViews:
        other = copy.copy(self)
        with torch.no_grad():
            means, _ = self.gaussians.posed(T_world_joint.to(self.gaussians.means))
        other._path = follow(box_centers(means), self.steady)
        return other

    @torch.no_grad()
    def rest_images(self) -> Float[Tensor, "views height width 3"]:
        return self.following(self._neutral).render(self._neutral)[:, 0].cpu()

    def loss_to(self, videos: Float[Tensor, "views frames height width 3"]) -> PoseLoss:
        return loss_to_videos(self, videos, torch.zeros(0, 3), self.background)

    @cached_property
    def background(self) -> Float[Tensor, "height width 3"]:
        """The mean of some pictures of the empty ground along the start motion."""
        some = self._start[:: max(len(self._start) // 4, 1)]
        pictures = [self.ground.backdrop(self._cameras(some, view)).image.mean(0) for view in range(self.views)]
        return torch.stack(pictures).mean(0).cpu()

    def _render_frames(
        self,
        means: Float[Tensor, "frames gaussians 3"],
        covariances: Float[Tensor, "frames gaussians 6"],
        cameras: Cameras,
    ) -> Float[Tensor, "frames height width 3"]:
        colors = shade(self.gaussians.harmonics, means, cameras)
        return self.ground.render(means, covariances, self.gaussians.opacities, colors, cameras)

    def _draw_depth(
        self,
        means: Float[Tensor, "frames gaussians 3"],
        covariances: Float[Tensor, "frames gaussians 6"],
        cameras: Cameras,
    ) -> Float[Tensor, "frames height width 3"]:
        return depth_pictures(means, covariances, self.gaussians.opacities, self.ground, cameras)

    def _cameras(self, path: Float[Tensor, "frames 3"], view: int) -> Cameras:
        up, forward = (path.new_tensor(axis) for axis in (self.ground.up, self.ground.forward))
        height, width = self.size
        where = AZIMUTHS[view], ELEVATION, self._distances[view]
        return orbit(path, up, forward, *where, FIELD_OF_VIEW, width, height)

    def _distance(self, means: Float[Tensor, "frames gaussians 3"], view: int) -> float:
        up, forward = (means.new_tensor(axis) for axis in (self.ground.up, self.ground.forward))
        height, width = self.size
        angles = AZIMUTHS[view], ELEVATION, FIELD_OF_VIEW
        return frame_distance(means, self._start, up, forward, *angles, width, height, FILL)


def gaussian_views(
    character: Character, anatomy: Anatomy, rig: Rig, size: tuple[int, int], start: RigMotion, views: int
) -> GaussianViews:
    """The views of a character as Gaussians, which are made once and then come from the cache.

    size: height and width [pixels]. start: the first motion, by which cameras are placed; all later ones have its frame
    rate. Rendered on a GPU if there is one.
    """
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    gaussians = bind_gaussians(splat(character, SPLATS.with_axes_of(anatomy)).gaussians.to(device), character, rig)
    if not (gaussians.joints >= 0).any():
        raise GambolError(f"no joint moves the surface of '{character.name}'; `gambol skin` binds it to a skeleton")
    ground, length = GroundPlane.of(anatomy, shadow=SHADOW), leg_length(anatomy)
    return GaussianViews(
        gaussians, ground, rig, start.world(rig), size=size, views=views, length=length, steady=STEADY * start.fps
    )


def clip_videos(prior: VideoPrior, character: Character, anatomy: Anatomy, contacts: Contacts) -> ClipVideos:
    """A clip as it is, over the ground, from its start; a loop is repeated for as long as the prior's videos are."""
    looped, fps = contacts.looped, prior.format.fps
    longest = looped.duration * fps + 1
    fitting = [count for count in prior.format.frames if looped.loops or count <= longest]
    times = np.arange(max(fitting, default=min(prior.format.frames))) / fps
    poses = looped.poses(times)
    share = times / looped.duration if looped.loops else np.clip(times / max(looped.duration, 1e-9), 0, 1)
    poses[..., :3, 3] += (share[:, None] * looped.travel - times[:, None] * contacts.ground)[:, None]
    world, rig = torch.as_tensor(poses[..., :3, :]).float(), build_rig(anatomy)
    start = RigMotion.at_rest(len(rig.nodes), len(times), max(float(times[-1]), 1 / fps), loops=False)
    renderer = gaussian_views(character, anatomy, rig, prior.format.sizes[0], start, SCORED_VIEWS).following(world)
    with torch.no_grad():
        videos = renderer.render(world)
        reference = {"none": None, "rest": renderer.rest_images(), "first": videos[:, 0]}[prior.reference]
        return ClipVideos(prior.encode(videos), reference, None, ())


class _DrawTwice(torch.autograd.Function):
    """Pictures of which nothing is kept for the backward pass. Torch's own `checkpoint` does not see what a rasteriser
    keeps, and would take 2.3 GB for 49 frames of 720 x 480 where this takes 1.4 to 1.8."""

    @staticmethod
    def forward(
        ctx: Any, render: Callable[..., Tensor], means: Tensor, covariances: Tensor, cameras: Cameras
    ) -> Float[Tensor, "frames height width 3"]:
        ctx.save_for_backward(means, covariances)
        ctx.render, ctx.cameras = render, cameras
        return render(means, covariances, cameras)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *upstream: Any) -> tuple[Tensor | None, ...]:
        given = [tensor.detach().requires_grad_() for tensor in ctx.saved_tensors]
        with torch.enable_grad():
            pictures = ctx.render(*given, ctx.cameras)
        return None, *torch.autograd.grad(pictures, given, upstream[0]), None


def _seen(gaussians: SkinnedGaussians, rig: Rig) -> Int[np.ndarray, " seen"]:
    """Joints that carry Gaussians, and those above them."""
    seen = np.zeros(len(rig.nodes), bool)
    carriers = gaussians.joints.cpu().numpy()
    seen[carriers[carriers >= 0]] = True
    for joint in range(len(seen) - 1, -1, -1):  # parents come before their children
        if seen[joint] and rig.parents[joint] >= 0:
            seen[rig.parents[joint]] = True
    return np.flatnonzero(seen)
