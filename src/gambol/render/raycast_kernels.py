# mypy: ignore-errors
# Warp reads the annotations of kernels itself; they are values, not types.
"""What a ray sees of textured triangles: colour, light, transparency. Coordinates are of the order of 1 (float32).

Rays that start in one point at the nodes of a grid need no search for what they meet first: drawing the faces into the
grid, nearest wins, finds the same ten times faster. So rays are cast only behind transparent surfaces and by cameras
that stand within the mesh's box.
"""

from gambol.render.drawing_kernels import FAR, Band, CameraArrays, ahead_at, draw_band, floor_distance
from gambol.render.lighting_kernels import SHARE, LampArrays, light_at
from gambol.render.surface_kernels import (
    MeshArrays,
    encode,
    flat_normal,
    paint,
    place_on_face,
    smooth_normal,
    softly_clipped,
)
from gambol.warp_device import quiet_warp

wp = quiet_warp()
wp.set_module_options({"enable_backward": False})

LAYERS = wp.constant(16)
"""Most surfaces one ray looks through."""
STEP = wp.constant(2.0e-5)
"""How far behind a transparent surface the ray goes on; some ten times the rounding of a distance."""
CONTRAST, STRONG = wp.constant(0.05), wp.constant(0.2)
"""Difference of colour or coverage between neighbours above which a pixel gets four rays (5 to 8 % of the pixels), and
all it can get (the outline and what else shows steps)."""


@wp.struct
class Hit:
    face: int  # -1: none
    distance: float


@wp.func
def cast(scene: MeshArrays, start: wp.vec3, direction: wp.vec3, begin: float):
    """What a ray meets first beyond a distance."""
    found = Hit()
    found.face = -1
    hit = wp.mesh_query_ray(scene.mesh, start + begin * direction, direction, FAR)
    if hit.result:
        found.face = hit.face
        found.distance = begin + hit.t
    return found


@wp.func
def seen(
    scene: MeshArrays,
    lamps: LampArrays,
    view: CameraArrays,
    frame: int,
    x: float,
    y: float,
    breadth: float,
    owner: int,
    nearness: float,
    first_lamp: int,
    lamp_step: int,
):
    """Colour (sRGB, premultiplied) and coverage at a point of the picture, by a ray that is `breadth` pixels broad.

    The face that the ray meets first, the owner, is known, but not for a camera within the mesh's box.
    """
    start = view.position[frame]
    ahead = ahead_at(view, frame, x, y)
    length = wp.length(ahead)
    direction = ahead / length
    hit = Hit()
    hit.face = owner
    hit.distance = length / wp.max(nearness, 1.0e-9)
    if view.inside[frame] != 0:
        hit = cast(scene, start, direction, view.near * length)
    spread = breadth / (wp.min(view.focal[frame][0], view.focal[frame][1]) * length)
    end = floor_distance(view, start, direction)
    color = wp.vec3()
    clear = wp.float32(1.0)
    for _layer in range(LAYERS):
        if hit.face < 0 or (end > 0.0 and hit.distance > end):
            break
        point = start + hit.distance * direction
        flat = flat_normal(scene, hit.face)
        where = place_on_face(scene, hit.face, point)
        u = wp.clamp(where[0], 0.0, 1.0)
        v = wp.clamp(where[1], 0.0, 1.0 - u)
        slant = wp.max(wp.abs(wp.dot(flat, direction)), 0.1)
        footprint = spread * hit.distance / wp.sqrt(slant)  # the mean of across and along
        surface = paint(scene, hit.face, u, v, footprint)
        opacity = surface[3]
        if opacity > 0.0:
            shown = wp.vec3(surface[0], surface[1], surface[2])
            if lamps.count > 0:
                normal = smooth_normal(scene, hit.face, u, v, flat, direction)
                shown = softly_clipped(wp.cw_mul(shown, light_at(lamps, point, normal, first_lamp, lamp_step)))
            shown += scene.emissive[scene.face_material[hit.face]]
            color += clear * opacity * shown
            clear *= 1.0 - opacity
        if clear < 0.002:
            clear = 0.0
            break
        hit = cast(scene, start, direction, hit.distance + STEP)
    alpha = 1.0 - clear
    if alpha <= 0.0:
        return wp.vec4()
    color = color / alpha
    return alpha * wp.vec4(encode(color[0]), encode(color[1]), encode(color[2]), 1.0)


@wp.func
def any_marked(band: Band, marked: wp.array(dtype=wp.uint8, ndim=3)):
    for row in range(band.top, band.top + band.rows):
        for column in range(marked.shape[2]):
            if marked[band.frame, row, column] != wp.uint8(0):
                return True
    return False


@wp.kernel
def render_kernel(
    scene: MeshArrays,
    lamps: LampArrays,
    view: CameraArrays,
    first: int,
    step: int,
    rows: int,
    samples: int,
    projected_in: wp.array(dtype=wp.vec3, ndim=2),
    marked_in: wp.array(dtype=wp.uint8, ndim=3),
    nearness: wp.array(dtype=wp.float32),
    owner: wp.array(dtype=wp.int32),
    picture_out: wp.array(dtype=wp.vec4, ndim=3),
):
    """The marked pixels of a band of rows: the mean of samples x samples rays (mark 2), or of those in the corners (1).

    Each launch has a place of its own for the samples of one band: for CPUs only.
    """
    number = first + step * wp.tid()
    bands = (view.height + rows - 1) // rows
    band = Band()
    band.frame = number // bands
    band.top = number % bands * rows
    band.rows = wp.min(rows, view.height - band.top)
    band.samples = samples
    if not any_marked(band, marked_in):
        return
    if view.inside[band.frame] == 0:
        draw_band(scene, view, band, projected_in, nearness, owner)
    size = 1.0 / float(samples)
    for row in range(band.rows):
        for column in range(view.width):
            mark = int(marked_in[band.frame, band.top + row, column])
            if mark > 0:
                side = wp.where(mark == 2, samples, wp.min(samples, 2))
                stride = wp.where(mark == 2, 1, samples - 1)
                lamp_step = wp.where(samples == 1, 1, SHARE)
                total = wp.vec4()
                for i in range(side * side):
                    across = i % side * stride
                    down = i // side * stride
                    at = (row * samples + down) * view.width * samples + column * samples + across
                    x = float(column) + (float(across) + 0.5) * size
                    y = float(band.top + row) + (float(down) + 0.5) * size
                    if view.inside[band.frame] != 0 or owner[at] >= 0:
                        lamp = i % lamp_step
                        face = owner[at]
                        near = nearness[at]
                        breadth = 1.0 / float(side)
                        total += seen(scene, lamps, view, band.frame, x, y, breadth, face, near, lamp, lamp_step)
                picture_out[band.frame, band.top + row, column] = total / float(side * side)


@wp.func
def place(view: CameraArrays, first: int, step: int, line: int, column: int):
    """Frame, row and column: a launch works on every step-th row of all frames, beginning with the first."""
    row = first + step * line
    return wp.vec3i(row // view.height, row % view.height, column)


@wp.kernel
def contrast_kernel(
    view: CameraArrays,
    first: int,
    step: int,
    picture_in: wp.array(dtype=wp.vec4, ndim=3),
    marked_out: wp.array(dtype=wp.uint8, ndim=3),
):
    """Mark the pixels that differ from one beside, above or below: 1 a little, 2 much."""
    line, column = wp.tid()
    at = place(view, first, step, line, column)
    here = picture_in[at[0], at[1], at[2]]
    above = picture_in[at[0], wp.max(at[1] - 1, 0), at[2]]
    below = picture_in[at[0], wp.min(at[1] + 1, view.height - 1), at[2]]
    left = picture_in[at[0], at[1], wp.max(at[2] - 1, 0)]
    right = picture_in[at[0], at[1], wp.min(at[2] + 1, view.width - 1)]
    low = wp.min(wp.min(wp.min(above, below), wp.min(left, right)), here)
    high = wp.max(wp.max(wp.max(above, below), wp.max(left, right)), here)
    contrast = wp.max(high - low)
    marked_out[at[0], at[1], at[2]] = wp.uint8(wp.where(contrast > STRONG, 2, wp.where(contrast > CONTRAST, 1, 0)))


@wp.kernel
def hits_kernel(
    scene: MeshArrays,
    view: CameraArrays,
    first: int,
    step: int,
    face_out: wp.array(dtype=wp.int32, ndim=3),
    place_out: wp.array(dtype=wp.vec3, ndim=3),
):
    """The first face that can be seen at the centre of each pixel (-1: none); its barycentric coordinates u and v, and
    the depth.
    """
    line, column = wp.tid()
    at = place(view, first, step, line, column)
    start = view.position[at[0]]
    direction = ahead_at(view, at[0], float(at[2]) + 0.5, float(at[1]) + 0.5)
    face_out[at[0], at[1], at[2]] = -1
    depth = wp.float32(view.near)
    for _layer in range(LAYERS):
        hit = wp.mesh_query_ray(scene.mesh, start + depth * direction, direction, FAR)
        if not hit.result:
            break
        depth += hit.t
        surface = paint(scene, hit.face, hit.u, hit.v, 0.0)
        if surface[3] > 0.0:
            face_out[at[0], at[1], at[2]] = hit.face
            place_out[at[0], at[1], at[2]] = wp.vec3(hit.u, hit.v, depth)
            break
        depth += STEP
