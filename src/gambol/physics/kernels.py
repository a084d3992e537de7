# mypy: ignore-errors
"""The simulation as one Warp kernel: each thread simulates one world for a chunk of substeps.

State and intermediate results live in arrays of which every element is written once, because Warp's reverse pass runs
the loops backwards and replays their bodies: nothing may be accumulated or overwritten. Sums over the points or the
children of a bone are therefore chains: each element holds its own part plus the element before it.

Every substep solves (M + dt D + dt^2 K) v_new = M v + dt f, where D and K are the damping and the stiffness of joints,
PD controllers, contacts and the upright force. That is linearly implicit, and so stable with stiff joints and light
bones. There are 6 unknowns for each bone; the matrix is a tree of 6 x 6 blocks, solved from the leaves to the root and
back in time linear in the number of bones. With `implicit` 0 forces are taken at the old velocity instead, the explicit
scheme of the paper, which needs many more substeps.
"""

from gambol.warp_device import quiet_warp

wp = quiet_warp()


@wp.struct
class Parameters:
    """Scalars of the simulation, in the ragdoll's units (lengths, total mass 1, seconds)."""

    dt: float
    implicit: float
    """1, or 0 for the explicit scheme."""
    gravity: float
    stiffness: float
    """Stiffness of the PD controllers [torque per rad]."""
    damping: float
    joint_stiffness: float
    """Stiffness of the springs that hold bones together [force per length]."""
    joint_damping: float
    upright: float
    """Stiffness of the virtual torque that keeps the root upright [torque per rad]."""
    upright_damping: float
    guide: float
    """Stiffness of the virtual force that pulls the root along the reference [force per length]; 0 in the end."""
    guide_damping: float
    guide_turn: float
    """Stiffness of the virtual torque that turns the root to face as in the reference [torque per rad]."""
    ground_stiffness: float
    ground_damping: float
    soft: float
    """Depth over which the ground's damping rises from 0, so that the force is continuous."""
    friction: float
    """Coefficient of Coulomb friction."""
    creep: float
    """Speed below which friction is viscous."""
    substeps: int
    """Substeps between two knots of the control."""


@wp.struct
class BoneArrays:
    parents: wp.array(dtype=int)
    """-1 for the root."""
    last_child: wp.array(dtype=int)
    """Child with the lowest index, where the chain of all children ends; the number of bones if there is none."""
    sibling: wp.array(dtype=int)
    """Sibling before the bone in that chain; the number of bones if there is none."""
    last_point: wp.array(dtype=int)
    """Last contact point of the bone; the number of points if there is none."""
    masses: wp.array(dtype=float)
    inertias: wp.array(dtype=wp.mat33)
    above: wp.array(dtype=wp.vec3)
    """Vector from the parent's centre to the joint, in the neutral pose."""
    below: wp.array(dtype=wp.vec3)
    """Vector from the bone's own centre to the joint, in the neutral pose."""
    axes: wp.array(dtype=wp.quat)
    point_bones: wp.array(dtype=int)
    before: wp.array(dtype=int)
    """Point before this one in the chain of its bone; the number of points if it is the first."""
    places: wp.array(dtype=wp.vec3)
    """Vector from the bone's centre to the point, in the neutral pose."""


@wp.struct
class StateArrays:
    """[substep, world, bone]: centres, rotations, velocities and angular velocities."""

    x: wp.array3d(dtype=wp.vec3)
    q: wp.array3d(dtype=wp.quat)
    v: wp.array3d(dtype=wp.vec3)
    w: wp.array3d(dtype=wp.vec3)


@wp.struct
class ControlArrays:
    targets: wp.array3d(dtype=wp.vec3)
    """[knot, world, bone]: targets of the PD controllers [rad], linear between knots."""
    upwards: wp.array2d(dtype=wp.vec3)
    """[knot, world]: wanted direction of the root's up axis."""
    places: wp.array2d(dtype=wp.vec3)
    """[knot, world]: wanted position of the root's centre."""
    forwards: wp.array2d(dtype=wp.vec3)
    """[knot, world]: wanted direction of the root's forward axis."""
    ground: wp.array(dtype=wp.vec3)
    """[world]: velocity of the ground, as of a treadmill."""


@wp.struct
class Equations:
    """Blocks of the matrix and of the right-hand side [substep of the chunk, world, point or bone + 1], summed along
    chains. The last element of the last axis is 0, the start of every chain."""

    vv: wp.array3d(dtype=wp.mat33)
    vw: wp.array3d(dtype=wp.mat33)
    ww: wp.array3d(dtype=wp.mat33)
    v: wp.array3d(dtype=wp.vec3)
    w: wp.array3d(dtype=wp.vec3)


@wp.struct
class Elimination:
    """Velocity of each bone as an affine function of its parent's: (v, w) less a 6 x 6 block times that of the
    parent."""

    vv: wp.array3d(dtype=wp.mat33)
    vw: wp.array3d(dtype=wp.mat33)
    wv: wp.array3d(dtype=wp.mat33)
    ww: wp.array3d(dtype=wp.mat33)
    v: wp.array3d(dtype=wp.vec3)
    w: wp.array3d(dtype=wp.vec3)


@wp.struct
class Block:
    """A 6 x 6 matrix [[vv, vw], [wv, ww]] of linear and angular velocity."""

    vv: wp.mat33
    vw: wp.mat33
    wv: wp.mat33
    ww: wp.mat33


@wp.func
def compound(angles: wp.vec3, axes: wp.quat) -> wp.quat:
    """Rotation Rx Ry Rz about the axes, as in `motion.kinematics.compound_rotation`."""
    turns = (
        wp.quat_from_axis_angle(wp.vec3(1.0, 0.0, 0.0), angles[0])
        * wp.quat_from_axis_angle(wp.vec3(0.0, 1.0, 0.0), angles[1])
        * wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), angles[2])
    )
    return axes * turns * wp.quat_inverse(axes)


@wp.func
def small_turn(q: wp.quat) -> wp.vec3:
    """2 sin(angle / 2) along the axis: the rotation vector to first order, of a length of at most 2."""
    sign = 2.0
    if q[3] < 0.0:
        sign = -2.0
    return sign * wp.vec3(q[0], q[1], q[2])


@wp.func
def turned_on(q: wp.quat, w: wp.vec3, dt: float) -> wp.quat:
    """The rotation after a time step with a constant angular velocity."""
    return wp.normalize(q + wp.quat(w[0], w[1], w[2], 0.0) * q * (0.5 * dt))


@wp.func
def inverse_of(vv: wp.mat33, vw: wp.mat33, ww: wp.mat33) -> Block:
    """Inverse of a symmetric block."""
    upper = wp.inverse(vv)
    across = upper * vw
    lower = wp.inverse(ww - wp.transpose(vw) * across)
    result = Block()
    result.ww = lower
    result.vw = -across * lower
    result.wv = wp.transpose(result.vw)
    result.vv = upper - result.vw * wp.transpose(across)
    return result


@wp.func
def touch_ground(
    params: Parameters,
    bones: BoneArrays,
    s: StateArrays,
    control: ControlArrays,
    sums: Equations,
    now: int,
    row: int,
    world: int,
    point: int,
):
    """Add the contact of a point with the ground to the chain of its bone."""
    dt = params.dt
    up = wp.vec3(0.0, 1.0, 0.0)
    steep = wp.outer(up, up)
    level = wp.identity(n=3, dtype=float) - steep
    explicit = 1.0 - params.implicit
    bone = bones.point_bones[point]
    before = bones.before[point]
    arm = wp.quat_rotate(s.q[now, world, bone], bones.places[point])
    depth = -(s.x[now, world, bone][1] + arm[1])
    vv = sums.vv[row, world, before]
    vw = sums.vw[row, world, before]
    ww = sums.ww[row, world, before]
    push = sums.v[row, world, before]
    twist = sums.w[row, world, before]
    if depth > 0.0:
        moving = control.ground[world]
        speed = s.v[now, world, bone] + wp.cross(s.w[now, world, bone], arm) - moving
        damping = params.ground_damping * wp.min(depth / params.soft, 1.0)
        load = wp.max(params.ground_stiffness * depth - damping * speed[1], 0.0)
        slide = level * speed
        grip = params.friction * load / wp.sqrt(wp.dot(slide, slide) + params.creep * params.creep)
        bounce = dt * (dt * params.ground_stiffness + damping)
        answer = (level * (dt * grip) + steep * bounce) * params.implicit
        lift = up * (params.ground_stiffness * depth - explicit * damping * speed[1])
        carry = level * moving * grip + up * (damping * moving[1])
        force = lift - slide * (explicit * grip) + carry * params.implicit
        lever = wp.skew(arm)
        sums.vv[row, world, point] = vv + answer
        sums.vw[row, world, point] = vw - answer * lever
        sums.ww[row, world, point] = ww - lever * answer * lever
        sums.v[row, world, point] = push + dt * force
        sums.w[row, world, point] = twist + dt * wp.cross(arm, force)
    else:
        sums.vv[row, world, point] = vv
        sums.vw[row, world, point] = vw
        sums.ww[row, world, point] = ww
        sums.v[row, world, point] = push
        sums.w[row, world, point] = twist


@wp.func
def eliminate(
    params: Parameters,
    bones: BoneArrays,
    s: StateArrays,
    control: ControlArrays,
    touches: Equations,
    children: Equations,
    elimination: Elimination,
    now: int,
    row: int,
    world: int,
    bone: int,
):
    """Solve a bone's equations for its velocity as a function of its parent's, and add the rest to the parent's
    equations."""
    dt = params.dt
    up = wp.vec3(0.0, 1.0, 0.0)
    one = wp.identity(n=3, dtype=float)
    explicit = 1.0 - params.implicit
    knot = now / params.substeps
    along = float(now - knot * params.substeps) / float(params.substeps)
    point = bones.last_point[bone]
    child = bones.last_child[bone]
    parent = bones.parents[bone]
    mass = bones.masses[bone]
    bone_v = s.v[now, world, bone]
    bone_w = s.w[now, world, bone]
    rotation = wp.quat_to_matrix(s.q[now, world, bone])
    inertia = rotation * bones.inertias[bone] * wp.transpose(rotation)
    spin = inertia * bone_w
    vv = one * mass + touches.vv[row, world, point] + children.vv[row, world, child]
    vw = touches.vw[row, world, point] + children.vw[row, world, child]
    ww = inertia + touches.ww[row, world, point] + children.ww[row, world, child]
    push = (
        bone_v * mass - up * (dt * mass * params.gravity) + touches.v[row, world, point] + children.v[row, world, child]
    )
    twist = spin - wp.cross(bone_w, spin) * dt + touches.w[row, world, point] + children.w[row, world, child]
    if parent < 0:
        wanted = wp.normalize(control.upwards[knot, world] * (1.0 - along) + control.upwards[knot + 1, world] * along)
        lean = wp.cross(rotation * up, wanted)
        leaning = one - wp.outer(wanted, wanted)
        righting = params.implicit * dt * (dt * params.upright + params.upright_damping)
        righted = twist + dt * (params.upright * lean - explicit * params.upright_damping * (leaning * bone_w))
        place = control.places[knot, world]
        step = control.places[knot + 1, world] - place
        missing = place + step * along - s.x[now, world, bone]
        pace = step / (float(params.substeps) * dt)
        guiding = params.implicit * dt * (dt * params.guide + params.guide_damping)
        ahead = pace * (params.implicit * dt * params.guide + params.guide_damping) - bone_v * (
            explicit * params.guide_damping
        )
        guided = push + dt * (params.guide * missing + ahead)
        facing = control.forwards[knot, world] * (1.0 - along) + control.forwards[knot + 1, world] * along
        astray = wp.cross(rotation * wp.vec3(0.0, 0.0, 1.0), facing)
        turning = wp.outer(wanted, wanted)
        yaw = params.implicit * dt * dt * params.guide_turn
        faced = righted + turning * astray * (dt * params.guide_turn)
        solved = inverse_of(vv + one * guiding, vw, ww + leaning * righting + turning * yaw)
        elimination.v[row, world, bone] = solved.vv * guided + solved.vw * faced
        elimination.w[row, world, bone] = solved.wv * guided + solved.ww * faced
    else:
        parent_q = s.q[now, world, parent]
        parent_w = s.w[now, world, parent]
        above = wp.quat_rotate(parent_q, bones.above[bone])
        below = rotation * bones.below[bone]
        gap = s.x[now, world, parent] + above - s.x[now, world, bone] - below
        opening = s.v[now, world, parent] + wp.cross(parent_w, above) - bone_v - wp.cross(bone_w, below)
        pull = dt * (params.joint_stiffness * gap + explicit * params.joint_damping * opening)
        angles = control.targets[knot, world, bone] * (1.0 - along) + control.targets[knot + 1, world, bone] * along
        error = small_turn(parent_q * compound(angles, bones.axes[bone]) * wp.quat_inverse(s.q[now, world, bone]))
        torque = dt * (params.stiffness * error - explicit * params.damping * (bone_w - parent_w))
        hold = params.implicit * dt * (dt * params.joint_stiffness + params.joint_damping)
        stiff = params.implicit * dt * (dt * params.stiffness + params.damping)
        a = wp.skew(above)
        b = wp.skew(below)
        inverted = inverse_of(vv + one * hold, vw - b * hold, ww - b * b * hold + one * stiff)
        bone_push = push + pull
        bone_twist = twist + wp.cross(below, pull) + torque
        down_vw = a * hold
        down_wv = b * -hold
        down_ww = b * a * hold - one * stiff
        gain_vv = inverted.vw * down_wv - inverted.vv * hold
        gain_vw = inverted.vv * down_vw + inverted.vw * down_ww
        gain_wv = inverted.ww * down_wv - inverted.wv * hold
        gain_ww = inverted.wv * down_vw + inverted.ww * down_ww
        free_v = inverted.vv * bone_push + inverted.vw * bone_twist
        free_w = inverted.wv * bone_push + inverted.ww * bone_twist
        elimination.vv[row, world, bone] = gain_vv
        elimination.vw[row, world, bone] = gain_vw
        elimination.wv[row, world, bone] = gain_wv
        elimination.ww[row, world, bone] = gain_ww
        elimination.v[row, world, bone] = free_v
        elimination.w[row, world, bone] = free_w
        up_vw = wp.transpose(down_wv)
        up_wv = wp.transpose(down_vw)
        up_ww = wp.transpose(down_ww)
        k = bones.sibling[bone]
        children.vv[row, world, bone] = children.vv[row, world, k] + (one + gain_vv) * hold - up_vw * gain_wv
        children.vw[row, world, bone] = children.vw[row, world, k] + (gain_vw - a) * hold - up_vw * gain_ww
        children.ww[row, world, bone] = (
            children.ww[row, world, k] + one * stiff - a * a * hold - up_wv * gain_vw - up_ww * gain_ww
        )
        children.v[row, world, bone] = children.v[row, world, k] - pull + free_v * hold - up_vw * free_w
        children.w[row, world, bone] = (
            children.w[row, world, k] - wp.cross(above, pull) - torque - up_wv * free_v - up_ww * free_w
        )


@wp.func
def move(
    params: Parameters,
    bones: BoneArrays,
    s: StateArrays,
    elimination: Elimination,
    now: int,
    row: int,
    world: int,
    bone: int,
):
    """Velocity of a bone after the substep, given its parent's, and its new pose."""
    parent = bones.parents[bone]
    v = elimination.v[row, world, bone]
    w = elimination.w[row, world, bone]
    if parent >= 0:
        parent_v = s.v[now + 1, world, parent]
        parent_w = s.w[now + 1, world, parent]
        v -= elimination.vv[row, world, bone] * parent_v + elimination.vw[row, world, bone] * parent_w
        w -= elimination.wv[row, world, bone] * parent_v + elimination.ww[row, world, bone] * parent_w
    s.v[now + 1, world, bone] = v
    s.w[now + 1, world, bone] = w
    s.x[now + 1, world, bone] = s.x[now, world, bone] + v * params.dt
    s.q[now + 1, world, bone] = turned_on(s.q[now, world, bone], w, params.dt)


@wp.kernel(module="unique")
def simulate(
    params: Parameters,
    bones: BoneArrays,
    control: ControlArrays,
    states: StateArrays,
    touches: Equations,
    children: Equations,
    elimination: Elimination,
    first: int,
    count: int,
):
    """Substeps `first` to `first + count` of every world."""
    world = wp.tid()
    for row in range(count):
        for point in range(bones.point_bones.shape[0]):
            touch_ground(params, bones, states, control, touches, first + row, row, world, point)
        for number in range(bones.parents.shape[0]):
            last = bones.parents.shape[0] - 1 - number
            eliminate(params, bones, states, control, touches, children, elimination, first + row, row, world, last)
        for bone in range(bones.parents.shape[0]):
            move(params, bones, states, elimination, first + row, row, world, bone)


@wp.kernel(module="unique", enable_backward=False)
def clip_gradients(states: StateArrays, now: int, most: float):
    """Make the gradient of a world's state at a substep no longer than `most`."""
    world = wp.tid()
    square = float(0.0)  # noqa: UP018  (a variable to Warp, not a constant)
    for bone in range(states.x.shape[2]):
        x = states.x[now, world, bone]
        q = states.q[now, world, bone]
        v = states.v[now, world, bone]
        w = states.w[now, world, bone]
        square += wp.dot(x, x) + wp.dot(q, q) + wp.dot(v, v) + wp.dot(w, w)
    norm = wp.sqrt(square)
    if norm > most:
        scale = most / norm
        for bone in range(states.x.shape[2]):
            states.x[now, world, bone] = states.x[now, world, bone] * scale
            states.q[now, world, bone] = states.q[now, world, bone] * scale
            states.v[now, world, bone] = states.v[now, world, bone] * scale
            states.w[now, world, bone] = states.w[now, world, bone] * scale
