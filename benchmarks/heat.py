"""Skin weights by heat: how fast, and how near to Blender's and to artists'.

    python benchmarks/heat.py [--blender-python PATH] [--assets FOLDER]

First a body of 50,000 vertices and 30 bones: seconds for each stage, weight transfer to 100,000 points, and Blender's
automatic weights on the same mesh in the same run. Then every rigged file of the folder: its weights are thrown away,
computed anew by us, with both methods, and by Blender, and compared with the artist's. A difference of weights is half
the sum of absolute differences over the bones, from 0 to 1, averaged over vertices. Posed vertices are compared over
the file's clips, at 8 times each, as a share of the height. Blender is left out without an interpreter that has `bpy`
(as for benchmarks/blender.py).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from gambol.character import heat
from gambol.character.skin import Bones, baked, find_bones, strongest
from gambol.character.surface import Surface
from gambol.character.welding import weld
from gambol.creatures.mesh import isosurface
from gambol.errors import GambolError
from gambol.formats import load

Array = np.ndarray
Capsule = tuple[tuple[float, float, float], tuple[float, float, float], float]
"""Head, tip, radius [m]."""

TIMES = 8
MOST_CLIPS = 4


def blobby_human(cell: float) -> tuple[Array, Array, Array, Array]:
    """One closed surface around 30 bones: the union of their capsules, on a grid. Vertices, faces, heads, tips."""
    middle: list[Capsule] = [
        ((0, 0.95, 0), (0, 1.1, 0), 0.14),
        ((0, 1.1, 0), (0, 1.25, 0), 0.13),
        ((0, 1.25, 0), (0, 1.45, 0), 0.15),
    ]
    middle += [((0, 1.45, 0), (0, 1.58, 0.01), 0.06), ((0, 1.58, 0.01), (0, 1.74, 0.03), 0.1)]
    middle += [((0, 1.6, 0.05), (0, 1.58, 0.1), 0.05)]
    left: list[Capsule] = [((0.05, 1.42, 0), (0.2, 1.43, 0), 0.08), ((0.2, 1.43, 0), (0.33, 1.2, 0), 0.055)]
    left += [((0.33, 1.2, 0), (0.37, 0.95, 0.03), 0.045), ((0.37, 0.95, 0.03), (0.38, 0.86, 0.05), 0.035)]
    left += [((0.38, 0.86, 0.05), (0.38, 0.77, 0.06), 0.025), ((0.37, 0.9, 0.05), (0.34, 0.83, 0.1), 0.02)]
    left += [((0.1, 0.93, 0), (0.11, 0.72, 0.005), 0.09), ((0.11, 0.72, 0.005), (0.11, 0.5, 0.01), 0.075)]
    left += [((0.11, 0.5, 0.01), (0.11, 0.1, -0.02), 0.055), ((0.11, 0.08, -0.02), (0.11, 0.04, 0.1), 0.045)]
    left += [((0.11, 0.04, 0.1), (0.11, 0.035, 0.17), 0.035), ((0.09, 1.55, 0.02), (0.13, 1.6, 0.0), 0.02)]
    right: list[Capsule] = [((-a[0], *a[1:]), (-b[0], *b[1:]), radius) for a, b, radius in left]
    bones = middle + left + right
    heads, tips = (np.array([bone[end] for bone in bones], float) for end in (0, 1))
    radii = np.array([bone[2] for bone in bones])
    low, high = np.minimum(heads, tips).min(0) - 0.2, np.maximum(heads, tips).max(0) + 0.2
    shape = np.ceil((high - low) / cell).astype(int)
    field = np.full(shape, 1.0)
    for head, tip, radius in zip(heads, tips, radii, strict=True):
        # Only in the box around the bone: elsewhere others are nearer, or all are far.
        first = ((np.minimum(head, tip) - 2 * radius - low) / cell).astype(int).clip(0)
        last = ((np.maximum(head, tip) + 2 * radius - low) / cell).astype(int) + 1
        box = tuple(slice(i, j) for i, j in zip(first, last, strict=True))
        grid = np.stack(
            np.meshgrid(*(np.arange(n)[part] for n, part in zip(shape, box, strict=True)), indexing="ij"), -1
        )
        points, way = grid * cell + low, tip - head
        share = np.clip((points - head) @ way / (way @ way), 0, 1)
        field[box] = np.minimum(field[box], np.linalg.norm(points - head - share[..., None] * way, axis=-1) - radius)
    vertices, faces = isosurface(field)
    return vertices * cell + low, faces, heads, tips


def stages(vertices: Array, faces: Array, heads: Array, tips: Array) -> Array:
    """Run once in parts, to say where the time goes, and once as users do."""
    clock = _Clock()
    skin = weld(vertices, faces)
    clock.lap("weld")
    distance = heat.distances(skin, heads, tips, "normals")
    clock.lap("distances")
    visible = heat.visible_bones(skin, heads, tips, distance, lambda done: None)
    clock.lap("visibility")
    heat._laplacian(skin)
    clock.lap("Laplacian")
    heat._equilibrium(skin, visible, distance, lambda left: None)
    clock.lap("Laplacian, factorisation, solutions")
    start = time.perf_counter()
    weights = heat.diffuse_heat(vertices, faces, heads, tips).weights
    total = time.perf_counter() - start
    print(f"heat weights, {len(vertices):,} vertices x {len(heads)} bones: {total:.2f} s ({clock})")
    return weights


class _Clock:
    def __init__(self) -> None:
        self._laps: list[str] = []
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self._laps.append(f"{name} {now - self._last:.2f}")
        self._last = now

    def __str__(self) -> str:
        return ", ".join(self._laps)


def transfer_speed() -> None:
    vertices, faces, *_ = blobby_human(0.0165)
    points = np.random.default_rng(0).choice(vertices, 100_000) + np.random.default_rng(1).normal(0, 0.02, (100_000, 3))
    Surface(vertices, faces).closest(points[:10])
    start = time.perf_counter()
    Surface(vertices, faces).closest(points)
    print(f"closest points, 100,000 on {len(faces):,} faces: {time.perf_counter() - start:.2f} s")


def difference(a: Array, b: Array) -> float:
    return float(np.abs(a - b).sum(1).mean() / 2)


def blender_weights(python: str, vertices: Array, faces: Array, heads: Array, tips: Array) -> tuple[Array, float]:
    """Weights as Blender leaves them, and the seconds its operator took. GambolError if it found none."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.npz"), Path(folder, "out.npz")
        np.savez(source, vertices=vertices, faces=faces, heads=heads, tips=tips)
        command = [python, str(Path(__file__).with_name("heat_blender_side.py")), str(source), str(target)]
        finished = subprocess.run(command, capture_output=True, text=True, timeout=1800)
        if finished.returncode:
            raise GambolError(f"Blender: {finished.stderr.strip().splitlines()[-1]}")
        with np.load(target) as found:
            weights, seconds = found["weights"], float(found["seconds"])
    if (weights.sum(1) <= 0).mean() > 0.5:
        raise GambolError("Blender: bone heat weighting failed to find a solution")
    return weights, seconds


class Artist:
    """A character's own weights on its own bones, and what its clips make of others."""

    def __init__(self, path: Path):
        whole = load(path)
        parts = tuple(mesh for mesh in whole.meshes if mesh.skinned and len(mesh.faces))
        if not parts:
            raise GambolError("has no skin")
        self.character = replace(whole, meshes=parts, source=None)
        self.bones: Bones = find_bones(
            self.character, np.zeros((0, 3)), np.zeros((0, 3), int)
        )  # it has a skin: no mesh is looked at
        meshes = baked(self.character)
        starts = np.cumsum([0, *(len(mesh.positions) for mesh in meshes)])
        self.vertices = np.concatenate([mesh.positions for mesh in meshes])
        self.faces = np.concatenate([mesh.faces + start for mesh, start in zip(meshes, starts, strict=False)])
        number = np.full(len(whole.skeleton), -1)
        number[self.bones.nodes] = np.arange(len(self.bones.nodes))
        bone = np.concatenate([number[whole.bind_nodes[mesh.binds]].ravel() for mesh in meshes])
        row = np.concatenate(
            [
                np.repeat(np.arange(start, start + len(m.positions)), m.weights.shape[1])
                for m, start in zip(meshes, starts, strict=False)
            ]
        )
        values = np.concatenate([mesh.weights.ravel() for mesh in meshes])
        self.weights = np.zeros((len(self.vertices), len(self.bones.nodes)))
        np.add.at(self.weights, (row[bone >= 0], bone[bone >= 0]), values[bone >= 0])
        self.height = float(np.ptp(self.vertices, axis=0).max())

    def posed(self, weights: Array) -> Array:
        """Vertices at some times of some clips, with these weights (frames, vertices, 3)."""
        homogeneous = np.concatenate([self.vertices, np.ones((len(self.vertices), 1))], axis=1)
        inverse = np.linalg.inv(self.bones.T_world_node[self.bones.nodes])
        frames = []
        for clip in list(self.character.clips.values())[:MOST_CLIPS]:
            times = np.linspace(clip.start, clip.end, TIMES)
            T_world = self.character.skeleton.world(clip.sample(self.character.skeleton, times))
            for T in T_world[:, self.bones.nodes] @ inverse:
                moved = (1 - weights.sum(1, keepdims=True)) * self.vertices  # without weight a vertex stays
                for bone, matrix in enumerate(T):
                    rows = weights[:, bone] > 0
                    moved[rows] += weights[rows, bone, None] * (homogeneous[rows] @ matrix[:3].T)
                frames.append(moved)
        return np.array(frames) if frames else np.zeros((0, *self.vertices.shape))

    def judge(self, weights: Array) -> tuple[float, float]:
        """Difference of weights, and of posed vertices as a share of the height."""
        apart = np.linalg.norm(self.posed(weights) - self.posed(self.weights), axis=-1) / self.height
        return difference(weights, self.weights), float(apart.mean()) if apart.size else np.nan


def limited(weights: Array) -> Array:
    """With four influences a vertex, as files have them; rows without any weight stay so."""
    weighted = weights.sum(1) > 0
    bones, kept = strongest(weights[weighted], 4)
    result = np.zeros_like(weights)
    for bone, share in zip(bones.T, kept.T, strict=True):  # one column a time: an empty place repeats the first bone
        result[np.flatnonzero(weighted), bone] += share
    return result


def normalised(weights: Array) -> Array:
    """Rows that sum to 1; vertices Blender left without weights stay without, and at their place."""
    total = weights.sum(1, keepdims=True)
    return weights / np.where(total > 0, total, 1.0)


def compare_with_artists(assets: Path, python: str | None) -> None:
    methods: tuple[heat.HeatMethod, ...] = ("normals", "paper")
    print(
        "\n| file | vertices | bones |"
        + "".join(f" {name}: weights | posed | seconds |" for name in (*methods, "Blender"))
    )
    print("|---" * 12 + "|")
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in (*methods, "Blender")}
    for path in sorted(path for suffix in ("glb", "gltf", "vrm") for path in assets.rglob(f"*.{suffix}")):
        try:
            artist = Artist(path)
            mesh = (artist.vertices, artist.faces, artist.bones.heads, artist.bones.tips)
            cells = [path.name, f"{len(artist.vertices):,}", str(len(mesh[2]))]
            judged: dict[str, tuple[float, float]] = {}
            for method in methods:
                start = time.perf_counter()
                weights = heat.diffuse_heat(*mesh, method=method).weights
                seconds = time.perf_counter() - start
                judged[method] = artist.judge(limited(weights))
                cells += _shown(*judged[method], seconds)
        except GambolError as error:
            print(f"{path.name}: {error}", file=sys.stderr)
            continue
        if python:
            try:
                blender, seconds = blender_weights(python, *_welded(artist))
                on_mesh = normalised(blender)[weld(artist.vertices, artist.faces).point_of]
                judged["Blender"] = artist.judge(limited(on_mesh))
                cells += _shown(*judged["Blender"], seconds)
            except (GambolError, subprocess.TimeoutExpired) as error:
                cells += [str(error)[:60], "", ""]
        if len(judged) == len(methods) + bool(python):
            for name, both in judged.items():
                found[name].append(both)
        print(f"| {' | '.join(cells)} |", flush=True)
    for name, rows in found.items():
        if rows:
            mean, posed = np.nanmean(np.array(rows), axis=0)
            nearer = sum(mine[0] < other[0] for mine, other in zip(rows, found["paper"], strict=True))
            print(
                f"{name}: weights {mean:.3f}, posed {100 * posed:.2f} %, nearer than the paper's in {nearer}",
                end=" ",
            )
            print(f"of the {len(rows)} files where all have an answer")


def _welded(artist: Artist) -> tuple[Array, Array, Array, Array]:
    """Blender's user would merge by distance first; without it most files have no solution at all."""
    skin = weld(artist.vertices, artist.faces)
    return skin.points, skin.faces, artist.bones.heads, artist.bones.tips


def _shown(weights: float, posed: float, seconds: float) -> list[str]:
    return [f"{weights:.3f}", f"{100 * posed:.2f} %", f"{seconds:.2f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assets", type=Path, help="folder of rigged characters (default: GAMBOL_ASSETS)")
    parser.add_argument("--blender-python", help="interpreter that has bpy (default: GAMBOL_BLENDER_PYTHON)")
    arguments = parser.parse_args()
    python = arguments.blender_python or os.environ.get("GAMBOL_BLENDER_PYTHON")
    mesh = blobby_human(0.0075)
    heat.diffuse_heat(*blobby_human(0.03))  # compiles the kernels, once a machine
    ours = stages(*mesh)
    transfer_speed()
    if python:
        theirs, seconds = blender_weights(python, *mesh)
        print(f"Blender's automatic weights on the same mesh: {seconds:.2f} s;", end=" ")
        print(f"mean difference of weights {difference(ours, normalised(theirs)):.4f}")
    assets = arguments.assets or (Path(os.environ["GAMBOL_ASSETS"]) if "GAMBOL_ASSETS" in os.environ else None)
    if assets:
        compare_with_artists(assets, python)


if __name__ == "__main__":
    main()
