"""Draw every action that a character can be told to do, some frames each, with the verdict of the report: for docs and
for grading.

    python benchmarks/action_pictures.py human fox -o docs/actions
    python benchmarks/action_pictures.py hero.glb -o sheets --frames 8 --views side front --separate

Actions that are experimental for the character, or shown as others, are left out unless --all is given. What was drawn
already is not drawn again, so that an interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

import gambol
import numpy as np
from gambol.commands.actions import known_actions
from gambol.distillation.animate import prepare
from gambol.distillation.config import preset_for
from gambol.distillation.stage_runner import StageRunner
from gambol.distillation.stages import stages_of
from gambol.errors import GambolError
from gambol.priors.catalogue import DEFAULT, open_prior
from gambol.progress import progress
from gambol.render.clip_renderer import ClipRenderer
from gambol.render.movie import evenly
from gambol.render.picture import View, choose_frames
from PIL import Image, ImageDraw, ImageFont

LETTERS = 15
"""Height of a line of text [pixels]."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("characters", nargs="+", help="files, or animals of the zoo")
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder of the pictures")
    parser.add_argument("--frames", type=int, default=4)
    parser.add_argument("--views", nargs="+", default=["three-quarter"], choices=get_args(View))
    parser.add_argument("--size", type=int, default=84, help="width and height of a frame [pixels]")
    parser.add_argument("--columns", type=int, default=3, help="actions beside each other")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all", action="store_true", help="also what is experimental")
    parser.add_argument("--separate", action="store_true", help="a picture with its verdict for each action")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for character in options.characters:
        try:
            draw(character, options)
        except GambolError as error:
            parser.error(str(error))


def draw(name: str, options: argparse.Namespace) -> None:
    """Write the pictures of one character."""
    character, prior = gambol.load(name), open_prior(DEFAULT)
    anatomy = gambol.analyze(character)
    rows = [row for row in known_actions(anatomy) if not row.note or (options.all and row.note == "experimental")]
    renderer, found, stem = ClipRenderer(character, anatomy), {}, Path(name).stem
    with progress(f"drawing {len(rows)} actions of {stem}") as advance:
        for number, row in enumerate(sorted(rows, key=lambda row: row.action)):
            path = options.output / f"{stem}-{row.action.replace(' ', '-')}.png"
            if not (options.separate and path.exists()):
                try:
                    problem = prepare(
                        character, row.action, prior, preset_for("standard", prior, options.seed), anatomy
                    )
                except GambolError as error:
                    print(f"{row.action}: {error}")
                    continue
                clip = problem.clip(StageRunner(stages_of(problem), problem.start).run(), row.action)
                found[row.action] = frames_of(renderer, clip, options)
                if options.separate:
                    summary = gambol.report(character, clip, prompt=row.action).summary
                    sheet([(f"{row.action}, {clip.duration:.2f} s: {summary}", found[row.action])], 1).save(path)
            advance(number + 1, len(rows))
    if not options.separate:
        path = options.output / f"{stem}.jpg"
        sheet(list(found.items()), options.columns).save(path, quality=80, optimize=True)
        print(f"wrote {path}: {len(found)} actions")


def frames_of(renderer: ClipRenderer, clip: gambol.Clip, options: argparse.Namespace) -> np.ndarray:
    """Frames of a clip in a row, the views below each other."""
    views = []
    for view in options.views:
        times, view = choose_frames(clip, view, ".png")
        times = times[evenly(len(times), options.frames)]
        views.append(np.concatenate(list(renderer.frames(clip, times, view, options.size)), 1))
    return np.concatenate(views, 0)


def sheet(rows: list[tuple[str, np.ndarray]], columns: int) -> Image.Image:
    """Rows of frames with their titles, some beside each other."""
    height, width = rows[0][1].shape[:2]
    columns = min(columns, len(rows))
    lines, gap = -(-len(rows) // columns), 6
    found = Image.new("RGB", (columns * (width + gap) - gap, lines * (height + LETTERS + gap)), "white")
    draw, font = ImageDraw.Draw(found), ImageFont.load_default(LETTERS - 4)
    for number, (title, frames) in enumerate(rows):
        x, y = number % columns * (width + gap), number // columns * (height + LETTERS + gap)
        draw.text((x + 2, y), title, (40, 40, 40), font)
        found.paste(Image.fromarray(frames), (x, y + LETTERS))
    return found


if __name__ == "__main__":
    main()
