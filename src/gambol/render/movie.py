"""Movies (.mp4 that browsers play, .gif) and contact sheets (.png). A file is written completely or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import chain
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from gambol.errors import GambolError
from gambol.files import check_folder, output_folder, replacing

Frame = UInt8[np.ndarray, "height width 3"]

SUFFIXES = (".mp4", ".gif", ".png")
QUALITY = "17"
"""x264's constant rate factor. A second of a running fox at 512 x 512: 14 / 17 / 20 / 23 give 39.3 / 38.7 / 38.0 / 37.2
dB in 183 / 134 / 97 / 71 kB."""
SHORTEST = 2
"""Shortest duration of a frame of a GIF [1/100 s]; browsers show shorter ones for a tenth of a second."""
PALETTE_FRAMES = 12
"""Number of frames, evenly spaced, from which the palette of a GIF is computed."""
SHEET_FRAMES, SHEET_COLUMNS = 8, 4


def check_movie(path: str | Path, suffixes: Sequence[str] = SUFFIXES) -> None:
    """Raise GambolError, before any work, if no movie or picture can be written to a path.

    A folder that is missing is no mistake: it is made when the file is written.
    """
    path = Path(path)
    if path.suffix.lower() not in suffixes:
        way_out = "a name that ends in one of them" if len(suffixes) > 1 else f"a name that ends in {suffixes[0]}"
        raise GambolError(f"'{path}': pictures are written as {', '.join(suffixes)}; use {way_out}")
    existing = next(folder for folder in path.absolute().parents if folder.exists())
    if not existing.is_dir():
        raise GambolError(f"'{path}' cannot be written: {existing} is a file, not a folder")
    check_folder(path if path.parent.exists() else existing / path.name)


def write_movie(frames: Iterable[Frame], path: str | Path, fps: float) -> None:
    """Write sRGB frames of one size as .mp4, while they come, or as .gif, for which all are kept until the end."""
    path = Path(path)
    check_movie(path, (".mp4", ".gif"))
    if not 0 < fps <= 1000:
        raise GambolError(f"frames per second must be above 0 and at most 1000, got {fps:g}")
    coming = iter(frames)
    first = next(coming, None)
    if first is None:
        raise ValueError("a movie needs at least one frame")
    every = chain([first], coming)
    with output_folder(path.parent):
        if path.suffix.lower() == ".mp4":
            _write_mp4(every, path, fps, first.shape[:2])
        else:
            _write_gif(list(every), path, fps)


def write_frames(frames: Iterable[Frame], labels: Sequence[str], path: Path, fps: float) -> None:
    """Write frames as a movie, or as a .png: a contact sheet with these labels, or a single frame as it is."""
    if path.suffix.lower() != ".png":
        return write_movie(frames, path, fps)
    pictures = list(frames)
    write_picture(pictures[0] if len(pictures) == 1 else contact_sheet(pictures, labels), path)


def write_picture(picture: Frame, path: str | Path) -> None:
    """Write one picture as .png."""
    from PIL import Image

    with output_folder(Path(path).parent), replacing(Path(path)) as temporary:
        Image.fromarray(picture).save(temporary, format="PNG")


def evenly(count: int, most: int) -> list[int]:
    """Return the indices of at most `most` of `count` frames, evenly spaced, with the first and the last."""
    return np.unique(np.rint(np.linspace(0, count - 1, min(count, most))).astype(int)).tolist()


def contact_sheet(
    frames: Sequence[Frame], labels: Sequence[str], columns: int = SHEET_COLUMNS
) -> UInt8[np.ndarray, "_ _ 3"]:
    """Return frames of one size in rows, each with its label below, on a background of their own colour."""
    from PIL import Image, ImageDraw, ImageFont

    height, width = frames[0].shape[:2]
    columns = min(columns, len(frames))
    letter = max(11, round(width / 16)) if width < 256 else max(14, round(width / 28))
    gap, strip = max(2, width // 128), round(1.6 * letter)
    red, green, blue = frames[0][0, 0].tolist()
    paper = (red, green, blue)
    ink = (70, 66, 60) if sum(paper) > 380 else (225, 225, 225)
    rows = -(-len(frames) // columns)
    size = (columns * (width + gap) - gap, rows * (height + strip))
    sheet = Image.new("RGB", size, paper)
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(letter)
    for number, (frame, label) in enumerate(zip(frames, labels, strict=True)):
        x, y = number % columns * (width + gap), number // columns * (height + strip)
        sheet.paste(Image.fromarray(frame), (x, y))
        draw.text((x + (width - draw.textlength(label, font)) / 2, y + height + 0.15 * letter), label, ink, font)
    return np.asarray(sheet)


def _write_mp4(frames: Iterable[Frame], path: Path, fps: float, shape: tuple[int, int]) -> None:
    """Write H.264 as all browsers play it: 4:2:0, the index first, BT.709 and marked as such."""
    import av

    height, width = shape
    if height % 2 or width % 2:
        raise GambolError(f"an .mp4 needs an even width and height, got {width} x {height}")
    with (
        replacing(path) as temporary,
        av.open(str(temporary), "w", format="mp4", options={"movflags": "+faststart"}) as container,
    ):
        stream = container.add_stream(
            "libx264", rate=Fraction(fps).limit_denominator(1001), options={"crf": QUALITY, "preset": "medium"}
        )
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        codec = stream.codec_context
        codec.color_primaries = codec.color_trc = codec.colorspace = 1  # BT.709
        codec.color_range = 1  # 16 to 235
        for frame in frames:
            if frame.shape != (height, width, 3):
                raise ValueError(f"all frames must be {height} x {width} x 3, got {frame.shape}")
            picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24")
            picture = picture.reformat(format="yuv420p", dst_colorspace="ITU709", dst_color_range="MPEG")
            container.mux(stream.encode(picture))
        container.mux(stream.encode())


def _write_gif(frames: list[Frame], path: Path, fps: float) -> None:
    """Write a GIF that loops for ever, with one palette for all frames, so that what stands still does not flicker.

    A GIF counts in hundredths of a second: the durations of frames alternate so that the total is right, and above 50
    frames per second some frames are left out.
    """
    from PIL import Image

    step = max(1, int(np.ceil(SHORTEST / (100 / fps))))
    kept = frames[::step]
    ends = np.rint(np.minimum(np.arange(1, len(kept) + 1) * step, len(frames)) * 100 / fps)
    durations = np.maximum(np.diff(ends, prepend=0), SHORTEST) * 10
    sample = np.concatenate([kept[i] for i in evenly(len(kept), PALETTE_FRAMES)])
    palette = Image.fromarray(sample).quantize(256, Image.Quantize.MEDIANCUT, kmeans=1, dither=Image.Dither.NONE)
    small = [Image.fromarray(frame).quantize(palette=palette, dither=Image.Dither.NONE) for frame in kept]
    with replacing(path) as temporary:
        small[0].save(
            temporary,
            format="GIF",
            save_all=True,
            append_images=small[1:],
            duration=[int(duration) for duration in durations],
            loop=0,
            optimize=False,
        )
