"""How sure a body plan is, and what the user should look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from gambol.character.anatomy import Anatomy
from gambol.character.axes import axis_name
from gambol.rigging.mirror import MirrorPlane
from gambol.rigging.parts import Parts
from gambol.rigging.solid import Solid

if TYPE_CHECKING:
    from gambol.rigging.placement import Placement

NO_PLAN = "a body without a plan"
MOST_LEARNED = 0.7
"""Most that the network is believed where nothing in the mesh stands apart."""
SYMMETRIC = 0.6
"""Below this likeness of its halves a mesh has no mirror plane worth the name."""


@dataclass(frozen=True)
class Found:
    """A solid with what sticks out of it, for one axis up."""

    solid: Solid
    up: str
    mirror: MirrorPlane
    parts: Parts


def plan_certainty(found: Found, placed: Placement, up: Float[np.ndarray, 3]) -> float:
    """How far the shortest leg is from none at all, and how alike the halves are; or what the network says."""
    roles = placed.roles
    alike = float(np.clip((found.mirror.likeness - 0.5) / 0.4, 0.1, 1))
    if roles is None:
        return 0.3 if placed.plan == NO_PLAN else min(placed.plan_certainty, MOST_LEARNED)
    if not roles.legs:
        return 0.7 * alike
    height = float(np.ptp(found.solid.points @ up))
    if found.parts.hidden:
        return 0.4 * alike
    shortest = min(leg.length for leg in roles.legs) / height
    return alike * float(np.clip(0.5 + shortest / 0.4, 0.5, 0.95))


def notes_on(seen: Anatomy, found: Found, placed: Placement, up_given: bool) -> tuple[str, ...]:
    """What the user should look at. seen: the new skeleton as the rest of gambol reads it."""
    notes, roles = list(placed.notes), placed.roles
    if found.up != "+y" and not up_given:
        notes.append(f"it stands with {found.up} up; give --up if it does not")
    if found.mirror.likeness < SYMMETRIC:
        notes.append("its left and right halves differ: look at the joints with --picture")
    if found.parts.hidden:
        notes.append("its legs touch each other or are hidden, and were put in by guess")
    if placed.plan == NO_PLAN:
        notes.append("it has no body plan that gambol knows: its bones follow its branches; give --plan if it has one")
    elif roles and found.parts.single:
        notes.append(f"{len(found.parts.single)} part(s) without a mirror image got no joints, such as a weapon")
    if found.solid.floating:
        notes.append(f"{found.solid.floating} piece(s) far from the body follow the nearest bone")
    if placed.plan != NO_PLAN and (seen.plan != placed.plan or seen.forward @ placed.forward < 0.9):
        notes.append(
            f"gambol reads the new skeleton as {seen.plan} that faces {axis_name(seen.forward)}; "
            f"give --plan and --forward to other commands as well"
        )
    return tuple(notes)
