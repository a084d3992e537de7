"""Coats: the colours of a creature and the patterns painted on its skin."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from gambol.character.colors import linear_from_srgb

Points = Float[np.ndarray, "vertices 3"]
Shares = Float[np.ndarray, " vertices"]
Pattern = Literal["plain", "stripes", "spots", "patches", "net", "dapples", "panda"]


@dataclass(frozen=True)
class Coat:
    """Colours as '#rrggbb' (sRGB); None means: as the main colour, or a shade of it."""

    main: str = "#8a6a4a"
    belly: str | None = None
    feet: str | None = None
    face: str | None = None
    muzzle: str | None = None
    mane: str | None = None
    tail_tip: str | None = None
    ears: str | None = None
    mark: str = "#1c1815"
    """The colour of stripes, spots and patches."""
    nose: str = "#1a1614"
    horn: str = "#d8cdb4"
    """Horns, tusks, claws, beaks, hooves."""
    eye: str = "#f4f1ea"
    iris: str = "#3a2413"
    pupil: str = "#050505"
    pattern: Pattern = "plain"
    pattern_size: float = 0.12
    """Width of a stripe or spot as a share of the creature's height."""
    kept: tuple[str, ...] = ()
    """Colours that stay when the coat is recolored: a person's skin, hair and shoes."""

    def color(self, paint: str) -> Float[np.ndarray, "3"]:
        """Linear RGB of a paint."""
        return linear_from_srgb(_channels(getattr(self, paint) or self.main))

    def recolored(self, color: str) -> "Coat":
        """The same coat in another main colour: lighter parts stay lighter, patterns stay."""
        channels = _channels(color)
        shades = dict.fromkeys(("belly", "face", "muzzle", "tail_tip", "ears"), _hex(0.55 * channels + 0.45))
        shades |= dict.fromkeys(("feet", "mane"), _hex(0.45 * channels))
        given: dict[str, Any] = {
            name: shade for name, shade in shades.items() if getattr(self, name) and name not in self.kept
        }
        dark = channels.sum() < 0.6 and self.pattern != "plain"
        return replace(self, main=color, mark="#ece6da" if dark else self.mark, **given)


PLAIN = Coat()
"""The coat of a plan that names none."""


def _channels(color: str) -> Float[np.ndarray, "3"]:
    """sRGB values from 0 to 1 of '#rrggbb'."""
    return np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])


def _hex(channels: Float[np.ndarray, "3"]) -> str:
    return "#" + "".join(f"{round(float(c) * 255):02x}" for c in np.clip(channels, 0, 1))


def random_coat(base: Coat, generator: np.random.Generator) -> Coat:
    """A coat like another one, in a random natural or fanciful main colour."""
    import colorsys

    natural = generator.uniform() < 0.7
    hue = generator.uniform(0.02, 0.12) if natural else generator.uniform()
    saturation = generator.uniform(0.1, 0.6) if natural else generator.uniform(0.4, 0.9)
    value = generator.uniform(0.15, 0.95)
    return base.recolored(_hex(np.array(colorsys.hsv_to_rgb(hue, saturation, value))))


def countershade(coat: Coat, normals: Points, on_legs: Shares) -> Shares:
    """How much of the belly's colour skin of the main colour shows: all where it looks down, none on the legs."""
    return (1 - on_legs) * _step(-normals[:, 1] - 0.3, 0.3) * (coat.belly is not None)


def paint_pattern(
    coat: Coat,
    points: Points,
    normals: Points,
    height: float,
    on_legs: Shares,
) -> Shares:
    """How much of the mark colour each vertex of the main colour shows, 0 to 1."""
    size = coat.pattern_size * height
    match coat.pattern:
        case "stripes":
            return _stripes(points, normals, size, on_legs)
        case "spots":
            return _spots(points, size)
        case "dapples":  # small spots on the back only, as of a fawn
            return _spots(points, size) * _step(normals[:, 1] + 0.25, 0.3) * (1 - on_legs)
        case "panda":
            return _panda(points, on_legs)
        case "patches":
            return _patches(points, size)
        case "net":
            return _net(points, size, on_legs)
    return np.zeros(len(points))


def _step(value: Shares, softness: float) -> Shares:
    return np.clip(0.5 + value / (2 * softness), 0, 1)


def _waves(points: Points, size: float) -> Shares:
    """Smooth noise from -1 to 1, mirrored on the two sides."""
    x, y, z = np.abs(points[:, 0]) / size, points[:, 1] / size, points[:, 2] / size
    return (np.sin(1.3 * y + 2.1 * x + 0.4) * np.sin(0.9 * z - 1.7 * x) + np.sin(0.7 * y - 1.1 * z + 1.0)) / 2


def _stripes(points: Points, normals: Points, size: float, on_legs: Shares) -> Shares:
    """Rings around trunk and neck, and around the legs; none on the belly."""
    along = (1 - on_legs) * (points[:, 2] + 0.25 * points[:, 1]) + on_legs * points[:, 1]
    wave = np.sin(np.pi * along / size + 0.9 * _waves(points, 1.6 * size))
    return _step(wave - 0.1 - 0.8 * np.clip(-normals[:, 1] - 0.3, 0, 1), 0.35)


def _cells(points: Points, size: float, seed: int) -> tuple[Shares, Shares, Int[np.ndarray, " vertices"]]:
    """Distance to the nearest and second nearest of points scattered in space, and which is nearest."""
    from scipy.spatial import cKDTree

    low, high = points.min(0) - 2 * size, points.max(0) + 2 * size
    counts = np.maximum(np.ceil((high - low) / size).astype(int), 1)
    grid = np.stack(np.meshgrid(*(np.arange(count) for count in counts), indexing="ij"), -1).reshape(-1, 3)
    jitter = np.random.default_rng(seed).uniform(0.12, 0.88, grid.shape)
    distance, index = cKDTree(low + (grid + jitter) * size).query(points, k=2)
    return distance[:, 0], distance[:, 1], index[:, 0]


def _spots(points: Points, size: float) -> Shares:
    nearest, _, _ = _cells(points, 1.5 * size, 3)
    return _step(0.5 * size - nearest, 0.08 * size)


def _panda(points: Points, on_legs: Shares) -> Shares:
    """Legs and a band over the shoulders."""
    front = 0.3 * float(points[:, 2].max())
    band = _step(0.16 * float(points[:, 1].max()) - np.abs(points[:, 2] - front), 0.02 * float(points[:, 1].max()))
    return np.maximum(_step(on_legs - 0.45, 0.1), band)


def _patches(points: Points, size: float) -> Shares:
    """Large irregular fields, as of a cow."""
    warped = points + 0.25 * size * np.stack([_waves(points + shift, 0.5 * size) for shift in (0.0, 1.3, 2.9)], 1)
    _, _, cell = _cells(warped, 2.0 * size, 5)
    return (np.random.default_rng(11).uniform(size=int(cell.max()) + 1) < 0.45)[cell].astype(float)


def _net(points: Points, size: float, on_legs: Shares) -> Shares:
    """Fields with light lines between them, as of a giraffe; they fade out towards the feet."""
    nearest, second, _ = _cells(points, 1.3 * size, 9)
    fade = 1 - np.clip((on_legs - 0.8) * 5, 0, 1) * (points[:, 1] < 0.25 * points[:, 1].max())
    return _step(second - nearest - 0.16 * size, 0.08 * size) * fade
