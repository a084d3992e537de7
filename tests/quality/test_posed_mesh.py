"""Meshes in poses without a clip."""

import numpy as np
import torch
from character.creatures import human

from gambol.character.anatomy import analyze
from gambol.character.rig import build_rig
from gambol.quality.posed_mesh import PosedMesh


def posed(character, anatomy, name=None, degrees=0.0, axis=(0.0, 0.0, 1.0)):
    """Transforms of the joints with one of them, and all below it, turned about an axis of the world."""
    rig = build_rig(anatomy)
    world = rig.world()
    if name is not None:
        joint = [character.skeleton.names[node] for node in anatomy.body.nodes].index(name)
        half = np.radians(degrees)
        x, y, z = axis
        cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        rotation = np.eye(3) + np.sin(half) * cross + (1 - np.cos(half)) * cross @ cross
        for each in anatomy.body.subtree(joint):
            moved = world[each, :3, 3] - anatomy.body.heads[joint]
            world[each, :3, :3] = rotation @ world[each, :3, :3]
            world[each, :3, 3] = anatomy.body.heads[joint] + rotation @ moved
    return torch.as_tensor(world[None, :, :3])


def test_the_bound_mesh_is_where_it_was_and_does_not_count():
    character = human()
    anatomy = analyze(character)
    mesh = PosedMesh(character, anatomy)
    bound = posed(character, anatomy)
    wanted = anatomy.body.vertices @ np.stack([anatomy.left, anatomy.up, anatomy.forward], 1) / anatomy.height
    np.testing.assert_allclose(mesh.vertices(bound)[0], wanted, atol=1e-6)
    assert mesh.intersecting(bound)[0] == 0


def test_a_leg_in_the_other_leg_goes_through_it():
    character = human()
    anatomy = analyze(character)
    mesh = PosedMesh(character, anatomy)
    legs = [limb for limb in anatomy.limbs if limb.kind == "leg"]
    name = character.skeleton.names[anatomy.body.nodes[legs[0].chain[0]]]
    inwards = 10 * -np.sign((anatomy.body.heads[legs[0].chain[0]] - anatomy.body.heads[legs[1].chain[0]])[0])
    found = [mesh.intersecting(posed(character, anatomy, name, sign * inwards))[0] for sign in (-1, 1)]
    assert max(found) > 1 and min(found) == 0
