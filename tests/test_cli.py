import contextlib
import dataclasses
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from character.creatures import dog
from PIL import Image

import gambol
from gambol.character.clip import Track
from gambol.cli import main
from gambol.creatures.gaits import gait


@pytest.fixture(scope="module")
def dog_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "dog.glb"
    gambol.save(dog(), path)
    return path


def refused(arguments, capsys) -> str:
    """What a command that exits with 2 prints on standard error."""
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert "Traceback" not in error
    return error


def test_the_package_runs_as_a_module():
    for arguments, code in ((["--version"], 0), (["walk"], 2)):
        done = subprocess.run([sys.executable, "-m", "gambol", *arguments], capture_output=True, text=True, timeout=120)
        assert done.returncode == code and "Traceback" not in done.stderr
    assert "Available subcommands: animate" in done.stderr


def test_help_teaches_by_examples_without_heavy_imports():
    code = "import sys; from gambol.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    code += "print([m for m in ('torch', 'numpy', 'scipy', 'PIL', 'av') if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "gambol info fox.glb" in shown
    assert shown.endswith("[]\n")


def test_info_shows_parts_and_facing(dog_file, capsys):
    main(["info", str(dog_file)])
    shown = capsys.readouterr().out
    assert "quadruped" in shown
    assert "faces +z, up +y" in shown
    assert "left hind leg" in shown
    assert "warning" not in shown


def test_info_as_json_is_json(dog_file, capsys):
    main(["info", str(dog_file), "--json", "--forward", "-z"])
    found = json.loads(capsys.readouterr().out)
    assert found["facing"] == {"up": "+y", "forward": "-z", "certainty": 1.0}
    assert next(limb["name"] for limb in found["limbs"] if limb["kind"] == "leg") == "left front leg"
    assert found["skeleton"]["animated_joints"] == 25
    assert found["warnings"] == []
    paws = {joint["node"]: joint for joint in found["joints"] if "paw" in joint["name"]}
    assert all(paws[joint["mirror"]]["mirror"] == node for node, joint in paws.items())
    legs = [limb for limb in found["limbs"] if limb["kind"] == "leg"]
    assert all(contact["node"] in leg["nodes"] for leg in legs for contact in leg["contacts"])


def test_info_draws(dog_file, tmp_path):
    main(["info", str(dog_file), "--json", "--picture", str(tmp_path / "dog.png")])
    assert (tmp_path / "dog.png").stat().st_size > 5000


def test_flex_writes_a_clip(dog_file, tmp_path, capsys):
    main(["flex", str(dog_file), "-o", str(tmp_path / "out.glb"), "--seconds", "0.2"])
    assert "clip 'flex'" in capsys.readouterr().out
    assert list(gambol.load(tmp_path / "out.glb").clips) == ["flex"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "nothing.glb"], "nothing.glb does not exist"),
        (["info", "dog.blend"], "gambol reads .glb, .gltf, .vrm"),
        (["flex", "DOG", "-o", "DOG"], "is the input itself"),
        (["flex", "DOG", "-o", "missing/out.glb"], "the folder missing does not exist"),
        (["flex", "DOG", "-o", "out.obj"], "use a name that ends in .glb"),
        (["flex", "DOG", "-o", ""], "-o must not be empty"),
        (["create", "a human pacing"], "no action 'pace' for a human. Available: walk, jog"),
        (["flex", "DOG", "-o", "out.glb", "--seconds", "0"], "--seconds must be from 0.001 to 60"),
        (["flex", "DOG", "-o", "out.glb", "--seconds", "abc"], "could not convert string to float"),
        (["flex", "DOG", "-o", "out.glb", "--name", ""], "--name must not be empty"),
        (["info", "DOG", "--forward", "sideways"], "invalid choice 'sideways'"),
        (["info"], "Missing from gambol info: FILE"),
        (["dance"], "Available subcommands: animate"),
        (["info", "DOG", "--up", "+z", "--forward", "-z"], "must be different axes"),
        (["render", "DOG", "-o", "out.avi"], "pictures are written as .mp4, .gif, .png"),
        (["render", "DOG", "--size", "5"], "--size must be from 16 to 4,096, got 5"),
        (["render", "DOG", "--size", "101"], "--size must be even for an .mp4, got 101; use 102"),
        (["render", "DOG", "--clip", "trot"], "'dog' has no clips; make one first"),
        (["render", "DOG", "--azimuth", "nan"], "--azimuth must be from -360 to 360"),
        (["render", "DOG", "--view", "behind"], "invalid choice 'behind'"),
        (["render", "nothing.glb"], "nothing.glb does not exist"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(dog_file, arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    error = refused([dog_file if argument == "DOG" else argument for argument in arguments], capsys)
    assert error.count("\n") == 1
    assert error.startswith("gambol: ")
    assert message in error


@pytest.mark.parametrize("command", [["create", "fox"], ["skin", "DOG", "--skeleton", "DOG"], ["flex", "fox"]])
@pytest.mark.parametrize(
    ("output", "message"),
    [("missing/out.glb", "the folder missing does not exist"), ("out.obj", "use a name that ends in .glb")],
)
def test_outputs_are_checked_before_the_work(dog_file, command, output, message, capsys, tmp_path, monkeypatch):
    def work(*_, **__):
        raise AssertionError("worked in vain")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gambol.creatures.zoo.Creature.character", work)
    monkeypatch.setattr("gambol.character.skin.bind_mesh", work)
    arguments = [dog_file if argument == "DOG" else argument for argument in command]
    assert message in refused([*arguments, "-o", output], capsys)


def test_render_writes_a_movie_of_the_first_clip(dog_file, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    main(["flex", str(dog_file), "-o", "bent.glb", "--seconds", "0.02"])
    main(["render", "bent.glb", "--size", "32", "--fps", "10"])
    shown = capsys.readouterr().out
    assert "wrote bent.mp4: clip 'flex', three-quarter view, " in shown
    assert "of 32 x 32" in shown
    assert (tmp_path / "bent.mp4").read_bytes()[4:8] == b"ftyp"
    assert "no clip 'trot'. Available: flex" in refused(["render", "bent.glb", "--clip", "trot"], capsys)


def test_render_shows_what_stands_still(dog_file, tmp_path, capsys):
    for view, size in (("auto", (48, 48)), ("orbit", None)):
        picture = tmp_path / f"{view}.png"
        main(["render", str(dog_file), "-o", str(picture), "--size", "48", "--view", view, "--samples", "1"])
        with Image.open(picture) as image:
            assert image.size == size or (image.width >= 4 * 48 and image.height > 2 * 48)
    assert "without a clip, three-quarter view, 1 frame(s)" in capsys.readouterr().out
    main(["render", str(dog_file), "-o", str(tmp_path / "turn.gif"), "--size", "32", "--seconds", "0.3"])
    with Image.open(tmp_path / "turn.gif") as image:
        assert image.n_frames == 9


def test_a_skeleton_without_a_mesh_is_shown_as_bars(dog_file, tmp_path, capsys):
    """Both a .glb of joints alone and motion capture."""
    dog = gambol.load(dog_file)
    gambol.save(dataclasses.replace(dog, meshes=(), source=None), tmp_path / "bare.glb")
    nod = Track(1, "rotation", np.array([0.0, 0.5]), np.array([[1.0, 0, 0, 0], [0.8, 0.6, 0, 0]]))
    gambol.export(dog, gambol.Clip("nod", (nod,)), tmp_path / "nod.bvh")
    for name, shown in (("bare.glb", "without a clip"), ("nod.bvh", "clip 'nod'")):
        picture = tmp_path / f"{name}.png"
        main(["render", str(tmp_path / name), "-o", str(picture), "--size", "48", "--samples", "1"])
        assert f"wrote {picture}: {shown}" in capsys.readouterr().out
        with Image.open(picture) as image:
            first = np.asarray(image.convert("RGB"))[:48, :48].astype(int)
        assert np.abs(first - first[:, :1]).max() > 40  # there is something before the floor
        main(["info", str(tmp_path / name), "--picture", str(picture)])
        with Image.open(picture) as image:
            colors = {tuple(color) for _, color in image.convert("RGB").getcolors(1 << 20)}
        assert len(colors) > 200  # shaded faces in the colours of parts, not only lines


def test_render_names_a_character_without_anything_to_see(tmp_path, capsys):
    (tmp_path / "empty.gltf").write_text('{"asset": {"version": "2.0"}}')
    error = refused(["render", tmp_path / "empty.gltf", "-o", tmp_path / "empty.png"], capsys)
    assert "'empty' has neither joints nor meshes" in error


def test_create_shows_that_it_works(tmp_path, monkeypatch):
    shown = []

    @contextlib.contextmanager
    def progress(what):
        yield lambda done, total: shown.append((what, done, total))

    monkeypatch.setattr("gambol.progress.progress", progress)
    main(["create", "a fox", "-o", str(tmp_path / "fox.glb")])
    assert shown[-1] == ("sculpting", 1, 1)


def test_hostile_names_stay_on_their_line(dog_file, tmp_path, capsys):
    character = gambol.load(dog_file)
    names = ("evil\n\x1b[31m:dog:\\", *character.skeleton.names[1:])
    hostile = dataclasses.replace(character, skeleton=dataclasses.replace(character.skeleton, names=names), source=None)
    gambol.save(hostile, tmp_path / "evil.glb")
    main(["info", str(tmp_path / "evil.glb")])
    shown = capsys.readouterr().out
    assert "evil \ufffd[31m:dog:\\" in shown
    assert "\x1b[31m" not in shown


def test_version(capsys):
    main(["--version"])
    assert capsys.readouterr().out == f"gambol {gambol.__version__}\n"


def test_public_names_exist_and_others_do_not():
    for name in gambol.__all__:
        assert getattr(gambol, name) is not None
    with pytest.raises(AttributeError, match="No gambol attribute lode"):
        _ = gambol.lode


def gambol_process(*arguments, **options):
    return subprocess.run([sys.executable, "-m", "gambol", *map(str, arguments)], text=True, **options)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize(
    "arguments", [["info", "DOG"], ["info", "DOG", "--json"], ["--help"], ["--version"], ["create", "--list"]]
)
def test_a_full_disk_behind_standard_output_is_one_line(dog_file, arguments):
    with open("/dev/full", "w") as full:
        ended = gambol_process(
            *(dog_file if each == "DOG" else each for each in arguments), stdout=full, stderr=subprocess.PIPE
        )
    assert ended.returncode == 2
    assert ended.stderr == "gambol: standard output cannot be written: No space left on device\n"


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes of this kind")
@pytest.mark.parametrize("arguments", [["info", "DOG"], ["--help"], ["--version"], ["create", "--list"]])
def test_it_ends_quietly_if_nobody_reads_on(dog_file, arguments):
    """As in `gambol info dog.glb | head -1`."""
    reader, writer = os.pipe()
    os.close(reader)
    given = (dog_file if each == "DOG" else each for each in arguments)
    ended = gambol_process(*given, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert ended.stderr == "" and ended.returncode in (1, 141)  # 1 if rich was printing


@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="no such signal on this system")
def test_shutting_down_the_live_page_does_not_end_the_process(capsys):
    """SIGPIPE comes in one of some thousand shutdowns (a race in asyncio); it must stay ignored, as Python has it."""
    main(["--version"])
    assert signal.getsignal(signal.SIGPIPE) == signal.SIG_IGN


@pytest.mark.skipif(sys.platform == "win32", reason="closed with the shell")
def test_a_closed_standard_output_is_no_traceback(dog_file):
    command = f"{shlex.quote(sys.executable)} -m gambol info {shlex.quote(str(dog_file))} >&-"
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["animate", "DOG", "it walks", "--seconds", "0"],
        ["animate", "DOG", "it walks", "--seconds", "600", "--fps", "240"],
        ["animate", "DOG", "it walks", "--pin", "1" * 5000 + ":rest"],
        ["animate", "DOG", "it walks", "--smooth", "1e-300"],
        ["splat", "DOG", "--gaussians", "0"],
        ["splat", "DOG", "--size", "99999"],
        ["animate", "DOG", "it walks", "-o", ""],
        ["clip", "DOG", "--smooth", "1e-300"],
        ["clip", "DOG", "--speed", "nan"],
        ["track", "DOG", "--iterations", "0"],
        ["track", "DOG", "--in-place", "--root-motion"],
        ["train-prior", "prior", "--videos", "0"],
        ["eval-prior", "--creatures", "0"],
        ["report", "DOG", "--prompt", " "],
        ["flex", "DOG", "-o", "out.glb", "--seconds", "0"],
    ],
)
def test_wrong_values_are_refused_before_anything_heavy_is_loaded(dog_file, arguments, tmp_path):
    script = (
        "import sys\nfrom gambol.cli import main\n"
        "try:\n    main(sys.argv[1:])\n"
        "finally:\n    print(*sorted({'torch', 'warp', 'scipy'} & set(sys.modules)))"
    )
    given = [str(dog_file) if each == "DOG" else each for each in arguments]
    ended = subprocess.run(
        [sys.executable, "-c", script, *given], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (2, "\n"), ended.stderr
    assert ended.stderr.startswith("gambol: ") and ended.stderr.count("\n") == 1 and len(ended.stderr) < 300
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "arguments",
    [
        ["animate", "DOG", "it walks", "-o", "x" * 300],
        ["animate", "--resume", "x" * 300],
        ["flex", "DOG", "-o", "x" * 300 + ".glb"],
        ["clip", "DOG", "--loop", "-o", "x" * 300 + ".glb"],
        ["track", "DOG", "-o", "x" * 300 + ".glb"],
        ["report", "DOG", "-o", "x" * 300],
        ["info", "DOG", "--picture", "x" * 300 + ".png"],
        ["create", "a fox", "-o", "x" * 300 + ".glb"],
        ["train-prior", "x" * 300],
        ["eval-prior", "-o", "x" * 300],
    ],
)
def test_names_of_over_255_bytes_are_one_line(dog_file, arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if arguments[0] in ("clip", "report", "track"):
        main(["flex", str(dog_file), "-o", "flexed.glb"])
    error = refused(
        [
            tmp_path / "flexed.glb"
            if (tmp_path / "flexed.glb").exists() and each == "DOG"
            else dog_file
            if each == "DOG"
            else each
            for each in arguments
        ],
        capsys,
    )
    assert "File name too long" in error and error.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} <= {"flexed.glb"}


@pytest.mark.parametrize("text", ["\udcff", "it \ud800 walks", "\x1b[31mred", "a\x07b"])
@pytest.mark.parametrize("options", [["PROMPT"], ["it walks", "--name", "PROMPT"], ["it walks", "--pin", "0:PROMPT"]])
def test_texts_that_cannot_be_written_are_refused_before_the_work(dog_file, text, options, capsys, monkeypatch):
    monkeypatch.setattr("gambol.commands.animate.AnimateCommand.run", lambda command: pytest.fail("worked in vain"))
    given = [text if each == "PROMPT" else each.replace("PROMPT", text) for each in options]
    error = refused(["animate", dog_file, *given], capsys)
    assert "must be up to 10,000 Unicode characters" in error and error.count("\n") == 1 and "\x1b" not in error


def test_line_breaks_in_a_prompt_are_spaces(monkeypatch):
    seen = []
    monkeypatch.setattr("gambol.commands.animate.AnimateCommand.run", lambda command: seen.append(command.prompt))
    main(["animate", "fox", "a fox\nis\twalking"])
    assert seen == ["a fox is walking"]


def test_names_in_files_do_not_command_the_terminal(dog_file, tmp_path, monkeypatch, capsys):
    character = gambol.load(dog_file)
    evil = "walk\x1b[2J\x07\n[red]x"
    clip = dataclasses.replace(gait(character, gambol.analyze(character), "walk"), name=evil)
    monkeypatch.chdir(tmp_path)
    gambol.save(dataclasses.replace(character, name="dog\x1b[0m", clips={}), "evil.glb", clip)
    for arguments in (
        ["clip", "evil.glb", "--speed", "2", "-o", "fast.glb"],
        ["clip", "evil.glb", "--clip", "none", "--loop"],
        ["report", "evil.glb", "--no-page", "--prior", "none", "-o", "report"],
        ["render", "evil.glb", "--size", "32", "-o", "evil.png"],
    ):
        with contextlib.suppress(SystemExit):
            main(arguments)
        told = capsys.readouterr()
        assert told.out + told.err and not {"\x1b", "\x07"} & set(told.out + told.err), arguments


def test_help_of_negative_options_says_what_they_do(capsys):
    for command, option, does in (
        ("report", "--no-page", "Do not write the page"),
        ("clip", "--no-events", "Do not write foot contacts"),
        ("track", "--no-fix-feet", "Do not keep planted feet from sliding"),
    ):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        text = " ".join(capsys.readouterr().out.replace("│", " ").split())
        assert f"{option} {does}" in text and "default: True" not in text.split(option)[1].split(" --")[0]


def test_class_names_of_commands_are_unique():
    import ast

    names = [
        node.name
        for path in (Path(gambol.__file__).parent / "commands").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    ]
    elsewhere = [
        node.name
        for path in Path(gambol.__file__).parent.rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef)
    ]
    assert not [name for name in names if name.endswith("Command") and elsewhere.count(name) > 1]
