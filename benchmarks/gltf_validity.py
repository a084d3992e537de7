"""Khronos' glTF-Validator over what gambol writes: the zoo, outputs of commands, and copies of other people's files.

    make validator                                             # once: needs npm
    python benchmarks/gltf_validity.py [--assets FOLDER] [--files N] [--only zoo|commands|assets]

Each file of a folder is written twice: as a copy with one clip more, which may have no issue that the file itself does
not have, and anew from what gambol has read of it, which may have no error at all. Printed are the kinds of issues, the
number of files that have them, and one example; the exit code is 1 if there is an error of ours.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gambol.character.anatomy import analyze
from gambol.cli import main as gambol_main
from gambol.creatures.gaits import gait
from gambol.creatures.load import load
from gambol.creatures.species import SPECIES
from gambol.errors import GambolError
from gambol.formats import save
from gambol.motion.flex import flex

VALIDATOR = Path(__file__).parents[1] / "validator"
SEVERITIES = ("error", "warning", "info", "hint")
LARGEST = 8_000_000
"""[bytes] Files above are left out: the validator is slow."""
COMMANDS = (
    "create fox -o fox.glb",
    "create horse -o horse.glb",
    "animate fox.glb walk --preset draft -o run",
    "clip run/clip.glb --loop --in-place -o loop.glb",
    "clip run/clip.glb --root-motion --fps 24 -o moved.glb",
    "clip run/clip.glb -o walk.bvh --name walk",
    "clip walk.bvh -o captured.glb",
    "retarget walk.bvh horse.glb -o retargeted.glb",
    "flex horse.glb -o flexed.glb",
    "rig cow.obj -o rigged.glb",
    "skin cow.obj --skeleton cow.glb -o bound.glb",
    "pose fox.glb --reach front_foot.L=0.06,0.2,0.3 -o pose.glb",
    "tween fox.glb --keys 0:rest 15:sample:2 30:rest -o tween.glb",
    "track run/clip.glb --iterations 2 -o tracked.glb",
)
"""Each writes into one folder, where `cow.obj` and `cow.glb` are."""


@dataclass(frozen=True)
class Issue:
    """What the validator says about a file."""

    severity: str
    code: str
    message: str
    where: str

    @property
    def is_error(self) -> bool:
        return self.severity == "error"


def has_validator() -> bool:
    """Whether node is here and the validator is installed."""
    return shutil.which("node") is not None and (VALIDATOR / "node_modules" / "gltf-validator").is_dir()


def validate(paths: Iterable[Path]) -> list[list[Issue]]:
    """The issues of each file."""
    listed = [str(Path(path).resolve()) for path in paths]
    command = ["node", str(VALIDATOR / "validate.mjs")]
    done = subprocess.run(command, input="\n".join(listed), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return [[_issue(message) for message in json.loads(line)] for line in done.stdout.splitlines()]


def _issue(message: dict[str, Any]) -> Issue:
    where = message.get("pointer") or str(message.get("offset", ""))
    return Issue(SEVERITIES[message["severity"]], message["code"], message["message"], where)


def new_issues(before: list[Issue], after: list[Issue]) -> list[Issue]:
    """Issues of the second file that the first does not have; where they stand may have changed."""
    known = Counter((issue.code, issue.message) for issue in before)
    found = []
    for issue in after:
        known[issue.code, issue.message] -= 1
        if known[issue.code, issue.message] < 0:
            found.append(issue)
    return found


def write_zoo(folder: Path) -> Iterator[Path]:
    """All species with a gait."""
    for species in SPECIES:
        character = load(species)
        path = folder / f"zoo {species}.glb"
        save(character, path, gait(character, analyze(character), "walk"))
        yield path


def write_by_commands(folder: Path) -> Iterator[Path]:
    """What commands write."""
    cow = load("cow")
    save(cow, folder / "cow.glb")
    write_obj(cow, folder / "cow.obj")
    for line in COMMANDS:
        print(f"  gambol {line}", file=sys.stderr, flush=True)
        with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
            gambol_main(line.split())
    yield from sorted(folder.rglob("*.glb"))


def write_obj(character, path: Path) -> None:
    """The mesh alone."""
    lines, first = [], 1
    for mesh, points in zip(character.meshes, character.vertices(), strict=True):
        lines += [f"v {x} {y} {z}" for x, y, z in points]
        lines += ["f {} {} {}".format(*(face + first)) for face in mesh.faces]
        first += len(points)
    path.write_text("\n".join(lines))


def write_copies(paths: Iterable[Path], folder: Path) -> Iterator[tuple[Path, Path, Path]]:
    """Each file, its copy with one clip more, and the same character written anew."""
    for number, path in enumerate(paths):
        try:
            character = load(path)
            clip = flex(character, analyze(character))
        except GambolError as error:
            print(f"  {path.name} is left out: {error}", file=sys.stderr)
            continue
        copy, fresh = folder / str(number) / path.name, folder / str(number) / f"fresh {path.stem}.glb"
        copy.parent.mkdir()
        save(character, copy, clip)
        save(replace(character, source=None), fresh, clip)
        yield path, copy, fresh


def chosen(folder: Path, most: int) -> list[Path]:
    """Files of a folder, of every subfolder in turn."""
    groups: dict[Path, list[Path]] = {}
    for path in sorted([*folder.rglob("*.glb"), *folder.rglob("*.gltf")]):
        if path.stat().st_size < LARGEST:
            groups.setdefault(path.parent, []).append(path)
    found: list[Path] = []
    while groups and len(found) < most:
        for parent in list(groups):
            found.append(groups[parent].pop(0))
            if not groups[parent]:
                del groups[parent]
    return found[:most]


def show(title: str, files: dict[str, list[Issue]]) -> bool:
    """Print kinds of issues; whether any is an error."""
    print(f"\n{title}: {len(files)} files")
    kinds: dict[tuple[str, str], list[tuple[str, Issue]]] = {}
    for name, issues in files.items():
        for issue in issues:
            kinds.setdefault((issue.severity, issue.code), []).append((name, issue))
    for (severity, code), found in sorted(kinds.items(), key=lambda kind: SEVERITIES.index(kind[0][0])):
        name, first = found[0]
        count = len({name for name, _ in found})
        print(f"  {severity}: {code}, {len(found)} times in {count} files; {name} {first.where}: {first.message}")
    return any(issue.is_error for issues in files.values() for issue in issues)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assets", type=Path, help="a folder of .glb and .gltf files")
    parser.add_argument("--files", type=int, default=60, help="how many of its files are tried")
    parser.add_argument("--only", choices=("zoo", "commands", "assets"), help="one of the three parts")
    arguments = parser.parse_args()
    if not has_validator():
        sys.exit("the validator is not installed: make validator")
    failed = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part, write in (("zoo", write_zoo), ("commands", write_by_commands)):
            if arguments.only in (None, part):
                (folder / part).mkdir()
                paths = list(write(folder / part))
                names = [str(path.relative_to(folder / part)) for path in paths]
                failed |= show(part, dict(zip(names, validate(paths), strict=True)))
        if arguments.assets and arguments.only in (None, "assets"):
            copies = list(write_copies(chosen(arguments.assets, arguments.files), folder))
            names = [str(path.relative_to(arguments.assets)) for path, _, _ in copies]
            before, after, fresh = (validate(paths) for paths in zip(*copies, strict=True))
            show("as they came", dict(zip(names, before, strict=True)))
            added = [new_issues(old, new) for old, new in zip(before, after, strict=True)]
            failed |= show("new in copies with one clip more", dict(zip(names, added, strict=True)))
            failed |= show("written anew", dict(zip(names, fresh, strict=True)))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
