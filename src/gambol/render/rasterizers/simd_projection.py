# mypy: ignore-errors
# Warp reads the annotations of kernels itself; they are values, not types.
"""Gaussians to slots, and gradients of slots to gradients of Gaussians, in C++, eight at a time."""

from gambol.render.rasterizers.simd_job import JOB, wp
from gambol.render.simd_code import VECTORS

KERNELS = (
    JOB
    + VECTORS
    + """
constexpr float FARTHEST = 1e9f;  // kernels that reach farther mean nothing in float32 [pixels]
int first = chunk * CHUNK, count = job.kernels - first < CHUNK ? job.kernels - first : CHUNK;
const float *T = job.T_camera_world + 12 * frame, *focal = job.focal + 2 * frame, *center = job.center + 2 * frame;

// Eight triples in a row to three vectors.
auto split = [&](const float* from, eight& x, eight& y, eight& z) {
    eight a = load(from), b = load(from + 8), c = load(from + 16);
    x = SHUFFLE(SHUFFLE(a, b, 0, 3, 6, 9, 12, 15, -1, -1), c, 0, 1, 2, 3, 4, 5, 10, 13);
    y = SHUFFLE(SHUFFLE(a, b, 1, 4, 7, 10, 13, -1, -1, -1), c, 0, 1, 2, 3, 4, 8, 11, 14);
    z = SHUFFLE(SHUFFLE(a, b, 2, 5, 8, 11, 14, -1, -1, -1), c, 0, 1, 2, 3, 4, 9, 12, 15);
};
struct Kernels { eight mx, my, mz, sxx, sxy, sxz, syy, syz, szz, opacity, red, green, blue; };
auto read = [&](int i) {
    Kernels k;
    const float *means = job.means + frame * job.means_step + 3ll * i;
    const float *covariances = job.covariances + frame * job.covariances_step + 6ll * i;
    const float *opacities = job.opacities + frame * job.opacities_step + i;
    const float *colors = job.colors + frame * job.colors_step + 3ll * i;
    float padded[8 * 13];  // beyond the last kernel there are transparent ones
    if (i + 8 > job.kernels) {
        int some = job.kernels - i;
        for (int j = 0; j < 8 * 13; j++) padded[j] = 0.0f;
        for (int j = 0; j < 3 * some; j++) padded[j] = means[j];
        for (int j = 0; j < 6 * some; j++) padded[24 + j] = covariances[j];
        for (int j = 0; j < some; j++) padded[72 + j] = opacities[j];
        for (int j = 0; j < 3 * some; j++) padded[80 + j] = colors[j];
        means = padded, covariances = padded + 24, opacities = padded + 72, colors = padded + 80;
    }
    split(means, k.mx, k.my, k.mz);
    eight a, b, c, d, e, f;
    split(covariances, a, b, c);
    split(covariances + 24, d, e, f);
    k.sxx = SHUFFLE(a, d, 0, 2, 4, 6, 8, 10, 12, 14), k.syy = SHUFFLE(a, d, 1, 3, 5, 7, 9, 11, 13, 15);
    k.sxy = SHUFFLE(b, e, 0, 2, 4, 6, 8, 10, 12, 14), k.syz = SHUFFLE(b, e, 1, 3, 5, 7, 9, 11, 13, 15);
    k.sxz = SHUFFLE(c, f, 0, 2, 4, 6, 8, 10, 12, 14), k.szz = SHUFFLE(c, f, 1, 3, 5, 7, 9, 11, 13, 15);
    k.opacity = load(opacities);
    split(colors, k.red, k.green, k.blue);
    return k;
};

// The picture's x is focal x / z + center. Its Jacobian, with x / z drawn to the picture, times the camera's rotation
// has the rows p and q; the covariance S becomes (p S p, p S q, q S q).
struct Splats { eight x, y, iz, u, v, drawn_u, drawn_v; eight p[3], q[3], sp[3], sq[3]; eight xx, xy, yy, z; };
auto project = [&](const Kernels& k) {
    Splats s;
    eight x = T[0] * k.mx + T[1] * k.my + T[2] * k.mz + T[3];
    eight y = T[4] * k.mx + T[5] * k.my + T[6] * k.mz + T[7];
    s.z = T[8] * k.mx + T[9] * k.my + T[10] * k.mz + T[11];
    s.iz = 1.0f / s.z;
    s.u = focal[0] * x * s.iz, s.v = focal[1] * y * s.iz;
    s.x = s.u + center[0], s.y = s.v + center[1];
    float beyond_x = 0.5f * MARGIN * job.width, beyond_y = 0.5f * MARGIN * job.height;
    s.drawn_u = LEAST(MOST(s.x, (eight)(-beyond_x)), (eight)(job.width + beyond_x)) - center[0];
    s.drawn_v = LEAST(MOST(s.y, (eight)(-beyond_y)), (eight)(job.height + beyond_y)) - center[1];
    for (int i = 0; i < 3; i++) {
        s.p[i] = s.iz * (focal[0] * T[i] - s.drawn_u * T[8 + i]);
        s.q[i] = s.iz * (focal[1] * T[4 + i] - s.drawn_v * T[8 + i]);
    }
    auto times = [&](const eight* a, eight* b) {
        b[0] = k.sxx * a[0] + k.sxy * a[1] + k.sxz * a[2];
        b[1] = k.sxy * a[0] + k.syy * a[1] + k.syz * a[2];
        b[2] = k.sxz * a[0] + k.syz * a[1] + k.szz * a[2];
    };
    times(s.p, s.sp), times(s.q, s.sq);
    s.xx = s.p[0] * s.sp[0] + s.p[1] * s.sp[1] + s.p[2] * s.sp[2] + BLUR;
    s.xy = s.p[0] * s.sq[0] + s.p[1] * s.sq[1] + s.p[2] * s.sq[2];
    s.yy = s.q[0] * s.sq[0] + s.q[1] * s.sq[1] + s.q[2] * s.sq[2] + BLUR;
    return s;
};
"""
)


@wp.func_native(
    KERNELS
    + """
// ln by exponent and, for the mantissa m in [sqrt(1/2), sqrt(2)), 2 artanh((m - 1) / (m + 1)).
auto logarithm = [](eight x) {
    eight_ints bits = (eight_ints)x, exponent = (bits - 0x3f3504f3) >> 23;
    eight m = (eight)(bits - (exponent << 23));
    eight t = (m - 1.0f) / (m + 1.0f), tt = t * t;
    eight series = 2.0f + tt * (2.0f / 3 + tt * (2.0f / 5 + tt * (2.0f / 7 + tt * (2.0f / 9))));
    return __builtin_convertvector(exponent, eight) * 0.6931471805599453f + t * series;
};

alignas(64) float staged[CHUNK * RECORD];
for (int i = 0; i < count; i += 8) {
    Kernels k = read(first + i);
    Splats s = project(k);
    eight determinant = s.xx * s.yy - s.xy * s.xy, inverse = 1.0f / determinant;
    eight dark = -logarithm(k.opacity);  // alpha = exp(-(dark + half the squared distance))
    eight farthest = 2.0f * (LOG_CUT - dark), reach = farthest * s.xx;
    eight x = s.x - 0.5f, y = s.y - 0.5f, reach_x = ROOT(reach), reach_y = ROOT(farthest * s.yy);

    // The box: 0.01 pixels more than it must be, so that rounding never decides. Comparisons with what is not a number
    // are false, and zero times it or infinity is not zero.
    float width = job.width, height = job.height;
    eight left = MOST(x - reach_x + (0.999f - 0.01f), (eight)0.0f), right = LEAST(x + reach_x + 1.01f, (eight)width);
    eight top = MOST(y - reach_y + (0.999f - 0.01f), (eight)0.0f), bottom = LEAST(y + reach_y + 1.01f, (eight)height);
    eight finite = 0.0f * (k.red + k.green + k.blue + k.opacity + determinant);
    eight_ints good = (s.z > job.near) & (s.z > 0.0f) & (k.opacity >= ALPHA_CUT) & (s.xx > 0.0f) & (determinant > 0.0f)
        & (finite == 0.0f) & (reach_x < FARTHEST) & (reach_y < FARTHEST) & (left < width) & (right >= 1.0f)
        & (top < height) & (bottom >= 1.0f);
    auto whole = [&](eight v) { return __builtin_convertvector(good ? v : (eight)0.0f, eight_ints); };
    eight_ints first_column = whole(left), last_column = whole(right) - 1;
    eight_ints first_row = whole(top), last_row = whole(bottom) - 1;
    good &= (first_column <= last_column) & (first_row <= last_row);
    eight_ints columns = first_column | last_column << 16;
    eight_ints rows = good ? first_row | last_row << 16 : (eight_ints)(int)0xffff0000;  // from 0 to -1: none

    // At x from the mean, rows from y = slant x - h to slant x + h are touched, h = spread sqrt(reach - x x); at
    // x = turn is the last row of all, at -turn the first.
    eight slant = s.xy / s.xx, spread = ROOT(determinant) / s.xx, turn = s.xy * ROOT(farthest / s.yy);
    eight low[8] = {x, y, 0.5f * s.yy * inverse, -s.xy * inverse, 0.5f * s.xx * inverse, dark, slant, spread};
    eight high[8] = {reach, turn, (eight)columns, (eight)rows, k.red, k.green, k.blue, s.z};
    transpose(low), transpose(high);
    for (int j = 0; j < 8; j++) {
        store(staged + RECORD * (i + j), low[j]);
        store(staged + RECORD * (i + j) + 8, high[j]);
    }
}

// How many slots for each band; room for them; then records, sorted by band.
int place[MOST_BANDS + 1];
for (int b = 0; b <= job.bands; b++) place[b] = 0;
for (int i = 0; i < count; i++) {
    int rows = *(const int*)(staged + RECORD * i + 11);
    for (int b = (rows & 0xffff) >> job.band_shift; b <= rows >> 16 >> job.band_shift; b++) place[b]++;
}
int slots = 0;
for (int b = 0; b < job.bands; b++) slots += place[b];
long long buffer = frame % job.ring;
int start = __atomic_fetch_add(job.progress + 1 + 2 * job.frames + frame, slots, __ATOMIC_RELAXED);
bool room = start + slots <= job.capacity;
int* segment = job.segments + (buffer * job.chunks + chunk) * (job.bands + 1);
for (int b = 0; b <= job.bands; b++) {
    int next = start + place[b];
    segment[b] = room ? start : 0;
    place[b] = start, start = next;
}
if (!room) return;
float* records = job.records + buffer * job.capacity * RECORD;
int* owners = job.owners + buffer * job.capacity;
for (int i = 0; i < count; i++) {
    const float* record = staged + RECORD * i;
    int rows = *(const int*)(record + 11);
    eight low = load(record), high = load(record + 8);
    for (int b = (rows & 0xffff) >> job.band_shift; b <= rows >> 16 >> job.band_shift; b++) {
        long long slot = place[b]++;
        store(records + RECORD * slot, low), store(records + RECORD * slot + 8, high);
        owners[slot] = first + i;
    }
}
"""
)
def project_chunk(address: wp.uint64, frame: int, chunk: int):
    """Writes the slots of a chunk of Gaussians.

    Record: mean x, y [pixel indices]; conic xx / 2, xy, yy / 2; -ln opacity; the outline's slant, spread, reach, turn;
    first and last column, first and last row (two int16 each); colour; depth.
    """


GRADIENTS = """
// Three vectors to eight triples in a row.
auto join = [&](float* to, eight x, eight y, eight z) {
    store(to, SHUFFLE(SHUFFLE(x, y, 0, 8, -1, 1, 9, -1, 2, 10), z, 0, 1, 8, 3, 4, 9, 6, 7));
    store(to + 8, SHUFFLE(SHUFFLE(x, y, -1, 3, 11, -1, 4, 12, -1, 5), z, 10, 1, 2, 11, 4, 5, 12, 7));
    store(to + 16, SHUFFLE(SHUFFLE(x, y, 13, -1, 6, 14, -1, 7, 15, -1), z, 0, 13, 2, 3, 14, 5, 6, 15));
};

// Gradients of the mean in camera space and of the picture's covariance. Where there is no slot they may be anything.
struct Gradients { eight x, y, z, xx, xy, yy; };
auto unproject = [&](const Splats& s, const eight* sum) {
    Gradients g;
    // To the mean in the picture and to the conic; through the inverse to the covariance.
    eight inverse = 1.0f / (s.xx * s.yy - s.xy * s.xy);
    eight a = s.yy * inverse, b = -s.xy * inverse, c = s.xx * inverse;
    eight to_u = a * sum[1] + b * sum[2], to_v = b * sum[1] + c * sum[2];
    eight axx = a * sum[3] + b * sum[4], axy = a * sum[4] + b * sum[5], ayy = b * sum[4] + c * sum[5];
    eight ayx = b * sum[3] + c * sum[4];
    g.xx = 0.5f * (axx * a + axy * b), g.xy = axx * b + axy * c, g.yy = 0.5f * (ayx * b + ayy * c);

    // To p = iz (focal R0 - drawn R2) and q; from there to what they are made of.
    eight u = 0.0f, v = 0.0f, fx = 0.0f, fy = 0.0f;
    for (int j = 0; j < 3; j++) {
        eight p = s.iz * (2.0f * g.xx * s.sp[j] + g.xy * s.sq[j]);
        eight q = s.iz * (2.0f * g.yy * s.sq[j] + g.xy * s.sp[j]);
        fx += p * T[j], fy += q * T[4 + j];
        u -= p * T[8 + j], v -= q * T[8 + j];
    }
    g.z = -s.iz * (fx * focal[0] + u * s.drawn_u + fy * focal[1] + v * s.drawn_v);

    // Where the mean was drawn to an edge, what is drawn does not depend on it.
    eight zero = 0.0f;
    to_u += s.drawn_u == s.x - center[0] ? u : zero, to_v += s.drawn_v == s.y - center[1] ? v : zero;
    g.x = to_u * focal[0] * s.iz, g.y = to_v * focal[1] * s.iz;
    g.z -= g.x * (s.u / focal[0]) + g.y * (s.v / focal[1]);
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
bool geometry = job.means_gradient || job.covariances_gradient;
eight zero = 0.0f;
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
"""
)
def unproject_chunk(address: wp.uint64, frame: int, chunk: int):
    """Gradients of a chunk of Gaussians from those of their slots."""
