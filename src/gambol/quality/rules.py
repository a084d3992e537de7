"""Rules: what must be seen of an action, of legs above all, as far as it can be said without comparing clips.

Of artists' clips of characters that stand on legs, 3 of 50 walks, 4 of 39 runs and trots, 3 of 31 jumps and 2 of 68
stands break them, half of these because their legs are not found as they are.
"""

from __future__ import annotations

import numpy as np

from gambol.actions import ACTIONS
from gambol.creatures.deeds.compact import is_compact
from gambol.motion.gait import leg_correlations, leg_swing
from gambol.motion.hallmarks import missing_hallmark
from gambol.motion.legs import leg_length
from gambol.quality.normalized_clip import NormalizedClip

FRAMES = 48
"""Frames of a clip in which legs are compared."""
CORRELATED = 0.6
"""Correlation of two legs' swings from which they move together; below minus this, they alternate."""
GALLOPS = 0.3
"""Correlation within a pair of legs in a gallop, in which one leg leads the other."""
STILL = 12.0
"""Legs with a smaller range of swing stand [degrees]: in artists' idles of grazing animals it is up to 12."""
ALOFT = 0.03
"""A character whose lowest sole is higher has left the ground [leg length]."""


def broken_rule(clip: NormalizedClip, action: str | None) -> str:
    """What the legs do against the rule of an action, in words for the user; "" if they keep it or there is none."""
    anatomy = clip.anatomy
    if action is None:
        return ""
    if not clip.grounded:
        hops = is_compact(anatomy) and not anatomy.legs  # blobs hop along
        return f"there are no legs to {action} with" if ACTIONS[action].on_legs and not hops else ""
    looped = clip.contacts.looped
    poses = looped.poses(looped.even(FRAMES))
    if missing := missing_hallmark(anatomy, poses, ACTIONS[action]):
        return missing
    rule = ACTIONS[action].leg_rule(len(anatomy.legs))
    if rule == "still":
        swings = [np.ptp(leg_swing(anatomy, leg, poses)) for leg in anatomy.legs]
        return "legs swing while it stands" if np.median(swings) > STILL else ""
    if rule == "aloft":
        return "" if aloft(clip) > ALOFT else "the feet never all leave the ground"
    found = leg_correlations(anatomy, poses)
    if rule in ("alternate", "diagonals") and (found.sides is None or found.sides > -CORRELATED):
        return "left and right legs do not alternate"
    if rule == "diagonals" and (found.diagonals or 0) < CORRELATED:
        return "diagonal legs do not go together"
    if rule == "gallop" and (found.sides is None or found.sides < GALLOPS):
        return "front legs, or hind legs, do not go together as in a gallop"
    return ""


def aloft(clip: NormalizedClip) -> float:
    """Largest height of the lowest sole above where it is in the neutral pose [leg length]."""
    soles = [sole[..., 1] - stand for sole, stand in zip(clip.soles, clip.sole_rest_heights, strict=True)]
    lowest = np.min([sole.min(1) for sole in soles], axis=0)
    return float(lowest.max()) * clip.anatomy.height / leg_length(clip.anatomy)
