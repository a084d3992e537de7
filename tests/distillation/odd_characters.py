"""Characters as users bring them: without skin or legs, tiny and huge, upside down, with far too many joints; and a
prior that knows how each of them might move."""

import dataclasses

import numpy as np
import torch
from character.creatures import CLAY, GREY, dog, turned
from distillation.knowing_prior import KnowingPrior

from gambol import Character
from gambol.character.anatomy import analyze
from gambol.character.character import Mesh
from gambol.character.rig import build_rig
from gambol.character.skeleton import Pose, Skeleton
from gambol.motion.rig_motion import RigMotion
from gambol.priors.pixels.figure import draw_stick_figure
from gambol.priors.pixels.views import StickViews

HALF = np.sqrt(0.5)


def mesh_alone() -> Character:
    """A dog's skin that nothing moves."""
    mesh = dog().meshes[0]
    skeleton = Skeleton(
        ("statue",),
        np.array([-1]),
        Pose(np.zeros((1, 3)), np.array([[1.0, 0, 0, 0]]), np.ones((1, 3))),
        np.zeros(1, bool),
    )
    ones = np.ones((len(mesh.positions), 1))
    still = dataclasses.replace(mesh, node=0, binds=np.zeros(ones.shape, np.int64), weights=ones, skinned=False)
    return Character("statue", skeleton, (still,), np.zeros(1, np.int64), np.eye(4)[None])


def rigid_parts(character: Character) -> Character:
    """A figure without a skin: every bone is a mesh of its own node."""
    skeleton = character.skeleton
    (mesh,) = character.meshes
    owners = character.bind_nodes[mesh.binds[np.arange(len(mesh.binds)), mesh.weights.argmax(1)]]
    of_face = owners[mesh.faces[:, 0]]
    world = skeleton.world()
    parts = []
    for node in np.unique(of_face):
        faces = mesh.faces[of_face == node]
        kept, again = np.unique(faces, return_inverse=True)
        local = np.linalg.solve(world[node], np.append(mesh.positions[kept], np.ones((len(kept), 1)), axis=1).T).T
        ones = np.ones((len(kept), 1))
        binds = np.full(ones.shape, len(parts), np.int64)
        parts.append(
            Mesh(skeleton.names[node], int(node), local[:, :3], again.reshape(-1, 3), binds, ones, skinned=False)
        )
    nodes = np.array([part.node for part in parts])
    still = dataclasses.replace(skeleton, is_joint=np.zeros(len(skeleton), bool))
    return Character("figure", still, tuple(parts), nodes, np.tile(np.eye(4), (len(nodes), 1, 1)))


def joints_alone() -> Character:
    """A dog's skeleton without a skin."""
    return dataclasses.replace(dog(), name="bones", meshes=())


def one_joint() -> Character:
    return CLAY["clay"]("pillar", {"pillar": (None, (0, 0, 0), (0, 1.0, 0), 0.2, 0.1, GREY)})


def one_joint_and_no_mesh() -> Character:
    return dataclasses.replace(one_joint(), name="point", meshes=())


def long_chain(joints: int = 500) -> Character:
    """A worm."""
    length = 4.0 / joints
    bones: dict[str, tuple] = {}
    for number in range(joints):
        z = 2.0 - number * length
        above = f"b{number - 1}" if number else None
        bones[f"b{number}"] = (above, (0, 0.06, z), (0, 0.06, z - length), 0.055, 0.055, GREY)
    return CLAY["clay"]("worm", bones)


def centipede(pairs: int = 71, apart: float = 0.05) -> Character:
    """Each segment has a joint, and two legs of three: 497 joints with 71 pairs. apart: from leg to leg [m]."""
    middle, left = {}, {}
    for number in range(pairs):
        z, above = apart * (pairs / 2 - number), f"s{number - 1}" if number else None
        middle[f"s{number}"] = (above, (0, 0.2, z), (0, 0.2, z - apart), 0.06, 0.06, GREY)
        hip, knee, foot = (0.05, 0.2, z), (0.2, 0.26, z), (0.3, 0.04, z)
        left[f"hip{number}"] = (f"s{number}", hip, knee, 0.015, 0.015, GREY)
        left[f"knee{number}"] = (f"hip{number}", knee, foot, 0.015, 0.012, GREY)
        left[f"foot{number}"] = (f"knee{number}", foot, (0.34, 0.02, z), 0.012, 0.01, GREY)
    return CLAY["clay"]("centipede", CLAY["both_sides"](middle, left))


def many_vertices(character: Character, least: int = 100_000) -> Character:
    """Every triangle cut into four until there are so many vertices."""
    mesh = character.meshes[0]
    while len(mesh.positions) < least:
        mesh = _cut_in_four(mesh)
    return dataclasses.replace(character, meshes=(mesh,))


def _cut_in_four(mesh: Mesh) -> Mesh:
    """Vertices in the middle of edges are bound to what their ends are bound to."""
    edges = np.sort(mesh.faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    ends, which = np.unique(edges, axis=0, return_inverse=True)
    a, b, c = (which.reshape(-1, 3) + len(mesh.positions)).T
    u, v, w = mesh.faces.T
    faces = np.concatenate([np.stack(each, 1) for each in ((u, a, c), (a, v, b), (c, b, w), (a, b, c))])
    first, second = ends.T
    assert mesh.colors is not None
    return dataclasses.replace(
        mesh,
        positions=np.concatenate([mesh.positions, (mesh.positions[first] + mesh.positions[second]) / 2]),
        faces=faces,
        binds=np.concatenate([mesh.binds, mesh.binds[first]]),
        weights=np.concatenate([mesh.weights, mesh.weights[first]]),
        colors=np.concatenate([mesh.colors, mesh.colors[first]]),
    )


def upside_down(character: Character) -> Character:
    """-y is up."""
    return turned(character, (0, 0, 0, 1))


def backwards(character: Character) -> Character:
    """Faces -z."""
    return turned(character, (0, 0, 1, 0))


def on_its_back(character: Character) -> Character:
    """Faces +y."""
    return turned(character, (HALF, -HALF, 0, 0))


def scaled(character: Character, factor: float) -> Character:
    """All lengths times a factor, by the numbers in the file and not by an armature."""
    skeleton, rest = character.skeleton, character.skeleton.rest
    binds = character.inverse_binds.copy()
    binds[:, :3, 3] *= factor
    return dataclasses.replace(
        character,
        skeleton=dataclasses.replace(skeleton, rest=dataclasses.replace(rest, translation=rest.translation * factor)),
        meshes=tuple(
            dataclasses.replace(mesh, positions=(mesh.positions * factor).astype(np.float32))
            for mesh in character.meshes
        ),
        inverse_binds=binds,
    )


def together(first: Character, second: Character, apart: float) -> Character:
    """Two characters side by side in one file, each with a skeleton of its own."""
    nodes, binds = len(first.skeleton), len(first.bind_nodes)
    one, other = first.skeleton, second.skeleton
    shift = np.where((other.parents < 0)[:, None], (apart, 0.0, 0.0), 0.0)
    rest = Pose(
        np.concatenate([one.rest.translation, other.rest.translation + shift]),
        np.concatenate([one.rest.rotation, other.rest.rotation]),
        np.concatenate([one.rest.scale, other.rest.scale]),
    )
    skeleton = Skeleton(
        (*one.names, *(f"{name} too" for name in other.names)),
        np.concatenate([one.parents, np.where(other.parents < 0, -1, other.parents + nodes)]),
        rest,
        np.concatenate([one.is_joint, other.is_joint]),
    )
    meshes = tuple(
        dataclasses.replace(mesh, name=f"{mesh.name} too", node=mesh.node + nodes, binds=mesh.binds + binds)
        for mesh in second.meshes
    )
    return Character(
        f"{first.name} and {second.name}",
        skeleton,
        (*first.meshes, *meshes),
        np.concatenate([first.bind_nodes, second.bind_nodes + nodes]),
        np.concatenate([first.inverse_binds, second.inverse_binds]),
    )


def with_scale(character: Character, scale: float, *names: str) -> Character:
    """Some joints scaled, as files do to hide parts."""
    skeleton = character.skeleton
    size = skeleton.rest.scale.copy()
    size[[skeleton.names.index(name) for name in names]] = scale
    rest = dataclasses.replace(skeleton.rest, scale=size)
    return dataclasses.replace(character, skeleton=dataclasses.replace(skeleton, rest=rest))


class WaggingPrior(KnowingPrior):
    """Knows one video of one character, whatever it is told: every joint that shows swings to and fro."""

    def __init__(self, character, anatomy=None, views=1, size=60):
        anatomy = anatomy or analyze(character)
        renderer, rig = StickViews(draw_stick_figure(anatomy), views, size), build_rig(anatomy)
        time = torch.arange(16) / 16
        still = RigMotion.at_rest(len(rig.nodes), 16, 1.0, True)
        count = len(rig.nodes)
        few = min(1.0, 30 / count)  # many joints share a wave
        wag = 0.3 * few * torch.sin(2 * torch.pi * (time[:, None] + 0.37 * few * torch.arange(count)))
        poses = dataclasses.replace(still, angles=wag[..., None] * torch.tensor([1.0, 0.5, 0.0])).world(rig)
        super().__init__([], size)
        self.videos = list(zip(renderer.rest_images(), renderer.render(poses), strict=True))

    def _recall(self, text, rest):
        return self.encode(min(self.videos, key=lambda known: float((rest - known[0]).abs().sum()))[1])
