"""Accessors: from a file's bytes to arrays. Sparse, normalised, interleaved and compressed data included."""

from collections.abc import Callable

import numpy as np

from gambol.errors import AssetError
from gambol.formats.gltf.document import Document
from gambol.formats.gltf.fields import Fields

DTYPES = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
SHAPES = {"SCALAR": (1, 1), "VEC2": (1, 2), "VEC3": (1, 3), "VEC4": (1, 4)}
SHAPES |= {"MAT2": (2, 2), "MAT3": (3, 3), "MAT4": (4, 4)}
"""Columns and rows of each element type."""
MESHOPT = ("EXT_meshopt_compression", "KHR_meshopt_compression")
LARGEST_COUNT = 50_000_000
"""Elements of one accessor: far above any character, low enough that a lying file cannot exhaust memory."""
LARGEST_READ = 150_000_000
"""Numbers read in all, 1.2 GB in double precision. A small file can refer to one big accessor many times over."""
READ_COST = 256
"""What a read counts for even if it gives few numbers, since it takes time."""


class TooLargeError(AssetError):
    """A file that unfolds to more than memory should be asked for: no part of it is read."""


class Accessors:
    """Reads a document's accessors as arrays of shape (count, width), each once."""

    def __init__(self, document: Document):
        self._document = document
        self._views = document.lists["bufferViews"]
        self._accessors = document.lists["accessors"]
        self._decoded: dict[int, memoryview] = {}
        self._spent = 0

    def __len__(self) -> int:
        return len(self._accessors)

    def spend(self, numbers: int) -> None:
        """Announce numbers that are about to be held, and refuse a file that unfolds to too many."""
        self._spent += numbers + READ_COST
        if self._spent > LARGEST_READ:
            raise TooLargeError(
                f"{self._document.label} unfolds to more than {LARGEST_READ:,} numbers: it is too large, "
                "or refers to the same data too often"
            )

    def floats(self, index: int, width: int | None = None) -> np.ndarray:
        """Elements as float32; integers are scaled to [0, 1] or [-1, 1] if the accessor says so."""
        values = self.raw(index, width)
        found = values.astype(np.float32, copy=False)
        if values.dtype.kind == "f" or not self._accessors[index].flag("normalized"):
            return found
        return np.maximum(found / np.iinfo(values.dtype).max, -1.0)

    def integers(self, index: int, width: int | None = None) -> np.ndarray:
        """Elements as int64; floats are refused."""
        values = self.raw(index, width)
        if values.dtype.kind == "f":
            raise AssetError(f"{self._accessors[index].where} must hold whole numbers, but its componentType is float")
        return values.astype(np.int64)

    def raw(self, index: int, width: int | None = None) -> np.ndarray:
        """Elements in the file's own number type; matrices are given column by column, as stored."""
        accessor = self._accessors[index]
        count, dtype = self.count(index), component_type(accessor)
        kind = accessor.text("type")
        if kind not in SHAPES:
            raise AssetError(f"{accessor.where}.type must be one of {', '.join(SHAPES)}, got {kind[:20]!r}")
        columns, rows = shape = SHAPES[kind]
        if width is not None and columns * rows != width:
            raise AssetError(f"{accessor.where}.type must have {width} numbers an element, got {kind}")
        self.spend(count * columns * rows)
        if "bufferView" in accessor:
            values = self._elements(accessor, count, dtype, shape)
        else:
            values = np.zeros((count, columns * rows), dtype)
        if "sparse" in accessor:  # some elements are replaced by the accessor's own list of exceptions
            sparse = accessor.child("sparse")
            exceptions = sparse.integer("count", low=1, high=count)
            where = sparse.child("indices")
            at = self._elements(where, exceptions, component_type(where), (1, 1))[:, 0]
            if at.dtype.kind == "f" or at.max() >= count or at.min() < 0:
                raise AssetError(f"{where.where} must hold element numbers below {count}")
            values[at.astype(np.int64)] = self._elements(sparse.child("values"), exceptions, dtype, shape)
        return values

    def count(self, index: int) -> int:
        """Elements that an accessor declares."""
        return self._accessors[index].integer("count", low=1, high=LARGEST_COUNT)

    def view_bytes(self, index: int) -> memoryview:
        """The bytes of a buffer view, decompressed if need be."""
        view = self._views[index]
        extension = next((name for name in MESHOPT if name in view.child("extensions")), None)
        if extension is None:
            return self._slice(view)
        if index not in self._decoded:
            compressed = view.child("extensions").child(extension)
            self.spend(compressed.integer("count") * compressed.integer("byteStride") // 4)
            self._decoded[index] = _decode_meshopt(compressed, self._slice)
        return self._decoded[index]

    def _slice(self, view: Fields) -> memoryview:
        data = self._document.buffer(view.required_index("buffer", len(self._document.lists["buffers"]), "buffers"))
        start, length = view.integer("byteOffset", 0), view.integer("byteLength", low=1)
        if start + length > len(data):
            raise AssetError(f"{view.where} reaches to byte {start + length} of a buffer of {len(data)} bytes")
        return data[start : start + length]

    def _elements(self, source: Fields, count: int, dtype: np.dtype, shape: tuple[int, int]) -> np.ndarray:
        """(count, columns * rows) numbers from a place in a view, which may interleave them with others."""
        index = source.required_index("bufferView", len(self._views), "bufferViews")
        offset = source.integer("byteOffset", 0)
        columns, rows = shape
        size = dtype.itemsize
        # Each column of a matrix starts at a multiple of four bytes, so matrices of small integers have gaps.
        column_bytes = rows * size if columns == 1 else -(-rows * size // 4) * 4
        element = (columns - 1) * column_bytes + rows * size
        stride = self._views[index].integer("byteStride", columns * column_bytes, low=1, high=2**20)
        data = self.view_bytes(index)
        if stride < element:
            raise AssetError(f"{source.where}: a byteStride of {stride} is less than its element of {element} bytes")
        if offset + (count - 1) * stride + element > len(data):
            raise AssetError(
                f"{source.where} reads {count} elements from byte {offset} of a view of {len(data)} bytes: too short"
            )
        array = np.ndarray((count, columns, rows), dtype, data, offset, (stride, column_bytes, size))
        return array.reshape(count, columns * rows).copy()


def component_type(fields: Fields) -> np.dtype:
    """The number type an accessor says it has."""
    code = fields.integer("componentType")
    if code not in DTYPES:
        raise AssetError(f"{fields.where}.componentType must be one of {sorted(DTYPES)}, got {code}")
    return np.dtype(DTYPES[code])


def _decode_meshopt(compressed: Fields, read: Callable[[Fields], memoryview]) -> memoryview:
    """EXT_meshopt_compression: an own codec per mode, then an optional filter."""
    try:
        import meshoptimizer
    except ImportError:
        raise AssetError(
            f"{compressed.where}: meshopt-compressed files need a decoder; run: pip install 'gambol[compressed]'"
        ) from None
    count = compressed.integer("count", low=1, high=LARGEST_COUNT)
    stride = compressed.integer("byteStride", low=1, high=256)
    mode, filter_name = compressed.text("mode"), compressed.text("filter", "NONE")
    source = bytes(read(compressed))
    try:
        if mode == "ATTRIBUTES":
            if stride % 4:
                raise ValueError(f"byteStride must be a multiple of 4, got {stride}")
            element = np.dtype((np.void, stride))
            decoded = meshoptimizer.decode_vertex_buffer(count, stride, source, dtype=element).view(np.uint8).copy()
        elif mode in ("TRIANGLES", "INDICES"):
            if stride not in (2, 4) or (mode == "TRIANGLES" and count % 3):
                raise ValueError(f"byteStride must be 2 or 4 and triangles come in threes, got {stride} and {count}")
            decode = meshoptimizer.decode_index_buffer if mode == "TRIANGLES" else meshoptimizer.decode_index_sequence
            decoded = decode(count, 4, source).astype("<u2" if stride == 2 else "<u4").view(np.uint8)
        else:
            raise ValueError(f"mode must be ATTRIBUTES, TRIANGLES or INDICES, got {mode[:20]!r}")
        decoded = _apply_filter(filter_name, decoded, count, stride)
    except (ValueError, RuntimeError) as error:
        raise AssetError(f"{compressed.where} cannot be decompressed: {error}") from None
    return memoryview(decoded.tobytes())


def _apply_filter(name: str, data: np.ndarray, count: int, stride: int) -> np.ndarray:
    import meshoptimizer

    filters = {
        "OCTAHEDRAL": (meshoptimizer.decode_filter_oct, (4, 8)),
        "QUATERNION": (meshoptimizer.decode_filter_quat, (8,)),
        "EXPONENTIAL": (meshoptimizer.decode_filter_exp, range(4, 257, 4)),
    }
    if name == "NONE":
        return data
    if name not in filters:
        raise ValueError(f"filter must be NONE, {', '.join(filters)}, got {name[:20]!r}")
    decode, strides = filters[name]
    if stride not in strides:
        raise ValueError(f"filter {name} does not work on elements of {stride} bytes")
    return decode(data, count, stride)
