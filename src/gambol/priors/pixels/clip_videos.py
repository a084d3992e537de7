"""A clip as the pixel prior knows videos: one cycle of 16 frames of a stick figure in place.

The prior was trained on cycles that begin at a fixed moment (`data.clips`), so what the clip shows must be known,
roughly, before it can be rendered: that is read off its contacts and its root motion, and actions that it cannot show
are not asked about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float

from gambol.actions import ACTIONS
from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.errors import GambolError
from gambol.motion.contacts import Contacts
from gambol.motion.joint_poses import bone_ends, spread
from gambol.priors.pixels.actions import PIXEL_ACTIONS, ClipKind
from gambol.priors.pixels.data.clips import LONGEST, cycles_of
from gambol.priors.pixels.data.cycle import ActionCycle, poses_in_place
from gambol.priors.pixels.figure import draw_stick_figure, limb_weights, scaled
from gambol.priors.pixels.views import StickViews
from gambol.priors.views import ClipVideos

if TYPE_CHECKING:
    from gambol.priors.pixels.prior import PixelPrior

VIEWS = 2
"""Cameras, one on either side."""
STILL = 0.07
"""What moves less, as `spread` counts, stands [heights]: so do 23 of 26 clips that artists call idle or the like; of 35
attacks, kicks, punches and waves none does."""
ALOFT = 0.35
"""Winged bodies with a foot on the ground for less of the time fly."""

LINGERS = 3.0
"""A loop that lasts longer is no attack or gesture [s]: none of 35 artists' attacks, kicks, punches and waves
does; of 9 dances and meals 5 do."""
AWAY = 0.5
"""Leg lengths from where a character stands in its file beyond which its clip is brought back there: cameras do not
look for it. Less is left as it is, as in training."""


def clip_videos(
    prior: PixelPrior, character: Character, anatomy: Anatomy, clip: Clip, contacts: Contacts
) -> ClipVideos | None:
    """The clip's first cycle, or its action if it does not loop, from both sides; None if it holds none."""
    for name in kinds_of(contacts):
        words = words_for(name, prior)
        for action in (action for action, row in PIXEL_ACTIONS.items() if name in row.cuts and words):
            try:
                cycle = cycles_of(character, anatomy, clip, action)[0]
            except GambolError:
                continue
            return _cycle_videos(prior, anatomy, cycle, words)
    return None


def words_for(kind: ClipKind, prior: PixelPrior) -> tuple[str, ...]:
    """The actions of a prior's vocabulary that a clip of a kind can be. Asked about all 18, the pixel prior names 8
    of 22 artists' clips."""
    known = ACTIONS if prior.vocabulary is None else prior.vocabulary
    return tuple(action for action, row in PIXEL_ACTIONS.items() if kind in row.kinds and action in known)


def kinds_of(contacts: Contacts) -> tuple[ClipKind, ...]:
    """What a clip may be, the likeliest first; nothing for what the prior was not trained on."""
    looped, down = contacts.looped, contacts.down
    anatomy = looped.anatomy
    grounded = anatomy.stands and bool(anatomy.legs)
    wings = any(limb.kind == "wing" for limb in anatomy.limbs)
    aloft = not grounded or down.any(0).mean() < ALOFT
    if looped.duration <= 0:
        return ()
    if not looped.loops:
        return ("once",) if looped.duration < LONGEST else ()
    if aloft and (wings or not grounded):
        return ("flies",) if wings else ("floats",)
    if looped.turn:
        return ("turns",)
    if looped.travel.any() or contacts.ground.any():
        return ("steps",)
    if spread(bone_ends(anatomy, contacts.poses())) < STILL * anatomy.height:
        return ("stands",)
    if looped.duration > LINGERS:
        return ("lingers",)
    return ("leaps", "gestures") if not down.any(0).all() else ("gestures",)


def _cycle_videos(prior: PixelPrior, anatomy: Anatomy, cycle: ActionCycle, words: tuple[str, ...]) -> ClipVideos:
    renderer = StickViews(draw_stick_figure(anatomy), VIEWS, prior.format.sizes[0][0], prior.stage)
    loops = ACTIONS[cycle.action].loops
    poses = poses_in_place(cycle) if loops and prior.in_place else cycle.T_world_joint
    poses = _brought_back(anatomy, poses, loops, renderer.length)
    with torch.no_grad():
        videos, rests = renderer.render(torch.as_tensor(poses[..., :3, :]).float()), renderer.rest_images()
    return ClipVideos(prior.encode(videos), rests, limb_weights(scaled(videos), scaled(rests)), words)


def _brought_back(
    anatomy: Anatomy, poses: Float[np.ndarray, "frames joints 4 4"], loops: bool, leg: float
) -> Float[np.ndarray, "frames joints 4 4"]:
    """Poses shifted so that the root is over its rest position: on average in a loop, else in the first frame."""
    off = (poses if loops else poses[:1])[:, 0, :3, 3].mean(0) - anatomy.body.heads[0]
    off = off - off @ anatomy.up * anatomy.up
    if np.linalg.norm(off) < AWAY * leg:
        return poses
    found = poses.copy()
    found[..., :3, 3] -= off
    return found
