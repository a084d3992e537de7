"""What a user wants to keep, as constraints: joints by name, poses by frame, a segment by its ends."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Bool

from gambol.character.character import Character
from gambol.character.lookup import find_joint, find_moment
from gambol.character.rig import Rig
from gambol.distillation.config import AnimateConfig
from gambol.errors import GambolError
from gambol.motion.constraints import Constraints, Pin
from gambol.motion.rig_motion import RigMotion, rig_motion_of


def constraints_of(character: Character, rig: Rig, config: AnimateConfig, start: RigMotion, cycles: int) -> Constraints:
    """Return the constraints that a config asks for. cycles: how often the motion is repeated in the clip; frames count
    from the beginning of the clip."""
    frames = max(round(start.seconds * cycles * config.fps), 2)
    frozen = _frozen(character, rig, config.freeze)
    pins = tuple(_pin(character, rig, frame, pose, frames, cycles, start.loops) for frame, pose in config.pins)
    moments = sorted(pin.moment for pin in pins)
    if start.loops and moments:
        moments.append(moments[0] + 1)
    if any(after - before < 0.5 * cycles / frames for before, after in pairwise(moments)):
        raise GambolError("two poses are pinned to the same frame of a cycle; pin one of them")
    segment = None
    if config.frames is not None:
        first, last = config.frames
        if cycles > 1:
            raise GambolError("frames changes a part of the clip and seconds repeats it: leave one of them out")
        if last > frames:
            raise GambolError(f"frames {first}:{last} goes beyond the clip '{config.init}', which has {frames} frames")
        outside = [f"{frame}:{pose}" for frame, pose in config.pins if not first < frame < last]
        if outside:
            raise GambolError(f"pin {outside[0]} is outside the frames {first}:{last}, which alone are redone")
        segment = (first / frames, last / frames)
    return Constraints(torch.as_tensor(frozen), pins, segment)


def _frozen(character: Character, rig: Rig, names: tuple[str, ...]) -> Bool[np.ndarray, " joints"]:
    """Return which joints are frozen."""
    own = {int(node): character.skeleton.names[node] for node in rig.nodes}
    frozen = [find_joint(own, name, f"'{character.name}' has no joint") for name in names]
    return np.isin(rig.nodes, frozen)


def _pin(character: Character, rig: Rig, frame: int, pose: str, frames: int, cycles: int, loops: bool) -> Pin:
    """Return a pinned pose. frames: of the whole clip; a cycle need not have a whole number of them."""
    last = frames - (1 if loops else 0)
    if not 0 <= frame <= last:
        raise GambolError(f"pin {frame}:{pose}: the clip has frames 0 to {last}")
    moment = (frame * cycles % frames) / frames if loops else frame / frames
    if pose == "rest":
        return Pin(moment, torch.zeros(len(rig.nodes), 3), 0.0, torch.zeros(3))
    if pose.startswith("rest@"):
        raise GambolError(f"pin {frame}:{pose}: the rest pose has no time; pin {frame}:rest")
    try:
        clip, time = find_moment(character, pose)
    except GambolError as error:
        raise GambolError(f"pin {frame}:{pose}: {error}") from None
    found = rig_motion_of(character, rig, clip, np.array([time, time + 1e-6]), loops=False)
    up = torch.as_tensor(rig.root_axes[:, 0], dtype=torch.float32)
    return Pin(moment, found.angles[0], float(found.root_translation[0] @ up), found.root_angles[0])
