"""Faults that need no clip to compare with: a chest turned against the hips, a head or a body upside down, and a body
off the ground.

The limits are beyond what 98 of 100 artists' clips show: these twist by up to 32 degrees in the mean, and their lowest
skin stays up to 3.5 % of the height above the ground.
"""

from __future__ import annotations

import numpy as np

from gambol.actions import ACTIONS, general_action
from gambol.quality.motion_features import Features
from gambol.quality.normalized_clip import NormalizedClip

TWISTED = 45.0
"""Mean angle of the chest against the pelvis [degrees]; 39 in one of 100 artists' clips."""
UPSIDE_DOWN = -0.3
"""Cosine of the angle between the up axes of head and trunk, in the mean, from which a head is upside down, and of that
between the up axis of the trunk and the vertical, at its best, from which a body is."""
FLOATS, SINKS = 0.06, 0.1
"""Height of the lowest skin at its lowest, and depth in the mean, of who should be on the ground [height]."""
OFF_THE_GROUND = ("swim", "climb", "fly", "sit", "sit down", "get up", "sleep", "hit")
"""Actions that may be shown in the air, in water, or on a chair that is not in the file."""


def faults(clip: NormalizedClip, features: Features, action: str | None) -> tuple[str, ...]:
    """Faults of a clip in words for the user."""
    found = []
    twist = np.degrees(features.get("twist", 0.0))
    if twist > TWISTED and not (action and ACTIONS[action].shows == "over"):
        found.append(f"the chest is turned by {twist:.0f}° against the hips")
    if features.get("head on trunk", 1.0) < UPSIDE_DOWN:
        found.append("the head is upside down")
    lies = action is not None and ACTIONS[action].shows in ("lying", "over")
    if features.get("upright high", 1.0) < UPSIDE_DOWN and not lies:
        found.append("it is upside down all the time")
    return (*found, *_ground(clip, features, action))


def _ground(clip: NormalizedClip, features: Features, action: str | None) -> tuple[str, ...]:
    row = ACTIONS[action] if action else None
    if row is None or not clip.grounded or row.afloat or general_action(row.name) in OFF_THE_GROUND:
        return ()
    lowest, mean = features.get("skin lowest", 0.0), features.get("skin mean", 0.0)
    if lowest > FLOATS:
        return (f"it never comes nearer to the ground than {100 * lowest:.0f} % of its height",)
    if mean < -SINKS and not row.falls and row.shows not in ("lying", "over"):
        return (f"it sinks into the ground by {-100 * mean:.0f} % of its height",)
    return ()
