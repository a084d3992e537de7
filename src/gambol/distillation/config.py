"""Settings of `gambol.animate`, and the presets."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from gambol.distillation.fit import VideoFitConfig
from gambol.distillation.sample_and_fit import SampleConfig
from gambol.distillation.score_distillation import ScoreConfig
from gambol.errors import GambolError
from gambol.motion.foot_lock import FootLockConfig
from gambol.priors.prior import ControlKind, GuideRole, Prior
from gambol.ranges import CONTROL_SCALE, FPS, MOST_FRAMES, SECONDS, SEED, STRENGTH, Range, check_frames, check_ranges

Preset = Literal["draft", "standard", "paper"]
FrameIndex = Annotated[int, Range(0, MOST_FRAMES)]


@dataclass(frozen=True)
class GuideConfig:
    """A motion of the same character that guides the prior."""

    motion: str
    """Name of a clip of the character, or a file of the same skeleton: FILE, or FILE:CLIP if it holds several."""
    role: GuideRole = "start"
    """How it guides: as a noisy start, by its first frame, or as a control."""
    scale: Annotated[float, CONTROL_SCALE] = 1.0
    """Factor on what the control adds to the network; at 0 there is none."""
    control_kind: ControlKind = "grey"
    """What a control shows of the guide: its pictures in shades of grey, how near everything is, or the pose of a
    person."""

    def __post_init__(self):
        check_ranges(self)


@dataclass(frozen=True)
class AnimateConfig:
    """Everything that decides the result, except for character, sentence and prior."""

    method: Literal["sample", "score"] = "sample"
    """Sample videos and fit the joints to them, or distill the prior's score (AKD)."""
    levels: tuple[Annotated[float, STRENGTH], ...] = (1.0,)
    """Noise level at which videos of the current motion are resampled in each stage; at 1 nothing of it is left."""
    sample: SampleConfig = field(default_factory=SampleConfig)
    fit: VideoFitConfig = field(default_factory=VideoFitConfig)
    score: ScoreConfig = field(default_factory=ScoreConfig)
    foot_lock: FootLockConfig | None = field(default_factory=FootLockConfig)
    """Settings of the foot-lock stage; None leaves it out."""
    negative: str = ""
    """Negative prompt."""
    glide: Annotated[float, Range(0, 10)] = 0.25
    """Froude number at which the initial rest pose glides forward, for priors that see the ground; 0.25 is a walk."""
    fps: Annotated[float, FPS] = 30.0
    """Frame rate of the clip [frames/s]."""
    seconds: Annotated[float, SECONDS] | None = None
    """Length of the clip [s]; by default one cycle, the usual time of the action, or that of the prior's videos."""
    loop: bool | None = None
    """Whether the clip loops; by default if the action is cyclic."""
    init: str | None = None
    """Name of a clip of the character to start from."""
    guide: GuideConfig | None = None
    """A motion that guides the prior. As a start it is what `init` is, and may also come from a file."""
    strength: Annotated[float, STRENGTH] = 0.7
    """How much the motion to start from may change: the noise level of the first stage."""
    frames: tuple[FrameIndex, FrameIndex] | None = None
    """First and last frame of the segment of that clip that is redone; the others stay."""
    pins: tuple[tuple[FrameIndex, str], ...] = ()
    """(frame, pose), where a pose is 'rest', the name of a clip (its first frame), or 'clip@1.5' (at 1.5 s)."""
    freeze: tuple[str, ...] = ()
    """Names of joints that do not move, or move as in the motion to start from."""
    pose_weights: str | None = None
    """File with the pose model of the losses `fit.plausible` and `score.plausible`; by default that of gambol."""
    seed: Annotated[int, SEED] = 0
    """Seed of all random numbers, also of `sample` and `score`."""

    def __post_init__(self):
        for part in ("sample", "score"):
            object.__setattr__(self, part, replace(getattr(self, part), seed=self.seed))
        check_ranges(self)
        check_frames(self.seconds or 0.0, self.fps)
        if self.init and self.guide:
            raise GambolError("init and guide both name a motion to begin with; leave one of them out")
        if not self.levels:
            raise GambolError("levels must hold at least one noise level")
        if self.frames is not None and not (self.init and 0 <= self.frames[0] < self.frames[1]):
            rule = "needs the clip to redo (init)" if not self.init else "goes from a frame to a later one"
            raise GambolError(f"frames {self.frames[0]}:{self.frames[1]} {rule}")

    @property
    def plausible(self) -> float:
        """Weight of the loss of implausible poses."""
        return self.score.plausible if self.method == "score" else self.fit.plausible

    @property
    def given(self) -> str | None:
        """The motion that the first stage begins with, a clip or a guide; None if it is chosen by the action."""
        if self.guide is None:
            return self.init
        return None if self.guide.role == "first-frame" else self.guide.motion

    @property
    def starts_noisy(self) -> bool:
        """Whether that motion changes by as much as `strength` says."""
        return bool(self.init) or (self.guide is not None and self.guide.role == "start")


def preset_for(preset: Preset, prior: Prior | type[Prior], seed: int = 0) -> AnimateConfig:
    """Return the settings of a preset for a prior."""
    if preset == "paper":
        return AnimateConfig(method="score", foot_lock=None, seed=seed)
    usual = prior.presets[preset]
    return AnimateConfig(
        levels=usual.levels,
        sample=SampleConfig(usual.views, usual.steps, usual.guidance, usual.candidates),
        fit=VideoFitConfig(steps=usual.fit_steps, views=usual.views, lr=usual.fit_lr),
        negative=usual.negative,
        seed=seed,
    )


def steps_of(config: AnimateConfig, prior: str, actions: int = 1) -> tuple[int, ...]:
    """Return the number of steps of each stage that `animate.stages_of` makes. prior: its name. actions: how many
    follow each other; the last stage solves all but the first."""
    if config.method == "score":
        stages = [config.score.steps]
    elif prior == "tracks":
        stages = [config.sample.steps]
    else:
        stages = [config.sample.steps + config.fit.steps for _ in config.levels]
    alone = (*stages, config.foot_lock.steps) if config.foot_lock else tuple(stages)
    return alone if actions == 1 else (*alone, (actions - 1) * sum(alone))
