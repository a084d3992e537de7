"""A clip: keyframed tracks on a skeleton's nodes, as a file holds them and as we write them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from gambol.character.skeleton import Pose, Skeleton
from gambol.character.transforms import normalize, slerp

Interpolation = Literal["LINEAR", "STEP", "CUBICSPLINE"]
Path = Literal["translation", "rotation", "scale", "weights"]

USUAL_FPS = 30.0
SLOWEST_FPS, FASTEST_FPS = 10.0, 240.0
"""Frames a second at which keys are taken for a baked clip; others are poses set by hand, or noise."""
UNEVEN = 0.02
"""Frames by which a key may be off its place and still be a key of that frame."""


@dataclass(frozen=True)
class Track:
    """One property of one node over time."""

    node: int
    path: Path
    times: Float[np.ndarray, " keys"]
    """Strictly increasing [s]."""
    values: Float[np.ndarray, "keys width"] | Float[np.ndarray, "keys 3 width"]
    """One row a key; CUBICSPLINE: in-tangent, value, out-tangent. Rotations are wxyz."""
    interpolation: Interpolation = "LINEAR"

    def sample(self, times: Float[np.ndarray, " frames"]) -> Float[np.ndarray, "frames width"]:
        """Values at any times [s]; before the first and after the last key the value stands still."""
        times = np.clip(times, self.times[0], self.times[-1])
        left = np.clip(np.searchsorted(self.times, times, side="right") - 1, 0, max(len(self.times) - 2, 0))
        right = np.minimum(left + 1, len(self.times) - 1)
        span = self.times[right] - self.times[left]
        fraction = np.where(span > 0, (times - self.times[left]) / np.where(span > 0, span, 1.0), 0.0)
        if self.interpolation == "STEP":
            values = self.values[np.where(fraction >= 1, right, left)]
        elif self.interpolation == "CUBICSPLINE":
            values = self._hermite(left, right, span, fraction)
        elif self.path == "rotation":
            return slerp(normalize(self.values[left]), normalize(self.values[right]), fraction)
        else:
            values = self.values[left] + fraction[:, None] * (self.values[right] - self.values[left])
        return normalize(values) if self.path == "rotation" else values

    def _hermite(self, left: np.ndarray, right: np.ndarray, span: np.ndarray, fraction: np.ndarray) -> np.ndarray:
        """glTF 2.0, appendix C.5: tangents are scaled by the length of the interval."""
        u, length = fraction[:, None], span[:, None]
        start, end = self.values[left, 1], self.values[right, 1]
        leaving, arriving = self.values[left, 2] * length, self.values[right, 0] * length
        return (
            (2 * u**3 - 3 * u**2 + 1) * start
            + (u**3 - 2 * u**2 + u) * leaving
            + (3 * u**2 - 2 * u**3) * end
            + (u**3 - u**2) * arriving
        )


@dataclass(frozen=True)
class Clip:
    """Named tracks; what no track names stays at rest."""

    name: str
    tracks: tuple[Track, ...]
    extras: Mapping[str, Any] = field(default_factory=dict)
    """What else the file says of it, as JSON (the extras of a glTF animation), such as events for a game."""

    @property
    def start(self) -> float:
        """Time of the first key [s]; not always zero."""
        return min((float(track.times[0]) for track in self.tracks), default=0.0)

    @property
    def end(self) -> float:
        """Time of the last key [s]."""
        return max((float(track.times[-1]) for track in self.tracks), default=0.0)

    @property
    def duration(self) -> float:
        return self.end - self.start

    def from_zero(self) -> "Clip":
        """The same clip, starting at 0 s."""
        start = self.start
        if start == 0:
            return self
        return replace(self, tracks=tuple(replace(track, times=track.times - start) for track in self.tracks))

    def times(self, fps: float = 30.0) -> Float[np.ndarray, " frames"]:
        """Frame times from start to end [s], the last one at or before the end."""
        return self.start + np.arange(int(np.floor(self.duration * fps + 1e-6)) + 1) / fps

    def sample(self, skeleton: Skeleton, times: Float[np.ndarray, " frames"] | float) -> Pose:
        """The pose at any times [s]; a single number gives a single pose without a frame axis."""
        moments = np.atleast_1d(np.asarray(times, dtype=np.float64))
        rest = skeleton.rest
        shape = (len(moments), len(skeleton))
        values = {
            "translation": np.broadcast_to(rest.translation, (*shape, 3)).copy(),
            "rotation": np.broadcast_to(rest.rotation, (*shape, 4)).copy(),
            "scale": np.broadcast_to(rest.scale, (*shape, 3)).copy(),
        }
        morphs = {}
        for track in self.tracks:
            if track.path == "weights":
                morphs[track.node] = track.sample(moments)
            else:
                values[track.path][:, track.node] = track.sample(moments)
        if np.ndim(times) == 0:
            values = {path: value[0] for path, value in values.items()}
            morphs = {node: value[0] for node, value in morphs.items()}
        return Pose(**values, morphs=morphs)

    @staticmethod
    def from_poses(name: str, poses: Pose, skeleton: Skeleton, fps: float = 30.0) -> "Clip":
        """Linear tracks through a sequence of poses; a property that never leaves the rest pose gets no track."""
        if poses.translation.ndim != 3:
            raise ValueError(f"poses must have a frame axis, got translations of shape {poses.translation.shape}")
        if not (fps > 0 and name):
            raise ValueError(f"a clip needs a name and fps above 0, got {name!r} and {fps}")
        frames = len(poses.translation)
        times = np.arange(frames) / fps
        tracks = []
        for node in range(len(skeleton)):
            for path in ("translation", "rotation", "scale"):
                values = getattr(poses, path)[:, node]
                rest = getattr(skeleton.rest, path)[node]
                if path == "rotation":
                    values = continuous(values)
                    unmoved = np.abs(np.abs(values @ rest) - 1).max() < 1e-12
                else:
                    unmoved = np.allclose(values, rest, rtol=1e-7, atol=1e-9)
                if not unmoved:
                    tracks.append(Track(node, path, times, values))
        for node, weights in poses.morphs.items():
            tracks.append(Track(node, "weights", times, weights))
        return Clip(name, tuple(tracks))


def continuous(wxyz: Float[np.ndarray, "keys *batch 4"]) -> Float[np.ndarray, "keys *batch 4"]:
    """The same rotations with signs chosen so that neighbours are close: q and -q are one rotation."""
    flips = np.where((wxyz[1:] * wxyz[:-1]).sum(-1) < 0, -1.0, 1.0)
    return wxyz * np.concatenate([np.ones((1, *flips.shape[1:])), np.cumprod(flips, axis=0)])[..., None]


def natural_fps(clip: Clip) -> float:
    """The rate a clip was baked at, found from its key times; 30 if they are not evenly spaced."""
    if not clip.tracks:
        return USUAL_FPS
    times = np.unique(np.concatenate([track.times for track in clip.tracks]).astype(np.float32)).astype(np.float64)
    gaps = np.diff(times)
    gaps = gaps[gaps > 1e-4]
    if not len(gaps):
        return USUAL_FPS
    frames = np.round((times[-1] - times[0]) / np.median(gaps))  # the whole length says it more precisely than one gap
    fps = float(frames / (times[-1] - times[0]))
    if abs(fps - round(fps)) < 0.005:
        fps = float(round(fps))
    places = (times - times[0]) * fps
    even = np.abs(places - np.round(places)).max() < UNEVEN
    return fps if even and SLOWEST_FPS <= fps <= FASTEST_FPS else USUAL_FPS


def frame_times(clip: Clip, fps: float) -> Float[np.ndarray, " frames"]:
    """Evenly spaced from start to end [s]. If the length is a whole number of frames but for rounding, the last frame
    is the last key: files write 0.0083333 s for 120 a second, and a loop must close."""
    frames = clip.duration * fps
    if round(frames) > 0 and abs(frames - round(frames)) < UNEVEN:
        return np.linspace(clip.start, clip.end, round(frames) + 1)
    return clip.times(fps)
