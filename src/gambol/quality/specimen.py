"""A specimen: a clip made ready to be measured. Every metric is a function of one.

The body is scaled to a height of 1 m and turned so that x is its left, y up and z forward, with the ground at y = 0: so
a mouse and an elephant, in whatever units, compare.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse

from gambol.character.anatomy import Anatomy, study
from gambol.character.character import Character, Mesh
from gambol.character.welding import Welded, weld
from gambol.errors import GambolError
from gambol.motion.contacts import Contacts, find_contacts
from gambol.motion.motion import Motion
from gambol.motion.stances import soles_of

Array = np.ndarray

MOMENTS = 48
"""At most so many frames are looked at with all of the skin."""


@dataclass(frozen=True, eq=False)
class Skin:
    """The mesh at some moments of a clip, with all meshes in one."""

    frames: Int[Array, " moments"]
    """Which frames of the specimen these are."""
    vertices: Float[Array, "moments vertices 3"]
    """[m]"""
    faces: Int[Array, "faces 3"]
    neutral: Float[Array, "vertices 3"]
    """In the neutral pose [m]."""

    @cached_property
    def welded(self) -> Welded | None:
        """The neutral pose without seams; None without a face that has three different corners."""
        try:
            return weld(self.neutral, self.faces) if len(self.faces) else None
        except GambolError:
            return None


@dataclass(frozen=True, eq=False)
class Specimen:
    """One clip of one character: [m], [s]."""

    character: Character
    anatomy: Anatomy
    motion: Motion
    contacts: Contacts
    T_own_file: Float[Array, "4 4"]
    """From the file's space and units."""

    @property
    def times(self) -> Float[Array, " frames"]:
        """Even, since the start [s]."""
        return self.contacts.times

    @property
    def rate(self) -> float:
        """Frames a second; about 60, more for short clips."""
        return self.contacts.rate

    @property
    def seconds(self) -> float:
        """Length of the clip; of what loops, until it begins again."""
        return self.contacts.footage.duration

    @property
    def loops(self) -> bool:
        """The frame after the last is the first again, moved on by `way`."""
        return self.contacts.loops

    @cached_property
    def way(self) -> Float[Array, 3]:
        """How far a round, or the whole clip, leads over the ground as the file has it [m]."""
        return self.T_own_file[:3, :3] @ self.contacts.footage.drift

    @cached_property
    def ground(self) -> Float[Array, 3]:
        """Velocity of the ground below a round in place, by its feet; zero where the body itself goes [m/s]."""
        return self.T_own_file[:3, :3] @ self.contacts.ground

    @property
    def grounded(self) -> bool:
        """Whether it has legs to stand on, so that feet and ground can be spoken of."""
        return self.anatomy.stands and bool(self.anatomy.legs)

    @cached_property
    def joints(self) -> Float[Array, "frames joints 4 4"]:
        """T_own_joint of the body's joints; their axes are as long as the file has them, over the height."""
        return self.T_own_file @ self.contacts.poses()

    @cached_property
    def neutral_joints(self) -> Float[Array, "joints 4 4"]:
        body = self.anatomy.body
        return self.T_own_file @ body.T_world_node[body.nodes]

    @property
    def down(self) -> Bool[Array, "legs frames"]:
        """Which feet are on the ground, in the order of `Anatomy.legs`."""
        return self.contacts.down

    @cached_property
    def soles(self) -> tuple[Float[Array, "frames points 3"], ...]:
        """Points of each leg's sole [m]."""
        return tuple(soles_of(self.anatomy, leg, self.joints) for leg in self.anatomy.legs)

    @cached_property
    def standing(self) -> tuple[Float[Array, " points"], ...]:
        """Height of those points in the neutral pose, since few soles are modelled level [m]."""
        neutral = self.neutral_joints[None]
        return tuple(soles_of(self.anatomy, leg, neutral)[0, :, 1] for leg in self.anatomy.legs)

    def steps(self, values: Float[Array, "frames ..."]) -> Float[Array, "steps ..."]:
        """Differences from each frame to the next. Of what loops also from the last to the first; there positions jump
        back by `way`, which `velocities` knows."""
        return np.roll(values, -1, 0) - values if self.loops else values[1:] - values[:-1]

    def velocities(self, points: Float[Array, "frames ... 3"]) -> Float[Array, "steps ... 3"]:
        """Over the ground, from each frame to the next [m/s]."""
        steps = self.steps(points)
        if self.loops and len(steps):
            steps[-1] += self.way
        return steps * self.rate - self.ground

    @cached_property
    def skin(self) -> Skin:
        """Exact: with all nodes, stretched bones and morph targets. A single pose is one moment."""
        count = len(self.times) if self.seconds > 0 else 1
        frames = np.unique(np.linspace(0, count - 1, min(count, MOMENTS)).round().astype(int))
        moments = self.contacts.footage.motion.start + self.times[frames]
        pose = self.contacts.footage.motion.sample(self.character.skeleton, moments)
        T_own_mesh = self.T_own_file @ self.character.bind_matrices(self.character.skeleton.world(pose))
        meshes = self.character.meshes
        starts = np.cumsum([0, *(len(mesh.positions) for mesh in meshes)])
        vertices = np.zeros((len(frames), starts[-1], 3))
        for mesh, start in zip(meshes, starts, strict=False):
            vertices[:, start : start + len(mesh.positions)] = _skinned(mesh, T_own_mesh[..., :3, :], mesh.shape(pose))
        faces = [mesh.faces + start for mesh, start in zip(meshes, starts, strict=False)]
        neutral = self.place(self.anatomy.body.vertices)
        return Skin(frames, vertices, np.concatenate([np.zeros((0, 3), int), *faces]), neutral)

    def place(self, points: Float[Array, "... 3"]) -> Float[Array, "... 3"]:
        """Points of the file in the specimen's space [m]."""
        return points @ self.T_own_file[:3, :3].T + self.T_own_file[:3, 3]


def examine(character: Character, motion: Motion, anatomy: Anatomy | None = None) -> Specimen:
    """A clip made ready to be measured. GambolError if it leads to what is no number."""
    anatomy = anatomy or study(character)
    rotation = np.stack([anatomy.left, anatomy.up, anatomy.forward]) / anatomy.height
    T_own_file = np.eye(4)
    T_own_file[:3, :3] = rotation
    T_own_file[1, 3] = -anatomy.ground / anatomy.height
    specimen = Specimen(character, anatomy, motion, find_contacts(character, anatomy, motion), T_own_file)
    if not np.isfinite(specimen.joints).all():
        raise GambolError(f"the clip '{motion.name}' leads to poses that are not finite")
    return specimen


def _skinned(
    mesh: Mesh, T_own_mesh: Float[Array, "moments binds 3 4"], shape: Float[Array, "*moments vertices 3"]
) -> Float[Array, "moments vertices 3"]:
    """Linear blend skinning of all moments at once. Vertices depend linearly on the matrices of the binds, so it is one
    product with a sparse matrix: 50,000 vertices at 48 moments take 0.12 s where `Character.vertices`, which gathers a
    matrix for every influence, takes 4.1. Exact to the last digits, which single precision is not far from the origin.

    shape: of every moment where morph targets change it.
    """
    if shape.ndim == 3:
        each = [_skinned(mesh, T_own_mesh[i : i + 1], shape[i]) for i in range(len(shape))]
        return np.concatenate([np.zeros((0, *mesh.positions.shape)), *each])
    moments, binds = T_own_mesh.shape[:2]
    bears = mesh.weights != 0
    homogeneous = np.append(shape, np.ones((len(shape), 1)), axis=1)
    entries = (mesh.weights[..., None] * homogeneous[:, None])[bears]
    columns = 4 * mesh.binds[bears][:, None] + np.arange(4)
    rows = np.concatenate([[0], 4 * np.cumsum(bears.sum(1))])
    influence = sparse.csr_matrix((entries.ravel(), columns.ravel(), rows), shape=(len(shape), 4 * binds))
    table = T_own_mesh.transpose(1, 3, 0, 2).reshape(4 * binds, 3 * moments)
    return (influence @ table).reshape(len(shape), moments, 3).transpose(1, 0, 2)
