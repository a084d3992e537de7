"""The projection against gsplat's own torch code, against automatic differentiation, and its boxes pixel by pixel."""

import pytest
import torch
from rasterizer_twin import project
from splat_scenes import SCENES, gaussians_and_cameras, scene

from gambol.render.gaussians import unpack
from gambol.render.rasterize import ALPHA_CUT, BLUR


def inverse(conics):
    xx, xy, yy = conics.unbind(-1)
    return torch.linalg.inv(torch.stack([xx, xy, xy, yy], -1).unflatten(-1, (2, 2)))


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("seed", range(2))
def test_agrees_with_gsplat(name, seed):
    projection = pytest.importorskip("gsplat.cuda._torch_impl")._fully_fused_projection
    given = scene(name, seed)
    inputs, theirs = given.leaves(torch.float64), given.leaves(torch.float64)
    means, covariances, opacities, _, cameras = gaussians_and_cameras(inputs, given.width, given.height)
    splats = project(means, covariances, opacities, cameras)

    pose, focal, center = theirs["T_camera_world"], theirs["focal"], theirs["center"]
    bottom = torch.tensor([0.0, 0, 0, 1], dtype=pose.dtype).expand(2, 1, 4)
    last = torch.tensor([0.0, 0, 1], dtype=pose.dtype).expand(2, 1, 3)
    intrinsics = torch.cat([torch.cat([torch.diag_embed(focal), center[..., None]], -1), last], 1)
    radii, centers, depths, conics, _ = projection(
        theirs["means"],
        unpack(theirs["covariances"]),
        torch.cat([pose, bottom], 1)[:, None],
        intrinsics[:, None],
        given.width,
        given.height,
        eps2d=BLUR,
        near_plane=cameras.near,
    )
    seen = splats.visible
    assert seen.any()
    assert (radii[:, 0] > 0).all(-1)[seen].all()
    torch.testing.assert_close(splats.centers[seen], centers[:, 0][seen])
    torch.testing.assert_close(splats.conics[seen], conics[:, 0][seen])
    torch.testing.assert_close(splats.depths[seen], depths[:, 0][seen])

    weights = torch.randn(int(seen.sum()), 5, dtype=torch.float64)
    pairs = (splats.centers, splats.conics), (centers[:, 0], conics[:, 0])
    losses = [(weights * torch.cat([part[seen] for part in parts], -1)).sum() for parts in pairs]
    names = ("means", "covariances")
    grads = [
        torch.autograd.grad(loss, [leaves[name] for name in names])
        for loss, leaves in zip(losses, (inputs, theirs), strict=True)
    ]
    for ours, their in zip(*grads, strict=True):
        torch.testing.assert_close(ours, their, rtol=1e-6, atol=1e-9)


def test_covariances_follow_the_jacobian_of_the_pinhole():
    """Inside the margin of the picture, as automatic differentiation has it."""
    given = scene("random", 1)
    means, covariances, opacities, _, cameras = gaussians_and_cameras(given.inputs, given.width, given.height)
    splats = project(means, covariances, opacities, cameras)
    for gaussian in splats.visible[0].nonzero()[:5, 0]:

        def pinhole(mean):
            point = cameras.T_camera_world[0, :, :3] @ mean + cameras.T_camera_world[0, :, 3]
            return cameras.focal[0] * point[:2] / point[2] + cameras.center[0]

        jacobian = torch.autograd.functional.jacobian(pinhole, means[0, gaussian])
        expected = jacobian @ unpack(covariances[0, gaussian]) @ jacobian.T + BLUR * torch.eye(2, dtype=torch.float64)
        torch.testing.assert_close(inverse(splats.conics[0, gaussian]), expected)
        torch.testing.assert_close(splats.centers[0, gaussian], pinhole(means[0, gaussian]))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("name", SCENES)
def test_boxes_hold_all_pixels_a_gaussian_reaches_and_hardly_more(name, dtype):
    given = scene(name, 3)
    inputs = {name: value.to(dtype) for name, value in given.inputs.items()}
    means, covariances, opacities, _, cameras = gaussians_and_cameras(inputs, given.width, given.height)
    splats = project(means, covariances, opacities, cameras)
    rows, columns = torch.arange(given.height), torch.arange(given.width)
    x = (columns + 0.5 - splats.centers[..., :1])[..., None, :]
    y = (rows + 0.5 - splats.centers[..., 1:])[..., :, None]
    xx, xy, yy = splats.conics[..., None, None].unbind(-3)
    alphas = opacities[..., None, None] * torch.exp(-0.5 * (xx * x * x + yy * y * y) - xy * x * y)
    ahead = means @ cameras.T_camera_world[:, 2:, :3].mT + cameras.T_camera_world[:, 2:, 3:] > cameras.near
    reached = (alphas >= ALPHA_CUT) & ahead[..., None]
    left, top, right, bottom = splats.boxes[..., None].unbind(-2)
    in_columns, in_rows = (left <= columns) & (columns < right), (top <= rows) & (rows < bottom)
    inside = in_rows[..., :, None] & in_columns[..., None, :]
    assert reached.any()
    assert not (reached & ~inside).any()
    # A box is that of an ellipse. Of the ellipse's extreme points the picture may hold none, so look at whole ones.
    whole = splats.visible & (splats.boxes[..., :2] > 0).all(-1)
    whole &= (splats.boxes[..., 2:] < torch.tensor([given.width, given.height])).all(-1)
    reach = (2 * torch.log(opacities / ALPHA_CUT))[..., None] * inverse(splats.conics).diagonal(dim1=-2, dim2=-1)
    sides = (splats.boxes[..., 2:] - splats.boxes[..., :2])[whole]
    assert (sides <= 2 * reach[whole].sqrt() + 1.05).all()


def test_what_is_not_seen_leaves_no_trace():
    """At the camera's own place, behind it, without opacity: no box, finite gradients."""
    given = scene("random", 0)
    inputs = given.leaves(torch.float32)
    means, covariances, opacities, _, cameras = gaussians_and_cameras(inputs, given.width, given.height)
    at_camera = cameras.positions.detach()[:, None].expand_as(means)
    for moved in (at_camera + 0 * means, 2 * at_camera + means):
        splats = project(moved, covariances, opacities, cameras)
        assert not splats.visible.any()
        grads = torch.autograd.grad(
            splats.centers.sum() + splats.conics.sum(), [inputs["means"], inputs["covariances"]]
        )
        assert all(grad.isfinite().all() for grad in grads)
    assert not project(means, covariances, opacities * 0, cameras).visible.any()
