"""What is installed is all that is needed."""

import tomllib
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_files_that_are_no_code_are_installed():
    """By their patterns in pyproject.toml: without one, only a checkout has them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    patterns = settings["tool"]["setuptools"]["package-data"]["gambol"]
    package = ROOT / "src/gambol"
    data = [path.relative_to(package).as_posix() for path in package.rglob("*") if path.is_file()]
    data = [name for name in data if not name.endswith((".py", ".pyc"))]
    assert len(data) >= 4
    assert [name for name in data if not any(fnmatch(name, pattern) for pattern in patterns)] == []
