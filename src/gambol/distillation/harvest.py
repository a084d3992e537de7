"""Poses from priors: a character does what sentences say, and frames of it become poses on its own rig."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np
import torch

from gambol.actions import ACTIONS
from gambol.character.anatomy import Anatomy, analyze
from gambol.character.character import Character
from gambol.character.rig import build_rig
from gambol.distillation.animate import prepare
from gambol.distillation.config import AnimateConfig
from gambol.distillation.stage_runner import StageRunner
from gambol.distillation.stages import stages_of
from gambol.distillation.track_layout import experimental
from gambol.errors import GambolError
from gambol.language import parse_intent
from gambol.motion.chains import Chains, find_chains
from gambol.motion.joint_poses import world_poses
from gambol.poses.harvest_files import HarvestedPoses, Origin, is_finite
from gambol.poses.pose_skeleton import MOST_JOINTS, PoseSkeleton, pose_skeleton
from gambol.poses.poses import Poses, body_points, joined, poses_of_world
from gambol.poses.validators import Validators
from gambol.priors.prior import Prior
from gambol.priors.tracks.features import shape_of
from gambol.priors.tracks.formulas import formula_actions
from gambol.priors.tracks.prior import TrackPrior
from gambol.ranges import Count

FASTEST = 12.0
"""Joints do not turn faster: what does has jumped [rad/s]."""
FLOATING = 0.25
"""Height of the lowest joint above the ground from which a body floats that neither leaps nor flies [leg lengths]."""
FRAMES = 60
"""Most frames of a motion that poses are chosen from."""


@dataclass(frozen=True)
class HarvestConfig:
    """How many poses are harvested."""

    seeds: Count = 1
    """Motions of each sentence."""
    poses: Count = 20
    """Poses of each motion, evenly over its time."""
    most: Count | None = None
    """Most sentences of a character, drawn at random; all without it."""


def sentences_for(character: Character, prior: Prior, anatomy: Anatomy | None = None) -> list[str]:
    """All actions that a prior can show of a body and that are more than a guess, each as a sentence."""
    if isinstance(prior, TrackPrior):
        chains = find_chains(anatomy or analyze(character))
        shape, formulas = shape_of(chains), formula_actions(chains)
        known = prior.vocabulary_of(shape, formulas)
        sure = [name for name in known if name in formulas or not experimental(prior, shape, name)]
        return sure or [*known]
    return [*(prior.vocabulary or ("walk",))]


def harvest_prior(
    character: Character,
    family: str,
    prior: Prior,
    config: AnimateConfig,
    harvest: HarvestConfig,
    sentences: Sequence[str] = (),
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> HarvestedPoses:
    """Poses of motions by a prior. config: of the motions. sentences: by default all that the prior can show."""
    anatomy = analyze(character)
    chains, skeleton = _require_small(anatomy)
    rig = build_rig(anatomy)
    jobs = [
        (sentence, seed)
        for sentence in _drawn(sentences or sentences_for(character, prior, anatomy), harvest.most, character.name)
        for seed in range(harvest.seeds)
    ]
    gathered = _Gathered(chains, skeleton, harvest.poses)
    for number, (sentence, seed) in enumerate(jobs):
        own = replace(config, seed=seed, foot_lock=None)
        own = replace(own, sample=replace(own.sample, seed=seed))
        try:
            problem = prepare(character, sentence, prior, own, anatomy)
            motion = StageRunner(stages_of(problem), problem.start).run()
        except GambolError as error:
            gathered.rejected[str(error).split(":")[0]] += 1
            continue
        action = problem.intent.action if problem.intent else ""
        world, fps = motion.world(rig), motion.fps
        gathered.add(world, fps, Origin(sentence, action, problem.made_by, seed, ()))
        on_progress(number + 1, len(jobs))
    return gathered.harvest(character.name, family)


def _drawn(sentences: Sequence[str], most: int | None, name: str) -> list[str]:
    """Some of the sentences, others for each character, in their order."""
    if most is None or most >= len(sentences):
        return list(sentences)
    chosen = np.random.default_rng(crc32(name.encode())).choice(len(sentences), most, replace=False)
    return [sentences[number] for number in sorted(chosen)]


def harvest_clips(character: Character, family: str, harvest: HarvestConfig) -> HarvestedPoses:
    """Poses of the clips in a character's own file, for comparison."""
    anatomy = analyze(character)
    chains, skeleton = _require_small(anatomy)
    gathered = _Gathered(chains, skeleton, harvest.poses)
    for name, clip in character.clips.items():
        intent = parse_intent(name)
        times = clip.start + np.linspace(0, clip.duration, min(max(round(clip.duration * 30), 1) + 1, FRAMES))
        world = torch.as_tensor(world_poses(character.skeleton, anatomy, clip, times)[..., :3, :]).float()
        fps = (len(times) - 1) / max(clip.duration, 1e-6)
        gathered.add(world, fps, Origin(name, intent.action if intent else "", "artist", 0, ()))
    return gathered.harvest(character.name, family)


def _require_small(anatomy: Anatomy) -> tuple[Chains, PoseSkeleton]:
    if len(anatomy.body) > MOST_JOINTS:
        raise GambolError(f"has {len(anatomy.body)} joints, more than {MOST_JOINTS}")
    chains = find_chains(anatomy)
    return chains, pose_skeleton(chains)


class _Gathered:
    """Poses that were kept, and why others were not."""

    def __init__(self, chains: Chains, skeleton: PoseSkeleton, most: int):
        self.chains, self.skeleton, self.most = chains, skeleton, most
        self.validators = Validators(skeleton)
        self.poses: list[Poses] = []
        self.origins: list[Origin] = []
        self.rejected: Counter[str] = Counter()

    def add(self, world: torch.Tensor, fps: float, origin: Origin) -> None:
        """Choose poses of a motion."""
        if not world.isfinite().all():
            self.rejected["is not finite"] += len(world)
            return
        poses = poses_of_world(self.chains, self.skeleton, world)
        kept = is_finite(poses)
        for why, wrong in self._faults(poses, fps, origin).items():
            self.rejected[why] += int((wrong & kept).sum())
            kept &= ~wrong
        frames = torch.nonzero(kept)[:, 0]
        if not len(frames):
            return
        chosen = frames[torch.linspace(0, len(frames) - 1, min(self.most, len(frames))).round().long()]
        self.poses.append(poses[chosen])
        self.origins.append(replace(origin, times=tuple(round(frame / fps, 3) for frame in chosen.tolist())))

    def _faults(self, poses: Poses, fps: float, origin: Origin) -> dict[str, torch.Tensor]:
        """Which frames are wrong, by fault."""
        found = {}
        if len(poses) > 1:
            speed = torch.diff(poses.turns, dim=0).norm(dim=-1)
            speed = torch.minimum(speed, (2 * torch.pi - speed).abs()).amax(1) * fps
            fast = speed > FASTEST * max(fps / 30, 1)
            found["jumps"] = torch.nn.functional.pad(fast, (0, 1)) & torch.nn.functional.pad(fast, (1, 0))
        if origin.made_by == "artist":
            return found
        action = ACTIONS.get(origin.action)
        if action and self.skeleton.feet.any() and not (action.airborne or action.afloat):
            lowest = body_points(self.skeleton, poses)[1][..., 1].amin(1)
            rest = body_points(self.skeleton, Poses.canonical(self.skeleton))[1][..., 1].amin()
            found["floats"] = lowest - rest > FLOATING
        return found | self.validators.faults(poses)

    def harvest(self, name: str, family: str) -> HarvestedPoses:
        count = len(self.skeleton)
        poses = joined(self.poses) if self.poses else Poses(torch.zeros(0, count, 3), torch.zeros(0))
        return HarvestedPoses(
            name, family, self.skeleton, poses, tuple(self.origins), tuple(sorted(self.rejected.items()))
        )
