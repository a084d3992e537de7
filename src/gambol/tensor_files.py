"""Tensors in a .safetensors file of our own, with a checksum: a damaged file is refused as a whole."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, uint8

from gambol.errors import AssetError
from gambol.files import write_file

CHECKSUM = "sha256"


def write_tensors(path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, str]) -> None:
    """Write tensors and texts about them, with a checksum of both."""
    tensors = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    write_file(path, save(tensors, {**facts, CHECKSUM: checksum(tensors, facts)}))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and texts that `write_tensors` wrote. AssetError, with the reason, if the file is missing or damaged."""
    try:
        if not path.exists():
            raise AssetError(f"there is no file '{path}'")
        if not path.is_file():
            raise AssetError(f"'{path}' is not a file")
        with safe_open(path, "pt") as file:
            facts = dict(file.metadata() or {})
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, ValueError, RuntimeError, MemoryError) as error:
        raise AssetError(f"'{path}' cannot be read as .safetensors: {error}") from None
    expected = facts.pop(CHECKSUM, None)
    if expected is None:
        raise AssetError(f"'{path}' has no checksum: gambol did not write it")
    if expected != checksum(tensors, facts):
        raise AssetError(f"'{path}' is damaged: its contents do not match its checksum")
    return tensors, facts


def checksum(tensors: Mapping[str, Tensor], facts: Mapping[str, str]) -> str:
    """SHA-256 of names, types, shapes and values of tensors, and of the texts about them."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        value = tensors[name]
        digest.update(f"{name}\0{value.dtype}{tuple(value.shape)}\0".encode())
        digest.update(value.flatten().view(uint8).numpy().data if value.numel() else b"")
    for name in sorted(facts):
        digest.update(f"{name}\0{facts[name]}\0".encode())
    return digest.hexdigest()
