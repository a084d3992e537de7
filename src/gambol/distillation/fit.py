"""Fitting: joint angles with which a character's figure moves as in given videos."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.character.rig import build_rig
from gambol.distillation.act import Losses, Search, SearchAct, threads
from gambol.distillation.figures import FigureSet
from gambol.distillation.film_set import FilmSet
from gambol.distillation.likeness import target_of, unlikeness
from gambol.distillation.limits import find_limits
from gambol.distillation.puppet import CurvePuppet, Movement
from gambol.motion.draft import Draft

Array = np.ndarray

NEAR = 0.003
"""Loss below which steps become smaller."""


MANY = 10_000_000
"""Numbers in videos from which on more than one thread is worth it. With 1 million a step takes 23 ms on one, 28 on two
that have to be woken."""


@dataclass(frozen=True)
class FitConfig:
    """How to fit. The figures given here are of fits to true videos."""

    steps: int = 200
    """Forelegs come last: of 8 real rigs fitted to samples of the pocket prior, half of the knees bent as they should
    to 25 %, after 120 steps (of 4 views) a third."""
    views: int = 6
    """Looked at in a step, by turns if there are more: neighbours in the shots. With 2 of 6 a step takes a third of the
    time, but an eight-legged walk had limb phases wrong by up to 0.03 cycles, with all 6 by 0.002."""
    rate: float = 0.06
    """Of Adam: about how far an angle moves in a step [rad]; falls to nothing. With 0.1 legs go astray, with 0.07 one
    of a running T. rex did."""
    floor: float = 1e-3
    """Of Adam: gradients below this move little [per rad]. What videos hardly show then stays where it is, instead of
    moving as fast as what they show: with 1e-8 the joints of a running human were off by 2.9 % of a leg, with this by
    2.1 %, with 1e-2 by 2.5 %."""
    harmonics: int = 6
    """Of angles over a cycle: with 3 the sharpest knees of a walk would keep 84 % of their flexion, with 6 98 %."""
    places: float = 10.0
    """Weight of the places of limbs [per square half side of the picture]. Without them a galloping foreleg got lost
    and a running human's joints were off by 6.4 % of a leg; 30 is as good as 10."""
    rest: float = 1e-2
    """Weight of the pull to the pose at rest [per square rad of all joints together]; falls to a tenth."""
    smooth: float = 2e-4
    """Weight of the acceleration of angles [per square rad per frame^2 of all joints together]. With 2e-3 knees bend a
    tenth less."""
    limits: float = 10.0
    """Weight of knees that bend the wrong way [per square sine]."""
    ground: float = 100.0
    """Weight of soles below the ground [per square leg length]."""


USUAL_FIT = FitConfig()


class Fitting(SearchAct):
    """The act of fitting a draft to videos; the way of the whole body is in them only if the cameras see the ground."""

    name = "fitting"

    def __init__(
        self,
        anatomy: Anatomy,
        film_set: FilmSet,
        videos: Float[Tensor, "views frames height width 3"],
        puppet: CurvePuppet,
        config: FitConfig = USUAL_FIT,
    ):
        self.film_set, self.puppet, self.config, self.steps = film_set, puppet, config, config.steps
        self.target = target_of(videos.flatten(0, 1), film_set.part_colors, film_set.background)
        self.threads = 1 if videos.numel() < MANY else torch.get_num_threads()
        self.limits = find_limits(anatomy, film_set.length)
        self.search = Search(puppet, (0.9, 0.98), config.floor)

    def step(self, number: int) -> Losses:
        with threads(self.threads):
            return self._step(number)

    def _step(self, number: int) -> Losses:
        config, share = self.config, number / self.steps
        movement = self.puppet()
        views = _views(number, self.film_set.views, config.views)
        pictures = self.film_set.film(movement.T_world_joint, views).flatten(0, 1)
        frames = len(self.puppet.base)
        chosen = slice(int(views[0]) * frames, (int(views[-1]) + 1) * frames)
        losses = {
            "unlike": unlikeness(pictures, self.target, chosen, config.places),
            "strain": _strain(movement, self.puppet.base.loops, config, share),
            "overbent": config.limits * self.limits.overbent(movement.T_world_joint),
            "sunk": config.ground * self.limits.sunk(movement.T_world_joint),
        }
        total = sum(losses.values(), torch.zeros(()))
        self.search.descend(total, config.rate * _warmth(share, total.item()))
        return {"total": total.item(), **{name: value.item() for name, value in losses.items()}}


@dataclass(frozen=True)
class Fit:
    """A motion that looks like the videos."""

    draft: Draft
    T_world_joint: Float[Array, "frames joints 4 4"]
    """Of the body's joints [file units]."""
    losses: tuple[float, ...]
    """Step by step; a share of what empty pictures would have, so about 1 is nothing and 0.01 very like."""


def fit_motion(
    anatomy: Anatomy,
    film_set: FigureSet,
    videos: Float[Tensor, "views frames size size 3"],
    *,
    loops: bool = True,
    config: FitConfig = USUAL_FIT,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Fit:
    """Joint angles and the body's own movement that make a figure look as it does in the videos, from the pose at rest.

    loops: whether the frame after the last is the first again.
    """
    rig = build_rig(anatomy)
    base = Draft.at_rest(len(rig.nodes), videos.shape[1], 1.0, loops)
    puppet = CurvePuppet(anatomy, rig, base, film_set.joints, film_set.length, config.harmonics)
    fitting = Fitting(anatomy, film_set, videos, puppet, config)
    losses = []
    for number in range(fitting.steps):
        losses.append(fitting.step(number)["total"])
        on_progress(number + 1, fitting.steps)
    draft = fitting.draft()
    T_world_joint = np.zeros((len(draft), len(rig.nodes), 4, 4))
    T_world_joint[..., :3, :], T_world_joint[..., 3, 3] = draft.world(rig).numpy(), 1.0
    return Fit(draft, T_world_joint, tuple(losses))


def _warmth(share: float, loss: float) -> float:
    """Of the rate: falls with the share of the steps done, as a cosine does, and where almost nothing is left to gain:
    Adam would else shake a figure that stands as it should."""
    return (0.51 + 0.49 * np.cos(np.pi * share)) * min(1.0, share * 20 + 0.2) * min(1.0, (loss / NEAR) ** 0.5)


def _views(step: int, count: int, together: int) -> Tensor:
    """Which views a step looks at: one group of neighbours after the other."""
    together = min(together, count)
    groups = -(-count // together)
    first = min(step % groups * together, count - together)
    return torch.arange(first, first + together)


def _strain(movement: Movement, loops: bool, config: FitConfig, share: float) -> Float[Tensor, ""]:
    """What a motion costs that needs no looking at. The pull falls with the share of the steps done, to a tenth: it
    keeps legs from going astray, but in the end it would hold back."""
    angles = movement.angles
    if loops:
        accelerations = torch.roll(angles, 1, 0) - 2 * angles + torch.roll(angles, -1, 0)
    else:
        accelerations = angles[2:] - 2 * angles[1:-1] + angles[:-2]
    pull = movement.effort.square().sum((1, 2)).mean()
    return config.rest * 0.1**share * pull + config.smooth * accelerations.square().sum((1, 2)).mean()
