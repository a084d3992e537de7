"""Models of the real kinds and folder layouts, with random weights and a few thousand parameters."""

import json
from pathlib import Path

import pytest
import torch

diffusers = pytest.importorskip("diffusers")
for name in ("transformers", "accelerate", "sentencepiece", "google.protobuf", "ftfy"):
    pytest.importorskip(name)

import sentencepiece  # noqa: E402
from diffusers import (  # noqa: E402
    AutoencoderKLCogVideoX,
    AutoencoderKLWan,
    CogVideoXDDIMScheduler,
    CogVideoXDPMScheduler,
    CogVideoXImageToVideoPipeline,
    CogVideoXPipeline,
    CogVideoXTransformer3DModel,
    FlowMatchEulerDiscreteScheduler,
    WanImageToVideoPipeline,
    WanPipeline,
    WanTransformer3DModel,
    WanVACEPipeline,
    WanVACETransformer3DModel,
)
from transformers import T5Config, T5EncoderModel, T5Tokenizer, UMT5Config, UMT5EncoderModel  # noqa: E402

TEXT = "a fox walks over a meadow\nthe horse is trotting quickly\na small brown dog runs and jumps\nbirds fly & dance"
LENGTH = 32
"""Tokens CogVideoX reads here."""

diffusers.utils.logging.set_verbosity_error()
diffusers.utils.logging.disable_progress_bar()


def write_cogvideox(folder: Path, version: str) -> Path:
    """2b: places added; 5b: places turned, the other sampler; 1.5: latent frames by twos; i2v and 1.5-i2v: the last two
    for pictures."""
    torch.manual_seed(0)
    pictures = version.endswith("i2v")
    more = {"use_learned_positional_embeddings": True} if version == "i2v" else {}
    more |= {"ofs_embed_dim": 8} if version == "1.5-i2v" else {}
    later = {"patch_size_t": 2, "patch_bias": False, "sample_frames": 17, "sample_height": 12, "sample_width": 12}
    transformer = CogVideoXTransformer3DModel(
        num_attention_heads=2,
        attention_head_dim=16,
        num_layers=2,
        in_channels=8 if pictures else 4,
        out_channels=4,
        time_embed_dim=8,
        text_embed_dim=16,
        max_text_seq_length=LENGTH,
        use_rotary_positional_embeddings=version != "2b",
        **more,
        **(later if version.startswith("1.5") else {"sample_frames": 9, "sample_height": 4, "sample_width": 6}),
    )
    vae = AutoencoderKLCogVideoX(
        block_out_channels=(4, 4, 4, 4),
        norm_num_groups=2,
        layers_per_block=1,
        latent_channels=4,
        sample_height=96,
        sample_width=80,
        scaling_factor=1.15 if version == "2b" else 0.7,
        invert_scale_latents=version == "1.5-i2v",
    )
    sampler = CogVideoXDPMScheduler if version == "5b" else CogVideoXDDIMScheduler
    scheduler = sampler(
        prediction_type="v_prediction",
        rescale_betas_zero_snr=True,
        snr_shift_scale=3.0 if version == "2b" else 1.0,
        timestep_spacing="trailing",
        clip_sample=False,
    )
    tokenizer = _tokenizer(folder)
    text_encoder = T5EncoderModel(T5Config(**_text_settings(tokenizer)))
    parts = {"tokenizer": tokenizer, "text_encoder": text_encoder, "vae": vae, "transformer": transformer}
    kind = CogVideoXImageToVideoPipeline if pictures else CogVideoXPipeline
    kind(scheduler=scheduler, **parts).save_pretrained(folder)
    if version == "2b":
        _forget(folder / "transformer" / "config.json", "patch_size_t", "ofs_embed_dim", "patch_bias")
    _write_sentencepiece(folder / "tokenizer")  # as on the hub, not the tokenizer.json that is written today
    return folder


def write_wan(folder: Path, version: str) -> Path:
    """2.1; 5b: smaller latents, takes a picture; a14b: two experts; i2v: two experts for pictures; vace: 2.1
    with a control branch at two layers."""
    torch.manual_seed(0)
    small = {"patch_size": 2, "in_channels": 12, "out_channels": 12, "is_residual": True, "scale_factor_spatial": 16}
    vae = AutoencoderKLWan(
        base_dim=4,
        z_dim=4,
        dim_mult=[1, 2, 2, 2],
        num_res_blocks=1,
        temperal_downsample=[False, True, True],
        latents_mean=[0.1, -0.2, 0.3, 0.0],
        latents_std=[1.5, 0.5, 2.0, 1.0],
        **(small if version == "5b" else {}),
    )
    shape = {"num_attention_heads": 2, "attention_head_dim": 12, "num_layers": 2, "in_channels": 4, "out_channels": 4}
    shape |= {"text_dim": 16, "freq_dim": 16, "ffn_dim": 16}
    tokenizer = _tokenizer(folder)
    parts = {
        "tokenizer": tokenizer,
        "text_encoder": UMT5EncoderModel(UMT5Config(**_text_settings(tokenizer))),
        "vae": vae,
        "scheduler": FlowMatchEulerDiscreteScheduler(shift=3.0),
    }
    if version == "vace":
        control = {"vace_layers": [0, 2], "vace_in_channels": 2 * 4 + 8 * 8, **shape, "num_layers": 3}
        WanVACEPipeline(**parts, transformer=WanVACETransformer3DModel(**control)).save_pretrained(folder)
        return folder
    if version == "i2v":
        shape["in_channels"] = 2 * 4 + 4
        experts = {f"transformer{number}": WanTransformer3DModel(**shape) for number in ("", "_2")}
        WanImageToVideoPipeline(**parts, **experts, boundary_ratio=0.9).save_pretrained(folder)
        return folder
    WanPipeline(
        **parts,
        transformer=WanTransformer3DModel(**shape),
        transformer_2=WanTransformer3DModel(**shape) if version == "a14b" else None,
        boundary_ratio=0.875 if version == "a14b" else None,
        expand_timesteps=version == "5b",
    ).save_pretrained(folder)
    if version == "2.1":
        newer = ("patch_size", "is_residual", "in_channels", "out_channels", "decoder_base_dim")
        _forget(folder / "vae" / "config.json", "scale_factor_spatial", "scale_factor_temporal", *newer)
        _forget(folder / "model_index.json", "transformer_2", "boundary_ratio", "expand_timesteps")
    return folder


def _forget(path: Path, *names: str) -> None:
    """Options that the model on the hub does not name, as it is older than they are."""
    content = json.loads(path.read_text())
    for name in names:
        del content[name]
    path.write_text(json.dumps(content))


def _text_settings(tokenizer: T5Tokenizer) -> dict:
    real = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
    return {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2, "vocab_size": len(tokenizer), **real}


def _tokenizer(folder: Path) -> T5Tokenizer:
    made = folder / "made-tokenizer"
    _write_sentencepiece(made)
    tokenizer = T5Tokenizer.from_pretrained(made)
    for file in made.iterdir():
        file.unlink()
    made.rmdir()
    return tokenizer


def _write_sentencepiece(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        file.unlink()
    with (folder / "spiece.model").open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(TEXT.splitlines()),
            model_writer=file,
            vocab_size=60,
            hard_vocab_limit=False,
            pad_id=0,
            eos_id=1,
            unk_id=2,
            bos_id=-1,
            minloglevel=2,
        )
    about = {"tokenizer_class": "T5Tokenizer", "extra_ids": 0, "model_max_length": LENGTH}
    about |= {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(about))


def directional(function, video: torch.Tensor, direction: torch.Tensor, step: float = 1e-6) -> float:
    """Central difference of a number along a direction."""
    with torch.no_grad():
        return float(function(video + step * direction) - function(video - step * direction)) / (2 * step)
