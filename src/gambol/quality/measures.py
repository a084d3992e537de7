"""All that is measured of a clip, in one list: what it is called, in which unit, and which way is better."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from gambol.character.stick_figure import is_stick_figure
from gambol.quality.flow import jitter, joint_range, loop_seam, motion_amount
from gambol.quality.footfalls import alternation
from gambol.quality.ground import floating, foot_slide, penetration
from gambol.quality.intersections import self_intersection
from gambol.quality.shape import bone_length_drift, volume_drift
from gambol.quality.specimen import Specimen

Better = Literal["low", "high", "neither"]
Family = Literal["feet", "skin", "bones", "flow", "prior"]


@dataclass(frozen=True)
class Measure:
    """One number of a clip."""

    key: str
    """In report.json; never changes its meaning."""
    title: str
    unit: str
    better: Better
    digits: int
    family: Family
    meaning: str
    """One sentence for a reader who has never heard of it."""
    unseen: float = 0.0
    """Of what should be low: nobody sees less than this, so it is never called bad."""

    def number(self, value: float | None) -> str:
        """A value as it is shown."""
        return "–" if value is None else f"{value + 0.0:.{self.digits}f}"

    def text(self, value: float | None) -> str:
        """The same with its unit."""
        if value is None:
            return self.number(value)
        space = "" if self.unit in ("%", "°", "") else " "
        return f"{self.number(value)}{space}{self.unit}"


MEASURES: tuple[Measure, ...] = (
    Measure(
        "foot_slide_mean", "feet slide", "cm/s", "low", 1, "feet",
        "Mean speed over the ground of feet that bear weight, at 1 m height.", 2.0,
    ),
    Measure(
        "foot_slide_worst", "feet slide, worst moment", "cm/s", "low", 0, "feet",
        "The same at the moment at which it is worst.", 10.0,
    ),
    Measure(
        "penetration_mean", "skin sinks into the ground", "mm", "low", 1, "feet",
        "Mean over time of how deep the deepest point of the mesh is, at 1 m height.", 2.0,
    ),
    Measure(
        "penetration_worst", "skin sinks, deepest", "mm", "low", 1, "feet",
        "Deepest point of the mesh below the ground in the whole clip, at 1 m height.", 5.0,
    ),
    Measure(
        "floating", "floats", "%", "low", 0, "feet",
        "Share of the time without any contact with the ground that a leap cannot explain.", 2.0,
    ),
    Measure(
        "alternation", "left and right alternate", "", "neither", 2, "feet",
        "From -1, both legs of a pair together, to 1, by turns.",
    ),
    Measure(
        "self_intersection_frames", "moments in which it goes through itself", "%", "low", 0, "skin",
        "Share of moments in which the mesh goes through itself where it does not in its neutral pose.", 5.0,
    ),
    Measure(
        "self_intersection_triangles", "triangles that go through others", "%", "low", 2, "skin",
        "Mean share of the mesh's triangles that do so.", 0.2,
    ),
    Measure(
        "volume_drift", "volume changes", "%", "low", 1, "skin",
        "Largest change of the volume that the mesh encloses, against the neutral pose.", 3.0,
    ),
    Measure(
        "bone_length_drift", "bones stretch", "%", "low", 2, "bones",
        "Largest change of the length of any bone, against the neutral pose.", 0.5,
    ),
    Measure(
        "joint_range", "joint that turns farthest", "°", "neither", 0, "bones",
        "How far the most active joint turns over the clip.",
    ),
    Measure(
        "beyond_limits", "knees and elbows bend the wrong way", "%", "low", 1, "bones",
        "Share of knees, elbows and moments in which one is bent more than 10° the wrong way.", 1.0,
    ),
    Measure(
        "motion_amount", "motion", "m/s", "neither", 2, "flow",
        "Mean speed of the bones' ends beside the way of the whole body, at 1 m height: 0 stands still.",
    ),
    Measure(
        "jerk", "jerk", "m/s³", "neither", 0, "flow",
        "Mean rate at which accelerations change, at 1 m height and 30 frames a second; brisk motion has more of it.",
    ),
    Measure(
        "roughness", "roughness", "", "low", 2, "flow",
        "Jerk regardless of size and pace: 1 for an even swing, more for quick twitches in slow movement.", 1.5,
    ),
    Measure(
        "high_frequency", "shaking", "%", "low", 2, "flow",
        "Share of the energy of the movement in frequencies that bodies do not move at.", 0.5,
    ),
    Measure(
        "seam_pose", "pose jumps at the seam", "%", "low", 2, "flow",
        "Distance from the last pose to the first, in parts of the height; the seam of a loop.", 0.3,
    ),
    Measure(
        "seam_velocity", "speed jumps at the seam", "", "low", 2, "flow",
        "Change of velocity from the end to the start beyond that at other keys, in parts of the mean speed.", 0.3,
    ),
    Measure(
        "agreement", "the prior agrees with the words", "%", "high", 0, "prior",
        "Share that a video prior gives to the words of the clip, among all it knows.",
    ),
    Measure(
        "plausibility", "the prior finds it plausible", "", "high", 2, "prior",
        "How well a video prior can restore the clip's noisy video, under its best words.",
    ),
)  # fmt: skip
BY_KEY: Mapping[str, Measure] = {measure.key: measure for measure in MEASURES}

Values = dict[str, float | None]
"""By key of a measure; None where it cannot be spoken of."""


def measure(specimen: Specimen, on_progress: Callable[[int, int], None] = lambda done, total: None) -> Values:
    """All that needs no prior."""
    found: Values = {}
    for number, take in enumerate(_TAKES):
        found |= take(specimen)
        on_progress(number + 1, len(_TAKES))
    return found


def _feet(specimen: Specimen) -> Values:
    slide, depth, floats = foot_slide(specimen), None, None
    if not is_stick_figure(specimen.character):  # without skin nobody knows the ground to a centimetre
        depth, floats = penetration(specimen), floating(specimen)
    return {
        "foot_slide_mean": slide.mean if slide else None,
        "foot_slide_worst": slide.worst if slide else None,
        "penetration_mean": depth.mean if depth else None,
        "penetration_worst": depth.worst if depth else None,
        "floating": percent(floats),
        "alternation": alternation(specimen),
    }


def _skin(specimen: Specimen) -> Values:
    if is_stick_figure(specimen.character):
        return {"self_intersection_frames": None, "self_intersection_triangles": None, "volume_drift": None}
    crossing = self_intersection(specimen)
    return {
        "self_intersection_frames": percent(crossing.frames) if crossing else None,
        "self_intersection_triangles": percent(crossing.triangles) if crossing else None,
        "volume_drift": volume_drift(specimen),
    }


def _bones(specimen: Specimen) -> Values:
    turned = joint_range(specimen)
    return {
        "bone_length_drift": bone_length_drift(specimen),
        "joint_range": turned.largest if turned else None,
        "beyond_limits": percent(turned.beyond) if turned else None,
    }


def _flow(specimen: Specimen) -> Values:
    shaking, seam = jitter(specimen), loop_seam(specimen)
    return {
        "motion_amount": motion_amount(specimen),
        "jerk": shaking.jerk if shaking else None,
        "roughness": shaking.roughness if shaking else None,
        "high_frequency": percent(shaking.high) if shaking else None,
        "seam_pose": seam.pose if seam else None,
        "seam_velocity": seam.velocity if seam else None,
    }


def percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


_TAKES = (_feet, _skin, _bones, _flow)
