"""Takes: movements as strokes in canonical space, ready to be filmed from anywhere, in varied proportions.

Canonical space has x to the character's left, y up and z forward; the ground is at 0 and a leg is 1 long.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.errors import AssetError
from gambol.files import write_file
from gambol.priors.pocket.look import ELEVATION, VIEWS, Figure, aim, film
from gambol.priors.pocket.takes.cycle import FRAMES, Cycle
from gambol.render.cameras import together

Array = np.ndarray

ASTRAY, ZOOMED, SHIFTED = 3.0, 1.02, 0.015
"""How far training cameras leave the usual ones: angles [degrees], size (a factor), framing (in half sides)."""
FACTORS = {"leg": 1.25, "neck": 1.4, "head": 1.25, "tail": 1.4, "arm": 1.25, "wing": 1.25, "fin": 1.25}
"""By how much parts grow or shrink at most."""


@dataclass(frozen=True)
class Take:
    """One movement of one figure."""

    action: str
    pace: float
    points: Float[Array, "frames strokes 2 3"]
    """Without the way of the whole body."""
    rest: Float[Array, "strokes 2 3"]
    colors: Float[Array, "strokes 3"]
    widths: Float[Array, " strokes"]
    parts: tuple[str, ...]

    def figure(self) -> Figure:
        """For the camera."""
        joints = np.arange(len(self.rest))
        up, forward = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])
        return Figure(joints, self.rest, self.colors, self.widths, self.parts, self.rest, up, forward, 1.0)


def take_of(figure: Figure, anatomy: Anatomy, cycle: Cycle) -> Take:
    """A cycle in canonical space."""
    points = figure.points(torch.as_tensor(cycle.T_world_joint)).numpy()
    points = points - (np.arange(FRAMES) / FRAMES)[:, None, None, None] * cycle.travel
    middle = figure.rest.reshape(-1, 3).mean(0)
    origin = middle + (anatomy.ground - middle @ anatomy.up) * anatomy.up
    axes = np.stack([anatomy.left, anatomy.up, anatomy.forward], axis=1) / figure.leg
    canonical = [np.ascontiguousarray((found - origin) @ axes, np.float32) for found in (points, figure.rest)]
    colors, widths = figure.colors.astype(np.float32), figure.widths.astype(np.float32)
    return Take(cycle.action, cycle.pace, canonical[0], canonical[1], colors, widths, figure.parts)


def varied(take: Take, generator: np.random.Generator) -> Take:
    """The same movement in other proportions. Legs that grow carry the body higher, so feet stay where they stood."""
    factors = {kind: float(most ** generator.uniform(-1, 1)) for kind, most in FACTORS.items()}
    stretch = np.array([1.25 ** generator.uniform(-1, 1), 1.0, 1.2 ** generator.uniform(-1, 1)], np.float32)
    parents, anchors = _hung(take.rest)
    both = np.concatenate([take.rest[None], take.points])
    moved = np.empty_like(both)
    root_height = max(float(take.rest[0, 0, 1]), 1e-3)
    factor_of: dict[str, float] = {}
    for stroke, part in enumerate(take.parts):
        kind = part.split()[1] if " " in part else part
        factor = factors.get(kind, 1.0)
        if kind == "leg":  # what it hangs on rises as the root does
            hip = max(float(take.rest[stroke, 0, 1]), 1e-3)
            factor = factor_of.setdefault(part, (factor * root_height + hip - root_height) / hip)
        start = both[:, stroke, 0]
        if parents[stroke] < 0:
            moved[:, stroke, 0] = start * np.array([1.0, factors["leg"], 1.0], np.float32)
        else:
            anchor = both[:, parents[stroke], anchors[stroke]]
            moved[:, stroke, 0] = moved[:, parents[stroke], anchors[stroke]] + start - anchor
        moved[:, stroke, 1] = moved[:, stroke, 0] + factor * (both[:, stroke, 1] - start)
    moved *= stretch
    return replace(take, rest=moved[0], points=moved[1:])


def _hung(rest: Float[Array, "strokes 2 3"]) -> tuple[list[int], list[int]]:
    """The earlier stroke at whose end (1) or start (0) each stroke begins, -1 for those that hang on none."""
    apart = np.linalg.norm(rest[None] - rest[:, :1, None], axis=-1)  # of [stroke] from [earlier, end]
    touching = (apart < 1e-4) & (np.arange(len(rest))[:, None, None] > np.arange(len(rest))[:, None])
    parents, anchors = [], []
    for near in touching:
        end = 1 if near[:, 1].any() else 0
        parents.append(int(near[:, end].argmax()) if near[:, end].any() else -1)
        anchors.append(end)
    return parents, anchors


def with_arms_elsewhere(take: Take, generator: np.random.Generator) -> Take:
    """At rest the arms of characters hang, stand off or are spread (A- and T-poses), whatever they do afterwards."""
    rest = take.rest.copy()
    target = np.radians(generator.uniform(5, 95))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        own = [i for i, part in enumerate(take.parts) if part.startswith(f"{side} arm")]
        if not own:
            continue
        shoulder = rest[own[0], 0]
        along = rest[own[0], 1] - shoulder
        turn = target - np.arctan2(sign * along[0], -along[1])  # from hanging, outwards
        cos, sin = np.cos(turn), sign * np.sin(turn)
        around_z = np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]], np.float32)
        rest[own] = (rest[own] - shoulder) @ around_z.T + shoulder
    return replace(take, rest=rest)


def film_takes(
    takes: Sequence[Take], generator: np.random.Generator, size: int, jitter: float = 1.0
) -> tuple[Float[Tensor, "takes frames size size 3"], Float[Tensor, "takes size size 3"]]:
    """Videos, each from one of the usual cameras (jitter 0: exactly so), and the pictures of the figures at rest."""
    strokes = max(len(take.rest) for take in takes)
    points = torch.zeros(len(takes), 1 + FRAMES, strokes, 2, 3)
    colors, widths = torch.zeros(len(takes), strokes, 3), torch.zeros(len(takes), strokes)
    cameras = []
    for number, take in enumerate(takes):
        azimuth = float(generator.choice(VIEWS) + jitter * generator.uniform(-ASTRAY, ASTRAY))
        elevation = float(ELEVATION + jitter * generator.uniform(-ASTRAY, ASTRAY))
        zoom = float(ZOOMED ** (jitter * generator.uniform(-1, 1)))
        shift = tuple(jitter * generator.uniform(-SHIFTED, SHIFTED, 2))
        camera, half = aim(take.figure(), azimuth, elevation, size, zoom=zoom, shift=shift)
        count = len(take.rest)
        points[number, 0, :count] = torch.from_numpy(take.rest)
        points[number, 1:, :count] = torch.from_numpy(take.points)
        colors[number, :count] = torch.from_numpy(take.colors)
        widths[number, :count] = torch.from_numpy(take.widths) * half
        cameras.append(camera)
    every = torch.arange(len(takes)).repeat_interleave(1 + FRAMES)
    pictures = film(points.flatten(0, 1), colors[every], widths[every], together(cameras)[every])
    pictures = pictures.unflatten(0, (len(takes), -1))
    return pictures[:, 1:], pictures[:, 0]


def save_takes(takes: Sequence[Take], path: Path) -> None:
    arrays = {}
    for number, take in enumerate(takes):
        for name in ("points", "rest", "colors", "widths"):
            arrays[f"{number}.{name}"] = np.ascontiguousarray(getattr(take, name))  # safetensors would save its memory
    facts = [{"action": take.action, "pace": take.pace, "parts": take.parts} for take in takes]
    write_file(path, save(arrays, {"takes": json.dumps(facts)}))


def load_takes(path: Path) -> list[Take]:
    try:
        with safe_open(path, "np") as file:
            facts = json.loads(file.metadata()["takes"])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        takes = []
        for number, fact in enumerate(facts):
            points, rest, colors, widths = (
                arrays[f"{number}.{name}"] for name in ("points", "rest", "colors", "widths")
            )
            takes.append(Take(fact["action"], fact["pace"], points, rest, colors, widths, tuple(fact["parts"])))
        return takes
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
        raise AssetError(f"'{path}' is no file of takes ({error}); delete it and it will be made again") from None
