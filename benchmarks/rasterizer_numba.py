# mypy: ignore-errors
"""A baseline for `rasterizer.py`: the same algorithm, Gaussian after Gaussian, as plain loops that numba compiles."""

from typing import Any

import numba
import numpy as np

compiled: Any = numba.njit(fastmath=True, cache=True)
ALPHA_CUT, ALPHA_MOST, STOP = np.float32(1 / 255), np.float32(0.999), np.float32(1e-4)


@compiled
def forward(order, centers, conics, opacities, colors, boxes, image, light):
    """Blends splats into an image of zeros and a transmittance of ones."""
    for k in order:
        x, y, (xx, xy, yy) = centers[k, 0] - np.float32(0.5), centers[k, 1] - np.float32(0.5), conics[k]
        for row in range(boxes[k, 1], boxes[k, 3]):
            dy = np.float32(row) - y
            for column in range(boxes[k, 0], boxes[k, 2]):
                dx = np.float32(column) - x
                s = np.float32(0.5) * (xx * dx * dx + yy * dy * dy) + xy * dx * dy
                alpha = min(opacities[k] * np.exp(-s), ALPHA_MOST)
                before = light[row, column]
                if alpha >= ALPHA_CUT and before > STOP:
                    weight = alpha * before
                    for c in range(3):
                        image[row, column, c] += weight * colors[k, c]
                    light[row, column] = before - weight


@compiled
def backward(order, centers, conics, opacities, colors, boxes, behind, light, gradient, sums):
    """Front to back again: gradients of centre, conic, opacity and colour, nine numbers a splat.

    behind: image times gradient minus what the last transmittance gives; light: ones; both are overwritten.
    """
    for k in order:
        x, y, (xx, xy, yy) = centers[k, 0] - np.float32(0.5), centers[k, 1] - np.float32(0.5), conics[k]
        for row in range(boxes[k, 1], boxes[k, 3]):
            dy = np.float32(row) - y
            for column in range(boxes[k, 0], boxes[k, 2]):
                dx = np.float32(column) - x
                s = np.float32(0.5) * (xx * dx * dx + yy * dy * dy) + xy * dx * dy
                raw = opacities[k] * np.exp(-s)
                alpha = min(raw, ALPHA_MOST)
                before = light[row, column]
                if alpha >= ALPHA_CUT and before > STOP:
                    weight, shade = alpha * before, np.float32(0)
                    for c in range(3):
                        shade += colors[k, c] * gradient[row, column, c]
                        sums[k, 6 + c] += weight * gradient[row, column, c]
                    behind[row, column] -= weight * shade
                    light[row, column] = before - weight
                    if raw < ALPHA_MOST:
                        q = alpha * (before * shade - behind[row, column] / (np.float32(1) - alpha))
                        sums[k, 0] += q * (xx * dx + xy * dy)
                        sums[k, 1] += q * (xy * dx + yy * dy)
                        sums[k, 2] -= np.float32(0.5) * q * dx * dx
                        sums[k, 3] -= q * dx * dy
                        sums[k, 4] -= np.float32(0.5) * q * dy * dy
                        sums[k, 5] += q / opacities[k]
