"""From clips to clips that a body could do: take, track, give back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch

from gambol.character.anatomy import Anatomy, study
from gambol.character.character import Character
from gambol.errors import GambolError
from gambol.motion.draft import Draft
from gambol.motion.motion import Motion
from gambol.physics.footprints import Footprints, bones_apart, loaded_slip, measure_footprints
from gambol.physics.take import Physique, Take
from gambol.physics.track import TrackConfig, Tracked, Tracking, track

if TYPE_CHECKING:
    from gambol.physics.referee import Verdict

LOST = 0.25
"""A body whose bones are this far from where they should be, on average, does something else [height]."""
ENDURES = 10.0
"""How long a loop must go on without a fall [s]."""

Progress = Callable[[str, int, int, float | None], None]
"""Called with what is being done, how much of it is done, of how much, and the error so far [height]."""


@dataclass(frozen=True, eq=False)
class Performance:
    """One clip, as a body does it."""

    name: str
    """Of the clip it came from."""
    motion: Motion
    draft: Draft
    take: Take
    tracking: Tracking
    world: int
    before: Footprints
    after: Footprints
    strays: float
    """Mean distance of the bones from where the clip itself has them, if both go on the spot [height]."""
    slip: float
    """Mean speed along the ground of what bears weight, by weight, of a character 1 m high [cm/s]."""
    falls: float | None
    """When it falls if it is looped for ENDURES [s]; None if it stays up, or does not loop."""

    @property
    def tracked(self) -> Tracked:
        return self.tracking.tracked[self.world]

    @property
    def error(self) -> float:
        """Mean distance of the simulated bones from what they were asked to do: the clip, its feet mended [height]."""
        return self.tracked.error / self.take.physique.height

    @property
    def seam(self) -> float:
        """Largest distance of a bone between the end of a round and its start, before that was closed [height]."""
        return self.tracked.seam / self.take.physique.height

    def judged(self) -> Verdict:
        """What MuJoCo makes of the same control."""
        from gambol.physics.referee import judge

        control, states = self.tracking.alone(self.world)
        return judge(self.tracking.simulation, *control, states, height=self.take.physique.height)


def perform(
    character: Character | Physique,
    clips: Sequence[str],
    config: TrackConfig | None = None,
    *,
    anatomy: Anatomy | None = None,
    fps: float | None = None,
    mend: bool = True,
    on_progress: Progress = lambda what, done, total, error: None,
) -> list[Performance]:
    """The nearest motions to a character's clips that its body could do on the ground.

    fps: frames a second of the result; if None, those at which it was simulated. mend: first make feet that bear stand
    still, so that the body is not asked to slide. Clips that can be cut into frames of the same length are simulated
    side by side. A physique serves for several calls.
    """
    physique = character if isinstance(character, Physique) else Physique(character, anatomy or study(character))
    takes = []
    for name in clips:
        takes.append(physique.take(name, mend=mend, on_progress=partial(_mending, on_progress, name)))
    found: dict[int, Performance] = {}
    for together in _of_one_rate(takes):
        references = [takes[number].reference for number in together]
        ragdoll = physique.ragdoll.only_points(physique.near_ground(*references))
        if config and not config.solver.implicit:
            ragdoll = ragdoll.sturdy()
        what = ", ".join(clips[number] for number in together)
        tracking = track(ragdoll, references, config, partial(_following, on_progress, what, physique.height))
        for world, number in enumerate(together):
            found[number] = _performance(takes[number], clips[number], tracking, world, fps)
    return [found[number] for number in range(len(clips))]


def _mending(on_progress: Progress, name: str, done: int, total: int) -> None:
    on_progress(name, done, total, None)


def _following(on_progress: Progress, what: str, height: float, done: int, total: int, error: float) -> None:
    on_progress(what, done, total, error / height)


def _of_one_rate(takes: Sequence[Take]) -> list[list[int]]:
    groups: dict[float, list[int]] = {}
    for number, take in enumerate(takes):
        groups.setdefault(round(take.reference.fps, 3), []).append(number)
    return list(groups.values())


def _performance(take: Take, name: str, tracking: Tracking, world: int, fps: float | None) -> Performance:
    physique, tracked = take.physique, tracking.tracked[world]
    if not (torch.isfinite(tracked.x).all() and tracked.error < LOST * physique.height):
        lost = f"end {tracked.error / physique.height:.0%} of the height off" if tracked.error < np.inf else "fly apart"
        raise GambolError(
            f"the body could not follow '{name}': its bones {lost}; "
            "more --iterations may help, or the clip asks for what no body can do without a push"
        )
    draft = physique.polished(take.performed(tracked), tracking.simulation.ragdoll, tracked.loads)
    slip = loaded_slip(physique, tracking.simulation.ragdoll, draft, tracked.loads)
    strays = bones_apart(physique, draft, take.raw)
    if fps:
        steps = max(round(draft.seconds * fps), 2)
        draft = draft.resampled(steps if draft.loops else steps + 1)
    motion = take.clip(draft, f"{name} physics", draft.rate)
    before = measure_footprints(physique, take.seen)
    falls = tracking.endures(world, ENDURES) if tracked.reference.loops else None
    after = measure_footprints(physique, draft)
    return Performance(name, motion, draft, take, tracking, world, before, after, strays, slip, falls)
