"""`gambol priors`: which video models gambol can ask, and whether this machine can run them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gambol.priors.machine import Machine


@dataclass
class Priors:
    """List the video models that can drive a character: licence, needs, and whether this machine can run them.

    Memory is that of one step of distillation, weights and gradients included, in half precision, at the size and
    length the model was trained on; smaller and shorter videos need less. With offload, parts that do not work wait in
    main memory. A call is one guided estimate, that is two passes of the network.
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
    """Everything about every prior, in plain numbers: bytes, FLOP, pixels."""
    from gambol.priors.catalogue import PRIORS
    from gambol.priors.machine import judge

    rows = []
    for prior in PRIORS.values():
        verdict, video = judge(prior, machine), prior.format
        rows.append(
            {
                "name": prior.name,
                "licence": prior.licence,
                "hub": prior.hub,
                "parameters": prior.parameters,
                "frames": video.frames[0],
                "height": video.sizes[0][0],
                "width": video.sizes[0][1],
                "fps": video.fps,
                "memory": prior.memory(),
                "memory_offloaded": prior.memory(offload=True),
                "weights": prior.weights(),
                "call_flop": prior.costs.call_flop,
                "encode_flop": prior.costs.encode_flop,
                "runs": verdict.runs,
                "verdict": verdict.text,
                "folder": str(verdict.weights) if verdict.weights else None,
            }
        )
    return rows


def show(rows: list[dict[str, Any]], machine: Machine, console) -> None:
    """Two tables: what they are and need, and what this machine makes of that."""
    from rich.table import Table

    from gambol.priors.machine import GIB

    needs = Table("prior", "parameters", "frames", "size", "GPU memory", "offloaded", "a call", "licence", box=None)
    for column in needs.columns[1:7]:
        column.justify = "right"
    for row in rows:
        needs.add_row(
            row["name"],
            _counted(row["parameters"]),
            str(row["frames"]),
            f"{row['width']} x {row['height']}",
            f"{row['memory'] / GIB:.1f} GiB" if row["hub"] else "",
            f"{row['memory_offloaded'] / GIB:.1f} GiB" if row["hub"] else "",
            _work(row["call_flop"]),
            row["licence"],
        )
    here = Table("prior", "from", "on this machine", box=None)
    for row in rows:
        place = row["hub"] or "comes with gambol"
        here.add_row(row["name"], place + (" (fetched)" if row["folder"] else ""), row["verdict"])
    for table in (needs, here):
        table.pad_edge = False
        for column in table.columns[:1]:
            column.no_wrap = True
        console.print(table)
        console.print()
    gpu = f"{machine.gpu}, {machine.gpu_memory / GIB:.0f} GiB" if machine.gpu else "no CUDA GPU"
    memory = f"{machine.memory / GIB:.0f} GiB of main memory; " if machine.memory else ""
    console.print(f"this machine: {gpu}; {memory}CPU {machine.speed / 1e9:.0f} GFLOP/s", soft_wrap=True)


def _counted(parameters: int) -> str:
    return f"{parameters / 1e9:.1f} B" if parameters > 5e8 else f"{parameters / 1e6:.1f} M"


def _work(flop: int) -> str:
    return f"{flop / 1e12:,.0f} TFLOP" if flop > 1e12 else f"{flop / 1e9:.1f} GFLOP"
