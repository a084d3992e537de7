"""Posing by the letter of the glTF specification, one vertex and one matrix at a time: slow and independent."""

from typing import Any

import numpy as np
from builder import Gltf
from scipy.spatial.transform import Rotation


def local_matrix(node: dict[str, Any]) -> np.ndarray:
    if "matrix" in node:
        return np.array(node["matrix"], float).reshape(4, 4).T
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_quat(node.get("rotation", [0, 0, 0, 1])).as_matrix() @ np.diag(
        node.get("scale", [1, 1, 1])
    )
    matrix[:3, 3] = node.get("translation", [0, 0, 0])
    return matrix


def world_matrices(nodes: list[dict[str, Any]]) -> list[np.ndarray]:
    parent = {child: i for i, node in enumerate(nodes) for child in node.get("children", [])}
    worlds = []
    for i, node in enumerate(nodes):
        matrix, above = local_matrix(node), i
        while above in parent:
            above = parent[above]
            matrix = local_matrix(nodes[above]) @ matrix
        worlds.append(matrix)
    return worlds


def vertices(gltf: Gltf, node: int) -> np.ndarray:
    """World positions of the vertices of the first primitive of a node's mesh, as the file's JSON poses it."""
    worlds = world_matrices(gltf.json["nodes"])
    fields = gltf.json["nodes"][node]
    attributes = gltf.json["meshes"][fields["mesh"]]["primitives"][0]["attributes"]
    positions = gltf.arrays[attributes["POSITION"]]
    if "skin" not in fields:
        return np.array([(worlds[node] @ [*position, 1.0])[:3] for position in positions])
    skin = gltf.json["skins"][fields["skin"]]
    inverse_binds = gltf.arrays[skin["inverseBindMatrices"]]
    sets = [name[7:] for name in attributes if name.startswith("JOINTS_")]
    found = []
    for vertex, position in enumerate(positions):
        blended = np.zeros((4, 4))
        for number in sets:
            joints = gltf.arrays[attributes[f"JOINTS_{number}"]][vertex]
            weights = gltf.arrays[attributes[f"WEIGHTS_{number}"]][vertex]
            for joint, weight in zip(joints, weights, strict=True):
                if weight:
                    inverse_bind = inverse_binds[joint].astype(float).reshape(4, 4).T
                    blended += float(weight) * worlds[skin["joints"][joint]] @ inverse_bind
        found.append((blended @ [*position, 1.0])[:3])
    return np.array(found)
