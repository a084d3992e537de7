"""What is installed is all that is needed, and what is not needed is not imported."""

import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

from character.creatures import dog

import gambol

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


def imported(code: str) -> set[str]:
    """Names of all modules that a fresh Python has imported after running this code."""
    code += "\nimport sys; print('imported', *sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return set(shown.splitlines()[-1].split()[1:])


def test_importing_gambol_imports_nothing_heavy():
    assert not {"numpy", "torch", "scipy", "PIL"} & imported("import gambol")


def test_looking_at_a_character_does_not_load_what_animates_it(tmp_path):
    gambol.save(dog(), tmp_path / "dog.glb")
    modules = imported(f"from gambol.cli import main; main(['info', {str(tmp_path / 'dog.glb')!r}])")
    assert "gambol.character.anatomy" in modules
    assert not {"gambol.distillation", "gambol.priors", "gambol.creatures.zoo", "torch"} & modules
