"""Every example and every command of the README runs."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import gambol

ROOT = Path(__file__).parents[1]


def run(*arguments, cwd):
    done = subprocess.run([sys.executable, *map(str, arguments)], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_examples_in_order(tmp_path):
    run(ROOT / "examples/04_clay_dog.py", "dog.glb", cwd=tmp_path)
    run(ROOT / "examples/05_trot.py", "dog.glb", "trot.glb", cwd=tmp_path)
    trot = gambol.load(tmp_path / "trot.glb")
    clip = trot.clips["trot"]
    first, last = (clip.sample(trot.skeleton, t).rotation for t in (clip.start, clip.end))
    assert abs(first - last).max() < 1e-5  # it loops
    assert {trot.skeleton.names[track.node] for track in clip.tracks} >= {"thigh.L", "forearm.R", "tail.2", "hips"}


def test_a_pose_is_found_from_pixels(tmp_path):
    said = run(ROOT / "examples/07_pose_from_pixels.py", "fox.png", cwd=tmp_path)
    before, after = map(float, re.findall(r"Gaussians ([\d.]+) % of the height away", said))
    assert after < before / 3
    assert (tmp_path / "fox.png").exists()


def test_a_fox_learns_to_walk(tmp_path):
    said = run(ROOT / "examples/01_animate.py", "fox-walk.glb", cwd=tmp_path)
    assert "clip 'walk'" in said
    fox = gambol.load(tmp_path / "fox-walk.glb")
    walk = fox.clips["walk"]
    first, half = (walk.sample(fox.skeleton, walk.start + share * walk.duration).rotation for share in (0, 0.5))
    assert abs(first - half).max() > 0.05  # it moves


def test_a_fox_trots_with_weight(tmp_path):
    said = run(ROOT / "examples/02_track.py", "fox-physics.glb", cwd=tmp_path)
    error, slip = map(float, re.findall(r"([\d.]+)(?:%| cm/s)", said))
    assert error < 5 and slip < 10
    assert list(gambol.load(tmp_path / "fox-physics.glb").clips) == ["trot physics"]


def test_a_report_on_a_trot(tmp_path):
    said = run(ROOT / "examples/03_report.py", "trot.html", cwd=tmp_path)
    assert said.startswith(("good: ", "plausible: ")) and "foot_slide_mean: 0." in said
    assert "gambol-player" in (tmp_path / "trot.html").read_text(encoding="utf-8")


def test_poses_of_a_fox(tmp_path):
    run(ROOT / "examples/08_poses.py", "fox-poses.glb", cwd=tmp_path)
    fox = gambol.load(tmp_path / "fox-poses.glb")
    poses = fox.clips["poses"]
    rest, sits, last = (poses.sample(fox.skeleton, poses.start + frame / 30).rotation for frame in (0, 20, 60))
    assert abs(sits - rest).max() > 0.1
    assert abs(last - rest).max() < 1e-4


def test_readme_links_resolve():
    for link in re.findall(r"\]\(([^)#:]+)\)", (ROOT / "README.md").read_text()):
        assert (ROOT / link).exists(), link


def write_cow(path):
    """A mesh without a skeleton, for the command that gives it one."""
    cow = gambol.create("cow")
    lines = [f"v {x:.5f} {y:.5f} {z:.5f}" for x, y, z in cow.rest_vertices]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for mesh in cow.meshes[:1] for a, b, c in mesh.faces]
    path.write_text("\n".join(lines))


def test_readme_commands_and_python(tmp_path):
    readme = (ROOT / "README.md").read_text()
    shell = "\n".join(re.findall(r"```\n(.+?)```", readme, re.DOTALL))
    commands = re.findall(r"^gambol (.+?)(?:\s{2,}#.*)?$", shell, re.MULTILINE)
    assert len(commands) == 24
    write_cow(tmp_path / "cow.obj")
    for command in commands:
        run("-m", "gambol", *shlex.split(command), cwd=tmp_path)
    for python in re.findall(r"```python\n(.+?)```", readme, re.DOTALL):
        run("-c", python, cwd=tmp_path)
    assert list(gambol.load(tmp_path / "fox-walk.glb").clips) == ["walk"]
    assert list(gambol.load(tmp_path / "fox-slow/clip.glb").clips) == ["run", "walk"]
