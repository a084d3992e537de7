"""USD in and out, checked by usd-core's own skinning.

    python benchmarks/usd_skinning.py FILES_OR_ANIMALS...

A .usd, .usda, .usdc or .usdz file is read by gambol and baked by UsdSkel.BakeSkinning; any other character is written
as .usdc with its first clip (an animal of the zoo: its walk), baked, and read again. Compared are the paths of all
vertices through all keys of the clip: the largest distance of a path of ours from the nearest of USD's, relative to the
longest side of the character. `out` is USD's skinning of the written file against the character itself, `in` gambol's
of a file against USD's. The last columns are what UsdValidation finds, errors and warnings.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
from gambol.character.anatomy import analyze
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.creatures.gaits import gait
from gambol.creatures.load import load
from gambol.formats import save
from gambol.formats.usd.border import Border, columns
from pxr import Usd, UsdGeom, UsdSkel, UsdValidation
from scipy.spatial import cKDTree

FRAMES = 12
USD = (".usd", ".usda", ".usdc", ".usdz")


def paths_of(character: Character, clip: Clip | None, times: np.ndarray) -> np.ndarray:
    """Vertices that faces use, over time [vertices, frames, 3]."""
    pose = character.skeleton.rest if clip is None else clip.sample(character.skeleton, times)
    found = []
    for mesh, points in zip(character.meshes, character.vertices(pose), strict=True):
        points = np.broadcast_to(points, (len(times), *points.shape[-2:]))
        found.append(points[:, np.unique(mesh.faces)])
    return np.concatenate(found, axis=1).swapaxes(0, 1)


def paths_by_usd(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Some of the times at which USD bakes the skin [s], and the same by USD, in our coordinates. Of points that have
    keys of their own, only the first is used."""
    stage = Usd.Stage.Open(Usd.Stage.Open(str(path)).Flatten())
    moving = {prim.GetPath() for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh) and
              UsdGeom.Mesh(prim).GetPointsAttr().ValueMightBeTimeVarying()}  # fmt: skip
    assert UsdSkel.BakeSkinning(stage.Traverse())
    border, found = Border.of(stage), []
    codes: set[float] = set()
    for prim in stage.Traverse():
        if prim.IsA(UsdGeom.Mesh) and prim.GetPath() not in moving:
            codes.update(UsdGeom.Mesh(prim).GetPointsAttr().GetTimeSamples())
            codes.update(UsdGeom.Xformable(prim).GetTimeSamples())
    times = np.array(sorted(codes) or [0.0]) / border.rate
    times = times[np.unique(np.linspace(0, len(times) - 1, FRAMES).round().astype(int))]
    for prim in stage.Traverse():
        image = UsdGeom.Imageable(prim)
        if not prim.IsA(UsdGeom.Mesh) or image.ComputeVisibility() == "invisible" or image.ComputePurpose() == "guide":
            continue
        mesh, frames = UsdGeom.Mesh(prim), []
        used = np.unique(np.array(mesh.GetFaceVertexIndicesAttr().Get(Usd.TimeCode.EarliestTime())))
        for time in times:
            code = Usd.TimeCode(time * border.rate)
            world = columns(UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(code))
            first = prim.GetPath() in moving  # of keys of points only the first is read
            points = np.array(mesh.GetPointsAttr().Get(Usd.TimeCode.EarliestTime() if first else code), np.float64)
            frames.append(border.points(points @ world[:3, :3].T + world[:3, 3])[used])
        found.append(np.stack(frames, axis=1))
    return times, np.concatenate(found or [np.zeros((0, len(times), 3))])


def distance(ours: np.ndarray, theirs: np.ndarray) -> str:
    """Largest distance at any time of a path from the nearest of the others', both ways, relative to the size."""
    if not len(theirs):
        return "none skinned"
    size = np.ptp(theirs.reshape(-1, 3), axis=0).max()
    worst = 0.0
    for each, others in ((theirs, ours), (ours, theirs)):
        _, nearest = cKDTree(others.reshape(len(others), -1)).query(each.reshape(len(each), -1))
        worst = max(worst, float(np.linalg.norm(each - others[nearest], axis=-1).max() / size))
    return f"{worst:.1e}"


def issues(path: Path) -> Counter[str]:
    """What USD's validators say."""
    context = UsdValidation.ValidationContext(UsdValidation.ValidationRegistry().GetOrLoadAllValidators())
    found: Counter[str] = Counter()
    for error in context.Validate(Usd.Stage.Open(str(path))):
        found[f"{error.GetType()} {error.GetName()}: {error.GetMessage()}"] += 1
    return found


def row_of(name: str, folder: Path) -> list[str]:
    path = Path(name)
    outward = ""
    if path.suffix.lower() in USD:
        times, theirs = paths_by_usd(path)
    else:
        given = load(name)
        first = (next(iter(given.clips.values()), None) or gait(given, analyze(given), "walk")).from_zero()
        given = replace(given, clips={first.name: first}, source=None)
        path = folder / f"{given.name}.usdc"
        save(given, path)
        times, theirs = paths_by_usd(path)
        outward = distance(paths_of(given, first, times), theirs)
    character = load(path)
    clip = next(iter(character.clips.values()), None)
    inward = distance(paths_of(character, clip, times), theirs)
    said = issues(path)
    for line in said:
        print(f"  {path.name}: {line}", file=sys.stderr)
    errors = sum(count for line, count in said.items() if "Error" in line.split()[0])
    facts = (len(character.skeleton), sum(len(mesh.positions) for mesh in character.meshes))
    return [path.name, clip.name if clip else "", *map(str, facts), outward, inward, str(errors),
            str(sum(said.values()) - errors)]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["fox"], metavar="FILES_OR_ANIMALS")
    columns_ = ("file", "clip", "nodes", "vertices", "out", "in", "errors", "warnings")
    print("| " + " | ".join(columns_) + " |", "|---" * len(columns_) + "|", sep="\n")
    with tempfile.TemporaryDirectory() as name:
        for given in parser.parse_args().names:
            print("| " + " | ".join(row_of(given, Path(name))) + " |", flush=True)


if __name__ == "__main__":
    main()
