"""Fitting: joint angles with which a character's figure moves as in given videos."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from gambol.character.anatomy import Anatomy
from gambol.character.rig import Rig, build_rig
from gambol.motion.inverse_kinematics import folding_chain
from gambol.motion.kinematics import Kinematics
from gambol.priors.pocket.look import Figure, film
from gambol.render.cameras import Cameras

Array = np.ndarray


@dataclass(frozen=True)
class Shots:
    """Videos of one motion, filmed in place by several cameras that stand still."""

    videos: Float[Tensor, "views frames size size 3"]
    """sRGB"""
    cameras: Cameras
    """One for each view."""
    halves: Float[Tensor, " views"]
    """Half the side of each picture at the character's middle (`look.aim`) [file units]."""


@dataclass(frozen=True)
class FitConfig:
    """How to fit."""

    steps: int = 120
    views: int = 2
    """Looked at in a step, by turns."""
    rate: float = 0.03
    """Of Adam: about how far an angle moves in a step [rad]."""
    harmonics: int = 6
    """Of angles over a cycle that loops."""
    scales: int = 4
    """Sizes at which pictures are compared, each half the one before."""
    coarse: float = 2.0
    centroid: float = 0.5
    """Weight of the places of limbs against that of pixels."""
    rest: float = 1e-5
    """Weight of the pull to the pose at rest [per rad^2]."""
    smooth: float = 1e-5
    fold: bool = True
    axes: tuple = (1.0, 0.6, 0.4)
    limits: float = 1.0
    ground: float = 10.0


@dataclass(frozen=True)
class Fit:
    """A motion that looks like the videos."""

    T_world_joint: Float[Array, "frames joints 4 4"]
    """In place [file units]."""
    angles: Float[Array, "frames joints 3"]
    """About the axes of the rig [rad]."""
    root_translation: Float[Array, "frames 3"]
    root_angles: Float[Array, "frames 3"]
    losses: tuple[float, ...]
    """Step by step."""


class Curves(torch.nn.Module):
    """Numbers over time: a mean and harmonics if they loop, else a value for every frame."""

    def __init__(self, frames: int, channels: int, harmonics: int, loops: bool):
        super().__init__()
        cycles = torch.arange(frames) / frames
        if loops:
            angles = 2 * torch.pi * cycles[:, None] * torch.arange(1, harmonics + 1)
            falling = 1 / torch.arange(1, harmonics + 1)
            basis = torch.cat([torch.ones(frames, 1), angles.cos() * falling, angles.sin() * falling], 1)
        else:
            basis = torch.eye(frames)
        self.register_buffer("basis", basis)
        self.weights = torch.nn.Parameter(torch.zeros(basis.shape[1], channels))

    def forward(self) -> Float[Tensor, "frames channels"]:
        return self.basis @ self.weights


def fit_motion(
    anatomy: Anatomy,
    figure: Figure,
    shots: Shots,
    *,
    loops: bool = True,
    config: FitConfig = FitConfig(),
    seed: int = 0,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Fit:
    frames = shots.videos.shape[1]
    rig = build_rig(anatomy)
    kinematics = Kinematics(rig)
    moving = torch.as_tensor(moving_joints(anatomy, figure))
    joints = Curves(frames, 3 * len(moving), config.harmonics, loops)
    folds = Folds.find(anatomy, rig)
    folding = Curves(frames, len(folds), config.harmonics, loops)
    axis_scale = torch.tensor(config.axes)
    root = Curves(frames, 6, config.harmonics, loops)
    drift = torch.nn.Parameter(torch.zeros(1))
    unit = torch.tensor([figure.leg] * 3 + [1.0] * 3)
    optimizer = torch.optim.Adam([*joints.parameters(), *folding.parameters(), *root.parameters(), drift], lr=config.rate, betas=(0.9, 0.98))
    knees = Knees.find(anatomy)
    soles = Soles.find(anatomy)
    colors = torch.tensor(figure.colors, dtype=torch.float32)
    widths = torch.tensor(figure.widths, dtype=torch.float32) * shots.halves[:, None]
    pyramid = pyramid_of(shots.videos.flatten(0, 1), config.scales)
    parts = part_colors(figure)
    places = places_of(shots.videos.flatten(0, 1), parts)
    order = view_order(len(shots.videos), config, seed)
    losses = []
    time_left = torch.arange(frames) / frames

    def pose():
        own = torch.zeros(frames, len(anatomy.body), 3).index_add(1, moving, joints().unflatten(1, (-1, 3)) * axis_scale)
        angles = own + torch.einsum("fl,lja->fja", folding(), folds) if config.fold else own
        body = root() * unit
        turn = body[:, 3:] + functional.pad((drift * time_left)[:, None], (0, 2))
        return angles, body[:, :3], turn, own

    for step in range(config.steps):
        share = step / config.steps
        optimizer.param_groups[0]["lr"] = config.rate * min(1.0, (step + 1) / 5) * (0.05 + 0.95 * (1 + np.cos(np.pi * share)) / 2)
        views = order[step]
        angles, shift, turn, own = pose()
        T_world_joint = kinematics(angles, shift, turn)
        points = figure.points(T_world_joint)
        many = points.repeat(len(views), 1, 1, 1)
        index = torch.as_tensor(views).repeat_interleave(frames)
        pictures = film(many, colors, widths[index], shots.cameras[index]).unflatten(0, (len(views), frames))
        loss = torch.zeros(())
        for level, (ours, theirs) in enumerate(zip(pyramid_of(pictures.flatten(0, 1), config.scales), pyramid, strict=True)):
            loss = loss + (ours - theirs[index * frames + torch.arange(frames).repeat(len(views))]).square().mean() / config.scales * config.coarse**level
        if config.centroid:
            picked = index * frames + torch.arange(frames).repeat(len(views))
            loss = loss + config.centroid * places_loss(places_of(pictures.flatten(0, 1), parts), (places[0][picked], places[1][picked]))
        loss = loss + config.rest * (own / axis_scale).square().sum() / frames
        loss = loss + config.limits * knees.loss(T_world_joint)
        loss = loss + config.ground * soles.loss(T_world_joint, anatomy, figure.leg)
        speeds = torch.roll(angles, -1, 0) - angles if loops else torch.diff(angles, dim=0)
        loss = loss + config.smooth * speeds.square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        on_progress(step + 1, config.steps)
    with torch.no_grad():
        angles, shift, turn, own = pose()
        T = kinematics.__call__(angles, shift, turn)
    T_world_joint = np.zeros((frames, len(anatomy.body), 4, 4))
    T_world_joint[..., :3, :], T_world_joint[..., 3, 3] = T.numpy(), 1.0
    return Fit(T_world_joint, angles.numpy(), shift.numpy(), turn.numpy(), tuple(losses))


def moving_joints(anatomy, figure):
    drawn = set(figure.joints.tolist())
    return sorted(drawn)


def view_order(count, config, seed):
    """By turns, one of each half."""
    generator = np.random.default_rng(seed)
    sides = [list(range(0, count, 2)), list(range(1, count, 2))]
    order = []
    for step in range(config.steps):
        if config.views >= count:
            order.append(list(range(count)))
        else:
            order.append([side[step % len(side)] for side in sides if side])
    return order


def pyramid_of(video, scales):
    levels = [video]
    moved = video.permute(0, 3, 1, 2)
    for _ in range(scales - 1):
        moved = functional.avg_pool2d(moved, 2, ceil_mode=False)
        levels.append(moved.permute(0, 2, 3, 1))
    return levels


def part_colors(figure):
    wanted = [i for i, p in enumerate(figure.parts) if p not in ("trunk", "neck", "head")]
    found = {}
    for i in wanted:
        found.setdefault((figure.parts[i], tuple(np.round(figure.colors[i], 4))), None)
    colors = torch.tensor(np.array([c for _, c in found]), dtype=torch.float32).reshape(-1, 3)
    return torch.unique(colors, dim=0)


SHARP = 0.12


def places_of(video, colors):
    """Soft masks' mass and centroid [frames parts], [frames parts 2]"""
    small = functional.avg_pool2d(video.permute(0, 3, 1, 2), 2).flatten(2)
    size = video.shape[1] // 2
    closeness = (colors @ small - (small.square().sum(1, keepdim=True) + colors.square().sum(1)[:, None]) / 2) / SHARP**2
    masks = closeness.exp()
    axis = (torch.arange(size) + 0.5) / size * 2 - 1
    grid = torch.stack([torch.ones(size * size), axis.repeat(size), axis.repeat_interleave(size)], 1)
    sums = masks @ grid
    mass = sums[..., 0] + 1e-3
    return mass, sums[..., 1:] / mass[..., None]


def places_loss(ours, theirs):
    trust = torch.minimum(ours[0].detach(), theirs[0])
    trust = trust / (trust + 3.0)
    return (trust[..., None] * (ours[1] - theirs[1]).square()).mean()


class Folds:
    @staticmethod
    def find(anatomy, rig):
        from gambol.priors.pocket.measures import legs_of
        body = anatomy.body
        rows = torch.zeros(len(anatomy.legs), len(body), 3)
        for number, leg in enumerate(legs_of(anatomy)):
            for joint, share in zip(leg.links, leg.chain.fold, strict=True):
                T = body.T_world_node[body.nodes[joint]][:3, :3] / rig.scale[joint]
                axis = np.linalg.solve(T @ rig.axes[joint], leg.chain.normal)
                rows[number, joint] = torch.tensor(share * axis / np.linalg.norm(axis), dtype=torch.float32)
        return rows


class Knees:
    def __init__(self, rows):
        self.rows = rows

    @staticmethod
    def find(anatomy):
        rows = []
        body = anatomy.body
        for leg in anatomy.limbs:
            if leg.kind not in ("leg", "arm"):
                continue
            points = np.concatenate([body.heads[list(leg.chain)], body.tips[leg.chain[-1]][None]])
            if len(points) < 3:
                continue
            hind = leg.rank == max(l.rank for l in anatomy.limbs if l.kind == leg.kind)
            chain = folding_chain(points, anatomy.left, knee_forward=hind and leg.kind == "leg")
            for i in range(1, len(leg.chain)):
                if abs(chain.fold[i]) < 0.3:
                    continue
                rows.append((leg.chain[i - 1], leg.chain[i], points[i] - points[i - 1], points[i + 1] - points[i], chain.normal * np.sign(chain.fold[i])))
        if not rows:
            return Knees(None)
        up = torch.tensor([r[0] for r in rows])
        low = torch.tensor([r[1] for r in rows])
        W = body.T_world_node[body.nodes]
        loc = lambda j, v: np.linalg.solve(W[j][:3, :3], v)
        a = torch.tensor(np.array([loc(r[0], r[2] / np.linalg.norm(r[2])) for r in rows]), dtype=torch.float32)
        n = torch.tensor(np.array([loc(r[0], r[4]) for r in rows]), dtype=torch.float32)
        b = torch.tensor(np.array([loc(r[1], r[3] / np.linalg.norm(r[3])) for r in rows]), dtype=torch.float32)
        return Knees((up, low, a, n, b))

    def loss(self, T):
        if self.rows is None:
            return torch.zeros(())
        up, low, a, n, b = self.rows
        A = torch.einsum("fjab,jb->fja", T[:, up, :, :3], a)
        N = torch.einsum("fjab,jb->fja", T[:, up, :, :3], n)
        B = torch.einsum("fjab,jb->fja", T[:, low, :, :3], b)
        sine = (torch.linalg.cross(A, B) * N).sum(-1)
        return torch.relu(-sine).square().mean()


class Soles:
    def __init__(self, rows):
        self.rows = rows

    @staticmethod
    def find(anatomy):
        contacts = [c for leg in anatomy.legs for c in leg.contacts]
        if not contacts:
            return Soles(None)
        return Soles((torch.tensor([c[0] for c in contacts]), torch.tensor([c[1] for c in contacts], dtype=torch.float32)))

    def loss(self, T, anatomy, leg):
        if self.rows is None:
            return torch.zeros(())
        joints, local = self.rows
        moved = T[:, joints]
        points = torch.einsum("fjab,jb->fja", moved[..., :3], local) + moved[..., 3]
        heights = points @ torch.tensor(anatomy.up, dtype=torch.float32)
        return torch.relu((anatomy.ground - heights) / leg).square().mean()
