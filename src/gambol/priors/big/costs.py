"""What a big model costs, counted without its weights: the code that runs it runs on tensors that have a shape and no
content, at full size, while every operation's arithmetic and every buffer's bytes are added up.

    python -m gambol.priors.big.costs          the figures of `gambol.priors.big.figures`

The bytes are those of tensors: what the driver and the gaps between tensors take comes on top.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter
from torch.utils.flop_counter import flop_registry, sdpa_backward_flop_count, sdpa_flop_count

from gambol.priors.big import cogvideox, wan
from gambol.priors.big.components import Checkpoint
from gambol.priors.big.config import BigPriorConfig
from gambol.priors.big.configurations import BIG_MODELS, BigModel
from gambol.priors.big.figures import Costs
from gambol.priors.big.latent import LatentPrior
from gambol.priors.prior import Prompt

ATTENTION = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
ATTENTION_BACKWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
"""torch's own counter knows the attention of GPUs only: half of CogVideoX-5B's arithmetic goes unseen by it."""


class Meter(TorchDispatchMode):
    """Adds up arithmetic and living bytes of all that is computed while it is on."""

    def __init__(self):
        super().__init__()
        self.flop = self.bytes = self.peak = 0
        self._sizes: dict[int, int] = {}

    def forgive(self, module: torch.nn.Module) -> None:
        """Do not count a module's weights."""
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
    """Arithmetic of one operation; those that are not products of matrices do not count."""
    if operation is ATTENTION:
        return sdpa_flop_count(*(tensor.shape for tensor in arguments[:3]))
    if operation is ATTENTION_BACKWARD:
        return sdpa_backward_flop_count(*(tensor.shape for tensor in arguments[:4]))
    return flop_registry[operation](*arguments, **options, out_val=result) if operation in flop_registry else 0


def count_costs(model: BigModel, encode: bool = True) -> Costs:
    """All figures of a model; without `encode`, which takes longest, those of encoding are 0."""
    with empty_prior(model) as prior:
        frames, (height, width) = prior.format.frames[0], prior.format.sizes[0]
        network, vae = prior.components.use("transformer"), prior.components.use("vae")
        text_encoder = prior.components.use("text_encoder")
        video = torch.empty(1, frames, height, width, 3)
        latents = torch.empty(1, *prior.latent_shape(frames, height, width))
        prompts = [Prompt("", torch.empty(prior.text_length, model.text_encoder["d_model"])) for _ in range(2)]
        call = measure(lambda: prior.denoise(latents, 0.5, prompts[0], 6.0, prompts[1]), network)
        there_and_back = measure(lambda: _encode_and_back(prior, video), vae) if encode else None
        return Costs(
            network=_parameters(network),
            vae=_parameters(vae),
            text_encoder=_parameters(text_encoder),
            call=call.peak,
            call_flop=call.flop,
            encode=there_and_back.peak if there_and_back else 0,
            encode_flop=there_and_back.flop if there_and_back else 0,
        )


@cache
def count_pocket_costs() -> Costs:
    """The same of the pocket prior, which runs in single precision and has neither autoencoder nor text encoder."""
    from gambol.priors.pocket.network import PocketNetwork
    from gambol.priors.pocket.prior import PocketPrior

    with FakeTensorMode(allow_non_fake_inputs=True):
        prior = PocketPrior(PocketNetwork())
        latents = torch.empty(1, prior.format.frames[0], *prior.format.sizes[0], 3)
        call = measure(lambda: prior.denoise(latents, 0.5, prior.embed(""), 6.0), prior.network)
        return Costs(_parameters(prior.network), 0, 0, call.peak, call.flop, 0, 0)


def measure(work: Callable[[], Any], module: torch.nn.Module) -> Meter:
    """The meter's reading after some work with a module."""
    meter = Meter()
    meter.forgive(module)
    with meter:
        work()
    return meter


def _encode_and_back(prior: LatentPrior, video: Tensor) -> None:
    latents = prior.encode(video.detach().requires_grad_())
    latents.backward(torch.empty_like(latents))


@contextmanager
def empty_prior(model: BigModel, **options) -> Iterator[LatentPrior]:
    """A prior whose tensors have shapes and no content; only tensors made inside the context go with it."""
    config = BigPriorConfig(**{"device": "cpu", "dtype": "bfloat16", **options})
    family = cogvideox if model.family == "cogvideox" else wan
    kind = cogvideox.CogVideoXPrior if model.family == "cogvideox" else wan.WanPrior
    settings = {name: getattr(model, name) for name in ("transformer", "vae", "scheduler", "text_encoder")}

    def load(name: str) -> Any:
        library, class_name = family.CLASSES[name]
        dtype = config.torch_vae_dtype if name == "vae" else config.torch_dtype
        return _build(library, class_name, settings[name], dtype)

    # Which expert answers depends on the level's value, which tensors without content have not: take the first.
    index = {key: value for key, value in model.index.items() if key != "boundary_ratio"}
    prior = kind(Checkpoint("empty", index, settings, load), config)
    with FakeTensorMode(allow_non_fake_inputs=True):
        yield prior


def _build(library: str, class_name: str, settings: Any, dtype: torch.dtype) -> Any:
    """A component with untrained weights. Made in its precision, as tensors without content cannot change theirs."""
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
    for name in sys.argv[1:] or BIG_MODELS:
        print(f'    "{name}": Costs(')
        for field, value in asdict(count_costs(BIG_MODELS[name])).items():
            print(f"        {field}={value:_},")
        print("    ),", flush=True)
