"""Tracks of body parts: a motion as rotations at the stations of chains, with the path of the body, for any rig.

`tracks_of_poses` reads them from world transforms of a rig's joints, `poses_of_tracks` writes them onto a rig, the same
or another; both are differentiable but for slides, and on the same rig one undoes the other but for what the stations
do not hold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.character.rig import Rig
from gambol.character.transforms import nearest_rotation
from gambol.motion.chains import Chains
from gambol.motion.rig_motion import RigMotion, rig_motion_of_poses
from gambol.motion.slides import slides_of_ways, ways_of_slides

SQUASHED = 1e-3
"""Joints whose axes are off by more from those of a scaled rotation have no rotation but a nearest one."""
Rotations = Float[Tensor, "*batch 3 3"]


@dataclass(frozen=True, eq=False)
class BodyTracks:
    """A motion of chains, seen from the heading of the body. Lengths are in leg lengths."""

    rotations: Float[Tensor, "frames chains stations 3 3"]
    """Rotation of each station from the canonical rest pose, in body axes: left, up, forward."""
    height: Float[Tensor, " frames"]
    """Height of the anchor above where it is in the canonical rest pose."""
    path: Float[Tensor, "frames 2"]
    """Displacement of the anchor to the left and forward."""
    contacts: Float[Tensor, "frames chains"]
    """1 where a leg's foot is on the ground, else 0."""
    seconds: float
    """Duration; of a loop until its first frame comes again, else from the first frame to the last [s]."""
    loops: bool
    travel: Float[Tensor, 2]
    """Displacement in one cycle of a loop, to the left and forward; `path` contains it."""
    turn: float = 0.0
    """Angle by which one cycle of a loop turns the body to its left [rad]. `rotations` and `path` are those of a body
    that does not turn."""
    slides: Float[Tensor, "frames chains stations 3"] | None = None
    """How far each station is from where the bones above hold it, in its own axes (`gambol.motion.slides`): zero for
    bones that only turn. None if that is not known, as of what a prior samples."""

    def __len__(self) -> int:
        return len(self.rotations)

    @property
    def fps(self) -> float:
        return (len(self) if self.loops else max(len(self) - 1, 1)) / self.seconds

    def shifted(self, way: Float[Tensor, 2]) -> BodyTracks:
        """The motion that many leg lengths farther to the left and forward."""
        return replace(self, path=self.path + way)

    def mirrored(self, chains: Chains) -> BodyTracks:
        """The mirror image: left does what right did."""
        partners = torch.as_tensor(chains.partners)
        flip = torch.tensor([-1.0, 1.0, 1.0])
        sideways = torch.tensor([-1.0, 1.0])
        return replace(
            self,
            rotations=(flip[:, None] * self.rotations * flip)[:, partners],
            path=self.path * sideways,
            contacts=self.contacts[:, partners],
            travel=self.travel * sideways,
            turn=-self.turn,
            slides=None if self.slides is None else (flip * self.slides)[:, partners],
        )

    def curving(self, turn: float) -> BodyTracks:
        """The motion along an arc instead of a line. turn: of one cycle, to the left [rad]."""
        share = torch.arange(len(self), dtype=self.path.dtype) / (len(self) if self.loops else max(len(self) - 1, 1))
        after = self.path[:1] + self.travel if self.loops else self.path[-1:]
        steps = torch.diff(torch.cat([self.path, after]), dim=0)
        middle = _in_plane(turn * (share + 0.5 / len(self)))
        way = torch.cumsum((middle @ steps[..., None])[..., 0], 0)
        ahead = torch.cat([torch.zeros_like(way[:1]), way])
        back = _in_plane(-turn * torch.cat([share, torch.ones(1, dtype=share.dtype)]))
        path = self.path[:1] + (back @ ahead[..., None])[..., 0]
        travel = path[-1] - path[0] if self.loops else self.travel
        return replace(self, path=path[:-1], travel=travel, turn=self.turn + turn)

    def repeated(self, cycles: int) -> BodyTracks:
        """Several cycles of a loop as one cycle."""
        if cycles == 1:
            return self
        if not self.loops:
            raise ValueError("only a loop can be repeated")
        path = torch.cat([self.path + number * self.travel for number in range(cycles)])
        return replace(
            self,
            rotations=self.rotations.repeat(cycles, 1, 1, 1, 1),
            height=self.height.repeat(cycles),
            path=path,
            contacts=self.contacts.repeat(cycles, 1),
            slides=None if self.slides is None else self.slides.repeat(cycles, 1, 1, 1),
            seconds=cycles * self.seconds,
            travel=cycles * self.travel,
            turn=cycles * self.turn,
        )

    def backwards(self) -> BodyTracks:
        """The same played backwards: who walked ahead walks back. A loop still begins with its first frame."""

        def back(values: Tensor) -> Tensor:
            return values.flip(0).roll(1, 0) if self.loops else values.flip(0)

        path = back(self.path)
        if self.loops:
            path = torch.cat([path[:1], path[1:] - self.travel])
        return replace(
            self,
            rotations=back(self.rotations),
            height=back(self.height),
            path=path - path[:1] + self.path[:1],
            contacts=back(self.contacts),
            travel=-self.travel,
            turn=-self.turn,
            slides=None if self.slides is None else back(self.slides),
        )


def orthonormal(columns: Float[Tensor, "*batch 3 2"]) -> Rotations:
    """Rotations from two columns by Gram-Schmidt (Zhou et al. 2019)."""
    a = torch.nn.functional.normalize(columns[..., 0], dim=-1)
    b = columns[..., 1] - (a * columns[..., 1]).sum(-1, keepdim=True) * a
    b = torch.nn.functional.normalize(b, dim=-1)
    return torch.stack([a, b, torch.linalg.cross(a, b)], -1)


def blended(weights: Float[Tensor, "wanted given"], rotations: Float[Tensor, "frames given 3 3"]) -> Rotations:
    """Rotations between rotations: the weighted sum, made orthonormal."""
    mixed = torch.einsum("wg,fgij->fwij", weights, rotations)
    return orthonormal(mixed[..., :2])


def heading_of(chains: Chains, T_world_joint: Float[Tensor, "frames joints 3 4"]) -> float:
    """Mean angle by which the first station of the trunk has turned to the left [rad]."""
    forward = station_rotations(chains, T_world_joint, 0.0)[:, 0, 0, :, 2].mean(0)
    return float(torch.atan2(forward[0], forward[2]))


def turns_of_poses(
    chains: Chains, T_world_joint: Float[Tensor, "frames joints 3 4"], joints: Int[np.ndarray, " chosen"] | None = None
) -> Float[Tensor, "frames chosen 3 3"]:
    """Rotation of each joint, or of some, from the neutral pose, in the world. Of a joint that is squashed, also to
    nothing, it is the nearest one, and not differentiable."""
    body = chains.anatomy.body
    joints = np.arange(len(body)) if joints is None else joints
    rest = np.linalg.inv(body.T_world_node[body.nodes[joints]][:, :3, :3])
    matrices = T_world_joint[:, joints, :, :3] @ torch.as_tensor(rest, dtype=T_world_joint.dtype)
    turns = orthonormal(matrices[..., :2])
    scale = matrices.detach().norm(dim=(-2, -1), keepdim=True) / 3**0.5
    squashed = ((matrices - scale * turns).norm(dim=(-2, -1)) >= SQUASHED * scale[..., 0, 0]).detach()
    if squashed.any():
        nearest = nearest_rotation(matrices.detach()[squashed].double().numpy())
        turns = turns.masked_scatter(squashed[..., None, None], torch.as_tensor(nearest, dtype=turns.dtype))
    return turns


def station_rotations(
    chains: Chains, T_world_joint: Float[Tensor, "frames joints 3 4"], heading: float | Float[Tensor, " frames"]
) -> Float[Tensor, "frames chains stations 3 3"]:
    """Rotations of all stations, seen from a heading [rad]."""
    dtype = T_world_joint.dtype
    axes = torch.as_tensor(chains.axes, dtype=dtype)
    heading = torch.as_tensor(heading, dtype=dtype).expand(len(T_world_joint))
    seen = _about_up(-heading)[:, None] @ (axes.T @ turns_of_poses(chains, T_world_joint) @ axes)
    seen = seen @ torch.as_tensor(chains.canonical, dtype=dtype)
    found = blended(torch.as_tensor(chains.from_joints, dtype=dtype), seen)
    return found.unflatten(1, (len(chains.chains), -1))


def anchor_path(chains: Chains, T_world_joint: Float[Tensor, "frames joints 3 4"]) -> Float[Tensor, "frames 3"]:
    """Position of the anchor [file units, world]. Its points turn with the joints, and do not stretch with them."""
    dtype, joints = T_world_joint.dtype, np.flatnonzero(chains.anchor_weights)
    weights = torch.as_tensor(chains.anchor_weights[joints], dtype=dtype)
    ways = torch.as_tensor((chains.anchor_points - chains.anatomy.body.heads)[joints], dtype=dtype)
    turned = turns_of_poses(chains, T_world_joint, joints) @ ways[..., None]
    return weights @ (T_world_joint[:, joints, :, 3] + turned[..., 0])


def tracks_of_poses(
    chains: Chains,
    T_world_joint: Float[Tensor, "frames joints 3 4"],
    seconds: float,
    loops: bool,
    travel: Float[np.ndarray, 3] | None = None,
    turn: float = 0.0,
    contacts: Float[Tensor, "frames legs"] | None = None,
    heading: float | None = None,
    slides: bool = True,
) -> BodyTracks:
    """The tracks of poses of the same rig.

    heading: from which they are seen [rad]; by default that of the trunk on average. travel: displacement of one cycle
    of a loop [file units, world], contained in the poses. turn: of one cycle [rad], not contained in them.
    contacts: 1 where a leg's foot is on the ground. slides: read them, too, without gradients; who only needs
    rotations saves the time.
    """
    dtype = T_world_joint.dtype
    heading = heading_of(chains, T_world_joint.detach()) if heading is None else heading
    axes = torch.as_tensor(chains.axes, dtype=dtype) @ _about_up(torch.tensor([heading], dtype=dtype))[0]
    anchor = anchor_path(chains, T_world_joint)
    above = anchor @ torch.as_tensor(chains.anatomy.up, dtype=dtype) - chains.anatomy.ground
    height = (above - chains.rest_height) / chains.unit
    path = (anchor - torch.as_tensor(chains.anchor, dtype=dtype)) @ axes[:, [0, 2]] / chains.unit
    way = torch.zeros(3, dtype=dtype) if travel is None else torch.as_tensor(travel, dtype=dtype)
    down = torch.zeros(len(T_world_joint), len(chains.chains), dtype=dtype)
    if contacts is not None:
        down[:, chains.legs] = contacts.to(dtype)
    rotations = station_rotations(chains, T_world_joint, heading)
    cycle = way @ axes[:, [0, 2]] / chains.unit
    tracks = BodyTracks(rotations, height, path, down, seconds, loops, cycle, turn)
    return replace(tracks, slides=_slides(chains, tracks, T_world_joint, axes)) if slides else tracks


@torch.no_grad()
def _slides(
    chains: Chains,
    tracks: BodyTracks,
    T_world_joint: Float[Tensor, "frames joints 3 4"],
    axes: Float[Tensor, "3 3"],
) -> Float[Tensor, "frames chains stations 3"]:
    """What the poses have beyond what the tracks say. axes: left, up, forward of the heading of the tracks."""
    plain = poses_of_tracks(chains, tracks)[..., 3] @ torch.as_tensor(chains.axes, dtype=axes.dtype)
    return slides_of_ways(chains, T_world_joint[..., 3] @ axes - plain, _joint_rotations(chains, tracks))


def _joint_rotations(chains: Chains, tracks: BodyTracks) -> Float[Tensor, "frames joints 3 3"]:
    """Rotations of all joints from the canonical rest pose, in body axes."""
    to_joints = torch.as_tensor(chains.to_joints, dtype=tracks.rotations.dtype)
    return blended(to_joints, tracks.rotations.flatten(1, 2))


def poses_of_tracks(chains: Chains, tracks: BodyTracks) -> Float[Tensor, "frames joints 3 4"]:
    """T_world_joint of a rig that moves as the tracks say, heading forward [file units]."""
    dtype, body = tracks.rotations.dtype, chains.anatomy.body
    axes = torch.as_tensor(chains.axes, dtype=dtype)
    rest = torch.as_tensor(body.T_world_node[body.nodes], dtype=dtype)
    own = _joint_rotations(chains, tracks)
    turned = axes @ (own @ torch.as_tensor(chains.canonical, dtype=dtype).mT) @ axes.T
    slid = torch.zeros_like(turned[..., 0])
    if tracks.slides is not None:
        slid = ways_of_slides(chains, tracks.slides, own) @ axes.T
    heads: list[Tensor] = []
    offsets = rest[:, :3, 3]
    parents = body.parents.copy()
    if not chains.legs:  # all roots of a body in several pieces go with the first one; feet of others may be roots
        first = int(np.flatnonzero(parents < 0)[0])
        parents[(parents < 0) & (np.arange(len(parents)) != first)] = first
    for joint, parent in enumerate(parents):
        if parent < 0:
            heads.append(offsets[joint] + slid[:, joint])
        else:
            heads.append(heads[parent] + turned[:, parent] @ (offsets[joint] - offsets[parent]) + slid[:, joint])
    poses = torch.cat([turned @ rest[:, :3, :3], torch.stack(heads, 1)[..., None]], -1)
    wanted = torch.as_tensor(chains.anchor, dtype=dtype) + chains.unit * tracks.path @ axes[:, [0, 2]].T
    rise = chains.lift + chains.unit * tracks.height
    wanted = wanted + rise[:, None] * axes[:, 1]
    shift = wanted - anchor_path(chains, poses)
    return torch.cat([poses[..., :3], poses[..., 3:] + shift[:, None, :, None]], -1)


def _about_up(angles: Float[Tensor, " frames"]) -> Float[Tensor, "frames 3 3"]:
    """Turns to the left [rad] in body axes: left, up, forward."""
    sin, cos, zero = angles.sin(), angles.cos(), torch.zeros_like(angles)
    rows = [cos, zero, sin, zero, zero + 1, zero, -sin, zero, cos]
    return torch.stack(rows, -1).unflatten(-1, (3, 3))


def _in_plane(angles: Float[Tensor, " frames"]) -> Float[Tensor, "frames 2 2"]:
    """Turns to the left [rad] of ways to the left and forward."""
    return _about_up(angles)[:, [0, 2]][:, :, [0, 2]]


def closed(tracks: BodyTracks) -> BodyTracks:
    """A loop with the first frame of its next cycle at its end, as a motion that does not loop."""
    if not tracks.loops:
        return tracks
    return replace(
        tracks,
        rotations=torch.cat([tracks.rotations, tracks.rotations[:1]]),
        height=torch.cat([tracks.height, tracks.height[:1]]),
        path=torch.cat([tracks.path, tracks.path[:1] + tracks.travel]),
        contacts=torch.cat([tracks.contacts, tracks.contacts[:1]]),
        slides=None if tracks.slides is None else torch.cat([tracks.slides, tracks.slides[:1]]),
        loops=False,
    )


def rig_motion_of_tracks(chains: Chains, rig: Rig, tracks: BodyTracks, heading: float = 0.0) -> RigMotion:
    """The motion of a rig that tracks mean, in closed form, its bones not stretched. heading: to which it sets out, to
    the left [rad]."""
    poses = poses_of_tracks(chains, closed(replace(tracks, slides=None))).double()
    if tracks.turn or heading:
        share = torch.arange(len(poses), dtype=torch.float64) / max(len(poses) - 1, 1)
        axes = torch.as_tensor(chains.axes)
        about = axes @ _about_up(heading + share * tracks.turn) @ axes.T
        center = torch.as_tensor(chains.anchor)
        heads = (about[:, None] @ (poses[..., 3] - center)[..., None]) + center[:, None]
        poses = torch.cat([about[:, None] @ poses[..., :3], heads], -1)
    whole = np.concatenate([poses.numpy(), np.broadcast_to([0.0, 0.0, 0.0, 1.0], (*poses.shape[:2], 1, 4))], 2)
    motion = rig_motion_of_poses(rig, whole, tracks.seconds, tracks.loops)
    return replace(motion, contacts=tracks.contacts[:, chains.legs].detach().float().round())
