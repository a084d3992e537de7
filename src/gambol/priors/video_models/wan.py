"""Wan (2.1 1.3B and 14B, 2.2 TI2V-5B and A14B) as a prior: flow matching, on latents of 1/4 of the frames and 1/8 or
1/16 of the size, in the layout (channel, frame, height, width)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.errors import GambolError
from gambol.priors.prior import Control, Prompt, VideoFormat
from gambol.priors.schedule import FlowSchedule, Latents, Level
from gambol.priors.video_models.chunked_encoding import TileLayout, run_chunks, run_tiles
from gambol.priors.video_models.components import ModelCheckpoint, VideoModelConfig
from gambol.priors.video_models.latent_prior import LatentPrior

PIPELINE = "WanPipeline"
CLASSES = {
    "transformer": ("diffusers", "WanTransformer3DModel"),
    "transformer_2": ("diffusers", "WanTransformer3DModel"),
    "vae": ("diffusers", "AutoencoderKLWan"),
    "text_encoder": ("transformers", "UMT5EncoderModel"),
    "tokenizer": ("transformers", "AutoTokenizer"),
}
TEXT_LENGTH = 512
TEMPORAL_COMPRESSION = 4
"""Number of video frames in a latent frame."""
STEPS = 1000
"""The timestep of pure noise: the network is given the noise level times this."""


def wan_format(transformer: Mapping[str, Any], vae: Mapping[str, Any]) -> VideoFormat:
    """The videos that a model takes, from its configuration: 4k+1 frames, and the sizes that its model card names."""
    multiple = vae["scale_factor_spatial"] * transformer["patch_size"][1]
    if vae["scale_factor_spatial"] == 16:
        return _format(121, ((704, 1280), (1280, 704)), 24.0, multiple)
    small: tuple[tuple[int, int], ...] = ((480, 832), (832, 480))
    large = transformer["num_attention_heads"] * transformer["attention_head_dim"] > 2048  # 14B; 1.3B has 1536
    return _format(81, (*small, (720, 1280), (1280, 720)) if large else small, 16.0, multiple)


def _format(frames: int, sizes: tuple[tuple[int, int], ...], fps: float, multiple: int) -> VideoFormat:
    return VideoFormat((frames, *range(1 + TEMPORAL_COMPRESSION, frames, TEMPORAL_COMPRESSION)), sizes, fps, multiple)


class WanPrior(LatentPrior):
    """A text-to-video Wan. TI2V-5B also takes a reference picture, which becomes the first frame of the video."""

    prediction = "flow"
    frame_axis = 2
    text_length = TEXT_LENGTH
    time_axis, temporal_compression = 2, TEMPORAL_COMPRESSION

    def __init__(self, checkpoint: ModelCheckpoint, config: VideoModelConfig):
        super().__init__(checkpoint, config)
        transformer, vae = checkpoint.settings["transformer"], checkpoint.settings["vae"]
        self._check_channels(transformer, vae)
        self.format = wan_format(transformer, vae)
        self.schedule: FlowSchedule = FlowSchedule()
        self._boundary = checkpoint.index.get("boundary_ratio")
        """Noise levels from this one on belong to the first of two experts; None if there is only one network."""
        if self._boundary is not None and "transformer_2" not in checkpoint.settings:
            raise GambolError(f"{self.name} names a boundary between two experts but has no transformer_2")
        self.reference = "first" if checkpoint.index.get("expand_timesteps") else "none"
        self.guides = ("start", "first-frame") if self.reference == "first" else ("start",)
        self._patch, self._shrink = transformer["patch_size"], vae["scale_factor_spatial"]
        self._mean = torch.tensor(vae["latents_mean"], dtype=torch.float64).view(1, -1, 1, 1, 1)
        self._deviation = torch.tensor(vae["latents_std"], dtype=torch.float64).view(1, -1, 1, 1, 1)

    def _check_channels(self, transformer: Mapping[str, Any], vae: Mapping[str, Any]) -> None:
        if transformer["in_channels"] != vae["z_dim"]:
            raise GambolError(f"{self.name} is an image-to-video model; gambol needs a text-to-video Wan")

    def latent_shape(self, frames: int, height: int, width: int) -> tuple[int, ...]:
        return (
            self._mean.numel(),
            (frames - 1) // TEMPORAL_COMPRESSION + 1,
            height // self._shrink,
            width // self._shrink,
        )

    def _embed(self, text: str) -> Float[Tensor, "tokens width"]:
        from diffusers.pipelines.wan.pipeline_wan import prompt_clean

        tokens = self._tokens(prompt_clean(text))
        mask = tokens.attention_mask.to(self.device)
        encoded = self.components.use("text_encoder")(tokens.input_ids.to(self.device), mask).last_hidden_state
        return (encoded * mask[..., None])[0]

    def _moments(self, pixels: Float[Tensor, "1 3 frames height width"]) -> Float[Tensor, "1 moments *latent"]:
        from diffusers.models.autoencoders.autoencoder_kl_wan import patchify

        vae = self.components.use("vae")
        patch = vae.config.patch_size or 1
        size = (vae.tile_sample_min_height, vae.tile_sample_min_width)
        tiled = self.config.tiling and (pixels.shape[-2] > size[0] or pixels.shape[-1] > size[1])
        pixels = patchify(pixels, patch)
        if not tiled:
            return self._encode_chunks(pixels)
        shrink = vae.spatial_compression_ratio // patch
        stride = (vae.tile_sample_stride_height, vae.tile_sample_stride_width)
        keep = (stride[0] // shrink, stride[1] // shrink)
        tiles = TileLayout(size, stride, (size[0] // shrink - keep[0], size[1] // shrink - keep[1]), keep)
        return run_tiles(partial(self._encode_chunks, forget=True), pixels, tiles, vae.blend_v, vae.blend_h)

    def _encode_chunks(self, pixels: Tensor, forget: bool = False) -> Tensor:
        """Encode the first frame alone, then four frames at a time."""

        def step(chunk: Tensor, state: Any) -> tuple[Tensor, Any]:
            vae = self.components.use("vae")  # each time: it may have been moved away before the backward pass
            state = [None] * _convolutions(vae.encoder) if state is None else list(state)
            return vae.quant_conv(vae.encoder(chunk, feat_cache=state, feat_idx=[0])), state

        cuts = [1, *[TEMPORAL_COMPRESSION] * ((pixels.shape[2] - 1) // TEMPORAL_COMPRESSION)]
        return torch.cat(run_chunks(step, pixels.split(cuts, dim=2), self.config.checkpoint, forget), dim=2)

    def _to_latents(self, means: Float[Tensor, "batch channels frames height width"]) -> Latents:
        return (means - self._mean.to(means)) / self._deviation.to(means)

    def _from_latents(self, latents: Latents) -> Float[Tensor, "batch channels frames height width"]:
        return latents * self._deviation.to(latents) + self._mean.to(latents)

    @torch.no_grad()
    def estimates(
        self,
        noisy: Latents,
        level: Level,
        prompts: Sequence[Prompt],
        reference: Float[Tensor, "batch height width 3"] | None = None,
        control: Control | None = None,
    ) -> tuple[Latents, ...]:
        if reference is None or self.reference == "none" or self.needs_picture:
            return super().estimates(noisy, level, prompts, reference, control)
        first = self._encode(reference[:, None]).to(noisy)
        given = torch.cat([first, noisy[:, :, 1:]], dim=2)
        clean = self._estimates(given, level, prompts, known=1)
        return tuple(torch.cat([first, one[:, :, 1:]], dim=2) for one in clean)

    def _predict(
        self,
        latents: Latents,
        levels: Float[Tensor, " batch"],
        texts: Float[Tensor, "batch tokens width"],
        known: int,
        control: Control | None,
    ) -> Latents:
        if self._boundary is None:
            return self._ask("transformer", latents, levels, texts, known, control)
        predicted = torch.empty_like(latents)
        early = levels >= self._boundary
        for name, members in (("transformer", early), ("transformer_2", ~early)):
            if members.any():
                given = latents[members], levels[members], texts[members]
                predicted[members] = self._ask(name, *given, known, control and control.chosen(members))
        return predicted

    def _ask(
        self, name: str, latents: Tensor, levels: Tensor, texts: Tensor, known: int, control: Control | None
    ) -> Tensor:
        network, times = self.components.use(name), self._timesteps(levels, latents, known)
        return network(hidden_states=latents, timestep=times, encoder_hidden_states=texts, return_dict=False)[0]

    def _timesteps(self, levels: Float[Tensor, " batch"], latents: Tensor, known: int) -> Tensor:
        """One timestep for each video or, if the first frames are known, one for each token, 0 for known frames. The
        pipeline of TI2V-5B always gives one for each token, with the same result at many times the memory."""
        times = (levels * STEPS).float()
        if not known:
            return times
        frames, height, width = (side // patch for side, patch in zip(latents.shape[2:], self._patch, strict=True))
        noisy = torch.arange(frames, device=times.device) >= known
        return (times[:, None, None] * noisy[None, :, None]).expand(-1, -1, height * width).flatten(1)


def _convolutions(encoder: torch.nn.Module) -> int:
    """Number of states that the encoder carries: one for each of its causal convolutions."""
    return sum(type(module).__name__ == "WanCausalConv3d" for module in encoder.modules())
