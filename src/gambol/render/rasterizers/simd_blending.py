# mypy: ignore-errors
"""Slots to pixels and gradients of pixels to gradients of slots: the C++ of both, a vector of pixels at a time.

A band is blended in planes of its own, row by row: transmittance and three colours (going back: transmittance, what
is still behind, and three gradients). Rows have room for a vector beyond their last pixel.
"""

from gambol.render.rasterizers.simd_job import CONSTANTS, VECTORS, Job, wp


@wp.func_native(
    CONSTANTS
    + """
// The bands of a frame in the order of their number of slots: the longest work first, so that threads end together.
const int* segments = (const int*)job.segments + (long long)(frame % job.ring) * job.chunks * (job.bands + 1);
int slots[MOST_BANDS];
for (int b = 0; b < job.bands; b++) slots[b] = 0;
for (int c = 0; c < job.chunks; c++)
    for (int b = 0; b < job.bands; b++)
        slots[b] += segments[c * (job.bands + 1) + b + 1] - segments[c * (job.bands + 1) + b];
for (int b = 0; b < job.bands; b++) {
    int before = 0;
    for (int other = 0; other < job.bands; other++)
        before += slots[other] > slots[b] || (slots[other] == slots[b] && other < b);
    if (before == rank) return b;
}
return 0;
"""
)
def band_by_work(job: Job, frame: int, rank: int) -> int: ...


@wp.func_native(
    CONSTANTS
    + """
typedef unsigned long long entry;  // depth above slot
long long buffer = frame % job.ring;
const int* segments = (const int*)job.segments + buffer * job.chunks * (job.bands + 1);
const unsigned* keys = (const unsigned*)job.keys + buffer * job.capacity;
entry* from = (entry*)((float*)job.scratch + worker * job.scratch_size);
entry* to = from + job.kernels;
int count = 0;
unsigned least = ~0u, most = 0u;
for (int c = 0; c < job.chunks; c++) {
    const int* segment = segments + c * (job.bands + 1) + band;
    for (int slot = segment[0]; slot < segment[1]; slot++) {
        unsigned key = keys[slot];
        least = key < least ? key : least, most = key > most ? key : most;
        from[count++] = (entry)key << 32 | (unsigned)slot;
    }
}
// Only the bits in which depths differ: two passes of 11 or 12 bits for a character's depths.
constexpr int MOST_DIGIT = 12;
int bits = most > least ? 32 - __builtin_clz(most - least) : 0, passes = (bits + MOST_DIGIT - 1) / MOST_DIGIT;
int digit = passes ? (bits + passes - 1) / passes : 0;
unsigned mask = (1u << digit) - 1, places[3][1 << MOST_DIGIT];
for (int p = 0; p < passes; p++)
    for (unsigned d = 0; d <= mask; d++) places[p][d] = 0;
for (int i = 0; i < count; i++) {
    unsigned key = (unsigned)(from[i] >> 32) - least;
    for (int p = 0; p < passes; p++) places[p][key >> p * digit & mask]++;
}
for (int p = 0; p < passes; p++) {
    unsigned place = 0;
    for (unsigned d = 0; d <= mask; d++) {
        unsigned next = place + places[p][d];
        places[p][d] = place, place = next;
    }
    for (int i = 0; i < count; i++) {
        unsigned key = (unsigned)(from[i] >> 32) - least;
        to[places[p][key >> p * digit & mask]++] = from[i];
    }
    entry* swapped = from;
    from = to, to = swapped;
}
int start = 0;  // of this band among those of the frame
for (int c = 0; c < job.chunks; c++) start += segments[c * (job.bands + 1) + band] - segments[c * (job.bands + 1)];
int* order = (int*)job.order + buffer * job.capacity + start;
int* kept = (int*)job.kept + (buffer * job.bands + band) * 2;
for (int i = 0; i < count; i++) order[i] = (int)(unsigned)from[i];
kept[0] = start, kept[1] = count;
"""
)
def sort_band(job: Job, frame: int, band: int, worker: int):
    """The slots of a band by depth, those of equal depth by kernel."""
    ...


BLENDING = (
    VECTORS
    + """
#if defined(__AVX512F__)
constexpr int LANES = 16;
typedef float pixels __attribute__((ext_vector_type(16)));
typedef int masks __attribute__((ext_vector_type(16)));
const pixels lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#else
constexpr int LANES = 8;
typedef eight pixels;
typedef eight_ints masks;
const pixels lane = count_up;
#endif
constexpr long long PLANE = 262144 + 16 * 17;
typedef pixels pixels_anywhere __attribute__((aligned(4)));
auto get = [](const float* from) { return (pixels)*(const pixels_anywhere*)from; };
auto put = [](float* to, pixels value) { *(pixels_anywhere*)to = value; };

// Constants as vectors in memory. The empty assembly hides where they come from: clang would else fetch each with two
// instructions every time.
alignas(64) const pixels known[] = {lane, LOG_CUT, STOP, ALPHA_MOST, 1.0f, -1.7910154e-07f, 9.718831e-06f,
    -3.2420747e-04f, 7.810738e-03f, -0.124999113f, 0.99999994f};
const pixels* constant = known;
__asm__("" : "+r"(constant));

// exp(-s) for s from 0 to ln 255 (and a little below 0): an eighth of it by a polynomial that was fitted there, error
// 7e-8, then squared three times.
auto exponential = [&](pixels s) {
    pixels p = constant[5] * s + constant[6];
    p = p * s + constant[7];
    p = p * s + constant[8];
    p = p * s + constant[9];
    p = p * s + constant[10];
    p *= p, p *= p;
    return p * p;
};

long long buffer = frame % job.ring;
int top = band << job.band_shift, bottom = top + (1 << job.band_shift);
bottom = bottom < job.height ? bottom : job.height;
const float* records = (const float*)job.records + buffer * job.capacity * RECORD;
int* order = (int*)job.order + buffer * job.capacity;
int* kept = (int*)job.kept + (buffer * job.bands + band) * 2;
order += kept[0];
int count = kept[1];
float* planes = (float*)job.scratch + worker * job.scratch_size;
int row = job.row;

// A slot's pixels in up to eight columns of vectors, each with a first and a last row. Pieces are made some time before
// they are used, so that the processor knows by then how often it will go round the loops.
struct alignas(64) Piece {
    const float* record;
    float* pixel;
    int slot, first, count;
    float x;
    int from[8], to[8];
};
constexpr int PIECES = 16;
Piece pieces[PIECES];
auto for_all_pieces = [&](auto&& use) {
    int made = 0;
    for (int i = 0; i < count; i++) {
        if (i + 8 < count) __builtin_prefetch(records + (long long)order[i + 8] * RECORD);
        const float* record = records + (long long)order[i] * RECORD;
        float x = record[0], y = record[1] - top, slant = record[6], spread = record[7], reach = record[8];
        const short* box = (const short*)(record + 10);
        eight turn = record[9], zero = 0.0f;
        eight first = (float)(box[2] - top), last = (float)(box[3] - top), end = (float)(bottom - top - 1);
        first = MOST(first, zero), last = LEAST(last, end);
        for (int column = box[0]; column <= box[1]; column += 8 * LANES) {
            Piece& piece = pieces[made];
            eight left = ((float)column - x) + count_up * (float)LANES, right = left + (float)(LANES - 1);
            eight low = LEAST(MOST(-turn, left), right), high = LEAST(MOST(turn, left), right);
            eight low_root = ROOT(MOST(reach - low * low, zero)), high_root = ROOT(MOST(reach - high * high, zero));
            eight from = (y + slant * low) - (low_root * (1.0001f * spread) - 0.989f);
            eight to = (y + slant * high) + (high_root * (1.0001f * spread) + 0.01f);
            from = MOST(from, first), to = LEAST(to, last);
            to = MOST(to, (eight)-1.0f), from = LEAST(from, end + 1.0f);
            *(eight_ints*)piece.from = __builtin_convertvector(from, eight_ints);
            *(eight_ints*)piece.to = __builtin_convertvector(to, eight_ints);
            piece.record = record, piece.pixel = planes + column, piece.x = (float)column - x;
            piece.slot = order[i], piece.first = column == box[0];
            int columns = (box[1] - column) / LANES + 1;
            piece.count = columns < 8 ? columns : 8;
            if (++made == PIECES) {
                for (int k = 0; k < made; k++) use(pieces[k]);
                made = 0;
            }
        }
    }
    for (int k = 0; k < made; k++) use(pieces[k]);
};
"""
)


@wp.func_native(
    BLENDING
    + """
for (int y = 0; y < bottom - top; y++)
    for (int p = 0; p < 4; p++)
        for (int x = 0; x < row; x++) planes[p * PLANE + (long long)y * row + x] = p == 0 ? 1.0f : 0.0f;
unsigned char* seen = (unsigned char*)job.seen + buffer * job.capacity;
int some = 0;
for_all_pieces([&](const Piece& piece) {
    const float* record = piece.record;
    pixels red = record[12], green = record[13], blue = record[14];
    masks touched = 0;
    pixels y = record[1] - top, xy = record[3], yy = record[4], dx = piece.x + lane;
    for (int v = 0; v < piece.count; v++, dx += (float)LANES) {
        pixels flat = record[5] + record[2] * dx * dx, tilt = xy * dx, at = (float)piece.from[v];
        float* pixel = piece.pixel + v * LANES + (long long)piece.from[v] * row;
        for (int r = piece.from[v]; r <= piece.to[v]; r++, at += constant[4], pixel += row) {
            pixels dy = at - y, s = (yy * dy + tilt) * dy + flat, light = get(pixel);
            masks taken = (masks)(s - constant[1]) & (masks)(constant[2] - light);
            touched |= taken;
            pixels alpha = exponential(s);
            alpha = LEAST(alpha, constant[3]);
            pixels weight = (pixels)((taken >> 31) & (masks)(alpha * light));
            put(pixel, light - weight);
            put(pixel + PLANE, get(pixel + PLANE) + weight * red);
            put(pixel + 2 * PLANE, get(pixel + 2 * PLANE) + weight * green);
            put(pixel + 3 * PLANE, get(pixel + 3 * PLANE) + weight * blue);
        }
    }
    bool any = __builtin_reduce_or(touched >> 31);
    bool before = !piece.first && seen[piece.slot];
    seen[piece.slot] = any | before;
    order[some] = piece.slot;
    some += any & !before;
});
kept[1] = some;
for (int y = top; y < bottom; y++) {
    const float* from = planes + (long long)(y - top) * row;
    float* image = (float*)job.image + ((long long)frame * job.height + y) * job.width * 3;
    float* alpha = (float*)job.alpha + ((long long)frame * job.height + y) * job.width;
    for (int x = 0; x < job.width; x++) {
        image[3 * x] = from[x + PLANE];
        image[3 * x + 1] = from[x + 2 * PLANE], image[3 * x + 2] = from[x + 3 * PLANE];
    }
    for (int x = 0; x < job.width; x++) alpha[x] = 1.0f - from[x];
}
"""
)
def blend_band(job: Job, frame: int, band: int, worker: int):
    """Image and alpha of a band; of its slots keeps those that changed a pixel."""
    ...


@wp.func_native(
    BLENDING
    + """
// Behind a slot: the light of all later ones times the gradient, minus the gradient of what shines through in the end.
for (int y = top; y < bottom; y++) {
    long long at = ((long long)frame * job.height + y) * job.width;
    const float *image = (const float*)job.image + 3 * at, *alpha = (const float*)job.alpha + at;
    const float* g = job.image_gradient ? (const float*)job.image_gradient + 3 * at : nullptr;
    const float* g_alpha = job.alpha_gradient ? (const float*)job.alpha_gradient + at : nullptr;
    float* to = planes + (long long)(y - top) * row;
    for (int p = 0; p < 5; p++)
        for (int x = 0; x < row; x++) to[p * PLANE + x] = p == 0 ? 1.0f : 0.0f;
    if (g) {
        for (int x = 0; x < job.width; x++) {
            float red = g[3 * x], green = g[3 * x + 1], blue = g[3 * x + 2];
            to[x + PLANE] = image[3 * x] * red + image[3 * x + 1] * green + image[3 * x + 2] * blue;
            to[x + 2 * PLANE] = red, to[x + 3 * PLANE] = green, to[x + 4 * PLANE] = blue;
        }
    }
    if (g_alpha) for (int x = 0; x < job.width; x++) to[x + PLANE] -= g_alpha[x] * (1.0f - alpha[x]);
}

auto fold = [](pixels v) -> eight {
#if defined(__AVX512F__)
    return SHUFFLE(v, v, 0, 1, 2, 3, 4, 5, 6, 7) + SHUFFLE(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
#else
    return v;
#endif
};
float* sums = (float*)job.sums + (long long)(frame % job.sums_ring) * job.capacity * SUMS;
for_all_pieces([&](const Piece& piece) {
    const float* record = piece.record;
    pixels red = record[12], green = record[13], blue = record[14];
    pixels q = 0.0f, qx = 0.0f, qy = 0.0f, qxx = 0.0f, qxy = 0.0f, qyy = 0.0f, to_r = 0.0f, to_g = 0.0f, to_b = 0.0f;
    pixels y = record[1] - top, xy = record[3], yy = record[4], dx = piece.x + lane;
    for (int v = 0; v < piece.count; v++, dx += (float)LANES) {
        pixels flat = record[5] + record[2] * dx * dx, tilt = xy * dx, at = (float)piece.from[v];
        pixels sum = 0.0f, sum_y = 0.0f, sum_yy = 0.0f;
        float* pixel = piece.pixel + v * LANES + (long long)piece.from[v] * row;
        for (int r = piece.from[v]; r <= piece.to[v]; r++, at += constant[4], pixel += row) {
            pixels dy = at - y, s = (yy * dy + tilt) * dy + flat, light = get(pixel);
            masks taken = (masks)(s - constant[1]) & (masks)(constant[2] - light);
            pixels g_red = get(pixel + 2 * PLANE), g_green = get(pixel + 3 * PLANE), g_blue = get(pixel + 4 * PLANE);
            pixels raw = exponential(s), alpha = LEAST(raw, constant[3]);
            pixels weight = (pixels)((taken >> 31) & (masks)(alpha * light));
            pixels shade = red * g_red + green * g_green + blue * g_blue;
            pixels behind = get(pixel + PLANE) - weight * shade;
            put(pixel, light - weight);
            put(pixel + PLANE, behind);
            pixels here = alpha * (light * shade - behind / (constant[4] - alpha));
            taken &= (masks)(raw - constant[3]);
            here = (pixels)((taken >> 31) & (masks)here);
            pixels down = here * dy;
            sum += here, sum_y += down, sum_yy += down * dy;
            to_r += weight * g_red, to_g += weight * g_green, to_b += weight * g_blue;
        }
        pixels across = sum * dx;
        q += sum, qx += across, qxx += across * dx, qy += sum_y, qxy += sum_y * dx, qyy += sum_yy;
    }
    eight a[8] = {fold(q), fold(qx), fold(qy), fold(qxx), fold(qxy), fold(qyy), fold(to_r), fold(to_g)};
    float* to = sums + (long long)piece.slot * SUMS;
    transpose(a);
    eight sum = ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7])), last = fold(to_b);
    float ninth = ((last[0] + last[1]) + (last[2] + last[3])) + ((last[4] + last[5]) + (last[6] + last[7]));
    if (!piece.first) sum += load(to), ninth += to[8];
    store(to, sum);
    to[8] = ninth;
});
"""
)
def blend_band_backward(job: Job, frame: int, band: int, worker: int):
    """Gradients of a band's slots: as sums over pixels, see `SUMS`, with q = alpha times the gradient to alpha."""
    ...
