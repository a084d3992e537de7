"""FBX files to break: one as text, with all that makes transforms of FBX hard, and what gambol itself writes."""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path
from random import Random

import numpy as np
from mutate import break_bytes
from samples import PIXEL, Sample

TEXT = """; FBX 7.4.0 project file
FBXHeaderExtension:  {
    FBXHeaderVersion: 1003
    FBXVersion: 7400
    Creator: "by hand"
}
GlobalSettings:  {
    Version: 1000
    Properties70:  {
        P: "UpAxis", "int", "Integer", "",2
        P: "UpAxisSign", "int", "Integer", "",1
        P: "FrontAxis", "int", "Integer", "",1
        P: "FrontAxisSign", "int", "Integer", "",-1
        P: "CoordAxis", "int", "Integer", "",0
        P: "CoordAxisSign", "int", "Integer", "",1
        P: "UnitScaleFactor", "double", "Number", "",10
        P: "TimeMode", "enum", "", "",6
    }
}
Objects:  {
    Geometry: 1, "Geometry::plate", "Mesh" {
        Vertices: *12 { a: 0,0,0,1,0,0,1,0,2,0,0,2 }
        PolygonVertexIndex: *4 { a: 0,1,2,-4 }
        GeometryVersion: 124
        LayerElementUV: 0 {
            Version: 101
            Name: "map"
            MappingInformationType: "ByPolygonVertex"
            ReferenceInformationType: "IndexToDirect"
            UV: *8 { a: 0,0,1,0,1,1,0,1 }
            UVIndex: *4 { a: 0,1,2,3 }
        }
        LayerElementMaterial: 0 {
            Version: 101
            Name: ""
            MappingInformationType: "AllSame"
            ReferenceInformationType: "IndexToDirect"
            Materials: *1 { a: 0 }
        }
        Layer: 0 {
            Version: 100
            LayerElement:  { Type: "LayerElementUV" TypedIndex: 0 }
            LayerElement:  { Type: "LayerElementMaterial" TypedIndex: 0 }
        }
    }
    Material: 2, "Material::paint", "" {
        ShadingModel: "lambert"
        Properties70:  {
            P: "DiffuseColor", "Color", "", "A",0.25,0.5,1
        }
    }
    Texture: 3, "Texture::skin", "" {
        Type: "TextureVideoClip"
        RelativeFilename: "skin.png"
        FileName: "C:\\\\art\\\\skin.png"
    }
    Model: 10, "Model::plate", "Mesh" {
        Version: 232
        Properties70:  {
            P: "GeometricTranslation", "Vector3D", "Vector", "",0,0,0.5
        }
    }
    NodeAttribute: 20, "NodeAttribute::a", "LimbNode" { TypeFlags: "Skeleton" }
    NodeAttribute: 21, "NodeAttribute::b", "LimbNode" { TypeFlags: "Skeleton" }
    Model: 11, "Model::a", "LimbNode" {
        Version: 232
        Properties70:  {
            P: "RotationActive", "bool", "", "",1
            P: "RotationOrder", "enum", "", "",4
            P: "PreRotation", "Vector3D", "Vector", "",0,0,90
            P: "RotationPivot", "Vector3D", "Vector", "",0,1,0
            P: "ScalingPivot", "Vector3D", "Vector", "",0,1,0
            P: "InheritType", "enum", "", "",1
            P: "Lcl Translation", "Lcl Translation", "", "A",1,2,3
            P: "Lcl Rotation", "Lcl Rotation", "", "A",10,20,30
            P: "Lcl Scaling", "Lcl Scaling", "", "A",2,2,2
        }
    }
    Model: 12, "Model::b", "LimbNode" {
        Version: 232
        Properties70:  {
            P: "InheritType", "enum", "", "",2
            P: "PostRotation", "Vector3D", "Vector", "",0,0,45
            P: "RotationActive", "bool", "", "",1
            P: "Lcl Translation", "Lcl Translation", "", "A",0,0,2
        }
    }
    Deformer: 30, "Deformer::skin", "Skin" { Version: 101 }
    Deformer: 31, "SubDeformer::a", "Cluster" {
        Version: 100
        Indexes: *3 { a: 0,1,2 }
        Weights: *3 { a: 1,1,0.5 }
        Transform: *16 { a: 1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1 }
        TransformLink: *16 { a: 1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1 }
    }
    Deformer: 32, "SubDeformer::b", "Cluster" {
        Version: 100
        Indexes: *2 { a: 2,3 }
        Weights: *2 { a: 0.5,1 }
        Transform: *16 { a: 1,0,0,0,0,1,0,0,0,0,1,0,0,0,-2,1 }
        TransformLink: *16 { a: 1,0,0,0,0,1,0,0,0,0,1,0,0,0,2,1 }
    }
    AnimationStack: 40, "AnimStack::turn", "" {
        Properties70:  {
            P: "LocalStart", "KTime", "Time", "",46186158000
            P: "LocalStop", "KTime", "Time", "",92372316000
        }
    }
    AnimationLayer: 41, "AnimLayer::base", "" { }
    AnimationCurveNode: 42, "AnimCurveNode::R", "" {
        Properties70:  {
            P: "d|X", "Number", "", "A",0
            P: "d|Y", "Number", "", "A",0
            P: "d|Z", "Number", "", "A",0
        }
    }
    AnimationCurve: 43, "AnimCurve::", "" {
        Default: 0
        KeyVer: 4008
        KeyTime: *3 { a: 46186158000,69279237000,92372316000 }
        KeyValueFloat: *3 { a: 0,120,-40 }
        KeyAttrFlags: *3 { a: 24840,4,2 }
        KeyAttrDataFloat: *12 { a: 100,40,0.33,0.33,0,0,0,0,0,0,0,0 }
        KeyAttrRefCount: *3 { a: 1,1,1 }
    }
}
Connections:  {
    C: "OO",10,0
    C: "OO",11,0
    C: "OO",12,11
    C: "OO",20,11
    C: "OO",21,12
    C: "OO",1,10
    C: "OO",2,10
    C: "OP",3,2,"DiffuseColor"
    C: "OO",30,1
    C: "OO",31,30
    C: "OO",11,31
    C: "OO",32,30
    C: "OO",12,32
    C: "OO",41,40
    C: "OO",42,41
    C: "OP",42,12,"Lcl Rotation"
    C: "OP",43,42,"d|X"
}
"""
WORDS = (
    *("0", "1", "-1", "2", "3", "4", "99", "1e9", "-1e9", "1e30", "1e400", "nan", "1e-30", "4294967295", "46186158000"),
    *("-9223372036854775808", "{", "}", "*", "*4 {", "*99999999 {", '"', ":", ",", "a:", "C:", "P:", '"OO"', '"OP"'),
    *('"ByPolygon"', '"ByVertice"', '"Direct"', '"IndexToDirect"', '"Lcl Scaling"', '"d|Y"', '"Mesh"', '"LimbNode"'),
    *('"../../skin.png"', '"\\x1b[2J"', '"Model::a"', "Model:", "Geometry:", "Deformer:", "AnimationCurve:"),
)
"""To put in the place of any word of the text."""


def own_fbx_samples() -> list[Sample]:
    """The text above, a character of ours with every kind of object, and a joint chain alone."""
    from gambol import load
    from gambol.character.clip import Clip, Track
    from gambol.character.transforms import normalize
    from gambol.formats.fbx import binary
    from gambol.formats.fbx.writer import write_fbx

    usual, binary.SMALLEST_COMPRESSED = binary.SMALLEST_COMPRESSED, 2**40  # so that numbers can be broken one by one
    try:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder, "tube.glb")
            place.write_bytes(tube_glb())
            tube = load(place)
            times = np.linspace(0, 1, 4)
            turn = normalize(np.stack([np.ones(4), np.zeros(4), times, -times], 1))
            clip = Clip("turn", (Track(int(np.flatnonzero(tube.skeleton.is_joint)[1]), "rotation", times, turn),))
            write_fbx(tube, Path(folder, "tube.fbx"), [*tube.clips.values(), clip])
            write_fbx(tube, Path(folder, "bones.fbx"), [clip], meshes=False)
            made = {name: Path(folder, name).read_bytes() for name in ("tube.fbx", "bones.fbx")}
    finally:
        binary.SMALLEST_COMPRESSED = usual
    files = {"text.fbx": TEXT.encode(), **made}
    return [Sample(name, {name: data, "skin.png": PIXEL}) for name, data in files.items()]


def tube_glb() -> bytes:
    """The fuzzer's own glTF with a skin, a texture and morph targets."""
    from samples import own_samples

    sample = max((each for each in own_samples() if each.name.endswith(".glb")), key=lambda each: len(each.files))
    return sample.files[sample.name]


def real_fbx_samples(folder: Path | None) -> list[Sample]:
    paths = sorted(folder.rglob("*.fbx")) if folder else []
    return [Sample(path.name, {path.name: path.read_bytes()}) for path in paths]


def mutate_fbx(sample: Sample, rng: Random) -> Sample:
    """The sample with one to six things wrong; the same generator state gives the same result."""
    data = sample.files[sample.name]
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        if data[:3] == b"; F" and rng.random() < 0.8:
            data = _break_text(rng, data)
        else:
            data = rng.choice((break_bytes, _break_number, _cut, _repeat))(rng, data)
    return Sample(sample.name, {**sample.files, sample.name: data})


def _break_text(rng: Random, data: bytes) -> bytes:
    lines = data.decode("utf-8", "replace").split("\n")
    at = rng.randrange(len(lines))
    choice = rng.randrange(4)
    if choice == 0:
        del lines[at : at + rng.randrange(1, 4)]
    elif choice == 1:
        lines.insert(rng.randrange(len(lines) + 1), lines[at])
    else:
        words = lines[at].replace(",", " , ").split(" ")
        words[rng.randrange(len(words))] = rng.choice(WORDS)
        lines[at] = " ".join(words)
    return "\n".join(lines).encode()


def _break_number(rng: Random, data: bytes) -> bytes:
    """Eight bytes anywhere as a double, or four as a count or an offset."""
    changed = bytearray(data)
    at = rng.randrange(max(1, len(changed) - 8))
    if rng.random() < 0.5:
        value = rng.choice((float("nan"), float("inf"), 1e300, -1e12, 1e13, 0.0, 1e-300, -1.0))
        changed[at : at + 8] = struct.pack("<d", value)
    else:
        value = rng.choice((0, 1, 2, 255, 65535, 2**31 - 1, 2**32 - 1, len(data), len(data) - 1))
        changed[at : at + 4] = struct.pack("<I", value)
    return bytes(changed)


def _cut(rng: Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _repeat(rng: Random, data: bytes) -> bytes:
    start = rng.randrange(len(data) + 1)
    end = start + rng.randrange(1, 400)
    return data[:end] + data[start:end] * rng.randrange(1, 4) + data[end:]
