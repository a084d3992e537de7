"""What the judge's network sees of a motion: numbers of each stroke and of the whole body, in patches of frames."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.bench.body_motion import FRAMES, BodyMotion
from gambol.bench.judge.stroke_parts import KINDS, centre_path, kind_of, rank_of, side_of

PATCH = 8
"""Frames that are seen together."""
PATCHES = FRAMES // PATCH
MOVING, STATIC = 16, len(KINDS) + 12
"""Numbers of a stroke in a frame, and of a stroke in general."""
WHOLE = 8
"""Numbers of the body in a frame."""
WHOLE_PART = "whole"


@dataclass(frozen=True)
class Tokens:
    """One motion, or several of them with the strokes of all in one row."""

    moving: Float[Tensor, "strokes patches moving"]
    """Of each stroke over time."""
    static: Float[Tensor, "strokes static"]
    whole: Float[Tensor, "motions patches whole"]
    part: Int[Tensor, " strokes"]
    """Number of the part of the body that each stroke belongs to; the parts of each motion begin at a multiple of
    `parts`."""
    parts: int
    """Largest number of parts of a motion."""


def tokens_of(motion: BodyMotion) -> Tokens:
    """Numbers of a motion. Places are beside the middle of the body, heights above the ground, velocities over it."""
    strokes = motion.strokes
    count = strokes.shape[1]
    path = centre_path(strokes)
    velocity = _every_frame(motion, motion.velocities(strokes))
    change = _changes(velocity, motion.loops)
    lengths = np.linalg.norm(strokes[:, :, 1] - strokes[:, :, 0], axis=-1)
    usual = np.linalg.norm(motion.rest[:, 1] - motion.rest[:, 0], axis=-1)
    stretch = np.log((lengths + 0.02) / (usual + 0.02))
    moving = np.concatenate(
        [
            2 * (strokes - path[:, None, None]).reshape(FRAMES, count, 6),
            np.arcsinh(2 * velocity).reshape(FRAMES, count, 6),
            np.arcsinh(2 * change[:, :, 1]),
            2 * stretch[..., None],
        ],
        axis=-1,
    )
    middle = _every_frame(motion, motion.velocities(strokes.mean((1, 2))[:, None, None]))[:, 0, 0]
    lowest = strokes[..., 1].min((1, 2))
    step = np.log(1 / motion.fps)
    whole = np.concatenate(
        [
            2 * strokes[..., 1].mean((1, 2))[:, None],
            np.arcsinh(2 * middle),
            4 * lowest[:, None],
            4 * (lowest - motion.rest[..., 1].min())[:, None],
            np.full((FRAMES, 1), step + 3.5),
            np.full((FRAMES, 1), np.log(motion.seconds)),
        ],
        axis=-1,
    )
    patched = moving.reshape(PATCHES, PATCH, count, MOVING).transpose(2, 0, 1, 3).reshape(count, PATCHES, -1)
    names = list(dict.fromkeys(motion.parts))
    numbers = (patched, _static(motion, usual), whole.reshape(1, PATCHES, -1))
    part = torch.tensor([names.index(part) for part in motion.parts])
    seen = [torch.from_numpy(each).float().clamp(-6, 6) for each in numbers]
    return Tokens(seen[0], seen[1], seen[2], part, len(names))


def _every_frame(motion: BodyMotion, steps: np.ndarray) -> np.ndarray:
    """One step for each frame; the last frame of what does not loop has the step before."""
    return steps if motion.loops else np.concatenate([steps, steps[-1:]])


def _changes(velocity: np.ndarray, loops: bool) -> np.ndarray:
    """From each frame's velocity to the next one's."""
    if loops:
        return np.roll(velocity, -1, 0) - velocity
    change = np.diff(velocity, axis=0)
    return np.concatenate([change, np.zeros_like(change[:1])])


def _static(motion: BodyMotion, lengths: Float[np.ndarray, " strokes"]) -> Float[np.ndarray, "strokes static"]:
    """Numbers of strokes that do not change over time: the part, the place in it, and the neutral pose."""
    number, rows = Counter(motion.parts), []
    kinds = {part: kind_of(part) for part in number}
    seen: Counter[str] = Counter()
    for part in motion.parts:
        seen[part] += 1
        pairs = 1 + max(rank_of(other) for other, kind in kinds.items() if kind == kinds[part])
        sides = [float(side_of(part) == side) for side in ("left", "right")]
        place = seen[part] / number[part]
        rows.append([*(float(kinds[part] == kind) for kind in KINDS), *sides, rank_of(part) / pairs, pairs / 4, place])
    named = np.array(rows).reshape(len(rows), -1)
    return np.concatenate([named, 2 * lengths[:, None], 2 * motion.rest.reshape(-1, 6)], axis=1)


def batch_of(tokens: list[Tokens]) -> Tokens:
    """A batch of motions."""
    most = max(each.parts for each in tokens)
    return Tokens(
        torch.cat([each.moving for each in tokens]),
        torch.cat([each.static for each in tokens]),
        torch.cat([each.whole for each in tokens]),
        torch.cat([each.part + number * most for number, each in enumerate(tokens)]),
        most,
    )
