"""The configuration files of the public video models, as far as shapes depend on them. `video_model_costs.py` and the
tests build the models from them at full size without any weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gambol.priors.prior import VideoFormat
from gambol.priors.video_models.cogvideox import cogvideox_format
from gambol.priors.video_models.wan import wan_format

T5_XXL = {
    "d_model": 4096,
    "d_kv": 64,
    "d_ff": 10240,
    "num_layers": 24,
    "num_heads": 64,
    "vocab_size": 32128,
    "feed_forward_proj": "gated-gelu",
    "tie_word_embeddings": False,
}
UMT5_XXL = {**T5_XXL, "vocab_size": 256384}


@dataclass(frozen=True)
class VideoModel:
    """The configuration of a public model."""

    family: Literal["cogvideox", "wan", "wan-vace"]
    transformer: Mapping[str, Any]
    vae: Mapping[str, Any]
    text_encoder: Mapping[str, Any]
    scheduler: Mapping[str, Any] = field(default_factory=dict)
    index: Mapping[str, Any] = field(default_factory=dict)
    experts: int = 1
    """Number of networks of this shape that share the noise levels."""

    @property
    def format(self) -> VideoFormat:
        """The videos that the model takes."""
        find = cogvideox_format if self.family == "cogvideox" else wan_format
        return find(self.transformer, self.vae)


def _cogvideox(heads: int, layers: int, scale: float, shift: float, **transformer) -> VideoModel:
    return VideoModel(
        "cogvideox",
        transformer={
            "num_attention_heads": heads,
            "num_layers": layers,
            "attention_head_dim": 64,
            "in_channels": 16,
            "out_channels": 16,
            "text_embed_dim": 4096,
            "time_embed_dim": 512,
            "max_text_seq_length": 226,
            "patch_size": 2,
            "patch_size_t": None,
            "sample_frames": 49,
            "sample_height": 60,
            "sample_width": 90,
            "use_rotary_positional_embeddings": True,
            **transformer,
        },
        vae={
            "block_out_channels": (128, 256, 256, 512),
            "latent_channels": 16,
            "layers_per_block": 3,
            "temporal_compression_ratio": 4,
            "scaling_factor": scale,
        },
        text_encoder=T5_XXL,
        scheduler={
            "beta_start": 0.00085,
            "beta_end": 0.012,
            "beta_schedule": "scaled_linear",
            "prediction_type": "v_prediction",
            "rescale_betas_zero_snr": True,
            "snr_shift_scale": shift,
            "timestep_spacing": "trailing",
        },
    )


def _numbers(text: str) -> list[float]:
    return [float(number) for number in text.split()]


WAN_21_VAE = {
    "base_dim": 96,
    "z_dim": 16,
    "dim_mult": [1, 2, 4, 4],
    "num_res_blocks": 2,
    "temperal_downsample": [False, True, True],
    "scale_factor_spatial": 8,
    "latents_mean": _numbers(
        "-0.7571 -0.7089 -0.9113 0.1075 -0.1745 0.9653 -0.1517 1.5508 0.4134 -0.0715 0.5517 -0.3632 "
        "-0.1922 -0.9497 0.2503 -0.2921"
    ),
    "latents_std": _numbers(
        "2.8184 1.4541 2.3275 2.6558 1.2196 1.7708 2.6052 2.0743 3.2687 2.1526 2.8652 1.5579 1.6382 1.1253 2.8251 1.916"
    ),
}
WAN_22_VAE = {
    "base_dim": 160,
    "decoder_base_dim": 256,
    "z_dim": 48,
    "dim_mult": [1, 2, 4, 4],
    "num_res_blocks": 2,
    "temperal_downsample": [False, True, True],
    "is_residual": True,
    "in_channels": 12,
    "out_channels": 12,
    "patch_size": 2,
    "scale_factor_spatial": 16,
    "latents_mean": _numbers(
        "-0.2289 -0.0052 -0.1323 -0.2339 -0.2799 0.0174 0.1838 0.1557 -0.1382 0.0542 0.2813 0.0891 0.157 "
        "-0.0098 0.0375 -0.1825 -0.2246 -0.1207 -0.0698 0.5109 0.2665 -0.2108 -0.2158 0.2502 -0.2055 "
        "-0.0322 0.1109 0.1567 -0.0729 0.0899 -0.2799 -0.123 -0.0313 -0.1649 0.0117 0.0723 -0.2839 "
        "-0.2083 -0.052 0.3748 0.0152 0.1957 0.1433 -0.2944 0.3573 -0.0548 -0.1681 -0.0667"
    ),
    "latents_std": _numbers(
        "0.4765 1.0364 0.4514 1.1677 0.5313 0.499 0.4818 0.5013 0.8158 1.0344 0.5894 1.0901 0.6885 0.6165 "
        "0.8454 0.4978 0.5759 0.3523 0.7135 0.6804 0.5833 1.4146 0.8986 0.5659 0.7069 0.5338 0.4889 "
        "0.4917 0.4069 0.4999 0.6866 0.4093 0.5709 0.6065 0.6415 0.4944 0.5726 1.2042 0.5458 1.6887 "
        "0.3971 1.06 0.3943 0.5537 0.5444 0.4089 0.7468 0.7744"
    ),
}


def _wan(
    heads: int, layers: int, hidden: int, vae: Mapping[str, Any] = WAN_21_VAE, every: int | None = None, **rest
) -> VideoModel:
    """every: distance of the layers to which the control branch of a VACE adds; None: it has none."""
    channels = vae["z_dim"]
    branch = {"vace_layers": list(range(0, layers, every)), "vace_in_channels": 2 * channels + 64} if every else {}
    return VideoModel(
        "wan-vace" if every else "wan",
        transformer={
            "num_attention_heads": heads,
            "num_layers": layers,
            "ffn_dim": hidden,
            "attention_head_dim": 128,
            "in_channels": channels,
            "out_channels": channels,
            "text_dim": 4096,
            "freq_dim": 256,
            "patch_size": (1, 2, 2),
            "cross_attn_norm": True,
            "rope_max_seq_len": 1024,
            **branch,
        },
        vae=vae,
        text_encoder=UMT5_XXL,
        **rest,
    )


VIDEO_MODELS = {
    "cogvideox-2b": _cogvideox(30, 30, 1.15258426, 3.0, use_rotary_positional_embeddings=False),
    "cogvideox-5b": _cogvideox(48, 42, 0.7, 1.0),
    "cogvideox-1.5-5b": _cogvideox(
        48, 42, 0.7, 1.0, patch_size_t=2, patch_bias=False, sample_frames=81, sample_height=300, sample_width=300
    ),
    "wan-2.1-1.3b": _wan(12, 30, 8960),
    "wan-2.1-14b": _wan(40, 40, 13824),
    "wan-vace-1.3b": _wan(12, 30, 8960, every=2),
    "wan-vace-14b": _wan(40, 40, 13824, every=5),
    "wan-2.2-5b": _wan(24, 30, 14336, WAN_22_VAE, index={"expand_timesteps": True}),
    "wan-2.2-a14b": _wan(40, 40, 13824, index={"boundary_ratio": 0.875}, experts=2),
}
