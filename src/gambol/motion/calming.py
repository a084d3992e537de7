"""What bodies cannot do and samples do: wrists, ankles, fingers and toes that bend too far, parts that turn too fast.

Where a sample cannot decide between two poses, it jumps from one to the other in a frame; here that takes a third of a
second.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from scipy.spatial.transform import Rotation
from torch import Tensor

from gambol.motion.body_tracks import BodyTracks
from gambol.motion.chains import DIGITS, END, Chains

BENDS = {"arm": (95.0, 100.0), "leg": (75.0, 60.0)}
"""How far wrist and fingers, ankle and toes bend at most from where they are straight [degrees]."""
FASTEST = 1_300.0
"""Speed from which a rotation counts as a jump [degrees/s], 43 degrees a frame. Chosen by looking at samples: about 20
of 69 that were sampled for three people exceed it somewhere, in hands and arms above all."""
REACH, WIDTH = 0.17, 0.1
"""Time before and after a jump that is changed, and deviation of the mean over time that replaces it there [s]."""


def limited(tracks: BodyTracks, chains: Chains) -> BodyTracks:
    """The same motion, in which hands, feet, fingers and toes bend no farther than they can."""
    rotations = tracks.rotations.clone()
    for number, chain in enumerate(chains.chains):
        for station, most in zip((END, DIGITS), BENDS.get(chain.kind, ()), strict=False):
            bent = (rotations[:, number, station - 1].mT @ rotations[:, number, station]).double().numpy()
            vectors = _continuous(Rotation.from_matrix(bent).as_rotvec())
            angles = np.degrees(np.linalg.norm(vectors, axis=1, keepdims=True))
            kept = vectors * np.minimum(1.0, most / np.maximum(angles, 1e-9))
            jumps = np.degrees(np.linalg.norm(np.diff(kept, axis=0), axis=1)) * tracks.fps > FASTEST
            if jumps.any():
                kept = _over_time(torch.as_tensor(kept).float(), tracks.fps, WIDTH, tracks.loops).numpy()
            if jumps.any() or angles.max() > most:
                turn = torch.as_tensor(Rotation.from_rotvec(kept).as_matrix()).float()
                rotations[:, number, station] = rotations[:, number, station - 1] @ turn
    return replace(tracks, rotations=rotations)


def _continuous(vectors: Float[np.ndarray, "frames 3"]) -> Float[np.ndarray, "frames 3"]:
    """Rotation vectors that do not change their sense where they pass half a turn, from the smallest one onwards and
    backwards [rad]."""
    found, first = vectors.copy(), int(np.linalg.norm(vectors, axis=1).argmin())
    for way, end in ((1, len(vectors)), (-1, -1)):
        for frame in range(first + way, end, way):
            angle = float(np.linalg.norm(vectors[frame]))
            other = vectors[frame] * (1 - 2 * np.pi / max(angle, 1e-9))
            before = found[frame - way]
            if np.linalg.norm(other - before) < np.linalg.norm(vectors[frame] - before):
                found[frame] = other
    return found


def calmed(tracks: BodyTracks) -> BodyTracks:
    """The same motion, in which rotations that jump change gradually."""
    frames, fps = len(tracks), tracks.fps
    following = tracks.rotations.roll(-1, 0) if tracks.loops else tracks.rotations[[*range(1, frames), frames - 1]]
    turned = tracks.rotations.mT @ following
    angles = torch.rad2deg(torch.acos(((turned.diagonal(dim1=-2, dim2=-1).sum(-1) - 1) / 2).clamp(-1, 1)))
    jumps = (angles * fps > FASTEST).float()
    if not jumps.any():
        return tracks
    near = _over_time(jumps.flatten(1), fps, REACH / 2, tracks.loops).unflatten(1, jumps.shape[1:])
    share = (near / near.amax(0).clamp(min=1e-9) * 3).clamp(max=1)[..., None, None] * (jumps.amax(0) > 0)[
        ..., None, None
    ]
    slow = _over_time(tracks.rotations.flatten(1), fps, WIDTH, tracks.loops).unflatten(1, tracks.rotations.shape[1:])
    return replace(tracks, rotations=_nearest_rotations(tracks.rotations + share * (slow - tracks.rotations)))


def smoothed(tracks: BodyTracks, width: float) -> BodyTracks:
    """The same motion without its quick changes: a mean over time, weighted by a bell of that deviation [s]."""

    def slow(values: Float[Tensor, "frames ..."]) -> Float[Tensor, "frames ..."]:
        return _over_time(values.flatten(1), tracks.fps, width, tracks.loops).reshape(values.shape)

    share = torch.arange(len(tracks)) / (len(tracks) if tracks.loops else len(tracks) - 1)
    even = share[:, None] * (tracks.travel if tracks.loops else tracks.path[-1] - tracks.path[0])
    return replace(
        tracks,
        rotations=_nearest_rotations(slow(tracks.rotations)),
        height=slow(tracks.height[:, None])[:, 0],
        path=even + slow(tracks.path - even),
    )


def _nearest_rotations(matrices: Float[Tensor, "*shape 3 3"]) -> Float[Tensor, "*shape 3 3"]:
    u, _, v = torch.linalg.svd(matrices)
    sign = torch.ones_like(u[..., 0, :])
    sign[..., 2] = torch.linalg.det(u @ v)
    return (u * sign[..., None, :]) @ v


def _over_time(
    values: Float[Tensor, "frames values"], fps: float, width: float, loops: bool
) -> Float[Tensor, "frames values"]:
    """Means over time, weighted by a bell of that deviation [s]."""
    place = torch.arange(len(values)) / fps
    apart = place[:, None] - place
    if loops:
        length = len(values) / fps
        apart = (apart + length / 2) % length - length / 2
    weights = torch.exp(-0.5 * (apart / width).square())
    return (weights / weights.sum(1, keepdim=True)) @ values
