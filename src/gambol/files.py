"""Files that are whole or not there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gambol.errors import AssetError


def check_folder(path: Path) -> None:
    """Refuse, before any work, a file whose folder is missing or may not be written to."""
    folder = path.parent
    if not folder.is_dir():
        raise AssetError(f"the folder {folder} does not exist")
    if path.is_dir():
        raise AssetError(f"{path} is a folder; give the name of a file")
    if not os.access(folder, os.W_OK):
        raise AssetError(f"{path} cannot be written: the folder {folder} is read-only")


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
    """Bytes into a file, all or nothing."""
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def _umask() -> int:
    """The permissions new files do not get; it can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
