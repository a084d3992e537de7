"""An actor: Gaussians that move with a character's skeleton.

Every kernel takes its weights from the nearest point of the character's surface (AKD, "Weights on Gaussians") and is
kept in the space its binds start from, so that posing it is one pass of linear blend skinning.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.character.character import Character
from gambol.character.rig import Rig
from gambol.errors import GambolError
from gambol.motion.skinning import Binding, anchors
from gambol.render.gaussian_skinning import skin_gaussians
from gambol.render.gaussians import Gaussians, pack, unpack

Array = np.ndarray

INFLUENCES = 4
"""Binds that move a kernel. A point inside a triangle sees the binds of three vertices, 3 on average and up to 12. Over
15 zoo and real characters, keeping 2 / 3 / 4 / 5 / 6 loses 6.8 / 2.2 / 0.30 / 0.05 / 0.01 % of the weight (of the worst
character 14 / 5.0 / 1.1 / 0.35 / 0.11 %), and with all joints turned by 0.4 rad at random kernels stand 0.7 / 0.3 /
0.07 / 0.02 / 0.005 % of the character's size away from where all binds would carry them."""
FLAT = 0.1
"""A blend of matrices that flattens space to less than this share of what its strongest matrix does is not undone: its
kernels would be stretched tenfold, which shows in every other pose."""
ASTRAY = 0.5
"""Gaussians whose median distance to the surface is above this share of its size belong to something else."""


@dataclass(frozen=True)
class Actor:
    """Kernels bound to a character."""

    means: Float[Tensor, "kernels 3"]
    """In the space of their mesh, before binding."""
    covariances: Float[Tensor, "kernels 6"]
    """Packed, in the same space."""
    opacities: Float[Tensor, " kernels"]
    harmonics: Float[Tensor, "kernels coefficients 3"]
    """They keep their directions in the world when the kernels turn (AKD)."""
    binds: Int[Tensor, "kernels influences"]
    """Indices into `Character.bind_nodes`."""
    weights: Float[Tensor, "kernels influences"]
    """Strongest first; rows sum to 1."""
    joints: Int[Tensor, " kernels"]
    """The joint of the rig that carries most of each kernel, -1 for kernels that no joint carries."""
    binding: Binding
    """From the rig's joints to the binds."""

    def __len__(self) -> int:
        return len(self.means)

    def posed(
        self, T_world_joint: Float[Tensor, "frames joints 3 4"]
    ) -> tuple[Float[Tensor, "frames kernels 3"], Float[Tensor, "frames kernels 6"]]:
        """Means [file units] and packed covariances in the world, from what `Kinematics` gives; differentiable."""
        return self.skinned(self.binding(T_world_joint))

    def skinned(
        self, matrices: Float[Tensor, "frames binds 3 4"]
    ) -> tuple[Float[Tensor, "frames kernels 3"], Float[Tensor, "frames kernels 6"]]:
        """As `posed`, from the matrices of the binds: `Character.bind_matrices` of a clip's frames, for instance."""
        return skin_gaussians(matrices, self.means, self.covariances, self.binds, self.weights)


def attach(
    gaussians: Gaussians,
    character: Character,
    rig: Rig,
    *,
    T_world_node: Float[Array, "nodes 4 4"] | None = None,
    influences: int = INFLUENCES,
) -> Actor:
    """Gaussians that stand where the character stands, bound to it.

    T_world_node: the pose of the character the Gaussians show; the rig's neutral pose if none is given, with morph
        targets at their default weights. In this pose the actor is exactly the Gaussians given.
    influences: at most so many binds move a kernel; the strongest are kept and scaled to sum to 1.

    The actor has the precision and the device of the Gaussians. Its means and covariances are constants: of the
    Gaussians only opacities and harmonics get gradients through it.
    """
    if influences < 1:
        raise GambolError(f"a kernel needs at least one influence, got {influences}")
    if T_world_node is None:
        neutral = torch.as_tensor(rig.world()[None, :, :3])
        matrices = Binding(character, rig, torch.float64)(neutral)[0].numpy()
    else:
        matrices = character.bind_matrices(T_world_node)[:, :3]
    means = gaussians.means.detach().double().cpu().numpy()
    binds, weights = surface_weights(character, matrices, means, influences)
    blended = np.einsum("ki,kirc->krc", weights, matrices[binds])
    flat = _thickness(blended) < FLAT * _thickness(matrices)[binds[:, 0]]
    weights[flat] = np.eye(1, weights.shape[1])  # such kernels follow their strongest bind alone
    blended[flat] = matrices[binds[flat, 0]]
    inverse = np.linalg.pinv(blended[:, :, :3], rcond=1e-7)
    back = (inverse @ (means - blended[:, :, 3])[:, :, None])[:, :, 0]
    covariances = unpack(gaussians.covariances().detach().double().cpu()).numpy()
    like = gaussians.means
    return Actor(
        torch.as_tensor(back).to(like),
        pack(torch.as_tensor(inverse @ covariances @ inverse.transpose(0, 2, 1))).to(like),
        gaussians.opacities,
        gaussians.harmonics,
        torch.as_tensor(binds, device=like.device),
        torch.as_tensor(weights).to(like),
        torch.as_tensor(_carriers(character, rig, binds, weights), device=like.device),
        Binding(character, rig, like.dtype, like.device),
    )


def surface_weights(
    character: Character, matrices: Float[Array, "binds 3 4"], points: Float[Array, "points 3"], influences: int
) -> tuple[Int[Array, "points influences"], Float[Array, "points influences"]]:
    """Binds and weights of points: those of the nearest surface point, the character posed by its binds' matrices.

    A face belongs to one mesh, so all binds of a point start from the same space.
    """
    from gambol.character.surface import Surface

    solid = [mesh for mesh in character.meshes if len(mesh.faces)]
    if not solid:
        raise GambolError(f"'{character.name}' has no mesh with faces: Gaussians need a surface to be bound to")
    most = max(mesh.weights.shape[1] for mesh in solid)
    vertices, faces, binds, weights = [], [], [], []
    start = 0
    for mesh in solid:
        blended = np.einsum("vi,virc->vrc", mesh.weights, matrices[mesh.binds])
        vertices.append(np.einsum("vrc,vc->vr", blended[:, :, :3], mesh.shape()) + blended[:, :, 3])
        faces.append(mesh.faces + start)
        padding = ((0, 0), (0, most - mesh.weights.shape[1]))
        binds.append(np.pad(mesh.binds, padding))
        weights.append(np.pad(mesh.weights, padding))
        start += len(mesh.positions)
    surface = Surface(np.concatenate(vertices), np.concatenate(faces))
    face, share, distance = surface.closest(points)
    _require_nearby(distance, surface.size, character.name)
    corners = surface.faces[face]
    all_binds = np.concatenate(binds)[corners].reshape(len(points), 3 * most)
    all_weights = (np.concatenate(weights)[corners] * share[:, :, None]).reshape(len(points), 3 * most)
    return strongest_sums(all_binds, all_weights, influences)


def strongest_sums(
    binds: Int[Array, "points entries"], weights: Float[Array, "points entries"], influences: int
) -> tuple[Int[Array, "points influences"], Float[Array, "points influences"]]:
    """Weights of the same bind added up; the largest sums, largest first, scaled to 1. Unused places have weight 0.

    There are fewer columns if no point has so many binds.
    """
    points, entries = binds.shape
    order = np.argsort(binds, axis=1, kind="stable")
    binds, weights = np.take_along_axis(binds, order, 1), np.take_along_axis(weights, order, 1)
    fresh = np.diff(binds, axis=1, prepend=-1) != 0
    places = np.cumsum(fresh, axis=1) - 1 + entries * np.arange(points)[:, None]
    sums = np.bincount(places.ravel(), weights.ravel(), minlength=points * entries).reshape(points, entries)
    names = np.zeros(points * entries, np.int64)
    names[places[fresh]] = binds[fresh]
    kept = np.argsort(-sums, axis=1, kind="stable")[:, :influences]
    kept = kept[:, : max(1, int((sums > 0).sum(1).max(initial=0)))]
    sums = np.take_along_axis(sums, kept, 1)
    return np.take_along_axis(names.reshape(points, entries), kept, 1), sums / sums.sum(1, keepdims=True)


def _carriers(character: Character, rig: Rig, binds: Array, weights: Array) -> Int[Array, " kernels"]:
    joints, _ = anchors(character.skeleton, rig)
    by_joint, _ = strongest_sums(joints[character.bind_nodes[binds]] + 1, weights, 1)
    return by_joint[:, 0] - 1


def _thickness(matrices: Float[Array, "kernels 3 4"]) -> Float[Array, " kernels"]:
    """The smallest stretch of each matrix as a share of its largest."""
    stretches = np.linalg.svd(matrices[:, :, :3], compute_uv=False)
    return stretches[:, 2] / np.maximum(stretches[:, 0], 1e-300)


def _require_nearby(distance: Float[Array, " points"], size: float, name: str) -> None:
    if len(distance) and np.median(distance) > ASTRAY * size:
        raise GambolError(
            f"the Gaussians are not where '{name}' is: half of them are farther than {np.median(distance):.3g} from "
            f"its surface, which is {size:.3g} large; bring both to one place and size"
        )
