# mypy: ignore-errors
# Warp reads the annotations of kernels itself; they are values, not types.
"""The bands of a frame by their work, the slots of a band by their depth, in C++."""

from gambol.render.rasterizers.simd_job import JOB, wp

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
    """Sorts the slots of the band with this rank by depth, those of equal depth by kernel.

    Which band that is, or -1 if there was not enough room for the slots of the frame.
    """
