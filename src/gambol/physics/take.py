"""The take: a clip made ready to be tracked. Its frames in the rig's terms, when which foot bears, feet mended.

A clip that skates cannot be followed by a body that stands on its feet, and one that tries to slides. So feet that bear
are first made to stand still, with as little change as possible; that is what the body is then asked to do.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Float

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.rig import Rig, build_rig
from gambol.distillation.distill import goes_round
from gambol.distillation.footing import FEWEST, Footing, FootingConfig, Loads, find_loads, grounded
from gambol.errors import GambolError
from gambol.motion.draft import Draft, clip_of, draft_of
from gambol.motion.footage import footage_of, points_of, rounds_in
from gambol.motion.low_skin import LowSkin
from gambol.motion.motion import Motion
from gambol.motion.stances import find_plants, find_stances
from gambol.physics.ragdoll import SIZE, STANDARD_GRAVITY, Ragdoll, build_ragdoll
from gambol.physics.reference import Reference, redraft, refer
from gambol.physics.simulation import contact_points
from gambol.physics.track import Tracked
from gambol.priors.pocket.language.words import action_of_clip

Array = np.ndarray

AFLOAT = ("swim", "fly")
"""Actions of bodies that nothing on the ground holds."""
GOING = ("walk", "trot", "run", "turn left", "turn right")
LEAPING = ("jump", "hop")
HIGH = 0.25
"""A clip whose lowest point is never lower than this above the ground flies [height]."""
NEAR = 0.12
"""Only points that come so near the ground are simulated to touch it [size]; others would take time for nothing."""
BEARS = 0.05
"""A point that bears this share of the weight must stand."""
POLISH = FootingConfig(steps=80, rate=0.005, clear=0.0)
GAITS = ("walk", "trot", "run")
QUICK, USUAL_PACE, SLOW_PACE = 1.6, 2.8, 7.0
"""How long a cycle of a gait takes, in times that a fall from the height of the hip takes, or nearly: sqrt(L/g). Of our
own gaits, at the sizes of real animals, gallops take 1.9 and walks 3.5."""
STAYS = 0.02
"""A round that leads less far goes on the spot [size]."""
TURNS = 0.1
"""A round that turns farther is tracked once, not as a loop [rad]."""
SLIDES = 0.6
"""A foot that is never faster than this only slides, if it moves at all [size a second]."""
SEVERAL = 1.5
"""A loop of more cycles of a gait than this shows several."""
SLOW = 0.35
"""A foot that bears moves slower than this share of its own fastest."""
FPS = 30.0
"""Frames a second for a man, and for all that is larger."""
SHORTEST, LONGEST = 0.005, 30.0
"""Of a clip [s]."""
BRIEFEST = 0.1
"""A cycle that takes less is a pose, not a gait [s]."""
BACKWARDS, FAR = 0.5, 0.25
"""A round of unknown name goes somewhere if low feet move backwards with this correlation, this far [size]."""


@dataclass(frozen=True, eq=False)
class Take:
    """One clip of one character."""

    physique: Physique
    motion: Motion
    raw: Draft
    """As the clip has it."""
    mended: Draft
    """With feet that stand still where they bear. What the body is asked to do."""
    seen: Draft
    """As the clip has it, but at the pace of its feet if it goes on the spot."""
    loads: Loads
    in_place: bool
    """Whether the clip itself goes on the spot, and is to be given back so."""

    @cached_property
    def reference(self) -> Reference:
        return refer(self.physique.ragdoll, self.physique.rig, self.mended)

    def performed(self, tracked: Tracked) -> Draft:
        """What the ragdoll did, as a draft of the character; the end of a round leads into its start."""
        x, q = tracked.x, tracked.q
        base = self.mended if not self.reference.loops else self.mended.on_the_spot()
        if not self.reference.loops:
            return redraft(self.physique.ragdoll, self.physique.rig, base, x, q)
        longer = _with_the_next(base)
        draft = redraft(self.physique.ragdoll, self.physique.rig, longer, x, q)
        up = torch.as_tensor(self.physique.anatomy.up).float()
        ahead = draft.root_translation[-1] - draft.root_translation[0]
        if self.mended.travel.norm() < STAYS * self.physique.length:
            ahead = torch.zeros(3)  # what stands does not go anywhere
        return _closed(draft, base).leading(self.mended.travel + ahead - (ahead @ up) * up)

    def clip(self, draft: Draft, name: str, fps: float) -> Motion:
        """For the character's file; tracks of what is no joint of the rig are kept as they were. Not so those of what
        joints hang on, such as an armature that moves: how it moved them is in the draft already."""
        if self.in_place and draft.loops:
            draft = draft.on_the_spot()
        moved = clip_of(self.physique.character, self.physique.rig, draft, name, fps)
        begin = self.motion.start
        rig_nodes = set(self.physique.rig.nodes.tolist())
        skeleton = self.physique.character.skeleton
        rig_nodes |= {above for node in list(rig_nodes) for above in skeleton.ancestors(node)}
        kept = [
            replace(track, times=track.times - begin)
            for track in self.motion.tracks
            if track.path == "weights" or track.node not in rig_nodes
        ]
        there = {(track.node, track.path) for track in moved.tracks}
        return Motion(name, (*moved.tracks, *(track for track in kept if (track.node, track.path) not in there)))


class Physique:
    """A character as physics sees it, for all of its clips."""

    def __init__(self, character: Character, anatomy: Anatomy):
        self.character, self.anatomy = character, anatomy
        self.rig: Rig = build_rig(anatomy)
        self.ragdoll: Ragdoll = self._at_its_pace(build_ragdoll(character, anatomy, self.rig))
        self.skin = LowSkin(character, anatomy, self.rig, most=400)

    @property
    def length(self) -> float:
        """Of a leg, about [file units]."""
        return SIZE * self.ragdoll.unit

    @property
    def height(self) -> float:
        """In the ragdoll's lengths."""
        return self.anatomy.height / self.ragdoll.unit

    @property
    def fps(self) -> float:
        """Frames a second at which a body of this size is tracked: small ones are quicker."""
        return FPS * max(1, int(np.ceil(np.sqrt(self.ragdoll.gravity / STANDARD_GRAVITY) - 0.25)))

    def take(
        self,
        name: str,
        fps: float | None = None,
        mend: bool = True,
        on_progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Take:
        """A clip by its name, at so many frames a second, or as many as suit its size.

        GambolError if there is nothing that a body could do.
        """
        action = action_of_clip(name)
        motion, loops, rounds = self._as_loop(self._motion(name), action)
        count = max(round(motion.duration * (fps or self.fps)), 2)
        times = motion.start + motion.duration * np.arange(count + (not loops)) / count
        raw = draft_of(self.character, self.rig, motion, times, loops)
        if loops and abs(raw.turn) > TURNS:  # no treadmill turns, so a round that does is tracked once
            loops, times = False, np.append(times, motion.end)
            raw = draft_of(self.character, self.rig, motion, times, loops)
        elif loops:
            straight = raw.root_angles - raw.along[:, None] * torch.tensor([raw.turn, 0.0, 0.0])
            raw = replace(raw, root_angles=straight, turn=0.0)
        self._require_ground(name, raw, action)
        going, leaping, anatomy = self._ways(raw, action)
        in_place = loops and going and float(raw.travel.norm()) < STAYS * self.length
        dense = raw.resampled(len(raw) * -(-FEWEST // len(raw))) if loops else raw
        if in_place:  # also of what strays by less than it takes to see it: its feet say how far it goes
            dense = dense.on_the_spot()
        loads = find_loads(anatomy, self.rig, dense, self.length, goes=going, leaps=leaping)
        if not loops:
            loads = replace(loads, weights=loads.weights * self._slow(dense, loads))
        elif going and rounds > SEVERAL:
            loads = self._planted(dense, find_loads(anatomy, self.rig, dense, self.length, goes=False), anatomy)
        if in_place:
            dense = dense.leading(torch.as_tensor(loads.travel).float())
        seen = dense.resampled(len(raw))
        dense = grounded(self.anatomy, dense, loads, self.rig)
        if mend and len(loads.joints):
            dense = self._mended(anatomy, dense, loads, loops and going, on_progress)
        return Take(self, motion, raw, dense.resampled(len(raw)), seen, loads, in_place)

    def _at_its_pace(self, ragdoll: Ragdoll) -> Ragdoll:
        """With gravity such that its gaits are neither leaps on the moon nor wading in honey: units of files say little
        about how large a body is, the pace at which it was animated says more."""
        paces = []
        for name, motion in self.character.clips.items():
            if action_of_clip(name) in GAITS and 0 < motion.duration < LONGEST and self.anatomy.legs:
                _, loops, rounds = self._as_loop(motion, "walk")
                if loops and motion.duration / rounds > BRIEFEST:
                    paces.append(motion.duration / rounds)
        if not paces:
            return ragdoll
        pace = float(np.median(paces)) * np.sqrt(ragdoll.gravity / SIZE)
        if QUICK < pace < SLOW_PACE:
            return ragdoll
        return replace(ragdoll, gravity=ragdoll.gravity * (USUAL_PACE / pace) ** 2)

    def _as_loop(self, motion: Motion, action: str | None) -> tuple[Motion, bool, float]:
        """Whether it loops, and how many cycles of a gait it shows. Game clips often end a key before they would be
        where they began: that key is added."""
        loops, rounds = goes_round(self.character, self.rig, motion), 1.0
        if self.anatomy.legs and (action is None or action in GOING):
            with suppress(GambolError):  # nothing moves, or nothing repeats
                footage = footage_of(self.character, self.anatomy, motion, may_travel=True)
                if footage.loops and not loops:
                    motion, loops = footage.motion, True
                rounds = rounds_in(footage, points_of(self.anatomy, footage.poses(footage.even(121))))
        return motion, loops, rounds

    def _slow(self, draft: Draft, loads: Loads) -> Float[torch.Tensor, "frames points"]:
        """1 where points move slowly along the ground, and less the faster they are."""
        points = loads.points(draft.world(self.rig))
        up = torch.as_tensor(self.anatomy.up).float()
        if len(points) < 3 or not points.shape[1]:
            return torch.ones(points.shape[:2])
        speed = torch.gradient(points, dim=0)[0]
        speed = (speed - (speed @ up)[..., None] * up).norm(dim=-1)
        fastest = speed.quantile(0.95, dim=0).clamp(min=SLIDES * self.length / draft.rate)
        return torch.exp(-(speed / (SLOW * fastest)).square())

    def _planted(self, dense: Draft, loads: Loads, anatomy: Anatomy) -> Loads:
        """When feet bear in a loop of several cycles."""
        planted, ahead = find_plants(anatomy, self._poses(dense.on_the_spot()))
        weights = loads.weights * torch.as_tensor(planted.T.copy()).float()[:, loads.legs]
        if not dense.travel.any():
            loads = replace(loads, travel=max(ahead, 0.0) * anatomy.forward)
        return replace(loads, weights=weights)

    def _poses(self, draft: Draft) -> Float[Array, "frames joints 4 4"]:
        poses = np.zeros((len(draft), len(self.rig.nodes), 4, 4))
        poses[..., :3, :], poses[..., 3, 3] = draft.world(self.rig).double().numpy(), 1.0
        return poses

    def _motion(self, name: str) -> Motion:
        clips = self.character.clips
        if name not in clips:
            there = f"Available: {', '.join(clips)}" if clips else "It has none"
            raise GambolError(f"'{self.character.name}' has no clip '{name}'. {there}")
        motion = clips[name]
        if not motion.duration > SHORTEST:
            others = ", ".join(other for other in clips if other != name)
            there = f". Available: {others}" if others else ""
            raise GambolError(f"the clip '{name}' is a single pose: there is no motion to track{there}")
        if motion.duration > LONGEST:
            raise GambolError(f"the clip '{name}' lasts {motion.duration:.1f} s; up to {LONGEST:.0f} s can be tracked")
        return motion

    def _require_ground(self, name: str, draft: Draft, action: str | None) -> None:
        """Refuse what flies or swims: without the ground there is nothing to push against."""
        heights = self.skin.heights(draft.world(self.rig)) / self.anatomy.height
        reference = refer(self.ragdoll, self.rig, draft)
        points = contact_points(self.ragdoll, reference.x, reference.q)[..., 1] / self.height
        lowest = float(torch.cat([heights, points], 1).min()) if heights.numel() + points.numel() else 0.0
        if lowest > HIGH or action in AFLOAT:
            how = f"is a clip of '{action}'" if action in AFLOAT else f"stays {lowest:.0%} of the height above it"
            raise GambolError(
                f"the clip '{name}' has no contact with the ground, it {how}: "
                "physics would only let the body fall; track clips that stand or go"
            )

    def _ways(self, draft: Draft, action: str | None) -> tuple[bool, bool, Anatomy]:
        """Whether it goes somewhere, whether it does so in leaps, and the body with the way it goes as its forward:
        clips also walk backwards and sideways."""
        body = self.anatomy
        if action in LEAPING:
            return True, True, body
        if not (draft.loops and body.legs) or action not in (*GOING, None):
            return False, False, body
        if draft.travel.norm() > STAYS * self.length:
            return True, False, body
        poses = self._poses(draft.on_the_spot().resampled(96))
        for way in (body.forward, -body.forward, body.left, -body.left):
            turned = replace(body, forward=way)
            stances = find_stances(turned, poses)
            if stances.agreement > BACKWARDS and float(stances.passing[0]) > FAR * self.length:
                return True, False, turned
        return action is not None, False, body

    def _mended(
        self,
        anatomy: Anatomy,
        dense: Draft,
        loads: Loads,
        paced: bool,
        on_progress: Callable[[int, int], None],
    ) -> Draft:
        act = Footing(anatomy, self.rig, self.skin, dense, loads, self.length, paced=paced)
        for number in range(act.steps):
            act.step(number)
            on_progress(number + 1, act.steps)
        return act.draft()

    def polished(self, draft: Draft, ragdoll: Ragdoll, bearing: Float[torch.Tensor, "frames points"]) -> Draft:
        """What was simulated, with the last millimetres set right: what bears weight does not creep, and the skin,
        which is softer than bones, does not sink.

        bearing: how much of the weight each point of the ragdoll bears.
        """
        if not (bearing > 0).any():
            return draft
        joints = ragdoll.joints[ragdoll.point_bones]
        T_joint_own = np.linalg.inv(ragdoll.T_own_file @ self.rig.world()[joints])
        local = np.einsum("pij,pj->pi", T_joint_own[:, :3, :3], ragdoll.points) + T_joint_own[:, :3, 3]
        loads = Loads(
            joints=torch.as_tensor(joints),
            local=torch.as_tensor(local).float(),
            legs=torch.zeros(len(joints), dtype=torch.int64),
            stand=torch.full((len(joints),), self.anatomy.ground),
            weights=(bearing / BEARS).clamp(0, 1),
            clear=torch.zeros(bearing.shape),
            travel=draft.travel.double().numpy(),
        )
        act = Footing(self.anatomy, self.rig, self.skin, draft, loads, self.length, POLISH, paced=draft.loops)
        for number in range(act.steps):
            act.step(number)
        return act.draft()

    def near_ground(self, *references: Reference) -> Bool[Array, " points"]:
        """Points of the ragdoll that come near the ground in any of the references."""
        near = np.zeros(len(self.ragdoll.points), bool)
        for each in references:
            points = contact_points(self.ragdoll, each.x, each.q)
            if points.numel():
                near |= (points[..., 1].amin(0) < NEAR * SIZE).numpy()
        return near


def _with_the_next(draft: Draft) -> Draft:
    """A round on the spot, with the first frame of the next at its end."""
    again = torch.cat([torch.arange(len(draft)), torch.zeros(1, dtype=torch.int64)])
    return replace(
        draft,
        angles=draft.angles[again],
        root_translation=draft.root_translation[again],
        root_angles=draft.root_angles[again],
        loops=False,
    )


def _closed(longer: Draft, base: Draft) -> Draft:
    """A round of which the last frame should be the first: what is missing is spread over the whole of it."""
    along = torch.linspace(0, 1, len(longer))

    def close(values: torch.Tensor) -> torch.Tensor:
        gap = values[-1] - values[0]
        share = (along - 0.5).view(-1, *([1] * (values.ndim - 1)))
        return (values - share * gap)[:-1]

    return replace(
        base,
        angles=close(longer.angles),
        root_translation=close(longer.root_translation),
        root_angles=close(longer.root_angles),
    )
