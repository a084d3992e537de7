"""KHR_draco_mesh_compression: attributes and indices of one primitive."""

import struct
from collections.abc import Callable

import numpy as np

from gambol.errors import AssetError
from gambol.formats.gltf.fields import Fields

EXTENSION = "KHR_draco_mesh_compression"
MESH, SEQUENTIAL, BY_EDGES, METADATA = 1, 0, 1, 0x8000


def draco_size(extension: Fields, data: bytes) -> tuple[int, int]:
    """Triangles and vertices that compressed data declares, without decompressing it.

    The decoder believes these numbers: two kilobytes that lied kept it busy for 15 s and took 4 GB. They follow the
    header of the Draco bitstream 2.2, the one version glTF allows. A mesh coded by edges declares its vertices
    before they are split along seams, so the true number can be higher, up to three a triangle.
    """
    if len(data) < 12 or data[:5] != b"DRACO":
        raise AssetError(f"{extension.where} does not hold Draco data")
    major, minor, kind, method, flags = struct.unpack_from("<BBBBH", data, 5)
    if (major, minor) != (2, 2) or kind != MESH or method not in (SEQUENTIAL, BY_EDGES) or flags & METADATA:
        raise AssetError(
            f"{extension.where} must hold a Draco 2.2 mesh without metadata, got version {major}.{minor}, "
            f"kind {kind}, method {method}, flags {flags:#x}"
        )
    first, at = _varint(data, 12 if method == BY_EDGES else 11)
    second, _ = _varint(data, at)
    return (second, first) if method == BY_EDGES else (first, second)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A whole number in groups of seven bits, lowest first, and where the next one begins."""
    value = 0
    for shift in range(0, 35, 7):
        byte = data[at + shift // 7] if at + shift // 7 < len(data) else 0
        value |= (byte & 127) << shift
        if byte < 128:
            break
    return value, at + shift // 7 + 1


def decode_draco(
    extension: Fields, data: bytes, vertices: int, spend: Callable[[int], None]
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Attributes by glTF name as (vertices, width), and triangles as (faces, 3).

    `vertices` is the most there may be, and `spend` is told beforehand how many numbers it will take.
    """
    try:
        import DracoPy
    except ImportError:
        raise AssetError(f"{extension.where} needs a decoder; run: pip install 'gambol[compressed]'") from None
    faces_declared, declared = draco_size(extension, data)
    if declared > vertices:
        raise AssetError(f"{extension.where} declares {declared} vertices, the POSITION accessor {vertices}")
    spend(36 * faces_declared + 16 * declared)  # about what the decoder holds if every corner is a vertex of its own
    try:
        mesh = DracoPy.decode(data)
        stored = {attribute["unique_id"]: np.asarray(attribute["data"]) for attribute in mesh.attributes}
        faces = np.asarray(mesh.faces, np.int64).reshape(-1, 3)
    except (AttributeError, MemoryError, RuntimeError, ValueError, DracoPy.FileTypeException) as error:
        raise AssetError(f"{extension.where} cannot be decompressed: {error}") from None
    attributes = {}
    for name in extension.child("attributes").raw:
        identity = extension.child("attributes").integer(name)
        if identity not in stored:
            raise AssetError(f"{extension.where}: {name} has id {identity}, the data holds {sorted(stored)}")
        attributes[name] = stored[identity].reshape(len(stored[identity]), -1 if stored[identity].size else 1)
    return attributes, faces
