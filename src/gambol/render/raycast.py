"""Pictures of a character's own meshes: textures, vertex colours, transparency, light and shadow."""

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
from gambol.character.welding import vertex_normals
from gambol.errors import GambolError
from gambol.render.cameras import Cameras
from gambol.render.drawing_kernels import View, project_kernel
from gambol.render.lighting import Light, hang_lamps, no_lamps
from gambol.render.rasterize import Rendering
from gambol.render.raycast_kernels import contrast_kernel, hits_kernel, shoot_kernel, wp
from gambol.render.surface_kernels import Scene
from gambol.render.textures import DECODED, pack_paints
from gambol.warp_device import DEVICE

Array = np.ndarray

ROOM = 64 * 2**20
"""For what is kept of several frames at once [bytes]."""
BAND = 32
"""Rows that are drawn at a time, at most: few enough for their samples to stay in the cache."""


@dataclass(frozen=True)
class Floor:
    """A plane that hides what is below it from cameras above it."""

    up: Float[Array, 3]
    """Unit vector."""
    height: float
    """Along up [file units]."""


@dataclass(frozen=True)
class Hits:
    """What the rays through the centres of pixels meet first; wholly transparent places are nothing."""

    face: Int[Tensor, "frames height width"]
    """Counted through all meshes in order; -1 where nothing is."""
    barycentric: Float[Tensor, "frames height width 3"]
    depth: Float[Tensor, "frames height width"]
    """Along the camera's axis of view [file units]; 0 where nothing is."""


class MeshScene:
    """A character's meshes, ready for rays. Build it once: posing it again takes about a millisecond.

    Both sides of every face are shown, whatever the material says: holes would look worse. Kernels count in float32, so
    the posed mesh is moved and scaled into a unit box for them.
    """

    def __init__(self, character: Character) -> None:
        """In the rest pose. What cannot be shown of the textures is said in `warnings`."""
        require_faces(character)
        self._shown = [bool(len(mesh.faces)) for mesh in character.meshes]
        meshes = [mesh for mesh in character.meshes if len(mesh.faces)]
        starts = np.cumsum([0, *(len(mesh.positions) for mesh in meshes)])[:-1].tolist()
        self._faces = np.concatenate([mesh.faces + start for mesh, start in zip(meshes, starts, strict=True)])
        self._used = np.unique(self._faces)
        self._same = np.concatenate([_welded(mesh) + start for mesh, start in zip(meshes, starts, strict=True)])
        self._scene: Any = Scene()
        self._mesh: Any = None
        self._scene.corners = _sent(self._faces.ravel(), wp.int32)
        rest = character.vertices()
        self.warnings, self._density = _paint(self._scene, meshes, self._joined(rest), self._faces)
        self.pose(rest)

    def pose(self, vertices: Sequence[Float[Array, "vertices 3"]]) -> None:
        """Move the meshes: world positions of the vertices of each [file units], as `Character.vertices` gives them."""
        points = self._joined(vertices)
        if not np.isfinite(points).all():
            raise GambolError("the pose puts vertices at NaN or infinity: check the clip's keys")
        used = points[self._used]
        self._low, self._high = used.min(0), used.max(0)
        self._center, self._size = (self._low + self._high) / 2, float((self._high - self._low).max()) or 1.0
        unit = _sent(self.unit(points), wp.vec3)
        if self._mesh is None:
            self._mesh = wp.Mesh(points=unit, indices=self._scene.corners, bvh_constructor="sah", bvh_leaf_size=4)
        else:
            self._mesh.points = unit  # and fits the boxes anew
        scene = self._scene
        scene.mesh, scene.points = self._mesh.id, unit
        scene.normals = _sent(vertex_normals(points, self._same[self._faces])[self._same], wp.vec3)
        scene.face_density = _sent(self._density * self._size, float)
        self._lamps: dict[Light, Any] = {}

    def _joined(self, vertices: Sequence[Float[Array, "vertices 3"]]) -> Float[Array, "all_vertices 3"]:
        """The vertices of all meshes that have faces."""
        return np.concatenate([v for v, shown in zip(vertices, self._shown, strict=True) if shown]).astype(np.float64)

    def shoot(
        self, cameras: Cameras, light: Light | None = None, samples: int = 4, floor: Floor | None = None
    ) -> Rendering:
        """What the cameras see, in sRGB; without a light the colours as they are (unlit).

        Where neighbours differ, a pixel is the mean of samples x samples rays; with 1 there is no antialiasing.
        """
        if samples < 1:
            raise ValueError(f"samples must be at least 1, got {samples}")
        lamps = self.lamps(light) if light else no_lamps()
        picture = torch.empty(len(cameras), cameras.height, cameras.width, 4)
        vertices = len(self._same)
        at_once = max(1, ROOM // (12 * vertices))
        for start in range(0, len(cameras), at_once):
            some = slice(start, start + at_once)
            self._shoot(self.view(cameras[some], floor), lamps, samples, picture[some])
        return Rendering(picture[..., :3], picture[..., 3])

    def _shoot(self, view: Any, lamps: Any, samples: int, picture: Float[Tensor, "frames height width 4"]) -> None:
        """One ray through the middle of each pixel, then more where neighbours differ."""
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
        """All marked pixels, in bands of rows dealt out to the threads in turn."""
        cells = view.width * samples**2
        rows = max(1, min(BAND, ROOM // 64 // (8 * cells)))
        bands, threads = len(canvas) * -(-view.height // rows), parallel.workers()
        wp.load_module(shoot_kernel.module.name, device=DEVICE)

        def task(first: int) -> Callable[[], None]:
            scratch = [wp.empty(rows * cells, dtype=kind, device=DEVICE) for kind in (wp.float32, wp.int32)]
            inputs = [self._scene, lamps, view, first, threads, rows, samples, projected, marked, *scratch, canvas]
            count = len(range(first, bands, threads))
            return lambda: wp.launch(shoot_kernel, dim=count, inputs=inputs, device=DEVICE)

        parallel.run([task(first) for first in range(min(threads, bands))])

    def hits(self, cameras: Cameras) -> Hits:
        """Which face is at the centre of each pixel, where on it, and how far away."""
        shape = (len(cameras), cameras.height, cameras.width)
        face, where = torch.empty(shape, dtype=torch.int32), torch.zeros(*shape, 3)
        outputs = [wp.from_torch(face), wp.from_torch(where, dtype=wp.vec3)]
        view = self.view(cameras, None)
        launch_rows(hits_kernel, (shape[0] * shape[1], shape[2]), [self._scene, view], outputs)
        u, v = where[..., 0], where[..., 1]
        barycentric = torch.stack([u, v, 1 - u - v], -1) * (face >= 0)[..., None]
        return Hits(face, barycentric, where[..., 2] * self._size)

    def lamps(self, light: Light) -> Any:
        """The lamps with their maps of this pose, in the unit box."""
        if light not in self._lamps:
            diameter = float(np.linalg.norm(self._high - self._low)) / self._size or 1.0
            self._lamps[light] = hang_lamps(light, self._mesh.points, self._scene.corners, diameter)
        return self._lamps[light]

    def unit(self, points: Float[Array, "*batch 3"]) -> Float[Array, "*batch 3"]:
        """Points of the world in the unit box of this pose."""
        return (points - self._center) / self._size

    @property
    def size(self) -> float:
        """Length of the unit box [file units]."""
        return self._size

    def world(self, points: Float[Array, "*batch 3"]) -> Float[Array, "*batch 3"]:
        """Points of the unit box of this pose in the world."""
        return points * self._size + self._center

    def view(self, cameras: Cameras, floor: Floor | None) -> Any:
        """The cameras in the unit box."""
        if not (torch.isfinite(cameras.T_camera_world).all() and (cameras.focal > 0).all()):
            raise ValueError("cameras must be finite, with focal lengths above 0")
        view = View()
        rotation = cameras.T_camera_world[..., :3].detach().double().cpu().numpy()
        view.T_camera_world = _sent(rotation, wp.mat33)
        view.position = _sent(self.unit(cameras.positions.detach().double().cpu().numpy()), wp.vec3)
        view.focal = _sent(cameras.focal.detach().cpu().numpy(), wp.vec2)
        view.center = _sent(cameras.center.detach().cpu().numpy(), wp.vec2)
        view.width, view.height = cameras.width, cameras.height
        view.near = cameras.near / self._size
        view.inside = _sent(_nearest_depths(cameras, self._low, self._high) <= cameras.near, wp.int32)
        if floor:
            height = (floor.height - floor.up @ self._center) / self._size
            view.floor = wp.vec4(*floor.up, height)
        return view


def require_faces(character: Character) -> None:
    """Refuse a character that rays would pass by."""
    if not any(len(mesh.faces) for mesh in character.meshes):
        raise GambolError(f"'{character.name}' has no mesh with faces: there is nothing to see")


def launch_rows(kernel: Any, shape: tuple[int, int], before: list, after: list) -> None:
    """Run a kernel over rows and columns, the rows dealt out to all threads in turn: what is to see is in the middle.

    Between the other arguments the kernel takes the first row and the step to the next.
    """
    rows, columns = shape
    threads = parallel.workers()
    wp.load_module(kernel.module.name, device=DEVICE)

    def task(first: int) -> Callable[[], None]:
        inputs = [*before, first, threads, *after]
        dim = (len(range(first, rows, threads)), columns)
        return lambda: wp.launch(kernel, dim=dim, inputs=inputs, device=DEVICE)

    parallel.run([task(first) for first in range(min(threads, rows))])


def _nearest_depths(cameras: Cameras, low: Float[Array, 3], high: Float[Array, 3]) -> Float[Array, " frames"]:
    """Depth of the nearest corner of a box before each camera."""
    corners = np.stack(np.meshgrid(*np.stack([low, high], 1), indexing="ij"), -1).reshape(-1, 3)
    ahead = cameras.T_camera_world[:, 2].detach().double().cpu().numpy()
    return (ahead[:, :3] @ corners.T + ahead[:, 3:]).min(1)


def _paint(
    scene: Any, meshes: list[Mesh], rest: Float[Array, "vertices 3"], faces: Int[Array, "faces 3"]
) -> tuple[tuple[str, ...], Float[Array, " faces"]]:
    """Put all that decides colour into a scene; returns warnings, and how dense textures lie on the faces."""
    paints = pack_paints([mesh.material for mesh in meshes])
    material = np.repeat(np.arange(len(meshes)), [len(mesh.faces) for mesh in meshes])
    uvs = np.concatenate([_filled(mesh.uvs, (len(mesh.positions), 2), 0.0) for mesh in meshes])
    colors = np.concatenate([_filled(mesh.colors, (len(mesh.positions), 4), 1.0) for mesh in meshes])
    has_uvs = np.array([mesh.uvs is not None for mesh in meshes])
    texture = np.where(has_uvs[:, None], paints.texture, -1)
    scene.uvs, scene.colors = _sent(uvs, wp.vec2), _sent(np.clip(colors, 0, 1), wp.vec4)
    scene.face_material = _sent(material, wp.int32)
    scene.base_color, scene.emissive = _sent(paints.base_color, wp.vec4), _sent(paints.emissive, wp.vec3)
    scene.texture, scene.levels = _sent(texture, wp.vec4i), _sent(paints.levels, wp.vec3i)
    scene.alpha_mode, scene.alpha_cutoff = _sent(paints.alpha_mode, wp.int32), _sent(paints.alpha_cutoff, float)
    scene.texels, scene.decoded = _sent(paints.texels, wp.vec4ub), _sent(DECODED, float)
    largest = paints.levels[np.maximum(texture[material, 0], 0), 1:]
    return paints.warnings, _density(rest, uvs, faces, largest)


def _welded(mesh: Mesh) -> Int[Array, " vertices"]:
    """For each vertex the first with its place and normal: vertices split for their texture coordinates alone.

    A mesh without normals is taken as it is: faces that share no vertices have edges between them, others are smooth.
    """
    if mesh.normals is None:
        return np.arange(len(mesh.positions))
    keys = np.concatenate([mesh.positions, np.round(np.nan_to_num(mesh.normals), 2)], 1)
    _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return first[group.ravel()]


def _density(rest: Array, uvs: Array, faces: Array, sizes: Int[Array, "faces 2"]) -> Float[Array, " faces"]:
    """Texels along a file unit on each face, in the mean of both directions; 0 where the texture is one point."""
    corners, flat = rest[faces], uvs[faces] * sizes[:, None]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    first, second = flat[:, 1] - flat[:, 0], flat[:, 2] - flat[:, 0]
    texels = np.abs(first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0])
    return np.sqrt(texels / np.maximum(area, 1e-30))


def _filled(values: Array | None, shape: tuple[int, int], missing: float) -> Array:
    return np.full(shape, missing) if values is None else np.nan_to_num(values.astype(np.float64))


def _sent(values: Array, dtype: Any) -> Any:
    """A copy as Warp wants it."""
    kind = {wp.int32: np.int32, wp.vec3i: np.int32, wp.vec4i: np.int32, wp.vec4ub: np.uint8}.get(dtype, np.float32)
    return wp.array(np.ascontiguousarray(values, kind), dtype=dtype, device=DEVICE)
