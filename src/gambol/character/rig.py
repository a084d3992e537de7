"""The rig: the joints that are animated, with the parents they have in the body rather than in the file."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from gambol.character.anatomy import Anatomy
from gambol.character.transforms import right_handed


@dataclass(frozen=True)
class Rig:
    """A tree of joints and the axes they turn about.

    A joint's transform relative to its parent joint is `T_parent_joint @ rotation @ diag(scale)`, where the rotation is
    three turns about `axes`, one after the other, and the identity in the neutral pose. Whatever lies between two
    joints in the file (armature scale, control bones) is part of `T_parent_joint`.
    """

    nodes: Int[np.ndarray, " joints"]
    """The skeleton's node of each joint; parents come before their children."""
    parents: Int[np.ndarray, " joints"]
    """Index of the parent joint within the rig, -1 for a root."""
    T_parent_joint: Float[np.ndarray, "joints 4 4"]
    """Neutral transform without the joint's own scale; of a root: relative to the world."""
    scale: Float[np.ndarray, "joints 3"]
    """The joint's own scale; it also scales its children, as in glTF."""
    axes: Float[np.ndarray, "joints 3 3"]
    """Columns: the orthonormal, right-handed axes of the compound joint in its own space, x y z of R = Rx Ry Rz. The
    first is the one for large bends, the last runs along the bone."""
    root_axes: Float[np.ndarray, "3 3"]
    """Columns: up, right, forward: the axes of yaw, pitch and roll of the whole body, in the world."""
    pivot: Float[np.ndarray, "3"]
    """The body turns about this point [file units]."""

    def world(self) -> Float[np.ndarray, "joints 4 4"]:
        """T_world_joint with all angles at zero: the neutral pose."""
        T_world = self.T_parent_joint.copy()
        for joint, parent in enumerate(self.parents):
            if parent >= 0:
                T_world[joint] = T_world[parent] @ T_world[joint]
            T_world[joint, :3, :3] *= self.scale[joint]
        return T_world


def build_rig(anatomy: Anatomy) -> Rig:
    """The rig of a body in its neutral pose: zero angles are the pose the skin was bound in."""
    body = anatomy.body
    T_world = body.T_world_node[body.nodes]
    local = T_world.copy()
    children = np.flatnonzero(body.parents >= 0)
    local[children] = np.linalg.inv(T_world[body.parents[children]]) @ T_world[children]
    scale = body.scale
    T_parent_joint = local.copy()
    T_parent_joint[:, :3, :3] /= scale[:, None, :]
    unscaled = T_world[:, :3, :3] / scale[:, None, :]
    axes = np.stack([_joint_axes(anatomy, joint, linear) for joint, linear in enumerate(unscaled)])
    root_axes = np.stack([anatomy.up, -anatomy.left, anatomy.forward], axis=1)
    roots = np.flatnonzero(body.parents < 0)
    hips = [hip for root in roots for hip in (body.children[root] if body.mass[root] < 1e-6 else [int(root)])]
    pivot = body.heads[np.array(hips, np.int64) if hips else roots].mean(0)
    return Rig(body.nodes, body.parents, T_parent_joint, scale, axes, root_axes, pivot)


def _joint_axes(anatomy: Anatomy, joint: int, linear: Float[np.ndarray, "3 3"]) -> Float[np.ndarray, "3 3"]:
    """Bend, sway and twist axes in the joint's own space: bend about the body's left, twist along the bone.

    The middle axis of three is singular at 90 degrees, so the large bend comes first. Bones that point sideways (the
    arms of a T-pose) bend about the vertical instead, left and right as mirror images.
    """
    body = anatomy.body
    twist = body.tips[joint] - body.heads[joint]
    if np.linalg.norm(twist) < 1e-9:
        twist = anatomy.up
    twist = twist / np.linalg.norm(twist)
    outward = twist @ anatomy.left
    across = anatomy.left if abs(outward) < 0.8 else anatomy.up * np.sign(outward)
    bend = across - twist * (twist @ across)
    bend /= np.linalg.norm(bend)
    world = np.stack([bend, np.cross(twist, bend), twist], axis=1)
    return right_handed(np.linalg.solve(linear, world))  # armatures may scale unevenly, or mirror the sense of a turn
