"""Pictures for people: a character on the floor of a studio, filmed by a camera that keeps all of it in view."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from gambol.character.character import Character
from gambol.character.skeleton import Pose
from gambol.errors import GambolError
from gambol.motion.motion import Motion
from gambol.render.cameras import Cameras, follow, frame_distance, orbit
from gambol.render.lighting import Light
from gambol.render.rasterize import Rendering
from gambol.render.raycast import Floor, MeshScene, require_faces
from gambol.render.studio import Studio, plain, tiled

Array = np.ndarray
View = Literal["side", "front", "three-quarter", "orbit"]

ANGLES: dict[View, tuple[float, float]] = {
    "side": (-90.0, 6.0),
    "front": (0.0, 8.0),
    "three-quarter": (-42.0, 14.0),
    "orbit": (-42.0, 14.0),
}
"""Azimuth and elevation of the camera [degrees]; from its right side a character walks to the right."""
FIELD_OF_VIEW = 28.0
"""Of the picture's shorter side [degrees]: a long lens, which does not distort."""
FILL = 0.84
"""Share of the picture that the character fills, at most, in any frame."""
STEADY = 0.4
"""Standard deviation of the window over which the camera's path is smoothed [s]."""
DIRECTIONS = 128
"""In so many directions the outermost vertices stand for the whole mesh when the camera is placed."""
RESTING = 0.1
"""The floor is where the lowest vertex is in this share of the frames: a jump does not lift it, a slip does not sink
it."""


@dataclass(frozen=True)
class Shot:
    """A character in the poses of a clip, or in its rest pose, and a camera for each frame."""

    character: Character
    poses: Pose | None
    """Of all frames; None for the rest pose in all of them."""
    times: Float[Array, " frames"]
    """In the clip, or after it if it loops [s]."""
    shifts: Float[Array, "frames 3"]
    """How far repetitions of the clip have already carried the character [file units]."""
    cameras: Cameras
    distance: float
    """From the cameras to what they look at [file units]."""
    floor: Floor
    forward: Float[Array, 3]
    lap: Float[Array, 3] | None = None
    """If its frames can be shown again and again: how far that leads each time [file units]."""

    def __len__(self) -> int:
        return len(self.times)

    def vertices(self, frame: int) -> list[Float[Array, "vertices 3"]]:
        """World positions of each mesh's vertices."""
        return [part + self.shifts[frame] for part in _posed(self.character, self.poses, frame)]

    @cached_property
    def light(self) -> Light:
        """From above the left shoulder of whoever looks at the first frame."""
        right, down, ahead = self.cameras.T_camera_world[0, :, :3].double().numpy()
        up = self.floor.up
        level = -ahead - up * (-ahead @ up)
        size = np.linalg.norm(level)
        level = level / size if size > 1e-3 else down - up * (down @ up)  # looking straight down
        key = 0.75 * level - 0.8 * right + 1.3 * up
        return Light(tuple(up.tolist()), tuple(key.tolist()))


def direct(
    character: Character,
    motion: Motion | None = None,
    times: Float[Array, " frames"] | None = None,
    *,
    up: Float[Array, 3],
    forward: Float[Array, 3],
    view: View = "three-quarter",
    azimuth: float | None = None,
    elevation: float | None = None,
    size: int = 512,
    fill: float = FILL,
    lap: Float[Array, 3] | None = None,
) -> Shot:
    """Place the cameras: they go along with the character smoothly, and nothing is cut off in any frame.

    times: of the clip's frames [s], those after its end in the next repetition if it loops; without a motion only their
    number counts.
    azimuth and elevation: instead of the view's own [degrees]; `orbit` begins there and goes round once.
    lap: the frames are one round of a clip that loops and leads so far (`loop_travel`); then the pictures can be shown
    again and again, the cameras and the tiles of the floor come round with them.
    """
    require_faces(character)
    times = np.zeros(1) if times is None else np.asarray(times, np.float64)
    moments, shifts = _repeated(character, motion, times)
    poses = motion.sample(character.skeleton, moments) if motion else None
    hull, lowest = _outermost(character, poses, shifts, np.asarray(up, np.float64))
    if not (hull.amax(1) - hull.amin(1)).any():
        raise GambolError(f"'{character.name}' is a single point in all frames: there is nothing to see")
    step = float(np.median(np.abs(np.diff(times)))) if len(times) > 1 else 0.0
    centers, smoothing = (hull.amin(1) + hull.amax(1)) / 2, STEADY / max(step, 1 / 120)
    targets = follow(centers, smoothing, lap is not None, None if lap is None else torch.as_tensor(lap))
    own = ANGLES[view]
    turn = torch.full((len(times),), own[0] if azimuth is None else azimuth, dtype=torch.float64)
    if view == "orbit":
        turn = turn + torch.arange(len(times)) * 360.0 / len(times)
    lift = own[1] if elevation is None else elevation
    axes = torch.as_tensor(up), torch.as_tensor(forward)
    for _ in range(3):  # each shift changes the distance a little, and the other way round
        distance = frame_distance(hull, targets, *axes, turn, lift, FIELD_OF_VIEW, size, size, fill)
        cameras = orbit(targets, *axes, turn, lift, distance, FIELD_OF_VIEW, size, size)
        targets = targets + _off_centre(cameras, hull, distance, sideways=view != "orbit")
    floor = Floor(np.asarray(up, np.float64), float(np.quantile(lowest, RESTING)))
    return Shot(character, poses, times, shifts, cameras, distance, floor, np.asarray(forward, np.float64), lap)


def loop_travel(character: Character, motion: Motion) -> Float[Array, 3] | None:
    """How far a clip that loops carries the character each time [file units]; None if it does not loop.

    It loops if it ends in the pose it begins with, to a hundredth of the character's size.
    """
    require_faces(character)
    ends = motion.sample(character.skeleton, np.array([motion.start, motion.end]))
    first, last = (np.concatenate(_posed(character, ends, frame)) for frame in (0, 1))
    way, size = last - first, float(np.ptp(first, axis=0).max())
    travel = way.mean(0)
    if motion.duration <= 0 or not np.abs(way - travel).max() < 0.01 * size:
        return None
    return travel if np.linalg.norm(travel) > 0.01 * size else np.zeros(3)


def _repeated(
    character: Character, motion: Motion | None, times: Float[Array, " frames"]
) -> tuple[Float[Array, " frames"], Float[Array, "frames 3"]]:
    """Times within the clip, and how far earlier repetitions have gone."""
    nowhere = np.zeros((len(times), 3))
    if motion is None or times.max() <= motion.end + 1e-6:
        return times, nowhere
    travel = loop_travel(character, motion)
    if travel is None:
        return times, nowhere
    laps = np.floor((times - motion.start) / motion.duration + 1e-6)
    return times - laps * motion.duration, laps[:, None] * travel


Paint = Callable[[int, Cameras], Rendering]
"""Draws the character of one frame as a camera sees it."""


def film(
    shot: Shot,
    scene: MeshScene | None = None,
    *,
    tiles: bool = True,
    samples: int = 3,
    paint: Paint | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[UInt8[Array, "height width 3"]]:
    """The frames one by one, sRGB.

    scene: of the same character, if there is one already. tiles: on a tiled floor; otherwise on paper. samples:
    squared, the rays in a pixel of the outline. paint: draws the character in some other form, as Gaussians for
    instance; its shadow on the floor is the mesh's.
    """
    scene = scene or MeshScene(shot.character)
    studio = _studio(shot, tiles)
    for frame in range(len(shot)):
        scene.pose(shot.vertices(frame))
        camera = shot.cameras[frame : frame + 1]
        drawn = paint(frame, camera) if paint else scene.shoot(camera, shot.light, samples, shot.floor)
        yield _composed(drawn, studio.backdrop(scene, camera, shot.distance))
        on_progress(frame + 1, len(shot))


def portrait(
    character: Character,
    size: int = 240,
    azimuth: float = ANGLES["three-quarter"][0],
    elevation: float = ANGLES["three-quarter"][1],
    samples: int = 4,
) -> UInt8[Array, "size size 3"]:
    """The character in its rest pose on paper; it must stand as glTF demands, y up and facing z."""
    up, forward = np.eye(3)[1:]
    shot = direct(character, up=up, forward=forward, azimuth=azimuth, elevation=elevation, size=size, fill=0.88)
    return next(film(shot, tiles=False, samples=samples))


def _studio(shot: Shot, tiles: bool) -> Studio:
    if not tiles:
        return plain(shot.light, shot.floor)
    low, high = shot.character.bounds
    height, longest = abs((high - low) @ shot.floor.up), float((high - low).max())
    tile = 0.35 * float(np.sqrt(max(height, 0.2 * longest) * longest))
    way = 0.0 if shot.lap is None else abs(float(shot.lap @ shot.forward))
    if way > 0.3 * tile:  # a light and a dark tile, a whole number of times
        tile = way / (2 * max(round(way / (2 * tile)), 1))
    return tiled(shot.light, shot.floor, shot.forward, tile)


def _posed(character: Character, poses: Pose | None, frame: int) -> list[Float[Array, "vertices 3"]]:
    if poses is None:
        return character.vertices()
    morphs = {node: weights[frame] for node, weights in poses.morphs.items()}
    pose = Pose(poses.translation[frame], poses.rotation[frame], poses.scale[frame], morphs)
    return character.vertices(pose)


def _outermost(
    character: Character, poses: Pose | None, shifts: Float[Array, "frames 3"], up: Float[Array, 3]
) -> tuple[Float[Tensor, "frames directions 3"], Float[Array, " frames"]]:
    """The outermost vertices in many directions, and the height of the lowest along up, frame by frame."""
    used = [np.unique(mesh.faces) for mesh in character.meshes]
    directions = np.concatenate([_sphere(DIRECTIONS), -up[None]])
    found = []
    for frame in range(len(shifts) if poses else 1):
        vertices = _posed(character, poses, frame)
        points = np.concatenate([part[chosen] for part, chosen in zip(vertices, used, strict=True)])
        if not np.isfinite(points).all():
            raise GambolError(f"frame {frame} puts vertices at NaN or infinity: check the clip's keys")
        found.append(points[(directions @ points.T).argmax(1)])  # 9 times as fast as along columns
    hull = np.array(found) + shifts[:, None]
    return torch.as_tensor(hull[:, :-1]), hull[:, -1] @ up


def _off_centre(
    cameras: Cameras, hull: Float[Tensor, "frames points 3"], distance: float, sideways: bool
) -> Float[Tensor, "frames 3"]:
    """How far what is seen in all frames together is from the middle of the picture, as a way in the world."""
    rotation, shift = cameras.T_camera_world[..., :3], cameras.T_camera_world[..., 3]
    seen = hull @ rotation.mT + shift[:, None]
    flat = (seen[..., :2] / seen[..., 2:]).flatten(0, 1)
    middle = distance * (flat.amin(0) + flat.amax(0)) / 2
    if not sideways:
        middle = middle * middle.new_tensor([0.0, 1.0])
    return torch.einsum("a,fax->fx", middle, rotation[:, :2])


def _sphere(count: int) -> Float[Array, "count 3"]:
    """Directions spread evenly."""
    height = 1 - (2 * np.arange(count) + 1) / count
    angle = np.arange(count) * np.pi * (3 - np.sqrt(5))
    around = np.sqrt(1 - height**2)
    return np.stack([around * np.cos(angle), height, around * np.sin(angle)], 1)


def _composed(drawn: Rendering, backdrop: Float[Array, "height width 3"]) -> UInt8[Array, "height width 3"]:
    """The character before the backdrop.

    In numpy, on one thread: those of torch, once awake, spin for a while and take the cores from the ray caster's,
    which made films of 512 x 512 slower by half.
    """
    image, alpha = drawn.image[0].detach().cpu().numpy(), drawn.alpha[0, ..., None].detach().cpu().numpy()
    return np.rint(np.clip(image + (1 - alpha) * backdrop, 0, 1) * 255).astype(np.uint8)
