"""Flow: how much a body moves, how smoothly, how far its joints turn, and whether the end leads back to the start.

Speeds and distances are means over the body's bones, both ends of each, weighted by their lengths, as if the skeleton
were a wire: so a hand with fifteen small bones counts no more than one with a single large one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from gambol.character.anatomy import Anatomy
from gambol.motion.contacts import plain
from gambol.motion.footage import Footage, points_of
from gambol.motion.motion import Motion
from gambol.quality.specimen import Specimen

Array = np.ndarray

RATE = 30
"""Jerk is a third difference of frames so many a second, whatever the clip's keys are."""
LONGEST = 120.0
"""Of longer clips the beginning is asked for jerk [s]."""
CUTOFF = 8.0
"""Muscles hardly move limbs faster: gait is below 6 Hz, tremor begins at 8 [Hz]. Wings of insects do."""
QUICK = 5.0
"""Shaking is so many times as quick as the movement itself: a fox that takes 1.8 strides a second moves at 2.3 Hz."""
HIGHEST = 15.0
"""Higher frequencies are left to the way keys are interpolated: with 24 keys a second, images of the movement begin at
24 Hz less its own frequency [Hz]."""
MOST_KEYS = 600
"""At which changes of velocity are compared with that of the seam."""
STILL = 0.002
"""Slower than this, a body stands [m/s]."""
MOVES = 2.0
"""A joint that turns less does not move [degrees]."""
LONG = 0.15
"""A bone of a leg that bends at both of its ends, in parts of the leg."""
STRAIGHT = 10.0
"""A knee may be bent the wrong way by this much [degrees]: those of artists' walks and runs are by up to 8."""
FOLDED = 210.0
"""Beyond half a turn, up to here, a limb is folded rather than bent the wrong way [degrees]: so horses sleep."""
DENSE = 0.1
"""Keys farther apart are joined by curves, of which the beginning and the end are seen [s]."""


@dataclass(frozen=True)
class Jitter:
    """Of one clip."""

    jerk: float
    """Mean size of the third derivative, by differences of 30 frames a second [m/s^3]."""
    tempo: float
    """Frequency of the sine wave that has as much jerk at the same mean speed [Hz]: jerk without amplitude, so that
    slow and fast motions compare. 0 for a body that stands."""
    roughness: float
    """That frequency over the one at which a sine wave as wide has the same mean speed: 1 for a pure sine wave, of any
    size and pace, and more the more quick movements there are in a slow one. So mice and elephants compare."""
    high: float | None
    """Share of the energy of the movement, the square of its velocities, in frequencies up to 15 Hz that are above 8 Hz
    and five times as quick as the movement itself: what is small moves quickly, and does not shake for that. None for
    clips so long that they are looked at too rarely."""


@dataclass(frozen=True)
class Range:
    """Of one clip; angles between a joint and its parent [degrees]."""

    largest: float
    """Range of the joint that turns farthest."""
    median: float
    """Of the ranges of those that move; 0 if none does."""
    moving: int
    """Joints that turn by more than 2 degrees."""
    beyond: float | None
    """Share of knees, elbows and frames in which they bend the wrong way; None where there are none to be seen."""


@dataclass(frozen=True)
class Seam:
    """From the last key of a clip to its first."""

    pose: float
    """Mean distance [% of the height]."""
    velocity: float
    """Mean change of velocity, in parts of the clip's mean speed."""


def motion_amount(specimen: Specimen) -> float | None:
    """Mean speed of the bones beside the way of the whole body, that is the level movement of its middle [m/s]: a
    statue measures 0, also one that is pushed along. Of clips that move morph targets, the skin counts if that moves
    more. None for a single pose."""
    if not _lasts(specimen):
        return None
    if any(track.path == "weights" for track in specimen.motion.tracks):
        return max(_bones_move(specimen), _skin_moves(specimen))
    return _bones_move(specimen)


def _bones_move(specimen: Specimen) -> float:
    velocities = specimen.velocities(points_of(specimen.anatomy, specimen.joints))
    weights = _weights(specimen)
    middle = np.einsum("fpi,p->fi", velocities, weights) * (1.0, 0.0, 1.0)
    return float((np.linalg.norm(velocities - middle[:, None], axis=-1) @ weights).mean())


def _skin_moves(specimen: Specimen) -> float:
    """Mean speed of the vertices beside the level movement of their middle [m/s]."""
    skin = specimen.skin
    if len(skin.frames) < 2 or not skin.vertices.shape[1]:
        return 0.0
    steps = np.diff(skin.vertices, axis=0)
    steps = steps - steps.mean(1, keepdims=True) * (1.0, 0.0, 1.0)
    times = np.diff(specimen.times[skin.frames])
    return float((np.linalg.norm(steps, axis=-1).mean(1) / times).mean())


def jitter(specimen: Specimen) -> Jitter | None:
    """How jerky a clip is, and how much of it is shaking. None for clips of less than 0.2 s."""
    if not _lasts(specimen) or specimen.seconds < 0.2:
        return None
    weights = _weights(specimen)
    points = _resampled(specimen, 2 * RATE)
    step = 1.0 / RATE
    third = points[6:] - 3 * points[4:-2] + 3 * points[2:-4] - points[:-6]
    jerk = float((np.linalg.norm(third, axis=-1) @ weights).mean() / step**3)
    steps = points[2:] - points[:-2]
    steps = steps - np.einsum("fpi,p->i", steps, weights) / len(steps)  # the even way of the whole body has no jerk
    speed = float((np.linalg.norm(steps, axis=-1) @ weights).mean() / step)
    tempo = np.sqrt(jerk / speed) / (2 * np.pi) if speed > STILL else 0.0
    middle = points[1:-1] - np.linspace(-0.5, 0.5, len(points) - 2)[:, None, None] * (
        np.einsum("fpi,p->i", points[2:] - points[:-2], weights) / 2
    )
    width = float(np.sqrt(((middle - middle.mean(0)) ** 2).sum(-1).mean(0)) @ weights)
    main = speed / (4 * np.sqrt(2) * width) if width > STILL else 0.0
    roughness = tempo / main if main > 0 else 0.0
    return Jitter(jerk, float(tempo), float(roughness), _high(specimen, weights, max(CUTOFF, QUICK * main)))


def _resampled(specimen: Specimen, rate: int) -> Float[Array, "frames points 3"]:
    """Ends of bones at exactly so many frames a second [m]; what loops goes on for six frames into the next round, and
    its way is taken out."""
    footage, seconds = specimen.contacts.footage, min(specimen.seconds, LONGEST)
    if specimen.loops:
        return _points(specimen, footage, np.arange(round(seconds * rate) + 6) / rate)
    return _points(specimen, plain(footage), np.arange(int(seconds * rate + 1e-6) + 1) / rate)


def _high(specimen: Specimen, weights: Float[Array, " points"], cutoff: float) -> float | None:
    """See `Jitter.high`. A loop has a spectrum of its own; anything else is faded in and out, without its mean."""
    if specimen.rate < 2 * HIGHEST:
        return None
    velocities = specimen.velocities(points_of(specimen.anatomy, specimen.joints))
    velocities = velocities - velocities.mean(0)
    if not specimen.loops:
        velocities *= np.hanning(len(velocities) + 2)[1:-1, None, None] * np.sqrt(8 / 3)
    frequencies = np.fft.rfftfreq(len(velocities), 1 / specimen.rate)
    lines = np.abs(np.fft.rfft(velocities, axis=0) / len(velocities)) ** 2
    energy = 2 * np.einsum("fpi,p->f", lines, weights) / np.sinc(frequencies / specimen.rate) ** 2  # of differences
    seen = frequencies <= HIGHEST
    return float(energy[seen & (frequencies > cutoff)].sum() / (energy[seen].sum() + STILL**2))


def joint_range(specimen: Specimen) -> Range | None:
    """How far joints turn against their parents over the clip. None without two joints, or for a single pose.

    The range of a joint is the largest angle between two of its poses, found in two steps: from the first frame to the
    one that differs most, and from there to the one that differs most; at most 180 degrees. A root's turns are those
    of the whole body and do not count.
    """
    parents = specimen.anatomy.body.parents
    child = np.flatnonzero(parents >= 0)
    if not len(child) or not _lasts(specimen):
        return None
    rotations = _rotations(specimen.joints)
    turns = np.swapaxes(rotations[:, parents[child]], -1, -2) @ rotations[:, child]
    far = _angles(turns, turns[0]).argmax(0)
    ranges = _angles(turns, turns[far, np.arange(len(child))]).max(0)
    moving = ranges > MOVES
    median = float(np.median(ranges[moving])) if moving.any() else 0.0
    return Range(float(ranges.max()), median, int(moving.sum()), _beyond(specimen))


def _rotations(T: Float[Array, "... 4 4"]) -> Float[Array, "... 3 3"]:
    """Of transforms that may be scaled and mirrored: the first axis and the plane of the first two are kept."""
    first = _unit(T[..., :3, 0])
    third = _unit(np.cross(first, T[..., :3, 1]))
    return np.stack([first, np.cross(third, first), third], axis=-1)


def _unit(vectors: Float[Array, "... 3"]) -> Float[Array, "... 3"]:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-30)


def _angles(
    turns: Float[Array, "frames joints 3 3"], others: Float[Array, "joints 3 3"]
) -> Float[Array, "frames joints"]:
    """Between rotations [degrees]; by the chord, which is exact also for small angles."""
    chord = np.sqrt(((turns - others) ** 2).sum((-1, -2)) / 8)
    return np.degrees(2 * np.arcsin(np.minimum(chord, 1.0)))


def _beyond(specimen: Specimen) -> float | None:
    """See `Range.beyond`; None without a knee or an elbow whose way of bending shows in the neutral pose."""
    from gambol.distillation.limits import find_limits

    limits = find_limits(specimen.anatomy, 1.0)
    hinges = _hinges(specimen.anatomy, limits.above.numpy(), limits.below.numpy())
    if not len(hinges):
        return None
    above, below = (specimen.joints[:, joints.numpy()[hinges], :3, :3] for joints in (limits.above, limits.below))
    before, normal, after = (
        _unit(np.einsum("fkij,kj->fki", bone, own.numpy()[hinges]))
        for bone, own in ((above, limits.before), (above, limits.normal), (below, limits.after))
    )
    bend = np.degrees(np.arctan2((np.cross(before, after) * normal).sum(-1), (before * after).sum(-1)))
    return float(((bend < -STRAIGHT) & (bend > FOLDED - 360)).mean())


def _hinges(anatomy: Anatomy, above: Int[Array, " limits"], below: Int[Array, " limits"]) -> Int[Array, " hinges"]:
    """Which limits are knees and elbows. A leg bends wherever two long bones meet: hips of motion capture, a short bone
    above the thigh, turn both ways. An arm bends where its two longest do: the limits of shoulders and wrists are
    guesses, which artists' clips pass by 75 degrees."""
    body = anatomy.body
    found = []
    for limb in anatomy.limbs:
        chain = list(limb.chain)
        if limb.kind not in ("leg", "arm") or len(chain) < 2:
            continue
        lengths = np.linalg.norm(np.diff([*body.heads[chain], body.tips[chain[-1]]], axis=0), axis=1)
        if limb.kind == "arm":
            bends = [1 + int(np.argmax(lengths[1:] + lengths[:-1]))]
        else:
            bends = (1 + np.flatnonzero(np.minimum(lengths[1:], lengths[:-1]) > LONG * lengths.sum())).tolist()
        pairs = {(chain[bend - 1], chain[bend]) for bend in bends}
        found += [i for i in range(len(below)) if (int(above[i]), int(below[i])) in pairs]
    return np.array(found, int)


def loop_seam(specimen: Specimen) -> Seam | None:
    """How the clip's last key leads over to its first, as the file has them: 0 for a perfect loop. A way of more than a
    tenth of the height and a turn of more than 10 degrees are taken out, since a game moves the body on by them. None
    for clips of fewer than four frames.

    Velocities at both ends are one-sided differences of second order, whose leading errors are the same, so a smooth
    movement through the seam leaves none. Brisk movement in few keys changes its velocity at each of them: only what
    the seam does beyond the median of the others counts.
    """
    step, motion = _key_step(specimen.motion), specimen.motion
    if not motion.duration > 3 * step > 0:
        return None
    whole = replace(specimen.contacts.footage, motion=motion, duration=motion.duration, loops=False)
    keys = np.arange(min(int(motion.duration / step + 1e-6), MOST_KEYS) + 1) * step
    within = _points(specimen, whole, keys)
    last, weights = _points(specimen, whole, motion.duration - np.arange(3) * step), _weights(specimen)
    gap = 100 * float(np.linalg.norm(last[0] - within[0], axis=-1) @ weights)
    arriving = (3 * within[2:] - 4 * within[1:-1] + within[:-2]) / (2 * step)
    leaving = (-3 * within[:-2] + 4 * within[1:-1] - within[2:]) / (2 * step)
    seam = leaving[0] - (3 * last[0] - 4 * last[1] + last[2]) / (2 * step)
    usual = np.linalg.norm(leaving[2:] - arriving[:-2], axis=-1) @ weights
    jump = float(np.linalg.norm(seam, axis=-1) @ weights) - (float(np.median(usual)) if len(usual) else 0.0)
    steps = np.diff(_points(specimen, whole, np.linspace(0.0, motion.duration, len(specimen.times))), axis=0)
    speed = float((np.linalg.norm(steps, axis=-1) @ weights).sum() / motion.duration)
    return Seam(gap, max(jump, 0.0) / speed if speed > STILL else 0.0)


def _key_step(motion: Motion) -> float:
    """Time between keys, at their densest; of keys that are far apart, a frame [s]."""
    times = max((track.times for track in motion.tracks), key=len, default=np.zeros(1))
    step = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    return step if step < DENSE else 1.0 / RATE


def _points(specimen: Specimen, footage: Footage, times: Float[Array, " frames"]) -> Float[Array, "frames points 3"]:
    """Ends of bones [m]."""
    return points_of(specimen.anatomy, specimen.T_own_file @ footage.poses(times))


def _weights(specimen: Specimen) -> Float[Array, " points"]:
    """Of both ends of every bone, by its length; sums to 1."""
    body = specimen.anatomy.body
    lengths = np.linalg.norm(body.tips - body.heads, axis=1)
    lengths = lengths if lengths.sum() > 0 else np.ones(len(body))
    return np.tile(lengths / lengths.sum() / 2, 2)


def _lasts(specimen: Specimen) -> bool:
    return specimen.seconds > 0 and len(specimen.times) > 3
