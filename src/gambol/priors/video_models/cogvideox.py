"""CogVideoX (2B, 5B, 1.5-5B) as a prior: v-prediction over 1000 steps, on latents of 1/4 of the frames and 1/8 of the
size, in the layout (frame, channel, height, width)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.errors import GambolError
from gambol.priors.prior import Control, VideoFormat
from gambol.priors.schedule import DiscreteSchedule, Latents
from gambol.priors.video_models.chunked_encoding import TileLayout, run_chunks, run_tiles
from gambol.priors.video_models.components import ModelCheckpoint, VideoModelConfig
from gambol.priors.video_models.latent_prior import LatentPrior

PIPELINE = "CogVideoXPipeline"
CLASSES = {
    "transformer": ("diffusers", "CogVideoXTransformer3DModel"),
    "vae": ("diffusers", "AutoencoderKLCogVideoX"),
    # 5B comes with another sampler; both read the same noise schedule from the same file.
    "scheduler": ("diffusers", "CogVideoXDDIMScheduler"),
    "text_encoder": ("transformers", "T5EncoderModel"),
    "tokenizer": ("transformers", "T5Tokenizer"),
}

OFFSET = 2.0
"""What image-to-video models of version 1.5 are told besides, always the same."""


def cogvideox_format(transformer: Mapping[str, Any], vae: Mapping[str, Any]) -> VideoFormat:
    """The videos that a model takes, from its configuration. The numbers of frames are those of its model card: 8k+1 up
    to 49, and 16k+1 up to 161 for version 1.5. The autoencoder would change any number that is not 8k+1."""
    shrink = 2 ** (len(vae["block_out_channels"]) - 1)
    trained, multiple = transformer["sample_frames"], shrink * transformer["patch_size"]
    if transformer.get("patch_size_t") is None:
        counts, fps = range(9, max(trained, 49) + 1, 8), 8.0
        size = (transformer["sample_height"] * shrink, transformer["sample_width"] * shrink)
    else:
        counts, fps, size = range(17, 162, 16), 16.0, (768, 1360)
    return VideoFormat((trained, *(count for count in counts if count != trained)), (size,), fps, multiple)


class CogVideoXPrior(LatentPrior):
    """A text-to-video CogVideoX."""

    prediction = "v"
    frame_axis = 1

    def __init__(self, checkpoint: ModelCheckpoint, config: VideoModelConfig):
        super().__init__(checkpoint, config)
        transformer, vae = checkpoint.settings["transformer"], checkpoint.settings["vae"]
        self._check_channels(transformer, vae)
        self.format = cogvideox_format(transformer, vae)
        self.text_length = transformer["max_text_seq_length"]
        self._settings, self._scale, self._channels = transformer, vae["scaling_factor"], vae["latent_channels"]
        self._shrink = 2 ** (len(vae["block_out_channels"]) - 1)
        self.temporal_compression = vae["temporal_compression_ratio"]
        self._padding = self._find_padding()
        scheduler = self.components.use("scheduler")
        if scheduler.config.prediction_type != "v_prediction":
            raise GambolError(f"{self.name} predicts {scheduler.config.prediction_type}; gambol expects v_prediction")
        self.schedule: DiscreteSchedule = DiscreteSchedule(scheduler.alphas_cumprod)
        self._rotary = lru_cache(maxsize=4)(self._find_rotary)

    def _check_channels(self, transformer: Mapping[str, Any], vae: Mapping[str, Any]) -> None:
        if transformer["in_channels"] != vae["latent_channels"]:
            raise GambolError(f"{self.name} is an image-to-video model; gambol needs a text-to-video CogVideoX")

    def _find_padding(self) -> int:
        """Number of copies of the first latent frame to put in front. Version 1.5 takes latent frames in pairs, but
        16k+1 frames have 4k+1 latent ones, so the first one was doubled in training."""
        together = self._settings.get("patch_size_t") or 1
        if self.temporal_compression % together:
            raise GambolError(f"{self.name} has a temporal patch size of {together}, which gambol does not support")
        return together - 1

    def _prepare(self, name: str, part: Any) -> None:
        super()._prepare(name, part)
        if name == "vae" and self.config.checkpoint:
            from torch.utils.checkpoint import checkpoint

            # One chunk alone has 19 GiB of activations at 720 x 480, so its blocks are recomputed one by one as well.
            for block in (*part.encoder.down_blocks, part.encoder.mid_block):
                block.gradient_checkpointing = True
                block._gradient_checkpointing_func = partial(checkpoint, use_reentrant=False)

    def check(self, frames: int, height: int, width: int) -> None:
        super().check(frames, height, width)
        if self._settings.get("patch_size_t") is not None:  # places up to this are known, and not stretched
            most = (self._settings["sample_height"] * self._shrink, self._settings["sample_width"] * self._shrink)
            if height > most[0] or width > most[1]:
                raise GambolError(
                    f"a video for {self.name} is at most {most[1]} x {most[0]} pixels (width x height), "
                    f"not {width} x {height}"
                )

    def latent_shape(self, frames: int, height: int, width: int) -> tuple[int, ...]:
        count = (frames - 1) // self.temporal_compression + 1 + self._padding
        return count, self._channels, height // self._shrink, width // self._shrink

    def _embed(self, text: str) -> Float[Tensor, "tokens width"]:
        tokens = self._tokens(text)
        return self.components.use("text_encoder")(tokens.input_ids.to(self.device))[0][0]

    def _moments(self, pixels: Float[Tensor, "1 3 frames height width"]) -> Float[Tensor, "1 moments *latent"]:
        vae = self.components.use("vae")
        size = (vae.tile_sample_min_height, vae.tile_sample_min_width)
        if not (self.config.tiling and (pixels.shape[-2] > size[0] or pixels.shape[-1] > size[1])):
            return self._encode_chunks(pixels)
        overlap = (vae.tile_overlap_factor_height, vae.tile_overlap_factor_width)
        latent = (vae.tile_latent_min_height, vae.tile_latent_min_width)
        blend = (int(latent[0] * overlap[0]), int(latent[1] * overlap[1]))
        stride = (int(size[0] * (1 - overlap[0])), int(size[1] * (1 - overlap[1])))
        tiles = TileLayout(size, stride, blend, (latent[0] - blend[0], latent[1] - blend[1]))
        return run_tiles(partial(self._encode_chunks, forget=True), pixels, tiles, vae.blend_v, vae.blend_h)

    def _encode_chunks(self, pixels: Tensor, forget: bool = False) -> Tensor:
        """Encode eight frames at a time, nine in the first chunk; norms see one chunk, so the split is fixed."""

        def step(chunk: Tensor, state: Any) -> tuple[Tensor, Any]:
            vae = self.components.use("vae")  # each time: it may have been moved away before the backward pass
            moments, state = vae.encoder(chunk, conv_cache=state)
            return moments if vae.quant_conv is None else vae.quant_conv(moments), state

        count, most = pixels.shape[2], self.components.use("vae").num_sample_frames_batch_size
        first = min(most + count % most, count)
        cuts = [first, *[most] * ((count - first) // most)]
        return torch.cat(run_chunks(step, pixels.split(cuts, dim=2), self.config.checkpoint, forget), dim=2)

    def _to_latents(self, means: Float[Tensor, "batch channels frames height width"]) -> Latents:
        latents = self._scale * means.transpose(1, 2)
        return torch.cat([*[latents[:, :1]] * self._padding, latents], dim=1)

    def _from_latents(self, latents: Latents) -> Float[Tensor, "batch channels frames height width"]:
        return latents[:, self._padding :].transpose(1, 2) / self._scale

    def _predict(
        self,
        latents: Latents,
        levels: Float[Tensor, " batch"],
        texts: Float[Tensor, "batch tokens width"],
        known: int,
        control: Control | None,
    ) -> Latents:
        network = self.components.use("transformer")
        frames, height, width = latents.shape[1], *latents.shape[3:]
        rotary = self._rotary(frames, height, width) if self._settings["use_rotary_positional_embeddings"] else None
        if control is not None:  # the picture of an image-to-video model
            latents = torch.cat([latents, control.states.to(latents)], dim=2)
        return network(
            hidden_states=latents,
            encoder_hidden_states=texts,
            timestep=self.schedule.step(levels),
            image_rotary_emb=rotary,
            ofs=latents.new_full((1,), OFFSET) if self._settings.get("ofs_embed_dim") else None,
            return_dict=False,
        )[0]

    def _find_rotary(self, frames: int, height: int, width: int) -> tuple[Tensor, Tensor]:
        """Cosines and sines of the positions of patches. The first version stretches pictures of any size over the grid
        it was trained on; version 1.5 counts from the corner."""
        from diffusers.models.embeddings import get_3d_rotary_pos_embed
        from diffusers.pipelines.cogvideo.pipeline_cogvideox import get_resize_crop_region_for_grid

        patch, together = self._settings["patch_size"], self._settings.get("patch_size_t")
        grid = (height // patch, width // patch)
        trained = (self._settings["sample_height"] // patch, self._settings["sample_width"] // patch)
        place: Callable[..., Any] = partial(
            get_3d_rotary_pos_embed, self._settings["attention_head_dim"], device=self.device
        )
        if together is None:
            region = get_resize_crop_region_for_grid(grid, trained[1], trained[0])
            return place(region, grid, frames)
        return place(None, grid, frames // together, grid_type="slice", max_size=trained)
