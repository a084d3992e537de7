"""Walkers and clips for the tests of editing. All are shared: analysing one takes longer than a test."""

from dataclasses import replace
from functools import cache

import numpy as np
from character.creatures import dog, fish, human, turned

from gambol.character.anatomy import Anatomy, analyze
from gambol.character.character import Character
from gambol.character.clip import Clip, Track, continuous
from gambol.character.transforms import normalize, quaternion_multiply
from gambol.creatures.gaits import gait

ARMATURE = (np.cos(np.pi / 4), -np.sin(np.pi / 4), 0.0, 0.0)
"""A quarter turn about x, as Blender puts above what stands along z."""


@cache
def walker(name: str, armature: bool = False) -> tuple[Character, Anatomy]:
    """Of clay; armature: with a node above its hips, which turns and scales it."""
    character = {"dog": dog, "human": human, "fish": fish}[name]()
    if armature:
        character = _under_an_armature(character)
    return character, analyze(character)


def _under_an_armature(character: Character) -> Character:
    """Which changes nothing in the world: its hips are turned and scaled back."""
    lifted = turned(character, ARMATURE, 0.01)
    rest, roots = lifted.skeleton.rest, np.flatnonzero(character.skeleton.parents < 0)
    back = np.array(ARMATURE) * (1, -1, -1, -1)
    translation, rotation, scale = rest.translation.copy(), rest.rotation.copy(), rest.scale.copy()
    x, y, z = 100 * translation[roots].T
    translation[roots] = np.stack([x, -z, y], axis=1)
    rotation[roots], scale[roots] = quaternion_multiply(np.tile(back, (len(roots), 1)), rotation[roots]), 100.0
    rest = replace(rest, translation=translation, rotation=rotation, scale=scale)
    return replace(lifted, skeleton=replace(lifted.skeleton, rest=rest))


@cache
def walk(name: str, action: str = "walk", in_place: bool = False, armature: bool = False) -> Clip:
    return gait(*walker(name, armature), action, in_place=in_place)


def places(character: Character, clip: Clip, times: np.ndarray) -> np.ndarray:
    """Of all joints in the world (times, joints, 3)."""
    T_world = character.skeleton.world(clip.sample(character.skeleton, np.asarray(times, float)))
    return T_world[..., :3, 3][:, character.skeleton.is_joint]


def rounds_of(clip: Clip, rounds: float, name: str = "rounds", fps: float = 60.0) -> Clip:
    """A loop several times over, or not even to its end, as one clip; its way goes on."""
    times = np.arange(round(rounds * clip.duration * fps) + 1) / fps
    number = np.floor(times / clip.duration + 1e-9)
    tracks = []
    for track in clip.tracks:
        values = track.sample(clip.start + times - number * clip.duration)
        if track.path == "rotation":
            values = continuous(values)
        else:
            first, last = track.sample(np.array([clip.start, clip.end]))
            values = values + number[:, None] * (last - first)
        tracks.append(Track(track.node, track.path, times, values))
    return Clip(name, tuple(tracks))


def joined(*clips: Clip, name: str = "joined") -> Clip:
    """One after the other, of the same tracks; each goes on from where the one before ended."""
    tracks = []
    for number, track in enumerate(clips[0].tracks):
        times, values, end = [], [], None
        since = 0.0
        for clip in clips:
            part = clip.tracks[number]
            assert (part.node, part.path) == (track.node, track.path)
            shift = 0.0 if end is None or track.path == "rotation" else end - part.values[0]
            skipped = 0 if end is None else 1
            times.append(since + part.times[skipped:])
            values.append(part.values[skipped:] + shift)
            end, since = values[-1][-1], since + clip.duration
        found = np.concatenate(values)
        found = continuous(found) if track.path == "rotation" else found
        tracks.append(Track(track.node, track.path, np.concatenate(times), found))
    return Clip(name, tuple(tracks))


def held(clip: Clip, seconds: float) -> Clip:
    """Its first pose for so long, with its tracks."""
    first = [track.sample(np.array([clip.start, clip.start])) for track in clip.tracks]
    times = np.array([0.0, seconds])
    return Clip("held", tuple(Track(t.node, t.path, times, v) for t, v in zip(clip.tracks, first, strict=True)))


def fall(character: Character) -> Clip:
    """It tips over about its left-right axis, and lies."""
    hips = int(np.flatnonzero(character.skeleton.parents < 0)[0])
    rest = character.skeleton.rest
    times = np.linspace(0, 1.5, 46)
    angle = np.pi / 2 * np.clip(times, 0, 1) ** 2
    turn = np.stack([np.cos(angle / 2), np.sin(angle / 2), 0 * angle, 0 * angle], axis=1)
    rotation = quaternion_multiply(turn, np.broadcast_to(rest.rotation[hips], turn.shape))
    height = rest.translation[hips] * np.stack([0 * angle + 1, 0.15 + 0.85 * np.cos(angle), 0 * angle + 1], axis=1)
    return Clip("death", (Track(hips, "rotation", times, rotation), Track(hips, "translation", times, height)))


def random_track(rng: np.random.Generator, path: str, interpolation: str, node: int = 0, keys: int = 6) -> Track:
    """Uneven keys, the first not at zero; rotations turn by up to a radian from each to the next."""
    times = 0.2 + np.cumsum(rng.uniform(0.05, 0.5, keys))
    width = {"rotation": 4, "weights": 5}.get(path, 3)
    if path == "rotation":
        values = [normalize(rng.normal(size=4))]
        for _ in range(keys - 1):
            values.append(normalize(values[-1] + rng.normal(scale=0.25, size=4)))
        values = np.array(values)
    else:
        values = rng.normal(size=(keys, width))
    if interpolation == "CUBICSPLINE":
        tangents = rng.normal(scale=0.5, size=(2, keys, width))
        values = np.stack([tangents[0], values, tangents[1]], axis=1)
    return Track(node, path, times, values, interpolation)


def angles_between(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of rotations [rad]."""
    apart = np.minimum(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1))
    return 4 * np.arcsin(np.minimum(apart / 2, 1.0))
