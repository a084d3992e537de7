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
}
