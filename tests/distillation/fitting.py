"""Fitting a motion to given videos, from the rest pose."""

import numpy as np

from gambol.character.rig import build_rig
from gambol.distillation.fit import Fitting, VideoFitConfig
from gambol.motion.parameters import CurveParameters
from gambol.motion.rig_motion import RigMotion


def fit_videos(anatomy, renderer, videos, loops=True, config=None, implausibility=None):
    """The fitted motion, its T_world_joint, and the losses."""
    rig, config = build_rig(anatomy), config or VideoFitConfig()
    base = RigMotion.at_rest(len(rig.nodes), videos.shape[1], 1.0, loops)
    params = CurveParameters(anatomy, rig, base, renderer.joints, renderer.length, config.harmonics)
    fitting = Fitting(anatomy, renderer, videos, params, config, implausibility)
    losses = [fitting.step(number)["total"] for number in range(fitting.steps)]
    rig_motion = fitting.rig_motion()
    poses = np.zeros((len(rig_motion), len(rig.nodes), 4, 4))
    poses[..., :3, :], poses[..., 3, 3] = rig_motion.world(rig).numpy(), 1.0
    return rig_motion, poses, losses
