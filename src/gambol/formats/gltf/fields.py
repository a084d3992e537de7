"""Checked access to the JSON of a file we do not trust."""

from __future__ import annotations

import math
import reprlib
from typing import Any

from gambol.errors import AssetError
from gambol.text import encodable, printable


class Fields:
    """A JSON object: every read is checked for its type and range, and errors say where the value stands."""

    __slots__ = ("raw", "where")  # a file can hold millions of objects

    def __init__(self, value: Any, where: str):
        if not isinstance(value, dict):
            raise AssetError(f"{where} must be a JSON object, got {_shown(value)}")
        self.raw: dict[str, Any] = value
        self.where = where

    def __contains__(self, key: str) -> bool:
        return key in self.raw

    def integer(self, key: str, default: int | None = None, low: int = 0, high: int = 2**53) -> int:
        """A whole number in [low, high]; required unless there is a default."""
        value = self.raw.get(key, default)
        if isinstance(value, float) and value.is_integer():  # 3.0 is a legal way to write 3
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise AssetError(f"{self.where}.{key} must be a whole number from {low} to {high}, got {_shown(value)}")
        return value

    def index(self, key: str, length: int, of: str) -> int | None:
        """An index into a list of the file, None if the key is absent."""
        return self.required_index(key, length, of) if key in self.raw else None

    def required_index(self, key: str, length: int, of: str) -> int:
        """An index into a list of the file."""
        if key not in self.raw:
            raise AssetError(f"{self.where}.{key} is missing")
        value = self.raw[key]
        if not _is_index(value, length):
            raise AssetError(f"{self.where}.{key} must be an index into the {length} {of}, got {_shown(value)}")
        return value

    def indices(self, key: str, length: int, of: str) -> list[int]:
        """A list of indices into a list of the file; empty if the key is absent."""
        found = self._list(key)
        for value in found:
            if not _is_index(value, length):
                raise AssetError(f"{self.where}.{key} must hold indices into the {length} {of}, got {_shown(value)}")
        return found

    def number(self, key: str, default: float) -> float:
        return self._finite(key, self.raw.get(key, default))

    def numbers(self, key: str, count: int | None, most: int | None = None) -> list[float] | None:
        """A list of finite numbers, `count` long unless None, the first `most` of them; None if the key is absent."""
        if key not in self.raw:
            return None
        found = self._list(key)[:most]
        if count is not None and len(found) != count:
            raise AssetError(f"{self.where}.{key} must hold {count} numbers, got {len(found)}")
        return [self._finite(key, value) for value in found]

    def text(self, key: str, default: str = "") -> str:
        value = self.raw.get(key, default)
        if not isinstance(value, str):
            raise AssetError(f"{self.where}.{key} must be text, got {_shown(value)}")
        return encodable(value)

    def name(self, default: str = "") -> str:
        """The object's name as one printable line: names are shown on terminals and written to other files."""
        return printable(self.text("name")) or default

    def flag(self, key: str) -> bool:
        return self.raw.get(key, False) is True

    def child(self, key: str) -> Fields:
        """An inner object; an empty one if the key is absent."""
        return Fields(self.raw.get(key, {}), f"{self.where}.{key}")

    def children(self, key: str) -> list[Fields]:
        """A list of inner objects; empty if the key is absent."""
        return [Fields(value, f"{self.where}.{key}[{i}]") for i, value in enumerate(self._list(key))]

    def _list(self, key: str) -> list[Any]:
        value = self.raw.get(key, [])
        if not isinstance(value, list):
            raise AssetError(f"{self.where}.{key} must be a list, got {_shown(value)}")
        return value

    def _finite(self, key: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e300 or math.isnan(value):
            raise AssetError(f"{self.where}.{key} must hold finite numbers, got {_shown(value)}")
        return float(value)


def _is_index(value: Any, length: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < length


def _shown(value: Any) -> str:
    """A value for an error message: short, on one line."""
    text = _SHORT.repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


_SHORT = reprlib.Repr()
"""Stops early: the full text of a hostile value can be as long as the file."""
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = 60
