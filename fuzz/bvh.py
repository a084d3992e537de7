"""Small .bvh files that between them use every feature the BVH reader knows, and ways to break them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

from mutate import GROWTH, break_bytes
from samples import Sample

ARM = """HIERARCHY
ROOT shoulder
{
  OFFSET 0 1 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT elbow
  {
    OFFSET 2 0 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    End Site
    {
      OFFSET 1 0 0
    }
  }
}
MOTION
Frames: 3
Frame Time: 0.5
0 1 0  0 0 0  0 0 0
0 1 0  90 0 0  90 0 0
5 6 7  90 0 90  0 90 0
"""
ODD = """\ufeffHierarchy\r
ROOT hip bone {\r
OFFSET 0 1e2 0\r
CHANNELS 3 Xrotation zrotation YROTATION\r
JOINT left:leg { OFFSET 1 -5 0
CHANNELS 6 Yposition Xposition Zposition Yrotation Xrotation Zrotation
END SITE { OFFSET 0 0 0 } }
JOINT { OFFSET -1 -5 0
End Site { OFFSET 0 -1 0 } }
JOINT stiff { OFFSET -1 5 0
CHANNELS 0
End Site { OFFSET 0 1 0 } } }
ROOT prop { OFFSET 5 5 5
CHANNELS 1 Yposition
}
motion
Frames:\t2
Frame Time:\t.0083333
0 0 0  1 2 3 4 5 6  7

10 20 30  1 2 3 400 500 -600  8
"""
STILL = "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nEnd Site\n{\nOFFSET 0 1 0\n}\n}\nMOTION\nFrames: 0\nFrame Time: 0\n"
HOSTILE = (
    *("NaN", "nan", "inf", "-inf", "1e999", "1e308", "-1e300", "1e-320", "1e13", "0", "-0", "-1", "1", "3", "6", "255"),
    *("99999999999999999999", "1" * 5000, "0x10", "1_0", "1,5", "٣", "½", "\x00", "\x0c", "\u2028", "é", "x" * 3000),
    *("{", "}", "{{", "}}", "{}", "HIERARCHY", "ROOT", "JOINT", "End", "Site", "OFFSET", "CHANNELS", "MOTION"),
    *("Frames:", "Frame", "Time:", "Xposition", "Yrotation", "Wrotation", "Xscale"),
)
DEEP = 3000
"""Joints within joints."""


def own_bvh_samples() -> list[Sample]:
    """The above, and a walk as gambol writes it."""
    import tempfile

    from gambol import analyze, export, load
    from gambol.creatures.gaits import gait

    fox = load("fox")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "fox.bvh")
        export(fox, gait(fox, analyze(fox), "walk"), path, fps=10)
        texts = {"arm": ARM.encode(), "odd": ODD.encode(), "still": STILL.encode(), "fox": path.read_bytes()}
    return [Sample(f"{name}.bvh", {f"{name}.bvh": text}) for name, text in texts.items()]


def real_bvh_samples(folder: Path | None) -> list[Sample]:
    paths = sorted(folder.rglob("*.bvh")) if folder else []
    return [Sample(path.name, {path.name: path.read_bytes()}) for path in paths]


def mutate_bvh(sample: Sample, rng: Random) -> Sample:
    """The sample with one to six things wrong; the same generator state gives the same result."""
    data = sample.files[sample.name]
    largest = len(data) + GROWTH
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        lines = data.decode("utf-8", "surrogateescape").split("\n")
        change = rng.choice(CHANGES)
        if change is None:
            changed = break_bytes(rng, data)
        else:
            change(rng, lines)
            changed = "\n".join(lines).encode("utf-8", "surrogateescape")
        data = changed if len(changed) <= largest else data
    return Sample(sample.name, {sample.name: data})


def _place(rng: Random, lines: list[str]) -> int:
    """Of a line: in the hierarchy as often as in the frames, which are many more."""
    start = next((i for i, line in enumerate(lines) if line.strip().upper() == "MOTION"), len(lines))
    return rng.randrange(min(start + 4, len(lines))) if rng.random() < 0.6 else rng.randrange(len(lines))


def _replace_word(rng: Random, lines: list[str]) -> None:
    at = _place(rng, lines)
    words = lines[at].split(" ")
    words[rng.randrange(len(words))] = rng.choice(HOSTILE)
    lines[at] = " ".join(words)


def _replace_number(rng: Random, lines: list[str]) -> None:
    """By one that may well be read."""
    at = _place(rng, lines)
    words = lines[at].split(" ")
    numbers = [i for i, word in enumerate(words) if word.replace(".", "").replace("-", "").isdigit()]
    if numbers:
        words[rng.choice(numbers)] = rng.choice(("0", "-1", "1e-9", "1e6", "1e11", "-180", "90", "720", "1e-30"))
    lines[at] = " ".join(words)


def _drop_word(rng: Random, lines: list[str]) -> None:
    at = _place(rng, lines)
    words = lines[at].split(" ")
    del words[rng.randrange(len(words))]
    lines[at] = " ".join(words)


def _insert_word(rng: Random, lines: list[str]) -> None:
    at = _place(rng, lines)
    words = lines[at].split(" ")
    words.insert(rng.randrange(len(words) + 1), rng.choice(HOSTILE))
    lines[at] = " ".join(words)


def _drop_lines(rng: Random, lines: list[str]) -> None:
    at = _place(rng, lines)
    del lines[at : at + rng.choice((1, 1, 2, 5))]
    lines[:] = lines or [""]


def _repeat_lines(rng: Random, lines: list[str]) -> None:
    at, count = _place(rng, lines), rng.choice((1, 1, 2, 5, 20))
    lines[at:at] = lines[at : at + count] * rng.choice((1, 1, 2, 50, 2000))


def _swap_lines(rng: Random, lines: list[str]) -> None:
    a, b = _place(rng, lines), _place(rng, lines)
    lines[a], lines[b] = lines[b], lines[a]


def _cut_short(rng: Random, lines: list[str]) -> None:
    del lines[max(_place(rng, lines), 1) :]


def _join_lines(rng: Random, lines: list[str]) -> None:
    at = _place(rng, lines)
    lines[at : at + 2] = [rng.choice((" ", "", "\r", "\t", "\x0b")).join(lines[at : at + 2])]


def _nest(rng: Random, lines: list[str]) -> None:
    """Joints within joints within joints, with or without channels."""
    openings = [i for i, line in enumerate(lines) if line.strip().upper().startswith(("END SITE", "JOINT"))]
    if not openings:
        return
    at, depth = rng.choice(openings), rng.choice((2, 40, DEEP))
    channels = ["CHANNELS 3 Zrotation Xrotation Yrotation"] if rng.random() < 0.3 else []
    lines[at:at] = ["JOINT deep", "{", "OFFSET 0 1 0", *channels] * depth
    ends = [i for i, line in enumerate(lines) if line.strip() == "}"]
    if ends and rng.random() < 0.9:
        lines[ends[-1] : ends[-1]] = ["}"] * depth


CHANGES: tuple[Callable[[Random, list[str]], None] | None, ...] = (
    *(_replace_word, _replace_word, _replace_number, _replace_number, _replace_number, _replace_number),
    *(_drop_word, _insert_word, _drop_lines, _repeat_lines, _swap_lines, _cut_short, _join_lines, _nest, _nest, None),
)
"""None: bytes are broken."""
