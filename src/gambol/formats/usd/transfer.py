"""A character as JSON and arrays, in which it leaves the process that read it; nothing is executed to put it together.

Objects are of a closed list of classes. Each is sent once, so that what was shared (materials, images) stays shared.
Arrays of one kind of number are sent as one: a thousand clips have a hundred thousand tracks.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from math import prod
from typing import Any

import numpy as np

from gambol.character.character import Character, Material, Mesh, Texture
from gambol.character.clip import Clip, Track
from gambol.character.skeleton import Pose, Skeleton

CLASSES = {kind.__name__: kind for kind in (Character, Clip, Material, Mesh, Pose, Skeleton, Texture, Track)}


def taken_apart(character: Character) -> tuple[list[Any], dict[str, np.ndarray]]:
    """JSON of all objects, parts before what they are parts of, and the arrays that these name."""
    sender = _Sender()
    sender.sent(character)
    return sender.objects, {dtype: np.concatenate(parts) for dtype, parts in sender.arrays.items()}


def put_together(objects: list[Any], arrays: dict[str, np.ndarray]) -> Character:
    """The inverse; ValueError if it is none of ours."""
    made: list[Any] = []

    def value(sent: Any) -> Any:
        if isinstance(sent, list):
            return tuple(value(each) for each in sent)
        if not isinstance(sent, dict):
            return sent
        ((kind, content),) = sent.items()
        if kind == "object":
            return made[content]
        if kind == "array":
            dtype, start, shape = content
            return arrays[dtype][start : start + prod(shape)].reshape(shape)
        if kind == "bytes":
            return value({"array": content}).tobytes()
        return {key: value(entry) for key, entry in content}

    try:
        for name, parts in objects:
            made.append(CLASSES[name](**{field: value(sent) for field, sent in parts.items()}))
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None
    if not made or not isinstance(made[-1], Character):
        raise ValueError("it is no character")
    return made[-1]


class _Sender:
    def __init__(self) -> None:
        self.objects: list[Any] = []
        self.arrays: dict[str, list[np.ndarray]] = {}
        """Flat, by the kind of number."""
        self._lengths: dict[str, int] = {}
        self._known: dict[int, int] = {}

    def sent(self, value: Any) -> Any:
        """The value as JSON, which names objects and arrays that were sent before."""
        if is_dataclass(value):
            if id(value) not in self._known:  # all are parts of one character, so none is let go of meanwhile
                parts = {field.name: self.sent(getattr(value, field.name)) for field in fields(value)}
                self.objects.append([type(value).__name__, parts])
                self._known[id(value)] = len(self.objects) - 1
            return {"object": self._known[id(value)]}
        if isinstance(value, np.ndarray):
            return {"array": self._add(value)}
        if isinstance(value, bytes):
            return {"bytes": self._add(np.frombuffer(value, np.uint8))}
        if isinstance(value, dict):
            return {"entries": [[key, self.sent(entry)] for key, entry in value.items()]}
        if isinstance(value, tuple | list):
            return [self.sent(each) for each in value]
        return value.item() if isinstance(value, np.generic) else value

    def _add(self, values: np.ndarray) -> list[Any]:
        """The kind of number, where it begins in the array of these, and the shape."""
        dtype = values.dtype.str
        start = self._lengths.get(dtype, 0)
        self._lengths[dtype] = start + values.size
        self.arrays.setdefault(dtype, []).append(values.ravel())
        return [dtype, start, list(values.shape)]
