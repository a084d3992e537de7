"""Sampling of poses of one rig: plausible ones, near a pose, of some joints only; what is invalid is drawn again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from gambol.poses.measures import distances, places
from gambol.poses.model import Numbers, RigPoses, moved
from gambol.poses.pose_skeleton import KINDS, PoseSkeleton
from gambol.poses.poses import Poses, joined
from gambol.poses.validators import Validators

GUIDED = 0.5
"""Level below which validators guide the estimate: before it is a blur of poses."""
DESCENT = 0.3
"""Length of their step down the gradient [deviations of the poses]."""
AT_ONCE = 16
"""Poses that are drawn at once."""
HOVERING = 0.25
"""Who is nearer to the ground stands on it [leg lengths]: heights are estimates, too, and few poses are amid a leap. Of
12 rigs of the training families 46 % of the samples were within reach of artists' poses before, 51 % since, also at 0.1
and 0.5; artists' poses within reach of samples were 71 %, and 71, 70 and 67 % at 0.1, 0.25 and 0.5."""
LYING, LEVEL = 0.45, 0.5
"""Who is less tall, as a share of the height at rest, or whose trunk leans by more than 60 degrees (cosine), lies, and
does so on the ground. Of artists' dying poses of the training families a quarter are less tall, of leaping ones that
hover 2 %; 90 % of these lean by less than 10 degrees."""
TRIES = 3
"""Times that poses are drawn, the last times only as many as were invalid."""
HALF_IS_FAST = torch.cpu._is_avx512_bf16_supported()
"""Whether the processor multiplies in bfloat16, which is three times as fast; others would emulate it."""


@dataclass(frozen=True)
class SamplingConfig:
    """How poses are sampled."""

    steps: int = 20
    guidance: float = 2.0
    """Classifier-free guidance towards an action, if one is given."""
    validate: bool = True
    """Guide by validators, and draw invalid poses again."""
    spare: float = 0.5
    """Share of poses that are drawn in addition; of all, those are kept that differ most. Of 16 rigs of the training
    families, joints are .28 leg lengths apart in two samples without, .35 with 0.5 and .42 with 1, in artists' poses
    .33. True poses have a sample nearby more often (48, 60 and 71 %), samples a true pose less often (54, 49, 46 %)."""
    strength: float = 0.6
    """How far from a given pose poses are drawn: the noise level from which they are sampled."""


def sample_poses(
    rig: RigPoses,
    count: int,
    seed: int,
    config: SamplingConfig | None = None,
    *,
    action: int = 0,
    near: Poses | None = None,
    free: Bool[Tensor, " joints"] | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Poses:
    """Plausible poses. near: one pose, near which all are. free: joints that move; the others stay as in `near`.
    on_progress: called with poses done and in all."""
    config = config or SamplingConfig()
    validators = Validators(rig.skeleton)
    generator = torch.Generator().manual_seed(seed)
    found: list[Poses] = []
    valid, total = 0, count + (int(config.spare * count) if near is None else 0)
    for _ in range(TRIES if config.validate else 1):
        drawn = []
        for start in range(0, total - valid, AT_ONCE):
            some = min(AT_ONCE, total - valid - start)
            with torch.autocast("cpu", torch.bfloat16, enabled=HALF_IS_FAST):
                made = _drawn(rig, some, generator, config, validators, action, near, free)
            drawn.append(put_down(made, validators) if near is None else made)
            on_progress(valid + start + some, total)
        every = joined(drawn)
        kept = validators.valid(every) if config.validate else torch.ones(len(every), dtype=torch.bool)
        found.append(every[kept])
        valid += int(kept.sum())
        if valid == total:
            break
    best = joined([*found, every[~kept]])[: max(valid, count)]  # rather a few doubtful ones than too few
    return best[most_different(rig.skeleton, best, count)]


def most_different(skeleton: PoseSkeleton, poses: Poses, count: int) -> list[int]:
    """So many poses, each of which is as far from those before it as any: the first, the one farthest from it, and so
    on (Gonzalez 1985); in their order."""
    points = places(skeleton, poses)
    apart = distances(points, points)
    chosen, near = [0], apart[0]
    while len(chosen) < count:
        chosen.append(int(np.where(np.isin(np.arange(len(poses)), chosen), -1.0, near).argmax()))
        near = np.minimum(near, apart[chosen[-1]])
    return sorted(chosen)


def put_down(poses: Poses, validators: Validators) -> Poses:
    """Poses of a body with feet, on the ground if they hover or sink a little, or lie; who has wings may fly."""
    skeleton = validators.skeleton
    if not bool(skeleton.feet.any()):
        return poses
    gap = validators.gap(poses)
    grounded = gap.abs() < HOVERING
    if not bool((skeleton.kinds == KINDS.index("wing")).any()):
        grounded |= (gap > 0) & ((validators.stature(poses) < LYING) | (validators.upright(poses) < LEVEL))
    return Poses(poses.turns, poses.heights - torch.where(grounded, gap, 0.0))


def _drawn(
    rig: RigPoses,
    count: int,
    generator: torch.Generator,
    config: SamplingConfig,
    validators: Validators,
    action: int,
    near: Poses | None,
    free: Bool[Tensor, " joints"] | None,
) -> Poses:
    level, given = 1.0, None
    noise = noisy = rig.noise(count, generator)
    if near is not None:
        given = rig.encode(near).expand(count, -1, -1)
        level = 1.0 if free is not None else config.strength
        noisy = (1 - level) * given + level * noise
    for here, there in pairwise(level * (1 - index / config.steps) for index in range(config.steps + 1)):
        clean = rig.clean(noisy, here, action, config.guidance)
        if config.validate and here <= GUIDED:
            clean = _descended(rig, validators, clean)
        if given is not None and free is not None:
            clean = _held(clean, given, free)
        noisy = moved(noisy, clean, here, there)
    return rig.decode(noisy)


def _held(clean: Numbers, given: Numbers, free: Bool[Tensor, " joints"]) -> Numbers:
    """The estimate with all joints but the free ones as given."""
    mask = torch.nn.functional.pad(free, (1, 0), value=False)[:, None]
    return torch.where(mask, clean, given)


def _descended(rig: RigPoses, validators: Validators, clean: Numbers) -> Numbers:
    """One step down the energy of the validators, for those poses that have any."""
    with torch.enable_grad():
        numbers = clean.detach().requires_grad_(True)
        energy = validators.energy(rig.decode(numbers))
        if not energy.requires_grad:  # neither skin nor feet nor knees: nothing can be wrong
            return clean
        (gradient,) = torch.autograd.grad(energy.sum(), numbers)
    size = gradient.flatten(1).norm(dim=1)[:, None, None]
    faulty = (energy.detach() > 1e-4)[:, None, None]
    step = DESCENT * gradient / size.clamp(min=1e-9) * energy.detach().sqrt().clamp(max=1)[:, None, None]
    return torch.where(faulty, clean - step, clean)
