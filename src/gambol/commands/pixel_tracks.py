"""Motions that the prior pixels makes, as tracks, so that `gambol eval-prior` can compare it with the prior tracks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from gambol.actions import ACTIONS
from gambol.character.anatomy import Anatomy, analyze
from gambol.character.character import Character
from gambol.character.rig import Rig
from gambol.distillation.animate import prepare
from gambol.distillation.config import preset_for
from gambol.distillation.stage_runner import StageRunner
from gambol.distillation.stages import stages_of
from gambol.distillation.track_layout import track_frames
from gambol.formats import character_files, load
from gambol.motion.body_tracks import heading_of, tracks_of_poses
from gambol.motion.chains import find_chains
from gambol.motion.foot_lock import find_loads
from gambol.motion.legs import leg_length
from gambol.motion.rig_motion import RigMotion
from gambol.priors.catalogue import open_prior
from gambol.priors.prior import Prior
from gambol.priors.tracks.features import PEOPLE, QUADRUPEDS, features_of, nominal_seconds, shape_of
from gambol.priors.tracks.training.clips import TrackSample
from gambol.priors.tracks.training.dataset import CAPTURE, family_of

BUILDS = (PEOPLE, QUADRUPEDS)
"""Builds, as `BodyShape.build` says them, on which priors are compared: people and quadrupeds."""


def raw_motion(prior: Prior, character: Character, anatomy: Anatomy, prompt: str, seed: int) -> tuple[Rig, RigMotion]:
    """What `gambol animate` makes of a sentence before feet are locked: one cycle, in place for the prior pixels."""
    config = replace(preset_for("standard", prior, seed), foot_lock=None)
    problem = prepare(character, prompt, prior, config, anatomy)
    return problem.rig, StageRunner(stages_of(problem), problem.start).run()


class PixelAnimator:
    """Animates the characters of clips with the prior pixels."""

    def __init__(self, folders: Sequence[Path], seed: int):
        self.prior, self.seed = open_prior("pixels"), seed
        self.files = {(family_of(path), path.stem): path for path in character_files(folders, CAPTURE)}

    def chosen(self, clips: Sequence[TrackSample], most: int) -> list[int]:
        """Numbers of clips of people and quadrupeds in actions that it knows, at most so many: each build and action in
        turn, and no body twice in one action."""
        seen: set[tuple[str, str, str]] = set()
        turns: Counter[tuple[str, str]] = Counter()
        order: list[tuple[int, int]] = []
        for number, clip in enumerate(clips):
            known = clip.action in (self.prior.vocabulary or ()) and self._file(clip) is not None
            body = (*_file_of(clip), clip.action)
            if known and clip.source == "artist" and clip.shape.build in BUILDS and body not in seen:
                seen.add(body)
                turns[clip.shape.build, clip.action] += 1
                order.append((turns[clip.shape.build, clip.action], number))
        return [number for _, number in sorted(order)[:most]]

    def _file(self, clip: TrackSample) -> Path | None:
        return self.files.get(_file_of(clip))

    def animate(self, clip: TrackSample) -> TrackSample:
        """A motion of the body and action of a clip."""
        path = self._file(clip)
        assert path is not None
        character = load(path)
        anatomy = analyze(character)
        rig, motion = raw_motion(self.prior, character, anatomy, clip.action, self.seed)
        return _sample(anatomy, rig, motion.resampled(track_frames(motion.seconds, motion.loops)), clip)


def _file_of(clip: TrackSample) -> tuple[str, str]:
    """Family and name of the character that a clip is of."""
    return clip.family, clip.name.split("/")[0]


def _sample(anatomy: Anatomy, rig: Rig, motion: RigMotion, clip: TrackSample) -> TrackSample:
    """A motion as tracks. It stands and goes as its feet say, as it does when feet are locked."""
    action, chains, length = ACTIONS[clip.action], find_chains(anatomy), leg_length(anatomy)
    goes = action.travels and action.on_legs
    loads = find_loads(anatomy, rig, motion, length, goes=goes, leaps=action.airborne, floats=action.afloat)
    if motion.loops:
        motion = motion.with_displacement(torch.as_tensor(loads.travel).float())
    down = torch.zeros(len(motion), len(anatomy.legs))
    for leg in range(len(anatomy.legs)):
        if bool((loads.legs == leg).any()):
            down[:, leg] = loads.weights[:, loads.legs == leg].amax(1).round()
    poses, travel = motion.world(rig), motion.travel.double().numpy()
    heading = heading_of(chains, poses)
    tracks = tracks_of_poses(
        chains, poses, motion.seconds, motion.loops, travel, motion.turn, down, heading, slides=False
    )
    seen = features_of(replace(tracks, seconds=nominal_seconds(len(tracks), tracks.loops)))
    return replace(
        clip,
        features=seen,
        seconds=motion.seconds,
        loops=motion.loops,
        shape=shape_of(chains),
        partners=torch.as_tensor(chains.partners),
    )
