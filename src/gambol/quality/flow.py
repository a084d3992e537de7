"""Flow: how much a body moves, how smoothly, how far its joints turn, and whether the end leads back to the start.

Speeds and distances are means over both ends of all bones, weighted by the lengths of the bones, so that a hand with
fifteen small bones counts no more than one with a single large one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int

from gambol.character.anatomy import Anatomy
from gambol.character.transforms import normalize
from gambol.motion.contacts import plain
from gambol.motion.joint_poses import bone_ends
from gambol.motion.loops import LoopedClip, key_step
from gambol.quality.normalized_clip import NormalizedClip

RATE = 30
"""Frame rate of the differences from which jerk is computed, whatever the clip's keys are [1/s]."""
LONGEST = 120.0
"""Jerk is that of the beginning of longer clips [s]."""
CUTOFF = 8.0
"""Lowest frequency that counts as shaking: gait is below 6 Hz, tremor begins at 8 [Hz]."""
QUICK = 5.0
"""Lowest ratio of a shaking frequency to that of the movement, which is 2.3 Hz for a fox at 1.8 strides per second."""
HIGHEST = 15.0
"""Highest frequency that is measured [Hz]; higher ones are aliases from the interpolation of keys."""
MOST_KEYS = 600
"""Largest number of keys whose changes of velocity are compared with that of the seam."""
STILL = 0.002
"""Speed below which a body does not move [m/s]."""
LONG = 0.15
"""Shortest bone at a knee [leg length]."""
STRAIGHT = 10.0
"""Largest angle by which a knee may bend the wrong way [degrees]; in artists' walks and runs it is up to 8."""
FOLDED = 210.0
"""Largest angle of a folded limb, as of a sleeping horse; beyond it, it bends the wrong way [degrees]."""
DENSE = 0.1
"""Largest time between keys at which velocities are taken from them; of sparser keys, from frames [s]."""


def motion_amount(normalized: NormalizedClip) -> float | None:
    """Mean speed of the bones relative to the horizontal movement of their mean [m/s]: 0 for a statue, also for one
    that is pushed along. If morph targets move, that of the vertices if it is larger. None for a single pose."""
    if not _lasts(normalized):
        return None
    if any(track.path == "weights" for track in normalized.clip.tracks):
        return max(_bones_move(normalized), _skin_moves(normalized))
    return _bones_move(normalized)


def _bones_move(clip: NormalizedClip) -> float:
    return mean_speed(clip.velocities(bone_ends(clip.anatomy, clip.joints)), _weights(clip))


def mean_speed(velocities: Float[np.ndarray, "steps points 3"], weights: Float[np.ndarray, " points"]) -> float:
    """Mean speed of points relative to the horizontal movement of their mean [m/s]. weights: their sum is 1."""
    middle = np.einsum("fpi,p->fi", velocities, weights) * (1.0, 0.0, 1.0)
    return float((np.linalg.norm(velocities - middle[:, None], axis=-1) @ weights).mean())


def _skin_moves(clip: NormalizedClip) -> float:
    """Mean speed of the vertices relative to the horizontal movement of their mean [m/s]."""
    skin = clip.skin
    if len(skin.frames) < 2 or not skin.vertices.shape[1]:
        return 0.0
    steps = np.diff(skin.vertices, axis=0)
    steps = steps - steps.mean(1, keepdims=True) * (1.0, 0.0, 1.0)
    times = np.diff(clip.times[skin.frames])
    return float((np.linalg.norm(steps, axis=-1).mean(1) / times).mean())


def jitter(clip: NormalizedClip) -> dict[str, float | None]:
    """Jerk and shaking of a clip; empty for clips of less than 0.2 s.

    jerk: mean norm of the third derivative of positions, by differences at 30 frames per second [m/s^3].
    roughness: frequency of the sine wave that has as much jerk at the same mean speed, over that of the sine wave that
        is as wide at the same mean speed. 1 for a sine wave of any size and pace, more for quick movements in a slow
        one, so that mice and elephants compare; 0 for a body that stands.
    high_frequency: share of the energy (squared velocity) up to 15 Hz in frequencies above 8 Hz and above five times
        that of the movement, since small animals move quickly without shaking [%]. None for clips so long that frames
        are too far apart.
    """
    if not _lasts(clip) or clip.seconds < 0.2:
        return {}
    weights = _weights(clip)
    points = _resampled(clip, 2 * RATE)
    jerk, roughness, main = jerk_of(points, weights)
    return {"jerk": jerk, "roughness": roughness, "high_frequency": _high(clip, weights, max(CUTOFF, QUICK * main))}


def jerk_of(
    points: Float[np.ndarray, "frames points 3"], weights: Float[np.ndarray, " points"]
) -> tuple[float, float, float]:
    """Return jerk [m/s^3] and roughness, as `jitter` defines them, and the frequency of the movement [1/s].

    points: at 2 * RATE frames per second; a loop goes on for six frames into its next cycle, in place. weights: their
    sum is 1.
    """
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
    return jerk, float(tempo / main) if main > 0 else 0.0, main


def _resampled(clip: NormalizedClip, rate: int) -> Float[np.ndarray, "frames points 3"]:
    """Ends of bones at exactly this frame rate [m]. A loop continues for six frames into its next cycle, and its root
    displacement is removed."""
    looped, seconds = clip.contacts.looped, min(clip.seconds, LONGEST)
    if clip.loops:
        return _points(clip, looped, np.arange(round(seconds * rate) + 6) / rate)
    return _points(clip, plain(looped), np.arange(int(seconds * rate + 1e-6) + 1) / rate)


def _high(clip: NormalizedClip, weights: Float[np.ndarray, " points"], cutoff: float) -> float | None:
    """Share of the energy above a frequency [Hz]; see `jitter` [%]. Clips that do not loop are windowed (Hann) after
    their mean is removed."""
    if clip.fps < 2 * HIGHEST:
        return None
    velocities = clip.velocities(bone_ends(clip.anatomy, clip.joints))
    velocities = velocities - velocities.mean(0)
    if not clip.loops:
        velocities *= np.hanning(len(velocities) + 2)[1:-1, None, None] * np.sqrt(8 / 3)
    frequencies = np.fft.rfftfreq(len(velocities), 1 / clip.fps)
    lines = np.abs(np.fft.rfft(velocities, axis=0) / len(velocities)) ** 2
    energy = 2 * np.einsum("fpi,p->f", lines, weights) / np.sinc(frequencies / clip.fps) ** 2  # of differences
    seen = frequencies <= HIGHEST
    return 100 * float(energy[seen & (frequencies > cutoff)].sum() / (energy[seen].sum() + STILL**2))


def joint_range(clip: NormalizedClip) -> dict[str, float | None]:
    """Range of the joint that turns farthest against its parent [degrees], and the share of knees, elbows and frames in
    which they bend the wrong way [%]. Empty without two joints, or for a single pose.

    The range of a joint is the largest angle between two of its poses, found in two steps: from the first frame to the
    one that differs most, and from there to the one that differs most; at most 180 degrees. A root's turns are those
    of the whole body and do not count.
    """
    parents = clip.anatomy.body.parents
    child = np.flatnonzero(parents >= 0)
    if not len(child) or not _lasts(clip):
        return {}
    rotations = _rotations(clip.joints)
    turns = np.swapaxes(rotations[:, parents[child]], -1, -2) @ rotations[:, child]
    far = _angles(turns, turns[0]).argmax(0)
    ranges = _angles(turns, turns[far, np.arange(len(child))])
    return {"joint_range": float(ranges.max()), "beyond_limits": _beyond(clip)}


def _rotations(T: Float[np.ndarray, "... 4 4"]) -> Float[np.ndarray, "... 3 3"]:
    """Rotations of transforms that may be scaled and mirrored, by Gram-Schmidt of their first two axes."""
    first = normalize(T[..., :3, 0])
    third = normalize(np.cross(first, T[..., :3, 1]))
    return np.stack([first, np.cross(third, first), third], axis=-1)


def _angles(
    turns: Float[np.ndarray, "frames joints 3 3"], others: Float[np.ndarray, "joints 3 3"]
) -> Float[np.ndarray, "frames joints"]:
    """Angles between rotations [degrees]; by the chord, which is exact also for small angles."""
    chord = np.sqrt(((turns - others) ** 2).sum((-1, -2)) / 8)
    return np.degrees(2 * np.arcsin(np.minimum(chord, 1.0)))


def _beyond(clip: NormalizedClip) -> float | None:
    """Share of knees, elbows and frames in which they bend the wrong way [%]; None without a knee or an elbow whose
    direction shows in the neutral pose."""
    from gambol.motion.joint_limits import find_limits

    limits = find_limits(clip.anatomy, 1.0)
    hinges = _hinges(clip.anatomy, limits.above.numpy(), limits.below.numpy())
    if not len(hinges):
        return None
    above, below = (clip.joints[:, joints.numpy()[hinges], :3, :3] for joints in (limits.above, limits.below))
    before, normal, after = (
        normalize(np.einsum("fkij,kj->fki", bone, own.numpy()[hinges]))
        for bone, own in ((above, limits.before), (above, limits.normal), (below, limits.after))
    )
    bend = np.degrees(np.arctan2((np.cross(before, after) * normal).sum(-1), (before * after).sum(-1)))
    return 100 * float(((bend < -STRAIGHT) & (bend > FOLDED - 360)).mean())


def _hinges(
    anatomy: Anatomy, above: Int[np.ndarray, " limits"], below: Int[np.ndarray, " limits"]
) -> Int[np.ndarray, " hinges"]:
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


def loop_seam(normalized: NormalizedClip) -> dict[str, float | None]:
    """Discontinuity from the clip's last key to its first: mean distance of the two poses [% of the height], and mean
    change of velocity, divided by the clip's mean speed. Both are 0 for a perfect loop. Root displacement of more than
    a tenth of the height and turns of more than 10 degrees are removed, since a game moves the body on by them. Empty
    for clips of fewer than four frames.

    Velocities at both ends are one-sided differences of second order, whose leading errors are the same, so a smooth
    movement through the seam leaves none. Brisk movement in few keys changes its velocity at each of them: only what
    the seam does beyond the median of the others counts.
    """
    clip = normalized.clip
    step = key_step(clip)
    step = step if step < DENSE else 1.0 / RATE
    if not clip.duration > 3 * step > 0:
        return {}
    whole = replace(normalized.contacts.looped, clip=clip, duration=clip.duration, loops=False)
    keys = np.arange(min(int(clip.duration / step + 1e-6), MOST_KEYS) + 1) * step
    within = _points(normalized, whole, keys)
    last, weights = _points(normalized, whole, clip.duration - np.arange(3) * step), _weights(normalized)
    gap = 100 * float(np.linalg.norm(last[0] - within[0], axis=-1) @ weights)
    arriving = (3 * within[2:] - 4 * within[1:-1] + within[:-2]) / (2 * step)
    leaving = (-3 * within[:-2] + 4 * within[1:-1] - within[2:]) / (2 * step)
    seam = leaving[0] - (3 * last[0] - 4 * last[1] + last[2]) / (2 * step)
    usual = np.linalg.norm(leaving[2:] - arriving[:-2], axis=-1) @ weights
    jump = float(np.linalg.norm(seam, axis=-1) @ weights) - (float(np.median(usual)) if len(usual) else 0.0)
    steps = np.diff(_points(normalized, whole, np.linspace(0.0, clip.duration, len(normalized.times))), axis=0)
    speed = float((np.linalg.norm(steps, axis=-1) @ weights).sum() / clip.duration)
    return {"seam_pose": gap, "seam_velocity": max(jump, 0.0) / speed if speed > STILL else 0.0}


def _points(
    clip: NormalizedClip, looped: LoopedClip, times: Float[np.ndarray, " frames"]
) -> Float[np.ndarray, "frames points 3"]:
    """Ends of bones [m]."""
    return bone_ends(clip.anatomy, clip.T_norm_file @ looped.poses(times))


def _weights(clip: NormalizedClip) -> Float[np.ndarray, " points"]:
    """Weights of both ends of every bone, by its length; they sum to 1."""
    body = clip.anatomy.body
    lengths = np.linalg.norm(body.tips - body.heads, axis=1)
    lengths = lengths if lengths.sum() > 0 else np.ones(len(body))
    return np.tile(lengths / lengths.sum() / 2, 2)


def _lasts(clip: NormalizedClip) -> bool:
    return clip.seconds > 0 and len(clip.times) > 3
