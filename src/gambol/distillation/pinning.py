"""What a user wants to keep, as holds: joints by name, poses by frame, a segment by its ends."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch

from gambol.character.character import Character
from gambol.character.rig import Rig
from gambol.distillation.config import DistillConfig
from gambol.distillation.holds import Holds, Pin
from gambol.errors import GambolError
from gambol.motion.draft import Draft, draft_of


def holds_of(character: Character, rig: Rig, config: DistillConfig, start: Draft, rounds: int) -> Holds:
    """rounds: how often the draft is repeated in the clip; frames count from the beginning of the clip."""
    frames = max(round(start.seconds * rounds * config.fps), 2)
    kept = _kept(character, rig, config.keep)
    pins = tuple(_pin(character, rig, frame, pose, frames, rounds, start.loops) for frame, pose in config.pins)
    moments = sorted(pin.moment for pin in pins)
    if start.loops and moments:
        moments.append(moments[0] + 1)
    if any(after - before < 0.5 * rounds / frames for before, after in pairwise(moments)):
        raise GambolError("two poses are pinned to the same frame of a round; pin one of them")
    only = None
    if config.only is not None:
        first, last = config.only
        if rounds > 1:
            raise GambolError("only a part of a clip can be redone, or the clip repeated (seconds), not both")
        if last > frames:
            raise GambolError(f"only {first}:{last} goes beyond the clip '{config.init}', which has {frames} frames")
        outside = [f"{frame}:{pose}" for frame, pose in config.pins if not first < frame < last]
        if outside:
            raise GambolError(f"pin {outside[0]} is outside the frames {first}:{last}, which alone are redone (only)")
        only = (first / frames, last / frames)
    return Holds(torch.as_tensor(kept), pins, only)


def _kept(character: Character, rig: Rig, names: tuple[str, ...]) -> np.ndarray:
    own = [character.skeleton.names[node] for node in rig.nodes]
    for name in names:
        if name not in own:
            raise GambolError(f"'{character.name}' has no joint '{name}' to keep. Available: {', '.join(own)}")
    return np.array([name in names for name in own], bool)


def _pin(character: Character, rig: Rig, frame: int, pose: str, frames: int, rounds: int, loops: bool) -> Pin:
    """frames: of the whole clip; a round need not have a whole number of them."""
    last = frames - (1 if loops else 0)
    if not 0 <= frame <= last:
        raise GambolError(f"pin {frame}:{pose}: the clip has frames 0 to {last}")
    moment = (frame * rounds % frames) / frames if loops else frame / frames
    if pose == "rest":
        return Pin(moment, torch.zeros(len(rig.nodes), 3), 0.0, torch.zeros(3))
    name, _, second = pose.rpartition("@")
    name, time = (name, second) if name else (pose, "0")
    if name not in character.clips:
        known = ", ".join(["rest", *character.clips])
        raise GambolError(f"pin {frame}:{pose}: '{character.name}' has no clip '{name}'. Available: {known}")
    motion = character.clips[name]
    try:
        moment_in_clip = motion.start + float(time)
    except ValueError:
        raise GambolError(f"pin {frame}:{pose}: after @ comes a time in seconds, as in '{name}@0.5'") from None
    if not motion.start <= moment_in_clip <= motion.end + 1e-6:
        raise GambolError(f"pin {frame}:{pose}: the clip '{name}' lasts {motion.duration:.2f} s")
    found = draft_of(character, rig, motion, np.array([moment_in_clip, moment_in_clip + 1e-6]), loops=False)
    up = torch.as_tensor(rig.root_axes[:, 0], dtype=torch.float32)
    return Pin(moment, found.angles[0], float(found.root_translation[0] @ up), found.root_angles[0])
