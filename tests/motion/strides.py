"""Clips whose contacts are known: strides of clay creatures, longer, moved, and standing still."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from character.creatures import dog, human, spider

from gambol import Anatomy, Character, Clip, analyze
from gambol.character.clip import Track
from gambol.creatures.gaits import gait
from gambol.creatures.gaits.footfalls import Footfalls, table_for
from gambol.quality.normalized_clip import NormalizedClip, normalize_clip

MAKERS = {"dog": dog, "human": human, "spider": spider}


@cache
def body(name: str) -> tuple[Character, Anatomy]:
    character = MAKERS[name]()
    return character, analyze(character)


@dataclass(frozen=True)
class Stride:
    """One stride, and what is known of it."""

    character: Character
    anatomy: Anatomy
    clip: Clip
    footfalls: Footfalls

    @property
    def phases(self) -> np.ndarray:
        """When each foot comes down [cycles]."""
        pairs = len(self.anatomy.legs) // 2
        return np.array([self.footfalls.phase(leg, pairs) for leg in self.anatomy.legs])

    def examined(self, clip: Clip | None = None) -> NormalizedClip:
        return normalize_clip(self.character, clip or self.clip, self.anatomy)


@cache
def stride(name: str, action: str, in_place: bool = False) -> Stride:
    character, anatomy = body(name)
    clip = gait(character, anatomy, action, in_place=in_place)
    return Stride(character, anatomy, clip, table_for(len(anatomy.legs))[action])


def longer(clip: Clip, rounds: float, rate: float = 240.0) -> Clip:
    """Round after round, one way farther each time."""
    times = np.arange(round(rounds * clip.duration * rate) + 1) / rate
    number = np.floor(times / clip.duration + 1e-9)
    tracks = []
    for track in clip.tracks:
        values = track.sample(times - number * clip.duration)
        if track.path == "translation":
            first, last = track.sample(np.array([clip.start, clip.end]))
            values = values + number[:, None] * (last - first)
        tracks.append(Track(track.node, track.path, times, values))
    return Clip(clip.name, tuple(tracks))


def moved(character: Character, clip: Clip, way: Callable[[np.ndarray], np.ndarray], rate: float = 240.0) -> Clip:
    """The whole body shifted, by so much at a time [file units]; clay creatures have one root, without a turn."""
    root = int(np.flatnonzero(character.skeleton.parents < 0)[0])
    times = clip.start + np.arange(round(clip.duration * rate) + 1) / rate
    track = next((track for track in clip.tracks if track.node == root and track.path == "translation"), None)
    rest = np.tile(character.skeleton.rest.translation[root], (len(times), 1))
    values = (track.sample(times) if track else rest) + way(times)
    others = tuple(each for each in clip.tracks if each is not track)
    return replace(clip, tracks=(*others, Track(root, "translation", times, values)))


def slower(made: Stride, factor: float) -> Clip:
    """The same steps, the body going on only by a part of what it should, or more: feet slide by the rest."""
    whole = made.examined()
    way = whole.T_norm_file[:3, :3].T @ whole.travel * made.anatomy.height**2
    return moved(made.character, made.clip, lambda t: (factor - 1) * np.outer(t / made.clip.duration, way))


def standing(character: Character, seconds: float = 2.0) -> Clip:
    """Nothing moves; in no time, it is a single pose."""
    root = int(np.flatnonzero(character.skeleton.parents < 0)[0])
    times = np.array([0.0, seconds] if seconds else [0.0])
    values = np.tile(character.skeleton.rest.translation[root], (len(times), 1))
    return Clip("standing", (Track(root, "translation", times, values),))
