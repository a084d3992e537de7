"""Pictures of creatures in their own colours, for contact sheets."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int
from PIL import Image, ImageDraw, ImageFont

from gambol.character.character import Character
from gambol.character.skeleton import Pose
from gambol.character.welding import vertex_normals

Array = np.ndarray
PAPER = (247, 245, 240)
SHADOW = 0.86
"""Brightness of the ground in the shade."""
SUPERSAMPLING = 2


@dataclass(frozen=True)
class View:
    """A camera without perspective: unit vectors to the right and up in the picture, and towards the viewer."""

    right: Float[Array, "3"]
    up: Float[Array, "3"]
    toward: Float[Array, "3"]

    @classmethod
    def around(cls, azimuth: float, elevation: float) -> "View":
        """From azimuth 0, straight ahead of the character, over 90, its left side; elevation above [degrees]."""
        turn, lift = np.radians(azimuth), np.radians(elevation)
        toward = np.array([np.sin(turn) * np.cos(lift), np.sin(lift), np.cos(turn) * np.cos(lift)])
        right = np.cross([0.0, 1.0, 0.0], toward)
        right /= np.linalg.norm(right)
        return cls(right, np.cross(toward, right), toward)


def portrait(
    character: Character, size: int = 240, azimuth: float = 52.0, elevation: float = 14.0, pose: Pose | None = None
) -> Image.Image:
    """The character with its vertex colours, smoothly shaded, and its shadow on the ground."""
    view = View.around(azimuth, elevation)
    points = np.concatenate(character.vertices(pose))
    starts = np.cumsum([0, *(len(mesh.positions) for mesh in character.meshes)])
    faces = np.concatenate([mesh.faces + start for mesh, start in zip(character.meshes, starts[:-1], strict=True)])
    seen = np.stack([points @ view.right, points @ view.up, points @ view.toward], 1)
    pixels = size * SUPERSAMPLING
    low, high = seen[:, :2].min(0), seen[:, :2].max(0)
    scale = 0.9 * pixels / float((high - low).max())
    seen = np.c_[((seen[:, :2] - (low + high) / 2) * (1, -1)) * scale + pixels / 2, seen[:, 2]]
    ground = points * (1, 0, 1)
    fallen = np.stack([ground @ view.right, ground @ view.up, ground @ view.toward], 1)
    fallen = np.c_[((fallen[:, :2] - (low + high) / 2) * (1, -1)) * scale + pixels / 2, np.zeros(len(points))]
    image = np.ones((pixels * pixels, 3)) * (np.array(PAPER) / 255) ** 2.2
    where, *_ = rasterize(fallen, faces, pixels)
    image[where] *= SHADOW**2.2
    where, face, shares = rasterize(seen, faces, pixels)
    colors = _lit(character, points, faces, view)
    image[where] = (colors[faces[face]] * shares[..., None]).sum(1)
    encoded = np.clip(image, 0, 1).reshape(pixels, pixels, 3) ** (1 / 2.2) * 255
    return Image.fromarray(encoded.astype(np.uint8)).resize((size, size), Image.Resampling.LANCZOS)


def _lit(character: Character, points: Array, faces: Array, view: View) -> Float[Array, "vertices 3"]:
    """Linear colour of every vertex under a light from above the viewer's shoulder."""
    normals = vertex_normals(points, faces)
    light = view.toward + 0.9 * view.up - 0.5 * view.right
    diffuse = np.clip(normals @ (light / np.linalg.norm(light)), 0, 1)
    brightness = 0.32 + 0.72 * diffuse + 0.12 * np.clip(normals[:, 1], 0, 1)
    plain = [np.ones((len(mesh.positions), 4)) * mesh.material.base_color for mesh in character.meshes]
    colors = np.concatenate([p if m.colors is None else m.colors for m, p in zip(character.meshes, plain, strict=True)])
    return colors[:, :3] * brightness[:, None] ** 1.6


def rasterize(
    seen: Float[Array, "vertices 3"], faces: Int[Array, "faces 3"], pixels: int
) -> tuple[Int[Array, " covered"], Int[Array, " covered"], Float[Array, "covered 3"]]:
    """Covered pixels (row by row), the nearest face at each and its barycentric coordinates.

    Points are x and y in pixels and nearness. Triangles of similar size are filled together, so that numpy is fast.
    """
    corners = seen[faces]
    first = np.floor(corners[:, :, :2].min(1)).astype(int)
    extent = np.ceil(corners[:, :, :2].max(1)).astype(int) - first + 1
    side = np.maximum(extent.max(1), 1)
    found = []
    bins = [0, 3, 5, 8, 12, 20, 40, 80, 200, max(int(side.max()), 200) + 1]
    for smaller, larger in pairwise(bins):
        chosen = np.flatnonzero((side > smaller) & (side <= larger))
        for block in np.array_split(chosen, max(1, len(chosen) * larger * larger // 2_000_000)):
            found.append(_fill(corners[block], first[block], larger, block, pixels))
    where, face, near, shares = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((-near, where))
    where, index = np.unique(where[order], return_index=True)
    chosen = order[index]
    return where, face[chosen], shares[chosen]


def _fill(corners: Array, first: Array, side: int, numbers: Array, pixels: int) -> tuple[Array, Array, Array, Array]:
    """Pixels inside each triangle: where, which triangle, how near, barycentric coordinates."""
    y, x = np.mgrid[0:side, 0:side].reshape(2, -1)
    at = np.stack([first[:, :1] + x, first[:, 1:] + y], -1) + 0.5
    a, b, c = (corners[:, None, i, :2] for i in range(3))

    def cross(u: Array, v: Array) -> Array:
        return u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]

    area = cross(b - a, c - a)
    area = np.where(np.abs(area) < 1e-12, np.inf, area)
    shares = np.stack([cross(b - at, c - at), cross(c - at, a - at), cross(a - at, b - at)], -1) / area[..., None]
    column, row = at[..., 0].astype(int), at[..., 1].astype(int)
    inside = (shares >= -1e-9).all(-1) & (column >= 0) & (row >= 0) & (column < pixels) & (row < pixels)
    inside &= np.isfinite(area)
    near = (shares * corners[:, None, :, 2]).sum(-1)
    which = np.broadcast_to(numbers[:, None], inside.shape)
    return (row * pixels + column)[inside], which[inside], near[inside], shares[inside]


def contact_sheet(pictures: dict[str, Image.Image], columns: int = 8) -> Image.Image:
    """Pictures of one size in rows, each with its name below."""
    size = next(iter(pictures.values())).width
    rows = -(-len(pictures) // columns)
    sheet = Image.new("RGB", (columns * size, rows * (size + 20)), PAPER)
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(15)
    for number, (name, picture) in enumerate(pictures.items()):
        x, y = number % columns * size, number // columns * (size + 20)
        sheet.paste(picture, (x, y))
        draw.text((x + (size - draw.textlength(name, font)) / 2, y + size - 2), name, (70, 66, 60), font)
    return sheet
