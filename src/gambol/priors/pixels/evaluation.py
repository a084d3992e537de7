"""How good the pixel prior is, measured on characters that it was not trained on.

It must recognise actions in true videos and in its own samples, and the legs of motions that were fitted to its samples
must move as the true ones do: knees bend as far, feet rise as high, and feet follow each other in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.actions import ACTION_OF_GAIT, TABLE
from gambol.character.anatomy import Anatomy, analyze
from gambol.character.character import Character
from gambol.creatures.gaits import actions_for
from gambol.creatures.zoo import random_creature
from gambol.errors import GambolError
from gambol.motion.gait import LEAST_FLEXION, LEAST_LIFT, measure_gait, phase_errors, ratios
from gambol.priors.pixels.actions import PIXEL_ACTIONS
from gambol.priors.pixels.data.clips import ClipLibrary
from gambol.priors.pixels.data.cycle import ActionCycle, poses_in_place
from gambol.priors.pixels.data.stroke_motion import render_motions, stroke_motion_of
from gambol.priors.pixels.data.synthetic import SHARES, gait_cycle
from gambol.priors.pixels.figure import draw_stick_figure, limb_weights, unscaled
from gambol.priors.pixels.training.dataset import HELD_OUT, Batch, batch_of
from gambol.priors.prior import VideoPrior
from gambol.priors.recognise import log_errors
from gambol.priors.sample import draw_noise, sample
from gambol.priors.schedule import Latents

LEVELS = (0.6, 0.8, 0.9, 0.95)
"""Noise levels at which actions are recognised."""
TOGETHER = 12
"""Videos in one call of the prior, for the sake of memory."""
GAITS = tuple(action.name for action in TABLE if action.steps and action.name in PIXEL_ACTIONS)
"""Actions whose knees, feet and phases are measured; a quadruped's run is a gallop."""
RECOGNISED = 0.85
"""Least share of videos whose action is recognised."""
TOLERANCE = 0.25
"""Largest relative error of the median knee flexion and foot lift, and of at least half of all legs."""
PHASE = 0.03
"""Largest mean phase error [cycles]."""
EVALUATED = tuple(action.name for action in TABLE if action.evaluated)
"""The actions that are evaluated; their names are the prompts."""

OnProgress = Callable[[int, int], None]
ProgressBars = Callable[[str], AbstractContextManager[OnProgress]]
"""Opens a progress bar with a title and yields its update (done, total), as `gambol.progress.progress` does."""


@dataclass(frozen=True)
class HeldOutCharacter:
    """A character and one true cycle of each action it is known to do."""

    name: str
    character: Character
    anatomy: Anatomy
    cycles: dict[str, ActionCycle]
    """True cycles by name of the action."""


def held_out_creatures(count: int, on_progress: OnProgress = lambda done, total: None) -> list[HeldOutCharacter]:
    """Random creatures, the body plans in turn, with their synthetic gaits."""
    plans, found = list(SHARES), []
    for number in range(count):
        plan = plans[number % len(plans)]
        character = random_creature(HELD_OUT + number, plan).character()
        anatomy = analyze(character)
        found.append(HeldOutCharacter(f"{plan} {number + 1}", character, anatomy, _synthetic_cycles(anatomy)))
        on_progress(number + 1, count)
    return found


def _synthetic_cycles(anatomy: Anatomy) -> dict[str, ActionCycle]:
    cycles = {}
    for gait in actions_for(anatomy):
        if ACTION_OF_GAIT.get(gait) not in EVALUATED:
            continue
        with suppress(GambolError):  # too short in the leg for this one
            cycle = gait_cycle(anatomy, gait)
            cycles[cycle.action] = cycle
    return cycles


def held_out_rigs(library: ClipLibrary) -> list[HeldOutCharacter]:
    """The characters of a folder with the first cycle of each action in their artists' clips."""
    found: dict[Path, HeldOutCharacter] = {}
    for clip in library.cycles:
        if clip.cycle.action in EVALUATED:
            own = found.setdefault(clip.path, HeldOutCharacter(clip.path.stem, clip.character, clip.anatomy, {}))
            own.cycles.setdefault(clip.cycle.action, clip.cycle)
    if not found:
        raise GambolError(f"no character in {library.folder} has a clip that is called one of {', '.join(EVALUATED)}")
    return list(found.values())


def render_cycles(characters: Sequence[HeldOutCharacter], size: int, seed: int = 0) -> Batch:
    """One video of each cycle of each character, from a random camera on either side."""
    motions = [
        stroke_motion_of(draw_stick_figure(each.anatomy), each.anatomy, cycle)
        for each in characters
        for cycle in each.cycles.values()
    ]
    videos, rests = render_motions(motions, np.random.default_rng([seed, 9]), size, jitter=0.0)
    return batch_of(motions, videos, rests)


Animate = Callable[[HeldOutCharacter, str], Float[np.ndarray, "frames joints 4 4"]]
"""(character, prompt) to the fitted T_world_joint of one cycle in place [file units]."""


def classify(
    prior: VideoPrior,
    latents: Latents,
    rests: Float[Tensor, "videos size size 3"],
    seed: int = 0,
    on_progress: OnProgress = lambda done, total: None,
) -> list[str]:
    """The action of `EVALUATED` under which the prior denoises each video best. rests: pictures at rest, scaled."""
    prompts, weights = [prior.embed(prompt) for prompt in EVALUATED], limb_weights(latents, rests)
    generator = torch.Generator().manual_seed(seed)
    found: list[str] = []
    for first in range(0, len(latents), TOGETHER):
        some = slice(first, first + TOGETHER)
        errors = log_errors(prior, latents[some], prompts, LEVELS, generator, unscaled(rests[some]), weights[some])
        found += [EVALUATED[int(best)] for best in errors.mean(1).argmin(0)]
        on_progress(len(found), len(latents))
    return found


@torch.no_grad()
def sample_actions(prior: VideoPrior, batch: Batch, seed: int = 0) -> Latents:
    """A video from pure noise for each of a batch: the same figure, camera and action, in one denoising step."""
    noise = draw_noise(batch.videos, torch.Generator().manual_seed(seed))
    made, rests = torch.empty_like(noise), unscaled(batch.rests)
    for i, action in enumerate(batch.actions):
        one = slice(i, i + 1)
        made[one] = sample(prior, prior.embed(action), noise=noise[one], steps=1, guidance=1.0, reference=rests[one])
    return made


def leg_measurements(
    characters: Sequence[HeldOutCharacter], animate: Animate, count: int, on_progress: OnProgress
) -> dict[str, Float[np.ndarray, " legs"]]:
    """Legs of motions that are fitted to samples, for `count` of the characters that have legs, evenly chosen: ratios
    of knee flexion ("flexion") and foot lift ("lift") to the true ones, and by the name of a gait phase errors of all
    feet but the left hind one, from which phases count [cycles]."""
    able = [each for each in characters if each.anatomy.legs and set(each.cycles) & set(GAITS)]
    chosen = [able[number * len(able) // count] for number in range(count)] if len(able) > count else able
    pairs = [(each, action) for each in chosen for action in GAITS if action in each.cycles]
    measured: dict[str, list] = {name: [np.zeros(0)] for name in ("flexion", "lift", *GAITS)}
    for done, (each, action) in enumerate(pairs, start=1):
        found = measure_gait(each.anatomy, animate(each, action))
        truth = measure_gait(each.anatomy, poses_in_place(each.cycles[action]))
        errors = phase_errors(found.phases, truth.phases)
        measured["flexion"].append(ratios(found.flexion, truth.flexion, LEAST_FLEXION))
        measured["lift"].append(ratios(found.lift, truth.lift, LEAST_LIFT))
        measured[action].append(errors[~np.isnan(errors) & (truth.phases != 0)])
        on_progress(done, len(pairs))
    return {name: np.concatenate(values) for name, values in measured.items()}


@dataclass(frozen=True)
class PriorCheck:
    """One requirement on a prior."""

    name: str
    found: float
    rule: str
    """What passes, in words."""
    passed: bool


def evaluate(
    prior: VideoPrior,
    characters: Sequence[HeldOutCharacter],
    animate: Animate,
    fitted: int,
    seed: int = 0,
    progress: ProgressBars = lambda what: nullcontext(lambda done, total: None),
) -> list[PriorCheck]:
    """Measure everything. fitted: number of characters whose motions are fitted, which takes most of the time."""
    batch = render_cycles(characters, prior.format.sizes[0][0], seed)
    checks = []
    samples = sample_actions(prior, batch, seed)
    for number, (kind, videos) in enumerate((("true videos", batch.videos), ("samples", samples))):
        with progress(f"recognising {kind}") as advance:
            named = classify(prior, videos, batch.rests, seed + number, advance)
        share = float(np.mean([one == other for one, other in zip(named, batch.actions, strict=True)]))
        checks.append(PriorCheck(f"actions recognised in {kind}", share, f">= {RECOGNISED}", share >= RECOGNISED))
    with progress("fitting samples") as advance:
        measured = leg_measurements(characters, animate, fitted, advance)
    for key, name in (("flexion", "knee flexion"), ("lift", "foot lift")):
        values = measured[key] if len(measured[key]) else np.full(1, np.nan)
        median, within = float(np.median(values)), float((np.abs(values - 1) <= TOLERANCE).mean())
        near = abs(median - 1) <= TOLERANCE
        checks.append(PriorCheck(f"{name} of samples / truth, median", median, f"1 ± {TOLERANCE}", near))
        checks.append(PriorCheck(f"{name}: share of legs within {TOLERANCE}", within, ">= 0.5", within >= 0.5))
    for action in GAITS:
        if len(measured[action]):
            mean = float(measured[action].mean())
            checks.append(PriorCheck(f"limb phases, {action}: mean error", mean, f"<= {PHASE}", mean <= PHASE))
    return checks
