"""Record the scale of `gambol report`: measure every clip that artists made for the characters in some folders.

    python benchmarks/artists.py FOLDER [FOLDER ...] [--exclude NAME ...] [-o src/gambol/quality/artists.json]
    python benchmarks/artists.py FOLDER [FOLDER ...] --poses            # after a training of the pose model

The characters of a family, a folder directly inside FOLDER, share clips: of clips with the same name and length one is
measured. Clips in which nothing moves are left out, and so are the seams of clips that do not loop. Only numbers are
kept, none of the assets. At the end it prints how many of these clips `gambol report` itself calls doubtful, and why.
--poses only measures how plausible poses are, which changes with the weights of the pose model, and puts that into the
recording that is there.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gambol import analyze, load
from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.errors import GambolError
from gambol.formats import character_files
from gambol.priors.pixels.prior import PixelPrior
from gambol.quality.flow import motion_amount
from gambol.quality.measures import BY_KEY, MEASURES, Values
from gambol.quality.normalized_clip import normalize_clip
from gambol.quality.pose_plausibility import pose_plausibility
from gambol.quality.report import SEAMS, STILL, action_for, report
from gambol.quality.scale import EVERY, Distribution, Scale, group_of, seen

HOME = Path(__file__).parents[1] / "src/gambol/quality/artists.json"
TESTS = ("InterpolationTest", "MorphStressTest", "RiggedSimple", "SimpleSkin", "RecursiveSkeletons")
"""Files that test readers of glTF rather than show a character."""
LONGEST = 30.0
"""Longer clips are recordings of several actions [s]."""

FEWEST = 8
"""Smallest number of clips in a group; an action with fewer is compared with all clips."""
KNOTS = 51
"""Quantiles kept of each distribution, from the lowest value to the highest."""

Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--exclude", nargs="*", default=[], help="families, and beginnings of file names, to leave out")
    parser.add_argument("-o", "--output", type=Path, default=HOME)
    parser.add_argument(
        "--raw", type=Path, help="file of one JSON line per clip, from which an interrupted run resumes"
    )
    parser.add_argument("--poses", action="store_true", help="only how plausible poses are; the rest stays as it is")
    options = parser.parse_args()
    done: dict[tuple[str, ...], Row] = {}
    if options.raw and options.raw.exists():
        done = {tuple(row["key"]): row for row in map(json.loads, options.raw.read_text().splitlines())}
    rows = []
    for row in measured(options.folders, (*TESTS, *options.exclude), done, pose_row if options.poses else whole_row()):
        if options.raw and tuple(row["key"]) not in done:
            with options.raw.open("a") as log:
                log.write(json.dumps(row) + "\n")
        if not row["still"]:
            rows.append(row)
    scale = scale_of([(row["action"], row["plan"], row["values"]) for row in rows])
    if options.poses:
        options.output.write_text(json_of(with_groups(Scale.from_json(options.output.read_text()), scale)))
        print(f"poses of {len(rows)} clips; wrote {options.output}")
        return
    options.output.write_text(json_of(scale))
    slowest = max(rows, key=lambda row: row["seconds"])
    print(f"{len(rows)} clips, the slowest took {slowest['seconds']} s ({slowest['file']}); wrote {options.output}")
    print_doubtful(rows, scale)


@dataclass(frozen=True, eq=False)
class ArtistClip:
    """A clip to measure."""

    key: tuple[str, ...]
    """Family, name and length: clips that share them are one."""
    file: str
    character: Character
    anatomy: Anatomy
    clip: Clip


def different_clips(folders: Sequence[Path], exclude: tuple[str, ...]) -> Iterator[ArtistClip]:
    """Each different clip of the folders once."""
    known = set()
    for family, path in characters(folders, exclude):
        try:
            character = load(path)
            anatomy = analyze(character)
        except GambolError as error:
            print(f"{path.name}: {error}", file=sys.stderr)
            continue
        for name, clip in character.clips.items():
            key = (family, name, f"{clip.duration:.3f}")
            if key not in known and 0 < clip.duration < LONGEST:
                known.add(key)
                yield ArtistClip(key, path.name, character, anatomy, clip)


def measured(
    folders: Sequence[Path],
    exclude: tuple[str, ...],
    done: dict[tuple[str, ...], Row],
    row_of: Callable[[ArtistClip], Row],
) -> Iterator[Row]:
    """One row for each clip, taken from `done` where it has been measured before."""
    for each in different_clips(folders, exclude):
        if each.key in done:
            yield done[each.key]
            continue
        begin = time.perf_counter()
        try:
            found = row_of(each)
        except GambolError as error:
            print(f"{each.file} '{each.clip.name}': {error}", file=sys.stderr)
            continue
        took = time.perf_counter() - begin
        print(f"{each.file} '{each.clip.name}': {took:.1f} s", flush=True)
        yield {"key": each.key, "file": each.file, "plan": each.anatomy.plan, "seconds": round(took, 2), **found}


def whole_row() -> Callable[[ArtistClip], Row]:
    """Measures all of a clip, also by the prior pixels."""
    prior = PixelPrior.load()

    def row_of(each: ArtistClip) -> Row:
        found = report(each.character, each.clip, each.anatomy, prior=prior)
        return {
            "action": found.action,
            "still": found.verdict == "still",
            "gait": found.pattern and found.pattern.name,
            "broken_rule": found.broken_rule,
            "taken_for": found.prior_score.taken_for if found.mistaken and found.prior_score else "",
            "values": found.values if found.normalized.loops else found.values | dict.fromkeys(SEAMS),
        }

    return row_of


def pose_row(each: ArtistClip) -> Row:
    """Measures how plausible the poses of a clip are."""
    clip = normalize_clip(each.character, each.clip, each.anatomy)
    still = (motion_amount(clip) or 0.0) < STILL
    poses = None if still else pose_plausibility(clip)
    return {"action": action_for(each.clip.name, None), "still": still, "values": poses.values if poses else {}}


def with_groups(scale: Scale, other: Scale) -> Scale:
    """A scale with the distributions of another in place of its own."""
    names = dict.fromkeys([*scale.groups, *other.groups])
    return Scale({name: {**scale.groups.get(name, {}), **other.groups.get(name, {})} for name in names})


def characters(folders: Sequence[Path], exclude: tuple[str, ...]) -> Iterator[tuple[str, Path]]:
    """Family and path of each file to measure."""
    for folder in folders:
        for path in character_files([folder]):
            family = path.relative_to(folder).parts[0]
            if family not in exclude and not path.name.startswith(exclude):
                yield family, path


def scale_of(clips: Sequence[tuple[str | None, str, Values]]) -> Scale:
    """The scale of clips, each given as (action, body plan, values)."""
    groups: dict[str, dict[str, Distribution]] = {}
    actions = sorted({action for action, _, _ in clips if action})
    plans = sorted({group_of(action, plan) for action, plan, _ in clips if action})
    for group in (EVERY, *actions, *plans):
        chosen = [values for action, plan, values in clips if group in (EVERY, action, group_of(action, plan))]
        for key in BY_KEY:
            if (BY_KEY[key].better == "usual") != (group in plans):
                continue
            there = [seen(key, value) for values in chosen if (value := values.get(key)) is not None]
            if len(there) >= FEWEST:
                groups.setdefault(group, {})[key] = distribution_of(there)
    return Scale(groups)


def distribution_of(values: Sequence[float]) -> Distribution:
    shares = np.linspace(0, 1, min(KNOTS, len(values)))
    return Distribution(len(values), tuple(float(f"{each:.4g}") for each in np.quantile(values, shares)))


def json_of(scale: Scale) -> str:
    """The text of artists.json, which `Scale.from_json` reads: one line per distribution."""
    groups = []
    for group, keys in scale.groups.items():
        rows = [f"    {json.dumps(key)}: {json.dumps({'clips': d.clips, 'knots': d.knots})}" for key, d in keys.items()]
        groups.append(f"  {json.dumps(group)}: {{\n" + ",\n".join(rows) + "\n  }")
    return "{\n" + ",\n".join(groups) + "\n}\n"


def print_doubtful(rows: Sequence[Row], scale: Scale) -> None:
    """Print how many of the clips of each action are doubtful, and why."""
    actions = defaultdict(list)
    for row in rows:
        actions[row["action"] or "other"].append(row)
    for action, clips in sorted(actions.items()):
        reasons: Counter[str] = Counter()
        doubtful = 0
        for row in clips:
            why = [each.key for each in MEASURES if each.family != "prior" and is_bad(each.key, row, scale)]
            why += [row["broken_rule"]] if row["broken_rule"] else []
            why += ["the prior takes it for something else"] if row["taken_for"] else []
            reasons.update(why)
            doubtful += bool(why)
        told = ", ".join(f"{why} {count}" for why, count in reasons.most_common())
        print(f"{action}: {doubtful} of {len(clips)} doubtful; {told}")


def is_bad(key: str, row: Row, scale: Scale) -> bool:
    rank = scale.place(key, row["values"].get(key), row["action"], row["plan"])
    return rank is not None and rank.bad


if __name__ == "__main__":
    main()
