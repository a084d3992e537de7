"""Self-intersection: the share of the mesh that goes through other parts of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from gambol.character.body import Body
from gambol.character.transforms import nearest_on
from gambol.quality.normalized_clip import NormalizedClip, SampledMesh

MOMENTS = 24
"""Largest number of frames that are tested."""
TRIANGLES = 8_000
"""Largest number of triangles that are tested against all others; of a finer mesh, a random sample. 24 frames take
about 1.5 s."""
LEAST = 1e-6
"""Smallest depth of an intersection [m]: faces that lie on each other only touch, whatever rounding makes of them."""
FOLD = 2.0
"""Skin folds on itself within so many times its distance from the bone. With 1, most of what is found are creases of
hips and shoulders (2.3 % of a walking fox's triangles, with 2 only 0.2 %); with 3, elbows in the chest are missed."""


def self_intersection(clip: NormalizedClip) -> dict[str, float]:
    """Share of frames in which the mesh goes through itself, and share of its triangles that do, mean over the frames
    [%]; by an exact test of triangles in up to 24 frames.

    Two triangles that go through each other count, unless
    - they share a vertex (those in one place in the neutral pose are one), or
    - both are where the skin goes through itself in the neutral pose already, up to one triangle around: parts that are
      stuck into each other, as eyes and the limbs of robots are, slide a little; or
    - they sit on the same bone or on two that share a joint, or are nearer to each other along the skeleton than FOLD
      times the sum of their distances from it: there skin folds, as in the crook of an arm, whatever the motion.
    Empty without a mesh.
    """
    triangles = skin_triangles(clip)
    if triangles is None:
        return {}
    from gambol.quality.intersection_kernels import Crossings

    skin = clip.skin
    chosen = np.unique(np.linspace(0, len(skin.frames) - 1, MOMENTS).round().astype(int))
    queries = triangles.sample(TRIANGLES)
    crossings = Crossings(triangles, LEAST, FOLD)
    found = np.stack([crossings.at(skin.vertices[moment], queries) for moment in chosen])
    return {
        "self_intersection_frames": 100 * float(found.any(1).mean()),
        "self_intersection_triangles": 100 * float(found.mean()),
    }


@dataclass(frozen=True, eq=False)
class SkinTriangles:
    """The triangles of a mesh, and the nearest bone of each in the neutral pose [m]."""

    neutral: Float[np.ndarray, "vertices 3"]
    faces: Int[np.ndarray, "faces 3"]
    welded: Int[np.ndarray, "faces 3"]
    """Corners by index of welded vertices, which are one where several are in one place."""
    bone: Int[np.ndarray, " faces"]
    """Joint whose bone each triangle belongs to; -1 for none."""
    foot: Float[np.ndarray, "faces 3"]
    """Nearest point on that bone."""
    thickness: Float[np.ndarray, " faces"]
    """Distance of the triangle's centre from that point."""
    parents: Int[np.ndarray, " joints"]
    heads: Float[np.ndarray, "joints 3"]

    def sample(self, most: int) -> Int[np.ndarray, " queries"]:
        """Indices of all triangles, or of a random sample that is always the same."""
        if len(self.faces) <= most:
            return np.arange(len(self.faces))
        return np.sort(np.random.default_rng(0).choice(len(self.faces), most, replace=False))

    @cached_property
    def depths(self) -> Int[np.ndarray, " joints"]:
        """Number of joints above each joint."""
        found = np.zeros(len(self.parents), int)
        for joint, parent in enumerate(self.parents):  # parents come before their children
            found[joint] = found[parent] + 1 if parent >= 0 else 0
        return found


def skin_triangles(clip: NormalizedClip) -> SkinTriangles | None:
    """The triangles of a clip's mesh; None without a triangle that has three different corners."""
    return triangles_of(clip.skin, clip.anatomy.body, clip.place)


def triangles_of(skin: SampledMesh, body: Body, place: Callable[[np.ndarray], np.ndarray]) -> SkinTriangles | None:
    """The triangles of a mesh; None without one that has three different corners. place: from the file to metres."""
    if skin.welded is None or not np.isfinite(skin.vertices).all():
        return None
    corners = skin.welded.point_of[skin.faces]
    proper = (corners != np.roll(corners, 1, axis=1)).all(1)
    faces = skin.faces[proper]
    owners = body.owners[faces]
    bone = np.where(owners[:, 1] == owners[:, 2], owners[:, 1], owners[:, 0])  # that of two corners, or of the first
    heads, tips, middle = place(body.heads), place(body.tips), skin.neutral[faces].mean(1)
    foot = nearest_on(middle, heads[bone], tips[bone])
    thickness = np.linalg.norm(middle - foot, axis=1)
    return SkinTriangles(skin.neutral, faces, corners[proper], bone, foot, thickness, body.parents, heads)
