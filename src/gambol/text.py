"""Text from outside: names, prompts and options may hold what cannot be written, or what commands a terminal."""

import re

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
