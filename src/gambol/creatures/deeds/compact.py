"""Whether a body without legs is compact, as a blob or a ghost, rather than long, as a snake or a fish."""

from __future__ import annotations

import numpy as np

from gambol.character.anatomy import Anatomy

LONG = 1.1
"""Length of a body over the larger of its width and height from which it is long. Blobs, ghosts and cartoon crabs have
0.5 to 1.02, the roundest fish (a pufferfish, a clownfish) 1.16 and 1.2."""
WOUND = 1.2
"""Length of all its bones in the middle over its diagonal from which it is a long body that is wound up: a seahorse has
1.28, a cobra with its front up 1.6, blobs and ghosts at most 1.07."""


def is_compact(anatomy: Anatomy) -> bool:
    """Whether a body is about as long as it is wide or high, and no long one that is wound up."""
    body = anatomy.body
    middle = [joint for part in ("trunk", "neck", "head", "tail") for joint in anatomy.joints_of(part)]
    skin = body.skin_of(middle)
    points = skin if len(skin) else np.concatenate([body.heads[middle], body.tips[middle]])
    if not len(points):
        return False
    width, height, length = np.ptp(points @ np.stack([anatomy.left, anatomy.up, anatomy.forward], axis=1), axis=0)
    bones = float(np.linalg.norm(body.tips[middle] - body.heads[middle], axis=1).sum())
    diagonal = float(np.linalg.norm([width, height, length]))
    return bool(length < LONG * max(width, height) and bones < WOUND * diagonal)
