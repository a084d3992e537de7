"""Its being here puts this folder on the import path, so that all tests can import `assets`."""

import gambol  # isort: skip  # before torch, so that it may use threads
import pytest
import torch
import typecheck

assert gambol
typecheck.install()


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Tests run side by side already; threads that wait for each other on a busy machine take seven times as long."""
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def same_random_numbers():
    """Every test draws the same numbers, whichever tests ran before it."""
    torch.manual_seed(0)


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    """Tests neither use what is in the user's cache nor add to it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GAMBOL_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
