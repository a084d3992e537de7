"""Results of a benchmark, each in a file of its own: it can be stopped at any moment, and goes on where it was.

What a result depends on is hashed into its name, so a result of other settings is never taken for one of these.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from gambol.errors import AssetError, GambolError
from gambol.files import write_file
from gambol.jsonable import jsonable, parse_json
from gambol.tensor_files import read_tensors, write_tensors
from gambol.text import safe_names

Figures = dict[str, Any]
"""What was measured, as JSON can hold it."""
Settings = Mapping[str, Any]
FAILED = "failed"
"""Key of why nothing could be measured, in words."""


class Results:
    """The results in a folder."""

    def __init__(self, folder: Path):
        self.folder = folder

    def figures(self, name: str, settings: Settings, make: Callable[[], Figures]) -> Figures:
        """Return what was measured under these settings, or measure it now. What cannot be measured is told by its
        entry FAILED, and not tried again."""
        path = self._path(name, settings, "json")
        if path.exists():
            return dict(parse_json(path.read_text()))
        try:
            found = make()
        except GambolError as error:
            found = {FAILED: str(error)}
        write_file(path, json.dumps(jsonable(found), indent=1).encode())
        return dict(jsonable(found))

    def tensors(
        self, name: str, settings: Settings, make: Callable[[], tuple[Mapping[str, Tensor], Figures]]
    ) -> tuple[Mapping[str, Tensor], Figures]:
        """Return tensors and figures that were made under these settings, or make them now."""
        path = self._path(name, settings, "safetensors")
        try:
            tensors, facts = read_tensors(path)
            return tensors, dict(parse_json(facts["figures"]))
        except (AssetError, KeyError):  # missing, or cut off in the middle
            made, figures = make()
        self.folder.mkdir(parents=True, exist_ok=True)
        write_tensors(path, made, {"figures": json.dumps(jsonable(figures))})
        return made, figures

    def _path(self, name: str, settings: Settings, suffix: str) -> Path:
        everything = json.dumps(jsonable(dict(settings)), sort_keys=True)
        digest = hashlib.sha256(everything.encode()).hexdigest()[:10]
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / f"{safe_names((name,))[0]}-{digest}.{suffix}"
