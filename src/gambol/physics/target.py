"""Tracking targets: a clip as the reference of a ragdoll, and the simulated motion as a clip of the character."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gambol.actions import ACTIONS
from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.character.lookup import find_clip
from gambol.character.rig import Rig, build_rig
from gambol.editing.locking import STANDS
from gambol.errors import GambolError
from gambol.language import action_of_clip
from gambol.motion.contacts import find_contacts
from gambol.motion.foot_lock import FootLock, FootLockConfig, contact_loads
from gambol.motion.locked_clip import STAYS, ClipLocker, LockedClip, as_loop, enough_frames
from gambol.motion.rig_motion import RigMotion, clip_of
from gambol.physics.ragdoll import SIZE, STANDARD_GRAVITY, Ragdoll, build_ragdoll
from gambol.physics.reference import Reference, reference_of, rig_motion_from_bones
from gambol.physics.simulation import contact_points
from gambol.physics.tracking import TrackedReference, between
from gambol.quality.measures import BY_KEY, Values, movement_values
from gambol.quality.normalized_clip import normalize_clip

NEAR = 0.12
"""Contact points that never come nearer to the ground than this are left out of the simulation, to save time [size]."""
BEARS = 0.05
"""A point with at least this share of the weight on it is held in place."""
POLISH = FootLockConfig(steps=80, lr=0.005, slide=6.0, level=20.0, sunk=8000.0)
"""Foot lock of the simulated motion. A trot, two walks of four legs and one of two, after 50 iterations, slide at 3.6,
1.7, 1.0 and 0.5 cm/s with the usual weights of slide, level and sunk (2, 60 and 2000), and at 3.1, 1.4, 0.6 and 0.5
with these; skin sinks by 1.0, 0.8, 1.2 and 0.8 mm, and by 0.3, 0.3, 0.4 and 0.4. Without clearance feet graze the
ground as they come down: the trot after 200 iterations slides at 12.6 cm/s, with it at 2.9."""
QUICK, USUAL_PACE, SLOW_PACE = 1.6, 2.8, 7.0
"""Periods of gaits in units of sqrt(L/g), where L is the height of the hips: bounds of what is plausible, and a usual
one. Our own gaits at the sizes of real animals have 1.9 (gallops) to 3.5 (walks)."""
FPS = 30.0
"""Frames per second at which bodies of human size and larger are tracked."""
SHORTEST, LONGEST = 0.005, 30.0
"""Limits of the duration of a clip [s]."""
BRIEFEST = 0.1
"""A shorter cycle is a pose, not a gait [s]."""


@dataclass(frozen=True, eq=False)
class TrackingTarget:
    """A clip of a character, with its feet locked, for the ragdoll to follow."""

    body: PhysicalCharacter
    name: str
    """Name of the clip."""
    locked_clip: LockedClip
    measures: Values
    """Measures of the movement of the clip in the file, as in `gambol report`."""

    @cached_property
    def reference(self) -> Reference:
        """Poses of the ragdoll's bones in the clip with its feet locked."""
        return reference_of(self.body.ragdoll, self.body.rig, self.locked_clip.locked)

    def result(self, tracked: TrackedReference) -> RigMotion:
        """The simulated motion on the rig. The gap between the end and the start of a loop is spread over the cycle."""
        x, q, wanted = tracked.x, tracked.q, self.locked_clip.locked
        base = wanted if not self.reference.loops else wanted.in_place()
        if not self.reference.loops:
            return rig_motion_from_bones(self.body.ragdoll, self.body.rig, base, x, q)
        first_again = torch.arange(len(base) + 1) % len(base)
        longer = replace(base.chosen(first_again), loops=False)
        rig_motion = rig_motion_from_bones(self.body.ragdoll, self.body.rig, longer, x, q)
        up = torch.as_tensor(self.body.anatomy.up).float()
        ahead = rig_motion.root_translation[-1] - rig_motion.root_translation[0]
        if wanted.travel.norm() < STAYS * self.body.length:
            ahead = torch.zeros(3)  # a loop that stays in place does not drift
        return _closed(rig_motion, base).with_displacement(wanted.travel + ahead - (ahead @ up) * up)

    def polished(self, rig_motion: RigMotion, ragdoll: Ragdoll, bearing: Float[Tensor, "frames points"]) -> RigMotion:
        """The simulated motion with a last foot lock, by inverse kinematics of the legs.

        Feet slide a little in friction, and skin bends where bones do not, so feet that `gambol report` finds on the
        ground are held in place and skin is lifted out of the ground. The simulation's own loads are not enough: a foot
        is loaded for less of the time than the clip shows it on the ground, and slides in the rest.

        bearing: share of the weight on each contact point; points of other bones than the feet are held by these.
        """
        body, dense = self.body, enough_frames(rig_motion)
        contacts = find_contacts(body.character, body.anatomy, self.as_clip(rig_motion, self.name, rig_motion.fps))
        feet = contact_loads(body.anatomy, body.rig, dense, body.length, contacts)
        joints, local = body.contact_points(ragdoll)
        others = ~torch.isin(joints, feet.joints)
        bearing = (bearing / BEARS).clamp(0, 1)[:, others]
        same = len(bearing) == len(dense)  # only loops are given more frames
        weights = bearing if same else between(bearing, dense.along * len(bearing), loops=True)
        loads = feet.with_points(joints[others], local[others], body.anatomy.ground, weights)
        if not loads.weights.any():
            return rig_motion
        lock = FootLock(
            body.anatomy, body.rig, body.locker.skin, dense, loads, body.length, POLISH, paced=rig_motion.loops
        )
        for number in range(lock.steps):
            lock.step(number)
        return lock.rig_motion().resampled(len(rig_motion))

    def as_clip(self, rig_motion: RigMotion, name: str, fps: float) -> Clip:
        """A motion of the rig as a clip of the character.

        Tracks of nodes outside the rig are kept, except those of ancestors of joints, such as a moving armature, whose
        motion is part of that of the rig.
        """
        if self.locked_clip.in_place and rig_motion.loops:
            rig_motion = rig_motion.in_place()
        moved = clip_of(self.body.character, self.body.rig, rig_motion, name, fps)
        begin = self.locked_clip.clip.start
        rig_nodes = set(self.body.rig.nodes.tolist())
        skeleton = self.body.character.skeleton
        rig_nodes |= {above for node in list(rig_nodes) for above in skeleton.ancestors(node)}
        kept = [
            replace(track, times=track.times - begin)
            for track in self.locked_clip.clip.tracks
            if track.path == "weights" or track.node not in rig_nodes
        ]
        there = {(track.node, track.path) for track in moved.tracks}
        return Clip(name, (*moved.tracks, *(track for track in kept if (track.node, track.path) not in there)))


class PhysicalCharacter:
    """A character with its rig and ragdoll, shared by all of its clips."""

    def __init__(self, character: Character, anatomy: Anatomy):
        self.character, self.anatomy = character, anatomy
        self.rig: Rig = build_rig(anatomy)
        self.ragdoll: Ragdoll = self._at_its_pace(build_ragdoll(character, anatomy, self.rig))
        self.locker = ClipLocker(character, anatomy, self.rig, self.length)

    @property
    def length(self) -> float:
        """Approximate length of a leg [file units]."""
        return SIZE * self.ragdoll.unit

    @property
    def height(self) -> float:
        """Height of the character in the ragdoll's space."""
        return self.anatomy.height / self.ragdoll.unit

    @property
    def fps(self) -> float:
        """Frames per second at which a body of this size is tracked; more for small bodies, whose gaits are quick."""
        return FPS * max(1, int(np.ceil(np.sqrt(self.ragdoll.gravity / STANDARD_GRAVITY) - 0.25)))

    def target(
        self,
        name: str,
        fps: float | None = None,
        fix_feet: bool = True,
        on_progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> TrackingTarget:
        """The clip of this name as a target.

        fps: frames per second of the simulation; by the size of the body if None. fix_feet: first lock feet that slide.
        GambolError if there is no such clip, or if it cannot be tracked: it is too short or too long, or has no contact
        with the ground.
        """
        clip = self._clip(name)
        measures = movement_values(normalize_clip(self.character, clip, self.anatomy))
        fix_feet = fix_feet and not _stands(measures)
        locked_clip = self.locker.lock(clip, action_of_clip(clip.name), fps or self.fps, fix_feet, on_progress)
        return TrackingTarget(self, clip.name, locked_clip, measures)

    def _at_its_pace(self, ragdoll: Ragdoll) -> Ragdoll:
        """The ragdoll with gravity scaled if its gaits are implausibly slow or fast for its size: the units of a file
        say less about the size of a body than the pace at which it was animated."""
        paces = []
        for name, clip in self.character.clips.items():
            action = action_of_clip(name)
            if action and ACTIONS[action].steps and 0 < clip.duration < LONGEST and self.anatomy.legs:
                _, loops, rounds = as_loop(self.character, self.anatomy, clip, action)
                if loops and clip.duration / rounds > BRIEFEST:
                    paces.append(clip.duration / rounds)
        if not paces:
            return ragdoll
        pace = float(np.median(paces)) * np.sqrt(ragdoll.gravity / SIZE)
        if QUICK < pace < SLOW_PACE:
            return ragdoll
        return replace(ragdoll, gravity=ragdoll.gravity * (USUAL_PACE / pace) ** 2)

    def _clip(self, name: str) -> Clip:
        clip = find_clip(self.character, name)
        if not clip.duration > SHORTEST:
            others = ", ".join(other for other in self.character.clips if other != clip.name)
            there = f". Available: {others}" if others else ""
            raise GambolError(f"the clip '{clip.name}' is a single pose: there is no motion to track{there}")
        if clip.duration > LONGEST:
            raise GambolError(
                f"the clip '{clip.name}' lasts {clip.duration:.1f} s; up to {LONGEST:.0f} s can be tracked"
            )
        return clip

    def contact_points(self, ragdoll: Ragdoll) -> tuple[Int[Tensor, " points"], Float[Tensor, "points 3"]]:
        """Joints of the rig that the ragdoll's contact points move with, and where the points are in their space [file
        units]."""
        joints = ragdoll.joints[ragdoll.point_bones]
        T_joint_ragdoll = np.linalg.inv(ragdoll.T_ragdoll_file @ self.rig.world()[joints])
        local = np.einsum("pij,pj->pi", T_joint_ragdoll[:, :3, :3], ragdoll.points) + T_joint_ragdoll[:, :3, 3]
        return torch.as_tensor(joints), torch.as_tensor(local).float()

    def near_ground(self, *references: Reference) -> Bool[np.ndarray, " points"]:
        """Mask of contact points that come near the ground in any of the references."""
        near = np.zeros(len(self.ragdoll.points), bool)
        for each in references:
            points = contact_points(self.ragdoll, each.x, each.q)
            if points.numel():
                near |= (points[..., 1].amin(0) < NEAR * SIZE).numpy()
        return near

    def distance(self, rig_motion: RigMotion, other: RigMotion) -> float:
        """Mean distance of the bones' centres between two motions of the same length; loops are compared in place
        [height]."""
        ours, theirs = (reference_of(self.ragdoll, self.rig, each).x for each in (rig_motion, other))
        return float((ours - theirs).norm(dim=-1).mean()) / self.height


def _stands(measures: Values) -> bool:
    """Whether feet neither slide nor sink visibly, so that locking them would only change the clip: the trot of our fox
    slides at 0.01 cm/s and at 1.3 once locked."""
    slide, depth = measures["foot_slide_mean"], measures["penetration_mean"]
    return slide is not None and slide < STANDS and (depth is None or depth < BY_KEY["penetration_mean"].tolerance)


def _closed(longer: RigMotion, base: RigMotion) -> RigMotion:
    """The cycle with the gap between its last frame and its first spread over all frames, without the last."""
    along = torch.linspace(0, 1, len(longer))

    def close(values: Tensor) -> Tensor:
        gap = values[-1] - values[0]
        share = (along - 0.5).view(-1, *([1] * (values.ndim - 1)))
        return (values - share * gap)[:-1]

    return replace(
        base,
        angles=close(longer.angles),
        root_translation=close(longer.root_translation),
        root_angles=close(longer.root_angles),
    )
