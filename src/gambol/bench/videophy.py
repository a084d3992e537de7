"""VideoPhy as a judge of videos: what it is asked, and what it answers.

Its model, mPLUG-Owl-video, is code of its own repository (github.com/Hritikbansal/videophy) for old versions of
transformers, and no class of transformers; so it runs there, in an environment of its own, and gambol writes what its
scripts read and reads what they write. Two versions: VideoCon-Physics of VideoPhy (probability of a yes) and
VideoPhy-2-AutoEval (grades from 1 to 5).
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

from gambol.errors import GambolError

Version = Literal[1, 2]
SIDE = 224
"""Width and height to which VideoPhy scales every frame [pixels]."""
DIALOGUE = (
    "The following is a conversation between a curious human and {article}AI assistant. The assistant gives helpful, "
    "detailed, and polite answers to the user's questions.\nHuman: <|video|>\nHuman: {question}\nAI: "
)
QUESTIONS: dict[Version, tuple[str, str]] = {
    1: ('Does this video entail the description: "{caption}"?', "Does this video follow the physical laws?"),
    2: (
        'Does this video match the description: "{caption}"? Please rate the video on a scale from 1 to 5, where 5 '
        "indicates a perfect match and 1 indicates no relevance.",
        "Does this video adhere to the physical laws? Rate the video on a scale from 1 to 5, where 5 means full "
        "compliance and 1 means significant violations.",
    ),
}
"""What is asked about the description and about physics."""
SEMANTIC, PHYSICAL = "sa.csv", "pc.csv"
"""Names of the files of questions."""
LOWEST, HIGHEST = 1.0, 5.0
"""Grades of VideoPhy-2."""


@dataclass(frozen=True)
class VideoScores:
    """What VideoPhy says of a video, from 0 to 1."""

    semantic: float
    """SA: whether it shows what the sentence says."""
    physical: float
    """PC: whether it follows physical laws."""


def prompts(sentence: str, version: Version = 2) -> tuple[str, str]:
    """Return what VideoPhy reads beside a video: for SA and for PC."""
    article = "an " if version == 2 else ""
    semantic, physical = QUESTIONS[version]
    return (
        DIALOGUE.format(article=article, question=semantic.format(caption=sentence)),
        DIALOGUE.format(article=article, question=physical),
    )


def write_questions(folder: Path, videos: Mapping[Path, str], version: Version = 2) -> tuple[Path, Path]:
    """Write the files that VideoPhy's script reads with --input_csv, for SA and for PC.

    videos: what each should show, as a sentence."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / SEMANTIC, folder / PHYSICAL
    for which, path in enumerate(paths):
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["videopath", "caption"])
            for video, sentence in videos.items():
                writer.writerow([str(video.resolve()), prompts(sentence, version)[which]])
    return paths


def read_answers(
    semantic: Path, physical: Path, videos: Sequence[Path], version: Version = 2
) -> dict[Path, VideoScores]:
    """Read what VideoPhy's script wrote with --output_csv. Raises GambolError if a video has no answer."""
    both = [_answers(path, version) for path in (semantic, physical)]
    found = {}
    for video in videos:
        values = []
        for path, answers in zip((semantic, physical), both, strict=True):
            if str(video.resolve()) not in answers:
                raise GambolError(f"'{path}' has no answer for '{video}' (VideoPhy-2's script reads 20 rows at a time)")
            values.append(answers[str(video.resolve())])
        found[video] = VideoScores(*values)
    return found


def _answers(path: Path, version: Version) -> dict[str, float]:
    """The answer for each video, from 0 to 1. VideoPhy's script writes columns with names, or, version 1, rows of path,
    question and answer."""
    try:
        with path.open(newline="") as file:
            if version == 1:
                found = {row[0]: float(row[2]) for row in csv.reader(file) if row}
            else:
                rows = csv.DictReader(file)
                found = {row["videopath"]: (float(row["score"]) - LOWEST) / (HIGHEST - LOWEST) for row in rows}
    except (OSError, LookupError, TypeError, ValueError) as error:
        raise GambolError(f"'{path}' holds no answers of VideoPhy: {error}") from None
    if wrong := [video for video, value in found.items() if not 0 <= value <= 1]:
        raise GambolError(f"'{path}' has an answer out of range for '{wrong[0]}'")
    return found


def refuse_weights(folder: Path) -> NoReturn:
    """Say why weights of VideoPhy cannot be used directly, and what to do. Raises GambolError."""
    try:
        kind = json.loads((folder / "config.json").read_text()).get("model_type", "")
    except (OSError, ValueError, AttributeError):
        raise GambolError(f"'{folder}' is no checkpoint: it has no config.json that can be read") from None
    raise GambolError(
        f"'{folder}' holds a model of type '{kind}'. gambol cannot run VideoPhy's model, which is code of its own "
        "repository and no class of transformers: run its script there on the files that gambol writes (docs/judge.md)"
    )
