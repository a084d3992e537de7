"""The one question a distiller asks: given this noisy video and this sentence, what was the clean video?"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float
from torch import Tensor

from gambol.errors import GambolError
from gambol.priors.schedule import Latents, Level, Schedule

Look = Literal["own", "parts"]
"""What the character must look like in the video: as it is, or coloured by its parts (`gambol.priors.pocket.look`)."""

Reference = Literal["none", "rest", "first"]
"""Which picture, taken by the same camera, a prior wants to see: none, the character at rest, or the first frame."""


@dataclass(frozen=True, eq=False)
class Prompt:
    """A sentence as a prior understands it."""

    text: str
    embedding: Tensor
    """Whatever the prior conditions on, without a batch axis."""
    note: str = ""
    """What of the sentence the prior leaves out, for the user to know."""


@dataclass(frozen=True)
class Format:
    """The videos a prior takes. Nothing is rounded: what does not fit is an error that names what would."""

    frames: tuple[int, ...]
    """Counts it accepts, the one it was trained on first."""
    sizes: tuple[tuple[int, int], ...]
    """(height, width) it was trained on, the usual one first [pixels]."""
    fps: float
    """Frames a second it was trained on; 0 if a video is one cycle, however long that takes."""
    multiple: int = 0
    """Other sizes work too if both sides are multiples of this; 0: no others do."""

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


class VideoPrior(ABC):
    """A text-to-video diffusion model. Videos are sRGB from 0 to 1; latents are what its network works on."""

    name: str
    format: Format
    schedule: Schedule
    look: Look
    reference: Reference = "none"
    time_axis: int = 1
    """The axis of latents along which time goes; 0 is the batch."""
    squeeze: int = 1
    """Frames of a video in one of its latents; the first frame has one for itself if there are several."""

    @abstractmethod
    def embed(self, text: str) -> Prompt:
        """A sentence as the prior understands it; the same sentence costs nothing the second time."""

    def free_text_encoder(self) -> None:
        """Give back the memory that only `embed` needs; sentences embedded before stay known."""
        return None

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
    ) -> tuple[Latents, ...]:
        """The clean estimate under each of several prompts, without guidance and without gradients."""

    def denoise(
        self,
        noisy: Latents,
        level: Level,
        prompt: Prompt,
        guidance: float = 1.0,
        negative: Prompt | None = None,
        reference: Float[Tensor, "batch height width 3"] | None = None,
    ) -> Latents:
        """The clean estimate with classifier-free guidance, no gradients: away from the negative prompt (default: the
        empty one) towards the prompt. 1 is the prompt alone. All predictions are linear in the clean estimate at a
        given level, so guiding that is guiding them."""
        if guidance == 1.0:
            return self.estimates(noisy, level, (prompt,), reference)[0]
        towards, away = self.estimates(noisy, level, (prompt, negative or self.embed("")), reference)
        return away + guidance * (towards - away)
