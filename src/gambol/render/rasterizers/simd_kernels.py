# mypy: ignore-errors
# Warp reads the annotations of kernels itself; they are values, not types.
"""The two kernels of the SIMD rasterizer. Workers draw tickets: a ticket is a chunk or a band of a frame.

Forward, a frame's chunks are projected and then its bands blended; backward, bands come first. To keep all workers
busy, the first stage of the next frame stands before the second stage of this one. A ticket waits only for tickets
drawn before it, so a worker that comes late or never (no free core) holds nobody up.
"""

from gambol.render.rasterizers.simd_blending import blend_band, blend_band_backward, sort_band
from gambol.render.rasterizers.simd_job import JOB, wp
from gambol.render.rasterizers.simd_projection import project_chunk, unproject_chunk

wp.set_module_options({"enable_backward": False})

PATIENCE = 10_000
"""Looks, of 20 ns on x86, before a worker that has to wait goes to sleep."""


@wp.func_native(
    JOB
    + f"constexpr int PATIENCE = {PATIENCE};"
    + """
auto finished = [&](int stage, int frame, int items) {
    const int* done = job.progress + 1 + stage * job.frames + frame;
    for (int i = 0; i < PATIENCE; i++) {
        if (__atomic_load_n(done, __ATOMIC_ACQUIRE) >= items) return true;
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
    return false;
};
int first = backward ? job.bands : job.chunks, second = backward ? job.chunks : job.bands;
int ring = backward ? job.sums_ring : job.ring;
int* kept = job.progress + 1 + 3 * job.frames + worker;
int ticket = *kept ? *kept - 1 : __atomic_fetch_add(job.progress, 1, __ATOMIC_RELAXED);
*kept = 0;
if (ticket >= job.frames * (first + second)) return wp::vec_t<3, int>(-1, 0, 0);
int frame = 0, item = ticket, stage = 0;
if (ticket >= first) {
    frame = (ticket - first) / (first + second), item = (ticket - first) % (first + second), stage = 1;
    if (frame < job.frames - 1) {
        stage = item >= first;
        frame += !stage, item -= stage ? first : 0;
    }
}
if (stage ? finished(0, frame, first) : frame < ring || finished(1, frame - ring, second))
    return wp::vec_t<3, int>(stage, frame, item);
*kept = ticket + 1;
return wp::vec_t<3, int>(-1, 0, 0);
"""
)
def begin(address: wp.uint64, worker: int, backward: int) -> wp.vec3i:
    """Draws a ticket: its stage, frame and item; stage -1: there are no more, or it is to be tried again later.

    That is so when what the ticket builds on is not finished in 0.2 ms: then another worker has lost its core to some
    other program, and to spin would keep it from this one. The ticket is kept, see `simd_job.FIELDS`, progress.
    """


@wp.func_native(JOB + "__atomic_fetch_add(job.progress + 1 + ticket[0] * job.frames + ticket[1], 1, __ATOMIC_RELEASE);")
def finish(address: wp.uint64, ticket: wp.vec3i): ...


@wp.kernel
def forward_kernel(address: wp.uint64, worker: int):
    ticket = begin(address, worker, 0)
    while ticket[0] >= 0:
        if ticket[0] == 0:
            project_chunk(address, ticket[1], ticket[2])
        else:
            band = sort_band(address, ticket[1], ticket[2], worker)
            if band >= 0:
                blend_band(address, ticket[1], band, worker)
        finish(address, ticket)
        ticket = begin(address, worker, 0)


@wp.kernel
def backward_kernel(address: wp.uint64, worker: int):
    ticket = begin(address, worker, 1)
    while ticket[0] >= 0:
        if ticket[0] == 0:
            blend_band_backward(address, ticket[1], ticket[2], worker)
        else:
            unproject_chunk(address, ticket[1], ticket[2])
        finish(address, ticket)
        ticket = begin(address, worker, 1)
