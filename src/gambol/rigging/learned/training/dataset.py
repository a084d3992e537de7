"""The rigs to learn from: files of characters, and random animals of the zoo."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import torch

from gambol.creatures.species import PLANS
from gambol.creatures.zoo import random_creature
from gambol.formats import load
from gambol.parallel import workers
from gambol.rigging.learned.training.examples import RigExample, example_of

ZOO = "zoo"
"""Family of the animals of the zoo."""


def read_examples(
    items: Sequence[Path | int], advance: Callable[[int, int], None]
) -> Iterator[tuple[Path | int, RigExample | str]]:
    """An example for each file, whose family is its folder, and for the random creature of each number; or why there is
    none."""
    with ProcessPoolExecutor(workers(), initializer=torch.set_num_threads, initargs=(1,)) as pool:
        for number, found in enumerate(zip(items, pool.map(_example, items), strict=True)):
            advance(number + 1, len(items))
            yield found


def _example(item: Path | int) -> RigExample | str:
    try:
        if isinstance(item, int):
            return example_of(random_creature(item, list(PLANS)[item % len(PLANS)]).character(), ZOO)
        return example_of(load(item), item.parent.name)
    except Exception as error:  # of whatever kind: one file of many must not end the reading of the others
        return str(error) or type(error).__name__
