"""docs/engines.md says what the table of engines holds."""

import re
from pathlib import Path

import pytest

from gambol.engines.targets import ENGINES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "engines.md").read_text()
ROWS = dict(re.findall(r"^\| `(\w+)` \|(.+)$", PAGE, re.MULTILINE))


@pytest.mark.parametrize("engine", ENGINES)
def test_every_row_is_there(engine):
    row = ENGINES[engine]
    assert (f"{row.fps:g} a second" in ROWS[engine]) if row.fps else "a second" not in ROWS[engine]
    assert (f"`walk{row.loop_ending}`" in ROWS[engine]) == bool(row.loop_ending)
    assert ("root bone" in ROWS[engine]) == row.root_bone
    assert ("16 bits" in ROWS[engine]) == row.compact


def test_no_row_is_made_up():
    assert set(ROWS) == set(ENGINES)


def test_its_links_resolve():
    for link in re.findall(r"\]\(([^)#:]+)\)", PAGE):
        assert (ROOT / "docs" / link).exists(), link
