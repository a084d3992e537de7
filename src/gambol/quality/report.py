"""The report on a clip: its measures, their places among artists' clips, and one verdict with its reasons."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from gambol.actions import ACTION_OF_GAIT, ACTIONS, general_action
from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.jsonable import jsonable
from gambol.language import action_of_clip, parse_intent
from gambol.quality.faults import faults
from gambol.quality.footfalls import GaitPattern, gait_pattern
from gambol.quality.measures import MEASURES, Measure, Values, measure
from gambol.quality.motion_features import motion_features
from gambol.quality.normalized_clip import NormalizedClip, normalize_clip
from gambol.quality.recognition import ArtistMotions, Comparison, artist_motions
from gambol.quality.rules import broken_rule
from gambol.quality.scale import PercentileRank, artists

if TYPE_CHECKING:
    from gambol.priors.prior import VideoPrior
    from gambol.quality.pose_plausibility import PosePlausibility
    from gambol.quality.prior_score import PriorScore

SCHEMA = "gambol.report/2"
"""Version of report.json: keys may be added, but not changed."""
STILL = 0.01
"""A clip with less `motion_amount` is static and gets no rating [m/s at 1 m height]."""
FROZEN = 1e-4
"""Smallest `motion_amount` of a clip that should stand, in which a character breathes [m/s at 1 m height]."""
SEAMS = ("seam_pose", "seam_velocity")
SHAKING = ("high_frequency", "roughness")
MOST_REASONS = 3
"""Bad measures that the summary names, at most."""

OTHER_PROMPTS = (
    "a character stands still",
    "a character walks",
    "a character runs",
    "a character jumps",
    "a character falls",
)
"""Sentences that a prior without a vocabulary chooses from, besides the user's own."""

Verdict = Literal["good", "plausible", "doubtful", "still"]
"""`doubtful` has a reason: a fault, a broken rule, a bad measure, or another action that it looks like. `good` is what
has none and is typical of its action: surely recognised among artists' clips, with their tempo, speed and reach
(`Comparison.reservations`). `plausible` is all else: nothing wrong was found, which says little."""


@dataclass(frozen=True, eq=False)
class Report:
    """The report on one clip."""

    normalized: NormalizedClip
    values: Values
    action: str | None
    """Action that the clip should show, by the user's sentence or the clip's name; None if neither names one."""
    pattern: GaitPattern | None
    broken_rule: str
    """What the legs do against the rule of the action (`quality.rules`); "" if they keep it."""
    prior_score: PriorScore | None
    notes: tuple[str, ...] = ()
    """What could not be measured, and why, for the user."""
    inapplicable: tuple[str, ...] = ()
    """Keys of measures that say nothing about what the sentence asks for."""
    faults: tuple[str, ...] = ()
    """Faults that need no comparison (`quality.faults`)."""
    comparison: Comparison | None = None
    """What it looks like beside artists' clips (`quality.recognition`); None if its action is not known."""
    poses: PosePlausibility | None = None
    """How plausible its poses are, frame by frame; None without a pose model."""

    @cached_property
    def ranks(self) -> dict[str, PercentileRank | None]:
        """Place among artists' clips by key of a measure; None where there is none."""
        plan, places = self.normalized.anatomy.plan, artists().place
        found = {each.key: places(each.key, self.values.get(each.key), self.action, plan) for each in MEASURES}
        row = ACTIONS[self.action] if self.action else None
        deed = row is not None and (not row.loops or row.legs == "aloft")  # a single jump ends about as it begins
        if deed or not self.normalized.loops:  # the clip has no seam, only an end and a start
            found |= dict.fromkeys(SEAMS)
        return found | dict.fromkeys(self.inapplicable)

    @cached_property
    def judged(self) -> list[tuple[float, Measure]]:
        """Measures that decide the verdict and their shares (`PercentileRank.share`), the worst first. Measures
        without a good and a bad side do not decide, nor does the prior's score, which is often wrong."""
        found = []
        for each in MEASURES:
            rank = self.ranks[each.key]
            if rank and each.better != "neither" and each.family != "prior":
                found.append((rank.share, each))
        return sorted(found, key=lambda pair: pair[0])

    @cached_property
    def bad(self) -> list[Measure]:
        """Measures that make the clip doubtful, the worst first. Shaking is not seen where hardly anything moves."""
        found = [each for _, each in self.judged if (rank := self.ranks[each.key]) and rank.bad]
        return [each for each in found if each.key not in SHAKING or self.motion_amount >= STILL]

    @property
    def motion_amount(self) -> float:
        """Mean speed of the bones beside the travel of the whole body [m/s at 1 m height]."""
        return self.values.get("motion_amount") or 0.0

    @property
    def mistaken(self) -> bool:
        """Whether the prior is sure that the clip shows another action than it should."""
        return bool(self.prior_score and self.action and self.prior_score.mistakes(self.action))

    @property
    def verdict(self) -> Verdict:
        if self.motion_amount < (FROZEN if self.action == "stand" else STILL):
            return "still"
        if self.bad or self.broken_rule or self.mistaken or self.unlike:
            return "doubtful"
        return "plausible" if self.reservations else "good"

    @property
    def reservations(self) -> tuple[str, ...]:
        """Why a clip in which nothing is wrong is not called good, in words; nothing if it is."""
        if self.comparison is None:
            return ("it was not compared with artists' clips of one action",)
        return self.comparison.reservations

    @property
    def unlike(self) -> tuple[str, ...]:
        """Faults, and what differs from artists' clips of the action, in words."""
        return self.faults + (self.comparison.reasons if self.comparison else ())

    @property
    def summary(self) -> str:
        """The verdict and its reasons in one line."""
        if self.verdict == "still":
            return "still: it hardly moves, so the other numbers say little"
        reasons = [self.broken_rule] if self.broken_rule else []
        if self.mistaken and self.prior_score:
            reasons.append(f"the prior takes it for '{self.prior_score.taken_for}'")
        reasons += self.unlike
        worst = self.bad[:MOST_REASONS]
        reasons += [f"{each.title} {each.text(self.values[each.key])} ({self.place(each)})" for each in worst]
        if reasons:
            return f"doubtful: {'; '.join(reasons)}"
        if self.reservations:
            return f"plausible: nothing wrong was found, but {'; '.join(self.reservations)}"
        peers = self.comparison.peers if self.comparison else 0
        return f"good: recognised as '{self.action}', with the tempo, speed and reach of {peers} artists' clips of it"

    def place(self, each: Measure, among: str | None = None) -> str:
        """The place of a measure among artists' clips in words; "" if it has none.

        among: the kind of clips (`PercentileRank.kind`) that the reader knows already, which is left out.
        """
        rank = self.ranks[each.key]
        if rank is None:
            return ""
        of = f" of {rank.among}" if rank.kind != among else ""
        if each.better == "usual":
            return f"{'un' if rank.bad else ''}usual for {rank.among}"
        if each.better == "neither":
            return f"more than {rank.share:.0%}{of}"
        if rank.share - rank.worse > 0.02:
            return f"as good as {rank.share:.0%}{of}"
        return f"better than {rank.worse:.0%}{of}"

    def plain(self) -> dict[str, Any]:
        """The content of report.json."""
        from gambol.version import __version__

        normalized, anatomy = self.normalized, self.normalized.anatomy
        return jsonable(
            {
                "schema": SCHEMA,
                "gambol": __version__,
                "character": normalized.character.name,
                "clip": normalized.clip.name,
                "seconds": normalized.seconds,
                "loops": normalized.loops,
                "travel_m": normalized.travel,
                "ground_m_s": normalized.ground_velocity,
                "action": self.action,
                "verdict": self.verdict,
                "summary": self.summary,
                "metrics": {each.key: self._metric(each) for each in MEASURES},
                "gait": self.pattern,
                "broken_rule": self.broken_rule,
                "faults": self.faults,
                "comparison": self.comparison,
                "contacts": [
                    {"foot": anatomy.limb_name(leg), "down": down, "up": up}
                    for number, leg in enumerate(anatomy.legs)
                    for down, up in normalized.contacts.spans(number)
                ],
                "prior_score": self.prior_score,
                "pose_plausibility": self.poses,
                "notes": self.notes,
            }
        )

    def _metric(self, each: Measure) -> dict[str, Any]:
        rank = self.ranks[each.key]
        return {
            "value": self.values.get(each.key),
            "unit": each.unit,
            "better": each.better,
            "artists": rank and {"share": rank.share, "group": rank.group, "clips": rank.clips},
        }


def report(
    character: Character,
    clip: Clip,
    anatomy: Anatomy | None = None,
    *,
    prompt: str | None = None,
    prior: VideoPrior | None = None,
    motions: ArtistMotions | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Report:
    """Measure a clip and compare it with artists' clips.

    prompt: what the clip should show; by default its name decides. prior: video model that scores the clip as well.
    motions: artists' clips to compare with, by default those that ship with gambol.
    Raises GambolError if the clip leads to poses that are not finite.
    """
    from gambol.quality.pose_plausibility import pose_plausibility

    normalized = normalize_clip(character, clip, anatomy)
    values = measure(normalized, on_progress)
    action = action_for(clip.name, prompt)
    score, notes = _score(normalized, prior, prompt or action)
    intent = parse_intent(prompt) if prompt else None
    inapplicable: tuple[str, ...] = ()
    if intent and intent.manner.curve:  # beside a way that is wide, steps are quick
        inapplicable = ("roughness",)
    if intent and intent.then:
        inapplicable = (*SEAMS, "roughness")
        notes = ["several actions follow each other: the rules of single actions were not applied", *notes]
    if prompt and not intent:
        notes = [f"no action is recognised in '{prompt}': the clip's name says what it is compared with", *notes]
    pattern = gait_pattern(normalized)
    seen = ACTION_OF_GAIT.get(pattern.name) if pattern else None
    walks = action is not None and general_action(action) == "walk"
    if action and seen and ACTIONS[action].steps and ACTIONS[seen].steps and walks != (seen == "walk"):
        notes.append(
            f"it should {action}, and its feet fall as in a {seen}"
        )  # as in 8 of 32 artists' walks on two legs
    share = score.share_of(action) if score else None
    poses = pose_plausibility(normalized)
    values |= {
        "agreement": None if share is None else 100 * share,
        "plausibility": score.plausibility if score else None,
        "pose_implausibility": None,
        "unusual_poses": None,
    }
    values |= poses.values if poses else {}
    features = motion_features(normalized)
    motions = motions or artist_motions()
    return Report(
        normalized,
        values,
        action,
        pattern,
        broken_rule(normalized, action),
        score,
        tuple(notes),
        inapplicable,
        faults(normalized, features, action),
        motions.compare(features, action, normalized.anatomy.plan) if action else None,
        poses,
    )


def action_for(clip: str, prompt: str | None) -> str | None:
    """The action that a clip of this name should show; a sentence that names an action goes first. None for several
    actions that follow each other."""
    intent = parse_intent(prompt) if prompt else None
    if intent and intent.then:
        return None
    return intent.action if intent else action_of_clip(clip)


def _score(clip: NormalizedClip, prior: VideoPrior | None, sentence: str | None) -> tuple[PriorScore | None, list[str]]:
    """The prior's score, and notes for the user. sentence: what the clip should show. A prior with a vocabulary chooses
    among its actions; others choose between the sentence and OTHER_PROMPTS."""
    from gambol.errors import GambolError
    from gambol.quality.prior_score import score_clip

    if prior is None:
        return None, []
    prompts = None if prior.vocabulary else [*([sentence] if sentence else []), *OTHER_PROMPTS]
    try:
        score = score_clip(clip, prior, prompts)
    except GambolError as error:
        return None, [f"the prior could not score the clip: {error}"]
    return score, [] if score else [
        "the prior could not score the clip: it holds no cycle or action of a kind that it was trained on"
    ]


def json_of(report: Report, against: Report | None = None) -> str:
    """The text of report.json. against: the clip it is compared with."""
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
    """(measure, value, value of the other clip, place among artists' clips) of all that was measured in either clip."""
    rows = []
    for each in MEASURES:
        own, other = report.values.get(each.key), against.values.get(each.key) if against else None
        if own is not None or other is not None:
            rows.append((each, each.text(own), each.text(other) if against else "", report.place(each, among)))
    return rows
