"""Sheets of videos, to look at: one row a video, the picture at rest first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float
from PIL import Image, ImageDraw
from torch import Tensor

from gambol.files import replacing

LABEL = 150
"""Room for what a row shows [pixels]."""


def write_sheet(
    rows: Sequence[tuple[str, Float[Tensor, "size size 3"], Float[Tensor, "frames size size 3"]]], path: Path
) -> None:
    """(label, picture at rest, video) in each row, sRGB from 0 to 1."""
    strips = [np.concatenate([rest[None].numpy(), video.numpy()]).clip(0, 1) for _, rest, video in rows]
    size, count = strips[0].shape[1], len(strips[0])
    sheet = Image.new("RGB", (LABEL + count * size, len(rows) * size), "white")
    draw = ImageDraw.Draw(sheet)
    for number, ((label, _, _), strip) in enumerate(zip(rows, strips, strict=True)):
        pixels = (strip * 255).round().astype(np.uint8)
        sheet.paste(Image.fromarray(np.concatenate(list(pixels), axis=1)), (LABEL, number * size))
        draw.text((4, number * size + size // 2 - 6), label, fill="black")
    with replacing(path) as unfinished:
        sheet.save(unfinished, "PNG")
