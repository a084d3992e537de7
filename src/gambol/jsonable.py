"""Values as JSON can hold them, and back again with every type and range checked."""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from math import isfinite
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from gambol.ranges import Range, field_types
from gambol.text import encodable

LONGEST_TEXT = 10_000
"""Characters of a text in one of our own files."""
LARGEST = 1e30
"""Size of a number whose type states no range."""


def jsonable(value: Any) -> Any:
    """The same value without dataclasses, tuples and arrays; numbers that are not finite become None."""
    if is_dataclass(value) and not isinstance(value, type):
        return jsonable(asdict(value))
    if isinstance(value, dict):
        return {key: jsonable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(inner) for inner in value]
    if hasattr(value, "tolist"):
        return jsonable(value.tolist())
    return None if isinstance(value, float) and not isfinite(value) else value


def parse_json(text: str | bytes) -> Any:
    """What a JSON text holds; ValueError if it is not JSON or is nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def from_json(kind: Any, value: Any, where: str) -> Any:
    """A value of a type from what JSON keeps of it; ValueError or GambolError, naming `where`, if it does not fit.

    kind: a dataclass, a tuple, a dict by names, a union with None, a Literal, a plain type, or one of these with a
    `Range`, in any combination. Numbers stay as they are: 100 does not become 100.0, so that what is written again is
    the same.
    """
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        found = from_json(inner[0], value, where)
        for limit in inner[1:]:
            if isinstance(limit, Range):
                limit.check(where, found)
        return found
    if origin in (Union, types.UnionType):
        if value is None and types.NoneType in inner:
            return None
        (kind,) = (choice for choice in inner if choice is not types.NoneType)
        return from_json(kind, value, where)
    if is_dataclass(kind):
        return _dataclass_from_json(kind, value, where)
    if origin is tuple:
        return _tuple_from_json(inner, value, where)
    if origin is dict:
        if not isinstance(value, Mapping):
            raise ValueError(f"{where} must be an object, got {_short(value)}")
        return {name: from_json(inner[1], each, f"{where}.{name}") for name, each in value.items()}
    if origin is Literal:
        if value not in inner:
            raise ValueError(f"{where} must be one of {', '.join(map(str, inner))}, got {_short(value)}")
        return value
    return _plain_from_json(kind, value, where)


def _plain_from_json(kind: type, value: Any, where: str) -> Any:
    fits = {float: (int, float), int: (int,), str: (str,), bool: (bool,)}[kind]
    if not isinstance(value, fits) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{where} must be {kind.__name__}, got {_short(value)}")
    if isinstance(value, int | float) and not -LARGEST <= value <= LARGEST:
        raise ValueError(f"{where} must be a number up to {LARGEST:g}, got {_short(value)}")
    if isinstance(value, str) and (len(value) > LONGEST_TEXT or encodable(value) != value):
        raise ValueError(f"{where} must be text of up to {LONGEST_TEXT:,} Unicode characters")
    return value


def _dataclass_from_json(kind: Any, value: Any, where: str) -> Any:
    hints, names = field_types(kind), {part.name for part in fields(kind)}
    if not isinstance(value, dict) or set(value) != names:
        differing = sorted(names.symmetric_difference(value)) if isinstance(value, dict) else [_short(value)]
        raise ValueError(f"{where} does not have the fields that this version of gambol knows ({', '.join(differing)})")
    return kind(**{name: from_json(hints[name], value[name], f"{where}.{name}") for name in value})


def _tuple_from_json(inner: tuple, value: Any, where: str) -> tuple:
    if not isinstance(value, list):
        raise ValueError(f"{where} must be a list, got {_short(value)}")
    kinds = [inner[0]] * len(value) if inner[-1] is Ellipsis else list(inner)
    if len(kinds) != len(value):
        raise ValueError(f"{where} must have {len(kinds)} parts, got {len(value)}")
    return tuple(from_json(kinds[number], part, f"{where}[{number}]") for number, part in enumerate(value))


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
