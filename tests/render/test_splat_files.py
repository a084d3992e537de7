import numpy as np
import pytest
import torch
from assets import assets_folder, needs_assets

from gambol.errors import AssetError, GambolError
from gambol.render.gaussians import Gaussians
from gambol.render.splat_files import read_splats, write_splats


def cloud(count: int, coefficients: int, seed: int = 0) -> Gaussians:
    generator = torch.Generator().manual_seed(seed)
    normal = [torch.randn(count, *shape, generator=generator) for shape in ((3,), (4,), (3,), (), (coefficients, 3))]
    means, wxyz, scales, opacities, harmonics = normal
    wxyz = torch.nn.functional.normalize(wxyz, dim=-1)
    return Gaussians(means, wxyz, scales.exp(), 0.98 * opacities.sigmoid(), harmonics)


@pytest.mark.parametrize("coefficients", [1, 4, 9, 16])
def test_what_is_written_is_read_again(tmp_path, coefficients):
    before = cloud(50, coefficients)
    write_splats(before, tmp_path / "cloud.ply")
    after = read_splats(tmp_path / "cloud.ply")
    for name in ("means", "wxyz", "scales", "opacities", "harmonics"):
        torch.testing.assert_close(getattr(after, name), getattr(before, name), rtol=1e-5, atol=1e-6)


def test_the_columns_are_those_of_3dgs(tmp_path):
    """Harmonics channel after channel, scales as logarithms, opacity as a logit: read by hand."""
    one = cloud(1, 4)
    write_splats(one, tmp_path / "one.ply")
    header, body = (tmp_path / "one.ply").read_bytes().split(b"end_header\n")
    names = [line.split()[-1].decode() for line in header.splitlines() if line.startswith(b"property float ")]
    row = dict(zip(names, np.frombuffer(body, "<f4"), strict=True))
    assert names[:9] == ["x", "y", "z", "nx", "ny", "nz", "f_dc_0", "f_dc_1", "f_dc_2"]
    assert row["f_rest_0"] == pytest.approx(float(one.harmonics[0, 1, 0]))
    assert row["f_rest_2"] == pytest.approx(float(one.harmonics[0, 3, 0]))
    assert row["f_rest_3"] == pytest.approx(float(one.harmonics[0, 1, 1]))
    assert np.exp(row["scale_1"]) == pytest.approx(float(one.scales[0, 1]), rel=1e-5)
    assert 1 / (1 + np.exp(-row["opacity"])) == pytest.approx(float(one.opacities[0]), rel=1e-5)
    assert row["rot_0"] == pytest.approx(float(one.wxyz[0, 0]))


def test_gaussians_without_finite_values_are_left_out(tmp_path):
    broken = cloud(5, 1)
    broken.means[1, 2] = torch.nan
    broken.wxyz[3] = 0
    write_splats(broken, tmp_path / "broken.ply")
    after = read_splats(tmp_path / "broken.ply")
    torch.testing.assert_close(after.means, broken.means[[0, 2, 4]])


def test_gaussians_too_large_for_float32_are_left_out_and_flat_ones_are_kept(tmp_path):
    before = cloud(3, 1)
    before.scales[1], before.scales[2, 2] = 1e20, 1e-20
    write_splats(before, tmp_path / "some.ply")
    after = read_splats(tmp_path / "some.ply")
    torch.testing.assert_close(after.means, before.means[[0, 2]])
    assert after.covariances().isfinite().all()


def test_files_that_are_no_splats(tmp_path):
    mesh = "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nend_header\n"
    (tmp_path / "mesh.ply").write_text(mesh + "0 0 0\n")
    (tmp_path / "noise.ply").write_bytes(b"\x00\x01\x02")
    with pytest.raises(AssetError, match="no cloud of Gaussians: its vertices have no f_dc_0, f_dc_1, f_dc_2"):
        read_splats(tmp_path / "mesh.ply")
    with pytest.raises(AssetError, match=r"no \.ply that can be understood"):
        read_splats(tmp_path / "noise.ply")
    with pytest.raises(AssetError, match="does not exist"):
        read_splats(tmp_path / "missing.ply")
    with pytest.raises(GambolError, match=r"written as \.ply"):
        write_splats(cloud(1, 1), tmp_path / "cloud.obj")
    with pytest.raises(AssetError, match="missing does not exist"):
        write_splats(cloud(1, 1), tmp_path / "missing" / "cloud.ply")


def test_a_cut_off_file_is_refused(tmp_path):
    write_splats(cloud(20, 4), tmp_path / "whole.ply")
    (tmp_path / "cut.ply").write_bytes((tmp_path / "whole.ply").read_bytes()[:-40])
    with pytest.raises(AssetError):
        read_splats(tmp_path / "cut.ply")


@needs_assets
def test_captured_clouds_are_read():
    robot = read_splats(assets_folder() / "splat/playbot_lod5.ply")
    assert len(robot) == 3000 and robot.harmonics.shape[1] == 9
    assert robot.opacities.min() > 0 and robot.opacities.max() <= 0.99
    assert len(read_splats(assets_folder() / "splat/combined_SPZv3.ply")) == 1566
