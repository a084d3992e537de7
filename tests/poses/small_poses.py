"""A pose model that is trained in seconds, on motions by formula of one dog."""

from dataclasses import replace
from functools import cache

import numpy as np
import torch
from character.creatures import dog, fish, human

from gambol.actions import ACTIONS
from gambol.character.anatomy import analyze
from gambol.motion.body_tracks import poses_of_tracks
from gambol.motion.chains import find_chains
from gambol.poses.harvest_files import HarvestedPoses, Origin
from gambol.poses.model import PoseModel, RigPoses
from gambol.poses.network import PoseNetworkConfig
from gambol.poses.pose_skeleton import pose_skeleton
from gambol.poses.poses import joined, poses_of_world
from gambol.poses.training.batches import PoseSampler
from gambol.poses.training.train import PoseTrainConfig, PoseTraining, measured_deviations
from gambol.priors.tracks.formulas import formula_tracks

TINY = PoseNetworkConfig(width=48, layers=2, heads=2)
SHOWN = ("walk", "trot", "sit")
NAMES = ("any", *ACTIONS)
BODIES = {"dog": dog, "fish": fish, "human": human}


@cache
def chains_of(name="dog"):
    return find_chains(analyze(BODIES[name]()))


@cache
def skeleton_of(name="dog"):
    return pose_skeleton(chains_of(name))


@cache
def harvested(actions=SHOWN):
    """Poses of the dog in some actions by formula."""
    chains, skeleton = chains_of(), skeleton_of()
    poses, origins = [], []
    for action in actions:
        tracks = formula_tracks(chains, action, np.random.default_rng(0))
        found = poses_of_world(chains, skeleton, poses_of_tracks(chains, replace(tracks, slides=None)).float())
        poses.append(found[:16])
        origins.append(Origin(action, action, "a formula", 0, tuple(frame / 30 for frame in range(len(poses[-1])))))
    return HarvestedPoses("dog", "dogs", skeleton, joined(poses), tuple(origins))


@cache
def training(steps=60):
    """A short training on the dog."""
    harvest = harvested()
    config = PoseTrainConfig(steps=steps, warmup_steps=5, action_dropout=0.2, network=TINY)
    found = PoseTraining(config, measured_deviations([harvest]))
    sampler, generator, queue, losses = PoseSampler([harvest], NAMES), np.random.default_rng(0), [], []
    for _ in range(steps):
        queue = queue or sampler.batches(generator)
        losses.append(sum(found.learn([queue.pop()]).values()))
    return found, losses


@cache
def model():
    found = training()[0]
    return PoseModel(found.averaged(), found.deviations, NAMES)


def rig_poses(name="dog"):
    return RigPoses(model(), skeleton_of(name))


def noise(count, seed=0, name="dog"):
    return torch.randn(count, len(skeleton_of(name)) + 1, 3, generator=torch.Generator().manual_seed(seed))
