"""Background of ray-traced frames: a tiled floor under soft light, with the shadow of the character."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from scipy.ndimage import uniform_filter

from gambol.character.colors import linear_from_srgb
from gambol.render.cameras import Cameras
from gambol.render.lighting import Light
from gambol.render.raycast import Floor, MeshScene, launch_rows
from gambol.render.studio_kernels import StudioArrays, floor_light_kernel, room_kernel, wp
from gambol.warp_device import DEVICE

Vector = tuple[float, float, float]

COARSE = {"key": 2, "sky": 4}
"""Light on the floor is computed once for a block of so many pixels squared, and interpolated."""
BLUR = {"key": 3, "sky": 5}
"""Width of the box with which the light is blurred, twice [blocks]."""


@dataclass(frozen=True)
class Studio:
    """A floor with large soft tiles, which show how a character moves over it, and what is behind it. Colours are sRGB
    from 0 to 1."""

    light: Light
    floor: Floor
    along: Float[np.ndarray, 3]
    """Unit vector on the floor along the tiles."""
    tile: float
    """Side of a tile [file units]."""
    light_tile: Vector = (0.905, 0.897, 0.882)
    dark_tile: Vector = (0.848, 0.840, 0.826)
    horizon: Vector = (0.905, 0.900, 0.890)
    zenith: Vector = (0.76, 0.79, 0.82)

    def backdrop(self, scene: MeshScene, camera: Cameras, distance: float) -> Float[np.ndarray, "height width 3"]:
        """Return the frame of one camera without the character but with its shadow, in sRGB.

        distance: from the camera to the character; the floor fades from 1.5 to 6 times that [file units].
        """
        view, lamps = scene.view(camera, self.floor), scene.lamps(self.light)
        room = self._room(scene, lamps, distance)
        key = self._floor_light(view, lamps, room, "key")
        sky = self._floor_light(view, lamps, room, "sky")
        picture = wp.empty((camera.height, camera.width), dtype=wp.vec3, device=DEVICE)
        launch_rows(room_kernel, (camera.height, camera.width), [view, room], [key, sky, picture])
        return picture.numpy()

    def _floor_light(self, view: Any, lamps: Any, room: Any, which: Literal["key", "sky"]) -> Any:
        """Return the light on the floor by the lamps of one kind, for blocks of pixels.

        A box filter that is applied twice, which is nearly round, blends the shadows of single lamps.
        """
        first, last = (0, lamps.keys) if which == "key" else (lamps.keys, lamps.count)
        rows, columns = (-(-side // COARSE[which]) for side in (view.height, view.width))
        light = wp.empty((rows, columns), dtype=wp.float32, device=DEVICE)
        launch_rows(floor_light_kernel, (rows, columns), [view, lamps, room], [first, last, light])
        blurred = uniform_filter(
            uniform_filter(light.numpy(), BLUR[which], mode="nearest"), BLUR[which], mode="nearest"
        )
        return wp.array(blurred, dtype=wp.float32, device=DEVICE)

    def _room(self, scene: MeshScene, lamps: Any, distance: float) -> Any:
        east = self.along
        north = np.cross(self.floor.up, east)
        origin = scene.center
        room = StudioArrays()
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


def _linear(color: Vector) -> Any:
    return wp.vec3(*linear_from_srgb(np.array(color)))
