"""Skeletons and clips that make an exporter's life hard, and a second opinion on what a .bvh file says."""

from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.character.skeleton import Pose, Skeleton
from gambol.formats.joints import joint_tree

FPS = 30.0


def random_character(seed: int, nodes: int = 14, roots: int = 1, scale: float = 0.2, helpers: int = 0) -> Character:
    """Bones in any direction, with any axes; scale: how much each differs from 1; helpers: nodes that are no joints."""
    rng = np.random.default_rng(seed)
    parents = np.array([-1 if i < roots else rng.integers(0, i) for i in range(nodes)])
    scales = 1 + scale * rng.uniform(-1, 1, (nodes, 1)) * np.ones(3)
    rest = Pose(rng.normal(size=(nodes, 3)), random_wxyz(rng, nodes), scales)
    is_joint = np.ones(nodes, bool)
    is_joint[rng.permutation(np.arange(roots, nodes))[:helpers]] = False
    skeleton = Skeleton(tuple(f"bone {i}" for i in range(nodes)), parents, rest, is_joint)
    return Character("beast", skeleton, (), np.zeros(0, np.int64), np.zeros((0, 4, 4)))


def random_wxyz(rng: np.random.Generator, count: int) -> np.ndarray:
    return np.roll(Rotation.random(count, random_state=int(rng.integers(2**31))).as_quat(), 1, axis=1)


def random_clip(character: Character, seed: int, frames: int = 9, stretch: float = 0.0, swell: float = 0.0) -> Clip:
    """All nodes turn and roots travel; stretch, swell: how much every second node moves in its parent, or grows."""
    rng = np.random.default_rng(seed)
    rest, nodes = character.skeleton.rest, len(character.skeleton)
    turns = Rotation.from_rotvec(np.cumsum(rng.normal(scale=0.4, size=(frames, nodes, 3)), axis=0).reshape(-1, 3))
    at_rest = Rotation.from_quat(np.tile(np.roll(rest.rotation, -1, axis=1), (frames, 1)))
    rotation = np.roll((at_rest * turns).as_quat(), 1, axis=1).reshape(frames, nodes, 4)
    translation = np.tile(rest.translation, (frames, 1, 1))
    translation[:, character.skeleton.parents < 0] += np.cumsum(rng.normal(scale=0.1, size=(frames, 1, 3)), axis=0)
    translation[:, ::2] += stretch * rng.normal(size=(frames, (nodes + 1) // 2, 3))
    scale = np.tile(rest.scale, (frames, 1, 1))
    scale[:, ::2] *= 1 + swell * rng.uniform(-1, 1, (frames, (nodes + 1) // 2, 1))
    return Clip.from_poses("dance", Pose(translation, rotation, scale), character.skeleton, FPS)


def joint_positions(character: Character, clip: Clip, times: np.ndarray) -> np.ndarray:
    """World positions (frames, joints, 3) in the order of exported joints; an added root is in the origin."""
    nodes, _ = joint_tree(character.skeleton)
    T_world = character.skeleton.world(clip.sample(character.skeleton, times))
    return np.where((nodes < 0)[:, None], 0.0, T_world[:, nodes][..., :3, 3])


def naive_positions(path: Path) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names, rest positions (joints, 3) and positions (frames, joints, 3) by the book, of a file without oddities."""
    head, body = path.read_text().split("MOTION")
    names, parents, offsets, channels, stack = [], [], [], [], []
    words = head.split()
    while words:
        word = words.pop(0)
        if word in ("ROOT", "JOINT"):
            names.append(words.pop(0))
            parents.append(stack[-1] if stack else -1)
            stack.append(len(names) - 1)
        elif word == "End":
            stack.append(-2)
        elif word == "}":
            stack.pop()
        elif word == "OFFSET" and stack[-1] >= 0:
            offsets.append([float(words.pop(0)) for _ in range(3)])
        elif word == "CHANNELS":
            channels.append([words.pop(0) for _ in range(int(words.pop(0)))])
    offsets = np.array(offsets)
    rest = np.zeros_like(offsets)
    for joint, parent in enumerate(parents):
        rest[joint] = offsets[joint] + (rest[parent] if parent >= 0 else 0)
    values = np.array([line.split() for line in body.strip().splitlines()[2:]], float)
    return names, rest, _posed(iter(values.T), parents, offsets, channels)


def _posed(columns, parents, offsets, channels) -> np.ndarray:
    turns, places = [], []
    for parent, offset, named in zip(parents, offsets, channels, strict=True):
        place, turn = offset, Rotation.identity()
        for channel in named:
            axis, kind, column = "XYZ".index(channel[0]), channel[1:], next(columns)
            if kind == "position":
                place = np.broadcast_to(place, (len(column), 3)).copy()
                place[:, axis] = column
            else:
                turn = turn * Rotation.from_euler("xyz"[axis], column[:, None], degrees=True)
        if parent >= 0:
            place, turn = places[parent] + turns[parent].apply(place), turns[parent] * turn
        turns.append(turn)
        places.append(place)
    return np.stack(places, axis=1)
