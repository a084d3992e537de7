"""UsdPreviewSurface as materials: what decides colour, and the texture of the base colour."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pxr import Sdf, Usd, UsdShade

from gambol.character.character import Material, Texture
from gambol.errors import AssetError
from gambol.formats.files import path_beside, read_file
from gambol.formats.images import LARGEST_IMAGES, read_texture
from gambol.text import printable

WRAPS = {"clamp": 33071, "black": 33071, "mirror": 33648}
"""glTF's numbers of USD's ways to go on beyond a texture; what is not here repeats."""
GREY = 0.18
"""The base colour of a UsdPreviewSurface that has none of its own."""


@dataclass(frozen=True)
class Surface:
    """A material, and the texture coordinates that its texture asks for."""

    material: Material
    coordinates: str = ""
    colors: str = ""
    """The primvar that gives each vertex its colour, if one does."""


class MaterialReader:
    """Reads each material and each image once."""

    def __init__(self, home: Path, warnings: list[str]):
        self._home, self._warnings = home, warnings
        self._known: dict[str, Surface] = {}
        self._images: dict[Path, Texture | None] = {}
        self._room = LARGEST_IMAGES

    def read(self, material: UsdShade.Material) -> Surface:
        path = str(material.GetPath())
        if path not in self._known:
            self._known[path] = self._surface(material)
        return self._known[path]

    def _surface(self, material: UsdShade.Material) -> Surface:
        prim = material.GetPrim()
        name = printable(prim.GetDisplayName() or prim.GetName())
        shader = material.ComputeSurfaceSource()
        shader = shader[0] if isinstance(shader, tuple) else shader
        if not shader or shader.GetIdAttr().Get() != "UsdPreviewSurface":
            self._warnings.append(f"material '{name}' is no UsdPreviewSurface: it is shown grey")
            return Surface(Material(name, metallic=0.0))
        color, source = self._value(shader, "diffuseColor", [GREY] * 3)
        kind = source.GetIdAttr().Get() if source else ""
        texture = source if kind == "UsdUVTexture" else None
        colors = _token(source, "varname") if source and kind.startswith("UsdPrimvarReader") else ""
        opacity, opacity_texture = self._value(shader, "opacity", [1.0])
        threshold = float(self._value(shader, "opacityThreshold", [0.0])[0][0])
        found, wrap, coordinates = self._texture(texture) if texture else (None, (10497, 10497), "")
        if texture and found:
            scale = np.clip(_array(texture, "scale", [1.0] * 4), 0.0, 1.0)
            color = scale[:3]
            if opacity_texture is not None:
                opacity = scale[3:]
        seen_through = opacity[0] < 1 or opacity_texture is not None
        mode: Literal["OPAQUE", "MASK", "BLEND"] = "OPAQUE"
        if seen_through:
            mode = "MASK" if threshold > 0 else "BLEND"
        red, green, blue = (float(part) for part in np.clip(color, 0.0, 1.0))
        glow, glow_texture = self._value(shader, "emissiveColor", [0.0] * 3)
        glowing = (0.0, 0.0, 0.0) if glow_texture else tuple(float(part) for part in np.clip(glow, 0.0, 1.0))
        made = Material(
            name=name,
            base_color=(red, green, blue, float(np.clip(opacity[0], 0.0, 1.0))),
            texture=found,
            wrap=wrap,
            metallic=float(np.clip(self._value(shader, "metallic", [0.0])[0][0], 0.0, 1.0)),
            roughness=float(np.clip(self._value(shader, "roughness", [0.5])[0][0], 0.0, 1.0)),
            emissive=glowing,  # type: ignore[arg-type]
            alpha_mode=mode,
            alpha_cutoff=threshold if threshold > 0 else 0.5,
        )
        return Surface(made, coordinates, colors)

    def _value(
        self, shader: UsdShade.Shader, name: str, default: list[float]
    ) -> tuple[np.ndarray, UsdShade.Shader | None]:
        """The value of an input, and the shader that it is connected to instead."""
        entry = shader.GetInput(name)
        if not entry:
            return np.array(default), None
        for attribute in entry.GetValueProducingAttributes():
            holder = UsdShade.Shader(attribute.GetPrim())
            if attribute.GetPath() != entry.GetAttr().GetPath() and holder and holder.GetIdAttr().Get() is not None:
                return np.array([1.0] * len(default)), holder
            return _numbers(attribute.Get(Usd.TimeCode.EarliestTime()), default), None
        return np.array(default), None

    def _texture(self, shader: UsdShade.Shader) -> tuple[Texture | None, tuple[int, int], str]:
        wraps = [_token(shader, name) for name in ("wrapS", "wrapT")]
        wrap = (WRAPS.get(wraps[0], 10497), WRAPS.get(wraps[1], 10497))
        file = shader.GetInput("file")
        attribute = next(iter(file.GetValueProducingAttributes()), None) if file else None
        value = attribute.Get(Usd.TimeCode.EarliestTime()) if attribute else None
        if not isinstance(value, Sdf.AssetPath) or not value.path:
            return None, wrap, ""
        assert attribute is not None
        layers = [spec.layer for spec in attribute.GetPropertyStack(Usd.TimeCode.EarliestTime())]
        folder = Path(layers[0].realPath).parent if layers and layers[0].realPath else self._home
        return self._image(value.path, folder), wrap, self._coordinates(shader)

    def _image(self, name: str, folder: Path) -> Texture | None:
        """An image beside the file; one that cannot be read is a warning, since it can be animated without."""
        try:
            path = path_beside(self._home / "stage", name, "the image", folder)
            if path not in self._images:
                data = read_file(path, self._room, f"the image {name[:80]!r}")
                self._room -= len(data)
                self._images[path] = read_texture(data, path.stem)
            return self._images[path]
        except AssetError as error:
            self._warnings.append(f"a texture is missing: {error}")
            return None

    def _coordinates(self, shader: UsdShade.Shader) -> str:
        """The primvar that the texture is laid by; a transform in between is not read."""
        for _ in range(4):
            entry = shader.GetInput("st") or shader.GetInput("in")
            source = entry.GetConnectedSource() if entry else None
            if not source:
                return ""
            shader = UsdShade.Shader(source[0].GetPrim())
            kind = shader.GetIdAttr().Get() or ""
            if kind.startswith("UsdPrimvarReader"):
                return _token(shader, "varname")
            if kind == "UsdTransform2d":
                self._warnings.append("a texture is moved or scaled by a UsdTransform2d, which is not read")
        return ""


def _token(shader: UsdShade.Shader, name: str) -> str:
    entry = shader.GetInput(name)
    attribute = next(iter(entry.GetValueProducingAttributes()), None) if entry else None
    value = attribute.Get(Usd.TimeCode.EarliestTime()) if attribute else None
    return value if isinstance(value, str) else ""


def _array(shader: UsdShade.Shader, name: str, default: list[float]) -> np.ndarray:
    entry = shader.GetInput(name)
    return _numbers(entry.Get(Usd.TimeCode.EarliestTime()) if entry else None, default)


def _numbers(value: Any, default: list[float]) -> np.ndarray:
    """The value as so many finite numbers, or the default if it is anything else."""
    try:
        found = np.array(value, np.float64).reshape(-1)
    except (TypeError, ValueError):
        return np.array(default)
    return found if len(found) == len(default) and np.isfinite(found).all() else np.array(default)
