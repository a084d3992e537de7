# mypy: ignore-errors
# Warp reads the annotations of kernels itself; they are values, not types.
"""What a ray sees of textured triangles: colour, light, transparency. Coordinates are of the order of 1 (float32)."""

from gambol.render.lighting_kernels import Lamps, light_at
from gambol.warp_device import quiet_warp

wp = quiet_warp()
wp.set_module_options({"enable_backward": False})

FAR = wp.constant(1.0e6)
LAYERS = wp.constant(16)
"""Most surfaces one ray looks through."""
STEP = wp.constant(2.0e-5)
"""How far behind a transparent surface the ray goes on; some ten times the rounding of a distance."""
CONTRAST, STRONG = wp.constant(0.05), wp.constant(0.2)
"""Difference of colour or coverage between neighbours above which a pixel gets four rays (5 to 8 % of the pixels), and
all it can get (the outline and what else shows steps)."""
SHARE = wp.constant(4)
"""Where a pixel gets many rays, each of them asks one lamp of so many."""
MASK, BLEND = wp.constant(1), wp.constant(2)
CLAMP, MIRROR = wp.constant(33071), wp.constant(33648)


@wp.struct
class Scene:
    mesh: wp.uint64
    corners: wp.array(dtype=wp.int32)  # three of each face
    normals: wp.array(dtype=wp.vec3)
    uvs: wp.array(dtype=wp.vec2)
    colors: wp.array(dtype=wp.vec4)  # linear
    face_material: wp.array(dtype=wp.int32)
    face_density: wp.array(dtype=wp.float32)  # texels along a length of 1
    base_color: wp.array(dtype=wp.vec4)  # of each material from here on, linear
    emissive: wp.array(dtype=wp.vec3)
    texture: wp.array(dtype=wp.vec4i)  # first mip level or -1, number of levels, wrap modes
    alpha_mode: wp.array(dtype=wp.int32)
    alpha_cutoff: wp.array(dtype=wp.float32)
    levels: wp.array(dtype=wp.vec3i)  # first texel, width, height
    texels: wp.array(dtype=wp.vec4ub)  # sRGB and alpha
    decoded: wp.array(dtype=wp.float32)  # the linear value of each of the 256 of sRGB


@wp.struct
class View:
    T_camera_world: wp.array(dtype=wp.mat33)  # rotations
    position: wp.array(dtype=wp.vec3)
    focal: wp.array(dtype=wp.vec2)
    center: wp.array(dtype=wp.vec2)
    width: int
    height: int
    near: float
    box: wp.array(dtype=wp.vec4)  # in the picture, of each frame: left, top, right, bottom of all there is to see
    floor: wp.vec4  # normal and height of a plane that hides what is below it; a normal of 0: none


@wp.func
def encode(linear: float):
    """sRGB."""
    value = wp.clamp(linear, 0.0, 1.0)
    if value <= 0.0031308:
        return 12.92 * value
    return 1.055 * wp.pow(value, 1.0 / 2.4) - 0.055


@wp.func
def softly_clipped(light: wp.vec3):
    """What is brighter than 0.7 approaches 1, as on film, instead of being cut off there."""
    over = wp.max(light - wp.vec3(0.7), wp.vec3())
    beyond = wp.vec3(1.0 - wp.exp(-over[0] / 0.3), 1.0 - wp.exp(-over[1] / 0.3), 1.0 - wp.exp(-over[2] / 0.3))
    return wp.min(light, wp.vec3(0.7)) + 0.3 * beyond


@wp.func
def wrapped(position: float, mode: int):
    """A texture coordinate brought to where it repeats from, so that it can be counted in texels."""
    if mode == CLAMP:
        return wp.clamp(position, 0.0, 1.0)
    if mode == MIRROR:
        return position - 2.0 * wp.floor(0.5 * position)
    return position - wp.floor(position)


@wp.func
def texel_index(index: int, count: int, mode: int):
    """Of a texel that may be one or two places beyond the border."""
    if mode == CLAMP:
        return wp.clamp(index, 0, count - 1)
    if mode == MIRROR:
        around = (index + 2 * count) % (2 * count)
        return wp.min(around, 2 * count - 1 - around)
    return (index + count) % count


@wp.func
def texel(scene: Scene, level: wp.vec3i, x: int, y: int, mode: wp.vec2i):
    column = texel_index(x, level[1], mode[0])
    row = texel_index(y, level[2], mode[1])
    stored = scene.texels[level[0] + row * level[1] + column]
    red = scene.decoded[int(stored[0])]
    green = scene.decoded[int(stored[1])]
    blue = scene.decoded[int(stored[2])]
    return wp.vec4(red, green, blue, float(stored[3]) / 255.0)


@wp.func
def bilinear(scene: Scene, level: wp.vec3i, uv: wp.vec2, mode: wp.vec2i):
    x = wrapped(uv[0], mode[0]) * float(level[1]) - 0.5
    y = wrapped(uv[1], mode[1]) * float(level[2]) - 0.5
    left = int(wp.floor(x))
    top = int(wp.floor(y))
    right = x - wp.floor(x)
    down = y - wp.floor(y)
    above = (1.0 - right) * texel(scene, level, left, top, mode) + right * texel(scene, level, left + 1, top, mode)
    below = texel(scene, level, left, top + 1, mode) * (1.0 - right)
    below += right * texel(scene, level, left + 1, top + 1, mode)
    return (1.0 - down) * above + down * below


@wp.func
def textured(scene: Scene, material: int, uv: wp.vec2, footprint: float):
    """The texture's mean over about so many texels."""
    texture = scene.texture[material]
    mode = wp.vec2i(texture[2], texture[3])
    level = wp.clamp(wp.log2(wp.max(footprint, 1.0)), 0.0, float(texture[1] - 1))
    fine = int(wp.floor(level))
    share = level - wp.floor(level)
    color = bilinear(scene, scene.levels[texture[0] + fine], uv, mode)
    if share > 0.0:
        coarse = wp.min(fine + 1, texture[1] - 1)
        color = (1.0 - share) * color + share * bilinear(scene, scene.levels[texture[0] + coarse], uv, mode)
    return color


@wp.func
def paint(scene: Scene, face: int, u: float, v: float, breadth: float):
    """Linear colour and opacity of a point of a face, for a ray that is so broad there."""
    a = scene.corners[3 * face]
    b = scene.corners[3 * face + 1]
    c = scene.corners[3 * face + 2]
    w = 1.0 - u - v
    material = scene.face_material[face]
    color = wp.cw_mul(scene.base_color[material], u * scene.colors[a] + v * scene.colors[b] + w * scene.colors[c])
    if scene.texture[material][0] >= 0:
        uv = u * scene.uvs[a] + v * scene.uvs[b] + w * scene.uvs[c]
        color = wp.cw_mul(color, textured(scene, material, uv, breadth * scene.face_density[face]))
    mode = scene.alpha_mode[material]
    opacity = wp.float32(1.0)
    if mode == BLEND:
        opacity = wp.clamp(color[3], 0.0, 1.0)
    if mode == MASK and color[3] < scene.alpha_cutoff[material]:
        opacity = 0.0
    return wp.vec4(color[0], color[1], color[2], opacity)


@wp.func
def smooth_normal(scene: Scene, face: int, u: float, v: float, flat: wp.vec3, direction: wp.vec3):
    """The normal at a point of a face, on the side the ray comes from: both sides of every face can be seen."""
    a = scene.normals[scene.corners[3 * face]]
    b = scene.normals[scene.corners[3 * face + 1]]
    c = scene.normals[scene.corners[3 * face + 2]]
    normal = u * a + v * b + (1.0 - u - v) * c
    if wp.length_sq(normal) < 1.0e-12:
        normal = flat
    if wp.dot(flat, direction) > 0.0:
        normal = -normal
    return wp.normalize(normal)


@wp.func
def seen(
    scene: Scene,
    lamps: Lamps,
    start: wp.vec3,
    direction: wp.vec3,
    begin: float,
    end: float,
    spread: float,
    first_lamp: int,
    lamp_step: int,
):
    """Colour (sRGB, premultiplied) and coverage along a ray, which is spread times its length broad."""
    color = wp.vec3()
    clear = wp.float32(1.0)
    distance = wp.float32(begin)
    for _layer in range(LAYERS):
        hit = wp.mesh_query_ray(scene.mesh, start + distance * direction, direction, end - distance)
        if not hit.result:
            break
        distance += hit.t
        slant = wp.max(wp.abs(wp.dot(hit.normal, direction)), 0.1)
        breadth = spread * distance / wp.sqrt(slant)  # the mean of across and along
        surface = paint(scene, hit.face, hit.u, hit.v, breadth)
        opacity = surface[3]
        if opacity > 0.0:
            shown = wp.vec3(surface[0], surface[1], surface[2])
            if lamps.count > 0:
                normal = smooth_normal(scene, hit.face, hit.u, hit.v, hit.normal, direction)
                light = light_at(lamps, start + distance * direction, normal, first_lamp, lamp_step)
                shown = softly_clipped(wp.cw_mul(shown, light))
            shown += scene.emissive[scene.face_material[hit.face]]
            color += clear * opacity * shown
            clear *= 1.0 - opacity
        if clear < 0.002:
            clear = 0.0
            break
        distance += STEP
    alpha = 1.0 - clear
    if alpha <= 0.0:
        return wp.vec4()
    color = color / alpha
    return alpha * wp.vec4(encode(color[0]), encode(color[1]), encode(color[2]), 1.0)


@wp.func
def ahead_at(view: View, frame: int, x: float, y: float):
    """The direction through a point of the picture [pixels], as long as it takes to go one unit ahead."""
    focal = view.focal[frame]
    center = view.center[frame]
    return wp.vec3((x - center[0]) / focal[0], (y - center[1]) / focal[1], 1.0) * view.T_camera_world[frame]


@wp.func
def seen_at(
    scene: Scene, lamps: Lamps, view: View, frame: int, x: float, y: float, breadth: float, first: int, step: int
):
    """What is seen at a point of the picture by a ray so many pixels broad; of the lamps every step-th shines."""
    direction = ahead_at(view, frame, x, y)
    ahead = 1.0 / wp.length(direction)
    direction = ahead * direction
    position = view.position[frame]
    end = FAR
    up = wp.vec3(view.floor[0], view.floor[1], view.floor[2])
    falling = -wp.dot(up, direction)
    height = wp.dot(up, position) - view.floor[3]
    if falling > 0.0 and height > 0.0:
        end = height / falling
    spread = breadth / wp.min(view.focal[frame][0], view.focal[frame][1]) * ahead
    return seen(scene, lamps, position, direction, view.near / ahead, end, spread, first, step)


@wp.func
def place(view: View, first: int, step: int, line: int, column: int):
    """Frame, row and column: a launch works on every step-th row of all frames, beginning with the first."""
    row = first + step * line
    return wp.vec3i(row // view.height, row % view.height, column)


@wp.kernel
def shoot_kernel(
    scene: Scene, lamps: Lamps, view: View, first: int, step: int, picture_out: wp.array(dtype=wp.vec4, ndim=3)
):
    """One ray through the centre of each pixel."""
    line, column = wp.tid()
    at = place(view, first, step, line, column)
    x = float(at[2]) + 0.5
    y = float(at[1]) + 0.5
    color = wp.vec4()
    box = view.box[at[0]]
    if x > box[0] and y > box[1] and x < box[2] and y < box[3]:
        color = seen_at(scene, lamps, view, at[0], x, y, 1.0, 0, 1)
    picture_out[at[0], at[1], at[2]] = color


@wp.kernel
def contrast_kernel(
    view: View,
    first: int,
    step: int,
    picture_in: wp.array(dtype=wp.vec4, ndim=3),
    marked_out: wp.array(dtype=wp.uint8, ndim=3),
):
    """Mark the pixels that differ from a neighbour: 1 a little, 2 much."""
    line, column = wp.tid()
    at = place(view, first, step, line, column)
    low = picture_in[at[0], at[1], at[2]]
    high = low
    for row in range(wp.max(at[1] - 1, 0), wp.min(at[1] + 2, view.height)):
        for beside in range(wp.max(at[2] - 1, 0), wp.min(at[2] + 2, view.width)):
            low = wp.min(low, picture_in[at[0], row, beside])
            high = wp.max(high, picture_in[at[0], row, beside])
    contrast = wp.max(high - low)
    marked_out[at[0], at[1], at[2]] = wp.uint8(wp.where(contrast > STRONG, 2, wp.where(contrast > CONTRAST, 1, 0)))


@wp.kernel
def refine_kernel(
    scene: Scene,
    lamps: Lamps,
    view: View,
    first: int,
    step: int,
    samples: int,
    marked_in: wp.array(dtype=wp.uint8, ndim=3),
    picture_out: wp.array(dtype=wp.vec4, ndim=3),
):
    """The mean of samples x samples rays in each marked pixel, or of 2 x 2."""
    line, column = wp.tid()
    at = place(view, first, step, line, column)
    mark = int(marked_in[at[0], at[1], at[2]])
    if mark == 0:
        return
    side = wp.where(mark == 2, samples, 2)
    total = wp.vec4()
    size = 1.0 / float(side)
    for i in range(side * side):
        x = float(at[2]) + (float(i % side) + 0.5) * size
        y = float(at[1]) + (float(i // side) + 0.5) * size
        total += seen_at(scene, lamps, view, at[0], x, y, size, i % SHARE, SHARE)
    picture_out[at[0], at[1], at[2]] = total * (size * size)


@wp.kernel
def hits_kernel(
    scene: Scene,
    view: View,
    first: int,
    step: int,
    face_out: wp.array(dtype=wp.int32, ndim=3),
    place_out: wp.array(dtype=wp.vec3, ndim=3),
):
    """The first face at the centre of each pixel (-1: none); its barycentric coordinates u and v, and the depth."""
    line, column = wp.tid()
    at = place(view, first, step, line, column)
    direction = ahead_at(view, at[0], float(at[2]) + 0.5, float(at[1]) + 0.5)
    hit = wp.mesh_query_ray(scene.mesh, view.position[at[0]] + view.near * direction, direction, FAR)
    face_out[at[0], at[1], at[2]] = -1
    if hit.result:
        face_out[at[0], at[1], at[2]] = hit.face
        place_out[at[0], at[1], at[2]] = wp.vec3(hit.u, hit.v, view.near + hit.t)
