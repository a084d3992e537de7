"""What is measured of a motion in tracks: range, twist, foot slide, and how far two motions are apart on one body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gambol.motion.chains import CHAIN_KINDS, STATIONS
from gambol.priors.tracks.features import CONTACT, HEIGHT, nominal_seconds, points_of, tracks_of
from gambol.priors.tracks.training.clips import TrackSample

POSES = 16
"""Poses of a motion that are compared with those of another."""
LEG = CHAIN_KINDS.index("leg")
DOWN = 0.5
"""A foot is on the ground where its contact is at least this."""

Points = Float[Tensor, "frames parts stations 3"]


def columns_of(sample: TrackSample) -> Float[Tensor, "frames parts stations 2 3"]:
    """Two columns of each station's rotation."""
    return sample.features.parts[..., :CONTACT].unflatten(-1, (STATIONS, 2, 3))


def points_seen(sample: TrackSample) -> Points:
    """Where the bones of each station end, seen from the anchor [leg lengths]."""
    shape = sample.shape
    return points_of(columns_of(sample), shape.bones, shape.offsets, shape.hangs_on)


def amplitude(sample: TrackSample) -> float:
    """Range of motion of the stations' end points, seen from the anchor: diagonal of the box that each moves in, on
    average [leg lengths]."""
    points = points_seen(sample)
    return float((points.amax(0) - points.amin(0)).norm(dim=-1).mean())


def trunk_twist(sample: TrackSample) -> float:
    """Turning of the trunk's last station against its first one about the up axis, from peak to peak [degrees]."""
    tracks = tracks_of(sample.features, 1.0, sample.loops)
    between = tracks.rotations[:, 0, 0].mT @ tracks.rotations[:, 0, -1]
    angle = torch.atan2(between[:, 0, 2] - between[:, 2, 0], between[:, 0, 0] + between[:, 2, 2])
    return float(np.degrees(np.ptp(np.unwrap(angle.double().numpy()))))


def foot_slide(sample: TrackSample) -> float:
    """Mean horizontal speed of the lowest point of each leg while its foot is on the ground [leg lengths/s]; nan if no
    foot ever is."""
    legs = sample.shape.kinds == LEG
    tracks = tracks_of(sample.features, nominal_seconds(len(sample.features.path), sample.loops), sample.loops)
    points, path = points_seen(sample)[:, legs], tracks.path
    down = tracks.contacts[:, legs] >= DOWN
    if sample.loops:
        points, path = torch.cat([points, points[:1]]), torch.cat([path, path[:1] + tracks.travel])
        down = torch.cat([down, down[:1]])
    low = points[..., 1].argmin(-1)[:-1]
    flat = points[..., [0, 2]] + path[:, None, None]
    angle = tracks.turn * torch.arange(len(flat)) / max(len(flat) - 1, 1)
    sin, cos = angle.sin()[:, None, None], angle.cos()[:, None, None]
    placed = torch.stack([cos * flat[..., 0] + sin * flat[..., 1], cos * flat[..., 1] - sin * flat[..., 0]], -1)
    way = torch.diff(placed, dim=0).norm(dim=-1).gather(-1, low[..., None])[..., 0]
    standing = down[:-1] & down[1:]
    frames_per_second = (len(flat) - 1) / sample.seconds
    return float(way[standing].mean()) * frames_per_second if bool(standing.any()) else float("nan")


@dataclass(frozen=True, eq=False)
class Compared:
    """Motions as they would be on one body, part by part."""

    points: Float[Tensor, "poses parts stations 3"]
    """Poses of all motions, one motion after the other: the stations' end points, with the height of the anchor."""
    shared: Bool[Tensor, "poses parts"]
    """Parts that the body which a pose comes from has too."""


def distances(sample: TrackSample, others: Sequence[TrackSample]) -> Float[np.ndarray, " others"]:
    """How far each of other motions is from a motion when the same body does it: root mean square over points of the
    parts that both bodies have and over time [leg lengths].

    Both motions are brought to the same number of poses. Loops are compared at the circular shift that suits best, and
    a loop with each part, as long as itself, of a motion that does not loop; the mirror image counts too. Other builds
    and motions of another kind (a loop for one that does not) are infinitely far.
    """
    found = np.full(len(others), np.inf)
    able = [i for i, other in enumerate(others) if other.shape.build == sample.shape.build]
    able = [i for i in able if sample.loops or not others[i].loops]
    if not able:
        return found
    own = _on_body(sample, [sample], [POSES])
    counts = [_poses(sample, others[i]) for i in able]
    compared = _on_body(sample, [others[i] for i in able], counts)
    flip = torch.tensor([-1.0, 1.0, 1.0])
    asked = torch.stack([own.points, own.points[:, sample.partners] * flip])
    start = 0
    for i, count in zip(able, counts, strict=True):
        points = compared.points[start : start + count]
        shared = compared.shared[start]
        start += count
        if sample.loops:  # repeated, so that parts of it begin anywhere
            points = torch.cat([points, points[: POSES - 1]]) if others[i].loops else points
            points = points.unfold(0, POSES, 1).movedim(-1, 1)
        else:
            points = points[None]
        apart = (asked[:, None] - points).square()[..., shared, :, :].sum(-1).mean((-1, -2, -3))
        found[i] = float(apart.min().sqrt())
    return found


def _poses(sample: TrackSample, other: TrackSample) -> int:
    """Poses of another motion to compare with POSES of one: in the same time if only one of them loops."""
    if sample.loops == other.loops:
        return POSES
    return max(round(POSES * len(other.features.path) / len(sample.features.path)), POSES)


def _on_body(body: TrackSample, motions: Sequence[TrackSample], counts: Sequence[int]) -> Compared:
    """Motions as they are on one body, each in so many poses."""
    names, total = _names(body), sum(counts)
    columns = torch.eye(3)[:2].expand(total, len(names), STATIONS, 2, 3).clone()
    shared, height = torch.zeros(total, len(names), dtype=torch.bool), torch.zeros(total)
    start = 0
    for motion, count in zip(motions, counts, strict=True):
        place = {name: number for number, name in enumerate(_names(motion))}
        pairs = [(mine, place[name]) for mine, name in enumerate(names) if name in place]
        mine, theirs = (list(numbers) for numbers in zip(*pairs, strict=True))
        rows, here = _at_even_times(motion, count), slice(start, start + count)
        columns[here, mine] = rows[0][:, theirs].unflatten(-1, (STATIONS, 2, 3))
        shared[here, mine], height[here] = True, rows[1]
        start += count
    shape = body.shape
    points = points_of(columns, shape.bones, shape.offsets, shape.hangs_on)
    points[..., 1] += height[:, None, None]
    return Compared(points, shared)


def _names(sample: TrackSample) -> list[tuple[int, int, int]]:
    """Kind, side and rank of each part."""
    shape = sample.shape
    return list(zip(shape.kinds.tolist(), shape.sides.tolist(), shape.ranks.tolist(), strict=True))


def _at_even_times(
    sample: TrackSample, count: int
) -> tuple[Float[Tensor, "poses parts columns"], Float[Tensor, " poses"]]:
    """Rotations and height at evenly spaced times."""
    parts, height = sample.features.parts[..., :CONTACT], sample.features.path[:, HEIGHT]
    frames = len(height)
    at = torch.arange(count) * frames / count if sample.loops else torch.linspace(0, frames - 1, count)
    left = at.floor().long()
    right = (left + 1) % frames if sample.loops else (left + 1).clamp(max=frames - 1)
    share = at - left
    rows = torch.lerp(parts[left], parts[right], share[:, None, None])
    return rows, torch.lerp(height[left], height[right], share)
