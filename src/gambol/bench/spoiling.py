"""Spoiled copies of clips, made by code and always the same, to see whether `gambol report` notices.

`SPOILERS` lists them by name. Each takes a `Source` and returns a clip of the same name, or None where the body or the
clip has nothing to spoil: only a clip that loops has legs to bring into step, only a trunk with a chest twists.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from gambol.actions import ACTIONS
from gambol.character.anatomy import Anatomy, Part
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.character.skeleton import Pose
from gambol.character.transforms import (
    matrix_from_quaternion,
    quaternion_from_matrix,
    rotation_about,
    slerp,
)
from gambol.motion.loops import loop_travel

FPS = 30.0
Spoiler = Callable[["Source"], Clip | None]


@dataclass(frozen=True)
class Source:
    """A clip to spoil, as poses at 30 frames per second."""

    character: Character
    anatomy: Anatomy
    clip: Clip
    action: str

    @cached_property
    def poses(self) -> Pose:
        times = self.clip.start + np.linspace(0, self.clip.duration, max(round(self.clip.duration * FPS), 4) + 1)
        return self.clip.sample(self.character.skeleton, times)

    def made(self, poses: Pose, pace: float = 1.0) -> Clip:
        """The clip of some poses. pace: how many times faster it plays."""
        fps = (len(poses.translation) - 1) / max(self.clip.duration, 1e-3) * pace
        return Clip.from_poses(self.clip.name, poses, self.character.skeleton, fps)

    @property
    def frames(self) -> int:
        return len(self.poses.translation)

    def node_of(self, part: Part) -> int | None:
        """The node of the first joint of a part of the body."""
        joints = self.anatomy.joints_of(part)
        return int(self.anatomy.body.nodes[joints[0]]) if joints else None

    def limb_nodes(self, kinds: tuple[str, ...]) -> list[int]:
        body = self.anatomy.body
        return [int(body.nodes[joint]) for limb in self.anatomy.limbs if limb.kind in kinds for joint in limb.chain]

    def turned(self, node: int, turns: np.ndarray) -> Pose:
        """The poses with a node turned about itself by rotations (frames 3 3) in the space of the file."""
        world = self.character.skeleton.world(self.poses)
        parent = int(self.character.skeleton.parents[node])
        above = world[:, parent, :3, :3] if parent >= 0 else np.tile(np.eye(3), (self.frames, 1, 1))
        above = above / np.cbrt(np.abs(np.linalg.det(above)))[:, None, None]
        rotation = self.poses.rotation.copy()
        own = matrix_from_quaternion(rotation[:, node])
        rotation[:, node] = quaternion_from_matrix(np.linalg.inv(above) @ turns @ above @ own)
        return replace(self.poses, rotation=rotation)

    def shifted(self, ways: np.ndarray) -> Pose:
        """The poses with the whole body shifted by ways (frames 3) [file units]."""
        translation = self.poses.translation.copy()
        for root in np.flatnonzero(self.character.skeleton.parents < 0):
            translation[:, root] += ways
        return replace(self.poses, translation=translation)


def twisted(source: Source, degrees: float) -> Clip | None:
    """The chest, with arms and head, turned against the pelvis about the vertical."""
    body = source.anatomy.body
    arms = [limb for limb in source.anatomy.limbs if limb.kind in ("arm", "wing")]
    legs = source.anatomy.legs
    front = arms or [leg for leg in legs if leg.rank == 0 and legs[-1].rank > 0]
    if not front or not legs:
        return None
    hind = legs[-1].chain[0]
    chest = next(iter(body.above(front[0].chain[0])), None)
    if chest is None or chest in body.above(hind) or body.parents[chest] < 0:
        return None
    turns = np.repeat(rotation_about(source.anatomy.up, np.radians([degrees])), source.frames, 0)
    return source.made(source.turned(int(body.nodes[chest]), turns))


def head_over(source: Source, degrees: float) -> Clip | None:
    """The head rolled over, upside down at 180 degrees."""
    node = source.node_of("head")
    if node is None:
        return None
    turns = np.repeat(rotation_about(source.anatomy.forward, np.radians([degrees])), source.frames, 0)
    return source.made(source.turned(node, turns))


def scaled(source: Source, factor: float) -> Clip:
    """Every joint moves so many times as far about its mean pose; 0.1 is almost frozen."""
    poses = source.poses
    mean = poses.rotation * np.sign((poses.rotation * poses.rotation[:1]).sum(-1, keepdims=True) + 1e-12)
    mean = mean.mean(0)
    mean = np.broadcast_to(mean / np.linalg.norm(mean, axis=-1, keepdims=True), poses.rotation.shape)
    rotation = slerp(mean, poses.rotation, factor)
    centre = poses.translation.mean(0)
    return source.made(replace(poses, rotation=rotation, translation=centre + factor * (poses.translation - centre)))


def lifted(source: Source, share: float) -> Clip | None:
    """The whole body higher by a share of its height; below the ground if negative."""
    if not source.anatomy.stands or ACTIONS[source.action].afloat:
        return None
    way = share * source.anatomy.height * source.anatomy.up
    return source.made(source.shifted(np.repeat(way[None], source.frames, 0)))


def paced(source: Source, pace: float) -> Clip:
    """The same so many times faster."""
    return source.made(source.poses, pace)


def trembling(source: Source, kinds: tuple[str, ...], degrees: float) -> Clip | None:
    """Noise on every frame of the joints of some limbs."""
    nodes = source.limb_nodes(kinds)
    if not nodes:
        return None
    noise = np.random.default_rng(0)
    rotation = source.poses.rotation.copy()
    for node in nodes:
        axes = noise.normal(size=(source.frames, 3))
        axes /= np.linalg.norm(axes, axis=1, keepdims=True)
        angles = np.radians(degrees) * noise.normal(size=source.frames)
        small = np.concatenate([np.cos(angles / 2)[:, None], np.sin(angles / 2)[:, None] * axes], axis=1)
        turned = matrix_from_quaternion(rotation[:, node]) @ matrix_from_quaternion(small)
        rotation[:, node] = quaternion_from_matrix(turned)
    return source.made(replace(source.poses, rotation=rotation))


def sliding(source: Source, factor: float) -> Clip | None:
    """The root travels so many times as far; who acts in place glides ahead by half its height a second."""
    if not source.anatomy.stands or ACTIONS[source.action].afloat or ACTIONS[source.action].airborne:
        return None
    travel = loop_travel(source.character, source.clip)
    way = (factor - 1) * travel if travel is not None else np.zeros(3)
    if np.linalg.norm(way) < 0.05 * source.anatomy.height:
        if ACTIONS[source.action].steps:  # a walk in place that travels may as well be right
            return None
        way = 0.5 * source.anatomy.height * source.clip.duration * source.anatomy.forward
    return source.made(source.shifted(np.linspace(0, 1, source.frames)[:, None] * way))


def in_step(source: Source) -> Clip | None:
    """The left legs half a cycle later, so that both sides of a walk go together."""
    steps = ACTIONS[source.action].steps and loop_travel(source.character, source.clip) is not None
    if not steps or len(source.anatomy.legs) not in (2, 4):
        return None
    body, rotation = source.anatomy.body, source.poses.rotation.copy()
    later = np.r_[source.frames // 2 : source.frames - 1, 0 : source.frames // 2 + 1][: source.frames]
    for leg in source.anatomy.legs:
        if leg.side == "left":
            for joint in leg.joints:
                rotation[:, body.nodes[joint]] = rotation[later, body.nodes[joint]]
    return source.made(replace(source.poses, rotation=rotation))


SPOILERS: dict[str, Spoiler] = {
    "twisted 60°": partial(twisted, degrees=60.0),
    "twisted 90°": partial(twisted, degrees=90.0),
    "head upside down": partial(head_over, degrees=180.0),
    "frozen to 10 %": partial(scaled, factor=0.1),
    "amplitude 0.3": partial(scaled, factor=0.3),
    "amplitude 2": partial(scaled, factor=2.0),
    "floats 15 %": partial(lifted, share=0.15),
    "sunk 15 %": partial(lifted, share=-0.15),
    "2.5 times too slow": partial(paced, pace=0.4),
    "2.5 times too fast": partial(paced, pace=2.5),
    "arms tremble": partial(trembling, kinds=("arm", "wing"), degrees=8.0),
    "legs tremble": partial(trembling, kinds=("leg",), degrees=8.0),
    "slides": partial(sliding, factor=2.0),
    "legs in step": in_step,
}
"""Ways to spoil a clip by name; the wrong action is made in `benchmarks/verdicts.py`, of two clips."""
