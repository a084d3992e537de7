"""The priors gambol knows: what each is, under which licence, what it needs, and the one way to open any of them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gambol.errors import GambolError
from gambol.priors.costs import PRIOR_COSTS, PriorCosts

if TYPE_CHECKING:
    from gambol.priors.prior import VideoPrior
    from gambol.priors.video_models.components import ClassNames
    from gambol.priors.video_models.latent_prior import LatentPrior

HALF, SINGLE = 2, 4
"""Bytes of a number."""


@dataclass(frozen=True)
class KnownPrior:
    """A prior with a name."""

    name: str
    licence: str
    """Licence as its model card states it; read it there before you rely on it."""
    hub: str | None
    """Where its weights are on the hub, and its card: https://huggingface.co/ and this. None: they come with gambol."""
    experts: int = 1
    """Networks that share the noise levels."""

    @property
    def costs(self) -> PriorCosts:
        """Memory and arithmetic that it needs."""
        return PRIOR_COSTS[self.name]

    @property
    def parameters(self) -> int:
        """Number of parameters of its network, or of all its experts."""
        return self.experts * self.costs.network

    def memory(self, offload: bool = False, encode: bool = True, number: int = HALF) -> int:
        """Most memory of a step of distillation (a guided call, and encoding a video with gradients), weights included,
        with numbers of so many bytes [bytes]. The text encoder is freed before; with `offload` only the part that works
        is there; without `encode` only the call is counted."""
        costs, scale = self.costs, number / HALF
        if self.hub is None:
            return SINGLE * costs.network + costs.call
        network, vae, text_encoder = number * costs.network, number * costs.vae, number * costs.text_encoder
        call, encoding = int(scale * costs.call), int(scale * costs.encode) if encode else 0
        if offload:
            return max(network + call, vae + encoding, text_encoder)
        return max(self.experts * network + vae + max(call, encoding), text_encoder)

    def weights(self, number: int = HALF) -> int:
        """All weights, with numbers of so many bytes: what there is to download, and to hold in main memory with
        `offload` [bytes]."""
        costs = self.costs
        return number * (self.experts * costs.network + costs.vae + costs.text_encoder)


COGVIDEOX_LICENCE = "CogVideoX License"
PRIORS = {
    prior.name: prior
    for prior in (
        KnownPrior("pixels", "Apache-2.0", None),
        KnownPrior("cogvideox-2b", "Apache-2.0", "zai-org/CogVideoX-2b"),
        KnownPrior("cogvideox-5b", COGVIDEOX_LICENCE, "zai-org/CogVideoX-5b"),
        KnownPrior("cogvideox-1.5-5b", COGVIDEOX_LICENCE, "zai-org/CogVideoX1.5-5B"),
        KnownPrior("wan-2.1-1.3b", "Apache-2.0", "Wan-AI/Wan2.1-T2V-1.3B-Diffusers"),
        KnownPrior("wan-2.1-14b", "Apache-2.0", "Wan-AI/Wan2.1-T2V-14B-Diffusers"),
        KnownPrior("wan-2.2-5b", "Apache-2.0", "Wan-AI/Wan2.2-TI2V-5B-Diffusers"),
        KnownPrior("wan-2.2-a14b", "Apache-2.0", "Wan-AI/Wan2.2-T2V-A14B-Diffusers", experts=2),
    )
}


def open_prior(name: str, weights: str | Path | None = None, **options) -> VideoPrior:
    """A prior by its name, by the folder of a model in the layout of diffusers, or by a hub id.

    weights: a file that `gambol train-prior` wrote, for the prior pixels. options: those of `VideoModelConfig`; pixels
    has none.
    """
    if name != "pixels":
        if weights is not None:
            raise GambolError(f"other weights are for the prior pixels alone, not for the prior {name}")
        return _open_video_model(name, options)
    if options:
        raise GambolError(f"the prior pixels has no option {sorted(options)[0]}")
    from gambol.priors.pixels.prior import PixelPrior

    return PixelPrior.load(None if weights is None else Path(weights))


def _open_video_model(name: str, options: dict) -> VideoPrior:
    from gambol.priors.video_models import model_folder
    from gambol.priors.video_models.components import VideoModelConfig, open_folder

    known = {field.name for field in dataclasses.fields(VideoModelConfig)}
    for option in options:
        if option not in known:
            raise GambolError(f"priors have no option {option}; there are {', '.join(sorted(known))}")
    config = VideoModelConfig(**options)
    place, families = Path(name).expanduser(), _families()
    fetched = name in PRIORS or not place.is_dir()
    if fetched:
        hub = PRIORS[name].hub if name in PRIORS else name
        if hub is None or not model_folder.is_hub_id(hub):
            raise GambolError(_unknown(name))
        model_folder.check_installed()
        place = model_folder.fetch(hub, families, config.download)
    pipeline = model_folder.check_pipeline(model_folder.read_index(place), place, families)
    model_folder.check_installed()
    classes, kind = families[pipeline]
    return kind(open_folder(place, classes, config, name if fetched else None), config)


def _families() -> dict[str, tuple[ClassNames, type[LatentPrior]]]:
    """What to load and what to make of it, by the pipeline a model was made for."""
    from gambol.priors.video_models import cogvideox, wan

    return {
        cogvideox.PIPELINE: (cogvideox.CLASSES, cogvideox.CogVideoXPrior),
        wan.PIPELINE: (wan.CLASSES, wan.WanPrior),
    }


def _unknown(name: str) -> str:
    if len(Path(name).parts) > 1:
        return f"the folder {name} does not exist"
    return f"there is no prior '{name}'; gambol knows {', '.join(PRIORS)}, or give a folder or a hub id"
