"""A clip in a normalized space, in which every measure is computed.

The body is scaled to a height of 1 m and turned so that x is its left, y up and z forward, with the ground at y = 0. So
measures of a mouse and of an elephant compare, whatever the units of their files are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from gambol.character.anatomy import Anatomy, analyze
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.character.welding import Welded, weld
from gambol.errors import GambolError
from gambol.motion.contacts import Contacts, find_contacts
from gambol.motion.joint_poses import Poses, bone_ends, spread
from gambol.motion.loops import STILL, find_period
from gambol.motion.stances import soles_of

MOMENTS = 48
"""Largest number of frames in which the mesh is evaluated."""
FEWEST_MOMENTS, POINTS = 24, 5_000_000
"""A mesh with more than POINTS / MOMENTS vertices is evaluated in fewer frames, but at least in FEWEST_MOMENTS."""


@dataclass(frozen=True, eq=False)
class SampledMesh:
    """All meshes of a character as one, at some frames of a clip."""

    frames: Int[np.ndarray, " moments"]
    """Indices of the frames of the clip."""
    vertices: Float[np.ndarray, "moments vertices 3"]
    """Positions [m]."""
    faces: Int[np.ndarray, "faces 3"]
    neutral: Float[np.ndarray, "vertices 3"]
    """Positions in the neutral pose [m]."""

    @cached_property
    def welded(self) -> Welded | None:
        """The neutral pose with vertices in one place merged; None without a face that has three different corners."""
        try:
            return weld(self.neutral, self.faces) if len(self.faces) else None
        except GambolError:
            return None


@dataclass(frozen=True, eq=False)
class NormalizedClip:
    """One clip of one character, in metres at a height of 1 m, and seconds."""

    character: Character
    anatomy: Anatomy
    clip: Clip
    contacts: Contacts
    T_norm_file: Float[np.ndarray, "4 4"]
    """Transform from the space and units of the file."""

    @property
    def times(self) -> Float[np.ndarray, " frames"]:
        """Even times of the frames since the start of the clip [s]."""
        return self.contacts.times

    @property
    def fps(self) -> float:
        """Frames per second: about 60, more for short clips."""
        return self.contacts.fps

    @property
    def seconds(self) -> float:
        """Duration of the clip; of a loop, until it begins again."""
        return self.contacts.looped.duration

    @property
    def loops(self) -> bool:
        """Whether the frame after the last one is the first, moved on by `travel`."""
        return self.contacts.loops

    @cached_property
    def travel(self) -> Float[np.ndarray, 3]:
        """Root displacement of one loop, or of the whole clip, as the file has it [m]."""
        return self.T_norm_file[:3, :3] @ self.contacts.looped.travel

    @cached_property
    def ground_velocity(self) -> Float[np.ndarray, 3]:
        """Velocity at which the feet of a loop in place push the ground; zero if the root travels [m/s]."""
        return self.T_norm_file[:3, :3] @ self.contacts.ground

    @property
    def grounded(self) -> bool:
        """Whether the character stands on legs, so that measures of feet and ground are defined."""
        return self.anatomy.stands and bool(self.anatomy.legs)

    @cached_property
    def joints(self) -> Poses:
        """T_norm_joint of the body's joints in every frame, including the scale of the file and of its keys."""
        return self.T_norm_file @ self.contacts.poses()

    @cached_property
    def neutral_joints(self) -> Float[np.ndarray, "joints 4 4"]:
        """T_norm_joint of the body's joints in the neutral pose."""
        body = self.anatomy.body
        return self.T_norm_file @ body.T_world_node[body.nodes]

    @property
    def down(self) -> Bool[np.ndarray, "legs frames"]:
        """Which feet are on the ground, in the order of `Anatomy.legs`."""
        return self.contacts.down

    @cached_property
    def soles(self) -> tuple[Float[np.ndarray, "frames points 3"], ...]:
        """Positions of the points of each leg's sole [m]."""
        return tuple(soles_of(self.anatomy, leg, self.joints) for leg in self.anatomy.legs)

    @cached_property
    def sole_rest_heights(self) -> tuple[Float[np.ndarray, " points"], ...]:
        """Height of the points of each sole in the neutral pose, since few soles are modelled level [m]."""
        neutral = self.neutral_joints[None]
        return tuple(soles_of(self.anatomy, leg, neutral)[0, :, 1] for leg in self.anatomy.legs)

    def steps(self, values: Float[np.ndarray, "frames ..."]) -> Float[np.ndarray, "steps ..."]:
        """Differences from each frame to the next; of a loop also from the last frame to the first, where positions
        jump back by `travel`."""
        return np.roll(values, -1, 0) - values if self.loops else values[1:] - values[:-1]

    def velocities(self, points: Float[np.ndarray, "frames ... 3"]) -> Float[np.ndarray, "steps ... 3"]:
        """Velocities over the ground from each frame to the next [m/s]."""
        steps = self.steps(points)
        if self.loops and len(steps):
            steps[-1] += self.travel
        return steps * self.fps - self.ground_velocity

    @cached_property
    def period(self) -> float | None:
        """Shortest time after which all poses repeat, regardless of root motion [s]; the duration of a loop that has no
        shorter period. None if nothing moves, or if the clip neither loops nor repeats itself."""
        loops = self.contacts.looped.loops
        joints = (
            self.joints[:-1] if loops and not self.loops else self.joints
        )  # a loop that turns has its first frame again at the end
        points = _in_place(bone_ends(self.anatomy, joints))
        if not self.seconds > 0 or spread(points) < STILL:
            return None
        frames = find_period(points, loops)
        return frames and (self.seconds * frames / len(points) if loops else frames / self.fps)

    @cached_property
    def skin(self) -> SampledMesh:
        """The mesh, skinned exactly: with all nodes, stretched bones and morph targets. A single pose is one frame."""
        count = len(self.times) if self.seconds > 0 else 1
        most = min(MOMENTS, max(FEWEST_MOMENTS, POINTS // max(len(self.anatomy.body.vertices), 1)))
        frames = np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))
        moments = self.contacts.looped.clip.start + self.times[frames]
        pose = self.contacts.looped.clip.sample(self.character.skeleton, moments)
        posed = self.character.skinned(self.character.skeleton.world(pose), pose)
        vertices = self.place(np.concatenate([np.zeros((len(frames), 0, 3)), *posed], axis=1))
        neutral = self.place(self.anatomy.body.vertices)
        return SampledMesh(frames, vertices, self.character.joined_faces, neutral)

    def place(self, points: Float[np.ndarray, "... 3"]) -> Float[np.ndarray, "... 3"]:
        """Points of the file in the normalized space [m]."""
        return points @ self.T_norm_file[:3, :3].T + self.T_norm_file[:3, 3]


def normalize_clip(character: Character, clip: Clip, anatomy: Anatomy | None = None) -> NormalizedClip:
    """Normalize a clip of a character. Raises GambolError if it leads to poses that are not finite."""
    anatomy = anatomy or analyze(character)
    contacts = find_contacts(character, anatomy, clip)
    normalized = NormalizedClip(character, anatomy, clip, contacts, normalizing_transform(anatomy))
    if not np.isfinite(normalized.joints).all():
        raise GambolError(f"the clip '{clip.name}' leads to poses that are not finite")
    return normalized


def normalizing_transform(anatomy: Anatomy) -> Float[np.ndarray, "4 4"]:
    """Return T_norm_file: from the space and units of the file to the normalized space."""
    T_norm_file = np.eye(4)
    T_norm_file[:3, :3] = np.stack([anatomy.left, anatomy.up, anatomy.forward]) / anatomy.height
    T_norm_file[1, 3] = -anatomy.ground / anatomy.height
    return T_norm_file


def _in_place(points: Float[np.ndarray, "frames points 3"]) -> Float[np.ndarray, "frames points 3"]:
    """Points relative to their mean, turned about the vertical so that every frame faces as the first does."""
    points = points - points.mean(1, keepdims=True)
    level = points[..., 2] + 1j * points[..., 0]
    turns = (level * level[0].conj()).sum(1, keepdims=True)
    level = level * np.exp(-1j * np.angle(turns))
    return np.stack([level.imag, points[..., 1], level.real], axis=-1)
