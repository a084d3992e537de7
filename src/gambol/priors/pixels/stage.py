"""Where a stick figure is seen."""

from __future__ import annotations

from typing import Literal, get_args

Stage = Literal["none", "ground", "shadow"]
"""In place on an even background; travelling over a checkerboard (`ground`); the same with the figure's shadow on
it."""
STAGES: tuple[Stage, ...] = get_args(Stage)
