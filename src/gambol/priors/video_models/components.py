"""The components of a video model: loaded on first use, moved to the device, and freed; and the options for that."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, Literal

import torch

from gambol.errors import GambolError
from gambol.priors.video_models.model_folder import find_fault, first_line, read_index, read_json

Precision = Literal["auto", "bfloat16", "float16", "float32", "float64"]


@dataclass(frozen=True)
class VideoModelConfig:
    """Precision, device and memory options. They change results only by rounding and, with tiling, at the seams."""

    dtype: Precision = "auto"
    """Precision of the network and the text encoder; auto: bfloat16 on CUDA, float32 elsewhere."""
    vae_dtype: Precision = "auto"
    """Precision of the video autoencoder; auto: as `dtype`. Wan's authors decode in float32, in twice the memory."""
    device: str = "auto"
    """Device: cuda, cuda:1, cpu; auto: CUDA if there is any."""
    checkpoint: bool = True
    """Recompute the encoder's activations in the backward pass instead of keeping them (see `chunked_encoding`): for 49
    frames of 720 x 480 of CogVideoX-5B that takes 17 GiB instead of 116."""
    tiling: bool = False
    """Encode and decode pictures in overlapping tiles: for that video 5 GiB instead of 17, with 1.5 times the work and
    slightly different latents at the seams."""
    offload: bool = False
    """Keep only the running component on the device and the others in main memory."""
    download: bool = True
    """Download weights that are not on this machine yet from the hub."""

    def __post_init__(self):
        if self.offload and not self.checkpoint:
            raise GambolError("offload moves weights that the backward pass needs; use it with checkpoint")

    @property
    def torch_device(self) -> torch.device:
        """The device; raises GambolError if this machine has no such device."""
        if self.device == "auto":
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")
        try:
            device = torch.device(self.device)
        except RuntimeError:
            raise GambolError(f"there is no device '{self.device}'; use cuda, cuda:1 or cpu") from None
        if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
            raise GambolError(f"there is no device '{self.device}' on this machine; use cpu")
        return device

    @property
    def torch_dtype(self) -> torch.dtype:
        """Precision of the network and of the text encoder."""
        automatic = torch.bfloat16 if self.torch_device.type == "cuda" else torch.float32
        return automatic if self.dtype == "auto" else getattr(torch, self.dtype)

    @property
    def torch_vae_dtype(self) -> torch.dtype:
        """Precision of the video autoencoder."""
        return self.torch_dtype if self.vae_dtype == "auto" else getattr(torch, self.vae_dtype)


ClassNames = Mapping[str, tuple[str, str]]
"""Library and class name of each component."""


@dataclass(frozen=True)
class ModelCheckpoint:
    """A model whose components can be loaded one by one."""

    name: str
    index: Mapping[str, Any]
    """Content of model_index.json: the options of the pipeline."""
    settings: Mapping[str, Mapping[str, Any]]
    """Complete configuration of each component that diffusers loads, with defaults filled in."""
    load: Callable[[str], Any]
    """Loads a component by name into main memory."""


def open_folder(
    folder: Path, classes: ClassNames, config: VideoModelConfig, name: str | None = None
) -> ModelCheckpoint:
    """Open a folder in the layout of `diffusers`; raises GambolError if files are missing."""
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

    return ModelCheckpoint(name or folder.resolve().name, index, settings, load)


def _defaults(library: str, class_name: str) -> dict[str, Any]:
    """Default options of a class: configurations of older models lack the newer options."""
    parameters = signature(getattr(import_module(library), class_name).__init__).parameters.values()
    return {one.name: one.default for one in parameters if one.default is not Parameter.empty}


def _dtype(part: str, config: VideoModelConfig) -> torch.dtype | None:
    if part in ("tokenizer", "scheduler"):
        return None
    return config.torch_vae_dtype if part == "vae" else config.torch_dtype


def _load(folder: Path, library: str, class_name: str, dtype: torch.dtype | None) -> Any:
    """Load one component; any error inside the libraries becomes a GambolError."""
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


class ModelComponents:
    """The components of a model by name. With offload, only the one that was used last is on the device."""

    def __init__(self, checkpoint: ModelCheckpoint, config: VideoModelConfig, prepare: Callable[[str, Any], None]):
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
        """Free the memory of components; they are loaded again on the next use."""
        for name in names:
            self._loaded.pop(name, None)
        gc.collect()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def loaded(self) -> set[str]:
        """Names of the components in memory."""
        return set(self._loaded)


def _move(module: torch.nn.Module, device: torch.device) -> None:
    """Move a module to a device unless it is already there."""
    place = next(module.parameters()).device
    if place.type != device.type or device.index not in (None, place.index):
        module.to(device)
