"""Cache of results between runs, each named by a hash of all inputs. A damaged entry is deleted and computed again."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
from platformdirs import user_cache_path
from torch import Tensor

from gambol.errors import AssetError
from gambol.tensor_files import read_tensors, write_tensors


def cache_folder() -> Path:
    """Return $GAMBOL_CACHE, or the user's cache folder; it may be deleted at any time."""
    named = os.environ.get("GAMBOL_CACHE")
    return Path(named) if named else user_cache_path("gambol", appauthor=False)


def fingerprint(parts: Iterable[np.ndarray | bytes | str | None]) -> str:
    """Return a hash of arrays, bytes and texts, in order; the same on every machine."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(part.tobytes())
        else:
            data = part.encode() if isinstance(part, str) else part or b""
            digest.update(f"{type(part).__name__}{len(data)}".encode())
            digest.update(data)
    return digest.hexdigest()[:32]


def recall(name: str) -> tuple[dict[str, Tensor], dict[str, float]] | None:
    """Return the tensors and numbers stored under a name, or None if there are none.

    An entry that is damaged, which its checksum tells, is deleted with a warning, so that it is computed again.
    """
    path = cache_folder() / f"{name}.safetensors"
    if not path.is_file():
        return None
    try:
        tensors, texts = read_tensors(path)
        return tensors, {key: float(text) for key, text in texts.items()}
    except Exception as error:  # whatever is wrong with it, it can be made again
        print(f"warning: {path} is damaged and is computed again: {error}", file=sys.stderr)
        with suppress(OSError):
            path.unlink()
        return None


def remember(name: str, tensors: Mapping[str, Tensor], numbers: Mapping[str, float]) -> bool:
    """Store float32 tensors and numbers under a name; return False if they cannot be stored, which is no error."""
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        texts = {key: str(number) for key, number in numbers.items()}
        write_tensors(cache_folder() / f"{name}.safetensors", tensors, texts)
    except (OSError, AssetError):
        return False
    return True
