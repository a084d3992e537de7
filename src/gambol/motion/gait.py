"""Measures of legs in one cycle in place: bend of the knees, lift of the feet, swing of the legs and their phases.

Poses are in place, and the frame after the last is the first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gambol.character.anatomy import Anatomy
from gambol.character.limbs import Limb
from gambol.motion.joint_poses import Poses
from gambol.motion.legs import Leg, leg_length, legs_of
from gambol.motion.stances import soles_of

LEAST_FLEXION = 10.0
"""Legs whose knee bends by less in the truth are not compared [degrees]."""
LEAST_LIFT = 0.02
"""Legs whose foot rises by less in the truth are not compared [leg lengths]; half a pixel at 60 pixels."""
LEAST_SWING = 0.04
"""Amplitude of the first harmonic below which a foot's phase is noise [leg lengths]."""


@dataclass(frozen=True)
class Gait:
    """The measures of one motion, one value for each leg in the order of `Anatomy.legs`."""

    flexion: Float[np.ndarray, " legs"]
    """Knee: largest minus smallest bend over the cycle [degrees]."""
    lift: Float[np.ndarray, " legs"]
    """Foot: highest above its stance [leg lengths]."""
    phases: Float[np.ndarray, " legs"]
    """When the foot is foremost, by its first harmonic, after the left hind foot is [cycles, -0.5 to 0.5]; not a
    number for a foot that hardly moves, or if the left hind one does not."""


def measure_gait(anatomy: Anatomy, poses: Poses) -> Gait:
    """Measure poses in place."""
    legs, unit = anatomy.legs, leg_length(anatomy)
    flexion = np.array([np.ptp(knee_bend(anatomy, leg, poses)) for leg in legs_of(anatomy)])
    lift = np.array([foot_lift(anatomy, leg, poses) for leg in legs]) / unit
    return Gait(flexion, lift, foot_phases(anatomy, poses, LEAST_SWING * unit))


def knee_of(leg: Leg) -> int | None:
    """Index of the knee in the links: the joint that shortens the leg most by bending; None for a leg of one bone."""
    lengths = np.linalg.norm(np.diff(leg.chain.points, axis=0), axis=1)
    if len(lengths) < 2:
        return None
    lever = np.minimum(np.cumsum(lengths)[:-1], np.cumsum(lengths[::-1])[::-1][1:])
    return 1 + int((np.abs(leg.chain.fold[1:]) * lever).argmax())


def knee_bend(anatomy: Anatomy, leg: Leg, poses: Poses) -> Float[np.ndarray, " frames"]:
    """Angle between the bones before and after the knee; 0 is straight [degrees]."""
    knee = knee_of(leg)
    if knee is None:
        return np.zeros(len(poses))
    last = leg.links[-1]
    T_last_world = np.linalg.inv(anatomy.body.T_world_node[anatomy.body.nodes[last]])
    end = (poses[:, last] @ T_last_world @ np.append(leg.end, 1.0))[:, None, :3]
    points = np.concatenate([poses[:, list(leg.links)][..., :3, 3], end], axis=1)
    before, after = points[:, knee] - points[:, knee - 1], points[:, knee + 1] - points[:, knee]
    across = np.linalg.norm(np.cross(before, after), axis=1)
    return np.degrees(np.arctan2(across, (before * after).sum(1)))


def foot_lift(anatomy: Anatomy, leg: Limb, poses: Poses) -> float:
    """How high the middle of the sole comes above its stance, the mean of the lowest third of the frames
    [file units]."""
    heights = np.sort(soles_of(anatomy, leg, poses).mean(1) @ anatomy.up)
    stance = heights[: max(len(heights) // 3, 1)].mean()
    return float(heights[-1] - stance)


def leg_swing(anatomy: Anatomy, leg: Limb, poses: Poses) -> Float[np.ndarray, " frames"]:
    """Angle of the line from hip to foot against the vertical, seen from the side; forward is positive. Of more than
    four legs, which sprawl, against the plane across the body [degrees]."""
    line = soles_of(anatomy, leg, poses).mean(1) - poses[:, leg.chain[0], :3, 3]
    across = -line @ anatomy.up if len(anatomy.legs) <= 4 else np.hypot(line @ anatomy.up, line @ anatomy.left)
    return np.degrees(np.arctan2(line @ anatomy.forward, across))


@dataclass(frozen=True)
class LegCorrelations:
    """How legs go together: correlations of their swings, from -1 (by turns) to 1 (at once); None without such pairs
    or if they hardly swing."""

    sides: float | None
    """Left and right of each pair, the mean of all pairs."""
    diagonals: float | None
    """A quadruped's left hind with its right front leg, and the other way round."""


def leg_correlations(anatomy: Anatomy, poses: Poses, least: float = 0.5) -> LegCorrelations:
    """Correlations of poses in place. least: swing below which a leg does not count [degrees]."""
    swings = {(leg.rank, leg.side): leg_swing(anatomy, leg, poses) for leg in anatomy.legs}

    def together(pairs: list[tuple]) -> float | None:
        chosen = [(swings[a], swings[b]) for a, b in pairs if a in swings and b in swings]
        found = [float(np.corrcoef(a, b)[0, 1]) for a, b in chosen if min(np.ptp(a), np.ptp(b)) > least]
        return float(np.mean(found)) if found else None

    ranks = sorted({rank for rank, _ in swings})
    sides = together([((rank, "left"), (rank, "right")) for rank in ranks])
    diagonals = [((0, "left"), (1, "right")), ((0, "right"), (1, "left"))] if len(anatomy.legs) == 4 else []
    return LegCorrelations(sides, together(diagonals))


def foot_phases(anatomy: Anatomy, poses: Poses, least: float = 0.0) -> Float[np.ndarray, " legs"]:
    """Phase of each foot as in `Gait.phases` [cycles].

    least: amplitude of the first harmonic below which a foot has no phase [file units].
    """
    feet = np.stack([soles_of(anatomy, leg, poses).mean(1) for leg in anatomy.legs])
    waves = np.exp(2j * np.pi * np.arange(len(poses)) / len(poses))
    harmonics = 2 / len(poses) * (feet @ anatomy.forward) @ waves
    first = anatomy.left_hind
    phases = np.angle(harmonics / harmonics[first] if harmonics[first] else harmonics) / (2 * np.pi)
    moves = np.abs(harmonics) > least
    return np.where(moves & moves[first], phases, np.nan)


def phase_errors(found: Float[np.ndarray, " legs"], truth: Float[np.ndarray, " legs"]) -> Float[np.ndarray, " legs"]:
    """Distances of phases from the truth, up to 0.5 [cycles]; NaN where the truth has none, 0.5 where only `found` has
    none."""
    apart = np.abs((found - truth + 0.5) % 1.0 - 0.5)
    return np.where(np.isnan(truth), np.nan, np.where(np.isnan(found), 0.5, apart))


def ratios(
    found: Float[np.ndarray, " legs"], truth: Float[np.ndarray, " legs"], least: float
) -> Float[np.ndarray, " compared"]:
    """Found over true, for the legs whose truth is at least so large."""
    compared = truth >= least
    return found[compared] / truth[compared]
