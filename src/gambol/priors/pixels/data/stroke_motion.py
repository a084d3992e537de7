"""Motions of stick figures in canonical space, ready to be rendered from any side in varied proportions.

Canonical space has x to the character's left, y up and z forward; the ground is at 0 and a leg is 1 long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from scipy.interpolate import CubicSpline
from torch import Tensor
from torch.nn import functional

from gambol.actions import ACTIONS
from gambol.character.anatomy import Anatomy
from gambol.priors.pixels.actions import PIXEL_ACTIONS
from gambol.priors.pixels.data.cycle import FRAMES, ActionCycle
from gambol.priors.pixels.figure import ELEVATION, VIEWS, StickFigure, aim, render_strokes
from gambol.priors.pixels.ground import ground_of, moved, path_of
from gambol.priors.pixels.stage import STAGES, Stage
from gambol.render.cameras import concatenate

ASTRAY, ZOOMED, SHIFTED = 3.0, 1.02, 0.015
"""Largest deviation of training cameras from the usual ones: angles [degrees], zoom factor, shift [half sides]."""
FACTORS = {"leg": 1.25, "neck": 1.4, "head": 1.25, "tail": 1.4, "arm": 1.25, "wing": 1.25, "fin": 1.25}
"""Largest factor by which body parts grow or shrink."""
DELAYS = 240
"""Moments of a cycle that are tried as the beginning of a mirror image."""


@dataclass(frozen=True)
class StrokeMotion:
    """One cycle of one stick figure, or one action from start to end if it does not loop."""

    action: str
    pace: float
    points: Float[np.ndarray, "frames strokes 2 3"]
    """Start and end of each stroke in each frame, in place [leg lengths]."""
    rest: Float[np.ndarray, "strokes 2 3"]
    colors: Float[np.ndarray, "strokes 3"]
    widths: Float[np.ndarray, " strokes"]
    parts: tuple[str, ...]
    travel: Float[np.ndarray, 3]
    """Way of the whole body in a cycle [leg lengths]."""

    def figure(self) -> StickFigure:
        """The figure at rest, to aim a camera at."""
        joints = np.arange(len(self.rest))
        up, forward = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])
        return StickFigure(joints, self.rest, self.colors, self.widths, self.parts, self.rest, up, forward, 0.0, 1.0)

    def travelling(self) -> Float[np.ndarray, "frames strokes 2 3"]:
        """Start and end of each stroke in each frame, on its way [leg lengths]."""
        return self.points + (np.arange(FRAMES, dtype=np.float32) / FRAMES)[:, None, None, None] * self.travel


def stroke_motion_of(figure: StickFigure, anatomy: Anatomy, cycle: ActionCycle) -> StrokeMotion:
    """A cycle of joints as strokes in canonical space."""
    points = figure.points(torch.as_tensor(cycle.T_world_joint)).numpy()
    points = points - (np.arange(FRAMES) / FRAMES)[:, None, None, None] * cycle.travel
    middle = figure.rest.reshape(-1, 3).mean(0)
    origin = middle + (anatomy.ground - middle @ anatomy.up) * anatomy.up
    axes = np.stack([anatomy.left, anatomy.up, anatomy.forward], axis=1) / figure.leg
    canonical = [np.ascontiguousarray((found - origin) @ axes, np.float32) for found in (points, figure.rest)]
    colors, widths = figure.colors.astype(np.float32), figure.widths.astype(np.float32)
    travel = (cycle.travel @ axes).astype(np.float32)
    return StrokeMotion(cycle.action, cycle.pace, canonical[0], canonical[1], colors, widths, figure.parts, travel)


def mirrored(motion: StrokeMotion) -> StrokeMotion | None:
    """The mirror image, begun where cycles of its action begin, so half a cycle later if it is a walk; None for turns
    and for figures whose sides differ in the number of strokes."""
    places = list(enumerate(motion.parts))
    own = [(part, sum(other == part for other in motion.parts[:i])) for i, part in places]
    sides = {"left": "right", "right": "left"}
    twins = [(" ".join(sides.get(word, word) for word in part.split(" ")), number) for part, number in own]
    if ACTIONS[motion.action].turns or {*own} != {*twins}:
        return None
    partners = [own.index(twin) for twin in twins]
    flip = np.array([-1, 1, 1], np.float32)
    points, starts_at = motion.points * flip, PIXEL_ACTIONS[motion.action].starts_at
    if starts_at in ("touchdown", "stroke"):
        spline = CubicSpline(np.arange(FRAMES + 1) / FRAMES, np.append(points, points[:1], axis=0), bc_type="periodic")
        chosen = list(range(len(own)))
        if starts_at == "touchdown":
            hind = max(part for part in motion.parts if part.startswith("left leg"))
            chosen = [i for i, part in places if part == hind]
        delays = np.arange(DELAYS) / DELAYS
        errors = [_apart(motion.points[:, chosen], spline(_phases(delay))[:, partners][:, chosen]) for delay in delays]
        points = spline(_phases(delays[int(np.argmin(errors))])).astype(np.float32)
    parts = tuple(motion.parts[i] for i in partners)
    colors = motion.colors[partners]
    return replace(
        motion, points=points, rest=motion.rest * flip, colors=colors, parts=parts, travel=motion.travel * flip
    )


def _phases(delay: float) -> Float[np.ndarray, " frames"]:
    """Times of the frames of a cycle that begins later [cycles]."""
    return (delay + np.arange(FRAMES) / FRAMES) % 1.0


def _apart(a: Float[np.ndarray, "frames strokes 2 3"], b: Float[np.ndarray, "frames strokes 2 3"]) -> float:
    """Mean square distance between strokes, seen from where the first begins [leg lengths^2]."""
    return float((((a - a[:, :1, :1]) - (b - b[:, :1, :1])) ** 2).mean())


def varied(motion: StrokeMotion, generator: np.random.Generator) -> StrokeMotion:
    """The same motion in random proportions. Legs that grow carry the body higher, so feet stay where they stood, and
    farther."""
    factors = {kind: float(most ** generator.uniform(-1, 1)) for kind, most in FACTORS.items()}
    stretch = np.array([1.25 ** generator.uniform(-1, 1), 1.0, 1.2 ** generator.uniform(-1, 1)], np.float32)
    parents, anchors = _hung(motion.rest)
    both = np.concatenate([motion.rest[None], motion.points])
    moved = np.empty_like(both)
    root_height = max(float(motion.rest[0, 0, 1]), 1e-3)
    factor_of: dict[str, float] = {}
    for stroke, part in enumerate(motion.parts):
        kind = part.split()[1] if " " in part else part
        factor = factors.get(kind, 1.0)
        if kind == "leg":  # what it hangs on rises as the root does
            hip = max(float(motion.rest[stroke, 0, 1]), 1e-3)
            factor = factor_of.setdefault(part, (factor * root_height + hip - root_height) / hip)
        start = both[:, stroke, 0]
        if parents[stroke] < 0:
            moved[:, stroke, 0] = start * np.array([1.0, factors["leg"], 1.0], np.float32)
        else:
            anchor = both[:, parents[stroke], anchors[stroke]]
            moved[:, stroke, 0] = moved[:, parents[stroke], anchors[stroke]] + start - anchor
        moved[:, stroke, 1] = moved[:, stroke, 0] + factor * (both[:, stroke, 1] - start)
    moved *= stretch
    farther = float(np.mean(list(factor_of.values()))) if factor_of else 1.0
    return replace(motion, rest=moved[0], points=moved[1:], travel=motion.travel * stretch * np.float32(farther))


def _hung(rest: Float[np.ndarray, "strokes 2 3"]) -> tuple[list[int], list[int]]:
    """The earlier stroke at whose end (1) or start (0) each stroke begins, -1 for those that hang on none."""
    apart = np.linalg.norm(rest[None] - rest[:, :1, None], axis=-1)  # of [stroke] from [earlier, end]
    touching = (apart < 1e-4) & (np.arange(len(rest))[:, None, None] > np.arange(len(rest))[:, None])
    parents, anchors = [], []
    for near in touching:
        end = 1 if near[:, 1].any() else 0
        parents.append(int(near[:, end].argmax()) if near[:, end].any() else -1)
        anchors.append(end)
    return parents, anchors


def with_arms_elsewhere(motion: StrokeMotion, generator: np.random.Generator) -> StrokeMotion:
    """The motion with arms at a random angle in the rest picture, since rigs rest in A-, T- and hanging poses."""
    rest = motion.rest.copy()
    target = np.radians(generator.uniform(5, 95))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        own = [i for i, part in enumerate(motion.parts) if part.startswith(f"{side} arm")]
        if not own:
            continue
        shoulder = rest[own[0], 0]
        along = rest[own[0], 1] - shoulder
        turn = target - np.arctan2(sign * along[0], -along[1])  # from hanging, outwards
        cos, sin = np.cos(turn), sign * np.sin(turn)
        around_z = np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]], np.float32)
        rest[own] = (rest[own] - shoulder) @ around_z.T + shoulder
    return replace(motion, rest=rest)


def render_motions(
    motions: Sequence[StrokeMotion],
    generator: np.random.Generator,
    size: int,
    jitter: float = 1.0,
    stages: Sequence[Stage] = ("none",),
) -> tuple[Float[Tensor, "motions frames size size 3"], Float[Tensor, "motions size size 3"]]:
    """Videos, each from one of the usual cameras (jitter 0: exactly so) on one of these stages, and the pictures of the
    figures at rest."""
    videos = torch.zeros(len(motions), 1 + FRAMES, size, size, 3)
    drawn = generator.integers(len(stages), size=len(motions)) if len(stages) > 1 else np.zeros(len(motions), int)
    for stage in STAGES:
        chosen = [number for number in range(len(motions)) if stages[drawn[number]] == stage]
        if chosen:
            videos[chosen] = _render([motions[number] for number in chosen], generator, size, jitter, stage)
    return videos[:, 1:], videos[:, 0]


def _render(
    motions: Sequence[StrokeMotion], generator: np.random.Generator, size: int, jitter: float, stage: Stage
) -> Float[Tensor, "motions pictures size size 3"]:
    """The figure at rest and the frames of its motion, on one stage."""
    strokes = max(len(motion.rest) for motion in motions)
    points = torch.zeros(len(motions), 1 + FRAMES, strokes, 2, 3)
    colors, widths = torch.zeros(len(motions), strokes, 3), torch.zeros(len(motions), strokes)
    cameras = []
    for number, motion in enumerate(motions):
        azimuth = float(generator.choice(VIEWS) + jitter * generator.uniform(-ASTRAY, ASTRAY))
        elevation = float(ELEVATION + jitter * generator.uniform(-ASTRAY, ASTRAY))
        zoom = float(ZOOMED ** (jitter * generator.uniform(-1, 1)))
        shift = tuple(jitter * generator.uniform(-SHIFTED, SHIFTED, 2))
        camera, half = aim(motion.figure(), azimuth, elevation, size, zoom=zoom, shift=shift)
        count = len(motion.rest)
        rest = torch.from_numpy(motion.rest)
        frames = torch.from_numpy(motion.points if stage == "none" else motion.travelling())
        points[number, 0, :count], points[number, 1:, :count] = rest, frames
        colors[number, :count] = torch.from_numpy(motion.colors)
        widths[number, :count] = torch.from_numpy(motion.widths) * half
        still = concatenate([camera] * (1 + FRAMES))
        cameras.append(still if stage == "none" else moved(still, functional.pad(path_of(frames, rest), (0, 0, 1, 0))))
    every = torch.arange(len(motions)).repeat_interleave(1 + FRAMES)
    middle = replace(motions[0].figure(), rest=np.zeros_like(motions[0].rest))  # one ground for all
    pictures = render_strokes(
        points.flatten(0, 1), colors[every], widths[every], concatenate(cameras), ground_of(middle, stage)
    )
    return pictures.unflatten(0, (len(motions), -1))
