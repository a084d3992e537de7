"""Bones as cuboids fitted to the skin, and the loss that keeps them above the ground (AKD: L_ground)."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.character.character import Character, Mesh
from gambol.character.rig import Rig
from gambol.character.skin import strongest_sums
from gambol.motion.skinning import anchors

TRIM = 2.0
"""Share of a joint's vertices that may be outliers of badly painted weights, on either side [%]."""
FENCE = 0.25
"""Vertices within this share of the trimmed range beyond it are no outliers; else soles and claws would be cut off."""
THINNEST = 0.002
"""Smallest half size of a cuboid in parts of the character's diagonal, so that flat skin has a volume and a mass."""


@dataclass(frozen=True)
class Cuboids:
    """Oriented boxes fixed to joints of a rig.

    Only joints that move skin have one. A joint without skin takes up no room: a root joint on the floor between the
    feet would otherwise forbid crouching.
    """

    joints: Int[np.ndarray, " cuboids"]
    """Index of the joint within the rig."""
    T_joint_cuboid: Float[np.ndarray, "cuboids 4 4"]
    """From the cuboid's centre and axes, along those of the compound joint, to the joint's space: rigid."""
    half_sizes: Float[np.ndarray, "cuboids 3"]
    """Half the edge lengths [units of the joint's space]; the last is along the bone. Never zero unless the whole
    character is a point."""


def fit_cuboids(character: Character, rig: Rig) -> Cuboids:
    """One box for every joint, around the vertices it moves more than any other joint does, in the neutral pose."""
    T_world_joint = rig.world()
    joints, T_anchor_node = anchors(character.skeleton, rig)
    T_world_node = np.where((joints >= 0)[:, None, None], T_world_joint[joints] @ T_anchor_node, T_anchor_node)
    vertices = np.concatenate([np.zeros((0, 3)), *character.skinned(T_world_node)])
    bind_joints = joints[character.bind_nodes]
    owners = np.concatenate([np.zeros(0, np.int64), *(_owners(mesh, bind_joints) for mesh in character.meshes)])
    thinnest = THINNEST * np.linalg.norm(np.ptp(vertices[owners >= 0], axis=0)) if (owners >= 0).any() else 0.0
    found = [joint for joint in np.unique(owners) if joint >= 0 and _has_volume(T_world_joint[joint])]
    T_joint_cuboid, half_sizes = np.tile(np.eye(4), (len(found), 1, 1)), np.zeros((len(found), 3))
    for i, joint in enumerate(found):
        T_world_cuboid = T_world_joint[joint].copy()
        T_world_cuboid[:3, :3] @= rig.axes[joint]
        points = vertices[owners == joint] - T_world_cuboid[:3, 3]
        low, high = _robust_range(np.linalg.solve(T_world_cuboid[:3, :3], points.T).T)
        # A mirrored joint has left-handed axes. Reversing all three makes them a rotation and the box is the same.
        T_joint_cuboid[i, :3, :3] = rig.axes[joint] * np.sign(np.linalg.det(rig.axes[joint]))
        T_joint_cuboid[i, :3, 3] = rig.axes[joint] @ (low + high) / 2
        half_sizes[i] = np.maximum((high - low) / 2, thinnest / np.linalg.norm(T_world_cuboid[:3, :3], axis=0))
    return Cuboids(np.array(found, dtype=np.int64), T_joint_cuboid, half_sizes)


def _owners(mesh: Mesh, bind_joints: Int[np.ndarray, " binds"]) -> Int[np.ndarray, " vertices"]:
    """The joint of largest weight for each vertex, -1 for none; weights of binds on the same joint add up."""
    return strongest_sums(bind_joints[mesh.binds] + 1, mesh.weights, 1)[0][:, 0] - 1


def _has_volume(T_world_joint: Float[np.ndarray, "4 4"]) -> bool:
    """False for a joint scaled to nothing along some axis, as files do to hide parts."""
    return bool(np.linalg.cond(T_world_joint[:3, :3]) < 1e9)


def _robust_range(points: Float[np.ndarray, "points 3"]) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
    """Smallest and largest coordinates without outliers."""
    low, high = np.percentile(points, [TRIM, 100 - TRIM], axis=0)
    margin = FENCE * (high - low)
    kept = (points >= low - margin) & (points <= high + margin)
    return points.min(0, where=kept, initial=np.inf), points.max(0, where=kept, initial=-np.inf)


def corners(cuboids: Cuboids) -> Float[np.ndarray, "cuboids 8 3"]:
    """Corners of the cuboids in the spaces of their joints."""
    signs = np.stack(np.meshgrid([-1, 1], [-1, 1], [-1, 1], indexing="ij"), axis=-1).reshape(8, 3)
    rotation, centre = cuboids.T_joint_cuboid[:, :3, :3], cuboids.T_joint_cuboid[:, None, :3, 3]
    return (signs * cuboids.half_sizes[:, None]) @ rotation.transpose(0, 2, 1) + centre


def corner_positions(
    T_world_joint: Float[Tensor, "frames joints 3 4"], cuboids: Cuboids
) -> Float[Tensor, "frames cuboids 8 3"]:
    """Corners in the world [file units]."""
    local = torch.as_tensor(corners(cuboids)).to(T_world_joint)
    T_world = T_world_joint.index_select(1, torch.as_tensor(cuboids.joints, device=T_world_joint.device))
    return local @ T_world[..., :3].mT + T_world[..., None, :, 3]
