import numpy as np
import torch

from gambol.render.cache import cache_folder, fingerprint, recall, remember


def test_what_is_remembered_is_recalled(tmp_path, monkeypatch):
    monkeypatch.setenv("GAMBOL_CACHE", str(tmp_path / "deep" / "cache"))
    assert recall("thing") is None
    assert remember("thing", {"numbers": torch.arange(3.0)}, {"quality": 0.5})
    tensors, facts = recall("thing")
    assert torch.equal(tensors["numbers"], torch.arange(3.0)) and facts == {"quality": 0.5}


def test_a_damaged_file_is_as_good_as_none(tmp_path, monkeypatch):
    monkeypatch.setenv("GAMBOL_CACHE", str(tmp_path))
    remember("thing", {"numbers": torch.arange(3.0)}, {})
    path = tmp_path / "thing.safetensors"
    path.write_bytes(path.read_bytes()[:-5])
    assert recall("thing") is None


def test_no_place_for_a_cache_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("GAMBOL_CACHE", str(tmp_path / "file"))
    assert not remember("thing", {"numbers": torch.arange(3.0)}, {})
    assert recall("thing") is None


def test_the_folder_is_the_users_own_by_default(monkeypatch):
    monkeypatch.delenv("GAMBOL_CACHE")
    assert cache_folder().name == "gambol"


def test_fingerprints_tell_apart_what_concatenation_would_not():
    one, two = np.zeros(2, np.float32), np.zeros(4, np.float32)
    prints = [[one, two], [two, one], [one, one, one], [b"ab", b"c"], [b"a", b"bc"], ["a", b"bc"], [None, b"abc"]]
    assert len({fingerprint(parts) for parts in prints}) == len(prints)
    assert fingerprint([one, "a"]) == fingerprint([one.copy(), "a"])
    assert fingerprint([one]) != fingerprint([one.astype(np.float64)]) != fingerprint([one[:, None]])
