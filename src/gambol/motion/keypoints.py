"""The eighteen points of a person that OpenPose and DWPose find in pictures, as points that move with joints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.motion.humanoid import NotAPersonError, humanoid_bones

KEYPOINTS = (
    *("nose", "neck"),
    *("right shoulder", "right elbow", "right wrist", "left shoulder", "left elbow", "left wrist"),
    *("right hip", "right knee", "right ankle", "left hip", "left knee", "left ankle"),
    *("right eye", "left eye", "right ear", "left ear"),
)
"""In OpenPose's order."""
BONES = {"shoulder": "UpperArm", "elbow": "LowerArm", "wrist": "Hand", "hip": "UpperLeg", "knee": "LowerLeg"}
BONES |= {"ankle": "Foot"}
"""The bone of a humanoid that begins at a point; the neck is between the shoulders, as in COCO."""
FACE = {
    "nose": (0.0, 0.33, 1.0),
    "left eye": (0.35, 0.5, 0.85),
    "left ear": (1.0, 0.45, 0.0),
}
"""Places in the box of a head: to the left and forward from its middle [half its size], and up from its chin [its
height]. Those of a person; the right is the mirror image."""
HEAD = (0.02, 0.98)
"""Quantiles of the head's skin that are the sides of its box, so that single hairs do not count."""
FEWEST = 8
"""Fewest vertices that a box is told from."""
HIDDEN = -0.1
"""A point of the face is behind the head if the cosine between its direction and that to the camera is less."""


@dataclass(frozen=True, eq=False)
class Keypoints:
    """Where the points of a person are on a rig."""

    joints: Int[Tensor, " points"]
    """The joint that moves each point."""
    offsets: Float[Tensor, "points 3"]
    """Each point in the space of its joint."""
    outwards: Float[Tensor, "points 3"]
    """From the middle of the head to each point of the face, in the same space, of length 1; 0 of other points."""

    def points(self, T_world_joint: Float[Tensor, "frames joints 3 4"]) -> Float[Tensor, "frames points 3"]:
        """Where they are in poses [file units]; the neck is between the shoulders."""
        T = T_world_joint[:, self.joints]
        found = (T[..., :3] @ self.offsets.to(T)[..., None])[..., 0] + T[..., 3]
        shoulders = found[:, [KEYPOINTS.index("left shoulder"), KEYPOINTS.index("right shoulder")]]
        found[:, KEYPOINTS.index("neck")] = shoulders.mean(1)
        return found

    def seen(
        self,
        T_world_joint: Float[Tensor, "frames joints 3 4"],
        points: Float[Tensor, "frames points 3"],
        eyes: Float[Tensor, "frames 3"],
    ) -> Bool[Tensor, "frames points"]:
        """Which points cameras see: all but those of the face that are behind the head. Detectors also find what other
        parts of the body hide. eyes: where the cameras are."""
        rotations = T_world_joint[:, self.joints, :, :3]
        ways = torch.nn.functional.normalize((rotations @ self.outwards.to(rotations)[..., None])[..., 0], dim=-1)
        to_eye = torch.nn.functional.normalize(eyes[:, None].to(points) - points, dim=-1)
        return (ways * to_eye).sum(-1) >= HIDDEN


def find_keypoints(character: Character, anatomy: Anatomy) -> Keypoints:
    """The points of a character; NotAPersonError if it has not a head, two arms and two legs."""
    bones, _ = humanoid_bones(character, anatomy)
    joint_of = {int(node): joint for joint, node in enumerate(anatomy.body.nodes)}
    head = _joint(bones["head"].node, character, joint_of)
    face, middle = _face(anatomy, head)
    joints, places, outwards = [], [], np.zeros((len(KEYPOINTS), 3))
    for number, name in enumerate(KEYPOINTS):
        side, _, part = name.rpartition(" ")
        if name in face:
            joints.append(head)
            places.append(face[name])
            outwards[number] = face[name] - middle
        elif part in BONES:
            bone = bones[side + BONES[part]]
            joints.append(_joint(bone.node, character, joint_of))
            places.append(bone.head)
        else:  # the neck, which is told by other points
            joints.append(head)
            places.append(middle)
    neutral = anatomy.body.T_world_node[anatomy.body.nodes[joints]]
    local = np.linalg.solve(neutral[:, :3, :3], np.stack([np.array(places) - neutral[:, :3, 3], outwards], -1))
    return Keypoints(
        torch.tensor(joints), torch.as_tensor(local[..., 0]).float(), torch.as_tensor(local[..., 1]).float()
    )


def _joint(node: int, character: Character, joint_of: dict[int, int]) -> int:
    """The joint that moves a node: its own, or the nearest above it."""
    while node >= 0 and node not in joint_of:
        node = int(character.skeleton.parents[node])
    if node < 0:
        raise NotAPersonError(f"no joint of '{character.name}' moves one of its bones")
    return joint_of[node]


def _face(anatomy: Anatomy, head: int) -> tuple[dict[str, Float[np.ndarray, 3]], Float[np.ndarray, 3]]:
    """Points of the face in the neutral pose, by the box of the head's skin, and the middle of the box [file units]."""
    body, axes = anatomy.body, np.stack([anatomy.left, anatomy.up, anatomy.forward], 1)
    points = body.vertices[body.owners == head]
    if len(points) < FEWEST:
        points = body.vertices[np.isin(body.owners, body.subtree(head))]
    if len(points) < FEWEST:
        bone = body.tips[head] - body.heads[head]
        points = body.heads[head] + _corners(float(np.linalg.norm(bone))) @ axes.T + bone / 2
    low, high = np.quantile(points @ axes, HEAD, axis=0)
    middle, half = (low + high) / 2, (high - low) / 2
    found = {}
    for name, (left, up, forward) in FACE.items():
        sides = {"left": 1, "right": -1} if name.startswith("left") else {"": 1}
        for side, sign in sides.items():
            place = middle + half * np.array([sign * left, 2 * up - 1, forward])
            found[f"{side} {name.split()[-1]}".strip()] = axes @ place
    return found, axes @ middle


def _corners(size: float) -> Float[np.ndarray, "corners 3"]:
    """Corners of a cube about the origin."""
    return size / 2 * (2.0 * np.indices((2, 2, 2)).reshape(3, -1).T - 1)
