"""Locking: feet that bear weight made to stand still, by changing legs and path as little as possible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.errors import GambolError
from gambol.finishing.retrack import retracked, world_of
from gambol.finishing.timing import from_zero
from gambol.motion.motion import Motion

if TYPE_CHECKING:
    from gambol.motion.draft import Draft
    from gambol.physics.take import Take

Array = np.ndarray

SHORTEST, LONGEST = 0.01, 30.0
"""Of a clip [s]."""
STANDS = 0.5
"""Feet that slide less on average, at a height of 1 m, stand already [cm/s]."""
SAME = 2e-5
"""A joint whose turn, or place in heights, changes less keeps its keys; rounding of float32 is 3e-6."""


@dataclass(frozen=True)
class Locked:
    """A clip, and how much its feet slide."""

    motion: Motion
    before: float
    """Mean speed over the ground of feet that bear, of a character 1 m high (`foot_slide`) [cm/s]."""
    after: float

    @property
    def changed(self) -> bool:
        return self.after < self.before


def lock_feet(
    character: Character,
    anatomy: Anatomy,
    motion: Motion,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Locked:
    """The clip with feet that stand while they bear weight.

    It is searched for from the clip itself, see `gambol.distillation.footing`: speed, path and legs change together,
    until nothing slides or sinks. A gait in place is locked to the ground that passes below it, and stays in place.
    What does not change keeps its keys, and so does all that is no joint of the body. The clip is given back as it was
    if its feet stand already, or if they cannot be made to. Of 11 artists' walks and runs, 27 % of the slide was left.
    """
    motion = from_zero(motion)
    require_feet(character, anatomy)
    if not SHORTEST < motion.duration <= LONGEST:
        short = motion.duration <= LONGEST
        lasts = "is a single pose" if short else f"lasts {motion.duration:.1f} s; trim it"
        raise GambolError(f"feet can be locked in clips of up to {LONGEST:.0f} s, and '{motion.name}' {lasts}")
    before = _slide(character, anatomy, motion)
    if before < STANDS:
        return Locked(motion, before, before)
    from gambol.physics.take import Physique

    physique = Physique(replace(character, clips={motion.name: motion}), anatomy)
    take = physique.take(motion.name, on_progress=on_progress)
    found = _with_changes(take)
    after = _slide(character, anatomy, found)
    return Locked(found, before, after) if after < before else Locked(motion, before, before)


def _slide(character: Character, anatomy: Anatomy, motion: Motion) -> float:
    """[cm/s]; 0 of what never touches the ground."""
    from gambol.quality.ground import foot_slide
    from gambol.quality.specimen import examine

    slide = foot_slide(examine(character, motion, anatomy))
    return slide.mean if slide else 0.0


def require_feet(character: Character, anatomy: Anatomy) -> None:
    """GambolError if there are none to lock."""
    if not (anatomy.legs and anatomy.stands):
        raise GambolError(f"'{character.name}' has no legs that stand on the ground: there are no feet to lock")


def _with_changes(take: Take) -> Motion:
    """The clip with what mending changed: every joint is moved as its draft was, from where the clip itself has it, so
    bones keep what stretches them."""
    skeleton, rig, motion = take.physique.character.skeleton, take.physique.rig, take.motion
    before, after = take.raw, take.mended.on_the_spot() if take.in_place else take.mended
    T_before, T_after = (_world(take, draft) for draft in (before, after))
    times = motion.start + motion.duration * np.linspace(0.0, 1.0, len(T_before))
    T_change = np.tile(np.eye(4), (*T_before.shape[:2], 1, 1))
    height = take.physique.anatomy.height
    for joint, parent in enumerate(rig.parents):
        above = T_change[:, parent] if parent >= 0 else np.eye(4)
        T_change[:, joint] = above
        if (np.abs(np.linalg.det(T_before[:, joint, :3, :3])) > 1e-30).all():
            found = T_after[:, joint] @ np.linalg.inv(T_before[:, joint])
            own = np.linalg.inv(above) @ found
            at = T_before[:, joint, :3, 3]
            shift = np.abs((own[:, :3, :3] @ at[..., None])[..., 0] + own[:, :3, 3] - at).max() / height
            if max(shift, np.abs(own[:, :3, :3] - np.eye(3)).max()) > SAME:
                T_change[:, joint] = _rigid(found, at, T_after[:, joint, :3, 3])
    T_world = world_of(skeleton, motion, times)
    wanted = {int(node): T_change[:, joint] @ T_world[:, node] for joint, node in enumerate(rig.nodes)}
    return retracked(skeleton, motion, times, wanted)


def _rigid(T: Float[Array, "frames 4 4"], here: Float[Array, "frames 3"], there: Float[Array, "frames 3"]) -> Array:
    """The nearest rotation, which takes points from here to there."""
    u, _, vt = np.linalg.svd(T[:, :3, :3])
    u[..., -1] *= np.where(np.linalg.det(u @ vt) < 0, -1.0, 1.0)[:, None]
    found = T.copy()
    found[:, :3, :3] = u @ vt
    found[:, :3, 3] = there - (found[:, :3, :3] @ here[..., None])[..., 0]
    return found


def _world(take: Take, draft: Draft) -> Float[Array, "frames joints 4 4"]:
    """T_world_joint in every frame; of what loops also in the first of the next round."""
    rig, count = take.physique.rig, len(draft)
    poses = (draft.repeated(2, rig).world(rig)[: count + 1] if draft.loops else draft.world(rig)).double().numpy()
    found = np.zeros((*poses.shape[:2], 4, 4))
    found[..., :3, :], found[..., 3, 3] = poses, 1.0
    return found
