"""The pocket prior: a video diffusion model of a few megabytes that knows how figures move, and runs anywhere."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from importlib.resources import files
from pathlib import Path

import torch
from jaxtyping import Float
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from gambol.errors import AssetError
from gambol.files import write_file
from gambol.parallel import run, shares, workers
from gambol.priors.pocket.language.words import require
from gambol.priors.pocket.look import scaled, unscaled
from gambol.priors.pocket.network import NetworkConfig, PocketNetwork, words_of
from gambol.priors.pocket.takes.cycle import FRAMES
from gambol.priors.prior import Format, Prompt, VideoPrior
from gambol.priors.schedule import Flow

Videos = Float[Tensor, "batch frames height width 3"]


class PocketPrior(VideoPrior):
    """Knows the actions of `actions.KNOWN` and nothing else, in the look of `gambol.priors.pocket.look`."""

    name = "pocket"
    look = "parts"
    reference = "rest"

    def __init__(self, network: PocketNetwork):
        self.network = network.eval().requires_grad_(False)
        size = network.config.size
        self.format = Format(frames=(FRAMES,), sizes=((size, size),), fps=0)
        self.schedule = Flow()

    @staticmethod
    def load(path: Path | None = None) -> PocketPrior:
        """From a file that `save_network` wrote, by default the one that comes with gambol."""
        return PocketPrior(load_network(path or shipped()))

    def embed(self, text: str) -> Prompt:
        """The action and the pace a sentence speaks of. The empty sentence says nothing; one without any action that
        the prior knows is refused."""
        if not text.strip():
            return Prompt(text, words_of(None))
        intent = require(text)
        note = f"only '{intent.action}' is shown, not {' and '.join(intent.left_out)}" if intent.left_out else ""
        return Prompt(text, words_of(intent.action, intent.pace), note)

    def encode(self, video: Videos) -> Videos:
        self.format.check(*video.shape[1:4])
        return scaled(video)

    def decode(self, latents: Videos) -> Videos:
        return unscaled(latents.detach())

    @torch.no_grad()
    def estimates(
        self,
        noisy: Videos,
        level: float | Float[Tensor, " batch"],
        prompts: Sequence[Prompt],
        reference: Float[Tensor, "batch height width 3"] | None = None,
    ) -> tuple[Videos, ...]:
        self.format.check(*noisy.shape[1:4])
        count, batch = len(prompts), len(noisy)
        levels = torch.as_tensor(level, dtype=torch.float32, device=noisy.device).expand(batch).repeat(count)
        words = torch.stack([prompt.embedding for prompt in prompts]).to(noisy).repeat_interleave(batch, 0)
        rest = torch.zeros_like(noisy[:, 0]) if reference is None else scaled(reference.to(noisy))
        many = noisy.repeat(count, *[1] * (noisy.ndim - 1))
        clean = self._on_all_cores(many, levels, words, rest.repeat(count, 1, 1, 1))
        return clean.unflatten(0, (count, batch)).unbind(0)

    def _on_all_cores(self, *inputs: Tensor) -> Videos:
        """The network's answer, each thread working on some of the videos: torch's own threads share every operation
        instead, and on such small ones spend half of their time waiting for each other."""
        threads = torch.get_num_threads()
        parts = shares(len(inputs[0]), workers())
        answers: list[Videos] = [inputs[0]] * len(parts)

        @torch.no_grad()
        def answer(number: int) -> None:
            answers[number] = self.network(*(tensor[parts[number]] for tensor in inputs))

        torch.set_num_threads(1)
        try:
            run([partial(answer, number) for number in range(len(parts))])
        finally:
            torch.set_num_threads(threads)
        return torch.cat(answers)


def shipped() -> Path:
    """The weights that come with gambol."""
    return Path(str(files("gambol.priors.pocket") / "weights.safetensors"))


def save_network(network: PocketNetwork, path: Path, facts: dict | None = None) -> None:
    """Weights in half precision, with the shape of the network and what is known about it."""
    tensors = {name: value.detach().half().contiguous() for name, value in network.state_dict().items()}
    about = {"network": json.dumps(asdict(network.config)), "facts": json.dumps(facts or {})}
    write_file(path, save(tensors, about))


def facts_of(path: Path) -> dict:
    """What is known about weights that `save_network` wrote: how they were trained."""
    with safe_open(path, "pt") as file:
        return json.loads((file.metadata() or {}).get("facts", "{}"))


def load_network(path: Path) -> PocketNetwork:
    """What `save_network` wrote."""
    try:
        with safe_open(path, "pt") as file:
            config = NetworkConfig(**json.loads((file.metadata() or {})["network"]))
            tensors = {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118
        network = PocketNetwork(config)
        network.load_state_dict(tensors)
    except FileNotFoundError:
        raise AssetError(f"there is no file '{path}'") from None
    except (OSError, SafetensorError, TypeError, KeyError, ValueError, RuntimeError, ArithmeticError) as error:
        raise AssetError(f"'{path}' is no pocket prior: {error}") from error
    if not all(value.isfinite().all() for value in tensors.values()):
        raise AssetError(f"'{path}' holds weights that are no numbers; was its training cut short?")
    return network
