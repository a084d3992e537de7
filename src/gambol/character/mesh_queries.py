# mypy: ignore-errors
# Warp reads the annotations of kernels itself; they are values, not types.
"""Kernels for queries on a triangle mesh, with Warp's bounding volume hierarchy.

Coordinates must be of the order of 1: kernels count in float32. `gambol.character.surface` takes care of that.
"""

from gambol.warp_device import quiet_warp

wp = quiet_warp()
wp.set_module_options({"enable_backward": False})

FAR = wp.constant(1.0e15)
"""Beyond any distance that occurs; its square is still a float32."""


@wp.kernel
def closest_kernel(
    mesh: wp.uint64,
    points_in: wp.array(dtype=wp.vec3),
    face_out: wp.array(dtype=wp.int32),
    barycentric_out: wp.array(dtype=wp.vec3),
):
    """The face nearest to each point, and where on it; face -1 if all faces are degenerate."""
    i = wp.tid()
    found = wp.mesh_query_point_no_sign(mesh, points_in[i], FAR)
    if found.result:
        face_out[i] = found.face
        barycentric_out[i] = wp.vec3(found.u, found.v, 1.0 - found.u - found.v)
    else:
        face_out[i] = -1


@wp.func
def signed_distance(mesh: wp.uint64, point: wp.vec3, most: float):
    """Negative inside, by winding number: a hole in the mesh makes it vague near the hole and nowhere else.

    most: a distance to the surface that is known not to be exceeded, which spares most of the search.
    """
    found = wp.mesh_query_point_sign_winding_number(mesh, point, 1.01 * most + 1.0e-4)
    if not found.result:
        return FAR
    return found.sign * wp.length(wp.mesh_eval_position(mesh, found.face, found.u, found.v) - point)


@wp.func
def leaves(mesh: wp.uint64, start: wp.vec3, way: wp.vec3, tolerance: float):
    """Whether a segment is anywhere farther from the surface than the tolerance, which is also the step."""
    steps = int(wp.length(way) / tolerance) + 1
    for step in range(steps):
        point = start + way * (float(step) / float(steps))
        if not wp.mesh_query_point_no_sign(mesh, point, tolerance).result:
            return True
    return False


@wp.kernel
def inside_kernel(mesh: wp.uint64, points_in: wp.array(dtype=wp.vec3), inside_out: wp.array(dtype=wp.int32)):
    i = wp.tid()
    if signed_distance(mesh, points_in[i], FAR) < 0.0:
        inside_out[i] = 1


@wp.kernel
def sight_kernel(
    mesh: wp.uint64,
    tolerance: float,
    starts_in: wp.array(dtype=wp.vec3),
    ends_in: wp.array(dtype=wp.vec3),
    clear_out: wp.array(dtype=wp.int32),
):
    """Whether a segment that starts on the surface stays inside the mesh, or leaves it by no more than the tolerance.

    Rays cut the segment where it meets the surface. Within each part the winding number of a closed mesh does not
    change and one sample decides; that of an open mesh does, smoothly, so there is a second one, nearer to the end.
    (The end itself is the middle of a limb, equally far from all its faces: the slowest place to ask.)
    """
    i = wp.tid()
    start = starts_in[i]
    way = ends_in[i] - start
    length = wp.length(way)
    direction = way / wp.max(length, 1.0e-12)
    begin = tolerance
    while begin < length:
        hit = wp.mesh_query_ray(mesh, start + begin * direction, direction, length - begin)
        end = length
        if hit.result:
            end = begin + hit.t
        part = end - begin
        if part > tolerance:
            for sample in range(2):
                beyond = part * (0.5 + float(sample) / 6.0)  # the surface is no farther than that and one tolerance
                here = signed_distance(mesh, start + (begin + beyond) * direction, beyond + tolerance)
                if here > tolerance:
                    return
                if here > 0.0 and leaves(mesh, start + begin * direction, part * direction, tolerance):
                    return
        begin = end + tolerance
    clear_out[i] = 1
