"""Legs in a gait: where each foot is at any time, and the turns of the joints that bring it there."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float
from scipy.interpolate import CubicSpline

from gambol.character.anatomy import Anatomy
from gambol.character.limbs import Limb
from gambol.character.transforms import about
from gambol.creatures.gaits.footfalls import IDLE, Footfalls
from gambol.motion.inverse_kinematics import FoldingChain, folding_chain

Array = np.ndarray

LOW = 0.20
"""A joint lower than this share of the hip's height begins the foot."""
FLAT_BY, RISING_FROM = 0.14, 0.60
"""Parts of stance: the sole has rolled flat, the heel begins to rise."""
WRIST = 60.0
"""How far a wrist folds in mid-swing [degrees]."""
CURLED_AT, OPENED_AT = 0.25, 0.90
"""Parts of swing: the toes point down most, and forward most."""


@dataclass(frozen=True)
class Roll:
    """How a sole rolls: tilts against the ground [rad]."""

    toes_up: float
    """Before landing."""
    heel_up: float
    """After leaving the ground."""
    rising_from: float = RISING_FROM

    def tilt(self, cycle: Float[Array, " frames"], duty: float) -> Float[Array, " frames"]:
        """Toes up is positive; `cycle` counts from touchdown and runs from 0 to 1."""
        times, values = self._keys(duty)
        index = np.clip(np.searchsorted(times, cycle, side="right") - 1, 0, len(times) - 2)
        share = (cycle - times[index]) / (times[index + 1] - times[index])
        return values[index] + (values[index + 1] - values[index]) * smooth(share)

    def breaks(self, duty: float) -> Float[Array, " breaks"]:
        return self._keys(duty)[0] % 1.0

    def _keys(self, duty: float) -> tuple[Array, Array]:
        swing = 1 - duty
        opened = duty + OPENED_AT * swing
        times = [opened - 1, FLAT_BY * duty, self.rising_from * duty, duty + CURLED_AT * swing, opened]
        values = [self.toes_up, 0.0, 0.0, -self.heel_up, self.toes_up]
        return np.array([*times, 1 + FLAT_BY * duty]), np.array([*values, 0.0])


@dataclass(frozen=True)
class Leg:
    """A leg in the neutral pose [file units, world]."""

    limb: Limb
    chain: FoldingChain
    links: tuple[int, ...]
    """Joints that the chain turns, from the hip outwards."""
    foot: int | None
    """The joint below them that keeps the sole as it should be; None if the leg ends in a point."""
    soles: Float[Array, "contacts 3"]
    """Contact points of the foot; of a leg that ends in a point: the one that is held in place."""
    home: Float[Array, "3"]
    """Shift that puts the foot on the ground and beside its partner."""
    phase: float
    """Touchdown."""
    wrists: Float[Array, " links"]
    """For each link 1 or -1 if it folds backwards, about the chain's normal, only in swing; else 0."""
    tip: Float[Array, "points 3"]
    """Contacts, and of a leg that ends in a point the skin near the ground, that go with the last link."""

    @property
    def pivots(self) -> tuple[Array, Array]:
        """Heel and toe: the contacts farthest behind and ahead, as `soles` run from back to front."""
        return self.soles[0], self.soles[-1]

    @cached_property
    def end(self) -> Float[Array, "3"]:
        """What the chain is to place: the ankle, or the point the leg stands on."""
        return self.chain.points[-1]


@dataclass(frozen=True)
class Path:
    """The way of the body over the ground: straight on, or on the spot about its centre."""

    forward: Float[Array, "3"]
    up: Float[Array, "3"]
    centre: Float[Array, "3"]
    stride: float
    """[file units] a cycle"""
    turning: float
    """To the left [rad] a cycle."""

    def rotation(self, cycles: Float[Array, " frames"]) -> Float[Array, "frames 3 3"]:
        return about(self.up, self.turning * cycles)

    def apply(self, points: Float[Array, "frames 3"], cycles: Float[Array, " frames"]) -> Float[Array, "frames 3"]:
        """Points of the body at its start, carried along."""
        turned = np.einsum("fij,fj->fi", self.rotation(cycles), points - self.centre)
        return turned + self.centre + self.stride * cycles[:, None] * self.forward


def smooth(share: Float[Array, " frames"]) -> Float[Array, " frames"]:
    """From 0 to 1 with no speed and no acceleration at both ends (Flash and Hogan's minimum jerk)."""
    share = np.clip(share, 0.0, 1.0)
    return share**3 * (10 - 15 * share + 6 * share**2)


def hip_height_of(anatomy: Anatomy) -> float:
    """Of the hind legs, above the ground [file units]."""
    hips = [anatomy.body.heads[limb.chain[0]] @ anatomy.up for limb in anatomy.legs[-2:]]
    return float(np.mean(hips)) - anatomy.ground


def stature_of(legs: list[Leg], hip_height: float) -> float:
    """What strides are measured by: the height of the hips, but at least half of a leg's length if there are more than
    four. Spiders carry the body low between legs that reach far, and step as far as those let them."""
    if len(legs) <= 4:
        return hip_height
    lengths = [np.linalg.norm(np.diff(leg.chain.points, axis=0), axis=1).sum() for leg in legs]
    return max(hip_height, 0.5 * float(np.mean(lengths)))


def legs_of(anatomy: Anatomy) -> list[Leg]:
    """The legs, whatever the gait: where the foot begins, and how the joints above it fold; as `Anatomy.legs`."""
    return find_legs(anatomy, IDLE, hip_height_of(anatomy)) if anatomy.legs else []


def find_legs(anatomy: Anatomy, footfalls: Footfalls, hip_height: float) -> list[Leg]:
    """All legs, with both feet of a pair side by side on the ground."""
    pairs = max(limb.rank for limb in anatomy.legs) + 1
    legs = []
    for limb in anatomy.legs:
        foot = _foot(anatomy, limb, hip_height)
        links = limb.chain[: limb.chain.index(foot)] if foot is not None else _down_to_contact(limb)
        links = links[_shoulder(anatomy, links) :]
        contacts = _contacts(anatomy, limb, foot)
        end = anatomy.body.heads[foot] if foot is not None else contacts[0]
        heads = anatomy.body.heads[list(links)]
        hind = limb.rank == pairs - 1
        chain = folding_chain(np.concatenate([heads, end[None]]), anatomy.left, knee_forward=hind)
        phase = footfalls.phase(limb, pairs)
        wrists = np.zeros(len(links)) if hind else _wrists(chain, anatomy.left)
        tip = _tip(anatomy, limb, links[-1], whole=foot is None)
        legs.append(Leg(limb, chain, links, foot, contacts, _home(anatomy, limb), phase, wrists, tip))
    return legs


def _foot(anatomy: Anatomy, limb: Limb, hip_height: float) -> int | None:
    """The first joint from the hip whose bone lies rather than stands and that bears the sole, if there is one."""
    body, up = anatomy.body, anatomy.up
    bearing = {joint for joint, _ in limb.contacts}
    for joint in limb.chain[1:]:
        if not bearing & set(body.subtree(joint)):
            return None
        height = float(body.heads[joint] @ up) - anatomy.ground
        bone = body.tips[joint] - body.heads[joint]
        lying = abs(bone @ up) < 0.75 * np.linalg.norm(bone) and height < 2 * LOW * hip_height
        if lying or height < LOW * hip_height:
            return joint
    return None


def _shoulder(anatomy: Anatomy, links: tuple[int, ...]) -> int:
    """How many joints stay with the trunk: short bones that lead to the hip without going down, as a shoulder does."""
    heads = anatomy.body.heads[[*links]]
    steps = np.diff(heads, axis=0)
    way = heads[-1] - heads[0]
    if abs(way @ anatomy.left) > 0.45 * np.linalg.norm(way):
        return 0
    lengths = np.linalg.norm(steps, axis=1)
    short = (lengths < 0.3 * lengths.sum()) & (-steps @ anatomy.up < 0.5 * lengths)
    return int(np.append(short, False).argmin())


def _down_to_contact(limb: Limb) -> tuple[int, ...]:
    """The chain down to the joint whose skin touches the ground."""
    last = max((limb.chain.index(joint) for joint, _ in limb.contacts if joint in limb.chain), default=-1)
    return limb.chain[: last + 1] if last >= 0 else limb.chain


def _contacts(anatomy: Anatomy, limb: Limb, foot: int | None) -> Float[Array, "contacts 3"]:
    """From heel to toe; of a leg that ends in a point only the lowest."""
    body = anatomy.body
    held = set(body.subtree(foot if foot is not None else _down_to_contact(limb)[-1]))
    points = [_placed(anatomy, joint, local) for joint, local in limb.contacts if joint in held]
    found = np.array(points) if points else body.tips[limb.chain[-1]][None]
    if foot is None:
        return found[[int((found @ anatomy.up).argmin())]]
    return found[np.argsort(found @ anatomy.forward)]


def _placed(anatomy: Anatomy, joint: int, local: tuple[float, float, float]) -> Float[Array, "3"]:
    return (anatomy.body.T_world_node[anatomy.body.nodes[joint]] @ np.array([*local, 1.0]))[:3]


def _home(anatomy: Anatomy, limb: Limb) -> Float[Array, "3"]:
    """Many characters were modelled in mid-stride, with a foot in the air."""
    partner = next((o for o in anatomy.legs if o.rank == limb.rank and o.side != limb.side), limb)
    own, other = (_sole_centre(anatomy, each) for each in (limb, partner))
    up, forward, left = anatomy.up, anatomy.forward, anatomy.left
    middle = float(np.median([_sole_centre(anatomy, each) @ left for each in anatomy.legs])) if partner != limb else 0.0
    ahead = (other - own) @ forward / 2
    outward = (abs(other @ left - middle) - abs(own @ left - middle)) / 2
    skin = anatomy.body.skin_of(list(limb.joints))
    low = min([float((skin @ up).min())] if len(skin) else [float(_placed(anatomy, *c) @ up) for c in limb.contacts])
    side = 1.0 if limb.side == "left" else -1.0
    return ahead * forward + side * outward * left + (anatomy.ground - low) * up


def _wrists(chain: FoldingChain, left: Float[Array, "3"]) -> Float[Array, " links"]:
    """Joints of a foreleg beyond the elbow that are straight at rest, as a horse's carpus."""
    lengths = np.linalg.norm(np.diff(chain.points, axis=0), axis=1)
    beyond = np.cumsum(np.abs(chain.fold)) - np.abs(chain.fold) > 0.5  # the elbow comes before
    straight = beyond & (np.abs(chain.fold) < 0.5) & (lengths > 0.1 * lengths.sum())
    sideways = chain.normal @ left
    return straight * np.sign(sideways) * (abs(sideways) > 0.8)


def _tip(anatomy: Anatomy, limb: Limb, link: int, whole: bool) -> Float[Array, "points 3"]:
    own = [_placed(anatomy, joint, local) for joint, local in limb.contacts if joint == link]
    skin = anatomy.body.skin_of([link] if whole else [])
    low = skin[skin @ anatomy.up < anatomy.ground + 0.06 * anatomy.height]
    return np.concatenate([np.reshape(own, (-1, 3)), low])


def _sole_centre(anatomy: Anatomy, limb: Limb) -> Float[Array, "3"]:
    points = [_placed(anatomy, joint, local) for joint, local in limb.contacts]
    return np.mean(points, axis=0) if points else anatomy.body.tips[limb.chain[-1]]


@dataclass(frozen=True)
class FootPath:
    """Where a foot is at any time, in cycles of the gait; any real number, so it goes on for ever."""

    leg: Leg
    path: Path
    duty: float
    lift: float
    """[file units]"""
    roll: Roll
    ground: float
    """Height of the ground [file units]."""
    ahead: float = 0.0
    """How far before its place at rest the foot is set down [file units]."""
    raised: CubicSpline | None = None
    """How far the foot is raised over a cycle of the gait so that its skin does not sink [file units]."""

    def cycle(self, cycles: Float[Array, " frames"]) -> tuple[Array, Array]:
        """Number of the step, and the part of it that has passed since touchdown."""
        since = cycles - self.leg.phase
        number = np.floor(since + 1e-12)
        return number, np.clip(since - number, 0.0, 1.0)

    def planted(self, cycles: Float[Array, " frames"]) -> Bool[Array, " frames"]:
        return self.cycle(cycles)[1] <= self.duty + 1e-9

    def breaks(self) -> Float[Array, " breaks"]:
        """Times in a cycle at which the foot's way changes: keys belong there."""
        if self.duty >= 1:
            return np.zeros(0)
        rolls = self.roll.breaks(self.duty) if self.leg.foot is not None else np.zeros(0)
        return (self.leg.phase + np.concatenate([[0.0, self.duty], rolls])) % 1.0

    def swing(self, cycles: Float[Array, " frames"]) -> Float[Array, " frames"]:
        """How far the foot is lifted, from 0 to 1 and back; 0 in stance."""
        share = self._swing_share(cycles)
        return (4 * share * (1 - share)) ** 2

    def curl(self, cycles: Float[Array, " frames"]) -> Float[Array, "frames links"]:
        """Extra turns of the leg's joints in swing [rad]: wrists that are straight in stance fold backwards."""
        return np.radians(WRIST) * self.swing(cycles)[:, None] * self.leg.wrists

    def _swing_share(self, cycles: Float[Array, " frames"]) -> Float[Array, " frames"]:
        if self.duty >= 1:
            return np.zeros(len(cycles))
        return np.clip((self.cycle(cycles)[1] - self.duty) / (1 - self.duty), 0.0, 1.0)

    def pose(self, cycles: Float[Array, " frames"]) -> tuple[Float[Array, "frames 3"], Float[Array, "frames 3 3"]]:
        """Place of the end of the chain, and the turn of the foot away from the neutral pose."""
        number, part = self.cycle(cycles)
        middle = self.leg.phase + number + self.duty / 2 + smooth(self._swing_share(cycles))
        if self.duty >= 1:
            middle = np.zeros(len(cycles))
        left = np.cross(self.path.up, self.path.forward)
        tilt = self.roll.tilt(part, self.duty) if self.leg.foot is not None and self.duty < 1 else np.zeros(len(cycles))
        rolled = about(left, -tilt)
        heel, toe = self.leg.pivots
        pivot = np.where((tilt < 0)[:, None], toe, heel)
        end = (
            pivot
            + np.einsum("fij,fj->fi", rolled, self.leg.end - pivot)
            + self.leg.home
            + self.ahead * self.path.forward
        )
        height = self.lift * self.swing(cycles) + (self.raised(cycles % 1.0) if self.raised else 0.0)
        place = self.path.apply(end, middle) + height[:, None] * self.path.up
        return place, self.path.rotation(middle) @ rolled

    def sunk(self, place: Float[Array, "frames 3"], link: Float[Array, "frames 3 3"]) -> Float[Array, " frames"]:
        """How deep the tip is below the ground when the end is at a place and the last link turned."""
        if not len(self.leg.tip):
            return np.zeros(len(place))
        points = np.einsum("fij,pj->fpi", link, self.leg.tip - self.leg.end) + place[:, None]
        return np.maximum(self.ground - (points @ self.path.up).min(1), 0.0)
