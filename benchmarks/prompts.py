"""Prompt following: `gambol animate` for every character and action, rated as `gambol report` does.

    python benchmarks/prompts.py [fox human duck FILE.glb ...] [--actions walk trot run jump stand] [--preset standard]

Prints a Markdown table: verdict, foot slide and sinking, trunk twist, gait, and the reason where it is doubtful.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import gambol  # before torch, whose idle threads would else take our cores
from gambol.distillation.config import preset_for
from gambol.errors import GambolError
from gambol.priors.pixels.prior import PixelPrior
from gambol.quality.measures import BY_KEY

SHOWN = ("foot_slide_mean", "penetration_mean", "trunk_twist", "roughness")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("characters", nargs="*", default=["fox", "human", "duck"])
    parser.add_argument("--actions", nargs="*", default=["walk", "trot", "run", "jump", "stand"])
    parser.add_argument("--preset", default="standard")
    options = parser.parse_args()
    prior = PixelPrior.load()
    titles = " | ".join(f"{BY_KEY[key].title} [{BY_KEY[key].unit}]".replace(" []", "") for key in SHOWN)
    print(f"| character | action | verdict | {titles} | gait | reason |\n|---|---|---|{'---|' * len(SHOWN)}---|---|")
    for name in options.characters:
        character = gambol.load(name)
        for action in options.actions:
            try:
                clip = gambol.animate(character, f"it {action}s", prior, preset_for(options.preset, prior))
                found = gambol.report(character, clip, prompt=action, prior=prior)
            except GambolError as error:
                print(f"| {Path(name).stem} | {action} | refused |{' |' * (len(SHOWN) + 1)} {error} |", flush=True)
                continue
            numbers = " | ".join(BY_KEY[key].number(found.values.get(key)) for key in SHOWN)
            gait = found.pattern.name if found.pattern else ""
            reason = found.summary.partition(": ")[2] if found.verdict == "doubtful" else ""
            print(f"| {Path(name).stem} | {action} | {found.verdict} | {numbers} | {gait} | {reason} |", flush=True)


if __name__ == "__main__":
    main()
