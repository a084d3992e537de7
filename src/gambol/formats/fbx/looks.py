"""Materials and embedded images as FBX objects."""

from __future__ import annotations

import numpy as np

from gambol.character.character import Material, Mesh, Texture
from gambol.errors import AssetError
from gambol.formats.fbx.objects import Objects, add_properties, color, enum, number
from gambol.formats.images import ENDINGS, shown_anywhere

CLAMP = 33071


class LookWriter:
    """Writes each material and each image once."""

    def __init__(self, objects: Objects, lost: list[str]):
        self._objects, self._lost = objects, lost
        self._materials: dict[int, tuple[Material, int]] = {}
        self._videos: dict[Texture, tuple[int, str] | None] = {}
        self._names: set[str] = set()

    def material(self, mesh: Mesh) -> int:
        """The id of the material of a mesh."""
        material = mesh.material
        if id(material) not in self._materials:
            self._materials[id(material)] = (material, self._write(material))  # kept, so that its id stays its own
        return self._materials[id(material)][1]

    def _write(self, material: Material) -> int:
        red, green, blue, opacity = material.base_color
        if material.alpha_mode == "OPAQUE":
            opacity = 1.0
        if material.alpha_mode == "MASK":
            self._lost.append(f"material '{material.name}': cut-outs by alpha have no word in FBX")
        shine = (10 * (1 - material.roughness)) ** 2
        properties = [
            *(("ShadingModel", "KString", "", "", "phong"), color("EmissiveColor", material.emissive)),
            *(number("EmissiveFactor", 1.0, True), color("AmbientColor", (0, 0, 0))),
            *(color("DiffuseColor", (red, green, blue)), number("DiffuseFactor", 1.0, True)),
            *(color("TransparentColor", (1, 1, 1)), number("TransparencyFactor", 1 - opacity, True)),
            *(number("Opacity", opacity), color("SpecularColor", (0.8, 0.8, 0.8))),
            *(
                number("SpecularFactor", 0.25, True),
                number("Shininess", shine),
                number("ShininessExponent", shine, True),
            ),
            *(color("ReflectionColor", (0.8, 0.8, 0.8)), number("ReflectionFactor", material.metallic, True)),
        ]
        found, record = self._objects.add("Material", material.name or "material", "Material")
        record.add("Version", np.int32(102))
        record.add("ShadingModel", "phong")
        record.add("MultiLayer", np.int32(0))
        add_properties(record, properties)
        if material.texture is not None:
            self._texture(found, material, material.texture)
        return found

    def _texture(self, owner: int, material: Material, texture: Texture) -> None:
        video = self._video(texture)
        if video is None:
            return
        if any(abs(value - 1) > 1e-3 for value in material.base_color[:3]):
            self._lost.append(f"material '{material.name}': its colour is not mixed with its texture")
        number_, file = video
        wraps = [enum(f"WrapMode{axis}", int(mode == CLAMP)) for axis, mode in zip("UV", material.wrap, strict=True)]
        properties = [*wraps, ("UVSet", "KString", "", "", "UVMap"), ("UseMaterial", "bool", "", "", np.int32(1))]
        name = texture.name or "texture"
        found, record = self._objects.add("Texture", name, "Texture", "")
        record.add("Type", "TextureVideoClip")
        record.add("Version", np.int32(202))
        record.add("TextureName", f"{name}\0\1Texture")
        add_properties(record, properties)
        record.add("Media", f"{name}\0\1Video")
        record.add("FileName", file)
        record.add("RelativeFilename", file)
        self._objects.connect(found, owner, "DiffuseColor")
        self._objects.connect(number_, found)

    def _video(self, texture: Texture) -> tuple[int, str] | None:
        """The image itself, inside the file: its id and file name."""
        if texture not in self._videos:
            self._videos[texture] = self._write_video(texture)
        return self._videos[texture]

    def _write_video(self, texture: Texture) -> tuple[int, str] | None:
        try:
            shown = shown_anywhere(texture)
        except AssetError as error:
            self._lost.append(f"a texture is left out: {error}")
            return None
        stem = "".join(c if c.isalnum() or c in "-_. " else "_" for c in texture.name) or "texture"
        file, number_ = f"{stem}{ENDINGS[shown.mime]}", 1
        while file.lower() in self._names:
            number_ += 1
            file = f"{stem}-{number_}{ENDINGS[shown.mime]}"
        self._names.add(file.lower())
        path = ("Path", "KString", "XRefUrl", "", file)
        found, record = self._objects.add("Video", texture.name or "texture", "Video", "Clip", [path])
        record.add("Type", "Clip")
        record.add("UseMipMap", np.int32(0))
        record.add("Filename", file)
        record.add("RelativeFilename", file)
        record.add("Content", shown.data)
        return found, file
