"""config.json of a run: everything that decides its result, written once and read to resume it."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from gambol.character.axes import AxisChoice
from gambol.character.character import Character
from gambol.character.plans import PlanChoice
from gambol.distillation.animate import prepare
from gambol.distillation.config import AnimateConfig, Preset
from gambol.distillation.guide import hash_guide
from gambol.distillation.problem import Problem
from gambol.editing.edit import EditConfig
from gambol.engines.targets import EngineName
from gambol.errors import GambolError
from gambol.jsonable import from_json, parse_json
from gambol.priors.catalogue import BUILT_IN, DEFAULT
from gambol.priors.prior import Prior
from gambol.ranges import Range
from gambol.render.cache import fingerprint
from gambol.text import printable
from gambol.version import __version__


@dataclass(frozen=True)
class PriorChoice:
    """The prior of a run, and how it is loaded."""

    name: str = DEFAULT
    """Name, folder or hub id, as `open_prior` takes it."""
    weights: str | None = None
    """A file with other weights for tracks or pixels."""
    device: str = "auto"
    offload: bool = False
    tiling: bool = False

    def lasting(self) -> PriorChoice:
        """Return the same choice with absolute paths, which does not depend on the current folder."""
        name = str(Path(self.name).expanduser().resolve()) if Path(self.name).expanduser().is_dir() else self.name
        return dataclasses.replace(self, name=name, weights=self.weights and str(Path(self.weights).resolve()))

    def open(self, download: bool = True) -> Prior:
        """Return the prior. download: whether a model that is not on this machine may be fetched."""
        from gambol.priors.catalogue import open_prior

        usual = PriorChoice()
        asked = {
            option: getattr(self, option)
            for option in ("device", "offload", "tiling")
            if getattr(self, option) != getattr(usual, option)
        }
        if self.name not in BUILT_IN and not download:
            asked["download"] = False
        return open_prior(self.name, self.weights, **asked)


@dataclass(frozen=True)
class RunConfig:
    """Everything that decides the result of a run, and hashes of the character and the prior."""

    character: str
    """Path of a file, or the name of a zoo animal."""
    prompt: str
    config: AnimateConfig
    then: tuple[str, ...] = ()
    """Sentences that say what is done next, in the same clip."""
    preset: Preset = "standard"
    """Preset that the config was made from."""
    prior: PriorChoice = field(default_factory=PriorChoice)
    name: str | None = None
    """Name of the clip; by default the action."""
    edit: EditConfig = field(default_factory=EditConfig)
    """Edits of the clip before it is written."""
    engine: EngineName | None = None
    """What the clip's file is for; any program if None."""
    reduce: float | None = None
    """Largest error of key reduction [height]; what the engine wants if None."""
    animation_only: bool = False
    """Whether the clip's file holds joints and the clip alone."""
    export: tuple[Literal["bvh", "npz", "vrma"], ...] = ()
    """Formats in which the clip is also written without a mesh."""
    up: AxisChoice = "auto"
    forward: AxisChoice = "auto"
    plan: PlanChoice = "auto"
    parts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Joints of the parts that the user named, from the body outwards."""
    threads: Annotated[int, Range(1, 1024)] = 1
    """Number of torch's threads. Sums are split among them, so another number would round differently."""
    character_hash: str = ""
    """Hash of the character: a run is not resumed with another one."""
    guide_hash: str = ""
    """Hash of the file that the guide comes from; empty if it is a clip of the character."""
    prior_hash: str = ""
    """Hash of the prior's weights, if they are small enough to be hashed."""
    pose_hash: str = ""
    """Hash of the pose model, if implausible poses are a loss."""
    version: str = __version__
    """Version of gambol."""

    def problem(self, character: Character, prior: Prior) -> Problem:
        """Return the problem; GambolError if the character or the prior is not the one that the run began with."""
        from gambol.character.anatomy import analyze

        if self.character_hash and hash_character(character) != self.character_hash:
            raise GambolError(f"'{self.character}' is no longer the character this run began with; begin a new run")
        if self.prior_hash and prior.fingerprint() != self.prior_hash:
            raise GambolError(
                f"the weights of the prior {prior.name} are no longer those this run began with; begin a new run"
            )
        if self.guide_hash and hash_guide(self.config.guide) != self.guide_hash:
            raise GambolError("the file of the guide is no longer the one this run began with; begin a new run")
        given = (self.up, self.forward, self.plan, self.parts)
        anatomy = analyze(character, *given) if character.can_move else None
        problem = prepare(character, self.prompt, prior, self.config, anatomy, then=self.then)
        loss = problem.implausibility
        if self.pose_hash and loss and loss.reader.rig.model.fingerprint() != self.pose_hash:
            raise GambolError("the weights of the pose model are no longer those this run began with; begin a new run")
        return problem

    def json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=1, allow_nan=False)

    @staticmethod
    def from_json(text: str) -> RunConfig:
        """Return the config that `json` wrote; ValueError or GambolError, with the reason, for anything else."""
        plain = parse_json(text)
        version = plain.get("version") if isinstance(plain, dict) else None
        if isinstance(version, str) and version != __version__:
            raise ValueError(f"it was written by version {printable(version)[:40]}, and this is {__version__}")
        return from_json(RunConfig, plain, "config")


def lasting_name(character: str) -> str:
    """Return the name of a character that does not depend on the current folder: an absolute path if it is a file."""
    return str(Path(character).resolve()) if Path(character).is_file() else character


def hash_character(character: Character) -> str:
    """Return a hash of everything that a motion depends on, and of the file that it is written into."""
    skeleton, raw = character.skeleton, getattr(character.source, "raw", None)
    parts = [raw, "\n".join(skeleton.names), skeleton.parents, character.bind_nodes, character.inverse_binds]
    parts += [skeleton.rest.translation, skeleton.rest.rotation, skeleton.rest.scale]
    for mesh in character.meshes:
        parts += [mesh.positions, mesh.faces, mesh.binds, mesh.weights]
    return fingerprint(parts)
