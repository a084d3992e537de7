"""Materials and textures as arrays for kernels: every image is decoded once, with its mip levels."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, UInt8

from gambol.character.character import Material, Texture
from gambol.character.colors import linear_from_srgb, srgb_from_linear
from gambol.errors import AssetError

LARGEST = 2048
"""Largest side of a texture [texels]; larger ones are halved until they fit, which frames of usual size do not show."""
ALPHA_MODES = ("OPAQUE", "MASK", "BLEND")
DECODED: Float[np.ndarray, 256] = linear_from_srgb(np.arange(256) / 255).astype(np.float32)
"""Linear value of each of the 256 sRGB values."""


def pack_materials(materials: Sequence[Material]) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
    """Return the arrays of all materials, named as in `surface_kernels.MeshArrays`, and warnings.

    A texture of several materials is decoded once; one that cannot be decoded is left out with a warning.
    """
    images: list[UInt8[np.ndarray, "height width 4"]] = []
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
    arrays = {
        "base_color": np.array([m.base_color for m in materials]),
        "emissive": np.array([m.emissive for m in materials]),
        "texture": np.array(rows),
        "alpha_mode": np.array([ALPHA_MODES.index(m.alpha_mode) for m in materials]),
        "alpha_cutoff": np.array([m.alpha_cutoff for m in materials]),
        "levels": np.c_[starts, sizes],
        "texels": np.concatenate([image.reshape(-1, 4) for image in images]),
    }
    return arrays, tuple(warnings)


def decode(texture: Texture) -> UInt8[np.ndarray, "height width 4"]:
    """Return sRGB and alpha of an image file; AssetError if it cannot be decoded."""
    from PIL import Image

    try:
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
    except Exception as error:  # an image can be broken in as many ways as its decoder has lines
        raise AssetError(str(error) or type(error).__name__) from error


def mip_levels(image: UInt8[np.ndarray, "height width 4"]) -> list[UInt8[np.ndarray, "smaller_height smaller_width 4"]]:
    """Return the image, its halves, quarters and so on down to one texel, starting with a level that is at most
    LARGEST.

    Means are computed in linear colour and weighted by opacity, so that transparent texels do not bleed into the rest.
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
        encoded = np.concatenate([srgb_from_linear(mean.numpy()), alpha.clamp(0, 1).numpy()])
        levels.append(np.rint(255 * encoded).astype(np.uint8).transpose(1, 2, 0))
    first = next(i for i, level in enumerate(levels) if max(level.shape) <= LARGEST)
    return levels[first:]
