"""Which files of a folder hold characters: one list, by which every command goes."""

from pathlib import Path

import pytest

from gambol import formats
from gambol.distillation.harvest_many import jobs_of
from gambol.errors import GambolError
from gambol.formats import READERS, WRITERS, character_files, read_suffixes
from gambol.priors.pixels.data.clips import read_library
from gambol.priors.tracks.evaluation import check_families
from gambol.priors.tracks.training.dataset import read_folder

NAMES = ("pack/a.glb", "pack/b.FBX", "pack/c.vrm", "d.gltf", "e.usdz", "f.bvh", "g.obj", "notes.txt")


@pytest.fixture
def folder(tmp_path) -> Path:
    for name in NAMES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    return tmp_path


def found(folder: Path, *also: str) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in character_files([folder], also)}


def test_all_kinds_of_characters_are_found(folder, monkeypatch):
    monkeypatch.setattr(formats, "find_spec", lambda name: True)
    assert found(folder) == {"pack/a.glb", "pack/b.FBX", "pack/c.vrm", "d.gltf", "e.usdz"}
    assert found(folder, ".bvh") == found(folder) | {"f.bvh"}
    monkeypatch.setattr(formats, "find_spec", lambda name: None)
    assert found(folder) == {"pack/a.glb", "pack/b.FBX", "pack/c.vrm", "d.gltf"}  # USD needs its package


def test_files_are_taken_as_given_and_missing_ones_refused(folder):
    assert character_files([folder / "g.obj", folder / "pack"])[0] == folder / "g.obj"
    with pytest.raises(GambolError, match="there is no file or folder"):
        character_files([folder / "none"])


def test_every_list_is_read_and_written():
    assert set(read_suffixes()) <= set(READERS) and set(WRITERS) <= set(READERS)


def test_every_reader_of_folders_goes_by_it(folder):
    assert folder / "pack/b.FBX" in jobs_of([folder])
    assert any(line.startswith("pack/b.FBX: ") for line in read_library(folder).skipped)
    _, skipped = read_folder(folder, lambda done, total: None)
    assert any("b.FBX" in line for line in skipped) and any("f.bvh" in line for line in skipped)
    (folder / "other").mkdir()
    (folder / "other/h.fbx").write_bytes(b"")
    with pytest.raises(GambolError, match=r"there are .*other, pack"):
        check_families([folder], ["none"])
