"""What this machine has, and whether that is enough for a prior."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from gambol.priors.catalogue import SINGLE, KnownPrior
from gambol.priors.video_models.model_folder import find_in_cache, missing_packages

GIB = 2**30
INSTALL = "pip install 'gambol[diffusers]'"


@dataclass(frozen=True)
class Machine:
    """The properties of a machine that decide whether a prior runs on it."""

    memory: int
    """Main memory [bytes]; 0 if unknown."""
    gpu: str | None
    """Name of the first CUDA device."""
    gpu_memory: int
    """Memory of that device [bytes]."""
    speed: float
    """Arithmetic of the CPU in single precision [FLOP/s]."""
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
    """The properties of this machine; measures the speed of the CPU, which takes a moment."""
    import torch

    gpu = torch.cuda.is_available()
    about = torch.cuda.get_device_properties(0) if gpu else None
    return Machine(
        memory=main_memory(),
        gpu=about.name if about else None,
        gpu_memory=about.total_memory if about else 0,
        speed=cpu_speed(),
        missing=tuple(missing_packages()),
    )


def main_memory() -> int:
    """Main memory of this machine [bytes]; 0 where the system does not say, as on Windows."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0


def cpu_speed(size: int = 1024, tries: int = 5) -> float:
    """Arithmetic of a product of matrices, the best of a few [FLOP/s]."""
    import torch

    matrix = torch.ones(size, size)
    best = float("inf")
    for _ in range(tries):
        start = time.perf_counter()
        matrix @ matrix
        best = min(best, time.perf_counter() - start)
    return 2 * size**3 / best


def feasibility_of(prior: KnownPrior, machine: Machine) -> Feasibility:
    """Whether a prior runs on a machine."""
    if prior.hub is None:
        return Feasibility(
            True, f"yes: on the CPU, about {_duration(prior.costs.call_flop / machine.speed)} a call", None
        )
    weights = find_in_cache(prior.hub)
    runs, text = _feasibility_of_video_model(prior, machine)
    if runs and machine.missing:
        return Feasibility(False, f"no: first {INSTALL}, then {text}", weights)
    if runs and weights is None:
        text = f"{text}; {_gib(prior.weights())} GiB or more to download"
    return Feasibility(runs, f"{'yes' if runs else 'no'}: {text}", weights)


def _feasibility_of_video_model(prior: KnownPrior, machine: Machine) -> tuple[bool, str]:
    if not machine.gpu:
        needed = prior.memory(number=SINGLE)
        if machine.memory and needed > machine.memory:
            return False, f"no CUDA GPU, and the CPU would need {_gib(needed)} GiB of memory"
        return False, f"no CUDA GPU, and the CPU would need {_duration(prior.costs.call_flop / machine.speed)} a call"
    if prior.memory() <= machine.gpu_memory:
        return True, f"on {machine.gpu}"
    offloaded = prior.memory(offload=True)
    if offloaded > machine.gpu_memory:
        small = prior.memory(offload=True, encode=False) <= machine.gpu_memory
        hope = "; try tiling or smaller videos" if small else ""
        return False, f"needs {_gib(offloaded)} GiB, {machine.gpu} has {_gib(machine.gpu_memory)}{hope}"
    if machine.memory and prior.weights() > machine.memory:
        return False, f"offload needs {_gib(prior.weights())} GiB of main memory, there are {_gib(machine.memory)}"
    return True, f"on {machine.gpu} with offload"


def _gib(count: int) -> str:
    return f"{count / GIB:.0f}"


def _duration(seconds: float) -> str:
    """'12 ms', '3 s', '40 min', '3 h'."""
    for unit, size in (("h", 3600.0), ("min", 60.0), ("s", 1.0)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{1000 * seconds:.0f} ms"
