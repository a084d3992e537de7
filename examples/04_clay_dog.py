"""Build a character from nothing: a dog of clay sausages with a skeleton, skin weights and vertex colours.

python examples/04_clay_dog.py dog.glb
"""

import sys
from pathlib import Path

import numpy as np
from gambol import Character, save
from gambol.character.character import Material, Mesh
from gambol.character.skeleton import Pose, Skeleton

RUST, CREAM, DARK = (0.55, 0.22, 0.07, 1.0), (0.85, 0.72, 0.55, 1.0), (0.09, 0.06, 0.05, 1.0)

# name: (parent, head, tip, radius at head and tip, colour) [m]; y is up, +z forward, +x the dog's left
MIDDLE = {
    "hips": (None, (0, 0.52, -0.25), (0, 0.53, -0.02), 0.115, 0.105, RUST),
    "spine": ("hips", (0, 0.53, -0.02), (0, 0.54, 0.20), 0.105, 0.12, RUST),
    "chest": ("spine", (0, 0.54, 0.20), (0, 0.62, 0.33), 0.125, 0.085, RUST),
    "neck": ("chest", (0, 0.62, 0.33), (0, 0.78, 0.42), 0.08, 0.07, RUST),
    "head": ("neck", (0, 0.78, 0.42), (0, 0.80, 0.52), 0.095, 0.085, RUST),
    "snout": ("head", (0, 0.77, 0.54), (0, 0.75, 0.68), 0.055, 0.035, CREAM),
    "tail.1": ("hips", (0, 0.58, -0.35), (0, 0.68, -0.48), 0.04, 0.045, RUST),
    "tail.2": ("tail.1", (0, 0.68, -0.48), (0, 0.80, -0.56), 0.045, 0.03, RUST),
    "tail.3": ("tail.2", (0, 0.80, -0.56), (0, 0.90, -0.57), 0.03, 0.012, CREAM),
}
LEFT = {
    "ear": ("head", (0.06, 0.86, 0.44), (0.10, 0.98, 0.42), 0.032, 0.008, DARK),
    "thigh": ("hips", (0.09, 0.50, -0.27), (0.10, 0.31, -0.20), 0.085, 0.05, RUST),
    "shin": ("thigh", (0.10, 0.31, -0.20), (0.10, 0.14, -0.32), 0.045, 0.03, RUST),
    "hock": ("shin", (0.10, 0.14, -0.32), (0.10, 0.03, -0.29), 0.028, 0.026, DARK),
    "hind_paw": ("hock", (0.10, 0.03, -0.29), (0.10, 0.025, -0.20), 0.03, 0.025, DARK),
    "upper_arm": ("chest", (0.09, 0.50, 0.24), (0.10, 0.30, 0.19), 0.07, 0.042, RUST),
    "forearm": ("upper_arm", (0.10, 0.30, 0.19), (0.10, 0.06, 0.22), 0.038, 0.028, RUST),
    "front_paw": ("forearm", (0.10, 0.03, 0.22), (0.10, 0.025, 0.31), 0.03, 0.025, DARK),
}


def both_sides(middle: dict[str, tuple], left: dict[str, tuple]) -> dict[str, tuple]:
    """The bones of the middle and of the left, and those of the left mirrored."""
    bones = dict(middle)
    for side, sign in ((".L", 1), (".R", -1)):
        for name, (parent, head, tip, *rest) in left.items():
            parent = parent if parent in middle else parent + side
            bones[name + side] = (parent, (sign * head[0], *head[1:]), (sign * tip[0], *tip[1:]), *rest)
    return bones


def sausage(head, tip, thick: float, thin: float, rings: int = 9, around: int = 14) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of a closed capsule from head to tip."""
    axis = tip - head
    length = np.linalg.norm(axis)
    axis = axis / length
    side = np.cross(axis, [1.0, 0, 0] if abs(axis[0]) < 0.9 else [0, 1.0, 0])
    side /= np.linalg.norm(side)
    up = np.cross(axis, side)
    turn = np.linspace(0, 2 * np.pi, around, endpoint=False)
    angles = np.linspace(-np.pi / 2, np.pi / 2, rings)
    points = [head - axis * thick]
    for angle in angles[1:-1]:
        share = (np.sin(angle) + 1) / 2
        radius = thick + (thin - thick) * share
        along = head + axis * (length * share + radius * np.sin(angle) * abs(np.sin(angle)))
        ring = np.cos(turn)[:, None] * side + np.sin(turn)[:, None] * up
        points.extend(along + radius * np.cos(angle) ** 0.6 * ring)
    points.append(tip + axis * thin)
    faces = [(0, 1 + (k + 1) % around, 1 + k) for k in range(around)]
    for ring in range(rings - 3):
        start = 1 + ring * around
        for k in range(around):
            a, b, c, d = start + k, start + (k + 1) % around, start + around + k, start + around + (k + 1) % around
            faces += [(a, b, d), (a, d, c)]
    last = len(points) - 1
    faces += [(last, last - around + k, last - around + (k + 1) % around) for k in range(around)]
    return np.array(points), np.array(faces)


def clay(name: str, bones: dict[str, tuple]) -> Character:
    """A sausage for every bone, bound to a skeleton."""
    names = list(bones)
    heads = np.array([bone[1] for bone in bones.values()], float)
    tips = np.array([bone[2] for bone in bones.values()], float)
    parents = np.array([names.index(bone[0]) if bone[0] else -1 for bone in bones.values()])
    local = heads - np.where(parents[:, None] >= 0, heads[parents], 0)
    count = len(names) + 1  # one node more, which carries the mesh
    pose = Pose(np.concatenate([local, np.zeros((1, 3))]), np.tile([1.0, 0, 0, 0], (count, 1)), np.ones((count, 3)))
    skeleton = Skeleton((*names, name), np.append(parents, -1), pose, np.arange(count) < len(names))

    points, faces, colors, total = [], [], [], 0
    for head, tip, (_, _, _, thick, thin, color) in zip(heads, tips, bones.values(), strict=True):
        vertices, triangles = sausage(head, tip, thick, thin)
        points.append(vertices)
        faces.append(triangles + total)
        colors.append(np.tile(color, (len(vertices), 1)))
        total += len(vertices)
    positions = np.concatenate(points)
    own = np.repeat(np.arange(len(names)), [len(p) for p in points])
    # Each vertex follows its own bone, near the joint also the parent, half and half where they meet.
    parent = np.where(parents[own] >= 0, parents[own], own)
    along = np.einsum("vi,vi->v", positions - heads[own], tips[own] - heads[own])
    share = np.clip(0.5 + along / np.linalg.norm(tips - heads, axis=1)[own] ** 2 * 2, 0, 1)
    mesh = Mesh(
        name=name,
        node=len(names),
        positions=positions.astype(np.float32),
        faces=np.concatenate(faces),
        binds=np.stack([own, parent], axis=1),
        weights=np.stack([share, 1 - share], axis=1),
        material=Material("clay", metallic=0.0, roughness=0.9),
        colors=np.concatenate(colors).astype(np.float32),
    )
    inverse_binds = np.tile(np.eye(4), (len(names), 1, 1))
    inverse_binds[:, :3, 3] = -heads
    return Character(name, skeleton, (mesh,), np.arange(len(names)), inverse_binds)


if __name__ == "__main__":
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "dog.glb")
    path.parent.mkdir(parents=True, exist_ok=True)
    save(clay("dog", both_sides(MIDDLE, LEFT)), path)
    print(f"wrote {path}")
