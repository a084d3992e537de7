"""Size, memory and arithmetic of the known priors, as printed by `python benchmarks/video_model_costs.py`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PriorCosts:
    """What a model needs for one video of the length and size it was trained on, in bfloat16."""

    frames: int
    """Length of the video [frames]."""
    height: int
    """Height of the video [pixels]."""
    width: int
    """Width of the video [pixels]."""
    fps: float
    """Frames a second of the video; 0 if a video is one cycle, however long that takes."""
    network: int
    """Number of parameters of the network; of each one if there are two experts."""
    vae: int
    """Number of parameters of the video autoencoder."""
    text_encoder: int
    """Number of parameters of the text encoder."""
    call: int
    """Peak memory of a guided call (two prompts in one batch) beside the weights [bytes]."""
    call_flop: int
    """Arithmetic of that call [FLOP]; a multiplication and an addition are two."""
    encode: int
    """Peak memory of encoding the video and of the backward pass to its pixels, beside the weights [bytes]."""
    encode_flop: int
    """Arithmetic of encoding and of its backward pass [FLOP]."""


# fmt: off
# Two lines each: the video and the numbers of parameters; the call and the encoding.
PRIOR_COSTS: dict[str, PriorCosts] = {
    "cogvideox-2b": PriorCosts(
        49, 480, 720, 8.0, 1_693_783_872, 215_583_907, 4_762_310_656,
        1_654_218_536, 239_994_622_836_736, 18_641_318_656, 603_913_715_712_000,
    ),
    "cogvideox-5b": PriorCosts(
        49, 480, 720, 8.0, 5_570_283_072, 215_583_907, 4_762_310_656,
        2_843_388_200, 664_395_424_202_752, 18_641_318_656, 603_913_715_712_000,
    ),
    "cogvideox-1.5-5b": PriorCosts(
        81, 768, 1360, 16.0, 5_570_676_352, 215_583_907, 4_762_310_656,
        7_250_913_320, 2_958_361_276_383_232, 70_411_530_496, 3_156_687_150_120_960,
    ),
    "wan-2.1-1.3b": PriorCosts(
        81, 480, 832, 16.0, 1_418_996_800, 126_892_531, 5_680_910_336,
        3_219_512_352, 566_003_575_554_048, 21_980_001_936, 608_573_343_006_720,
    ),
    "wan-2.1-14b": PriorCosts(
        81, 480, 832, 16.0, 14_288_491_584, 126_892_531, 5_680_910_336,
        7_475_184_608, 3_356_740_566_384_640, 21_980_001_936, 608_573_343_006_720,
    ),
    "wan-2.2-5b": PriorCosts(
        121, 704, 1280, 24.0, 4_999_787_712, 704_688_668, 5_680_910_336,
        4_552_218_656, 1_034_015_518_752_768, 24_714_821_952, 1_443_740_098_887_680,
    ),
    "wan-2.2-a14b": PriorCosts(
        81, 480, 832, 16.0, 14_288_491_584, 126_892_531, 5_680_910_336,
        7_475_184_608, 3_356_740_566_384_640, 21_980_001_936, 608_573_343_006_720,
    ),
    "pixels": PriorCosts(
        16, 60, 60, 0.0, 4_150_294, 0, 0,
        6_962_960, 3_062_784_640, 0, 0,
    ),
}
# fmt: on
