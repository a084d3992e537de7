"""Files of joints: a small .toml or .json in which the user says what the parts of a character are.

    forward = "-z"
    head = "Bone.004"
    left_hind_leg = ["Bone.010", "Bone.011"]

Keys are up, forward, plan, and parts as `gambol info` prints them. A part is the joint where it begins, or its joints
from the body outwards, which then hang on each other. Numbers are nodes.
"""

import tomllib
from pathlib import Path
from typing import Any

from gambol.character.annotations import part_name
from gambol.errors import GambolError
from gambol.jsonable import parse_json
from gambol.text import encodable

LARGEST_FILE = 1_000_000
"""Bytes: far more than any skeleton needs."""


def read_joint_file(path: Path) -> Any:
    """What a .toml or .json file of joints holds; GambolError, naming the file, if it cannot be read."""
    if not path.is_file():
        raise GambolError(f"--joints {path} does not exist")
    if path.suffix.lower() not in (".toml", ".json"):
        raise GambolError(f"--joints reads .toml and .json, got {path.name}")
    if path.stat().st_size > LARGEST_FILE:
        raise GambolError(f"--joints {path} is no file of joints: it is larger than {LARGEST_FILE:,} bytes")
    try:
        text = path.read_bytes().decode()
        return tomllib.loads(text) if path.suffix.lower() == ".toml" else parse_json(text)
    except (ValueError, RecursionError) as error:
        raise GambolError(f"--joints {path} cannot be read: {error or 'it is nested too deeply'}") from None


def read_annotations(path: Path) -> dict[str, Any]:
    """Keyword arguments of `analyze` from a file; GambolError, naming the file, if it is no file of joints."""
    values = read_joint_file(path)
    if not isinstance(values, dict):
        raise GambolError(f"--joints {path} must hold names of parts with their joints")
    found = {name: _text(path, name, values.pop(name)) for name in ("up", "forward", "plan") if name in values}
    try:
        parts = {part_name(name): _joints(path, name, value) for name, value in values.items()}
    except GambolError as error:
        raise GambolError(f"--joints {path}: {error}") from None
    return {**found, **({"parts": parts} if parts else {})}


def _text(path: Path, name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise GambolError(f"--joints {path}: {name} must be a text, got {str(value)[:40]}")
    return value


def _joints(path: Path, name: str, value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    if not values or not all(isinstance(each, str | int) and not isinstance(each, bool) for each in values):
        raise GambolError(f"{name} must be the name of a joint or a list of names, got {str(value)[:40]}")
    return tuple(encodable(each) if isinstance(each, str) else f"#{each}" for each in values)
