"""A planned gait: everything that is needed to know the whole body's pose at any time."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gambol.character.anatomy import Anatomy
from gambol.character.rig import Rig
from gambol.character.transforms import rotation_about
from gambol.creatures.gaits.foot_paths import FootPath, GroundPath, PerFrame, Point, Rotations, Turns, Vectors
from gambol.creatures.gaits.footfalls import Footfalls, GaitName
from gambol.creatures.gaits.trunk import TrunkMotion, transforms
from gambol.motion.legs import Leg

WADDLE, SHORT = np.radians(6.0), 0.2
"""How far bodies rock on legs without knees that are shorter than this share of their height, and less on longer ones
up to twice that; a cubic tiger of artists rocks by 6 degrees."""

TOUCHING = 0.04
"""Height up to which a foot of a leg without knees bears weight [hip heights]."""


@dataclass(frozen=True)
class GaitPlan:
    """All that an action needs to be evaluated at any time, counted in cycles."""

    action: GaitName
    anatomy: Anatomy
    rig: Rig
    footfalls: Footfalls
    path: GroundPath
    feet: tuple[FootPath, ...]
    trunk: TrunkMotion
    period: float
    """Duration of a cycle [s]."""
    crouch: float = 0.0
    """How far the body is lowered so that all feet reach the ground [file units]."""

    @property
    def stiff(self) -> bool:
        """Whether all legs are of one bone, as those of animals made of blocks."""
        return all(len(foot.leg.links) == 1 for foot in self.feet)

    @property
    def waddle(self) -> float:
        """How far a body on short legs without knees rocks to its sides [rad]."""
        if not self.stiff or self.footfalls.duty >= 1 or self.footfalls.leap:
            return 0.0
        return WADDLE * float(np.clip(2 - self.trunk.hip_height / (SHORT * self.anatomy.height), 0, 1))

    def breaks(self) -> Float[np.ndarray, " breaks"]:
        return np.concatenate([self.trunk.breaks(), *(foot.breaks() for foot in self.feet)])

    def root(self, cycles: PerFrame) -> tuple[Rotations, Vectors]:
        """Return rotation and shift of the whole body: its own movement, then its path over the ground."""
        rotation, shift = self.trunk.root(cycles)
        if self.waddle:
            rock = rotation_about(self.anatomy.forward, self.waddle * np.sin(2 * np.pi * cycles))
            rotation, shift = rock @ rotation, _turned(rock, shift - self.path.centre) + self.path.centre
        shift = shift - self.crouch * self.anatomy.up
        shift = shift + (self.path.stride * self.trunk.surge(cycles))[:, None] * self.anatomy.forward
        return self.path.rotation(cycles) @ rotation, self.path.apply(shift, cycles)

    def world(self, cycles: PerFrame) -> Float[np.ndarray, "frames joints 4 4"]:
        """Return T_world_joint of all joints [file units]."""
        root, turns = self.root(cycles), self.trunk.turns(cycles)
        rotations, shifts = transforms(self.anatomy, turns, root)
        for foot in self.feet:
            parent = int(self.anatomy.body.parents[foot.leg.links[0]])
            above = (rotations[:, parent], shifts[:, parent]) if parent >= 0 else root
            place_foot(turns, foot, cycles, above)
        rotations, shifts = transforms(self.anatomy, turns, root)
        if self.stiff and self.footfalls.duty < 1 and not self.footfalls.leap:
            shifts = shifts + self._rise(rotations, shifts)[:, None, None] * self.anatomy.up
        moved = np.zeros((len(cycles), len(self.anatomy.body), 4, 4))
        moved[..., :3, :3], moved[..., :3, 3], moved[..., 3, 3] = rotations, shifts, 1.0
        return moved @ self.rig.world()

    def down(self, cycles: PerFrame) -> Float[np.ndarray, "frames feet"]:
        """1 where a foot bears weight; of legs without knees only those that reach the ground."""
        planted = np.stack([foot.planted(cycles) for foot in self.feet], 1)
        if not self.stiff:
            return planted.astype(np.float64)
        world, rest = self.world(cycles), self.rig.world()
        ends = []
        for foot in self.feet:
            joint = foot.leg.links[-1]
            local = np.linalg.solve(rest[joint], np.append(foot.leg.end, 1.0))
            ends.append(((world[:, joint] @ local)[:, :3] - foot.leg.end) @ self.anatomy.up)
        return (planted & (np.stack(ends, 1) < TOUCHING * self.trunk.hip_height)).astype(np.float64)

    def _rise(self, rotations: Turns, shifts: Float[np.ndarray, "frames joints 3"]) -> PerFrame:
        """How far legs without knees would be below the ground with the ends of the lowest [file units]."""
        lowest = np.full(len(rotations), np.inf)
        for foot in self.feet:
            joint = foot.leg.links[-1]
            end = rotations[:, joint] @ foot.leg.end + shifts[:, joint]
            lowest = np.minimum(lowest, end @ self.anatomy.up - foot.leg.end @ self.anatomy.up)
        return -lowest


def place_foot(turns: Turns, foot: FootPath, cycles: PerFrame, above: tuple[Rotations, Vectors]) -> None:
    """Write the turns of a leg's joints. above: rotation and shift of what the leg hangs on."""
    place, turned = foot.pose(cycles)
    place_leg(turns, foot.leg, place, turned, foot.curl(cycles), above, foot.path.up, foot.ground)


def place_leg(
    turns: Turns,
    leg: Leg,
    place: Vectors,
    turned: Rotations,
    curl: Float[np.ndarray, "frames links"],
    above: tuple[Rotations, Vectors],
    up: Point,
    ground: float,
) -> None:
    """Write the turns of the joints that bring a leg's end to places and its foot to rotations.

    curl: extra turns of its joints [rad]. above: rotation and shift of what the leg hangs on. ground: height of the
    ground, above which its tip is held [file units].
    """
    links = leg.chain.rotations(_seen_from(above, place), curl)
    for _ in range(
        6 if len(leg.tip) and len(leg.links) > 1 else 0
    ):  # what rocks about the end may sink into the ground: raise it by that
        place = place + leg.sunk(place, above[0] @ links[:, -1], up, ground)[:, None] * up
        links = leg.chain.rotations(_seen_from(above, place), curl)
    before = np.tile(np.eye(3), (len(place), 1, 1))
    for number, joint in enumerate(leg.links):
        turns[:, joint] = before.transpose(0, 2, 1) @ links[:, number]
        before = links[:, number]
    if leg.foot is not None:
        turns[:, leg.foot] = (above[0] @ before).transpose(0, 2, 1) @ turned


def _turned(rotations: Rotations, ways: Vectors) -> Vectors:
    """Vectors turned frame by frame."""
    return np.einsum("fij,fj->fi", rotations, ways)


def _seen_from(above: tuple[Rotations, Vectors], place: Vectors) -> Vectors:
    """World points in the neutral coordinates of a part that was turned and shifted."""
    return np.einsum("fji,fj->fi", above[0], place - above[1])


def with_breaks(cycles: PerFrame, breaks: Float[np.ndarray, " breaks"]) -> Float[np.ndarray, " keys"]:
    """Even keys and those where some movement changes its law."""
    even = len(cycles) - 1
    extra = np.unique(np.round(breaks % 1.0, 9))
    apart = np.abs(extra * even - np.round(extra * even)) / even > 1e-7
    return np.unique(np.concatenate([cycles, extra[apart]]))
