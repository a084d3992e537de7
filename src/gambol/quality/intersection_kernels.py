# mypy: ignore-errors
# Warp reads the annotations of kernels itself; they are values, not types.
"""Which triangles of a mesh go through others of it, by Warp's bounding volume hierarchy.

Boxes are float32 and a little too large; what they let through is decided in float64. Coordinates must be of the order
of 1 and not far from the origin.
"""

import numpy as np

from gambol.warp_device import DEVICE, quiet_warp

wp = quiet_warp()
wp.set_module_options({"enable_backward": False})

ROUNDING = wp.constant(2.0e-6)
"""Margin of boxes for rounding [m]."""
SMALLEST = 2e-5
"""Side of the box of a triangle below which it is not tested: ten times the margin of a box [m]."""


@wp.struct
class TriangleArrays:
    """The triangles, and where they sit on the skeleton; see `gambol.quality.intersections.SkinTriangles`."""

    faces: wp.array(dtype=wp.vec3i)
    welded: wp.array(dtype=wp.vec3i)
    tangled: wp.array(dtype=wp.int32)
    bone: wp.array(dtype=wp.int32)
    foot: wp.array(dtype=wp.vec3d)
    thickness: wp.array(dtype=wp.float64)
    parents: wp.array(dtype=wp.int32)
    depths: wp.array(dtype=wp.int32)
    heads: wp.array(dtype=wp.vec3d)


@wp.func
def height_above(a: wp.vec3d, b: wp.vec3d, c: wp.vec3d, point: wp.vec3d):
    """Height of a point above the plane of a triangle, times twice its area."""
    return wp.dot(wp.cross(b - a, c - a), point - a)


@wp.func
def pierces(p: wp.vec3d, q: wp.vec3d, a: wp.vec3d, b: wp.vec3d, c: wp.vec3d, least: wp.float64):
    """Whether a segment goes through a triangle, with its ends at least `least` from the plane, one on each side."""
    margin = least * wp.length(wp.cross(b - a, c - a))
    start = height_above(a, b, c, p)
    end = height_above(a, b, c, q)
    if wp.min(start, end) > -margin or wp.max(start, end) < margin:
        return False
    first = height_above(p, q, a, b)
    second = height_above(p, q, b, c)
    third = height_above(p, q, c, a)
    if first > wp.float64(0.0):
        return second > wp.float64(0.0) and third > wp.float64(0.0)
    return first < wp.float64(0.0) and second < wp.float64(0.0) and third < wp.float64(0.0)


@wp.func
def cross_each_other(points: wp.array(dtype=wp.vec3d), one: wp.vec3i, other: wp.vec3i, least: wp.float64):
    """Two triangles that are not in one plane cross if and only if an edge of one of them pierces the other."""
    a = points[one[0]]
    b = points[one[1]]
    c = points[one[2]]
    d = points[other[0]]
    e = points[other[1]]
    f = points[other[2]]
    if pierces(a, b, d, e, f, least) or pierces(b, c, d, e, f, least) or pierces(c, a, d, e, f, least):
        return True
    return pierces(d, e, a, b, c, least) or pierces(e, f, a, b, c, least) or pierces(f, d, a, b, c, least)


@wp.func
def has(face: wp.vec3i, corner: wp.int32):
    return face[0] == corner or face[1] == corner or face[2] == corner


@wp.func
def touch(one: wp.vec3i, other: wp.vec3i):
    """Whether two triangles share a corner; a triangle shares its own."""
    return has(one, other[0]) or has(one, other[1]) or has(one, other[2])


@wp.func
def share_a_joint(patches: TriangleArrays, one: wp.int32, other: wp.int32):
    """Whether two bones share a joint, or are the same."""
    if one == other:
        return True
    if one < 0 or other < 0:
        return False
    return patches.parents[one] == other or patches.parents[other] == one


@wp.func
def along_bones(patches: TriangleArrays, i: wp.int32, j: wp.int32):
    """Distance along the skeleton between the bone points of two triangles; infinite if nothing joins them."""
    one = patches.bone[i]
    other = patches.bone[j]
    here = patches.foot[i]
    there = patches.foot[j]
    way = wp.float64(0.0)
    while one != other:
        if one < 0 or other < 0:
            return wp.float64(wp.inf)
        climbs = patches.depths[one] >= patches.depths[other]
        follows = patches.depths[other] >= patches.depths[one]
        if climbs:
            way += wp.length(here - patches.heads[one])
            here = patches.heads[one]
            one = patches.parents[one]
        if follows:
            way += wp.length(there - patches.heads[other])
            there = patches.heads[other]
            other = patches.parents[other]
    if one < 0:
        return wp.float64(wp.inf)
    return way + wp.length(here - there)


@wp.func
def folds(patches: TriangleArrays, i: wp.int32, j: wp.int32, fold: wp.float64):
    """Whether two triangles are so close along the skeleton that skin folds between them."""
    return along_bones(patches, i, j) <= fold * (patches.thickness[i] + patches.thickness[j])


@wp.func
def box(points: wp.array(dtype=wp.vec3d), face: wp.vec3i):
    """Lower and upper corner of the bounding box of a triangle."""
    a = points[face[0]]
    b = points[face[1]]
    c = points[face[2]]
    margin = wp.vec3(ROUNDING, ROUNDING, ROUNDING)
    return wp.vec3(wp.min(wp.min(a, b), c)) - margin, wp.vec3(wp.max(wp.max(a, b), c)) + margin


@wp.kernel
def tangled_kernel(
    mesh: wp.uint64, least: wp.float64, patches: TriangleArrays, points_in: wp.array(dtype=wp.vec3d),
    tangled_out: wp.array(dtype=wp.int32),
):  # fmt: skip
    """Which triangles go through any that they do not touch."""
    i = wp.tid()
    low, high = box(points_in, patches.faces[i])
    query = wp.mesh_query_aabb(mesh, low, high)
    j = wp.int32(0)
    while wp.mesh_query_aabb_next(query, j):
        apart = not touch(patches.welded[i], patches.welded[j])
        if apart and cross_each_other(points_in, patches.faces[i], patches.faces[j], least):
            tangled_out[i] = 1
            return


@wp.kernel
def crossing_kernel(
    mesh: wp.uint64, least: wp.float64, fold: wp.float64, patches: TriangleArrays, points_in: wp.array(dtype=wp.vec3d),
    queries_in: wp.array(dtype=wp.int32), crossing_out: wp.array(dtype=wp.int32),
):  # fmt: skip
    """Which of some triangles go through any that counts: see `self_intersection`."""
    i = queries_in[wp.tid()]
    low, high = box(points_in, patches.faces[i])
    query = wp.mesh_query_aabb(mesh, low, high)
    j = wp.int32(0)
    while wp.mesh_query_aabb_next(query, j):
        apart = not touch(patches.welded[i], patches.welded[j]) and patches.tangled[i] + patches.tangled[j] < 2
        apart = apart and not share_a_joint(patches, patches.bone[i], patches.bone[j])
        crossing = apart and cross_each_other(points_in, patches.faces[i], patches.faces[j], least)
        if crossing and not folds(patches, i, j, fold):
            crossing_out[wp.tid()] = 1
            return


class Crossings:
    """Runs the kernels on `gambol.quality.intersections.SkinTriangles`. Boxes are built once and refitted to every
    pose."""

    def __init__(self, triangles, least, fold):
        self.triangles, self.least, self.fold = triangles, least, fold
        corners = _sent(triangles.faces.ravel(), wp.int32)
        self._mesh = wp.Mesh(_sent(triangles.neutral.astype(np.float32), wp.vec3), corners)
        self._patches = TriangleArrays()
        for name, dtype in (
            ("faces", wp.vec3i), ("welded", wp.vec3i), ("bone", wp.int32), ("foot", wp.vec3d),
            ("thickness", wp.float64), ("parents", wp.int32), ("depths", wp.int32), ("heads", wp.vec3d),
        ):  # fmt: skip
            setattr(self._patches, name, _sent(getattr(triangles, name), dtype))
        self._patches.tangled = _sent(self._tangled(), wp.int32)

    def at(self, points, queries):
        """Which of some triangles go through others that count, with the vertices at such points. Those smaller than
        `SMALLEST` do not: of a skin that shrinks to a point the box of each would hold all others."""
        large = np.ptp(points[self.triangles.faces[queries]], axis=1).max(1) > SMALLEST
        found = wp.zeros(int(large.sum()), dtype=wp.int32, device=DEVICE)
        inputs = [self.least, self.fold, self._patches, self._placed(points), _sent(queries[large], wp.int32)]
        wp.launch(crossing_kernel, len(found), [self._mesh.id, *inputs], [found], device=DEVICE)
        crossing = np.zeros(len(queries), bool)
        crossing[large] = found.numpy() > 0
        return crossing

    def _tangled(self):
        """Where the skin goes through itself in the neutral pose, up to one triangle around."""
        faces = self.triangles.welded
        found = wp.zeros(len(faces), dtype=wp.int32, device=DEVICE)
        inputs = [self.least, self._patches, self._placed(self.triangles.neutral)]
        wp.launch(tangled_kernel, len(faces), [self._mesh.id, *inputs], [found], device=DEVICE)
        corners = np.zeros(faces.max() + 1, bool)
        corners[faces[found.numpy() > 0]] = True
        return corners[faces].any(1)

    def _placed(self, points):
        """Points about the origin; the boxes are fitted to them."""
        points = points - points[self.triangles.faces[:, 0]].mean(0)
        self._mesh.points.assign(points.astype(np.float32))
        self._mesh.refit()
        return _sent(points, wp.vec3d)


def _sent(values, dtype):
    return wp.array(values, dtype=dtype, device=DEVICE)
