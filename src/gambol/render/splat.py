"""A mesh as 3D Gaussians (AKD): render it from random views, place Gaussians on its surface, fit them as 3DGS does."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.spatial import KDTree
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.neutral import neutral_world
from gambol.errors import GambolError
from gambol.ranges import FIT_STEPS, FITTED_VIEWS, GAUSSIANS, VIEW_SIZE, check_ranges
from gambol.render.cache import fingerprint, load_cached, store_cached
from gambol.render.cameras import Cameras, orbit, sphere_distance
from gambol.render.fit import Progress, TargetViews, fit, psnr
from gambol.render.gaussians import ZEROTH, Gaussians
from gambol.render.lighting import Light, Vector
from gambol.render.movie import contact_sheet, write_picture
from gambol.render.rasterize import Rendering, rasterize_gaussians
from gambol.render.raycast import Hits, MeshScene

VERSION = 2
"""Version of this algorithm; a new number makes earlier results in the cache invalid."""
HELD_OUT = 24
"""Number of held-out views, on which the result is measured."""
FIELD_OF_VIEW = 35.0
CLOSE_UPS, ZOOM = 4, 2.0
"""Every fourth view is a close-up: twice as large, of some point of the surface. The rasterizer widens Gaussians by
half a pixel, so those that are fitted at one size only fit that size. Fox, held-out views at 256 and at 512 pixels:
no close-ups 40.4 and 28.9 dB, a quarter 36.0 and 33.9, half 33.3 and 36.3."""
KEY = (0.35, 1.0, 0.6)
"""Direction towards the key lamp, along the character's left, up and forward."""
MOST_PIXELS = 60_000_000
"""Most pixels of all views together: 15 million, the default, take 1.1 GB."""
FACTS = ("psnr", "psnr_inside", "seconds")
"""Fields of `FittedGaussians` that are cached with the Gaussians, in their order."""
FLATNESS = 0.25
"""Thickness of an initial Gaussian, in parts of its width."""


@dataclass(frozen=True)
class SplatConfig:
    """Settings for turning a mesh into Gaussians."""

    gaussians: Annotated[int, GAUSSIANS] = 10_000
    """Number of Gaussians."""
    views: Annotated[int, FITTED_VIEWS] = 200
    """Number of views from random directions to fit to."""
    size: Annotated[int, VIEW_SIZE] = 256
    """Width and height of the views [pixels]."""
    shading: Literal["lit", "unlit"] = "lit"
    """Lit: under soft light from above, the same in all views, so that shape shows. Unlit: plain surface colours."""
    init: Literal["surface", "vertices"] = "surface"
    """Initial positions of Gaussians: anywhere on the visible surface, evenly by area, or at vertices."""
    up: Vector = (0.0, 1.0, 0.0)
    forward: Vector = (0.0, 0.0, 1.0)
    """Axes of the character, which decide where the light comes from; see `with_axes_of`."""
    seed: int = 0
    steps: Annotated[int, FIT_STEPS] = 400
    """Steps of the optimisation."""

    def check(self) -> None:
        """Raise GambolError if a number is out of its range."""
        check_ranges(self)
        if (self.views + HELD_OUT) * self.size**2 > MOST_PIXELS:
            fewer = MOST_PIXELS // self.size**2 - HELD_OUT
            way_out = f"use at most {fewer} views" if fewer >= 4 else "use a smaller size"
            raise GambolError(f"{self.views} views of size {self.size} take too much memory; {way_out}")

    def with_axes_of(self, anatomy: Anatomy) -> SplatConfig:
        """Return these settings for a character with the axes that its anatomy says."""
        return replace(self, up=_axis(anatomy.up), forward=_axis(anatomy.forward))

    @property
    def light(self) -> Light | None:
        if self.shading == "unlit":
            return None
        up, forward = np.array(self.up), np.array(self.forward)
        x, y, z = KEY[0] * np.cross(up, forward) + KEY[1] * up + KEY[2] * forward
        return Light(up=self.up, key=(float(x), float(y), float(z)))


@dataclass(frozen=True)
class FittedGaussians:
    """Gaussians fitted to a character in its neutral pose, and how well they match it."""

    gaussians: Gaussians
    psnr: float
    """Peak signal-to-noise ratio on held-out views, over white [dB]."""
    psnr_inside: float
    """Peak signal-to-noise ratio on the pixels of the character alone [dB]."""
    seconds: float
    """Duration of the fit [s]."""
    cached: bool = False
    """Whether the result is from the cache."""


def _axis(values: Float[np.ndarray, 3]) -> Vector:
    """Return an axis rounded and without negative zeros, so that equal axes are the same in the cache."""
    x, y, z = (np.round(values, 6) + 0.0).tolist()
    return x, y, z


def splat(
    character: Character, config: SplatConfig | None = None, on_progress: Progress | None = None
) -> FittedGaussians:
    """Return the character as Gaussians; from the cache if the same was fitted before."""
    config = config or SplatConfig()
    config.check()
    name = f"splats-{identity(character, config)}"
    widths = {"means": (3,), "wxyz": (4,), "scales": (3,), "opacities": (), "harmonics": (1, 3)}
    shapes = {key: (config.gaussians, *width) for key, width in widths.items()}
    known = load_cached(name, shapes, FACTS)
    if known is not None:
        tensors, facts = known
        whole, inside, seconds = (facts[fact] for fact in FACTS)
        return FittedGaussians(Gaussians(**tensors), whole, inside, seconds, cached=True)
    began = time.perf_counter()
    views, held_out, start, radius = prepare(character, config)
    gaussians = fit(start, views, radius, config.steps, on_progress)
    whole, inside = psnr(gaussians, held_out)
    made = FittedGaussians(gaussians, whole, inside, time.perf_counter() - began)
    store_cached(name, vars(gaussians), {fact: getattr(made, fact) for fact in FACTS})
    return made


def prepare(character: Character, config: SplatConfig) -> tuple[TargetViews, TargetViews, Gaussians, float]:
    """Return views to fit to, held-out views, initial Gaussians, and the character's radius [file units]."""
    scene, vertices = MeshScene(character), character.skinned(neutral_world(character))
    scene.pose(vertices)
    points, faces = scene.joined(vertices), scene.faces
    used = points[np.unique(faces)]
    center = (used.min(0) + used.max(0)) / 2
    radius = float(np.linalg.norm(used - center, axis=1).max())
    generator = torch.Generator().manual_seed(config.seed)
    cameras = all_around(generator, config.views + HELD_OUT, center, radius, config.size)
    aims = torch.as_tensor(used[torch.randint(len(used), (len(cameras),), generator=generator)], dtype=torch.float32)
    close = (torch.arange(len(cameras)) % CLOSE_UPS == 0) & (torch.arange(len(cameras)) < config.views)
    cameras = zoomed(cameras, aims, torch.where(close, ZOOM, 1.0))
    seen = scene.render(cameras, config.light)
    views = TargetViews(cameras, seen.image, seen.alpha)
    shown, held_out = views[slice(0, config.views)], views[slice(config.views, None)]
    patches = visible_patches(shown, scene.hits(shown.cameras), points, faces)
    begin = first_gaussians(patches, used, config, np.random.default_rng(config.seed))
    return shown, held_out, begin, radius


def all_around(
    generator: torch.Generator, count: int, center: Float[np.ndarray, 3], radius: float, size: int
) -> Cameras:
    """Return cameras in random directions, uniform over the sphere, that see a ball completely."""
    azimuth = 360 * torch.rand(count, generator=generator)
    elevation = torch.rand(count, generator=generator).mul(2).sub(1).asin().rad2deg()
    targets = torch.as_tensor(center, dtype=torch.float32).expand(count, 3)
    up, forward = torch.eye(3)[1], torch.eye(3)[2]
    distance = sphere_distance(radius, FIELD_OF_VIEW, fill=0.95)
    return orbit(targets, up, forward, azimuth, elevation, distance, FIELD_OF_VIEW, size, size)


def zoomed(cameras: Cameras, aims: Float[Tensor, "frames 3"], zoom: Float[Tensor, " frames"]) -> Cameras:
    """Return the cameras with longer focal lengths; where the zoom is not 1, the point to aim at is in the middle of
    the frame."""
    T, middle = cameras.T_camera_world, torch.tensor([cameras.width / 2, cameras.height / 2])
    seen = (T[..., :3] @ aims[..., None])[..., 0] + T[..., 3]
    focal = cameras.focal * zoom[:, None]
    center = torch.where(zoom[:, None] == 1, cameras.center, middle - focal * seen[:, :2] / seen[:, 2:])
    return replace(cameras, focal=focal, center=center)


@dataclass(frozen=True)
class SurfacePatches:
    """Patches of surface, one for each pixel of the views that shows the character."""

    positions: Float[np.ndarray, "patches 3"]
    normals: Float[np.ndarray, "patches 3"]
    colors: Float[np.ndarray, "patches 3"]
    areas: Float[np.ndarray, " patches"]
    """[square file units]"""


def visible_patches(
    views: TargetViews, hits: Hits, points: Float[np.ndarray, "vertices 3"], faces: Int[np.ndarray, "faces 3"]
) -> SurfacePatches:
    """Return a patch for each pixel that shows the character."""
    filled = (hits.face >= 0) & (views.alpha > 0.3)
    if not filled.any():
        raise GambolError("the character cannot be seen: its surfaces are all but transparent, or have no area")
    corners = points[faces[hits.face[filled].numpy()]]
    positions = np.einsum("pk,pkx->px", hits.barycentric[filled].numpy(), corners)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
    rays = views.cameras.rays()[filled].numpy()
    slope = np.abs((rays * normals).sum(1)).clip(0.05)  # grazing pixels are large, but not without limit
    pixel = 1 / views.cameras.focal.prod(1)[filled.nonzero()[:, 0]].numpy()
    areas = pixel * hits.depth[filled].numpy() ** 2 / slope
    colors = views.image[filled] / views.alpha[filled][:, None]
    return SurfacePatches(positions, normals, colors.numpy(), areas)


def first_gaussians(
    patches: SurfacePatches,
    vertices: Float[np.ndarray, "vertices 3"],
    config: SplatConfig,
    generator: np.random.Generator,
) -> Gaussians:
    """Return flat Gaussians on the surface, as wide as the gaps between them, with the colours of the views.

    What no view shows, such as the inside of a mouth or a mesh under clothes, gets none.
    """
    chance = patches.areas / patches.areas.sum()
    chosen = generator.choice(len(chance), config.gaussians, p=chance)
    positions = patches.positions[chosen]
    if config.init == "vertices":
        distance, nearest = KDTree(patches.positions).query(vertices)
        seen = np.flatnonzero(distance < 2 * np.sqrt(patches.areas[nearest]))
        seen = generator.permutation(seen)[: config.gaussians]  # too few vertices: the surface gives the rest
        positions[: len(seen)], chosen[: len(seen)] = vertices[seen], nearest[seen]
    near, _ = KDTree(positions).query(positions, k=4)
    width = np.sqrt((near[:, 1:] ** 2).mean(1)).clip(1e-6 * np.ptp(positions))
    scales = width[:, None] * np.array([1.0, 1.0, FLATNESS])
    made = (positions, _turned_to(patches.normals[chosen]), scales, np.full(len(chosen), 0.9))
    harmonics = (patches.colors[chosen] - 0.5)[:, None] / ZEROTH
    return Gaussians(*(torch.as_tensor(values, dtype=torch.float32) for values in (*made, harmonics)))


def _turned_to(normals: Float[np.ndarray, "gaussians 3"]) -> Float[np.ndarray, "gaussians 4"]:
    """Return quaternions wxyz that rotate the z axis to the normals."""
    x, y, z = np.where(normals[:, 2:] < 0, -normals, normals).T  # a flat Gaussian looks the same from below
    wxyz = np.stack([1 + z, -y, x, np.zeros_like(x)], 1)
    return wxyz / np.linalg.norm(wxyz, axis=1, keepdims=True)


def identity(character: Character, config: SplatConfig) -> str:
    """Return a hash of all that the result depends on: surfaces, colours, pose, settings and algorithm."""
    parts: list[np.ndarray | bytes | str | None] = [str(VERSION), repr(config), neutral_world(character)]
    parts += [character.bind_nodes, character.inverse_binds]
    for mesh in character.meshes:
        material, texture = mesh.material, mesh.material.texture
        parts += [mesh.shape(), mesh.faces, mesh.binds, mesh.weights, mesh.normals, mesh.uvs, mesh.colors]
        parts += [repr(replace(material, texture=None)), texture.data if texture else None]
    return fingerprint(parts)


def compare(character: Character, gaussians: Gaussians, config: SplatConfig, path: Path) -> None:
    """Write a sheet with held-out views of the mesh above and of the Gaussians below."""
    _, held_out, _, _ = prepare(character, replace(config, views=4))
    some = held_out[slice(0, 6)]
    paper = torch.full((3,), 0.96)
    rows = (Rendering(some.image, some.alpha), rasterize_gaussians(gaussians, some.cameras))
    frames = [frame for row in rows for frame in (row.over(paper).clamp(0, 1) * 255).round().byte().numpy()]
    labels = [what for what in ("mesh", "Gaussians") for _ in range(len(some))]
    write_picture(contact_sheet(frames, labels, columns=len(some)), path)
