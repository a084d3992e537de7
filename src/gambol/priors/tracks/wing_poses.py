"""How wings lie at the body, and how they are stretched out: turns in closed form from their bones and skin."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.character.transforms import normalize
from gambol.motion.body_tracks import BodyTracks
from gambol.motion.chains import STATIONS, Chains
from gambol.priors.tracks.slithering import neutral_rotations
from gambol.priors.tracks.wing_skin import WingSkin

SPREAD = 0.4
"""Cosine of the angle to the side from which on a wing is bound spread."""
STRETCHED = 0.7
"""The same from which on it can beat as it is; others, as a wasp's, are stretched out first."""
ELBOW, WRIST = 0.22, 0.4
"""Shares of a wing's length at which elbow and wrist are looked for: an eagle's, a gull's and a dragon's have theirs at
0.18 to 0.27 and 0.37 to 0.42."""
FOLDED = {
    1: ((0.12, -0.12, -1.0),),
    2: ((0.2, -0.9, 0.3), (0.0, -0.1, -1.0)),
    3: ((0.35, -0.2, -0.9), (0.12, -0.05, 1.0), (0.0, -0.12, -1.0)),
}
"""Where the parts of a folded wing point (out, up, ahead), by their number: upper arm, forearm and hand, as artists
fold the wings of a gull, or arm and hand, as of a bird with two bones."""
FACES = (63.0, 45.0, 30.0, 15.0)
"""Angles from the vertical at which the upper side of a folded wing faces out, the first that keeps it above the ground
being taken [degrees]: a gull's of artists faces out by 63, an eagle on short legs has no room for that."""
ROOM = 0.05
"""Height of its lowest skin above the ground that is room enough [heights of the body]; no more than where it is
bound."""
SWEPT = np.radians(12.0)
"""How far wings that are stretched out from the body point backwards."""


def folded_wings(
    chains: Chains, rotations: Float[Tensor, "frames chains stations 3 3"]
) -> Float[Tensor, "frames chains stations 3 3"]:
    """The same with wings at the body: upper arm back, forearm ahead, hand back, each part turned as a whole; those
    that are bound there stay as they are."""
    rotations, hangs_on = rotations.clone(), chains.roots[0]
    for number, chain in enumerate(chains.chains):
        if chain.kind == "wing":
            trunk = rotations[:, 0, hangs_on[number]][:, None]
            rotations[:, number] = trunk @ _fold(chains, number) if _outward(chains, number) >= SPREAD else trunk
    return rotations


def _outward(chains: Chains, number: int) -> float:
    """Cosine of the angle between a wing in the neutral pose and its side."""
    way = chains.bones[number].sum(0)
    return float(_side(chains, number) * way[0] / max(np.linalg.norm(way), 1e-9))


def spread_turn(chains: Chains, number: int) -> Float[Tensor, "3 3"]:
    """The turn that stretches a wing that was bound at the body out to its side, its upper side up; none for one that
    is bound so."""
    if _outward(chains, number) >= STRETCHED:
        return torch.eye(3)
    side, way = _side(chains, number), chains.bones[number].sum(0)
    out = np.array([side * np.cos(SWEPT), 0.0, -np.sin(SWEPT)])
    before, after = _frame(way, _upper_side(chains, number)), _frame(out, np.array([0.0, 1.0, 0.0]))
    return torch.as_tensor(after @ before.T).float()


def _fold(chains: Chains, number: int) -> Float[Tensor, "stations 3 3"]:
    """Turns of the stations of a wing that is bound spread, to the body, as upright as it has room for above the
    ground."""
    skin, still = WingSkin(chains, number), _standing(chains)
    found = _folded_at(chains, number, FACES[0])
    for angle in FACES[1:]:
        still.rotations[:, number] = found
        if not len(skin.owners) or float(skin.lowest(still).min()) >= min(ROOM * chains.anatomy.height, skin.at_rest):
            break
        found = _folded_at(chains, number, angle)
    return found


def _standing(chains: Chains) -> BodyTracks:
    """A single frame of the neutral pose."""
    one = torch.zeros(1)
    return BodyTracks(
        neutral_rotations(chains)[None],
        one,
        one.expand(1, 2),
        torch.zeros(1, len(chains.chains)),
        1.0,
        True,
        one.expand(2),
    )


def _folded_at(chains: Chains, number: int, angle: float) -> Float[Tensor, "stations 3 3"]:
    """The same with the upper side facing out by an angle from the vertical [degrees]."""
    side, bones = np.array([_side(chains, number), 1.0, 1.0]), chains.bones[number]
    parts = _parts(bones)
    faces = side * [np.sin(np.radians(angle)), np.cos(np.radians(angle)), -0.1]
    found = np.tile(np.eye(3), (STATIONS, 1, 1))
    for (start, end), way in zip(parts, FOLDED[len(parts)], strict=True):
        before = _frame(bones[start:end].sum(0), np.array([0.0, 1.0, 0.0]))
        found[start:end] = _frame(side * way, faces) @ before.T
    return torch.as_tensor(found).float()


def _parts(bones: Float[np.ndarray, "stations 3"]) -> list[tuple[int, int]]:
    """First and last station, exclusive, of arm and hand, or of upper arm, forearm and hand, as far as there are
    bones."""
    lengths = np.linalg.norm(bones, axis=1)
    joints = np.flatnonzero(lengths > 1e-6)
    starts = np.cumsum(lengths) - lengths
    share = starts / max(float(lengths.sum()), 1e-9)
    if len(joints) <= 1:
        return [(0, STATIONS)]
    if len(joints) == 2:
        return [(0, int(joints[1])), (int(joints[1]), STATIONS)]
    elbow = int(min(joints[1:-1], key=lambda joint: abs(share[joint] - ELBOW)))
    wrist = int(min(joints[joints > elbow], key=lambda joint: abs(share[joint] - WRIST)))
    return [(0, elbow), (elbow, wrist), (wrist, STATIONS)]


def _upper_side(chains: Chains, number: int) -> Float[np.ndarray, 3]:
    """Where the upper side of a wing faces in the neutral pose: the way in which its skin is thinnest, out or up."""
    body = chains.anatomy.body
    skin = body.skin_of(body.subtree(chains.chains[number].joints[0])) @ chains.axes
    outwards = np.array([_side(chains, number), 1.0, 0.0])
    if len(skin) < 4:
        return outwards / np.sqrt(2)
    thinnest = np.linalg.svd(skin - skin.mean(0), full_matrices=False)[2][-1]
    return thinnest if thinnest @ outwards >= 0 else -thinnest


def _frame(way: Float[np.ndarray, 3], upper: Float[np.ndarray, 3]) -> Float[np.ndarray, "3 3"]:
    """The rotation whose columns are a way, the upper side as far as it is square to it, and their cross product."""
    along = normalize(np.asarray(way, np.float64))
    faces = normalize(upper - (upper @ along) * along)
    return np.stack([along, faces, np.cross(along, faces)], axis=1)


def _side(chains: Chains, number: int) -> float:
    return 1.0 if chains.chains[number].side == "left" else -1.0
