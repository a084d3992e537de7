"""Make the clips of graded_clips.csv and blind sheets to grade them by: anonymous numbers in random order.

    python benchmarks/grade_sheets.py FOLDER OUTPUT

FOLDER holds the rigged characters that the list names. OUTPUT gets each clip (NUMBER.pickle) and contact sheets of four
clips each, eight frames from the side and from the front, with what the clip should show and how long it takes. What
made a clip, an artist, gambol or a spoiler, does not stand on the sheet.
"""

from __future__ import annotations

import argparse
import csv
import pickle
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
from gambol import Anatomy, Character, Clip, analyze, animate, load
from gambol.bench.spoiling import SPOILERS, Source
from gambol.errors import GambolError
from gambol.language import action_of_clip, parse_intent
from gambol.motion.loops import loop_travel
from gambol.progress import progress
from gambol.render.movie import write_picture
from gambol.render.picture import View, place_cameras, render_frames
from gambol.render.raycast import MeshScene
from PIL import Image, ImageDraw

LIST = Path(__file__).parent / "graded_clips.csv"
FRAMES, SIZE = 8, 176
"""Frames of a strip, and width and height of each [pixels]."""
CLIPS = 4
"""Clips on one sheet."""
Row = dict[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    rows = rows_of(LIST)
    with progress("clips") as advance:
        for done, row in enumerate(rows):
            try:
                make(options.folder, row, options.output)
            except GambolError as error:
                print(f"{row['file']}, {row['sentence']}: {error}", flush=True)
            advance(done + 1, len(rows))
    strips = [path for row in rows if (path := options.output / f"{row['number']}.png").exists()]
    for number in range(0, len(strips), CLIPS):
        pictures = [np.asarray(Image.open(path)) for path in strips[number : number + CLIPS]]
        write_picture(np.concatenate(pictures), options.output / f"sheet-{number // CLIPS:02d}.png")


def rows_of(path: Path) -> list[Row]:
    """The rows of the list, in its order, which is random."""
    with path.open() as lines:
        return list(csv.DictReader(lines))


@cache
def loaded(path: Path) -> tuple[Character, Anatomy]:
    character = load(path)
    return character, analyze(character)


def action_of(sentence: str) -> str:
    """The action that a sentence, or the name of an action, asks for."""
    intent = parse_intent(sentence)
    return intent.action if intent else action_of_clip(sentence) or sentence


def shown(sentence: str) -> str:
    """What a clip should show, in the same words whoever made it."""
    intent = parse_intent(sentence)
    return intent.meaning if intent else sentence


def make(folder: Path, row: Row, output: Path) -> None:
    """Make one clip of the list and its strip, unless they are there."""
    picture = output / f"{row['number']}.png"
    if picture.exists():
        return
    character, anatomy = loaded(folder / row["file"])
    clip = clip_of(character, anatomy, row)
    picture.with_suffix(".pickle").write_bytes(pickle.dumps(clip))
    write_picture(strip(character, anatomy, clip, f"{row['number']}: {shown(row['sentence'])}"), picture)


def clip_of(character: Character, anatomy: Anatomy, row: Row) -> Clip:
    """The clip of a row: made from the sentence, an artist's, or a spoiled copy of one."""
    if row["maker"] == "gambol":
        return animate(character, row["sentence"])
    clip = character.clips[row["clip"]]
    if row["maker"] not in SPOILERS:  # an artist's, which shows what the sentence says or something else
        return clip
    spoiled = SPOILERS[row["maker"]](Source(character, anatomy, clip, action_of(row["sentence"])))
    if spoiled is None:
        raise GambolError(f"'{row['clip']}' cannot be spoiled by '{row['maker']}'")
    return spoiled


def strip(character: Character, anatomy: Anatomy, clip: Clip, title: str) -> np.ndarray:
    """Frames of a clip from the side above frames from the front."""
    times = np.linspace(clip.start, clip.end, FRAMES)
    loops = loop_travel(character, clip) is not None
    bar = Image.new("RGB", (FRAMES * SIZE, 18), "white")
    words = f"{title} ({clip.duration:.2f} s, {'a loop' if loops else 'once'})"
    ImageDraw.Draw(bar).text((4, 3), words, fill="black")
    sides: tuple[View, ...] = ("side", "front")
    views = [np.concatenate(list(frames_of(character, anatomy, clip, times, view)), axis=1) for view in sides]
    return np.concatenate([np.asarray(bar), *views])


def frames_of(
    character: Character, anatomy: Anatomy, clip: Clip, times: np.ndarray, view: View
) -> Iterable[np.ndarray]:
    shot = place_cameras(character, clip, times, up=anatomy.up, forward=anatomy.forward, view=view, size=SIZE)
    return render_frames(shot, MeshScene(character), samples=2)


if __name__ == "__main__":
    main()
