"""Real characters as an optional extra: tests that use them skip where there are none."""

import os
from pathlib import Path

import pytest

SUFFIXES = (".glb", ".gltf", ".vrm")


def assets_folder() -> Path | None:
    """$GAMBOL_ASSETS, or the folder `shared/assets` beside the repository; None if there is neither."""
    named = os.environ.get("GAMBOL_ASSETS")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "assets"
    return folder if folder.is_dir() else None


def asset_files() -> list[Path]:
    """All .glb, .gltf and .vrm files of the folder and below, in order; empty without a folder."""
    folder = assets_folder()
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES) if folder else []


def asset_name(path: Path) -> str:
    """A short name for a test's id: the path within the folder."""
    folder = assets_folder()
    return path.relative_to(folder).as_posix() if folder else path.name


needs_assets = pytest.mark.skipif(
    not asset_files(), reason="no real characters: set GAMBOL_ASSETS to a folder of .glb files"
)
