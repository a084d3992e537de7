"""C++ for SIMD kernels, shared by skinning and rasterization: vectors of eight floats, and a job in memory.

The snippets use clang's vector extensions, which the compiler that Warp brings along turns into whatever vectors the
machine has. They do not compile for CUDA. Every snippet has a parameter `address`, the address of its job.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

_TYPES = {"int": ctypes.c_int32, "float": ctypes.c_float, "long long": ctypes.c_int64}


def ctypes_fields(fields: Mapping[str, str]) -> list[tuple[str, type]]:
    """Return `_fields_` of a structure whose fields are given by name and C++ type.

    A structure of ctypes is made ten times faster than one of Warp, and pointers travel as plain numbers: wrapping
    tensors would take longer than the work.
    """
    return [(name, _TYPES.get(kind, ctypes.c_void_p)) for name, kind in fields.items()]


def job_code(fields: Mapping[str, str]) -> str:
    """Return the C++ that reads such a structure as `job`."""
    members = " ".join(f"{kind} {name};" for name, kind in fields.items())
    return f"struct Job {{ {members} }};\nconst Job& job = *(const Job*)address;\n"


VECTORS = """
// Eight at a time, whatever the machine: clang cuts or joins them as it has registers.
typedef float eight __attribute__((ext_vector_type(8)));
typedef int eight_ints __attribute__((ext_vector_type(8)));
typedef eight eight_anywhere __attribute__((aligned(4)));
const eight count_up = {0, 1, 2, 3, 4, 5, 6, 7};
auto load = [](const float* from) { return (eight)*(const eight_anywhere*)from; };
auto store = [](float* to, eight value) { *(eight_anywhere*)to = value; };
#define SHUFFLE __builtin_shufflevector
#define ROOT __builtin_elementwise_sqrt
// One instruction each, which clang's own are not: they care for what is not a number.
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define MOST(a, b) ((a) > (b) ? (a) : (b))

// Rows become columns: blocks of 4, 2 and 1 are swapped across the diagonal.
auto transpose = [](eight* r) {
    for (int i = 0; i < 4; i++) {
        eight a = r[i], b = r[i + 4];
        r[i] = SHUFFLE(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
        r[i + 4] = SHUFFLE(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
    }
    for (int i = 0; i < 6; i += (i & 1) ? 3 : 1) {
        eight a = r[i], b = r[i + 2];
        r[i] = SHUFFLE(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
        r[i + 2] = SHUFFLE(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    }
    for (int i = 0; i < 8; i += 2) {
        eight a = r[i], b = r[i + 1];
        r[i] = SHUFFLE(a, b, 0, 8, 2, 10, 4, 12, 6, 14);
        r[i + 1] = SHUFFLE(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
    }
};
// The sums of eight vectors, as one: the same swaps, but what is swapped is added.
auto sums_of = [](eight* r) {
    for (int i = 0; i < 4; i++)
        r[i] = SHUFFLE(r[i], r[i + 4], 0, 1, 2, 3, 8, 9, 10, 11) + SHUFFLE(r[i], r[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    for (int i = 0; i < 2; i++)
        r[i] = SHUFFLE(r[i], r[i + 2], 0, 1, 8, 9, 4, 5, 12, 13) + SHUFFLE(r[i], r[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    return SHUFFLE(r[0], r[1], 0, 8, 2, 10, 4, 12, 6, 14) + SHUFFLE(r[0], r[1], 1, 9, 3, 11, 5, 13, 7, 15);
};
"""
