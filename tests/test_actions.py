import ast
from pathlib import Path
from typing import get_args

import pytest

import gambol
from gambol.actions import ACTION_OF_GAIT, ACTIONS, TABLE, gait_names, general_action, known_action, listing
from gambol.cli import main
from gambol.creatures.deeds.keys import _table
from gambol.creatures.gaits.footfalls import GaitName
from gambol.language.english import LEXICON
from gambol.priors.pixels.actions import PIXEL_ACTIONS, ClipKind
from gambol.priors.tracks.prior import TrackPrior
from gambol.priors.tracks.training.labels import ACTION_NAMES, CYCLIC

ALLOWED = {
    "creatures/gaits/footfalls.py",  # the footfalls of each gait
    "creatures/deeds/keys.py",  # goals for parts, of which some share a name with an action
    "creatures/deeds/person.py",  # the same
    "quality/faults.py",  # what may be shown off the ground
    "quality/recognition.py",  # actions that a person may take for each other
    "priors/pixels/actions.py",  # how the pixel prior's data shows each action
    "bench/judge/checks.py",  # the judge is asked about walks and about standing, which must not look alike
    "character/clip_motion.py",  # words in the names of clips that go forward, below the table of actions
}
"""Modules that may list actions by name: each list is about just these and need not grow with the table."""


def test_every_row_is_complete():
    assert len(ACTIONS) == len(TABLE)
    for action in TABLE:
        assert action.name and action.meaning and 0.1 < action.seconds < 10
        assert not (action.airborne and action.afloat) and not (action.travels and action.turns)
        assert action.loops or not (action.travels or action.gaits)
        assert not action.kind_of or (ACTIONS[action.kind_of] and not ACTIONS[action.kind_of].kind_of)
        assert action.kind_of or not action.kind_pace
        assert set(action.gaits) <= {*get_args(GaitName), "turn"}
        assert action.name in listing() and action.meaning in listing()


def test_the_pixel_prior_knows_the_first_eighteen():
    assert list(PIXEL_ACTIONS) == list(ACTIONS)[:18]
    for row in PIXEL_ACTIONS.values():
        assert row.weight > 0 and row.kinds and set(row.cuts) <= set(row.kinds) <= set(get_args(ClipKind))
    assert {kind for row in PIXEL_ACTIONS.values() for kind in row.cuts} == set(get_args(ClipKind))


def test_the_prior_on_tracks_has_a_label_for_every_action():
    assert set(ACTIONS) <= set(ACTION_NAMES)
    new = [name for name in ACTIONS if name not in PIXEL_ACTIONS]
    assert [name for name in new if ACTIONS[name].loops] == [name for name in new if name in CYCLIC]


@pytest.mark.parametrize(
    ("name", "vocabulary", "known"),
    [
        ("sneak", None, "sneak"), ("sneak", ["sneak", "walk"], "sneak"), ("sneak", PIXEL_ACTIONS, "walk"),
        ("walk", ["run"], None), ("sneak", ["run"], None), ("sit", PIXEL_ACTIONS, None), ("kick", ["attack"], "attack"),
        ("headbutt", PIXEL_ACTIONS, "attack"), ("walk", (), None),
    ],
)  # fmt: skip
def test_the_more_general_action_that_is_known(name, vocabulary, known):
    assert known_action(name, vocabulary) == known


def test_what_the_shipped_prior_was_not_trained_on_has_a_formula():
    """Else nobody could do it."""
    trained, formulas = TrackPrior.load().actions, {name for deeds in _table().values() for name in deeds}
    untrained = [name for name in ACTIONS if name not in trained]
    assert set(untrained) <= formulas
    assert not [name for name in untrained if ACTIONS[name].gaits or ACTIONS[name].turns]


def test_the_most_general_action():
    assert general_action("limp") == general_action("walk") == "walk" and general_action("sit") == "sit"


def test_every_action_has_words_and_all_words_mean_actions():
    assert list(LEXICON["actions"]) == [name for name in ACTIONS if name != "turn right"]  # words say the side
    named = {action for rules in LEXICON["meanings"].values() for _, _, action in rules}
    named |= set(LEXICON["clip_words"].values())
    named |= set(LEXICON["clip_names"])
    assert named <= {"", *ACTIONS}


def test_what_leaves_the_ground_and_what_steps():
    assert [action.name for action in TABLE if action.airborne] == ["hop", "jump", "take off", "land"]
    stepping = [action.name for action in TABLE if action.steps]
    assert stepping == ["walk", "trot", "run", "sneak", "march", "limp", "walk backwards", "sidestep",
                        "zombie walk", "stiff walk", "stagger", "carry"]  # fmt: skip
    assert [action.name for action in TABLE if action.evaluated] == ["stand", "walk", "trot", "run", "jump"]
    assert [action.name for action in TABLE if action.falls] == ["die", "lie down", "roll", "fall", "play dead"]


@pytest.mark.parametrize(
    ("name", "gaits"),
    [
        ("run", ("run", "gallop")), ("gallop", ("gallop", "run")), ("jog", ("jog", "trot")),
        ("stand", ("stand", "idle")), ("turn", ("turn", "turn left")), ("pace", ("pace",)), ("swim", ("swim",)),
    ],
)  # fmt: skip
def test_gaits_that_do_for_one(name, gaits):
    assert gait_names(name) == gaits
    assert ACTION_OF_GAIT.get("pace") is None


def test_no_other_table_of_actions():
    """A list of actions elsewhere would have to be found, and extended, whenever one is added."""
    source, found = Path(gambol.__file__).parent, set()
    for path in source.rglob("*.py"):
        module = path.relative_to(source).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if module != "actions.py" else ():
            if isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict):
                parts = node.keys + node.values if isinstance(node, ast.Dict) else node.elts
                names = {part.value for part in parts if isinstance(part, ast.Constant)} & ACTIONS.keys()
                if len(names) > 1:
                    found.add(module)
    assert found == ALLOWED


def test_help_lists_the_actions(capsys):
    with pytest.raises(SystemExit):
        main(["animate", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert all(f"{action.name} ({action.meaning})" in said for action in TABLE)
