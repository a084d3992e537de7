"""What the sampling of tracks starts from (a clip of the user, a motion by formula, noise), and how long it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from gambol.actions import ACTIONS
from gambol.character.character import Character
from gambol.character.rig import Rig
from gambol.creatures.gaits.gait import FASTER
from gambol.distillation.config import AnimateConfig
from gambol.distillation.guide import clip_to_start_from, is_row_of_poses, motion_of_clip
from gambol.distillation.timing import Timing, seconds_for, timing_for, timing_without_loop
from gambol.errors import GambolError
from gambol.language import Intent
from gambol.motion.body_tracks import BodyTracks, rig_motion_of_tracks
from gambol.motion.chains import Chains
from gambol.motion.foot_lock import find_loads
from gambol.motion.legs import leg_length
from gambol.motion.loops import loop_travel
from gambol.motion.rig_motion import RigMotion
from gambol.motion.styles import joined
from gambol.priors.tracks.experience import ENOUGH
from gambol.priors.tracks.features import FPS, PEOPLE, BodyShape, shape_of
from gambol.priors.tracks.formula_deeds import deed_names
from gambol.priors.tracks.formulas import formula_actions, formula_tracks
from gambol.priors.tracks.network import LONGEST, PATCH
from gambol.priors.tracks.prior import TrackPrior

LOOPS, DEEDS = (0.2, 5.0), (0.5, 6.0)
"""Shortest and longest cycle, and action that does not loop, of the prior tracks [s]."""
STRIDES = (0.8, 1.25)
"""Shortest and longest cycle of a gait, as a share of its usual duration at 1 m height. Of artists' walks and runs of
four legs a quarter is shorter (0.71 and 0.5 s), whatever the size of the body; the prior thinks that people's walks
last 1.2 to 1.5 s, where the artists' median is 1.07. Gaits of others may be longer: elephants' are."""
FORMULA_LEVEL = 0.3
"""Noise level at which motions by formula are resampled where poses or frames are to be kept."""


def track_layout(
    character: Character, rig: Rig, chains: Chains, prior: TrackPrior, intent: Intent, config: AnimateConfig
) -> tuple[RigMotion, Timing]:
    """Return the initial motion for the prior tracks and how it fills the clip; one with contacts is to be kept in
    part, one without only says how long it is."""
    if config.given:
        return _from_clip(character, rig, chains, prior, intent, config)
    shape, pace = shape_of(chains), _pace(intent)
    known = prior.seen(shape, intent.action)[0]
    formula = _formula(prior, chains, intent, config)
    if formula and formula.loops and known and not known.cyclic:  # leaps without end where single jumps were seen
        formula = None
    cyclic = formula.loops if formula else ACTIONS[intent.action].loops and (known is None or known.cyclic)
    natural = prior.seconds(shape, intent.action, cyclic) / FASTER**pace
    if formula is not None:
        natural = formula.seconds
    elif known and not known.timed:
        natural = seconds_for(chains.anatomy, intent.action, pace)
    if cyclic and ACTIONS[intent.action].travels and ACTIONS[intent.action].on_legs:
        shortest, longest = (ACTIONS[intent.action].seconds * share / FASTER**pace for share in STRIDES)
        person = formula is None and not any(chain.kind == "tail" for chain in chains.chains)
        natural = float(np.clip(natural, shortest, longest if person else None))
    natural = float(np.clip(natural, *(LOOPS if cyclic else DEEDS)))
    if cyclic and config.loop is False:
        timing = timing_without_loop(natural, config.seconds, config.fps)
    else:
        loops = cyclic or bool(config.loop)
        timing = timing_for(natural, config.seconds, config.fps, loops=loops, cyclic=cyclic)
    frames = track_frames(timing.seconds, timing.loops)
    if formula is None or formula.loops != timing.loops:
        if intent.action not in prior.actions:
            raise GambolError(
                f"'{intent.action}' is shown by formula only, as the prior was not trained on it: "
                "leave out frozen joints, score distillation, and a loop where it is none"
            )
        return RigMotion.at_rest(len(rig.nodes), frames, timing.seconds, timing.loops), timing
    start = replace(rig_motion_of_tracks(chains, rig, formula), seconds=timing.seconds)
    return start.resampled(frames), timing


def _pace(intent: Intent) -> float:
    """Return how fast it is done, by words of pace and by its style, from -1 to 1."""
    return float(np.clip(intent.pace + joined(intent.manner.styles).pace, -1, 1))


def _from_clip(
    character: Character, rig: Rig, chains: Chains, prior: TrackPrior, intent: Intent, config: AnimateConfig
) -> tuple[RigMotion, Timing]:
    """Return a clip of the character as the initial motion, and how it fills the new clip."""
    anatomy, clip = chains.anatomy, clip_to_start_from(character, config)
    cyclic = loop_travel(character, clip) is not None
    wanted = cyclic if config.loop is None else config.loop
    natural = clip.duration
    if is_row_of_poses(clip, config):
        usual = prior.seconds(shape_of(chains), intent.action, False) / FASTER ** _pace(intent)
        natural = config.seconds or float(np.clip(usual, *DEEDS))
    timing = timing_for(natural, config.seconds, config.fps, loops=wanted, cyclic=cyclic)
    start = motion_of_clip(character, rig, clip, track_frames(timing.seconds, timing.loops), timing, config)
    loads = find_loads(anatomy, rig, start, leg_length(anatomy), goes=False)
    feet = torch.arange(len(anatomy.legs))
    low = torch.stack([loads.weights[:, loads.legs == leg].amax(1) for leg in feet], 1) if len(loads.joints) else None
    return replace(start, contacts=None if low is None else low.round()), timing


def starts_by_formula(prior: TrackPrior, chains: Chains, action: str) -> bool:
    """Return whether a motion by formula is shown: of all bodies but people, of whom there are few clips, and of people
    those deeds that they do by goals for their parts; their gaits were learned. By eye the prior does not improve on
    formulas at any noise level: it bends legs, opens fists, parts hands that touch and lifts who lies off the ground.
    Turns are not by formula, as the start would have to be unturned."""
    learned = shape_of(chains).build == PEOPLE and action not in deed_names(chains)
    known = bool(prior.experience) and action in formula_actions(chains)
    return known and not learned and not ACTIONS[action].turns


def _formula(prior: TrackPrior, chains: Chains, intent: Intent, config: AnimateConfig) -> BodyTracks | None:
    """Return the motion by formula that is shown; None if there is none, and if joints are frozen, which move as in the
    start, or for score distillation, whose start is the rest pose."""
    if config.freeze or config.method == "score" or not starts_by_formula(prior, chains, intent.action):
        return None
    return formula_tracks(chains, intent.action, np.random.default_rng(config.seed), _pace(intent))


def track_frames(seconds: float, loops: bool) -> int:
    """Return the number of frames in which the prior tracks shows a motion: about 30 for each second."""
    least = 1 if loops else 2
    return min(max(round(seconds * FPS / PATCH), least), LONGEST) * PATCH


def experimental(prior: TrackPrior, shape: BodyShape, action: str) -> str:
    """Return a warning if the prior was not, or hardly, shown how bodies like this do an action."""
    known, same = prior.seen(shape, action)
    if prior.experience and shape.build == PEOPLE and ACTIONS[action].weak:
        return f"experimental: '{action}' was graded as wrong on people that the prior had not seen: look at it closely"
    # Dinosaurs have two arms and two legs, too: what only formulas showed, people were not seen doing.
    borrowed = known and known.source == "procedural" and shape.build == PEOPLE and not ACTIONS[action].gaits
    if not prior.experience or (same and known and known.motions >= ENOUGH and not borrowed):
        return ""
    same = same and not borrowed
    seen = f"{known.motions} motion{'s' * (known.motions > 1)}" if same and known else "nothing"
    return f"experimental: the prior was shown {seen} of '{action}' by bodies built like this, so look at it closely"
