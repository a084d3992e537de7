"""What several tests of physics need."""

import pytest

from gambol.character.anatomy import study
from gambol.character.rig import build_rig
from gambol.formats import load
from gambol.physics.ragdoll import Ragdoll, build_ragdoll


@pytest.fixture(scope="session")
def mujoco():
    return pytest.importorskip("mujoco")


@pytest.fixture(scope="session")
def human() -> Ragdoll:
    character = load("human")
    anatomy = study(character)
    return build_ragdoll(character, anatomy, build_rig(anatomy))
