"""Self-intersection: how much of the skin goes through other skin of the same character."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from gambol.quality.specimen import Specimen

Array = np.ndarray

MOMENTS = 24
"""At most so many moments of a clip are looked at."""
TRIANGLES = 8_000
"""Of a finer mesh so many, drawn at random, are asked whether they go through any other: 24 moments take about a second
and a half."""
LEAST = 1e-6
"""What goes less deep only touches [m]; keeps rounding from finding something where faces lie on each other."""
FOLD = 2.0
"""Skin folds on itself up to so many times its distance from the bone away. By pictures and by the names of the bones,
on nine characters of artists: with 1, most of what is found are creases of hips, shoulders and necks (2.3 % of a fox's
triangles as it walks, with 2 only 0.2 %); with 2, arms in the chest, fingers in thighs, thighs in tails and swords in
heads; with 3, elbows that go into the chest are missed (0.09 instead of 0.31 % of a walking man)."""


@dataclass(frozen=True)
class Intersection:
    """Of one clip."""

    frames: float
    """Share of moments in which the skin goes through itself more than in the neutral pose."""
    triangles: float
    """Mean share of its triangles that do, over the moments."""


def self_intersection(specimen: Specimen) -> Intersection | None:
    """How much of the skin goes through itself, by an exact test of triangles against triangles at up to 24 moments.

    Two triangles count if they go through each other, unless
    - they share a vertex (those in one place in the neutral pose are one), or
    - both are where the skin goes through itself in the neutral pose already, up to one triangle around: parts that are
      stuck into each other, as eyes and the limbs of robots are, slide a little; or
    - they sit on the same bone or on two that share a joint, or are nearer to each other along the skeleton than FOLD
      times the sum of their distances from it: there skin folds, as in the crook of an arm, whatever the motion.
    None without a mesh.
    """
    patchwork = sew(specimen)
    if patchwork is None:
        return None
    from gambol.quality.intersection_kernels import Crossings

    skin = specimen.skin
    chosen = np.unique(np.linspace(0, len(skin.frames) - 1, MOMENTS).round().astype(int))
    queries = patchwork.sample(TRIANGLES)
    crossings = Crossings(patchwork, LEAST, FOLD)
    found = np.stack([crossings.at(skin.vertices[moment], queries) for moment in chosen])
    return Intersection(float(found.any(1).mean()), float(found.mean()))


@dataclass(frozen=True, eq=False)
class Patchwork:
    """The triangles of a skin, and where each sits on the skeleton in the neutral pose [m]."""

    neutral: Float[Array, "vertices 3"]
    faces: Int[Array, "faces 3"]
    welded: Int[Array, "faces 3"]
    """The same corners, with one number for all vertices in one place."""
    bone: Int[Array, " faces"]
    """The joint that owns it; -1 for none."""
    foot: Float[Array, "faces 3"]
    """The nearest point on its bone."""
    thickness: Float[Array, " faces"]
    """Distance of the middle from there."""
    parents: Int[Array, " joints"]
    heads: Float[Array, "joints 3"]

    def sample(self, most: int) -> Int[Array, " queries"]:
        """All triangles, or some of them, always the same."""
        if len(self.faces) <= most:
            return np.arange(len(self.faces))
        return np.sort(np.random.default_rng(0).choice(len(self.faces), most, replace=False))

    @cached_property
    def depths(self) -> Int[Array, " joints"]:
        """How many joints are above each."""
        found = np.zeros(len(self.parents), int)
        for joint, parent in enumerate(self.parents):  # parents come before their children
            found[joint] = found[parent] + 1 if parent >= 0 else 0
        return found


def sew(specimen: Specimen) -> Patchwork | None:
    """From the neutral pose; None without a triangle that has three different corners."""
    skin, body = specimen.skin, specimen.anatomy.body
    if skin.welded is None or not np.isfinite(skin.vertices).all():
        return None
    corners = skin.welded.point_of[skin.faces]
    proper = (corners != np.roll(corners, 1, axis=1)).all(1)
    faces = skin.faces[proper]
    owners = body.owners[faces]
    bone = np.where(owners[:, 1] == owners[:, 2], owners[:, 1], owners[:, 0])  # that of two corners, or of the first
    heads, tips, middle = specimen.place(body.heads), specimen.place(body.tips), skin.neutral[faces].mean(1)
    start, way = heads[bone], tips[bone] - heads[bone]
    share = np.clip(((middle - start) * way).sum(1) / np.maximum((way**2).sum(1), 1e-30), 0.0, 1.0)
    foot = start + share[:, None] * way
    thickness = np.linalg.norm(middle - foot, axis=1)
    return Patchwork(skin.neutral, faces, corners[proper], bone, foot, thickness, body.parents, heads)
