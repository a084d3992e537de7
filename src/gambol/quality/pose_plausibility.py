"""How plausible the poses of a clip are, frame by frame, by the pose model.

The pose model looks at poses alone, not at how they follow each other: it sees a chest on backwards, and no slide. Its
numbers are shown beside the others and decide nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from gambol.errors import GambolError
from gambol.motion.optimization import threads
from gambol.poses.model import PoseModel
from gambol.poses.plausibility import implausibility, pose_reader, shipped_model
from gambol.quality.measures import Values
from gambol.quality.normalized_clip import NormalizedClip

MOST_FRAMES, MOST_JOINTS, FEWEST_FRAMES = 48, 900, 8
"""Frames of a clip that are looked at: at most so many, and so many that they have at most so many joints together, but
for a few at least. 900 joints take 0.3 s."""
USUAL = 0.99
"""Share of usual poses from which a more implausible one is called unusual."""


@dataclass(frozen=True)
class PosePlausibility:
    """How implausible the poses of a clip are."""

    times: Float[np.ndarray, " frames"]
    """Since the start of the clip [s]."""
    implausibility: Float[np.ndarray, " frames"]
    """Distance of each pose from what the pose model takes it for, relative to the poses that its weights call
    usual: 1 is usual."""
    usual: float
    """Implausibility that a share USUAL of those poses stays below."""

    @property
    def mean(self) -> float:
        return float(self.implausibility.mean())

    @property
    def unusual(self) -> float:
        """Share of the frames with an unusual pose."""
        return float((self.implausibility > self.usual).mean())

    @property
    def values(self) -> Values:
        """Values of the measures, by their keys."""
        return {"pose_implausibility": self.mean, "unusual_poses": 100 * self.unusual}


def pose_plausibility(clip: NormalizedClip, model: PoseModel | None = None) -> PosePlausibility | None:
    """How implausible the poses of a clip are. model: by default the one that comes with gambol. None if it does not
    know what is usual, or if the character has too many joints for it."""
    model = model or shipped_model()
    if model.usual is None:
        return None
    try:
        reader = pose_reader(clip.anatomy, model)
    except GambolError:
        return None
    joints = len(clip.anatomy.body)
    most = max(min(MOST_FRAMES, MOST_JOINTS // joints), FEWEST_FRAMES)
    frames = np.unique(np.linspace(0, len(clip.times) - 1, min(most, len(clip.times))).round().astype(int))
    world = torch.as_tensor(clip.contacts.poses()[frames][..., :3, :]).float()
    with threads(1):
        found = implausibility(reader.rig, reader.poses(world)).double().numpy()
    return PosePlausibility(clip.times[frames], found, float(torch.quantile(model.usual.quantiles, USUAL)))
