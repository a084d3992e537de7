"""How far the opinion of the pocket prior can be trusted: does it name actions, and tell real clips from broken ones?

    python benchmarks/opinion.py [--clips FOLDER] [--files Fox Rat ...] [--broken shaken bent ...]

Gaits of creatures that no training sees, or the clips of a folder's characters whose names mean an action (of each
action the first). A broken clip is the same clip with one thing wrong; that a real one is more plausible is counted
against its own broken form, and against the broken forms of all clips (the area under the curve, 0.5 is chance).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from gambol import Anatomy, Character, GambolError, Motion, Pose, gait, load, open_prior, random_creature, study
from gambol.character.rig import build_rig
from gambol.character.transforms import about, quaternion_multiply
from gambol.creatures.gaits import actions_for
from gambol.motion.export import poses_from_world
from gambol.priors.pocket.language.words import action_of_clip
from gambol.priors.pocket.takes.herd import ACTION_OF, SHARES
from gambol.priors.pocket.training.school import HELD_OUT
from gambol.quality.opinion import Opinion, ask
from gambol.quality.specimen import examine

Case = tuple[str, str, Character, Anatomy, Motion]
"""Name, action, who, and what they do."""
Break = Callable[[Anatomy, Pose, np.random.Generator], None]
RATE = 30.0


def creatures(count: int) -> Iterator[Case]:
    plans = list(SHARES)
    for number in range(count):
        plan = plans[number % len(plans)]
        character = random_creature(HELD_OUT + number, plan).character()
        anatomy = study(character)
        for name in actions_for(anatomy):
            try:
                motion = gait(character, anatomy, name)
            except GambolError:  # too short in the leg for this one
                continue
            if name != "pace":
                yield f"{plan} {number + 1}", ACTION_OF.get(name, name), character, anatomy, motion


def artists(folder: Path, files: list[str]) -> Iterator[Case]:
    paths = {path.stem: path for path in sorted(folder.rglob("*")) if path.suffix.lower() in (".glb", ".gltf", ".vrm")}
    for stem in files or paths:
        character = load(paths[stem])
        anatomy, shown = study(character), set()
        for name, motion in character.clips.items():
            action = action_of_clip(name)
            if action and action not in shown:
                shown.add(action)
                yield stem, action, character, anatomy, motion


def _turned(pose: Pose, nodes, degrees: float, generator: np.random.Generator, frames: int) -> None:
    """Random turns of so many degrees, the same in the last frame as in the first."""
    vectors = np.radians(degrees) * generator.normal(size=(frames, len(nodes), 3))
    vectors = np.concatenate([vectors, vectors[:1]]) if frames > 1 else np.repeat(vectors, len(pose.rotation), 0)
    angles = np.linalg.norm(vectors, axis=-1, keepdims=True)
    turns = np.concatenate([np.cos(angles / 2), np.sin(angles / 2) * vectors / np.maximum(angles, 1e-9)], -1)
    pose.rotation[:, nodes] = quaternion_multiply(pose.rotation[:, nodes], turns)


def shaken(anatomy: Anatomy, pose: Pose, generator: np.random.Generator) -> None:
    """Every joint trembles by 8 degrees in every frame."""
    _turned(pose, anatomy.body.nodes, 8.0, generator, len(pose.rotation) - 1)


def bent(anatomy: Anatomy, pose: Pose, generator: np.random.Generator) -> None:
    """Every joint is turned by 20 degrees all the time."""
    _turned(pose, anatomy.body.nodes, 20.0, generator, 1)


def shuffled(anatomy: Anatomy, pose: Pose, generator: np.random.Generator) -> None:
    """Frames in random order."""
    order = generator.permutation(len(pose.rotation) - 1)
    _in_order(pose, np.append(order, order[0]))


def backwards(anatomy: Anatomy, pose: Pose, generator: np.random.Generator) -> None:
    _in_order(pose, np.arange(len(pose.rotation))[::-1])


def _in_order(pose: Pose, order, nodes=slice(None)) -> None:
    for values in (pose.translation, pose.rotation, pose.scale):
        values[:, nodes] = values[order][:, nodes]


def delayed(anatomy: Anatomy, pose: Pose, generator: np.random.Generator) -> None:
    """Left legs a quarter of the clip late."""
    frames = len(pose.rotation) - 1
    order = np.append(np.arange(frames), 0) - frames // 4
    joints = [joint for leg in anatomy.legs if leg.side == "left" for joint in leg.joints]
    _in_order(pose, order % frames, anatomy.body.nodes[joints])


def lame(anatomy: Anatomy, pose: Pose, generator: np.random.Generator) -> None:
    """One leg as stiff as in the first frame."""
    joints = list(anatomy.legs[-1].joints) if anatomy.legs else []
    _in_order(pose, np.zeros(len(pose.rotation), int), anatomy.body.nodes[joints])


BREAKS: dict[str, Break] = {each.__name__: each for each in (shaken, bent, shuffled, backwards, delayed, lame)}


def broken(case: Case, how: str) -> Motion:
    _, _, character, anatomy, motion = case
    frames = max(round(motion.duration * RATE), 8)
    pose = motion.sample(character.skeleton, np.linspace(motion.start, motion.end, frames + 1))
    generator = np.random.default_rng(3)
    if how == "overturned":
        nodes, middle = anatomy.body.nodes, anatomy.body.heads.mean(0)
        over, world = about(anatomy.forward, np.array([np.pi]))[0], character.skeleton.world(pose)[:, nodes]
        world[..., :3, :3] = over @ world[..., :3, :3]
        world[..., :3, 3] = (world[..., :3, 3] - middle) @ over.T + middle
        pose = poses_from_world(character.skeleton, build_rig(anatomy), world)
    else:
        BREAKS[how](anatomy, pose, generator)
    return Motion.from_poses("broken", pose, character.skeleton, frames / motion.duration)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=Path, help="a folder of characters with artists' clips")
    parser.add_argument("--files", nargs="*", default=[], help="of these, without their endings; all if not given")
    parser.add_argument("--creatures", type=int, default=14, help="how many, if there is no folder")
    parser.add_argument("--broken", nargs="*", default=[], choices=(*BREAKS, "overturned"))
    options = parser.parse_args()
    cases = list(artists(options.clips, options.files) if options.clips else creatures(options.creatures))
    prior = open_prior("pocket")

    def opinion(case: Case, motion: Motion) -> Opinion | None:
        try:
            return ask(examine(case[2], motion, case[3]), prior)
        except GambolError:
            return None

    real = [opinion(case, case[4]) for case in cases]
    for case, own in zip(cases, real, strict=True):
        mark = "  <- wrong" if own and own.taken_for != case[1] else ""
        print(f"{case[0]:24} {case[1]:10} {own.text if own else 'no opinion'}{mark}", flush=True)
    right = sum(own is not None and own.taken_for == case[1] for case, own in zip(cases, real, strict=True))
    print(f"\nnamed {right} of {len(cases)}; no opinion on {real.count(None)}")
    for how in options.broken:
        pairs = [(own, opinion(case, broken(case, how))) for case, own in zip(cases, real, strict=True) if own]
        found = np.array([(own.plausibility, other.plausibility) for own, other in pairs if other])
        area = (found[:, :1] > found[:, 1]).mean()
        itself = (found[:, 0] > found[:, 1]).mean()
        print(f"{how:11} {len(found)} clips: more plausible than itself broken {itself:.2f}, than others {area:.2f}")


if __name__ == "__main__":
    main()
