"""Which bones move which vertices of a creature."""

import numpy as np
from jaxtyping import Float, Int

from gambol.character.heat import heat_weights
from gambol.character.skin import strongest
from gambol.creatures.blueprint import Blueprint
from gambol.creatures.surface import Surface

Array = np.ndarray
INFLUENCES = 4
"""Bones a vertex may follow: what every glTF viewer can show."""


def skin_weights(
    blueprint: Blueprint, surface: Surface
) -> tuple[Int[Array, "vertices influences"], Float[Array, "vertices influences"]]:
    """Bones and weights of each vertex: the body by heat, each detail rigid on its bone."""
    count = surface.body_vertices
    dense = heat_weights(surface.vertices[:count], surface.body_faces, blueprint.heads, blueprint.tips)
    bones, weights = strongest(dense, INFLUENCES)
    index = {name: i for i, name in enumerate(blueprint.names)}
    carrier = np.array([index[detail.bone] for detail in blueprint.all_details], int)
    rigid = np.zeros((len(surface.detail_of), INFLUENCES), int)
    if len(surface.detail_of):
        rigid[:] = carrier[surface.detail_of][:, None]
    alone = np.tile([1.0] + [0.0] * (INFLUENCES - 1), (len(rigid), 1))
    return np.concatenate([bones, rigid]), np.concatenate([weights, alone])
