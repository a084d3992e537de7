"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from gambol.errors import GambolError

if TYPE_CHECKING:
    from gambol.character.character import Character
    from gambol.finishing.finish import FinishConfig

File = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]


def clips_named(character: Character, file: Path, wanted: Sequence[str]) -> list[str]:
    """Names of clips, each once; all that there are if none is wanted. GambolError if one is not there, or none is."""
    there = list(character.clips)
    if not there:
        raise GambolError(
            f"'{character.name}' has no clips; make one first, as in gambol animate {file.name} 'it walks'"
        )
    for name in wanted:
        if name not in there:
            raise GambolError(f"'{character.name}' has no clip '{name}'. Available: {', '.join(there)}")
    return list(dict.fromkeys(wanted)) or there


SMOOTH = 0.03
"""What is smoothed over if no time is given [s]."""


def _seconds(given: list[str]) -> float:
    """Of `--smooth`, which may stand alone."""
    if len(given) > 1:
        raise ValueError(f"--smooth takes one time in seconds, got {' '.join(given)}")
    return float(given[0]) if given else SMOOTH


Seconds = Annotated[
    float | None,
    tyro.constructors.PrimitiveConstructorSpec(
        nargs="*",
        metavar="[SECONDS]",
        instance_from_str=_seconds,
        is_instance=lambda value: value is None or isinstance(value, float | int),
        str_from_instance=lambda value: [str(value)],
    ),
]


@dataclass(frozen=True)
class FinishOptions:
    """What can be done to a clip before it is written."""

    in_place: bool = False
    """Take travel and turn out of the clip; the way it went is written into its extras."""
    root_motion: bool = False
    """Put travel and turn on the node at the root of the skeleton, as game engines want it."""
    smooth: Seconds = None
    """Smooth it over some hundredths of a second; 0.03 if no time is given."""
    lock_feet: bool = False
    """Let feet that bear weight stand still."""
    events: bool = True
    """Write when feet come down, and whether it loops, into the clip's extras."""

    @property
    def given(self) -> str:
        """The first option that is not as it is by default, as the user wrote it; "" if none."""
        changed = [each.name for each in fields(self) if getattr(self, each.name) != each.default]
        return next(("--no-events" if name == "events" else f"--{name.replace('_', '-')}" for name in changed), "")

    def config(self, **more) -> FinishConfig:
        """With more of `FinishConfig`; refuses what cannot be meant."""
        from gambol.finishing.finish import FinishConfig
        from gambol.finishing.timing import LONGEST_SMOOTH

        if self.in_place and self.root_motion:
            raise GambolError("--in-place and --root-motion exclude each other; leave one out")
        if self.smooth is not None and not 0 < self.smooth <= LONGEST_SMOOTH:
            raise GambolError(f"--smooth must be above 0 and up to {LONGEST_SMOOTH:g} s, got {self.smooth:g}")
        return FinishConfig(
            in_place=self.in_place,
            root_motion=self.root_motion,
            smooth=self.smooth,
            lock_feet=self.lock_feet,
            events=self.events,
            **more,
        )


AS_MADE = FinishOptions()

Finishing = Annotated[FinishOptions, tyro.conf.arg(name="")]
"""As options of the command itself."""
