"""Checks of a character before it is animated: what is refused, and what the user is warned of."""

from __future__ import annotations

import numpy as np

from gambol.actions import ACTIONS
from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.creatures.deeds import build_of
from gambol.errors import GambolError

OWN_JOINTS, OWN_SHARE = 8, 0.1
"""A root with at least this number and this share of joints is a skeleton of its own. Of 56 real rigs only one with
four skeletons has several; a bee and a crab have two roots, of 2 joints and of 7 and 5."""


def require_body(character: Character, anatomy: Anatomy) -> None:
    """Raise GambolError for a character without extent, whose motion could not be seen."""
    body = anatomy.body
    if not np.ptp(np.concatenate([body.heads, body.tips, body.vertices]), axis=0).any():
        raise GambolError(
            f"'{character.name}' is a single point, a joint without bones or skin: nothing could be seen to move; "
            "animate a file with the character's meshes in it"
        )


def preflight_warnings(character: Character, anatomy: Anatomy, action: str | None) -> list[str]:
    """Return caveats to show the user. action: None if it is not known."""
    body, names, found = anatomy.body, character.skeleton.names, []
    trees = {int(root): len(body.subtree(int(root))) for root in np.flatnonzero(body.parents < 0)}
    least = max(OWN_JOINTS, OWN_SHARE * len(body))
    skeletons = [root for root, joints in trees.items() if joints >= least]
    if len(skeletons) > 1:
        roots = ", ".join(f"'{names[body.nodes[root]]}'" for root in skeletons)
        found.append(
            f"'{character.name}' has {len(skeletons)} skeletons ({roots}), which are moved as one body; "
            "if they are several characters, put each into a file of its own"
        )
    kinds = {f"{limb.kind}s" for limb in anatomy.limbs if limb.kind != "leg"} | ({"legs"} if anatomy.legs else set())
    for feature in ACTIONS[action].needs if action else ():
        if feature not in kinds and build_of(anatomy) != "compact":  # blobs have a hop of their own
            way_out = "; if it lies or hangs in its file, say how it stands with --up and --forward"
            found.append(
                f"no {feature} were found on '{character.name}', so it can {action} with the rest of its body only"
                + (way_out if feature == "legs" else "")
            )
    return found
