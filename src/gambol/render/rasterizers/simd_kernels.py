# mypy: ignore-errors
# Warp reads the annotations of kernels itself; they are values, not types.
"""The two kernels of the SIMD rasteriser: workers draw tickets, a ticket is a chunk or a band of a frame.

Forward, a frame's chunks are projected and then its bands blended; backward, bands come first. To keep all workers
busy, the first stage of the next frame stands before the second stage of this one. A ticket waits only for tickets
drawn before it, so a worker that comes late or never (no free core) holds nobody up.
"""

from gambol.render.rasterizers.simd_blending import band_by_work, blend_band, blend_band_backward, sort_band
from gambol.render.rasterizers.simd_job import Job, wp
from gambol.render.rasterizers.simd_projection import project_chunk, unproject_chunk

wp.set_module_options({"enable_backward": False})


@wp.func_native("return __atomic_fetch_add((int*)job.progress, 1, __ATOMIC_RELAXED);")
def draw_ticket(job: Job) -> int: ...


@wp.func_native(
    """
    const int* done = (const int*)job.progress + 1 + stage * job.frames + frame;
    while (__atomic_load_n(done, __ATOMIC_ACQUIRE) < items) {
    #if defined(__x86_64__)
        __builtin_ia32_pause();
    #endif
    }
    """
)
def wait(job: Job, stage: int, frame: int, items: int):
    """Until so many items of a frame's stage are finished."""
    ...


@wp.func_native(
    "__atomic_fetch_add((int*)job.progress + 1 + stage * job.frames + frame, 1, __ATOMIC_RELEASE);"
)
def finish(job: Job, stage: int, frame: int): ...


@wp.func
def stage_of(ticket: int, frames: int, first: int, second: int):
    """(stage, frame, item) of a ticket; a frame has so many items in its first and in its second stage."""
    if ticket < first:
        return 0, 0, ticket
    frame = (ticket - first) / (first + second)
    item = (ticket - first) % (first + second)
    if frame == frames - 1:
        return 1, frame, item
    if item < first:
        return 0, frame + 1, item
    return 1, frame, item - first


@wp.kernel
def forward_kernel(job: Job, worker: int):
    tickets = job.frames * (job.chunks + job.bands)
    ticket = draw_ticket(job)
    while ticket < tickets:
        stage, frame, item = stage_of(ticket, job.frames, job.chunks, job.bands)
        if stage == 0:
            if frame >= job.ring:
                wait(job, 1, frame - job.ring, job.bands)
            project_chunk(job, frame, item)
        else:
            wait(job, 0, frame, job.chunks)
            band = band_by_work(job, frame, item)
            sort_band(job, frame, band, worker)
            blend_band(job, frame, band, worker)
        finish(job, stage, frame)
        ticket = draw_ticket(job)


@wp.kernel
def backward_kernel(job: Job, worker: int):
    tickets = job.frames * (job.chunks + job.bands)
    ticket = draw_ticket(job)
    while ticket < tickets:
        stage, frame, item = stage_of(ticket, job.frames, job.bands, job.chunks)
        if stage == 0:
            if frame >= job.sums_ring:
                wait(job, 1, frame - job.sums_ring, job.chunks)
            blend_band_backward(job, frame, band_by_work(job, frame, item), worker)
        else:
            wait(job, 0, frame, job.bands)
            unproject_chunk(job, frame, item)
        finish(job, stage, frame)
        ticket = draw_ticket(job)
