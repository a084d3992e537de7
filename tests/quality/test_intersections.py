"""Skin that goes through skin, counted where the count is known."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from character.creatures import human
from character.solids import tube

from gambol import Character, Clip
from gambol.character.character import Mesh
from gambol.character.clip import Track
from gambol.character.skeleton import Pose, Skeleton
from gambol.quality import intersection_kernels
from gambol.quality.intersections import FOLD, LEAST, MOMENTS, SkinTriangles, self_intersection, skin_triangles
from gambol.quality.normalized_clip import normalize_clip

CORNERS = np.array(list(product((-1.0, 1.0), repeat=3)))
BOX = np.array(
    [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4],
     [1, 5, 7], [1, 7, 3]]
)  # fmt: skip


def boxes(*hands):
    """A torso, and boxes (centre, half a side) that hang on it by joints at their centres."""
    parts = [((0.0, 0.5, 0.0), 0.5), *hands]
    heads = np.array([centre for centre, _ in parts], float)
    positions = np.concatenate([np.add(centre, half * CORNERS) for centre, half in parts])
    faces = np.concatenate([BOX + 8 * number for number in range(len(parts))])
    own = np.repeat(np.arange(len(parts)), 8)[:, None]
    local = np.concatenate([heads[:1], heads[1:] - heads[0]])
    count = len(parts)
    rest = Pose(local, np.tile([1.0, 0, 0, 0], (count, 1)), np.ones((count, 3)))
    names = ("torso", *(f"hand {number}" for number in range(1, count)))
    skeleton = Skeleton(names, np.array([-1] + [0] * (count - 1)), rest, np.ones(count, bool))
    mesh = Mesh("boxes", 0, positions, faces, own, np.ones(own.shape))
    inverse_binds = np.tile(np.eye(4), (count, 1, 1))
    inverse_binds[:, :3, 3] = -heads
    return Character("boxes", skeleton, (mesh,), np.arange(count), inverse_binds)


def moved(character, node, *offsets):
    """A node moved from its place by offsets, one after the other, each held for a second."""
    values = character.skeleton.rest.translation[node] + np.array(offsets, float)
    return Clip(
        "moved", (Track(node, "translation", np.arange(len(values) + 1.0), np.append(values, values[-1:], 0), "STEP"),)
    )


def turned(character, name, axis, degrees):
    """A joint that turns from rest to an angle, in a second."""
    node = character.skeleton.names.index(name)
    half = np.radians(np.linspace(0, degrees, 31)) / 2
    values = np.column_stack([np.cos(half), np.sin(half)[:, None] * np.array(axis, float)])
    return Clip("turned", (Track(node, "rotation", np.linspace(0, 1, 31), values),))


def test_a_skin_that_shrinks_to_a_point_is_not_searched(monkeypatch):
    """There the box of every triangle holds all others, which took minutes."""
    character = boxes(((2.0, 1.0, 0.0), 0.2))
    triangles = skin_triangles(normalize_clip(character, moved(character, 1, (0, 0, 0), (0, 0, 0))))
    crossings = intersection_kernels.Crossings(triangles, LEAST, FOLD)
    launched = []
    monkeypatch.setattr(intersection_kernels.wp, "launch", lambda kernel, count, *_, **__: launched.append(count))
    every = np.arange(len(triangles.faces))
    for size in (1.0, 1e-12, 0.0):
        crossings.at(size * triangles.neutral, every)
    assert launched == [len(every), 0, 0]


APART = [((2.0, 1.0, 0.0), 0.2), ((-2.0, 1.0, 0.0), 0.05)]
"""A large box and a small one, far from each other and from the torso."""
STUCK = (4.0 - 0.2 - 0.01, 0.01, 0.02)
"""The way of the small one to where it sticks halfway in a side of the large one."""


def test_a_box_stuck_halfway_into_another():
    """Its four sides and the side it is stuck in, two triangles each, for one of three seconds; the torso is free."""
    character = boxes(*APART)
    clip = normalize_clip(character, moved(character, 2, (0, 0, 0), STUCK, (0, 0, 0.5)))
    chosen = clip.skin.frames[np.unique(np.linspace(0, len(clip.skin.frames) - 1, MOMENTS).round().astype(int))]
    inside = np.mean((clip.times[chosen] >= 1) & (clip.times[chosen] < 2))
    found = self_intersection(clip)
    assert 0.25 < inside < 0.4
    assert found["self_intersection_frames"] == pytest.approx(100 * inside)
    assert found["self_intersection_triangles"] == pytest.approx(100 * inside * 10 / 36)


def test_a_box_inside_another_goes_through_nothing():
    character = boxes(*APART)
    assert (
        self_intersection(normalize_clip(character, moved(character, 2, (4.0, 0, 0), (4.0, 0.01, 0))))[
            "self_intersection_triangles"
        ]
        == 0
    )


def test_what_is_stuck_in_the_neutral_pose_does_not_count():
    """Nor does it when it slides; elsewhere it does."""
    large, small = APART
    character = boxes(large, (np.add(small[0], STUCK), small[1]), (np.add(large[0], (0, 0, 2)), large[1]))
    for way, counts in (
        ((0, 0, 0), False),
        ((0, 0.03, 0.01), False),
        ((0.2, 0.2, 0), False),
        ((0, 0, 2), True),
    ):
        found = self_intersection(normalize_clip(character, moved(character, 2, way, way)))
        assert (found["self_intersection_frames"] == 100) is counts
        assert (found["self_intersection_triangles"] > 0) is counts


@pytest.mark.parametrize("seed", range(2))
def test_a_turn_of_everything_is_no_intersection(seed):
    """Also where boxes touch face to face, and rounding decides."""
    character = boxes(APART[0], ((2.25, 1.0, 0.0), 0.05), ((2.1, 1.0, 0.3), 0.1))
    axis = np.random.default_rng(seed).normal(size=3)
    found = self_intersection(normalize_clip(character, turned(character, "torso", axis / np.linalg.norm(axis), 140)))
    assert not any(found.values())


def test_the_hand_of_one_arm_may_not_go_through_the_next_but_one_joint():
    """Boxes on bones that share a joint are free to: they are neighbours in the flesh."""
    character = boxes(((0.3, 1.2, 0.0), 0.1), ((2.0, 1.2, 0.0), 0.1))
    into_torso = moved(character, 1, (0, -0.2, 0), (0, -0.2, 0))
    into_hand = moved(character, 1, (1.6, 0.03, 0.02), (1.6, 0.03, 0.02))
    assert self_intersection(normalize_clip(character, into_torso))["self_intersection_triangles"] == 0
    assert self_intersection(normalize_clip(character, into_hand))["self_intersection_triangles"] > 0


def test_an_elbow_folds_on_itself_without_counting():
    points, faces = tube(radius=0.08, length=2.0, around=8, rings=41)
    upper = np.clip(0.5 + points[:, 1] / 0.1, 0, 1)
    rest = Pose(np.array([[0, -1.0, 0], [0, 1.0, 0]]), np.tile([1.0, 0, 0, 0], (2, 1)), np.ones((2, 3)))
    skeleton = Skeleton(("upper", "lower"), np.array([-1, 0]), rest, np.ones(2, bool))
    mesh = Mesh("arm", 0, points, faces, np.tile([0, 1], (len(points), 1)), np.stack([1 - upper, upper], 1))
    character = Character("arm", skeleton, (mesh,), np.arange(2), np.linalg.inv(skeleton.world()))
    clip = normalize_clip(character, turned(character, "lower", (0, 0, 1), 130))
    last = clip.skin.vertices[-1][faces]
    crook = np.flatnonzero(np.abs(points[faces, 1]).max(1) < 0.2)
    assert any(cross(*last[crook[[a, b]]]) for a, b in pairs_apart(faces[crook]))
    assert self_intersection(clip)["self_intersection_frames"] == 0


def test_legs_go_through_each_other_when_they_cross_and_not_when_they_swing():
    character = human()
    crossed = self_intersection(normalize_clip(character, turned(character, "thigh.L", (0, 0, 1), -25)))
    assert 20 < crossed["self_intersection_frames"] < 100 and crossed["self_intersection_triangles"] > 0.1
    swinging = self_intersection(normalize_clip(character, turned(character, "thigh.L", (1, 0, 0), -40)))
    assert not any(swinging.values())


def test_without_a_mesh_there_is_nothing_to_say():
    character = replace(human(), meshes=())
    assert not self_intersection(normalize_clip(character, turned(character, "thigh.L", (1, 0, 0), 30)))
    flat = boxes()
    mesh = replace(flat.meshes[0], faces=np.array([[0, 0, 1]]))
    assert skin_triangles(normalize_clip(replace(flat, meshes=(mesh,)), moved(flat, 0, (0, 0, 0), (0, 1, 0)))) is None


def cross(one, other):
    """Whether two triangles meet: no axis of theirs separates them (Gottschalk 1996)."""
    sides = [np.roll(t, -1, 0) - t for t in (one, other)]
    axes = [np.cross(side[0], side[1]) for side in sides] + [np.cross(a, b) for a in sides[0] for b in sides[1]]
    for axis in axes:
        a, b = one @ axis, other @ axis
        if a.max() < b.min() or b.max() < a.min():
            return False
    return True


def pairs_apart(faces):
    return [(a, b) for a in range(len(faces)) for b in range(a + 1, len(faces)) if not set(faces[a]) & set(faces[b])]


def way_between(triangles, i, j):
    """Along the skeleton, by the lists of all that is above either."""
    lines = []
    for triangle in (i, j):
        joint, line = triangles.bone[triangle], []
        while joint >= 0:
            line.append(joint)
            joint = triangles.parents[joint]
        lines.append(line)
    shared = [joint for joint in lines[0] if joint in lines[1]]
    if not shared:
        return np.inf
    ways = []
    for triangle, line in zip((i, j), lines, strict=True):
        below = line[: line.index(shared[0])]
        ways.append([triangles.foot[triangle], *triangles.heads[below]])
    lengths = [np.linalg.norm(np.diff(way, axis=0), axis=1).sum() for way in ways]
    return sum(lengths) + np.linalg.norm(ways[0][-1] - ways[1][-1])


def crossing_by_hand(triangles, points):
    """All pairs, one by one."""
    faces, welded, bone = triangles.faces, triangles.welded, triangles.bone
    apart = pairs_apart(welded)
    tangled = {
        corner for a, b in apart if cross(*triangles.neutral[faces[[a, b]]]) for f in (a, b) for corner in welded[f]
    }
    found = np.zeros(len(faces), bool)
    for a, b in apart:
        related = (
            bone[a] == bone[b] or bone[a] in triangles.parents[[bone[b]]] or bone[b] in triangles.parents[[bone[a]]]
        )
        slides = all(tangled & set(welded[f]) for f in (a, b))
        folds = way_between(triangles, a, b) <= FOLD * (triangles.thickness[a] + triangles.thickness[b])
        if not (related or slides or folds) and cross(*points[faces[[a, b]]]):
            found[[a, b]] = True
    return found


@pytest.mark.parametrize("seed", range(4))
def test_kernels_find_what_a_comparison_of_all_pairs_finds(seed):
    from gambol.quality.intersection_kernels import Crossings

    generator = np.random.default_rng(seed)
    count, joints = 40, 9
    middle = generator.uniform(-0.5, 0.5, (2, count, 1, 3))
    spread = np.array([0.06, 0.2])[:, None, None, None]
    neutral, points = (middle + spread * generator.normal(size=(2, count, 3, 3))).reshape(2, -1, 3)
    faces = np.arange(3 * count).reshape(-1, 3)
    welded = faces.copy()
    welded[::5, 0] = welded[1::5, 1]  # some share a corner
    parents = np.array([-1, *(generator.integers(0, joint) for joint in range(1, joints - 1)), -1])
    triangles = SkinTriangles(
        neutral, faces, welded, generator.integers(0, joints, count), generator.uniform(-0.5, 0.5, (count, 3)),
        generator.uniform(0, 0.3, count), parents, generator.uniform(-0.5, 0.5, (joints, 3)),
    )  # fmt: skip
    truth = crossing_by_hand(triangles, points)
    found = Crossings(triangles, LEAST, FOLD).at(points, np.arange(count))
    assert 10 < truth.sum() < count
    np.testing.assert_array_equal(found, truth)


def test_of_fine_meshes_the_same_even_share_is_asked():
    triangles = skin_triangles(normalize_clip(human(), turned(human(), "thigh.L", (1, 0, 0), 10)))
    some = triangles.sample(500)
    assert len(np.unique(some)) == 500 < len(triangles.faces)
    assert abs(some.mean() / len(triangles.faces) - 0.5) < 0.05
    np.testing.assert_array_equal(some, triangles.sample(500))
    assert len(triangles.sample(10**6)) == len(triangles.faces)
