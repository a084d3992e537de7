"""What this machine has, and whether that is enough for a prior."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from gambol.priors.catalogue import KnownPrior
from gambol.priors.video_models.model_folder import find_in_cache, missing_packages

GIB = 2**30
INSTALL = "pip install 'gambol[diffusers]'"


@dataclass(frozen=True)
class Machine:
    """The properties of a machine that decide whether a prior runs on it."""

    memory: float
    """Main memory [GiB]; 0 if unknown."""
    gpu: str | None
    """Name of the first CUDA device."""
    gpu_memory: float
    """Memory of that device [GiB]."""
    missing: tuple[str, ...]
    """Packages of the extra that are not installed."""


@dataclass(frozen=True)
class Feasibility:
    """Whether a prior runs here."""

    runs: bool
    text: str
    """Why, or how, in one line."""
    weights: Path | None
    """Where its weights are on this machine."""


def this_machine() -> Machine:
    """The properties of this machine."""
    import torch

    gpu = torch.cuda.is_available()
    about = torch.cuda.get_device_properties(0) if gpu else None
    return Machine(
        memory=main_memory() / GIB,
        gpu=about.name if about else None,
        gpu_memory=about.total_memory / GIB if about else 0.0,
        missing=tuple(missing_packages()),
    )


def main_memory() -> int:
    """Main memory of this machine [bytes]; 0 where the system does not say, as on Windows."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0


def feasibility_of(prior: KnownPrior, machine: Machine) -> Feasibility:
    """Whether a prior runs on a machine."""
    if prior.hub is None:
        return Feasibility(True, "yes: on the CPU", None)
    weights = find_in_cache(prior.hub)
    runs, text = _feasibility_of_video_model(prior, machine)
    if runs and machine.missing:
        return Feasibility(False, f"no: first {INSTALL}, then {text}", weights)
    if runs and weights is None:
        text = f"{text}; {prior.weights:.0f} GiB or more to download"
    return Feasibility(runs, f"{'yes' if runs else 'no'}: {text}", weights)


def _feasibility_of_video_model(prior: KnownPrior, machine: Machine) -> tuple[bool, str]:
    if not machine.gpu:
        return False, f"no CUDA GPU, and the CPU would need {2 * prior.memory:.0f} GiB of memory and hours"
    if prior.memory <= machine.gpu_memory:
        return True, f"on {machine.gpu}"
    if prior.offloaded > machine.gpu_memory:
        return False, f"needs {prior.offloaded:.0f} GiB, {machine.gpu} has {machine.gpu_memory:.0f}"
    if machine.memory and prior.weights > machine.memory:
        return False, f"offload needs {prior.weights:.0f} GiB of main memory, there are {machine.memory:.0f}"
    return True, f"on {machine.gpu} with offload"
