"""Clips as FBX takes: curves of translation, Euler angles and scale, with a key at every frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from gambol.character.character import Character
from gambol.character.clip import Clip, frame_times, natural_fps
from gambol.character.transforms import continuous_angles, matrix_from_quaternion
from gambol.formats.fbx.geometry import CENTIMETRES
from gambol.formats.fbx.objects import Objects, Property, number, ticks, time

LINEAR, CONSTANT = 4, 2
"""Flags of a key: how its curve goes on."""
KINDS = {"translation": ("Lcl Translation", "T"), "rotation": ("Lcl Rotation", "R"), "scale": ("Lcl Scaling", "S")}
MOST_FRAMES = 36_000
"""Keys of a curve: twenty minutes at 30 a second."""
STILL = 1e-9
"""Change below which a curve needs only its first and last key, relative to its largest value."""


class TakeWriter:
    """Writes one clip after the other."""

    def __init__(
        self,
        character: Character,
        objects: Objects,
        models: Mapping[int, int],
        channels: Mapping[int, Sequence[Sequence[int]]],
        lost: list[str],
    ):
        self._character, self._objects = character, objects
        self._models, self._channels, self._lost = models, channels, lost

    def write(self, clip: Clip) -> tuple[str, float, float]:
        """A take of the clip; returns its name, start and end [s].

        Joints that the clip says nothing of get a key, too: some programs would leave them as another take had them.
        """
        ends = (("Start", clip.start), ("Stop", clip.end))
        times = self._frames(clip)
        pose = clip.sample(self._character.skeleton, times)
        spans = [(f"{kind}{end}", at) for kind in ("Local", "Reference") for end, at in ends]
        stack, _ = self._objects.add(
            "AnimationStack", clip.name, "AnimStack", "", [time(name, at) for name, at in spans]
        )
        layer, _ = self._objects.add("AnimationLayer", clip.name, "AnimLayer")
        self._objects.connect(layer, stack)
        moved: dict[tuple[int, str], bool] = {
            (track.node, track.path): track.interpolation == "STEP" for track in clip.tracks
        }
        nodes = list(self._models)
        values = {
            "translation": CENTIMETRES * pose.translation[:, nodes],
            "rotation": _angles(pose.rotation[:, nodes]),
            "scale": pose.scale[:, nodes],
        }
        for column, node in enumerate(nodes):
            for path, (prop, short) in KINDS.items():
                if self._character.skeleton.is_joint[node] or (node, path) in moved:
                    steps = moved.get((node, path), False)
                    self._curves(layer, self._models[node], prop, short, times, values[path][:, column], steps)
        for node, weights in pose.morphs.items():
            self._weights(layer, node, times, weights)
        if clip.extras:
            self._lost.append(f"clip '{clip.name}': its extras are not written")
        return clip.name, clip.start, clip.end

    def _frames(self, clip: Clip) -> Float[np.ndarray, " frames"]:
        """Times of the keys: the clip's own frames, or fewer in a clip of hours."""
        fps = natural_fps(clip)
        if clip.duration * fps > MOST_FRAMES:
            fps = MOST_FRAMES / clip.duration
            self._lost.append(f"clip '{clip.name}' is {clip.duration:,.0f} s long: it gets {fps:.2g} keys a second")
        return frame_times(clip, fps)

    def _weights(self, layer: int, node: int, times: np.ndarray, weights: Float[np.ndarray, "frames targets"]) -> None:
        for target, channels in enumerate(self._channels.get(node, ())):
            for channel in channels:
                percent = 100 * weights[:, target : target + 1]
                self._curves(layer, channel, "DeformPercent", "DeformPercent", times, percent, False)

    def _curves(
        self,
        layer: int,
        owner: int,
        prop: str,
        short: str,
        times: Float[np.ndarray, " frames"],
        values: Float[np.ndarray, "frames width"],
        steps: bool,
    ) -> None:
        """A curve for each coordinate, under one node that names the property."""
        names = ("d|X", "d|Y", "d|Z") if values.shape[1] == 3 else (f"d|{prop}",)
        defaults: list[Property] = [
            number(name, value, True) for name, value in zip(names, values[0].tolist(), strict=True)
        ]
        node, _ = self._objects.add("AnimationCurveNode", short, "AnimCurveNode", "", defaults)
        self._objects.connect(node, layer)
        self._objects.connect(node, owner, prop)
        for name, column in zip(names, values.T, strict=True):
            still = np.ptp(column) <= STILL * max(1.0, float(np.abs(column).max()))
            keys = [0, -1] if still and len(times) > 1 else slice(None)
            curve = self._curve(times[keys], column[keys], CONSTANT if steps else LINEAR)
            self._objects.connect(curve, node, name)

    def _curve(self, times: Float[np.ndarray, " keys"], values: Float[np.ndarray, " keys"], flag: int) -> int:
        curve, record = self._objects.add("AnimationCurve", "", "AnimCurve")
        record.add("Default", float(values[0]))
        record.add("KeyVer", np.int32(4008))
        record.add("KeyTime", np.array([ticks(each) for each in times.tolist()], "<i8"))
        record.add("KeyValueFloat", values.astype("<f4"))
        record.add("KeyAttrFlags", np.array([flag], "<i4"))
        record.add("KeyAttrDataFloat", np.zeros(4, "<f4"))
        record.add("KeyAttrRefCount", np.array([len(times)], "<i4"))
        return curve


def _angles(wxyz: Float[np.ndarray, "frames nodes 4"]) -> Float[np.ndarray, "frames nodes 3"]:
    """Degrees about x, y and z; FBX turns about x first: the transpose of Rx Ry Rz with negative angles."""
    turned = matrix_from_quaternion(wxyz)
    return -np.degrees(continuous_angles(np.swapaxes(turned, -1, -2)))
