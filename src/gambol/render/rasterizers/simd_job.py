# mypy: ignore-errors
# Warp reads the annotations of kernels itself; they are values, not types.
"""What the SIMD rasterizer works on, as Python and C++ see it.

A frame is cut into chunks of Gaussians and into bands of rows. Projection writes a Gaussian once for each band that it
touches: that copy is a slot, with a record of its own. So bands can be blended in any order and on any thread, and
gradients of a Gaussian's slots are added afterwards in one order: results are the same, bit for bit, whatever the
number of threads.
"""

import ctypes
import math

from gambol.render.rasterize import ALPHA_CUT, ALPHA_MOST, BLUR, MARGIN, STOP
from gambol.render.simd_code import ctypes_fields, job_code
from gambol.warp_device import quiet_warp

wp = quiet_warp()

CHUNK = 256
"""Gaussians projected at a time: their records (16 kB) stay in the nearest cache until they are sorted into bands."""
MOST_BANDS = 512
RECORD = 16
"""Floats of a slot's record, one cache line: see `project_chunk`."""
SUMS = 12
"""Floats of a slot's gradient, sums over pixels: of q, q x, q y, q x x, q x y, q y y, then red, green, blue."""
PLANE = 2**18 + 272
"""Floats from one plane of a band to the next. Being constant it spares the inner loop three pointers; the odd part
keeps planes from each other's places in the cache. Memory is only taken for what is used of it."""
PADDING = 24
"""Floats after a row of a plane, room for the widest vector."""
LARGEST = 32767
"""Pixels of a picture's side: boxes are stored as int16."""

FIELDS = {
    # Sizes. Arrays with the axis "ring" hold the latest frames: frame % ring.
    "frames": "int",
    "kernels": "int",
    "width": "int",
    "height": "int",
    "near": "float",
    "chunks": "int",
    "bands": "int",
    "band_shift": "int",  # a band has 2^band_shift rows
    "row": "int",  # floats from one row of a plane to the next
    "ring": "int",
    "capacity": "int",  # slots of a frame
    "sums_ring": "int",
    "scratch_size": "long long",
    # Inputs; "step" is the number of floats from one frame to the next, 0 if all are the same.
    "means": "const float*",
    "means_step": "long long",
    "covariances": "const float*",
    "covariances_step": "long long",
    "opacities": "const float*",
    "opacities_step": "long long",
    "colors": "const float*",
    "colors_step": "long long",
    "T_camera_world": "const float*",  # [frames 3 4]
    "focal": "const float*",  # [frames 2]
    "center": "const float*",  # [frames 2]
    # Between projection and blending, forward and backward.
    "segments": "int*",  # [ring chunks bands+1] where a chunk's slots for a band begin
    "records": "float*",  # [ring capacity RECORD]
    "owners": "int*",  # [ring capacity] the slot's Gaussian
    "seen": "unsigned char*",  # [ring capacity] whether the slot changed any pixel
    "order": "int*",  # [ring capacity] the seen slots of each band, front to back
    "kept": "int*",  # [ring bands 4] where in `order` a band begins, how many it has there, first and last column
    "sums": "float*",  # [sums_ring capacity SUMS]
    "scratch": "float*",  # [workers scratch_size]
    "progress": "int*",  # next ticket; by frame: items finished in stages 1 and 2, slots; by worker: kept ticket + 1
    # Results, and gradients of them; address 0: nobody asks or gives.
    "image": "float*",  # [frames height width 3]
    "alpha": "float*",  # [frames height width]
    "image_gradient": "const float*",
    "alpha_gradient": "const float*",
    "means_gradient": "float*",
    "covariances_gradient": "float*",
    "opacities_gradient": "float*",
    "colors_gradient": "float*",
}


class Job(ctypes.Structure):
    """Sizes and addresses, see FIELDS."""

    _fields_ = ctypes_fields(FIELDS)


JOB = f"""
#pragma clang fp contract(fast)
{job_code(FIELDS)}
constexpr int CHUNK = {CHUNK}, MOST_BANDS = {MOST_BANDS}, RECORD = {RECORD}, SUMS = {SUMS};
constexpr long long PLANE = {PLANE};
constexpr float ALPHA_CUT = {ALPHA_CUT!r}f, ALPHA_MOST = {ALPHA_MOST}f, STOP = {STOP}f;
constexpr float BLUR = {BLUR}f, MARGIN = {MARGIN}f, LOG_CUT = {-math.log(ALPHA_CUT)!r}f;
"""
