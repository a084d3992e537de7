"""`gambol track` from a file with clips to one with more of them."""

import dataclasses
import json
import re
import sys
from pathlib import Path

import av
import numpy as np
import pytest
from character.creatures import dog
from distillation.odd_characters import joints_alone, scaled
from physics.bodies import body_of, cut, with_gaits, with_rest
from PIL import Image

import gambol
from gambol.character.clip import Clip, Track
from gambol.character.skeleton import Pose
from gambol.cli import main
from gambol.creatures.gaits import gait
from gambol.formats.gltf.document import glb_bytes
from gambol.motion.foot_lock import FootLock, FootLockConfig
from gambol.motion.locked_clip import ClipLocker
from gambol.physics import track as physics_track
from gambol.physics.simulation import PAPER
from gambol.quality.measures import BY_KEY
from gambol.render import clip_renderer

QUICK = FootLockConfig(steps=4)


@pytest.fixture(scope="module")
def human_file(tmp_path_factory):
    """A human who walks, stops in the middle of a step, and is carried through the air."""
    path = tmp_path_factory.mktemp("track") / "human.glb"
    character = gambol.create("human")
    walk = gait(character, gambol.analyze(character), "walk")
    write(path, character, walk, cut(walk, 0.4, "stop"), flight(character))
    return path


@pytest.fixture(scope="module")
def dog_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("track") / "dog.glb"
    write(path, dog(), body_of("dog", "walk").character.clips["walk"])
    return path


def write(path, character, *clips) -> None:
    """A file with these clips."""
    gambol.save(character, path, clips[0] if clips else None)
    for clip in clips[1:]:
        gambol.save(gambol.load(path), path, clip, overwrite=True)


def flight(character) -> Clip:
    """All of it goes up and down, three times its own height above the ground."""
    height = 3 * gambol.analyze(character).height
    hips = int(np.flatnonzero(character.skeleton.parents < 0)[0])
    times = np.linspace(0, 1, 9)
    places = character.skeleton.rest.translation[hips] + np.outer(1 + 0.1 * np.sin(2 * np.pi * times), [0, height, 0])
    return Clip("Scene", (Track(hips, "translation", times, places),))


@pytest.fixture(autouse=True)
def short(monkeypatch, tmp_path):
    """Feet are locked in a few steps, movies are small, in a folder of their own."""
    usual = FootLock.__init__

    def foot_lock(self, *arguments, **options):
        arguments = [QUICK if isinstance(each, FootLockConfig) else each for each in arguments]
        usual(self, *arguments, **({**options, "config": QUICK} if QUICK not in arguments else options))

    monkeypatch.setattr(FootLock, "__init__", foot_lock)
    monkeypatch.setattr(clip_renderer, "MOVIE_SIZE", 32)
    monkeypatch.setattr(clip_renderer, "MOVIE_FPS", 8.0)
    monkeypatch.chdir(tmp_path)


def track(*arguments, iterations: int = 3):
    main(["track", *map(str, arguments), "--iterations", str(iterations)])


def refused(arguments, capsys, **options) -> str:
    with pytest.raises(SystemExit) as stopped:
        track(*arguments, **options)
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("gambol: ") and error.count("\n") == 1, error
    return error


def assert_same_clip(found: Clip, expected: Clip) -> None:
    """Every key, bit for bit."""
    assert found.name == expected.name and len(found.tracks) == len(expected.tracks)
    for ours, theirs in zip(found.tracks, expected.tracks, strict=True):
        assert (ours.node, ours.path, ours.interpolation) == (theirs.node, theirs.path, theirs.interpolation)
        assert ours.times.tobytes() == theirs.times.tobytes() and ours.values.tobytes() == theirs.values.tobytes()


def assert_tracked(before: gambol.Character, path, old: str, new: str) -> gambol.Character:
    """A file that has all it had, and one clip more, as long as the old one."""
    after = gambol.load(path)
    assert list(after.clips) == [*before.clips, new]
    assert after.skeleton.names == before.skeleton.names and len(after.meshes) == len(before.meshes)
    for name, clip in before.clips.items():
        assert_same_clip(after.clips[name], clip)
    added = after.clips[new]
    assert added.duration == pytest.approx(before.clips[old].duration, abs=1e-5)
    assert all(np.isfinite(each.times).all() and np.isfinite(each.values).all() for each in added.tracks)
    times = np.linspace(0, added.duration, 10)
    heights = []
    for clip in (before.clips[old], added):
        world = before.skeleton.world(clip.sample(before.skeleton, clip.start + times))
        heights.append(np.ptp(world[..., 1, 3]))
    assert heights[1] == pytest.approx(heights[0], rel=0.3), "it neither fell nor flew apart"
    return after


# What it does


def test_from_a_clip_to_its_physics(human_file, tmp_path, capsys):
    track(human_file, "--clip", "walk", "-o", "out.glb", iterations=5)
    told = capsys.readouterr()
    assert "walk physics, at a height of 1 m" in told.out
    for row, unit in (("feet slide", "cm/s"), ("skin sinks into the ground", "mm")):
        assert re.search(rf"{row} .*\d+\.\d {unit} .*\d+\.\d {unit}", told.out)
    assert re.search(
        r"walk physics: bones are \d+\.\d+% of the height from the clip on average, \d+\.\d+% with feet locked; ",
        told.out,
    )
    assert re.search(
        r"; the loop closes within \d+\.\d+%; (stays up in 10 s|falls after \d+\.\d s) of looping", told.out
    )
    assert told.out.splitlines()[-1] == "wrote out.glb: 1 clip(s) added: 'walk physics'"
    assert_tracked(gambol.load(human_file), "out.glb", "walk", "walk physics")
    assert [path.name for path in tmp_path.iterdir()] == ["out.glb"], "nothing half-written"


def test_the_first_clip_into_a_file_beside_the_first(human_file, capsys):
    """Without options; what does not loop has no seam to tell of."""
    beside = human_file.with_name("human-physics.glb")
    track(human_file, "--clip", "stop", iterations=1)
    told = capsys.readouterr().out
    assert f"wrote {beside}: 1 clip(s) added: 'stop physics'" in told
    assert "loop" not in told
    assert_tracked(gambol.load(human_file), beside, "stop", "stop physics")
    beside.unlink()


def test_two_clips_at_once(human_file, capsys):
    track(human_file, "--clip", "stop", "walk", "stop", "-o", "out.glb")
    assert "2 clip(s) added: 'stop physics', 'walk physics'" in capsys.readouterr().out
    after = gambol.load("out.glb")
    assert list(after.clips) == ["walk", "stop", "Scene", "stop physics", "walk physics"]
    assert all(np.isfinite(each.values).all() for name in after.clips for each in after.clips[name].tracks)


def test_all_clips_but_those_in_the_air(human_file, capsys):
    track(human_file, "--all", "-o", "out.glb", iterations=2)
    told = capsys.readouterr()
    (left_out,) = (
        line
        for line in told.err.splitlines()
        if " of the simulation is kept" not in line and " changed is kept" not in line
    )
    assert left_out.startswith("warning: left out: the clip 'Scene' has no contact with the ground")
    assert list(gambol.load("out.glb").clips) == ["walk", "stop", "Scene", "walk physics", "stop physics"]


def test_names(human_file, capsys):
    track(human_file, "--clip", "stop", "--name", "halt!", "-o", "out.glb", iterations=1)
    assert "halt!, at a height of" in capsys.readouterr().out
    assert_tracked(gambol.load(human_file), "out.glb", "stop", "halt!")
    track("out.glb", "--clip", "stop", "--name", "halt!", "-o", "again.glb", iterations=1)
    names = list(gambol.load("again.glb").clips)
    assert len(names) == 5 and len(set(names)) == 5, "a name that is taken gets another"


@pytest.mark.parametrize("fps", [10, 60])
def test_frames_a_second(human_file, fps):
    track(human_file, "--clip", "walk", "--fps", fps, "-o", "out.glb", iterations=1)
    before = gambol.load(human_file)
    after = assert_tracked(before, "out.glb", "walk", "walk physics")
    keys = max(len(each.times) for each in after.clips["walk physics"].tracks)
    assert keys == round(before.clips["walk"].duration * fps) + 1


def numbers(table: str, title: str) -> list[str]:
    """The cells of a row after its title."""
    rows = ([cell.strip() for cell in line.strip("│").split("│")] for line in table.splitlines())
    return next(cells for first, *cells in rows if first == title)


def test_figures_are_those_of_the_report(dog_file, capsys):
    """Of the clip that was and of the one that is."""
    track(dog_file, "-o", "out.glb", iterations=1)
    told = capsys.readouterr().out
    for column, clip in enumerate(("walk", "walk physics")):
        main(["report", "out.glb", "--clip", clip, "--prior", "none", "--no-page", "-o", clip])
        metrics = json.loads(Path(clip, "report.json").read_text())["metrics"]
        for key in ("foot_slide_mean", "foot_slide_worst", "penetration_mean", "penetration_worst", "floating"):
            assert numbers(told, BY_KEY[key].title)[column] == BY_KEY[key].text(metrics[key]["value"]), key


def test_a_clip_that_got_worse_is_told(dog_file, capsys, monkeypatch):
    """With what got worse and what to do; nothing is said of one that is as good as it was."""
    usual = physics_track.movement_values
    for deeper, warned in ((100.0, True), (-100.0, False)):

        def values(clip, deeper=deeper):
            found = usual(clip)
            return {**found, "penetration_mean": max(found["penetration_mean"] + deeper, 0), "foot_slide_mean": 0.0}

        for place in ("gambol.physics.track.movement_values", "gambol.quality.measures.movement_values"):
            monkeypatch.setattr(place, values)
        track(dog_file, "-o", "out.glb", iterations=1)
        lines = [line for line in capsys.readouterr().err.splitlines() if "sinks into" in line]
        if warned:
            sinks = r".*skin sinks into the ground 10\d\.\d mm, \d\.\d before.*"
            kept = r"warning: walk physics: nothing of the simulation is kept; with all of it "
            edited = r"warning: walk physics is worse than the original clip after the edits: "
            assert re.match(kept + sinks + r"\. More --iterations may help$", lines[0])
            assert re.match(edited + sinks, lines[1]), "measured deeper on purpose, also the clip as it was"
        else:
            assert not lines


def test_without_locked_feet(human_file, monkeypatch):
    """The first lock of the feet is left out."""
    locked, usual = [], ClipLocker.lock

    def lock(locker, clip, action, fps, lock, on_progress):
        locked.append(lock)
        return usual(locker, clip, action, fps, False, on_progress)

    monkeypatch.setattr(ClipLocker, "lock", lock)
    track(human_file, "--clip", "stop", "--no-fix-feet", "-o", "out.glb", iterations=1)
    monkeypatch.setattr("gambol.physics.target.STANDS", 0.0)
    track(human_file, "--clip", "stop", "-o", "out2.glb", iterations=1)
    monkeypatch.setattr("gambol.physics.target.STANDS", 1e3)
    track(human_file, "--clip", "stop", "-o", "out3.glb", iterations=1)
    assert locked == [False, True, False], "feet that stand already are left alone"


def test_the_papers_solver(dog_file, monkeypatch):
    seen, usual = [], physics_track.track_references
    monkeypatch.setattr(
        physics_track, "track_references", lambda *arguments: seen.append(arguments[2].solver) or usual(*arguments)
    )
    write("short.glb", dog(), cut(gambol.load(dog_file).clips["walk"], 0.1, "twitch"))
    track("short.glb", "--solver", "paper", "-o", "out.glb", iterations=1)
    assert seen == [PAPER]
    assert_tracked(gambol.load("short.glb"), "out.glb", "twitch", "twitch physics")


def test_a_movie(dog_file, capsys):
    write("short.glb", dog(), cut(gambol.load(dog_file).clips["walk"], 0.2, "stop"))
    track("short.glb", "-o", "out.glb", "--movie", "walk.mp4", iterations=1)
    assert "wrote walk.mp4 and walk.png" in capsys.readouterr().out
    with av.open("walk.mp4") as movie:
        assert movie.streams.video[0].frames > 0
    with Image.open("walk.png") as sheet:
        assert sheet.width >= 32


def test_for_mujoco(human_file, capsys):
    track(human_file, "--clip", "stop", "-o", "out.glb", "--export-mjcf", "body.xml", iterations=1)
    assert "wrote body.xml and body.npz: the ragdoll and its motion for MuJoCo" in capsys.readouterr().out
    with np.load("body.npz") as motion:
        assert np.isfinite(motion["qpos"]).all() and len(motion["qpos"]) == len(motion["ctrl"])
        assert (len(motion["qpos"]) - 1) / motion["fps"] == pytest.approx(
            gambol.load(human_file).clips["stop"].duration
        )
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_path("body.xml")
    assert model.nbody > 10 and model.opt.gravity[2] < 0


def test_the_check_in_mujoco(human_file, capsys):
    pytest.importorskip("mujoco")
    track(human_file, "--clip", "stop", "-o", "out.glb", "--mujoco-check", iterations=1)
    assert re.search(
        r"stop physics: in MuJoCo the body drifts \d+\.\d % of the height on average", capsys.readouterr().out
    )


# Mistakes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.glb"], "nothing.glb does not exist"),
        (["HUMAN", "--iterations", "0"], "--iterations must be from 1 to 10,000, got 0"),
        (["HUMAN", "--fps", "0"], "--fps must be from 1 to 240, got 0"),
        (["HUMAN", "--fps", "nan"], "--fps must be from 1 to 240, got nan"),
        (["HUMAN", "--clip", "jump"], "'human' has no clip 'jump'. Available: walk, stop, Scene"),
        (["HUMAN", "--all", "--clip", "walk"], "--all takes every clip: leave out --clip"),
        (["HUMAN", "--all", "--name", "x"], "--name, --movie and --export-mjcf are for a single clip"),
        (["HUMAN", "--clip", "walk", "stop", "--movie", "x.mp4"], "--name, --movie and --export-mjcf are for a single"),
        (["HUMAN", "--all", "--export-mjcf", "x.xml"], "--name, --movie and --export-mjcf are for a single clip"),
        (["HUMAN", "--name", " "], "--name must not be empty"),
        (["HUMAN", "-o", "HUMAN"], "is the input itself; write to another file"),
        (["HUMAN", "-o", "out.obj"], "out.obj"),
        (["HUMAN", "-o", "no/out.glb"], "the folder no does not exist"),
        (["HUMAN", "--movie", "walk.txt"], "'walk.txt': pictures are written as"),
        (["HUMAN", "--export-mjcf", "body.json"], "--export-mjcf writes an .xml, got body.json"),
        (["HUMAN", "--export-mjcf", "no/body.xml"], "the folder no does not exist"),
        (["HUMAN", "--solver", "exact"], "invalid choice 'exact'"),
        (["HUMAN", "--up", "north"], "invalid choice 'north'"),
        (["HUMAN", "--fix-feet"], "--fix-feet"),
        (["HUMAN", "--clip", "Scene"], "the clip 'Scene' has no contact with the ground, it stays 2"),
    ],
)
def test_mistakes_leave_nothing_behind(human_file, tmp_path, arguments, message, capsys, monkeypatch):
    monkeypatch.setattr(physics_track, "track_references", None)  # nothing is simulated
    arguments = [str(human_file) if each == "HUMAN" else each for each in arguments]
    if "--iterations" in arguments:
        with pytest.raises(SystemExit):
            main(["track", *arguments])
        error = capsys.readouterr().err
    else:
        error = refused([*arguments, *([] if "-o" in arguments else ["-o", "out.glb"])], capsys)
    assert message in error
    assert not list(tmp_path.iterdir())
    assert [path.name for path in human_file.parent.iterdir()] == ["human.glb"]


def test_without_mujoco(human_file, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    error = refused([human_file, "--mujoco-check", "-o", "out.glb"], capsys)
    assert "the check needs MuJoCo: pip install 'gambol[mujoco]'" in error


def test_without_clips(tmp_path, capsys):
    gambol.save(dog(), "still.glb")
    assert "'still' has no clips; make one first, as in gambol animate still.glb" in refused(["still.glb"], capsys)


def test_nothing_on_the_ground_at_all(tmp_path, capsys):
    write("up.glb", dog(), flight(dog()))
    with pytest.raises(SystemExit) as stopped:
        track("up.glb", "--all")
    assert stopped.value.code == 2
    error, end = capsys.readouterr().err.split("\n")
    assert error.startswith("gambol: the clip 'Scene' has no contact with the ground") and not end


def test_bodies_that_are_lost_are_told(dog_file, tmp_path, capsys, monkeypatch):
    """A clip that no body could follow gives no file."""
    monkeypatch.setattr("gambol.physics.track.LOST", 1e-4)
    error = refused([dog_file, "-o", "out.glb"], capsys, iterations=1)
    assert re.search(
        r"the body could not follow 'walk': its bones end \d+% of the height off; more --iterations", error
    )
    assert not list(tmp_path.iterdir())


# Bad input


def with_nan_keys(path):
    """One key of a clip is no number, in the file itself."""
    source = gambol.load(path).source
    content = json.loads(json.dumps(source.json))
    animation = content["animations"][0]
    accessor = content["accessors"][animation["samplers"][animation["channels"][0]["sampler"]]["output"]]
    view = content["bufferViews"][accessor["bufferView"]]
    begin = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
    kinds = [kind for kind, _ in source.chunks]
    data = bytearray(source.chunks[0][1])
    data[begin : begin + 4] = np.float32(np.nan).tobytes()
    return glb_bytes(content, ((kinds[0], bytes(data)), *source.chunks[1:]))


def test_keys_that_are_no_numbers(dog_file, tmp_path, capsys):
    """The reader leaves such a clip out, and says so."""
    (tmp_path / "nan.glb").write_bytes(with_nan_keys(dog_file))
    with pytest.raises(SystemExit) as stopped:
        track("nan.glb", "-o", "out.glb")
    assert stopped.value.code == 2
    warning, error, end = capsys.readouterr().err.split("\n")
    assert warning.startswith("warning: clip 'walk' cannot be read and is left out") and "NaN" in warning
    assert error.startswith("gambol: 'nan' has no clips; make one first") and not end
    assert not (tmp_path / "out.glb").exists()


def without_length(character):
    """Shins and hocks in the place of their parents."""
    rest = character.skeleton.rest
    places = rest.translation.copy()
    for name in ("hock.L", "hock.R", "tail.2"):
        places[character.skeleton.names.index(name)] = 0.0
    return with_rest(character, Pose(places, rest.rotation, rest.scale))


def squeezed(character, *factors):
    """Skin as thin as paper, or all of it in one point."""
    meshes = [dataclasses.replace(each, positions=each.positions * np.float32(factors)) for each in character.meshes]
    return dataclasses.replace(character, meshes=tuple(meshes))


def test_bones_without_length(tmp_path):
    character = without_length(dog())
    write("odd.glb", character, with_gaits(character, "walk").clips["walk"])
    track("odd.glb", "-o", "out.glb", "--no-fix-feet", iterations=2)
    assert_tracked(gambol.load("odd.glb"), "out.glb", "walk", "walk physics")


@pytest.mark.parametrize("make", [lambda: squeezed(dog(), 0, 0, 0), joints_alone], ids=["a point", "joints alone"])
def test_what_has_no_volume(make, dog_file, capsys):
    write("thin.glb", make(), gambol.load(dog_file).clips["walk"])
    error = refused(["thin.glb", "-o", "out.glb", "--up", "+y", "--forward", "+z"], capsys)
    assert "has no volume: physics needs skin around its joints" in error


def test_a_paper_doll(dog_file):
    write("flat.glb", squeezed(dog(), 0, 1, 1), gambol.load(dog_file).clips["walk"])
    track("flat.glb", "-o", "out.glb", "--up", "+y", "--forward", "+z", "--no-fix-feet", iterations=2)
    assert_tracked(gambol.load("flat.glb"), "out.glb", "walk", "walk physics")


@pytest.mark.parametrize("height", [1e-3, 1e3], ids=["a millimetre", "a kilometre"])
def test_characters_of_any_size(height):
    character = scaled(dog(), height / gambol.analyze(dog()).height)
    write("odd.glb", character, with_gaits(character, "walk").clips["walk"])
    track("odd.glb", "-o", "out.glb", iterations=2)
    assert_tracked(gambol.load("odd.glb"), "out.glb", "walk", "walk physics")


def test_a_clip_of_two_frames(dog_file):
    walk = gambol.load(dog_file).clips["walk"]
    write("short.glb", dog(), cut(walk, 0.03, "twitch"))
    track("short.glb", "-o", "out.glb", iterations=1)
    assert_tracked(gambol.load("short.glb"), "out.glb", "twitch", "twitch physics")
