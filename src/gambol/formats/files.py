"""Reading files that others made: bounded in size, and never a file elsewhere that one of them names."""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np

from gambol.errors import AssetError

LARGEST = 512 * 2**20
"""Largest file that is read [bytes]; text of that size is some ten million vertices, or hours of motion capture."""
LARGEST_NUMBER = 1e12
"""Largest absolute value of a coordinate."""


def read_file(path: Path, largest: int | None = None, name: str | None = None) -> bytes:
    """The content of a file of at most `largest` bytes (LARGEST if not given), which errors call `name`."""
    largest = LARGEST if largest is None else largest
    name = str(path) if name is None else name
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe or a device could keep us reading for ever
            raise AssetError(f"{name} cannot be read: it is not a regular file")
        if status.st_size > largest:
            raise AssetError(f"{name} is larger than {largest // 2**20} MiB; make it smaller first")
        return path.read_bytes()
    except FileNotFoundError:
        raise AssetError(f"{name} does not exist") from None
    except (OSError, ValueError) as error:  # ValueError: a name with a zero in it
        raise AssetError(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def in_range(values: np.ndarray) -> bool:
    """Whether all numbers are finite and at most LARGEST_NUMBER."""
    return bool((np.abs(values) <= LARGEST_NUMBER).all())  # also false for NaN


def path_beside(path: Path, name: str, what: str, folder: Path | None = None) -> Path:
    """Where a file named in `path` is: in the folder of `path` or below it; anything else is refused.

    A file that someone sent could otherwise carry any file of this machine into what is made from it. `what` begins
    the error; names are relative to `folder`, or to that of `path`.
    """
    home = path.parent.resolve()
    try:
        target = ((folder or home) / name).resolve()  # follows links, so that none leads out
    except (OSError, ValueError, RuntimeError):
        raise AssetError(f"{what} {name[:80]!r} is not a usable file name") from None
    if "://" in name or not target.is_relative_to(home):
        raise AssetError(f"{what} {name[:80]!r} leaves the folder of {path.name}; only files beside it are read")
    return target
