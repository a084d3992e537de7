"""Examples to learn from: a rigged body as points that follow joints, with its slots, in random poses and proportions.

Everything is in body axes (x left, y up, z forward) and in units of the body's longest side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from gambol.character.anatomy import Anatomy, analyze
from gambol.character.character import Character
from gambol.errors import GambolError
from gambol.motion.chains import find_chains
from gambol.rigging.learned.slots import PARTNERS, PARTS, SLOTS, filled_slots
from gambol.rigging.learned.surface_points import framing, sampled_surface

POINTS = 6000
"""Points of a surface that are kept; each sample draws some of them."""
NEIGHBOURS = 12
"""Vertices whose joints a point follows, by how near they are."""
USUAL_TURNS = {"trunk": 4.0, "neck": 8.0, "tail": 9.0, "leg": 8.0, "arm": 10.0, "wing": 15.0, "fin": 10.0, "": 8.0}
"""Deviations of the turns of joints, by chain [degrees]."""
ARM_LOWERED = (-20.0, 80.0)
"""Range by which half of the arms are lowered from where they are [degrees]."""
USUAL_SCALES = {"trunk": 0.06, "neck": 0.16, "tail": 0.2, "leg": 0.13, "arm": 0.13, "wing": 0.12, "fin": 0.12, "": 0.05}
"""Deviations of the logarithm of the size of chains."""


@dataclass(frozen=True, eq=False)
class RigExample:
    """One rigged body."""

    name: str
    family: str
    points: Float[np.ndarray, "points 3"]
    normals: Float[np.ndarray, "points 3"]
    owners: Int[np.ndarray, "points influences"]
    """Joints that each point follows."""
    weights: Float[np.ndarray, "points influences"]
    parents: Int[np.ndarray, " joints"]
    heads: Float[np.ndarray, "joints 3"]
    partners: Int[np.ndarray, " joints"]
    chains: tuple[str, ...]
    """Kind of chain of each joint, '' beside the chains."""
    starts: Bool[np.ndarray, " joints"]
    """Whether a joint begins its chain."""
    sides: Int[np.ndarray, " joints"]
    """1 on the left, -1 on the right, 0 in the middle."""
    slot_joints: Int[np.ndarray, " slots"]
    """The joint that holds each slot, -1 where that is not known."""
    slot_points: Float[np.ndarray, "slots 3"]
    parts: Bool[np.ndarray, " parts"]


@dataclass(frozen=True, eq=False)
class Sample:
    """What the network sees, and what it should say."""

    points: Float[np.ndarray, "points 3"]
    normals: Float[np.ndarray, "points 3"]
    places: Float[np.ndarray, "slots 3"]
    known: Bool[np.ndarray, " slots"]
    parts: Bool[np.ndarray, " parts"]
    facing: bool


def example_of(character: Character, family: str, anatomy: Anatomy | None = None) -> RigExample:
    """An example from a rigged character. GambolError if it has no mesh or too little of a skeleton."""
    anatomy = anatomy or analyze(character)
    body = anatomy.body
    faces = _faces(character)
    if not len(faces) or len(body) < 3:
        raise GambolError(f"'{character.name}' has too little mesh or skeleton to learn from")
    axes = np.stack([anatomy.left, anatomy.up, anatomy.forward], axis=1)
    centre = (body.vertices.min(0) + body.vertices.max(0)) / 2
    scale = 1 / float(np.ptp(body.vertices, axis=0).max())

    def own(points: np.ndarray) -> np.ndarray:
        return (points - centre) @ axes * scale

    points, normals = sampled_surface(own(body.vertices), faces, POINTS, np.random.default_rng(0))
    held = np.flatnonzero(body.owners >= 0)
    away, near = cKDTree(own(body.vertices[held])).query(points, NEIGHBOURS)
    weights = 1 / (away + 0.25 * away.mean(1, keepdims=True) + 1e-6) ** 2
    filled = filled_slots(anatomy)
    chains = find_chains(anatomy).chains
    kinds, starts = [""] * len(body), np.zeros(len(body), bool)
    for chain in chains:
        starts[chain.joints[0]] = True
        for joint in chain.joints:
            kinds[joint] = chain.kind
    heads = own(body.heads)
    slot_joints, slot_points = np.full(len(SLOTS), -1), np.zeros((len(SLOTS), 3))
    for slot, joint in filled.joints.items():
        slot_joints[slot], slot_points[slot] = joint, own(filled.points[slot])
    parts = np.isin(np.arange(len(PARTS)), sorted(filled.parts))
    sides = np.where(anatomy.partners == np.arange(len(body)), 0, np.sign(heads[:, 0])).astype(int)
    return RigExample(
        character.name,
        family,
        points.astype(np.float32),
        normals.astype(np.float32),
        body.owners[held][near],
        (weights / weights.sum(1, keepdims=True)).astype(np.float32),
        np.asarray(body.parents),
        heads,
        np.asarray(anatomy.partners),
        tuple(kinds),
        starts,
        sides,
        slot_joints,
        slot_points,
        parts,
    )


def _faces(character: Character) -> Int[np.ndarray, "faces 3"]:
    starts = np.cumsum([0, *(len(mesh.positions) for mesh in character.meshes)])
    faces = [mesh.faces + start for mesh, start in zip(character.meshes, starts, strict=False)]
    return np.concatenate([np.zeros((0, 3), int), *faces]).astype(int)


def varied(example: RigExample, count: int, generator: np.random.Generator) -> Sample:
    """The body in another pose, with other proportions, turned, and as files are: noisy, with holes and props."""
    turns, sizes = _turns(example, generator), _sizes(example, generator)
    rotations, heads = _posed(example, turns, sizes)
    chosen = generator.choice(len(example.points), min(2 * count, len(example.points)), replace=False)
    points, normals = _skinned(example, chosen, rotations, heads, sizes)
    known = example.slot_joints >= 0
    holders = np.where(known, example.slot_joints, 0)
    offsets = (example.slot_points - example.heads[holders]) * sizes[holders, None]
    places = heads[holders] + np.einsum("sij,sj->si", rotations[holders], offsets)
    points, normals = _as_in_files(points, normals, count, generator)
    stretch = np.exp(0.06 * generator.standard_normal(3))
    lean = Rotation.from_euler("yxz", generator.standard_normal(3) * (4, 3, 1), degrees=True).as_matrix() * stretch
    points, places = points @ lean.T, places @ lean.T
    normals = normals @ np.linalg.inv(lean)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-9)
    return _framed(points, normals, places, known, example.parts, generator)


def _framed(
    points: np.ndarray,
    normals: np.ndarray,
    places: np.ndarray,
    known: np.ndarray,
    parts: np.ndarray,
    generator: np.random.Generator,
) -> Sample:
    """In a unit box; perhaps mirrored, and perhaps facing back."""
    centre, scale = framing(points)
    points, places = (points - centre) * scale, (places - centre) * scale
    if generator.uniform() < 0.5:
        flip = np.array([-1.0, 1, 1])
        points, normals, places, known = points * flip, normals * flip, places[PARTNERS] * flip, known[PARTNERS]
    facing = bool(generator.uniform() < 0.5)
    if not facing:
        back = np.array([-1.0, 1, -1])
        points, normals, places = points * back, normals * back, places * back
    return Sample(
        points.astype(np.float32), normals.astype(np.float32), places.astype(np.float32), known, parts, facing
    )


def _turns(example: RigExample, generator: np.random.Generator) -> Float[np.ndarray, "joints 3 3"]:
    """A turn of each joint, in body axes."""
    count = len(example.parents)
    spread = np.array([USUAL_TURNS.get(kind, 8.0) for kind in example.chains]) * generator.uniform(0, 1.3)
    vectors = np.radians(spread)[:, None] * generator.standard_normal((count, 3))
    if generator.uniform() < 0.5:
        lowered = np.radians(generator.uniform(*ARM_LOWERED))
        arms = np.array([kind == "arm" for kind in example.chains]) & example.starts
        vectors[arms, 2] -= lowered * np.sign(example.heads[arms, 0])
    if generator.uniform() < 0.65:
        partners = np.where(example.partners >= 0, example.partners, np.arange(count))
        right = (example.sides < 0) & (partners != np.arange(count))
        vectors[right] = vectors[partners[right]] * (1, -1, -1)
        vectors[example.sides == 0] *= (1, 0, 0)
    return Rotation.from_rotvec(vectors).as_matrix()


def _sizes(example: RigExample, generator: np.random.Generator) -> Float[np.ndarray, " joints"]:
    """A factor on the size of each joint's bone and flesh: the same along a chain, and on both sides."""
    amount = generator.uniform(0, 1.3)
    sizes = np.ones(len(example.parents))
    drawn = {kind: np.exp(amount * spread * generator.standard_normal()) for kind, spread in USUAL_SCALES.items()}
    for joint, parent in enumerate(example.parents):
        kind = example.chains[joint]
        own = kind or (example.chains[parent] if parent >= 0 else "")
        sizes[joint] = drawn[own] if kind or parent < 0 else sizes[parent]
    return sizes


def _posed(
    example: RigExample, turns: Float[np.ndarray, "joints 3 3"], sizes: Float[np.ndarray, " joints"]
) -> tuple[Float[np.ndarray, "joints 3 3"], Float[np.ndarray, "joints 3"]]:
    rotations, heads = np.zeros_like(turns), np.zeros_like(example.heads)
    for joint, parent in enumerate(example.parents):  # parents come first
        if parent < 0:
            rotations[joint], heads[joint] = turns[joint], example.heads[joint]
            continue
        rotations[joint] = rotations[parent] @ turns[joint]
        offset = (example.heads[joint] - example.heads[parent]) * sizes[parent]
        heads[joint] = heads[parent] + rotations[parent] @ offset
    return rotations, heads


def _skinned(
    example: RigExample,
    chosen: Int[np.ndarray, " chosen"],
    rotations: Float[np.ndarray, "joints 3 3"],
    heads: Float[np.ndarray, "joints 3"],
    sizes: Float[np.ndarray, " joints"],
) -> tuple[Float[np.ndarray, "chosen 3"], Float[np.ndarray, "chosen 3"]]:
    """Linear blend skinning of some points."""
    matrices = rotations * sizes[:, None, None]
    shifts = heads - np.einsum("jab,jb->ja", matrices, example.heads)
    owners, weights = example.owners[chosen], example.weights[chosen]
    blended = np.einsum("pk,pkab->pab", weights, matrices[owners])
    points = np.einsum("pab,pb->pa", blended, example.points[chosen]) + np.einsum("pk,pka->pa", weights, shifts[owners])
    return points, np.einsum("pab,pb->pa", blended, example.normals[chosen])


def _as_in_files(
    points: np.ndarray, normals: np.ndarray, count: int, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """As many points as are wanted, noisy; now and then with a hole, a rod or a plate that belongs to nobody."""
    if generator.uniform() < 0.2:
        away = np.linalg.norm(points - points[generator.integers(len(points))], axis=1)
        kept = away > generator.uniform(0.03, 0.1)
        points, normals = points[kept], normals[kept]
    extra = np.zeros((0, 3))
    if generator.uniform() < 0.15:
        share = int(generator.uniform(0.02, 0.08) * count)
        if generator.uniform() < 0.5:  # a base plate
            reach = 0.3 * generator.uniform(0.5, 1.5)
            extra = np.stack([*generator.uniform(-reach, reach, (2, share)), np.zeros(share)], 1)[:, [0, 2, 1]]
            extra = extra + np.array([0, points[:, 1].min(), 0])
        else:  # a rod, as a sword, at some point far from the middle
            start = points[np.argmax(points @ generator.standard_normal(3))]
            way = generator.standard_normal(3)
            way *= generator.uniform(0.1, 0.5) / np.linalg.norm(way)
            extra = start + generator.uniform(-0.3, 1, (share, 1)) * way + 0.008 * generator.standard_normal((share, 3))
    chosen = generator.permutation(len(points))[: count - len(extra)]
    if len(chosen) + len(extra) < count:
        chosen = np.append(chosen, generator.integers(len(points), size=count - len(extra) - len(chosen)))
    odd = generator.standard_normal((len(extra), 3))
    points, normals = np.concatenate([points[chosen], extra]), np.concatenate([normals[chosen], odd])
    order = generator.permutation(count)
    points = points[order] + generator.uniform(0, 0.004) * generator.standard_normal((count, 3))
    return points, normals[order]
