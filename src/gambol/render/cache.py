"""Results worth keeping between runs, named by a hash of all they depend on."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from platformdirs import user_cache_path
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from gambol.errors import AssetError
from gambol.files import write_file


def cache_folder() -> Path:
    """$GAMBOL_CACHE, or the user's folder for such things; may be deleted at any time."""
    named = os.environ.get("GAMBOL_CACHE")
    return Path(named) if named else user_cache_path("gambol", appauthor=False)


def fingerprint(parts: Iterable[np.ndarray | bytes | str | None]) -> str:
    """A hash of arrays, bytes and texts, in order; the same on every machine."""
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


def recall(name: str) -> tuple[dict[str, Tensor], dict] | None:
    """Tensors and facts stored under a name; None if there are none, or if they are damaged."""
    path = cache_folder() / f"{name}.safetensors"
    try:
        with safe_open(path, "pt") as file:
            return {key: file.get_tensor(key) for key in file.keys()}, json.loads(file.metadata()["facts"])  # noqa: SIM118
    except (OSError, SafetensorError, ValueError, TypeError, KeyError):
        return None


def remember(name: str, tensors: Mapping[str, Tensor], facts: Mapping) -> bool:
    """Store tensors and facts (JSON); False if there is no place for them, which is no reason to stop."""
    path = cache_folder() / f"{name}.safetensors"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, save(dict(tensors), {"facts": json.dumps(dict(facts))}))
    except (OSError, AssetError):
        return False
    return True
