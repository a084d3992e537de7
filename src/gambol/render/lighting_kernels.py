# mypy: ignore-errors
# Warp reads the annotations of kernels itself; they are values, not types.
"""Soft light from many lamps at infinity, each with a map of how near to it the first surface is."""

from gambol.warp_device import quiet_warp

wp = quiet_warp()
wp.set_module_options({"enable_backward": False})

NOTHING = wp.constant(-1.0e6)
"""Entry of a shadow map where there is no surface."""
SHARE = wp.constant(4)
"""Where a pixel gets many rays, each of them asks one lamp of so many; lamps come in multiples of that."""


@wp.struct
class LampArrays:
    count: int
    keys: int  # the first of them are parts of the key lamp, the others of the sky
    key_color: wp.vec3  # of one lamp, linear
    sky_color: wp.vec3
    bounce: wp.vec3  # light from the ground below
    up: wp.vec3
    axes: wp.array(dtype=wp.mat33)  # rows: to the right and upwards in the map, in cells, and towards the lamp
    nearest: wp.array(dtype=wp.float32)  # the maps, lamp by lamp and row by row: how far towards the lamp
    size: int  # of the square maps
    cell: float  # side of their cells


@wp.func
def in_map(lamps: LampArrays, axes: wp.mat33, point: wp.vec3):
    """Column and row, whole numbers at the centres of cells, and how far towards the lamp."""
    half = 0.5 * float(lamps.size) - 0.5
    return axes * point + wp.vec3(half, half, 0.0)


@wp.func
def draw_face(a: wp.vec3, b: wp.vec3, c: wp.vec3, start: int, size: int, nearest: wp.array(dtype=wp.float32)):
    """Each cell whose centre is in the triangle takes its surface, if that is nearer to the lamp."""
    last = float(size - 1)
    left = int(wp.ceil(wp.max(wp.min(wp.min(a[0], b[0]), c[0]), 0.0)))
    right = int(wp.floor(wp.min(wp.max(wp.max(a[0], b[0]), c[0]), last)))
    bottom = int(wp.ceil(wp.max(wp.min(wp.min(a[1], b[1]), c[1]), 0.0)))
    top = int(wp.floor(wp.min(wp.max(wp.max(a[1], b[1]), c[1]), last)))
    area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    if left > right or bottom > top or wp.abs(area) < 1.0e-9:
        return
    u_x = (b[1] - c[1]) / area
    u_y = (c[0] - b[0]) / area
    v_x = (c[1] - a[1]) / area
    v_y = (a[0] - c[0]) / area
    for row in range(bottom, top + 1):
        y = float(row) - c[1]
        for column in range(left, right + 1):
            x = float(column) - c[0]
            u = u_x * x + u_y * y
            v = v_x * x + v_y * y
            if wp.min(wp.min(u, v), 1.0 - u - v) >= -1.0e-4:
                at = start + row * size + column
                nearest[at] = wp.max(nearest[at], c[2] + u * (a[2] - c[2]) + v * (b[2] - c[2]))


@wp.kernel
def nearest_kernel(
    lamps: LampArrays,
    first: int,
    faces: int,
    points_in: wp.array(dtype=wp.vec3),
    corners_in: wp.array(dtype=wp.int32),
    moved: wp.array(dtype=wp.vec3),
):
    """Draw all faces into the map of one lamp. Each launch has a place of its own for moved points: for CPUs only."""
    lamp = first + wp.tid()
    axes = lamps.axes[lamp]
    start = lamp * lamps.size * lamps.size
    for i in range(lamps.size * lamps.size):
        lamps.nearest[start + i] = NOTHING
    for i in range(points_in.shape[0]):
        moved[i] = in_map(lamps, axes, points_in[i])
    for face in range(faces):
        a = moved[corners_in[3 * face]]
        b = moved[corners_in[3 * face + 1]]
        c = moved[corners_in[3 * face + 2]]
        draw_face(a, b, c, start, lamps.size, lamps.nearest)


@wp.func
def clear_way(lamps: LampArrays, lamp: int, place: wp.vec3):
    """Whether nothing is between a place in the map and the lamp: 0 to 1, smooth between the cells."""
    most = float(lamps.size) - 1.01
    if place[0] < 0.0 or place[1] < 0.0 or place[0] > most or place[1] > most:
        return 1.0
    column = int(place[0])
    row = int(place[1])
    right = place[0] - float(column)
    up = place[1] - float(row)
    at = (lamp * lamps.size + row) * lamps.size + column
    a = wp.where(lamps.nearest[at] <= place[2], 1.0, 0.0)
    b = wp.where(lamps.nearest[at + 1] <= place[2], 1.0, 0.0)
    c = wp.where(lamps.nearest[at + lamps.size] <= place[2], 1.0, 0.0)
    d = wp.where(lamps.nearest[at + lamps.size + 1] <= place[2], 1.0, 0.0)
    low = a + right * (b - a)
    high = c + right * (d - c)
    return low + up * (high - low)


@wp.func
def facing_light(lamps: LampArrays, first: int, last: int, step: int, point: wp.vec3, normal: wp.vec3):
    """Sum over lamps that are not hidden of the cosine at which they shine on a surface."""
    total = wp.float32(0.0)
    for lamp in range(first, last, step):
        axes = lamps.axes[lamp]
        facing = axes[2, 0] * normal[0] + axes[2, 1] * normal[1] + axes[2, 2] * normal[2]
        if facing > 0.0:
            total += facing * clear_way(lamps, lamp, in_map(lamps, axes, point))
    return float(step) * total


@wp.func
def light_at(lamps: LampArrays, point: wp.vec3, normal: wp.vec3, first: int, step: int):
    """Light on a surface by every step-th lamp, beginning with the first, as if these were all, and by the ground.

    The point is lifted off the surface, which must not stand in its own light.
    """
    raised = point + 1.5 * lamps.cell * normal
    key = facing_light(lamps, first, lamps.keys, step, raised, normal)
    sky = facing_light(lamps, lamps.keys + first, lamps.count, step, raised, normal)
    return key * lamps.key_color + sky * lamps.sky_color + (0.5 - 0.5 * wp.dot(normal, lamps.up)) * lamps.bounce
