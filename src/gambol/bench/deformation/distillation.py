"""Score distillation of a deformation field: what AKD is compared with, by the same renderer, prior, noise levels,
guidance and number of calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.bench.body_motion import FRAMES, BodyMotion
from gambol.bench.deformation.bodies import moved_body
from gambol.bench.deformation.field import DeformationField, FieldConfig
from gambol.character.character import Character
from gambol.distillation.animate import prepare
from gambol.distillation.config import AnimateConfig
from gambol.distillation.problem import Problem
from gambol.distillation.score_distillation import score_loss
from gambol.distillation.stage_runner import generator_for
from gambol.distillation.windows import windows_for
from gambol.errors import GambolError
from gambol.motion.ground import ground_loss
from gambol.motion.optimization import Adam, Losses
from gambol.motion.rig_motion import splined
from gambol.priors.pixels.figure import draw_stick_figure
from gambol.priors.prior import VideoPrior
from gambol.priors.schedule import Latents, Level
from gambol.quality.normalized_clip import normalizing_transform
from gambol.ranges import Range, Rate, Weight

PAIRS = 256
"""Points of the body at which the field is compared with itself nearby, in every step."""
APART = 0.1
"""Standard deviation of the way between the points of such a pair [leg lengths]."""
ROOM = 0.1
"""Room around the character in the cube of the field, as a share of its size."""
EPSILON = 1e-15
"""Adam's epsilon, as in TC4D: gradients of a grid are small."""


@dataclass(frozen=True)
class DeformationConfig:
    """Settings that are the field's own. All others (steps, noise levels, guidance, trajectory, seed) are those of the
    `AnimateConfig` that AKD gets."""

    field: FieldConfig = field(default_factory=FieldConfig)
    even: Weight = 0.001
    """Weight of the squared gradient of displacements in space: TC4D's total variation of deformation maps."""
    elastic: Weight = 0.02
    """Weight of the squared logarithm of how much ways between near points stretch (Nerfies). TC4D's is 0."""
    smooth: Weight = 0.05
    """Weight of the mean absolute second difference of displacements over time [leg lengths], as AKD's l1."""
    ground: Weight = 8.9
    """Weight of the mean depth of points below the ground [leg lengths], AKD's l2. TC4D has no ground; without this
    loss a body may sink out of sight, where nothing brings it back."""
    lr: Rate = 0.01
    """Learning rate of the network; that of a grid is `field.QUICKER` times as large."""
    lr_end: Annotated[float, Range(0, 1)] = 0.1
    """Share of the learning rate that is left at the end."""


def deform(
    character: Character,
    sentence: str,
    prior: VideoPrior,
    akd: AnimateConfig,
    config: DeformationConfig | None = None,
    on_step: Callable[[int, Losses], None] = lambda step, losses: None,
) -> BodyMotion:
    """Return the motion of a character whose points a field moves as the prior wants it.

    akd: the settings of the score distillation that it is compared with. on_step: called after every step with the
    number of steps done and the losses. To stop and go on later, use `DeformationDistillation` and its state.
    """
    distillation = DeformationDistillation(prepare(character, sentence, prior, akd), config or DeformationConfig())
    while distillation.done < distillation.steps:
        losses = distillation.step()
        on_step(distillation.done, losses)
    return distillation.body_motion()


class DeformationDistillation:
    """A deformation field, optimised by score distillation along a given trajectory."""

    def __init__(self, problem: Problem, config: DeformationConfig):
        """problem: as AKD gets it, with the trajectory as its first motion."""
        prior = problem.prior
        if not isinstance(prior, VideoPrior):
            raise GambolError(
                f"a deformation field is seen on videos, and {prior.name} sees none; choose another prior"
            )
        score = problem.config.score
        if score.noise != "drawn" or problem.guide:
            raise GambolError("a deformation field is distilled with noise that is drawn, and without a guide")
        self.problem, self.prior, self.config, self.done = problem, prior, config, 0
        self.steps, self.plan, self.seed = score.steps, score.plan, score.seed
        start, renderer = problem.start, problem.renderer
        self.body, self.length = moved_body(renderer), problem.length
        self.windows, self.loops = windows_for(prior, len(start)), start.loops
        self.way = self._way(self.windows.frames)
        self.pictures = renderer.rest_images() if prior.reference == "rest" else None
        surface = torch.as_tensor(problem.anatomy.body.vertices).to(self.body.rest)
        self.surface = torch.cat([self.body.rest, surface])
        low, high = self.surface.amin(0), self.surface.amax(0)
        size = float((high - low).max()) * (1 + 2 * ROOM)
        corner = ((low + high) / 2 - size / 2).cpu()
        random = generator_for(self.seed, 1, 0)
        self.field = DeformationField(config.field, corner, size, self.length, self.loops, random)
        self.field.to(self.body.rest.device)
        self.adam = Adam(self.field, (0.9, 0.99), EPSILON)

    def step(self) -> Losses:
        """Do one step and return its losses."""
        config, progress = self.config, self.done / self.steps
        random = generator_for(self.seed, 0, self.done)
        latents, denoise, moves = self._observe(random)
        losses = {
            "score": score_loss(latents, denoise, self.prior.schedule, self.plan, progress, random),
            "smooth": config.smooth * self._roughness(moves),
            "sunk": config.ground * self._depth(moves),
            **self._unevenness(random),
        }
        total = sum((loss.cpu() for loss in losses.values()), torch.zeros(()))
        self.adam.step(total, config.lr * (1 - (1 - config.lr_end) * progress))
        self.done += 1
        return {"total": total.item(), **{name: value.item() for name, value in losses.items()}}

    def _observe(
        self, random: torch.Generator
    ) -> tuple[Latents, Callable[[Latents, Level, float], Latents], Float[Tensor, "frames points 3"]]:
        """Return latents of a random window by a random camera, the function that estimates clean ones (as
        `score_distillation.Observer`), and the displacements seen."""
        problem, prior = self.problem, self.prior
        view = torch.randint(problem.renderer.views, (1,), generator=random)
        start = self.windows.starts[int(torch.randint(len(self.windows), (1,), generator=random))]
        frames = torch.arange(start, start + self.windows.length)
        moves = self.displacements(self.body.rest, self._time(frames))
        video = self.body.render(self.body.rest + moves + self.way[frames, None].to(moves), view)
        first = video[:, 0].detach() if prior.reference == "first" else None
        reference = first if self.pictures is None else self.pictures[view]

        def denoise(noisy: Latents, level: Level, guidance: float) -> Latents:
            return prior.denoise(noisy, level, problem.prompt, guidance, problem.negative, reference)

        return prior.encode(video), denoise, moves

    def displacements(
        self, points: Float[Tensor, "points 3"], times: Float[Tensor, " frames"]
    ) -> Float[Tensor, "frames points 3"]:
        """Return where the field moves points, at times from 0 to 1 [file units]."""
        return self.field(points.expand(len(times), -1, -1), times[:, None].to(points))

    def _time(self, frames: Tensor) -> Float[Tensor, " frames"]:
        """Return frames as times from 0 to 1; beyond the end a loop goes on, and the last pose is held otherwise."""
        count = len(self.problem.start)
        return (frames % count) / count if self.loops else frames.clamp(max=count - 1) / max(count - 1, 1)

    def _way(self, frames: int) -> Float[Tensor, "frames 3"]:
        """Return the trajectory that the prior sees [file units]."""
        start = self.problem.start
        number = torch.arange(frames)
        if not self.loops:
            return start.root_translation[number.clamp(max=len(start) - 1)]
        return start.root_translation[number % len(start)] + (number // len(start))[:, None] * start.travel

    def _roughness(self, moves: Float[Tensor, "frames points 3"]) -> Float[Tensor, ""]:
        """Return the mean absolute second difference over time; of a whole loop also across the seam."""
        if self.loops and len(moves) == len(self.problem.start):
            moves = torch.cat([moves[-1:], moves, moves[:1]])
        return (moves[2:] - 2 * moves[1:-1] + moves[:-2]).abs().mean() / self.length

    def _depth(self, moves: Float[Tensor, "frames points 3"]) -> Float[Tensor, ""]:
        """Return the mean depth of moved points below the ground [leg lengths]."""
        anatomy = self.problem.anatomy
        heights = (self.body.rest + moves) @ torch.as_tensor(anatomy.up).to(moves) - anatomy.ground
        return ground_loss(heights) / self.length

    def _unevenness(self, random: torch.Generator) -> dict[str, Float[Tensor, ""]]:
        """Return the losses of how displacements differ between near points, at random points of the body and times."""
        config, surface = self.config, self.surface
        chosen = torch.randint(len(surface), (PAIRS,), generator=random).to(surface.device)
        apart = APART * self.length * torch.randn(PAIRS, 3, generator=random).to(surface)
        times = torch.rand(PAIRS, generator=random).to(surface)
        here = surface[chosen]
        change = self.field(here + apart, times) - self.field(here, times)
        far = apart.square().sum(1)
        losses = {"even": config.even * (change.square().sum(1) / far).mean()}
        if config.elastic:
            stretch = 0.5 * ((apart + change).square().sum(1) / far + 1e-6).log()
            losses["elastic"] = config.elastic * stretch.square().mean()
        return losses

    @torch.no_grad()
    def body_motion(self) -> BodyMotion:
        """Return the current motion. Between the frames of the prior it is interpolated as AKD's is."""
        problem, anatomy = self.problem, self.problem.anatomy
        character, start = problem.character, problem.start
        figure, skin = draw_stick_figure(anatomy), anatomy.body.vertices
        known = self._time(torch.arange(len(start)))
        times = np.arange(FRAMES) / (FRAMES if start.loops else FRAMES - 1)
        motion = start.resampled(FRAMES)
        way, travel = motion.root_translation.double().numpy(), start.travel.double().numpy()
        if problem.displacement is not None:  # the prior saw it in place
            way, travel = way + times[:, None] * problem.displacement, travel + problem.displacement
        if not start.loops:
            travel = way[-1] - way[0]
        T_norm_file = normalizing_transform(anatomy)

        def placed(points: Float[np.ndarray, "*points 3"]) -> Float[np.ndarray, "*points 3"]:
            return points @ T_norm_file[:3, :3].T + T_norm_file[:3, 3]

        def moved(points: Float[np.ndarray, "points 3"]) -> Float[np.ndarray, "frames points 3"]:
            rest = torch.as_tensor(points).to(self.body.rest)
            found = torch.cat([self.displacements(rest, time[None]) for time in known])
            return placed(points + splined(found.cpu().double().numpy(), times, start.loops) + way[:, None])

        return BodyMotion(
            moved(figure.rest.reshape(-1, 3)).reshape(FRAMES, -1, 2, 3),
            placed(figure.rest),
            figure.parts,
            moved(skin),
            placed(skin),
            character.joined_faces,
            start.seconds,
            start.loops,
            T_norm_file[:3, :3] @ travel,
        )

    def state(self) -> dict[str, Tensor]:
        """Return everything that steps have changed, as tensors that are not written to afterwards."""
        return {**self.adam.state(), "done": torch.tensor(self.done)}

    def load(self, state: dict[str, Tensor]) -> None:
        """Go back to a state; ValueError if it does not fit."""
        done = int(state["done"])
        if not 0 <= done <= self.steps:
            raise ValueError(f"its {done} steps are not from 0 to {self.steps}")
        self.adam.load({name: value for name, value in state.items() if name != "done"})
        self.done = done
