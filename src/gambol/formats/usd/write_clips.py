"""Clips as SkelAnimation prims: every joint at every key, and the weights of blend shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from pxr import Sdf, Usd, UsdSkel, Vt

from gambol.character.character import Character
from gambol.character.clip import Clip, continuous, frame_times
from gambol.character.transforms import normalize, xyzw_from_wxyz
from gambol.errors import GambolError
from gambol.formats.usd.joints import Joints

MOST_VALUES = 20_000_000
"""Keys times joints of a clip."""
ROUNDED = 1e-4
"""Share by which scales may be off in half precision without a word."""


class ClipWriter:
    """Writes animations of one skeleton."""

    def __init__(
        self,
        stage: Usd.Stage,
        character: Character,
        joints: Joints,
        paths: Sequence[str],
        shapes: Mapping[int, Sequence[str]],
        lost: list[str],
    ):
        self._stage, self._character, self._joints, self._paths = stage, character, joints, paths
        self._shapes, self._lost = shapes, lost
        """Names of the blend shapes of each node that carries a mesh."""

    def write(self, path: Sdf.Path, clip: Clip, rate: float) -> None:
        """An animation with keys where the clip has them; curves that are not straight are sampled."""
        times = self._times(clip, rate)
        if len(times) * max(len(self._paths), 1) > MOST_VALUES:
            raise GambolError(f"clip '{clip.name}' has {len(times):,} keys of {len(self._paths):,} joints: too many")
        animation = UsdSkel.Animation.Define(self._stage, path)
        animation.GetPrim().SetDisplayName(clip.name)
        codes = times * rate
        if self._paths:
            self._write_joints(animation, clip, times, codes)
        self._write_weights(animation, clip, times, codes)

    def write_rest(self, path: Sdf.Path) -> Sdf.Path | None:
        """An animation of one pose, if meshes have blend shapes that are seen at rest; skeletons cannot say that."""
        weights = self._rest_weights()
        if not any(each.any() for each in weights):
            return None
        animation = UsdSkel.Animation.Define(self._stage, path)
        names = [name for shapes in self._shapes.values() for name in shapes]
        animation.CreateBlendShapesAttr(names)
        given = np.concatenate(weights).astype(np.float32)
        animation.CreateBlendShapeWeightsAttr(Vt.FloatArray.FromNumpy(given))
        return path

    def _rest_weights(self) -> list[np.ndarray]:
        """Of the blend shapes of each node, in their order."""
        known = {mesh.node: mesh.morph_weights for mesh in self._character.meshes if mesh.morph_weights is not None}
        return [np.asarray(known.get(node, np.zeros(len(names)))) for node, names in self._shapes.items()]

    def _times(self, clip: Clip, rate: float) -> Float[np.ndarray, " keys"]:
        """Keys of straight tracks; frames where a track is a curve or jumps."""
        straight = [track.times for track in clip.tracks if track.interpolation == "LINEAR"]
        if len(straight) < len(clip.tracks):
            straight.append(frame_times(clip, rate))
            self._lost.append(f"clip '{clip.name}': curves and steps became straight lines, {rate:g} keys a second")
        return np.unique(np.concatenate(straight))

    def _write_joints(self, animation: UsdSkel.Animation, clip: Clip, times: np.ndarray, codes: np.ndarray) -> None:
        pose = clip.sample(self._character.skeleton, times)
        translation, rotation, scale = self._joints.locals_of(pose)
        animation.CreateJointsAttr(self._paths)
        moved, turned, sized = (
            animation.CreateTranslationsAttr(),
            animation.CreateRotationsAttr(),
            animation.CreateScalesAttr(),
        )
        turns = xyzw_from_wxyz(continuous(normalize(rotation))).astype(np.float32)
        sizes = scale.astype(np.float16)
        if np.abs(sizes - scale).max() > ROUNDED * np.abs(scale).max():
            self._lost.append(f"clip '{clip.name}' scales joints: USD keeps three digits of that (half precision)")
        for frame in _kept(translation):
            moved.Set(Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(translation[frame], np.float32)), codes[frame])
        for frame in _kept(turns):
            turned.Set(Vt.QuatfArray.FromNumpy(np.ascontiguousarray(turns[frame])), codes[frame])
        for frame in _kept(sizes):
            sized.Set(Vt.Vec3hArray.FromNumpy(np.ascontiguousarray(sizes[frame])), codes[frame])

    def _write_weights(self, animation: UsdSkel.Animation, clip: Clip, times: np.ndarray, codes: np.ndarray) -> None:
        if not self._shapes:
            return
        pose = clip.sample(self._character.skeleton, times)
        columns = []
        for (node, names), still in zip(self._shapes.items(), self._rest_weights(), strict=True):
            columns.append(np.broadcast_to(pose.morphs.get(node, still), (len(times), len(names))))
        values = np.concatenate(columns, axis=1).astype(np.float32)
        animation.CreateBlendShapesAttr([name for names in self._shapes.values() for name in names])
        attribute = animation.CreateBlendShapeWeightsAttr()
        for frame in _kept(values):
            attribute.Set(Vt.FloatArray.FromNumpy(np.ascontiguousarray(values[frame])), codes[frame])


def _kept(values: np.ndarray) -> list[int]:
    """Frames that have to be keys: one, if nothing changes."""
    return [0] if not len(values) or (values == values[0]).all() else list(range(len(values)))
