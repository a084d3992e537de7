# mypy: ignore-errors
# Warp reads the annotations of kernels itself; they are values, not types.
"""Skinning of Gaussians on the CPU, eight frames at a time.

A vector holds the same number of eight frames, so a kernel's weights, mean and covariance are constants to it and the
matrices of a bind are read in one piece: nothing is gathered. What comes in and goes out frame after frame
([frames, kernels, 3] and [frames, kernels, 6]) is turned by 8 x 8 transpositions, eight kernels at a time.

The snippets are C++ with clang's vector extensions, which the compiler that Warp brings along turns into whatever
vectors the machine has. They do not compile for CUDA. Pointers travel as plain numbers: wrapping tensors would take
longer than the work.
"""

from gambol.warp_device import quiet_warp

wp = quiet_warp()
wp.set_module_options({"enable_backward": False})

_VECTORS = """
    typedef float V __attribute__((vector_size(32)));
    typedef float U __attribute__((vector_size(32), aligned(4)));  // anywhere in memory
    const V zero = {0, 0, 0, 0, 0, 0, 0, 0};

    // Rows become columns.
    auto transpose = [](V* m) {
        V a[8], b[8];
        for (int i = 0; i < 8; i += 2) {
            a[i] = __builtin_shufflevector(m[i], m[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
            a[i + 1] = __builtin_shufflevector(m[i], m[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
        }
        for (int i = 0; i < 8; i += 4) {
            for (int j = i; j < i + 2; ++j) {
                b[j] = __builtin_shufflevector(a[j], a[j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
                b[j + 2] = __builtin_shufflevector(a[j], a[j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
            }
        }
        for (int j = 0; j < 4; ++j) {
            m[j] = __builtin_shufflevector(b[j], b[j + 4], 0, 1, 2, 3, 8, 9, 10, 11);
            m[j + 4] = __builtin_shufflevector(b[j], b[j + 4], 4, 5, 6, 7, 12, 13, 14, 15);
        }
    };

    // The matrix of a kernel: the weighted sum of those of its binds.
    auto blend = [&](const V* table, const long long* bind, const float* weight, V* A) {
        for (int e = 0; e < 12; ++e) A[e] = zero;
        for (int k = 0; k < influences; ++k) {
            const float w = weight[k];
            if (w == 0.0f) continue;
            const V* M = table + bind[k] * 12;
            for (int e = 0; e < 12; ++e) A[e] += w * M[e];
        }
    };
"""

_FORWARD = (
    _VECTORS
    + """
    const V* table = (const V*)matrices + (long long)group * binds_count * 12;
    const int lanes = frames - group * 8 < 8 ? frames - group * 8 : 8;

    // Eight numbers of each frame go to their place; of the last kernels there may be fewer.
    auto write = [&](V* rows, float* out, long long stride, int count) {
        transpose(rows);
        for (int j = 0; j < lanes; ++j, out += stride) {
            if (count >= 8) *(U*)out = rows[j];
            else for (int i = 0; i < count; ++i) out[i] = rows[j][i];
        }
    };

    for (long long i = (long long)start * influences; i < (long long)stop * influences; ++i)
        if ((unsigned long long)((const long long*)binds)[i] >= (unsigned long long)binds_count) {
            *(int*)outside_out = 1;
            return;
        }
    for (long long n0 = start; n0 < stop; n0 += 8) {
        const int block = stop - n0 < 8 ? stop - n0 : 8;
        V mean[24], covariance[48];
        for (int i = 0; i < block; ++i) {
            const long long n = n0 + i;
            const float *x = (const float*)means + n * 3, *c = (const float*)covariances + n * 6;
            V A[12];
            blend(table, (const long long*)binds + n * influences, (const float*)weights + n * influences, A);
            for (int r = 0; r < 3; ++r)
                mean[i * 3 + r] = A[4 * r] * x[0] + (A[4 * r + 1] * x[1] + (A[4 * r + 2] * x[2] + A[4 * r + 3]));
            for (int r = 0, e = 0; r < 3; ++r) {
                const V a = A[4 * r], b = A[4 * r + 1], d = A[4 * r + 2];
                const V h0 = a * c[0] + (b * c[1] + d * c[2]);
                const V h1 = a * c[1] + (b * c[3] + d * c[4]);
                const V h2 = a * c[2] + (b * c[4] + d * c[5]);
                for (int s = r; s < 3; ++s, ++e)
                    covariance[i * 6 + e] = h0 * A[4 * s] + (h1 * A[4 * s + 1] + h2 * A[4 * s + 2]);
            }
        }
        const long long first = (long long)group * 8 * kernels + n0;
        for (int r = 0; r < 3 && 8 * r < 3 * block; ++r)
            write(mean + 8 * r, (float*)means_out + first * 3 + 8 * r, 3LL * kernels, 3 * block - 8 * r);
        for (int r = 0; r < 6 && 8 * r < 6 * block; ++r)
            write(covariance + 8 * r, (float*)covariances_out + first * 6 + 8 * r, 6LL * kernels, 6 * block - 8 * r);
    }
"""
)

_BACKWARD = (
    _VECTORS
    + """
    const long long size = (long long)group * binds_count * 12;
    const V* table = (const V*)matrices + size;
    V* table_gradient = (V*)matrices_gradient + size;
    const int lanes = frames - group * 8 < 8 ? frames - group * 8 : 8;

    auto read = [&](V* rows, const float* in, long long stride, int count) {
        for (int j = 0; j < 8; ++j) {
            rows[j] = zero;
            if (j >= lanes) continue;
            if (count >= 8) rows[j] = *(const U*)(in + j * stride);
            else for (int i = 0; i < count; ++i) rows[j][i] = in[j * stride + i];
        }
        transpose(rows);
    };
    auto sum = [](V v) { return ((v[0] + v[4]) + (v[1] + v[5])) + ((v[2] + v[6]) + (v[3] + v[7])); };

    for (long long n0 = start; n0 < stop; n0 += 8) {
        const int block = stop - n0 < 8 ? stop - n0 : 8;
        const long long first = (long long)group * 8 * kernels + n0;
        const float* means_up = (const float*)means_in + first * 3;
        const float* covariances_up = (const float*)covariances_in + first * 6;
        V mean[24], covariance[48];  // the gradients with regard to what the forward pass gave
        for (int r = 0; r < 3 && 8 * r < 3 * block; ++r)
            read(mean + 8 * r, means_up + 8 * r, 3LL * kernels, 3 * block - 8 * r);
        for (int r = 0; r < 6 && 8 * r < 6 * block; ++r)
            read(covariance + 8 * r, covariances_up + 8 * r, 6LL * kernels, 6 * block - 8 * r);
        for (int i = 0; i < block; ++i) {
            const long long n = n0 + i;
            const float *x = (const float*)means + n * 3, *c = (const float*)covariances + n * 6;
            const long long* bind = (const long long*)binds + n * influences;
            const float* weight = (const float*)weights + n * influences;
            V A[12], D[12], P[9];
            blend(table, bind, weight, A);
            const V* m = mean + i * 3;
            // S = A C A' and packed gradients g: with G = the symmetric matrix that has g on the diagonal and g / 2
            // beside it, the gradient with regard to A is 2 G A C and that with regard to C is A' G A. P = 2 G A.
            const V* g = covariance + i * 6;
            for (int s = 0; s < 3; ++s) {
                const V a = A[s], b = A[4 + s], d = A[8 + s];
                P[s] = (g[0] + g[0]) * a + (g[1] * b + g[2] * d);
                P[3 + s] = g[1] * a + ((g[3] + g[3]) * b + g[4] * d);
                P[6 + s] = g[2] * a + (g[4] * b + (g[5] + g[5]) * d);
            }
            for (int r = 0; r < 3; ++r) {
                const V a = P[3 * r], b = P[3 * r + 1], d = P[3 * r + 2];
                D[4 * r] = m[r] * x[0] + (a * c[0] + (b * c[1] + d * c[2]));
                D[4 * r + 1] = m[r] * x[1] + (a * c[1] + (b * c[3] + d * c[4]));
                D[4 * r + 2] = m[r] * x[2] + (a * c[2] + (b * c[4] + d * c[5]));
                D[4 * r + 3] = m[r];
            }
            if (matrices_gradient) {
                for (int k = 0; k < influences; ++k) {
                    const float w = weight[k];
                    if (w == 0.0f) continue;
                    V* M = table_gradient + bind[k] * 12;
                    for (int e = 0; e < 12; ++e) M[e] += w * D[e];
                }
            }
            if (weights_gradient) {
                float* out = (float*)weights_gradient + n * influences;
                for (int k = 0; k < influences; ++k) {
                    const V* M = table + bind[k] * 12;
                    V total = zero;
                    for (int e = 0; e < 12; ++e) total += M[e] * D[e];
                    out[k] += sum(total);
                }
            }
            if (means_gradient) {
                float* out = (float*)means_gradient + n * 3;
                for (int s = 0; s < 3; ++s) out[s] += sum(A[s] * m[0] + (A[4 + s] * m[1] + A[8 + s] * m[2]));
            }
            if (covariances_gradient) {
                float* out = (float*)covariances_gradient + n * 6;
                for (int s = 0, e = 0; s < 3; ++s)
                    for (int t = s; t < 3; ++t, ++e) {
                        const V both = A[s] * P[t] + (A[4 + s] * P[3 + t] + A[8 + s] * P[6 + t]);
                        out[e] += (s == t ? 0.5f : 1.0f) * sum(both);
                    }
            }
        }
    }
"""
)


@wp.func_native(_FORWARD)
def skin_group(
    frames: int,
    kernels: int,
    binds_count: int,
    influences: int,
    group: int,
    start: int,
    stop: int,
    matrices: wp.uint64,
    means: wp.uint64,
    covariances: wp.uint64,
    binds: wp.uint64,
    weights: wp.uint64,
    means_out: wp.uint64,
    covariances_out: wp.uint64,
    outside_out: wp.uint64,
): ...


@wp.func_native(_BACKWARD)
def unskin_group(
    frames: int,
    kernels: int,
    binds_count: int,
    influences: int,
    group: int,
    start: int,
    stop: int,
    matrices: wp.uint64,
    means: wp.uint64,
    covariances: wp.uint64,
    binds: wp.uint64,
    weights: wp.uint64,
    means_in: wp.uint64,
    covariances_in: wp.uint64,
    matrices_gradient: wp.uint64,
    means_gradient: wp.uint64,
    covariances_gradient: wp.uint64,
    weights_gradient: wp.uint64,
): ...


@wp.kernel
def skin_kernel(
    frames: int,
    kernels: int,
    binds_count: int,
    influences: int,
    start: int,
    stop: int,
    matrices: wp.uint64,
    means: wp.uint64,
    covariances: wp.uint64,
    binds: wp.uint64,
    weights: wp.uint64,
    means_out: wp.uint64,
    covariances_out: wp.uint64,
    outside_out: wp.uint64,
):
    """One thread for each group of eight frames; the kernels from start to stop. A bind that does not exist is told."""
    skin_group(
        frames,
        kernels,
        binds_count,
        influences,
        wp.tid(),
        start,
        stop,
        matrices,
        means,
        covariances,
        binds,
        weights,
        means_out,
        covariances_out,
        outside_out,
    )


@wp.kernel
def unskin_kernel(
    frames: int,
    kernels: int,
    binds_count: int,
    influences: int,
    start: int,
    stop: int,
    matrices: wp.uint64,
    means: wp.uint64,
    covariances: wp.uint64,
    binds: wp.uint64,
    weights: wp.uint64,
    means_in: wp.uint64,
    covariances_in: wp.uint64,
    matrices_gradient: wp.uint64,
    means_gradient: wp.uint64,
    covariances_gradient: wp.uint64,
    weights_gradient: wp.uint64,
):
    """The gradients of `skin_kernel`, added to what is there; a gradient at address 0 is not wanted."""
    unskin_group(
        frames,
        kernels,
        binds_count,
        influences,
        wp.tid(),
        start,
        stop,
        matrices,
        means,
        covariances,
        binds,
        weights,
        means_in,
        covariances_in,
        matrices_gradient,
        means_gradient,
        covariances_gradient,
        weights_gradient,
    )
