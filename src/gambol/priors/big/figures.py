"""What the public models cost, as counted by `python -m gambol.priors.big.costs`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Costs:
    """Of a model at the size and length it was trained on, one video at a time, in bfloat16."""

    network: int
    """Parameters of its network, of each if there are two."""
    vae: int
    """Parameters of its video autoencoder."""
    text_encoder: int
    """Parameters of its text encoder."""
    call: int
    """Most memory that a guided call (two prompts, together) holds beside the weights [bytes]."""
    call_flop: int
    """Arithmetic of that call; a multiplication and an addition are two."""
    encode: int
    """Most memory that encoding, with gradients to the pixels, holds beside the weights [bytes]."""
    encode_flop: int
    """Arithmetic of that, there and back."""


FIGURES: dict[str, Costs] = {
    "cogvideox-2b": Costs(
        network=1_693_783_872,
        vae=215_583_907,
        text_encoder=4_762_310_656,
        call=1_654_218_536,
        call_flop=239_994_622_836_736,
        encode=18_641_318_656,
        encode_flop=603_913_715_712_000,
    ),
    "cogvideox-5b": Costs(
        network=5_570_283_072,
        vae=215_583_907,
        text_encoder=4_762_310_656,
        call=2_843_388_200,
        call_flop=664_395_424_202_752,
        encode=18_641_318_656,
        encode_flop=603_913_715_712_000,
    ),
    "cogvideox-1.5-5b": Costs(
        network=5_570_676_352,
        vae=215_583_907,
        text_encoder=4_762_310_656,
        call=7_250_913_320,
        call_flop=2_958_361_276_383_232,
        encode=70_411_530_496,
        encode_flop=3_156_687_150_120_960,
    ),
    "wan-2.1-1.3b": Costs(
        network=1_418_996_800,
        vae=126_892_531,
        text_encoder=5_680_910_336,
        call=3_219_512_352,
        call_flop=566_003_575_554_048,
        encode=21_980_001_936,
        encode_flop=608_573_343_006_720,
    ),
    "wan-2.1-14b": Costs(
        network=14_288_491_584,
        vae=126_892_531,
        text_encoder=5_680_910_336,
        call=7_475_184_608,
        call_flop=3_356_740_566_384_640,
        encode=21_980_001_936,
        encode_flop=608_573_343_006_720,
    ),
    "wan-2.2-5b": Costs(
        network=4_999_787_712,
        vae=704_688_668,
        text_encoder=5_680_910_336,
        call=4_552_218_656,
        call_flop=1_034_015_518_752_768,
        encode=24_714_821_952,
        encode_flop=1_443_740_098_887_680,
    ),
    "wan-2.2-a14b": Costs(
        network=14_288_491_584,
        vae=126_892_531,
        text_encoder=5_680_910_336,
        call=7_475_184_608,
        call_flop=3_356_740_566_384_640,
        encode=21_980_001_936,
        encode_flop=608_573_343_006_720,
    ),
    "pocket": Costs(
        network=4_150_294,
        vae=0,
        text_encoder=0,
        call=6_962_960,
        call_flop=3_062_784_640,
        encode=0,
        encode_flop=0,
    ),
}
