"""The report on a clip: all that was measured, what it is worth among artists' clips, and what stands out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.jsonable import jsonable
from gambol.motion.motion import Motion
from gambol.priors.pocket.language.words import action_of_clip, understand
from gambol.quality.footfalls import Pattern, gait_pattern
from gambol.quality.measures import MEASURES, Measure, Values, measure, percent
from gambol.quality.scale import Standing, artists
from gambol.quality.specimen import Specimen, examine

if TYPE_CHECKING:
    from gambol.priors.prior import VideoPrior
    from gambol.quality.opinion import Opinion

SCHEMA = "gambol.report/1"
"""Of report.json. Keys are added, never changed."""
STILL = 0.01
"""What moves less stands still, and is praised for nothing [m/s at 1 m height]."""
FROZEN = 1e-4
"""The same of what should stand, which breathes [m/s at 1 m height]."""
SEAMS = ("seam_pose", "seam_velocity")
WEAK = 0.03
"""What is better than only this share of artists' clips stands out as bad."""
TOLD = 3
"""So many things that stand out are told."""

RIVALS = ("a character stands still", "a character walks", "a character runs", "a character jumps", "a character falls")
"""What big priors choose from, besides the user's own words."""

Verdict = Literal["good", "doubtful", "still"]


@dataclass(frozen=True, eq=False)
class Report:
    """Of one clip."""

    specimen: Specimen
    values: Values
    action: str | None
    """What it should show, by the user's words or the clip's name; None if neither says."""
    pattern: Pattern | None
    opinion: Opinion | None
    notes: tuple[str, ...] = ()
    """What could not be measured, and why."""

    @cached_property
    def standings(self) -> dict[str, Standing | None]:
        """By key of a measure."""
        found = {each.key: artists().place(each.key, self.values.get(each.key), self.action) for each in MEASURES}
        if not self.specimen.loops:  # then there is no seam, only an end and a start
            found |= dict.fromkeys(SEAMS)
        return found

    @cached_property
    def judged(self) -> list[tuple[float, Measure]]:
        """What decides: shares of artists' clips that are not better, the worst first. What is neither good nor bad
        does not, nor the prior, whose opinion is often wrong."""
        found = []
        for each in MEASURES:
            standing = self.standings[each.key]
            if standing and each.better != "neither" and each.family != "prior":
                found.append((standing.share, each))
        return sorted(found, key=lambda pair: pair[0])

    @cached_property
    def weak(self) -> list[Measure]:
        """What stands out as bad, the worst first."""
        return [each for share, each in self.judged if share < WEAK and (self.values[each.key] or 0.0) > each.unseen]

    @property
    def verdict(self) -> Verdict:
        moves = self.values.get("motion_amount") or 0.0
        if moves < (FROZEN if self.action == "stand" else STILL):
            return "still"
        return "doubtful" if self.weak else "good"

    @property
    def summary(self) -> str:
        """One honest line."""
        if self.verdict == "still":
            return "still: it hardly moves, so the other numbers say little"
        if self.weak:
            told = [
                f"{each.title} {each.text(self.values[each.key])} ({self.worth(each)})" for each in self.weak[:TOLD]
            ]
            return f"doubtful: {'; '.join(told)}"
        if not self.judged:
            return "good: nothing stands out, though little could be measured"
        middle = self.judged[len(self.judged) // 2][0]
        worth = f"the median of {len(self.judged)} measures is as good as {middle:.0%} of artist clips, or better"
        return f"good: nothing stands out; {worth}"

    def worth(self, each: Measure, among: str | None = None) -> str:
        """Where a number stands among artists' clips, in words. among: the kind of clips that need not be named."""
        standing = self.standings[each.key]
        if standing is None:
            return ""
        of = f" of {standing.among}" if standing.kind != among else ""
        if each.better == "neither":
            return f"more than {standing.share:.0%}{of}"
        if standing.share - standing.worse > 0.02:
            return f"as good as {standing.share:.0%}{of}"
        return f"better than {standing.worse:.0%}{of}"

    def plain(self) -> dict[str, Any]:
        """For report.json."""
        from gambol import __version__

        specimen = self.specimen
        anatomy = specimen.anatomy
        return jsonable(
            {
                "schema": SCHEMA,
                "gambol": __version__,
                "character": specimen.character.name,
                "clip": specimen.motion.name,
                "seconds": specimen.seconds,
                "loops": specimen.loops,
                "travel_m": specimen.way,
                "ground_m_s": specimen.ground,
                "action": self.action,
                "verdict": self.verdict,
                "summary": self.summary,
                "metrics": {each.key: self._metric(each) for each in MEASURES},
                "gait": self.pattern,
                "contacts": [
                    {"foot": anatomy.limb_name(leg), "down": down, "up": up}
                    for number, leg in enumerate(anatomy.legs)
                    for down, up in specimen.contacts.spans(number)
                ],
                "opinion": self.opinion,
                "notes": self.notes,
            }
        )

    def _metric(self, each: Measure) -> dict[str, Any]:
        standing = self.standings[each.key]
        return {
            "value": self.values.get(each.key),
            "unit": each.unit,
            "better": each.better,
            "artists": standing and {"share": standing.share, "group": standing.group, "clips": standing.clips},
        }


def report_on(
    character: Character,
    motion: Motion,
    anatomy: Anatomy | None = None,
    *,
    prompt: str | None = None,
    prior: VideoPrior | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Report:
    """Measure a clip.

    prompt: what it should show; its name says if not given. prior: asked what it sees; nobody is if not given.
    """
    specimen = examine(character, motion, anatomy)
    values = measure(specimen, on_progress)
    action = action_for(motion.name, prompt)
    opinion, notes = _opinion(specimen, prior, prompt or action)
    if prompt and not understand(prompt):
        notes = [f"no action is recognised in '{prompt}': the clip's name says what it is compared with", *notes]
    values |= {
        "agreement": percent(opinion.share_of(action)) if opinion else None,
        "plausibility": opinion.plausibility if opinion else None,
    }
    return Report(specimen, values, action, gait_pattern(specimen), opinion, tuple(notes))


def action_for(clip: str, prompt: str | None) -> str | None:
    """What a clip should show."""
    intent = understand(prompt) if prompt else None
    return intent.action if intent else action_of_clip(clip)


def _opinion(specimen: Specimen, prior: VideoPrior | None, words: str | None) -> tuple[Opinion | None, list[str]]:
    """words: what the clip should show. The pocket prior chooses among its own; others need to be told rivals."""
    from gambol.errors import GambolError
    from gambol.quality.opinion import ask

    if prior is None:
        return None, []
    prompts = None if prior.look == "parts" else [*([words] if words else []), *RIVALS]
    try:
        opinion = ask(specimen, prior, prompts)
    except GambolError as error:
        return None, [f"the prior was not asked: {error}"]
    return opinion, [] if opinion else ["the prior was not asked: the clip holds no cycle or deed of a kind it knows"]


def json_of(report: Report, against: Report | None = None) -> str:
    """report.json; against: the clip it is compared with."""
    plain = report.plain()
    if against:
        other = against.plain()
        plain["against"] = {
            key: other[key] for key in ("character", "clip", "seconds", "verdict", "summary", "metrics")
        }
    return json.dumps(plain, indent=1, ensure_ascii=False) + "\n"


def rows_of(
    report: Report, against: Report | None = None, among: str | None = None
) -> Sequence[tuple[Measure, str, str, str]]:
    """(measure, value, value of the other, where it stands), without what could not be measured in either."""
    rows = []
    for each in MEASURES:
        own, other = report.values.get(each.key), against.values.get(each.key) if against else None
        if own is not None or other is not None:
            rows.append((each, each.text(own), each.text(other) if against else "", report.worth(each, among)))
    return rows
