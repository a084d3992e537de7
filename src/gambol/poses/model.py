"""The pose model: one diffusion model of the poses of all rigs, its weights, and what it does with one rig.

Poses are noised as by rectified flow, x_t = (1 - t) x + t n, and the network estimates x. Steps from one level to
another are those of DDIM with eta 0, in either direction, so that any pose can be turned into noise and back.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.errors import AssetError
from gambol.poses.network import PoseNetwork, PoseNetworkConfig, Rigs, collated
from gambol.poses.pose_skeleton import KINDS, PoseSkeleton
from gambol.poses.poses import MIRROR, Poses
from gambol.tensor_files import checksum, read_tensors, write_tensors

Numbers = Float[Tensor, "poses tokens 3"]
"""Poses, normalised or noisy: the body first, then the joints."""
LESS = {"digit": 0.3, "loose": 0.3}
"""Weights of joints that are many and matter little."""
LOWEST = 0.05
"""Level at which an inversion begins: a clean pose there stands for one whose noise happens to be none. The lower, the
more an error of the estimate counts as noise: artists' poses of eight characters come back with a mean error of 2.3
degrees from 0.03, 1.0 from 0.05 and 1.4 from 0.08."""


@dataclass(frozen=True, eq=False)
class UsualErrors:
    """How far usual poses are from a model's estimates of them (`gambol.poses.plausibility`): those of families that
    were left out of its training or, without any, those it was trained on."""

    squares: Float[Tensor, "levels kinds"]
    """Mean squared distance by noise level and kind of joint, the height last [deviations squared]."""
    quantiles: Float[Tensor, " knots"]
    """Evenly spaced quantiles of the implausibility of poses, from the least to the greatest."""


class PoseModel:
    """A network with what its numbers mean."""

    def __init__(
        self,
        network: PoseNetwork,
        deviations: Float[Tensor, " kinds"],
        actions: tuple[str, ...],
        usual: UsualErrors | None = None,
    ):
        """deviations: of the turns of each kind of joint [rad], and last of the height [leg lengths]. actions: names of
        the rows of the network's embedding, the first of which stands for any. usual: None if that was not measured."""
        self.network, self.deviations, self.actions, self.usual = network.eval(), deviations, actions, usual
        for parameter in network.parameters():
            parameter.requires_grad_(False)

    @staticmethod
    def load(path: Path | None = None) -> PoseModel:
        """Read weights that `save` wrote, by default those that come with gambol."""
        path = path or shipped()
        tensors, facts = read_tensors(path)
        try:
            network = PoseNetwork(PoseNetworkConfig(**json.loads(facts["network"])))
            network.load_state_dict({n[8:]: v.float() for n, v in tensors.items() if n.startswith("network.")})
            usual = None
            if "usual.squares" in tensors:
                usual = UsualErrors(tensors["usual.squares"].float(), tensors["usual.quantiles"].float())
            return PoseModel(network, tensors["deviations"], tuple(json.loads(facts["actions"])), usual)
        except (LookupError, TypeError, ValueError, RuntimeError) as error:
            raise AssetError(f"'{path}' holds no weights of a pose model: {error}") from None

    def save(self, path: Path, about: dict[str, object]) -> None:
        """Write the weights in half precision. about: how they were trained."""
        facts = {
            "network": json.dumps(asdict(self.network.config)),
            "actions": json.dumps(self.actions),
            "about": json.dumps(about),
        }
        tensors = {f"network.{name}": value.half() for name, value in self.network.state_dict().items()}
        if self.usual is not None:
            tensors |= {"usual.squares": self.usual.squares, "usual.quantiles": self.usual.quantiles}
        write_tensors(path, tensors | {"deviations": self.deviations}, facts)

    def fingerprint(self) -> str:
        """A hash of everything that estimates depend on."""
        return checksum({**self.network.state_dict(), "deviations": self.deviations}, {})[:32]

    def scale(self, kinds: Tensor) -> Float[Tensor, "*rigs tokens 1"]:
        """By what the numbers of each token are divided."""
        return scale_of(self.deviations, kinds)


def scale_of(deviations: Float[Tensor, " kinds"], kinds: Tensor) -> Float[Tensor, "*rigs tokens 1"]:
    """By what the numbers of each token are divided: the body first. kinds: of the joints."""
    return torch.cat([deviations[-1:].expand(*kinds.shape[:-1], 1), deviations[kinds]], -1)[..., None]


def weights_of(kinds: Tensor) -> Float[Tensor, "*rigs tokens"]:
    """How much each token counts in errors of poses: the body first. kinds: of the joints."""
    matters = torch.tensor([LESS.get(kind, 1.0) for kind in KINDS])
    return torch.nn.functional.pad(matters[kinds], (1, 0), value=1.0)


def squared_error(
    found: Float[Tensor, "*poses tokens 3"], clean: Float[Tensor, "*poses tokens 3"]
) -> Float[Tensor, "*poses tokens"]:
    """Mean squared distance of the numbers of each token; the body has one, its height."""
    error = (found - clean).square()
    return torch.cat([error[..., :1, 0], error[..., 1:, :].mean(-1)], -1)


def shipped() -> Path:
    """The weights that come with gambol."""
    return Path(str(files("gambol.poses") / "weights.safetensors"))


def deviations_of(squares: Float[Tensor, " kinds"], least: float = 0.05) -> Float[Tensor, " kinds"]:
    """Deviations from mean squares, by kind of joint and at last of the height."""
    if len(squares) != len(KINDS) + 1:
        raise ValueError(f"there are {len(KINDS) + 1} deviations, got {len(squares)}")
    return squares.sqrt().clamp(min=least)


@dataclass(frozen=True, eq=False)
class RigPoses:
    """The pose model for one rig."""

    model: PoseModel
    skeleton: PoseSkeleton

    @cached_property
    def scale(self) -> Float[Tensor, "tokens 1"]:
        return self.model.scale(self.skeleton.kinds)

    @cached_property
    def _rigs(self) -> Rigs:
        """The rig and its mirror image."""
        return collated([self.skeleton, self.skeleton.mirrored()])

    def encode(self, poses: Poses) -> Numbers:
        return poses.numbers / self.scale

    def decode(self, numbers: Numbers) -> Poses:
        return Poses.of_numbers(numbers * self.scale)

    @torch.no_grad()
    def clean(self, noisy: Numbers, level: float, action: int = 0, guidance: float = 1.0) -> Numbers:
        """The poses that noisy ones come from, with classifier-free guidance away from any action.

        The mean of the estimate for the rig and that for its mirror image, mirrored back: mirrored poses of a symmetric
        rig have exactly mirrored estimates.
        """
        found = [
            self._clean(noisy, level, each) for each in ([action] if guidance == 1.0 or not action else [action, 0])
        ]
        return found[0] if len(found) == 1 else found[1] + guidance * (found[0] - found[1])

    def _clean(self, noisy: Numbers, level: float, action: int) -> Numbers:
        flip = torch.tensor(MIRROR)
        both = torch.stack([noisy, noisy * flip])
        levels = torch.full(both.shape[:2], float(level))
        found, image = self.model.network(both, levels, torch.full(both.shape[:2], action), self._rigs).float()
        return (found + image * flip) / 2

    def noise(self, count: int, generator: torch.Generator) -> Numbers:
        return torch.randn(count, len(self.skeleton) + 1, 3, generator=generator)

    def sample(
        self, noise: Numbers, steps: int = 20, action: int = 0, guidance: float = 1.0, level: float = 1.0
    ) -> Numbers:
        """Clean poses from noisy ones of a level, by even steps."""
        for here, there in pairwise(level * (1 - index / steps) for index in range(steps + 1)):
            noise = moved(noise, self.clean(noise, here, action, guidance), here, there)
        return noise

    def invert(self, clean: Numbers, steps: int = 20, level: float = 1.0, repeats: int = 2) -> Numbers:
        """The noisy poses of a level from which `restore` makes about these. repeats: of each step, which is implicit,
        so that it undoes one of `restore`."""
        noisy = (1 - LOWEST) * clean
        for here, there in pairwise(_levels(steps, level)):
            start, noisy = noisy, moved(noisy, self.clean(noisy, here), here, there)
            for _ in range(repeats):
                noisy = moved(start, self.clean(noisy, there), here, there)
        return noisy

    def restore(self, noisy: Numbers, steps: int = 20, level: float = 1.0) -> Numbers:
        """Clean poses by the levels of `invert`."""
        for there, here in reversed(list(pairwise(_levels(steps, level)))):
            noisy = moved(noisy, self.clean(noisy, here), here, there)
        return self.clean(noisy, LOWEST)


def moved(noisy: Numbers, clean: Numbers, here: float, there: float) -> Numbers:
    """The same poses with the same noise at another level: (1 - t') x + t' (x_t - (1 - t) x) / t."""
    return clean + there / here * (noisy - clean)


def _levels(steps: int, level: float) -> list[float]:
    """Levels of an inversion, upwards."""
    return [LOWEST + (level - LOWEST) * index / steps for index in range(steps + 1)]
