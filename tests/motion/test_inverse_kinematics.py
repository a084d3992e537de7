import numpy as np
import pytest

from gambol.motion.inverse_kinematics import (
    COMFORTABLE,
    UTMOST,
    FoldingChain,
    folding_chain,
    shortest_arc,
    within_reach,
)

LEFT = np.array([1.0, 0, 0])
HIND = np.array([[0.1, 0.50, -0.27], [0.1, 0.31, -0.20], [0.1, 0.14, -0.32], [0.1, 0.03, -0.29]])
STRAIGHT = np.array([[0.1, 0.9, 0], [0.1, 0.5, 0], [0.1, 0.1, 0]])
SPRAWLED = np.array([[0.08, 0.3, 0.1], [0.35, 0.55, 0.15], [0.7, 0.02, 0.2]])


def ends(chain: FoldingChain, rotations: np.ndarray) -> np.ndarray:
    """Joints and end of every frame by adding up the turned links."""
    steps = np.einsum("flij,lj->fli", rotations, np.diff(chain.points, axis=0))
    return chain.points[0] + np.concatenate([np.zeros_like(steps[:, :1]), steps.cumsum(1)], axis=1)


def reachable(chain: FoldingChain, count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rest = chain.points[-1] - chain.points[0]
    ways = rest / np.linalg.norm(rest) + rng.normal(scale=0.25, size=(count, 3))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    return chain.points[0] + ways * chain.reach * rng.uniform(0.55, COMFORTABLE, (count, 1))


@pytest.mark.parametrize("points", [HIND, STRAIGHT, SPRAWLED], ids=["hind", "straight", "sprawled"])
def test_the_end_comes_to_the_target(points):
    chain = folding_chain(points, LEFT)
    targets = reachable(chain, 200, seed=1)
    rotations = chain.rotations(targets)
    assert np.abs(ends(chain, rotations)[:, -1] - targets).max() < 1e-9
    assert np.allclose(rotations @ rotations.swapaxes(-1, -2), np.eye(3), atol=1e-12)


@pytest.mark.parametrize("links", [1, 2, 3, 5, 8])
def test_any_number_of_joints(links):
    rng = np.random.default_rng(links)
    steps = rng.normal([0, -1.0 / links, 0], 0.08, size=(links, 3))
    points = np.cumsum([[0, 1.0, 0], *steps], axis=0)
    chain = folding_chain(points, LEFT)
    way = points[-1] - points[0]
    targets = (
        points[0] + shortest_arc(np.tile([0.0, -1, 0], (20, 1)), _unit(rng.normal([0, -2, 0], 0.5, (20, 3)))) @ way
    )
    shrink = 1.0 if links == 1 else 0.93
    targets = points[0] + shrink * (targets - points[0])
    assert np.abs(ends(chain, chain.rotations(targets))[:, -1] - targets).max() < 1e-9


def test_no_turn_is_needed_at_rest():
    assert np.abs(folding_chain(HIND, LEFT).rotations(HIND[-1:]) - np.eye(3)).max() < 1e-9


def test_joints_fold_the_way_they_are_bent():
    chain = folding_chain(HIND, LEFT)
    joints = ends(chain, chain.rotations(HIND[-1:] + np.array([0, 0.08, 0])))[0]
    knee, hock = _bend(joints[:3]), _bend(joints[1:])
    assert knee > _bend(HIND[:3]) > 0, "the knee points forward and folds more"
    assert hock < _bend(HIND[1:]) < 0, "the hock points backward and folds more"


@pytest.mark.parametrize("forward, sign", [(True, 1), (False, -1)])
def test_a_straight_leg_folds_as_told(forward, sign):
    chain = folding_chain(STRAIGHT, LEFT, knee_forward=forward)
    knee = ends(chain, chain.rotations(np.array([[0.1, 0.3, 0.0]])))[0, 1]
    assert sign * knee[2] > 0.2
    assert knee[0] == pytest.approx(0.1)


def test_a_sprawled_knee_stays_above_the_line_from_hip_to_foot():
    chain = folding_chain(SPRAWLED, LEFT)
    joints = ends(chain, chain.rotations(reachable(chain, 100, seed=3)))
    middle = (joints[:, 0] + joints[:, 2]) / 2
    assert (joints[:, 1, 1] > middle[:, 1] + 0.05).all()


def test_beyond_reach_the_leg_points_at_the_target_and_never_snaps_straight():
    chain = folding_chain(HIND, LEFT)
    far = chain.points[0] + np.linspace(0.9, 3.0, 400)[:, None] * chain.reach * np.array([0, -1.0, 0.0])
    reached = ends(chain, chain.rotations(far))[:, -1] - chain.points[0]
    distance = np.linalg.norm(reached, axis=1)
    assert distance.max() <= UTMOST * chain.reach + 1e-9
    assert (np.diff(distance) > -1e-9).all()
    assert np.allclose(reached / distance[:, None], [0, -1, 0], atol=1e-9)
    assert np.abs(np.diff(within_reach(np.linspace(0.9, 1.1, 1000), 1.0), 2)).max() < 1e-4, "without a kink"


def test_extra_turns_are_kept_and_the_target_is_still_met():
    points = np.array([[0, 1.0, 0], [0, 0.7, -0.1], [0, 0.4, 0.0], [0, 0.1, 0.01]])
    chain = folding_chain(points, LEFT)
    targets = points[-1:] + np.array([0, 0.15, 0.1])
    extra = np.array([[0, 0, 0.6]])
    plain, curled = (ends(chain, chain.rotations(targets, turns))[0] for turns in (None, extra))
    assert np.allclose(curled[-1], targets[0], atol=1e-9)
    assert _bend(curled[1:]) > _bend(plain[1:]) + 0.3


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def _bend(joints: np.ndarray) -> float:
    """Turn from one link to the next about the left [rad]; a knee that points forward is positive."""
    upper, lower = np.diff(joints, axis=0)
    return float(np.arctan2(np.cross(upper, lower) @ LEFT, upper @ lower))
