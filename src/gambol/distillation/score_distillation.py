"""Score distillation of a motion: section 4 of AKD (Articulated Kinematics Distillation), from top to bottom.

One step: joint angles -> forward kinematics -> skinning -> a video of the character on its ground -> the prior's
latents -> noise -> what the prior says the clean video was -> a gradient on the latents -> back through all of it to
the angles, together with two losses that keep the motion smooth and the body above the ground.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.distillation.stage_runner import generator_for
from gambol.distillation.windows import lengthened, onwards_of, windows_for
from gambol.motion.cuboids import Cuboids, corner_positions
from gambol.motion.ground import ground_loss
from gambol.motion.optimization import Adam, Losses, Optimization
from gambol.motion.parameters import FrameParameters, PosedFrames
from gambol.motion.rig_motion import RigMotion
from gambol.priors.prior import Prompt, VideoPrior
from gambol.priors.sample import draw_noise
from gambol.priors.schedule import Latents
from gambol.priors.score import DISTILLATION_SCHEDULES, DistillationSchedule, sds, surrogate
from gambol.priors.views import ViewRenderer
from gambol.ranges import SEED, Count, Range, Rate, Weight


@dataclass(frozen=True)
class ScoreConfig:
    """Settings of the distillation. The defaults are AKD's, except where noted."""

    steps: Count = 10_000
    plan: DistillationSchedule = DISTILLATION_SCHEDULES["paper"]
    """Noise levels and guidance."""
    smooth: Weight = 0.18
    """l1: weight of the mean second difference of angles. AKD's 2e5 belongs to a loss that is summed over a latent of
    13 x 60 x 90 x 16; per element that is this."""
    ground: Weight = 8.9
    """l2: weight of the mean depth of bones below the ground [per leg length]; AKD's 1e7, per element."""
    lr: Rate = 0.01
    """Learning rate, about the change of an angle in a step [rad]. Not stated by AKD."""
    lr_end: Annotated[float, Range(0, 1)] = 1.0
    """Share of the learning rate that is left at the end. Not stated by AKD."""
    seed: Annotated[int, SEED] = 0


class ScoreDistillation(Optimization):
    """The stage that optimises a motion by score distillation (AKD, section 4)."""

    name = "distilling"

    def __init__(
        self,
        renderer: ViewRenderer,
        cuboids: Cuboids,
        params: FrameParameters,
        ground: float,
        prior: VideoPrior,
        prompt: Prompt,
        negative: Prompt | None,
        config: ScoreConfig,
    ):
        """ground: its height along up [file units]."""
        self.renderer, self.cuboids, self.ground = renderer, cuboids, ground
        self.config, self.steps = config, config.steps
        self.prior, self.prompt, self.negative = prior, prompt, negative
        self.params = params  # the variables: three angles for every joint and frame, and the root's path
        self.windows = windows_for(prior, len(params.base))
        self.rests = renderer.rest_images() if prior.reference == "rest" else None
        self.adam = Adam(params, (0.9, 0.99))

    def step(self, number: int) -> Losses:
        config, progress = self.config, number / self.steps
        random = generator_for(config.seed, 0, number)
        movement = self.params()  # forward kinematics

        view = torch.randint(self.renderer.views, (1,), generator=random)
        start = self.windows.starts[int(torch.randint(len(self.windows), (1,), generator=random))]
        poses = lengthened(movement.T_world_joint, self.windows.frames, onwards_of(self.params, movement))
        video = self.renderer.render(poses[start : start + self.windows.length], view)  # skinning and rendering
        latents = self.prior.encode(video)

        gradient = self._score(latents, video, view, progress, random)
        losses = {
            "score": surrogate(latents, gradient) / latents.numel(),
            "smooth": config.smooth * roughness(movement, self.params.base, self.renderer.length),
            "sunk": config.ground * self._depth(movement),
        }
        total = sum(losses.values(), torch.zeros(()))
        self.adam.step(total, config.lr * (1 - (1 - config.lr_end) * progress))
        return {"total": total.item(), **{name: value.item() for name, value in losses.items()}}

    def _score(
        self,
        latents: Latents,
        video: Float[Tensor, "1 frames height width 3"],
        view: Tensor,
        progress: float,
        random: torch.Generator,
    ) -> Latents:
        """Return the direction in which the prior would change the latents: z - z_hat."""
        config, prior = self.config, self.prior
        level, guidance = config.plan.level(progress, random), config.plan.guidance(progress)
        first = video[:, 0].detach() if prior.reference == "first" else None
        reference = first if self.rests is None else self.rests[view]
        denoise = partial(
            prior.denoise, prompt=self.prompt, guidance=guidance, negative=self.negative, reference=reference
        )
        clean = latents.detach()
        return sds(clean, draw_noise(clean, random), level, prior.schedule, denoise)

    def _depth(self, movement: PosedFrames) -> Float[Tensor, ""]:
        corners = corner_positions(movement.T_world_joint, self.cuboids)
        return ground_loss(corners.flatten(1, 2) @ self.params.up - self.ground) / self.renderer.length


def roughness(movement: PosedFrames, base: RigMotion, length: float) -> Float[Tensor, ""]:
    """Return AKD's L_smooth: the mean absolute second difference over time of all controls, without the first and the
    last frame; of a loop, also across the seam. Translations count in leg lengths."""
    shift, turns = movement.root_translation, movement.root_angles
    if base.loops:  # without the displacement and the turn of a cycle, which are not periodic
        shift = shift - base.along[:, None] * base.travel
        turns = turns - base.along[:, None] * torch.tensor([base.turn, 0.0, 0.0])
    controls = torch.cat([movement.angles.flatten(1), shift / length, turns], 1)
    if base.loops:
        controls = torch.cat([controls[-1:], controls, controls[:1]])
    return (controls[2:] - 2 * controls[1:-1] + controls[:-2]).abs().mean()
