"""Meshes without a skeleton to break: .obj with its materials, and .ply as text and in both byte orders."""

from __future__ import annotations

import struct
from random import Random

import bvh
from mutate import break_bytes
from samples import PIXEL, Sample

HOSTILE = (
    *("", "0", "-1", "1", "4", "99", "-99", "nan", "inf", "1e400", "1e-400", "2147483648", "-2147483649", "4294967295"),
    *("x", "1//", "/", "1/1/1", "-1/-1/-1", "1//1", "v", "vt", "vn", "f", "usemtl", "mtllib", "newmtl", "Kd", "d"),
    *("map_Kd", "../../a.png", "\\", "#", "\x1b[2J", "ply", "ascii", "binary_little_endian", "binary_big_endian"),
    *("element", "property", "list", "vertex", "face", "uchar", "int", "float", "double", "char", "red"),
    *("vertex_indices", "end_header"),
)
"""Words to put anywhere."""
OBJ = """mtllib looks.mtl
v 0 0 0 1 0.5 0
v 1 0 0 0 0 0
v 1 1 0 0 0 1
v 0 1 0 0.1 0.2 0.3
vt 0 0
vt 1 0.25
vn 0 0 1
usemtl red
f 1/1/1 2/2/1 3/1/1 4/1/1   # four corners
f -4//1 -2//1 -1//1
usemtl painted
f 1/1 2/2 4/1
"""
MTL = "newmtl red\nKd 1 0 0\nd 0.5\n\nnewmtl painted\nKd 0 0 0\nmap_Kd -s 1 1 1 skin.png\n"
POINTS = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]
POLYGONS = [(0, 1, 2), (0, 2, 3), (0, 1, 2, 3)]


def own_plain_samples() -> list[Sample]:
    """An .obj with what belongs to it, a .ply in three encodings, and one of Gaussians."""
    files = {"a.obj": OBJ.encode(), "looks.mtl": MTL.encode(), "skin.png": PIXEL}
    samples = [Sample("a.obj", files)]
    for name, order in (("ascii", ""), ("binary_little_endian", "<"), ("binary_big_endian", ">")):
        samples.append(Sample("a.ply", {"a.ply": _ply(name, order)}))
    names = ["x", "y", "z", *(f"f_dc_{i}" for i in range(3)), "opacity", *(f"scale_{i}" for i in range(3))]
    names += [f"rot_{i}" for i in range(4)]
    header = ["ply", "format binary_little_endian 1.0", "element vertex 5", *(f"property float {n}" for n in names)]
    body = struct.pack("<14f", *range(14)) * 5
    samples.append(Sample("a.ply", {"a.ply": "\n".join([*header, "end_header", ""]).encode() + body}))
    return samples


def _ply(name: str, order: str) -> bytes:
    columns = [*(f"property float {c}" for c in "xyz"), *(f"property uchar {c}" for c in ("red", "green", "blue"))]
    face = [f"element face {len(POLYGONS)}", "property list uchar int vertex_indices"]
    header = "\n".join(["ply", f"format {name} 1.0", "element vertex 4", *columns, *face, "end_header", ""]).encode()
    rows = [(*point, 255, 128, 0) for point in POINTS]
    if not order:
        return (
            header + "\n".join(" ".join(map(str, row)) for row in [*rows, *((len(p), *p) for p in POLYGONS)]).encode()
        )
    body = b"".join(struct.pack(order + "3f3B", *row) for row in rows)
    return header + body + b"".join(struct.pack(f"{order}B{len(p)}i", len(p), *p) for p in POLYGONS)


def mutate_plain(sample: Sample, rng: Random) -> Sample:
    """The sample with one to six things wrong in one of its files."""
    name = rng.choice([name for name in sorted(sample.files) if not name.endswith(".png")])
    data = sample.files[name]
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        lines = data.decode("latin-1").split("\n")
        change = rng.choice((_replace_word, _replace_word, bvh._drop_word, bvh._drop_lines, bvh._repeat_lines, None))
        if change is None:
            data = break_bytes(rng, data)
        else:
            change(rng, lines)
            data = "\n".join(lines).encode("latin-1", "replace")
    return Sample(sample.name, {**sample.files, name: data[:1_000_000]})


def _replace_word(rng: Random, lines: list[str]) -> None:
    at = rng.randrange(len(lines))
    words = lines[at].split(" ")
    words[rng.randrange(len(words))] = rng.choice(HOSTILE)
    lines[at] = " ".join(words)
