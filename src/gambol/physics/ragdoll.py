"""The ragdoll: a character as rigid bones that hang together at joints, with masses, and points that touch the ground.

It lives in a space of its own: x to the left, y up, z forward, the ground at y = 0, lengths in parts of the character
so that its size is SIZE, a total mass of 1. Bones are turned by nothing in the neutral pose.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.rig import Rig
from gambol.creatures.gaits.gait import likely_metres
from gambol.errors import GambolError
from gambol.motion.cuboids import Cuboids, fit_cuboids
from gambol.physics.flesh import find_flesh

Array = np.ndarray

SIZE = 0.8
"""How high hips are in a ragdoll's space: single precision is happiest near 1."""
CARRIES = 0.01
"""A joint is simulated if it moves at least this share of the mass, with all that hangs on it, or stands in a leg.
Fingers, ears and faces are part of the bone they hang on."""
LIGHTEST = 0.003
"""Share of the mass that a bone has at least."""
THINNEST = 0.02
"""Radius of gyration that a bone has at least: a bone as thin as a line could be turned about it by nothing."""
NOTHING = 1e-3
"""A root joint with less than this share of the mass, and a single bone below it, is no bone: many files have one on
the floor."""
STURDY, GYRATION = 0.01, 0.2
"""For explicit steps bones weigh at least this share of the mass, at this radius of gyration: all of 15 species are
then stable at 200 steps a frame."""
STANDARD_GRAVITY = 9.81


@dataclass(frozen=True)
class Boxes:
    """Cuboids fixed to bones, in the neutral pose."""

    bones: Int[Array, " boxes"]
    centers: Float[Array, "boxes 3"]
    axes: Float[Array, "boxes 3 3"]
    """Columns, orthonormal."""
    half_sizes: Float[Array, "boxes 3"]


@dataclass(frozen=True)
class Ragdoll:
    """Bones in the neutral pose, in the ragdoll's own space. The first bone is the root; parents come first."""

    joints: Int[Array, " bones"]
    """The rig's joint that moves with each bone."""
    names: tuple[str, ...]
    parents: Int[Array, " bones"]
    """-1 for the root."""
    masses: Float[Array, " bones"]
    """Sum to 1."""
    inertias: Float[Array, "bones 3 3"]
    """About the centre of mass."""
    centers: Float[Array, "bones 3"]
    """Of mass."""
    anchors: Float[Array, "bones 3"]
    """Where it is joined to its parent."""
    axes: Float[Array, "bones 3 3"]
    """Columns: the right-handed axes of the compound joint, as in the rig."""
    boxes: Boxes
    point_bones: Int[Array, " points"]
    """Points of the skin that may touch the ground, sorted by bone."""
    points: Float[Array, "points 3"]
    unit: float
    """Length 1 in file units."""
    gravity: float
    """In its own units [1/s^2]: small animals fall faster, in lengths of their own."""
    T_own_file: Float[Array, "4 4"]
    """From file units to the ragdoll's space; a rotation, shift and scale."""

    def __len__(self) -> int:
        return len(self.joints)

    @property
    def height_of_root(self) -> float:
        return float(self.centers[0, 1])

    def sturdy(self) -> Ragdoll:
        """Without bones that are too light for explicit steps."""
        masses = np.maximum(self.masses, STURDY)
        moments, axes = np.linalg.eigh(self.inertias)
        moments = np.maximum(moments, STURDY * GYRATION**2)
        inertias = axes @ (moments[:, :, None] * axes.transpose(0, 2, 1))
        return replace(self, masses=masses / masses.sum(), inertias=inertias)

    def only_points(self, chosen: Bool[Array, " points"]) -> Ragdoll:
        """Fewer points that can touch the ground."""
        return replace(self, point_bones=self.point_bones[chosen], points=self.points[chosen])


def build_ragdoll(character: Character, anatomy: Anatomy, rig: Rig) -> Ragdoll:
    """From skin and rig. GambolError if there is no volume that could weigh anything."""
    found = fit_cuboids(character, rig)
    if not found.half_sizes.prod(1).any():
        raise _no_volume(character)
    T_own_file, unit = _own_space(anatomy)
    turn = T_own_file[:3, :3] * unit
    T_world = rig.world()
    cuboids = _boxes(found, T_world, T_own_file)
    lumps = find_flesh(character, anatomy)
    volumes = np.bincount(lumps.joints, lumps.volumes, len(rig.nodes))
    if not volumes.sum() > 0:
        raise _no_volume(character)
    shares = volumes / volumes.sum()
    joints, parents = _choose(anatomy, rig, shares)
    bone_of = _carriers(rig, joints)
    cuboids = replace(cuboids, bones=bone_of[cuboids.bones])
    heads = _moved(T_own_file, T_world[joints, :3, 3])
    masses, centers, inertias = _mass(bone_of[lumps.joints], _moved(T_own_file, lumps.places), lumps.volumes, heads)
    names = tuple(character.skeleton.names[node] for node in rig.nodes[joints])
    axes = _right_handed(turn @ _unscaled(T_world[joints, :3, :3]) @ rig.axes[joints])
    bones, points = _points(anatomy, rig, bone_of, cuboids, T_own_file, T_world)
    gravity = STANDARD_GRAVITY / (unit * likely_metres(anatomy))
    return Ragdoll(
        joints,
        names,
        parents,
        masses,
        inertias,
        centers,
        heads,
        axes,
        cuboids,
        bones,
        points,
        unit,
        gravity,
        T_own_file,
    )


def _no_volume(character: Character) -> GambolError:
    return GambolError(
        f"'{character.name}' has no volume: physics needs skin around its joints, "
        "not only bones or a single point; see gambol skin"
    )


def _own_space(anatomy: Anatomy) -> tuple[Float[Array, "4 4"], float]:
    """Size is the height of what the legs hang on, or a part of the length for what lies on the ground."""
    body = anatomy.body
    hips = [float(body.heads[leg.chain[0]] @ anatomy.up - anatomy.ground) for leg in anatomy.legs]
    length = float(np.ptp(body.vertices[body.owners >= 0], axis=0).max())  # without floors and other props
    size = max([*hips, 0.3 * length])
    unit = size / SIZE
    T = np.eye(4)
    T[:3, :3] = np.stack([anatomy.left, anatomy.up, anatomy.forward]) / unit
    T[1, 3] = -anatomy.ground / unit
    return T, unit


def _moved(T: Float[Array, "4 4"], points: Float[Array, "*points 3"]) -> Float[Array, "*points 3"]:
    return points @ T[:3, :3].T + T[:3, 3]


def _boxes(found: Cuboids, T_world: Float[Array, "joints 4 4"], T_own_file: Array) -> Boxes:
    """Boxes of all joints of the rig, in the ragdoll's space."""
    T = T_own_file @ T_world[found.joints] @ found.T_joint_cuboid
    sizes = np.linalg.norm(T[:, :3, :3], axis=1)
    return Boxes(found.joints, T[:, :3, 3], _right_handed(T[:, :3, :3]), found.half_sizes * sizes)


def _unscaled(linear: Float[Array, "*batch 3 3"]) -> Float[Array, "*batch 3 3"]:
    return linear / np.maximum(np.linalg.norm(linear, axis=-2, keepdims=True), 1e-30)


def _right_handed(linear: Float[Array, "*batch 3 3"]) -> Float[Array, "*batch 3 3"]:
    """The nearest orthonormal axes; all turned round if they are left-handed, which leaves turns about them the same
    once both ways of counting are left-handed too."""
    u, _, vt = np.linalg.svd(linear)
    axes = u @ vt
    return axes * np.sign(np.linalg.det(axes))[..., None, None]


def _choose(
    anatomy: Anatomy, rig: Rig, shares: Float[Array, " joints"]
) -> tuple[Int[Array, " bones"], Int[Array, " bones"]]:
    """The joints that become bones, the root first, and the parents of these bones."""
    below = shares.copy()
    for joint in range(len(rig.nodes) - 1, -1, -1):
        if rig.parents[joint] >= 0:
            below[rig.parents[joint]] += below[joint]
    chosen = below >= CARRIES
    for leg in anatomy.legs:
        bearing = {joint for joint, _ in leg.contacts}
        chosen[[joint for joint in leg.chain if below[joint] >= LIGHTEST / 3 or joint in bearing]] = True
    for joint in range(len(rig.nodes) - 1, -1, -1):  # no bone hangs on a joint that is none
        if chosen[joint] and rig.parents[joint] >= 0:
            chosen[rig.parents[joint]] = True
    root = int(np.argmax(np.where(rig.parents < 0, below, -1)))
    chosen[root] = True
    while shares[root] < NOTHING:
        onward = [int(child) for child in np.flatnonzero(rig.parents == root) if chosen[child]]
        if len(onward) != 1:
            break
        chosen[root] = False
        root = onward[0]
    order = [root, *(int(joint) for joint in np.flatnonzero(chosen) if joint != root)]
    places = {joint: bone for bone, joint in enumerate(order)}
    parents = [places[_nearest(rig, joint, places, root)] if joint != root else -1 for joint in order]
    return np.array(order), np.array(parents)


def _nearest(rig: Rig, joint: int, places: dict[int, int], root: int) -> int:
    """The nearest joint above that is a bone, the root if there is none."""
    above = int(rig.parents[joint])
    while above >= 0 and above not in places:
        above = int(rig.parents[above])
    return above if above >= 0 else root


def _carriers(rig: Rig, joints: Int[Array, " bones"]) -> Int[Array, " joints"]:
    """The bone that each joint of the rig moves with."""
    carriers = np.full(len(rig.nodes), -1)
    carriers[joints] = np.arange(len(joints))
    for joint, parent in enumerate(rig.parents):
        if carriers[joint] < 0:
            carriers[joint] = carriers[parent] if parent >= 0 else 0
    return np.maximum(carriers, 0)


def _mass(
    bones: Int[Array, " lumps"],
    places: Float[Array, "lumps 3"],
    volumes: Float[Array, " lumps"],
    heads: Float[Array, "bones 3"],
) -> tuple[Float[Array, " bones"], Float[Array, "bones 3"], Float[Array, "bones 3 3"]]:
    """Masses, centres and inertias of bones that are made of lumps."""
    count = len(heads)
    totals, centers = np.bincount(bones, volumes, count), np.zeros((count, 3))
    np.add.at(centers, bones, volumes[:, None] * places)
    heavy = totals > NOTHING * LIGHTEST * totals.sum()
    centers[heavy] /= totals[heavy, None]
    centers[~heavy] = heads[~heavy]
    offsets = places - centers[bones]
    outer = np.eye(3) * (offsets**2).sum(1)[:, None, None] - offsets[:, :, None] * offsets[:, None, :]
    inertias = np.zeros((count, 3, 3))
    np.add.at(inertias, bones, volumes[:, None, None] * outer)
    masses = np.maximum(totals, LIGHTEST * totals.sum())
    grown = np.where(heavy, masses / np.where(heavy, totals, 1.0), 0.0)[:, None, None]
    inertias = inertias * grown + np.eye(3) * (masses * THINNEST**2)[:, None, None]
    return masses / masses.sum(), centers, inertias / masses.sum()


def _points(
    anatomy: Anatomy,
    rig: Rig,
    bone_of: Int[Array, " joints"],
    boxes: Boxes,
    T_own_file: Array,
    T_world: Float[Array, "joints 4 4"],
) -> tuple[Int[Array, " points"], Float[Array, "points 3"]]:
    """The skin's outermost points towards the corners of the bone's boxes, and where soles touch the ground.

    Also the lowest of each bone: a belly between the corners would be up to 0.14 deep in the ground (a fish).
    """
    body = anatomy.body
    vertices = _moved(T_own_file, body.vertices)
    owners = np.where(body.owners >= 0, bone_of[body.owners], -1)
    signs = np.stack(np.meshgrid([-1, 1], [-1, 1], [-1, 1], indexing="ij"), axis=-1).reshape(8, 3)
    found: set[tuple[int, tuple[float, float, float]]] = set()
    for bone, axes, half in zip(boxes.bones, boxes.axes, boxes.half_sizes, strict=True):
        own = vertices[owners == bone]
        if len(own):
            reach = own @ (axes / half)
            outermost = {own[:, 1].argmin(), *(reach @ signs.T).argmax(0)}
            found.update((int(bone), tuple(own[vertex].tolist())) for vertex in outermost)
    for leg in anatomy.legs:
        for joint, local in leg.contacts:
            place = _moved(T_own_file, (T_world[joint] @ [*local, 1.0])[:3])
            found.add((int(bone_of[joint]), tuple(place.tolist())))
    ordered = sorted(found)
    return np.array([bone for bone, _ in ordered], int), np.array([place for _, place in ordered]).reshape(-1, 3)
