"""Small random skeletons, rigs and characters for the tests of `gambol.motion`."""

import numpy as np

from gambol.character.character import Character, Mesh
from gambol.character.rig import Rig
from gambol.character.skeleton import Pose, Skeleton, levels_of
from gambol.character.transforms import compose, matrix_from_quaternion, normalize, quaternion_multiply


def random_parents(rng: np.random.Generator, nodes: int, roots: int = 1, reach: int = 6) -> np.ndarray:
    """A random tree, nodes in random order; a small reach makes it deep."""
    parents = np.array([-1 if i < roots else rng.integers(max(0, i - reach), i) for i in range(nodes)])
    order = rng.permutation(nodes)
    shuffled = np.full(nodes, -1)
    shuffled[order] = np.where(parents >= 0, order[parents], -1)
    return shuffled


def random_rotations(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Unit quaternions, wxyz."""
    return normalize(rng.normal(size=(*shape, 4)))


def skeleton_of(parents: np.ndarray, rest: Pose) -> Skeleton:
    nodes = len(parents)
    return Skeleton(tuple(f"node{i}" for i in range(nodes)), np.asarray(parents), rest, np.ones(nodes, bool))


def random_skeleton(rng: np.random.Generator, nodes: int = 12, roots: int = 1, stretch: float = 0.0) -> Skeleton:
    """`stretch` > 0 gives every node a non-uniform scale of its own, up to that factor in both directions."""
    scale = np.exp(rng.uniform(-stretch, stretch, (nodes, 3)))
    rest = Pose(rng.normal(size=(nodes, 3)), random_rotations(rng, nodes), scale)
    return skeleton_of(random_parents(rng, nodes, roots), rest)


def chain_skeleton(nodes: int, step: tuple[float, float, float] = (0.0, 0.0, 1.0)) -> Skeleton:
    """Nodes one `step` apart, without rotation or scale; the first sits at the origin."""
    translation = np.tile(np.array(step), (nodes, 1))
    translation[0] = 0.0
    rest = Pose(translation, np.tile([1.0, 0.0, 0.0, 0.0], (nodes, 1)), np.ones((nodes, 3)))
    return skeleton_of(np.arange(nodes) - 1, rest)


def rig_of(
    skeleton: Skeleton,
    nodes: np.ndarray | None = None,
    rehang: dict[int, int] | None = None,
    axes: np.ndarray | None = None,
    root_axes: np.ndarray | None = None,
    pivot: np.ndarray | None = None,
) -> Rig:
    """Joints at the given nodes (default: all), each under its nearest ancestor in the file or where `rehang` says."""
    chosen = np.arange(len(skeleton)) if nodes is None else np.asarray(nodes)
    above = {int(node): next((a for a in skeleton.ancestors(int(node)) if a in chosen), -1) for node in chosen}
    above.update(rehang or {})
    position = {int(node): i for i, node in enumerate(chosen)}
    parents = np.array([position.get(above[int(node)], -1) for node in chosen])
    order = np.concatenate(levels_of(parents))
    rank = np.argsort(order)
    chosen, parents = chosen[order], np.where(parents[order] >= 0, rank[parents[order]], -1)
    T_world = skeleton.world()[chosen]
    T_world_parent = np.where((parents >= 0)[:, None, None], T_world[parents], np.eye(4))
    scale = skeleton.rest.scale[chosen]
    T_parent_joint = np.linalg.solve(T_world_parent, T_world)
    T_parent_joint[:, :3, :3] /= np.where(scale == 0, 1.0, scale)[:, None, :]
    return Rig(
        chosen,
        parents,
        T_parent_joint,
        scale,
        np.tile(np.eye(3), (len(chosen), 1, 1)) if axes is None else axes,
        np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]) if root_axes is None else root_axes,
        np.zeros(3) if pivot is None else pivot,
    )


def random_rig(
    rng: np.random.Generator, skeleton: Skeleton, nodes: np.ndarray | None = None, rehang: dict[int, int] | None = None
) -> Rig:
    """Random joint axes, body axes and pivot."""
    joints = len(skeleton) if nodes is None else len(nodes)
    axes = matrix_from_quaternion(random_rotations(rng, joints))
    return rig_of(skeleton, nodes, rehang, axes, matrix_from_quaternion(random_rotations(rng)), rng.normal(size=3))


def about_axes(angles: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """Quaternions of three turns [rad] about the columns of `axes`, by the axis-angle formula."""
    turns = [
        np.concatenate([np.cos(angles[..., i : i + 1] / 2), np.sin(angles[..., i : i + 1] / 2) * axes[..., i]], axis=-1)
        for i in range(3)
    ]
    return quaternion_multiply(quaternion_multiply(turns[0], turns[1]), turns[2])


def pose_by_quaternions(skeleton: Skeleton, rig: Rig, angles: np.ndarray) -> Pose:
    """The file's nodes turned by the rig's angles [frames, joints, 3]; needs a rig that hangs as the file does."""
    frames = len(angles)
    rotation = np.tile(skeleton.rest.rotation, (frames, 1, 1))
    rotation[:, rig.nodes] = quaternion_multiply(rotation[:, rig.nodes], about_axes(angles, rig.axes[None]))
    return Pose(
        np.tile(skeleton.rest.translation, (frames, 1, 1)), rotation, np.tile(skeleton.rest.scale, (frames, 1, 1))
    )


def body_by_quaternions(rig: Rig, translation: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """T_root [frames, 4, 4]: the pivot moved by `translation`, the body turned about it."""
    unit, still = np.ones(3), np.array([1.0, 0.0, 0.0, 0.0])
    turn = compose(rig.pivot + translation, about_axes(angles, rig.root_axes[None]), np.ones_like(translation))
    return turn @ compose(-rig.pivot, still, unit)


def box_points(half_sizes: np.ndarray, steps: int = 5) -> np.ndarray:
    """A solid grid of points filling a box about the origin."""
    line = np.linspace(-1, 1, steps)
    return np.stack(np.meshgrid(line, line, line, indexing="ij"), axis=-1).reshape(-1, 3) * half_sizes


def mesh_of(positions: np.ndarray, binds: np.ndarray, weights: np.ndarray | None = None, node: int = 0) -> Mesh:
    binds = np.asarray(binds).reshape(len(positions), -1)
    weights = np.full(binds.shape, 1 / binds.shape[1]) if weights is None else weights
    return Mesh("mesh", node, positions, np.zeros((0, 3), int), binds, weights)


def character_of(skeleton: Skeleton, *meshes: Mesh, bind_nodes: np.ndarray | None = None) -> Character:
    """Bound in the rest pose, so that mesh space is the world at rest; one bind per node unless told otherwise."""
    bind_nodes = np.arange(len(skeleton)) if bind_nodes is None else np.asarray(bind_nodes)
    return Character("test", skeleton, meshes, bind_nodes, np.linalg.pinv(skeleton.world()[bind_nodes]))


def random_character(
    rng: np.random.Generator, skeleton: Skeleton, vertices: int = 40, influences: int = 3
) -> Character:
    """Two random meshes bound in a pose that is not the rest pose."""
    weights = rng.dirichlet(np.ones(influences), size=(2, vertices))
    binds = rng.integers(0, len(skeleton), (2, vertices, influences))
    meshes = [mesh_of(rng.normal(size=(vertices, 3)), binds[i], weights[i]) for i in range(2)]
    inverse_binds = compose(
        rng.normal(size=(len(skeleton), 3)), random_rotations(rng, len(skeleton)), np.ones((len(skeleton), 3))
    )
    return Character("test", skeleton, tuple(meshes), rng.permutation(len(skeleton)), inverse_binds)
