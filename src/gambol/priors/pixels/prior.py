"""The pixel prior: a video diffusion model of 8 MB that knows how stick figures move, and runs on any CPU."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from importlib.resources import files
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.character.rig import Rig
from gambol.errors import AssetError, GambolError
from gambol.jsonable import from_json, parse_json
from gambol.language import require_intent
from gambol.motion.contacts import Contacts
from gambol.motion.optimization import threads
from gambol.motion.rig_motion import RigMotion
from gambol.parallel import run, shares, workers
from gambol.priors.pixels.actions import PIXEL_ACTIONS
from gambol.priors.pixels.data.cycle import FRAMES
from gambol.priors.pixels.figure import draw_stick_figure, scaled, unscaled
from gambol.priors.pixels.network import (
    NetworkConfig,
    PixelNetwork,
    action_embedding,
    prompt_embedding,
    set_action_embedding,
)
from gambol.priors.pixels.stage import Stage
from gambol.priors.pixels.views import StickViews
from gambol.priors.prior import Control, Prompt, SamplingPreset, VideoFormat, VideoPrior
from gambol.priors.schedule import FlowSchedule
from gambol.priors.views import ClipVideos
from gambol.render.cache import fingerprint
from gambol.tensor_files import read_tensors, write_tensors

Videos = Float[Tensor, "batch frames height width 3"]


PRESETS = {
    "draft": SamplingPreset(views=4, steps=1, fit_steps=60, fit_lr=0.05),
    "standard": SamplingPreset(views=6, steps=1, fit_steps=200, fit_lr=0.06),
}


class PixelPrior(VideoPrior):
    """Knows the actions that its weights were trained on as videos of stick figures (`figure`), one cycle each."""

    name = "pixels"
    reference = "rest"
    vocabulary = tuple(PIXEL_ACTIONS)
    in_place = True
    presets = PRESETS
    stage: Stage = "none"
    """Where it sees figures."""

    def __init__(self, network: PixelNetwork, stage: Stage = "none"):
        """stage: one of those that the network was trained on."""
        if stage not in network.stages:
            known = " and ".join(f"'{each}'" for each in network.stages)
            raise GambolError(f"these weights know figures on the stages {known} only, not on '{stage}'")
        self.name = "pixels" if stage == "none" else f"pixels-{stage}"
        self.stage, self.in_place = stage, stage == "none"
        self.network = network.eval().requires_grad_(False)
        self.vocabulary = network.actions
        size = network.config.size
        self.format = VideoFormat(frames=(FRAMES,), sizes=((size, size),), fps=0)
        self.schedule = FlowSchedule()

    @staticmethod
    def load(path: Path | None = None, stage: Stage = "none") -> PixelPrior:
        """Read the prior from a file that `save_network` wrote, by default the one that comes with gambol."""
        return PixelPrior(load_network(path or shipped(stage)), stage)

    def embed(self, text: str) -> Prompt:
        """The action and the pace a sentence speaks of, or the more general action that the prior knows. The empty
        sentence says nothing; one without any action that the prior knows is refused."""
        if not text.strip():
            return Prompt(text, prompt_embedding(None))
        intent = require_intent(text, self.vocabulary)
        return Prompt(text, prompt_embedding(intent.action, intent.pace), intent.note)

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
        control: Control | None = None,
    ) -> tuple[Videos, ...]:
        if control is not None:
            raise ValueError(f"{self.name} has no control branch")
        self.format.check(*noisy.shape[1:4])
        count, batch = len(prompts), len(noisy)
        levels = torch.as_tensor(level, dtype=torch.float32, device=noisy.device).expand(batch).repeat(count)
        words = torch.stack([prompt.embedding for prompt in prompts]).to(noisy).repeat_interleave(batch, 0)
        rest = torch.zeros_like(noisy[:, 0]) if reference is None else scaled(reference.to(noisy))
        many = noisy.repeat(count, *[1] * (noisy.ndim - 1))
        clean = self._on_all_cores(many, levels, words, rest.repeat(count, 1, 1, 1))
        return clean.unflatten(0, (count, batch)).unbind(0)

    def views(self, character: Character, anatomy: Anatomy, rig: Rig, start: RigMotion, count: int) -> StickViews:
        return StickViews(draw_stick_figure(anatomy), count, self.format.sizes[0][0], self.stage)

    def clip_videos(self, character: Character, anatomy: Anatomy, clip: Clip, contacts: Contacts) -> ClipVideos | None:
        from gambol.priors.pixels.clip_videos import clip_videos

        return clip_videos(self, character, anatomy, clip, contacts)

    def fingerprint(self) -> str:
        weights = self.network.state_dict()
        return fingerprint(part for name in sorted(weights) for part in (name, weights[name].cpu().numpy()))

    def _on_all_cores(self, *inputs: Tensor) -> Videos:
        """The network's answer, each thread working on some of the videos: torch's own threads share every operation
        instead, and on such small ones spend half of their time waiting for each other."""
        parts = shares(len(inputs[0]), workers())
        answers: list[Videos] = [inputs[0]] * len(parts)

        @torch.no_grad()
        def answer(number: int) -> None:
            answers[number] = self.network(*(tensor[parts[number]] for tensor in inputs))

        with threads(1):
            run([partial(answer, number) for number in range(len(parts))])
        return torch.cat(answers)


def shipped(stage: Stage = "none") -> Path:
    """The weights that come with gambol."""
    return Path(str(files("gambol.priors.pixels") / ("weights" if stage == "none" else "ground")) + ".safetensors")


def save_network(network: PixelNetwork, path: Path, facts: dict | None = None) -> None:
    """Weights in half precision, with the shape of the network, the actions that it knows and how it was trained."""
    state = {**network.state_dict(), "action": action_embedding(network)}
    tensors = {name: value.detach().half().contiguous() for name, value in state.items()}
    about = {"network": asdict(network.config), "actions": network.actions, "stages": network.stages}
    about["facts"] = facts or {}
    write_tensors(path, tensors, {name: json.dumps(value) for name, value in about.items()})


def load_network(path: Path) -> PixelNetwork:
    """The network that `save_network` wrote; sizes are checked before anything is built from them."""
    tensors, facts = read_tensors(path)
    try:
        config = from_json(NetworkConfig, parse_json(facts["network"]), "network")
        if "actions" not in facts:
            raise ValueError("it does not say which actions it was trained on")
        actions = from_json(tuple[str, ...], parse_json(facts["actions"]), "actions")
        stages = from_json(tuple[Stage, ...], parse_json(facts.get("stages", '["none"]')), "stages")
        with torch.device("meta"):  # takes no memory
            shapes = {name: value.shape for name, value in PixelNetwork(config).state_dict().items()}
        if shapes | {"action": tensors["action"].shape} != {name: value.shape for name, value in tensors.items()}:
            raise ValueError("its tensors have other shapes than its header says")
        tensors = {name: value.float() for name, value in tensors.items()}
        network = PixelNetwork(config)
        set_action_embedding(network, actions, tensors["action"])
        network.stages = stages
        network.load_state_dict({**tensors, "action": network.action.detach()})
    except (GambolError, TypeError, KeyError, ValueError, RuntimeError, ArithmeticError) as error:
        raise AssetError(f"'{path}' holds no weights of the prior pixels: {error}") from error
    if not all(value.isfinite().all() for value in tensors.values()):
        raise AssetError(f"'{path}' holds NaN or infinite weights; train it again")
    return network
