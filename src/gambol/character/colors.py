"""Colours as they are seen and as amounts of light: the sRGB transfer function and its inverse (IEC 61966-2-1)."""

import numpy as np
from jaxtyping import Float


def linear_from_srgb(color: Float[np.ndarray, "*batch channels"]) -> Float[np.ndarray, "*batch channels"]:
    """Linear amounts of light, which glTF stores, of sRGB values from 0 to 1, as pictures and '#rrggbb' hold them."""
    color = np.clip(color, 0.0, 1.0)
    return np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)


def srgb_from_linear(light: Float[np.ndarray, "*batch channels"]) -> Float[np.ndarray, "*batch channels"]:
    """sRGB values from 0 to 1 of linear amounts of light."""
    light = np.clip(light, 0.0, 1.0)
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
