"""How people stand and go: knees that are nearly straight at some time, arms that hang beside the body.

Sampled people bend their knees by 20 to 80 degrees all the time, where artists' are bent by 1 at some time in the
median, and hold their arms off the body, as the thick figures of games do, of which the prior has seen most.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.motion.body_tracks import BodyTracks
from gambol.motion.body_turns import KNEE, is_upright, turn_about
from gambol.motion.chains import DIGITS, END, STATIONS, UPPER, Chains

STRAIGHT = 6.0
"""Least bend of knees that is wanted [degrees]."""
STRAIGHTEST, MOST_BENT = 0.1, 0.95
"""Shares of the time in which knees are bent less than by what counts as their least and as their largest bend."""
WIDE = 40.0
"""Knees that bend by this much more at times keep their largest bend; others are straightened as a whole [degrees]."""
MOST = 90.0
"""Who bends the knees by more all the time sits [degrees]."""
THIGH, SHIN = slice(UPPER, KNEE), slice(KNEE, END)
HANGS, THICK = 12.0, 0.07
"""Angle between a hanging arm and the vertical [degrees], and half its thickness [arm lengths]."""
RAISED = 75.0
"""Arms that are raised by more than this angle stay where they are [degrees]."""
RELAXED = 25.0
"""How far fingers of a hand that does nothing are bent [degrees]."""
WIDEST = 60.0
"""Largest angle at which an arm is taken to hang, beside a wide body [degrees]."""


def straightened(tracks: BodyTracks, chains: Chains) -> BodyTracks:
    """The same motion of an upright, two-legged body with knees that are straight at some time, and hips higher by as
    much as the lower leg became longer; unchanged for other bodies, or if the knees are straight, or who does it sits.

    Ankles stay on their line from the hip. The largest bend of the knees stays, too, unless they hardly move.
    """
    if len(chains.legs) != 2 or not is_upright(chains):
        return tracks
    bends = torch.stack([_bend(tracks, chains, leg) for leg in chains.legs])
    least, largest = (float(torch.quantile(bends, share)) for share in (STRAIGHTEST, MOST_BENT))
    excess = least - STRAIGHT
    if not 0 < excess < MOST:
        return tracks
    straighter = excess * ((max(largest, least + WIDE) - bends) / max(largest - least, WIDE)).clamp(0, 1)
    rotations = tracks.rotations.clone()
    for leg, change in zip(chains.legs, straighter, strict=True):
        upper, lower = (float(np.linalg.norm(chains.bones[leg, part].sum(0))) for part in (THIGH, SHIN))
        share = lower / max(upper + lower, 1e-9)
        for part, factor in ((THIGH, share), (SHIN, share - 1)):
            turns = torch.stack([turn_about(0, factor * float(angle)) for angle in change])
            rotations[:, leg, part] = turns[:, None] @ rotations[:, leg, part]
    longer = replace(tracks, rotations=rotations)
    depths = [torch.stack([_depth(each, chains, leg) for leg in chains.legs]).amax(0) for each in (tracks, longer)]
    return replace(longer, height=tracks.height + depths[1] - depths[0])


def _bend(tracks: BodyTracks, chains: Chains, leg: int) -> Float[Tensor, " frames"]:
    """How far the knee is bent, seen from the side [degrees]."""
    angles = []
    for part in (THIGH, SHIN):
        bones = torch.as_tensor(chains.bones[leg, part]).float()
        way = torch.einsum("fsij,sj->fi", tracks.rotations[:, leg, part], bones)
        angles.append(torch.atan2(-way[:, 2], -way[:, 1]))
    bend = angles[1] - angles[0]
    return torch.rad2deg(torch.atan2(bend.sin(), bend.cos()))


def _depth(tracks: BodyTracks, chains: Chains, leg: int) -> Float[Tensor, " frames"]:
    """How far the end of a leg is below its hip [leg lengths]."""
    bones = torch.as_tensor(chains.bones[leg]).float()
    return -torch.einsum("fsij,sj->fi", tracks.rotations[:, leg], bones)[:, 1]


def with_hanging_arms(tracks: BodyTracks, chains: Chains) -> BodyTracks:
    """The same motion of an upright, two-legged body, whose arms hang beside it when they are lowest, as near as its
    skin allows; arms that are raised stay."""
    if len(chains.legs) != 2 or not is_upright(chains):
        return tracks
    rotations = tracks.rotations.clone()
    for number, chain in enumerate(chains.chains):
        if chain.kind != "arm" or chain.side == "middle" or max(chain.stations) < UPPER:
            continue
        side = 1.0 if chain.side == "left" else -1.0
        bones = torch.as_tensor(chains.bones[number, UPPER:END]).float()
        way = torch.einsum("fsij,sj->fi", tracks.rotations[:, number, UPPER:END], bones)
        angles = torch.rad2deg(torch.atan2(side * way[:, 0], -way[:, 1]))
        least = float(torch.quantile(angles, STRAIGHTEST))
        excess = least - _hanging_angle(chains, number)
        if not excess > 0 or least > WIDEST:
            continue
        lower = excess * ((RAISED - angles) / (RAISED - least)).clamp(0, 1) * (angles > -RAISED)
        turns = torch.stack([turn_about(2, -side * float(angle)) for angle in lower])
        rotations[:, number, UPPER : DIGITS + 1] = turns[:, None] @ rotations[:, number, UPPER : DIGITS + 1]
    return replace(tracks, rotations=rotations)


def _hanging_angle(chains: Chains, number: int) -> float:
    """Angle between the vertical and a straight arm that hangs as near to the body as its skin allows [degrees]."""
    anatomy, chain = chains.anatomy, chains.chains[number]
    body = anatomy.body
    arms = [joint for each in chains.chains if each.kind in ("arm", "neck") for joint in body.subtree(each.joints[0])]
    skin = body.vertices[~np.isin(body.owners, arms)] @ chains.axes
    upper = next(joint for joint, station in zip(chain.joints, chain.stations, strict=True) if station >= UPPER)
    shoulder = body.heads[upper] @ chains.axes
    middle, side = body.heads[chains.chains[0].joints[0]] @ chains.axes, 1.0 if chain.side == "left" else -1.0
    length = float(np.linalg.norm(chains.bones[number, UPPER:], axis=1).sum()) * chains.unit
    for angle in np.arange(HANGS, WIDEST, 2.0):
        along = np.linspace(0.4, 1.0, 7) * length
        out = side * (shoulder[0] - middle[0]) + along * np.sin(np.radians(angle)) - THICK * length
        heights = shoulder[1] - along * np.cos(np.radians(angle))
        near = np.abs(skin[:, 1, None] - heights) < 0.1 * length
        width = np.where(near, (side * (skin[:, 0] - middle[0]))[:, None], -np.inf).max(0, initial=-np.inf)
        if (out >= width).all():
            return float(angle)
    return WIDEST


def with_relaxed_hands(tracks: BodyTracks, chains: Chains) -> BodyTracks:
    """The same motion, with fingers bent a little towards the palm where they would be stretched."""
    rotations = tracks.rotations.clone()
    for number, chain in enumerate(chains.chains):
        fingers = chains.to_joints[:, number * STATIONS + DIGITS].any()
        if chain.kind != "arm" or chain.side == "middle" or not fingers:
            continue
        side = 1.0 if chain.side == "left" else -1.0  # palms look down in the canonical rest pose
        hands = rotations[:, number, END]
        ways = (hands.mT @ rotations[:, number, DIGITS])[..., 0]  # of the fingers, as the hand sees them
        bent = torch.rad2deg(torch.atan2(-ways[:, 1], ways[:, 0]))
        more = (RELAXED - bent.abs()).clamp(0, RELAXED)
        turns = torch.stack([turn_about(2, -side * float(angle)) for angle in more])
        rotations[:, number, DIGITS] = rotations[:, number, DIGITS] @ turns
    return replace(tracks, rotations=rotations)
