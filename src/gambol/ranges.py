"""Ranges of the numbers that a user or a file may give, declared once and checked the same way everywhere.

A field of a config says its range in its type, as in `fps: Annotated[float, FPS]`. Importing this module is cheap, so
that commands refuse a wrong value before anything heavy is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, get_args, get_type_hints

from gambol.errors import GambolError


@dataclass(frozen=True)
class Range:
    """The least and the greatest value that is allowed."""

    least: float
    most: float

    def check(self, name: str, value: Any) -> None:
        """Raise a GambolError that names the value if it is outside; nan always is."""
        if not self.least <= value <= self.most:
            got = f"{value:g}" if isinstance(value, float) else str(value)
            raise GambolError(f"{name} must be from {self.least:,} to {self.most:,}, got {got[:40]}")


SECONDS = Range(0.1, 600)
"""Length of a new clip [s]."""
FPS = Range(1, 240)
"""Frame rate of a clip [frames/s]."""
MOST_FRAMES = 20_000
"""Frames of a clip: eleven minutes at 30 a second. Measuring and rendering one takes some 40 kB a frame."""
STRENGTH = Range(0.01, 1)
CONTROL_SCALE = Range(0, 2)
"""Factor on what a control branch adds to a network."""
SEED = Range(0, 1_000_000)
SPEED = Range(0.01, 100)
"""Factor on the speed of a clip."""
SMOOTH = Range(0.001, 2)
"""Standard deviation of the filter that smooths a clip [s]."""

REDUCTION = Range(0, 20)
"""Largest error of key reduction [% of the height]."""

GAUSSIANS = Range(16, 1_000_000)
FITTED_VIEWS = Range(4, 2000)
"""Views that Gaussians are fitted to."""
VIEW_SIZE = Range(16, 2048)
"""Width and height of such a view [pixels]."""
FIT_STEPS = Range(1, 100_000)

Count = Annotated[int, Range(1, 1_000_000)]
"""A number of steps, views or layers."""
Rate = Annotated[float, Range(1e-9, 10)]
"""A learning rate."""
Weight = Annotated[float, Range(0, 1e9)]
"""The weight of a loss."""


def check_frames(seconds: float, fps: float) -> None:
    """Refuse a clip of more frames than `MOST_FRAMES`."""
    frames = round(seconds * fps)
    if frames > MOST_FRAMES:
        raise GambolError(
            f"{seconds:g} s at {fps:g} frames a second are {frames:,} frames, and a clip may have {MOST_FRAMES:,}; "
            "make it shorter, or lower --fps"
        )


@cache
def field_types(kind: type) -> dict[str, Any]:
    """Return the types of the fields of a dataclass, with their ranges."""
    return get_type_hints(kind, include_extras=True)


def check_ranges(config: Any, options: bool = False) -> None:
    """Check every field of a dataclass whose type says its range; None is always allowed. options: whether messages
    name fields as options of the command line."""
    for name, kind in field_types(type(config)).items():  # type: ignore[arg-type]
        value = getattr(config, name)
        for each in (kind, *get_args(kind)):
            for limit in getattr(each, "__metadata__", ()):
                for number in value if isinstance(value, tuple) else (value,):
                    if isinstance(limit, Range) and number is not None:
                        limit.check(f"--{name.replace('_', '-')}" if options else name, number)
