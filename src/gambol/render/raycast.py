"""Ray casting of a character's meshes: textures, vertex colours, transparency, light and shadow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol import parallel
from gambol.character.character import Character, Mesh
from gambol.errors import GambolError
from gambol.render.cameras import Cameras
from gambol.render.drawing_kernels import CameraArrays, project_kernel
from gambol.render.lighting import Light, make_lamps
from gambol.render.lighting_kernels import LampArrays
from gambol.render.rasterize import Rendering
from gambol.render.raycast_kernels import contrast_kernel, hits_kernel, render_kernel, wp
from gambol.render.surface_kernels import MeshArrays, vertex_normals_kernel
from gambol.render.textures import DECODED, pack_materials
from gambol.warp_device import DEVICE

ROOM = 64 * 2**20
"""Memory for the projected vertices of several frames at once [bytes]."""
BAND = 32
"""Largest number of rows that are drawn at a time: few enough for their samples to stay in the processor cache."""
PAINT = {
    "uvs": wp.vec2,
    "colors": wp.vec4,
    "face_material": wp.int32,
    "base_color": wp.vec4,
    "emissive": wp.vec3,
    "texture": wp.vec4i,
    "alpha_mode": wp.int32,
    "alpha_cutoff": float,
    "levels": wp.vec3i,
    "texels": wp.vec4ub,
    "decoded": float,
}
"""Types of the arrays of a scene that decide colour."""
SHADOW_FACES, SHADOW_CELLS = 200_000, 256
"""A mesh with more faces than the first number casts the shadow of a simplified mesh, which has one vertex in each cell
of a grid with SHADOW_CELLS cells along its diagonal: half a cell of the shadow maps. With a million faces the maps then
take 0.04 s a frame instead of 0.4."""


@dataclass(frozen=True)
class Floor:
    """A plane that hides what is below it from cameras above it."""

    up: Float[np.ndarray, 3]
    """Unit vector."""
    height: float
    """Height of the plane along up [file units]."""


@dataclass(frozen=True)
class Hits:
    """First intersections of the rays through the centres of pixels; fully transparent surfaces are skipped."""

    face: Int[Tensor, "frames height width"]
    """Index of the face, counted through all meshes in order; -1 where the ray hits nothing."""
    barycentric: Float[Tensor, "frames height width 3"]
    depth: Float[Tensor, "frames height width"]
    """Depth along the viewing axis of the camera [file units]; 0 where the ray hits nothing."""


class MeshScene:
    """A character's meshes, prepared for ray casting. Build it once: posing it again takes about a millisecond.

    Both sides of every face are shown, whatever the material says: holes would look worse. Kernels compute in float32,
    so the posed mesh is moved and scaled into a unit box for them.
    """

    def __init__(self, character: Character) -> None:
        """Prepare the meshes in the rest pose. `warnings` says which textures cannot be shown."""
        require_faces(character)
        self._shown = [bool(len(mesh.faces)) for mesh in character.meshes]
        meshes = [mesh for mesh in character.meshes if len(mesh.faces)]
        starts = np.cumsum([0, *(len(mesh.positions) for mesh in meshes)])[:-1].tolist()
        self.faces = np.concatenate([mesh.faces + start for mesh, start in zip(meshes, starts, strict=True)])
        self._used = used_vertices(self.faces, starts[-1] + len(meshes[-1].positions))
        same = np.concatenate([_welded(mesh) + start for mesh, start in zip(meshes, starts, strict=True)])
        self._same = _sent(same, wp.int32)
        self._scene: Any = MeshArrays()
        self._mesh: Any = None
        self._scene.corners = _sent(self.faces.ravel(), wp.int32)
        self._scene.normals = wp.empty(len(same), dtype=wp.vec3, device=DEVICE)
        rest = character.vertices()
        points = self.joined(rest)
        self._shadow = simplified(points, self.faces, SHADOW_CELLS) if len(self.faces) > SHADOW_FACES else None
        self.warnings, self._density = _paint(self._scene, meshes, points, self.faces)
        self.pose(rest)

    def pose(self, vertices: Sequence[Float[np.ndarray, "_ 3"]]) -> None:
        """Move the meshes to world positions of their vertices [file units], as `Character.vertices` returns them."""
        points = self.joined(vertices)
        if not np.isfinite(points).all():
            raise GambolError("the pose has vertices at NaN or infinity; check the keys of the clip")
        used = points[self._used]
        self._low, self._high = used.min(0), used.max(0)
        self.center, self.size = (self._low + self._high) / 2, float((self._high - self._low).max()) or 1.0
        unit = _sent(self.unit(points), wp.vec3)
        if self._mesh is None:
            self._mesh = wp.Mesh(points=unit, indices=self._scene.corners, bvh_constructor="sah", bvh_leaf_size=4)
        else:
            self._mesh.points = unit  # and fits the boxes anew
        scene = self._scene
        scene.mesh, scene.points = self._mesh.id, unit
        inputs = [unit, scene.corners, self._same]
        wp.launch(vertex_normals_kernel, dim=1, inputs=inputs, outputs=[scene.normals], device=DEVICE)
        scene.face_density = _sent(self._density * self.size, float)
        self._lamps: dict[Light, Any] = {}

    def joined(self, vertices: Sequence[Float[np.ndarray, "_ 3"]]) -> Float[np.ndarray, "vertices 3"]:
        """Return the vertices of all meshes that have faces, as one array."""
        return np.concatenate([v for v, shown in zip(vertices, self._shown, strict=True) if shown]).astype(np.float64)

    def render(
        self, cameras: Cameras, light: Light | None = None, samples: int = 4, floor: Floor | None = None
    ) -> Rendering:
        """Return what the cameras see, in sRGB; without a light the plain surface colours (unlit).

        Where neighbours differ, a pixel is the mean of samples x samples rays; with 1 there is no antialiasing.
        """
        if samples < 1:
            raise ValueError(f"samples must be at least 1, got {samples}")
        lamps = self.lamps(light) if light else LampArrays()
        picture = torch.empty(len(cameras), cameras.height, cameras.width, 4)
        vertices = len(self._same)
        at_once = max(1, ROOM // (12 * vertices))
        for start in range(0, len(cameras), at_once):
            some = slice(start, start + at_once)
            self._render(self.view(cameras[some], floor), lamps, samples, picture[some])
        return Rendering(picture[..., :3], picture[..., 3])

    def _render(self, view: Any, lamps: Any, samples: int, picture: Float[Tensor, "frames height width 4"]) -> None:
        """Cast one ray through the centre of each pixel, then more where neighbours differ."""
        frames, height, width = picture.shape[:3]
        projected = wp.empty((frames, len(self._same)), dtype=wp.vec3, device=DEVICE)
        wp.launch(project_kernel, dim=projected.shape, inputs=[self._scene, view, projected], device=DEVICE)
        canvas = wp.from_torch(picture, dtype=wp.vec4)
        marked = wp.full(picture.shape[:3], wp.uint8(2), dtype=wp.uint8, device=DEVICE)
        self._draw(view, lamps, 1, projected, marked, canvas)
        if samples > 1:
            launch_rows(contrast_kernel, (frames * height, width), [view], [canvas, marked])
            self._draw(view, lamps, samples, projected, marked, canvas)

    def _draw(self, view: Any, lamps: Any, samples: int, projected: Any, marked: Any, canvas: Any) -> None:
        """Draw all marked pixels, in bands of rows; each of n threads takes every n-th band."""
        cells = view.width * samples**2
        rows = max(1, min(BAND, ROOM // 64 // (8 * cells)))
        bands, threads = len(canvas) * -(-view.height // rows), parallel.workers()
        wp.load_module(render_kernel.module.name, device=DEVICE)

        def task(first: int) -> Callable[[], None]:
            scratch = [wp.empty(rows * cells, dtype=kind, device=DEVICE) for kind in (wp.float32, wp.int32)]
            inputs = [self._scene, lamps, view, first, threads, rows, samples, projected, marked, *scratch, canvas]
            count = len(range(first, bands, threads))
            return lambda: wp.launch(render_kernel, dim=count, inputs=inputs, device=DEVICE)

        parallel.run([task(first) for first in range(min(threads, bands))])

    def hits(self, cameras: Cameras) -> Hits:
        """Return which face is at the centre of each pixel, where on it, and at which depth."""
        shape = (len(cameras), cameras.height, cameras.width)
        face, where = torch.empty(shape, dtype=torch.int32), torch.zeros(*shape, 3)
        outputs = [wp.from_torch(face), wp.from_torch(where, dtype=wp.vec3)]
        view = self.view(cameras, None)
        launch_rows(hits_kernel, (shape[0] * shape[1], shape[2]), [self._scene, view], outputs)
        u, v = where[..., 0], where[..., 1]
        barycentric = torch.stack([u, v, 1 - u - v], -1) * (face >= 0)[..., None]
        return Hits(face, barycentric, where[..., 2] * self.size)

    def lamps(self, light: Light) -> Any:
        """Return the lamps with their shadow maps of this pose, in the unit box."""
        if light not in self._lamps:
            diameter = float(np.linalg.norm(self._high - self._low)) / self.size or 1.0
            shadow = (self._mesh.points, self._scene.corners)
            if self._shadow:
                kept, corners = self._shadow
                shadow = _sent(self._mesh.points.numpy()[kept], wp.vec3), _sent(corners.ravel(), wp.int32)
            self._lamps[light] = make_lamps(light, *shadow, diameter)
        return self._lamps[light]

    def unit(self, points: Float[np.ndarray, "*batch 3"]) -> Float[np.ndarray, "*batch 3"]:
        """Return points of the world in the unit box of this pose."""
        return (points - self.center) / self.size

    def view(self, cameras: Cameras, floor: Floor | None) -> Any:
        """Return the cameras in the unit box, as kernels take them."""
        if not (torch.isfinite(cameras.T_camera_world).all() and (cameras.focal > 0).all()):
            raise ValueError("cameras must be finite, with focal lengths above 0")
        view = CameraArrays()
        rotation = cameras.T_camera_world[..., :3].detach().double().cpu().numpy()
        view.T_camera_world = _sent(rotation, wp.mat33)
        view.position = _sent(self.unit(cameras.positions.detach().double().cpu().numpy()), wp.vec3)
        view.focal = _sent(cameras.focal.detach().cpu().numpy(), wp.vec2)
        view.center = _sent(cameras.center.detach().cpu().numpy(), wp.vec2)
        view.width, view.height = cameras.width, cameras.height
        view.near = cameras.near / self.size
        view.inside = _sent(_nearest_depths(cameras, self._low, self._high) <= cameras.near, wp.int32)
        if floor:
            height = (floor.height - floor.up @ self.center) / self.size
            view.floor = wp.vec4(*floor.up, height)
        return view


def require_faces(character: Character) -> None:
    """Raise GambolError if a character has no faces."""
    if not any(len(mesh.faces) for mesh in character.meshes):
        raise GambolError(f"'{character.name}' has no mesh with faces: there is nothing to render")


def used_vertices(faces: Int[np.ndarray, "faces 3"], count: int) -> Int[np.ndarray, " used"]:
    """Return the indices of those of `count` vertices that belong to a face; much faster than np.unique."""
    used = np.zeros(count, bool)
    used[faces.ravel()] = True
    return np.flatnonzero(used)


def simplified(
    points: Float[np.ndarray, "vertices 3"], faces: Int[np.ndarray, "faces 3"], cells: int
) -> tuple[Int[np.ndarray, " kept"], Int[np.ndarray, "fewer_faces 3"]]:
    """Return the vertices and faces that are left when all vertices in one cell of a grid become the first of them.

    cells: number of cells along the diagonal of the box around the points (vertex clustering, Rossignac and Borrel
    1993). Faces refer to the vertices that are kept, which move as they do in the whole mesh.
    """
    low, high = points.min(0), points.max(0)
    cell = ((points - low) * (cells / (float(np.linalg.norm(high - low)) or 1.0))).astype(np.int64)
    number = (cell[:, 0] * (cells + 1) + cell[:, 1]) * (cells + 1) + cell[:, 2]
    _, first, group = np.unique(number, return_index=True, return_inverse=True)
    corners = group[faces]
    corners = np.sort(corners[(corners != np.roll(corners, 1, axis=1)).all(1)], axis=1)
    _, kept = np.unique((corners[:, 0] * len(first) + corners[:, 1]) * len(first) + corners[:, 2], return_index=True)
    return first, corners[kept]


def launch_rows(kernel: Any, shape: tuple[int, int], before: list, after: list) -> None:
    """Run a kernel over rows and columns, with every n-th row on each of n threads, because most of the work is in the
    middle.

    The kernel takes `before`, the first row, the step to the next row, and `after`.
    """
    rows, columns = shape
    threads = parallel.workers()
    wp.load_module(kernel.module.name, device=DEVICE)

    def task(first: int) -> Callable[[], None]:
        inputs = [*before, first, threads, *after]
        dim = (len(range(first, rows, threads)), columns)
        return lambda: wp.launch(kernel, dim=dim, inputs=inputs, device=DEVICE)

    parallel.run([task(first) for first in range(min(threads, rows))])


def _nearest_depths(
    cameras: Cameras, low: Float[np.ndarray, 3], high: Float[np.ndarray, 3]
) -> Float[np.ndarray, " frames"]:
    """Return the depth of the nearest corner of a box in each camera [file units]."""
    corners = np.stack(np.meshgrid(*np.stack([low, high], 1), indexing="ij"), -1).reshape(-1, 3)
    ahead = cameras.T_camera_world[:, 2].detach().double().cpu().numpy()
    return (ahead[:, :3] @ corners.T + ahead[:, 3:]).min(1)


def _paint(
    scene: Any, meshes: list[Mesh], rest: Float[np.ndarray, "vertices 3"], faces: Int[np.ndarray, "faces 3"]
) -> tuple[tuple[str, ...], Float[np.ndarray, " faces"]]:
    """Fill in everything that decides colour; return warnings, and the texture density of each face."""
    arrays, warnings = pack_materials([mesh.material for mesh in meshes])
    material = np.repeat(np.arange(len(meshes)), [len(mesh.faces) for mesh in meshes])
    uvs = np.concatenate([_filled(mesh.uvs, (len(mesh.positions), 2), 0.0) for mesh in meshes])
    colors = np.concatenate([_filled(mesh.colors, (len(mesh.positions), 4), 1.0) for mesh in meshes])
    has_uvs = np.array([mesh.uvs is not None for mesh in meshes])
    arrays["texture"] = np.where(has_uvs[:, None], arrays["texture"], -1)
    arrays |= {"uvs": uvs, "colors": np.clip(colors, 0, 1), "face_material": material, "decoded": DECODED}
    for name, values in arrays.items():
        setattr(scene, name, _sent(values, PAINT[name]))
    largest = arrays["levels"][np.maximum(arrays["texture"][material, 0], 0), 1:]
    return warnings, _density(rest, uvs, faces, largest)


def _welded(mesh: Mesh) -> Int[np.ndarray, " vertices"]:
    """Return for each vertex the first one with its position and normal: vertices are split for texture coordinates
    alone.

    A mesh without normals is taken as it is: faces that share no vertices have hard edges, others are smooth.
    """
    if mesh.normals is None:
        return np.arange(len(mesh.positions))
    keys = np.concatenate([mesh.positions, np.round(np.nan_to_num(mesh.normals), 2)], 1)
    _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return first[group.ravel()]


def _density(
    rest: np.ndarray, uvs: np.ndarray, faces: np.ndarray, sizes: Int[np.ndarray, "faces 2"]
) -> Float[np.ndarray, " faces"]:
    """Return the texels along a file unit on each face, the mean of both directions; 0 if the texture coordinates
    coincide."""
    corners, flat = rest[faces], uvs[faces] * sizes[:, None]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    first, second = flat[:, 1] - flat[:, 0], flat[:, 2] - flat[:, 0]
    texels = np.abs(first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0])
    return np.sqrt(texels / np.maximum(area, 1e-30))


def _filled(values: np.ndarray | None, shape: tuple[int, int], missing: float) -> np.ndarray:
    return np.full(shape, missing) if values is None else np.nan_to_num(values.astype(np.float64))


def _sent(values: np.ndarray, dtype: Any) -> Any:
    """Return a copy as a Warp array."""
    kind = {wp.int32: np.int32, wp.vec3i: np.int32, wp.vec4i: np.int32, wp.vec4ub: np.uint8}.get(dtype, np.float32)
    return wp.array(np.ascontiguousarray(values, kind), dtype=dtype, device=DEVICE)
