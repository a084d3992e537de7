"""Distilled motions before and after the simulation, by the measures of the report."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

from gambol.bench.markdown import mean_and_spread, table
from gambol.bench.paper.methods import Maker, Method
from gambol.bench.results import FAILED, Figures
from gambol.bench.subjects import Subject
from gambol.character.clip import Clip
from gambol.errors import GambolError
from gambol.physics.track import track
from gambol.physics.tracking import TrackConfig
from gambol.quality.footfalls import gait_pattern
from gambol.quality.measures import BY_KEY
from gambol.quality.normalized_clip import normalize_clip


def track_all(
    maker: Maker,
    subjects: Sequence[Subject],
    method: Method,
    iterations: int,
    on_progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> list[str]:
    """Return the lines of the section."""
    found: list[Figures] = []
    left_out = []
    for subject in subjects:
        try:
            take = maker.by_joints(subject, method)
        except GambolError as error:
            left_out.append(f"{subject.name}: {error}")
            continue
        assert take.clip is not None
        settings = {**maker.settings(subject, method), "iterations": iterations}
        make = partial(_tracked, subject, take.clip, iterations, partial(on_progress, subject.name))
        figures = maker.results.figures(f"{subject.name} tracked {method.title}", settings, make)
        if FAILED in figures:
            left_out.append(f"{subject.name}: {figures[FAILED]}")
        else:
            found.append(figures)
    lines = ["### Physics", "", f"{method.title}, '{maker.sentence}', {iterations} iterations of `track`.", ""]
    if not found:
        return [*lines, *left_out, ""]
    keys = [key for key in found[0]["before"] if key in BY_KEY]
    rows = []
    for key in keys:
        measure = BY_KEY[key]
        before, after = ([each[side].get(key) for each in found] for side in ("before", "after"))
        pairs = [(a, b) for a, b in zip(before, after, strict=True) if a is not None and b is not None]
        better = sum(b < a - 1e-9 for a, b in pairs) if measure.better == "low" else None
        name = f"{measure.title} [{measure.unit}]" if measure.unit else measure.title
        counts = f"{better} of {len(pairs)}" if better is not None else ""
        rows.append([name, mean_and_spread(before, 1), mean_and_spread(after, 1), counts])
    same = sum(each["gait_before"] == each["gait_after"] for each in found)
    shares = {share: [each for each in found if each["kept"] == share] for share in (1.0, 0.5, 0.25, 0.0)}
    kept = ", ".join(f"{len(some)} with {share:.0%}" for share, some in shares.items() if some)
    refused = sorted({re.split(r" -?[0-9]", text)[0] for each in found for text in each["refused"]})
    moved = mean_and_spread([100 * each["deviation"] for each in found], 1)
    lines += [table(["", "distilled", "tracked", "better"], rows), ""]
    lines += [
        f"{len(found)} characters, mean ± standard deviation. Bones end up {moved} % of the height from the clip. The "
        f"gait has the same name in {same}. `track` keeps less of what the simulation changed where the clip would be "
        f"visibly worse with all of it: {kept}{' (' + ', '.join(refused) + ')' if refused else ''}.",
        "",
    ]
    return [*lines, *(f"Left out: {text}" for text in left_out), ""]


def _tracked(subject: Subject, clip: Clip, iterations: int, on_progress: Callable[[int, int], None]) -> Figures:
    done = track(
        subject.character,
        clip,
        TrackConfig(iterations=iterations),
        anatomy=subject.anatomy,
        on_progress=lambda what, step, steps, error: on_progress(step, steps),
    )
    return {
        "subject": subject.name,
        "before": dict(done.before),
        "after": dict(done.after),
        "kept": done.kept,
        "refused": list(done.refused),
        "deviation": done.deviation,
        "gait_before": _gait(subject, clip),
        "gait_after": _gait(subject, done.clip),
        "falls": done.fall_time,
    }


def _gait(subject: Subject, clip: Clip) -> str:
    pattern = gait_pattern(normalize_clip(subject.character, clip, subject.anatomy))
    return pattern.name if pattern else ""
