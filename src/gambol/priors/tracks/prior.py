"""The prior tracks: its weights, and motions of any body sampled from them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from gambol.errors import AssetError, GambolError
from gambol.motion.body_tracks import BodyTracks
from gambol.priors.tracks.features import PART, PATH, BodyShape, Features, tracks_of
from gambol.priors.tracks.network import FPS, LONGEST, PATCH, SOURCES, Conditions, TrackNetwork, TrackNetworkConfig
from gambol.priors.tracks.sampling import Known, levels_down, mixed, noise_like, stepped
from gambol.tensor_files import read_tensors, write_tensors

WEIGHTS = Path(__file__).parent / "weights.safetensors"


@dataclass(frozen=True, eq=False)
class Normalization:
    """Means and deviations of numbers, by kind of part."""

    part_mean: Float[Tensor, "kinds width"]
    part_deviation: Float[Tensor, "kinds width"]
    path_mean: Float[Tensor, " path"]
    path_deviation: Float[Tensor, " path"]

    def normalized(self, features: Features, kinds: Tensor) -> Features:
        """Numbers as the network sees them. kinds: of the parts."""
        mean, deviation = self._of(kinds)
        return Features((features.parts - mean) / deviation, (features.path - self.path_mean) / self.path_deviation)

    def original(self, features: Features, kinds: Tensor) -> Features:
        """The way back."""
        mean, deviation = self._of(kinds)
        return Features(features.parts * deviation + mean, features.path * self.path_deviation + self.path_mean)

    def _of(self, kinds: Tensor) -> tuple[Tensor, Tensor]:
        return self.part_mean[kinds].unsqueeze(-3), self.part_deviation[kinds].unsqueeze(-3)


@dataclass(frozen=True)
class TrackRequest:
    """What is asked of the prior."""

    action: str
    loops: bool
    frames: int
    """At FPS; a multiple of PATCH."""
    source: str = "any"
    """Whose motions it is to be like: any, mocap, artist or procedural."""


class TrackPrior:
    """A diffusion model of tracks of body parts."""

    name = "tracks"

    def __init__(self, network: TrackNetwork, normalization: Normalization, actions: tuple[str, ...]):
        self.network, self.normalization, self.actions = network.eval(), normalization, actions
        for parameter in network.parameters():
            parameter.requires_grad_(False)

    @staticmethod
    def load(path: Path = WEIGHTS) -> TrackPrior:
        """Read weights that `save` wrote; by default those that come with gambol."""
        tensors, facts = read_tensors(path)
        try:
            network = TrackNetwork(TrackNetworkConfig(**json.loads(facts["network"])))
            network.load_state_dict({n[8:]: v.float() for n, v in tensors.items() if n.startswith("network.")})
            normalization = Normalization(**{f.name: tensors[f"normalization.{f.name}"] for f in fields(Normalization)})
            return TrackPrior(network, normalization, tuple(json.loads(facts["actions"])))
        except (LookupError, TypeError, ValueError, RuntimeError) as error:
            raise AssetError(f"'{path}' holds no weights of the prior tracks: {error}") from None

    def save(self, path: Path, about: dict[str, object]) -> None:
        """Write the weights in half precision. about: how they were trained."""
        tensors = {f"network.{name}": value.half() for name, value in self.network.state_dict().items()}
        tensors |= {f"normalization.{f.name}": getattr(self.normalization, f.name) for f in fields(Normalization)}
        facts = {
            "network": json.dumps(asdict(self.network.config)),
            "actions": json.dumps(self.actions),
            "about": json.dumps(about),
        }
        write_tensors(path, tensors, facts)

    def conditions(self, shape: BodyShape, request: TrackRequest, batch: int = 1) -> Conditions:
        """What the network is told of a request."""
        if request.action not in self.actions:
            raise GambolError(f"the prior tracks does not know '{request.action}'; it knows {', '.join(self.actions)}")
        if request.frames % PATCH or not 1 <= request.frames // PATCH <= LONGEST:
            raise ValueError(f"frames must be a multiple of {PATCH} up to {LONGEST * PATCH}, got {request.frames}")

        def each(value: Tensor) -> Tensor:
            return value.expand(batch, *value.shape)

        return Conditions(
            torch.full((batch,), self.actions.index(request.action)),
            torch.full((batch,), SOURCES.index(request.source)),
            torch.full((batch,), request.loops),
            torch.full((batch,), request.frames // PATCH),
            each(shape.kinds), each(shape.sides), each(shape.ranks), each(shape.numbers),
            torch.ones(batch, len(shape.kinds), dtype=torch.bool),
        )  # fmt: skip

    @torch.no_grad()
    def seconds(self, shape: BodyShape, action: str, loops: bool, source: str = "any") -> tuple[float, float]:
        """How long a cycle or deed usually takes, and the factor by which it varies [s]."""
        mean, spread = self.network.log_seconds(self.conditions(shape, TrackRequest(action, loops, PATCH, source)))[0]
        return float(mean.exp()), float(spread.clamp(-3, 1).exp().exp())

    @torch.no_grad()
    def clean(self, noisy: Features, level: float, conditions: Conditions, guidance: float) -> Features:
        """The clean motions (normalised, with a batch axis) that noisy ones come from, with classifier-free guidance."""
        count = len(noisy.parts)
        levels = torch.full((count,), level)
        if guidance == 1.0:
            return Features(*self.network(noisy.parts, noisy.path, levels, conditions))
        both = conditions.twice(torch.zeros_like(conditions.action))
        parts, path = self.network(
            noisy.parts.repeat(2, 1, 1, 1), noisy.path.repeat(2, 1, 1), levels.repeat(2), both
        )
        return Features(
            parts[count:] + guidance * (parts[:count] - parts[count:]),
            path[count:] + guidance * (path[:count] - path[count:]),
        )

    def sample(
        self,
        shape: BodyShape,
        request: TrackRequest,
        generator: torch.Generator,
        *,
        count: int = 1,
        steps: int = 20,
        guidance: float = 1.5,
        known: Known | None = None,
        start: Features | None = None,
        level: float = 1.0,
    ) -> list[Features]:
        """Motions of a body (not normalised). known: what of it is given. start: what it is to leave, and from which
        noise level."""
        conditions = self.conditions(shape, request, count)
        empty = Features(
            torch.zeros(count, request.frames, len(shape.kinds), PART), torch.zeros(count, request.frames, PATH)
        )
        noisy = noise_like(empty, generator)
        if known:
            known = replace(known, features=self.normalization.normalized(known.features, shape.kinds))
        if start is not None:
            clean = self.normalization.normalized(start, shape.kinds)
            noisy = mixed(Features(clean.parts[None], clean.path[None]), noisy, level)
        clean = noisy
        for here, there in levels_down(level, steps):
            clean = self.clean(noisy, here, conditions, guidance)
            clean = known.put(clean) if known else clean
            noisy = stepped(noisy, clean, here, there)
        found = self.normalization.original(clean, shape.kinds)
        return [Features(found.parts[i], found.path[i]) for i in range(count)]

    def sample_tracks(
        self, shape: BodyShape, request: TrackRequest, generator: torch.Generator, **options
    ) -> list[BodyTracks]:
        """`sample`, as tracks at FPS."""
        seconds = (request.frames if request.loops else request.frames - 1) / FPS
        return [tracks_of(each, seconds, request.loops) for each in self.sample(shape, request, generator, **options)]
