# mypy: ignore-errors
# Warp reads the annotations of kernels itself; they are values, not types.
"""What a SIMD rasterisation works on, and the C++ that its snippets share: vectors and the projection of eight kernels.

A frame is cut into chunks of kernels and into bands of rows. Projection writes a kernel once for each band that it
touches: that copy is a slot, with a record of its own, so bands can be blended independently of each other and yet
share nothing. All results are the same, bit for bit, whatever the number of threads.
"""

from gambol.render.rasterizers.semantics import ALPHA_CUT, ALPHA_MOST, BLUR, MARGIN, STOP
from gambol.warp_device import quiet_warp

wp = quiet_warp()

CHUNK = 256
"""Kernels projected at a time: their records (16 kB) stay in the nearest cache until they are sorted into bands."""
MOST_BANDS = 64
RECORD = 16
"""Floats of a slot's record, one cache line. See `project_chunk`."""
SUMS = 16
"""Floats of a slot's gradient: sums over pixels of q, q x, q y, q x x, q x y, q y y, colour's three, and nothing."""


@wp.struct
class Job:
    """Sizes and addresses. Axis "ring" is that of frames, reused when nobody needs earlier frames any more."""

    frames: wp.int32
    kernels: wp.int32
    width: wp.int32
    height: wp.int32
    near: wp.float32
    chunks: wp.int32
    bands: wp.int32
    band_shift: wp.int32
    """A band has 2^band_shift rows."""
    ring: wp.int32
    capacity: wp.int32
    """Slots of a frame."""
    row: wp.int32
    """Floats from one plane of a row to the next in a worker's own memory."""

    means: wp.uint64
    means_step: wp.int64
    """Floats from one frame to the next, 0 if all are the same; likewise below."""
    covariances: wp.uint64
    covariances_step: wp.int64
    opacities: wp.uint64
    opacities_step: wp.int64
    colors: wp.uint64
    colors_step: wp.int64
    T_camera_world: wp.uint64
    """[frames 3 4]"""
    focal: wp.uint64
    center: wp.uint64
    """[frames 2], both."""

    progress: wp.uint64
    """int32: the next ticket; for each frame finished items of its first and second stage and slots asked for."""
    segments: wp.uint64
    """int32 [ring chunks bands+1]: where a chunk's slots for a band begin."""
    records: wp.uint64
    """[ring capacity RECORD]"""
    keys: wp.uint64
    """uint32 [ring capacity]: depths, as bits, which sort like the positive floats they are."""
    owners: wp.uint64
    """int32 [ring capacity]: the slot's kernel."""
    seen: wp.uint64
    """uint8 [ring capacity]: whether the slot changed any pixel."""
    order: wp.uint64
    """int32 [ring capacity]: the seen slots of each band, front to back."""
    kept: wp.uint64
    """int32 [ring bands 2]: where in `order` a band begins, and how many it has."""
    scratch: wp.uint64
    """float32 [workers scratch_size]"""
    scratch_size: wp.int64

    image: wp.uint64
    """[frames height width 3]"""
    alpha: wp.uint64
    """[frames height width]"""
    image_gradient: wp.uint64
    alpha_gradient: wp.uint64
    """Gradients may be missing: address 0."""
    sums: wp.uint64
    """[sums_ring capacity SUMS]"""
    sums_ring: wp.int32
    means_gradient: wp.uint64
    covariances_gradient: wp.uint64
    opacities_gradient: wp.uint64
    colors_gradient: wp.uint64
    cameras_gradient: wp.uint64
    """[frames chunks 16]: T_camera_world, focal, center; summed over chunks by the caller."""


CONSTANTS = f"""
#pragma clang fp contract(fast)
constexpr float ALPHA_CUT = {ALPHA_CUT!r}f, ALPHA_MOST = {ALPHA_MOST}f, STOP = {STOP}f, BLUR = {BLUR}f;
constexpr float MARGIN = {MARGIN}f, LOG_CUT = 5.541263545158426f;  // ln 255
constexpr float FARTHEST = 1e9f;  // kernels that reach farther have no meaning in float32 [pixels]
constexpr int CHUNK = {CHUNK}, MOST_BANDS = {MOST_BANDS}, RECORD = {RECORD}, SUMS = {SUMS};
"""

VECTORS = (
    CONSTANTS
    + """
// Eight at a time for kernels and rows, whatever the machine: clang cuts or joins them as it has registers.
typedef float eight __attribute__((ext_vector_type(8)));
typedef int eight_ints __attribute__((ext_vector_type(8)));
typedef eight eight_anywhere __attribute__((aligned(4)));
const eight count_up = {0, 1, 2, 3, 4, 5, 6, 7};
#define SHUFFLE __builtin_shufflevector
// As one instruction each, which clang's own are not: they care for what is not a number.
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define MOST(a, b) ((a) > (b) ? (a) : (b))
#define ROOT __builtin_elementwise_sqrt
auto load = [](const float* from) { return (eight)*(const eight_anywhere*)from; };
auto store = [](float* to, eight value) { *(eight_anywhere*)to = value; };

// Swaps blocks of 4, 2 and 1 across the diagonal: rows become columns.
auto transpose = [](eight* r) {
    for (int i = 0; i < 4; i++) {
        eight a = r[i], b = r[i + 4];
        r[i] = SHUFFLE(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
        r[i + 4] = SHUFFLE(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
    }
    for (int i = 0; i < 8; i += (i & 1) ? 3 : 1) {
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
"""
)
