"""How the points of a body move in the clips of its file: evidence of which end is the front."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from gambol.character import names
from gambol.character.body import Body
from gambol.character.character import Character
from gambol.character.clip import Clip

FRAMES = 16
MOST_CLIPS = 6
MOST_POINTS = 400
"""Enough for a mean over an end of the body."""
STRIDES = {"walk", "walking", "run", "running", "sprint", "jog", "trot", "gallop", "canter"}
SWIMMING = {"swim", "swims", "swimming"}
FLYING = {"fly", "flies", "flying", "flap", "glide", "hover"}
TRAVEL = STRIDES | SWIMMING | FLYING | {"crawl", "hop"}
OTHER_WAYS = {"back", "backward", "backwards", "bwd", "left", "right", "strafe", "turn"}


@dataclass(frozen=True)
class ClipMotion:
    """Points of a body over the frames of one clip, relative to their mean in each frame."""

    strides: bool
    """Whether it is called a walk or a run, straight ahead."""
    points: Float[np.ndarray, "frames points 3"]
    chosen: Int[np.ndarray, " points"]
    """Index of each point among those of the body; see `Body.points`."""


@dataclass(frozen=True)
class ClipEvidence:
    """What the clips of a file say about its body."""

    motions: tuple[ClipMotion, ...] = ()
    swims: bool = False
    """Whether a clip is called swimming and none is called walking or running."""
    flies: bool = False
    """Whether a clip is called flying."""


def read_clips(character: Character, body: Body) -> ClipEvidence:
    """Evidence from the names of all clips and from the motion of a few: those that travel first, as far as names say
    so, then in the file's order."""
    spoken = {word for name in character.clips for word in names.words(name)}
    swims, flies = bool(SWIMMING & spoken) and not STRIDES & spoken, bool(FLYING & spoken)
    clips = [clip for clip in character.clips.values() if clip.tracks and clip.duration > 0]
    chosen = sorted(clips, key=lambda clip: not TRAVEL & set(names.words(clip.name)))[:MOST_CLIPS]
    points, owners = body.points
    kept = np.unique(np.linspace(0, len(points) - 1, MOST_POINTS).astype(int))
    motions = tuple(_sample(character, body, clip, points[kept], owners[kept], kept) for clip in chosen)
    return ClipEvidence(motions, swims, flies)


def _sample(
    character: Character,
    body: Body,
    clip: Clip,
    points: Float[np.ndarray, "points 3"],
    owners: Int[np.ndarray, " points"],
    chosen: Int[np.ndarray, " points"],
) -> ClipMotion:
    """Each point moves with the joint that owns it: blending would change little, and rigs without a mesh have none."""
    times = np.linspace(clip.start, clip.end, FRAMES + 1)[:-1]
    nodes = body.nodes[owners]
    neutral = np.append(points, np.ones((len(points), 1)), axis=1)[..., None]
    local = np.linalg.solve(body.T_world_node[nodes], neutral)
    moved = (character.skeleton.world(clip.sample(character.skeleton, times))[:, nodes] @ local)[..., :3, 0]
    said = set(names.words(clip.name))
    strides = bool(STRIDES & said) and not OTHER_WAYS & said
    return ClipMotion(strides, moved - moved.mean(1, keepdims=True), chosen)


def backward_strides(
    motions: Sequence[ClipMotion], up: Float[np.ndarray, "3"], axis: Float[np.ndarray, "3"], height: float
) -> float:
    """Velocity against the axis of what is lowest in walks and runs, as a share of the mean speed along it; 0 without.

    A foot on the ground moves backwards below a body that is kept on the spot.
    """
    found = []
    for motion in (motion for motion in motions if motion.strides):
        velocity = np.diff(motion.points @ axis, axis=0)
        heights = (motion.points @ up)[:-1]
        low = heights < heights.min(1, keepdims=True) + 0.05 * height
        found.append(-float(velocity[low].mean()) / max(float(np.abs(velocity).mean()), 1e-9 * height))
    return float(np.median(found)) if found else 0.0


def sway_behind(
    motions: Sequence[ClipMotion], along: Float[np.ndarray, " body_points"], across: Float[np.ndarray, "3"] | None
) -> float:
    """Logarithm of how much more the last fifth of a body moves than its first, across a direction or in any.

    along: place of every point of the body from its hind end, 0, to its front, 1.
    """
    found = []
    for motion in motions:
        moves = motion.points - motion.points.mean(0)
        sizes = (np.linalg.norm(moves, axis=-1) if across is None else np.abs(moves @ across)).mean(0)
        where = along[motion.chosen]
        behind, ahead = sizes[where < 0.2], sizes[where > 0.8]
        if len(behind) and len(ahead):
            least = 1e-3 * float(np.ptp(motion.points, axis=(0, 1)).max()) + 1e-30
            found.append(float(np.log((behind.mean() + least) / (ahead.mean() + least))))
    return float(np.median(found)) if found else 0.0
