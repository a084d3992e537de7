import json

import pytest

from gambol.actions import ACTIONS
from gambol.cli import main


def listed(capsys, *arguments):
    main(["actions", *arguments, "--json"])
    return {row["action"]: row for row in json.loads(capsys.readouterr().out)}


def test_lists_every_action_with_what_is_known_of_it(capsys):
    rows = listed(capsys, "fox")
    assert set(rows) == set(ACTIONS)
    assert rows["walk"]["note"] == "" and rows["walk"]["learned_from"]
    assert rows["punch"]["note"] == "needs arms" and rows["fly"]["note"] == "needs wings"
    assert rows["sit down"]["note"] == "" and rows["scratch"]["learned_from"] == "a formula"


def test_a_person_waves_and_does_not_coil(capsys):
    rows = listed(capsys, "human")
    assert rows["wave"]["note"] == "" and "clip" in rows["wave"]["learned_from"]
    assert rows["coil"]["note"] in ("experimental", "not known")


def test_what_only_a_formula_shows_is_known_to_who_has_it(capsys):
    people, foxes = listed(capsys, "human"), listed(capsys, "fox")
    for name in ("salute", "kneel", "phone", "lift"):
        assert people[name]["note"] == "" and people[name]["learned_from"].endswith("formula")
        assert foxes[name]["note"].startswith("needs") and not foxes[name]["learned_from"]
    assert foxes["beg"]["note"] == "" and people["beg"]["note"] in ("experimental", "not known")
    assert foxes["yawn"]["note"] == people["yawn"]["note"] == ""
    assert listed(capsys, "chicken")["land"]["learned_from"].endswith("formula")
    for rows, least in ((people, 60), (foxes, 35)):
        assert sum(not row["note"] for row in rows.values()) >= least


def test_the_table_ends_with_a_count(capsys):
    main(["actions", "fox"])
    shown = capsys.readouterr().out
    assert "walks, strolls, strides" in shown
    assert f"of {len(ACTIONS)} actions are known well enough" in shown


def test_a_file_that_is_not_there_is_one_line(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["actions", "nothing.glb"])
    assert stopped.value.code == 2
    assert "nothing.glb" in capsys.readouterr().err
