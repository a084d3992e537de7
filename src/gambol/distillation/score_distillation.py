"""Score distillation of a motion: section 4 of AKD (Articulated Kinematics Distillation), from top to bottom.

One step: joint angles -> forward kinematics -> skinning -> a video of the character on its ground -> the prior's
latents -> noise -> what the prior says the clean video was -> a gradient on the latents -> back through all of it to
the angles, together with two losses that keep the motion smooth and the body above the ground.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.distillation.act import Losses, Search, SearchAct, generator_for
from gambol.distillation.film_set import FilmSet
from gambol.distillation.puppet import FramePuppet, Movement
from gambol.distillation.windows import lengthened, onwards_of, windows_for
from gambol.motion.cuboids import Cuboids, corner_positions, ground_loss
from gambol.motion.draft import Draft
from gambol.priors.prior import Prompt, VideoPrior
from gambol.priors.sample import draw_noise
from gambol.priors.score import PLANS, Plan, amplify_motion, rfds_rev, sds, surrogate


@dataclass(frozen=True)
class ScoreConfig:
    """How to distill. The defaults are AKD's; what it leaves open says so."""

    steps: int = 10_000
    plan: Plan = PLANS["paper"]
    """Noise levels and guidance."""
    noise: Literal["drawn", "fixed", "matched"] = "drawn"
    """Drawn anew in every step (AKD), the same in all of them, or drawn and then changed to match the video
    (RFDS-Rev), which asks the prior once more."""
    smooth: float = 0.18
    """l1: weight of the mean second difference of angles. AKD's 2e5 belongs to a loss that is summed over a latent of
    13 x 60 x 90 x 16; per element that is this."""
    ground: float = 8.9
    """l2: weight of the mean depth of bones below the ground [per leg length]; AKD's 1e7, per element."""
    rate: float = 0.01
    """Of Adam: about how far an angle moves in a step [rad]. Not stated by AKD."""
    cooled: float = 1.0
    """Share of the rate that is left at the end. Not stated by AKD."""
    motion: float = 1.0
    """Factor on the part of the gradient that makes frames different."""
    seed: int = 0


class ScoreDistillation(SearchAct):
    """The act."""

    name = "distilling"

    def __init__(
        self,
        film_set: FilmSet,
        cuboids: Cuboids,
        puppet: FramePuppet,
        ground: float,
        prior: VideoPrior,
        prompt: Prompt,
        config: ScoreConfig,
        negative: Prompt | None = None,
        number: int = 0,
    ):
        """ground: its height along up [file units]; number: which act of the run it is, for its random numbers."""
        self.film_set, self.cuboids, self.ground = film_set, cuboids, ground
        self.config, self.steps = config, config.steps
        self.prior, self.prompt, self.negative, self.number = prior, prompt, negative, number
        self.puppet = puppet  # the variables: three angles for every joint and frame, and the root's path
        self.windows = windows_for(prior, len(puppet.base))
        self.rests = film_set.at_rest() if prior.reference == "rest" else None
        self.search = Search(puppet, (0.9, 0.99))

    def step(self, number: int) -> Losses:
        config, progress = self.config, number / self.steps
        random = generator_for(config.seed, self.number, number)
        movement = self.puppet()  # forward kinematics

        view = torch.randint(self.film_set.views, (1,), generator=random)
        start = self.windows.starts[int(torch.randint(len(self.windows), (1,), generator=random))]
        poses = lengthened(movement.T_world_joint, self.windows.frames, onwards_of(self.puppet, movement))
        video = self.film_set.film(poses[start : start + self.windows.length], view)  # skinning and rendering
        latents = self.prior.encode(video)

        gradient = self._score(latents, video, view, progress, random)
        losses = {
            "score": surrogate(latents, gradient) / latents.numel(),
            "smooth": config.smooth * roughness(movement, self.puppet.base, self.film_set.length),
            "sunk": config.ground * self._depth(movement),
        }
        total = sum(losses.values(), torch.zeros(()))
        self.search.descend(total, config.rate * (1 - (1 - config.cooled) * progress))
        return {"total": total.item(), **{name: value.item() for name, value in losses.items()}}

    def _score(
        self,
        latents: Tensor,
        video: Float[Tensor, "1 frames height width 3"],
        view: Tensor,
        progress: float,
        random: torch.Generator,
    ) -> Tensor:
        """Which way the prior would change the latents: z - z_hat."""
        config, prior = self.config, self.prior
        level, guidance = config.plan.level(progress, random), config.plan.guidance(progress)
        reference = video[:, 0].detach() if prior.reference == "first" else None
        if self.rests is not None:
            reference = self.rests[view]
        denoise = partial(
            prior.denoise, prompt=self.prompt, guidance=guidance, negative=self.negative, reference=reference
        )
        still = latents.detach()
        source = generator_for(config.seed, self.number, -1) if config.noise == "fixed" else random
        noise = draw_noise(still, source)
        if config.noise == "matched":
            match = partial(prior.denoise, prompt=self.prompt, reference=reference)
            gradient = rfds_rev(still, noise, level, prior.schedule, denoise, match)
        else:
            gradient = sds(still, noise, level, prior.schedule, denoise)
        return gradient if config.motion == 1 else amplify_motion(gradient, config.motion, prior.time_axis)

    def _depth(self, movement: Movement) -> Float[Tensor, ""]:
        corners = corner_positions(movement.T_world_joint, self.cuboids)
        return ground_loss(corners, self.puppet.up, self.ground) / self.film_set.length


def roughness(movement: Movement, base: Draft, length: float) -> Float[Tensor, ""]:
    """AKD's L_smooth: the mean absolute second difference over time of all controls, the first and the last frame left
    out; of what loops, differences across the end count too. Translations count in legs."""
    shift, turns = movement.root_translation, movement.root_angles
    if base.loops:  # without the way and the turn of a round, all of it returns
        shift = shift - base.along[:, None] * base.travel
        turns = turns - base.along[:, None] * torch.tensor([base.turn, 0.0, 0.0])
    controls = torch.cat([movement.angles.flatten(1), shift / length, turns], 1)
    if base.loops:
        controls = torch.cat([controls[-1:], controls, controls[:1]])
    return (controls[2:] - 2 * controls[1:-1] + controls[:-2]).abs().mean()
