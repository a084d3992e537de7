"""Corrupted copies of motions, each with a strength from 0, none, to 1, strong, to train the judge and to check it.

`CORRUPTIONS` lists them by name. Each takes a `Subject`, a strength and a generator, and returns the copy, or None
where the body or the action has nothing to corrupt: what flies cannot float. The same generator at another strength
gives the same fault, weaker or stronger. `UNSEEN` are kinds that the judge is never trained on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Float

from gambol.actions import ACTIONS
from gambol.bench.body_motion import BodyMotion
from gambol.bench.judge.stroke_parts import StrokeParts, centre_path, kind_of, mean_velocity, other_side, side_of
from gambol.character.transforms import rotation_about

Strokes = Float[np.ndarray, "frames strokes 2 3"]
UP = np.array([0.0, 1.0, 0.0])


@dataclass(frozen=True, eq=False)
class Subject:
    """A motion to corrupt."""

    motion: BodyMotion
    action: str = ""
    """What it shows; empty if unknown."""

    @cached_property
    def parts(self) -> StrokeParts:
        return StrokeParts.of(self.motion)

    @property
    def grounded(self) -> bool:
        """Whether it stands on legs and its action keeps it on the ground."""
        action = ACTIONS.get(self.action)
        legs = any(kind_of(part) == "leg" for part in self.motion.parts)
        return legs and not (action and (action.afloat or action.airborne))

    @property
    def upright(self) -> bool:
        """Whether lying or turning over would be wrong."""
        action = ACTIONS.get(self.action)
        if action is None:
            return False
        return not (action.falls or action.afloat or action.shows in ("lying", "over"))

    def with_strokes(self, strokes: Strokes) -> BodyMotion:
        return replace(self.motion, strokes=strokes)

    def with_way(self, velocity: Float[np.ndarray, 3]) -> BodyMotion:
        """The motion carried along at a velocity [m/s]."""
        motion, way = self.motion, velocity * self.motion.seconds
        steps = len(motion.strokes) if motion.loops else max(len(motion.strokes) - 1, 1)
        share = np.arange(len(motion.strokes)) / steps
        strokes = motion.strokes + share[:, None, None, None] * way
        return replace(motion, strokes=strokes, travel=motion.travel + way)

    def moved_limbs(
        self, names: list[str], change: Callable[[str, Strokes], Strokes], stiff: bool = False
    ) -> BodyMotion:
        """The motion with limbs changed, which are given relative to where they begin. stiff: with bones as long as
        they were."""
        strokes = self.motion.strokes.copy()
        for name in names:
            rows = self.parts.limbs[name]
            root = self.motion.strokes[:, rows[0], 0][:, None, None]
            old = self.motion.strokes[:, rows] - root
            new = change(name, old)
            strokes[:, rows] = (_with_lengths(new, old) if stiff else new) + root
        return self.with_strokes(strokes)

    def mixed(self, held: Strokes, share: float) -> BodyMotion:
        """The motion mixed with strokes beside its path. Limbs are as long as they were in both."""
        path = centre_path(self.motion.strokes)[:, None, None]
        own = self.motion.strokes - path
        strokes = own + share * (held - own)
        for rows in self.parts.limbs.values():
            long = [np.linalg.norm(each[:, rows, 1] - each[:, rows, 0], axis=-1) for each in (own, held + 0 * own)]
            wanted = (1 - share) * long[0] + share * long[1]
            gaps = strokes[:, rows[1:], 0] - strokes[:, rows[:-1], 1]
            strokes[:, rows] = _laid_out(strokes[:, rows], wanted, gaps)
        return self.with_strokes(strokes + path)

    def some_limbs(self, generator: np.random.Generator, share: float = 0.5) -> list[str]:
        """At least one limb, and others by chance; the tail and the head count."""
        names = list(self.parts.limbs)
        if not names:
            return []
        drawn = generator.random(len(names))
        return [name for name, value in zip(names, drawn, strict=True) if value < share or value == drawn.min()]


Corruption = Callable[[Subject, float, np.random.Generator], BodyMotion | None]


def _with_lengths(new: Strokes, old: Strokes) -> Strokes:
    """Strokes of a limb laid end to end in the directions of the new ones, with the lengths of the old ones."""
    lengths = np.linalg.norm(old[:, :, 1] - old[:, :, 0], axis=-1)
    return _laid_out(new + (old[:, :1, :1] - new[:, :1, :1]), lengths, old[:, 1:, 0] - old[:, :-1, 1])


def _laid_out(
    limb: Strokes, lengths: Float[np.ndarray, "frames strokes"], gaps: Float[np.ndarray, "frames strokes_less_one 3"]
) -> Strokes:
    """Strokes of a limb laid end to end, with these lengths, and gaps between them."""
    along = limb[:, :, 1] - limb[:, :, 0]
    along = along / np.maximum(np.linalg.norm(along, axis=-1, keepdims=True), 1e-9) * lengths[..., None]
    found = np.empty_like(limb)
    start = limb[:, 0, 0]
    for number in range(limb.shape[1]):
        found[:, number, 0] = start
        found[:, number, 1] = start + along[:, number]
        if number + 1 < limb.shape[1]:
            start = found[:, number, 1] + gaps[:, number]
    return found


def waves(motion: BodyMotion, generator: np.random.Generator, shape: tuple[int, ...], most: int = 3) -> np.ndarray:
    """Smooth random numbers over time, of unit deviation: some cycles, whole ones if the motion loops."""
    frames = len(motion.strokes)
    time = np.arange(frames) / frames
    found = np.zeros((frames, *shape))
    for cycles in range(1, most + 1):
        number = cycles if motion.loops else cycles - generator.random()
        phase, size = generator.random(shape) * 2 * np.pi, generator.normal(size=shape)
        found += size * np.sin(2 * np.pi * number * time.reshape(-1, *[1] * len(shape)) + phase)
    return found * np.sqrt(2 / most)


def _direction(generator: np.random.Generator, level: bool = False) -> Float[np.ndarray, 3]:
    axis = generator.normal(size=3) * (1.0, 0.0 if level else 1.0, 1.0)
    return axis / max(float(np.linalg.norm(axis)), 1e-9)


def _turned(points: np.ndarray, axis: Float[np.ndarray, 3], angles: Float[np.ndarray, " frames"]) -> np.ndarray:
    """Points of each frame turned about an axis through the origin by an angle of that frame [rad]."""
    turns = rotation_about(axis, angles)
    return np.einsum("fij,f...j->f...i", turns, points)


def jitter(subject: Subject, strength: float, generator: np.random.Generator) -> BodyMotion:
    """Noise on every point in every frame."""
    motion, parts = subject.motion, subject.parts
    noise = generator.normal(size=(len(motion.strokes), parts.points, 3))
    return subject.with_strokes(motion.strokes + 0.035 * strength * noise[:, parts.index])


def tremble(subject: Subject, strength: float, generator: np.random.Generator) -> BodyMotion | None:
    """Limbs that turn by noise in every frame."""
    names = subject.some_limbs(generator)
    frames = len(subject.motion.strokes)

    def change(name: str, limb: Strokes) -> Strokes:
        angles = np.radians(22 * strength) * generator.normal(size=frames)
        return _turned(limb, _direction(generator), angles)

    return subject.moved_limbs(names, change) if names else None


def slide(subject: Subject, strength: float, generator: np.random.Generator) -> BodyMotion | None:
    """It gets farther or less far than its feet carry it, or to a side."""
    if not subject.grounded:
        return None
    velocity = mean_velocity(subject.motion)
    draw, aside = generator.random(), _direction(generator, level=True)
    if np.linalg.norm(velocity) > 0.15 and draw < 0.67:
        return subject.with_way(velocity * strength * (1.5 if draw < 0.33 else -1.0))
    return subject.with_way(1.2 * strength * aside)


def float_or_sink(subject: Subject, strength: float, generator: np.random.Generator) -> BodyMotion | None:
    """The whole body above the ground, or below it."""
    if not subject.grounded:
        return None
    height = 0.4 if generator.random() < 0.5 else -0.3
    return subject.with_strokes(subject.motion.strokes + strength * height * UP)


def bob(subject: Subject, strength: float, generator: np.random.Generator) -> BodyMotion | None:
    """The whole body goes up and down, feet and all."""
    if not subject.grounded:
        return None
    heights = 0.12 * strength * waves(subject.motion, generator, ())
    return subject.with_strokes(subject.motion.strokes + heights[:, None, None, None] * UP)


def frozen_limbs(subject: Subject, strength: float, generator: np.random.Generator) -> BodyMotion | None:
    """Limbs that hold still while the others move."""
    names = subject.some_limbs(generator, 0.6)
    frame = int(generator.integers(len(subject.motion.strokes)))

    def change(name: str, limb: Strokes) -> Strokes:
        return limb + strength * (limb[frame] - limb)

    return subject.moved_limbs(names, change, stiff=True) if names else None


def damped(subject: Subject, strength: float, generator: np.random.Generator) -> BodyMotion:
    """All movement but the way over the ground shrinks, about the mean pose or that of a frame."""
    motion = subject.motion
    path = centre_path(motion.strokes)[:, None, None]
    own = motion.strokes - path
    kept = own.mean(0) if generator.random() < 0.5 else own[int(generator.integers(len(own)))]
    return subject.mixed(kept[None], 0.95 * strength)


def exaggerated(subject: Subject, strength: float, generator: np.random.Generator) -> BodyMotion | None:
    """Limbs swing farther than they should."""
    names = subject.some_limbs(generator, 0.8)

    def change(name: str, limb: Strokes) -> Strokes:
        return limb + 2.0 * strength * (limb - limb.mean(0))

    return subject.moved_limbs(names, change, stiff=True) if names else None


def tempo(subject: Subject, strength: float, generator: np.random.Generator) -> BodyMotion:
    """Everything up to five times slower or faster."""
    factor = 5.0 ** (strength if generator.random() < 0.5 else -strength)
    return replace(subject.motion, seconds=subject.motion.seconds * factor)


def stretched_limbs(subject: Subject, strength: float, generator: np.random.Generator) -> BodyMotion | None:
    """Limbs that grow and shrink over time."""
    names = subject.some_limbs(generator)
    grow = generator.random() < 0.3 and not subject.motion.loops

    def change(name: str, limb: Strokes) -> Strokes:
        wave = waves(subject.motion, generator, ())
        wave = np.linspace(0, 2 * np.sign(wave[0]), len(wave)) if grow else wave
        return limb * np.exp(0.35 * strength * wave)[:, None, None, None]

    return subject.moved_limbs(names, change) if names else None


def breathing_size(subject: Subject, strength: float, generator: np.random.Generator) -> BodyMotion:
    """The whole body grows and shrinks over time."""
    path = centre_path(subject.motion.strokes)[:, None, None]
    size = np.exp(0.22 * strength * waves(subject.motion, generator, (), 2))
    return subject.with_strokes(path + size[:, None, None, None] * (subject.motion.strokes - path))


def wobble(subject: Subject, strength: float, generator: np.random.Generator) -> BodyMotion:
    """Points that move by a smooth field over space and time, as a deformation field may."""
    motion, parts = subject.motion, subject.parts
    places = np.zeros((parts.points, 3))
    places[parts.index] = motion.rest
    shift = np.zeros((len(motion.strokes), parts.points, 3))
    fineness = 3.0 + 9.0 * generator.random()
    for _ in range(4):
        along = np.cos(places @ (fineness * _direction(generator)) + 2 * np.pi * generator.random())
        shift += along[:, None] * waves(motion, generator, (1, 3), 4)
    return subject.with_strokes(motion.strokes + 0.045 * strength * shift[:, parts.index])


def out_of_phase(subject: Subject, strength: float, generator: np.random.Generator) -> BodyMotion | None:
    """Limbs of one side later than they should be, by up to half the motion."""
    side = "left" if generator.random() < 0.5 else "right"
    kind = generator.choice(("leg", "any"))
    names = [n for n in subject.parts.named if side_of(n) == side and (kind == "any" or kind_of(n) == "leg")]
    frames = len(subject.motion.strokes)
    later = np.arange(frames) + strength * frames / 2
    later = later % frames if subject.motion.loops else np.minimum(later, frames - 1)

    def change(name: str, limb: Strokes) -> Strokes:
        return _at(limb, later, subject.motion.loops)

    return subject.moved_limbs(names, change, stiff=True) if names else None


def _at(values: np.ndarray, times: Float[np.ndarray, " frames"], loops: bool) -> np.ndarray:
    """Values at fractions of frames, by straight lines."""
    low = np.floor(times).astype(int)
    share = (times - low).reshape(-1, *[1] * (values.ndim - 1))
    high = (low + 1) % len(values) if loops else np.minimum(low + 1, len(values) - 1)
    return (1 - share) * values[low] + share * values[high]


def swapped_sides(subject: Subject, strength: float, generator: np.random.Generator) -> BodyMotion | None:
    """A left limb moves as the right one should, and the other way round, without being mirrored."""
    limbs = subject.parts.limbs
    pairs = [n for n in subject.parts.named if side_of(n) == "left" and other_side(n) in limbs]
    pairs = [n for n in pairs if len(limbs[n]) == len(limbs[other_side(n)])]
    if not pairs:
        return None
    strokes = subject.motion.strokes
    local = {n: strokes[:, rows] - strokes[:, rows[0], 0][:, None, None] for n, rows in limbs.items()}

    def change(name: str, limb: Strokes) -> Strokes:
        return limb + strength * (local[other_side(name)] - limb)

    return subject.moved_limbs([each for n in pairs for each in (n, other_side(n))], change, stiff=True)


def reversed_limbs(subject: Subject, strength: float, generator: np.random.Generator) -> BodyMotion | None:
    """Some limbs move backwards in time, the more the stronger."""
    names = subject.parts.named
    if not names:
        return None
    order = list(generator.permutation(names))
    chosen = order[: max(round(strength * len(names) / 2), 1)]
    share = min(1.0, strength * len(names))
    return subject.moved_limbs(chosen, lambda name, limb: limb + share * (limb[::-1] - limb), stiff=True)


def tilted(subject: Subject, strength: float, generator: np.random.Generator) -> BodyMotion | None:
    """The whole body leans, lies or hangs upside down, on the ground or where it is."""
    if not subject.upright:
        return None
    strokes = subject.motion.strokes
    path = centre_path(strokes)[:, None, None] + strokes[..., 1].mean() * UP
    angle = np.pi * strength * (1 if generator.random() < 0.5 else -1)
    found = _turned(strokes - path, _direction(generator, level=True), np.full(len(strokes), angle)) + path
    if generator.random() < 0.6:
        found = found + (strokes[..., 1].min() - found[..., 1].min()) * UP
    return subject.with_strokes(found)


def jumps(subject: Subject, strength: float, generator: np.random.Generator) -> BodyMotion:
    """At some frames the body is suddenly elsewhere, or limbs are suddenly turned."""
    motion = subject.motion
    frames = len(motion.strokes)
    cuts = np.sort(generator.choice(np.arange(3, frames - 3), int(generator.integers(1, 5)), replace=False))
    since = np.searchsorted(cuts, np.arange(frames), side="right")
    if generator.random() < 0.5:
        offsets = 0.25 * generator.normal(size=(len(cuts) + 1, 3)) * (1, 0.3, 1)
        return subject.with_strokes(motion.strokes + strength * (offsets - offsets[:1])[since][:, None, None])
    names = subject.some_limbs(generator)

    def change(name: str, limb: Strokes) -> Strokes:
        angles = np.radians(70) * strength * generator.normal(size=len(cuts) + 1)
        return _turned(limb, _direction(generator), angles[since])

    return subject.moved_limbs(names, change)


def twisted(subject: Subject, strength: float, generator: np.random.Generator) -> BodyMotion | None:
    """The front or upper half of the body, with its limbs, turned against the other about the trunk's axis."""
    motion, parts = subject.motion, subject.parts
    trunk = np.array([stroke for stroke, part in enumerate(motion.parts) if part == "trunk"], int)
    if not len(trunk):
        return None
    rest = motion.rest[trunk].reshape(-1, 3)
    axis = int(np.ptp(rest, axis=0)[1:].argmax()) + 1
    places = rest[:, axis]
    low, high = float(places.min()), float(places.max())
    if high - low < 0.05:
        return None
    weights = (motion.rest[..., axis] - low) / (high - low)
    for name, rows in parts.limbs.items():
        weights[rows] = 1.0 if name == "head" else weights[rows[0], 0]
    weights = np.clip(weights * 3 - 1, 0, 1)
    moved = motion.strokes[:, trunk].reshape(len(motion.strokes), -1, 3)
    ends = moved[:, places.argmax()] - moved[:, places.argmin()]
    ends /= np.maximum(np.linalg.norm(ends, axis=-1, keepdims=True), 1e-9)
    angles = np.radians(130) * strength * (1 if generator.random() < 0.5 else -1) * np.ones(len(ends))
    if generator.random() < 0.4:
        angles = angles * waves(motion, generator, (), 2) / 1.5
    middle = moved.mean(1)[:, None, None]
    own = motion.strokes - middle
    angles = angles[:, None, None] * weights
    along = np.broadcast_to(ends[:, None, None], own.shape)
    sin, cos = np.sin(angles)[..., None], np.cos(angles)[..., None]
    turned = cos * own + sin * np.cross(along, own) + (1 - cos) * (along * own).sum(-1, keepdims=True) * along
    return subject.with_strokes(turned + middle)


def gliding_rest(subject: Subject, strength: float, generator: np.random.Generator) -> BodyMotion:
    """The neutral pose, or that of a frame, that glides over the ground, mixed with the motion."""
    motion = subject.motion
    path = centre_path(motion.strokes)[:, None, None]
    own = motion.strokes - path
    start = motion.rest - motion.rest.mean((0, 1)) * (1, 0, 1)
    held = start if generator.random() < 0.7 else own[int(generator.integers(len(own)))]
    pace, ahead = 1.5 * generator.random(), generator.random() < 0.7
    velocity = pace * (np.array([0.0, 0.0, 1.0]) if ahead else _direction(generator, level=True))
    velocity = velocity * (generator.random() < 0.75) - mean_velocity(motion)
    still = Subject(subject.mixed(held[None], strength), subject.action)
    return still.with_way(strength * velocity)


def random_angles(subject: Subject, strength: float, generator: np.random.Generator) -> BodyMotion | None:
    """Limbs turn smoothly, but without sense."""
    names = list(subject.parts.limbs)
    cycles = int(generator.integers(1, 6))

    def change(name: str, limb: Strokes) -> Strokes:
        for start in range(0, limb.shape[1], 2):  # the whole limb, then from its middle on
            pivot = limb[:, start, :1][:, None]
            angles = np.radians(60) * strength * waves(subject.motion, generator, (), cycles)
            outer = _turned(limb[:, start:] - pivot, _direction(generator), angles) + pivot
            limb = np.concatenate([limb[:, :start], outer], 1)
        return limb

    return subject.moved_limbs(names, change) if names else None


def smoothed(subject: Subject, strength: float, generator: np.random.Generator) -> BodyMotion:
    """A blur over time: what is quick gets lost, and bones shrink."""
    motion = subject.motion
    path = centre_path(motion.strokes)[:, None, None]
    own, frames = motion.strokes - path, len(motion.strokes)
    width = 10.0 * strength
    mode: Literal["wrap", "edge"] = "wrap" if motion.loops else "edge"
    reach = 24
    padded = np.pad(own, ((reach, reach), (0, 0), (0, 0), (0, 0)), mode=mode)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / max(width, 1e-3)) ** 2)
    kernel /= kernel.sum()
    found = sum(weight * padded[start : start + frames] for start, weight in enumerate(kernel))
    return subject.with_strokes(path + found)


def misplaced_limb(subject: Subject, strength: float, generator: np.random.Generator) -> BodyMotion | None:
    """One limb is held askew throughout."""
    names = subject.parts.named
    if not names:
        return None
    angle = np.full(len(subject.motion.strokes), np.radians(110) * strength)
    axis = _direction(generator)
    return subject.moved_limbs([str(generator.choice(names))], lambda name, limb: _turned(limb, axis, angle))


def shuffled(subject: Subject, strength: float, generator: np.random.Generator) -> BodyMotion:
    """Pieces of the motion change places in time, the farther the stronger."""
    motion, frames = subject.motion, len(subject.motion.strokes)
    pieces = np.array_split(np.arange(frames), 8)
    order = np.argsort(np.arange(8) + strength * 3 * generator.normal(size=8))
    path = centre_path(motion.strokes)[:, None, None]
    return subject.with_strokes((motion.strokes - path)[np.concatenate([pieces[i] for i in order])] + path)


CORRUPTIONS: dict[str, Corruption] = {
    "jitter": jitter,
    "tremble": tremble,
    "slide": slide,
    "float or sink": float_or_sink,
    "bob": bob,
    "frozen limbs": frozen_limbs,
    "damped": damped,
    "exaggerated": exaggerated,
    "tempo": tempo,
    "stretched limbs": stretched_limbs,
    "breathing size": breathing_size,
    "wobble": wobble,
    "out of phase": out_of_phase,
    "swapped sides": swapped_sides,
    "reversed limbs": reversed_limbs,
    "tilted": tilted,
    "jumps": jumps,
    "twisted": twisted,
    "gliding rest": gliding_rest,
    "random angles": random_angles,
    "smoothed": smoothed,
    "misplaced limb": misplaced_limb,
    "shuffled": shuffled,
}
UNSEEN = ("misplaced limb", "shuffled")
"""Kinds that the judge is never trained on."""
TRAINED = tuple(name for name in CORRUPTIONS if name not in UNSEEN)
SENSELESS = ("damped", "gliding rest", "random angles")
"""Kinds that, at full strength, leave nothing of the action."""


def corrupted(motion: BodyMotion, kind: str, strength: float, seed: int, action: str = "") -> BodyMotion | None:
    """A corrupted copy of a motion; None where there is nothing to corrupt. seed: of which fault of the kind."""
    found = CORRUPTIONS[kind](Subject(motion, action), strength, np.random.default_rng([seed, 29]))
    return found if found is not None and np.isfinite(found.strokes).all() else None
