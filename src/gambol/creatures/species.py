"""The named species: body plans with the parameters of one animal each, read from species.toml."""

import tomllib
from pathlib import Path
from typing import Any

from gambol.creatures.arthropod import Arthropod
from gambol.creatures.bird import Bird
from gambol.creatures.colors import Coat
from gambol.creatures.heads import Head
from gambol.creatures.humanoid import Humanoid
from gambol.creatures.quadruped import Quadruped
from gambol.creatures.reptile import Reptile
from gambol.creatures.theropod import Theropod

BodyPlan = Quadruped | Reptile | Humanoid | Theropod | Bird | Arthropod
KINDS: dict[str, type[BodyPlan]] = {
    "quadruped": Quadruped,
    "reptile": Reptile,
    "humanoid": Humanoid,
    "theropod": Theropod,
    "bird": Bird,
    "insect": Arthropod,
    "arachnid": Arthropod,
}


def _plan(kind: type[BodyPlan], lines: dict[str, dict[str, Any]]) -> BodyPlan:
    """The plan of one species; a parameter that does not exist or is out of its range is an error."""
    coat = lines.pop("coat")
    parts: dict[str, Any] = {"coat": Coat(**{**coat, "kept": tuple(coat.get("kept", ()))})}
    if "head" in lines:
        parts["head"] = Head(**lines.pop("head"), **lines.pop("face"))
    for parameters in lines.values():
        parts |= parameters
    return kind(**parts)


_TABLES = tomllib.loads(Path(__file__).with_name("species.toml").read_text(encoding="utf-8"))
PLANS: dict[str, dict[str, BodyPlan]] = {
    plan: {name: _plan(kind, lines) for name, lines in _TABLES[plan].items()} for plan, kind in KINDS.items()
}
"""Species by the name of their body plan."""
SPECIES: dict[str, BodyPlan] = {name: plan for group in PLANS.values() for name, plan in group.items()}
