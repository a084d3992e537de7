"""A planned gait: everything that is needed to know the whole body's pose at any time."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gambol.character.anatomy import Anatomy
from gambol.character.rig import Rig
from gambol.creatures.gaits.footfalls import Action, Footfalls
from gambol.creatures.gaits.legs import FootPath, Path
from gambol.creatures.gaits.trunk import Carriage, transforms

Array = np.ndarray


@dataclass(frozen=True)
class GaitPlan:
    """All that an action needs to be evaluated at any time, counted in cycles."""

    action: Action
    anatomy: Anatomy
    rig: Rig
    footfalls: Footfalls
    path: Path
    feet: tuple[FootPath, ...]
    carriage: Carriage
    period: float
    """[s]"""
    crouch: float = 0.0
    """How far the body is lowered so that all feet reach the ground [file units]."""

    def breaks(self) -> Float[Array, " breaks"]:
        return np.concatenate([self.carriage.breaks(), *(foot.breaks() for foot in self.feet)])

    def root(self, cycles: Float[Array, " frames"]) -> tuple[Float[Array, "frames 3 3"], Float[Array, "frames 3"]]:
        """The body's own movement, then its way over the ground."""
        rotation, shift = self.carriage.root(cycles)
        shift = shift - self.crouch * self.anatomy.up
        shift = shift + (self.path.stride * self.carriage.surge(cycles))[:, None] * self.anatomy.forward
        return self.path.rotation(cycles) @ rotation, self.path.apply(shift, cycles)

    def world(self, cycles: Float[Array, " frames"]) -> Float[Array, "frames joints 4 4"]:
        """T_world_joint [file units]."""
        root, turns = self.root(cycles), self.carriage.turns(cycles)
        rotations, shifts = transforms(self.anatomy, turns, root)
        for foot in self.feet:
            parent = int(self.anatomy.body.parents[foot.leg.links[0]])
            above = (rotations[:, parent], shifts[:, parent]) if parent >= 0 else root
            place_foot(turns, foot, cycles, above)
        rotations, shifts = transforms(self.anatomy, turns, root)
        moved = np.zeros((len(cycles), len(self.anatomy.body), 4, 4))
        moved[..., :3, :3], moved[..., :3, 3], moved[..., 3, 3] = rotations, shifts, 1.0
        return moved @ self.rig.world()


def place_foot(
    turns: Float[Array, "frames joints 3 3"],
    foot: FootPath,
    cycles: Float[Array, " frames"],
    above: tuple[Array, Array],
) -> None:
    """Write the turns of a leg's joints. above: rotation and shift of what the leg hangs on."""
    leg = foot.leg
    place, turned = foot.pose(cycles)
    curl = foot.curl(cycles)
    links = leg.chain.rotations(_seen_from(above, place), curl)
    for _ in range(6 if len(leg.tip) else 0):  # what rocks about the end may sink into the ground: raise it by that
        place = place + foot.sunk(place, above[0] @ links[:, -1])[:, None] * foot.path.up
        links = leg.chain.rotations(_seen_from(above, place), curl)
    before = np.tile(np.eye(3), (len(cycles), 1, 1))
    for number, joint in enumerate(leg.links):
        turns[:, joint] = before.transpose(0, 2, 1) @ links[:, number]
        before = links[:, number]
    if leg.foot is not None:
        turns[:, leg.foot] = (above[0] @ before).transpose(0, 2, 1) @ turned


def _seen_from(above: tuple[Array, Array], place: Float[Array, "frames 3"]) -> Float[Array, "frames 3"]:
    """World points in the neutral coordinates of a part that was turned and shifted."""
    return np.einsum("fji,fj->fi", above[0], place - above[1])


def with_breaks(cycles: Float[Array, " frames"], breaks: Float[Array, " breaks"]) -> Float[Array, " keys"]:
    """Even keys and those where some movement changes its law."""
    even = len(cycles) - 1
    extra = np.unique(np.round(breaks % 1.0, 9))
    apart = np.abs(extra * even - np.round(extra * even)) / even > 1e-7
    return np.unique(np.concatenate([cycles, extra[apart]]))
