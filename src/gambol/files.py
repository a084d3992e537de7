"""Files that are whole or not there, and folders that one process works in at a time."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gambol.errors import AssetError, GambolError

LOCK = ".gambol.lock"
"""Held in a folder while a process works in it; the system lets go of it when the process ends, however it ends."""


def check_folder(path: Path) -> None:
    """Refuse, before any work, a file whose folder is missing or may not be written to."""
    folder = path.parent
    try:
        if not folder.is_dir():
            raise AssetError(f"the folder {folder} does not exist")
        if path.is_dir():
            raise AssetError(f"{path} is a folder; give the name of a file")
    except OSError as error:  # such as a name that is too long
        raise AssetError(f"{path} cannot be written: {error.strerror or error}") from None
    if not os.access(folder, os.W_OK):
        raise AssetError(f"{path} cannot be written: the folder {folder} is read-only")


@contextmanager
def output_folder(folder: Path) -> Iterator[None]:
    """A folder to write into, made if it is missing. Folders that were made and stay empty are removed at the end."""
    made: list[Path] = []
    try:
        try:
            if folder.exists() and not folder.is_dir():
                raise GambolError(f"{folder} is a file; give the name of a folder")
            for each in reversed([folder, *folder.parents]):
                if not each.exists():
                    each.mkdir(exist_ok=True)
                    made.append(each)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            raise GambolError(f"the folder {folder} cannot be written to: {error.strerror or error}") from None
        yield
    finally:
        with suppress(OSError):  # not empty: then it is to stay
            for each in reversed(made):
                each.rmdir()


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """A folder to write into (see `output_folder`) that no other process works in; GambolError if one does."""
    from filelock import FileLock, Timeout

    with output_folder(folder):
        lock = FileLock(folder / LOCK, timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise GambolError(
                f"another gambol is working in {folder}; wait until it is done, or give another folder"
            ) from None
        except OSError as error:
            raise GambolError(f"the folder {folder} cannot be locked: {error.strerror or error}") from None
        try:
            yield
        finally:
            with suppress(OSError):  # while it is held; Windows does not remove open files, and keeps an empty one
                (folder / LOCK).unlink()
            lock.release()


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new file to write to, which takes the place of `path` at the end.

    A full disk or an interrupt never leaves half a file, or destroys the one that was there. The new file has the same
    ending, by which libraries choose a format.
    """
    check_folder(path)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem[:40]}-", suffix=path.suffix)
        os.close(handle)
        temporary = Path(name)
        try:
            yield temporary
            os.chmod(temporary, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise AssetError(f"{path} cannot be written: {error.strerror or error}") from None


def write_file(path: Path, data: bytes) -> None:
    """Write bytes into a file, all or nothing."""
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def _umask() -> int:
    """The permissions that new files do not get; it can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
