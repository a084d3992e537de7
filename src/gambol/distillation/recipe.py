"""What a run is made of, as config.json: written once, read to go on, the same to the last digit."""

from __future__ import annotations

import dataclasses
import json
import types
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from gambol import __version__
from gambol.character.axes import AxisChoice
from gambol.character.character import Character
from gambol.distillation.config import DistillConfig, Preset
from gambol.distillation.distill import Scene, prepare
from gambol.errors import GambolError
from gambol.finishing.finish import FinishConfig
from gambol.priors.prior import VideoPrior
from gambol.render.cache import fingerprint


@dataclass(frozen=True)
class PriorChoice:
    """Which prior, and how it is held."""

    name: str = "pocket"
    """As `open_prior` takes it."""
    weights: str | None = None
    """A file with other weights for pocket."""
    device: str = "auto"
    offload: bool = False
    tiling: bool = False

    def lasting(self) -> PriorChoice:
        """The same from whatever folder it is opened: paths are absolute."""
        name = str(Path(self.name).expanduser().resolve()) if Path(self.name).expanduser().is_dir() else self.name
        return dataclasses.replace(self, name=name, weights=self.weights and str(Path(self.weights).resolve()))

    def open(self) -> VideoPrior:
        from gambol.priors.catalogue import open_prior

        usual = PriorChoice()
        asked = {
            option: getattr(self, option)
            for option in ("device", "offload", "tiling")
            if getattr(self, option) != getattr(usual, option)
        }
        if self.weights is None:
            return open_prior(self.name, **asked)
        if self.name != "pocket" or asked:
            what = f"the prior {self.name}" if self.name != "pocket" else f"{next(iter(asked))}, which pocket has not"
            raise GambolError(f"other weights are for the prior pocket alone, not for {what}")
        from gambol.priors.pocket.prior import PocketPrior

        return PocketPrior.load(Path(self.weights))


@dataclass(frozen=True)
class Recipe:
    """Everything that decides what comes out of a run, and by what to know its ingredients again."""

    character: str
    """The path of a file, or words for the zoo."""
    prompt: str
    config: DistillConfig
    preset: Preset = "standard"
    """What the config was made from."""
    prior: PriorChoice = field(default_factory=PriorChoice)
    name: str | None = None
    """Of the clip; the action if not given."""
    finish: FinishConfig = field(default_factory=FinishConfig)
    """What is done to the clip before it is written."""
    export: tuple[Literal["bvh", "npz"], ...] = ()
    """Formats of joints alone in which it is written too."""
    up: AxisChoice = "auto"
    forward: AxisChoice = "auto"
    threads: int = 1
    """Of torch. Sums are split among them, so another number would round differently."""
    character_mark: str = ""
    """A hash of the character: a run does not go on with another one."""
    prior_mark: str = ""
    """A hash of the prior's weights, if there are few enough of them."""
    version: str = __version__
    """Of gambol."""

    def scene(self, character: Character, prior: VideoPrior) -> Scene:
        """Everything ready for the first step; refuses other ingredients than the run began with."""
        from gambol.character.anatomy import study

        if self.character_mark and mark_character(character) != self.character_mark:
            raise GambolError(f"'{self.character}' is no longer the character this run began with; begin a new run")
        if self.prior_mark and mark_prior(prior) != self.prior_mark:
            raise GambolError(
                f"the weights of the prior {prior.name} are no longer those this run began with; begin a new run"
            )
        anatomy = study(character, self.up, self.forward) if character.skeleton.is_joint.any() else None
        return prepare(character, self.prompt, prior, self.config, anatomy)

    def json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=1, allow_nan=False)

    @staticmethod
    def from_json(text: str) -> Recipe:
        """Raises ValueError for what `json` did not write."""
        return revived(Recipe, json.loads(text), "config")


def lasting_name(character: str) -> str:
    """The name of a character that means the same from whatever folder: the absolute path if it is a file."""
    return str(Path(character).resolve()) if Path(character).is_file() else character


def mark_character(character: Character) -> str:
    """A hash of all that a motion depends on, and of the file that it is written into."""
    skeleton, raw = character.skeleton, getattr(character.source, "raw", None)
    parts = [raw, "\n".join(skeleton.names), skeleton.parents, character.bind_nodes, character.inverse_binds]
    parts += [skeleton.rest.translation, skeleton.rest.rotation, skeleton.rest.scale]
    for mesh in character.meshes:
        parts += [mesh.positions, mesh.faces, mesh.binds, mesh.weights]
    return fingerprint(parts)


def mark_prior(prior: VideoPrior) -> str:
    """A hash of the weights of pocket; of big priors none, it would take minutes."""
    from gambol.priors.pocket.prior import PocketPrior

    if not isinstance(prior, PocketPrior):
        return ""
    weights = prior.network.state_dict()
    return fingerprint(part for name in sorted(weights) for part in (name, weights[name].cpu().numpy()))


def revived(kind: Any, value: Any, where: str) -> Any:
    """A value of a type from what JSON keeps of it; ValueError, with where, if it does not fit.

    kind: a frozen dataclass, a tuple, a union with None, a Literal, or a plain type, in any combination. Numbers stay
    as they are: 100 is not made 100.0, so that what is written again is the same.
    """
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        if value is None and types.NoneType in inner:
            return None
        (kind,) = (choice for choice in inner if choice is not types.NoneType)
        return revived(kind, value, where)
    if dataclasses.is_dataclass(kind):
        return _revived_dataclass(kind, value, where)
    if origin is tuple:
        return _revived_tuple(inner, value, where)
    if origin is Literal:
        if value not in inner:
            raise ValueError(f"{where} must be one of {', '.join(map(str, inner))}, got {value!r}")
        return value
    fits = {float: (int, float), int: (int,), str: (str,), bool: (bool,)}[kind]
    if not isinstance(value, fits) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{where} must be {kind.__name__}, got {value!r}")
    return value


def _revived_dataclass(kind: Any, value: Any, where: str) -> Any:
    hints, names = get_type_hints(kind), {part.name for part in dataclasses.fields(kind)}
    if not isinstance(value, dict) or set(value) != names:
        differing = sorted(names.symmetric_difference(value)) if isinstance(value, dict) else [repr(value)]
        raise ValueError(f"{where} does not have the fields this version of gambol knows ({', '.join(differing)})")
    return kind(**{name: revived(hints[name], value[name], f"{where}.{name}") for name in value})


def _revived_tuple(inner: tuple, value: Any, where: str) -> tuple:
    if not isinstance(value, list):
        raise ValueError(f"{where} must be a list, got {value!r}")
    kinds = [inner[0]] * len(value) if inner[-1] is Ellipsis else list(inner)
    if len(kinds) != len(value):
        raise ValueError(f"{where} must have {len(kinds)} parts, got {len(value)}")
    return tuple(revived(kinds[number], part, f"{where}[{number}]") for number, part in enumerate(value))
