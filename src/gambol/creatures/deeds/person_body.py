"""Measures of a person's body that its deeds need, and its joints in any pose. Vectors are in body axes (left, up,
forward), lengths in leg lengths, heights above the ground."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int

from gambol.character.anatomy import Anatomy
from gambol.character.limbs import LimbKind
from gambol.creatures.gaits.foot_paths import PerFrame, Point, Rotations, Vectors
from gambol.motion.body_tracks import BodyTracks, poses_of_tracks
from gambol.motion.chains import END, STATIONS, UPPER, Chain, find_chains

LOWER = UPPER + 2
"""First station below knee or elbow."""
SKIN = 1200
"""Number of vertices by which a body that lies is put onto the ground."""
THING = 0.6
"""What reaches farther from a wrist or ankle than this is held, and no hand or foot [arm or leg lengths]."""
THIN = 0.02
"""Least depth of a hand or foot below its joint [leg lengths]."""
GRIP = 0.5
"""Where a hand grips, as a share of its length."""
FOLDS = 1.8
"""Upper arms that are shorter than forearm and hand by more than this factor cannot bring fingertips to the head with
the elbow out; the adventurer's is."""

Stations = Float[np.ndarray, "frames chains stations 3 3"]
Heads = Float[np.ndarray, "frames joints 3"]


@dataclass(frozen=True, eq=False)
class TwoLinkLimb:
    """An arm or leg in the canonical rest pose, arms sideways and legs down."""

    number: int
    """Of its chain."""
    side: float
    """1 if left, -1 if right."""
    joint: int
    """Shoulder or hip."""
    upper: Point
    lower: Point
    """Bones; the lower one of an arm leads to the grip of its hand."""
    end: Point
    """Bone of the hand or foot."""

    @property
    def length(self) -> float:
        """From shoulder to grip, or from hip to ankle."""
        return float(np.linalg.norm(self.upper) + np.linalg.norm(self.lower))


class PersonBody:
    """A body with two legs and arms."""

    def __init__(self, anatomy: Anatomy):
        self.anatomy, self.chains = anatomy, find_chains(anatomy)
        chains = self.chains
        self.height = chains.rest_height / chains.unit
        """Of the middle between the hips, on straight legs."""
        self.legs = [self._limb(number, chain) for number, chain in enumerate(chains.chains) if chain.kind == "leg"]
        self.arms = [self._limb(number, chain) for number, chain in enumerate(chains.chains) if chain.kind == "arm"]
        self.neck = next((number for number, chain in enumerate(chains.chains) if chain.kind == "neck"), None)
        self.origin = chains.anchor - (chains.rest_height - chains.lift) * anatomy.up
        """Point on the ground below the hips [file units, world]."""

    def _limb(self, number: int, chain: Chain) -> TwoLinkLimb:
        bones = self.chains.bones[number]
        upper, lower, end = bones[UPPER:LOWER].sum(0), bones[LOWER:END].sum(0), bones[END:].sum(0)
        if np.linalg.norm(lower) < 1e-3:  # no elbow: both halves go the same way
            upper, lower = upper / 2, upper / 2
        if chain.kind == "arm":
            lower = lower + GRIP * bones[END]
        joint = chain.joints[chain.stations.index(UPPER)]
        return TwoLinkLimb(number, 1.0 if chain.side == "left" else -1.0, joint, upper, lower, end)

    @cached_property
    def spine(self) -> Float[np.ndarray, " stations"]:
        """How much of what the spine does each station of the trunk shows: none where legs hang, all where arms do."""
        hangs_on = self.chains.roots[0]
        low = max(int(hangs_on[leg.number]) for leg in self.legs)
        high = min((int(hangs_on[arm.number]) for arm in self.arms), default=STATIONS - 1)
        if high <= low:
            return np.zeros(STATIONS)
        return np.clip((np.arange(STATIONS) - low) / (high - low), 0.0, 1.0)

    @cached_property
    def nape(self) -> Float[np.ndarray, " stations"]:
        """How far each station of the neck goes with the head, from the trunk on."""
        assert self.neck is not None
        stations = self.chains.chains[self.neck].stations
        return np.interp(np.arange(STATIONS), stations, np.arange(1, len(stations) + 1) / len(stations))

    @cached_property
    def head(self) -> tuple[int, Point, Point]:
        """Joint of the head, the middle of its skin from there, and half its extent."""
        body = self.anatomy.body
        joint = self.chains.chains[self.neck or 0].joints[-1]
        skin = body.skin_of(body.subtree(joint)) if self.neck is not None else np.zeros((0, 3))
        points = (skin - body.heads[joint]) @ self.chains.axes / self.chains.unit
        if len(points) < 8:
            return joint, np.array([0.0, 0.12, 0.0]), np.full(3, 0.12)
        low, high = np.percentile(points, (6, 94), axis=0)
        return joint, (low + high) / 2, np.maximum((high - low) / 2, 0.02)

    @cached_property
    def at_rest(self) -> Float[np.ndarray, "joints 3"]:
        """Where joints are in the canonical rest pose."""
        rest = np.tile(np.eye(3), (1, *self.chains.bones.shape[:2], 1, 1))
        return self.heads(rest, np.array([[0.0, self.height, 0.0]]))[0]

    @cached_property
    def ankle(self) -> float:
        """Height of the ankles."""
        return max(self.height - float(np.mean([leg.length for leg in self.legs])), 0.0)

    @cached_property
    def _limb_skin(self) -> dict[int, Float[np.ndarray, "points 3"]]:
        """Skin of the hand or foot of each arm and leg in the canonical rest pose, seen from wrist or ankle."""
        rest = np.tile(np.eye(3), (1, *self.chains.bones.shape[:2], 1, 1))
        moved, _ = self._moved_skin(rest, np.array([[0.0, self.height, 0.0]]), ())
        found = {}
        for limb in (*self.arms, *self.legs):
            chain = self.chains.chains[limb.number]
            end = sum(station < END for station in chain.stations)
            below = self.anatomy.body.subtree(chain.joints[end - 1])  # fingers may hang on the forearm
            held = np.isin(self._skin[1], below) & (self._skin[1] != chain.joints[end - 1])
            joint = chain.joints[min(end, len(chain.joints) - 1)]
            points = moved[0, held] - self.at_rest[joint]
            found[limb.number] = points[np.linalg.norm(points, axis=1) < THING * limb.length]
        return found

    def depth(self, limb: TwoLinkLimb, turned: Rotations) -> PerFrame:
        """How far the skin of a hand or foot reaches below wrist or ankle. turned: its rotation, counted from the
        canonical rest pose."""
        points = self._limb_skin[limb.number]
        if not len(points):
            return np.full(len(turned), THIN)
        return np.maximum(-(turned[:, 1] @ points.T).min(1), THIN)

    def beyond_grip(self, arm: TwoLinkLimb) -> float:
        """How far the skin of a stretched hand reaches beyond its grip, or what of it a short upper arm can fold to."""
        length, points = float(np.linalg.norm(arm.end)), self._limb_skin[arm.number]
        farthest = float((points @ arm.end).max()) / max(length, 1e-9) if len(points) else length
        upper, lower = (float(np.linalg.norm(bone)) for bone in (arm.upper, arm.lower))
        return float(np.clip(FOLDS * upper - lower, 0.0, farthest - GRIP * length))

    @cached_property
    def _skin(self) -> tuple[Float[np.ndarray, "points 3"], Int[np.ndarray, " points"]]:
        """Points of the skin in the neutral pose [file units] and their joints."""
        body = self.anatomy.body
        held = np.flatnonzero(body.owners >= 0)
        held = held[:: max(len(held) // SKIN, 1)]
        return (body.vertices[held], body.owners[held]) if len(held) else (body.heads, np.arange(len(body)))

    def poses(self, stations: Stations, hips: Vectors) -> Float[np.ndarray, "frames joints 3 4"]:
        """T_world_joint [file units]. hips: where the middle between them is."""
        count = len(stations)
        tracks = BodyTracks(
            torch.as_tensor(stations),
            torch.as_tensor(hips[:, 1] - self.height),
            torch.as_tensor(hips[:, [0, 2]]),
            torch.zeros(count, len(self.chains.chains)),
            1.0,
            False,
            torch.zeros(2),
        )
        return poses_of_tracks(self.chains, tracks).numpy()

    def heads(self, stations: Stations, hips: Vectors) -> Heads:
        """Where joints are."""
        return self.seen(self.poses(stations, hips)[..., 3])

    def seen(self, points: Float[np.ndarray, "*batch 3"]) -> Float[np.ndarray, "*batch 3"]:
        """World points [file units] in body axes."""
        return (points - self.origin) @ self.chains.axes / self.chains.unit

    def lowest(self, stations: Stations, hips: Vectors, without: tuple[LimbKind, ...]) -> PerFrame:
        """Height of the lowest skin. without: limbs that do not count, with what they hold."""
        return self._moved_skin(stations, hips, without)[0][..., 1].min(1)

    def rests(self, stations: Stations, hips: Vectors, way: Vectors) -> tuple[tuple[PerFrame, PerFrame], ...]:
        """Of the lower half of the trunk, and of the upper one with the head: the height of the lowest skin, and how
        far from the hips it is along a way."""
        moved, heights = self._moved_skin(stations, hips, ("arm", "leg"))
        shoulders = float(np.mean([self.at_rest[arm.joint][1] for arm in self.arms]))
        upper = heights > (self.height + shoulders) / 2
        found = []
        for half in (~upper, upper):
            points = moved[:, half] if half.any() else moved
            lowest = points[np.arange(len(points)), points[..., 1].argmin(1)]
            found.append((lowest[:, 1], ((lowest - hips) * way).sum(1)))
        return tuple(found)

    def _moved_skin(
        self, stations: Stations, hips: Vectors, without: tuple[LimbKind, ...]
    ) -> tuple[Float[np.ndarray, "frames points 3"], Float[np.ndarray, " points"]]:
        """Where points of the skin are, and how high they are in the neutral pose. without: limbs that do not count."""
        body = self.anatomy.body
        points, owners = self._skin
        held = [joint for limb in self.anatomy.limbs if limb.kind in without for joint in limb.joints]
        points, owners = points[~np.isin(owners, held)], owners[~np.isin(owners, held)]
        if not len(points):
            points, owners = body.heads, np.arange(len(body))
        rest = body.T_world_node[body.nodes][owners]
        local = np.linalg.solve(rest, np.concatenate([points, np.ones((len(points), 1))], 1)[..., None])
        return self.seen((self.poses(stations, hips)[:, owners] @ local)[..., 0]), self.seen(points)[:, 1]
