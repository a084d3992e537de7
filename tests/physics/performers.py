"""Characters on physique, and smooth random motions for them. All are shared: studying one takes longer than a test."""

import dataclasses
from functools import cache

import numpy as np
import torch
from character.creatures import dog, human, spider

from gambol.character.anatomy import study
from gambol.character.character import Character
from gambol.character.skeleton import Pose
from gambol.creatures.gaits import gait
from gambol.motion.draft import Draft
from gambol.motion.motion import Motion, Track
from gambol.physics.ragdoll import Ragdoll
from gambol.physics.take import Physique, Take

MAKERS = {"dog": dog, "human": human, "spider": spider}


@cache
def stage_of(name: str, *actions: str) -> Physique:
    """Of clay, with gaits as clips."""
    return on_stage(with_gaits(MAKERS[name](), *actions))


def on_stage(character: Character) -> Physique:
    return Physique(character, study(character))


def with_gaits(character: Character, *actions: str, **style) -> Character:
    anatomy = study(character)
    return with_clips(character, *(gait(character, anatomy, action, **style) for action in actions))


def with_clips(character: Character, *motions: Motion) -> Character:
    return dataclasses.replace(character, clips={**character.clips, **{each.name: each for each in motions}})


def with_rest(character: Character, rest: Pose) -> Character:
    """Another rest pose of the nodes under the same skin."""
    skeleton = dataclasses.replace(character.skeleton, rest=rest)
    shown = character.skeleton.world()[character.bind_nodes] @ character.inverse_binds
    binds = np.linalg.inv(skeleton.world()[character.bind_nodes]) @ shown
    return dataclasses.replace(character, skeleton=skeleton, inverse_binds=binds)


@cache
def take_of(name: str, action: str) -> Take:
    """As it is: a gait needs no mending, which takes seconds."""
    return stage_of(name, action).take(action, mend=False)


def near_ground(take: Take) -> Ragdoll:
    return take.physique.ragdoll.only_points(take.physique.near_ground(take.reference))


def cut(motion: Motion, until: float, name: str) -> Motion:
    """Its first part, up to this share of it: that no longer loops."""
    times = motion.start + until * motion.duration * np.linspace(0, 1, 64)
    return Motion(name, tuple(Track(each.node, each.path, times, each.sample(times)) for each in motion.tracks))


def waving_draft(physique: Physique, seed: int, frames: int = 12, loops: bool = False, size: float = 0.5) -> Draft:
    """Every joint swings by about `size` [rad], and the body goes somewhere, leans and turns."""
    random = torch.Generator().manual_seed(seed)
    joints = len(physique.rig.nodes)
    still = Draft.at_rest(joints, frames, 1.0, loops)

    def wave(*shape: int) -> torch.Tensor:
        phases = 2 * torch.pi * (still.along.view(-1, *[1] * len(shape)) + torch.rand(shape, generator=random))
        return torch.randn(shape, generator=random) * torch.sin(phases)

    up = torch.as_tensor(physique.anatomy.up).float()
    way = physique.length * torch.randn(3, generator=random)
    waved = dataclasses.replace(
        still,
        angles=size * wave(joints, 3),
        root_translation=0.3 * physique.length * wave(3),
        root_angles=size * wave(3),
    )
    return waved.leading(way - (way @ up) * up)
