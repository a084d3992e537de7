"""Reads a USD file in a process of its own: USD's parsers are made for files that one trusts, and a broken one can stop
them, keep them busy or fill the memory."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.errors import AssetError, GambolError
from gambol.formats.files import read_file

MEMORY = 4 * 2**30
"""Most that the process may take [bytes]; only where the system can limit it (not on Windows)."""
PATIENCE = 120.0
"""Most time that reading may take [s]."""
REFUSED = 3
"""Exit code: the file is refused with a sentence."""


@dataclass(frozen=True)
class UsdSource:
    """The file behind a character."""

    path: Path


def require_usd(what: str) -> None:
    """GambolError if the package is missing."""
    if find_spec("pxr") is None:
        raise GambolError(f"{what} USD files needs the package usd-core: pip install 'gambol[usd]'")


def load_usd(path: str | Path) -> Character:
    """Read a .usd, .usda, .usdc or .usdz file: see `reader.read_stage`."""
    path = Path(path)
    require_usd("reading")
    read_file(path)
    with tempfile.TemporaryDirectory(prefix="gambol-usd-") as folder:
        target = Path(folder, "character")
        command = [sys.executable, "-P", "-m", __name__, str(path.resolve()), str(target), str(MEMORY)]
        places = os.pathsep.join(place for place in sys.path if place)
        settings = {"PYTHONPATH": places, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PXR_")}
        try:
            done = subprocess.run(
                command, env=kept | settings, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE
            )
        except subprocess.TimeoutExpired:
            raise AssetError(f"{path} takes more than {PATIENCE:.0f} s to read; make it smaller first") from None
        except OSError as error:
            raise GambolError(f"reading USD needs a second process, which cannot be started: {error}") from None
        if done.returncode not in (0, REFUSED) or not target.is_file():
            raise AssetError(f"{path} cannot be read: it stops or overfills USD (code {done.returncode})")
        found = pickle.loads(target.read_bytes())  # of our own process
    if isinstance(found, str):
        raise AssetError(found)
    assert isinstance(found, Character)
    return replace(found, source=UsdSource(path))


def save_usd(character: Character, path: str | Path, clips: Sequence[Clip], *, meshes: bool = True) -> tuple[str, ...]:
    """Write a .usd, .usda, .usdc or .usdz file: see `writer.write_stage`."""
    require_usd("writing")
    from gambol.formats.usd.writer import write_stage

    return write_stage(character, Path(path), clips, meshes)


def main(path: str, target: str, memory: str) -> int:
    """The other process: writes a character, or the sentence with which the file is refused."""
    from gambol.formats.usd.reader import read_stage

    _limit(int(memory))
    scratch = Path(target).parent / "files"
    scratch.mkdir()
    try:
        found: Character | str = read_stage(Path(path), scratch)
    except GambolError as error:
        found = str(error)
    Path(target).write_bytes(pickle.dumps(found))
    return REFUSED if isinstance(found, str) else 0


def _limit(memory: int) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (memory if hard < 0 else min(memory, hard), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    code = main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)  # without taking USD apart, which can crash on what a broken file has left
