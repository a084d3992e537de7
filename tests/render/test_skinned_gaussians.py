import dataclasses

import numpy as np
import pytest
import torch
from assets import asset_files, asset_name, needs_assets
from character.creatures import dog, human, posed, turned

from gambol import Character, GambolError, analyze, load
from gambol.character.character import Mesh
from gambol.character.rig import build_rig
from gambol.character.skin import strongest_sums
from gambol.motion.kinematics import Kinematics
from gambol.motion.skinning import Binding
from gambol.render.gaussians import Gaussians
from gambol.render.skinned_gaussians import bind_gaussians

HALF_TURN_TO_Z_UP = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)


def cloud_on(character: Character, T_world_node: np.ndarray, seed: int = 0, count: int = 200) -> Gaussians:
    """Gaussians near the vertices of a posed character, flat ones and long ones, in float64."""
    rng = np.random.default_rng(seed)
    vertices = np.concatenate(character.skinned(T_world_node))
    size = np.ptp(vertices, axis=0).max()
    chosen = vertices[rng.integers(0, len(vertices), count)] + 0.005 * size * rng.normal(size=(count, 3))
    wxyz, scales = rng.normal(size=(count, 4)), 0.02 * size * rng.uniform(0.05, 1, (count, 3))
    numbers = [chosen, wxyz / np.linalg.norm(wxyz, axis=1, keepdims=True), scales, rng.uniform(0.1, 0.9, count)]
    return Gaussians(*map(torch.as_tensor, numbers), torch.as_tensor(rng.normal(size=(count, 4, 3))))


def still(character: Character, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """T_world_joint of the neutral pose."""
    kinematics = Kinematics(build_rig(analyze(character)), dtype)
    zeros = torch.zeros(1, kinematics.joints, 3, dtype=dtype)
    return kinematics(zeros, zeros[:, 0], zeros[:, 0])


CHARACTERS = {
    "dog": dog,
    "mid-stride": lambda: posed(dog(), seed=1),
    "z up": lambda: turned(human(), HALF_TURN_TO_Z_UP, scale=0.01),
    "with a prop": lambda: with_prop(human()),
}


def with_prop(character: Character) -> Character:
    """A second mesh, without a skin, on a hand."""
    node = next(i for i, name in enumerate(character.skeleton.names) if "hand" in name)
    square = np.array([[0.0, 0, 0], [0.3, 0, 0], [0, 0.3, 0], [0.3, 0.3, 0]])
    binds = np.full((4, 1), len(character.bind_nodes))
    prop = Mesh("prop", node, square, np.array([[0, 1, 2], [1, 3, 2]]), binds, np.ones((4, 1)), skinned=False)
    return dataclasses.replace(
        character,
        meshes=(*character.meshes, prop),
        bind_nodes=np.append(character.bind_nodes, node),
        inverse_binds=np.concatenate([character.inverse_binds, np.eye(4)[None]]),
    )


@pytest.mark.parametrize("name", CHARACTERS)
def test_neutral_pose_gives_the_gaussians_back(name: str) -> None:
    character = CHARACTERS[name]()
    anatomy = analyze(character)
    gaussians = cloud_on(character, anatomy.body.T_world_node)
    skinned = bind_gaussians(gaussians, character, build_rig(anatomy))
    means, covariances = skinned.posed(still(character))
    size = float(gaussians.means.abs().max())
    torch.testing.assert_close(means[0], gaussians.means, rtol=0, atol=1e-9 * size)
    torch.testing.assert_close(covariances[0], gaussians.covariances(), rtol=0, atol=1e-10 * size**2)
    assert torch.equal(skinned.opacities, gaussians.opacities) and torch.equal(skinned.harmonics, gaussians.harmonics)
    single = bind_gaussians(gaussians.to(torch.float32), character, build_rig(anatomy))
    means, _ = single.posed(still(character, torch.float32))
    assert means.dtype == torch.float32 and float((means[0] - gaussians.means).abs().max()) < 1e-5 * size


@pytest.mark.parametrize("name", CHARACTERS)
def test_gaussians_on_vertices_move_as_the_vertices_do(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gambol.render.skinned_gaussians.INFLUENCES", 12)
    character = CHARACTERS[name]()
    anatomy = analyze(character)
    rig = build_rig(anatomy)
    vertices = np.concatenate(character.skinned(anatomy.body.T_world_node))
    chosen = np.random.default_rng(0).permutation(len(vertices))[:150]
    chosen = np.append(chosen, len(vertices) - np.arange(1, 4))  # the corners of the prop that are off the hand
    gaussians = cloud_on(character, anatomy.body.T_world_node, count=len(chosen))
    gaussians = dataclasses.replace(gaussians, means=torch.as_tensor(vertices[chosen]))
    skinned = bind_gaussians(gaussians, character, rig)
    kinematics = Kinematics(rig, torch.float64)
    generator = torch.Generator().manual_seed(1)
    angles = 0.5 * torch.randn(3, kinematics.joints, 3, generator=generator, dtype=torch.float64)
    root = 0.5 * torch.randn(2, 3, 3, generator=generator, dtype=torch.float64)
    T_world_joint = kinematics(angles, *root)
    means, _ = skinned.posed(T_world_joint)
    matrices = Binding(character, rig, torch.float64)(T_world_joint).numpy()
    by_mesh = []
    for mesh in character.meshes:
        blended = np.einsum("vi,fvirc->fvrc", mesh.weights, matrices[:, mesh.binds])
        by_mesh.append(np.einsum("fvrc,vc->fvr", blended[..., :3], mesh.shape()) + blended[..., 3])
    expected = np.concatenate(by_mesh, axis=1)[:, chosen]
    error = np.linalg.norm(means.numpy() - expected, axis=-1).max(0) / np.ptp(vertices, axis=0).max()
    # Where two surfaces meet, the nearest face may be of the other one.
    assert np.mean(error < 1e-4) > 0.97
    assert name != "with a prop" or error[-3:].max() < 1e-4


def test_gaussians_know_the_joint_that_carries_them() -> None:
    character = human()
    anatomy = analyze(character)
    rig = build_rig(anatomy)
    vertices = np.concatenate(character.skinned(anatomy.body.T_world_node))
    gaussians = cloud_on(character, anatomy.body.T_world_node, count=len(vertices))
    skinned = bind_gaussians(dataclasses.replace(gaussians, means=torch.as_tensor(vertices)), character, rig)
    assert np.mean(skinned.joints.numpy() == anatomy.body.owners) > 0.97


def test_default_morphs_shape_the_surface() -> None:
    """A Gaussian beside a part that only a morph target of default weight 1 puts there is bound to that part."""
    character = dog()
    mesh = character.meshes[0]
    shift = np.zeros((1, *mesh.positions.shape))
    shift[0, :, 0] = 5.0
    morphed = dataclasses.replace(mesh, morph_positions=shift, morph_weights=np.ones(1))
    character = dataclasses.replace(character, meshes=(morphed,))
    anatomy = analyze(dog())
    gaussians = cloud_on(dog(), anatomy.body.T_world_node)
    moved = dataclasses.replace(gaussians, means=gaussians.means + torch.tensor([5.0, 0, 0]))
    plain, aside = (bind_gaussians(g, c, build_rig(anatomy)) for g, c in ((gaussians, dog()), (moved, character)))
    torch.testing.assert_close(aside.weights, plain.weights, atol=1e-4, rtol=0)
    with pytest.raises(GambolError, match="not where 'dog' is: half of them are farther than"):
        bind_gaussians(gaussians, character, build_rig(anatomy))


def test_a_blend_that_cannot_be_undone_follows_its_strongest_bind() -> None:
    """Two binds half a turn apart: where their weights are equal, the blend flattens space to a line."""
    character = dog()
    T_world_node = character.skeleton.world()
    half = np.diag([-1.0, -1.0, 1.0, 1.0])
    inverse_binds = np.linalg.inv(T_world_node[character.bind_nodes[:2]]) @ np.stack([np.eye(4), half])
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])  # in the world; the last two hang on the turned bind
    weights = np.array([[1.0, 0], [0, 1], [0, 1]])
    positions = np.stack([corners[0], *(corners[1:] @ half[:3, :3])])
    triangle = Mesh("triangle", 0, positions, np.array([[0, 1, 2]]), np.tile([0, 1], (3, 1)), weights)
    odd = Character("odd", character.skeleton, (triangle,), character.bind_nodes[:2], inverse_binds)
    gaussians = cloud_on(character, T_world_node, count=3)
    gaussians = dataclasses.replace(gaussians, means=torch.tensor([[0.5, 0, 0], [0.25, 0, 0], [0.51, 0, 0]]).double())
    skinned = bind_gaussians(gaussians, odd, build_rig(analyze(character)))
    assert skinned.weights[[0, 2]].tolist() == [[1, 0], [1, 0]] and skinned.binds[2].tolist() == [1, 0]
    torch.testing.assert_close(skinned.weights[1], torch.tensor([0.75, 0.25]).double())
    means, covariances = skinned.skinned(torch.as_tensor(odd.bind_matrices(T_world_node)[None, :, :3]))
    torch.testing.assert_close(means[0], gaussians.means)
    torch.testing.assert_close(covariances[0], gaussians.covariances())


@pytest.mark.parametrize("seed", range(5))
def test_strongest_sums_are_those_of_a_dense_table(seed: int) -> None:
    rng = np.random.default_rng(seed)
    binds, weights = rng.integers(0, 6, (40, 9)), rng.dirichlet(np.ones(9), 40)
    dense = np.zeros((40, 6))
    np.add.at(dense, (np.arange(40)[:, None], binds), weights)
    for influences in (1, 3, 6, 9):
        names, sums = strongest_sums(binds, weights, influences)
        expected = -np.sort(-dense, axis=1)[:, :influences]
        found = np.take_along_axis(dense, names, 1) * (sums > 0)
        np.testing.assert_allclose(found, expected, atol=1e-12)
        np.testing.assert_allclose(sums, expected / expected.sum(1, keepdims=True))


def test_what_cannot_be_attached_is_refused() -> None:
    character = dog()
    anatomy = analyze(character)
    gaussians = cloud_on(character, anatomy.body.T_world_node)
    with pytest.raises(GambolError, match="'dog' has no mesh with faces"):
        bind_gaussians(gaussians, dataclasses.replace(character, meshes=()), build_rig(anatomy))
    nowhere = dataclasses.replace(gaussians, means=gaussians.means * torch.nan)
    with pytest.raises(GambolError, match="200 of 200 points are NaN"):
        bind_gaussians(nowhere, character, build_rig(anatomy))


def test_no_gaussians_are_bound_to_nothing() -> None:
    character = dog()
    anatomy = analyze(character)
    skinned = bind_gaussians(cloud_on(character, anatomy.body.T_world_node)[:0], character, build_rig(anatomy))
    assert len(skinned) == 0 and skinned.posed(still(character))[0].shape == (1, 0, 3)


@needs_assets
@pytest.mark.parametrize(
    "path", [path for path in asset_files() if path.stem in ("Fox", "CesiumMan", "Knight", "Horse")], ids=asset_name
)
def test_real_characters_give_the_gaussians_back(path) -> None:
    character = load(path)
    anatomy = analyze(character)
    gaussians = cloud_on(character, anatomy.body.T_world_node).to(torch.float32)
    skinned = bind_gaussians(gaussians, character, build_rig(anatomy))
    means, covariances = skinned.posed(still(character, torch.float32))
    scale = float(gaussians.means.abs().max())
    assert float((means[0] - gaussians.means).abs().max()) < 1e-5 * scale
    error = (covariances[0] - gaussians.covariances()).norm(dim=-1) / gaussians.covariances().norm(dim=-1)
    assert float(error.max()) < 1e-3
