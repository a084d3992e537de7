"""Motions by formula as training data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from gambol.motion.chains import Chains
from gambol.priors.tracks.features import features_of, nominal_seconds, shape_of
from gambol.priors.tracks.formulas import formula_actions, formula_tracks
from gambol.priors.tracks.training.clips import TrackSample


def procedural_samples(
    chains: Chains, name: str, family: str, generator: np.random.Generator, most: int | None = None
) -> list[TrackSample]:
    """One motion of everything a body can do by formula, in a random style and at a random pace. most: number of
    actions that are drawn from these, if not all."""
    shape, partners = shape_of(chains), torch.as_tensor(chains.partners)
    found = []
    actions = formula_actions(chains)
    drawn = range(len(actions)) if most is None else generator.permutation(len(actions))[:most]
    for action in (actions[number] for number in drawn):
        tracks = formula_tracks(chains, action, generator, float(generator.uniform(-1, 1)))
        if tracks is None:
            continue
        features = features_of(replace(tracks, seconds=nominal_seconds(len(tracks), tracks.loops)))
        found.append(
            TrackSample(name, family, action, "procedural", tracks.loops, tracks.seconds, shape, features, partners)
        )
    return found
