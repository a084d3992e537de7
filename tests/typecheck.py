"""Annotations are checked while tests run: types by beartype, shapes by jaxtyping.

Modules without arrays are left out, since a check takes as long as their small functions. So are those with Warp
kernels: Warp reads the source of its kernels, and the hook rewrites functions.
$GAMBOL_TYPECHECK: packages to check, as in 'motion,quality'; all of them by default, none if empty.
"""

import os
from pathlib import Path

import numpy as np
from beartype import BeartypeConf, FrozenDict, beartype
from jaxtyping import install_import_hook

SOURCE = Path(__file__).parents[1] / "src"

check = beartype(
    conf=BeartypeConf(
        hint_overrides=FrozenDict(
            {
                int: int | np.integer,
                float: float | int | np.floating | np.integer,
                bool: bool | np.bool_,
            }
        )
    )
)
"""Numbers of numpy are numbers, and integers do where a float is wanted, as mypy has it."""


def checked_modules() -> list[str]:
    """Names of all modules with annotated arrays and without kernels, of the packages that are asked for."""
    wanted = os.environ.get("GAMBOL_TYPECHECK", "all")
    found = []
    for path in sorted((SOURCE / "gambol").rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        chosen = wanted == "all" or parts[1] in wanted.split(",")
        text = path.read_text()
        if chosen and path.stem != "__init__" and "jaxtyping" in text and "@wp." not in text:
            found.append(".".join(parts))
    return found


def install() -> None:
    """Call before anything of gambol is imported."""
    modules = checked_modules()
    if modules:
        install_import_hook(modules, f"{__name__}.check")
