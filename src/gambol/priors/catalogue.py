"""The priors gambol knows: what each is, under which licence, what it needs, and the one way to open any of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gambol.errors import GambolError
from gambol.priors.pixels.stage import Stage

if TYPE_CHECKING:
    from gambol.priors.prior import GuideRole, Prior, VideoPrior
    from gambol.priors.video_models.components import ClassNames
    from gambol.priors.video_models.latent_prior import LatentPrior


@dataclass(frozen=True)
class KnownPrior:
    """A prior with a name, and what it needs, as `benchmarks/video_model_costs.py` counts it in bfloat16, at the size
    and length it was trained on."""

    name: str
    licence: str
    """Licence as its model card states it; read it there before you rely on it."""
    hub: str | None
    """Where its weights are on the hub, and its card: https://huggingface.co/ and this. None: they come with gambol."""
    parameters: float
    """Number of parameters of its network, or of all its experts [millions]."""
    video: tuple[int, int, int] | None
    """Frames, width and height of the videos it was trained on [pixels]; None if it sees no videos."""
    memory: float
    """Memory of a step of distillation (a guided call, and encoding a video with gradients), weights included [GiB]."""
    offloaded: float
    """GPU memory of that step if only the part that works is on the GPU [GiB]."""
    weights: float
    """Size of all weights: what there is to download, and to hold in main memory with `offload` [GiB]."""
    call: float
    """Arithmetic of a guided call [TFLOP]."""
    guides: tuple[GuideRole, ...] = ("start",)
    """How a motion can guide it, as `Prior.guides`."""


COGVIDEOX_LICENCE = "CogVideoX License"
# fmt: off
_ROWS = (
    # name, licence, where; millions of parameters, video, GiB, with offload, of weights, TFLOP
    ("tracks", "Apache-2.0", None, 5.73, None, 0.0, 0.0, 0.0, 0.001),
    ("pixels", "Apache-2.0", None, 4.15, (16, 60, 60), 0.0, 0.0, 0.0, 0.003),
    ("pixels-ground", "Apache-2.0", None, 4.15, (16, 60, 60), 0.0, 0.0, 0.0, 0.003),
    ("pixels-shadow", "Apache-2.0", None, 4.15, (16, 60, 60), 0.0, 0.0, 0.0, 0.003),
    ("cogvideox-2b", "Apache-2.0", "zai-org/CogVideoX-2b", 1694, (49, 720, 480), 20.9, 17.8, 12.4, 240),
    ("cogvideox-5b", COGVIDEOX_LICENCE, "zai-org/CogVideoX-5b", 5570, (49, 720, 480), 28.1, 17.8, 19.6, 664),
    ("cogvideox-1.5-5b", COGVIDEOX_LICENCE, "zai-org/CogVideoX1.5-5B", 5571, (81, 1360, 768), 76.4, 66.0, 19.6, 2958),
    ("wan-2.1-1.3b", "Apache-2.0", "Wan-AI/Wan2.1-T2V-1.3B-Diffusers", 1419, (81, 832, 480), 23.3, 20.7, 13.5, 566),
    ("wan-2.1-14b", "Apache-2.0", "Wan-AI/Wan2.1-T2V-14B-Diffusers", 14288, (81, 832, 480), 47.3, 33.6, 37.4, 3357),
    ("wan-vace-1.3b", "Apache-2.0", "Wan-AI/Wan2.1-VACE-1.3B-diffusers", 2154, (81, 832, 480), 26.7, 22.7, 14.8, 854),
    ("wan-vace-14b", "Apache-2.0", "Wan-AI/Wan2.1-VACE-14B-diffusers", 17338, (81, 832, 480), 55.0, 44.9, 43.1, 4059),
    ("wan-2.2-5b", "Apache-2.0", "Wan-AI/Wan2.2-TI2V-5B-Diffusers", 5000, (121, 1280, 704), 33.6, 24.3, 21.2, 1034),
    ("wan-2.2-a14b", "Apache-2.0", "Wan-AI/Wan2.2-T2V-A14B-Diffusers", 28577, (81, 832, 480), 73.9, 33.6, 64.0, 3357),
)
# fmt: on
_GUIDES: dict[str, tuple[GuideRole, ...]] = {
    "wan-vace-1.3b": ("start", "first-frame", "control"),
    "wan-vace-14b": ("start", "first-frame", "control"),
    "wan-2.2-5b": ("start", "first-frame"),
}
PRIORS = {row[0]: replace(KnownPrior(*row), guides=_GUIDES.get(row[0], ("start",))) for row in _ROWS}
DEFAULT = "tracks"
"""The prior that is used if nobody chooses one."""
PAPER_DEFAULT = "pixels"
"""The same for the preset 'paper', which distills a video model."""
PIXELS: Mapping[str, Stage] = {"pixels": "none", "pixels-ground": "ground", "pixels-shadow": "shadow"}
"""The small video model by where it sees figures: in place, or travelling over a ground, without and with a shadow."""
BUILT_IN = (DEFAULT, *PIXELS)
"""gambol's own priors, whose weights come with it."""


def guided_by(role: GuideRole) -> list[str]:
    """Names of the priors that a motion can guide in a role."""
    return [name for name, prior in PRIORS.items() if role in prior.guides]


def open_prior(name: str, weights: str | Path | None = None, **options) -> Prior:
    """A prior by its name, by the folder of a model in the layout of diffusers, or by a hub id.

    weights: a file that `gambol train-prior` wrote, for gambol's own priors. options: those of `VideoModelConfig`;
    gambol's own have none.
    """
    if name not in BUILT_IN:
        if weights is not None:
            raise GambolError(f"other weights are for gambol's own priors alone, not for the prior {name}")
        return _open_video_model(name, options)
    if options:
        raise GambolError(f"the prior {name} has no option {sorted(options)[0]}")
    if name == "tracks":
        from gambol.priors.tracks.prior import TrackPrior

        return TrackPrior.load(None if weights is None else Path(weights))
    from gambol.priors.pixels.prior import PixelPrior

    return PixelPrior.load(None if weights is None else Path(weights), PIXELS[name])


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
    from gambol.priors.video_models import cogvideox, cogvideox_image, wan, wan_image, wan_vace

    return {
        cogvideox.PIPELINE: (cogvideox.CLASSES, cogvideox.CogVideoXPrior),
        wan.PIPELINE: (wan.CLASSES, wan.WanPrior),
        cogvideox_image.PIPELINE: (cogvideox.CLASSES, cogvideox_image.CogVideoXImagePrior),
        wan_image.PIPELINE: (wan.CLASSES, wan_image.WanImagePrior),
        wan_vace.PIPELINE: (wan_vace.CLASSES, wan_vace.WanVACEPrior),
    }


def _unknown(name: str) -> str:
    if len(Path(name).parts) > 1:
        return f"the folder {name} does not exist"
    return f"there is no prior '{name}'; gambol knows {', '.join(PRIORS)}, or give a folder or a hub id"
