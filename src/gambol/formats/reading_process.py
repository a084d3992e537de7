"""Reads a file in a process of its own: the native parsers of some formats are made for files that one trusts, and a
broken file can stop them, keep them busy or fill the memory. That is then an error, and not the end of gambol.

What was read comes back as JSON and numpy arrays, which nothing is executed for. The other process runs this file as
a script, which imports next to nothing: READER.py FILE ARRAYS.npz MEMORY. The reader has a function `extract` of the
file's path and an empty folder, and returns the JSON and the arrays.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from gambol.errors import AssetError, GambolError
from gambol.text import printable

MEMORY = 4 * 2**30
"""Most that the process may take [bytes]; only where the system can limit it (not on Windows)."""
PATIENCE = 120.0
"""Most time that reading may take [s]."""
LARGEST_ARRAYS = 2 * 2**30
"""Largest size of what was read [bytes]."""
REFUSED = 3
"""Exit code: the file is refused, and the last line of the process's errors says why."""
LONGEST_LINE = 400
"""Letters of that line that are shown."""
FACTS = "facts"
"""The array that holds the JSON."""


def read_apart(reader: str, path: Path) -> tuple[Any, dict[str, np.ndarray]]:
    """What `extract` of the Python file `reader` returns of a file: JSON, and arrays by name."""
    with tempfile.TemporaryDirectory(prefix="gambol-") as folder:
        target = Path(folder, "arrays.npz")
        _run([sys.executable, "-P", __file__, reader, str(path), str(target), str(MEMORY)], path)
        try:
            if target.stat().st_size > LARGEST_ARRAYS:
                raise AssetError(f"{path} holds more than {LARGEST_ARRAYS // 2**30} GB of data; make it smaller first")
            with np.load(target, allow_pickle=False) as file:
                arrays = dict(file)
            return json.loads(arrays.pop(FACTS).tobytes()), arrays
        except (OSError, EOFError, KeyError, ValueError, RecursionError, BadZipFile) as error:  # a file made it do so
            raise AssetError(f"{path} cannot be read: its reader has sent {type(error).__name__}: {error}") from None


def _run(command: list[str], path: Path) -> None:
    places = os.pathsep.join(place for place in sys.path if place)
    settings = {"PYTHONPATH": places, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PXR_")}  # which extend USD
    try:
        done = subprocess.run(
            command, env=kept | settings, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        raise AssetError(f"{path} takes more than {PATIENCE:.0f} s to read; make it smaller first") from None
    except OSError as error:
        raise GambolError(f"reading {path} needs a second process, which cannot be started: {error}") from None
    if done.returncode == 0:
        return
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    said = printable(lines[-1].strip()[:LONGEST_LINE]) if lines else ""
    if done.returncode == REFUSED and said:
        raise AssetError(said)
    raise AssetError(
        f"{path} cannot be read: it is broken in a way that stopped the reader (code {done.returncode})"
        + (f": {said}" if said else "")
    )


def main(reader: str, path: str, target: str, memory: str) -> int:
    """The other process; returns its exit code."""
    limit_memory(int(memory))
    scratch = Path(target).parent / "files"
    scratch.mkdir()
    spec = spec_from_file_location("reader", reader)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["reader"] = module
    spec.loader.exec_module(module)
    try:
        facts, arrays = module.extract(Path(path), scratch)
        sent = {**arrays, FACTS: np.frombuffer(json.dumps(facts).encode(), np.uint8)}
        np.savez(target, **sent)
    except GambolError as error:
        refusal = str(error)
    except MemoryError:
        refusal = f"{path} cannot be read: it needs too much memory"
    else:
        return 0
    print(" ".join(refusal.split()), file=sys.stderr)
    return REFUSED


def limit_memory(size: int) -> None:
    """Refuse this process more than `size` bytes, and a core file, where the system can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (size if hard < 0 else min(size, hard), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    gc.disable()  # ufbx's Python package crashes in it
    code = main(*sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # without taking the parsers' objects apart, which can crash on what a broken file has left
