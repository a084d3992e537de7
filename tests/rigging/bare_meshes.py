"""Meshes without a skeleton for tests: animals of the zoo stripped of theirs, and solids."""

from dataclasses import replace

import numpy as np

from gambol.character.character import Character, Material
from gambol.character.skin import baked
from gambol.creatures.mesh import isosurface
from gambol.creatures.zoo import create
from gambol.formats.plain import plain_character, plain_mesh


def stripped(character: Character) -> Character:
    """The mesh alone, with its colours."""
    meshes = [
        plain_mesh(mesh.name, mesh.positions, mesh.faces, mesh.material, mesh.normals, mesh.uvs, mesh.colors)
        for mesh in baked(character)
    ]
    return plain_character(character.name, meshes, [])


def animal(sentence: str) -> Character:
    return stripped(create(sentence))


def from_arrays(points, faces) -> Character:
    mesh = plain_mesh("thing", np.asarray(points, float), np.asarray(faces), Material("clay", metallic=0.0))
    return plain_character("thing", [mesh], [])


def moved(character: Character, matrix, scale: float = 1.0, shift=(0.0, 0.0, 0.0)) -> Character:
    """The mesh turned by a matrix, scaled and shifted."""
    turn = np.asarray(matrix, float)
    meshes = [
        replace(
            mesh,
            positions=mesh.positions @ turn.T * scale + np.asarray(shift),
            normals=None if mesh.normals is None else mesh.normals @ turn.T,
        )
        for mesh in character.meshes
    ]
    return replace(character, meshes=tuple(meshes))


def sphere(cell: float = 0.1, middle=(0.0, 0.0, 0.0)) -> tuple[np.ndarray, np.ndarray]:
    """Points and faces of a sphere of radius 1."""
    axis = np.arange(-1.5, 1.5 + cell, cell)
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1)
    points, faces = isosurface(np.linalg.norm(grid, axis=-1) - 1.0)
    return points * cell - 1.5 + np.asarray(middle), faces


def jackstone(arms: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Arms from one middle in directions without any order."""
    axis = np.arange(-2.0, 2.05, 0.1)
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1)
    field = np.linalg.norm(grid, axis=-1) - 0.4
    ways = np.random.default_rng(3).normal(size=(arms, 3))
    for way in 1.6 * ways / np.linalg.norm(ways, axis=1, keepdims=True):
        share = np.clip(grid @ way / (way @ way), 0, 1)
        field = np.minimum(field, np.linalg.norm(grid - share[..., None] * way, axis=-1) - 0.2)
    points, faces = isosurface(field)
    return points * 0.1 - 2.0, faces


def subdivided(points: np.ndarray, faces: np.ndarray, times: int) -> tuple[np.ndarray, np.ndarray]:
    """Every triangle cut into four, some times over."""
    for _ in range(times):
        sides = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
        edges, number = np.unique(sides, axis=0, return_inverse=True)
        ab, bc, ca = len(points) + number.reshape(3, -1)
        points = np.concatenate([points, points[edges].mean(1)])
        a, b, c = faces.T
        corners = ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))
        faces = np.concatenate([np.stack(each, axis=1) for each in corners])
    return points, faces
