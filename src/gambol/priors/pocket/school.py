"""What a training needs around it: takes to learn from and to test on, sheets, and the finished weights."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import torch

from gambol.priors.pocket.clips import gather, mirrored
from gambol.priors.pocket.herd import gather_herd
from gambol.priors.pocket.look import draw_figure
from gambol.priors.pocket.prior import PocketPrior, save_network
from gambol.priors.pocket.sheets import write_sheet
from gambol.priors.pocket.takes import Take, load_takes, take_of
from gambol.priors.pocket.train import Training, measure_gate
from gambol.priors.prior import Prompt
from gambol.priors.sample import sample

HELD_OUT = 1_000_000
"""Seeds of creatures from here on are for tests."""
TESTED = 20
"""Creatures the gate is measured on."""
SHOWN = 10
"""Rows of samples in a sheet."""

Progress = Callable[[int, int], None] | None


def gather_takes(folder: Path, creatures: int, seed: int, on_progress: Progress = None) -> list[Take]:
    return [take for path in gather_herd(folder / "takes", creatures, seed, on_progress) for take in load_takes(path)]


def held_out_takes(folder: Path, seed: int, on_progress: Progress = None) -> list[Take]:
    return gather_takes(folder, TESTED, seed + HELD_OUT, on_progress)


def film_clips(folder: Path, without: Sequence[str] = (), on_progress: Progress = None) -> tuple[list[Take], list[str]]:
    """Takes of artists' clips and their mirror images, but for files left out; and what was skipped, with the reason."""
    performances, skipped = gather(folder, on_progress)
    takes = []
    for performance in performances:
        if performance.path.stem in without:
            continue
        figure = draw_figure(performance.anatomy)
        twin = mirrored(performance.cycle, performance.anatomy)
        takes.extend(take_of(figure, performance.anatomy, cycle) for cycle in (performance.cycle, twin) if cycle)
    return takes, skipped


def show_samples(training: Training, path: Path) -> None:
    """Truth and sample from pure noise, row by row, of creatures that were not trained on."""
    prior = PocketPrior(training.averaged())
    lesson = training.held_out
    rows = []
    for number in range(min(SHOWN, len(lesson.actions))):
        action, rest = lesson.actions[number], lesson.rests[number : number + 1]
        truth, reference = prior.decode(lesson.videos[number : number + 1]), prior.decode(rest)
        prompt = Prompt(action, lesson.words[number])
        made = sample(prior, prompt, truth.shape, reference=reference, generator=torch.Generator().manual_seed(number))
        rows += [(f"{action}: truth", reference[0], truth[0]), ("sample", reference[0], prior.decode(made)[0])]
    write_sheet(rows, path)


def finish(training: Training, folder: Path) -> Path:
    """Write the averaged weights, with what is known about them."""
    network = training.averaged()
    path = folder / "weights.safetensors"
    gate = measure_gate(network, training.held_out)
    facts = {
        "videos": training.step * training.config.batch,
        "seed": training.config.seed,
        "actions": training.teacher.actions,
        "gate": asdict(gate),
        "licence": "Apache-2.0",
    }
    save_network(network, path, json.loads(json.dumps(facts)))
    return path
