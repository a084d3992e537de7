"""A screening: a clip as a video prior knows videos, so that it can be asked about it.

The pocket prior knows cycles of sixteen frames that begin where training begins them (`artists.clips`), of figures of
strokes on the spot. So what the clip does must be known, roughly, before it can be shown: that is read off its feet and
its way, and words that cannot be meant are not asked for. Other priors see the character as it is, on its way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.character.rig import build_rig
from gambol.distillation.figures import FigureSet
from gambol.errors import GambolError
from gambol.motion.footage import points_of, spread
from gambol.priors.pocket.actions import ACTIONS
from gambol.priors.pocket.artists.clips import LONGEST, cycles_of, on_the_spot
from gambol.priors.pocket.look import draw_figure, limb_weights, scaled
from gambol.priors.pocket.takes.cycle import FRAMES, Cycle
from gambol.priors.prior import VideoPrior
from gambol.priors.schedule import Latents
from gambol.quality.specimen import Specimen

Array = np.ndarray

VIEWS = 2
"""Cameras, one on either side."""
STILL = 0.07
"""What moves less, as `spread` counts, stands [heights]: so do 23 of 26 clips that artists call idle or the like; of 35
attacks, kicks, punches and waves none does."""
ALOFT = 0.35
"""Winged bodies with a foot on the ground for less of the time fly."""

LINGERS = 3.0
"""What goes on for longer before it begins again is no blow [s]: none of 35 artists' attacks, kicks, punches and waves
does; of 9 dances and meals 5 do."""
AWAY = 0.5
"""Leg lengths from where a character stands in its file beyond which its clip is brought back there: cameras do not
look for it. Less is left as it is, as in training."""


@dataclass(frozen=True)
class Kind:
    """What a clip does, as far as feet and way tell."""

    cut_as: tuple[str, ...]
    """As which action a cycle is cut out of it: the first that works."""
    words: tuple[str, ...]
    """Actions it can be."""


KINDS = {
    "steps": Kind(("run",), ("stand", "walk", "trot", "run", "hop", "jump")),
    "leaps": Kind(("jump",), ("stand", "hop", "jump")),
    "turns": Kind(("turn left", "turn right"), ("stand", "turn left", "turn right")),
    "flies": Kind(("fly",), ("stand", "fly")),
    "floats": Kind(("swim",), ("stand", "swim", "crawl")),
    "stands": Kind(("stand",), ("stand", "walk")),
    "lingers": Kind(("dance",), ("stand", "dance", "eat")),
    "acts": Kind(("attack",), ("attack", "kick", "punch", "wave")),
    "deeds": Kind(("attack",), ("attack", "kick", "punch", "wave", "die")),
}
"""What must not be asked about is as important as what must: the prior has seen little of swimming, punching or eating,
so its guesses are vague, and vague guesses err less than wrong ones. Asked about all 18 actions it names 8 of 22
artists' clips."""


@dataclass(frozen=True, eq=False)
class Screening:
    """Videos of a clip, ready for a prior."""

    videos: Latents
    """One for each camera."""
    reference: Float[Tensor, "views height width 3"] | None
    """The picture the prior wants to see [sRGB]."""
    weights: Float[Tensor, "views frames height width 1"] | None
    """How much each pixel counts; None: all the same."""
    words: tuple[str, ...]
    """Actions that it can be; none if that is not known."""


def screen(specimen: Specimen, prior: VideoPrior) -> Screening | None:
    """The clip as the prior knows videos; None if there is no such thing in it."""
    if prior.look == "own":
        return _on_its_way(specimen, prior)
    for name in kinds_of(specimen):
        kind = KINDS[name]
        for action in kind.cut_as:
            try:
                cycle = cycles_of(specimen.character, specimen.anatomy, specimen.motion, action)[0]
            except GambolError:
                continue
            return _as_figure(specimen, prior, cycle, kind.words)
    return None


def kinds_of(specimen: Specimen) -> tuple[str, ...]:
    """What a clip may be, the likeliest first: names of `KINDS`. None of them for what the pocket prior cannot know."""
    footage, down = specimen.contacts.footage, specimen.down
    wings = any(limb.kind == "wing" for limb in specimen.anatomy.limbs)
    aloft = not specimen.grounded or down.any(0).mean() < ALOFT
    if footage.duration <= 0:
        return ()
    if not footage.loops:
        return ("deeds",) if footage.duration < LONGEST else ()
    if aloft and (wings or not specimen.grounded):
        return ("flies",) if wings else ("floats",)
    if footage.turn:
        return ("turns",)
    if specimen.way.any() or specimen.ground.any():
        return ("steps",)
    if spread(points_of(specimen.anatomy, specimen.contacts.poses())) < STILL * specimen.anatomy.height:
        return ("stands",)
    if footage.duration > LINGERS:
        return ("lingers",)
    return ("leaps", "acts") if not down.any(0).all() else ("acts",)


def _as_figure(specimen: Specimen, prior: VideoPrior, cycle: Cycle, words: tuple[str, ...]) -> Screening:
    if prior.format.frames[:1] != (FRAMES,):
        raise ValueError(f"the prior '{prior.name}' does not take cycles of {FRAMES} frames")
    film_set = FigureSet(draw_figure(specimen.anatomy), VIEWS, prior.format.sizes[0][0])
    loops = ACTIONS[cycle.action].loops
    poses = _brought_back(
        specimen.anatomy, on_the_spot(cycle) if loops else cycle.T_world_joint, loops, film_set.length
    )
    with torch.no_grad():
        videos, rests = film_set.film(torch.as_tensor(poses[..., :3, :]).float()), film_set.at_rest()
    return Screening(prior.encode(videos), rests, limb_weights(scaled(videos), scaled(rests)), words)


def _brought_back(
    anatomy: Anatomy, poses: Float[Array, "frames joints 4 4"], loops: bool, leg: float
) -> Float[Array, "frames joints 4 4"]:
    """With the root over the place where it is at rest, on the whole or, if it does not loop, at first."""
    off = (poses if loops else poses[:1])[:, 0, :3, 3].mean(0) - anatomy.body.heads[0]
    off = off - off @ anatomy.up * anatomy.up
    if np.linalg.norm(off) < AWAY * leg:
        return poses
    found = poses.copy()
    found[..., :3, 3] -= off
    return found


def _on_its_way(specimen: Specimen, prior: VideoPrior) -> Screening:
    """As it is, over the ground, from its start; what loops goes on for as long as the prior's videos are."""
    from gambol.distillation.actors import actor_set
    from gambol.motion.draft import Draft

    footage, (height, width) = specimen.contacts.footage, prior.format.sizes[0]
    longest = footage.duration * prior.format.fps + 1
    fitting = [count for count in prior.format.frames if footage.loops or count <= longest]
    times = np.arange(max(fitting, default=min(prior.format.frames))) / prior.format.fps
    poses = footage.poses(times)
    share = times / footage.duration if footage.loops else np.clip(times / max(footage.duration, 1e-9), 0, 1)
    poses[..., :3, 3] += (share[:, None] * footage.drift - times[:, None] * specimen.contacts.ground)[:, None]
    world, rig = torch.as_tensor(poses[..., :3, :]).float(), build_rig(specimen.anatomy)
    start = Draft.at_rest(len(rig.nodes), len(times), max(float(times[-1]), 1 / prior.format.fps), loops=False)
    film_set = actor_set(specimen.character, specimen.anatomy, rig, (height, width), start, VIEWS).aimed(world)
    with torch.no_grad():
        videos = film_set.film(world)
        reference = {"none": None, "rest": film_set.at_rest(), "first": videos[:, 0]}[prior.reference]
        return Screening(prior.encode(videos), reference, None, ())
