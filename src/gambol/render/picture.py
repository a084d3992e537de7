"""Ray-traced frames of a character in a studio, by a camera that follows it and keeps all of it in view."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.character.rig import build_rig
from gambol.character.skeleton import Pose
from gambol.errors import GambolError
from gambol.motion.loops import loop_travel
from gambol.render.cameras import Cameras, follow, frame_distance, orbit
from gambol.render.gaussians import Gaussians, shade
from gambol.render.lighting import Light
from gambol.render.movie import SHEET_FRAMES
from gambol.render.rasterize import Rendering, rasterize
from gambol.render.raycast import Floor, MeshScene, require_faces, used_vertices
from gambol.render.skinned_gaussians import bind_gaussians
from gambol.render.studio import Studio

View = Literal["side", "front", "three-quarter", "orbit"]

ANGLES: dict[View, tuple[float, float]] = {
    "side": (-90.0, 6.0),
    "front": (0.0, 8.0),
    "three-quarter": (-42.0, 14.0),
    "orbit": (-42.0, 14.0),
}
"""Azimuth and elevation of the camera [degrees]; from its right side a character walks to the right."""
FIELD_OF_VIEW = 28.0
"""Field of view of the shorter side of a frame [degrees]: a long lens, which does not distort."""
FILL = 0.84
"""Largest share of the frame that the character fills at any time."""
STEADY = 0.4
"""Standard deviation of the window over which the camera's path is smoothed [s]."""
DIRECTIONS = 128
"""Number of directions whose outermost vertices stand for the whole mesh when the camera is placed."""
MOST_VERTICES = 50_000
"""Number of vertices that are posed to place the camera; a finer mesh is thinned to it."""
RESTING = 0.1
"""Quantile of the lowest vertex over all frames at which the floor lies: a jump does not raise it, a slip does not
lower it."""
TURN = 4.0
"""Shortest duration of a turn around the character [s]."""
SHORT = 2.0
"""A loop is repeated in an .mp4 until it lasts so long [s]: players repeat a GIF by themselves, but not an .mp4."""


@dataclass(frozen=True)
class CameraShot:
    """A character in the poses of a clip, or in its rest pose, with a camera for each frame."""

    character: Character
    poses: Pose | None
    """Poses of all frames; None if every frame shows the rest pose."""
    times: Float[np.ndarray, " frames"]
    """Time of each frame; times after the end of the clip are in its next repetition, if it loops [s]."""
    shifts: Float[np.ndarray, "frames 3"]
    """Displacement of the character by earlier repetitions of the clip [file units]."""
    cameras: Cameras
    distance: float
    """Distance from the cameras to their targets [file units]."""
    floor: Floor
    forward: Float[np.ndarray, 3]
    cycle_travel: Float[np.ndarray, 3] | None = None
    """Displacement of the character over one cycle, if the frames are one cycle of a loop that will be repeated; else
    None [file units]."""

    def __len__(self) -> int:
        return len(self.times)

    def vertices(self, frame: int) -> list[Float[np.ndarray, "vertices 3"]]:
        """Return the world positions of the vertices of each mesh [file units]."""
        return [part + self.shifts[frame] for part in self.character.vertices(self.poses and self.poses.at(frame))]

    @property
    def labels(self) -> list[str]:
        """What stands below each frame on a contact sheet: its time, or its angle if nothing moves."""
        if self.poses is None:
            return [f"{360 * frame / len(self):.0f}°" for frame in range(len(self))]
        return [f"{time - self.times[0]:.2f} s" for time in self.times]

    @property
    def morphs_move(self) -> bool:
        """Whether morph targets change during the shot."""
        morphs = self.poses.morphs.values() if self.poses else ()
        return any(float(np.ptp(weights, axis=0).max(initial=0)) > 1e-3 for weights in morphs)

    @cached_property
    def light(self) -> Light:
        """The light comes from above the left shoulder of the camera in the first frame."""
        right, down, ahead = self.cameras.T_camera_world[0, :, :3].double().numpy()
        up = self.floor.up
        level = -ahead - up * (-ahead @ up)
        size = np.linalg.norm(level)
        level = level / size if size > 1e-3 else down - up * (down @ up)  # looking straight down
        key = 0.75 * level - 0.8 * right + 1.3 * up
        return Light(tuple(up.tolist()), tuple(key.tolist()))


def choose_frames(
    clip: Clip | None,
    view: Literal["auto"] | View,
    suffix: str = ".mp4",
    fps: float = 30.0,
    seconds: float | None = None,
    loops: bool = False,
) -> tuple[Float[np.ndarray, " frames"], View]:
    """Return the times of all frames [s], which go beyond the clip's end if it loops, and the view. For a .png they are
    the frames of a contact sheet, evenly from the clip's start to its end."""
    sheet = suffix == ".png"
    if view == "auto":
        view = "three-quarter" if clip or sheet else "orbit"
    if clip is None:
        turn = SHEET_FRAMES if sheet else round((seconds or TURN) * fps)
        return np.zeros(max(turn if view == "orbit" or not sheet else 1, 1)), view
    if sheet:
        end = clip.end if seconds is None else min(clip.end, clip.start + seconds)
        return np.unique(np.linspace(clip.start, end, SHEET_FRAMES)), view
    least = TURN if view == "orbit" else SHORT if suffix == ".mp4" else 0.0
    if loops:  # whole repetitions, and not the last frame, which is the first again
        length = seconds or clip.duration * max(1, np.ceil(least / clip.duration - 1e-6))
        return clip.start + np.arange(max(round(length * fps), 1)) / fps, view
    times = clip.times(fps)
    wanted = max(len(times), round(TURN * fps) if view == "orbit" else 0) if seconds is None else round(seconds * fps)
    return np.resize(times, max(wanted, 1)), view  # cut, or begun again


def place_cameras(
    character: Character,
    clip: Clip | None = None,
    times: Float[np.ndarray, " frames"] | None = None,
    *,
    up: Float[np.ndarray, 3],
    forward: Float[np.ndarray, 3],
    view: View = "three-quarter",
    azimuth: float | None = None,
    elevation: float | None = None,
    size: int = 512,
    fill: float = FILL,
    cycle_travel: Float[np.ndarray, 3] | None = None,
) -> CameraShot:
    """Return a shot whose cameras follow the character smoothly and cut nothing off in any frame.

    times: of the frames [s]; those after the end of the clip are in its next repetition, if it loops. Without a clip
        only their number counts.
    azimuth, elevation: of the camera, instead of those of the view [degrees]; `orbit` starts there and turns once.
    cycle_travel: displacement over one cycle (`loop_travel`), if the frames are one cycle of a loop. Then the frames
        can be repeated: the path of the cameras and the tiles of the floor fit together.
    """
    require_faces(character)
    times = np.zeros(1) if times is None else np.asarray(times, np.float64)
    moments, shifts = _repeated(character, clip, times)
    poses = clip.sample(character.skeleton, moments) if clip else None
    hull, lowest = _outermost(character, poses, shifts, np.asarray(up, np.float64))
    if not (hull.amax(1) - hull.amin(1)).any():
        raise GambolError(f"'{character.name}' is a single point in all frames: there is nothing to render")
    step = float(np.median(np.abs(np.diff(times)))) if len(times) > 1 else 0.0
    centers, smoothing = (hull.amin(1) + hull.amax(1)) / 2, STEADY / max(step, 1 / 120)
    targets = follow(
        centers, smoothing, cycle_travel is not None, None if cycle_travel is None else torch.as_tensor(cycle_travel)
    )
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
    return CameraShot(
        character, poses, times, shifts, cameras, distance, floor, np.asarray(forward, np.float64), cycle_travel
    )


def _repeated(
    character: Character, clip: Clip | None, times: Float[np.ndarray, " frames"]
) -> tuple[Float[np.ndarray, " frames"], Float[np.ndarray, "frames 3"]]:
    """Return times within the clip [s], and the displacement by earlier repetitions [file units]."""
    nowhere = np.zeros((len(times), 3))
    if clip is None or times.max() <= clip.end + 1e-6:
        return times, nowhere
    travel = loop_travel(character, clip)
    if travel is None:
        return times, nowhere
    repetitions = np.floor((times - clip.start) / clip.duration + 1e-6)
    return times - repetitions * clip.duration, repetitions[:, None] * travel


DrawCharacter = Callable[[int, Cameras], Rendering]
"""Renders the character in one frame, given by its number, as one camera sees it."""


def render_frames(
    shot: CameraShot,
    scene: MeshScene | None = None,
    *,
    samples: int = 3,
    draw_character: DrawCharacter | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[UInt8[np.ndarray, "height width 3"]]:
    """Yield the frames one by one, in sRGB.

    scene: the meshes of the character, if they have been prepared already.
    samples: number of rays along each side of a pixel where neighbours differ; the square of it is the number of rays.
    draw_character: renders the character in another form, such as Gaussians; its shadow is that of the mesh.
    """
    scene = scene or MeshScene(shot.character)
    studio = _studio(shot)
    for frame in range(len(shot)):
        scene.pose(shot.vertices(frame))
        camera = shot.cameras[frame : frame + 1]
        drawn = (
            draw_character(frame, camera) if draw_character else scene.render(camera, shot.light, samples, shot.floor)
        )
        yield composed(drawn, studio.backdrop(scene, camera, shot.distance))
        on_progress(frame + 1, len(shot))


def gaussian_drawer(gaussians: Gaussians, shot: CameraShot, anatomy: Anatomy) -> DrawCharacter:
    """Return a function that renders the character of a shot as Gaussians, which are given in its neutral pose."""
    character = shot.character
    skinned = bind_gaussians(gaussians, character, build_rig(anatomy))
    posed = character.bind_matrices(character.skeleton.world(shot.poses))[..., :3, :]
    matrices = torch.as_tensor(posed, dtype=torch.float32).expand(len(shot), *posed.shape[-3:])
    up = torch.as_tensor(shot.floor.up, dtype=torch.float32)

    def draw_character(frame: int, cameras: Cameras) -> Rendering:
        means, covariances = skinned.skinned(matrices[frame : frame + 1])
        means = means + torch.as_tensor(shot.shifts[frame], dtype=torch.float32)
        opacities = skinned.opacities * (means @ up >= shot.floor.height)
        cameras = cameras.to(torch.float32)
        return rasterize(means, covariances, opacities, shade(skinned.harmonics, means, cameras), cameras)

    return draw_character


def _studio(shot: CameraShot) -> Studio:
    low, high = shot.character.bounds
    height, longest = abs((high - low) @ shot.floor.up), float((high - low).max())
    tile = 0.35 * float(np.sqrt(max(height, 0.2 * longest) * longest))
    way = 0.0 if shot.cycle_travel is None else abs(float(shot.cycle_travel @ shot.forward))
    if way > 0.3 * tile:  # a light and a dark tile, a whole number of times
        tile = way / (2 * max(round(way / (2 * tile)), 1))
    return Studio(shot.light, shot.floor, shot.forward, tile)


def _outermost(
    character: Character, poses: Pose | None, shifts: Float[np.ndarray, "frames 3"], up: Float[np.ndarray, 3]
) -> tuple[Float[Tensor, "frames directions 3"], Float[np.ndarray, " frames"]]:
    """Return the outermost vertices in many directions, and the height of the lowest vertex, for each frame."""
    thinned = _thinned(character)
    directions = np.concatenate([_sphere(DIRECTIONS), -up[None]])
    found = []
    for frame in range(len(shifts) if poses else 1):
        points = np.concatenate(thinned.vertices(poses and poses.at(frame)))
        if not np.isfinite(points).all():
            raise GambolError(f"frame {frame} has vertices at NaN or infinity; check the keys of the clip")
        found.append(points[(directions @ points.T).argmax(1)])  # 9 times as fast as along columns
    hull = np.array(found) + shifts[:, None]
    return torch.as_tensor(hull[:, :-1]), hull[:, -1] @ up


def _thinned(character: Character) -> Character:
    """Return the character with only the vertices that faces use; of very many of these, with every n-th."""
    used = [used_vertices(mesh.faces, len(mesh.positions)) for mesh in character.meshes]
    step = -(-sum(map(len, used)) // MOST_VERTICES)
    meshes = [mesh.only(part[::step]) for mesh, part in zip(character.meshes, used, strict=True)]
    return replace(character, meshes=tuple(meshes))


def _off_centre(
    cameras: Cameras, hull: Float[Tensor, "frames points 3"], distance: float, sideways: bool
) -> Float[Tensor, "frames 3"]:
    """Return the displacement in the world that brings what all frames together show to the middle of the frame."""
    rotation, shift = cameras.T_camera_world[..., :3], cameras.T_camera_world[..., 3]
    seen = hull @ rotation.mT + shift[:, None]
    flat = (seen[..., :2] / seen[..., 2:]).flatten(0, 1)
    middle = distance * (flat.amin(0) + flat.amax(0)) / 2
    if not sideways:
        middle = middle * middle.new_tensor([0.0, 1.0])
    return torch.einsum("a,fax->fx", middle, rotation[:, :2])


def _sphere(count: int) -> Float[np.ndarray, "count 3"]:
    """Return unit vectors spread evenly over the sphere."""
    height = 1 - (2 * np.arange(count) + 1) / count
    angle = np.arange(count) * np.pi * (3 - np.sqrt(5))
    around = np.sqrt(1 - height**2)
    return np.stack([around * np.cos(angle), height, around * np.sin(angle)], 1)


def composed(drawn: Rendering, backdrop: Float[np.ndarray, "height width 3"]) -> UInt8[np.ndarray, "height width 3"]:
    """Return the character composited over the backdrop, in sRGB.

    In numpy, on one thread: torch's threads spin after they have been used and take the cores from the ray caster,
    which made movies of 512 x 512 pixels take half as long again.
    """
    image, alpha = drawn.image[0].detach().cpu().numpy(), drawn.alpha[0, ..., None].detach().cpu().numpy()
    return np.rint(np.clip(image + (1 - alpha) * backdrop, 0, 1) * 255).astype(np.uint8)
