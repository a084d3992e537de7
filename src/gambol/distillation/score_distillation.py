"""Score distillation of a motion: section 4 of AKD (Articulated Kinematics Distillation), from top to bottom.

One step: joint angles -> forward kinematics -> what the prior sees of it (skinning and a video of the character on its
ground, or tracks of its parts) -> the prior's latents -> noise -> what the prior says the clean latents were -> a
gradient on the latents -> back through all of it to the angles, together with two losses that keep the motion smooth
and the body above the ground, and one of ours, without weight unless it is asked for, that keeps poses plausible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.distillation.guide import Guide, control_videos
from gambol.distillation.stage_runner import generator_for
from gambol.distillation.windows import lengthened, onwards_of, windows_for
from gambol.motion.body_tracks import tracks_of_poses
from gambol.motion.chains import Chains
from gambol.motion.cuboids import Cuboids, corner_positions
from gambol.motion.foot_lock import LOW, FootLoads
from gambol.motion.ground import ground_loss
from gambol.motion.optimization import Adam, Losses, Optimization
from gambol.motion.parameters import CurveParameters, FrameParameters, PosedFrames
from gambol.motion.rig_motion import RigMotion
from gambol.poses.plausibility import ImplausibilityLoss
from gambol.priors.prior import Control, Prompt, VideoPrior
from gambol.priors.sample import draw_noise
from gambol.priors.schedule import Latents, Level, Schedule
from gambol.priors.score import (
    DISTILLATION_SCHEDULES,
    DistillationSchedule,
    rfds_rev,
    sdi,
    sds,
    surrogate,
)
from gambol.priors.tracks.prior import BodyTrackPrior
from gambol.priors.views import ViewRenderer
from gambol.ranges import SEED, Count, Range, Rate, Weight

NoiseSource = Literal["drawn", "matched", "inverted"]
INVERSION_GUIDANCE = -6.5
"""Guidance on the way from the video to its noise (SDI; the authors' -7.5 is -6.5 as guidance is counted here)."""


@dataclass(frozen=True)
class ScoreConfig:
    """Settings of the distillation. The defaults are AKD's, except where noted."""

    steps: Count = 10_000
    plan: DistillationSchedule = DISTILLATION_SCHEDULES["paper"]
    """Noise levels and guidance."""
    noise: NoiseSource = "drawn"
    """Where the noise comes from: drawn anew in every step (SDS, as AKD does it), drawn and then changed to what the
    prior takes for noise (RFDS-Rev, one call more), or inverted from the video (SDI, ten calls more)."""
    harmonics: Annotated[int, Range(0, 64)] = 0
    """Harmonics of smooth curves that are optimised, instead of every angle of every frame; 0 for the latter, as in
    AKD."""
    smooth: Weight = 0.18
    """l1: weight of the mean second difference of angles. AKD's 2e5 belongs to a loss that is summed over a latent of
    13 x 60 x 90 x 16; per element that is this."""
    ground: Weight = 8.9
    """l2: weight of the mean depth of bones below the ground [per leg length]; AKD's 1e7, per element."""
    plausible: Weight = 0.0
    """Weight of poses that the pose model finds implausible (`gambol.poses.plausibility`). Not part of AKD."""
    lr: Rate = 0.01
    """Learning rate, about the change of an angle in a step [rad]. Not stated by AKD."""
    lr_end: Annotated[float, Range(0, 1)] = 1.0
    """Share of the learning rate that is left at the end. Not stated by AKD."""
    path: Weight = 1.0
    """Factor on the learning rate of the root's path [leg lengths per rad]: cameras that follow a body hardly show its
    path, so that few steps move it mostly by noise. Not stated by AKD."""
    seed: Annotated[int, SEED] = 0


@runtime_checkable
class Observer(Protocol):
    """What a prior sees of a motion, differentiable."""

    @property
    def schedule(self) -> Schedule:
        """The noise schedule of the prior."""
        ...

    def observe(
        self, movement: PosedFrames, random: torch.Generator
    ) -> tuple[Latents, Callable[[Latents, Level, float], Latents]]:
        """Return latents of what is seen, and the function that estimates clean ones from noisy latents, a noise level
        and guidance."""
        ...


class VideoObserver:
    """Sees a motion as a video of a random window by a random camera."""

    def __init__(
        self,
        renderer: ViewRenderer,
        params: FrameParameters | CurveParameters,
        prior: VideoPrior,
        prompt: Prompt,
        negative: Prompt | None,
        guide: Guide | None = None,
    ):
        """guide: what the prior is shown beside the motion."""
        self.renderer, self.params, self.prior, self.guide = renderer, params, prior, guide
        self.prompt, self.negative, self.schedule = prompt, negative, prior.schedule
        self.windows = windows_for(prior, len(params.base))
        self.rests = renderer.rest_images() if prior.reference == "rest" else None

    def observe(
        self, movement: PosedFrames, random: torch.Generator
    ) -> tuple[Latents, Callable[[Latents, Level, float], Latents]]:
        view = torch.randint(self.renderer.views, (1,), generator=random)
        start = self.windows.starts[int(torch.randint(len(self.windows), (1,), generator=random))]
        poses = lengthened(movement.T_world_joint, self.windows.frames, onwards_of(self.params, movement))
        window = poses[start : start + self.windows.length]
        video = self.renderer.render(window, view)  # skinning and rendering
        first = video[:, 0].detach() if self.prior.reference == "first" else None
        reference = first if self.rests is None else self.rests[view]
        beginning, control = self._guided(window.detach(), start, view)
        reference = reference if beginning is None else beginning

        def denoise(noisy: Latents, level: Level, guidance: float) -> Latents:
            return self.prior.denoise(noisy, level, self.prompt, guidance, self.negative, reference, control)

        return self.prior.encode(video), denoise

    @torch.no_grad()
    def _guided(
        self, window: Float[Tensor, "frames joints 3 4"], start: int, view: Int[Tensor, " one"]
    ) -> tuple[Float[Tensor, "one height width 3"] | None, Control | None]:
        """Return what the prior is shown of the guide, by the camera of a window: its first frame, or a control."""
        if self.guide is None:
            return None, None
        aimed = self.renderer.following(window)
        if self.guide.config.role == "first-frame":
            return (aimed.render(self.guide.poses(1), view)[:, 0] if start == 0 else None), None
        poses = self.guide.poses(self.windows.frames)[start : start + self.windows.length]
        video = control_videos(aimed, self.guide, poses, view)
        return None, self.prior.control(video, self.guide.config.scale)


class TrackObserver:
    """Sees a motion as tracks of the body's parts."""

    def __init__(self, chains: Chains, base: RigMotion, prior: BodyTrackPrior, prompt: Prompt, soles: FootLoads):
        """base: the initial motion. soles: the contact points of the feet."""
        self.chains, self.base, self.prior, self.prompt, self.soles = chains, base, prior, prompt, soles
        self.schedule = prior.schedule
        self.up = torch.as_tensor(chains.anatomy.up).float()

    def observe(
        self, movement: PosedFrames, random: torch.Generator
    ) -> tuple[Latents, Callable[[Latents, Level, float], Latents]]:
        poses, base = movement.T_world_joint, self.base
        travel = base.travel.double().numpy()
        tracks = tracks_of_poses(
            self.chains, poses, base.seconds, base.loops, travel, 0.0, self._contacts(poses), 0.0, slides=False
        )

        def denoise(noisy: Latents, level: Level, guidance: float) -> Latents:
            return self.prior.denoise(noisy, level, self.prompt, guidance)

        return self.prior.encode(tracks), denoise

    def _contacts(self, poses: Float[Tensor, "frames joints 3 4"]) -> Float[Tensor, "frames legs"]:
        """Return how much each foot is on the ground, by the height of its lowest point."""
        heights = (self.soles.points(poses) @ self.up - self.soles.stand) / (LOW * self.chains.unit)
        legs = range(len(self.chains.legs))
        lowest = [heights[:, self.soles.legs == leg] for leg in legs]
        found = [low.amin(1) if low.shape[1] else torch.full((len(poses),), 3.0) for low in lowest]
        return torch.stack([torch.exp(-low.clamp(min=0).square()) for low in found], 1) if found else poses[:, :0, 0, 0]


class ScoreDistillation(Optimization):
    """The stage that optimises a motion by score distillation (AKD, section 4)."""

    name = "distilling"

    def __init__(
        self,
        observer: Observer,
        cuboids: Cuboids,
        params: FrameParameters | CurveParameters,
        ground: float,
        config: ScoreConfig,
        implausibility: ImplausibilityLoss | None = None,
    ):
        """ground: its height along up [file units]. implausibility: must be given if its weight is not zero."""
        self.implausibility = implausibility if config.plausible else None
        self.observer, self.cuboids, self.ground = observer, cuboids, ground
        self.config, self.steps, self.length = config, config.steps, float(params.length)
        self.params: FrameParameters | CurveParameters = params  # three angles for every joint and frame; root's path
        paths = {"shift": config.path, "way": config.path}
        self.adam = Adam(params, (0.9, 0.99), rates=paths)

    def step(self, number: int) -> Losses:
        config, progress = self.config, number / self.steps
        random = generator_for(config.seed, 0, number)
        movement = self.params()  # forward kinematics
        latents, denoise = self.observer.observe(movement, random)
        losses = {
            "score": score_loss(latents, denoise, self.observer.schedule, config.plan, progress, random, config.noise),
            "smooth": config.smooth * roughness(movement, self.params.base, self.length),
            "sunk": config.ground * self._depth(movement),
        }
        if self.implausibility:
            losses["implausible"] = config.plausible * self.implausibility(movement.T_world_joint, random)
        total = sum(losses.values(), torch.zeros(()))
        self.adam.step(total, config.lr * (1 - (1 - config.lr_end) * progress))
        return {"total": total.item(), **{name: value.item() for name, value in losses.items()}}

    def _depth(self, movement: PosedFrames) -> Float[Tensor, ""]:
        corners = corner_positions(movement.T_world_joint, self.cuboids)
        return ground_loss(corners.flatten(1, 2) @ self.params.up - self.ground) / self.length


def score_loss(
    latents: Latents,
    denoise: Callable[[Latents, Level, float], Latents],
    schedule: Schedule,
    plan: DistillationSchedule,
    progress: float,
    random: torch.Generator,
    source: NoiseSource = "drawn",
) -> Float[Tensor, ""]:
    """Return a loss whose gradient by the latents is z - z_hat, per element. denoise: estimates clean latents from
    noisy ones, a noise level and guidance. progress: from 0 to 1. source: see `ScoreConfig.noise`."""
    level, guidance = plan.level(progress, random), plan.guidance(progress)
    seen = latents.detach()

    def ask(noisy: Latents, level: Level) -> Latents:
        return denoise(noisy, level, guidance)

    if source == "inverted":
        gradient = sdi(seen, level, schedule, ask, lambda noisy, at: denoise(noisy, at, INVERSION_GUIDANCE))
    else:
        noise = draw_noise(seen, random)
        if source == "matched":
            gradient = rfds_rev(seen, noise, level, schedule, ask, lambda noisy, at: denoise(noisy, at, 1.0))
        else:
            gradient = sds(seen, noise, level, schedule, ask)
    return surrogate(latents, gradient) / latents.numel()


def roughness(movement: PosedFrames, base: RigMotion, length: float) -> Float[Tensor, ""]:
    """Return AKD's L_smooth: the mean absolute second difference over time of all controls, without the first and the
    last frame; of a loop, also across the seam. Translations count in leg lengths."""
    shift, turns = movement.root_translation, movement.root_angles
    if base.loops:  # without the displacement and the turn of a cycle, which are not periodic
        shift = shift - base.along[:, None] * movement.travel
        turns = turns - base.along[:, None] * torch.tensor([base.turn, 0.0, 0.0])
    controls = torch.cat([movement.angles.flatten(1), shift / length, turns], 1)
    if base.loops:
        controls = torch.cat([controls[-1:], controls, controls[:1]])
    return (controls[2:] - 2 * controls[1:-1] + controls[:-2]).abs().mean()
