"""Wan that animates a picture (2.2 I2V-A14B) as a prior: the picture's latents and a mask are more channels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.errors import GambolError
from gambol.priors.prior import Control
from gambol.priors.video_models import wan
from gambol.priors.video_models.components import ModelCheckpoint, VideoModelConfig

PIPELINE = "WanImageToVideoPipeline"
UNKNOWN = 0.5
"""Grey of the frames after the picture."""


class WanImagePrior(wan.WanPrior):
    """An image-to-video Wan. Its reference picture is the first frame of the video."""

    needs_picture = True

    def __init__(self, checkpoint: ModelCheckpoint, config: VideoModelConfig):
        super().__init__(checkpoint, config)
        self.reference, self.guides = "first", ("start", "first-frame")

    def _check_channels(self, transformer: Mapping[str, Any], vae: Mapping[str, Any]) -> None:
        if transformer.get("image_dim") is not None:
            raise GambolError(
                f"{self.name} also sees the picture through an image encoder, as Wan 2.1 does, which gambol does not "
                "load; use an image-to-video Wan 2.2"
            )
        if transformer["in_channels"] != 2 * vae["z_dim"] + wan.TEMPORAL_COMPRESSION:
            raise GambolError(f"{self.name} has no channels for a picture; it is no image-to-video Wan")

    def _begin(self, pictures: Float[Tensor, "batch height width 3"], frames: int) -> Control:
        count = (frames - 1) * wan.TEMPORAL_COMPRESSION + 1
        video = pictures.new_full((len(pictures), count, *pictures.shape[1:]), UNKNOWN)
        video[:, 0] = pictures
        latents = self._encode(video)
        mask = latents.new_zeros(len(latents), wan.TEMPORAL_COMPRESSION, *latents.shape[2:])
        mask[:, :, 0] = 1
        return Control(torch.cat([mask, latents], dim=1))

    def _ask(
        self, name: str, latents: Tensor, levels: Tensor, texts: Tensor, known: int, control: Control | None
    ) -> Tensor:
        assert control is not None
        seen = torch.cat([latents, control.states.to(latents)], dim=1)
        times = self._timesteps(levels, latents, known)
        network = self.components.use(name)
        return network(hidden_states=seen, timestep=times, encoder_hidden_states=texts, return_dict=False)[0]
