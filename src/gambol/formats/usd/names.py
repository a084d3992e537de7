"""Names that USD allows: identifiers, once each among their siblings."""

from __future__ import annotations

from collections.abc import Iterable

from pxr import Tf


class Names:
    """Gives out identifiers, each once."""

    def __init__(self, taken: Iterable[str] = ()):
        self._taken = set(taken)

    def take(self, name: str, default: str = "part") -> str:
        """An identifier as near to the name as USD allows, with a number behind it if it is taken."""
        plain = Tf.MakeValidIdentifier(name) if name.strip() else default
        found, number = plain, 1
        while found in self._taken:
            number += 1
            found = f"{plain}_{number}"
        self._taken.add(found)
        return found
