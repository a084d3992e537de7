"""Real characters as an optional extra: tests that use them skip where there are none."""

import os
from pathlib import Path

import pytest

CHOSEN = (
    "gltf/babylon/HVGirl.glb",
    "gltf/godot/robot_player.glb",
    "gltf/kaykit/Knight.glb",
    "gltf/khronos/CesiumMan-Draco/CesiumMan.gltf",
    "gltf/khronos/CesiumMan.glb",
    "gltf/khronos/Fox.glb",
    "gltf/mesh2motion/bird-animations.glb",
    "gltf/quaternius/Horse.glb",
    "gltf/quaternius/Snake.glb",
    "gltf/quaternius/Spider.glb",
    "gltf/quaternius/Trex.glb",
    "gltf/quaternius/Wolf.glb",
    "gltf/threejs/RobotExpressive.glb",
)
"""Files of the folder that are tested, one or two of every kind: a folder may hold hundreds."""


def assets_folder() -> Path | None:
    """$GAMBOL_ASSETS, or the folder `shared/assets` beside the repository; None if there is neither."""
    named = os.environ.get("GAMBOL_ASSETS")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "assets"
    return folder if folder.is_dir() else None


def asset_files() -> list[Path]:
    """The chosen files that are in the folder; empty without a folder."""
    folder = assets_folder()
    return [folder / name for name in CHOSEN if (folder / name).is_file()] if folder else []


def asset_name(path: Path) -> str:
    """A short name for a test's id: the path within the folder."""
    folder = assets_folder()
    return path.relative_to(folder).as_posix() if folder else path.name


needs_assets = pytest.mark.skipif(
    not asset_files(), reason="no real characters: set GAMBOL_ASSETS to a folder that holds them"
)
