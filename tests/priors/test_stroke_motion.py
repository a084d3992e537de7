"""Motions of strokes in canonical space, varied, mirrored and rendered."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gambol.actions import ACTIONS
from gambol.character.anatomy import analyze
from gambol.creatures.zoo import create
from gambol.priors.pixels.data.stroke_motion import (
    mirrored,
    render_motions,
    stroke_motion_of,
    varied,
    with_arms_elsewhere,
)
from gambol.priors.pixels.data.synthetic import gait_cycle, motions_of_creature
from gambol.priors.pixels.figure import draw_stick_figure


def motion_of(name, action):
    anatomy = analyze(create(name))
    return stroke_motion_of(draw_stick_figure(anatomy), anatomy, gait_cycle(anatomy, action))


@pytest.fixture(scope="module")
def walking():
    return motion_of("fox", "walk")


def feet(motion):
    """Heights of the ends of the legs [frames legs]."""
    names = sorted({part for part in motion.parts if " leg " in part})
    last = [max(i for i, part in enumerate(motion.parts) if part == name) for name in names]
    return motion.points[:, last, 1, 1]


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
    human = motion_of("human", "walk")
    spread = with_arms_elsewhere(human, np.random.default_rng(1))
    arms = [i for i, part in enumerate(human.parts) if " arm " in part]
    others = [i for i in range(len(human.parts)) if i not in arms]
    assert np.array_equal(spread.points, human.points)
    assert np.array_equal(spread.rest[others], human.rest[others])
    lengths = [np.linalg.norm(t.rest[arms, 1] - t.rest[arms, 0], axis=1) for t in (spread, human)]
    assert np.allclose(*lengths, atol=1e-5)
    left, right = (spread.rest[[i for i in arms if side in human.parts[i]], 1] for side in ("left", "right"))
    assert np.allclose(left * [-1, 1, 1], right, atol=1e-3), "both sides alike"


def test_rendering_is_the_same_for_the_same_seed_and_pads_unequal_figures(walking):
    pair = [walking, motion_of("spider", "walk")]
    (first, rests), (again, _) = (render_motions(pair, np.random.default_rng(3), 30) for _ in range(2))
    assert torch.equal(first, again)
    assert first.shape == (2, 16, 30, 30, 3) and rests.shape == (2, 30, 30, 3)
    generator = np.random.default_rng(3)
    alone, _ = render_motions(pair[:1], generator, 30)
    assert torch.allclose(alone[0], first[0], atol=1e-5), "the other figure's strokes must not show"


@pytest.mark.parametrize(
    ("name", "gait"), [("fox", "walk"), ("fox", "trot"), ("fox", "gallop"), ("human", "walk"), ("spider", "walk")]
)
def test_mirrored_twice_is_the_same(name, gait):
    motion = motion_of(name, gait)
    once = mirrored(motion)
    twice = mirrored(once)
    moving = (motion.points - motion.points.mean(0)).std()
    assert twice.parts == motion.parts and np.array_equal(twice.rest, motion.rest)
    assert np.abs(twice.points - motion.points).mean() < 0.03 * moving
    own = {part: motion.points[:, [p == part for p in motion.parts]] for part in motion.parts if "leg" in part}
    other = {part: once.points[:, [p == part for p in once.parts]] for part in own}
    apart = np.mean([np.abs(own[part] - other[part]).mean() for part in own]) / moving
    assert apart > 0.2 if gait == "gallop" else apart < 0.08  # a walk is its own mirror image, a gallop is not


def test_mirroring_exchanges_sides_and_colors():
    human = replace(motion_of("human", "walk"), action="wave")  # which begins where the clip does
    image = mirrored(human)
    left, right = ([i for i, part in enumerate(motion.parts) if part == "left arm 0"] for motion in (human, image))
    assert left != right and np.array_equal(image.colors[right], human.colors[left])
    assert image.points[:, left, :, 0] == pytest.approx(-human.points[:, left, :, 0])
    assert mirrored(image).points == pytest.approx(human.points)


def test_turns_and_lopsided_figures_are_not_mirrored():
    human = motion_of("human", "walk")
    assert mirrored(replace(human, action="turn left")) is None
    last = max(i for i, part in enumerate(human.parts) if part == "left arm 0")
    keep = [i for i in range(len(human.parts)) if i != last]
    cut = {name: getattr(human, name)[keep] for name in ("rest", "colors", "widths")}
    parts = tuple(human.parts[i] for i in keep)
    assert mirrored(replace(human, points=human.points[:, keep], parts=parts, **cut)) is None


def test_a_creature_shows_what_it_can():
    motions = motions_of_creature(3)
    assert {"walk", "trot", "run", "hop", "jump", "stand", "turn left", "turn right"} <= {m.action for m in motions}
    assert all(m.action in ACTIONS and -1 <= m.pace <= 1 for m in motions)
    assert all(np.isfinite(m.points).all() for m in motions)
    again = motions_of_creature(3)
    assert all(np.array_equal(a.points, b.points) for a, b in zip(motions, again, strict=True))
