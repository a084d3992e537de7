"""The parts of a model: loaded when first used, put where the work is done, given back when no longer needed."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import torch

from gambol.errors import GambolError
from gambol.priors.big.config import BigPriorConfig
from gambol.priors.big.folder import find_fault, first_line, read_index, read_json

ClassNames = Mapping[str, tuple[str, str]]
"""Library and class of each component."""


@dataclass(frozen=True)
class Checkpoint:
    """A model that can be loaded part by part."""

    name: str
    index: Mapping[str, Any]
    """Options of the pipeline: model_index.json."""
    settings: Mapping[str, Mapping[str, Any]]
    """Full configuration of the components of diffusers."""
    load: Callable[[str], Any]
    """Loads a component, in main memory."""


def open_folder(folder: Path, classes: ClassNames, config: BigPriorConfig, name: str | None = None) -> Checkpoint:
    """A model from a folder in the layout of `diffusers`, which must be whole."""
    index = read_index(folder)
    fault = find_fault(folder)
    lost = [part for part in classes if not (folder / part).is_dir() and part != "transformer_2"]
    if fault or lost:
        raise GambolError(f"{fault or f'the folder {folder / lost[0]} is missing'}; fetch the model again")
    settings = {}
    for part, (library, class_name) in classes.items():
        path = folder / part / ("scheduler_config.json" if part == "scheduler" else "config.json")
        if library == "diffusers" and path.is_file():
            settings[part] = {**_defaults(library, class_name), **read_json(path)}

    def load(part: str) -> Any:
        return _load(folder / part, *classes[part], _dtype(part, config))

    return Checkpoint(name or folder.resolve().name, index, settings, load)


def _defaults(library: str, class_name: str) -> dict[str, Any]:
    """Options of a class that a configuration need not name: older models do not know the newer ones."""
    parameters = signature(getattr(import_module(library), class_name).__init__).parameters.values()
    return {one.name: one.default for one in parameters if one.default is not Parameter.empty}


def _dtype(part: str, config: BigPriorConfig) -> torch.dtype | None:
    if part in ("tokenizer", "scheduler"):
        return None
    return config.torch_vae_dtype if part == "vae" else config.torch_dtype


def _load(folder: Path, library: str, class_name: str, dtype: torch.dtype | None) -> Any:
    """One component. What goes wrong inside the libraries, in many ways, is told in one."""
    kind = getattr(import_module(library), class_name)
    try:
        if dtype is None:
            return kind.from_pretrained(folder, local_files_only=True)
        part, report = kind.from_pretrained(folder, local_files_only=True, dtype=dtype, output_loading_info=True)
    except MemoryError:
        raise GambolError(f"there is not enough memory for {folder}; see gambol priors") from None
    except Exception as error:
        raise GambolError(f"{folder} cannot be loaded as {class_name}: {first_line(error)}") from error
    missing = sorted(report["missing_keys"])
    if missing:  # the libraries would go on with random numbers
        raise GambolError(f"{folder} lacks {len(missing)} tensors, {missing[0]} among them; fetch the model again")
    return part


class Components:
    """Components by name. With offload at most one of them is on the device, the last one asked for."""

    def __init__(self, checkpoint: Checkpoint, config: BigPriorConfig, prepare: Callable[[str, Any], None]):
        self.device, self._offload = config.torch_device, config.offload
        self._checkpoint, self._prepare = checkpoint, prepare
        self._loaded: dict[str, Any] = {}

    def use(self, name: str) -> Any:
        """A component, loaded and on the device."""
        if name not in self._loaded:
            part = self._checkpoint.load(name)
            if isinstance(part, torch.nn.Module):
                part.eval().requires_grad_(False)
            self._prepare(name, part)
            self._loaded[name] = part
        part = self._loaded[name]
        if isinstance(part, torch.nn.Module):
            if self._offload:
                for other in self._loaded.values():
                    if other is not part and isinstance(other, torch.nn.Module):
                        _move(other, torch.device("cpu"))
            _move(part, self.device)
        return part

    def free(self, *names: str) -> None:
        """Forget components; they are loaded again if asked for again."""
        for name in names:
            self._loaded.pop(name, None)
        gc.collect()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def loaded(self) -> set[str]:
        """Names of what is in memory."""
        return set(self._loaded)


def _move(module: torch.nn.Module, device: torch.device) -> None:
    """Put a module on a device, unless it is there."""
    place = next(module.parameters()).device
    if place.type != device.type or device.index not in (None, place.index):
        module.to(device)
