"""A character: meshes, their materials, the skeleton, and how the meshes are bound to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

from gambol.character.skeleton import Pose, Skeleton

if TYPE_CHECKING:
    from gambol.character.clip import Clip


@dataclass(frozen=True)
class Texture:
    """An image as the file holds it, undecoded."""

    data: bytes = field(repr=False)
    mime: str
    name: str = ""


@dataclass(frozen=True)
class Material:
    """The parts of a glTF material that decide colour; everything else stays in the file."""

    name: str = ""
    base_color: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)
    """Linear RGBA factor."""
    texture: Texture | None = None
    """Base colour, sRGB."""
    wrap: tuple[int, int] = (10497, 10497)
    """glTF's wrap modes along u and v: 10497 repeat, 33071 clamp, 33648 mirrored repeat."""
    metallic: float = 1.0
    roughness: float = 1.0
    emissive: tuple[float, float, float] = (0.0, 0.0, 0.0)
    alpha_mode: Literal["OPAQUE", "MASK", "BLEND"] = "OPAQUE"
    alpha_cutoff: float = 0.5
    double_sided: bool = False


@dataclass(frozen=True)
class Mesh:
    """Triangles of one material, carried by one node.

    A mesh without a skin has a single influence of weight 1: the bind of its own node. So all meshes are posed alike.
    """

    name: str
    node: int
    positions: Float[np.ndarray, "vertices 3"]
    """Positions of the vertices in mesh space, before skinning."""
    faces: Int[np.ndarray, "faces 3"]
    binds: Int[np.ndarray, "vertices influences"]
    """Indices into `Character.bind_nodes`."""
    weights: Float[np.ndarray, "vertices influences"]
    """Non-negative, each row sums to 1."""
    material: Material = Material()
    skinned: bool = True
    skin: Int[np.ndarray, " skin_joints"] | None = None
    """All binds of the mesh's skin, also those that move none of its vertices."""
    normals: Float[np.ndarray, "vertices 3"] | None = None
    uvs: Float[np.ndarray, "vertices 2"] | None = None
    """Texture coordinates of the base colour texture."""
    colors: Float[np.ndarray, "vertices 4"] | None = None
    """Linear RGBA."""
    morph_positions: Float[np.ndarray, "targets vertices 3"] | None = None
    morph_weights: Float[np.ndarray, " targets"] | None = None
    """Weights that hold without a clip."""
    morph_names: tuple[str, ...] = ()

    def shape(self, pose: Pose | None = None) -> Float[np.ndarray, "*frames vertices 3"]:
        """Positions with morph targets applied, before skinning."""
        if self.morph_positions is None:
            return self.positions.astype(np.float64)
        weights = pose.morphs.get(self.node, self.morph_weights) if pose else self.morph_weights
        return self.positions + np.tensordot(np.asarray(weights, np.float64), self.morph_positions, axes=1)

    def only(self, kept: np.ndarray, faces: Int[np.ndarray, "faces 3"] | None = None) -> Mesh:
        """The mesh with some of its vertices, given by a mask or by their indices, and new faces; by default none."""
        names = ("positions", "binds", "weights", "normals", "uvs", "colors")
        parts = {name: values[kept] for name in names if (values := getattr(self, name)) is not None}
        morphs = None if self.morph_positions is None else self.morph_positions[:, kept]
        return replace(self, faces=self.faces[:0] if faces is None else faces, morph_positions=morphs, **parts)

    def skinned_by(
        self, matrices: Float[np.ndarray, "*frames binds 3 4"], shape: Float[np.ndarray, "*shapes vertices 3"]
    ) -> Float[np.ndarray, "*frames vertices 3"]:
        """Linear blend skinning of all frames by one product with a sparse matrix, forty times as fast as bind by bind.
        shape: vertices before skinning, one set for each frame if morph targets move."""
        if shape.ndim == 3:
            each = [self.skinned_by(one, points) for one, points in zip(matrices, shape, strict=True)]
            return np.stack(each) if each else np.zeros(shape.shape)
        table = matrices.reshape(-1, *matrices.shape[-3:]).transpose(1, 3, 0, 2)
        flat = self.influence(shape, len(table)) @ table.reshape(4 * len(table), -1)
        return np.moveaxis(flat.reshape(len(shape), *matrices.shape[:-3], 3), 0, -2)

    def influence(self, shape: Float[np.ndarray, "vertices 3"], binds: int) -> sparse.csr_matrix:
        """Weight times homogeneous position, [vertices, 4 columns a bind]: skinning is linear in the matrices."""
        entries = self.weights[:, :, None] * np.append(shape, np.ones((len(shape), 1)), axis=1)[:, None]
        columns, ends = 4 * self.binds[:, :, None] + np.arange(4), np.arange(len(shape) + 1) * entries[:1].size
        return sparse.csr_matrix((entries.ravel(), columns.ravel(), ends), (len(shape), 4 * binds))


@dataclass(frozen=True)
class Character:
    """What gambol animates; independent of the file format it came from.

    Coordinates are the file's: y is up and +z forward by glTF's convention, units are the file's own.
    """

    name: str
    skeleton: Skeleton
    meshes: tuple[Mesh, ...]
    bind_nodes: Int[np.ndarray, " binds"]
    """The node behind each bind: a joint of a skin, or the node of an unskinned mesh."""
    inverse_binds: Float[np.ndarray, "binds 4 4"]
    """From mesh space to the space of the bind's node (glTF's inverse bind matrix)."""
    clips: Mapping[str, Clip] = field(default_factory=dict)
    hints: Mapping[int, str] = field(default_factory=dict)
    """What the file itself says a node is (VRM's humanoid bones), by node."""
    warnings: tuple[str, ...] = ()
    """What was repaired or will go wrong, in words for the user."""
    source: Any = field(default=None, repr=False)
    """The file behind it, kept so that saving changes nothing but adds the new clip."""

    def bind_matrices(
        self, T_world_node: Float[np.ndarray, "*frames nodes 4 4"]
    ) -> Float[np.ndarray, "*frames binds 4 4"]:
        """From mesh space to the world, for each bind."""
        return T_world_node[..., self.bind_nodes, :, :] @ self.inverse_binds

    def vertices(self, pose: Pose | None = None) -> list[Float[np.ndarray, "*frames vertices 3"]]:
        """World positions of each mesh's vertices by linear blend skinning; the rest pose if none is given."""
        return self.skinned(self.skeleton.world(pose), pose)

    @property
    def can_move(self) -> bool:
        """Whether there are joints, or else nodes with meshes of their own, as of figures made of rigid parts."""
        return bool(self.skeleton.is_joint.any()) or len({mesh.node for mesh in self.meshes}) > 1

    def skinned(
        self, T_world_node: Float[np.ndarray, "*frames nodes 4 4"], pose: Pose | None = None
    ) -> list[Float[np.ndarray, "*frames vertices 3"]]:
        """World positions of each mesh's vertices for given world transforms; the pose gives only the morph weights."""
        matrices = self.bind_matrices(T_world_node)[..., :3, :]
        return [mesh.skinned_by(matrices, mesh.shape(pose)) for mesh in self.meshes]

    @cached_property
    def rest_vertices(self) -> Float[np.ndarray, "all_vertices 3"]:
        """All vertices in the rest pose, mesh after mesh."""
        return np.concatenate([np.zeros((0, 3)), *self.vertices()])

    @cached_property
    def joined_faces(self) -> Int[np.ndarray, "faces 3"]:
        """Faces of all meshes, with vertices counted through all meshes in order."""
        starts = np.cumsum([0, *(len(mesh.positions) for mesh in self.meshes)])
        faces = [mesh.faces + start for mesh, start in zip(self.meshes, starts, strict=False)]
        return np.concatenate([np.zeros((0, 3), int), *faces])

    @property
    def bounds(self) -> tuple[Float[np.ndarray, 3], Float[np.ndarray, 3]]:
        """Lowest and highest corner in the rest pose: of the mesh, or of the joints if there is none."""
        points = self.rest_vertices
        if not len(points):
            points = self.skeleton.world()[:, :3, 3]
        return points.min(0), points.max(0)
