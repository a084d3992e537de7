"""Slides: how far joints move from where the bones above hold them, which no rotation says.

Bones stretch and squash, and pieces of a body move against each other. A slide belongs to a station and is counted in
the axes in which the station's rotation is: those of the canonical rest pose, turned with the joint. So it means the
same on every rig; of joints that share a station, as in a long tail, each takes an even share.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.motion.chains import STATIONS, Chains


def slides_of_ways(
    chains: Chains, ways: Float[Tensor, "frames joints 3"], rotations: Float[Tensor, "frames joints 3 3"]
) -> Float[Tensor, "frames chains stations 3"]:
    """Slides of the stations [leg lengths].

    ways: from where each joint would be, if bones only turned, to where it is, in body axes [file units]; only
    differences count. rotations: of the joints from the canonical rest pose, in body axes.
    """
    joints, holders = _held_joints(chains)
    apart = (ways[:, joints] - ways[:, holders])[..., None]
    own = torch.zeros_like(ways)
    own[:, joints] = (rotations[:, joints].mT @ apart)[..., 0] / chains.unit
    shares = torch.as_tensor(_shares(chains) > 0, dtype=ways.dtype)
    return (shares.T @ own).unflatten(1, (len(chains.chains), STATIONS))


def ways_of_slides(
    chains: Chains, slides: Float[Tensor, "frames chains stations 3"], rotations: Float[Tensor, "frames joints 3 3"]
) -> Float[Tensor, "frames joints 3"]:
    """How far each joint slides from where the joint above holds it, in body axes [file units]. rotations: of the
    joints from the canonical rest pose, in body axes."""
    own = torch.as_tensor(_shares(chains), dtype=slides.dtype) @ slides.flatten(1, 2)
    return chains.unit * (rotations @ own[..., None])[..., 0]


def _shares(chains: Chains) -> Float[np.ndarray, "joints stations"]:
    """Share that each joint of a chain takes of a station's slide. A joint of two chains belongs to the later one, as
    its rotation does."""
    places = {
        joint: number * STATIONS + station
        for number, chain in enumerate(chains.chains)
        for joint, station in zip(chain.joints, chain.stations, strict=True)
    }
    found = np.zeros((len(chains.anatomy.body), len(chains.chains) * STATIONS))
    found[list(places), list(places.values())] = 1.0
    return found / np.maximum(found.sum(0), 1.0)


def _held_joints(chains: Chains) -> tuple[Int[np.ndarray, " held"], Int[np.ndarray, " held"]]:
    """The joints of the chains that slide, and the next joint of a chain above each. One without any above slides from
    the first joint of all, which does not slide itself: the path of the body moves it."""
    joints = sorted({joint for chain in chains.chains for joint in chain.joints})
    first = next(joint for joint in joints if not set(chains.anatomy.body.above(joint)) & set(joints))
    held = [joint for joint in joints if joint != first]
    holders = [next((up for up in chains.anatomy.body.above(joint) if up in joints), first) for joint in held]
    return np.array(held, int), np.array(holders, int)
