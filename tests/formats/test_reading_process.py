"""Files are read in a process that may crash, and what it sends back is data and nothing else."""

import sys

import numpy as np
import pytest

from gambol import load
from gambol.errors import AssetError
from gambol.formats.reading_process import read_apart
from gambol.formats.usd.transfer import put_together, taken_apart


def run(tmp_path, body: str):
    """Read a file by a reader with this body."""
    reader = tmp_path / "reader.py"
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    reader.write_text(
        "import os, sys\nimport numpy as np\nfrom gambol.errors import AssetError\n"
        f"def extract(path, scratch):\n{lines}\n"
    )
    return read_apart(str(reader), tmp_path / "hero.abc")


def test_json_and_arrays_come_back(tmp_path):
    facts, arrays = run(tmp_path, "return {'path': path.name, 'empty': not any(scratch.iterdir())}, {'a': np.eye(2)}")
    assert facts == {"path": "hero.abc", "empty": True}
    np.testing.assert_array_equal(arrays["a"], np.eye(2))


def test_a_refusal_is_the_sentence_itself(tmp_path):
    with pytest.raises(AssetError, match=r"^it is too\s*blue$"):
        run(tmp_path, "print('noise', file=sys.stderr)\nraise AssetError('it is too\\nblue')")


def test_the_last_words_of_a_reader_that_stops_are_told(tmp_path):
    body = "print('first', file=sys.stderr)\nprint('out of \\x1b[2J luck', file=sys.stderr, flush=True)\nos.abort()"
    with pytest.raises(AssetError, match="stopped the reader") as told:
        run(tmp_path, body)
    assert str(told.value).split(": ")[-1].startswith("out of") and str(told.value).isprintable()


def test_an_error_of_the_reader_is_told_with_its_name(tmp_path):
    with pytest.raises(AssetError, match=r"code 1\): KeyError: 'hip'"):
        run(tmp_path, "return {}['hip']")


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux")
def test_too_much_memory_is_a_sentence(tmp_path):
    with pytest.raises(AssetError, match="needs too much memory"):
        run(tmp_path, "return None, {'a': np.ones(2**33)}")


def test_objects_cannot_be_sent(tmp_path):
    """Pickle would run whatever the other process wants."""
    with pytest.raises(AssetError, match="allow_pickle=False"):
        run(tmp_path, "return None, {'a': np.array([print], object)}")


def test_a_character_comes_back_as_it_was():
    fox = load("fox")
    again = put_together(*taken_apart(fox))
    assert again.skeleton.names == fox.skeleton.names and again.clips.keys() == fox.clips.keys()
    for one, other in zip(fox.meshes, again.meshes, strict=True):
        assert one.material == other.material and other.positions.dtype == one.positions.dtype
    np.testing.assert_array_equal(again.rest_vertices, fox.rest_vertices)


def test_what_is_shared_stays_shared():
    fox = load("fox")
    mesh = fox.meshes[0]
    twice = taken_apart(fox.__class__(fox.name, fox.skeleton, (mesh, mesh), fox.bind_nodes, fox.inverse_binds))
    again = put_together(*twice)
    assert again.meshes[0] is again.meshes[1]


@pytest.mark.parametrize(
    "objects",
    [
        [],
        [["Texture", {"data": {"array": ["a", 0, [1]]}, "mime": "x"}]],
        [["Material", {"name": {"array": ["a", 0, [7]]}}]],
        [["Path", {}]],
        [["Material", {"colour": 1}]],
        [["Material", {"name": {"object": 3}}]],
        [["Material", {"name": {"array": ["none", 0, [1]]}}]],
    ],
)
def test_anything_else_is_refused(objects):
    with pytest.raises(ValueError):
        put_together(objects, {"a": np.zeros(1)})
