"""What is to be animated: the problem that the stages of `gambol.animate` solve."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float

from gambol.actions import ACTIONS, Action
from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.character.lookup import find_clip
from gambol.character.rig import Rig
from gambol.distillation.config import AnimateConfig
from gambol.distillation.guide import Guide, guide_keypoints
from gambol.distillation.overlay import overlaid
from gambol.distillation.timing import Timing
from gambol.distillation.track_layout import FORMULA_LEVEL
from gambol.language import Intent
from gambol.motion.chains import Chains
from gambol.motion.constraints import Constraints
from gambol.motion.legs import leg_length
from gambol.motion.props import with_props_above_ground
from gambol.motion.rig_motion import RigMotion, clip_of, rig_motion_of
from gambol.motion.styles import joined
from gambol.poses.plausibility import ImplausibilityLoss
from gambol.priors.prior import Prior, Prompt
from gambol.priors.tracks.prior import TrackPrior
from gambol.priors.views import ViewRenderer

REELING_CYCLES = 2
"""Cycles of a gait in which who reels does not take the same step twice."""


@dataclass(frozen=True)
class Problem:
    """Everything that does not change while a character is animated."""

    character: Character
    anatomy: Anatomy
    rig: Rig
    prior: Prior
    prompt: Prompt
    negative: Prompt | None
    intent: Intent | None
    """What is understood of the sentence without the prior."""
    config: AnimateConfig
    start: RigMotion
    constraints: Constraints
    sees: ViewRenderer | Chains
    """What the prior sees of the character: views of it, or the chains of its body."""
    timing: Timing
    notes: tuple[str, ...] = ()
    """Caveats to show the user."""
    meanwhile: tuple[RigMotion, list[int]] | None = None
    """What some joints do at the same time, and these joints."""
    parts: tuple[Problem, ...] = ()
    """Problems of actions that follow each other; this one is then about their joined motion."""
    displacement: Float[np.ndarray, 3] | None = None
    """Root displacement that is removed before the prior sees the motion and restored on export [file units]; None if
    the prior's cameras follow the character."""
    implausibility: ImplausibilityLoss | None = None
    """The loss of implausible poses; None if it has no weight."""

    @property
    def made_by(self) -> str:
        """What makes the motion, for the user: 'a formula', 'prior tracks', or both where actions follow each other."""
        if self.parts:
            return " and ".join(dict.fromkeys(each.made_by for each in self.parts))
        return "a formula" if self.level == 0 else f"prior {self.prior.name}"

    @property
    def level(self) -> float:
        """Noise level at which the prior tracks samples; 0 if a motion by formula is shown as it is."""
        if not isinstance(self.prior, TrackPrior) or self.config.starts_noisy:
            return self.config.strength if self.config.starts_noisy else 1.0
        if self.start.contacts is None:  # the rest pose, and not a motion by formula
            return 1.0
        return FORMULA_LEVEL if self.constraints.given else 0.0

    @property
    def guide(self) -> Guide | None:
        """What the prior is shown of the guide; None if there is none, or if sampling only starts from it."""
        given = self.config.guide
        if given is None or given.role == "start":
            return None
        return Guide(given, self.start, self.rig, guide_keypoints(self.character, self.anatomy, given))

    @property
    def renderer(self) -> ViewRenderer:
        """The renderer of a prior of videos."""
        assert not isinstance(self.sees, Chains)
        return self.sees

    @property
    def length(self) -> float:
        """Length of a leg [file units]."""
        return leg_length(self.anatomy) if isinstance(self.sees, Chains) else self.sees.length

    @property
    def title(self) -> str:
        """A name for the clip."""
        if self.parts:
            return " then ".join(each.title for each in self.parts)
        return self.intent.asked if self.intent else " ".join(self.prompt.text.split()[:6])

    @property
    def warnings(self) -> tuple[str, ...]:
        """Everything that the user should know before the work starts."""
        followers = [note for each in self.parts[1:] for note in (each.prompt.note, *each.notes)]
        found = (*self.character.warnings, self.prompt.note, *self.notes, *followers)
        return tuple(dict.fromkeys(warning for warning in found if warning))

    @property
    def seconds(self) -> float:
        """Length of the clip, without transitions [s]."""
        if self.parts:
            return sum(each.seconds for each in self.parts)
        return self.timing.cut or self.timing.cycles * self.start.seconds + self.timing.hold

    @property
    def loops(self) -> bool:
        """Whether the clip loops."""
        return self.start.loops and self.timing.cut is None and not self.parts

    @property
    def action(self) -> Action | None:
        """What the character does; None if only the prior understands the sentence."""
        return ACTIONS[self.intent.action] if self.intent else None

    @property
    def varied(self) -> int:
        """As how many cycles a loop is solved: those of who reels differ."""
        if not (reels(self.intent) and self.start.loops and isinstance(self.sees, Chains)):
            return 1
        if self.constraints.given or self.config.method == "score":
            return 1
        return max(count for count in range(1, REELING_CYCLES + 1) if self.timing.cycles % count == 0)

    def frames(self, seconds: float, loops: bool) -> int:
        """Return the number of frames of a clip; one more for the last pose if it does not loop."""
        return max(round(seconds * self.config.fps), 2) + (0 if loops else 1)

    def clip(self, motion: RigMotion, name: str) -> Clip:
        """Return the result of the stages as a clip for the character's file; a loop ends with its first pose."""
        return clip_of(self.character, self.rig, self.whole(motion), name, self.config.fps)

    def whole(self, motion: RigMotion) -> RigMotion:
        """Return the result of the stages at the frame rate of the clip: with its root displacement, all cycles, the
        frames that were not to change, cut off where a clip that is not to loop ends, or with the last pose held."""
        if self.displacement is not None and not self.config.foot_lock:  # the foot lock has restored it already
            motion = motion.with_displacement(torch.as_tensor(self.displacement).float())
        whole = motion.repeated(self.timing.cycles // self.varied, self.rig) if motion.loops else motion
        whole = whole.resampled(self.frames(whole.seconds, whole.loops))
        whole = overlaid(whole, *self.meanwhile) if self.meanwhile else whole
        if isinstance(self.sees, Chains) and not (self.constraints.given or self.parts):
            whole = with_props_above_ground(self.anatomy, self.rig, whole)
        whole = whole if self.constraints.segment is None else self._outside_as_it_was(whole)
        if self.timing.cut is not None:
            cut = whole.chosen(torch.arange(round(self.timing.cut * self.config.fps) + 1))
            return replace(cut, seconds=self.timing.cut, loops=False, travel=torch.zeros(3), turn=0.0)
        return whole.held(self.timing.hold) if self.timing.hold else whole

    def _outside_as_it_was(self, whole: RigMotion) -> RigMotion:
        """Take frames outside the segment that was redone straight from the clip."""
        clip = find_clip(self.character, self.config.init or "")
        times = clip.start + clip.duration * whole.along.double().numpy()
        was = rig_motion_of(self.character, self.rig, clip, times, whole.loops)
        free = self.constraints.freedom(was)
        return replace(
            whole,
            angles=was.angles + free[:, None, None] * (whole.angles - was.angles),
            root_translation=was.root_translation + free[:, None] * (whole.root_translation - was.root_translation),
            root_angles=was.root_angles + free[:, None] * (whole.root_angles - was.root_angles),
        )


def reels(intent: Intent | None) -> bool:
    """Whether steps are to differ."""
    if intent is None or not walks(ACTIONS[intent.action]):
        return False
    return joined(intent.manner.styles).reel > 0


def walks(action: Action) -> bool:
    """Whether legs carry the body along."""
    return action.travels and action.on_legs
