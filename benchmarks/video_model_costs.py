"""Memory and arithmetic of the priors: `python benchmarks/video_model_costs.py [NAME ...]` prints what the rows of
`gambol.priors.catalogue` say.

No weights are needed: gambol's own code runs at full size on fake tensors, which have a shape and no content, while the
arithmetic of every operation and the bytes of every living buffer are added up. The bytes are those of tensors; the
driver and the gaps between tensors take more.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import gambol  # noqa: F401  # before torch, whose idle threads would else take our cores
import torch
from gambol.priors.pixels.network import PixelNetwork
from gambol.priors.pixels.prior import PixelPrior
from gambol.priors.prior import Prompt, VideoPrior
from gambol.priors.video_models import cogvideox, wan, wan_vace
from gambol.priors.video_models.components import ClassNames, ModelCheckpoint, VideoModelConfig
from gambol.priors.video_models.latent_prior import LatentPrior
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter
from torch.utils.flop_counter import flop_registry, sdpa_backward_flop_count, sdpa_flop_count

from video_model_configurations import VIDEO_MODELS, VideoModel

ATTENTION = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
ATTENTION_BACKWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
"""torch's own counter knows the attention on GPUs only and would miss half of the arithmetic of CogVideoX-5B."""


FAMILIES: dict[str, tuple[ClassNames, type[LatentPrior]]] = {
    "cogvideox": (cogvideox.CLASSES, cogvideox.CogVideoXPrior),
    "wan": (wan.CLASSES, wan.WanPrior),
    "wan-vace": (wan_vace.CLASSES, wan_vace.WanVACEPrior),
}
GIB = 2**30
HALF = 2
"""Size of a number in bfloat16 [bytes]."""


@dataclass(frozen=True)
class PriorCosts:
    """What a model needs for one video of the length and size it was trained on, in bfloat16."""

    video: tuple[int, int, int]
    """Frames, width and height of the video."""
    network: int
    """Number of parameters of the network; of each one if there are two experts."""
    call: int
    """Peak memory of a guided call (two prompts in one batch) beside the weights [bytes]."""
    call_flop: int
    """Arithmetic of that call [FLOP]; a multiplication and an addition are two."""
    vae: int = 0
    """Number of parameters of the video autoencoder."""
    text_encoder: int = 0
    """Number of parameters of the text encoder."""
    encode: int = 0
    """Peak memory of encoding the video and of the backward pass to its pixels, beside the weights [bytes]."""
    encode_flop: int = 0
    """Arithmetic of encoding and of its backward pass [FLOP]."""
    experts: int = 1
    """Number of networks that share the noise levels."""

    @property
    def memory(self) -> float:
        """Memory of a step of distillation (a guided call, and encoding a video with gradients), weights included; the
        text encoder is freed before [GiB]."""
        weights = HALF * (self.experts * self.network + self.vae)
        return max(weights + max(self.call, self.encode), HALF * self.text_encoder) / GIB

    @property
    def offloaded(self) -> float:
        """GPU memory of that step if only the part that works is on the GPU [GiB]."""
        working = HALF * self.network + self.call, HALF * self.vae + self.encode, HALF * self.text_encoder
        return max(working) / GIB

    @property
    def weights(self) -> float:
        """Size of all weights [GiB]."""
        return HALF * (self.experts * self.network + self.vae + self.text_encoder) / GIB


class CostMeter(TorchDispatchMode):
    """Adds up the arithmetic and the living bytes of everything that is computed inside the context."""

    def __init__(self):
        super().__init__()
        self.flop = self.bytes = self.peak = 0
        self._sizes: dict[int, int] = {}

    def exclude_weights(self, module: torch.nn.Module) -> None:
        """Do not count the bytes of a module's weights."""
        for tensor in (*module.parameters(), *module.buffers()):
            self._sizes[tensor.untyped_storage()._cdata] = 0

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        result = function(*arguments, **(options or {}))
        self.flop += _flop(function._overloadpacket, arguments, options or {}, result)
        for tensor in tree_iter(result):
            if isinstance(tensor, Tensor):
                self._note(tensor)
        return result

    def _note(self, tensor: Tensor) -> None:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key not in self._sizes:
            self._sizes[key] = storage.nbytes()
            self.bytes += self._sizes[key]
            self.peak = max(self.peak, self.bytes)
            weakref.finalize(storage, self._forget, key)

    def _forget(self, key: int) -> None:
        self.bytes -= self._sizes.pop(key)


def _flop(operation: Any, arguments: tuple, options: dict, result: Any) -> int:
    """Arithmetic of one operation [FLOP]; only matrix products, convolutions and attention count."""
    if operation is ATTENTION:
        return sdpa_flop_count(*(tensor.shape for tensor in arguments[:3]))
    if operation is ATTENTION_BACKWARD:
        return sdpa_backward_flop_count(*(tensor.shape for tensor in arguments[:4]))
    return flop_registry[operation](*arguments, **options, out_val=result) if operation in flop_registry else 0


def count_costs(model: VideoModel, encode: bool = True) -> PriorCosts:
    """Costs of a model; without `encode`, which takes longest, those of encoding are 0."""
    with empty_prior(model) as prior:
        frames, (height, width) = prior.format.frames[0], prior.format.sizes[0]
        network, vae = prior.components.use("transformer"), prior.components.use("vae")
        text_encoder = prior.components.use("text_encoder")
        video = torch.empty(1, frames, height, width, 3)
        latents = torch.empty(1, *prior.latent_shape(frames, height, width))
        prompts = [Prompt("", torch.empty(prior.text_length, model.text_encoder["d_model"])) for _ in range(2)]
        call = measure(lambda: prior.denoise(latents, 0.5, prompts[0], 6.0, prompts[1]), network)
        there_and_back = measure(lambda: _encode_and_back(prior, video), vae) if encode else None
        return PriorCosts(
            _video(prior),
            _parameters(network),
            call.peak,
            call.flop,
            _parameters(vae),
            _parameters(text_encoder),
            there_and_back.peak if there_and_back else 0,
            there_and_back.flop if there_and_back else 0,
            model.experts,
        )


@cache
def count_pixel_costs() -> PriorCosts:
    """Costs of the pixel prior, which runs in single precision and has neither autoencoder nor text encoder."""
    with FakeTensorMode(allow_non_fake_inputs=True):
        prior = PixelPrior(PixelNetwork())
        latents = torch.empty(1, prior.format.frames[0], *prior.format.sizes[0], 3)
        call = measure(lambda: prior.denoise(latents, 0.5, prior.embed(""), 6.0), prior.network)
        return PriorCosts(_video(prior), _parameters(prior.network), call.peak, call.flop)


def _video(prior: VideoPrior) -> tuple[int, int, int]:
    """Frames, width and height that a prior was trained on."""
    height, width = prior.format.sizes[0]
    return prior.format.frames[0], width, height


def measure(work: Callable[[], Any], module: torch.nn.Module) -> CostMeter:
    """The meter after some work with a module."""
    meter = CostMeter()
    meter.exclude_weights(module)
    with meter:
        work()
    return meter


def _encode_and_back(prior: LatentPrior, video: Tensor) -> None:
    latents = prior.encode(video.detach().requires_grad_())
    latents.backward(torch.empty_like(latents))


@contextmanager
def empty_prior(model: VideoModel, **options) -> Iterator[LatentPrior]:
    """A prior made of fake tensors; it only takes tensors that are made inside the context."""
    config = VideoModelConfig(**{"device": "cpu", "dtype": "bfloat16", **options})
    classes, kind = FAMILIES[model.family]
    settings = {name: getattr(model, name) for name in ("transformer", "vae", "scheduler", "text_encoder")}

    def load(name: str) -> Any:
        library, class_name = classes[name]
        dtype = config.torch_vae_dtype if name == "vae" else config.torch_dtype
        return _build(library, class_name, settings[name], dtype)

    # The noise level decides which expert is asked, but fake tensors have no values: only the first is used.
    index = {key: value for key, value in model.index.items() if key != "boundary_ratio"}
    prior = kind(ModelCheckpoint("empty", index, settings, load), config)
    with FakeTensorMode(allow_non_fake_inputs=True):
        yield prior


def _build(library: str, class_name: str, settings: Any, dtype: torch.dtype) -> Any:
    """A component with untrained weights, made in its final precision because fake tensors cannot be converted."""
    from importlib import import_module

    kind = getattr(import_module(library), class_name)
    usual = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        return kind(kind.config_class(**settings)) if library == "transformers" else kind(**settings)
    finally:
        torch.set_default_dtype(usual)


def _parameters(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


if __name__ == "__main__":
    for name in sys.argv[1:] or [*VIDEO_MODELS, "pixels"]:
        costs = count_pixel_costs() if name == "pixels" else count_costs(VIDEO_MODELS[name])
        print(
            f"{name}: {costs.experts * costs.network / 1e6:.2f} M parameters, {costs.video}, {costs.memory:.1f} GiB, "
            f"{costs.offloaded:.1f} with offload, {costs.weights:.1f} of weights, {costs.call_flop / 1e12:.3g} TFLOP "
            f"a call, {costs.encode_flop / 1e12:.3g} to encode a video and back",
            flush=True,
        )
