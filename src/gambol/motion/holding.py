"""Hands that hold one thing: on a body with other arms or shoulders they would drift apart, or through each other."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from scipy.spatial.transform import Rotation
from torch import Tensor

from gambol.character.transforms import normalize
from gambol.motion.chains import END, Chain, Chains
from gambol.motion.inverse_kinematics import shortest_arc, within_reach
from gambol.motion.turned_joints import Turned, poses_of_turned

STEADY = 0.01
"""Standard deviation of the distance of hands that hold one thing [arm lengths]: at most 0.001 where artists' people
carry, push, drive or aim."""
NEAR = 1.0
"""Hands that are farther apart hold nothing together [arm lengths]."""
AHEAD = 0.25
"""How far before the shoulders hands are that hold something [arm lengths]: arms that hang are steady, too."""


def arms_of(chains: Chains) -> tuple[Chain, Chain] | None:
    """The foremost left and right arm, if both have an upper arm, a forearm and a wrist."""
    found = {chain.side: chain for chain in chains.chains if chain.kind == "arm" and chain.rank == 0}
    if not {"left", "right"} <= found.keys():
        return None
    left, right = found["left"], found["right"]
    return (left, right) if all(_links(chain) is not None for chain in (left, right)) else None


def _links(chain: Chain) -> tuple[int, int, int] | None:
    """Upper arm, forearm and hand."""
    at = {station: joint for joint, station in zip(chain.joints, chain.stations, strict=True)}
    links = [joint for station, joint in sorted(at.items()) if 0 < station < END]
    return (links[0], links[1], at[END]) if len(links) == 2 and END in at else None


def _joint(chain: Chain, number: int) -> int:
    links = _links(chain)
    assert links is not None
    return links[number]


def _arm_length(chains: Chains, arm: Chain) -> float:
    heads = chains.anatomy.body.heads[[_joint(arm, number) for number in range(3)]]
    return float(np.linalg.norm(np.diff(heads, axis=0), axis=1).sum())


def held_apart(
    chains: Chains, T_world_joint: Float[Tensor, "frames joints 3 4"]
) -> Float[np.ndarray, "frames 3"] | None:
    """The way from the left hand to the right one in body axes, in every frame, if they hold one thing [arm
    lengths]; else None."""
    arms = arms_of(chains)
    if arms is None:
        return None
    places = T_world_joint[..., 3].double().numpy()
    unit = float(np.mean([_arm_length(chains, arm) for arm in arms]))
    left, right = (places[:, _joint(arm, 2)] for arm in arms)
    way = (right - left) @ chains.axes / unit
    distance = np.linalg.norm(way, axis=1)
    shoulders = np.mean([places[:, _joint(arm, 0)] for arm in arms], axis=0)
    across = normalize(places[:, _joint(arms[0], 0)] - places[:, _joint(arms[1], 0)])  # from right to left
    forward = np.cross(across, chains.anatomy.up)
    ahead = (((left + right) / 2 - shoulders) * forward).sum(1) / unit
    if distance.std() > STEADY or distance.mean() > NEAR or ahead.mean() < AHEAD:
        return None
    return way


def with_hands_together(
    chains: Chains, turned: Turned, anchor: Float[Tensor, "frames 3"], way: Float[np.ndarray, "frames 3"]
) -> Turned:
    """Rotations of joints with the hands as far from each other, and in the same direction, as `held_apart` says:
    elbows bend as far as they must, shoulders aim; hands keep their rotation. anchor: see `poses_of_turned`."""
    arms = arms_of(chains)
    if arms is None:
        return turned
    places = poses_of_turned(chains, turned, anchor)[..., 3].double().numpy() @ chains.axes
    unit = float(np.mean([_arm_length(chains, arm) for arm in arms]))
    middle = np.mean([places[:, _joint(arm, 2)] for arm in arms], axis=0)
    found = turned.clone()
    for arm, sign in zip(arms, (-0.5, 0.5), strict=True):
        upper, lower, hand = (_joint(arm, number) for number in range(3))
        first, second = _reaching(places[:, [upper, lower, hand]], middle + sign * unit * way)
        below = set(chains.anatomy.body.subtree(hand))
        for joint in chains.anatomy.body.subtree(upper):
            if joint in below:  # hands keep their rotation
                continue
            turn = second if joint == lower or joint in chains.anatomy.body.subtree(lower) else first
            found[:, joint] = torch.as_tensor(turn).float() @ found[:, joint]
    return found


def _reaching(
    points: Float[np.ndarray, "frames 3 3"], target: Float[np.ndarray, "frames 3"]
) -> tuple[Float[np.ndarray, "frames 3 3"], Float[np.ndarray, "frames 3 3"]]:
    """Turns of the upper arm and of the forearm that bring the hand from the last of the points to a target."""
    upper, lower = points[:, 1] - points[:, 0], points[:, 2] - points[:, 1]
    a, b = np.linalg.norm(upper, axis=1), np.linalg.norm(lower, axis=1)
    wanted = within_reach(np.linalg.norm(target - points[:, 0], axis=1), float((a + b).min()))
    wanted = np.maximum(wanted, np.abs(a - b) + 1e-6)
    normal = np.cross(upper, lower)
    straight = np.linalg.norm(normal, axis=1) < 1e-6 * a * b
    normal[straight] = np.cross(upper[straight], [0.0, -1.0, 0.0]) + 1e-9
    bend = np.arctan2(np.linalg.norm(np.cross(upper, lower), axis=1), (upper * lower).sum(1))
    inner = np.arccos(np.clip((a**2 + b**2 - wanted**2) / (2 * a * b), -1, 1))
    angles = np.pi - inner - bend
    more = Rotation.from_rotvec(normalize(normal) * angles[:, None]).as_matrix()
    reached = upper + (more @ lower[..., None])[..., 0]
    aim = shortest_arc(normalize(reached), normalize(target - points[:, 0]))
    return aim, aim @ more
