"""The studio: a tiled floor under soft light in front of a backdrop, for pictures that people look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.formats.plain import linear_from_srgb
from gambol.render.cameras import Cameras
from gambol.render.lighting import Light
from gambol.render.raycast import Floor, MeshScene, launch_rows
from gambol.render.studio_kernels import Room, floor_light_kernel, room_kernel, wp

Array = np.ndarray
Vector = tuple[float, float, float]

COARSE = {"key": 2, "sky": 4}
"""Shadows on the floor are counted once for a block of so many pixels squared, and blended between."""
PAPER = (0.968, 0.96, 0.94)


@dataclass(frozen=True)
class Studio:
    """Colours are sRGB from 0 to 1."""

    light: Light
    floor: Floor
    along: Float[Array, 3]
    """Unit vector on the floor along the tiles."""
    tile: float
    """Side of a tile [file units]."""
    light_tile: Vector = (0.905, 0.897, 0.882)
    dark_tile: Vector = (0.848, 0.840, 0.826)
    horizon: Vector = (0.905, 0.900, 0.890)
    zenith: Vector = (0.76, 0.79, 0.82)
    border: float = 0.0
    """Share of the picture over which all fades into the horizon's colour at its edges."""

    def backdrop(self, scene: MeshScene, camera: Cameras, distance: float) -> Float[Tensor, "height width 3"]:
        """The room without the character but with its shadow, as one camera sees it from this distance.

        The floor fades from one and a half to six times that distance [file units].
        """
        if len(camera) != 1:
            raise ValueError(f"the backdrop is drawn for one camera at a time, got {len(camera)}")
        view, lamps = scene.view(camera, self.floor), scene.lamps(self.light)
        room = self._room(scene, lamps, distance)
        key = _blurred(self._floor_light(view, lamps, room, "key"), 3)
        sky = _blurred(self._floor_light(view, lamps, room, "sky"), 5)
        picture = torch.empty(camera.height, camera.width, 3)
        outputs = [wp.from_torch(key), wp.from_torch(sky), wp.from_torch(picture, dtype=wp.vec3)]
        launch_rows(room_kernel, (camera.height, camera.width), [view, room], outputs)
        return self._faded(picture) if self.border > 0 else picture

    def _faded(self, picture: Float[Tensor, "height width 3"]) -> Float[Tensor, "height width 3"]:
        inward = [(torch.arange(side) + 0.5).minimum(side - 0.5 - torch.arange(side)) for side in picture.shape[:2]]
        rows, columns = (((1 - edge / (self.border * len(edge))).clamp(0, 1) ** 2) for edge in inward)
        share = ((1 - rows)[:, None] * (1 - columns))[..., None]
        return share * picture + (1 - share) * picture.new_tensor(self.horizon)

    def _floor_light(
        self, view: Any, lamps: Any, room: Any, which: Literal["key", "sky"]
    ) -> Float[Tensor, "rows columns"]:
        """Light on the floor by the lamps of one kind, in blocks of pixels."""
        first, last = (0, lamps.keys) if which == "key" else (lamps.keys, lamps.count)
        rows, columns = (-(-side // COARSE[which]) for side in (view.height, view.width))
        light = torch.empty(rows, columns)
        launch_rows(floor_light_kernel, (rows, columns), [view, lamps, room], [first, last, wp.from_torch(light)])
        return light

    def _room(self, scene: MeshScene, lamps: Any, distance: float) -> Any:
        east = self.along
        north = np.cross(self.floor.up, east)
        origin = scene.world(np.zeros(3))
        room = Room()
        room.east, room.north = (wp.vec3(*(axis * scene.size / self.tile)) for axis in (east, north))
        room.corner = wp.vec2(*(float(axis @ origin / self.tile) % 2 for axis in (east, north)))
        room.light_tile, room.dark_tile = (_linear(color) for color in (self.light_tile, self.dark_tile))
        room.horizon, room.zenith = wp.vec3(*self.horizon), wp.vec3(*self.zenith)
        room.fade_from, room.fade_to = 1.5 * distance / scene.size, 6 * distance / scene.size
        cosines = np.clip(self.light.directions() @ self.floor.up, 0, None)
        key, sky = cosines[: self.light.key_lamps].sum(), cosines[self.light.key_lamps :].sum()
        total = float(key) * lamps.key_color + float(sky) * lamps.sky_color
        room.key, room.sky = wp.cw_div(lamps.key_color, total), wp.cw_div(lamps.sky_color, total)
        return room


def _blurred(light: Float[Tensor, "rows columns"], width: int) -> Float[Tensor, "rows columns"]:
    """The shadows of single lamps blended into one, by a box twice, which is nearly round."""
    for _ in range(2):
        light = torch.nn.functional.avg_pool2d(light[None], width, 1, width // 2, count_include_pad=False)[0]
    return light.contiguous()


def tiled(light: Light, floor: Floor, along: Float[Array, 3], tile: float) -> Studio:
    """With large soft tiles, which show how a character moves over the floor."""
    return Studio(light, floor, along, tile)


def plain(light: Light, floor: Floor) -> Studio:
    """On paper: nothing but the shadow."""
    along = np.cross(floor.up, np.eye(3)[np.abs(floor.up).argmin()])
    paper = dict.fromkeys(("light_tile", "dark_tile", "horizon", "zenith"), PAPER)
    return Studio(light, floor, along / np.linalg.norm(along), 1.0, **paper, border=0.25)


def _linear(color: Vector) -> Any:
    return wp.vec3(*linear_from_srgb(np.array(color)))
