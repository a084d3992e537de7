"""What a training needs around it: takes to learn from and to test on, sheets, and the finished weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch

from gambol.errors import GambolError
from gambol.priors.pocket.artists.clips import SUFFIXES, Gathered, mirrored
from gambol.priors.pocket.look import draw_figure, unscaled
from gambol.priors.pocket.prior import PocketPrior, save_network
from gambol.priors.pocket.sheets import write_sheet
from gambol.priors.pocket.takes.herd import gather_herd, takes_of_body
from gambol.priors.pocket.takes.take import Take, load_takes, take_of
from gambol.priors.pocket.training.train import Training, measure_gate
from gambol.priors.prior import Prompt
from gambol.priors.sample import sample

APART = 100_000
"""Between the seeds of the first creatures of two trainings."""
HELD_OUT = 1_000_000_000
"""Seeds of creatures from here on are for tests."""
TESTED = 20
"""Creatures the gate is measured on, or as many as are trained on."""
VISITS = 3
"""How often each of the artists' characters goes through all gaits, at other paces."""
SHOWN = 10
"""Rows of samples in a sheet."""

Progress = Callable[[int, int], None] | None


def gather_takes(folder: Path, creatures: int, seed: int, on_progress: Progress = None) -> list[Take]:
    """What the creatures of a training do."""
    if not 1 <= creatures <= APART:
        raise GambolError(f"a herd has 1 to {APART:,} creatures, got {creatures:,}")
    if not 0 <= seed < HELD_OUT // APART:
        raise GambolError(f"the seed must be a whole number from 0 to {HELD_OUT // APART - 1:,}, got {seed}")
    return _takes(folder, creatures, seed * APART, on_progress)


def held_out_takes(folder: Path, creatures: int, on_progress: Progress = None) -> list[Take]:
    """What the creatures do that no training sees."""
    return _takes(folder, min(creatures, TESTED), HELD_OUT, on_progress)


def _takes(folder: Path, creatures: int, first_seed: int, on_progress: Progress) -> list[Take]:
    paths = gather_herd(folder / "takes", creatures, first_seed, on_progress)
    return [take for path in paths for take in load_takes(path)]


def check_left_out(folder: Path, without: Sequence[str]) -> None:
    """GambolError if a file to leave out is not in the folder, before minutes of work."""
    stems = {path.stem for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES}
    for name in without:
        if folder.is_dir() and name not in stems:
            raise GambolError(f"--without {name}: no file of that name, without its ending, is in '{folder}'")


def film_clips(gathered: Gathered, without: Sequence[str] = ()) -> list[Take]:
    """Takes of artists' clips and their mirror images, but for files left out."""
    takes: list[Take] = []
    for performance in gathered.performances:
        if performance.path.stem in without:
            continue
        figure = draw_figure(performance.anatomy)
        twin = mirrored(performance.cycle, performance.anatomy)
        takes.extend(take_of(figure, performance.anatomy, cycle) for cycle in (performance.cycle, twin) if cycle)
    if not takes:
        raise GambolError(
            f"no clip in '{gathered.folder}' shows an action by its name; say --clips only if there are some"
        )
    return takes


def film_guests(gathered: Gathered, without: Sequence[str], seed: int, on_progress: Progress = None) -> list[Take]:
    """Takes of artists' characters in our gaits, a few times each, but for files left out: creatures are built alike,
    and artists' skeletons are not."""
    bodies = [anatomy for path, anatomy in gathered.bodies.items() if path.stem not in without]
    takes: list[Take] = []
    for number, anatomy in enumerate(bodies):
        generator = np.random.default_rng([seed, 6, number])
        for _ in range(VISITS):
            takes.extend(takes_of_body(anatomy, generator))
        if on_progress:
            on_progress(number + 1, len(bodies))
    return takes


def show_samples(training: Training, path: Path) -> None:
    """Truth and sample from pure noise, row by row, of creatures that were not trained on."""
    prior = PocketPrior(training.averaged())
    lesson = training.held_out
    rows = []
    for number in range(min(SHOWN, len(lesson.actions))):
        truth, rest = (unscaled(latents[number : number + 1]) for latents in (lesson.videos, lesson.rests))
        prompt, generator = Prompt("", lesson.words[number]), torch.Generator().manual_seed(number)
        made = prior.decode(sample(prior, prompt, tuple(truth.shape), reference=rest, generator=generator))
        rows += [(f"{lesson.actions[number]}: truth", rest[0], truth[0]), ("sample", rest[0], made[0])]
    write_sheet(rows, path)


def finish(training: Training, folder: Path, about: dict) -> Path:
    """Write the averaged weights, with what is known about them."""
    network = training.averaged()
    path = folder / "weights.safetensors"
    facts = {
        **about,
        "videos": training.step * training.config.batch,
        "actions": training.teacher.actions,
        "gate": asdict(measure_gate(network, training.held_out)),
    }
    save_network(network, path, facts)
    return path
