"""Chains: a body as the prior on tracks sees it, with the same few stations on every trunk, neck, tail and limb.

Whatever a rig's joints are, each chain has STATIONS stations. Those of a limb have a meaning (girdle, the bones down
to ankle or wrist, foot or hand, toes or fingers); those of a trunk, neck, tail or wing are spread evenly along it. Two
matrices lead from joints to stations and back. Rotations are counted from a canonical rest pose, in which arms point
sideways and legs down, so that the same numbers mean the same pose whichever pose a skin was bound in.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from gambol.character.anatomy import Anatomy
from gambol.character.limbs import Limb
from gambol.character.transforms import normalize
from gambol.motion.chain_joints import (
    arm_joints,
    line_up_from,
    neck_joints,
    tail_joints,
    trunk_joints,
    ways_along,
    without_girdle,
)
from gambol.motion.inverse_kinematics import shortest_arc
from gambol.motion.legs import leg_length, legs_of

STATIONS = 8
GIRDLE, UPPER, END, DIGITS = 0, 1, 6, 7
"""Stations of arms and legs: shoulder blade or hip; from UPPER to before END, those of thigh, shin and whatever bones
there are down to the ankle; foot or hand; toes or fingers."""
LINKS = END - UPPER
LINK_STATIONS = {1: (0,), 2: (0, 2), 3: (0, 2, 4), 4: (0, 1, 2, 4), 5: (0, 1, 2, 3, 4)}
"""Stations of links, counted from UPPER, by their number: knee and elbow are always at the third."""
UPRIGHT, SPRAWLED = np.radians(30.0), np.radians(60.0)
"""Legs that leave the vertical by less are brought to it in the canonical pose, others, as a lizard's, are not."""
KNEE, CROUCHED = np.radians(35.0), np.radians(75.0)
"""Thighs and shins of people leave the line of the leg by less; if they have arms, they may also be bound crouching."""
UPRIGHT_TRUNK = 0.8
"""Cosine of the angle between the vertical and the way from hips to head of who stands upright."""
OVERHEAD = 0.9
"""Cosine of the angle between the vertical and arms that are bound over the head."""
MOST_YAW = np.radians(60.0)
"""Feet that point aside by less point forward in the canonical pose."""

ChainKind = Literal["trunk", "neck", "tail", "arm", "leg", "wing", "fin"]
CHAIN_KINDS: tuple[ChainKind, ...] = ("trunk", "neck", "tail", "arm", "leg", "wing", "fin")


@dataclass(frozen=True)
class Chain:
    """One chain of a body."""

    kind: ChainKind
    side: Literal["left", "middle", "right"]
    rank: int
    """Counted from the front among chains of its kind."""
    joints: tuple[int, ...]
    """Joints from the trunk outwards; of the trunk, from the hips to the shoulders."""
    stations: tuple[int, ...]
    """Station of each joint; of a chain with more joints than stations, the nearest one."""

    @property
    def name(self) -> str:
        """'trunk', 'left leg', 'right leg 2'."""
        side = "" if self.side == "middle" else f"{self.side} "
        return f"{side}{self.kind}" + (f" {self.rank + 1}" if self.rank else "")


@dataclass(frozen=True, eq=False)
class Chains:
    """The chains of a body, and how their stations follow from joints and joints from stations. Vectors are in body
    axes: left, up, forward."""

    anatomy: Anatomy
    chains: tuple[Chain, ...]
    """The trunk first, then neck, tail and limbs in the order of `Anatomy.limbs`, without ears."""
    from_joints: Float[np.ndarray, "stations joints"]
    """Weights of the joints' rotations in those of all stations, chain after chain."""
    to_joints: Float[np.ndarray, "joints stations"]
    """Weights of the stations' rotations in those of the joints."""
    canonical: Float[np.ndarray, "joints 3 3"]
    """Rotation of each joint from the canonical rest pose to the neutral pose."""
    anchor_weights: Float[np.ndarray, " joints"]
    anchor_points: Float[np.ndarray, "joints 3"]
    """The anchor, which carries height and path, is the weighted mean of points that move with the joints: the middle
    between the hips, or of a body without legs its centre. Here the points in the neutral pose [file units, world]."""
    unit: float
    """Length of a leg, or what stands for it: the unit of heights and paths [file units]."""
    lift: float
    """How much higher the anchor is in the canonical rest pose than in the neutral pose [file units]."""

    @cached_property
    def axes(self) -> Float[np.ndarray, "3 3"]:
        """Columns: left, up, forward in the world."""
        return np.stack([self.anatomy.left, self.anatomy.up, self.anatomy.forward], axis=1)

    @cached_property
    def anchor(self) -> Float[np.ndarray, 3]:
        """The anchor in the neutral pose [file units, world]."""
        return self.anchor_weights @ self.anchor_points

    @cached_property
    def rest_height(self) -> float:
        """Height of the anchor above the ground in the canonical rest pose [file units]."""
        return float(self.anchor @ self.anatomy.up) - self.anatomy.ground + self.lift

    @cached_property
    def legs(self) -> list[int]:
        """Chains that are legs, in the order of `Anatomy.legs`."""
        return [number for number, chain in enumerate(self.chains) if chain.kind == "leg"]

    @cached_property
    def partners(self) -> Int[np.ndarray, " chains"]:
        """The chain of the same kind and rank on the other side; itself in the middle."""
        place = {(chain.kind, chain.rank, str(chain.side)): number for number, chain in enumerate(self.chains)}
        other = {"left": "right", "right": "left", "middle": "middle"}
        return np.array([place.get((c.kind, c.rank, other[c.side]), i) for i, c in enumerate(self.chains)])

    @cached_property
    def bones(self) -> Float[np.ndarray, "chains stations 3"]:
        """Way along each station's bones in the canonical rest pose [leg lengths]; zero where no joint is."""
        found = np.zeros((len(self.chains), STATIONS, 3))
        for number, chain in enumerate(self.chains):
            for joint, station, way in zip(
                chain.joints, chain.stations, ways_along(self.anatomy, chain.joints), strict=True
            ):
                found[number, station] += self.canonical[joint].T @ self.axes.T @ way / self.unit
        return found

    @cached_property
    def roots(self) -> tuple[Int[np.ndarray, " chains"], Float[np.ndarray, "chains 3"]]:
        """Station of the trunk that each chain hangs on, and the way from there to its first joint in the neutral pose;
        of the trunk, from the anchor [leg lengths]."""
        body, trunk = self.anatomy.body, self.chains[0]
        stations, offsets = [0], [body.heads[trunk.joints[0]] - self.anchor]
        for chain in self.chains[1:]:
            above = [joint for joint in body.above(chain.joints[0]) if joint in trunk.joints]
            held = above[0] if above else min(trunk.joints, key=lambda j: _far(body.heads, j, chain.joints[0]))
            stations.append(trunk.stations[trunk.joints.index(held)])
            offsets.append(body.heads[chain.joints[0]] - body.heads[held])
        return np.array(stations), np.stack(offsets) @ self.axes / self.unit


def _far(heads: Float[np.ndarray, "joints 3"], a: int, b: int) -> float:
    return float(np.linalg.norm(heads[a] - heads[b]))


def find_chains(anatomy: Anatomy) -> Chains:
    """The chains of a body."""
    builder = _Builder(anatomy)
    builder.add_middle("trunk", trunk_joints(anatomy))
    neck = neck_joints(anatomy, builder.chains[0].joints)
    if neck:
        builder.add_middle("neck", neck)
    tail = tail_joints(anatomy)
    if tail:
        builder.add_middle("tail", tail)
        builder.straighten(tail)
    legs = {leg.limb: leg for leg in legs_of(anatomy)}
    for limb in anatomy.limbs:
        if limb.kind == "leg":
            links = legs[limb].links
            builder.add_limb(limb, links if len(legs) > 4 else without_girdle(anatomy, links), legs[limb].foot)
        elif limb.kind == "arm":
            builder.add_limb(limb, *arm_joints(anatomy, limb))
        elif limb.kind in ("wing", "fin"):
            builder.add_along(limb)
    return builder.build()


class _Builder:
    """Collects chains and the weights between joints and stations."""

    def __init__(self, anatomy: Anatomy):
        self.anatomy, self.joints = anatomy, len(anatomy.body)
        self.axes = np.stack([anatomy.left, anatomy.up, anatomy.forward], axis=1)
        self.chains: list[Chain] = []
        self.reads: list[np.ndarray] = []
        self.writes: dict[int, dict[int, float]] = {}
        """Weights of stations by joint."""
        self.canonical = np.tile(np.eye(3), (self.joints, 1, 1))
        self.lifts: list[float] = []
        self.lengths: list[float] = []

    def add_middle(self, kind: ChainKind, joints: list[int]) -> None:
        """A chain in the middle of the body, its stations spread along it."""
        self._add(kind, "middle", 0, joints, *_along(_places(self.anatomy, joints)))

    def straighten(self, tail: list[int]) -> None:
        """In the canonical rest pose a tail points straight back."""
        line = self.axes.T @ (self.anatomy.body.tips[tail[-1]] - self.anatomy.body.heads[tail[0]])
        self.canonical[tail] = _arc(np.array([0.0, 0.0, -1.0]), line)

    def add_along(self, limb: Limb) -> None:
        """A wing or fin, its stations spread along it."""
        joints = list(limb.chain)
        self._add(_kind_of(limb), limb.side, limb.rank, joints, *_along(_places(self.anatomy, joints)))

    def add_limb(self, limb: Limb, links: tuple[int, ...], end: int | None) -> None:
        """An arm or leg. links: joints from shoulder or hip to wrist or ankle. end: hand or foot, if there is one."""
        body = self.anatomy.body
        girdle = list(limb.chain[: limb.chain.index(links[0])])
        beyond = limb.chain[limb.chain.index(links[-1]) + 1 :]
        end = beyond[0] if end is None and beyond else end
        digits = [] if end is None else [joint for joint in body.subtree(end) if joint != end]
        joints = [*girdle, *links, *([] if end is None else [end])]
        read, write = np.zeros((STATIONS, self.joints)), np.zeros((len(joints), STATIONS))
        parent = int(body.parents[links[0]])
        read[GIRDLE, parent if parent >= 0 else links[0]] = 1.0
        write[: len(girdle), GIRDLE] = 1.0
        middle = slice(len(girdle), len(girdle) + len(links))
        read[UPPER:END, list(links)], write[middle, UPPER:END] = _links(len(links))
        last = links[-1] if end is None else end
        read[END, last] = read[DIGITS, last] = 1.0
        if end is not None:
            write[-1, END] = 1.0
        start, fingers = len(self.chains) * STATIONS, _fingers(self.anatomy, end, digits)
        for joint, share in _digit_shares(body.parents, end, digits, fingers).items():
            self.writes[joint] = {start + END: 1 - share, start + DIGITS: share}
        if fingers:
            read[DIGITS] = 0.0
            read[DIGITS, fingers] = 1 / len(fingers)
        self._pose(limb, links, end, digits)
        self._add(_kind_of(limb), limb.side, limb.rank, joints, read[:, joints + digits], write, joints + digits)

    def _pose(self, limb: Limb, links: tuple[int, ...], end: int | None, digits: list[int]) -> None:
        """Set the rotations from the canonical to the neutral pose."""
        body = self.anatomy.body
        bones = np.array(ways_along(self.anatomy, (*links, *([] if end is None else [end]))))
        ways = bones @ self.axes
        if limb.kind == "arm":
            sideways = np.array([1.0 if limb.side == "left" else -1.0, 0.0, 0.0])
            turned = [_raised(sideways, way) for way in ways]
            if end is not None and digits:
                fingers = _fingers(self.anatomy, end, digits) or digits
                turned[-1] = _raised(sideways, (body.tips[fingers] - body.heads[end]).mean(0) @ self.axes)
            self.canonical[list(links)] = turned[: len(links)]
            self.canonical[digits] = turned[-1]
            if end is not None:
                self.canonical[end] = turned[-1]
            return
        line = ways[: len(links)].sum(0)
        angle = float(np.arccos(np.clip(-line[1] / max(np.linalg.norm(line), 1e-30), -1, 1)))
        share = float(np.clip((SPRAWLED - angle) / (SPRAWLED - UPRIGHT), 0, 1)) if len(self.anatomy.legs) <= 4 else 0.0
        down = np.array([0.0, -1.0, 0.0])
        target = normalize((1 - share) * normalize(line) + share * down)
        turned = [_arc(target, line)] * len(links)
        if self._is_human_leg(ways[: len(links)], line):  # a knee that is bound bent is straight here
            turned = [_arc(target, way) for way in ways[: len(links)]]
        self.canonical[list(links)] = turned
        straight = sum(turn.T @ way for turn, way in zip(turned, ways, strict=False))
        self.lifts.append(float(line[1] - straight[1]))
        ankle = float(body.heads[end] @ self.anatomy.up) - self.anatomy.ground if end is not None else 0.0
        self.lengths.append(float(np.linalg.norm(ways[: len(links)], axis=1).sum()) + max(ankle, 0.0))
        if end is not None:
            toes = normalize(ways[-1])
            yaw = float(np.arctan2(toes[0], toes[2]))
            if abs(yaw) < MOST_YAW and np.hypot(toes[0], toes[2]) > 0.3:
                self.canonical[[end, *digits]] = _about_up(yaw)

    def _is_human_leg(self, bones: Float[np.ndarray, "links 3"], line: Float[np.ndarray, 3]) -> bool:
        """Whether a leg is thigh and shin, about in line, of a body on two legs: not a bird's, nor a dog's."""
        ways = normalize(bones) @ normalize(line)
        most = CROUCHED if self.anatomy.pairs("arm") and self._stands_upright() else KNEE
        return len(self.anatomy.legs) == 2 and len(bones) == 2 and bool((ways > np.cos(most)).all())

    def _stands_upright(self) -> bool:
        """Whether the head is above the hips."""
        hips = np.mean([self.anatomy.body.heads[leg.chain[0]] for leg in self.anatomy.legs], axis=0)
        middle = [joint for chain in self.chains if chain.kind in ("trunk", "neck") for joint in chain.joints]
        way = self.anatomy.body.tips[middle[-1]] - hips
        return bool(normalize(way) @ self.anatomy.up > UPRIGHT_TRUNK)

    def _add(
        self,
        kind: ChainKind,
        side: Literal["left", "middle", "right"],
        rank: int,
        joints: list[int],
        read: Float[np.ndarray, "stations read"],
        write: Float[np.ndarray, "joints stations"],
        read_joints: list[int] | None = None,
    ) -> None:
        """Add a chain. read_joints: the joints that `read` is about, by default those of the chain."""
        start = len(self.chains) * STATIONS
        weights = np.zeros((STATIONS, self.joints))
        weights[:, joints if read_joints is None else read_joints] = read
        if not weights.any(1).all():  # a station that only the joint above knows
            parent = int(self.anatomy.body.parents[joints[0]])
            weights[~weights.any(1), parent if parent >= 0 else joints[0]] = 1.0
        self.reads.append(weights)
        for joint, row in zip(joints, write, strict=True):
            self.writes[joint] = {start + int(station): float(row[station]) for station in np.flatnonzero(row)}
        stations = tuple(int(station) for station in write.argmax(1))
        self.chains.append(Chain(kind, side, rank, tuple(joints), stations))

    def build(self) -> Chains:
        anatomy, body = self.anatomy, self.anatomy.body
        write = np.zeros((self.joints, len(self.chains) * STATIONS))
        for joint, parent in enumerate(body.parents):
            own = self.writes.get(joint)
            if own is None and parent >= 0:  # loose parts follow what they hang on
                write[joint], self.canonical[joint] = write[parent], self.canonical[parent]
                continue
            for station, weight in (own or {0: 1.0}).items():
                write[joint, station] = weight
        hips = [leg.chain[0] for leg in anatomy.legs if leg.rank == max(each.rank for each in anatomy.legs)]
        weights, points = np.zeros(self.joints), body.heads.copy()
        if hips and anatomy.stands:
            weights[self.chains[0].joints[0]] = 1.0
            points[self.chains[0].joints[0]] = body.heads[hips].mean(0)
        else:
            middle = [joint for chain in self.chains if chain.side == "middle" for joint in chain.joints]
            weights[middle] = body.mass[middle] + 1e-6
            weights /= weights.sum()
        lift = float(np.mean(self.lifts)) if self.lifts and anatomy.stands else 0.0
        unit = float(np.mean(self.lengths)) if self.lengths else leg_length(anatomy)
        read = np.concatenate(self.reads)
        return Chains(anatomy, tuple(self.chains), read, write, self.canonical, weights, points, unit, lift)


def _kind_of(limb: Limb) -> ChainKind:
    if limb.kind == "ear":
        raise ValueError("ears are no chains")
    return limb.kind


def _arc(a: Float[np.ndarray, 3], b: Float[np.ndarray, 3]) -> Float[np.ndarray, "3 3"]:
    """The smallest rotation from one direction to another; none for a bone without length."""
    if np.linalg.norm(b) < 1e-12 or normalize(a) @ normalize(b) < -0.999:
        return np.eye(3)
    return shortest_arc(normalize(a)[None], normalize(b)[None])[0]


def _raised(sideways: Float[np.ndarray, 3], way: Float[np.ndarray, 3]) -> Float[np.ndarray, "3 3"]:
    """The rotation of an arm from its side to a direction, by way of hanging: an arm that is bound pointing forward
    then hangs without a twist. The smallest rotation for arms in the frontal plane, and for those bound over the
    head."""
    down = np.array([0.0, -1.0, 0.0])
    if way @ down <= -OVERHEAD * np.linalg.norm(way):
        return _arc(sideways, way)
    return _arc(down, way) @ _arc(sideways, down)


def _about_up(yaw: float) -> Float[np.ndarray, "3 3"]:
    sin, cos = np.sin(yaw), np.cos(yaw)
    return np.array([[cos, 0.0, sin], [0.0, 1.0, 0.0], [-sin, 0.0, cos]])


def _places(anatomy: Anatomy, joints: list[int]) -> Float[np.ndarray, " joints"]:
    """Where joints are along a chain, from 0 for the first to 1 for the last."""
    heads = anatomy.body.heads[joints]
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(heads, axis=0), axis=1))])
    return along / along[-1] if along[-1] > 0 else np.linspace(0.0, 1.0, len(joints))


def _along(
    places: Float[np.ndarray, " joints"],
) -> tuple[Float[np.ndarray, "stations joints"], Float[np.ndarray, "joints stations"]]:
    """Weights of joints in even stations and of stations in joints. If there are no more joints than stations, each
    has its own one, so that nothing is lost."""
    count = len(places)
    wanted = np.arange(STATIONS) / (STATIONS - 1)
    if count > STATIONS:
        return _hats(wanted, places), _hats(places, wanted)
    own = _own_stations(places * (STATIONS - 1), STATIONS)
    return _hats(np.arange(STATIONS, dtype=float), np.array(own, float)), np.eye(STATIONS)[own]


def _hats(at: Float[np.ndarray, " wanted"], knots: Float[np.ndarray, " knots"]) -> Float[np.ndarray, "wanted knots"]:
    """Weights of linear interpolation between knots, which do not decrease."""
    knots = knots + 1e-9 * np.arange(len(knots))
    return np.stack([np.interp(at, knots, row) for row in np.eye(len(knots))], axis=1)


def _own_stations(wanted: Float[np.ndarray, " joints"], stations: int) -> list[int]:
    """Increasing stations, each near to where a joint is: the sum of distances is least (dynamic programming)."""
    count = len(wanted)
    cost = np.full((count, stations), np.inf)
    before = np.zeros((count, stations), int)
    cost[0] = np.abs(wanted[0] - np.arange(stations))
    for joint in range(1, count):
        for station in range(joint, stations):
            before[joint, station] = int(cost[joint - 1, :station].argmin())
            cost[joint, station] = cost[joint - 1, before[joint, station]] + abs(wanted[joint] - station)
    found = [int(cost[-1].argmin())]
    for joint in range(count - 1, 0, -1):
        found.append(int(before[joint, found[-1]]))
    return found[::-1]


def _links(count: int) -> tuple[Float[np.ndarray, "stations links"], Float[np.ndarray, "links stations"]]:
    """Weights between the links of a limb and its stations. Bones are stiff: a station is that of the last link before
    it. A limb of more links than stations loses some."""
    if count > LINKS:
        wanted, even = np.linspace(0.0, 1.0, LINKS), np.linspace(0.0, 1.0, count)
        return _hats(wanted, even), _hats(even, wanted)
    own = np.array(LINK_STATIONS[count])
    held = np.searchsorted(own, np.arange(LINKS), side="right") - 1
    return np.eye(count)[np.maximum(held, 0)], np.eye(LINKS)[own]


def _digit_shares(
    parents: Int[np.ndarray, " joints"], end: int | None, digits: list[int], fingers: list[int]
) -> dict[int, float]:
    """How far each joint of fingers or toes is between the hand, 0, and the tip of its finger, 1; thumbs go with the
    hand. fingers: their last joints."""
    if end is None:
        return {}
    depth = {end: 0}
    for joint in digits:
        depth[joint] = depth[int(parents[joint])] + 1
    whole = dict.fromkeys(digits, 0)
    for last in fingers:
        for joint in line_up_from(parents, last):
            if joint == end:
                break
            whole[joint] = max(whole[joint], depth[last])
    return {joint: depth[joint] / whole[joint] if whole[joint] else 0.0 for joint in digits}


def _fingers(anatomy: Anatomy, end: int | None, digits: list[int]) -> list[int]:
    """Last joints of all fingers or toes but thumbs, which point elsewhere."""
    if end is None or not digits:
        return []
    body = anatomy.body
    last = [joint for joint in digits if not body.children[joint]]
    ways = normalize(body.tips[last] - body.heads[end])
    middle = normalize(np.median(ways, axis=0))
    return [joint for joint, way in zip(last, ways, strict=True) if way @ middle > 0.8] or last
