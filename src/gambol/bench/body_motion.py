"""A motion as points on a body, whatever made it: joints that turn, a field that moves every point, or an artist.

What is compared must be measured on what all sides have. A deformation field has no joints, so everything here is
strokes of the body (`StickFigure`) and vertices of its skin. The body is scaled to a height of 1 m and turned so that x
is its left, y up and z forward, with the ground at y = 0; its way over the ground is part of the motion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.motion.contacts import plain
from gambol.priors.pixels.figure import draw_stick_figure
from gambol.quality.normalized_clip import NormalizedClip, normalize_clip

FRAMES = 48
"""Frames of a motion."""


@dataclass(frozen=True, eq=False)
class BodyMotion:
    """Strokes and skin of a body in motion, at even times."""

    strokes: Float[np.ndarray, "frames strokes 2 3"]
    """Start and end of each stroke [m]."""
    rest: Float[np.ndarray, "strokes 2 3"]
    """The same in the neutral pose [m]."""
    parts: tuple[str, ...]
    """Of each stroke: trunk, neck, head, tail, or a limb: 'left leg 0', from the head backwards."""
    vertices: Float[np.ndarray, "frames vertices 3"]
    """Of the skin [m]; none if there is no mesh."""
    neutral: Float[np.ndarray, "vertices 3"]
    """The same in the neutral pose [m]."""
    faces: Int[np.ndarray, "faces 3"]
    seconds: float
    """Duration; of a loop, until it begins again."""
    loops: bool
    """Whether the frame after the last is the first, moved on by `travel`."""
    travel: Float[np.ndarray, 3]
    """Way of one loop, or of the whole motion [m]."""

    @property
    def fps(self) -> float:
        """Frames per second."""
        return (len(self.strokes) if self.loops else len(self.strokes) - 1) / self.seconds

    def velocities(self, points: Float[np.ndarray, "frames ... 3"]) -> Float[np.ndarray, "steps ... 3"]:
        """Return velocities of points over the ground from each frame to the next; of a loop, also to its next cycle
        [m/s]."""
        steps = np.roll(points, -1, 0) - points if self.loops else np.diff(points, axis=0)
        if self.loops:
            steps[-1] += self.travel
        return steps * self.fps

    def unstretched(self) -> BodyMotion:
        """Return the motion with strokes as long as in the neutral pose, in their own directions. Within a limb they
        follow each other as they do there; a limb begins where it did."""
        strokes = self.strokes.copy()
        along, lengths = (points[..., 1, :] - points[..., 0, :] for points in (strokes, self.rest))
        long = np.linalg.norm(lengths, axis=-1)
        along *= (long / np.maximum(np.linalg.norm(along, axis=-1), 1e-9))[..., None]
        before: dict[str, int] = {}
        for stroke, part in enumerate(self.parts):
            last = before.get(part)
            if last is not None and np.allclose(self.rest[stroke, 0], self.rest[last, 1], atol=1e-6):
                strokes[:, stroke, 0] = strokes[:, last, 1]
            strokes[:, stroke, 1] = strokes[:, stroke, 0] + along[:, stroke]
            before[part] = stroke
        return replace(self, strokes=strokes)

    def state(self) -> dict[str, Tensor]:
        """Return the motion as tensors; skin in half precision, which rounds a body of 1 m to half a millimetre."""
        sizes = torch.tensor([self.seconds, float(self.loops)], dtype=torch.float64)
        arrays = {"strokes": self.strokes, "rest": self.rest, "neutral": self.neutral, "travel": self.travel}
        found = {name: torch.as_tensor(array) for name, array in arrays.items()}
        offsets = torch.as_tensor(self.vertices - self.neutral).half()
        return {**found, "offsets": offsets, "faces": torch.as_tensor(self.faces), "sizes": sizes}

    @staticmethod
    def from_state(state: Mapping[str, Tensor], parts: Sequence[str]) -> BodyMotion:
        """Return the motion that `state` was made of."""
        strokes, rest, neutral, travel = (state[name].numpy() for name in ("strokes", "rest", "neutral", "travel"))
        vertices = neutral + state["offsets"].double().numpy()
        seconds, loops = state["sizes"].tolist()
        return BodyMotion(
            strokes, rest, tuple(parts), vertices, neutral, state["faces"].numpy(), seconds, bool(loops), travel
        )


def body_motion_of(
    character: Character, clip: Clip, anatomy: Anatomy | None = None, *, skin: bool = True
) -> BodyMotion:
    """Return a clip of a character as points of its body; what walks in place goes as far as its feet say.

    skin: whether vertices are wanted, which takes most of the time."""
    normalized = normalize_clip(character, clip, anatomy)
    anatomy, contacts = normalized.anatomy, normalized.contacts
    times = np.linspace(0.0, normalized.seconds, FRAMES, endpoint=not normalized.loops)
    figure = draw_stick_figure(anatomy)
    poses = torch.as_tensor(plain(contacts.looped).poses(times))
    way = -times[:, None] * normalized.ground_velocity
    strokes = normalized.place(figure.points(poses).numpy()) + way[:, None, None]
    travel = normalized.travel - normalized.seconds * normalized.ground_velocity
    rest = normalized.place(figure.rest)
    if skin:
        vertices = _skin(normalized, times) + way[:, None]
        faces, neutral = normalized.skin.faces, normalized.skin.neutral
    else:
        vertices, faces, neutral = np.zeros((FRAMES, 0, 3)), np.zeros((0, 3), int), np.zeros((0, 3))
    return BodyMotion(
        strokes, rest, figure.parts, vertices, neutral, faces, normalized.seconds, normalized.loops, travel
    )


def _skin(normalized: NormalizedClip, times: Float[np.ndarray, " frames"]) -> Float[np.ndarray, "frames vertices 3"]:
    """Return the vertices of all meshes at some times since the start of the clip [m]."""
    character, clip = normalized.character, normalized.contacts.looped.clip
    pose = clip.sample(character.skeleton, clip.start + times)
    posed = character.skinned(character.skeleton.world(pose), pose)
    return normalized.place(np.concatenate([np.zeros((len(times), 0, 3)), *posed], axis=1))
