"""Meshes, colours and weights of creatures, and what `analyze` finds in them."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from character.creatures import without_names
from scipy.spatial import cKDTree

import gambol
from gambol.creatures.mesh import mesh_blueprint
from gambol.creatures.species import PLANS, SPECIES
from gambol.creatures.zoo import Creature, random_creature


def edges_of(faces) -> tuple[np.ndarray, np.ndarray]:
    """Directed edges once each, and how often each occurs."""
    directed = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    return np.unique(directed, axis=0, return_counts=True)


def check_mesh(mesh) -> None:
    points, faces = mesh.positions.astype(float), mesh.faces
    assert np.isfinite(points).all()
    assert 3000 <= len(points) <= 20_000
    edges, counts = edges_of(faces)
    assert counts.max() == 1  # oriented alike
    assert {tuple(e) for e in edges} == {(b, a) for a, b in edges}  # closed: each edge has its opposite
    a, b, c = (points[faces[:, i]] for i in range(3))
    assert (a * np.cross(b, c)).sum() > 0  # looking outwards
    assert points[:, 1].min() == pytest.approx(0, abs=0.006 * points[:, 1].max())
    gap, _ = cKDTree(points).query(points * (-1, 1, 1))
    assert gap.max() < 1e-5 * points[:, 1].max()  # left and right are mirror images


def check_anatomy(character, legs: int) -> None:
    names = character.skeleton.names
    anatomy = gambol.analyze(character)
    assert len(anatomy.legs) == legs
    np.testing.assert_allclose(anatomy.forward, (0, 0, 1), atol=1e-9)
    for limb in anatomy.legs:
        assert limb.foot is not None
        foot = names[anatomy.body.nodes[limb.foot]]
        assert ("toes" in foot) or ("foot" in foot)
        assert foot.endswith(".L" if limb.side == "left" else ".R")
    for joint, partner in enumerate(anatomy.partners):
        name, other = (names[anatomy.body.nodes[j]] for j in (joint, partner))
        assert partner >= 0
        assert name.split(".")[0] == other.split(".")[0]
    assert {names[anatomy.body.nodes[j]] for j in anatomy.joints_of("head")} >= {"head"}
    found = {names[anatomy.body.nodes[j]] for j in anatomy.joints_of("tail")}
    assert found == {name for name in names if name.startswith("tail_")}
    assert len(gambol.analyze(without_names(character)).legs) == legs


@pytest.mark.parametrize("name", SPECIES)
def test_species_are_closed_mirrored_weighted_and_understood(name):
    character = Creature(name, SPECIES[name]).character()
    (mesh,) = character.meshes
    check_mesh(mesh)
    np.testing.assert_allclose(mesh.weights.sum(1), 1)
    assert mesh.weights.min() >= 0
    np.testing.assert_allclose(np.linalg.norm(mesh.normals, axis=1), 1, atol=1e-5)
    assert mesh.colors.min() >= 0
    assert mesh.colors.max() <= 1
    assert len(np.unique(np.round(mesh.colors, 2), axis=0)) > 3  # more than one colour
    check_anatomy(character, SPECIES[name].legs)


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("seed", [11, 12])
def test_random_creatures_are_closed_mirrored_and_understood(plan, seed):
    creature = random_creature(seed, plan)
    character = creature.character()
    check_mesh(character.meshes[0])
    check_anatomy(character, creature.plan.legs)


def test_the_body_is_one_piece_on_which_thin_legs_survive():
    from scipy.sparse import coo_matrix, csgraph

    for name in ("flamingo", "spider", "deer"):
        surface = mesh_blueprint(SPECIES[name].blueprint())
        faces = surface.body_faces
        a, b = faces[:, :2].ravel(), faces[:, 1:].ravel()
        graph = coo_matrix((np.ones(len(a)), (a, b)), (surface.body_vertices,) * 2)
        assert csgraph.connected_components(graph, directed=False)[0] == 1


def test_the_same_creature_twice_is_the_same_to_the_last_bit():
    first, second = (Creature("duck", SPECIES["duck"]).character().meshes[0] for _ in range(2))
    for field in ("positions", "faces", "colors", "weights"):
        assert getattr(first, field).tobytes() == getattr(second, field).tobytes()


def test_a_tiger_has_dark_stripes_on_orange():
    colors = Creature("tiger", SPECIES["tiger"]).character().meshes[0].colors[:, :3]
    dark, orange = colors.max(1) < 0.05, (colors[:, 0] > 0.5) & (colors[:, 2] < 0.15)
    assert 0.1 < dark.mean() < 0.6
    assert 0.15 < orange.mean() < 0.8


def test_a_bent_elbow_moves_the_hand_and_leaves_the_other_side_alone():
    character = Creature("human", SPECIES["human"]).character()
    names = character.skeleton.names
    rest = character.skeleton.rest
    rotation = rest.rotation.copy()
    rotation[names.index("forearm.L")] = (np.cos(0.4), 0, np.sin(0.4), 0)
    moved = character.vertices(dataclasses.replace(rest, rotation=rotation))[0] - character.rest_vertices
    shift = np.linalg.norm(moved, axis=1)
    assert shift.max() > 0.15
    assert shift[character.rest_vertices[:, 0] < 0].max() < 1e-3


def test_the_example_draws_the_creatures_it_is_asked_for(tmp_path):
    script = Path(__file__).parents[2] / "examples" / "06_zoo.py"
    done = subprocess.run(
        [sys.executable, str(script), "sheet.png", "fox", "duck"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout == "wrote sheet.png: 2 creatures\n", done.stderr
    assert (tmp_path / "sheet.png").stat().st_size > 10_000
