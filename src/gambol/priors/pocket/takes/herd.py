"""The herd: takes of random creatures, the pocket prior's first teachers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from gambol.character.anatomy import Anatomy, study
from gambol.creatures.gaits import actions_for, plan_gait
from gambol.creatures.zoo import random_creature
from gambol.errors import GambolError
from gambol.priors.pocket.look import draw_figure
from gambol.priors.pocket.takes.cycle import FRAMES, Cycle
from gambol.priors.pocket.takes.flight import flight
from gambol.priors.pocket.takes.take import Take, save_takes, take_of

SHARES = {
    "quadruped": 0.34,
    "humanoid": 0.20,
    "theropod": 0.12,
    "bird": 0.13,
    "reptile": 0.07,
    "insect": 0.07,
    "arachnid": 0.07,
}
"""How often each body plan comes."""
ACTION_OF = {"idle": "stand", "jog": "trot", "gallop": "run"}
"""What gaits are called here, if otherwise; animals pace when told to trot, so that is left out."""
FASTER = 1.3
"""The speed of pace 1, in usual speeds."""
TOGETHER = 20
"""Creatures in a file."""
VERSION = 2
"""Of what creatures do; files of another are not used."""


def takes_of_creature(seed: int) -> list[Take]:
    """Everything a random creature can do, each action once, at a random pace."""
    generator = np.random.default_rng([seed, 5])
    plan = str(generator.choice(list(SHARES), p=list(SHARES.values())))
    anatomy = study(random_creature(seed, plan).character())
    takes = takes_of_body(anatomy, generator)
    takes.extend(flight(takes[0], generator) if takes and "winged" in anatomy.plan else [])
    return takes


def takes_of_body(anatomy: Anatomy, generator: np.random.Generator) -> list[Take]:
    """Every gait that a body can do, each once, at a random pace."""
    figure, takes = draw_figure(anatomy), []
    for name in actions_for(anatomy):
        if name == "pace":
            continue
        try:
            cycle = gait_cycle(anatomy, name, float(generator.uniform(-1, 1)), generator)
        except GambolError:  # too short in the leg for this one
            continue
        takes.append(take_of(figure, anatomy, cycle))
    return takes


def gait_cycle(anatomy: Anatomy, gait: str, pace: float = 0.0, generator: np.random.Generator | None = None) -> Cycle:
    """A gait in canonical time; with a generator its stride and bounce vary a little."""
    stride, bounce = (1.0, 1.0) if generator is None else 1.12 ** generator.uniform(-1, 1, 2)
    plan = plan_gait(anatomy, gait, speed=FASTER**pace, stride=float(stride), bounce=float(bounce))
    world = plan.world(np.arange(FRAMES) / FRAMES)
    travel = plan.path.stride * anatomy.forward
    return Cycle(ACTION_OF.get(plan.action, plan.action), world, travel, plan.period, pace)


def gather_herd(
    folder: Path, creatures: int, first_seed: int, on_progress: Callable[[int, int], None] | None = None
) -> list[Path]:
    """Files of takes, TOGETHER creatures each; those that exist are not made again."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for first in range(0, creatures, TOGETHER):
        count, seed = min(TOGETHER, creatures - first), first_seed + first
        path = folder / f"creatures-{VERSION}-{seed}-{count}.safetensors"
        paths.append(path)
        takes = []
        for number in range(0 if path.exists() else count):
            takes.extend(takes_of_creature(seed + number))
            if on_progress:
                on_progress(first + number + 1, creatures)
        if takes:
            save_takes(takes, path)
    return paths
