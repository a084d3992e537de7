"""The interface of video priors: the clean video, estimated from a noisy one and a sentence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from jaxtyping import Bool, Float
from torch import Tensor

from gambol.errors import GambolError
from gambol.priors.schedule import Latents, Level, Schedule

if TYPE_CHECKING:
    from gambol.character.anatomy import Anatomy
    from gambol.character.character import Character
    from gambol.character.clip import Clip
    from gambol.character.rig import Rig
    from gambol.motion.contacts import Contacts
    from gambol.motion.rig_motion import RigMotion
    from gambol.priors.views import ClipVideos, ViewRenderer

ReferenceImage = Literal["none", "rest", "first"]
"""Which picture, taken by the same camera, a prior wants to see: none, the character at rest, or the first frame."""

ControlKind = Literal["grey", "depth", "pose"]
"""What a control shows of a guide: its pictures in shades of grey, how near everything is, or the pose of a person."""
GuideRole = Literal["start", "first-frame", "control"]
"""How a motion guides a prior: sampling starts from it with noise on it, its first frame is given as a picture, or all
of it is given to a control branch of the network."""


@dataclass(frozen=True, eq=False)
class Control:
    """What a control branch sees beside the noisy latents and the sentence."""

    states: Float[Tensor, "batch channels frames height width"]
    scale: float = 1.0
    """Factor on what the branch adds to the network; at 0 it is as if there were none."""

    def repeated(self, count: int) -> Control:
        """The same for a batch that is repeated as a whole."""
        return replace(self, states=self.states.repeat(count, 1, 1, 1, 1))

    def chosen(self, members: Bool[Tensor, " batch"]) -> Control:
        """The same for some members of the batch."""
        return replace(self, states=self.states[members.to(self.states.device)])


@dataclass(frozen=True, eq=False)
class Prompt:
    """A sentence as a prior understands it."""

    text: str
    embedding: Tensor
    """Whatever the prior conditions on, without a batch axis."""
    note: str = ""
    """What of the sentence the prior leaves out, for the user to know."""


@dataclass(frozen=True)
class VideoFormat:
    """The videos a prior takes. Nothing is rounded: what does not fit is an error that names what would."""

    frames: tuple[int, ...]
    """Counts it accepts, the one it was trained on first."""
    sizes: tuple[tuple[int, int], ...]
    """(height, width) it was trained on, the usual one first [pixels]."""
    fps: float
    """Frames a second it was trained on; 0 if a video is one whole cycle or action, of any duration."""
    multiple: int = 0
    """Other sizes work too if both sides are multiples of this; 0: no others do."""

    @property
    def one_cycle(self) -> bool:
        """Whether a video is one whole cycle or action instead of a number of seconds."""
        return self.fps == 0

    def check(self, frames: int, height: int, width: int) -> None:
        """Refuse what the prior cannot take."""
        if frames not in self.frames:
            nearest = sorted(sorted(self.frames, key=lambda count: abs(count - frames))[:2])
            hint = f"; use {_listed(nearest)}" if len(self.frames) > 2 else ""
            raise GambolError(f"a video for this prior has {_listed(self.frames)} frames, not {frames}{hint}")
        fits = self.multiple and min(height, width) > 0 and height % self.multiple == width % self.multiple == 0
        if (height, width) not in self.sizes and not fits:
            known = _listed([f"{wide} x {high}" for high, wide in self.sizes])
            others = f", or any with sides that are multiples of {self.multiple}" if self.multiple else ""
            raise GambolError(
                f"a video for this prior is {known} pixels (width x height){others}, not {width} x {height}"
            )


def _listed(values: Sequence) -> str:
    """'1, 5, 9 or 13'; long lists are cut in the middle."""
    texts = [str(value) for value in values]
    if len(texts) > 8:
        texts = [*texts[:5], "...", texts[-1]]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"


@dataclass(frozen=True)
class SamplingPreset:
    """How `gambol animate` samples a prior and fits a motion to the samples by default."""

    views: int
    """Number of cameras."""
    steps: int
    """Denoising steps."""
    fit_steps: int
    """Optimisation steps of each fit."""
    fit_lr: float
    """Learning rate of the fit [rad]."""
    guidance: float = 1.0
    levels: tuple[float, ...] = (1.0,)
    """Noise level at which each repetition of sampling and fitting starts."""
    negative: str = ""
    """Negative prompt."""
    candidates: int = 1
    """Motions that are sampled at once, of which the best one is kept."""


TC4D_NEGATIVE = "low motion, static statue, not moving, no motion"
"""Negative prompt for priors with an open vocabulary (TC4D, Bahmani et al. 2024)."""
VIDEO_PRESETS: Mapping[str, SamplingPreset] = {
    "draft": SamplingPreset(1, 20, 150, 0.05, guidance=6.0, levels=(0.9,), negative=TC4D_NEGATIVE),
    "standard": SamplingPreset(1, 30, 300, 0.05, guidance=6.0, levels=(0.95, 0.85, 0.7), negative=TC4D_NEGATIVE),
}
"""Sampling presets of large video models, whose samples of several views would not agree."""


class Prior(ABC):
    """A diffusion model of motions of characters, whatever it sees of them: videos (`VideoPrior`), or tracks of their
    parts (`priors.tracks`)."""

    name: str
    vocabulary: tuple[str, ...] | None = None
    """Names of the actions it was trained on; None if it takes any sentence."""
    presets: Mapping[str, SamplingPreset]
    """Sampling presets by name: "draft" and "standard"."""
    guides: tuple[GuideRole, ...] = ("start",)
    """How a motion can guide it."""

    @abstractmethod
    def embed(self, text: str) -> Prompt:
        """A sentence as the prior understands it; the same sentence costs nothing the second time."""

    def free_text_encoder(self) -> None:
        """Give back the memory that only `embed` needs; sentences embedded before stay known."""
        return None

    def fingerprint(self) -> str:
        """A hash of the weights; empty for large models, where it would take minutes."""
        return ""


class VideoPrior(Prior):
    """A text-to-video diffusion model. Videos are sRGB from 0 to 1; latents are what its network works on."""

    format: VideoFormat
    schedule: Schedule
    reference: ReferenceImage = "none"
    needs_picture: bool = False
    """Whether it takes no video without that picture."""
    in_place: bool = False
    """Whether its cameras stand still, so that it sees a motion without its root displacement."""
    presets = VIDEO_PRESETS
    time_axis: int = 1
    """The axis of latents along which time goes; 0 is the batch."""
    temporal_compression: int = 1
    """Number of frames in one latent frame; the first frame has a latent of its own if it is above 1."""

    @abstractmethod
    def encode(self, video: Float[Tensor, "batch frames height width 3"]) -> Latents:
        """Latents of videos; gradients flow back to the pixels."""

    @abstractmethod
    def decode(self, latents: Latents) -> Float[Tensor, "batch frames height width 3"]:
        """Videos of latents, to look at; may leave 0 to 1 a little. Without gradients."""

    @abstractmethod
    def estimates(
        self,
        noisy: Latents,
        level: Level,
        prompts: Sequence[Prompt],
        reference: Float[Tensor, "batch height width 3"] | None = None,
        control: Control | None = None,
    ) -> tuple[Latents, ...]:
        """The clean estimate under each of several prompts, without guidance and without gradients. control: is given
        only if `guides` has it."""

    def control(self, video: Float[Tensor, "batch frames height width 3"], scale: float = 1.0) -> Control:
        """What the control branch sees of a guide's video [sRGB]."""
        raise ValueError(f"{self.name} has no control branch")

    def denoise(
        self,
        noisy: Latents,
        level: Level,
        prompt: Prompt,
        guidance: float = 1.0,
        negative: Prompt | None = None,
        reference: Float[Tensor, "batch height width 3"] | None = None,
        control: Control | None = None,
    ) -> Latents:
        """The clean estimate with classifier-free guidance, no gradients: away from the negative prompt (default: the
        empty one) towards the prompt. 1 is the prompt alone. All predictions are linear in the clean estimate at a
        given level, so guiding that is guiding them."""
        given = (reference,) if control is None else (reference, control)
        if guidance == 1.0:
            return self.estimates(noisy, level, (prompt,), *given)[0]
        towards, away = self.estimates(noisy, level, (prompt, negative or self.embed("")), *given)
        return away + guidance * (towards - away)

    def views(self, character: Character, anatomy: Anatomy, rig: Rig, start: RigMotion, count: int) -> ViewRenderer:
        """A renderer of the character from `count` cameras in the look it was trained on, by default Gaussians.

        start: the first motion, by which following cameras are placed; later ones have its frame rate.
        """
        from gambol.priors.gaussian_views import gaussian_views

        return gaussian_views(character, anatomy, rig, self.format.sizes[0], start, count)

    def clip_videos(self, character: Character, anatomy: Anatomy, clip: Clip, contacts: Contacts) -> ClipVideos | None:
        """A finished clip as the prior knows videos; None if the clip holds nothing of that kind."""
        from gambol.priors.gaussian_views import clip_videos

        return clip_videos(self, character, anatomy, contacts)
