"""What several tests of physics need."""

import pytest

from gambol import load
from gambol.character.anatomy import analyze
from gambol.character.rig import build_rig
from gambol.physics.ragdoll import Ragdoll, build_ragdoll


@pytest.fixture(scope="session")
def mujoco():
    return pytest.importorskip("mujoco")


@pytest.fixture(scope="session")
def human() -> Ragdoll:
    character = load("human")
    anatomy = analyze(character)
    return build_ragdoll(character, anatomy, build_rig(anatomy))
