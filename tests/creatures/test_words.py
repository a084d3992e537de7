import re
import subprocess
import sys

import numpy as np
import pytest

import gambol
from gambol import GambolError
from gambol.cli import main
from gambol.creatures.species import PLANS, SPECIES
from gambol.creatures.words import COLORS, SYNONYMS, parse_request
from gambol.creatures.zoo import create, creature_for, random_creature
from gambol.errors import AssetError


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("horse", "horse"),
        ("a small brown horse", "horse: brown, small (0.7x)"),
        ("A HUGE, white cat!", "cat: white, huge (2x)"),
        ("a dark green t-rex", "trex: dark green"),
        ("Tyrannosaurus", "trex"),
        ("T. rex", "trex"),
        ("two puppies", "dog: puppy (0.5x); not understood: two"),
        ("a trotting golden pony", "horse: golden, trot"),
        ("the dog is running fast", "dog: run; not understood: fast"),
        ("a dark horse", "horse; not understood: dark"),
        ("black and white cow", "cow: black; not understood: white"),
        ("a tiny little ladybird", "ladybug: tiny little (0.28x)"),
        ("wolves", "wolf"),
        ("children", "child"),
        ("women", "woman"),
        ("a horse turning right", "horse: turn right"),
        ("a horse that turns to the left", "horse: turn left"),
        ("a turning horse", "horse: turn"),
        ("the right horse", "horse; not understood: right"),
        ("3 horses", "horse; not understood: 3"),
        ("a 2m tall horse, 1.5 wide", "horse: tall (1.2x); not understood: 2m, 1.5, wide"),
        ("a cat that does jump", "cat: jump"),
        ("does a fox run", "fox: run"),
        ("a doe", "deer"),
    ],
)
def test_sentences(sentence, said):
    assert str(parse_request(sentence)) == said


def test_every_species_is_named_by_its_own_word_and_every_synonym_names_one():
    for name in SPECIES:
        assert parse_request(f"a {name}").species == name
    for word, species in SYNONYMS.items():
        assert parse_request(word).species == species
        assert species in SPECIES


@pytest.mark.parametrize("sentence", ["a dragon", "", "green", "carrot and stick"])
def test_an_unknown_animal_lists_the_known_ones(sentence):
    with pytest.raises(GambolError, match=r"names no animal known here.* Known: ant, .*giraffe.*zebra"):
        parse_request(sentence)


def test_a_slip_of_the_pen_gets_a_hint():
    with pytest.raises(GambolError, match=r"did you mean giraffe\? Known"):
        parse_request("a girafe")


def test_two_animals_are_refused():
    with pytest.raises(GambolError, match=r"more than one animal \(cat, dog\)"):
        parse_request("a cat and a dog")


def test_size_and_colour_reach_the_creature():
    plain, small = creature_for(parse_request("horse")), creature_for(parse_request("a small blue horse"))
    np.testing.assert_allclose(small.blueprint.heads, 0.7 * plain.blueprint.heads)
    assert small.plan.coat.main == COLORS["blue"]
    colors = create("a blue horse").meshes[0].colors
    assert (colors[:, 2] > colors[:, 0]).mean() > 0.7


def test_a_name_works_where_a_file_is_expected(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    main(["info", "fox"])
    assert "quadruped" in capsys.readouterr().out
    main(["flex", "duck", "-o", "duck.glb", "--seconds", "0.1"])
    assert list(gambol.load("duck.glb").clips) == ["flex"]
    with pytest.raises(GambolError, match=r"there is no file dragon, and 'dragon' names no animal"):
        gambol.load("dragon")


def test_a_file_without_a_suffix_is_still_a_file(tmp_path):
    (tmp_path / "fox").write_text("no character")
    with pytest.raises(AssetError):
        gambol.load(tmp_path / "fox")


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ("an armoured horse", "there is no file an armoured horse, and 'armoured' is not understood"),
        ("a trotting horse", "leave out 'trot'"),
        ("", "'' names no character"),
        (".", "'.' names no character"),
        ("nowhere/horse", "nowhere/horse does not exist"),
        ("nowhere/a T. rex", "nowhere/a T. rex does not exist"),
        ("my fox.blend", "gambol reads .glb"),
        ("fox.glb", "fox.glb does not exist"),
        ("x" * 5000, "names no animal"),
    ],
)
def test_what_cannot_be_loaded_says_why(sentence, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GambolError, match=re.escape(message)):
        gambol.load(sentence)


def test_a_dot_does_not_make_a_sentence_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert gambol.load("a T. rex").name == gambol.load("t.rex").name == "trex"


@pytest.mark.parametrize("seed", [-1, 1.5, "7", None, True])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(GambolError, match="the seed must be a whole number from 0, got"):
        random_creature(seed)


def test_create_writes_a_file_that_reads_back(tmp_path, capsys):
    path = tmp_path / "horse.glb"
    main(["create", "a small brown horse", "-o", str(path)])
    said = capsys.readouterr().out
    assert said.startswith("horse: brown, small (0.7x)\n")
    assert f"wrote {path}" in said
    read, made = gambol.load(path), create("a small brown horse")
    assert read.skeleton.names[: len(made.skeleton)] == made.skeleton.names
    np.testing.assert_allclose(read.rest_vertices, made.rest_vertices, atol=1e-6)
    assert read.warnings == ()


def test_create_lists_and_refuses(capsys):
    main(["create", "--list"])
    listed = capsys.readouterr().out
    for plan, names in PLANS.items():
        assert plan in listed
        assert all(name in listed for name in names)
    for arguments, message in ((["create"], "say what to create"), (["create", "a dragon"], "names no animal")):
        with pytest.raises(SystemExit):
            main(arguments)
        assert message in capsys.readouterr().err


def test_words_are_understood_without_warp():
    code = "import sys; from gambol.creatures.words import parse_request; parse_request('a red fox')\n"
    code += "print([m for m in ('torch', 'warp') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
