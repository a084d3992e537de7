"""What legs must do in an action: our own gaits keep their rules and break those of others."""

import pytest
from character.creatures import snake
from motion.strides import body, standing, stride

from gambol import analyze
from gambol.quality.normalized_clip import normalize_clip
from gambol.quality.rules import ALOFT, aloft, broken_rule

TURNS = "left and right legs do not alternate"
DIAGONALS = "diagonal legs do not go together"
GALLOP = "front legs, or hind legs, do not go together as in a gallop"
GROUND = "the feet never all leave the ground"
SWING = "legs swing while it stands"


@pytest.mark.parametrize(
    "name, gait, action, broken",
    [
        ("dog", "walk", "walk", ""),
        ("dog", "walk", "trot", DIAGONALS),
        ("dog", "walk", "run", GALLOP),
        ("dog", "walk", "jump", GROUND),
        ("dog", "walk", "stand", SWING),
        ("dog", "trot", "trot", ""),
        ("dog", "trot", "run", GALLOP),
        ("dog", "gallop", "run", ""),
        ("dog", "gallop", "walk", TURNS),
        ("dog", "jump", "jump", ""),
        ("dog", "jump", "walk", TURNS),
        ("human", "walk", "walk", ""),
        ("human", "walk", "trot", ""),
        ("human", "run", "run", ""),
        ("human", "run", "stand", SWING),
        ("human", "walk", "jump", GROUND),
        ("spider", "walk", "walk", ""),
        ("dog", "walk", "attack", ""),
        ("dog", "walk", None, ""),
    ],
)
def test_gaits_and_rules(name, gait, action, broken):
    assert broken_rule(stride(name, gait).examined(), action) == broken


def test_what_stands_still_does_nothing_but_stand():
    character, anatomy = body("dog")
    clip = normalize_clip(character, standing(character), anatomy)
    assert broken_rule(clip, "stand") == ""
    assert broken_rule(clip, "walk") == TURNS
    assert aloft(clip) == pytest.approx(0.0, abs=1e-6)
    assert aloft(stride("dog", "jump").examined()) > 3 * ALOFT


def test_nothing_walks_without_legs():
    character = snake()
    clip = normalize_clip(character, standing(character), analyze(character))
    assert broken_rule(clip, "walk") == "there are no legs to walk with"
    assert broken_rule(clip, "crawl") == broken_rule(clip, "dance") == ""
