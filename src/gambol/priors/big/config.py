"""How a big video model is held and run: precision, place, and what is traded for memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gambol.errors import GambolError

if TYPE_CHECKING:
    import torch

Precision = Literal["auto", "bfloat16", "float16", "float32", "float64"]


@dataclass(frozen=True)
class BigPriorConfig:
    """Nothing here changes what is computed, beyond rounding and, with tiles, their seams."""

    dtype: Precision = "auto"
    """Of the network and the text encoder; auto: bfloat16 on CUDA, float32 elsewhere."""
    vae_dtype: Precision = "auto"
    """Of the video autoencoder; auto: as `dtype`. Wan's authors decode in float32, which takes twice the memory."""
    device: str = "auto"
    """Where the work is done: cuda, cuda:1, cpu; auto: CUDA if there is any."""
    guidance: Literal["together", "in turn"] = "together"
    """Estimates under several prompts as one batch, or one after the other: slower on big GPUs, less memory."""
    checkpoint: bool = True
    """Recompute the encoder's activations in the backward pass instead of keeping them (`gambol.priors.big.chunks`):
    for CogVideoX-5B's 49 frames of 720 x 480 that makes 17 GiB out of 116."""
    tiling: bool = False
    """Encode and decode pictures in overlapping tiles: for that video 5 GiB instead of 17 and half as much work again,
    and slightly other latents at the seams."""
    offload: bool = False
    """Keep on the device only the component that works; the others wait in main memory."""
    download: bool = True
    """Whether to fetch from the hub what is not on this machine yet."""

    def __post_init__(self):
        if self.offload and not self.checkpoint:
            raise GambolError("offload moves weights that the backward pass needs; use it with checkpoint")

    @property
    def torch_device(self) -> torch.device:
        """The device, which must be there."""
        import torch

        if self.device == "auto":
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")
        try:
            device = torch.device(self.device)
        except RuntimeError:
            raise GambolError(f"there is no device '{self.device}'; use cuda, cuda:1 or cpu") from None
        if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
            raise GambolError(f"there is no device '{self.device}' on this machine; use cpu")
        return device

    @property
    def torch_dtype(self) -> torch.dtype:
        """Precision of the network and of the text encoder."""
        import torch

        automatic = torch.bfloat16 if self.torch_device.type == "cuda" else torch.float32
        return automatic if self.dtype == "auto" else getattr(torch, self.dtype)

    @property
    def torch_vae_dtype(self) -> torch.dtype:
        """Precision of the video autoencoder."""
        import torch

        return self.torch_dtype if self.vae_dtype == "auto" else getattr(torch, self.vae_dtype)
