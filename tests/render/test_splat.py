import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from gambol.character.anatomy import analyze
from gambol.character.character import Material
from gambol.character.surface import Surface
from gambol.cli import main
from gambol.creatures.gaits import gait
from gambol.creatures.zoo import create
from gambol.errors import GambolError
from gambol.formats import save
from gambol.render.fit import fit, psnr
from gambol.render.gaussians import ZEROTH, rotations_of
from gambol.render.rasterize import rasterize_gaussians
from gambol.render.raycast import MeshScene
from gambol.render.splat import SplatConfig, identity, prepare, splat
from gambol.render.splat_files import read_splats, write_splats

SMALL = SplatConfig(gaussians=600, views=24, size=64, steps=60)


@pytest.fixture(scope="module")
def duck():
    return create("duck")


def test_the_fit_makes_pictures_it_was_not_shown_better(duck):
    views, held_out, start, radius = prepare(duck, SMALL)
    before, after = psnr(start, held_out), psnr(fit(start, views, radius, SMALL.steps), held_out)
    assert after[0] > 26 and after[0] > before[0] + 3
    assert after[1] > 20 and after[1] > before[1] + 3


def test_psnr_is_what_it_says(duck):
    """A picture compared with itself made darker by 0.1 where the duck is."""
    _, held_out, start, _ = prepare(duck, SMALL)
    shown = rasterize_gaussians(start, held_out.cameras)
    shifted = replace(held_out, image=shown.image - 0.1 * (shown.alpha > 0.01)[..., None], alpha=shown.alpha)
    solid = replace(shifted, image=shifted.image.clamp_min(0))
    _, inside = psnr(start, solid)
    assert inside == pytest.approx(20, abs=1.5)  # clamping darkens less in the darkest places


def test_gaussians_begin_on_the_surface_and_face_outwards(duck):
    views, _, start, radius = prepare(duck, SMALL)
    scene = MeshScene(duck)
    vertices, faces = scene.joined(duck.vertices()), scene.faces
    face, _, distance = Surface(vertices, faces).closest(start.means.numpy())
    assert distance.max() < 1e-3 * radius
    assert views.alpha.amax((1, 2)).min() > 0.99, "every picture shows something"
    thin = rotations_of(start.wxyz)[..., 2]
    covered = rasterize_gaussians(start, views.cameras).alpha
    assert (covered[views.alpha > 0.999] > 0.5).float().mean() > 0.95, "no holes"
    assert torch.all(start.scales[:, 2] < start.scales[:, 0])
    corners = vertices[faces[face]]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    assert np.median(np.abs((normals * thin.numpy()).sum(1))) > 0.99


def test_the_second_time_is_from_the_cache(duck):
    config = replace(SMALL, steps=3)
    first, second = splat(duck, config), splat(duck, config)
    assert not first.cached and second.cached
    assert (second.psnr, second.psnr_inside, second.seconds) == (first.psnr, first.psnr_inside, first.seconds)
    for name in ("means", "wxyz", "scales", "opacities", "harmonics"):
        assert torch.equal(getattr(first.gaussians, name), getattr(second.gaussians, name))


def test_the_same_seed_gives_the_same_gaussians(duck):
    config = replace(SMALL, steps=3)
    views, _, start, radius = prepare(duck, config)
    again, _, other, _ = prepare(duck, config)
    assert torch.equal(fit(start, views, radius, config.steps).means, fit(other, again, radius, config.steps).means)
    assert not torch.equal(prepare(duck, replace(config, seed=1))[2].means, start.means)


def test_the_identity_depends_on_what_is_seen_and_asked(duck):
    mesh = duck.meshes[0]
    red = replace(mesh, material=Material(base_color=(1, 0, 0, 1)))
    bent = replace(mesh, positions=mesh.positions + np.float32(0.01))
    others = [replace(duck, meshes=(changed, *duck.meshes[1:])) for changed in (red, bent)]
    known = {identity(character, SMALL) for character in (duck, *others)}
    known |= {
        identity(duck, replace(SMALL, gaussians=601)),
        identity(duck, replace(SMALL, steps=61)),
    }
    assert len(known) == 5
    assert identity(duck, SMALL) == identity(replace(duck, name="another name"), SMALL)


def test_vertices_as_a_start(duck):
    _, _, start, _ = prepare(duck, replace(SMALL, init="vertices"))
    vertices = MeshScene(duck).joined(duck.vertices()).astype(np.float32)
    assert len(start) == SMALL.gaussians
    assert {tuple(mean) for mean in start.means.numpy()} <= {tuple(vertex) for vertex in vertices}


def test_light_comes_from_above_whichever_way_that_is(duck):
    """A character whose up is z is lit as one whose up is y, turned."""
    turn = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0.0]])  # y to z, z to -y
    lit = replace(SMALL, up=(0.0, 0.0, 1.0), forward=(0.0, -1.0, 0.0)).light
    assert lit.up == (0.0, 0.0, 1.0)
    np.testing.assert_allclose(lit.key, turn @ SMALL.light.key)
    assert replace(SMALL, shading="unlit").light is None
    assert SMALL.with_axes_of(analyze(duck)) == SMALL
    assert SMALL.with_axes_of(analyze(duck, "+z", "-y")) == replace(SMALL, up=(0.0, 0.0, 1.0), forward=(0.0, -1.0, 0.0))


def test_glass_has_gaussians_too(duck):
    """Half transparent all over: Gaussians begin on it, with its own colour and not one mixed with nothing."""
    glass = Material(base_color=(0.2, 0.5, 0.8, 0.5), alpha_mode="BLEND")
    clear = replace(duck, meshes=tuple(replace(mesh, material=glass, colors=None) for mesh in duck.meshes))
    _, _, start, _ = prepare(clear, replace(SMALL, shading="unlit"))
    encoded = 1.055 * np.array([0.2, 0.5, 0.8]) ** (1 / 2.4) - 0.055
    np.testing.assert_allclose((0.5 + ZEROTH * start.harmonics[:, 0]).median(0).values, encoded, atol=0.02)


def test_wishes_that_cannot_be(duck):
    with pytest.raises(GambolError, match="gaussians must be from 16 to 1,000,000, got 3"):
        splat(duck, replace(SMALL, gaussians=3))
    with pytest.raises(GambolError, match="steps must be from 1"):
        splat(duck, replace(SMALL, steps=0))
    with pytest.raises(GambolError, match="200 views of size 1024 take too much memory; use at most 33 views"):
        splat(duck, replace(SMALL, size=1024, views=200))
    with pytest.raises(GambolError, match="no mesh with faces"):
        splat(replace(duck, meshes=()), SMALL)


def test_the_command_writes_gaussians_and_a_picture(tmp_path, capsys):
    arguments = ["--gaussians", "300", "--views", "8", "--size", "48", "--steps", "10"]
    files = ["-o", str(tmp_path / "duck.ply"), "--picture", str(tmp_path / "duck.png")]
    main(["splat", "duck", *arguments, *files])
    assert "300 Gaussians fitted in" in capsys.readouterr().out
    assert len(read_splats(tmp_path / "duck.ply")) == 300
    assert Image.open(tmp_path / "duck.png").width > 6 * 48
    main(["splat", "duck", *arguments])
    assert "made earlier" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--gaussians", "1"], "gaussians must be from 16 to 1,000,000, got 1"),
        (["-o", "duck.obj"], r"Gaussians are written as \.ply"),
        (["--picture", "duck.jpg"], r"pictures are written as \.png"),
    ],
)
def test_mistakes_are_told_before_the_work(arguments, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["splat", "duck", *arguments])
    assert re.search(message, capsys.readouterr().err)


def test_a_clip_is_rendered_as_gaussians(tmp_path, duck):
    """Captured or fitted elsewhere: Gaussians from a file move with the character, and look like it."""
    splats = splat(duck, SMALL)
    write_splats(splats.gaussians, tmp_path / "duck.ply")
    save(duck, tmp_path / "duck.glb", gait(duck, analyze(duck), "walk"))
    pictures = []
    for name, more in (("mesh", []), ("gaussians", ["--splats", str(tmp_path / "duck.ply")])):
        path = tmp_path / f"{name}.png"
        main(["render", str(tmp_path / "duck.glb"), "--size", "64", "-o", str(path), *more])
        pictures.append(np.asarray(Image.open(path), np.float64) / 255)
    assert 0.002 < np.abs(pictures[0] - pictures[1]).mean() < 0.03
