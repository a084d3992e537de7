"""Mirror images of poses: what the left side did, the right side does."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from gambol.character.anatomy import Anatomy

Array = np.ndarray

LOPSIDED = 0.05
"""Mean distance of joints from the mirror image of their partners, in body sizes, above which nothing is mirrored."""


def reflection(anatomy: Anatomy) -> Float[Array, "3 3"]:
    """In the plane between left and right."""
    return np.eye(3) - 2 * np.outer(anatomy.left, anatomy.left)


def mirrored_poses(poses: Float[Array, "frames joints 4 4"], anatomy: Anatomy) -> Array | None:
    """Turns away from the neutral pose are mirrored, and the bones hung together again from the root outwards."""
    body, partners, mirror = anatomy.body, anatomy.partners, reflection(anatomy)
    rooted = body.parents >= 0
    if (partners < 0).any() or (body.parents[partners[rooted]] != partners[body.parents[rooted]]).any():
        return None
    images = body.heads @ mirror
    offset = (body.heads[partners] - images).mean(0)
    if np.linalg.norm(body.heads[partners] - images - offset, axis=1).mean() > LOPSIDED * body.size:
        return None
    neutral = body.T_world_node[body.nodes][:, :3, :3]
    turns = poses[..., :3, :3] @ np.linalg.inv(neutral)
    found = np.zeros_like(poses)
    found[..., 3, 3] = 1.0
    found[:, partners, :3, :3] = mirror @ turns @ mirror @ neutral[partners]
    for joint, parent in enumerate(body.parents):
        image = partners[joint]
        if parent < 0:
            found[:, image, :3, 3] = body.heads[image] + (poses[:, joint, :3, 3] - body.heads[joint]) @ mirror
            continue
        carried = np.einsum("fij,j->fi", turns[:, parent], body.heads[joint] - body.heads[parent])
        stretched = poses[:, joint, :3, 3] - poses[:, parent, :3, 3] - carried
        bone = body.heads[image] - body.heads[partners[parent]]
        carried = np.einsum("fij,j->fi", mirror @ turns[:, parent] @ mirror, bone)
        found[:, image, :3, 3] = found[:, partners[parent], :3, 3] + carried + stretched @ mirror
    return found
