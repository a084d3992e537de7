"""Do characters do what they are told? A table of characters and sentences, with figures and contact sheets.

    python benchmarks/on_the_word.py fox human trex --rigs FOLDER -o out/on-the-word

Every row is a clip made with the pocket prior from nothing but the sentence. What is asked: legs of a walk alternate
(correlation of left and right at most -0.6), a trot pairs diagonals, a gallop pairs front and hind legs, a jump leaves
the ground, who stands moves less than a tenth of the walk, a run is faster than a walk.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import gambol  # noqa: F401
import numpy as np
from gambol.distillation.config import preset_for
from gambol.distillation.distill import acts_of, prepare
from gambol.distillation.play import Play
from gambol.errors import GambolError
from gambol.formats import load, save
from gambol.priors.pocket.prior import PocketPrior
from gambol.progress import progress
from gambol.quality.clip import ClipReport, measure_clip
from gambol.render.movie import contact_sheet, write_picture
from gambol.render.picture import direct, film

SENTENCES = {
    "walk": "it is walking",
    "trot": "it is trotting",
    "run": "it is running",
    "jump": "it jumps",
    "stand": "it stands still",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("characters", nargs="*", default=["fox", "human", "trex", "duck", "spider"])
    parser.add_argument("--rigs", type=Path, help="a folder of .glb files, all of which are tried too")
    parser.add_argument("--weights", type=Path, help="other weights of the pocket prior")
    parser.add_argument("--preset", default="standard", choices=("draft", "standard", "paper"))
    parser.add_argument("-o", "--output", type=Path, default=Path("out/on-the-word"))
    parser.add_argument("--sheets", type=int, default=8, help="frames on a contact sheet; 0 for none")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    prior = PocketPrior.load(options.weights)
    rigs = sorted(options.rigs.glob("*.glb")) if options.rigs else []
    names = [*options.characters, *map(str, rigs)]
    rows = []
    with progress("clips") as advance:
        for number, (name, action) in enumerate((name, action) for name in names for action in SENTENCES):
            rows.append(tried(prior, name, action, options))
            advance(number + 1, len(names) * len(SENTENCES))
    tell(rows, options.output)


def tried(prior: PocketPrior, name: str, action: str, options: argparse.Namespace) -> dict:
    """One clip, measured."""
    character = load(name)
    begun = time.perf_counter()
    who = Path(name).stem
    try:
        scene = prepare(character, SENTENCES[action], prior, preset_for(options.preset, prior))
        play = Play(acts_of(scene), scene.start)
        while not play.over:
            play.step()
    except GambolError as error:
        return {"who": who, "action": action, "error": str(error)}
    seconds = time.perf_counter() - begun
    report = measure_clip(scene, play.draft(), play.before if scene.config.footing else None)
    motion = scene.motion(play.draft(), action)
    save(character, options.output / f"{who}-{action}.glb", motion)
    if options.sheets:
        times = motion.start + motion.duration * np.arange(options.sheets) / options.sheets
        anatomy = scene.anatomy
        shot = direct(character, motion, times, up=anatomy.up, forward=anatomy.forward, view="side", size=160)
        pictures = list(film(shot, samples=2))
        sheet = contact_sheet(pictures, [f"{moment:.2f} s" for moment in times], columns=options.sheets)
        write_picture(sheet, options.output / f"{who}-{action}.png")
    return {"who": who, "action": action, "seconds": seconds, **figures(report)}


def figures(report: ClipReport) -> dict:
    gait, feet, before, pairs = report.gait, report.feet, report.feet_before, report.pairings
    found: dict = {"taken_for": report.taken_for, "broken": report.broken_word, "length": report.seconds}
    found |= {"rise": report.rise, "aloft": report.aloft}
    if gait is not None and feet is not None and pairs is not None:
        found |= {"sides": pairs.sides, "diagonals": pairs.diagonals, "swing": float(gait.swing.mean())}
        found |= {"flexion": float(gait.flexion.mean()), "lift": float(gait.lift.mean()), "speed": feet.speed}
        found |= {"skating": feet.skating, "depth": feet.depth}
    if before is not None:
        found |= {"skating_before": before.skating, "depth_before": before.depth}
    return found


def verdict(row: dict, rows: list[dict]) -> str:
    """What the issue of this row is, over all sentences of its character; "" if there is none."""
    if "error" in row:
        return row["error"]
    said = [row["broken"]] if row["broken"] else []
    walk = next((r for r in rows if r["who"] == row["who"] and r["action"] == "walk" and "swing" in r), None)
    if walk and "swing" in row:
        if row["action"] == "stand" and row["swing"] > 0.1 * walk["swing"]:
            said.append(f"swings {row['swing'] / walk['swing']:.0%} of its walk")
        if row["action"] == "run" and row["speed"] <= walk["speed"]:
            said.append("is no faster than its walk")
    if row["taken_for"] != row["action"]:
        said.append(f"taken for '{row['taken_for']}'")
    return "; ".join(said)


def tell(rows: list[dict], folder: Path) -> None:
    columns = ("sides", "diagonals", "swing", "flexion", "lift", "aloft", "speed", "length")
    lines = [f"| who | told | {' | '.join(columns)} | slide before → after | sinks before → after | |"]
    lines.append("|" + "---|" * (len(columns) + 5))
    kept = 0
    for row in rows:
        wrong = verdict(row, rows)
        kept += not wrong
        cells = ["" if row.get(name) is None else f"{row[name]:.2f}" for name in columns]
        pairs = [
            f"{row[f'{name}_before']:.2f} → {row[name]:.2f}" if f"{name}_before" in row else ""
            for name in ("skating", "depth")
        ]
        lines.append(f"| {row['who']} | {row['action']} | {' | '.join([*cells, *pairs])} | {wrong} |")
    lines.append("")
    lines.append(f"{kept} of {len(rows)} keep their word")
    (folder / "table.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "table.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
