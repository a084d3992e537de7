"""Subjects: characters that the prior was not trained on, with the truth of what they do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gambol.character.anatomy import Anatomy, study
from gambol.creatures.gaits import actions_for
from gambol.creatures.zoo import random_creature
from gambol.errors import GambolError
from gambol.priors.pocket.artists.clips import Gathered
from gambol.priors.pocket.look import Figure, draw_figure
from gambol.priors.pocket.takes.cycle import Cycle
from gambol.priors.pocket.takes.herd import ACTION_OF, SHARES, gait_cycle
from gambol.priors.pocket.takes.take import film_takes, take_of
from gambol.priors.pocket.training.lessons import Lesson, lesson_of
from gambol.priors.pocket.training.school import HELD_OUT

TOLD = {"walk": "walking", "trot": "trotting", "run": "running", "jump": "jumping", "stand": "standing still"}
"""The actions that are told apart, and how one says them."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Subject:
    """A character and one cycle of each thing it is known to do."""

    name: str
    anatomy: Anatomy
    figure: Figure
    cycles: dict[str, Cycle]
    """By action."""


def held_out_creatures(
    count: int, seed: int = HELD_OUT, on_progress: Progress = lambda done, total: None
) -> list[Subject]:
    """Random creatures, the body plans in turn, with their analytic gaits."""
    if count < 1:
        raise GambolError(f"there must be at least 1 creature to test on, got {count}")
    plans, subjects = list(SHARES), []
    for number in range(count):
        plan = plans[number % len(plans)]
        anatomy = study(random_creature(seed + number, plan).character())
        subjects.append(_in_our_gaits(f"{plan} {number + 1}", anatomy))
        on_progress(number + 1, count)
    return subjects


def _in_our_gaits(name: str, anatomy: Anatomy) -> Subject:
    cycles = {}
    for gait in actions_for(anatomy):
        if ACTION_OF.get(gait, gait) not in TOLD:
            continue
        with suppress(GambolError):  # too short in the leg for this one
            cycle = gait_cycle(anatomy, gait)
            cycles[cycle.action] = cycle
    return Subject(name, anatomy, draw_figure(anatomy), cycles)


def real_bodies(gathered: Gathered) -> list[Subject]:
    """The characters of a folder that stand on legs, in our gaits instead of their artists': how well the prior moves
    skeletons that it does not know, apart from how anybody likes them to move."""
    found = (_in_our_gaits(path.stem, anatomy) for path, anatomy in gathered.bodies.items())
    return [subject for subject in found if subject.cycles]


def real_rigs(gathered: Gathered) -> list[Subject]:
    """The characters of a folder with their artists' clips, of each action the first cycle."""
    subjects: dict[Path, Subject] = {}
    for performance in gathered.performances:
        anatomy, cycle = performance.anatomy, performance.cycle
        if cycle.action not in TOLD:
            continue
        if performance.path not in subjects:
            subjects[performance.path] = Subject(performance.path.stem, anatomy, draw_figure(anatomy), {})
        subjects[performance.path].cycles.setdefault(cycle.action, cycle)
    if not subjects:
        raise GambolError(f"no character in {gathered.folder} has a clip that is called one of {', '.join(TOLD)}")
    return list(subjects.values())


@dataclass(frozen=True)
class Films:
    """A video of each thing that each subject does, and who that is."""

    subjects: tuple[str, ...]
    lesson: Lesson

    def one_of_each(self) -> Films:
        """The first of every subject."""
        chosen = [self.subjects.index(name) for name in dict.fromkeys(self.subjects)]
        lesson = self.lesson
        videos, rests, words = lesson.videos[chosen], lesson.rests[chosen], lesson.words[chosen]
        actions = tuple(lesson.actions[i] for i in chosen)
        return Films(tuple(self.subjects[i] for i in chosen), Lesson(videos, rests, words, actions))


def film_subjects(subjects: Sequence[Subject], size: int, seed: int = 0) -> Films:
    """Each from a random camera on either side."""
    pairs = [(subject, cycle) for subject in subjects for cycle in subject.cycles.values()]
    takes = [take_of(subject.figure, subject.anatomy, cycle) for subject, cycle in pairs]
    videos, rests = film_takes(takes, np.random.default_rng([seed, 9]), size, jitter=0.0)
    return Films(tuple(subject.name for subject, _ in pairs), lesson_of(takes, videos, rests))
