# mypy: ignore-errors
# Warp reads the annotations of kernels itself; they are values, not types.
"""Cameras, and which face is nearest at each point of a grid in their pictures."""

from gambol.render.surface_kernels import MeshArrays
from gambol.warp_device import quiet_warp

wp = quiet_warp()
wp.set_module_options({"enable_backward": False})

FAR = wp.constant(1.0e6)
EDGE = wp.constant(1.0e-5)
"""How far outside of a triangle, in barycentric coordinates, a sample still belongs to it: no gaps by rounding."""


@wp.struct
class CameraArrays:
    T_camera_world: wp.array(dtype=wp.mat33)  # rotations
    position: wp.array(dtype=wp.vec3)
    focal: wp.array(dtype=wp.vec2)
    center: wp.array(dtype=wp.vec2)
    width: int
    height: int
    near: float
    inside: wp.array(dtype=wp.int32)  # of each frame, whether a part of the mesh's box is beside or behind the camera
    floor: wp.vec4  # normal and height of a plane that hides what is below it; a normal of 0: none


@wp.func
def ahead_at(view: CameraArrays, frame: int, x: float, y: float):
    """The direction through a point of the picture [pixels], as long as it takes to go one unit ahead."""
    focal = view.focal[frame]
    center = view.center[frame]
    return wp.vec3((x - center[0]) / focal[0], (y - center[1]) / focal[1], 1.0) * view.T_camera_world[frame]


@wp.func
def floor_up(view: CameraArrays):
    return wp.vec3(view.floor[0], view.floor[1], view.floor[2])


@wp.func
def floor_distance(view: CameraArrays, start: wp.vec3, direction: wp.vec3):
    """How far away the floor is, in lengths of the direction; negative where it is not seen."""
    falling = -wp.dot(floor_up(view), direction)
    height = wp.dot(floor_up(view), start) - view.floor[3]
    if height <= 0.0 or falling <= 1.0e-6 * height:
        return -1.0
    return height / falling


@wp.func
def cut(span: wp.vec2, value: float, slope: float):
    """The part of a span of x in which value + slope x is not negative."""
    if wp.abs(slope) < 1.0e-9:
        return wp.where(value >= -EDGE, span, wp.vec2(1.0, -1.0))
    end = -(value + EDGE) / slope
    return wp.where(slope > 0.0, wp.vec2(wp.max(span[0], end), span[1]), wp.vec2(span[0], wp.min(span[1], end)))


@wp.func
def draw_owner(
    a: wp.vec3,
    b: wp.vec3,
    c: wp.vec3,
    face: int,
    width: int,
    height: int,
    nearness: wp.array(dtype=wp.float32),
    owner: wp.array(dtype=wp.int32),
):
    """Each sample within the triangle takes its face, if that is the nearest so far. Whole numbers are samples."""
    left = wp.max(wp.min(wp.min(a[0], b[0]), c[0]), 0.0)
    right = wp.min(wp.max(wp.max(a[0], b[0]), c[0]), float(width - 1))
    top = int(wp.ceil(wp.max(wp.min(wp.min(a[1], b[1]), c[1]), 0.0)))
    bottom = int(wp.floor(wp.min(wp.max(wp.max(a[1], b[1]), c[1]), float(height - 1))))
    area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    if wp.ceil(left) > right or top > bottom or wp.abs(area) < 1.0e-12:
        return
    u_x = (b[1] - c[1]) / area
    v_x = (c[1] - a[1]) / area
    u_y = (c[0] - b[0]) / area
    v_y = (a[0] - c[0]) / area
    slope = u_x * (a[2] - c[2]) + v_x * (b[2] - c[2])
    for row in range(top, bottom + 1):
        y = float(row) - c[1]
        u = u_y * y  # at x = c[0]
        v = v_y * y
        span = cut(cut(cut(wp.vec2(left - c[0], right - c[0]), u, u_x), v, v_x), 1.0 - u - v, -u_x - v_x)
        if span[0] <= span[1]:  # and so both are within the picture
            start = int(wp.ceil(span[0] + c[0]))
            near = c[2] + u * (a[2] - c[2]) + v * (b[2] - c[2]) + slope * (float(start) - c[0])
            for at in range(row * width + start, row * width + int(wp.floor(span[1] + c[0])) + 1):
                if near > nearness[at]:
                    nearness[at] = near
                    owner[at] = face
                near += slope


@wp.kernel
def project_kernel(scene: MeshArrays, view: CameraArrays, projected_out: wp.array(dtype=wp.vec3, ndim=2)):
    """Points in the pictures [pixels], and one over their depth, which is linear there."""
    frame, vertex = wp.tid()
    seen = view.T_camera_world[frame] * (scene.points[vertex] - view.position[frame])
    near = 1.0 / wp.max(seen[2], 1.0e-6)
    focal = view.focal[frame]
    center = view.center[frame]
    place = wp.vec3(seen[0] * focal[0] * near + center[0], seen[1] * focal[1] * near + center[1], near)
    projected_out[frame, vertex] = place


@wp.struct
class Band:
    frame: int
    top: int  # first row
    rows: int
    samples: int  # along each side of a pixel


@wp.func
def draw_band(
    scene: MeshArrays,
    view: CameraArrays,
    band: Band,
    projected: wp.array(dtype=wp.vec3, ndim=2),
    nearness: wp.array(dtype=wp.float32),
    owner: wp.array(dtype=wp.int32),
):
    """Which face is nearest at each sample of a band of rows."""
    count = band.samples
    width = view.width * count
    height = band.rows * count
    for i in range(width * height):
        nearness[i] = 0.0
        owner[i] = -1
    scale = wp.vec3(float(count), float(count), 1.0)
    shift = wp.vec3(-0.5, -0.5 - float(band.top * count), 0.0)
    top = float(band.top)
    bottom = float(band.top + band.rows)
    for face in range(scene.face_material.shape[0]):
        a = projected[band.frame, scene.corners[3 * face]]
        b = projected[band.frame, scene.corners[3 * face + 1]]
        c = projected[band.frame, scene.corners[3 * face + 2]]
        if wp.max(wp.max(a[1], b[1]), c[1]) >= top and wp.min(wp.min(a[1], b[1]), c[1]) <= bottom:
            a = wp.cw_mul(a, scale) + shift
            b = wp.cw_mul(b, scale) + shift
            c = wp.cw_mul(c, scale) + shift
            draw_owner(a, b, c, face, width, height, nearness, owner)
