import sys

import numpy as np
import pytest
from builder import COMPONENT_TYPES, Gltf

from gambol.errors import AssetError

INTEGERS = ["int8", "uint8", "int16", "uint16", "uint32"]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_normalised_integers(dtype):
    """glTF 2.0, 3.6.2.2: f = max(c / largest, -1)."""
    limits = np.iinfo(dtype)
    values = [limits.min, -limits.max if limits.min else 0, 0, 1, limits.max // 2, limits.max]
    gltf = Gltf()
    index = gltf.accessor(values, dtype, normalized=True)
    expected = [max(value / limits.max, -1.0) for value in values]
    np.testing.assert_allclose(gltf.accessors().floats(index)[:, 0], expected, rtol=1e-7)


@pytest.mark.parametrize("dtype", [*INTEGERS, "float32"])
def test_numbers_that_are_not_normalised_keep_their_value(dtype):
    gltf = Gltf()
    index = gltf.accessor([[0, 1], [100, 7]], dtype)
    np.testing.assert_array_equal(gltf.accessors().floats(index), [[0, 1], [100, 7]])


def test_whole_numbers_are_not_taken_from_floats():
    gltf = Gltf()
    index = gltf.accessor([1.0, 2.0])
    with pytest.raises(AssetError, match=r"accessors\[0\] must hold whole numbers"):
        gltf.accessors().integers(index)


def test_interleaved():
    """Positions and 16-bit coordinates share one view of 16 bytes an element."""
    rng = np.random.default_rng(0)
    record = np.dtype([("position", "<f4", 3), ("uv", "<u2", 2)])
    data = np.zeros(5, record)
    data["position"], data["uv"] = rng.normal(size=(5, 3)), rng.integers(0, 65536, (5, 2))
    gltf = Gltf()
    view = gltf.view(data.tobytes(), byteStride=16)
    positions = gltf.raw_accessor(view, 5, "float32", "VEC3")
    uvs = gltf.raw_accessor(view, 5, "uint16", "VEC2", byteOffset=12, normalized=True)
    np.testing.assert_array_equal(gltf.accessors().floats(positions), data["position"])
    np.testing.assert_allclose(gltf.accessors().floats(uvs), data["uv"] / 65535, rtol=1e-6)


def test_the_last_interleaved_element_may_end_early():
    """The stride need not fit behind the last element, only the element itself."""
    gltf = Gltf()
    view = gltf.view(np.arange(5, dtype="<u4").tobytes(), byteStride=16)
    index = gltf.raw_accessor(view, 2, "uint32", "SCALAR")
    np.testing.assert_array_equal(gltf.accessors().integers(index)[:, 0], [0, 4])


def test_matrices_are_given_column_after_column():
    matrix = np.arange(16.0).reshape(4, 4)
    gltf = Gltf()
    index = gltf.matrices(matrix[None])
    np.testing.assert_array_equal(gltf.accessors().floats(index, 16)[0].reshape(4, 4).T, matrix)


@pytest.mark.parametrize(
    ("kind", "dtype", "stored", "expected"),
    [
        ("MAT2", "uint8", [1, 2, 0, 0, 3, 4, 0, 0], [1, 2, 3, 4]),
        ("MAT3", "uint8", [1, 2, 3, 0, 4, 5, 6, 0, 7, 8, 9, 0], [1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ("MAT3", "int16", [1, 2, 3, 0, 4, 5, 6, 0, 7, 8, 9, 0], [1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ("MAT2", "int16", [1, 2, 3, 4], [1, 2, 3, 4]),
        ("MAT3", "float32", [1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ],
)
def test_columns_of_small_matrices_start_at_multiples_of_four_bytes(kind, dtype, stored, expected):
    gltf = Gltf()
    data = np.array([stored, np.array(stored) * 2], dtype)
    index = gltf.raw_accessor(gltf.view(data.tobytes()), 2, dtype, kind)
    np.testing.assert_array_equal(gltf.accessors().raw(index), [expected, np.array(expected) * 2])


def test_without_a_view_all_is_zero():
    gltf = Gltf()
    index = gltf.raw_accessor(None, 3, "float32", "VEC2")
    np.testing.assert_array_equal(gltf.accessors().floats(index), np.zeros((3, 2)))


@pytest.mark.parametrize("index_type", ["uint8", "uint16", "uint32"])
@pytest.mark.parametrize("has_base", [True, False])
def test_sparse(index_type, has_base):
    base = np.arange(10.0, dtype=np.float32).reshape(5, 2) if has_base else np.zeros((5, 2), np.float32)
    where, what = np.array([1, 4], index_type), np.array([[-1, -2], [-3, -4]], np.float32)
    gltf = Gltf()
    sparse = {
        "count": 2,
        "indices": {"bufferView": gltf.view(where.tobytes()), "componentType": COMPONENT_TYPES[index_type]},
        "values": {"bufferView": gltf.view(b"skip" + what.tobytes()), "byteOffset": 4},
    }
    view = gltf.view(base.tobytes()) if has_base else None
    index = gltf.raw_accessor(view, 5, "float32", "VEC2", sparse=sparse)
    expected = base.copy()
    expected[[1, 4]] = what
    np.testing.assert_array_equal(gltf.accessors().floats(index), expected)


# --- meshopt -------------------------------------------------------------------------------------------------------


def compressed_view(gltf: Gltf, data: bytes, extension: str = "EXT_meshopt_compression", **fields) -> int:
    """A view whose compressed bytes the extension names; what the view itself names must never be read."""
    index = gltf.view(data)
    source = gltf.json["bufferViews"][index]
    decoded = fields["count"] * fields["byteStride"]
    gltf.json["bufferViews"][index] = {"buffer": 0, "byteLength": decoded, "extensions": {extension: source | fields}}
    return index


@pytest.mark.parametrize("extension", ["EXT_meshopt_compression", "KHR_meshopt_compression"])
def test_meshopt_attributes(extension):
    meshoptimizer = pytest.importorskip("meshoptimizer")
    values = np.random.default_rng(1).normal(size=(300, 3)).astype("<f4")
    gltf = Gltf()
    data = meshoptimizer.encode_vertex_buffer(values)
    view = compressed_view(gltf, data, extension, mode="ATTRIBUTES", count=300, byteStride=12)
    index = gltf.raw_accessor(view, 300, "float32", "VEC3")
    np.testing.assert_array_equal(gltf.accessors().floats(index), values)


@pytest.mark.parametrize(("stride", "dtype"), [(2, "uint16"), (4, "uint32")])
def test_meshopt_triangles(stride, dtype):
    """The codec may turn a triangle's corners round, but not change its winding or the order of the triangles."""
    meshoptimizer = pytest.importorskip("meshoptimizer")
    triangles = np.random.default_rng(2).permuted(np.tile(np.arange(60), (50, 1)), axis=1)[:, :3]
    gltf = Gltf()
    data = meshoptimizer.encode_index_buffer(triangles.reshape(-1).astype(np.uint32))
    view = compressed_view(gltf, data, mode="TRIANGLES", count=150, byteStride=stride)
    index = gltf.raw_accessor(view, 150, dtype, "SCALAR")
    found = gltf.accessors().integers(index).reshape(50, 3)
    np.testing.assert_array_equal(smallest_first(found), smallest_first(triangles))


def smallest_first(triangles: np.ndarray) -> np.ndarray:
    turns = (triangles.argmin(1)[:, None] + np.arange(3)) % 3
    return np.take_along_axis(triangles, turns, axis=1)


@pytest.mark.parametrize(("stride", "dtype"), [(2, "uint16"), (4, "uint32")])
def test_meshopt_indices(stride, dtype):
    meshoptimizer = pytest.importorskip("meshoptimizer")
    sequence = np.random.default_rng(3).integers(0, 1000, 77).astype(np.uint32)
    gltf = Gltf()
    view = compressed_view(
        gltf, meshoptimizer.encode_index_sequence(sequence), mode="INDICES", count=77, byteStride=stride
    )
    index = gltf.raw_accessor(view, 77, dtype, "SCALAR")
    np.testing.assert_array_equal(gltf.accessors().integers(index)[:, 0], sequence)


def filtered(filter_name: str, encoded: np.ndarray, dtype: str, kind: str, **fields) -> np.ndarray:
    """What the reader makes of integers to which a filter was applied by hand."""
    meshoptimizer = pytest.importorskip("meshoptimizer")
    gltf = Gltf()
    stride = encoded.dtype.itemsize * encoded.shape[1]
    data = meshoptimizer.encode_vertex_buffer(encoded)
    view = compressed_view(gltf, data, mode="ATTRIBUTES", filter=filter_name, count=len(encoded), byteStride=stride)
    index = gltf.raw_accessor(view, len(encoded), dtype, kind, **fields)
    return gltf.accessors().floats(index)


@pytest.mark.parametrize(("dtype", "bits"), [("int8", 8), ("int16", 12)])
def test_meshopt_octahedral_filter(dtype, bits):
    """EXT_meshopt_compression: a direction projected on the octahedron |x| + |y| + |z| = 1, its lower half unfolded."""
    directions = np.random.default_rng(4).normal(size=(200, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    flat = directions / np.abs(directions).sum(1, keepdims=True)
    lower = flat[:, 2] < 0
    signs = np.where(flat[:, :2] >= 0, 1.0, -1.0)
    flat[lower, :2] = ((1 - np.abs(flat[:, 1::-1])) * signs)[lower]
    one = 2 ** (bits - 1) - 1
    encoded = np.zeros((200, 4), dtype)
    encoded[:, :2], encoded[:, 2] = np.round(flat[:, :2] * one), one
    found = filtered("OCTAHEDRAL", encoded, dtype, "VEC4", normalized=True)[:, :3]
    np.testing.assert_allclose(found, directions, atol=3 / one)


def test_meshopt_quaternion_filter():
    """EXT_meshopt_compression: the largest component is left out, the other three follow it in order, times root 2."""
    quaternions = np.random.default_rng(5).normal(size=(200, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
    largest = np.abs(quaternions).argmax(1)
    rows = np.arange(200)
    quaternions *= np.sign(quaternions[rows, largest])[:, None]
    one = 2**11 - 1
    encoded = np.zeros((200, 4), np.int16)
    for i in range(3):
        encoded[:, i] = np.round(quaternions[rows, (largest + 1 + i) % 4] * np.sqrt(2) * one)
    encoded[:, 3] = (one & ~3) | largest
    found = filtered("QUATERNION", encoded, "int16", "VEC4", normalized=True)
    np.testing.assert_allclose(found, quaternions, atol=2 / one)


def test_meshopt_exponential_filter():
    """EXT_meshopt_compression: 8 bits of exponent above 24 bits of mantissa, both signed."""
    mantissas = np.array([[1, -3, 5], [2**23 - 1, -(2**23), 0]])
    exponents = np.array([[0, 4, -7], [-30, 3, 0]])
    encoded = ((exponents << 24) | (mantissas & 0xFFFFFF)).astype(np.uint32).view(np.int32)
    np.testing.assert_array_equal(filtered("EXPONENTIAL", encoded, "float32", "VEC3"), mantissas * 2.0**exponents)


def test_meshopt_filter_that_does_not_exist():
    with pytest.raises(AssetError, match="EXT_meshopt_compression cannot be decompressed: filter must be NONE"):
        filtered("FANCY", np.zeros((4, 4), np.int16), "int16", "VEC4")


def test_meshopt_without_its_decoder_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "meshoptimizer", None)
    gltf = Gltf()
    view = compressed_view(gltf, b"1234", mode="ATTRIBUTES", count=1, byteStride=4)
    index = gltf.raw_accessor(view, 1, "float32", "SCALAR")
    with pytest.raises(AssetError, match=r"EXT_meshopt_compression.*pip install 'gambol\[compressed\]'"):
        gltf.accessors().floats(index)
