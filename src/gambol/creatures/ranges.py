"""Parameters with ranges: checked when a plan is made, drawn from when a random creature is."""

from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from gambol.errors import GambolError

PlanType = TypeVar("PlanType")


class Range(NamedTuple):
    """The values a parameter may take, both ends included."""

    low: float
    high: float


def ranges_of(kind: type) -> dict[str, Range]:
    """The range of each numeric parameter of a plan, by name."""
    return {name: range_ for name, (_, range_) in _numbers(kind).items()}


@cache
def _numbers(kind: type) -> dict[str, tuple[type, Range]]:
    """Type, int or float, and range of each numeric parameter."""
    hints = get_type_hints(kind, include_extras=True)
    found = {}
    for name, hint in hints.items():
        if get_origin(hint) is Annotated:
            number, *extras = get_args(hint)
            found[name] = (number, next(extra for extra in extras if isinstance(extra, Range)))
    return found


def check_ranges(plan: Any) -> None:
    """Refuse a plan with a parameter outside its range."""
    for name, (low, high) in ranges_of(type(plan)).items():
        value = getattr(plan, name)
        if not low <= value <= high:
            kind = type(plan).__name__.lower()
            raise GambolError(f"{kind}: {name} must be from {low:g} to {high:g}, got {value:g}")


def crossed(first: PlanType, second: PlanType, generator: np.random.Generator, wobble: float = 0.08) -> PlanType:
    """A child of two plans of one kind: numbers between theirs and a little beyond, choices of either.

    Drawing every parameter over its whole range on its own would give a mouse a giraffe's neck; between two real
    animals proportions stay plausible.
    """
    share = generator.uniform()
    numbers = _numbers(type(first))  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for field in fields(first):  # type: ignore[arg-type]
        a, b = getattr(first, field.name), getattr(second, field.name)
        turn, coin = generator.uniform(-wobble, wobble), generator.uniform()
        if field.name not in numbers:
            nested = is_dataclass(a) and bool(ranges_of(type(a)))
            values[field.name] = crossed(a, b, generator, wobble) if nested else (a if coin < share else b)
            continue
        number, (low, high) = numbers[field.name]
        mixed = b + (a - b) * share
        if number is int:
            # Chains of bones may have one more or one fewer; legs, eyes and humps are what they are.
            extra = 12 * turn if field.name.endswith("_bones") else 0.0
            values[field.name] = int(np.clip(round(mixed + extra), low, high))
        else:
            values[field.name] = float(np.clip(mixed * (1 + turn), low, high))
    return replace(first, **values)  # type: ignore[type-var]
