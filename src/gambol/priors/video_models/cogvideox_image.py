"""CogVideoX that animates a picture (5B-I2V, 1.5-5B-I2V) as a prior: the picture's latents are more channels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.errors import GambolError
from gambol.priors.prior import Control
from gambol.priors.video_models.cogvideox import CogVideoXPrior
from gambol.priors.video_models.components import ModelCheckpoint, VideoModelConfig

PIPELINE = "CogVideoXImageToVideoPipeline"


class CogVideoXImagePrior(CogVideoXPrior):
    """An image-to-video CogVideoX. Its reference picture is the first frame of the video."""

    reference = "first"
    needs_picture = True
    guides = ("start", "first-frame")

    def __init__(self, checkpoint: ModelCheckpoint, config: VideoModelConfig):
        super().__init__(checkpoint, config)
        self._inverted = checkpoint.settings["vae"].get("invert_scale_latents", False)
        if self._settings.get("use_learned_positional_embeddings"):  # one for each place of the size it was trained on
            self.format = replace(self.format, multiple=0)

    def _check_channels(self, transformer: Mapping[str, Any], vae: Mapping[str, Any]) -> None:
        if transformer["in_channels"] != 2 * vae["latent_channels"]:
            raise GambolError(f"{self.name} has no channels for a picture; it is no image-to-video CogVideoX")

    def _begin(self, pictures: Float[Tensor, "batch height width 3"], frames: int) -> Control:
        first = self._encode(pictures[:, None])[:, self._padding :]
        first = first / self._scale**2 if self._inverted else first  # version 1.5 was trained with the wrong scale
        rest = first.new_zeros(len(first), frames - 1, *first.shape[2:])
        return Control(torch.cat([first, rest], dim=1))
