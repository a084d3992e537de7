"""Sampling of a motion from the prior tracks: denoising steps on the body's own tracks, then written onto its rig.

What the user wants kept (pinned poses, frozen joints, frames outside a segment) is put into the clean estimate of every
step, so that the rest of the motion is sampled to fit it.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from gambol.actions import ACTIONS, Action
from gambol.character.rig import Rig
from gambol.distillation.candidates import best_of
from gambol.distillation.sample_and_fit import SampleConfig
from gambol.distillation.stage_runner import generator_for
from gambol.language import Intent, Manner
from gambol.motion.body_tracks import BodyTracks, heading_of, rig_motion_of_tracks, tracks_of_poses
from gambol.motion.calming import calmed, limited, smoothed
from gambol.motion.carrying import with_things_carried
from gambol.motion.chains import Chains
from gambol.motion.constraints import Constraints
from gambol.motion.jaws import with_jaw
from gambol.motion.optimization import Losses
from gambol.motion.props import weapon_side
from gambol.motion.rig_motion import RigMotion
from gambol.motion.standing import straightened, with_hanging_arms, with_relaxed_hands
from gambol.motion.styles import acting_side, joined, random_style, styled
from gambol.priors.prior import Prompt
from gambol.priors.sample import change_level, draw_noise
from gambol.priors.schedule import Latents
from gambol.priors.tracks.prior import BodyTrackPrior

STATE = ("latents", "clean")
CIRCLE_CYCLES, CURVE_CYCLES = 8, 2
"""Cycles of a gait in which a body goes round a circle, and of one that turns a quarter of it on its way."""
MORE = 2
"""How many times as many samples of a deed are drawn from noise if something must be seen of it, which few show."""

LASTS, CALM = 2.0, 0.1
"""Duration from which a loop on the spot, as standing or sitting, is calm, and the deviation of the mean over time that
takes out what trembles there [s]: the jerk of an adventurer who stands falls from 6.3 to 1.8 m/s^3."""


class TrackSampling:
    """The stage that samples a motion from the prior tracks."""

    name = "sampling"

    def __init__(
        self,
        rig: Rig,
        chains: Chains,
        start: RigMotion,
        prior: BodyTrackPrior,
        prompt: Prompt,
        constraints: Constraints,
        level: float,
        config: SampleConfig,
        intent: Intent | None = None,
        cycles: int = 1,
    ):
        """start: the motion that is changed. level: noise level at which; at 1 nothing of it is left, at 0 it is only
        done in the manner asked for. intent: what it shall be, by which the best of several samples is chosen, and how
        it is to be done. cycles: of which what is done in that manner consists, as they may differ."""
        self.cycles = cycles
        self.rig, self.chains, self.start, self.prior, self.prompt = rig, chains, start, prior, prompt
        self.constraints, self.level, self.config, self.steps = constraints, level, config, config.steps
        self.free = not constraints.given
        self.action = ACTIONS[intent.action] if intent else None
        self.manner = intent.manner if intent and self.free else Manner()
        tried = MORE if level >= 1 and self.action and self.action.shows else 1
        self.candidates = tried * config.candidates if self.free else 1
        rule = self.action.leg_rule(len(chains.legs)) if self.action else None
        self.takes_turns = self.free and start.loops and rule in ("alternate", "diagonals")
        self.upright = self.free and level >= 1 and self.action is not None and self.action.upright
        lasts = start.loops and start.seconds >= LASTS
        self.calm = lasts and self.action is not None and not self.action.travels and self.action.name != "dance"
        self.heading = heading_of(chains, start.world(rig))
        self.origin = self._tracks(start).path[0]
        self.latents: Latents | None = None
        self.clean: Latents | None = None

    @torch.no_grad()
    def step(self, number: int) -> Losses:
        if self.level <= 0:
            self.clean = self.prior.encode(self._tracks(self.start))
            return {}
        here, there = (self.level * (1 - index / self.steps) for index in (number, number + 1))
        noisy = self._noisy() if self.latents is None else self.latents
        clean = self.prior.denoise(noisy, here, self.prompt, self.config.guidance)
        clean = self.prior.symmetric(clean, torch.as_tensor(self.chains.partners)) if self.takes_turns else clean
        self.clean = clean if self.free else self._constrained(clean)
        self.latents = self.clean if there <= 0 else change_level(self.prior.schedule, noisy, self.clean, here, there)
        if there <= 0 and len(self.clean) > 1:
            motions = [self._motion(latents[None]) for latents in self.clean]
            best = best_of(self.chains.anatomy, self.rig, motions, self.action)
            self.latents = self.clean = self.clean[best : best + 1]
        return {}

    def _noisy(self) -> Latents:
        clean = self.prior.encode(self._tracks(self.start)).expand(self.candidates, -1, -1)
        noise = draw_noise(clean, generator_for(self.config.seed, 0, 0))
        return noise if self.level >= 1 else self.prior.schedule.add_noise(clean, noise, self.level)

    def _tracks(self, motion: RigMotion) -> BodyTracks:
        """What the prior sees of a motion."""
        poses, travel = motion.world(self.rig), motion.travel.double().numpy()
        return tracks_of_poses(
            self.chains, poses, motion.seconds, motion.loops, travel, 0.0, motion.contacts, self.heading, slides=False
        )

    def _motion(self, latents: Latents) -> RigMotion:
        if self.level <= 0:
            tracks = self._tracks(self.start).shifted(-self.origin)
            if self.action and self.action.travels:  # deeds differ by themselves, and their hands may touch something
                style = random_style(np.random.default_rng(self.config.seed))
                tracks = styled(tracks, self.chains, style, walks=self.action.on_legs)
        else:
            tracks = calmed(limited(self.prior.decode(latents), self.chains))
            tracks = smoothed(tracks, CALM) if self.calm else tracks
            if self.upright:
                tracks = with_hanging_arms(straightened(tracks, self.chains), self.chains)
                tracks = with_relaxed_hands(tracks, self.chains)
        tracks = in_manner(tracks.repeated(self.cycles), self.chains, self.manner, self.action, self.cycles)
        if self.free and self.action and not self.action.falls:
            posed = bool(joined(self.manner.styles).arms)
            walks = self.action.travels and self.action.on_legs
            tracks = with_things_carried(tracks, self.chains, walks, posed)
        motion = rig_motion_of_tracks(self.chains, self.rig, tracks.shifted(self.origin), self.heading)
        if not self.free or self.action is None:
            return motion
        motion = with_jaw(self.chains.anatomy, self.rig, motion, self.action.name)
        if self.action.turns:
            return motion
        motion = motion if self.manner.curve else motion.unturned()
        return motion if self.action.travels else motion.in_place()

    def _constrained(self, latents: Latents) -> Latents:
        """Latents of the nearest motion that keeps what is to be kept."""
        return self.prior.encode(self._tracks(self._kept(self._motion(latents))))

    def _kept(self, motion: RigMotion) -> RigMotion:
        return self.constraints.kept(motion, self.start, torch.as_tensor(self.rig.root_axes[:, 0]).float())

    def rig_motion(self) -> RigMotion:
        if self.clean is None:
            return self.start
        motion = self._motion(self.clean)
        return motion if self.free else self._kept(motion)

    def state(self) -> dict[str, Tensor]:
        return {name: getattr(self, name).clone() for name in STATE if getattr(self, name) is not None}

    def load(self, state: dict[str, Tensor]) -> None:
        shapes = [(count, self.prior.frames, self.prior.width) for count in (1, self.candidates)]
        for name in STATE:
            value = state.get(name)
            if value is not None and not (tuple(value.shape) in shapes and value.isfinite().all()):
                raise ValueError(f"its {name} have another shape than those of this run, or are not finite")
            setattr(self, name, value)

    def slow_down(self) -> None:
        return None


def in_manner(tracks: BodyTracks, chains: Chains, manner: Manner, action: Action | None, cycles: int = 1) -> BodyTracks:
    """Return the motion as it is to be done: backwards, to a side, by the limb of a side, in a style; who falls only
    does so at its pace. cycles: of which the loop consists."""
    tracks = tracks.backwards() if manner.backwards else tracks
    if manner.curve and tracks.loops and action and action.travels:
        turn = 2 * np.pi / CIRCLE_CYCLES * cycles
        tracks = tracks.curving(turn if manner.curve == "left" else -turn)
    if action and action.turns * tracks.turn < 0:
        tracks = tracks.mirrored(chains)
    if action and action.sideways:
        to_side = {"left": 1.0, "right": -1.0}.get(manner.side, 0.0)
        tracks = tracks.mirrored(chains) if to_side * float(tracks.travel[0]) < 0 else tracks
        return _in_style(tracks, chains, manner, action)
    side = manner.side or (weapon_side(chains.anatomy) if action and action.armed else "")
    if side:
        kinds = [chain.kind for chain in chains.chains]
        kind = "arm" if "arm" in kinds and not (action and action.needs == ("legs",)) else "leg"
        if acting_side(tracks, chains, kind) not in ("", side):
            tracks = tracks.mirrored(chains)
    return _in_style(tracks, chains, manner, action)


def _in_style(tracks: BodyTracks, chains: Chains, manner: Manner, action: Action | None) -> BodyTracks:
    if not manner.styles or (action and action.falls):
        return tracks
    return styled(tracks, chains, joined(manner.styles), walks=bool(action and action.travels and action.on_legs))
