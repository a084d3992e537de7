# mypy: ignore-errors
# Warp reads the annotations of kernels itself; they are values, not types.
"""The surface of textured triangles: the colour and the normal at a point of a face."""

from gambol.warp_device import quiet_warp

wp = quiet_warp()
wp.set_module_options({"enable_backward": False})

MASK, BLEND = wp.constant(1), wp.constant(2)
CLAMP, MIRROR = wp.constant(33071), wp.constant(33648)


@wp.struct
class MeshArrays:
    mesh: wp.uint64
    points: wp.array(dtype=wp.vec3)
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


@wp.func
def angle_between(a: wp.vec3, b: wp.vec3):
    return wp.atan2(wp.length(wp.cross(a, b)), wp.dot(a, b))


@wp.kernel
def vertex_normals_kernel(
    points_in: wp.array(dtype=wp.vec3),
    corners_in: wp.array(dtype=wp.int32),
    same_in: wp.array(dtype=wp.int32),
    normals_out: wp.array(dtype=wp.vec3),
):
    """Unit normals of vertices, as `welding.vertex_normals` computes them; vertices with one number in `same_in` share
    theirs. Launch it with one thread: faces add to the normals of their corners in turn."""
    for vertex in range(points_in.shape[0]):
        normals_out[vertex] = wp.vec3()
    for face in range(corners_in.shape[0] // 3):
        i = corners_in[3 * face]
        j = corners_in[3 * face + 1]
        k = corners_in[3 * face + 2]
        a = points_in[i]
        b = points_in[j]
        c = points_in[k]
        flat = wp.normalize(wp.cross(b - a, c - a))
        normals_out[same_in[i]] += angle_between(b - a, c - a) * flat
        normals_out[same_in[j]] += angle_between(c - b, a - b) * flat
        normals_out[same_in[k]] += angle_between(a - c, b - c) * flat
    for vertex in range(points_in.shape[0]):
        if same_in[vertex] == vertex:
            normals_out[vertex] = wp.normalize(normals_out[vertex])
        else:  # the first of those that share a normal comes first
            normals_out[vertex] = normals_out[same_in[vertex]]


@wp.func
def encode(linear: float):
    """sRGB value of a linear one."""
    value = wp.clamp(linear, 0.0, 1.0)
    if value <= 0.0031308:
        return 12.92 * value
    return 1.055 * wp.pow(value, 1.0 / 2.4) - 0.055


@wp.func
def softly_clipped(light: wp.vec3):
    """Tone curve: values above 0.7 are compressed so that they approach 1 instead of being clipped."""
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
    """Index of a texel that may be one or two places beyond the border."""
    if mode == CLAMP:
        return wp.clamp(index, 0, count - 1)
    if mode == MIRROR:
        around = (index + 2 * count) % (2 * count)
        return wp.min(around, 2 * count - 1 - around)
    return (index + count) % count


@wp.func
def texel(scene: MeshArrays, level: wp.vec3i, x: int, y: int, mode: wp.vec2i):
    column = texel_index(x, level[1], mode[0])
    row = texel_index(y, level[2], mode[1])
    stored = scene.texels[level[0] + row * level[1] + column]
    red = scene.decoded[int(stored[0])]
    green = scene.decoded[int(stored[1])]
    blue = scene.decoded[int(stored[2])]
    return wp.vec4(red, green, blue, float(stored[3]) / 255.0)


@wp.func
def bilinear(scene: MeshArrays, level: wp.vec3i, uv: wp.vec2, mode: wp.vec2i):
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
def textured(scene: MeshArrays, material: int, uv: wp.vec2, footprint: float):
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
def paint(scene: MeshArrays, face: int, u: float, v: float, breadth: float):
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
def place_on_face(scene: MeshArrays, face: int, point: wp.vec3):
    """Barycentric coordinates of a point of a face, no farther out than its edges."""
    a = scene.points[scene.corners[3 * face]] - point
    b = scene.points[scene.corners[3 * face + 1]] - point
    c = scene.points[scene.corners[3 * face + 2]] - point
    normal = wp.cross(b - a, c - a)
    size = wp.max(wp.length_sq(normal), 1.0e-30)
    return wp.vec2(wp.dot(wp.cross(b, c), normal) / size, wp.dot(wp.cross(c, a), normal) / size)


@wp.func
def flat_normal(scene: MeshArrays, face: int):
    a = scene.points[scene.corners[3 * face]]
    b = scene.points[scene.corners[3 * face + 1]]
    c = scene.points[scene.corners[3 * face + 2]]
    return wp.normalize(wp.cross(b - a, c - a))


@wp.func
def smooth_normal(scene: MeshArrays, face: int, u: float, v: float, flat: wp.vec3, direction: wp.vec3):
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
