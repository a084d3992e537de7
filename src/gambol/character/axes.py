"""Signed axes as the user names them. Imports nothing heavy: the command line needs it for its help."""

from typing import Literal

Axis = Literal["+x", "-x", "+y", "-y", "+z", "-z"]
AxisChoice = Literal["auto", "+x", "-x", "+y", "-y", "+z", "-z"]
"""Value of an axis option on the command line; auto: found by `analyze`."""

AXES: dict[Axis, tuple[float, float, float]] = {
    "+x": (1.0, 0.0, 0.0),
    "-x": (-1.0, 0.0, 0.0),
    "+y": (0.0, 1.0, 0.0),
    "-y": (0.0, -1.0, 0.0),
    "+z": (0.0, 0.0, 1.0),
    "-z": (0.0, 0.0, -1.0),
}


def axis_name(vector) -> str:
    """'+z' for a vector along an axis, its numbers otherwise."""
    rounded = tuple(round(float(value), 3) + 0.0 for value in vector)
    return next((name for name, axis in AXES.items() if axis == rounded), f"({', '.join(f'{v:g}' for v in rounded)})")
