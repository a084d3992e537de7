import numpy as np
import pytest
import torch

from gambol.render.cache import cache_folder, fingerprint, load_cached, store_cached
from gambol.tensor_files import write_tensors

SHAPES, NUMBERS = {"values": (3,)}, ("quality",)


def test_what_is_remembered_is_recalled(tmp_path, monkeypatch):
    monkeypatch.setenv("GAMBOL_CACHE", str(tmp_path / "deep" / "cache"))
    assert load_cached("thing", SHAPES, NUMBERS) is None
    assert store_cached("thing", {"values": torch.arange(3.0)}, {"quality": 0.5})
    tensors, numbers = load_cached("thing", SHAPES, NUMBERS)
    assert torch.equal(tensors["values"], torch.arange(3.0)) and numbers == {"quality": 0.5}


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-5],
        lambda data: data[:-1] + b"?",
        lambda data: b"",
        lambda data: b"\xff" * 8 + data[8:],  # a header of 2^64 bytes
        lambda data: data + bytes(10**6),
    ],
    ids=["truncated", "a bit", "empty", "huge header", "too long"],
)
def test_a_damaged_entry_is_thrown_away(tmp_path, monkeypatch, capsys, damage):
    monkeypatch.setenv("GAMBOL_CACHE", str(tmp_path))
    store_cached("thing", {"values": torch.arange(3.0)}, {"quality": 0.5})
    path = tmp_path / "thing.safetensors"
    path.write_bytes(damage(path.read_bytes()))
    assert load_cached("thing", SHAPES, NUMBERS) is None
    assert not path.exists() and "is damaged and is computed again" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tensors", "numbers"),
    [
        ({"values": torch.zeros(2)}, {"quality": 0.5}),
        ({"values": torch.zeros(3, dtype=torch.int32)}, {"quality": 0.5}),
        ({"values": torch.tensor([0.0, float("nan"), 0.0])}, {"quality": 0.5}),
        ({"values": torch.zeros(3), "more": torch.zeros(1)}, {"quality": 0.5}),
        ({"values": torch.zeros(3)}, {}),
        ({"values": torch.zeros(3)}, {"quality": float("inf")}),
        ({"values": torch.zeros(3)}, {"quality": "good"}),
        ({"values": torch.zeros(3)}, {"quality": 0.5, "text": "x" * 10**5}),
    ],
)
def test_an_entry_that_holds_something_else_is_thrown_away(tmp_path, monkeypatch, tensors, numbers):
    monkeypatch.setenv("GAMBOL_CACHE", str(tmp_path))
    write_tensors(tmp_path / "thing.safetensors", tensors, {name: str(number) for name, number in numbers.items()})
    assert load_cached("thing", SHAPES, NUMBERS) is None
    assert not any(tmp_path.iterdir())


def test_no_place_for_a_cache_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("GAMBOL_CACHE", str(tmp_path / "file"))
    assert not store_cached("thing", {"values": torch.arange(3.0)}, {})
    assert load_cached("thing", SHAPES, NUMBERS) is None


def test_the_folder_is_the_users_own_by_default(monkeypatch):
    monkeypatch.delenv("GAMBOL_CACHE")
    assert cache_folder().name == "gambol"


def test_fingerprints_tell_apart_what_concatenation_would_not():
    one, two = np.zeros(2, np.float32), np.zeros(4, np.float32)
    prints = [[one, two], [two, one], [one, one, one], [b"ab", b"c"], [b"a", b"bc"], ["a", b"bc"], [None, b"abc"]]
    assert len({fingerprint(parts) for parts in prints}) == len(prints)
    assert fingerprint([one, "a"]) == fingerprint([one.copy(), "a"])
    assert fingerprint([one]) != fingerprint([one.astype(np.float64)]) != fingerprint([one[:, None]])
