"""Files and folders: one process at a time, and nothing left behind by what failed."""

import subprocess
import sys

import pytest

from gambol.cli import main
from gambol.errors import GambolError
from gambol.files import check_folder, locked_folder, output_folder, write_file

HOLD = """
import sys
from pathlib import Path
from gambol.files import locked_folder
with locked_folder(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def held(tmp_path):
    """A folder that another process works in."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "run")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    yield tmp_path / "run", process
    process.kill()
    process.wait()


@pytest.mark.parametrize("command", [["animate", "fox", "a fox walks", "-o"], ["animate", "--resume"], ["train-prior"]])
def test_a_folder_that_another_process_works_in_is_refused(held, command, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([*command, str(held[0])])
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert error == f"gambol: another gambol is working in {held[0]}; wait until it is done, or give another folder\n"


def test_the_lock_of_a_killed_process_is_gone(held):
    folder, process = held
    process.kill()
    process.wait()
    with locked_folder(folder):
        assert [path.name for path in folder.iterdir()] == [".gambol.lock"]
    assert folder.is_dir() and not list(folder.iterdir())


def test_two_starts_at_once_leave_one_run(tmp_path):
    """Both begin within milliseconds; one of them works, the other one says so."""
    few = ["--prior", "pixels", "--videos", "2", "--batch", "1"]
    command = [sys.executable, "-m", "gambol", "train-prior", str(tmp_path / "prior"), *few]
    starts = [
        subprocess.Popen([*command, "--creatures", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    ended = sorted((start.wait(), start.communicate()[1]) for start in starts)
    assert [code for code, _ in ended] == [0, 2], ended
    assert "another gambol is working in" in ended[1][1] and ended[1][1].count("\n") == 1


def test_folders_that_stay_empty_are_removed(tmp_path):
    with pytest.raises(GambolError, match="No space"), locked_folder(tmp_path / "a" / "b"):
        raise GambolError("No space left on device")
    assert not list(tmp_path.iterdir())
    (tmp_path / "mine").mkdir()
    with output_folder(tmp_path / "mine" / "new"):
        write_file(tmp_path / "mine" / "new" / "file", b"kept")
    with output_folder(tmp_path / "mine"):
        pass
    assert (tmp_path / "mine" / "new" / "file").read_bytes() == b"kept"


def test_names_that_are_too_long_are_refused(tmp_path):
    with pytest.raises(GambolError, match="cannot be written: File name too long"):
        check_folder(tmp_path / ("x" * 300 + ".glb"))
    with pytest.raises(GambolError, match="File name too long"), output_folder(tmp_path / ("x" * 300)):
        pass
