"""The list of all measures of a clip: key, title, unit, and which values are good."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from gambol.character.bone_mesh import has_bone_mesh
from gambol.quality.flow import jitter, joint_range, loop_seam, motion_amount
from gambol.quality.footfalls import alternation
from gambol.quality.ground import floating, foot_slide, penetration
from gambol.quality.intersections import self_intersection
from gambol.quality.normalized_clip import NormalizedClip
from gambol.quality.posture import (
    arm_swing,
    hand_height,
    head_tilt,
    head_turn,
    tail_swing,
    trunk_pitch,
    trunk_twist,
    trunk_yaw,
)
from gambol.quality.shape import bone_length_drift, volume_drift

Better = Literal["low", "high", "usual", "neither"]
"""Which values are good: low ones, high ones, those of artists' clips of the same action and kind of body, or any."""
NEVER = math.inf
"""Leeway of measures that are shown, but never make a clip doubtful."""
Family = Literal["feet", "posture", "skin", "bones", "flow", "prior"]


@dataclass(frozen=True)
class Measure:
    """One number that is measured of a clip."""

    key: str
    """Key in report.json, whose meaning never changes."""
    title: str
    unit: str
    better: Better
    digits: int
    family: Family
    meaning: str
    """Definition in one sentence for the user."""
    tolerance: float = 0.0
    """Smallest visible fault, in the measure's unit: a value below it, or outside the usual range by less, is never
    bad. Of 319 artists' clips of actions with a usual posture, it makes 5 bad at these values, and 23 of 261 if a clip
    is compared with those of other packs only."""
    leeway: float | None = None
    """How far outside the range of artists' clips a value makes a clip doubtful; None: by more than `tolerance`.
    Intersections and seams are given more, as they made many artists' clips doubtful and say how a rig is made rather
    than how it moves. Stretched bones and floating never do: the first is how a rig is made, runs of games are often
    aloft all the time, and bodies that never come down are found by `quality.faults`."""

    def number(self, value: float | None) -> str:
        """The value as text, without its unit."""
        return "–" if value is None else f"{value + 0.0:.{self.digits}f}"

    def text(self, value: float | None) -> str:
        """The value as text, with its unit."""
        if value is None:
            return self.number(value)
        space = "" if self.unit in ("%", "°", "") else " "
        return f"{self.number(value)}{space}{self.unit}"


# fmt: off
MEASURES: tuple[Measure, ...] = (
    Measure("foot_slide_mean", "feet slide", "cm/s", "low", 1, "feet",
        "Mean speed over the ground of feet that bear weight, at 1 m height.", 2.0),
    Measure("foot_slide_worst", "feet slide, worst moment", "cm/s", "low", 0, "feet",
        "Largest median over 0.1 s of the speed of loaded feet, at 1 m height.", 10.0),
    Measure("penetration_mean", "skin sinks into the ground", "mm", "low", 1, "feet",
        "Mean over time of how deep the deepest point of the mesh is, at 1 m height.", 2.0),
    Measure("penetration_worst", "skin sinks, deepest", "mm", "low", 1, "feet",
        "Deepest point of the mesh below the ground in the whole clip, at 1 m height.", 5.0),
    Measure("floating", "floats", "%", "low", 0, "feet",
        "Share of the time without any contact with the ground that a leap cannot explain.", 2.0, NEVER),
    Measure("alternation", "left and right alternate", "", "neither", 2, "feet",
        "From -1, both legs of a pair together, to 1, by turns."),
    Measure("trunk_twist", "trunk twists", "°", "usual", 0, "posture",
        "Peak-to-peak rotation of the chest against the pelvis, about the axis of the trunk.", 10.0),
    Measure("trunk_yaw", "chest swings left and right", "°", "usual", 0, "posture",
        "Peak-to-peak rotation of the chest about the vertical, beside an even turn of the whole body.", 20.0),
    Measure("trunk_pitch", "trunk pitches", "°", "usual", 0, "posture",
        "Peak-to-peak elevation of the line from hips to shoulders.", 15.0),
    Measure("arm_swing", "arms swing", "°", "usual", 0, "posture",
        "Largest angle between two directions of an arm, from shoulder to hand, as seen from the chest.", 30.0),
    Measure("hand_height", "highest hand", "arm lengths", "usual", 2, "posture",
        "Height of the highest hand above its shoulder: -1 hangs down, 1 points straight up.", 0.4),
    Measure("head_turn", "head turns", "°", "usual", 0, "posture",
        "Largest angle between two orientations of the head, as seen from the hips.", 20.0),
    Measure("head_tilt", "head leans", "°", "usual", 0, "posture",
        "Largest angle by which the head's up leans away from the neutral pose; 180 is upside down.", 20.0),
    Measure("tail_swing", "tail swings", "°", "usual", 0, "posture",
        "Largest angle between two directions of the tail, from root to tip, as seen from the hips.", 30.0),
    Measure("self_intersection_frames", "frames with self-intersection", "%", "low", 0, "skin",
        "Share of frames in which the mesh intersects itself where it does not in its neutral pose.", 5.0, 100.0),
    Measure("self_intersection_triangles", "self-intersecting triangles", "%", "low", 2, "skin",
        "Mean over the frames of the share of triangles that intersect others.", 0.2, 4.0),
    Measure("volume_drift", "volume changes", "%", "low", 1, "skin",
        "Largest change of the volume that the mesh encloses, against the neutral pose.", 3.0),
    Measure("bone_length_drift", "bones stretch", "%", "low", 2, "bones",
        "Largest change of the length of any bone, against the neutral pose.", 0.5, NEVER),
    Measure("joint_range", "joint that turns farthest", "°", "neither", 0, "bones",
        "How far the most active joint turns over the clip."),
    Measure("beyond_limits", "knees and elbows bend the wrong way", "%", "low", 1, "bones",
        "Share of knees, elbows and frames in which one is bent more than 10° the wrong way.", 1.0),
    Measure("motion_amount", "motion", "m/s", "neither", 2, "flow",
        "Mean speed of the bones' ends relative to the travel of the body, at 1 m height; 0 is a static pose."),
    Measure("jerk", "jerk", "m/s³", "neither", 0, "flow",
        "Mean rate at which accelerations change, at 1 m height and 30 frames a second; brisk motion has more of it."),
    Measure("roughness", "roughness", "", "low", 2, "flow",
        "Jerk regardless of size and pace: 1 for an even swing, more for quick twitches in slow movement.", 1.5),
    Measure("high_frequency", "shaking", "%", "low", 2, "flow",
        "Share of the kinetic energy above 8 Hz and above five times the frequency of the movement.", 0.5),
    Measure("seam_pose", "pose jumps at the seam", "%", "low", 2, "flow",
        "Distance from the last pose to the first, in parts of the height; the seam of a loop.", 0.3),
    Measure("seam_velocity", "speed jumps at the seam", "", "low", 2, "flow",
        "Change of velocity from the end to the start beyond that at other keys, in parts of the mean speed.",
        0.3, 1.0),
    Measure("agreement", "prior agrees with the prompt", "%", "high", 0, "prior",
        "Probability that a video prior gives to the action of the clip, among all it knows."),
    Measure("plausibility", "the prior finds it plausible", "", "high", 2, "prior",
        "Expected over actual denoising error of a video prior on the clip, under its likeliest prompt."),
    Measure("pose_implausibility", "poses are implausible", "", "low", 2, "prior",
        "Mean distance of each pose from what the pose model takes it for, relative to usual ones, which have 1."),
    Measure("unusual_poses", "frames with an unusual pose", "%", "low", 0, "prior",
        "Share of frames whose pose is more implausible than 99 % of usual ones."),
)
# fmt: on
BY_KEY: Mapping[str, Measure] = {measure.key: measure for measure in MEASURES}

Values = dict[str, float | None]
"""Values by key of a measure; None where a measure is not defined, such as slide without feet."""


def measure(clip: NormalizedClip, on_progress: Callable[[int, int], None] = lambda done, total: None) -> Values:
    """All measures that need no prior. on_progress: called with the number of families done and in all."""
    found: Values = {each.key: None for each in MEASURES if each.family != "prior"}
    for number, family in enumerate(_FAMILIES):
        found |= family(clip)
        on_progress(number + 1, len(_FAMILIES))
    return found


def ground_values(clip: NormalizedClip) -> Values:
    """Measures of feet and ground."""
    found: Values = {each.key: None for each in MEASURES if each.family == "feet"}
    found |= {**foot_slide(clip), "alternation": alternation(clip)}
    if not has_bone_mesh(clip.character):  # without skin nobody knows the ground to a centimetre
        found |= {**penetration(clip), "floating": floating(clip)}
    return found


def movement_values(clip: NormalizedClip) -> Values:
    """Measures of all but skin and posture, which take a tenth of a second."""
    found: Values = {each.key: None for each in MEASURES if each.family in ("feet", "bones", "flow")}
    return {**found, **ground_values(clip), **_bones(clip), **_flow(clip)}


def _posture(clip: NormalizedClip) -> Values:
    functions = (trunk_twist, trunk_yaw, trunk_pitch, arm_swing, hand_height, head_turn, head_tilt, tail_swing)
    return {function.__name__: function(clip) for function in functions}


def _skin(clip: NormalizedClip) -> Values:
    if has_bone_mesh(clip.character):
        return {}
    return {**self_intersection(clip), "volume_drift": volume_drift(clip)}


def _bones(clip: NormalizedClip) -> Values:
    return {"bone_length_drift": bone_length_drift(clip), **joint_range(clip)}


def _flow(clip: NormalizedClip) -> Values:
    return {"motion_amount": motion_amount(clip), **jitter(clip), **loop_seam(clip)}


_FAMILIES = (ground_values, _posture, _skin, _bones, _flow)
