"""Takes: movements in canonical space, varied and filmed."""

import numpy as np
import pytest
import torch

from gambol.character.anatomy import study
from gambol.creatures.zoo import create
from gambol.priors.pocket.actions import ACTIONS
from gambol.priors.pocket.look import draw_figure
from gambol.priors.pocket.takes.herd import gait_cycle, gather_herd, takes_of_creature
from gambol.priors.pocket.takes.take import film_takes, load_takes, save_takes, take_of, varied, with_arms_elsewhere


def take(name, action):
    anatomy = study(create(name))
    return take_of(draw_figure(anatomy), anatomy, gait_cycle(anatomy, action))


@pytest.fixture(scope="module")
def walking():
    return take("fox", "walk")


def feet(take):
    """Heights of the ends of the legs [frames legs]."""
    names = sorted({part for part in take.parts if " leg " in part})
    last = [max(i for i, part in enumerate(take.parts) if part == name) for name in names]
    return take.points[:, last, 1, 1]


def test_canonical_space_is_in_leg_lengths_above_the_ground(walking):
    assert walking.action == "walk"
    assert 0.7 < walking.rest[0, 0, 1] < 1.3, "hips are about a leg above the ground"
    heights = feet(walking)
    assert heights.min() > -0.05 and heights.min(0).max() < 0.15
    assert np.ptp(walking.points[:, 0, 0, 2]) < 0.1, "it stays in place"


def test_a_walk_begins_when_the_left_hind_foot_has_landed(walking):
    left = max(i for i, part in enumerate(walking.parts) if part == "left leg 1")
    ahead = walking.points[:, left, 1, 2]
    assert ahead[0] > ahead[4] > ahead[8], "from then on it goes back with the ground"
    assert np.argmax(ahead) in (0, 1, 14, 15)


@pytest.mark.parametrize("seed", range(5))
def test_varied_proportions_keep_feet_on_the_ground_and_strokes_together(walking, seed):
    other = varied(walking, np.random.default_rng(seed))
    lowest, before = feet(other).min(0), feet(walking).min(0)
    assert np.allclose(lowest, before, atol=0.01)
    gaps = np.linalg.norm(walking.rest[:, None] - walking.rest[None, :, :1], axis=-1)
    same = np.linalg.norm(other.rest[:, None] - other.rest[None, :, :1], axis=-1)
    assert same[gaps < 1e-6].max() < 1e-5
    assert not np.allclose(other.rest, walking.rest)


def test_arms_at_rest_move_but_what_they_do_does_not():
    human = take("human", "walk")
    spread = with_arms_elsewhere(human, np.random.default_rng(1))
    arms = [i for i, part in enumerate(human.parts) if " arm " in part]
    others = [i for i in range(len(human.parts)) if i not in arms]
    assert np.array_equal(spread.points, human.points)
    assert np.array_equal(spread.rest[others], human.rest[others])
    lengths = [np.linalg.norm(t.rest[arms, 1] - t.rest[arms, 0], axis=1) for t in (spread, human)]
    assert np.allclose(*lengths, atol=1e-5)
    left, right = (spread.rest[[i for i in arms if side in human.parts[i]], 1] for side in ("left", "right"))
    assert np.allclose(left * [-1, 1, 1], right, atol=1e-3), "both sides alike"


def test_filming_is_the_same_for_the_same_seed_and_pads_unequal_figures(walking):
    pair = [walking, take("spider", "walk")]
    (first, rests), (again, _) = (film_takes(pair, np.random.default_rng(3), 30) for _ in range(2))
    assert torch.equal(first, again)
    assert first.shape == (2, 16, 30, 30, 3) and rests.shape == (2, 30, 30, 3)
    generator = np.random.default_rng(3)
    alone, _ = film_takes(pair[:1], generator, 30)
    assert torch.allclose(alone[0], first[0], atol=1e-5), "the other figure's strokes must not show"


def test_takes_survive_the_disk(walking, tmp_path):
    save_takes([walking, walking], tmp_path / "takes.safetensors")
    back = load_takes(tmp_path / "takes.safetensors")
    assert len(back) == 2 and back[1].parts == walking.parts and back[0].action == "walk"
    assert np.array_equal(back[1].points, walking.points)


def test_a_creature_shows_what_it_can(tmp_path):
    takes = takes_of_creature(3)
    assert {"walk", "trot", "run", "hop", "jump", "stand", "turn left", "turn right"} <= {t.action for t in takes}
    assert all(t.action in ACTIONS and -1 <= t.pace <= 1 for t in takes)
    assert all(np.isfinite(t.points).all() for t in takes)
    again = takes_of_creature(3)
    assert all(np.array_equal(a.points, b.points) for a, b in zip(takes, again, strict=True))


def test_the_herd_is_gathered_once(tmp_path):
    (path,) = gather_herd(tmp_path, 1, 3)
    made = path.stat().st_mtime_ns
    assert gather_herd(tmp_path, 1, 3) == [path] and path.stat().st_mtime_ns == made
    assert len(load_takes(path)) == len(takes_of_creature(3))
