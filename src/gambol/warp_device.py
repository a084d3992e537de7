"""The one place that imports Warp: without its banner, and safe from a kernel cache that is damaged or read-only.

Warp compiles each module of kernels once and keeps the binary in a cache folder. Left alone it raises (or crashes, if
the binary can be linked) for as long as a damaged binary lies there, and raises if the folder cannot be written.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache, wraps
from pathlib import Path
from typing import Any

from gambol.errors import AssetError
from gambol.files import write_file

DEVICE = "cpu"
"""Device on which kernels run; name it in every launch, because Warp's own default is a GPU if there is one."""
CHECKSUMS = "gambol-checksums.json"
"""File that is kept beside the binaries of a module: the SHA-256 of each."""
PROBE_BYTES = 2**16
"""Bytes that must fit into a folder for it to count as writable, so that a full disk does not."""


@cache
def quiet_warp() -> Any:
    """Return the module `warp`, initialised without printing. Takes 0.5 s, so call it only in modules with kernels.

    A module that holds kernels calls it once, at the top: `wp = quiet_warp()`.
    """
    import warp

    warp.config.log_level = warp.LOG_ERROR  # before init, which prints a banner
    with _native_stderr_dropped():
        try:
            warp.init()
            folder_error = ""
        except OSError as error:  # the cache folder cannot be made
            folder_error = str(error.filename or error)
            warp.config.kernel_cache_dir = _temporary_folder()
            warp.init()
    if folder_error:
        _warn_of_temporary_cache(folder_error)
    _guard_loading(warp)
    return warp


def _guard_loading(wp: Any) -> None:
    """Make every module of kernels check its cache entry before it is loaded for the first time."""
    module_class = type(wp.get_module(__name__))
    load = module_class.load

    @wraps(load)
    def guarded_load(module: Any, device: Any, block_dim: int | None = None, *args: Any, **kwargs: Any) -> Any:
        if module.execs:  # loaded already; every launch comes through here
            return load(module, device, block_dim, *args, **kwargs)
        entry = Path(wp.config.kernel_cache_dir) / module.get_module_identifier(block_dim)
        cached = entry.is_dir()
        try:
            if cached:
                known = entry / CHECKSUMS  # an entry without checksums passes
                if known.exists() and not json.loads(known.read_bytes()).items() <= _checksums(entry).items():
                    raise ValueError(f"checksums of {entry} differ")
            loaded = load(module, device, block_dim, *args, **kwargs)
        except Exception:
            if cached:
                print(f"warning: the compiled kernels in {entry} are damaged; compiling them again", file=sys.stderr)
                shutil.rmtree(entry, ignore_errors=True)
            if entry.exists() or not _writable(entry.parent):
                _warn_of_temporary_cache(str(entry.parent))
                wp.config.kernel_cache_dir = _temporary_folder()
            elif not cached:  # the kernels themselves do not compile
                raise
            module.unload()  # forgets the failure
            loaded = load(module, device, block_dim, *args, **kwargs)
        entry = Path(wp.config.kernel_cache_dir) / entry.name
        with suppress(OSError, AssetError):  # a folder that is read-only stays without
            if not (entry / CHECKSUMS).exists():
                write_file(entry / CHECKSUMS, json.dumps(_checksums(entry)).encode())
        return loaded

    module_class.load = guarded_load


def _checksums(entry: Path) -> dict[str, str]:
    """Return the SHA-256 of each binary of a cache entry."""
    files = [file for file in sorted(entry.iterdir()) if file.suffix in (".o", ".meta")]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def _writable(folder: Path) -> bool:
    try:
        with tempfile.NamedTemporaryFile(dir=folder) as file:
            file.write(bytes(PROBE_BYTES))
            file.flush()
    except OSError:
        return False
    return True


@cache
def _temporary_folder() -> str:
    """Return a private folder for kernels that is deleted when the program ends."""
    folder = tempfile.mkdtemp(prefix="gambol-kernels-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _warn_of_temporary_cache(folder: str) -> None:
    print(
        f"warning: the kernel cache {folder} cannot be written; kernels are compiled for this run only. "
        "Set WARP_CACHE_PATH to a folder that can be written",
        file=sys.stderr,
    )


@contextmanager
def _native_stderr_dropped() -> Iterator[None]:
    """Drop what Warp's C++ side prints: it says that there is no CUDA driver, whatever the log level."""
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
