"""Runs `extract.py` in a process of its own, so that a file that breaks ufbx cannot take gambol with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from gambol.errors import AssetError, GambolError
from gambol.formats.fbx import extract
from gambol.text import printable

MEMORY = 4 * 2**30
"""Most that the process may take [bytes]; only where the system can limit it (not on Windows)."""
PATIENCE = 120.0
"""Most time that reading may take [s]."""
LARGEST_ARRAYS = 2 * 2**30
"""Largest size of what was read [bytes]."""


def extracted(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What the file says of itself, and its arrays, as `extract.py` writes them."""
    if find_spec("ufbx") is None:
        raise GambolError("reading .fbx needs the package ufbx, which is not installed: pip install ufbx")
    with tempfile.TemporaryDirectory(prefix="gambol-fbx-") as folder:
        target = Path(folder, "arrays.npz")
        _run(path, target)
        if target.stat().st_size > LARGEST_ARRAYS:
            raise AssetError(f"{path} holds more than {LARGEST_ARRAYS // 2**30} GB of data; make it smaller first")
        with np.load(target, allow_pickle=False) as file:
            arrays = dict(file)
    return json.loads(arrays.pop("facts").tobytes()), arrays


def _run(path: Path, target: Path) -> None:
    command = [sys.executable, "-P", extract.__file__, str(path.resolve()), str(target), str(MEMORY)]
    places = os.pathsep.join(place for place in sys.path if place)
    environment = {**os.environ, "PYTHONPATH": places, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        raise AssetError(f"{path} takes more than {PATIENCE:.0f} s to read; make it smaller first") from None
    except OSError as error:
        raise GambolError(f"reading .fbx needs a second process, which cannot be started: {error}") from None
    if done.returncode == 0:
        return
    said = printable(done.stderr.decode(errors="replace").strip().splitlines()[-1][:200]) if done.stderr.strip() else ""
    if done.returncode == extract.REFUSED:
        raise AssetError(f"{path}: {said}")
    if done.returncode == extract.BROKEN:
        raise AssetError(f"{path} cannot be read: {said}")
    raise AssetError(f"{path} cannot be read: it is broken in a way that stopped the reader (code {done.returncode})")
