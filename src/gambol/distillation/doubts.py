"""Doubts: what is odd about a character, for the user to know before the work."""

from __future__ import annotations

import numpy as np

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.errors import GambolError

ON_LEGS = ("walk", "trot", "run", "hop", "jump", "kick")
"""Actions that are nothing without legs."""
OWN_JOINTS, OWN_SHARE = 8, 0.1
"""A root with so many joints, and such a share of all, is a skeleton of its own. Of 56 real rigs only one with four
skeletons has several; a bee and a crab have two roots, of 2 joints and of 7 and 5."""


def require_body(character: Character, anatomy: Anatomy) -> None:
    """Refuse what could not be seen to move, whatever it does."""
    body = anatomy.body
    if not np.ptp(np.concatenate([body.heads, body.tips, body.vertices]), axis=0).any():
        raise GambolError(
            f"'{character.name}' is a single point, a joint without bones or skin: nothing could be seen to move; "
            "animate a file with the character's meshes in it"
        )


def doubts_about(character: Character, anatomy: Anatomy, action: str | None) -> list[str]:
    """Sentences about what may not be as the user thinks. action: None if it is not known."""
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
    if action in ON_LEGS and not anatomy.legs:
        found.append(
            f"no legs were found on '{character.name}', so it can {action} with the rest of its body only; "
            "if it lies or hangs in its file, say how it stands with --up and --forward"
        )
    return found
