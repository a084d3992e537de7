"""What differs between actions: gaits by their footfalls, and sheets, also of what AKD cannot do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gambol.bench.body_motion import BodyMotion
from gambol.bench.markdown import number, table
from gambol.bench.paper.methods import Maker, Method, sampled
from gambol.bench.paper.scores import scores_of
from gambol.bench.sheets import write_sheet
from gambol.bench.subjects import Subject
from gambol.errors import GambolError
from gambol.language import parse_intent
from gambol.quality.footfalls import alternation, gait_pattern
from gambol.quality.normalized_clip import normalize_clip
from gambol.text import safe_names

GAITS = ("it walks", "it trots", "it runs", "it jumps")
SHOWN = (("fox", "it jumps"), ("human", "she dances"), ("human", "she punches"))
"""The paper's artist rigs: a fox that jumps, a girl who dances and punches."""
HARD = (
    ("fox", "it sits down"),
    ("human", "he sits down"),
    ("human", "he does a cartwheel"),
    ("human", "he cheers, arms raised"),
    ("human", "he points"),
)
"""What the paper says it cannot do: an animal that sits, a cartwheel, raised hands, poses of the hand."""


def gaits(makers: Sequence[Maker], subjects: Sequence[Subject], methods: Sequence[Method]) -> list[str]:
    """Return the lines of the section on gaits. makers: one for each sentence."""
    rows = []
    for subject in subjects:
        for method in methods:
            for maker in makers:
                try:
                    take = maker.by_joints(subject, method)
                except GambolError as error:
                    rows.append([subject.name, method.title, maker.sentence, str(error).split(";")[0][:60], *["–"] * 4])
                    continue
                assert take.clip is not None
                clip = normalize_clip(subject.character, take.clip, subject.anatomy)
                pattern = gait_pattern(clip)
                duty = sum(pattern.duty) / len(pattern.duty) if pattern and pattern.duty else None
                by_turns = alternation(clip)
                speed = float((clip.travel**2).sum() ** 0.5 / clip.seconds) if clip.seconds else None
                frequency = pattern.frequency if pattern else None
                values = [number(by_turns), number(duty), number(frequency), number(speed)]
                rows.append([subject.name, method.title, maker.sentence, pattern.name if pattern else "–", *values])
    head = ["", "by", "sentence", "gait", "left and right by turns", "duty factor", "strides/s", "speed [heights/s]"]
    first = "By turns: 1, together: -1. Walking legs of each side alternate; in a gallop pairs move together."
    return ["### Diversity", "", first, "", table(head, rows), ""]


def sheets(
    makers: Sequence[tuple[Subject, Maker]], methods: Sequence[Method], folder: Path, title: str, about: str
) -> list[str]:
    """Return the lines of a section with a sheet for each subject and sentence, a row for each method."""
    rows, pictures = [], []
    for subject, maker in makers:
        motions: dict[str, BodyMotion] = {}
        intent = parse_intent(maker.sentence)
        for method in methods:
            try:
                take = maker.by_joints(subject, method)
            except GambolError as error:
                rows.append(
                    [f"{subject.name}: {maker.sentence}", method.title, "–", "–", str(error).split(";")[0][:90]]
                )
                continue
            motions[method.title] = take.motion
            scores = scores_of(take.motion, intent.action) if intent else {}
            shown = [number(scores.get(key)) for key in ("semantic", "physical")]
            rows.append([f"{subject.name}: {maker.sentence}", method.title, *shown, ""])
        if motions:
            words = safe_names((maker.sentence,))[0]
            path = folder / f"{subject.name}-{words}-{maker.digest(subject)}.png"
            if not path.exists():
                write_sheet(subject.character, motions, path)
            pictures.append(f"![{subject.name}: {maker.sentence}]({folder.name}/{path.name})")
    return [f"### {title}", "", about, "", table(["", "by", "SA", "PC", "refused"], rows), "", *pictures, ""]


def ours(maker: Maker) -> Method:
    """Return the default of `gambol animate`."""
    return Method("prior tracks", sampled(maker.prior("tracks")), "tracks")
