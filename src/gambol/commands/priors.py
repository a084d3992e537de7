"""`gambol priors`: which priors gambol can use, and whether this machine can run them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from gambol.priors.machine import Machine


@dataclass
class PriorsCommand:
    """List the models that can drive a character: licence, needs, and whether this machine can run them.

    tracks, the default, samples how the parts of a body move; the others are video models. Memory is that of one step
    of distillation, weights and gradients included, in half precision, at the size and length the model was trained on;
    smaller and shorter videos need less. With offload, components that are idle wait in main memory. A call is one
    guided estimate, which is two passes of the network.
    """

    json: bool = False
    """Print JSON for other programs instead of tables."""

    def run(self) -> None:
        import json

        from rich.console import Console

        from gambol.priors.machine import this_machine

        machine = this_machine()
        rows = describe(machine)
        if self.json:
            print(json.dumps(rows, indent=2))
        else:
            show(rows, machine, Console(emoji=False, highlight=False))


def describe(machine: Machine) -> list[dict[str, Any]]:
    """One row for each prior, in plain numbers: GiB, TFLOP, pixels, millions of parameters."""
    from gambol.priors.catalogue import PRIORS
    from gambol.priors.machine import feasibility_of

    rows = []
    for prior in PRIORS.values():
        verdict, (frames, width, height) = feasibility_of(prior, machine), prior.video or (None, None, None)
        rows.append(
            {
                "name": prior.name,
                "licence": prior.licence,
                "hub": prior.hub,
                "parameters_millions": prior.parameters,
                "frames": frames,
                "height": height,
                "width": width,
                "memory_gib": prior.memory,
                "memory_offloaded_gib": prior.offloaded,
                "weights_gib": prior.weights,
                "call_tflop": prior.call,
                "runs": verdict.runs,
                "verdict": verdict.text,
                "folder": str(verdict.weights) if verdict.weights else None,
            }
        )
    return rows


def show(rows: list[dict[str, Any]], machine: Machine, console: Console) -> None:
    """Print three tables that fit 80 columns: what each prior needs, where it is from, and whether it runs here."""
    from rich.text import Text

    from gambol.priors.machine import INSTALL

    needs = _table("prior", "parameters", "video", "GPU GiB", "offloaded", "TFLOP a call")
    origin = _table("prior", "from", "licence (see its card)")
    here = _table("prior", "on this machine")
    for column in needs.columns[1:]:
        column.justify = "right"
    for row in rows:
        name, big = row["name"], row["hub"] is not None
        video = f"{row['frames']} x {row['width']}x{row['height']}" if row["frames"] else "none"
        memory = [f"{row[key]:.1f}" if big else "" for key in ("memory_gib", "memory_offloaded_gib")]
        work, count = row["call_tflop"], _counted(row["parameters_millions"])
        needs.add_row(name, count, video, *memory, f"{work:,.0f}" if big else f"{work:.3f}")
        origin.add_row(name, row["hub"] or "comes with gambol", row["licence"])
        here.add_row(name, Text(row["verdict"] + (f"; weights in {row['folder']}" if row["folder"] else "")))
    for table in (needs, origin, here):
        console.print(table)
        console.print()
    gpu = f"{machine.gpu}, {machine.gpu_memory:.0f} GiB" if machine.gpu else "no CUDA GPU"
    main_memory = f", {machine.memory:.0f} GiB of main memory" if machine.memory else ""
    _say(console, f"This machine: {gpu}{main_memory}.")
    if machine.missing:
        _say(console, f"Large video models need {', '.join(machine.missing)}: {INSTALL}")


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, soft_wrap=True)


def _table(*columns: str) -> Table:
    from rich.table import Table

    table = Table(*columns, box=None, pad_edge=False)
    table.columns[0].no_wrap = True
    return table


def _counted(parameters: float) -> str:
    return f"{parameters / 1e3:.1f} B" if parameters > 500 else f"{parameters:.1f} M"
