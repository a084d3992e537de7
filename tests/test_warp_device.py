"""A kernel cache that is damaged or cannot be written costs a line on standard error, never the run."""

import os
import shutil
import subprocess
import sys

import pytest

from gambol.warp_device import CHECKSUMS

SCRIPT = """
import sys
from pathlib import Path
from gambol.warp_device import DEVICE, quiet_warp
wp = quiet_warp()

@wp.kernel
def double(x: wp.array(dtype=float)):
    x[wp.tid()] *= 2.0

if "--block" in sys.argv:
    folder = Path(wp.config.kernel_cache_dir)
    folder.rmdir()
    folder.touch()
x = wp.full(3, 1.0, dtype=float, device=DEVICE)
wp.launch(double, dim=3, inputs=[x], device=DEVICE)
print(x.numpy().tolist(), wp.config.kernel_cache_dir)
"""


def run(cache, *options):
    """Double three numbers in a process of its own; returns its standard output and standard error."""
    script = cache.parent / "script.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "WARP_CACHE_PATH": str(cache), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, script, *options], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("[2.0, 2.0, 2.0]")
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def sound_cache(tmp_path_factory):
    cache = tmp_path_factory.mktemp("sound") / "cache"
    _, messages = run(cache)
    assert not messages
    return cache


def flip(data):
    """Machine code that links but crashes when it runs."""
    return data[:200] + bytes(byte ^ 0x5A for byte in data[200:900]) + data[900:]


@pytest.mark.parametrize(
    ("suffix", "damage", "without_checksums"),
    [
        (".o", flip, False),
        (".o", lambda data: data[: len(data) // 2], True),
        (".meta", lambda data: b"\xa1" + data, True),
        (".json", lambda data: b"[]", False),
    ],
    ids=["flipped bits", "truncated", "metadata", "checksums"],
)
def test_a_damaged_entry_is_built_again(sound_cache, tmp_path, suffix, damage, without_checksums):
    cache = tmp_path / "cache"
    shutil.copytree(sound_cache, cache)
    (damaged,) = cache.rglob(f"*{suffix}")
    damaged.write_bytes(damage(damaged.read_bytes()))
    if without_checksums:  # as Warp alone would have left it
        (damaged.parent / CHECKSUMS).unlink()
    _, messages = run(cache)
    assert "are damaged; compiling them again" in messages
    output, messages = run(cache)
    assert not messages and str(cache) in output


@pytest.mark.parametrize("when", ["before the start", "after the start"])
def test_a_folder_that_cannot_be_written_is_replaced(tmp_path, when):
    cache = tmp_path / "cache"
    if when == "before the start":
        cache.touch()
    output, messages = run(cache, *(["--block"] if when == "after the start" else []))
    assert messages.startswith(f"warning: the kernel cache {cache}") and messages.count("\n") == 1
    used = output.split()[-1]
    assert str(tmp_path) not in used and not os.path.exists(used)
