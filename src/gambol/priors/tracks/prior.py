"""The prior tracks: a diffusion model of how parts of a body move, for bodies of any build."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, astuple, dataclass, fields, replace
from importlib.resources import files
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.actions import ACTIONS, known_action
from gambol.errors import AssetError
from gambol.language import Intent, require_intent
from gambol.motion.body_tracks import BodyTracks
from gambol.priors.prior import Prior, Prompt, SamplingPreset
from gambol.priors.schedule import FlowSchedule, Latents, Level
from gambol.priors.tracks.experience import ENOUGH, Experience, best_experience
from gambol.priors.tracks.features import (
    CONTACT,
    PART,
    PATH,
    BodyShape,
    Features,
    features_of,
    mirrored_features,
    nominal_seconds,
    tracks_of,
)
from gambol.priors.tracks.network import LONGEST, PATCH, SOURCES, Conditions, TrackNetwork, TrackNetworkConfig
from gambol.tensor_files import checksum, read_tensors, write_tensors


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


SMOOTHING = (1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16)
"""Weights of neighbouring frames: a deviation of one frame, 33 ms."""
FAINT = 0.2
"""Feet of a loop that stand are as sure to as they ever are: steps of a run are so short that the network is never sure
of them. Those that never stand more than this do not."""
PRESETS = {
    "draft": SamplingPreset(views=1, steps=8, fit_steps=1, fit_lr=0.01, guidance=2.0, candidates=4),
    "standard": SamplingPreset(views=1, steps=14, fit_steps=1, fit_lr=0.01, guidance=2.0, candidates=6),
}


class TrackPrior(Prior):
    """A diffusion model of tracks of body parts."""

    name = "tracks"
    presets = PRESETS

    def __init__(
        self,
        network: TrackNetwork,
        normalization: Normalization,
        actions: tuple[str, ...],
        experience: Sequence[Experience] = (),
    ):
        """actions: names of the rows of the network's embedding, the first of which stands for any. experience: what
        it was trained on."""
        self.network, self.normalization, self.actions = network.eval(), normalization, actions
        self.experience = tuple(experience)
        self.vocabulary = tuple(name for name in ACTIONS if name in actions)
        for parameter in network.parameters():
            parameter.requires_grad_(False)

    @staticmethod
    def load(path: Path | None = None) -> TrackPrior:
        """Read weights that `save` wrote, by default those that come with gambol."""
        path = path or shipped()
        tensors, facts = read_tensors(path)
        try:
            network = TrackNetwork(TrackNetworkConfig(**json.loads(facts["network"])))
            network.load_state_dict({n[8:]: v.float() for n, v in tensors.items() if n.startswith("network.")})
            normalization = Normalization(**{f.name: tensors[f"normalization.{f.name}"] for f in fields(Normalization)})
            experience = [Experience(*row) for row in json.loads(facts["experience"])]
            return TrackPrior(network, normalization, tuple(json.loads(facts["actions"])), experience)
        except (LookupError, TypeError, ValueError, RuntimeError) as error:
            raise AssetError(f"'{path}' holds no weights of the prior tracks: {error}") from None

    def save(self, path: Path, about: dict[str, object]) -> None:
        """Write the weights in half precision. about: how they were trained."""
        facts = {
            "network": json.dumps(asdict(self.network.config)),
            "actions": json.dumps(self.actions),
            "experience": json.dumps([astuple(row) for row in self.experience]),
            "about": json.dumps(about),
        }
        write_tensors(path, self._tensors(), facts)

    def _tensors(self) -> dict[str, Tensor]:
        tensors = {f"network.{name}": value.half() for name, value in self.network.state_dict().items()}
        return tensors | {f"normalization.{f.name}": getattr(self.normalization, f.name) for f in fields(Normalization)}

    def fingerprint(self) -> str:
        """A hash of the weights."""
        return hashlib.sha256(checksum(self._tensors(), {"actions": ",".join(self.actions)}).encode()).hexdigest()

    def embed(self, text: str) -> Prompt:
        """The action of a sentence; "" stands for any."""
        return (
            self.prompt(require_intent(text, self.vocabulary), text) if text.strip() else Prompt(text, torch.tensor(0))
        )

    def prompt(self, intent: Intent, text: str) -> Prompt:
        """What a sentence was understood as, as the network takes it."""
        return Prompt(text, torch.tensor(self.row(intent.action)), intent.note)

    def row(self, action: str) -> int:
        """The row of the network's embedding for an action: of one that it was not trained on, that of the more general
        one, else that of any action."""
        known = known_action(action, self.actions)
        return self.actions.index(known) if known else 0

    def vocabulary_of(self, shape: BodyShape, formulas: Collection[str] = ()) -> tuple[str, ...]:
        """What a body can be told to do: what it can do by formula, trained on or not, and all other actions that this
        was trained on, but for what only other builds were seen doing where something more general can stand for it, as
        walking for limping, and for what a style of that shows better (`Action.kind_style`). formulas: actions for
        which the body has a formula."""
        same = {row.action for row in self.experience if row.build == shape.build}
        seen = same if self.experience else set(self.actions)
        trained = {name for name in self.actions if name in seen or (name in ACTIONS and not ACTIONS[name].kind_of)}
        known = [name for name in ACTIONS if name in trained or (self.experience and name in formulas)]
        return tuple(name for name in known if not (ACTIONS[name].kind_style and self.experience))

    @torch.no_grad()
    def seconds(self, shape: BodyShape, action: str, loops: bool) -> float:
        """How long a cycle of an action, or all of one that does not loop, usually takes this body [s]."""
        source = self.source(shape, action)
        conditions = conditions_of(shape, self.row(action), loops, PATCH, source=source)
        return float(self.network.log_seconds(conditions)[0, 0].exp())

    def seen(self, shape: BodyShape, action: str) -> tuple[Experience | None, bool]:
        """What it knows best of an action by bodies like this, and whether these are of the very same build."""
        return best_experience(self.experience, shape, action)

    def source(self, shape: BodyShape, action: str) -> str:
        """Whose way of moving a body is given: that of artists, of captured people, or of formulas."""
        known = self.seen(shape, action)[0]
        return known.source if known else "any"

    def sources(self, shape: BodyShape, action: str, loops: bool) -> list[str]:
        """Whose ways of moving samples are given by turns, the best first. Of deeds there are so few clips that both
        artists' and captured ones are tried; cycles of captured people were seen as windows, and not as loops."""
        best = self.source(shape, action)
        if loops or best == "procedural":
            return [best]
        rows = [row for row in self.experience if row.action == action and row.build == shape.build]
        return [best, *(row.source for row in rows if row.motions >= ENOUGH and row.source not in (best, "procedural"))]


def shipped() -> Path:
    """The weights that come with gambol."""
    return Path(str(files("gambol.priors.tracks") / "weights.safetensors"))


class BodyTrackPrior:
    """The prior tracks for one body and length: what it sees of a motion, and what it takes it for.

    Latents are the normalised numbers of all parts and of the path, [batch, frames, numbers].
    """

    schedule = FlowSchedule()

    def __init__(self, prior: TrackPrior, shape: BodyShape, frames: int, loops: bool, seconds: float):
        """frames: a multiple of PATCH, about 30 for each second."""
        if frames % PATCH or not 1 <= frames // PATCH <= LONGEST:
            raise ValueError(f"frames must be a multiple of {PATCH} up to {LONGEST * PATCH}, got {frames}")
        self.prior, self.shape, self.frames, self.loops, self.seconds = prior, shape, frames, loops, seconds
        self.nominal = nominal_seconds(frames, loops)

    @property
    def width(self) -> int:
        """Numbers of a frame."""
        return len(self.shape.kinds) * PART + PATH

    def encode(self, tracks: BodyTracks) -> Latents:
        """Latents of one motion; differentiable."""
        found = features_of(replace(tracks, seconds=self.nominal))
        normal = self.prior.normalization.normalized(found, self.shape.kinds)
        return torch.cat([normal.parts.flatten(1), normal.path], 1)[None].float()

    def decode(self, latents: Latents) -> BodyTracks:
        """The motion of the first of some latents."""
        found = self.prior.normalization.original(self._features(latents), self.shape.kinds)
        turned = torch.cat([_smooth(found.parts[0, ..., :CONTACT], self.loops), found.parts[0, ..., CONTACT:]], -1)
        tracks = tracks_of(Features(turned, _smooth(found.path[0], self.loops)), self.nominal, self.loops)
        peak = tracks.contacts.amax(0)
        sure = torch.where((peak > FAINT) & self.loops, peak.clamp(max=1), torch.ones_like(peak))
        return replace(tracks, contacts=tracks.contacts / sure, seconds=self.seconds)

    def symmetric(self, latents: Latents, partners: Int[Tensor, " parts"]) -> Latents:
        """The mean of a loop and its mirror image half a cycle later: left and right take turns. partners: the part on
        the other side of each."""
        here = self.prior.normalization.original(self._features(latents), self.shape.kinds)
        image, half = mirrored_features(here, partners), self.frames // 2
        both = Features((here.parts + image.parts.roll(half, 1)) / 2, (here.path + image.path.roll(half, 1)) / 2)
        normal = self.prior.normalization.normalized(both, self.shape.kinds)
        return torch.cat([normal.parts.flatten(2), normal.path], 2)

    def _features(self, latents: Latents) -> Features:
        count = len(self.shape.kinds)
        return Features(latents[..., : count * PART].unflatten(-1, (count, PART)), latents[..., count * PART :])

    @torch.no_grad()
    def denoise(self, noisy: Latents, level: Level, prompt: Prompt, guidance: float = 1.0) -> Latents:
        """The clean latents that noisy ones come from, with classifier-free guidance away from any action."""
        wanted = int(prompt.embedding)
        known = self.prior.sources(self.shape, self.prior.actions[wanted], self.loops)
        sources = [known[number % len(known)] for number in range(len(noisy))]
        asked = [wanted] if guidance == 1.0 else [wanted, 0]
        found = [self._clean(noisy, level, action, sources) for action in asked]
        return found[0] if guidance == 1.0 else found[1] + guidance * (found[0] - found[1])

    def _clean(self, noisy: Latents, level: Level, action: int, sources: Sequence[str]) -> Latents:
        features, count = self._features(noisy), len(noisy)
        conditions = conditions_of(self.shape, action, self.loops, self.frames, count)
        conditions = conditions.where(conditions.action, torch.tensor([SOURCES.index(source) for source in sources]))
        levels = torch.as_tensor(level, dtype=torch.float32).expand(count)
        parts, path = self.prior.network(features.parts, features.path, levels, conditions)
        return torch.cat([parts.flatten(2), path], 2)


def _smooth(values: Float[Tensor, "frames ..."], loops: bool) -> Float[Tensor, "frames ..."]:
    """The mean of each frame and its neighbours: samples tremble a little from frame to frame, and bodies do not."""
    reach = len(SMOOTHING) // 2
    before, after = (values[-reach:], values[:reach]) if loops else (values[:1], values[-1:])
    padded = torch.cat([before.expand(reach, *values.shape[1:]), values, after.expand(reach, *values.shape[1:])])
    windows = [padded[number : number + len(values)] * weight for number, weight in enumerate(SMOOTHING)]
    return sum(windows[1:], windows[0])


def conditions_of(
    shape: BodyShape, action: int, loops: bool, frames: int, batch: int = 1, source: str = "any"
) -> Conditions:
    """What the network is told of a motion."""

    def each(value: Tensor) -> Tensor:
        return value.expand(batch, *value.shape)

    return Conditions(
        torch.full((batch,), action),
        torch.full((batch,), SOURCES.index(source)),
        torch.full((batch,), loops),
        torch.full((batch,), frames // PATCH),
        torch.zeros(batch, dtype=torch.int64), torch.zeros(batch, dtype=torch.int64),
        each(shape.kinds), each(shape.sides), each(shape.ranks), each(shape.numbers),
        torch.ones(batch, len(shape.kinds), dtype=torch.bool),
    )  # fmt: skip
