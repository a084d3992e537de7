"""Text from outside: names, prompts and options may hold what cannot be written, or what commands a terminal."""

import re
from collections.abc import Container

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SPACES = "\t\n\v\f\r\x85\u2028\u2029"


def encodable(text: str) -> str:
    """The same text, with U+FFFD in place of lone surrogates, which UTF-8 cannot hold.

    JSON writes them as escapes ("\\ud800"), and Python decodes bytes of the command line that are not UTF-8 to them.
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def printable(text: str) -> str:
    """One line that is safe to print and to write: encodable, and without control characters.

    Line breaks and tabs become spaces; other control characters, with which a name could clear or recolour a terminal,
    become U+FFFD.
    """
    return _CONTROLS.sub(lambda found: " " if found[0] in _SPACES else "\ufffd", encodable(text))


def unique_name(name: str, taken: Container[str | None], reached: dict[str, int] | None = None) -> str:
    """The name itself, or with a number behind it as Blender would write: walk, walk.001, walk.002.

    `reached` remembers the last number of each name from call to call: thousands of clips can share one.
    """
    reached = {} if reached is None else reached
    number = reached.get(name, 0)
    while (candidate := f"{name}.{number:03d}" if number else name) in taken:
        number += 1
    reached[name] = number
    return candidate


def safe_names(names: tuple[str, ...]) -> list[str]:
    """Unique names of letters, digits and . _ - only: blanks and brackets end a name, colons are namespaces in Maya."""
    found: dict[str, None] = {}
    reached: dict[str, int] = {}
    for name in names:
        kept = "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in name)
        found[unique_name(kept if kept.strip("_") else "joint", found, reached)] = None
    return list(found)
