"""Meshes without a skeleton to break: .obj with its materials, .ply as text and in both byte orders, .stl as text and
binary, .off; and a beast of boxes with a file of joints, to be rigged."""

from __future__ import annotations

import json
import struct
from itertools import product
from random import Random

import bvh
from mutate import break_bytes
from samples import PIXEL, Sample

HOSTILE = (
    *("", "0", "-1", "1", "4", "99", "-99", "nan", "inf", "1e400", "1e-400", "2147483648", "-2147483649", "4294967295"),
    *("x", "1//", "/", "1/1/1", "-1/-1/-1", "1//1", "v", "vt", "vn", "f", "usemtl", "mtllib", "newmtl", "Kd", "d"),
    *("map_Kd", "../../a.png", "\\", "#", "\x1b[2J", "ply", "ascii", "binary_little_endian", "binary_big_endian"),
    *("element", "property", "list", "vertex", "face", "uchar", "int", "float", "double", "char", "red"),
    *(
        "vertex_indices",
        "end_header",
        "OFF",
        "COFF",
        "solid",
        "facet",
        "loop",
        "endfacet",
        "parent",
        "position",
        "null",
    ),
)
"""Words to put anywhere."""
VALUES = ("0", "1", "-1", "0.3", "0.5", "-0.25", "1e-9", "-1e-9", "1e-30", "7", "100", "-1e6", "1e9", "1e12", "nan")
"""Coordinates to put anywhere."""
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


Box = tuple[tuple[float, float, float], tuple[float, float, float]]
BEAST: tuple[Box, ...] = (
    ((-0.2, 0.5, -0.6), (0.2, 0.9, 0.5)),
    *(((x - 0.08, 0, z - 0.08), (x + 0.08, 0.6, z + 0.08)) for x, z in product((-0.15, 0.15), (-0.5, 0.4))),
    ((-0.12, 0.8, 0.4), (0.12, 1.2, 0.8)),
    ((-0.04, 0.7, -1.1), (0.04, 0.8, -0.5)),
)
"""Trunk, legs, head and tail of a quadruped."""
JOINTS = {
    "neck_1": [0, 0.8, 0.4],
    "head": [0, 1.0, 0.5],
    "hind_foot.L": [0.15, 0.1, -0.5],
    "tail_1": [0, 0.75, -0.6],
}
SKELETON = {
    "root": {"parent": None, "position": [0, 0.7, 0]},
    "front": {"parent": "root", "position": [0, 0.7, 0.4]},
    "leg.L": {"parent": "front", "position": [0.15, 0.3, 0.4]},
    "leg.R": {"parent": "front", "position": [-0.15, 0.3, 0.4]},
}


def own_plain_samples() -> list[Sample]:
    """An .obj with what belongs to it, .ply in three encodings and of Gaussians, .stl as text and binary, .off."""
    files = {"a.obj": OBJ.encode(), "looks.mtl": MTL.encode(), "skin.png": PIXEL}
    samples = [Sample("a.obj", files)]
    for name, order in (("ascii", ""), ("binary_little_endian", "<"), ("binary_big_endian", ">")):
        samples.append(Sample("a.ply", {"a.ply": _ply(name, order)}))
    names = ["x", "y", "z", *(f"f_dc_{i}" for i in range(3)), "opacity", *(f"scale_{i}" for i in range(3))]
    names += [f"rot_{i}" for i in range(4)]
    header = ["ply", "format binary_little_endian 1.0", "element vertex 5", *(f"property float {n}" for n in names)]
    body = struct.pack("<14f", *range(14)) * 5
    samples.append(Sample("a.ply", {"a.ply": "\n".join([*header, "end_header", ""]).encode() + body}))
    triangles = [[POINTS[corner] for corner in polygon] for polygon in POLYGONS if len(polygon) == 3]
    return [*samples, *_stl(triangles), Sample("a.off", {"a.off": _off(POINTS, POLYGONS)})]


def own_beast_samples() -> list[Sample]:
    """A quadruped of boxes to be rigged: as .off with joints by hand or a whole skeleton, and as .stl."""
    corners: list[tuple[float, ...]] = []
    faces: list[tuple[int, ...]] = []
    for low, high in BEAST:
        start = len(corners)
        corners += [(x, y, z) for x, y, z in product(*zip(low, high, strict=True))]
        for quad in ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)):
            faces += [tuple(start + quad[i] for i in turn) for turn in ((0, 1, 2), (0, 2, 3))]
    off = _off(corners, faces)
    samples = [Sample("a.off", {"a.off": off})]
    for joints in (JOINTS, SKELETON):
        samples.append(Sample("a.off", {"a.off": off, "joints.json": json.dumps(joints, indent=1).encode()}))
    return [*samples, *_stl([[corners[corner] for corner in face] for face in faces])]


def _stl(triangles: list) -> list[Sample]:
    """The same triangles as text and binary."""
    loops = [" ".join(["vertex", *map(str, point)]) for triangle in triangles for point in triangle]
    lines = ["solid a"]
    for start in range(0, len(loops), 3):
        lines += ["facet normal 0 0 1", "outer loop", *loops[start : start + 3], "endloop", "endfacet"]
    records = [struct.pack("<12fH", 0, 0, 1, *(value for point in each for value in point), 0) for each in triangles]
    binary = b"binary".ljust(80) + struct.pack("<I", len(triangles)) + b"".join(records)
    text = "\n".join([*lines, "endsolid a"]).encode()
    return [Sample("a.stl", {"a.stl": text}), Sample("a.stl", {"a.stl": binary})]


def _off(points: list, polygons: list) -> bytes:
    rows = [*points, *((len(polygon), *polygon) for polygon in polygons)]
    head = ["OFF", f"{len(points)} {len(polygons)} 0"]
    return "\n".join([*head, *(" ".join(map(str, row)) for row in rows)]).encode()


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


def mutate_beast(sample: Sample, rng: Random) -> Sample:
    """A mesh that can be read all the same, mostly: other coordinates, and faces between other corners."""
    name = rng.choice(sorted(sample.files))
    if rng.random() < 0.2 or sample.files[name].startswith(b"binary"):
        return mutate_plain(sample, rng)
    lines = sample.files[name].decode("latin-1").split("\n")
    for _ in range(rng.choice((1, 5, 20, 100))):
        at = rng.randrange(2, len(lines))
        words = lines[at].split(" ")
        numbers = [place for place, word in enumerate(words) if word.strip("-,]").replace(".", "", 1).isdigit()]
        if len(words) == 4 and words[0] == "3":
            words[rng.randrange(1, 4)] = str(rng.randrange(8 * len(BEAST)))
        elif numbers:
            place = rng.choice(numbers)
            words[place] = rng.choice(VALUES) + words[place][len(words[place].rstrip(",]")) :]
        lines[at] = " ".join(words)
    return Sample(sample.name, {**sample.files, name: "\n".join(lines).encode("latin-1")})


def _replace_word(rng: Random, lines: list[str]) -> None:
    at = rng.randrange(len(lines))
    words = lines[at].split(" ")
    words[rng.randrange(len(words))] = rng.choice(HOSTILE)
    lines[at] = " ".join(words)
