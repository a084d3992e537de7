"""Articulated kinematics beside a deformation field: same character, renderer, prior, score and number of calls."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gambol.bench.body_motion import body_motion_of
from gambol.bench.deformation import DeformationConfig
from gambol.bench.markdown import mean_and_spread, table
from gambol.bench.paper.methods import Maker, Method
from gambol.bench.paper.scores import COLUMNS, Scores, judged, mean, score_table, scores_of, wins
from gambol.bench.plots import write_bars
from gambol.bench.sheets import write_sheet, write_video
from gambol.bench.subjects import Subject
from gambol.bench.videophy import SIDE, Version, read_answers, write_questions
from gambol.errors import GambolError

SHEETS = 6
"""Characters of which a sheet is drawn."""
AKD = Method("AKD")
SHORT_NAMES = {"AKD": "akd", "deformation field": "field", "artists' clips": "artist"}
"""Of files."""
PAPER = (
    "The paper, by people's eyes and VideoPhy on 29 assets: SA 0.52 (AKD) against 0.40 (TC4D), PC 0.38 against 0.31."
)


def compare(
    maker: Maker,
    subjects: Sequence[Subject],
    action: str,
    rival: DeformationConfig,
    folder: Path,
    videophy: Version | None = None,
) -> list[str]:
    """Return the lines of the section. videophy: write videos and questions for this version of VideoPhy, and tell its
    answers if they are there."""
    rows: dict[str, list[Scores]] = {"AKD": [], "deformation field": [], "artists' clips": []}
    calls, seconds = [], []
    sheets: list[Path] = []
    unstretched: list[Scores] = []
    videos: dict[str, list[Path]] = {name: [] for name in rows}
    left_out = []
    for subject in subjects:
        try:
            ours, theirs = maker.by_joints(subject, AKD), maker.by_field(subject, rival)
        except GambolError as error:
            left_out.append(f"Left out: {subject.name}: {error}")
            continue
        motions = {"AKD": ours.motion, "deformation field": theirs.motion}
        artists = subject.artists_clip(action)
        if artists is not None:
            motions["artists' clips"] = body_motion_of(subject.character, artists, subject.anatomy)
        unstretched.append(judged(theirs.motion.unstretched(), action))
        own = f"{subject.name}-{maker.digest(subject)}"
        for name, motion in motions.items():
            rows[name].append(scores_of(motion, action))
            if videophy:
                video = folder / "videophy" / f"{own}-{SHORT_NAMES[name]}.mp4"
                videos[name].append(video)
                if not video.exists():
                    write_video(subject.character, motion, video, SIDE)
        calls.append((ours.calls, theirs.calls))
        seconds.append((ours.seconds, theirs.seconds))
        if len(sheets) < SHEETS:
            path = folder / f"{own}.png"
            if not path.exists():
                write_sheet(subject.character, motions, path)
            sheets.append(path)
    rows = {name: scores for name, scores in rows.items() if scores}
    if not rows:
        return ["### Articulated kinematics against a deformation field", "", *left_out, ""]
    compared = len(rows["AKD"])
    lines = ["### Articulated kinematics against a deformation field", "", _explanation(maker, compared, calls), ""]
    lines += [
        score_table(rows),
        "",
        _unstretched(rows["AKD"], unstretched),
        "",
        _wins(rows["AKD"], rows["deformation field"]),
        "",
        PAPER,
        "",
    ]
    lines += [_cost(seconds), ""]
    if videophy:
        lines += [*_by_videophy(videos, maker.sentence, folder / "videophy", videophy), ""]
    names = ["SA", "PC"]
    bars = {
        name: [mean([each[key] for each in scores]) for key in ("semantic", "physical")]
        for name, scores in rows.items()
    }
    write_bars(folder / "comparison.svg", "Semantic alignment and physical commonsense", names, bars, 1.0)
    lines += [f"![SA and PC]({folder.name}/comparison.svg)", ""]
    lines += [f"![{path.stem}: AKD, field, artist]({folder.name}/{path.name})" for path in sheets]
    return [*lines, "", *left_out, ""]


def _explanation(maker: Maker, compared: int, calls: Sequence[tuple[int, int]]) -> str:
    ours, theirs = (mean_and_spread([pair[side] for pair in calls], 0) for side in (0, 1))
    return (
        f"{compared} characters, '{maker.sentence}', prior {maker.prior_name}, {maker.steps} steps, seed "
        f"{maker.seed}; {ours} calls of the prior for AKD and {theirs} for the field. The field displaces every point "
        "in space and time (4D-fy, TC4D), its trajectory is given. SA and PC are those of our judge, from 0 to 1; mean "
        "± standard deviation over characters. The field moves points, so its limbs may stretch."
    )


def _unstretched(ours: Sequence[Scores], theirs: Sequence[Scores]) -> str:
    """Return SA and PC of the field as if its limbs did not stretch."""
    won = {key: wins(ours, theirs, key) for key in ("semantic", "physical")}
    semantic, physical = (mean_and_spread([each[key] for each in theirs]) for key in won)
    counts = " and ".join(f"{found[0]}" for found in won.values() if found)
    return (
        "To the judge limbs that stretch are no limbs. With strokes of the length that they have at rest, in the "
        f"directions that the field gives them, its SA is {semantic} and its PC {physical}; AKD is better on {counts} "
        f"of {len(ours)} characters."
    )


def _wins(ours: Sequence[Scores], theirs: Sequence[Scores]) -> str:
    """Return on how many characters each side is better, by every column that has a better side."""
    rows = []
    for column in COLUMNS:
        found = wins(ours, theirs, column.key)
        if found:
            rows.append([column.title, *map(str, found)])
    return table(["", "AKD is better", "equal", "field is better"], rows)


def _by_videophy(videos: dict[str, list[Path]], sentence: str, folder: Path, version: Version) -> list[str]:
    """Return what VideoPhy says of the videos, or what to do so that it says something."""
    every = [video for some in videos.values() for video in some]
    write_questions(folder, dict.fromkeys(every, sentence), version)
    semantic, physical = folder / "sa-answers.csv", folder / "pc-answers.csv"
    if not (semantic.exists() and physical.exists()):
        return [f"VideoPhy-{version} has not judged yet: its questions are in {folder.name}/, see docs/judge.md."]
    try:
        answers = read_answers(semantic, physical, every, version)
    except GambolError as error:
        return [f"VideoPhy-{version}: {error}."]
    body = []
    for name, some in videos.items():
        if some:
            both = ([getattr(answers[video], kind) for video in some] for kind in ("semantic", "physical"))
            body.append([name, *map(mean_and_spread, both), str(len(some))])
    return [f"By VideoPhy-{version}:", "", table(["", "SA", "PC", "videos"], body)]


def _cost(seconds: Sequence[tuple[float, float]]) -> str:
    ours, theirs = (mean_and_spread([pair[side] for pair in seconds], 0) for side in (0, 1))
    return f"Seconds for a character: AKD {ours}, field {theirs}."
