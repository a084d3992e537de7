"""What a user can ask of a distillation, and the presets."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from gambol.distillation.fit import FitConfig
from gambol.distillation.footing import FootingConfig
from gambol.distillation.sampled import SampleConfig
from gambol.distillation.score_distillation import ScoreConfig
from gambol.errors import GambolError
from gambol.priors.prior import VideoPrior

Preset = Literal["draft", "standard", "paper"]
TC4D_NEGATIVE = "low motion, static statue, not moving, no motion"
"""What videos should not be like, for priors of an open vocabulary (TC4D, Bahmani et al. 2024)."""


@dataclass(frozen=True)
class DistillConfig:
    """Everything that decides what comes out, but for character, sentence and prior."""

    method: Literal["sample", "score"] = "sample"
    """Sample videos and fit the joints to them, or distill the prior's score (AKD)."""
    levels: tuple[float, ...] = (1.0,)
    """Of the method sample: how much noise is put on the current motion in each round; 1 leaves nothing of it."""
    sample: SampleConfig = field(default_factory=SampleConfig)
    fit: FitConfig = field(default_factory=FitConfig)
    score: ScoreConfig = field(default_factory=ScoreConfig)
    footing: FootingConfig | None = field(default_factory=FootingConfig)
    """None leaves feet as the prior wants them."""
    negative: str = ""
    """What the video should not be like."""
    glide: float = 0.25
    """The speed at which the motion begins where the ground is seen, as a Froude number; that of a walk."""
    fps: float = 30.0
    """Frames a second of the clip."""
    seconds: float | None = None
    """Length of the clip [s]; if not given, one round, one deed, or what the prior shows at once."""
    loop: bool | None = None
    """Whether the end leads back to the start; if not given, where the action is cyclic."""
    init: str | None = None
    """A clip of the character to begin with, by its name."""
    strength: float = 0.7
    """How far to leave that clip: the noise put on it, from 0 to 1."""
    only: tuple[int, int] | None = None
    """Frames from which and up to which that clip is made anew; the others stay."""
    pins: tuple[tuple[int, str], ...] = ()
    """(frame, pose): 'rest', the name of a clip (its first frame), or 'clip@1.5' (at that second)."""
    keep: tuple[str, ...] = ()
    """Joints that do not move, or move as in `init`, by their names."""
    seed: int = 0
    """Of everything that is random; it becomes that of `sample` and `score`."""

    def __post_init__(self):
        for part in ("sample", "score"):
            object.__setattr__(self, part, replace(getattr(self, part), seed=self.seed))
        for name, value, least, most in (
            ("fps", self.fps, 1, 240),
            ("strength", self.strength, 0.01, 1),
            ("seconds", self.seconds, 0.1, 600),
            ("seed", self.seed, 0, 1_000_000),
        ):
            if value is not None and not least <= value <= most:
                raise GambolError(f"{name} must be from {least} to {most}, got {value:g}")
        if self.only is not None and not (self.init and 0 <= self.only[0] < self.only[1]):
            rule = "needs the clip to redo (init)" if not self.init else "goes from a frame to a later one"
            raise GambolError(f"only {self.only[0]}:{self.only[1]} {rule}")


def preset_for(preset: Preset, prior: VideoPrior, seed: int = 0) -> DistillConfig:
    """The settings of a preset for a prior."""
    pocket = prior.look == "parts"
    if preset == "paper":
        return DistillConfig(method="score", footing=None, seed=seed)
    quick = preset == "draft"
    if pocket:
        views = 4 if quick else 6
        sample = SampleConfig(views=views, seed=seed)
        usual = FitConfig()
        fit = replace(usual, steps=60, rate=0.05, views=views) if quick else replace(usual, views=views)
        return DistillConfig(sample=sample, fit=fit, seed=seed)
    sample = SampleConfig(views=1, steps=20 if quick else 30, guidance=6.0)
    levels = (0.9,) if quick else (0.95, 0.85, 0.7)
    fit = FitConfig(steps=150 if quick else 300, views=1, rate=0.05, places=0.0)
    return DistillConfig(levels=levels, sample=sample, fit=fit, negative=TC4D_NEGATIVE, seed=seed)
