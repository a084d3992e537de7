"""The zoo: creatures by sentence, by name or by chance, and their characters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gambol.character.character import Character, Material, Mesh
from gambol.character.skeleton import Pose, Skeleton
from gambol.character.welding import vertex_normals
from gambol.creatures.blueprint import Blueprint
from gambol.creatures.colors import countershade, paint_pattern, random_coat
from gambol.creatures.ranges import crossed
from gambol.creatures.species import PLANS, SPECIES, Plan
from gambol.creatures.surface import Surface, mesh_blueprint
from gambol.creatures.words import Wish, understand
from gambol.errors import GambolError

Array = np.ndarray


@dataclass(frozen=True)
class Creature:
    """A named body with all its parameters."""

    name: str
    plan: Plan
    scale: float = 1.0
    """Size relative to the plan's own."""

    @cached_property
    def blueprint(self) -> Blueprint:
        """Skeleton and flesh, without a mesh: some milliseconds."""
        drawn = self.plan.blueprint()
        return drawn if self.scale == 1.0 else drawn.scaled(self.scale)

    def character(self) -> Character:
        """With mesh, colours and skin weights: about a second."""
        from gambol.creatures.weights import skin_weights

        blueprint = self.blueprint
        surface = mesh_blueprint(blueprint)
        normals = vertex_normals(surface.vertices, surface.faces)
        normals[~normals.any(1)] = (0.0, 1.0, 0.0)  # where all triangles around are slivers
        bones, weights = skin_weights(blueprint, surface)
        colors = _colors(blueprint, surface, normals)
        mesh = Mesh(
            name=self.name,
            node=len(blueprint.bones),
            positions=surface.vertices.astype(np.float32),
            faces=surface.faces,
            binds=bones,
            weights=weights,
            material=Material("skin", metallic=0.0, roughness=0.85),
            normals=normals.astype(np.float32),
            colors=np.concatenate([colors, np.ones((len(colors), 1))], axis=1).astype(np.float32),
        )
        inverse_binds = np.tile(np.eye(4), (len(blueprint.bones), 1, 1))
        inverse_binds[:, :3, 3] = -blueprint.heads
        skeleton = _skeleton(self.name, blueprint)
        return Character(self.name, skeleton, (mesh,), np.arange(len(blueprint.bones)), inverse_binds)


def create(sentence: str) -> Character:
    """The creature a sentence or a name speaks of: 'horse', 'a small brown horse'."""
    return imagine(understand(sentence)).character()


def imagine(wish: Wish) -> Creature:
    """The creature that was wished for, not yet made."""
    plan = SPECIES[wish.species]
    if wish.color:
        plan = replace(plan, coat=plan.coat.dyed(wish.color))
    return Creature(wish.species, plan, wish.scale)


def random_creature(seed: int, plan: str | None = None) -> Creature:
    """A creature that never was: between two species of one body plan, in a random coat; the same for the same seed.

    seed is a whole number from 0; plan one of the keys of `gambol.creatures.species.PLANS`, any if not given.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise GambolError(f"the seed must be a whole number from 0, got {seed!r}")
    if plan is not None and plan not in PLANS:
        raise GambolError(f"there is no body plan '{plan}'; known: {', '.join(PLANS)}")
    generator = np.random.default_rng(seed)
    chosen = plan or str(generator.choice(list(PLANS)))
    first, second = (PLANS[chosen][str(generator.choice(list(PLANS[chosen])))] for _ in range(2))
    child = crossed(first, second, generator)
    return Creature(f"{chosen} {seed}", replace(child, coat=random_coat(child.coat, generator)))


def _skeleton(name: str, blueprint: Blueprint) -> Skeleton:
    heads, parents = blueprint.heads, blueprint.parents
    local = heads - np.where(parents[:, None] >= 0, heads[parents], 0)
    count = len(heads) + 1  # one node more, which carries the mesh
    still = np.tile([1.0, 0, 0, 0], (count, 1))
    pose = Pose(np.concatenate([local, np.zeros((1, 3))]), still, np.ones((count, 3)))
    return Skeleton((*blueprint.names, name), np.append(parents, -1), pose, np.arange(count) < len(heads))


def _colors(blueprint: Blueprint, surface: Surface, normals: Array) -> Array:
    """Linear RGB of every vertex: soft borders between pieces, then the coat's pattern."""
    coat, count = blueprint.coat, surface.body_vertices
    points = surface.vertices[:count]
    height = float(points[:, 1].max())
    paints = sorted({piece.paint for piece in blueprint.flesh})
    nearest = np.full((len(paints), count), np.inf)
    leg = np.full(count, np.inf)
    for piece in blueprint.all_flesh:
        distance = piece.distance(points)
        row = paints.index(piece.paint)
        nearest[row] = np.minimum(nearest[row], distance)
        if "leg" in piece.bone or "foot" in piece.bone:
            leg = np.minimum(leg, distance)
    softness = 0.003 * height
    share = np.exp(-(nearest - nearest.min(0)) / softness)
    share /= share.sum(0)
    base = np.array([coat.color(paint) for paint in paints])
    on_legs = np.exp(-np.clip(leg - nearest.min(0), 0, None) / softness)
    plain = share[
        [i for i, paint in enumerate(paints) if coat.color(paint).tolist() == coat.color("main").tolist()]
    ].sum(0)
    below = plain * countershade(coat, normals[:count], on_legs)
    marked = plain * (1 - below) * paint_pattern(coat, points, normals[:count], height, on_legs)
    body = share.T @ base
    for paint, amount in (("belly", below), ("mark", marked)):
        body = body * (1 - amount[:, None]) + coat.color(paint) * amount[:, None]
    details = blueprint.all_details
    rings = zip(surface.detail_of, surface.ring_of, strict=True)
    crisp = [coat.color(details[d].paints[r if len(details[d].paints) > 1 else 0]) for d, r in rings]
    return np.concatenate([body, np.array(crisp).reshape(-1, 3)])
