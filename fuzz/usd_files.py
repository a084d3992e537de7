"""Small USD files that between them use every feature the reader knows; the fuzzer breaks them."""

from __future__ import annotations

import io
import re
import tempfile
import zipfile
from pathlib import Path
from random import Random

from mutate import GROWTH, break_bytes
from samples import PIXEL, Sample

NUMBERS = (
    *("nan", "inf", "-inf", "1e999", "1e308", "-1e300", "1e13", "1e11", "1e-30", "0", "-1", "1", "2", "3", "99", "255"),
    *("4294967296", "-9223372036854775809", "0.5"),
)
WORDS = (
    *("None", "[]", "()", "(1, 2)", "[1, 2, 3]", "@@", "@/etc/passwd@", "@../x.usda@", "@leg.usda@", "</>", "</Leg>"),
    *("{", "}", "def", "over", "class", "rel", "uniform", "prepend", "references", "inherits", "payload", "variantSet"),
    *("Skeleton", "SkelRoot", "SkelAnimation", "BlendShape", "Mesh", "Xform", "GeomSubset", "PointInstancer", "Sphere"),
    *("int[]", "float[]", "token[]", "point3f[]", "matrix4d", "matrix4d[]", "quatf[]", "half3[]", "double", "string"),
)
QUOTED = (
    *("", "vertex", "constant", "faceVarying", "uniform", "leftHanded", "dualQuaternion", "invisible", "catmullClark"),
    *("hip", "hip/knee", "hip//knee", "/", ".", "knee", "thick", "Z", "Y", "UsdUVTexture", "displayColor", "x" * 3000),
)
NUMBER, QUOTE = re.compile(r"(?<![\w/])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"), re.compile(r'"[^"]*"')
ARCS = (
    "references = </Leg>",
    "inherits = </Leg/Tube>",
    "payload = @./leg.usda@</Leg>",
    "references = @./part.usda@",
    "specializes = </Leg/Skeleton>",
    "instanceable = true\nreferences = </Leg>",
)
MANY = (2, 40, 3000)


def own_usd_samples() -> list[Sample]:
    """A skinned tube with blend shapes, materials and two clips: as text, as a crate, packed, and in two files."""
    from formats.usd_stages import add_animation, add_material, add_mesh, add_skeleton, bind, new_stage
    from pxr import Usd, UsdGeom, UsdShade, UsdSkel

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stage = new_stage(folder / "leg.usda", "Z")
        skeleton, mesh = add_skeleton(stage), add_mesh(stage)
        add_animation(stage, skeleton, name="run")
        animation = add_animation(stage, skeleton)
        bind(mesh, skeleton)
        binding = UsdSkel.BindingAPI(mesh)
        shape = UsdSkel.BlendShape.Define(stage, "/Leg/Tube/thick")
        shape.CreateOffsetsAttr([(0.1, 0.0, 0.1)] * 4)
        shape.CreatePointIndicesAttr([4, 5, 6, 7])
        between = shape.CreateInbetween("half")
        between.SetWeight(0.5)
        between.SetOffsets([(0.2, 0.0, 0.0)] * 4)
        binding.CreateBlendShapesAttr(["thick"])
        binding.CreateBlendShapeTargetsRel().SetTargets([shape.GetPath()])
        animation.CreateBlendShapesAttr(["thick"])
        for code, weight in ((1, 0.0), (12, 1.0)):
            animation.CreateBlendShapeWeightsAttr().Set([weight], code)
        mesh.CreateDisplayColorPrimvar("uniform").Set([(0.5, 0.5, 0.5)] * 13)
        api = UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim())
        api.Bind(add_material(stage, "/Leg/Skin", (1, 1, 1), "./skin.png"))
        UsdShade.MaterialBindingAPI.Apply(api.CreateMaterialBindSubset("top", [12]).GetPrim()).Bind(
            add_material(stage, "/Leg/Red", (1, 0, 0))
        )
        UsdGeom.Xformable(add_mesh(stage, "/Leg/Loose")).AddTranslateOp().Set((0, 1, 0), 3)
        stage.DefinePrim("/Leg/Part").GetReferences().AddReference("./part.usda")
        stage.GetRootLayer().Save()
        part = Usd.Stage.CreateNew(str(folder / "part.usda"))
        part.SetDefaultPrim(add_mesh(part, "/Part").GetPrim())
        part.GetRootLayer().Save()
        stage.GetRootLayer().Export(str(folder / "leg.usdc"))
        with zipfile.ZipFile(folder / "leg.usdz", "w") as package:
            for each in ("leg.usdc", "part.usda"):
                package.write(folder / each, each)
            package.writestr("skin.png", PIXEL)
        beside = {"part.usda": (folder / "part.usda").read_bytes(), "skin.png": PIXEL}
        found = [Sample(each, {each: (folder / each).read_bytes(), **beside}) for each in ("leg.usda", "leg.usdc")]
        packed = Sample("leg.usdz", {"leg.usdz": (folder / "leg.usdz").read_bytes()})
        return [*found, found[0], packed]


def mutate_usd(sample: Sample, rng: Random) -> Sample:
    """The sample with one to six things wrong; the same generator state gives the same result."""
    name, data = sample.name, sample.files[sample.name]
    if name.endswith(".usdz") and rng.random() < 0.8:  # packed again, so that its check sums are right
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            files = {each: package.read(each) for each in package.namelist()}
        first = next(iter(files))
        files[first] = _broken(rng, files[first], first)
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as package:
            for each, content in files.items():
                package.writestr(zipfile.ZipInfo(each), content)
        return Sample(name, {**sample.files, name: stream.getvalue()})
    return Sample(name, {**sample.files, name: _broken(rng, data, name)})


def _broken(rng: Random, data: bytes, name: str) -> bytes:
    largest = len(data) + GROWTH
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        if rng.random() < 0.05:
            changed = break_bytes(rng, data)
        else:
            changed = _break_text(rng, data) if name.endswith(".usda") else _flip_bytes(rng, data)
        data = changed if len(changed) <= largest else data
    return data


def _flip_bytes(rng: Random, data: bytes) -> bytes:
    """A few bytes anywhere: most of a crate are numbers and indices."""
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        found[rng.randrange(len(found))] = rng.choice((0, 1, 2, 127, 128, 255, rng.randrange(256)))
    return bytes(found)


def _break_text(rng: Random, data: bytes) -> bytes:
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    rng.choice(CHANGES)(rng, lines)
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def _replace_word(rng: Random, lines: list[str]) -> None:
    at = rng.randrange(len(lines))
    words = lines[at].split(" ")
    words[rng.randrange(len(words))] = rng.choice(WORDS)
    lines[at] = " ".join(words)


def _replace_one(rng: Random, lines: list[str], pattern: re.Pattern[str], choices: tuple[str, ...]) -> None:
    """One match of a pattern, by something that may well be read."""
    places = [i for i, line in enumerate(lines) if pattern.search(line)]
    if places:
        at = rng.choice(places)
        match = rng.choice(list(pattern.finditer(lines[at])))
        lines[at] = lines[at][: match.start()] + rng.choice(choices) + lines[at][match.end() :]


def _replace_number(rng: Random, lines: list[str]) -> None:
    _replace_one(rng, lines, NUMBER, NUMBERS)


def _replace_quoted(rng: Random, lines: list[str]) -> None:
    _replace_one(rng, lines, QUOTE, tuple(f'"{each}"' for each in QUOTED))


def _drop_statement(rng: Random, lines: list[str]) -> None:
    places = [i for i, line in enumerate(lines) if " = " in line and line.rstrip()[-1] not in "({["]
    if places:
        del lines[rng.choice(places)]


def _drop_number(rng: Random, lines: list[str]) -> None:
    """One entry of a list, which is then shorter than others."""
    _replace_one(rng, lines, re.compile(r"(?<=[\[\]\w)]), [\w.-]+(?=[\],])"), ("",))


def _drop_lines(rng: Random, lines: list[str]) -> None:
    at = rng.randrange(len(lines))
    del lines[at : at + rng.choice((1, 1, 2, 5))]
    lines[:] = lines or [""]


def _repeat_lines(rng: Random, lines: list[str]) -> None:
    at, count = rng.randrange(len(lines)), rng.choice((1, 1, 2, 5, 20))
    lines[at:at] = lines[at : at + count] * rng.choice((1, 1, 2, 50))


def _swap_lines(rng: Random, lines: list[str]) -> None:
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]


def _cut_short(rng: Random, lines: list[str]) -> None:
    del lines[max(rng.randrange(len(lines)), 1) :]


def _add_prims(rng: Random, lines: list[str]) -> None:
    """Prims that are composed of others, side by side or one in another."""
    count, arc, kind = rng.choice(MANY), rng.choice(ARCS), rng.choice(("", "Xform", "SkelRoot", "Mesh", "Skeleton"))
    head = [f'def {kind} "more{{}}" (\n{arc}\n)', "{{"]
    if rng.random() < 0.5:
        lines += [line.format(number) for number in range(min(count, 500)) for line in (head[0], head[1], "}}")]
    else:
        lines += [line.format(number) for number in range(count) for line in (head[0], head[1])] + ["}"] * count


CHANGES = (
    *(_replace_number, _replace_number, _replace_number, _replace_number, _replace_quoted, _replace_quoted),
    *(_drop_statement, _drop_statement, _drop_statement, _drop_number, _drop_number, _replace_word, _repeat_lines),
    *(_drop_lines, _swap_lines, _cut_short, _add_prims, _add_prims),
)
