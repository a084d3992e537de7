"""References: a motion of the rig as poses of the ragdoll's bones, and simulated bones as a motion of the rig."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from scipy.spatial.transform import Rotation
from torch import Tensor

from gambol.character.clip import continuous
from gambol.character.rig import Rig
from gambol.character.skeleton import line_up
from gambol.character.transforms import (
    continuous_angles,
    matrix_from_quaternion,
    near_angles,
    nearest_rotation,
    quaternion_from_matrix,
    xyzw_from_wxyz,
)
from gambol.motion.kinematics import compound_rotation
from gambol.motion.rig_motion import RigMotion
from gambol.physics.ragdoll import Ragdoll
from gambol.physics.simulation import rotate


@dataclass(frozen=True, eq=False)
class Reference:
    """Poses of all bones frame by frame, in the ragdoll's space. Of a loop, one cycle in place on a moving ground."""

    x: Float[Tensor, "frames bones 3"]
    """Centres of mass."""
    q: Float[Tensor, "frames bones 4"]
    """Rotations, wxyz."""
    angles: Float[Tensor, "frames bones 3"]
    """Angles about each bone's axes, relative to its parent [rad]; 0 for the root."""
    upwards: Float[Tensor, "frames 3"]
    """Direction of the root's up axis."""
    forwards: Float[Tensor, "frames 3"]
    """Direction of the root's forward axis."""
    ground: Float[Tensor, 3]
    """Velocity of the ground [1/s]."""
    loops: bool
    fps: float

    def __len__(self) -> int:
        return len(self.x)


def reference_of(ragdoll: Ragdoll, rig: Rig, rig_motion: RigMotion) -> Reference:
    """The reference of a motion. A loop that travels straight becomes one in place, on a ground that moves
    backwards."""
    straight = rig_motion.loops and abs(rig_motion.turn) < 1e-3
    ground = np.zeros(3)
    if straight:
        ground = -(ragdoll.T_ragdoll_file[:3, :3] @ rig_motion.travel.double().numpy()) / rig_motion.seconds
        ground[1] = 0.0
        rig_motion = rig_motion.in_place()
    rotations, places = _bones(ragdoll, rig, rig_motion)
    relative = rotations.copy()
    hung = np.flatnonzero(ragdoll.parents >= 0)
    relative[:, hung] = _mT(rotations[:, ragdoll.parents[hung]]) @ rotations[:, hung]
    angles = continuous_angles(_mT(ragdoll.axes) @ relative @ ragdoll.axes)
    angles[:, 0] = 0.0
    return Reference(
        _single(places),
        _single(continuous(quaternion_from_matrix(rotations))),
        _single(angles),
        _single(rotations[:, 0, :, 1]),
        _single(rotations[:, 0, :, 2]),
        _single(ground),
        straight,
        rig_motion.fps,
    )


def _bones(
    ragdoll: Ragdoll, rig: Rig, rig_motion: RigMotion
) -> tuple[Float[np.ndarray, "frames bones 3 3"], Float[np.ndarray, "frames bones 3"]]:
    """Rotations from the neutral pose, and centres of mass, in the ragdoll's space."""
    world = rig_motion.world(rig).double().numpy()[:, ragdoll.joints]
    neutral = rig.world()[ragdoll.joints]
    turn = ragdoll.T_ragdoll_file[:3, :3] * ragdoll.unit
    from_neutral = world[..., :3, :3] @ np.linalg.pinv(neutral[:, :3, :3])
    rotations = turn @ nearest_rotation(from_neutral) @ turn.T
    heads = world[..., :3, 3] @ ragdoll.T_ragdoll_file[:3, :3].T + ragdoll.T_ragdoll_file[:3, 3]
    arms = ragdoll.centers - ragdoll.anchors
    return rotations, heads + np.einsum("fbij,bj->fbi", rotations, arms)


def rig_motion_from_bones(
    ragdoll: Ragdoll,
    rig: Rig,
    rig_motion: RigMotion,
    x: Float[Tensor, "frames bones 3"],
    q: Float[Tensor, "frames bones 4"],
) -> RigMotion:
    """The motion with the root's position and all bones' rotations as simulated. Small gaps that the simulation leaves
    in the joints are closed; joints that are not simulated keep their angles."""
    turn = ragdoll.T_ragdoll_file[:3, :3] * ragdoll.unit
    simulated = turn.T @ matrix_from_quaternion(q.double().numpy()) @ turn
    axes = _neutral_axes(rig)
    own = compound_rotation(rig_motion.angles.double(), torch.as_tensor(axes)).numpy()
    bone_of = {int(joint): bone for bone, joint in enumerate(ragdoll.joints)}
    bodiless = np.zeros_like(own)  # as if the body had not turned
    for joint, parent in enumerate(rig.parents):
        bodiless[:, joint] = (bodiless[:, parent] if parent >= 0 else np.eye(3)) @ own[:, joint]
    root = int(ragdoll.joints[0])
    body = simulated[:, 0] @ _mT(bodiless[:, root])
    turned, angles = np.zeros_like(own), rig_motion.angles.double().numpy().copy()
    above = set(line_up(rig.parents, root))
    for joint, parent in enumerate(rig.parents):
        before = turned[:, parent] if parent >= 0 else body
        if joint in bone_of and joint not in above:
            turned[:, joint] = simulated[:, bone_of[joint]]
            relative = _mT(axes[joint]) @ _mT(before) @ turned[:, joint] @ axes[joint]
            angles[:, joint] = near_angles(relative, angles[:, joint])
        else:
            turned[:, joint] = before @ own[:, joint]
    root_angles = near_angles(_mT(rig.root_axes) @ body @ rig.root_axes, rig_motion.root_angles.double().numpy())
    changed = replace(rig_motion, angles=_single(angles), root_angles=_single(root_angles))
    wanted = x[:, 0].double().numpy() - np.einsum(
        "fij,j->fi", turn @ simulated[:, 0] @ turn.T, ragdoll.centers[0] - ragdoll.anchors[0]
    )
    wanted = (wanted - ragdoll.T_ragdoll_file[:3, 3]) @ np.linalg.inv(ragdoll.T_ragdoll_file[:3, :3]).T
    now = changed.world(rig).double().numpy()[:, root, :, 3]
    return replace(changed, root_translation=changed.root_translation + _single(wanted - now))


def _neutral_axes(rig: Rig) -> Float[np.ndarray, "joints 3 3"]:
    """Axes of the compound joints in the world, neutral pose."""
    linear = rig.world()[:, :3, :3] / np.where(np.abs(rig.scale) > 1e-12, rig.scale, 1.0)[:, None, :]
    u, _, vt = np.linalg.svd(linear @ rig.axes)
    return u @ vt


def _mT(matrices: np.ndarray) -> np.ndarray:
    return np.swapaxes(matrices, -1, -2)


def _single(values: np.ndarray) -> Tensor:
    return torch.as_tensor(values).float()


def start_rates(reference: Reference, velocities: Float[Tensor, "velocities rates"]) -> Float[Tensor, " rates"]:
    """Velocity of the root and angular velocities of the joints at the start of a reference [1/s, rad/s].

    velocities: their map to the velocities of all bones, see `velocity_map`; a least-squares fit, since the bones of a
    clip may stretch.
    """
    x, q, fps = reference.x, reference.q, reference.fps
    v = (x[1] - x[0]) * fps if len(reference) > 1 else torch.zeros_like(x[0])
    first, then = (Rotation.from_quat(xyzw_from_wxyz(q[i].numpy())) for i in (0, min(1, len(reference) - 1)))
    w = _single((then * first.inv()).as_rotvec()) * fps
    both = torch.cat([v, w], 1).flatten().double()
    return torch.linalg.lstsq(velocities.double(), both[:, None]).solution[:, 0].float()


def velocity_map(ragdoll: Ragdoll, q: Float[Tensor, "worlds bones 4"]) -> Float[Tensor, "worlds velocities rates"]:
    """Jacobian of the bones' velocities by the velocities of the root and of the joints ("rates"), at given rotations.

    Whatever the rates, joints do not come apart. The first 3 are the root's velocity; then come the angular velocities
    of the root and of every joint. Velocities: 3 linear and 3 angular ones for each bone.
    """
    count = len(ragdoll)
    maps = []
    for turn in q:
        arms = rotate(turn, torch.as_tensor(ragdoll.anchors - ragdoll.centers).float())
        v = torch.zeros(count, 3, 3 + 3 * count)
        w = torch.zeros(count, 3, 3 + 3 * count)
        for bone, parent in enumerate(ragdoll.parents):
            w[bone, :, 3 + 3 * bone : 6 + 3 * bone] = torch.eye(3)
            if parent < 0:
                v[bone, :, :3] = torch.eye(3)
                continue
            w[bone] += w[parent]
            local = torch.as_tensor(ragdoll.anchors[bone] - ragdoll.centers[parent]).float()
            above = rotate(turn[parent], local)
            turning = torch.linalg.cross(arms[bone, :, None], w[bone], dim=0)
            v[bone] = v[parent] - torch.linalg.cross(above[:, None], w[parent], dim=0) + turning
        maps.append(torch.cat([v, w], 1).flatten(0, 1))
    return torch.stack(maps)
