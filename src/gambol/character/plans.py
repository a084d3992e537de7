"""Body plans as the user names them. Imports nothing heavy: the command line needs it for its help."""

from typing import Literal

Plan = Literal[
    "biped",
    "winged-biped",
    "quadruped",
    "winged-quadruped",
    "six-legs",
    "winged-six-legs",
    "eight-legs",
    "no-legs",
    "winged",
]
PlanChoice = Literal[
    "auto",
    "biped",
    "winged-biped",
    "quadruped",
    "winged-quadruped",
    "six-legs",
    "winged-six-legs",
    "eight-legs",
    "no-legs",
    "winged",
]
"""Value of the plan option on the command line; auto: found by `analyze`."""

LEG_PAIRS: dict[Plan, int] = {
    "biped": 1,
    "winged-biped": 1,
    "quadruped": 2,
    "winged-quadruped": 2,
    "six-legs": 3,
    "winged-six-legs": 3,
    "eight-legs": 4,
    "no-legs": 0,
    "winged": 0,
}
"""Pairs of legs of each plan."""


def is_winged(plan: Plan) -> bool:
    return plan.startswith("winged")
