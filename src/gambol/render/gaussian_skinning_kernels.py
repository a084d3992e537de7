# mypy: ignore-errors
# Warp reads the annotations of kernels itself; they are values, not types.
"""Skinning of Gaussians on the CPU, eight frames at a time, in C++ (see `simd_code`).

A vector holds the same number of eight frames, so a Gaussian's weights, mean and covariance are constants to it and the
matrices of a bind are read in one piece: nothing is gathered. What comes in and goes out frame after frame
([frames, gaussians, 3] and [frames, gaussians, 6]) is turned by 8 x 8 transpositions, eight Gaussians at a time.
"""

import ctypes

from gambol.render.simd_code import VECTORS, ctypes_fields, job_code
from gambol.warp_device import quiet_warp

wp = quiet_warp()
wp.set_module_options({"enable_backward": False})

FIELDS = {
    "frames": "int",
    "kernels": "int",
    "binds_count": "int",
    "influences": "int",
    "matrices": "const float*",  # [groups binds 12 8], a group being eight frames
    "means": "const float*",
    "covariances": "const float*",
    "binds": "const long long*",
    "weights": "const float*",
    "means_out": "float*",
    "covariances_out": "float*",
    "means_gradient": "const float*",  # of what the forward pass wrote
    "covariances_gradient": "const float*",
    "matrices_gradient": "float*",  # [shares groups binds 12 8], added to
}


class SkinningJob(ctypes.Structure):
    _fields_ = ctypes_fields(FIELDS)


_GROUP = (
    job_code(FIELDS)
    + VECTORS
    + """
const long long table_size = 12ll * job.binds_count, kernels = job.kernels;
const eight* table = (const eight*)job.matrices + group * table_size;
const int lanes = job.frames - group * 8 < 8 ? job.frames - group * 8 : 8, influences = job.influences;
const eight zero = 0.0f;

// The matrix of a kernel: the weighted sum of those of its binds.
auto blend = [&](const long long* bind, const float* weight, eight* A) {
    for (int e = 0; e < 12; ++e) A[e] = zero;
    for (int k = 0; k < influences; ++k) {
        const float w = weight[k];
        if (w == 0.0f) continue;
        const eight* M = table + bind[k] * 12;
        for (int e = 0; e < 12; ++e) A[e] += w * M[e];
    }
};
"""
)


@wp.func_native(
    _GROUP
    + """
// Eight numbers of each frame go to their place; of the last kernels there may be fewer.
auto write = [&](eight* rows, float* out, long long stride, int count) {
    transpose(rows);
    for (int j = 0; j < lanes; ++j, out += stride) {
        if (count >= 8) store(out, rows[j]);
        else for (int i = 0; i < count; ++i) out[i] = rows[j][i];
    }
};
for (long long n0 = start; n0 < stop; n0 += 8) {
    const int block = stop - n0 < 8 ? stop - n0 : 8;
    eight mean[24], covariance[48];
    for (int i = 0; i < block; ++i) {
        const long long n = n0 + i;
        const float *x = job.means + n * 3, *c = job.covariances + n * 6;
        eight A[12];
        blend(job.binds + n * influences, job.weights + n * influences, A);
        for (int r = 0; r < 3; ++r)
            mean[i * 3 + r] = A[4 * r] * x[0] + (A[4 * r + 1] * x[1] + (A[4 * r + 2] * x[2] + A[4 * r + 3]));
        for (int r = 0, e = 0; r < 3; ++r) {
            const eight a = A[4 * r], b = A[4 * r + 1], d = A[4 * r + 2];
            const eight h0 = a * c[0] + (b * c[1] + d * c[2]);
            const eight h1 = a * c[1] + (b * c[3] + d * c[4]);
            const eight h2 = a * c[2] + (b * c[4] + d * c[5]);
            for (int s = r; s < 3; ++s, ++e)
                covariance[i * 6 + e] = h0 * A[4 * s] + (h1 * A[4 * s + 1] + h2 * A[4 * s + 2]);
        }
    }
    const long long first = group * 8ll * kernels + n0;
    for (int r = 0; r < 3 && 8 * r < 3 * block; ++r)
        write(mean + 8 * r, job.means_out + first * 3 + 8 * r, 3 * kernels, 3 * block - 8 * r);
    for (int r = 0; r < 6 && 8 * r < 6 * block; ++r)
        write(covariance + 8 * r, job.covariances_out + first * 6 + 8 * r, 6 * kernels, 6 * block - 8 * r);
}
"""
)
def skin_group(address: wp.uint64, group: int, start: int, stop: int): ...


@wp.func_native(
    _GROUP
    + """
const int groups = (job.frames + 7) / 8;
eight* table_gradient = (eight*)job.matrices_gradient + (share * (long long)groups + group) * table_size;
auto read = [&](eight* rows, const float* in, long long stride, int count) {
    for (int j = 0; j < 8; ++j) {
        rows[j] = zero;
        if (j >= lanes) continue;
        if (count >= 8) rows[j] = load(in + j * stride);
        else for (int i = 0; i < count; ++i) rows[j][i] = in[j * stride + i];
    }
    transpose(rows);
};
for (long long n0 = start; n0 < stop; n0 += 8) {
    const int block = stop - n0 < 8 ? stop - n0 : 8;
    const long long first = group * 8ll * kernels + n0;
    eight mean[24], covariance[48];  // the gradients with regard to what the forward pass gave
    for (int r = 0; r < 3 && 8 * r < 3 * block; ++r)
        read(mean + 8 * r, job.means_gradient + first * 3 + 8 * r, 3 * kernels, 3 * block - 8 * r);
    for (int r = 0; r < 6 && 8 * r < 6 * block; ++r)
        read(covariance + 8 * r, job.covariances_gradient + first * 6 + 8 * r, 6 * kernels, 6 * block - 8 * r);
    for (int i = 0; i < block; ++i) {
        const long long n = n0 + i;
        const float *x = job.means + n * 3, *c = job.covariances + n * 6;
        const long long* bind = job.binds + n * influences;
        const float* weight = job.weights + n * influences;
        eight A[12], D[12], P[9];
        blend(bind, weight, A);
        const eight* m = mean + i * 3;
        // S = A C A' and packed gradients g: with G = the symmetric matrix that has g on the diagonal and g / 2 beside
        // it, the gradient with regard to A is 2 G A C. P = 2 G A.
        const eight* g = covariance + i * 6;
        for (int s = 0; s < 3; ++s) {
            const eight a = A[s], b = A[4 + s], d = A[8 + s];
            P[s] = (g[0] + g[0]) * a + (g[1] * b + g[2] * d);
            P[3 + s] = g[1] * a + ((g[3] + g[3]) * b + g[4] * d);
            P[6 + s] = g[2] * a + (g[4] * b + (g[5] + g[5]) * d);
        }
        for (int r = 0; r < 3; ++r) {
            const eight a = P[3 * r], b = P[3 * r + 1], d = P[3 * r + 2];
            D[4 * r] = m[r] * x[0] + (a * c[0] + (b * c[1] + d * c[2]));
            D[4 * r + 1] = m[r] * x[1] + (a * c[1] + (b * c[3] + d * c[4]));
            D[4 * r + 2] = m[r] * x[2] + (a * c[2] + (b * c[4] + d * c[5]));
            D[4 * r + 3] = m[r];
        }
        for (int k = 0; k < influences; ++k) {
            const float w = weight[k];
            if (w == 0.0f) continue;
            eight* M = table_gradient + bind[k] * 12;
            for (int e = 0; e < 12; ++e) M[e] += w * D[e];
        }
    }
}
"""
)
def unskin_group(address: wp.uint64, group: int, share: int, start: int, stop: int): ...


@wp.kernel
def skin_kernel(address: wp.uint64, share: int, start: int, stop: int):
    """One thread for each group of eight frames; the Gaussians from start to stop."""
    skin_group(address, wp.tid(), start, stop)


@wp.kernel
def unskin_kernel(address: wp.uint64, share: int, start: int, stop: int):
    """Gradients of the matrices by the Gaussians from start to stop, added to those of a share."""
    unskin_group(address, wp.tid(), share, start, stop)
