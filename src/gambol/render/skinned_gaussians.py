"""Gaussians that are skinned to a character's skeleton.

Each Gaussian takes the weights of the nearest point of the character's surface (AKD, "Weights on Gaussians") and is
kept in the space before binding, so that posing it is one pass of linear blend skinning.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.character.character import Character
from gambol.character.rig import Rig
from gambol.character.skin import strongest_sums
from gambol.errors import GambolError
from gambol.motion.skinning import Binding, anchors
from gambol.render.gaussian_skinning import skin_gaussians
from gambol.render.gaussians import Gaussians, pack, unpack

INFLUENCES = 4
"""Most binds that move a Gaussian; the strongest are kept. A point inside a triangle has 3 on average and up to 12.
Over 15 characters, keeping 2 / 3 / 4 / 5 loses 6.8 / 2.2 / 0.30 / 0.05 % of the weight."""
FLAT = 0.1
"""A blend of matrices that flattens space to less than this share of what its strongest matrix does is not inverted:
its Gaussians would be stretched tenfold, which shows in every other pose."""
ASTRAY = 0.5
"""Gaussians whose median distance to the surface is above this share of its size belong to another character."""


@dataclass(frozen=True)
class SkinnedGaussians:
    """Gaussians bound to a character."""

    means: Float[Tensor, "gaussians 3"]
    """Centres in the space of their mesh, before skinning."""
    covariances: Float[Tensor, "gaussians 6"]
    """Packed, in the same space."""
    opacities: Float[Tensor, " gaussians"]
    harmonics: Float[Tensor, "gaussians coefficients 3"]
    """Spherical harmonics; they keep their directions in the world when the Gaussians rotate (AKD)."""
    binds: Int[Tensor, "gaussians influences"]
    """Indices into `Character.bind_nodes`."""
    weights: Float[Tensor, "gaussians influences"]
    """Strongest first; rows sum to 1."""
    joints: Int[Tensor, " gaussians"]
    """Joint of the rig with the largest weight for each Gaussian; -1 for Gaussians that no joint moves."""
    binding: Binding
    """Maps transforms of the rig's joints to those of the binds."""

    def __len__(self) -> int:
        return len(self.means)

    def posed(
        self, T_world_joint: Float[Tensor, "frames joints 3 4"]
    ) -> tuple[Float[Tensor, "frames gaussians 3"], Float[Tensor, "frames gaussians 6"]]:
        """Return means [file units] and packed covariances in the world, from what `Kinematics` returns;
        differentiable."""
        return self.skinned(self.binding(T_world_joint))

    def skinned(
        self, matrices: Float[Tensor, "frames binds 3 4"]
    ) -> tuple[Float[Tensor, "frames gaussians 3"], Float[Tensor, "frames gaussians 6"]]:
        """Return what `posed` does, from the matrices of the binds, such as `Character.bind_matrices` of a clip's
        frames."""
        return skin_gaussians(matrices, self.means, self.covariances, self.binds, self.weights)


def bind_gaussians(gaussians: Gaussians, character: Character, rig: Rig) -> SkinnedGaussians:
    """Return Gaussians bound to the character that they show in the rig's neutral pose, with morph targets at their
    default weights. In this pose the result equals the Gaussians given.

    The result has the dtype and the device of the Gaussians. Its means and covariances are constants: of the Gaussians
    only opacities and harmonics get gradients through it.
    """
    neutral = torch.as_tensor(rig.world()[None, :, :3])
    matrices = Binding(character, rig, torch.float64)(neutral)[0].numpy()
    means = gaussians.means.detach().double().cpu().numpy()
    binds, weights = surface_weights(character, matrices, means)
    blended = np.einsum("ki,kirc->krc", weights, matrices[binds])
    flat = _thickness(blended) < FLAT * _thickness(matrices)[binds[:, 0]]
    weights[flat] = np.eye(1, weights.shape[1])  # such Gaussians follow their strongest bind alone
    blended[flat] = matrices[binds[flat, 0]]
    inverse = np.linalg.pinv(blended[:, :, :3], rcond=1e-7)
    back = (inverse @ (means - blended[:, :, 3])[:, :, None])[:, :, 0]
    covariances = unpack(gaussians.covariances().detach().double().cpu()).numpy()
    like = gaussians.means
    return SkinnedGaussians(
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
    character: Character,
    matrices: Float[np.ndarray, "binds 3 4"],
    points: Float[np.ndarray, "points 3"],
) -> tuple[Int[np.ndarray, "points influences"], Float[np.ndarray, "points influences"]]:
    """Return binds and weights of points: those of the nearest surface point, with the character posed by these
    matrices.

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
    if len(distance) and np.median(distance) > ASTRAY * surface.size:
        raise GambolError(
            f"the Gaussians are not where '{character.name}' is: half of them are farther than "
            f"{np.median(distance):.3g} from its surface, which is {surface.size:.3g} large; "
            "bring both to one place and size"
        )
    corners = surface.faces[face]
    all_binds = np.concatenate(binds)[corners].reshape(len(points), 3 * most)
    all_weights = (np.concatenate(weights)[corners] * share[:, :, None]).reshape(len(points), 3 * most)
    return strongest_sums(all_binds, all_weights, INFLUENCES)


def _carriers(character: Character, rig: Rig, binds: np.ndarray, weights: np.ndarray) -> Int[np.ndarray, " gaussians"]:
    joints, _ = anchors(character.skeleton, rig)
    by_joint, _ = strongest_sums(joints[character.bind_nodes[binds]] + 1, weights, 1)
    return by_joint[:, 0] - 1


def _thickness(matrices: Float[np.ndarray, "gaussians 3 4"]) -> Float[np.ndarray, " gaussians"]:
    """Return the smallest singular value of each matrix as a share of its largest."""
    stretches = np.linalg.svd(matrices[:, :, :3], compute_uv=False)
    return stretches[:, 2] / np.maximum(stretches[:, 0], 1e-300)
