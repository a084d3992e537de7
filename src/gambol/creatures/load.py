"""Characters by the name of a file or of an animal of the zoo."""

from __future__ import annotations

import os
from pathlib import Path

from gambol.character.character import Character
from gambol.errors import AssetError, GambolError


def load(path: str | Path) -> Character:
    """Read a character from a file, as `gambol.formats.load`, or make one of the zoo: 'fox', 'a small brown horse'."""
    from gambol import formats

    text = str(path)
    if text in ("", "."):
        raise AssetError(f"{text!r} names no character: give a .glb, .vrm, .fbx or .usd file, or an animal: 'fox'")
    plain = not any(mark and mark in text for mark in (os.sep, os.altsep))
    missing = not os.path.exists(path) or (plain and os.path.isdir(path))  # a folder 'fox' does not hide the animal
    if missing and Path(path).suffix.lower() not in formats.READERS:
        if not plain:
            raise AssetError(f"{path} does not exist")
        if _looks_like_words(text):
            return _create_at_rest(text)
    return formats.load(path)


def _looks_like_words(path: str) -> bool:
    """Whether what is no file may be a sentence: 'fox' and 'a T. rex', but not 'fox.glb' or 'my fox.blend'."""
    from gambol.creatures.words import species_of

    ending = Path(path).suffix.removeprefix(".")
    return not ending or " " in ending or species_of(ending.lower()) is not None


def _create_at_rest(sentence: str) -> Character:
    """Return the animal without a motion; a sentence with unknown words or an action is refused."""
    from gambol.creatures.words import parse_request
    from gambol.creatures.zoo import creature_for

    try:
        request = parse_request(sentence)
    except GambolError as error:
        raise GambolError(f"there is no file {sentence}, and {error}") from None
    if request.ignored:
        unknown = ", ".join(f"'{word}'" for word in request.ignored)
        raise GambolError(f"there is no file {sentence}, and {unknown} is not understood about a {request.species}")
    if request.action:
        raise GambolError(
            f"there is no file {sentence}, and a {request.species} is loaded without a motion: "
            f"leave out '{request.action}', or use `gambol create`, which writes the motion too"
        )
    return creature_for(request).character()
