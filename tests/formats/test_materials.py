import base64

import numpy as np
import pytest
from builder import PNG, TRIANGLE, Gltf

from gambol.character.character import Material
from gambol.formats import load


def textured(image: dict, **texture) -> Gltf:
    """A triangle whose base colour is a texture."""
    gltf = Gltf(images=[image], textures=[texture or {"source": 0}])
    gltf.json["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}]
    uvs = gltf.accessor([[0, 0], [1, 0], [0, 1]])
    gltf.node(mesh=gltf.mesh({"POSITION": gltf.accessor(TRIANGLE), "TEXCOORD_0": uvs}, material=0))
    return gltf


@pytest.mark.parametrize("suffix", [".gltf", ".glb"])
def test_texture_in_a_file_of_its_own(tmp_path, suffix):
    path = textured({"uri": "pictures/my%20skin.png", "name": "skin"}).write(tmp_path / f"a{suffix}")
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "my skin.png").write_bytes(PNG)
    texture = load(path).meshes[0].material.texture
    assert (texture.data, texture.mime, texture.name) == (PNG, "image/png", "skin")


def test_texture_inside_the_binary():
    gltf = textured({"mimeType": "image/png"})
    gltf.json["images"][0]["bufferView"] = gltf.view(PNG)
    assert gltf.character().meshes[0].material.texture.data == PNG


def test_texture_inside_the_json():
    uri = "data:image/png;base64," + base64.b64encode(PNG).decode()
    assert textured({"uri": uri}).character().meshes[0].material.texture.data == PNG


def test_a_missing_texture_is_a_warning(tmp_path):
    character = load(textured({"uri": "gone.png"}).write(tmp_path / "a.gltf"))
    assert character.meshes[0].material.texture is None
    assert "a texture is missing" in character.warnings[0]
    assert "gone.png" in character.warnings[0]


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"\xabKTX 20\xbb\r\n\x1a\n", "image/ktx2"),
        (b"\0\0\0\x1cftypavif", "image/avif"),
        (b"?", "application/octet-stream"),
    ],
)
def test_kind_of_image_is_told_by_its_first_bytes(data, mime):
    uri = "data:;base64," + base64.b64encode(data).decode()
    assert textured({"uri": uri}).character().meshes[0].material.texture.mime == mime


@pytest.mark.parametrize("extension", ["EXT_texture_webp", "KHR_texture_basisu", "EXT_texture_avif"])
def test_images_named_by_an_extension(extension):
    uri = "data:;base64," + base64.b64encode(b"picture").decode()
    gltf = textured({"uri": uri}, extensions={extension: {"source": 0}})
    assert gltf.character().meshes[0].material.texture.data == b"picture"


def test_wrap_modes_and_coordinate_set():
    uri = "data:image/png;base64," + base64.b64encode(PNG).decode()
    gltf = textured({"uri": uri}, source=0, sampler=0)
    gltf.json["samplers"] = [{"wrapS": 33071}]
    gltf.json["materials"][0]["pbrMetallicRoughness"]["baseColorTexture"]["texCoord"] = 1
    second = np.array([[0.5, 0.5], [0.25, 0], [0, 0.75]])
    gltf.json["meshes"][0]["primitives"][0]["attributes"]["TEXCOORD_1"] = gltf.accessor(second)
    mesh = gltf.character().meshes[0]
    assert mesh.material.wrap == (33071, 10497)
    np.testing.assert_array_equal(mesh.uvs, second)


def test_all_fields():
    gltf = Gltf()
    gltf.add(
        "materials",
        name="glass",
        pbrMetallicRoughness={"baseColorFactor": [0.1, 0.2, 0.3, 0.4], "metallicFactor": 0.5, "roughnessFactor": 0.6},
        emissiveFactor=[0.7, 0.8, 0.9],
        alphaMode="MASK",
        alphaCutoff=0.25,
        doubleSided=True,
    )
    gltf.node(mesh=gltf.mesh(material=0))
    assert gltf.character().meshes[0].material == Material(
        name="glass",
        base_color=(0.1, 0.2, 0.3, 0.4),
        metallic=0.5,
        roughness=0.6,
        emissive=(0.7, 0.8, 0.9),
        alpha_mode="MASK",
        alpha_cutoff=0.25,
        double_sided=True,
    )


def test_what_glows_by_a_texture_does_not_glow_all_over():
    gltf = Gltf()
    gltf.add("materials", emissiveFactor=[1, 1, 1], emissiveTexture={"index": 0})
    gltf.node(mesh=gltf.mesh(material=0))
    assert gltf.character().meshes[0].material.emissive == (0, 0, 0)


def test_without_a_material():
    gltf = Gltf()
    gltf.node(mesh=gltf.mesh())
    assert gltf.character().meshes[0].material == Material()


def test_specular_glossiness():
    """Old exporters put the colour into an extension; what stands beside it is a fallback."""
    gltf = Gltf()
    legacy = {"KHR_materials_pbrSpecularGlossiness": {"diffuseFactor": [1, 0, 0, 1]}}
    gltf.add("materials", extensions=legacy, pbrMetallicRoughness={"baseColorFactor": [0, 0, 1, 1]})
    gltf.node(mesh=gltf.mesh(material=0))
    material = gltf.character().meshes[0].material
    assert material.base_color == (1, 0, 0, 1)
    assert material.metallic == 0


@pytest.mark.parametrize(("mode", "other", "shown"), [("MASK", 0.0, True), ("BLEND", 0.0, True), ("MASK", 1.0, False)])
def test_characters_of_which_nothing_would_be_seen_are_opaque(mode, other, shown):
    """Some exporters write an alpha of 0 into all materials. Beside one that is seen, it is meant."""
    gltf = Gltf()
    for alpha in (0.0, other):
        gltf.add("materials", alphaMode=mode, pbrMetallicRoughness={"baseColorFactor": [0.5, 0.5, 0.5, alpha]})
    gltf.node(mesh=gltf.mesh(material=0))
    character = gltf.character()
    assert (character.meshes[0].material.alpha_mode == "OPAQUE") == shown
    assert any("fully transparent" in warning for warning in character.warnings) == shown
