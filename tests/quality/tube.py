"""A tube on three joints, one above the other: the smallest character that can bend."""

import io
from dataclasses import replace

import numpy as np

from gambol.character.axes import AXES
from gambol.character.character import Character, Material, Mesh, Texture
from gambol.character.clip import Clip, Track
from gambol.character.skeleton import Pose, Skeleton


def tube(up="+y", rows=9, lift=0.0, scale=1.0):
    """As high as the scale, from the lift on, along an axis; texture coordinates go round and up."""
    axis = np.array(AXES[up], float)
    side = np.roll(axis, 1)
    across = np.cross(axis, side)
    angles = np.arange(8) * np.pi / 4
    ring = 0.15 * (np.cos(angles)[:, None] * side + np.sin(angles)[:, None] * across)
    heights = np.linspace(0, 1, rows)
    positions = (ring + heights[:, None, None] * axis).reshape(-1, 3) * scale + lift * axis
    first = np.arange(8 * (rows - 1))
    beside = first - first % 8 + (first + 1) % 8
    faces = np.concatenate([np.stack([first, beside, first + 8], 1), np.stack([beside, beside + 8, first + 8], 1)])
    upper = np.clip(2 * np.repeat(heights, 8) - 0.5, 0, 1)
    translation = np.array([lift * axis, 0.5 * scale * axis, 0.4 * scale * axis])
    rest = Pose(translation, np.tile([1.0, 0, 0, 0], (3, 1)), np.ones((3, 3)))
    skeleton = Skeleton(("hip", "spine", "head"), np.array([-1, 0, 1]), rest, np.ones(3, bool))
    mesh = Mesh(
        name="tube",
        node=0,
        positions=positions,
        faces=faces,
        binds=np.tile([0, 1], (len(positions), 1)),
        weights=np.stack([1 - upper, upper], 1),
        uvs=np.stack([np.tile(np.arange(8) / 8, rows), 1 - np.repeat(heights, 8)], 1),
    )
    return Character("tube", skeleton, (mesh,), np.arange(3), np.linalg.inv(skeleton.world()))


def swing(up="+y", start=0.0):
    """The upper half bends to one side within a second, and stays there."""
    side = np.roll(np.array(AXES[up], float), 1)
    times = start + np.linspace(0, 1, 11)
    half = np.radians(40.0) * np.sin(np.pi / 2 * np.linspace(0, 1, 11))
    return Clip("swing", (Track(1, "rotation", times, np.c_[np.cos(half), np.sin(half)[:, None] * side]),))


def painted(character, picture, kind="PNG", **material):
    """With a picture as its texture."""
    file = io.BytesIO()
    picture.save(file, kind)
    texture = Texture(file.getvalue(), f"image/{kind.lower()}", "paint")
    paint = Material("paint", texture=texture, metallic=0.0, **material)
    return replace(character, meshes=(replace(character.meshes[0], material=paint),))
