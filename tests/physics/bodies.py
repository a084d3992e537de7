"""Physical characters and smooth random motions for them. They are cached: analysing one takes longer than a test."""

import dataclasses
from functools import cache

import numpy as np
import torch
from character.creatures import dog, human, spider

from gambol.character.anatomy import analyze
from gambol.character.character import Character
from gambol.character.clip import Clip, Track
from gambol.character.skeleton import Pose
from gambol.creatures.gaits import gait
from gambol.motion.rig_motion import RigMotion
from gambol.physics.ragdoll import Ragdoll
from gambol.physics.target import PhysicalCharacter, TrackingTarget

MAKERS = {"dog": dog, "human": human, "spider": spider}


@cache
def body_of(name: str, *actions: str) -> PhysicalCharacter:
    """Of clay, with gaits as clips."""
    return body_with(with_gaits(MAKERS[name](), *actions))


def body_with(character: Character) -> PhysicalCharacter:
    return PhysicalCharacter(character, analyze(character))


def with_gaits(character: Character, *actions: str, **style) -> Character:
    anatomy = analyze(character)
    return with_clips(character, *(gait(character, anatomy, action, **style) for action in actions))


def with_clips(character: Character, *clips: Clip) -> Character:
    return dataclasses.replace(character, clips={**character.clips, **{each.name: each for each in clips}})


def with_rest(character: Character, rest: Pose) -> Character:
    """Another rest pose of the nodes under the same skin."""
    skeleton = dataclasses.replace(character.skeleton, rest=rest)
    shown = character.skeleton.world()[character.bind_nodes] @ character.inverse_binds
    binds = np.linalg.inv(skeleton.world()[character.bind_nodes]) @ shown
    return dataclasses.replace(character, skeleton=skeleton, inverse_binds=binds)


@cache
def target_of(name: str, action: str) -> TrackingTarget:
    """Feet are not locked, which takes seconds."""
    return body_of(name, action).target(action, fix_feet=False)


def near_ground(target: TrackingTarget) -> Ragdoll:
    return target.body.ragdoll.only_points(target.body.near_ground(target.reference))


def cut(clip: Clip, until: float, name: str) -> Clip:
    """Its first part, up to this share of it: that no longer loops."""
    times = clip.start + until * clip.duration * np.linspace(0, 1, 64)
    return Clip(name, tuple(Track(each.node, each.path, times, each.sample(times)) for each in clip.tracks))


def waving_motion(
    body: PhysicalCharacter, seed: int, frames: int = 12, loops: bool = False, size: float = 0.5
) -> RigMotion:
    """Every joint swings by about `size` [rad], and the body goes somewhere, leans and turns."""
    random = torch.Generator().manual_seed(seed)
    joints = len(body.rig.nodes)
    still = RigMotion.at_rest(joints, frames, 1.0, loops)

    def wave(*shape: int) -> torch.Tensor:
        phases = 2 * torch.pi * (still.along.view(-1, *[1] * len(shape)) + torch.rand(shape, generator=random))
        return torch.randn(shape, generator=random) * torch.sin(phases)

    up = torch.as_tensor(body.anatomy.up).float()
    way = body.length * torch.randn(3, generator=random)
    waved = dataclasses.replace(
        still,
        angles=size * wave(joints, 3),
        root_translation=0.3 * body.length * wave(3),
        root_angles=size * wave(3),
    )
    return waved.with_displacement(way - (way @ up) * up)
