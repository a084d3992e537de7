"""Meshes of an FBX file: one for each material of each object, with its skin and morph targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from gambol.character.character import Material, Mesh
from gambol.errors import AssetError
from gambol.formats.files import LARGEST_NUMBER, in_range
from gambol.formats.plain import finite
from gambol.text import printable


class MeshReader:
    """Turns the arrays of `extract.py` into meshes, and collects their binds."""

    def __init__(self, path: Path, arrays: Mapping[str, np.ndarray], materials: list[Material], warnings: list[str]):
        self._path, self._arrays, self._materials, self._warnings = path, arrays, materials, warnings
        self.bind_nodes: list[int] = []
        self.inverse_binds: list[np.ndarray] = []
        self.joints: set[int] = set()
        """Nodes that a skin names."""
        self._known: dict[tuple[int, bytes], int] = {}

    def read(self, facts: Mapping[str, Any]) -> list[Mesh]:
        """The meshes of one object, one a material."""
        prefix = f"mesh {facts['node']} "
        parts = {key.removeprefix(prefix): value for key, value in self._arrays.items() if key.startswith(prefix)}
        whole = self._skinned(facts, parts) if facts["skin"] else self._rigid(facts, parts)
        if not in_range(whole.positions) or (whole.morph_positions is not None and not in_range(whole.morph_positions)):
            raise AssetError(
                f"{self._path}: mesh '{whole.name}' has a vertex that is NaN, infinite or beyond {LARGEST_NUMBER:g}"
            )
        return self._by_material(whole, parts["slots"], facts["materials"])

    def _whole(self, facts: Mapping[str, Any], parts: Mapping[str, np.ndarray], **binding: Any) -> Mesh:
        name = printable(facts["name"]) or f"mesh {facts['node']}"
        looks = {
            key: finite(parts[key], name, what, self._warnings) if key in parts else None
            for key, what in (("normals", "normals"), ("uvs", "texture coordinates"), ("colors", "colours"))
        }
        uvs, colors = looks["uvs"], looks["colors"]
        if uvs is not None:
            looks["uvs"] = np.stack([uvs[:, 0], 1 - uvs[:, 1]], axis=1)  # glTF counts v from the top of the picture
        if colors is not None:
            looks["colors"] = colors.clip(0.0, 1.0)
        morphs = facts["morphs"]
        return Mesh(
            name=name,
            node=facts["node"],
            positions=parts["points"],
            faces=parts["faces"],
            morph_positions=parts["morphs"] if morphs else None,
            morph_weights=np.nan_to_num(np.array([morph["weight"] for morph in morphs])) if morphs else None,
            morph_names=tuple(printable(morph["name"]) for morph in morphs),
            normals=looks["normals"],
            uvs=looks["uvs"],
            colors=looks["colors"],
            **binding,
        )

    def _rigid(self, facts: Mapping[str, Any], parts: dict[str, np.ndarray]) -> Mesh:
        """A mesh that follows its node. What lies between node and geometry is applied to the vertices."""
        to_node = self._checked(parts["to node"])
        linear = to_node[:3, :3]
        parts["points"] = parts["points"] @ linear.T + to_node[:3, 3]
        if "morphs" in parts:
            parts["morphs"] = parts["morphs"] @ linear.T
        if "normals" in parts and not np.allclose(linear, np.eye(3)):
            turned = parts["normals"] @ np.linalg.pinv(linear)
            parts["normals"] = turned / np.maximum(np.linalg.norm(turned, axis=1, keepdims=True), 1e-30)
        if np.linalg.det(linear) < 0:
            parts["faces"] = parts["faces"][:, ::-1]
        vertices = len(parts["points"])
        binds = np.full((vertices, 1), self._bind(facts["node"], np.eye(4)))
        return self._whole(facts, parts, binds=binds, weights=np.ones((vertices, 1)), skinned=False)

    def _skinned(self, facts: Mapping[str, Any], parts: dict[str, np.ndarray]) -> Mesh:
        """A mesh with a skin; vertices that no joint moves follow the mesh's own node, as in FBX viewers."""
        joints, matrices = parts["joints"], self._checked(parts["binds"])
        table = np.array(
            [self._bind(int(node), m) if node >= 0 else -1 for node, m in zip(joints, matrices, strict=True)]
        )
        self.joints |= set(joints[joints >= 0].tolist())
        chosen, weights = parts["influences"], parts["weights"]
        valid = (chosen >= 0) & (chosen < len(table))
        binds = np.where(valid, table[np.where(valid, chosen, 0)], -1)
        weights = np.where(binds >= 0, weights, 0.0)
        total = weights.sum(axis=1)
        loose = ~((total > 0) & np.isfinite(total))
        if loose.any():
            own = self._bind(facts["node"], self._checked(parts["to node"]))
            binds[loose], weights[loose] = own, 0.0
            weights[loose, 0] = 1.0
            self._warnings.append(f"mesh '{facts['name']}': {loose.sum()} vertices have no weights and follow its node")
        weights /= weights.sum(axis=1, keepdims=True)
        first = binds[np.arange(len(binds)), weights.argmax(axis=1)]
        skin = np.unique(table[table >= 0])
        return self._whole(
            facts, parts, binds=np.where(weights > 0, binds, first[:, None]), weights=weights, skinned=True, skin=skin
        )

    def _by_material(self, whole: Mesh, slots: Int[np.ndarray, " faces"], numbers: list[int | None]) -> list[Mesh]:
        found = []
        for slot in np.unique(slots):
            faces = whole.faces[slots == slot]
            kept, renumbered = np.unique(faces, return_inverse=True)
            number = numbers[slot] if 0 <= slot < len(numbers) else None
            material = self._materials[number] if number is not None else Material(metallic=0.0, double_sided=True)
            found.append(replace(whole.only(kept, renumbered.reshape(-1, 3)), material=material))
        return found

    def _bind(self, node: int, matrix: Float[np.ndarray, "4 4"]) -> int:
        key = (node, matrix.tobytes())
        if key not in self._known:
            self._known[key] = len(self.bind_nodes)
            self.bind_nodes.append(node)
            self.inverse_binds.append(matrix)
        return self._known[key]

    def _checked(self, matrices: np.ndarray) -> np.ndarray:
        if not in_range(matrices):
            raise AssetError(f"{self._path}: the matrices of a skin hold numbers that are NaN, infinite or too large")
        return matrices
