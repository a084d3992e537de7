"""Harvests of many characters, by several processes, one file each; what is there already is not made again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import torch

from gambol.creatures.species import PLANS
from gambol.creatures.zoo import random_creature
from gambol.distillation.config import preset_for
from gambol.distillation.harvest import HarvestConfig, harvest_clips, harvest_prior
from gambol.errors import AssetError
from gambol.formats import character_files, load
from gambol.parallel import workers
from gambol.poses.harvest_files import SUFFIX, HarvestedPoses, read_harvest, write_harvest
from gambol.priors.catalogue import BUILT_IN, open_prior
from gambol.priors.prior import Prior


@dataclass(frozen=True)
class Job:
    """What is harvested from each character."""

    source: str
    """'prior' or 'clips'."""
    prior: str
    sentences: tuple[str, ...]
    config: HarvestConfig
    folder: Path


@dataclass(frozen=True)
class Harvested:
    """What became of all characters."""

    characters: int
    poses: int
    skipped: list[tuple[str, str]]
    """Characters that gave nothing, and why."""
    rejected: list[tuple[str, int]]
    """Why frames were left out, and how many."""


def jobs_of(inputs: Sequence[Path], creatures: int = 0) -> list[Path | int]:
    """Files, those in folders included, and numbers of random creatures."""
    return [*character_files(inputs), *range(creatures)]


def harvest_all(
    job: Job, items: Sequence[Path | int], on_progress: Callable[[int, int], None] = lambda done, total: None
) -> Harvested:
    """Harvest all characters. Priors that come with gambol run in as many processes as there are cores."""
    characters, poses, skipped, rejected = 0, 0, [], Counter[str]()
    todo = sorted(items, key=lambda item: _place(job, item).exists(), reverse=True)
    count = workers() if job.prior in BUILT_IN else 1
    with ProcessPoolExecutor(count, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        for number, (item, found) in enumerate(zip(todo, pool.map(partial(_harvested, job), todo), strict=True)):
            if isinstance(found, str):
                skipped.append((_name(item), found))
            else:
                characters, poses = characters + 1, poses + found[0]
                rejected.update(dict(found[1]))
            on_progress(number + 1, len(todo))
    return Harvested(characters, poses, skipped, rejected.most_common())


def _name(item: Path | int) -> str:
    return f"creature-{item}" if isinstance(item, int) else f"{item.parent.name}-{item.stem}"


def _place(job: Job, item: Path | int) -> Path:
    return job.folder / (re.sub(r"[^\w.-]+", "-", _name(item)) + SUFFIX)


def _harvested(job: Job, item: Path | int) -> tuple[int, tuple[tuple[str, int], ...]] | str:
    """Number of poses of a character and what was left out, or why there are none. Whatever is wrong with one file, the
    others are harvested."""
    place = _place(job, item)
    try:
        found = read_harvest(place) if place.exists() else None
    except AssetError:  # cut off while it was written by another program
        found = None
    if found is None:
        try:
            found = _harvest(job, item)
        except Exception as error:  # of whatever kind: the folder is the user's, and the others may be hours of work
            return str(error) or type(error).__name__
        write_harvest(place, found)
    return (len(found.poses), found.rejected) if len(found.poses) else "no pose was plausible"


def _harvest(job: Job, item: Path | int) -> HarvestedPoses:
    if isinstance(item, int):
        character, family = random_creature(item, list(PLANS)[item % len(PLANS)]).character(), "creatures"
    else:
        character, family = load(item), item.parent.name
    if job.source == "clips":
        return harvest_clips(character, family, job.config)
    prior = _prior(job.prior)
    config = preset_for("draft", prior)
    config = replace(config, sample=replace(config.sample, candidates=1))
    return harvest_prior(character, family, prior, config, job.config, job.sentences)


@cache
def _prior(name: str) -> Prior:
    return open_prior(name)
