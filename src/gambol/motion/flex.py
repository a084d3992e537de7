"""A flex clip: every joint bent in turn, left and right together. It shows bad weights and broken hand-offs."""

from collections.abc import Callable

import numpy as np
import torch

from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.rig import build_rig
from gambol.motion.export import poses_from_world
from gambol.motion.kinematics import Kinematics
from gambol.motion.motion import Motion


def flex(
    character: Character,
    anatomy: Anatomy,
    degrees: float = 30.0,
    seconds_per_joint: float = 0.6,
    fps: float = 30.0,
    name: str = "flex",
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Motion:
    """Bend each joint by `degrees` forth and back about its bend axis, from the root outwards; mirror images as one."""
    rig = build_rig(anatomy)
    groups = [{joint, int(p)} - {-1} for joint, p in enumerate(anatomy.partners) if p < 0 or joint <= p]
    frames = max(round(seconds_per_joint * fps), 2)
    wave = torch.sin(torch.linspace(0, 2 * np.pi, frames + 1, dtype=torch.float64)[:-1]) * np.radians(degrees)
    kinematics = Kinematics(rig, dtype=torch.float64)
    rest = torch.zeros(frames, 3, dtype=torch.float64)
    world = []
    for done, group in enumerate(groups):
        angles = torch.zeros(frames, len(rig.nodes), 3, dtype=torch.float64)
        for joint in group:
            angles[:, joint, 0] = wave
        world.append(kinematics(angles, rest, rest).numpy())
        on_progress(done + 1, len(groups))
    neutral = world[-1][:1]  # the sine starts at zero: a first frame that closes the loop
    poses = poses_from_world(character.skeleton, rig, np.concatenate([*world, neutral]))
    return Motion.from_poses(name, poses, character.skeleton, fps)
