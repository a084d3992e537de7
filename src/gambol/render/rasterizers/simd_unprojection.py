# mypy: ignore-errors
# Warp reads the annotations of kernels itself; they are values, not types.
"""Gradients of slots to gradients of kernels and cameras, in C++, eight at a time: `simd_projection` backwards."""

from gambol.render.rasterizers.simd_job import wp
from gambol.render.rasterizers.simd_projection import KERNELS

GRADIENTS = """
// Three vectors to eight triples in a row.
auto join = [&](float* to, eight x, eight y, eight z) {
    store(to, SHUFFLE(SHUFFLE(x, y, 0, 8, -1, 1, 9, -1, 2, 10), z, 0, 1, 8, 3, 4, 9, 6, 7));
    store(to + 8, SHUFFLE(SHUFFLE(x, y, -1, 3, 11, -1, 4, 12, -1, 5), z, 10, 1, 2, 11, 4, 5, 12, 7));
    store(to + 16, SHUFFLE(SHUFFLE(x, y, 13, -1, 6, 14, -1, 7, 15, -1), z, 0, 13, 2, 3, 14, 5, 6, 15));
};

// Gradients of the mean in camera space, of the rows p and q over depth, of focal length and centre, of the picture's
// covariance. Where there is no slot they may be anything.
struct Gradients { eight x, y, z, p[3], q[3], fx, fy, cx, cy, xx, xy, yy; };
auto unproject = [&](const Splats& s, const eight* sum) {
    Gradients g;
    // To the mean in the picture and to the conic; through the inverse to the covariance.
    eight inverse = 1.0f / (s.xx * s.yy - s.xy * s.xy);
    eight a = s.yy * inverse, b = -s.xy * inverse, c = s.xx * inverse;
    g.cx = a * sum[1] + b * sum[2], g.cy = b * sum[1] + c * sum[2];
    eight axx = a * sum[3] + b * sum[4], axy = a * sum[4] + b * sum[5], ayy = b * sum[4] + c * sum[5];
    eight ayx = b * sum[3] + c * sum[4];
    g.xx = 0.5f * (axx * a + axy * b), g.xy = axx * b + axy * c, g.yy = 0.5f * (ayx * b + ayy * c);

    // To p = iz (focal R0 - drawn R2) and q; from there to what they are made of.
    eight u = 0.0f, v = 0.0f;
    g.fx = 0.0f, g.fy = 0.0f;
    for (int j = 0; j < 3; j++) {
        g.p[j] = s.iz * (2.0f * g.xx * s.sp[j] + g.xy * s.sq[j]);
        g.q[j] = s.iz * (2.0f * g.yy * s.sq[j] + g.xy * s.sp[j]);
        g.fx += g.p[j] * T[j], g.fy += g.q[j] * T[4 + j];
        u -= g.p[j] * T[8 + j], v -= g.q[j] * T[8 + j];
    }
    g.z = -s.iz * (g.fx * focal[0] + u * s.drawn_u + g.fy * focal[1] + v * s.drawn_v);

    // Where the mean was drawn to an edge, what is drawn depends on the centre only.
    eight zero = 0.0f;
    eight_ints inside_x = s.drawn_u == s.x - center[0], inside_y = s.drawn_v == s.y - center[1];
    eight to_u = g.cx + (inside_x ? u : zero), to_v = g.cy + (inside_y ? v : zero);
    g.cx -= inside_x ? zero : u, g.cy -= inside_y ? zero : v;
    eight x = s.u / focal[0], y = s.v / focal[1];
    g.fx += to_u * x, g.fy += to_v * y;
    g.x = to_u * focal[0] * s.iz, g.y = to_v * focal[1] * s.iz, g.z -= g.x * x + g.y * y;
    return g;
};
"""

CHUNK_SUMS = """
// The slots of a kernel are summed from the top band down. The last number tells whether there are any.
constexpr int TOTAL = 16;
alignas(64) float total[CHUNK * TOTAL];
auto add_slots = [&]() {
    long long buffer = frame % job.ring;
    const int* segment = job.segments + (buffer * job.chunks + chunk) * (job.bands + 1);
    const float* sums = job.sums + (long long)(frame % job.sums_ring) * job.capacity * SUMS;
    for (int i = 0; i < CHUNK * TOTAL; i++) total[i] = 0.0f;
    for (long long slot = segment[0]; slot < segment[job.bands]; slot++) {
        if (!job.seen[buffer * job.capacity + slot]) continue;
        float* to = total + TOTAL * (job.owners[buffer * job.capacity + slot] - first);
        store(to, load(to) + load(sums + SUMS * slot));
        to[8] += sums[SUMS * slot + 8];
        to[15] = 1.0f;
    }
};
"""


@wp.func_native(
    KERNELS
    + GRADIENTS
    + CHUNK_SUMS
    + """
add_slots();
bool geometry = job.means_gradient || job.covariances_gradient || job.cameras_gradient;
eight camera[16], zero = 0.0f;
for (int i = 0; i < 16; i++) camera[i] = zero;
for (int i = 0; i < count; i += 8) {
    eight sum[16];
    for (int j = 0; j < 8; j++) sum[j] = load(total + TOTAL * (i + j)), sum[8 + j] = load(total + TOTAL * (i + j) + 8);
    transpose(sum), transpose(sum + 8);
    eight_ints there = sum[15] > 0.0f;
    auto only = [&](eight value) { return there ? value : zero; };
    float means[24] = {}, covariances[48] = {}, opacities[8] = {}, colors[24] = {};
    if (__builtin_reduce_or(there)) {
        Kernels k = read(first + i);
        store(opacities, only(sum[0] / k.opacity));
        join(colors, sum[6], sum[7], sum[8]);
        if (geometry) {
            Splats s = project(k);
            Gradients g = unproject(s, sum);
            eight x = only(g.x), y = only(g.y), z = only(g.z);
            join(means, T[0] * x + T[4] * y + T[8] * z, T[1] * x + T[5] * y + T[9] * z,
                 T[2] * x + T[6] * y + T[10] * z);
            auto pair = [&](int a, int b) {
                eight both = g.xx * s.p[a] * s.p[b] + g.yy * s.q[a] * s.q[b];
                eight value = (a == b ? 1.0f : 2.0f) * both;
                return only(value + g.xy * (a == b ? s.p[a] * s.q[a] : s.p[a] * s.q[b] + s.p[b] * s.q[a]));
            };
            eight xx = pair(0, 0), xy = pair(0, 1), xz = pair(0, 2), yy = pair(1, 1), yz = pair(1, 2), zz = pair(2, 2);
#define LOW(a, b) SHUFFLE(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH(a, b) SHUFFLE(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
            join(covariances, LOW(xx, yy), LOW(xy, yz), LOW(xz, zz));
            join(covariances + 24, HIGH(xx, yy), HIGH(xy, yz), HIGH(xz, zz));
            if (job.cameras_gradient) {
                eight at[4] = {only(k.mx), only(k.my), only(k.mz), (eight)1.0f};
                for (int j = 0; j < 4; j++)
                    camera[j] += x * at[j], camera[4 + j] += y * at[j], camera[8 + j] += z * at[j];
                for (int j = 0; j < 3; j++) {
                    camera[j] += only(focal[0] * g.p[j]), camera[4 + j] += only(focal[1] * g.q[j]);
                    camera[8 + j] -= only(g.p[j] * s.drawn_u + g.q[j] * s.drawn_v);
                }
                camera[12] += only(g.fx), camera[13] += only(g.fy), camera[14] += only(g.cx), camera[15] += only(g.cy);
            }
        }
    }
    int some = count - i < 8 ? count - i : 8;
    auto write = [&](float* to, const float* from, int each) {
        if (!to) return;
        to += ((long long)frame * job.kernels + first + i) * each;
        for (int j = 0; j < each && some == 8; j++) store(to + 8 * j, load(from + 8 * j));
        for (int j = 0; j < some * each && some < 8; j++) to[j] = from[j];
    };
    write(job.means_gradient, means, 3), write(job.covariances_gradient, covariances, 6);
    write(job.opacities_gradient, opacities, 1), write(job.colors_gradient, colors, 3);
}
if (job.cameras_gradient) {
    float* to = job.cameras_gradient + ((long long)frame * job.chunks + chunk) * 16;
    store(to, sums_of(camera)), store(to + 8, sums_of(camera + 8));
}
"""
)
def unproject_chunk(address: wp.uint64, frame: int, chunk: int):
    """Gradients of a chunk of kernels, and of the camera by them, from those of their slots."""
