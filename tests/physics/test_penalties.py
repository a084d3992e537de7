"""Bones that run into each other, and those that may."""

import dataclasses

import numpy as np
import pytest
import torch
from bodies import body_of, target_of
from small_ragdolls import ragdoll_of

from gambol.motion.rig_motion import RigMotion
from gambol.physics.penalties import SLACK, SPHERES, SelfCollisions
from gambol.physics.ragdoll import Ragdoll
from gambol.physics.reference import Reference, reference_of
from gambol.physics.target import PhysicalCharacter

RADIUS = 0.1
"""Of the cubes of a small ragdoll, as spheres."""


def chain(count: int = 4, parents=None) -> Ragdoll:
    """Cubes in a row, half a metre apart."""
    centers = np.stack([np.arange(count) * 0.5, np.ones(count), np.zeros(count)], 1)
    parents = np.arange(count) - 1 if parents is None else np.array(parents)
    inertias = np.tile(0.01 * np.eye(3), (count, 1, 1))
    axes = np.tile(np.eye(3), (count, 1, 1))
    return ragdoll_of(parents, np.full(count, 1 / count), inertias, centers, centers, axes, [], [])


def at(ragdoll: Ragdoll, **moved) -> tuple[torch.Tensor, torch.Tensor]:
    """One frame of one world; bones moved to other places, as bone0=(x, y, z)."""
    x = torch.as_tensor(ragdoll.centers).float()[None, None].clone()
    for name, place in moved.items():
        x[0, 0, int(name.removeprefix("bone"))] = torch.tensor(place)
    return x, torch.tensor([1.0, 0.0, 0.0, 0.0]).expand(1, 1, len(ragdoll), 4)


def test_nothing_touches_in_the_neutral_pose():
    for name in ("dog", "human", "spider"):
        body = body_of(name, "walk")
        collisions = SelfCollisions(body.ragdoll)
        assert len(collisions.first) > 0
        assert float(collisions.depth(*at(body.ragdoll))) == pytest.approx(0.0, abs=1e-6)


def test_how_deep():
    """Cubes are balls, in one place each: nine pairs of them."""
    ragdoll = chain()
    collisions = SelfCollisions(ragdoll)
    for apart, deep in ((0.05, 2 * SLACK * RADIUS - 0.05), (2 * SLACK * RADIUS + 0.001, 0.0), (0.5, 0.0)):
        x, q = at(ragdoll, bone3=(0.0, 1.0, apart))
        assert float(collisions.depth(x, q)) == pytest.approx(SPHERES**2 * deep, abs=1e-4)


def test_the_gradient_parts_them():
    ragdoll = chain()
    collisions = SelfCollisions(ragdoll)
    x, q = at(ragdoll, bone3=(0.02, 1.0, 0.05))
    x.requires_grad_()
    depth = collisions.depth(x, q).sum()
    depth.backward()
    gradient = x.grad[0, 0]
    away = (x.detach()[0, 0, 3] - x.detach()[0, 0, 0]) / (x.detach()[0, 0, 3] - x.detach()[0, 0, 0]).norm()
    torch.testing.assert_close(-gradient[3], SPHERES**2 * away, atol=1e-3, rtol=1e-3)
    torch.testing.assert_close(gradient[0], -gradient[3])
    assert not gradient[1:3].any()


def test_bones_in_the_very_same_place_have_a_finite_gradient():
    ragdoll = chain()
    x, q = at(ragdoll, bone3=(0.0, 1.0, 0.0))
    x.requires_grad_()
    SelfCollisions(ragdoll).depth(x, q).sum().backward()
    assert x.grad.isfinite().all()


@pytest.mark.parametrize(("bone", "touches"), [(1, False), (2, False), (3, True), (4, True)])
def test_neighbours_may_touch(bone, touches):
    """Skin folds between bones and the bones next to those."""
    ragdoll = chain(5)
    x, q = at(ragdoll, **{f"bone{bone}": (0.0, 1.0, 0.05)})
    assert (float(SelfCollisions(ragdoll).depth(x, q)) > 0) == touches


def test_siblings_must_not_touch():
    """Two arms of two bones each on one body."""
    ragdoll = chain(5, [-1, 0, 0, 1, 2])
    collisions = SelfCollisions(ragdoll)
    hands = at(ragdoll, bone3=(5.0, 1.0, 0.0), bone4=(5.0, 1.0, 0.05))
    arms = at(ragdoll, bone1=(5.0, 1.0, 0.0), bone2=(5.0, 1.0, 0.05))
    across = at(ragdoll, bone1=(5.0, 1.0, 0.0), bone4=(5.0, 1.0, 0.05))
    for crossed in (hands, across, arms):
        assert float(collisions.depth(*crossed)) > 0


def test_what_is_near_at_rest_may_be_as_near():
    ragdoll = chain()
    ragdoll.boxes.half_sizes[:] = 0.9  # larger than the way between any two
    collisions = SelfCollisions(ragdoll)
    assert float(collisions.depth(*at(ragdoll))) == pytest.approx(0.0, abs=1e-5)
    assert float(collisions.depth(*at(ragdoll, bone3=(1.0, 1.0, 0.0)))) > 0


def test_boxes_turn_with_their_bones():
    """A long box reaches another bone only when it is turned towards it."""
    ragdoll = chain()
    ragdoll.boxes.half_sizes[3] = (0.1, 0.1, 1.2)
    collisions = SelfCollisions(ragdoll)
    x, q = at(ragdoll, bone3=(1.0, 1.0, 0.0))
    assert float(collisions.depth(x, q)) == 0
    q = q.clone()
    q[0, 0, 3] = torch.tensor([np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0])  # z to x
    assert float(collisions.depth(x, q)) > 0


# Characters


def bent(body: PhysicalCharacter, bends: dict[str, tuple[float, float, float]], frames: int = 1) -> Reference:
    """Joints turned [rad]."""
    rig_motion = RigMotion.at_rest(len(body.rig.nodes), frames, 1.0, False)
    angles = rig_motion.angles.clone()
    names = [body.character.skeleton.names[node] for node in body.rig.nodes]
    for name, values in bends.items():
        angles[:, names.index(name)] = torch.tensor(values)
    return reference_of(body.ragdoll, body.rig, dataclasses.replace(rig_motion, angles=angles))


def depth_of(collisions: SelfCollisions, reference: Reference) -> torch.Tensor:
    return collisions.depth(reference.x[:, None], reference.q[:, None])[:, 0]


@pytest.fixture(scope="module")
def human() -> PhysicalCharacter:
    return body_of("human", "walk")


@pytest.fixture(scope="module")
def ways(human) -> list[Reference]:
    """Both legs swung to the same side of the body each: one of the two ways crosses the shins."""
    return [bent(human, {"thigh.L": (0, side, 0), "thigh.R": (0, -side, 0)}) for side in (-0.15, 0.15)]


@pytest.fixture(scope="module")
def crossed(human, ways) -> Reference:
    return max(ways, key=lambda each: float(depth_of(SelfCollisions(human.ragdoll), each)))


def test_legs_through_each_other(human, ways):
    depths = sorted(float(depth_of(SelfCollisions(human.ragdoll), each)) for each in ways)
    assert depths[0] == pytest.approx(0.0, abs=1e-4) and depths[1] > 0.01


def test_a_step_along_the_gradient_parts_legs(human, crossed):
    collisions = SelfCollisions(human.ragdoll)
    x, q = crossed.x[:, None].clone().requires_grad_(), crossed.q[:, None]
    before = collisions.depth(x, q).sum()
    before.backward()
    assert x.grad is not None
    after = collisions.depth(x.detach() - 1e-3 * x.grad, q).sum()
    assert float(after) < float(before.detach())
    moved = {name for name, gradient in zip(human.ragdoll.names, x.grad[0, 0], strict=True) if gradient.any()}
    assert moved and moved <= {f"{part}.{side}" for part in ("thigh", "shin", "foot") for side in "LR"}


def test_what_often_touches_belongs_together(human, crossed):
    """In a reference that shows it half of the time; not if it is for a moment."""
    apart = bent(human, {})

    def mixed(frames: int) -> Reference:
        shown = [crossed] * frames + [apart] * (10 - frames)
        tracks = {
            name: torch.cat([getattr(each, name) for each in shown])
            for name in ("x", "q", "angles", "upwards", "forwards")
        }
        return dataclasses.replace(crossed, **tracks)

    plain, often, once = (SelfCollisions(human.ragdoll, references) for references in ([], [mixed(5)], [mixed(1)]))
    assert float(depth_of(often, crossed)) == 0
    assert float(depth_of(once, crossed)) == float(depth_of(plain, crossed)) > 0


@pytest.mark.parametrize("name", ["dog", "human", "spider"])
def test_gaits_do_not_collide(name):
    target = target_of(name, "walk")
    depth = depth_of(SelfCollisions(target.body.ragdoll), target.reference)
    assert float(depth.mean()) < 0.02
