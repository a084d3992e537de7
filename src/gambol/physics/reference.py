"""What a ragdoll is to do: a draft as poses of its bones, and back."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gambol.character.rig import Rig
from gambol.motion.draft import Draft, compound_angles, continuous_angles, near_angles
from gambol.motion.kinematics import compound_rotation
from gambol.physics.ragdoll import Ragdoll
from gambol.physics.simulation import quaternions_of

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Reference:
    """Bones frame by frame in the ragdoll's space, as a draft has them. Of what loops, one round, which goes on the
    spot while the ground passes below."""

    x: Float[Tensor, "frames bones 3"]
    """Centres of mass."""
    q: Float[Tensor, "frames bones 4"]
    """Rotations, wxyz."""
    angles: Float[Tensor, "frames bones 3"]
    """About each bone's axes, relative to its parent [rad]; nothing for the root."""
    upwards: Float[Tensor, "frames 3"]
    """Where the root's up points."""
    forwards: Float[Tensor, "frames 3"]
    """Where the root's forward points."""
    ground: Float[Tensor, 3]
    """Velocity of the ground [1/s]."""
    loops: bool
    fps: float

    def __len__(self) -> int:
        return len(self.x)


def refer(ragdoll: Ragdoll, rig: Rig, draft: Draft) -> Reference:
    """A round that leads straight on becomes one on the spot, on a ground that moves backwards."""
    straight = draft.loops and abs(draft.turn) < 1e-3
    ground = np.zeros(3)
    if straight:
        ground = -(ragdoll.T_own_file[:3, :3] @ draft.travel.double().numpy()) / draft.seconds
        ground[1] = 0.0
        draft = draft.on_the_spot()
    rotations, places = _bones(ragdoll, rig, draft)
    relative = rotations.copy()
    hung = np.flatnonzero(ragdoll.parents >= 0)
    relative[:, hung] = _mT(rotations[:, ragdoll.parents[hung]]) @ rotations[:, hung]
    angles = continuous_angles(_mT(ragdoll.axes) @ relative @ ragdoll.axes)
    angles[:, 0] = 0.0
    return Reference(
        _single(places),
        continuous_quaternions(quaternions_of(_single(rotations))),
        _single(angles),
        _single(rotations[:, 0, :, 1]),
        _single(rotations[:, 0, :, 2]),
        _single(ground),
        straight,
        draft.rate,
    )


def _bones(
    ragdoll: Ragdoll, rig: Rig, draft: Draft
) -> tuple[Float[Array, "frames bones 3 3"], Float[Array, "frames bones 3"]]:
    """Rotations from the neutral pose, and centres of mass, in the ragdoll's space."""
    world = draft.world(rig).double().numpy()[:, ragdoll.joints]
    neutral = rig.world()[ragdoll.joints]
    turn = ragdoll.T_own_file[:3, :3] * ragdoll.unit
    from_neutral = world[..., :3, :3] @ np.linalg.pinv(neutral[:, :3, :3])
    u, _, vt = np.linalg.svd(from_neutral)
    u[..., -1] *= np.sign(np.linalg.det(u @ vt))[..., None]
    rotations = turn @ (u @ vt) @ turn.T
    heads = world[..., :3, 3] @ ragdoll.T_own_file[:3, :3].T + ragdoll.T_own_file[:3, 3]
    arms = ragdoll.centers - ragdoll.anchors
    return rotations, heads + np.einsum("fbij,bj->fbi", rotations, arms)


def redraft(
    ragdoll: Ragdoll, rig: Rig, draft: Draft, x: Float[Tensor, "frames bones 3"], q: Float[Tensor, "frames bones 4"]
) -> Draft:
    """The draft with its bones where they are simulated: the root's place, and the rotations of all of them, so that
    joints do not come apart. Joints that are no bones keep the angles they have in the draft."""
    turn = ragdoll.T_own_file[:3, :3] * ragdoll.unit
    simulated = turn.T @ rotation_matrices(q.double()).numpy() @ turn
    axes = _neutral_axes(rig)
    own = compound_rotation(draft.angles.double(), torch.as_tensor(axes)).numpy()
    bone_of = {int(joint): bone for bone, joint in enumerate(ragdoll.joints)}
    bodiless = np.zeros_like(own)  # as if the body had not turned
    for joint, parent in enumerate(rig.parents):
        bodiless[:, joint] = (bodiless[:, parent] if parent >= 0 else np.eye(3)) @ own[:, joint]
    root = int(ragdoll.joints[0])
    body = simulated[:, 0] @ _mT(bodiless[:, root])
    turned, angles = np.zeros_like(own), draft.angles.double().numpy().copy()
    above = set()
    joint = int(rig.parents[root])
    while joint >= 0:
        above.add(joint)
        joint = int(rig.parents[joint])
    for joint, parent in enumerate(rig.parents):
        before = turned[:, parent] if parent >= 0 else body
        if joint in bone_of and joint not in above and joint != root:
            turned[:, joint] = simulated[:, bone_of[joint]]
            relative = _mT(axes[joint]) @ _mT(before) @ turned[:, joint] @ axes[joint]
            angles[:, joint] = near_angles(compound_angles(relative), angles[:, joint])
        else:
            turned[:, joint] = before @ own[:, joint]
    root_angles = near_angles(
        compound_angles(_mT(rig.root_axes) @ body @ rig.root_axes), draft.root_angles.double().numpy()
    )
    changed = replace(draft, angles=_single(angles), root_angles=_single(root_angles))
    wanted = x[:, 0].double().numpy() - np.einsum(
        "fij,j->fi", turn @ simulated[:, 0] @ turn.T, ragdoll.centers[0] - ragdoll.anchors[0]
    )
    wanted = (wanted - ragdoll.T_own_file[:3, 3]) @ np.linalg.inv(ragdoll.T_own_file[:3, :3]).T
    now = changed.world(rig).double().numpy()[:, root, :, 3]
    return replace(changed, root_translation=changed.root_translation + _single(wanted - now))


def _neutral_axes(rig: Rig) -> Float[Array, "joints 3 3"]:
    """Axes of the compound joints in the world, neutral pose."""
    linear = rig.world()[:, :3, :3] / np.where(np.abs(rig.scale) > 1e-12, rig.scale, 1.0)[:, None, :]
    u, _, vt = np.linalg.svd(linear @ rig.axes)
    return u @ vt


def rotation_matrices(q: Float[Tensor, "*batch 4"]) -> Float[Tensor, "*batch 3 3"]:
    """Of unit quaternions, wxyz."""
    w, x, y, z = q.unbind(-1)
    entries = [
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
    ]  # fmt: skip
    return torch.stack(entries, -1).unflatten(-1, (3, 3))


def continuous_quaternions(q: Float[Tensor, "frames bones 4"]) -> Float[Tensor, "frames bones 4"]:
    """Signs chosen so that neighbours in time are close."""
    flips = torch.where((q[1:] * q[:-1]).sum(-1) < 0, -1.0, 1.0)
    return q * torch.cat([torch.ones_like(q[:1, :, 0]), flips.cumprod(0)])[..., None]


def _mT(matrices: Array) -> Array:
    return np.swapaxes(matrices, -1, -2)


def _single(values: Array) -> Tensor:
    return torch.as_tensor(values).float()
