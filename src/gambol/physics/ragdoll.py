"""The ragdoll: a character as rigid bodies ("bones") connected by joints, with masses and contact points.

It has a space and units of its own: x is left, y up, z forward, the ground is y = 0; lengths are scaled such that the
hips are SIZE high, and the total mass is 1. All rotations are the identity in the neutral pose.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.rig import Rig
from gambol.character.skeleton import line_up
from gambol.character.transforms import right_handed
from gambol.creatures.gaits.gait import likely_metres
from gambol.errors import GambolError
from gambol.motion.cuboids import Cuboids, fit_cuboids
from gambol.motion.legs import body_size
from gambol.physics.mass import LIGHTEST, bone_masses, find_mass_points

SIZE = 0.8
"""Height of the hips in the ragdoll's space, called L or "size" elsewhere; near 1 for the sake of single precision."""
CARRIES = 0.01
"""A joint becomes a bone if it carries at least this share of the mass, with its descendants, or is part of a leg.
Fingers, ears and faces belong to the bone above them."""
NOTHING = 1e-3
"""A root joint with less than this share of the mass and a single child is not simulated: many files have one on the
floor."""
STURDY, GYRATION = 0.01, 0.2
"""Least share of the mass and least radius of gyration of a bone for explicit steps: all of 15 species are stable with
these at 200 steps per frame."""
STANDARD_GRAVITY = 9.81


@dataclass(frozen=True)
class Boxes:
    """Cuboids fixed to bones, in the neutral pose and the ragdoll's space."""

    bones: Int[np.ndarray, " boxes"]
    centers: Float[np.ndarray, "boxes 3"]
    axes: Float[np.ndarray, "boxes 3 3"]
    """Orthonormal columns."""
    half_sizes: Float[np.ndarray, "boxes 3"]


@dataclass(frozen=True)
class Ragdoll:
    """Bones in the neutral pose, in the ragdoll's space. The first bone is the root; parents precede their children."""

    joints: Int[np.ndarray, " bones"]
    """Joint of the rig that moves with each bone."""
    names: tuple[str, ...]
    parents: Int[np.ndarray, " bones"]
    """-1 for the root."""
    masses: Float[np.ndarray, " bones"]
    """Masses, which sum to 1."""
    inertias: Float[np.ndarray, "bones 3 3"]
    """Inertia tensors about the centres of mass."""
    centers: Float[np.ndarray, "bones 3"]
    """Centres of mass."""
    anchors: Float[np.ndarray, "bones 3"]
    """Positions of the joints to the parents."""
    axes: Float[np.ndarray, "bones 3 3"]
    """Right-handed axes of the compound joints as columns, as in the rig."""
    boxes: Boxes
    point_bones: Int[np.ndarray, " points"]
    """Bone of each contact point, sorted."""
    points: Float[np.ndarray, "points 3"]
    unit: float
    """Length 1 of the ragdoll's space in file units."""
    gravity: float
    """Acceleration of gravity in the ragdoll's units [1/s^2]; larger for small animals."""
    T_ragdoll_file: Float[np.ndarray, "4 4"]
    """Transform from the file's space to the ragdoll's: rotation, translation and uniform scale."""

    def __len__(self) -> int:
        return len(self.joints)

    @property
    def height_of_root(self) -> float:
        return float(self.centers[0, 1])

    def sturdy(self) -> Ragdoll:
        """The ragdoll with light bones made heavier, for explicit steps."""
        masses = np.maximum(self.masses, STURDY)
        moments, axes = np.linalg.eigh(self.inertias)
        moments = np.maximum(moments, STURDY * GYRATION**2)
        inertias = axes @ (moments[:, :, None] * axes.transpose(0, 2, 1))
        return replace(self, masses=masses / masses.sum(), inertias=inertias)

    def only_points(self, chosen: Bool[np.ndarray, " points"] | Int[np.ndarray, " chosen"]) -> Ragdoll:
        """The ragdoll with some of its contact points."""
        return replace(self, point_bones=self.point_bones[chosen], points=self.points[chosen])


def build_ragdoll(character: Character, anatomy: Anatomy, rig: Rig) -> Ragdoll:
    """The ragdoll of a character. GambolError if its skin encloses no volume."""
    found = fit_cuboids(character, rig)
    if not found.half_sizes.prod(1).any():
        raise _no_volume(character)
    T_ragdoll_file, unit = _own_space(anatomy)
    turn = T_ragdoll_file[:3, :3] * unit
    T_world = rig.world()
    cuboids = _boxes(found, T_world, T_ragdoll_file)
    mass_points = find_mass_points(character, anatomy)
    volumes = np.bincount(mass_points.joints, mass_points.volumes, len(rig.nodes))
    if not volumes.sum() > 0:
        raise _no_volume(character)
    shares = volumes / volumes.sum()
    joints, parents = _choose(anatomy, rig, shares)
    bone_of = _carriers(rig, joints)
    cuboids = replace(cuboids, bones=bone_of[cuboids.bones])
    heads = _moved(T_ragdoll_file, T_world[joints, :3, 3])
    masses, centers, inertias = bone_masses(
        bone_of[mass_points.joints], _moved(T_ragdoll_file, mass_points.places), mass_points.volumes, heads
    )
    names = tuple(character.skeleton.names[node] for node in rig.nodes[joints])
    axes = right_handed(turn @ _unscaled(T_world[joints, :3, :3]) @ rig.axes[joints])
    bones, points = _points(anatomy, rig, bone_of, cuboids, T_ragdoll_file, T_world)
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
        T_ragdoll_file,
    )


def _no_volume(character: Character) -> GambolError:
    return GambolError(
        f"'{character.name}' has no volume: physics needs skin around its joints, "
        "not only bones or a single point; see gambol skin"
    )


def _own_space(anatomy: Anatomy) -> tuple[Float[np.ndarray, "4 4"], float]:
    """T_ragdoll_file, and length 1 of the ragdoll's space in file units."""
    unit = body_size(anatomy) / SIZE
    T = np.eye(4)
    T[:3, :3] = np.stack([anatomy.left, anatomy.up, anatomy.forward]) / unit
    T[1, 3] = -anatomy.ground / unit
    return T, unit


def _moved(T: Float[np.ndarray, "4 4"], points: Float[np.ndarray, "*points 3"]) -> Float[np.ndarray, "*points 3"]:
    return points @ T[:3, :3].T + T[:3, 3]


def _boxes(found: Cuboids, T_world: Float[np.ndarray, "joints 4 4"], T_ragdoll_file: np.ndarray) -> Boxes:
    """Boxes of all joints of the rig, in the ragdoll's space."""
    T = T_ragdoll_file @ T_world[found.joints] @ found.T_joint_cuboid
    sizes = np.linalg.norm(T[:, :3, :3], axis=1)
    return Boxes(found.joints, T[:, :3, 3], right_handed(T[:, :3, :3]), found.half_sizes * sizes)


def _unscaled(linear: Float[np.ndarray, "*batch 3 3"]) -> Float[np.ndarray, "*batch 3 3"]:
    return linear / np.maximum(np.linalg.norm(linear, axis=-2, keepdims=True), 1e-30)


def _choose(
    anatomy: Anatomy, rig: Rig, shares: Float[np.ndarray, " joints"]
) -> tuple[Int[np.ndarray, " bones"], Int[np.ndarray, " bones"]]:
    """Joints that become bones, the root first, and the parents of these bones."""
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
    above = [
        next((up for up in line_up(rig.parents, int(rig.parents[joint])) if up in places), root) for joint in order
    ]
    parents = [places[up] if joint != root else -1 for joint, up in zip(order, above, strict=True)]
    return np.array(order), np.array(parents)


def _carriers(rig: Rig, joints: Int[np.ndarray, " bones"]) -> Int[np.ndarray, " joints"]:
    """Bone that each joint of the rig moves with."""
    carriers = np.full(len(rig.nodes), -1)
    carriers[joints] = np.arange(len(joints))
    for joint, parent in enumerate(rig.parents):
        if carriers[joint] < 0:
            carriers[joint] = carriers[parent] if parent >= 0 else 0
    return np.maximum(carriers, 0)


def _points(
    anatomy: Anatomy,
    rig: Rig,
    bone_of: Int[np.ndarray, " joints"],
    boxes: Boxes,
    T_ragdoll_file: np.ndarray,
    T_world: Float[np.ndarray, "joints 4 4"],
) -> tuple[Int[np.ndarray, " points"], Float[np.ndarray, "points 3"]]:
    """Bones and positions of the contact points: vertices farthest towards the corners of each bone's boxes, the lowest
    vertex of each bone, and the contacts of soles.

    Without the lowest vertices a belly between the corners would be up to 0.14 deep in the ground (a fish).
    """
    body = anatomy.body
    vertices = _moved(T_ragdoll_file, body.vertices)
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
            place = _moved(T_ragdoll_file, (T_world[joint] @ [*local, 1.0])[:3])
            found.add((int(bone_of[joint]), tuple(place.tolist())))
    ordered = sorted(found)
    return np.array([bone for bone, _ in ordered], int), np.array([place for _, place in ordered]).reshape(-1, 3)
