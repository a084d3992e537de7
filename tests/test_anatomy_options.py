"""--plan and --joints: every command that looks at the body of a character takes the user's word for it."""

import json

import pytest
from character.creatures import dog
from test_cli import refused

import gambol
from gambol.cli import main
from gambol.commands.options import AnatomyOptions
from gambol.creatures.gaits import gait
from gambol.distillation.config import preset_for
from gambol.distillation.run_config import RunConfig
from gambol.priors.catalogue import open_prior


@pytest.fixture(scope="module")
def dog_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("anatomy") / "dog.glb"
    character = dog()
    gambol.save(character, path, gait(character, gambol.analyze(character), "walk", metres_per_unit=1.0))
    return path


def plan_of(arguments, capsys) -> str:
    main(["info", "--json", *map(str, arguments)])
    return json.loads(capsys.readouterr().out)["plan"]


def test_a_plan_is_taken_as_said(dog_file, capsys):
    assert plan_of([dog_file], capsys) == "quadruped"
    assert plan_of([dog_file, "--plan", "biped"], capsys) == "biped"


def test_a_file_of_joints_is_taken_as_said_and_the_command_line_goes_before_it(dog_file, tmp_path, capsys):
    file = tmp_path / "dog.toml"
    file.write_text('plan = "biped"\nforward = "-z"\ntail = "neck"\n')
    main(["info", "--json", str(dog_file), "--joints", str(file), "--forward", "+z"])
    found = json.loads(capsys.readouterr().out)
    assert (found["plan"], found["facing"]["forward"]) == ("biped", "+z")
    assert {joint["name"]: joint["part"] for joint in found["joints"]}["snout"] == "tail"


@pytest.mark.parametrize(
    "command",
    [
        ["info", "DOG"],
        ["flex", "DOG", "-o", "out.glb"],
        ["render", "DOG", "-o", "out.png"],
        ["clip", "DOG", "--smooth", "-o", "out.glb"],
        ["report", "DOG", "-o", "out", "--prior", "none"],
        ["track", "DOG", "-o", "out.glb"],
        ["splat", "DOG", "-o", "out.ply"],
        ["animate", "DOG", "a dog walks", "--prior", "pixels", "-o", "out"],
    ],
    ids=lambda command: command[0],
)
def test_every_command_reads_the_joints(dog_file, command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dog.toml").write_text('head = "hed"')
    arguments = [dog_file if argument == "DOG" else argument for argument in command]
    assert "there is no joint 'hed'. Available: hips" in refused([*arguments, "--joints", "dog.toml"], capsys)
    assert "--joints no.toml does not exist" in refused([*arguments, "--joints", "no.toml"], capsys)
    assert "a plan with 8 legs needs 4 pair(s)" in refused([*arguments, "--plan", "eight-legs"], capsys)


def test_a_run_keeps_what_was_said_without_the_file(dog_file, tmp_path):
    file = tmp_path / "dog.json"
    file.write_text('{"right leg": ["thigh.L", "shin.L"]}')
    said = AnatomyOptions(forward="-z", plan="biped", joints=file).lasting()
    prior = open_prior("pixels")
    kept = RunConfig(str(dog_file), "a dog walks", preset_for("draft", prior, 0), **said)
    file.unlink()
    read = RunConfig.from_json(kept.json())
    assert read == kept
    anatomy = read.problem(gambol.load(dog_file), prior).anatomy
    assert (anatomy.plan, anatomy.forward.tolist()) == ("biped", [0, 0, -1])
