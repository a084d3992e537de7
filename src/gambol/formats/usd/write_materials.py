"""Materials as UsdPreviewSurface networks, and the images they need."""

from __future__ import annotations

from dataclasses import replace

from pxr import Gf, Sdf, Usd, UsdGeom, UsdShade

from gambol.character.character import Material, Mesh, Texture
from gambol.errors import AssetError
from gambol.formats.images import ENDINGS, shown_anywhere
from gambol.formats.usd.names import Names

WRAPS = {33071: "clamp", 33648: "mirror"}
"""USD's names of glTF's ways to go on beyond a texture; what is not here repeats."""


class MaterialWriter:
    """Writes each material once, and collects images by the names under which they belong beside the stage."""

    def __init__(self, folder: str, lost: list[str]):
        self._folder, self._lost = folder, lost
        self._known: dict[tuple[Material, bool], UsdShade.Material] = {}
        self._files: dict[Texture, str | None] = {}
        self._names, self._file_names = Names(), Names()
        self.images: dict[str, bytes] = {}

    def write(self, stage: Usd.Stage, root: Usd.Prim, mesh: Mesh) -> UsdShade.Material:
        """The material of a mesh; its texture needs texture coordinates, and vertex colours are read by it."""
        colored = mesh.colors is not None and mesh.material.texture is None
        material = mesh.material if mesh.uvs is not None else replace(mesh.material, texture=None)
        key = (replace(material, double_sided=False), colored)
        if mesh.colors is not None and not colored:
            self._lost.append(f"mesh '{mesh.name}': its vertex colours are hidden by its texture in USD")
        if key not in self._known:
            scope = UsdGeom.Scope.Define(stage, root.GetPath().AppendChild("Materials"))
            path = scope.GetPath().AppendChild(self._names.take(material.name, "material"))
            self._known[key] = self._define(stage, path, material, colored)
        return self._known[key]

    def _define(self, stage: Usd.Stage, path: Sdf.Path, material: Material, colored: bool) -> UsdShade.Material:
        made = UsdShade.Material.Define(stage, path)
        made.GetPrim().SetDisplayName(material.name or path.name)
        shader = _shader(stage, path.AppendChild("surface"), "UsdPreviewSurface")
        made.CreateSurfaceOutput().ConnectToSource(shader.ConnectableAPI(), "surface")
        types = Sdf.ValueTypeNames
        red, green, blue, opacity = (float(part) for part in material.base_color)
        diffuse = shader.CreateInput("diffuseColor", types.Color3f)
        texture = self._texture(stage, path, material) if material.texture else None
        if texture:
            diffuse.ConnectToSource(texture.ConnectableAPI(), "rgb")
        elif colored:
            reader = _shader(stage, path.AppendChild("colors"), "UsdPrimvarReader_float3")
            reader.CreateInput("varname", types.String).Set("displayColor")
            diffuse.ConnectToSource(reader.CreateOutput("result", types.Float3))
            if (red, green, blue) != (1.0, 1.0, 1.0):
                self._lost.append(f"material '{material.name}': its colour is left out where vertices have their own")
        else:
            diffuse.Set(Gf.Vec3f(red, green, blue))
        clear = shader.CreateInput("opacity", types.Float)
        if texture and material.alpha_mode != "OPAQUE":
            clear.ConnectToSource(texture.ConnectableAPI(), "a")
        else:
            clear.Set(1.0 if material.alpha_mode == "OPAQUE" else opacity)
        if material.alpha_mode == "MASK":
            shader.CreateInput("opacityThreshold", types.Float).Set(float(material.alpha_cutoff))
        shader.CreateInput("metallic", types.Float).Set(float(material.metallic))
        shader.CreateInput("roughness", types.Float).Set(float(material.roughness))
        if any(material.emissive):
            shader.CreateInput("emissiveColor", types.Color3f).Set(Gf.Vec3f(*map(float, material.emissive)))
        return made

    def _texture(self, stage: Usd.Stage, path: Sdf.Path, material: Material) -> UsdShade.Shader | None:
        assert material.texture is not None
        if material.texture not in self._files:
            self._files[material.texture] = self._image(material.texture)
        name = self._files[material.texture]
        if name is None:
            return None
        types = Sdf.ValueTypeNames
        reader = _shader(stage, path.AppendChild("coordinates"), "UsdPrimvarReader_float2")
        reader.CreateInput("varname", types.String).Set("st")
        shader = _shader(stage, path.AppendChild("baseColor"), "UsdUVTexture")
        shader.CreateInput("file", types.Asset).Set(Sdf.AssetPath(f"./{name}"))
        shader.CreateInput("sourceColorSpace", types.Token).Set("sRGB")
        shader.CreateInput("st", types.Float2).ConnectToSource(reader.CreateOutput("result", types.Float2))
        for axis, wrap in zip(("wrapS", "wrapT"), material.wrap, strict=True):
            shader.CreateInput(axis, types.Token).Set(WRAPS.get(wrap, "repeat"))
        if material.base_color != (1.0, 1.0, 1.0, 1.0):
            shader.CreateInput("scale", types.Float4).Set(Gf.Vec4f(*map(float, material.base_color)))
        shader.CreateOutput("rgb", types.Float3)
        shader.CreateOutput("a", types.Float)
        return shader

    def _image(self, texture: Texture) -> str | None:
        """The name of the image's file; None, said among what is lost, if it is of a kind that cannot be converted."""
        try:
            shown = shown_anywhere(texture)
        except AssetError as error:
            self._lost.append(f"a texture is left out: {error}")
            return None
        name = f"{self._folder}/{self._file_names.take(texture.name, 'texture')}{ENDINGS[shown.mime]}"
        self.images[name] = shown.data
        return name


def _shader(stage: Usd.Stage, path: Sdf.Path, kind: str) -> UsdShade.Shader:
    shader = UsdShade.Shader.Define(stage, path)
    shader.CreateIdAttr(kind)
    return shader
