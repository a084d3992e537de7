"""The training data: clips of the characters and motion captures in folders, and motions by formula.

A folder below the given one is a family: characters that share motions, so that families, and not files, are left out
for testing. Two small files may lie beside the characters: `index.tsv`, with the name and the label of motion captures
in its first two columns, and `family.toml`, with the axis they face (`forward = "-z"`).
"""

from __future__ import annotations

import pickle
import tomllib
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from zlib import crc32

import numpy as np
import torch

from gambol.character.anatomy import Anatomy, analyze
from gambol.character.character import Character
from gambol.creatures.zoo import random_creature
from gambol.errors import GambolError
from gambol.formats import character_files, load, read_suffixes
from gambol.motion.chains import find_chains
from gambol.motion.mocap_ground import levelled, standing_on_ground
from gambol.parallel import workers
from gambol.priors.tracks.training.clips import TrackSample, samples_of_clip
from gambol.priors.tracks.training.labels import label_of
from gambol.priors.tracks.training.procedural import procedural_samples

CAPTURE = (".bvh",)
"""Endings of motion capture, which is read, too."""
MOST_PARTS = 18
"""Bodies of more parts are left out."""
FORMULAS = 8
"""Actions of each body that are learned from formulas. A person has 71, which took nine tenths of the time in which the
file was read, and what has a formula is shown by it and not sampled."""
PLANS = ("quadruped",) * 5 + ("humanoid", "theropod", "bird", "reptile", "insect", "arachnid") * 2
"""Body plans of random creatures, by how often they are drawn."""


@dataclass(frozen=True)
class ReadFile:
    """What one file gave."""

    samples: list[TrackSample]
    skipped: list[str]
    """A sentence for each clip that was left out."""


def read_folder(
    folder: Path, on_progress: Callable[[int, int], None], most: int | None = None
) -> tuple[list[TrackSample], list[str]]:
    """All samples of the characters in a folder and below, and a sentence for each clip or file that was left out.
    Files are read by several processes. most: number of actions of each body by formula, if not all."""
    if not folder.is_dir():
        raise GambolError(f"'{folder}' is not a folder: give one with {', '.join((*read_suffixes(), *CAPTURE))} files")
    return _gathered(partial(_read_file, most), character_files([folder], CAPTURE), on_progress)


def creature_samples(
    count: int, seed: int, on_progress: Callable[[int, int], None], most: int | None = None
) -> list[TrackSample]:
    """Motions by formula of random creatures. most: number of actions of each that are drawn, if not all."""
    return _gathered(partial(_creature, seed, most), range(count), on_progress)[0]


def _gathered(
    read: Callable[..., ReadFile], items: Iterable, on_progress: Callable[[int, int], None]
) -> tuple[list[TrackSample], list[str]]:
    items = list(items)
    samples: list[TrackSample] = []
    skipped: list[str] = []
    with ProcessPoolExecutor(workers(), initializer=torch.set_num_threads, initargs=(1,)) as pool:
        for number, data in enumerate(pool.map(partial(_pickled, read), items, chunksize=4)):
            found: ReadFile = pickle.loads(data)
            samples += found.samples
            skipped += found.skipped
            on_progress(number + 1, len(items))
    return samples, skipped


def _pickled(read: Callable[..., ReadFile], item: object) -> bytes:
    """What was read, as bytes: tensors that are handed from process to process keep a file open each."""
    return pickle.dumps(read(item))


def family_of(path: Path) -> str:
    """The family of a file: its folder; of motion capture named subject_take, also the subject."""
    subject = path.stem.split("_")[0]
    return f"{path.parent.name}-{subject}" if path.suffix.lower() == ".bvh" else path.parent.name


def _read_file(most: int | None, path: Path) -> ReadFile:
    """Samples of one file. Whatever is wrong with it, the others are read."""
    found = ReadFile([], [])
    try:
        character, anatomy = opened(path)
        chains = find_chains(anatomy)
        if len(chains.chains) > MOST_PARTS:
            raise GambolError(f"has {len(chains.chains)} parts, more than {MOST_PARTS}")
    except Exception as error:  # of whatever kind: the folder is the user's, and the others may be hours of work
        found.skipped.append(f"{path.name}: {error}")
        return found
    mocap = path.suffix.lower() == ".bvh"
    for name, clip in character.clips.items():
        label = label_of(captions(path).get(path.name, name) if mocap else name, len(anatomy.legs))
        if label is None:
            found.skipped.append(f"{path.name}, {name}: the name means nothing that is learned")
            continue
        source = "mocap" if mocap else "artist"
        try:
            clip = levelled(character, anatomy, clip)[0] if mocap else clip
            found.samples.extend(samples_of_clip(character, anatomy, chains, clip, label, family_of(path), source))
        except Exception as error:  # as above
            found.skipped.append(f"{path.name}, {name}: {error}")
    if not mocap:
        generator = np.random.default_rng(crc32(path.name.encode()))
        try:
            found.samples.extend(procedural_samples(chains, path.stem, family_of(path), generator, most))
        except Exception as error:  # as above
            found.skipped.append(f"{path.name}, motions by formula: {error}")
    return found


def opened(path: Path) -> tuple[Character, Anatomy]:
    """A character on its ground, with its anatomy."""
    character = load(path)
    settings = path.parent / "family.toml"
    forward = tomllib.loads(settings.read_text()).get("forward") if settings.exists() else None
    if path.suffix.lower() == ".bvh":
        return standing_on_ground(character, next(iter(character.clips.values())), None, forward)
    return character, analyze(character, forward=forward)


def captions(path: Path) -> dict[str, str]:
    """Labels of motion captures by file name."""
    index = path.parent / "index.tsv"
    if not index.exists():
        return {}
    rows = [line.split("\t") for line in index.read_text().splitlines()]
    return {row[0]: row[1] for row in rows if len(row) > 1}


def _creature(seed: int, most: int | None, number: int) -> ReadFile:
    generator = np.random.default_rng([seed, number, 5])
    plan = str(generator.choice(PLANS))
    anatomy = analyze(random_creature(seed * 100_000 + number, plan).character())
    return ReadFile(procedural_samples(find_chains(anatomy), f"creature {number}", "creatures", generator, most), [])
