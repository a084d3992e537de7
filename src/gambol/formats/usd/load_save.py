"""USD files in and out. What reads them is USD's own code, in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.errors import AssetError, GambolError
from gambol.formats.files import read_file
from gambol.formats.reading_process import read_apart
from gambol.formats.usd.transfer import put_together

READER = str(Path(__file__).with_name("reader.py"))


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
    objects, arrays = read_apart(READER, path)
    try:
        return replace(put_together(objects, arrays), source=UsdSource(path))
    except ValueError as error:
        raise AssetError(f"{path} cannot be read: {error}") from None


def save_usd(character: Character, path: str | Path, clips: Sequence[Clip], *, meshes: bool = True) -> tuple[str, ...]:
    """Write a .usd, .usda, .usdc or .usdz file: see `writer.write_stage`."""
    require_usd("writing")
    from gambol.formats.usd.writer import write_stage

    return write_stage(character, Path(path), clips, meshes)
