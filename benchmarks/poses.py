"""Pose spaces beside what else there is: sampling, inverse kinematics and in-betweening on families that are held out.

    python benchmarks/poses.py --weights FILE --true FOLDER --training FOLDER ... --characters FOLDER ... [-o FOLDER]

--true is what `gambol harvest CHARACTERS --source clips` wrote: poses of artists' clips. --training are harvests that
the weights were trained on; ranges of joints and the nearest rig are from those of them that are not held out.
--characters holds the characters themselves, whose meshes are tested for intersections and whose clips are
in-betweened. Families that are held out are those that the weights name, or --families. Every figure is the mean over
rigs of the mean within each rig.

- 1-NNA: share of poses whose nearest other one is of their own set (ideal 50 %; less copies). It depends on the number
  of poses, so compare it with the artists' rows of the same table only: halves of all frames have neighbours in time in
  the other half, halves of the clips show how far true poses of other clips are apart: who has not seen the rig cannot
  be expected to be nearer.
- coverage, MMD, precision and recall (3 neighbours), APD (mean distance of two poses), nearest (mean distance from the
  nearest true pose): by the mean distance of joints in body axes [leg lengths].
- intersections: triangles of the skinned mesh that go through others, beyond those that do when it is bound [%].
- invalid: poses that the validators refuse [%]. beyond range: joints that turn farther than 99 % of the training
  poses' joints at the same place of the body do [%].
- what it learned from, with --artists-weights: samples of a model trained on artists' clips beside those of ours.
- handle error [% of the height]; handles are ends of chains of a true pose, poses start from rest, and the body may
  move along the ground. from its pose: distance from the pose that handles were taken from.
- position error [% of leg lengths] in body axes and angle error [degrees] of all joints in the frames between the keys;
  jerk [leg lengths / s^3], which is best if it is that of the true clip.
- other joints, wrong anatomy: sampled without validators on rigs with fewer or more joints, and carried back.
- mirror image of the rig: the largest angle between poses from noise, and from mirrored noise on the mirrored rig,
  mirrored back; left and right swapped: the mean angle on the rig itself, whose halves may differ; there and back: the
  mean angle between a true pose and itself after inversion [degrees].

With -o, figures of each rig are kept and not measured again; report.md and
report.json are written.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from gambol.errors import GambolError
from gambol.files import write_file
from gambol.formats import character_files, load
from gambol.jsonable import jsonable
from gambol.poses.harvest_files import HarvestedPoses, read_harvest, read_harvests
from gambol.poses.model import PoseModel, shipped
from gambol.poses.turn_ranges import TurnRanges
from gambol.progress import progress
from gambol.tensor_files import read_tensors

from pose_subject import Sizes, Subject, World
from pose_tables import (
    HANDLES,
    LENGTHS,
    Rows,
    automatic_rig,
    in_betweening,
    inverse_kinematics,
    reversibility,
    sampling,
    sources,
    withstanding,
)

QUICK = Sizes(poses=16, mesh_poses=4, triangles=500, solves=1, motions=1)
RARELY = 3
"""One of so many rigs is also measured with other joints and with an automatic rig."""
Tables = dict[str, dict[str, list[dict[str, float]]]]
"""Values of each row of each table."""


def held_out(options: argparse.Namespace) -> list[str]:
    """Families that the weights have not seen."""
    if options.families:
        return list(options.families)
    facts = read_tensors(options.weights or shipped())[1]
    families = json.loads(facts.get("about", "{}")).get("exclude", [])
    if not families:
        raise GambolError("the weights name no family that was left out: give those to measure with --families")
    return list(families)


def found_rigs(options: argparse.Namespace, families: Sequence[str]) -> list[tuple[Path, Path]]:
    """Harvests of held-out families with their characters, spread evenly over all."""
    named = {}
    for path in character_files(options.characters):
        named[re.sub(r"[^\w.-]+", "-", f"{path.parent.name}-{path.stem}")] = path
    if not options.true.is_dir():
        raise GambolError(f"'{options.true}' is not a folder: give one that `gambol harvest --source clips` wrote")
    pairs = []
    for path in sorted(options.true.glob("*.safetensors")):
        if path.stem in named and named[path.stem].parent.name in families and options.only in path.stem:
            pairs.append((path, named[path.stem]))
    if not pairs:
        raise GambolError(f"no character of {', '.join(families)} is in both --true and --characters")
    return pairs


def tables_of(subject: Subject, rare: bool, wanted: Sequence[str]) -> list[tuple[str, Callable[[], Rows]]]:
    """What is measured of a rig. wanted: beginnings of titles, all without any."""
    found: list[tuple[str, Callable[[], Rows]]] = [("Sampling", partial(sampling, subject))]
    if subject.world.artists is not None:
        found.append(("What it learned from", partial(sources, subject)))
    for handles in HANDLES:
        title = f"Inverse kinematics, {handles} handle{'s' * (handles > 1)}"
        found.append((title, partial(inverse_kinematics, subject, handles)))
    for length in LENGTHS:
        found.append((f"In-betweening, {length} frames", partial(in_betweening, subject, length)))
    found.append(("Mirror, inversion, speed", partial(reversibility, subject)))
    if rare:
        found.append(("Other joints, wrong anatomy", partial(withstanding, subject)))
        found.append(("Automatic rig", partial(automatic_rig, subject)))
    return [(title, rows) for title, rows in found if not wanted or title.startswith(tuple(wanted))]


def measure(
    subject: Subject, rare: bool, wanted: Sequence[str], advance: Callable[[str], None]
) -> tuple[Tables, list[str]]:
    """All tables of a rig, and what could not be measured: whatever is wrong with one rig, the others are measured."""
    tables: Tables = {}
    notes = []
    for title, rows_of in tables_of(subject, rare, wanted):
        rows: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
        try:
            for name, values in rows_of():
                rows[name].append(values)
                advance(f"{title}: {name}")
        except Exception as error:
            notes.append(f"{subject.harvest.name}, {title}: {type(error).__name__}: {error}")
        tables[title] = dict(rows)
    return tables, notes


def merged(each: Sequence[Tables]) -> dict[str, dict[str, dict[str, float]]]:
    """Means over rigs of means of each rig, and the number of rigs."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for title in dict.fromkeys(title for tables in each for title in tables):
        fullest = sorted((tables.get(title, {}) for tables in each), key=len, reverse=True)
        for name in dict.fromkeys(name for rows in fullest for name in rows):
            own = [_mean(tables[title][name]) for tables in each if tables.get(title, {}).get(name)]
            found.setdefault(title, {})[name] = {**_mean(own), "rigs": len(own)}
    return found


def _mean(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    """Means of values that are known."""
    found = {}
    for key in dict.fromkeys(key for row in rows for key in row):
        known = [row[key] for row in rows if row.get(key) is not None and np.isfinite(row[key])]
        found[key] = float(np.mean(known)) if known else float("nan")
    return found


def markdown(found: dict[str, dict[str, dict[str, float]]]) -> str:
    """The tables."""
    lines = []
    for title, rows in found.items():
        columns = list(dict.fromkeys(key for values in rows.values() for key in values))
        lines += [f"## {title}", "", f"| | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
        lines += [f"| {name} | {' | '.join(_told(values.get(c)) for c in columns)} |" for name, values in rows.items()]
        lines.append("")
    return "\n".join(lines)


def _told(value: float | None) -> str:
    return "" if value is None or not np.isfinite(value) else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def world_of(options: argparse.Namespace, families: Sequence[str], sizes: Sizes) -> World:
    """The weights, and harvests of characters that are not held out."""
    training: list[HarvestedPoses] = []
    for folder in options.training:
        with progress(f"reading {folder.name}") as advance:
            training += [each for each in read_harvests(folder, advance) if each.family not in families]
    if not training:
        raise GambolError("all characters of --training are held out")
    artists = PoseModel.load(options.artists_weights) if options.artists_weights else None
    return World(options.weights, artists, training, TurnRanges.of(training), sizes)


def run(options: argparse.Namespace) -> str:
    """Measure, and return the tables."""
    families = held_out(options)
    sizes = QUICK if options.quick else replace(Sizes(), poses=options.poses, motions=options.motions)
    pairs = found_rigs(options, families)
    most = min(len(pairs), 3 if options.quick else options.rigs)
    world = world_of(options, families, sizes)
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (options.weights or shipped(),)]
    if options.artists_weights:
        digests.append(hashlib.sha256(options.artists_weights.read_bytes()).hexdigest())
    key: dict[str, object] = {"sizes": asdict(sizes), "weights": digests}
    key["tables"] = options.tables
    key["training"] = [len(world.training), sum(len(each.poses) for each in world.training)]
    results: list[Tables] = []
    notes: list[str] = []
    names = []
    with progress("measuring") as advance:
        order = np.random.default_rng(0).permutation(len(pairs))
        for seed in order:
            if len(results) == most:
                break
            harvest, character = pairs[seed]
            place = options.output / "rigs" / f"{harvest.stem}.json" if options.output else None
            rare = len(results) % RARELY == 0
            own = {**key, "rare": rare}
            if place and place.exists() and (kept := json.loads(place.read_text()))["key"] == own:
                results.append(kept["tables"])
                notes += kept["notes"]
            else:
                try:
                    subject = Subject(world, load(character), read_harvest(harvest), int(seed))
                except GambolError as error:
                    notes.append(str(error))
                    continue
                told = partial(advance, len(results), most, harvest.stem)
                tables, said = measure(subject, rare, options.tables, told)
                results.append(tables)
                notes += said
                if place:
                    place.parent.mkdir(parents=True, exist_ok=True)
                    write_file(place, json.dumps(jsonable({"key": own, "tables": tables, "notes": said})).encode())
            names.append(harvest.stem)
            advance(len(results), most)
    if not results:
        raise GambolError(f"no rig could be measured: {'; '.join(notes)}")
    found = merged(results)
    head = f"{len(results)} rigs of {', '.join(families)}; {sizes.poses} poses of each set.\n\n"
    text = head + markdown(found) + "".join(f"- left out: {note}\n" for note in notes)
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        (options.output / "report.md").write_text(text)
        whole = {"key": key, "families": families, "rigs": names, "tables": found, "notes": notes}
        (options.output / "report.json").write_text(json.dumps(jsonable(whole), indent=1))
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, metavar="FILE", help="by default those that come with gambol")
    parser.add_argument("--artists-weights", type=Path, metavar="FILE", help="trained on artists' clips instead")
    parser.add_argument("--true", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--training", type=Path, nargs="+", required=True, metavar="FOLDER")
    parser.add_argument("--characters", type=Path, nargs="+", required=True, metavar="FOLDER")
    parser.add_argument("--families", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--only", default="", metavar="TEXT", help="only rigs whose names have it")
    parser.add_argument("--rigs", type=int, default=30, help="at most so many")
    parser.add_argument("--poses", type=int, default=Sizes.poses, help="of each set")
    parser.add_argument("--motions", type=int, default=Sizes.motions, help="to in-between, of each rig and length")
    parser.add_argument("--tables", nargs="+", default=[], metavar="TITLE", help="only those that begin like this")
    parser.add_argument("--quick", action="store_true", help="three rigs, few poses")
    parser.add_argument("-o", "--output", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    torch.set_num_threads(1)
    try:
        print(run(options), flush=True)
    except GambolError as error:
        raise SystemExit(f"error: {error}") from None


if __name__ == "__main__":
    main()
