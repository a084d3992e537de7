"""What CogVideoX and Wan share: a text encoder, a causal video autoencoder, and a network that works on latents."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.errors import GambolError
from gambol.priors.prior import Control, Prompt, VideoPrior
from gambol.priors.schedule import Latents, Level, Prediction
from gambol.priors.video_models.components import ModelCheckpoint, ModelComponents, VideoModelConfig


class LatentPrior(VideoPrior):
    """A latent video diffusion model. Latents are in the network's own layout, scaled as it was trained, and have at
    least single precision whatever the network's is."""

    prediction: Prediction
    text_length: int
    """Number of tokens of a sentence that the network sees."""
    frame_axis: int
    """Which axis of a batch of latents is time."""

    def __init__(self, checkpoint: ModelCheckpoint, config: VideoModelConfig):
        self.name, self.config = checkpoint.name, config
        self.components = ModelComponents(checkpoint, config, self._prepare)
        self.device = self.components.device
        self._prompts: dict[str, Prompt] = {}
        self._asked: tuple[int, Tensor, Control] | None = None

    def _prepare(self, name: str, part: Any) -> None:
        """Set up a component that was just loaded."""
        if name == "vae" and self.config.tiling:
            part.enable_tiling()

    @torch.no_grad()
    def embed(self, text: str) -> Prompt:
        if text not in self._prompts:
            self._prompts[text] = Prompt(text, self._embed(text).to(self.device, self.config.torch_dtype))
        return self._prompts[text]

    def free_text_encoder(self) -> None:
        self.embed("")  # guidance needs it
        self.components.free("text_encoder", "tokenizer")

    def encode(self, video: Float[Tensor, "batch frames height width 3"]) -> Latents:
        self.check(*video.shape[1:4])
        return self._encode(video)

    def check(self, frames: int, height: int, width: int) -> None:
        """Raise GambolError if the model cannot take such a video."""
        self.format.check(frames, height, width)

    def _encode(self, video: Float[Tensor, "batch frames height width 3"]) -> Latents:
        """Encode one video at a time, as the activations of one are large enough. The result is the mean of the latent
        distribution, so that the same video always has the same latents."""
        pixels = (2 * video - 1).permute(0, 4, 1, 2, 3).to(self.device, self.config.torch_vae_dtype)
        moments = torch.cat([self._moments(one) for one in pixels.split(1)])
        means = moments.chunk(2, dim=1)[0].to(torch.promote_types(video.dtype, torch.float32))
        return self._to_latents(means).to(video.device)

    @torch.no_grad()
    def decode(self, latents: Latents) -> Float[Tensor, "batch frames height width 3"]:
        vae = self.components.use("vae")
        means = self._from_latents(latents.to(self.device)).to(self.config.torch_vae_dtype)
        videos = torch.cat([vae.decode(one).sample for one in means.split(1)])
        return (videos.permute(0, 2, 3, 4, 1).to(latents) + 1) / 2

    @torch.no_grad()
    def estimates(
        self,
        noisy: Latents,
        level: Level,
        prompts: Sequence[Prompt],
        reference: Float[Tensor, "batch height width 3"] | None = None,
        control: Control | None = None,
    ) -> tuple[Latents, ...]:
        if self.needs_picture:
            if reference is None or control is not None:
                raise ValueError(f"{self.name} needs a reference picture, and takes nothing else")
            control = self._beginning(reference, noisy.shape[self.frame_axis])
        elif reference is not None:
            raise ValueError(f"{self.name} takes no reference picture")
        elif control is not None and "control" not in self.guides:
            raise ValueError(f"{self.name} has no control branch")
        return self._estimates(noisy, level, prompts, control=control)

    def _estimates(
        self, noisy: Tensor, level: Level, prompts: Sequence[Prompt], known: int = 0, control: Control | None = None
    ) -> tuple[Tensor, ...]:
        """Estimates of the clean latents; the first `known` frames of the noisy latents are clean already."""
        batch = len(noisy)
        levels = torch.as_tensor(level, dtype=torch.float64, device=self.device).expand(batch)
        latents = noisy.to(self.device, self.config.torch_dtype)
        texts = [prompt.embedding.to(latents)[None].expand(batch, -1, -1) for prompt in prompts]
        count = len(prompts)
        repeated = latents.repeat(count, *[1] * (latents.ndim - 1))
        control = control and control.repeated(count)
        predicted = self._predict(repeated, levels.repeat(count), torch.cat(texts), known, control).split(batch)
        return tuple(self.schedule.clean(noisy, one.to(noisy), level, self.prediction) for one in predicted)

    def _beginning(self, pictures: Float[Tensor, "batch height width 3"], frames: int) -> Control:
        """What the network sees of pictures that its videos begin with. frames: of the latents. Every step of a
        sampling asks for the same, so the last one is kept."""
        asked = self._asked
        if asked is None or asked[0] != frames or not torch.equal(asked[1], pictures):
            self._asked = asked = (frames, pictures, self._begin(pictures, frames))
        return asked[2]

    def _begin(self, pictures: Float[Tensor, "batch height width 3"], frames: int) -> Control:
        """As `_beginning`, computed."""
        raise ValueError(f"{self.name} takes no reference picture")

    def _tokens(self, text: str) -> Any:
        """Padded tokens of a sentence; raises GambolError if it is too long instead of truncating it."""
        tokenizer = self.components.use("tokenizer")
        count = len(tokenizer(text).input_ids)
        if count > self.text_length:
            raise GambolError(
                f"the sentence '{text[:40]}...' has {count} tokens; {self.name} reads at most {self.text_length}"
            )
        return tokenizer(text, padding="max_length", max_length=self.text_length, return_tensors="pt")

    @abstractmethod
    def latent_shape(self, frames: int, height: int, width: int) -> tuple[int, ...]:
        """Shape of the latents of one video, without the batch axis."""

    @abstractmethod
    def _embed(self, text: str) -> Float[Tensor, "tokens width"]:
        """Embedding of a sentence."""

    @abstractmethod
    def _moments(self, pixels: Float[Tensor, "1 3 frames height width"]) -> Float[Tensor, "1 moments *latent"]:
        """Means and log-variances of the latents, stacked along the channels, of a video with values from -1 to 1."""

    @abstractmethod
    def _to_latents(self, means: Float[Tensor, "batch channels frames height width"]) -> Latents:
        """Convert latents from the autoencoder's scale and layout to the network's."""

    @abstractmethod
    def _from_latents(self, latents: Latents) -> Float[Tensor, "batch channels frames height width"]:
        """Convert latents from the network's scale and layout to the autoencoder's."""

    @abstractmethod
    def _predict(
        self,
        latents: Latents,
        levels: Float[Tensor, " batch"],
        texts: Float[Tensor, "batch tokens width"],
        known: int,
        control: Control | None,
    ) -> Latents:
        """The network's prediction for noisy latents, of the kind that `prediction` names."""
