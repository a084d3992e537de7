"""The zoo: creatures by sentence, by name or by chance, and their characters."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from jaxtyping import Float, Int

from gambol.character.character import Character, Material, Mesh
from gambol.character.heat import diffuse_heat
from gambol.character.skeleton import Pose, Skeleton
from gambol.character.skin import strongest
from gambol.character.welding import vertex_normals
from gambol.creatures.blueprint import Blueprint, PlanParameters
from gambol.creatures.colors import countershade, paint_pattern, random_coat
from gambol.creatures.heads import Head
from gambol.creatures.mesh import CreatureMesh, mesh_blueprint
from gambol.creatures.species import PLANS, SPECIES, BodyPlan
from gambol.creatures.words import CreatureRequest, parse_request
from gambol.errors import GambolError
from gambol.ranges import Range

PlanType = TypeVar("PlanType", bound=PlanParameters)
INFLUENCES = 4
"""Bones a vertex may follow: what every glTF viewer can show."""
VARIATION = 0.08
"""Share by which a random creature's parameters differ from what lies between two species."""


@dataclass(frozen=True)
class Creature:
    """A named body with all its parameters."""

    name: str
    plan: BodyPlan
    scale: float = 1.0
    """Size relative to the plan's own."""

    @cached_property
    def blueprint(self) -> Blueprint:
        """Skeleton and flesh, without a mesh; takes some milliseconds."""
        blueprint = self.plan.blueprint()
        return blueprint if self.scale == 1.0 else blueprint.scaled(self.scale)

    def character(self) -> Character:
        """Return the character with mesh, colours and skin weights; takes about a second."""
        blueprint = self.blueprint
        surface = mesh_blueprint(blueprint)
        normals = vertex_normals(surface.vertices, surface.faces)
        normals[~normals.any(1)] = (0.0, 1.0, 0.0)  # where all triangles around are slivers
        bones, weights = _skin_weights(blueprint, surface)
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
    """Return the creature that a sentence or a name describes: 'horse', 'a small brown horse'."""
    return creature_for(parse_request(sentence)).character()


def creature_for(request: CreatureRequest) -> Creature:
    """Return the creature that was asked for, before it has a mesh."""
    plan = SPECIES[request.species]
    if request.color:
        plan = replace(plan, coat=plan.coat.recolored(request.color))
    return Creature(request.species, plan, request.scale)


def random_creature(seed: object, plan: str | None = None) -> Creature:
    """Return a creature between two species of one body plan, in a random coat.

    seed: a whole number from 0; the same seed gives the same creature.
    plan: one of the keys of `gambol.creatures.species.PLANS`, any by default.
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


def ranges_of(kind: type) -> dict[str, tuple[type, Range]]:
    """Type, int or float, and range of each numeric parameter of a plan, by name."""
    hints = get_type_hints(kind, include_extras=True).items()
    return {name: get_args(hint) for name, hint in hints if get_origin(hint) is Annotated}


def crossed(first: PlanType, second: PlanType, generator: np.random.Generator) -> PlanType:
    """Return a mixture of two plans of one kind: numbers between theirs and a little beyond, choices of either.

    Drawing every parameter over its whole range on its own would give a mouse a giraffe's neck; between two real
    animals proportions stay plausible.
    """
    share = generator.uniform()
    ranges = ranges_of(type(first))
    values: dict[str, Any] = {}
    for field in fields(first):
        a, b = getattr(first, field.name), getattr(second, field.name)
        change, coin = generator.uniform(-VARIATION, VARIATION), generator.uniform()
        if isinstance(a, Head):
            values[field.name] = crossed(a, b, generator)
        elif field.name not in ranges:
            values[field.name] = a if coin < share else b
        else:
            number, limits = ranges[field.name]
            mixed = b + (a - b) * share
            if number is int:
                # Chains of bones may have one more or one fewer; legs, eyes and humps are what they are.
                mixed = round(mixed + (12 * change if field.name.endswith("_bones") else 0.0))
            else:
                mixed = mixed * (1 + change)
            values[field.name] = number(np.clip(mixed, limits.least, limits.most))
    return replace(first, **values)


def _skeleton(name: str, blueprint: Blueprint) -> Skeleton:
    heads, parents = blueprint.heads, blueprint.parents
    local = heads - np.where(parents[:, None] >= 0, heads[parents], 0)
    count = len(heads) + 1  # one node more, which carries the mesh
    still = np.tile([1.0, 0, 0, 0], (count, 1))
    pose = Pose(np.concatenate([local, np.zeros((1, 3))]), still, np.ones((count, 3)))
    return Skeleton((*blueprint.names, name), np.append(parents, -1), pose, np.arange(count) < len(heads))


def _skin_weights(
    blueprint: Blueprint, surface: CreatureMesh
) -> tuple[Int[np.ndarray, "vertices influences"], Float[np.ndarray, "vertices influences"]]:
    """Bones and weights of each vertex: the body by heat, each detail rigid on its bone.

    By the paper's method: the priors were trained on animals with these weights.
    """
    body = surface.vertices[: surface.body_vertices]
    dense = diffuse_heat(body, surface.body_faces, blueprint.heads, blueprint.tips, method="paper").weights
    bones, weights = strongest(dense, INFLUENCES)
    carriers = [blueprint.names.index(blueprint.all_details[number].bone) for number in surface.detail_of]
    rigid = np.tile(np.array(carriers, int)[:, None], (1, INFLUENCES))
    alone = np.tile([1.0] + [0.0] * (INFLUENCES - 1), (len(rigid), 1))
    return np.concatenate([bones, rigid]), np.concatenate([weights, alone])


def _colors(
    blueprint: Blueprint, surface: CreatureMesh, normals: Float[np.ndarray, "vertices 3"]
) -> Float[np.ndarray, "vertices 3"]:
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
    plain = share[(base == coat.color("main")).all(1)].sum(0)
    below = plain * countershade(coat, normals[:count], on_legs)
    marked = plain * (1 - below) * paint_pattern(coat, points, normals[:count], height, on_legs)
    body = share.T @ base
    for paint, amount in (("belly", below), ("mark", marked)):
        body = body * (1 - amount[:, None]) + coat.color(paint) * amount[:, None]
    details = blueprint.all_details
    rings = zip(surface.detail_of, surface.ring_of, strict=True)
    crisp = [coat.color(details[d].paints[r if len(details[d].paints) > 1 else 0]) for d, r in rings]
    return np.concatenate([body, np.array(crisp).reshape(-1, 3)])
