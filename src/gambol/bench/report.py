"""REPORT.md: the sections of all topics that were run in a folder, with the machine, versions and seeds."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from gambol.files import write_file
from gambol.priors.machine import this_machine

REPORT = "REPORT.md"
PACKAGES = ("gambol", "torch", "warp-lang", "numpy", "scipy", "diffusers", "mujoco")
"""Packages whose versions are told, if they are installed."""


def write_section(folder: Path, topic: str, title: str, command: str, lines: Sequence[str], seconds: float) -> Path:
    """Write the section of a topic, and the report of all topics that the folder holds; return its path."""
    head = [f"## {title}", "", f"`{command}` · last start {_minutes(seconds)} · {time.strftime('%Y-%m-%d')}", ""]
    head += [_machine(), ""]
    (folder / topic).mkdir(parents=True, exist_ok=True)
    write_file(folder / topic / "SECTION.md", "\n".join([*head, *lines, ""]).encode())
    sections = sorted(folder.glob("*/SECTION.md"), key=lambda path: path.parent.name != "paper")
    texts = [path.read_text() for path in sections]
    intro = [
        "# Benchmarks",
        "",
        "Written by `gambol bench`. What a run has measured is kept beside this file; the same",
    ]
    intro += ["command goes on where it was stopped.", ""]
    report = folder / REPORT
    write_file(report, "\n".join([*intro, *texts]).encode())
    return report


def _machine() -> str:
    """'Linux on x86_64, 2 cores, 24 GB, no GPU; gambol 0.1.0, torch 2.13.0'"""
    machine = this_machine()
    found = []
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package).split('+')[0]}")
        except PackageNotFoundError:
            continue
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    gpu = machine.gpu or "no GPU"
    where = f"{platform.system()} on {platform.machine()}, {cores} cores, {machine.memory:.0f} GB, {gpu}"
    return f"{where}; Python {platform.python_version()}, {', '.join(found)}."


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
