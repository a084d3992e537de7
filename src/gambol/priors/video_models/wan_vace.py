"""Wan VACE (2.1 1.3B and 14B) as a prior: a text-to-video Wan with a branch that a video controls."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from gambol.errors import GambolError
from gambol.priors.prior import Control, Prompt
from gambol.priors.schedule import Latents, Level
from gambol.priors.video_models import wan
from gambol.priors.video_models.components import ModelCheckpoint, VideoModelConfig

PIPELINE = "WanVACEPipeline"
NETWORK = ("diffusers", "WanVACETransformer3DModel")
CLASSES = {**wan.CLASSES, "transformer": NETWORK, "transformer_2": NETWORK}
LUMA = (0.299, 0.587, 0.114)
"""Share of red, green and blue in the brightness of a pixel (Rec. 601), as in VACE's own grey control videos."""
UNKNOWN = 0.5
"""Grey of frames that the branch is told nothing of."""


class WanVACEPrior(wan.WanPrior):
    """A Wan whose branch sees a guide: all of it in shades of grey, which is one of the controls that VACE was trained
    with, or its first frame and nothing of the others. Without a guide it is the text-to-video model alone."""

    def __init__(self, checkpoint: ModelCheckpoint, config: VideoModelConfig):
        super().__init__(checkpoint, config)
        transformer = checkpoint.settings["transformer"]
        self.guides = ("start", "first-frame", "control")
        self._layers, self._channels = len(transformer["vace_layers"]), transformer["vace_in_channels"]
        expected = 2 * self._mean.numel() + self._shrink**2
        if self._channels != expected:
            raise GambolError(
                f"the control branch of {self.name} has {self._channels} channels; gambol expects {expected}: "
                "two videos and a mask"
            )

    @torch.no_grad()
    def control(self, video: Float[Tensor, "batch frames height width 3"], scale: float = 1.0) -> Control:
        grey = (video @ video.new_tensor(LUMA))[..., None].expand_as(video)
        return self.masked(grey, video.new_ones(video.shape[1]), scale)

    @torch.no_grad()
    def masked(
        self, video: Float[Tensor, "batch frames height width 3"], mask: Float[Tensor, " frames"], scale: float = 1.0
    ) -> Control:
        """A video of which frames are to be kept (mask 0) or to be made as it says (mask 1), as the pipeline prepares
        it: latents of the former with grey elsewhere, latents of the latter, and the mask at the latents' size."""
        self.check(*video.shape[1:4])
        share = mask.view(-1, 1, 1, 1)
        parts = [UNKNOWN + (video - UNKNOWN) * weight for weight in (1 - share, share)]
        height, width = (side // self._shrink for side in video.shape[2:4])
        frames = (len(mask) + wan.TEMPORAL_COMPRESSION - 1) // wan.TEMPORAL_COMPRESSION
        coarse = functional.interpolate(mask[None, None].to(video), size=frames, mode="nearest-exact")
        masks = coarse.view(1, 1, -1, 1, 1).expand(len(video), self._shrink**2, -1, height, width)
        return Control(torch.cat([*(self._encode(part) for part in parts), masks.to(video)], 1), scale)

    @torch.no_grad()
    def estimates(
        self,
        noisy: Latents,
        level: Level,
        prompts: Sequence[Prompt],
        reference: Float[Tensor, "batch height width 3"] | None = None,
        control: Control | None = None,
    ) -> tuple[Latents, ...]:
        if reference is not None and control is not None:
            raise ValueError(f"{self.name} takes either a reference picture or a control video")
        if reference is not None:
            control = self._beginning(reference, noisy.shape[self.frame_axis])
        return super().estimates(noisy, level, prompts, None, control)

    def _begin(self, pictures: Float[Tensor, "batch height width 3"], frames: int) -> Control:
        count = (frames - 1) * wan.TEMPORAL_COMPRESSION + 1
        video = pictures.new_full((len(pictures), count, *pictures.shape[1:]), UNKNOWN)
        video[:, 0] = pictures
        mask = pictures.new_ones(count)
        mask[0] = 0
        return self.masked(video, mask)

    def _ask(
        self, name: str, latents: Tensor, levels: Tensor, texts: Tensor, known: int, control: Control | None
    ) -> Tensor:
        if control is None:  # the branch is asked in vain, but the network is the same for both
            nothing = latents.new_zeros(len(latents), self._channels, *latents.shape[2:])
            control = Control(nothing, 0.0)
        return self.components.use(name)(
            hidden_states=latents,
            timestep=self._timesteps(levels, latents, known),
            encoder_hidden_states=texts,
            control_hidden_states=control.states.to(latents),
            control_hidden_states_scale=latents.new_full((self._layers,), control.scale),
            return_dict=False,
        )[0]
