"""What the user of `gambol.rig` knows better than gambol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from gambol.character.axes import AXES
from gambol.character.heat import HeatMethod
from gambol.character.plans import LEG_PAIRS, Plan
from gambol.errors import GambolError
from gambol.rigging.joint_names import NameScheme
from gambol.rigging.joint_positions import JointPositions
from gambol.text import printable

Method = Literal["both", "templates", "network"]


@dataclass(frozen=True)
class RigOptions:
    """What the user knows better."""

    plan: Plan | None = None
    up: str | None = None
    """As in '+z'; None: y, unless the mesh stands on legs only when another axis is up."""
    forward: str | None = None
    """As in '+x'; None: found."""
    spine: int | None = None
    """Bones from the hips to the chest."""
    tail: int | None = None
    """Bones of a tail."""
    names: NameScheme = "gambol"
    """Whose names joints get."""
    joints: JointPositions | None = None
    """Joints by hand: some that are moved, or all."""
    weights: HeatMethod = "normals"
    """How bones are chosen that warm the skin; see `gambol.character.heat`."""
    method: Method = "both"
    """Who places joints: templates along the centre-lines of limbs, the network, or both."""

    def check(self) -> None:
        """Refuse what means nothing."""
        for name, choice in (("up", self.up), ("forward", self.forward)):
            if choice is not None and choice not in AXES:
                raise GambolError(f"{name} must be one of {', '.join(AXES)}, got {printable(choice)[:40]!r}")
        if self.up and self.forward and self.up[1] == self.forward[1]:
            raise GambolError(f"up {self.up} and forward {self.forward} must be different axes")
        if self.plan is not None and self.plan not in LEG_PAIRS:
            raise GambolError(f"a plan must be one of {', '.join(LEG_PAIRS)}, got {printable(self.plan)[:40]!r}")
        placed = self.spine is not None or self.tail is not None or self.names != "gambol"
        if placed and self.joints and self.joints.is_whole:
            raise GambolError("spine, tail and names are for joints that gambol places; the file of joints gives all")
        if self.method == "network" and (self.plan or self.spine is not None or self.tail is not None):
            raise GambolError("plan, spine and tail are for templates: leave them out with the method network")


def direction(axis: str) -> Float[np.ndarray, 3]:
    """The unit vector of an axis, as '+y' names it."""
    return np.array(dict(AXES)[axis], float)  # type: ignore[index]
