"""What the live page plays: the character in a few plain colours, and a draft as matrices that move it.

On the page the longest side of a character is 1, it looks along z, and y is up, whatever its file says. It stays in its
place while the ground goes by, so that nobody has to run after it with a camera.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, radians, tau

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from scipy import sparse

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character, Material, Mesh
from gambol.character.rig import Rig
from gambol.errors import AssetError
from gambol.motion.draft import Draft
from gambol.motion.skinning import Binding
from gambol.render.textures import DECODED, decode

Array = np.ndarray

COLORS = 12
"""At most so many: a mesh of the page has one colour."""
FRAMES_A_SECOND = 30.0
MOST_FRAMES = 600
"""Of a reel; longer ones have fewer frames a second, with straight lines between."""
HOLD = 0.5
"""How long the last pose is shown before what does not loop begins again [s]."""
DRIFT = radians(20.0)
"""A round that turns by less was not meant to turn: then the ground does, and the character goes on facing the same way
on the page."""
CLEAR = 0.1
"""Faces of a transparent material below this opacity are left out."""


@dataclass(frozen=True, eq=False)
class Piece:
    """All faces of one colour."""

    color: tuple[int, int, int]
    """sRGB, 0 to 255."""
    faces: Int[Array, "faces 3"]
    skinning: sparse.csr_matrix
    """Vertices x (4 rows a bind): linear blend skinning is linear in the matrices, so it is one product."""

    def vertices(self, rows: Float[Array, "rows 3"]) -> Float[Array, "vertices 3"]:
        return self.skinning @ rows


def pieces_of(character: Character) -> list[Piece]:
    """The character cut up by colour; empty if it has no faces.

    Vertices that only differ in their texture coordinates become one, since the page finds normals by which faces share
    a vertex.
    """
    seen = [(mesh, *_paint(mesh)) for mesh in character.meshes if len(mesh.faces)]
    colors = [color[shown] for _, color, shown in seen]
    if not sum(map(len, colors)):
        return []
    palette, choice = _palette(np.concatenate(colors))
    faces = _stacked([mesh.faces[shown] for mesh, _, shown in seen], [len(mesh.positions) for mesh, _, _ in seen])
    skinning = sparse.vstack([_skinning(mesh, len(character.bind_nodes)) for mesh, _, _ in seen], format="csr")
    same = np.concatenate([_first_of_its_kind(mesh) for mesh, _, _ in seen])
    starts = np.cumsum([0, *(len(mesh.positions) for mesh, _, _ in seen)])[:-1]
    same = same + np.repeat(starts, [len(mesh.positions) for mesh, _, _ in seen])
    pieces = []
    for number, color in enumerate(palette):
        own = same[faces[choice == number]]
        if len(own):
            used, local = np.unique(own, return_inverse=True)
            red, green, blue = (int(value) for value in color)
            pieces.append(Piece((red, green, blue), local.reshape(-1, 3), skinning[used]))
    return pieces


def _stacked(faces: list[Int[Array, "faces 3"]], counts: list[int]) -> Int[Array, "all_faces 3"]:
    starts = np.cumsum([0, *counts])[:-1]
    return np.concatenate([part + start for part, start in zip(faces, starts, strict=True)])


def _skinning(mesh: Mesh, binds: int) -> sparse.csr_matrix:
    """w_i x, one row of the matrices for each of x, y, z and 1."""
    count, influences = mesh.binds.shape
    points = np.concatenate([mesh.shape(), np.ones((count, 1))], 1)
    values = mesh.weights[:, :, None] * points[:, None]
    columns = 4 * mesh.binds[:, :, None] + np.arange(4)
    starts = np.arange(count + 1) * influences * 4
    shape = (count, 4 * binds)
    return sparse.csr_matrix((values.ravel().astype(np.float32), columns.ravel(), starts), shape)


def _first_of_its_kind(mesh: Mesh) -> Int[Array, " vertices"]:
    """For each vertex the first that has its place, weights and normal."""
    traits = [mesh.positions, mesh.binds, mesh.weights, *([] if mesh.normals is None else [mesh.normals])]
    rows = np.ascontiguousarray(np.concatenate(traits, 1, dtype=np.float32) + 0.0)  # -0 becomes 0
    keys = rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize))).ravel()
    _, first, kind = np.unique(keys, return_index=True, return_inverse=True)
    return first[kind.ravel()]


def _paint(mesh: Mesh) -> tuple[Float[Array, "faces 3"], Bool[Array, " faces"]]:
    """Linear colour in the middle of each face, and whether it is to be seen."""
    material = mesh.material
    color = np.tile(np.asarray(material.base_color, np.float64), (len(mesh.faces), 1))
    if mesh.colors is not None:
        color *= mesh.colors[mesh.faces].mean(1)
    if material.texture is not None and mesh.uvs is not None:
        color *= _looked_up(material, mesh.uvs[mesh.faces].mean(1))
    least = {"OPAQUE": 0.0, "MASK": material.alpha_cutoff, "BLEND": CLEAR}[material.alpha_mode]
    return color[:, :3] + np.asarray(material.emissive), color[:, 3] >= least


def _looked_up(material: Material, uvs: Float[Array, "faces 2"]) -> Float[Array, "faces 4"]:
    """Linear colour and opacity of the texture there; white if it cannot be decoded."""
    assert material.texture is not None
    try:
        image = decode(material.texture)
    except AssetError:  # the report says so
        return np.ones((len(uvs), 4))
    height, width = image.shape[:2]
    share = np.nan_to_num(uvs) % 1.0
    column, row = (np.minimum((share * (width, height)).astype(int), (width - 1, height - 1))).T
    texel = image[row, column]
    return np.concatenate([DECODED[texel[:, :3]], texel[:, 3:] / 255.0], 1)


def _palette(linear: Float[Array, "faces 3"]) -> tuple[Int[Array, "colors 3"], Int[Array, " faces"]]:
    """A few sRGB colours, and which of them each face has."""
    from PIL import Image

    light = np.clip(np.nan_to_num(linear), 0, 1)
    seen = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    strip = Image.fromarray(np.rint(255 * seen).astype(np.uint8)[None])
    reduced = strip.quantize(COLORS, kmeans=1)
    choice = np.asarray(reduced)[0].astype(int)
    palette = np.asarray(reduced.getpalette()).reshape(-1, 3)
    return palette[: choice.max() + 1], choice


@dataclass(frozen=True, eq=False)
class Page:
    """From the world of a character's file to that of the page."""

    rotation: Float[Array, "3 3"]
    """Rows: its left, up and forward."""
    origin: Float[Array, 3]
    """On the ground below the body [file units]."""
    size: float
    """The longest side of the character [file units], which is 1 on the page."""

    @staticmethod
    def of(character: Character, anatomy: Anatomy, rig: Rig) -> Page:
        low, high = character.bounds
        size = max(float(np.max(high - low)), anatomy.height) or 1.0
        origin = rig.pivot + (anatomy.ground - rig.pivot @ anatomy.up) * anatomy.up
        return Page(np.stack([anatomy.left, anatomy.up, anatomy.forward]), origin, size)

    def way(self, vector: Float[Array, 3]) -> Float[Array, 3]:
        """A way along the ground."""
        across, _, along = self.rotation @ vector / self.size
        return np.array([across, 0.0, along])

    def matrices(self, T_world: Float[Array, "*batch 3 4"]) -> Float[Array, "*batch 3 4"]:
        placed = self.rotation @ T_world
        placed[..., 3] -= self.rotation @ self.origin
        return placed / self.size


@dataclass(frozen=True, eq=False)
class Reel:
    """A draft on the page, without the way it goes."""

    matrices: Float[Array, "frames binds 3 4"]
    """From mesh space to the page. The last frame of what loops is the first again."""
    seconds: float
    loops: bool
    way: Float[Array, 3]
    """How far all of it leads."""
    turn: float
    """How far a round turns to the left [rad]."""
    anchor: Float[Array, 3]
    """It turns about this point."""

    @property
    def drifts(self) -> bool:
        """Whether the page turns along with it."""
        return abs(self.turn) < DRIFT

    def rows(self, share: float, heading: float) -> Float[Array, "rows 3"]:
        """The matrices after this share of it, in a round that began turned to the left by so much [rad]: as
        `Piece.vertices` wants them."""
        place = min(max(share, 0.0), 1.0) * (len(self.matrices) - 1)
        frame = min(int(place), len(self.matrices) - 2)
        blend = place - frame
        now = (1 - blend) * self.matrices[frame] + blend * self.matrices[frame + 1]
        if not self.drifts:
            now = _turned(now, heading, self.anchor)
        return now.transpose(0, 2, 1).reshape(-1, 3)


@dataclass(frozen=True, eq=False)
class ReelMaker:
    """Makes reels of drafts of one character."""

    character: Character
    rig: Rig
    page: Page

    @cached_property
    def _binding(self) -> Binding:
        return Binding(self.character, self.rig)

    @torch.no_grad()
    def reel(self, draft: Draft) -> Reel:
        frames = min(max(ceil(draft.seconds * FRAMES_A_SECOND), 2), MOST_FRAMES)
        dense = draft.resampled(frames)
        path = dense.root_translation.double().numpy()
        way = self.page.way(draft.travel.double().numpy() if draft.loops else path[-1] - path[0])
        matrices = self.page.matrices(self._binding(dense.world(self.rig)).double().numpy())
        along = dense.along.double().numpy()
        matrices[..., 3] -= (along[:, None] * way)[:, None]
        anchor = self.page.way(self.rig.pivot + path[0] - self.page.origin)
        turn = draft.turn if draft.loops else 0.0
        if draft.loops:
            matrices = np.concatenate([matrices, _turned(matrices[:1], turn, anchor)])
            along = np.append(along, 1.0)
        if abs(turn) < DRIFT:
            matrices = _turned(matrices, -along[:, None] * turn, anchor)
        return Reel(matrices.astype(np.float32), draft.seconds, draft.loops, way, turn, anchor)


def _turned(
    matrices: Float[Array, "*batch 3 4"], angle: float | Float[Array, "#*batch"], anchor: Float[Array, 3]
) -> Float[Array, "*batch 3 4"]:
    """About the vertical through a point, to the left [rad]."""
    rotation = about_y(angle)
    turned = rotation @ matrices
    turned[..., 3] += anchor - rotation @ anchor
    return turned


def about_y(angle: float | Float[Array, "*batch"]) -> Float[Array, "*batch 3 3"]:
    """Turn to the left on the page [rad]."""
    c, s = np.cos(angle), np.sin(angle)
    zero, one = np.zeros_like(c), np.ones_like(c)
    return np.stack([c, zero, s, zero, one, zero, -s, zero, c], -1).reshape(*np.shape(angle), 3, 3)


@dataclass
class Playhead:
    """Where the page is in a reel. It stays there when a newer reel is put in."""

    share: float = 0.0
    """Of the reel; above 1 while the last pose is held."""
    heading: float = 0.0
    """To the left, at the start of the round [rad]."""
    gone: Float[Array, 3] = field(default_factory=lambda: np.zeros(3))
    """The way of all rounds before."""

    def advance(self, reel: Reel, seconds: float) -> None:
        self.share += seconds / reel.seconds
        if not reel.loops:
            if self.share >= 1 + HOLD / reel.seconds:
                self.share, self.heading, self.gone = 0.0, 0.0, np.zeros(3)
            return
        while self.share >= 1:
            self.share -= 1
            self.gone = self.gone + about_y(self.heading) @ reel.way
            self.heading = (self.heading + reel.turn) % tau

    def ground(self, reel: Reel) -> tuple[Float[Array, 3], float]:
        """The point of the ground that is at the reel's anchor now, and how far the page has turned with the character
        to the left [rad]."""
        share = min(self.share, 1.0)
        facing = self.heading + share * reel.turn if reel.drifts else 0.0
        return reel.anchor + self.gone + about_y(self.heading) @ (share * reel.way), facing
