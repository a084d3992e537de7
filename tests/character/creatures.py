"""Clay creatures of several body plans, made with the bones-to-sausages code of the first example."""

import dataclasses
import runpy
from pathlib import Path

import numpy as np

from gambol import Character
from gambol.character.skeleton import Pose
from gambol.character.transforms import quaternion_multiply

CLAY = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "04_clay_dog.py"))
GREY = (0.5, 0.5, 0.5, 1.0)


def dog() -> Character:
    return CLAY["clay"]("dog", CLAY["both_sides"](CLAY["MIDDLE"], CLAY["LEFT"]))


def human() -> Character:
    middle = {
        "hips": (None, (0, 0.95, 0), (0, 1.1, 0), 0.13, 0.12, GREY),
        "spine": ("hips", (0, 1.1, 0), (0, 1.4, 0), 0.12, 0.15, GREY),
        "neck": ("spine", (0, 1.45, 0), (0, 1.55, 0.01), 0.05, 0.05, GREY),
        "head": ("neck", (0, 1.58, 0.02), (0, 1.72, 0.03), 0.1, 0.09, GREY),
    }
    left = {
        "upper_arm": ("spine", (0.2, 1.42, 0), (0.47, 1.42, 0), 0.05, 0.045, GREY),
        "forearm": ("upper_arm", (0.47, 1.42, 0), (0.72, 1.42, 0), 0.045, 0.035, GREY),
        "hand": ("forearm", (0.72, 1.42, 0), (0.86, 1.42, 0), 0.035, 0.02, GREY),
        "thigh": ("hips", (0.1, 0.92, 0), (0.1, 0.5, 0.01), 0.08, 0.06, GREY),
        "shin": ("thigh", (0.1, 0.5, 0.01), (0.1, 0.1, -0.02), 0.055, 0.04, GREY),
        "foot": ("shin", (0.1, 0.05, -0.02), (0.1, 0.04, 0.14), 0.045, 0.035, GREY),
    }
    return CLAY["clay"]("human", CLAY["both_sides"](middle, left))


def even_table() -> Character:
    """Four straight legs under a trunk whose two ends are alike."""
    middle = {"trunk": (None, (0, 0.6, -0.8), (0, 0.6, 0.8), 0.12, 0.12, GREY)}
    left = {}
    for name, z in (("fore", 0.4), ("hind", -0.4)):
        left[f"{name}_upper"] = ("trunk", (0.1, 0.55, z), (0.1, 0.3, z), 0.05, 0.05, GREY)
        left[f"{name}_lower"] = (f"{name}_upper", (0.1, 0.3, z), (0.1, 0.02, z), 0.05, 0.05, GREY)
    return CLAY["clay"]("table", CLAY["both_sides"](middle, left))


def spider() -> Character:
    middle = {
        "thorax": (None, (0, 0.3, 0.0), (0, 0.3, 0.15), 0.09, 0.08, GREY),
        "head": ("thorax", (0, 0.3, 0.17), (0, 0.28, 0.25), 0.06, 0.05, GREY),
        "abdomen": ("thorax", (0, 0.32, -0.05), (0, 0.36, -0.4), 0.1, 0.12, GREY),
    }
    left = {}
    for number, z in enumerate((0.4, 0.15, -0.12, -0.4)):
        knee, foot = (0.35, 0.55, 0.1 + z * 0.7), (0.7, 0.02, 0.1 + z * 1.4)
        left[f"leg{number}_upper"] = ("thorax", (0.08, 0.3, 0.1 + z * 0.2), knee, 0.02, 0.018, GREY)
        left[f"leg{number}_lower"] = (f"leg{number}_upper", knee, foot, 0.018, 0.012, GREY)
    return CLAY["clay"]("spider", CLAY["both_sides"](middle, left))


def snake(vertebrae: int = 10) -> Character:
    bones = {"skull": (None, (0, 0.06, 1.0), (0, 0.06, 1.1), 0.07, 0.05, GREY)}
    previous = "skull"
    for number in range(vertebrae):
        z, radius = 1.0 - 0.2 * number, 0.055 - 0.04 * number / vertebrae
        bones[f"body{number}"] = (previous, (0, 0.06, z), (0, 0.06, z - 0.2), radius, radius - 0.004, GREY)
        previous = f"body{number}"
    return CLAY["clay"]("snake", bones)


def fish() -> Character:
    middle = {
        "body": (None, (0, 1.0, 0.1), (0, 1.0, -0.2), 0.2, 0.17, GREY),
        "head": ("body", (0, 1.0, 0.12), (0, 1.0, 0.4), 0.19, 0.1, GREY),
        "tail_1": ("body", (0, 1.0, -0.25), (0, 1.0, -0.5), 0.14, 0.09, GREY),
        "tail_2": ("tail_1", (0, 1.0, -0.5), (0, 1.0, -0.8), 0.08, 0.03, GREY),
    }
    left = {"fin": ("body", (0.15, 0.95, 0.05), (0.4, 0.8, -0.05), 0.04, 0.01, GREY)}
    return CLAY["clay"]("fish", CLAY["both_sides"](middle, left))


def bird() -> Character:
    """Two legs, and wings that are spread."""
    middle = {
        "pelvis": (None, (0, 0.45, -0.1), (0, 0.5, 0.1), 0.12, 0.12, GREY),
        "chest": ("pelvis", (0, 0.5, 0.1), (0, 0.55, 0.25), 0.13, 0.1, GREY),
        "neck": ("chest", (0, 0.6, 0.28), (0, 0.8, 0.34), 0.05, 0.05, GREY),
        "head": ("neck", (0, 0.82, 0.36), (0, 0.82, 0.52), 0.07, 0.03, GREY),
        "tail": ("pelvis", (0, 0.48, -0.2), (0, 0.5, -0.55), 0.06, 0.02, GREY),
    }
    left = {
        "wing": ("chest", (0.1, 0.6, 0.15), (0.5, 0.62, 0.12), 0.02, 0.02, GREY),
        "wing_tip": ("wing", (0.5, 0.62, 0.12), (1.0, 0.62, -0.1), 0.02, 0.01, GREY),
        "thigh": ("pelvis", (0.07, 0.4, 0.0), (0.08, 0.22, 0.06), 0.05, 0.03, GREY),
        "shin": ("thigh", (0.08, 0.22, 0.06), (0.08, 0.04, 0.0), 0.02, 0.02, GREY),
        "foot": ("shin", (0.08, 0.03, 0.0), (0.08, 0.02, 0.12), 0.02, 0.015, GREY),
    }
    return CLAY["clay"]("bird", CLAY["both_sides"](middle, left))


def cock() -> Character:
    """A bird on two legs whose tail weighs more than the rest."""
    middle = {
        "torso": (None, (0, 0.35, -0.08), (0, 0.4, 0.12), 0.1, 0.1, GREY),
        "head": ("torso", (0, 0.5, 0.16), (0, 0.58, 0.26), 0.06, 0.05, GREY),
        "tail": ("torso", (0, 0.45, -0.15), (0, 0.8, -0.75), 0.2, 0.25, GREY),
    }
    left = {"leg": ("torso", (0.08, 0.25, 0.1), (0.08, 0.02, 0.1), 0.02, 0.02, GREY)}
    return CLAY["clay"]("cock", CLAY["both_sides"](middle, left))


def without_names(character: Character) -> Character:
    """The same character, its joints called node 0, node 1, ..."""
    names = tuple(f"node {i}" for i in range(len(character.skeleton)))
    return dataclasses.replace(character, skeleton=dataclasses.replace(character.skeleton, names=names), hints={})


def with_rest(character: Character, rest: Pose) -> Character:
    return dataclasses.replace(character, skeleton=dataclasses.replace(character.skeleton, rest=rest))


def turned(character: Character, wxyz, scale=1.0) -> Character:
    """The whole character turned about the origin and scaled, as by an armature above its root."""
    skeleton = character.skeleton
    count = len(skeleton)
    rest = skeleton.rest
    added = Pose(
        np.concatenate([rest.translation, np.zeros((1, 3))]),
        np.concatenate([rest.rotation, np.asarray(wxyz, float)[None]]),
        np.concatenate([rest.scale, np.broadcast_to(scale, (1, 3))]),
    )
    lifted = dataclasses.replace(
        skeleton,
        names=(*skeleton.names, "armature"),
        parents=np.append(np.where(skeleton.parents < 0, count, skeleton.parents), -1),
        rest=added,
        is_joint=np.append(skeleton.is_joint, False),
    )
    return dataclasses.replace(character, skeleton=lifted)


def posed(character: Character, seed: int, radians: float = 0.35) -> Character:
    """The character whose file shows some other pose than the one its skin was bound in."""
    generator = np.random.default_rng(seed)
    rest = character.skeleton.rest
    axis = generator.normal(size=(len(character.skeleton), 3))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    half = generator.uniform(-radians, radians, len(axis))[:, None] / 2
    turn = np.concatenate([np.cos(half), np.sin(half) * axis], axis=1)
    turn[~character.skeleton.is_joint] = (1, 0, 0, 0)
    return with_rest(character, dataclasses.replace(rest, rotation=quaternion_multiply(rest.rotation, turn)))
