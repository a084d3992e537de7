"""Write a clip on any legged character by hand: diagonal pairs of legs swing, knees fold as the foot comes forward.

python examples/05_trot.py dog.glb dog-trot.glb
"""

import sys

import gambol
import numpy as np
import torch
from gambol.character.rig import build_rig
from gambol.motion.export import poses_from_world
from gambol.motion.kinematics import Kinematics


def trot(character: gambol.Character, seconds: float = 0.6, fps: float = 30.0) -> gambol.Clip:
    anatomy = gambol.analyze(character)
    rig = build_rig(anatomy)
    frames = round(seconds * fps) + 1  # the last frame equals the first: the clip loops
    phase = torch.linspace(0, 2 * np.pi, frames)
    angles = torch.zeros(frames, len(rig.nodes), 3)
    for leg in anatomy.legs:
        shift = np.pi * ((leg.side == "left") ^ (leg.rank % 2 == 0))
        hip, *lower = leg.chain
        angles[:, hip, 0] = -0.45 * torch.sin(phase + shift)
        fold = 0.5 * torch.relu(torch.cos(phase + shift))  # while the leg swings forward
        for knee, sign in zip(lower, (1, -1), strict=False):
            angles[:, knee, 0] = sign * fold
    for order, joint in enumerate(anatomy.joints_of("tail")):
        angles[:, joint, 1] = 0.25 * torch.sin(phase - order)
    bounce = 0.015 * anatomy.height * torch.cos(2 * phase)
    root = bounce[:, None] * torch.tensor(anatomy.up, dtype=torch.float32)
    world = Kinematics(rig)(angles, root, torch.zeros(frames, 3))
    poses = poses_from_world(character.skeleton, rig.nodes, world.numpy())
    return gambol.Clip.from_poses("trot", poses, character.skeleton, fps)


if __name__ == "__main__":
    source, target = sys.argv[1], sys.argv[2]
    dog = gambol.load(source)
    name = gambol.save(dog, target, trot(dog))
    print(f"wrote {target}: clip '{name}'")
