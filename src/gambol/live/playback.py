"""What the live page shows: coloured meshes, and a motion as the skinning matrices that move them.

In page coordinates the longest side of the character is 1, z is forward, y is up and the ground is y = 0. The character
stays in its place while the ground moves, so that the camera need not follow it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil, tau

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, UInt8
from scipy import sparse
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character, Material, Mesh
from gambol.character.rig import Rig
from gambol.character.transforms import rotation_about
from gambol.errors import AssetError
from gambol.motion.rig_motion import RigMotion
from gambol.motion.skinning import Binding
from gambol.render.textures import DECODED, decode

MOST_COLORS = 12
"""Colours of a character, shared among its meshes: a mesh of viser has a single colour."""
FRAME_RATE = 30.0
"""Frames a second."""
MOST_FRAMES = 600
"""Longer motions have fewer frames a second, with linear interpolation between them."""
PAUSE_AT_END = 0.5
"""How long the last pose of a motion that does not loop is held [s]."""
UP = np.array([0.0, 1.0, 0.0])
LEAST_OPACITY = 0.1
"""Faces of a blended material below this opacity are left out."""


@dataclass(frozen=True, eq=False)
class ColoredMesh:
    """The faces of a mesh that have the same colour."""

    color: tuple[int, int, int]
    """sRGB, 0 to 255."""
    faces: Int[np.ndarray, "faces 3"]
    skinning: sparse.csr_matrix
    """Weight times homogeneous position: vertices x (4 columns a bind). Linear blend skinning is linear in the
    matrices; this product takes 1 ms for 20,000 vertices, a fraction of what torch takes while its threads are busy."""

    def vertices(self, matrices: Float[Tensor, "binds 3 4"]) -> Float[np.ndarray, "vertices 3"]:
        """Positions by linear blend skinning."""
        return self.skinning @ matrices.transpose(1, 2).reshape(-1, 3).numpy()


def colored_meshes(character: Character) -> list[ColoredMesh]:
    """The character split by colour; empty if it has no faces."""
    meshes = [mesh for mesh in character.meshes if len(mesh.faces)]
    most = max(MOST_COLORS // max(len(meshes), 1), 1)
    return [part for mesh in meshes for part in _split(mesh, len(character.bind_nodes), most)]


def _split(mesh: Mesh, binds: int, most_colors: int) -> Iterator[ColoredMesh]:
    from PIL import Image

    colors, shown = _face_colors(mesh)
    if not shown.any():
        return
    reduced = Image.fromarray(colors[shown][None]).quantize(most_colors, kmeans=1)
    palette, choice = np.asarray(reduced.getpalette()).reshape(-1, 3), np.asarray(reduced)[0]
    # The browser computes normals from shared vertices, so vertices that only differ in texture coordinates are merged.
    traits = [mesh.positions, mesh.binds, mesh.weights, *([] if mesh.normals is None else [mesh.normals])]
    rows = np.concatenate(traits, 1, dtype=np.float32) + 0.0  # -0 becomes 0
    _, first, group = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    faces = first[group.ravel()][mesh.faces[shown]]
    skinning = mesh.influence(mesh.shape(), binds).astype(np.float32)
    for number in np.unique(choice):
        used, local = np.unique(faces[choice == number], return_inverse=True)
        red, green, blue = palette[number].tolist()
        yield ColoredMesh((red, green, blue), local.reshape(-1, 3), skinning[used])


def _face_colors(mesh: Mesh) -> tuple[UInt8[np.ndarray, "faces 3"], Bool[np.ndarray, " faces"]]:
    """The sRGB colour at the centre of each face, and whether the face is opaque enough to be shown."""
    material = mesh.material
    color = np.tile(np.asarray(material.base_color, np.float64), (len(mesh.faces), 1))
    if mesh.colors is not None:
        color *= mesh.colors[mesh.faces].mean(1)
    if material.texture is not None and mesh.uvs is not None:
        color *= _texels(material, mesh.uvs[mesh.faces].mean(1))
    least = {"OPAQUE": 0.0, "MASK": material.alpha_cutoff, "BLEND": LEAST_OPACITY}[material.alpha_mode]
    light = np.clip(np.nan_to_num(color[:, :3] + np.asarray(material.emissive)), 0, 1)
    nearest = np.searchsorted((DECODED[1:] + DECODED[:-1]) / 2, light)
    return nearest.astype(np.uint8), color[:, 3] >= least


def _texels(material: Material, uvs: Float[np.ndarray, "faces 2"]) -> Float[np.ndarray, "faces 4"]:
    """Linear colour and opacity of the texture at these coordinates; white if it cannot be decoded."""
    assert material.texture is not None
    try:
        image = decode(material.texture)
    except AssetError:  # the report says so
        return np.ones((len(uvs), 4))
    size = np.array(image.shape[1::-1])
    column, row = np.minimum((np.nan_to_num(uvs) % 1.0 * size).astype(int), size - 1).T
    return np.concatenate([DECODED[image[row, column, :3]], image[row, column, 3:] / 255.0], 1)


@dataclass(frozen=True, eq=False)
class Playback:
    """A motion in page coordinates, without its root displacement."""

    matrices: Float[Tensor, "frames binds 3 4"]
    """From mesh space to the page. The last frame of a loop is the first one of the next cycle."""
    seconds: float
    loops: bool
    displacement: Float[np.ndarray, 3]
    """Horizontal root displacement of a cycle, or of the whole motion."""
    turn: float
    """How far a cycle turns to the left [rad]."""

    def at(self, phase: float) -> Float[Tensor, "binds 3 4"]:
        """Skinning matrices at a phase, where 0 is the start and 1 the end."""
        place = min(max(phase, 0.0), 1.0) * (len(self.matrices) - 1)
        frame = min(int(place), len(self.matrices) - 2)
        return torch.lerp(self.matrices[frame], self.matrices[frame + 1], place - frame)


class PlaybackMaker:
    """Turns motions of one character into playbacks."""

    def __init__(self, character: Character, anatomy: Anatomy, rig: Rig):
        low, high = character.bounds
        size = max(float(np.max(high - low)), anatomy.height) or 1.0
        self.axes = torch.as_tensor(np.stack([anatomy.left, anatomy.up, anatomy.forward]) / size)
        self.origin = torch.as_tensor(rig.pivot + (anatomy.ground - rig.pivot @ anatomy.up) * anatomy.up)
        self._rig, self._binding = rig, Binding(character, rig)

    @torch.no_grad()
    def playback(self, motion: RigMotion) -> Playback:
        """Resample a motion, move it to the page and remove its root displacement, evenly over time."""
        frames = min(max(ceil(motion.seconds * FRAME_RATE), 2), MOST_FRAMES)
        dense = motion.resampled(frames)
        world = (dense.repeated(2, self._rig) if dense.loops else dense).world(self._rig)[: frames + 1]
        start, displacement = (self.axes @ part.double() for part in (dense.root_translation[0], dense.displacement))
        start[1] = displacement[1] = 0.0
        matrices = self.axes @ self._binding(world).double()
        phases = torch.linspace(0, 1, len(matrices), dtype=torch.float64)[:, None, None]
        matrices[..., 3] -= self.axes @ self.origin + start + phases * displacement
        turn = motion.turn if motion.loops else 0.0
        return Playback(matrices.float(), motion.seconds, motion.loops, displacement.numpy(), turn)


@dataclass
class PlayHead:
    """The current time of a playback. It is kept when a newer playback takes over."""

    phase: float = 0.0
    """From 0 to 1; above 1 while the last pose is held."""
    heading: float = 0.0
    """How far the character has turned to the left at the start of the cycle [rad]."""
    start: Float[np.ndarray, 3] = field(default_factory=lambda: np.zeros(3))
    """Where the cycle starts on the ground."""

    def advance(self, playback: Playback, seconds: float) -> None:
        """Go on by a time [s]; a motion that does not loop starts again after a pause."""
        self.phase += seconds / playback.seconds
        if not playback.loops and self.phase >= 1 + PAUSE_AT_END / playback.seconds:
            self.phase, self.heading, self.start = 0.0, 0.0, np.zeros(3)
        while playback.loops and self.phase >= 1:
            self.start = self.start + rotation_about(UP, np.array(self.heading)) @ playback.displacement
            self.phase, self.heading = self.phase - 1, (self.heading + playback.turn) % tau

    def position(self, playback: Playback) -> Float[np.ndarray, 3]:
        """Where the character is on the ground."""
        return self.start + rotation_about(UP, np.array(self.heading)) @ (min(self.phase, 1.0) * playback.displacement)
