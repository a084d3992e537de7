"""Features by which actions are told apart: heights, reaches, ranges and speeds of hips, head, hands and feet.

They are numbers of a body 1 m high, arms and legs in their own lengths, the same for every rig, so that a clip can be
compared with artists' clips of other characters (`quality.recognition`). A feature that a body lacks is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from gambol.character.limbs import Limb
from gambol.character.transforms import nearest_rotation, twist
from gambol.quality.normalized_clip import NormalizedClip
from gambol.quality.posture import trunk_joints

SLOWEST = 0.01
"""Speeds below this count as this, so that their logarithms stay finite [m/s at 1 m height]."""
MOVES = 0.05
"""Speed from which the rate of a movement is known [1/s]."""
RATE = 15.0
"""Frame rate of the differences from which speeds are computed [1/s]."""
Path = Float[np.ndarray, "frames 3"]
Features = dict[str, float]


def motion_features(clip: NormalizedClip) -> Features:
    """All features of a clip by name."""
    body = _Body(clip)
    return {**_whole(body), **_head(body), **_hands(body), **_feet(body), **_others(body)}


class _Body:
    """Paths of the parts of a body, seen from its hips, which do not turn with the body."""

    def __init__(self, clip: NormalizedClip):
        self.clip, self.anatomy = clip, clip.anatomy
        self.joints = clip.joints
        legs = self.anatomy.legs
        last = max((leg.rank for leg in legs), default=0)
        roots = [leg.chain[0] for leg in legs if leg.rank == last] or self.trunk[:1] or [0]
        self.hips = self.joints[..., :3, 3][:, roots].mean(1)
        self.rest_hips = float(clip.neutral_joints[roots, 1, 3].mean())
        turned = nearest_rotation(self.joints[:, self.pelvis, :3, :3] @ self._undo(self.pelvis))
        self.up = turned[:, 1, 1]
        yaw = np.unwrap(twist(turned, np.array([0.0, 1.0, 0.0])))
        upright = self.up.min() > 0.5  # the heading of a body that lies or turns over is not known
        self.yaw = yaw if upright else np.zeros(len(yaw))

    @property
    def trunk(self) -> list[int]:
        return self.anatomy.joints_of("trunk")

    @property
    def pelvis(self) -> int:
        return self.trunk[0] if self.trunk else 0

    def _undo(self, joint: int) -> Float[np.ndarray, "3 3"]:
        return np.linalg.pinv(self.clip.neutral_joints[joint, :3, :3])

    def rotations(self, joint: int) -> Float[np.ndarray, "frames 3 3"]:
        """Rotations of a joint from the neutral pose."""
        return nearest_rotation(self.joints[:, joint, :3, :3] @ self._undo(joint))

    def end(self, joint: int) -> Path:
        """Where the end of a joint's bone is [m]."""
        tip = np.append(self.clip.place(self.anatomy.body.tips[joint]), 1.0)
        return (self.joints[:, joint] @ np.linalg.solve(self.clip.neutral_joints[joint], tip))[:, :3]

    def facing(self, way: Path) -> Path:
        """A way as the body sees it that faces where its pelvis does: left, up, forward."""
        cos, sin = np.cos(self.yaw), np.sin(self.yaw)
        return np.stack([cos * way[:, 0] - sin * way[:, 2], way[:, 1], sin * way[:, 0] + cos * way[:, 2]], axis=-1)

    def limbs(self, kind: str) -> list[Limb]:
        """The first pair of limbs of a kind."""
        return [limb for limb in self.anatomy.limbs if limb.kind == kind and limb.rank == 0]

    def length(self, limb: Limb) -> float:
        heads = self.clip.neutral_joints[list(limb.chain), :3, 3]
        tip = self.clip.place(self.anatomy.body.tips[limb.chain[-1]])
        return max(float(np.linalg.norm(np.diff(np.append(heads, tip[None], axis=0), axis=0), axis=1).sum()), 1e-3)

    def way(self, limb: Limb) -> Path:
        """From where a limb begins to its end, as the body sees it [lengths of the limb]."""
        return self.facing(self.end(limb.chain[-1]) - self.joints[:, limb.chain[0], :3, 3]) / self.length(limb)


def _log(speed: float) -> float:
    return float(np.log(max(speed, SLOWEST)))


def _tempo(name: str, body: _Body, paths: Sequence[Path]) -> Features:
    """Logarithms of the mean speed of some points, of the 95th percentile of the fastest, and of their rate: mean
    acceleration over mean speed, 2 pi times the frequency of a sine wave, however wide it is [1/s]."""
    lag = max(round(body.clip.fps / RATE), 1)
    if len(paths[0]) < 2 * lag + 1:
        return {}
    steps = [(path[lag:] - path[:-lag]) * body.clip.fps / lag for path in paths]
    turns = [(step[lag:] - step[:-lag]) * body.clip.fps / lag for step in steps]
    speeds = [np.linalg.norm(step, axis=-1) for step in steps]
    mean = max(float(np.mean(speeds)), SLOWEST)
    bends = float(np.mean([np.linalg.norm(turn, axis=-1) for turn in turns]))
    peak = max(float(np.quantile(each, 0.95)) for each in speeds)
    found = {f"{name} speed": _log(mean), f"{name} peak": _log(peak)}
    return found | ({f"{name} rate": _log(bends / mean)} if mean > MOVES else {})


def _levels(name: str, values: Float[np.ndarray, " frames"]) -> Features:
    """Lowest, highest and mean value, and how much higher the last is than the first."""
    return {
        f"{name} low": float(values.min()),
        f"{name} high": float(values.max()),
        f"{name} mean": float(values.mean()),
        f"{name} gain": float(values[-1] - values[0]),
    }


def _whole(body: _Body) -> Features:
    clip = body.clip
    seconds = max(clip.seconds, 1e-3)
    travel = body.facing(np.repeat(clip.travel[None], len(body.yaw), 0)).mean(0) / seconds
    found = _levels("hips", body.hips[:, 1] / max(body.rest_hips, 1e-3)) | _levels("upright", body.up)
    turn = float(body.yaw[-1] - body.yaw[0])
    along = np.linspace(0.0, turn, len(body.yaw))
    return found | {
        "seconds": float(np.log(clip.period or seconds)),
        "travels": float(travel[2] - clip.ground_velocity[2]),
        "sidles": float(travel[0] - clip.ground_velocity[0]),
        "turns": turn,
        "sways": float(np.ptp(body.yaw - along)),
        **_tempo("hips", body, [body.hips * (0.0, 1.0, 0.0)]),
        **_twist(body),
        **_clearance(clip),
    }


def _twist(body: _Body) -> Features:
    """How far the chest is turned against the pelvis about the line of the trunk at rest, in the mean [rad]."""
    trunk = trunk_joints(body.clip)
    if trunk is None or trunk[0] == trunk[1]:
        return {}
    relative = np.swapaxes(body.rotations(trunk[0]), -1, -2) @ body.rotations(trunk[1])
    return {"twist": float(np.abs(twist(relative, trunk[2])).mean())}


def _clearance(clip: NormalizedClip) -> Features:
    """Height of the lowest point of the skin above where it is in the neutral pose [m]."""
    if not clip.skin.neutral.size:
        return {}
    lowest = clip.skin.vertices[..., 1].min(1) - clip.skin.neutral[:, 1].min()
    return {"skin lowest": float(lowest.min()), "skin mean": float(lowest.mean())}


def _head(body: _Body) -> Features:
    heads = body.anatomy.joints_of("head")
    if not heads:
        return {}
    end = body.end(heads[0])
    rest = max(float(body.clip.place(body.anatomy.body.tips[heads[0]])[1]), 1e-3)
    turned = np.swapaxes(body.rotations(body.pelvis), -1, -2) @ body.rotations(heads[0])
    pitch = np.arcsin(np.clip(turned[:, 1, 2], -1, 1))
    yaw = np.arctan2(turned[:, 0, 2], turned[:, 2, 2])
    return {
        **_levels("head", end[:, 1] / rest),
        **_tempo("head", body, [end - body.hips]),
        "head upright": float(body.rotations(heads[0])[:, 1, 1].min()),
        "head on trunk": float(turned[:, 1, 1].mean()),
        "head pitches": float(np.ptp(pitch)),
        "head yaws": float(np.ptp(np.unwrap(yaw))),
    }


def _hands(body: _Body) -> Features:
    arms = body.limbs("arm")
    if len(arms) != 2:
        return {}
    ways = sorted((body.way(arm) for arm in arms), key=lambda way: -float(way[:, 1].max()))
    busy = sorted(ways, key=lambda way: -float(way.std(0).sum()))
    ends = [body.end(arm.chain[-1]) for arm in arms]
    apart = np.linalg.norm(ends[0] - ends[1], axis=1) / np.mean([body.length(arm) for arm in arms])
    return {
        "hand high": float(ways[0][:, 1].max()),
        "hand mean": float(ways[0][:, 1].mean()),
        "other hand high": float(ways[1][:, 1].max()),
        "other hand mean": float(ways[1][:, 1].mean()),
        "hand ahead": max(float(way[:, 2].max()) for way in ways),
        "hand behind": min(float(way[:, 2].min()) for way in ways),
        **{f"hand range {axis}": float(np.ptp(busy[0][:, i])) for i, axis in enumerate(("x", "y", "z"))},
        **{f"other hand range {axis}": float(np.ptp(busy[1][:, i])) for i, axis in enumerate(("x", "y", "z"))},
        "hands nearest": float(apart.min()),
        "hands apart": float(apart.mean()),
        "hands together": _correlation(ways[0], ways[1]),
        **_tempo("hand", body, ways),
    }


def _feet(body: _Body) -> Features:
    legs = [leg for leg in body.anatomy.legs if leg.rank == max(leg.rank for leg in body.anatomy.legs)]
    if not body.clip.grounded or len(legs) != 2:
        return {}
    ways = [body.way(leg) for leg in legs]
    number = [body.anatomy.legs.index(leg) for leg in legs]
    heights = [
        (body.clip.soles[i][..., 1] - body.clip.sole_rest_heights[i]).min(1) / body.length(leg)
        for i, leg in zip(number, legs, strict=True)
    ]
    return {
        "foot high": max(float(each.max()) for each in heights),
        "feet high": float(np.min(heights, axis=0).max()),
        "feet low": float(np.min(heights, axis=0).mean()),
        "foot range x": max(float(np.ptp(way[:, 0])) for way in ways),
        "foot range y": max(float(np.ptp(way[:, 1])) for way in ways),
        "foot range z": max(float(np.ptp(way[:, 2])) for way in ways),
        "feet together": _correlation(ways[0], ways[1]),
        **_tempo("foot", body, ways),
    }


def _others(body: _Body) -> Features:
    """Wings and tail."""
    found: Features = {}
    wings, tail = body.limbs("wing"), body.anatomy.joints_of("tail")
    if wings:
        ways = [body.way(wing) for wing in wings]
        found |= {"wing range": max(float(np.ptp(way[:, 1])) for way in ways), "wing high": float(ways[0][:, 1].max())}
        found |= _tempo("wing", body, ways)
    if tail:
        way = body.end(tail[-1]) - body.joints[:, tail[0], :3, 3]
        way = body.facing(way) / max(float(np.linalg.norm(way, axis=1).mean()), 1e-3)
        found |= {"tail range x": float(np.ptp(way[:, 0])), "tail range y": float(np.ptp(way[:, 1]))}
        found |= _tempo("tail", body, [way])
    return found


def _correlation(a: Path, b: Path) -> float:
    """Correlation of what two limbs of a pair do up and ahead, from -1 (by turns) to 1 (together)."""
    a, b = (each[:, 1:] - each[:, 1:].mean(0) for each in (a, b))
    size = float(np.sqrt((a**2).sum() * (b**2).sum()))
    return float((a * b).sum()) / size if size > 1e-6 else 0.0
