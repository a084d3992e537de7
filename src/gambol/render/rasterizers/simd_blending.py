# mypy: ignore-errors
# Warp reads the annotations of kernels itself; they are values, not types.
"""Slots sorted by depth, blended to pixels, and gradients of pixels to those of slots, in C++.

A band is blended in planes of its worker's own: transmittance and three colours; backward, transmittance, what is
still behind and three gradients. Rows have room for a vector beyond their last pixel.
"""

from gambol.render.rasterizers.simd_job import JOB, wp
from gambol.render.simd_code import VECTORS

PIXELS = (
    JOB
    + VECTORS
    + """
#if defined(__AVX512F__)
constexpr int LANES = 16;
typedef float pixels __attribute__((ext_vector_type(16)));
typedef int masks __attribute__((ext_vector_type(16)));
const pixels lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
auto fold = [](pixels v) { return v.lo + v.hi; };
#else
constexpr int LANES = 8;
typedef eight pixels;
typedef eight_ints masks;
const pixels lane = count_up;
auto fold = [](pixels v) { return v; };
#endif
typedef pixels pixels_anywhere __attribute__((aligned(4)));
auto get = [](const float* from) { return (pixels)*(const pixels_anywhere*)from; };
auto put = [](float* to, pixels value) { *(pixels_anywhere*)to = value; };

// Constants as vectors in memory. The empty assembly hides where they come from: clang would else build an address and
// spread a number, each time.
struct Known { pixels cut, stop, most, one, e0, e1, e2, e3, e4, e5; };
alignas(64) const Known written = {LOG_CUT, STOP, ALPHA_MOST, 1.0f,
    0.99999994f, -0.124999113f, 7.810738e-03f, -3.2420747e-04f, 9.718831e-06f, -1.7910154e-07f};
const Known* known = &written;
__asm__("" : "+r"(known));

// exp(-s) for s from 0 to ln 255, and a little below 0: the eighth root by a polynomial that was fitted there, largest
// error 7e-8, then squared three times.
auto exponential = [&](pixels s) {
    pixels ss = s * s, a = known->e1 * s + known->e0, b = known->e3 * s + known->e2, c = known->e5 * s + known->e4;
    pixels p = (c * ss + b) * ss + a;
    p *= p, p *= p;
    return p * p;
};
// Sign bits to whole masks: faster than comparisons, which clang takes apart into single bits.
auto where = [](masks negative, pixels value) { return (pixels)((negative >> 31) & (masks)value); };
"""
)

RANKING = """
// The bands of a frame in the order of their number of slots: the longest work first, so that workers end together.
const int* segments = job.segments + (long long)(frame % job.ring) * job.chunks * (job.bands + 1);
auto band_by_work = [&](int rank) {
    int slots[MOST_BANDS];
    for (int b = 0; b < job.bands; b++) slots[b] = 0;
    for (int c = 0; c < job.chunks; c++) {
        const int* segment = segments + c * (job.bands + 1);
        for (int b = 0; b < job.bands; b++) slots[b] += segment[b + 1] - segment[b];
    }
    for (int b = 0; b < job.bands; b++) {
        int before = 0;
        for (int o = 0; o < job.bands; o++) before += slots[o] > slots[b] || (slots[o] == slots[b] && o < b);
        if (before == rank) return b;
    }
    return 0;
};
"""

PIECES = """
long long buffer = frame % job.ring;
int top = band << job.band_shift, rows = job.height - top, row = job.row;
rows = LEAST(rows, 1 << job.band_shift);
int *kept = job.kept + (buffer * job.bands + band) * 4, *order = job.order + buffer * job.capacity + kept[0];
int left = kept[2], right = kept[3] + 1;  // columns that any slot can reach
float* planes = job.scratch + worker * job.scratch_size;
auto clear = [&](int count) {
    for (int p = 0; p < count; p++)
        for (int y = 0; y < rows; y++)
            for (int x = left; x < right + LANES; x++) planes[p * PLANE + y * row + x] = p == 0 ? 1.0f : 0.0f;
};

// A slot's pixels in up to four columns of vectors, each with a first and a last row. Pieces are made some time before
// they are used, so that the processor knows by then how often to go round the loops: 20 % faster.
struct alignas(64) Piece {
    const float* record;
    float* pixel;
    int slot, first, columns;
    float x;
    int from[4], to[4];
};
constexpr int PIECES = 16, COLUMNS = 4;
const eight vectors = (float)LANES * (eight){0, 1, 2, 3, 0, 1, 2, 3}, sign = {-1, -1, -1, -1, 1, 1, 1, 1};
const eight upward = {0.999f - 0.01f, 0.999f - 0.01f, 0.999f - 0.01f, 0.999f - 0.01f, 0.01f, 0.01f, 0.01f, 0.01f};
auto for_all_pieces = [&](auto&& use) {
    Piece pieces[PIECES];
    int made = 0;
    for (int i = 0, count = kept[1]; i < count; i++) {
        const float *records = job.records + buffer * job.capacity * RECORD, *record = records + 16ll * order[i];
        if (i + 8 < count) __builtin_prefetch(records + 16ll * order[i + 8]);
        const short* box = (const short*)(record + 10);
        float x = record[0], end = (float)(rows - 1), top_row = (float)(box[2] - top), last_row = (float)(box[3] - top);
        eight turn = record[9] * sign, slant = record[6], spread = 1.0001f * record[7] * sign, reach = record[8];
        eight y = (record[1] - top) + upward, zero = 0.0f;
        top_row = MOST(top_row, 0.0f), last_row = LEAST(last_row, end);
        eight least = SHUFFLE((eight)top_row, (eight)-1.0f, 0, 1, 2, 3, 8, 9, 10, 11);
        eight most = SHUFFLE((eight)(end + 1.0f), (eight)last_row, 0, 1, 2, 3, 8, 9, 10, 11);
        for (int column = box[0]; column <= box[1]; column += COLUMNS * LANES) {
            eight left = ((float)column - x) + vectors, right = left + (float)(LANES - 1);
            eight at = LEAST(MOST(turn, left), right), rest = reach - at * at;
            eight edge = y + slant * at + ROOT(MOST(rest, zero)) * spread;  // four first rows, four last ones
            Piece& piece = pieces[made++];
            *(eight_ints*)piece.from = __builtin_convertvector(LEAST(MOST(edge, least), most), eight_ints);
            piece.record = record, piece.pixel = planes + column, piece.x = (float)column - x;
            piece.slot = order[i], piece.first = column == box[0];
            int columns = (box[1] - column) / LANES + 1;
            piece.columns = LEAST(columns, COLUMNS);
            if (made == PIECES) {
                for (int k = 0; k < PIECES; k++) use(pieces[k]);
                made = 0;
            }
        }
    }
    for (int k = 0; k < made; k++) use(pieces[k]);
};
"""


@wp.func_native(
    JOB
    + RANKING
    + """
typedef unsigned long long entry;  // depth above slot
if (job.progress[1 + 2 * job.frames + frame] > job.capacity) return -1;  // the caller comes back with more room
int band = band_by_work(rank);
long long buffer = frame % job.ring;
const float* records = job.records + buffer * job.capacity * RECORD;
entry *from = (entry*)(job.scratch + worker * job.scratch_size), *to = from + job.kernels;
int count = 0, start = 0, left = job.width, right = -1;  // start: of this band among those of the frame
unsigned least = ~0u, most = 0u;
for (int c = 0; c < job.chunks; c++) {
    const int* segment = segments + c * (job.bands + 1);
    start += segment[band] - segment[0];
    for (int slot = segment[band]; slot < segment[band + 1]; slot++) {
        const short* columns = (const short*)(records + 16ll * slot + 10);
        left = columns[0] < left ? columns[0] : left, right = columns[1] > right ? columns[1] : right;
        unsigned key = *(const unsigned*)(records + 16ll * slot + 15);  // positive floats sort like their bits
        least = key < least ? key : least, most = key > most ? key : most;
        from[count++] = (entry)key << 32 | (unsigned)slot;
    }
}
// Radix sort by the bits in which depths differ: for a character's depths two passes of 11 or 12 bits.
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
int *order = job.order + buffer * job.capacity + start, *kept = job.kept + (buffer * job.bands + band) * 4;
for (int i = 0; i < count; i++) order[i] = (int)(unsigned)from[i];
kept[0] = start, kept[1] = count, kept[2] = count ? left : 0, kept[3] = right;
return band;
"""
)
def sort_band(address: wp.uint64, frame: int, rank: int, worker: int) -> int:
    """Sorts the slots of the band with this rank by depth, those of equal depth by the index of their Gaussian.

    Which band that is, or -1 if there was not enough room for the slots of the frame.
    """


@wp.func_native(
    PIXELS
    + PIECES
    + """
clear(4);
unsigned char* seen = job.seen + buffer * job.capacity;
int some = 0;
for_all_pieces([&](const Piece& piece) {
    const float* record = piece.record;
    pixels y = record[1] - top, xy = record[3], yy = record[4], dx = piece.x + lane;
    pixels red = record[12], green = record[13], blue = record[14];
    masks touched = 0;
    for (int c = 0; c < piece.columns; c++, dx += (float)LANES) {
        pixels flat = record[5] + record[2] * dx * dx, tilt = xy * dx, at = (float)piece.from[c];
        float* pixel = piece.pixel + c * LANES + piece.from[c] * row;
        for (int r = piece.from[c]; r <= piece.to[c]; r++, at += known->one, pixel += row) {
            pixels dy = at - y, s = (yy * dy + tilt) * dy + flat, light = get(pixel);
            masks taken = (masks)(s - known->cut) & (masks)(known->stop - light);
            pixels alpha = where(taken, exponential(s)), weight = LEAST(alpha, known->most) * light;
            put(pixel, light - weight);
            put(pixel + PLANE, get(pixel + PLANE) + weight * red);
            put(pixel + 2 * PLANE, get(pixel + 2 * PLANE) + weight * green);
            put(pixel + 3 * PLANE, get(pixel + 3 * PLANE) + weight * blue);
            touched |= taken;
        }
    }
    bool now = __builtin_reduce_or(touched >> 31), before = !piece.first && seen[piece.slot];
    seen[piece.slot] = now | before;
    if (now & !before) order[some++] = piece.slot;
});
kept[1] = some;
for (int y = 0; y < rows; y++) {
    const float* from = planes + y * row;
    float* image = job.image + ((long long)frame * job.height + top + y) * job.width * 3;
    float* alpha = job.alpha + ((long long)frame * job.height + top + y) * job.width;
    for (int x = 0; x < left; x++) image[3 * x] = image[3 * x + 1] = image[3 * x + 2] = alpha[x] = 0.0f;
    for (int x = left; x < right; x++)
        for (int c = 0; c < 3; c++) image[3 * x + c] = from[(c + 1) * PLANE + x];
    for (int x = left; x < right; x++) alpha[x] = 1.0f - from[x];
    for (int x = right; x < job.width; x++) image[3 * x] = image[3 * x + 1] = image[3 * x + 2] = alpha[x] = 0.0f;
}
"""
)
def blend_band(address: wp.uint64, frame: int, band: int, worker: int):
    """Image and alpha of a band; of its slots keeps those that changed a pixel."""


@wp.func_native(
    PIXELS
    + RANKING
    + "int band = band_by_work(rank);"
    + PIECES
    + """
if (!kept[1]) return;
// Behind a slot: the light of all later ones times the gradient, less the gradient of what shines through in the end.
clear(5);
for (int y = 0; y < rows; y++) {
    float* to = planes + y * row;
    long long at = ((long long)frame * job.height + top + y) * job.width;
    if (job.image_gradient) {
        const float *i = job.image + 3 * at, *g = job.image_gradient + 3 * at;
        for (int x = left; x < right; x++) {
            for (int c = 0; c < 3; c++) to[(c + 2) * PLANE + x] = g[3 * x + c];
            to[PLANE + x] = i[3 * x] * g[3 * x] + i[3 * x + 1] * g[3 * x + 1] + i[3 * x + 2] * g[3 * x + 2];
        }
    }
    if (job.alpha_gradient) {
        const float *alpha = job.alpha + at, *g = job.alpha_gradient + at;
        for (int x = left; x < right; x++) to[PLANE + x] -= g[x] * (1.0f - alpha[x]);
    }
}
float* sums = job.sums + (long long)(frame % job.sums_ring) * job.capacity * SUMS;
for_all_pieces([&](const Piece& piece) {
    const float* record = piece.record;
    bool clamps = record[5] < 0.0011f;  // opacity above 0.9989; a rare thing, spared to the others
    pixels y = record[1] - top, xy = record[3], yy = record[4], dx = piece.x + lane;
    pixels red = record[12], green = record[13], blue = record[14];
    pixels q = 0.0f, qx = 0.0f, qy = 0.0f, qxx = 0.0f, qxy = 0.0f, qyy = 0.0f, to_r = 0.0f, to_g = 0.0f, to_b = 0.0f;
    for (int c = 0; c < piece.columns; c++, dx += (float)LANES) {
        pixels flat = record[5] + record[2] * dx * dx, tilt = xy * dx, at = (float)piece.from[c];
        pixels sum = 0.0f, sum_y = 0.0f, sum_yy = 0.0f;
        float* pixel = piece.pixel + c * LANES + piece.from[c] * row;
        for (int r = piece.from[c]; r <= piece.to[c]; r++, at += known->one, pixel += row) {
            pixels dy = at - y, s = (yy * dy + tilt) * dy + flat, light = get(pixel);
            masks taken = (masks)(s - known->cut) & (masks)(known->stop - light);
            pixels g_red = get(pixel + 2 * PLANE), g_green = get(pixel + 3 * PLANE), g_blue = get(pixel + 4 * PLANE);
            pixels alpha = where(taken, exponential(s)), raw = alpha;
            if (clamps) alpha = LEAST(alpha, known->most);
            pixels weight = alpha * light;
            pixels shade = red * g_red + green * g_green + blue * g_blue, shown = weight * shade;
            pixels behind = get(pixel + PLANE) - shown;
            put(pixel, light - weight), put(pixel + PLANE, behind);
            pixels here = shown - behind * (alpha / (known->one - alpha));
            if (clamps) here = where((masks)(raw - known->most), here);  // no gradient through the clamp
            pixels down = here * dy;
            sum += here, sum_y += down, sum_yy += down * dy;
            to_r += weight * g_red, to_g += weight * g_green, to_b += weight * g_blue;
        }
        pixels across = sum * dx;
        q += sum, qx += across, qxx += across * dx, qy += sum_y, qxy += sum_y * dx, qyy += sum_yy;
    }
    eight all[8] = {fold(q), fold(qx), fold(qy), fold(qxx), fold(qxy), fold(qyy), fold(to_r), fold(to_g)};
    eight b = fold(to_b), most = sums_of(all);
    float last = ((b[0] + b[1]) + (b[2] + b[3])) + ((b[4] + b[5]) + (b[6] + b[7]));
    float* to = sums + (long long)piece.slot * SUMS;
    store(to, piece.first ? most : most + load(to));
    to[8] = piece.first ? last : last + to[8];
});
"""
)
def blend_band_backward(address: wp.uint64, frame: int, rank: int, worker: int):
    """Gradients of the slots of the band with this rank; q in `SUMS` is alpha times the gradient to alpha."""
