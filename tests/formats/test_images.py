"""Images of kinds that glTF cannot hold become PNG, whichever file they are in and whichever is written."""

import io
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[2] / "fuzz"))

from fbx import TEXT

from gambol import load
from gambol.character.character import Character, Texture
from gambol.errors import AssetError
from gambol.formats import images
from gambol.formats.convert import convert
from gambol.formats.images import as_png, mime_of, read_texture, shown_anywhere

PIXELS = np.array([[[200, 30, 60], [10, 220, 40]], [[5, 5, 250], [128, 128, 128]]], np.uint8)
KINDS = ("BMP", "TIFF", "TGA", "DDS", "GIF")


def picture(kind: str) -> bytes:
    file = io.BytesIO()
    Image.fromarray(PIXELS).save(file, kind)
    return file.getvalue()


def assert_png(texture: Texture | None) -> None:
    assert texture is not None and texture.mime == "image/png"
    shown = np.asarray(Image.open(io.BytesIO(texture.data)).convert("RGB"), int)
    assert np.abs(shown - PIXELS).max() <= 1


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_becomes_png(kind):
    assert_png(read_texture(picture(kind), "skin"))
    assert_png(shown_anywhere(Texture(picture(kind), f"image/{kind.lower()}", "skin")))


def test_what_every_program_shows_stays_as_it_is():
    for kind, mime in (("PNG", "image/png"), ("JPEG", "image/jpeg")):
        data = picture(kind)
        for made in (read_texture(data, "skin"), shown_anywhere(Texture(data, mime, "skin"))):
            assert (made.data, made.mime) == (data, mime)
    webp = picture("WEBP")
    assert read_texture(webp, "skin").data == webp and mime_of(webp) == "image/webp"
    assert shown_anywhere(Texture(webp, "image/webp", "skin")).mime == "image/png"


def test_what_is_no_picture_or_too_large_is_refused(monkeypatch):
    with pytest.raises(AssetError, match="'skin' is of a kind that is not read"):
        as_png(b"nothing", "skin")
    monkeypatch.setattr(images, "LARGEST_PICTURE", 3)
    with pytest.raises(AssetError, match="has 2 x 2 pixels"):
        as_png(picture("BMP"), "skin")


def obj_file(folder: Path) -> Path:
    (folder / "plate.mtl").write_text("newmtl paint\nmap_Kd skin.bmp\n")
    path = folder / "plate.obj"
    path.write_text(
        "mtllib plate.mtl\nusemtl paint\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nf 1/1 2/2 3/3\n"
    )
    return path


def fbx_file(folder: Path) -> Path:
    path = folder / "plate.fbx"
    path.write_text(TEXT.replace("skin.png", "skin.bmp"))
    return path


def usd_file(folder: Path) -> Path:
    pytest.importorskip("pxr")
    from pxr import Sdf, UsdGeom, UsdShade, Vt
    from usd_stages import add_material, add_mesh, new_stage

    stage = new_stage(folder / "plate.usda")
    mesh = add_mesh(stage)
    UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim()).Bind(add_material(stage, "/Leg/Skin", (), "./skin.bmp"))
    uvs = Vt.Vec2fArray([(0, 0)] * 16)
    UsdGeom.PrimvarsAPI(mesh).CreatePrimvar("second", Sdf.ValueTypeNames.TexCoord2fArray, "vertex").Set(uvs)
    stage.GetRootLayer().Save()
    return folder / "plate.usda"


@pytest.mark.parametrize("make", [obj_file, fbx_file, usd_file])
def test_beside_a_file_that_is_read(make, tmp_path):
    (tmp_path / "skin.bmp").write_bytes(picture("BMP"))
    assert_png(load(make(tmp_path)).meshes[0].material.texture)


@pytest.fixture
def painted() -> Character:
    fox = load("fox")
    mesh = replace(fox.meshes[0], colors=None)
    texture = Texture(picture("TGA"), "image/x-tga", "skin")
    uvs = np.zeros((len(mesh.positions), 2), np.float32)
    return replace(fox, meshes=(replace(mesh, uvs=uvs, material=replace(mesh.material, texture=texture)),))


@pytest.mark.parametrize("ending", [".glb", ".fbx", ".usda", ".usdz"])
def test_in_a_file_that_is_written(painted, ending, tmp_path):
    if ending.startswith(".usd"):
        pytest.importorskip("pxr")
    assert not any("texture" in lost for lost in convert(painted, tmp_path / f"fox{ending}"))
    assert_png(load(tmp_path / f"fox{ending}").meshes[0].material.texture)
