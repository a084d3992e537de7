"""Legs as inverse kinematics needs them: which joints fold, where the foot begins, what touches the ground."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from gambol.character.anatomy import Anatomy
from gambol.character.limbs import Limb
from gambol.motion.inverse_kinematics import FoldingChain, folding_chain

LOW = 0.20
"""A joint lower than this share of the hip's height begins the foot."""


@dataclass(frozen=True)
class Leg:
    """A leg in the neutral pose [file units, world]."""

    limb: Limb
    chain: FoldingChain
    links: tuple[int, ...]
    """Joints that the chain turns, from the hip outwards."""
    foot: int | None
    """The joint below them that keeps the sole as it should be; None if the leg ends in a point."""
    soles: Float[np.ndarray, "contacts 3"]
    """Contact points of the foot; of a leg that ends in a point: the one that is held in place."""
    home: Float[np.ndarray, "3"]
    """Shift that puts the foot on the ground and beside its partner."""
    wrists: Float[np.ndarray, " links"]
    """For each link 1 or -1 if it folds backwards, about the chain's normal, only in swing; else 0."""
    tip: Float[np.ndarray, "points 3"]
    """Contacts, and of a leg that ends in a point the skin near the ground, that go with the last link."""

    @property
    def pivots(self) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
        """Heel and toe: the contacts farthest behind and ahead, as `soles` run from back to front."""
        return self.soles[0], self.soles[-1]

    @cached_property
    def end(self) -> Float[np.ndarray, "3"]:
        """Point that the chain places: the ankle, or the point that the leg stands on."""
        return self.chain.points[-1]

    def sunk(
        self,
        place: Float[np.ndarray, "frames 3"],
        link: Float[np.ndarray, "frames 3 3"],
        up: Float[np.ndarray, "3"],
        ground: float,
    ) -> Float[np.ndarray, " frames"]:
        """How deep the tip is below the ground when the end is at a place and the last link turned [file units]."""
        if not len(self.tip):
            return np.zeros(len(place))
        points = np.einsum("fij,pj->fpi", link, self.tip - self.end) + place[:, None]
        return np.maximum(ground - (points @ up).min(1), 0.0)


def hip_height_of(anatomy: Anatomy) -> float:
    """Height of the hips of the hind legs above the ground [file units]."""
    hips = [anatomy.body.heads[limb.chain[0]] @ anatomy.up for limb in anatomy.legs[-2:]]
    return float(np.mean(hips)) - anatomy.ground


def body_size(anatomy: Anatomy) -> float:
    """Height of what the legs hang on, or 0.3 of the length of a body that lies on the ground [file units]."""
    body = anatomy.body
    hips = [float(body.heads[leg.chain[0]] @ anatomy.up - anatomy.ground) for leg in anatomy.legs]
    held = body.vertices[body.owners >= 0]  # without floors and other props
    length = float(np.ptp(held if len(held) else body.heads, axis=0).max())
    return max([*hips, 0.3 * length])


def leg_length(anatomy: Anatomy) -> float:
    """Mean length of the legs along their bones, or what stands for it in a body without legs [file units]."""
    body = anatomy.body
    lengths = [
        np.linalg.norm(np.diff([*body.heads[list(limb.chain)], body.tips[limb.chain[-1]]], axis=0), axis=1).sum()
        for limb in anatomy.legs
    ]
    longest = float(np.linalg.norm(body.tips - body.heads, axis=1).max())  # of a single joint, all there is
    return float(np.mean(lengths)) if lengths else 0.3 * max(body.size, longest)


def stature_of(legs: list[Leg], hip_height: float) -> float:
    """Unit of strides: the height of the hips; with more than four legs, at least half of a leg's length, since spiders
    carry the body low between legs that reach far [file units]."""
    if len(legs) <= 4:
        return hip_height
    lengths = [np.linalg.norm(np.diff(leg.chain.points, axis=0), axis=1).sum() for leg in legs]
    return max(hip_height, 0.5 * float(np.mean(lengths)))


def legs_of(anatomy: Anatomy) -> list[Leg]:
    """All legs in the order of `Anatomy.legs`, with both feet of a pair side by side on the ground."""
    pairs = max((limb.rank for limb in anatomy.legs), default=0) + 1
    hip_height = hip_height_of(anatomy) if anatomy.legs else 0.0
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
        wrists = np.zeros(len(links)) if hind else _wrists(chain, anatomy.left)
        tip = _tip(anatomy, limb, links[-1], whole=foot is None)
        legs.append(Leg(limb, chain, links, foot, contacts, _home(anatomy, limb), wrists, tip))
    return legs


def folding_limbs(anatomy: Anatomy) -> list[tuple[tuple[int, ...], FoldingChain]]:
    """Joints of legs down to the foot, and of arms, with the chains by which they fold: elbows fold forward if the
    neutral pose does not show the way."""
    limbs = [(leg.links, leg.chain) for leg in legs_of(anatomy)]
    for limb in anatomy.limbs:
        if limb.kind == "arm":
            points = np.concatenate([anatomy.body.heads[list(limb.chain)], anatomy.body.tips[limb.chain[-1]][None]])
            limbs.append((limb.chain, folding_chain(points, anatomy.left, knee_forward=False)))
    return limbs


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


def _contacts(anatomy: Anatomy, limb: Limb, foot: int | None) -> Float[np.ndarray, "contacts 3"]:
    """Contact points from heel to toe; of a leg that ends in a point only the lowest one."""
    body = anatomy.body
    held = set(body.subtree(foot if foot is not None else _down_to_contact(limb)[-1]))
    points = [_placed(anatomy, joint, local) for joint, local in limb.contacts if joint in held]
    found = np.array(points) if points else body.tips[limb.chain[-1]][None]
    if foot is None:
        return found[[int((found @ anatomy.up).argmin())]]
    return found[np.argsort(found @ anatomy.forward)]


def _placed(anatomy: Anatomy, joint: int, local: tuple[float, float, float]) -> Float[np.ndarray, "3"]:
    return (anatomy.body.T_world_node[anatomy.body.nodes[joint]] @ np.array([*local, 1.0]))[:3]


def _home(anatomy: Anatomy, limb: Limb) -> Float[np.ndarray, "3"]:
    """Shift that puts a foot on the ground beside its partner; many characters are modelled in mid-stride."""
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


def _wrists(chain: FoldingChain, left: Float[np.ndarray, "3"]) -> Float[np.ndarray, " links"]:
    """Joints of a foreleg beyond the elbow that are straight at rest, as a horse's carpus."""
    lengths = np.linalg.norm(np.diff(chain.points, axis=0), axis=1)
    beyond = np.cumsum(np.abs(chain.fold)) - np.abs(chain.fold) > 0.5  # the elbow comes before
    straight = beyond & (np.abs(chain.fold) < 0.5) & (lengths > 0.1 * lengths.sum())
    sideways = chain.normal @ left
    return straight * np.sign(sideways) * (abs(sideways) > 0.8)


def _tip(anatomy: Anatomy, limb: Limb, link: int, whole: bool) -> Float[np.ndarray, "points 3"]:
    own = [_placed(anatomy, joint, local) for joint, local in limb.contacts if joint == link]
    skin = anatomy.body.skin_of([link] if whole else [])
    low = skin[skin @ anatomy.up < anatomy.ground + 0.06 * anatomy.height]
    return np.concatenate([np.reshape(own, (-1, 3)), low])


def _sole_centre(anatomy: Anatomy, limb: Limb) -> Float[np.ndarray, "3"]:
    points = [_placed(anatomy, joint, local) for joint, local in limb.contacts]
    return np.mean(points, axis=0) if points else anatomy.body.tips[limb.chain[-1]]
