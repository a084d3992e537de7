"""Materials and textures as arrays that kernels can look up: every image decoded once, with its mip levels."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8

from gambol.character.character import Material, Texture
from gambol.errors import AssetError
from gambol.formats.plain import linear_from_srgb

Array = np.ndarray

LARGEST = 2048
"""Side of a texture [texels]; larger ones are halved until they fit, which no picture of usual size shows."""
ALPHA_MODES = ("OPAQUE", "MASK", "BLEND")
DECODED: Float[Array, 256] = linear_from_srgb(np.arange(256) / 255).astype(np.float32)
"""Linear value of each of the 256 values of sRGB."""


@dataclass(frozen=True)
class Paints:
    """All materials of a character, one a mesh, and the texels they refer to."""

    base_color: Float[Array, "materials 4"]
    """Linear."""
    emissive: Float[Array, "materials 3"]
    texture: Int[Array, "materials 4"]
    """First mip level (-1 without a texture), number of levels, glTF's wrap modes along u and v."""
    alpha_mode: Int[Array, " materials"]
    """Index into ALPHA_MODES."""
    alpha_cutoff: Float[Array, " materials"]
    levels: Int[Array, "levels 3"]
    """First texel, width and height of each mip level of each texture."""
    texels: UInt8[Array, "texels 4"]
    """sRGB and alpha, row by row."""
    warnings: tuple[str, ...]


def pack_paints(materials: Sequence[Material]) -> Paints:
    """Textures used by several materials are decoded once; one that cannot be decoded is a warning and left out."""
    images: list[UInt8[Array, "height width 4"]] = []
    places: dict[Texture, tuple[int, int] | None] = {}
    warnings: list[str] = []
    for texture in dict.fromkeys(material.texture for material in materials):
        if texture is None:
            continue
        try:
            levels = mip_levels(decode(texture))
        except AssetError as error:
            warnings.append(f"texture '{texture.name}' ({texture.mime}) cannot be decoded and is not shown: {error}")
            continue
        places[texture] = (len(images), len(levels))
        images.extend(levels)
    if not images:
        images = [np.full((1, 1, 4), 255, np.uint8)]  # nobody refers to it, but a kernel's array must not be empty
    sizes = np.array([image.shape[:2][::-1] for image in images])
    starts = np.cumsum([0, *sizes.prod(1)])[:-1]
    rows = [((places.get(m.texture) if m.texture else None) or (-1, 0)) + m.wrap for m in materials]
    return Paints(
        base_color=np.array([m.base_color for m in materials], np.float32).reshape(-1, 4),
        emissive=np.array([m.emissive for m in materials], np.float32).reshape(-1, 3),
        texture=np.array(rows, np.int32).reshape(-1, 4),
        alpha_mode=np.array([ALPHA_MODES.index(m.alpha_mode) for m in materials], np.int32),
        alpha_cutoff=np.array([m.alpha_cutoff for m in materials], np.float32),
        levels=np.c_[starts, sizes].astype(np.int32),
        texels=np.concatenate([image.reshape(-1, 4) for image in images]),
        warnings=tuple(warnings),
    )


def decode(texture: Texture) -> UInt8[Array, "height width 4"]:
    """sRGB and alpha of an image file; AssetError if it cannot be decoded."""
    try:
        return _decoded(texture)
    except Exception as error:  # an image can be broken in as many ways as its decoder has lines
        raise AssetError(str(error) or type(error).__name__) from error


def _decoded(texture: Texture) -> UInt8[Array, "height width 4"]:
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        opened = Image.open(io.BytesIO(texture.data))
    with opened as image:
        if max(image.size) > LARGEST:
            image.draft("RGB", (LARGEST, LARGEST))  # JPEG can be decoded smaller at once
        if image.mode.startswith("I"):  # grey of 16 bits, which Pillow would clip
            grey = np.clip(np.asarray(image) // 257, 0, 255).astype(np.uint8)
            return np.stack([grey, grey, grey, np.full_like(grey, 255)], -1)
        rgba = image.convert("RGBA")
        smaller = max(rgba.size) // LARGEST
        return np.asarray(rgba.reduce(smaller) if smaller > 1 else rgba)


def mip_levels(image: UInt8[Array, "height width 4"]) -> list[UInt8[Array, "smaller_height smaller_width 4"]]:
    """The image, its halves, quarters and so on down to one texel; beginning with one that is not too large.

    Means are taken of light, weighted by opacity, so that what is cut out does not bleed into the rest.
    """
    color = torch.from_numpy(DECODED[image[..., :3]])
    alpha = torch.from_numpy(image[..., 3:].astype(np.float32) / 255)
    layers = torch.cat([color * alpha, color, alpha], -1).movedim(-1, 0)
    levels = [image]
    while max(layers.shape[1:]) > 1:
        height, width = (max(size // 2, 1) for size in layers.shape[1:])
        layers = torch.nn.functional.adaptive_avg_pool2d(layers, (height, width))
        covered, plain, alpha = layers[:3], layers[3:6], layers[6:]
        mean = torch.where(alpha > 1e-3, covered / alpha.clamp_min(1e-3), plain)
        levels.append(_stored(torch.cat([mean, alpha]).movedim(0, -1).numpy()))
    first = next(i for i, level in enumerate(levels) if max(level.shape) <= LARGEST)
    return levels[first:]


def _stored(level: Float[Array, "height width 4"]) -> UInt8[Array, "height width 4"]:
    """Linear colour and alpha as eight bits each."""
    color = np.clip(level[..., :3], 0, 1)
    encoded = np.where(color <= 0.0031308, 12.92 * color, 1.055 * color ** (1 / 2.4) - 0.055)
    return np.rint(255 * np.concatenate([encoded, np.clip(level[..., 3:], 0, 1)], -1)).astype(np.uint8)
