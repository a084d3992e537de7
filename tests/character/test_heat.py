import re

import numpy as np
import pytest
from character.creatures import dog
from character.solids import blocks, hand_beside_thigh, tube

from gambol import GambolError
from gambol.character.body import find_body
from gambol.character.heat import HEAT, diffuse_heat, distances
from gambol.character.transforms import matrix_from_quaternion
from gambol.character.welding import weld

METHODS = ("normals", "paper")
UPPER_AND_LOWER = (np.array([[0, -1.0, 0], [0, 0, 0]]), np.array([[0, 0.0, 0], [0, 1, 0]]))


def heat_weights(*arguments, method="paper", **options) -> np.ndarray:
    return diffuse_heat(*arguments, method=method, **options).weights


def dog_parts() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A mesh of 25 pieces that overlap, and its bones."""
    character = dog()
    body = find_body(character)
    return character.rest_vertices, character.meshes[0].faces, body.heads, body.tips


def test_two_bones_in_a_tube_share_it_as_the_heat_equation_says():
    """In a long tube of radius r with bones on its axis w'' = c / r^2 (w - p): w = 1 - exp(-sqrt(c) y / r) / 2."""
    radius = 0.1
    vertices, faces = tube(radius)
    lower, upper = heat_weights(vertices, faces, *UPPER_AND_LOWER).T
    y = vertices[:, 1]
    np.testing.assert_allclose(lower + upper, 1, atol=1e-12)
    middle = np.abs(y) < 0.6
    decay = np.exp(-np.sqrt(HEAT) * np.abs(y) / radius) / 2
    np.testing.assert_allclose(upper[middle], np.where(y > 0, 1 - decay, decay)[middle], atol=0.01)
    assert HEAT == 3.0  # Pinocchio's c = 1 in the usual discretisation


def test_weights_on_a_tube_depend_on_the_way_along_it_only():
    vertices, faces = tube(bulge=0.5)
    weights = heat_weights(vertices, faces, *UPPER_AND_LOWER)
    rings = weights[:-2, 1].reshape(-1, 24)
    np.testing.assert_allclose(rings, np.broadcast_to(rings[:, :1], rings.shape), atol=1e-6)
    np.testing.assert_allclose(rings[len(rings) // 2], 0.5, atol=1e-6)
    np.testing.assert_allclose(rings, 1 - rings[::-1], atol=1e-6)
    assert (np.diff(rings[:, 0]) >= -1e-9).all()


@pytest.mark.parametrize("method", METHODS)
def test_a_hand_beside_the_thigh_does_not_move_the_thigh(method):
    (vertices, faces), heads, tips, thigh = hand_beside_thigh()
    hand = 2
    weights = heat_weights(vertices, faces, heads, tips, method=method)
    assert weights[thigh, hand].max() < 1e-3
    assert weights[thigh, 3].min() > 0.98  # the rest is the shoulder's, whose bone begins where the thigh's does
    on_hand = (vertices[:, 0] > 0.17) & (vertices[:, 1] < 0.3)
    assert weights[on_hand, hand].min() > 0.9

    way = tips - heads
    share = np.clip(np.einsum("vbx,bx->vb", vertices[:, None] - heads, way) / (way**2).sum(1), 0, 1)
    distance = np.linalg.norm(vertices[:, None] - heads - share[..., None] * way, axis=2)
    by_distance = distance**-2 / (distance**-2).sum(1, keepdims=True)
    assert (distance[thigh].argmin(1) == hand).any()
    assert by_distance[thigh, hand].max() > 0.5


@pytest.mark.parametrize("method", METHODS)
def test_rows_sum_to_one_and_are_not_negative(method):
    weights = heat_weights(*dog_parts(), method=method)
    np.testing.assert_allclose(weights.sum(1), 1, atol=1e-12)
    assert weights.min() >= 0
    assert not ((weights > 0) & (weights < 1e-8)).any()


def test_bones_move_the_pieces_around_them():
    vertices, faces, heads, tips = dog_parts()
    weights = heat_weights(vertices, faces, heads, tips)
    pieces = np.repeat(np.arange(len(heads)), len(vertices) // len(heads))
    names = [dog().skeleton.names[node] for node in find_body(dog()).nodes]
    own = list(dog().skeleton.names[: len(heads)])
    share = {own[piece]: weights[pieces == piece].mean(0) for piece in range(len(heads))}
    for name in ("shin.L", "forearm.R", "tail.2", "neck"):
        assert names[share[name].argmax()] == name


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_place_turn_size_and_order_do_not_matter(scale):
    vertices, faces, heads, tips = dog_parts()
    before = heat_weights(vertices, faces, heads, tips)
    generator = np.random.default_rng(0)
    rotation = matrix_from_quaternion(generator.normal(size=4))
    order = generator.permutation(len(vertices))
    place = np.argsort(order)

    def moved(points: np.ndarray) -> np.ndarray:
        return scale * (points @ rotation.T + [3.0, -2.0, 1.0])

    shuffled = generator.permutation(place[faces])
    after = heat_weights(moved(vertices)[order], shuffled, moved(heads), moved(tips))
    # Here and there a vertex sees its bone by a hair, and rounding decides.
    difference = np.abs(after[place] - before).max(1)
    assert np.mean(difference > 1e-3) < 0.01
    assert difference.mean() < 1e-3


def test_a_seam_does_not_tear():
    vertices, faces = tube(bulge=0.5)
    whole = heat_weights(vertices, faces, *UPPER_AND_LOWER)
    corners = vertices[faces].reshape(-1, 3)
    separate = np.arange(len(corners)).reshape(-1, 3)  # no two faces share a vertex
    torn = heat_weights(corners, separate, *UPPER_AND_LOWER)
    np.testing.assert_allclose(torn, whole[faces.ravel()], atol=1e-6)
    trembling = corners + np.random.default_rng(0).uniform(-1e-7, 1e-7, corners.shape)
    np.testing.assert_allclose(heat_weights(trembling, separate, *UPPER_AND_LOWER), torn, atol=0.01)


def test_junk_changes_nothing():
    vertices, faces = tube()
    expected = heat_weights(vertices, faces, *UPPER_AND_LOWER)
    loose = np.array([[0, 5.0, 0], [0.11, -0.9, 0]])
    flat = np.array([[0, 0, 0], [3, 3, 4]])
    junk = heat_weights(np.concatenate([vertices, loose]), np.concatenate([faces, faces[:50], flat]), *UPPER_AND_LOWER)
    np.testing.assert_allclose(junk[: len(vertices)], expected, atol=1e-6)
    assert junk[-2, 1] > 0.99  # a vertex of no face follows the nearest that has one
    assert junk[-1, 0] > 0.99


def test_a_mesh_turned_inside_out_is_the_same_mesh():
    vertices, faces = tube()
    expected = heat_weights(vertices, faces, *UPPER_AND_LOWER)
    np.testing.assert_allclose(heat_weights(vertices, faces[:, ::-1], *UPPER_AND_LOWER), expected, atol=1e-6)


def test_slivers_fins_and_holes_are_survived():
    vertices, faces = tube()
    expected = heat_weights(vertices, faces, *UPPER_AND_LOWER)
    open_ends = heat_weights(*tube(caps=False), *UPPER_AND_LOWER)
    near = np.abs(vertices[:-2, 1]) < 0.5
    np.testing.assert_allclose(open_ends[near], expected[:-2][near], atol=1e-3)
    fin = np.array([[*faces[500][:2], len(vertices)]])  # a third face at an edge
    finned = heat_weights(np.concatenate([vertices, [[0.3, 0, 0]]]), np.concatenate([faces, fin]), *UPPER_AND_LOWER)
    assert np.abs(finned[:-1] - expected).max() < 0.05
    a, b = vertices[faces[700][:2]]
    sliver = np.array([[*faces[700][:2], len(vertices)]])  # three points in a line
    with_sliver = np.concatenate([vertices, [(a + b) / 2]])
    thin = heat_weights(with_sliver, np.concatenate([faces, sliver]), *UPPER_AND_LOWER)
    assert np.isfinite(thin).all()
    assert np.abs(thin[:-1] - expected).max() < 0.05


def test_a_piece_that_sees_no_bone_follows_the_nearest_one():
    vertices, faces = tube()
    button, button_faces = blocks(np.ones((2, 2, 2), bool), 0.01)
    everything = np.concatenate([vertices, button + np.array([0.15, 0.5, 0])])
    heat = diffuse_heat(
        everything, np.concatenate([faces, button_faces + len(vertices)]), *UPPER_AND_LOWER, method="paper"
    )
    np.testing.assert_allclose(heat.weights[len(vertices) :], [[0, 1]] * len(button), atol=1e-9)
    assert not heat.seen[len(vertices) :].any()
    assert heat.seen[: len(vertices)].mean() > 0.95


def test_a_piece_that_sees_no_bone_can_follow_the_skin_it_lies_against():
    """The button on the tube is nearer to a bone in the air than to those in the tube."""
    vertices, faces = tube()
    button, button_faces = blocks(np.ones((2, 2, 2), bool), 0.01)
    everything = np.concatenate([vertices, button + np.array([0.105, 0.5, 0])])
    triangles = np.concatenate([faces, button_faces + len(vertices)])
    beside = np.array([[0.15, 0.4, 0]]), np.array([[0.15, 0.6, 0]])
    heads, tips = (np.concatenate(ends) for ends in zip(UPPER_AND_LOWER, beside, strict=True))
    of_button = slice(len(vertices), None)
    by_bone = heat_weights(everything, triangles, heads, tips)[of_button]
    by_skin = heat_weights(everything, triangles, heads, tips, attach=True)[of_button]
    np.testing.assert_allclose(by_bone, [[0, 0, 1]] * len(button), atol=1e-9)
    assert by_skin[:, 1].min() > 0.99
    far = np.concatenate([vertices, button + np.array([0.2, 0.5, 0])])
    alone = heat_weights(far, triangles, heads, tips, attach=True)[of_button]
    np.testing.assert_allclose(alone, [[0, 0, 1]] * len(button), atol=1e-9)


def test_bones_that_are_points_or_outside_are_allowed():
    vertices, faces = tube()
    heads = np.array([[0, -0.5, 0], [0, 0.5, 0], [5, 5, 5]])
    tips = heads + np.array([[0, 0, 0], [0, 0, 0], [1, 0, 0]])
    weights = heat_weights(vertices, faces, heads, tips)
    assert weights[vertices[:, 1] < -0.3, 0].min() > 0.85
    assert weights[vertices[:, 1] > 0.3, 1].min() > 0.85
    assert not weights[:, 2].any()
    outside = diffuse_heat(vertices, faces, heads[2:], tips[2:])
    np.testing.assert_allclose(outside.weights, 1)
    assert not outside.seen.any()


def test_a_bone_behind_the_back_of_the_skin_is_far():
    """On the axis of a tube, normals point straight away from the bone; beside the tube, straight at it."""
    vertices, faces = tube(0.1)
    skin = weld(vertices, faces)
    heads, tips = np.array([[0, -1.0, 0], [0.2, -1, 0]]), np.array([[0, 1.0, 0], [0.2, 1, 0]])
    plain, turned = (distances(skin, heads, tips, method) for method in ("paper", "normals"))
    side = (np.abs(skin.points[:, 1]) < 0.9) & (skin.points[:, 0] > 0.0999)
    np.testing.assert_allclose(plain[side], 0.1, atol=1e-9)
    np.testing.assert_allclose(turned[side, 0], 0.1 / 1.0005, rtol=1e-3)
    assert turned[side, 1].min() > 100 * 0.1
    other = (np.abs(skin.points[:, 1]) < 0.9) & (skin.points[:, 0] < -0.0999)
    np.testing.assert_allclose(turned[other], plain[other] / 1.0005, rtol=1e-3)


def test_a_bone_beside_the_body_takes_no_heat_from_the_one_inside():
    """By the paper the nearest bone is asked for, and gives nothing if it is not visible."""
    vertices, faces = tube(0.1)
    heads, tips = np.array([[0, -1.0, 0], [0.14, -1, 0]]), np.array([[0, 1.0, 0], [0.14, 1, 0]])
    by_normals, by_paper = (diffuse_heat(vertices, faces, heads, tips, method=method) for method in METHODS)
    assert by_normals.seen.all()
    assert by_paper.seen.mean() < 0.9


def test_in_a_soup_of_faces_every_vertex_follows_the_nearest_bone():
    """A thousand faces across a unit box have more than a hundred times the area of its side."""
    generator = np.random.default_rng(0)
    vertices = generator.random((3000, 3))
    heads = np.array([[0.2, 0.5, 0.5], [0.8, 0.5, 0.5]])
    heat = diffuse_heat(vertices, np.arange(3000).reshape(-1, 3), heads, heads, method="paper")
    assert np.array_equal(heat.weights[:, 0] == 1, vertices[:, 0] < 0.5)
    assert not heat.seen.any()


def test_bones_equally_near_share():
    vertices, faces = tube()
    twice = [np.concatenate([ends, ends]) for ends in UPPER_AND_LOWER]
    weights = heat_weights(vertices, faces, *twice)
    np.testing.assert_allclose(weights[:, :2], weights[:, 2:], atol=1e-9)
    once = heat_weights(vertices, faces, *UPPER_AND_LOWER)
    # Twice the bones are twice the heat: the border is sharper, the rest as before.
    far = np.abs(vertices[:, 1]) > 0.5
    np.testing.assert_allclose(2 * weights[far, :2], once[far], atol=1e-3)


def test_progress_is_reported_to_the_end():
    calls = []
    heat_weights(*tube(), *UPPER_AND_LOWER, advance=lambda done, total: calls.append((done, total)))
    assert calls[-1][0] == calls[-1][1]
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vertices": np.full((3, 3), np.nan)}, "3 of 3 vertices are NaN or infinite"),
        ({"faces": np.zeros((0, 3), int)}, "the mesh has no faces"),
        ({"faces": np.array([[0, 0, 1]])}, "no face with three different corners"),
        ({"vertices": np.ones((3, 3))}, "no face with three different corners"),
    ],
)
def test_mistakes_are_named(change, message):
    arguments = {
        "vertices": np.eye(3),
        "faces": np.array([[0, 1, 2]]),
        "heads": np.zeros((1, 3)),
        "tips": np.ones((1, 3)),
    }
    with pytest.raises(GambolError, match=re.escape(message)):
        heat_weights(**(arguments | change))
