"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from gambol.character.axes import AxisChoice
from gambol.character.plans import PlanChoice
from gambol.commands.messages import say, warn
from gambol.engines.targets import ENGINES, Engine, EngineName
from gambol.errors import GambolError
from gambol.ranges import REDUCTION, SMOOTH

if TYPE_CHECKING:
    from gambol.character.anatomy import Anatomy
    from gambol.character.character import Character
    from gambol.character.clip import Clip
    from gambol.editing.edit import EditConfig

NO_HINT = tyro.conf.arg(help_behavior_hint="")
"""Hides the hint at the default of a --no-... flag, which would read as its opposite."""
File = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]


@dataclass(frozen=True)
class AnatomyOptions:
    """How the character stands in its file, and what its parts are, where gambol finds them wrongly."""

    up: AxisChoice = "auto"
    """The axis that points up."""
    forward: AxisChoice = "auto"
    """The axis that the character faces."""
    plan: PlanChoice = "auto"
    """The body plan: which pairs of limbs are legs, and whether there are wings."""
    joints: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """A .toml or .json that names the joint where a part begins, line by line: left_hind_leg = "thigh.L". Parts are
    called as `gambol info` calls them; the other side is found, as is all that is left out."""

    @cached_property
    def given(self) -> dict[str, Any]:
        """Keyword arguments of `analyze`. What the command line says goes before what the file says."""
        from gambol.character.annotation_file import read_annotations

        said = {"up": self.up, "forward": self.forward, "plan": self.plan}
        read = read_annotations(self.joints) if self.joints is not None else {}
        return {**read, **{name: value for name, value in said.items() if value != "auto"}}

    def lasting(self) -> dict[str, Any]:
        """The same as fields of `RunConfig`, which do not depend on the file."""
        return {"up": "auto", "forward": "auto", "plan": "auto", "parts": {}, **self.given}

    def analyze(self, character: Character) -> Anatomy:
        from gambol.character.anatomy import analyze

        return analyze(character, **self.given)

    def standing_on_ground(self, character: Character, clip: Clip) -> tuple[Character, Anatomy]:
        """The character on the ground of a clip, and its anatomy; see `gambol.motion.mocap_ground`."""
        from gambol.motion.mocap_ground import standing_on_ground

        given = self.given
        grounded, anatomy = standing_on_ground(character, clip, given.get("up"), given.get("forward"))
        more = given.keys() - {"up", "forward"}
        return grounded, (self.analyze(grounded) if more else anatomy)


AS_FOUND = AnatomyOptions()

AnatomyGiven = Annotated[AnatomyOptions, tyro.conf.arg(name="")]
"""`AnatomyOptions` as options of the command itself, without a prefix."""


def load_character(file: Path | str) -> Character:
    """Read a character, or make an animal of the zoo, and print what is odd about it."""
    from gambol.creatures.load import load

    character = load(file)
    for warning in dict.fromkeys(character.warnings):
        warn(warning)
    return character


def rigged(mesh: Character, anatomy: AnatomyOptions) -> Character:
    """A mesh with a skeleton; what it was taken for is printed."""
    from gambol.rigging.options import RigOptions
    from gambol.rigging.rig import rig_mesh

    given = anatomy.given
    if "parts" in given:
        raise GambolError("--joints names joints, and a mesh has none yet: run gambol rig first")
    found = rig_mesh(mesh, RigOptions(**given))
    say(found.sentence)
    for note in found.notes:
        warn(note)
    return found.character


def clips_named(character: Character, file: Path, wanted: Sequence[str]) -> list[str]:
    """Names of the wanted clips in the file, each once; all if none is named. GambolError if one does not exist."""
    from gambol.character.lookup import find_clip

    there = list(character.clips)
    if not there:
        raise GambolError(
            f"'{character.name}' has no clips; make one first, as in gambol animate {file.name} 'it walks'"
        )
    return list(dict.fromkeys(find_clip(character, name).name for name in wanted)) or there


def check_name(name: str | None) -> None:
    """Refuse an empty --name."""
    if name is not None and not name.strip():
        raise GambolError("--name must not be empty")


def check_not_input(output: Path, *inputs: Path) -> None:
    """Refuse to overwrite a file that is read."""
    if any(output.exists() and each.exists() and output.samefile(each) for each in inputs):
        raise GambolError(f"{output} is the input itself; write to another file")


USUAL_SMOOTH = 0.03
"""Width of the filter of `--smooth` if no time is given [s]."""


def _smooth_seconds(given: list[str]) -> float:
    """The value of `--smooth`, which may stand alone."""
    if len(given) > 1:
        raise ValueError(f"--smooth takes one time in seconds, got {' '.join(given)}")
    return float(given[0]) if given else USUAL_SMOOTH


Seconds = Annotated[
    float | None,
    tyro.constructors.PrimitiveConstructorSpec(
        nargs="*",
        metavar="[SECONDS]",
        instance_from_str=_smooth_seconds,
        is_instance=lambda value: value is None or isinstance(value, float | int),
        str_from_instance=lambda value: [str(value)],
    ),
]


@dataclass(frozen=True)
class EditOptions:
    """What can be done to a clip before it is written."""

    in_place: bool = False
    """Remove travel and turning; the path is written into the clip's extras."""
    root_motion: bool = False
    """Move travel and turning to the root node of the skeleton, as game engines expect."""
    smooth: Seconds = None
    """Smooth the clip with a Gaussian of this width; 0.03 s if no time is given."""
    lock_feet: bool = False
    """Keep planted feet from sliding."""
    events: Annotated[bool, NO_HINT] = True
    """Do not write foot contacts, and whether the clip loops, into the clip's extras."""

    @property
    def given(self) -> str:
        """The first option that differs from its default, as the user wrote it; "" if none does."""
        changed = [each.name for each in fields(self) if getattr(self, each.name) != each.default]
        return next(("--no-events" if name == "events" else f"--{name.replace('_', '-')}" for name in changed), "")

    def check(self) -> None:
        """Refuse values that are out of range or exclude each other; loads nothing heavy."""
        if self.in_place and self.root_motion:
            raise GambolError("--in-place and --root-motion exclude each other; leave one out")
        if self.smooth is not None:
            SMOOTH.check("--smooth", self.smooth)

    def config(self, **more) -> EditConfig:
        """These options as a `EditConfig`, with further fields of it."""
        from gambol.editing.edit import EditConfig

        return EditConfig(
            in_place=self.in_place,
            root_motion=self.root_motion,
            smooth=self.smooth,
            lock_feet=self.lock_feet,
            events=self.events,
            **more,
        )


AS_MADE = EditOptions()


@dataclass(frozen=True)
class EngineOptions:
    """What the file is made for."""

    target: Annotated[EngineName | None, tyro.conf.arg(name="for")] = None
    """What the file is for: its importer gets the names and marks of loops, the root bone, the frame rate and the keys
    that it wants; what is to be set there is printed."""
    reduce: Annotated[float | None, tyro.conf.arg(metavar="PERCENT")] = None
    """Leave out keys as long as no point of the body moves by more than this [% of the height]; by default 0.2 for the
    web, and otherwise all keys stay."""

    @property
    def row(self) -> Engine | None:
        return ENGINES[self.target] if self.target else None

    @property
    def compact(self) -> bool:
        """Whether rotations are written as 16-bit numbers."""
        return bool(self.row and self.row.compact)

    @property
    def bound(self) -> float | None:
        """Largest error of key reduction [height]; None if that is not said."""
        return None if self.reduce is None else self.reduce / 100

    @property
    def fits(self) -> bool:
        """Whether anything is asked for."""
        return self.target is not None or self.reduce is not None

    def check(self) -> None:
        if self.reduce is not None:
            REDUCTION.check("--reduce", self.reduce)


FOR_ANY = EngineOptions()

ForEngine = Annotated[EngineOptions, tyro.conf.arg(name="")]
"""`EngineOptions` as options of the command itself, without a prefix."""

Editing = Annotated[EditOptions, tyro.conf.arg(name="")]
"""`EditOptions` as options of the command itself, without a prefix."""
