"""Pictures of meshes: known colours, coverage, textures, transparency, light, and what is broken in files."""

import dataclasses
import io

import numpy as np
import pytest
import torch
from PIL import Image
from splat_scenes import look_at

from gambol import GambolError
from gambol.character.character import Material, Texture
from gambol.character.colors import linear_from_srgb
from gambol.character.welding import vertex_normals
from gambol.formats.plain import plain_character, plain_mesh
from gambol.render.cameras import Cameras, orbit
from gambol.render.lighting import Light
from gambol.render.raycast import Floor, MeshScene, simplified
from gambol.render.textures import mip_levels

QUAD = np.array([[0, 1, 2], [0, 2, 3]])
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
UP, FORWARD = torch.tensor([0.0, 1.0, 0.0]), torch.tensor([0.0, 0.0, 1.0])


def srgb(linear):
    linear = np.clip(linear, 0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


def model(*meshes):
    """A character of meshes, each (vertices, faces, other fields of plain_mesh)."""
    made = [plain_mesh(f"mesh {i}", v, f, **{"material": Material(), **more}) for i, (v, f, more) in enumerate(meshes)]
    return plain_character("model", made, [])


def square(low=-1.0, high=1.0, z=0.0, **more):
    """A square across the z axis; u to the right, v upwards."""
    corners = low + (high - low) * CORNERS
    return np.c_[corners, np.full(4, z)], QUAD, more


def facing(pixels=16, distance=4.0, side=2.0) -> Cameras:
    """One camera on the z axis whose picture shows exactly a square of this side at z = 0."""
    transform = look_at(torch.tensor([[0.0, 0.0, distance]]), torch.zeros(1, 3), UP)
    focal = torch.full((1, 2), pixels * distance / side)
    return Cameras(transform, focal, torch.full((1, 2), pixels / 2), pixels, pixels)


def around(count, seed, distance=4.0, pixels=32) -> Cameras:
    generator = torch.Generator().manual_seed(seed)
    turn, lift = torch.rand(2, count, generator=generator)
    targets = torch.zeros(count, 3)
    return orbit(targets, UP, FORWARD, 360 * turn, 120 * lift - 60, distance, 40.0, pixels, pixels)


def png(pixels) -> Texture:
    file = io.BytesIO()
    Image.fromarray(np.asarray(pixels, np.uint8)).save(file, "PNG")
    return Texture(file.getvalue(), "image/png", "painted")


def soup(seed, faces=60):
    generator = np.random.default_rng(seed)
    vertices = generator.normal(size=(3 * faces, 3)) * 0.3 + np.repeat(generator.normal(size=(faces, 3)) * 0.5, 3, 0)
    colors = np.c_[generator.uniform(size=(3 * faces, 3)), np.ones(3 * faces)]
    return vertices, np.arange(3 * faces).reshape(-1, 3), {"colors": colors}


def brute_hits(vertices, faces, start, directions):
    """Face and distance that each ray meets first (Moeller and Trumbore 1997); -1 and infinity for none."""
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    across = np.cross(directions[:, None], c - a)
    scale = ((b - a) * across).sum(-1)
    u = ((start - a) * across).sum(-1) / scale
    along = np.cross(start - a, b - a)
    v = (directions[:, None] * along).sum(-1) / scale
    t = ((c - a) * along).sum(-1) / scale
    t = np.where((u >= 0) & (v >= 0) & (u + v <= 1) & (t > 0), t, np.inf)
    return np.where(np.isfinite(t.min(1)), t.argmin(1), -1), t.min(1)


# --- what is where


@pytest.mark.parametrize("seed", range(3))
def test_rays_meet_what_all_triangles_say(seed):
    vertices, faces, more = soup(seed)
    cameras = around(2, seed, pixels=24)
    hits = MeshScene(model((vertices, faces, more))).hits(cameras)
    for frame in range(2):
        directions = cameras.rays()[frame].reshape(-1, 3).double().numpy()
        face, distance = brute_hits(vertices, faces, cameras.positions[frame].double().numpy(), directions)
        found = hits.face[frame].flatten().numpy()
        assert (found == face).mean() > 0.995  # an edge may fall to either side
        ahead = directions @ cameras.T_camera_world[frame, 2, :3].double().numpy()
        same = (found == face) & (face >= 0)
        np.testing.assert_allclose(hits.depth[frame].flatten().numpy()[same], (distance * ahead)[same], rtol=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_drawn_pictures_are_those_of_rays(seed):
    vertices, faces, more = soup(seed)
    scene, cameras = MeshScene(model((vertices, faces, more))), around(3, seed + 10)
    drawn = scene.render(cameras, samples=1)
    hits = scene.hits(cameras)
    corners = more["colors"][faces[hits.face.numpy()]][..., :3]
    expected = srgb(np.einsum("fhwk,fhwkc->fhwc", hits.barycentric.numpy(), corners))
    assert hits.face.max() > 0
    off = np.abs(drawn.image.numpy() - expected).max(-1) > 2e-3
    assert off.mean() < 2e-3
    assert ((drawn.alpha.numpy() > 0) != (hits.face.numpy() >= 0)).mean() < 2e-3


def test_a_camera_inside_sees_the_walls_all_around():
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = np.array([triangle for a, b, c, d in quads for triangle in ((a, b, c), (a, c, d))])
    scene = MeshScene(model((corners, faces, {"material": Material(base_color=(1, 0, 0, 1))})))
    cameras = facing(pixels=8, distance=0.5, side=4.0)
    drawn = scene.render(cameras, samples=3)
    assert (drawn.alpha == 1).all()
    np.testing.assert_allclose(drawn.image, np.broadcast_to([1.0, 0.0, 0.0], drawn.image.shape), atol=1e-5)
    middle = scene.hits(cameras).depth[0, 3:5, 3:5]
    torch.testing.assert_close(middle, torch.full((2, 2), 1.5))  # the wall behind the origin


def test_posing_moves_the_picture():
    scene = MeshScene(model(square(-0.5, 0.5)))
    before = scene.render(facing()).alpha
    vertices = square(-0.5, 0.5)[0]
    scene.pose([vertices + np.array([0.25, 0.0, 0.0])])  # two pixels of an eighth each
    assert torch.equal(scene.render(facing()).alpha, before.roll(2, dims=2))
    assert before.sum() == 64


@pytest.mark.parametrize("scale", [1e-7, 1e-3, 1e6])
def test_units_do_not_matter(scale):
    vertices, faces, more = soup(4)
    pictures = []
    for size, shift in ((1.0, 0.0), (scale, 20 * scale)):
        scene = MeshScene(model((vertices * size + shift, faces, more)))
        targets = torch.full((1, 3), shift, dtype=torch.float64)
        cameras = orbit(targets, UP.double(), FORWARD.double(), 30.0, 20.0, 4.0 * size, 40.0, 32, 32)
        pictures.append(scene.render(cameras, Light((0, 1, 0), (1, 1, 1))).image)
    assert (pictures[0] - pictures[1]).abs().mean() < 1e-3


def test_threads_do_not_matter():
    scene, cameras = MeshScene(model(soup(5))), around(3, 6)
    light = Light((0, 1, 0), (1, 1, 1))
    alone = scene.render(cameras, light)
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        scene.pose([soup(5)[0]])  # and so the light's maps are drawn again
        together = scene.render(cameras, light)
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(alone.image, together.image)
    assert torch.equal(alone.alpha, together.alpha)


# --- colours


def test_unlit_colours_are_exact():
    colors = np.tile([0.5, 1.0, 0.25, 1.0], (4, 1))
    material = Material(base_color=(0.8, 0.1, 0.4, 1.0), emissive=(0.0, 0.02, 0.0))
    drawn = MeshScene(model(square(colors=colors, material=material))).render(facing())
    np.testing.assert_allclose(drawn.image[0, 8, 8], srgb(np.array([0.4, 0.12, 0.1])), atol=1e-4)
    assert (drawn.alpha == 1).all()


@pytest.mark.parametrize("covered", [0.25, 0.5, 0.75])
def test_coverage_is_what_is_covered_of_a_pixel(covered):
    edge = -1 + (4 + covered) * 2 / 16  # four pixels and a part of the fifth
    corners = np.array([[-1, -1, 0], [edge, -1, 0], [edge, 1, 0], [-1, 1, 0]])
    drawn = MeshScene(model((corners, QUAD, {}))).render(facing(), samples=4)
    row = drawn.alpha[0, 8]
    torch.testing.assert_close(row[:5], torch.tensor([1, 1, 1, 1, covered]), atol=1e-6, rtol=0)
    assert (row[5:] == 0).all()
    torch.testing.assert_close(drawn.image[0, 8], row[:, None].expand(16, 3))  # white, premultiplied


WRAPS = {
    10497: lambda i, n: i % n,
    33071: lambda i, n: i.clip(0, n - 1),
    33648: lambda i, n: np.abs((i + n) % (2 * n) - n + 0.5).astype(int),
}


def reference_texture(pixels, uv, wrap):
    """Bilinear, in linear light; the twin of the kernel."""
    height, width = pixels.shape[:2]
    linear = linear_from_srgb(pixels / 255.0)
    x, y = uv[..., 0] * width - 0.5, uv[..., 1] * height - 0.5
    total = 0.0
    for dx in (0, 1):
        for dy in (0, 1):
            column, row = np.floor(x).astype(int) + dx, np.floor(y).astype(int) + dy
            weight = np.abs(1 - dx - (x - np.floor(x))) * np.abs(1 - dy - (y - np.floor(y)))
            texel = linear[WRAPS[wrap[1]](row, height), WRAPS[wrap[0]](column, width)]
            total = total + weight[..., None] * texel
    return total


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("wrap", [(10497, 33071), (33071, 33648), (33648, 10497)])
def test_textures_repeat_clamp_and_mirror(wrap, seed):
    generator = np.random.default_rng(seed)
    pixels = generator.integers(0, 256, (3, 5, 3))
    low, high = np.array([-1.7, -1.2]), np.array([1.9, 2.1])
    uvs = low + (high - low) * CORNERS
    material = Material(texture=png(pixels), wrap=wrap)
    drawn = MeshScene(model(square(uvs=uvs, material=material))).render(facing(pixels=96), samples=1)
    where = (np.arange(96) + 0.5) / 96
    uv = np.stack(np.broadcast_arrays(*np.meshgrid(where, 1 - where)), -1) * (high - low) + low
    np.testing.assert_allclose(drawn.image[0], srgb(reference_texture(pixels, uv, wrap)), atol=2e-3)


def test_what_is_far_away_has_the_texture_s_mean_light():
    board = np.where(np.indices((64, 64)).sum(0)[..., None] % 2, 255, 0) * np.ones(3)
    uvs = CORNERS * 4
    scene = MeshScene(model(square(uvs=uvs, material=Material(texture=png(board)))))
    drawn = scene.render(facing(pixels=8))
    np.testing.assert_allclose(drawn.image, srgb(0.5), atol=0.02)


def test_mip_levels_keep_the_mean_and_leave_out_what_is_cut_out():
    generator = np.random.default_rng(0)
    image = generator.integers(0, 256, (6, 13, 4)).astype(np.uint8)
    image[..., 3] = 255
    levels = mip_levels(image)
    assert [level.shape[:2] for level in levels] == [(6, 13), (3, 6), (1, 3), (1, 1)]
    even = mip_levels(image[:4, :8])
    np.testing.assert_allclose(
        linear_from_srgb(even[-1][0, 0, :3] / 255), linear_from_srgb(image[:4, :8, :3] / 255).mean((0, 1)), atol=0.02
    )
    image[:, ::2] = (255, 0, 0, 0)  # red, but transparent
    image[:, 1::2, :3] = (0, 0, 255)
    np.testing.assert_array_equal(mip_levels(image[:, :12])[1][0, 0], (0, 0, 255, 128))


def test_alpha_modes():
    behind = square(z=-0.5, low=-2, high=2, material=Material(base_color=(0.0, 0.6, 0.0, 1.0)))
    for mode, alpha, expected in (
        ("OPAQUE", 0.25, (0.8, 0, 0)),
        ("MASK", 0.4, (0, 0.6, 0)),
        ("MASK", 0.6, (0.8, 0, 0)),
        ("BLEND", 0.25, (0.25 * 0.8, 0.75 * 0.6, 0)),
    ):
        front = Material(base_color=(0.8, 0.0, 0.0, alpha), alpha_mode=mode)
        scene = MeshScene(model(square(material=front), behind))
        drawn, hits = scene.render(facing()), scene.hits(facing())
        np.testing.assert_allclose(drawn.image[0, 8, 8], srgb(np.array(expected)), atol=1e-4, err_msg=mode)
        assert (drawn.alpha == 1).all()
        cut_out = mode == "MASK" and alpha < 0.5  # faces 0 and 1 are in front
        assert (hits.face[0, 8, 8] >= 2) == cut_out
        assert float(hits.depth[0, 8, 8]) == pytest.approx(float(facing().positions[0, 2]) + 0.5 * cut_out, rel=1e-4)


def test_layers_of_glass_over_nothing():
    glass = Material(base_color=(1.0, 1.0, 1.0, 0.5), alpha_mode="BLEND")
    drawn = MeshScene(model(*(square(z=-0.1 * i, low=-2, high=2, material=glass) for i in range(3)))).render(facing())
    np.testing.assert_allclose(drawn.alpha, 1 - 0.5**3, atol=1e-5)
    np.testing.assert_allclose(drawn.image, 1 - 0.5**3, atol=1e-4)


# --- light


def test_the_light_on_an_open_surface_is_the_sum_of_the_lamps():
    white = Material(base_color=(0.5, 0.5, 0.5, 1.0))
    light = Light(up=(0, 0, 1), key=(0, 0, 1), key_color=(0.5, 0.4, 0.3), sky_color=(0.5, 0.6, 0.7), key_radius=0.01)
    drawn = MeshScene(model(square(material=white))).render(facing(), light, samples=1)
    np.testing.assert_allclose(drawn.image[0, 8, 8], srgb(np.full(3, 0.5)), atol=5e-3)
    from_below = dataclasses.replace(light, up=(0, 0, -1), key=(0, 0, -1), bounce=(0.2, 0.4, 0.6))
    drawn = MeshScene(model(square(material=white))).render(facing(), from_below, samples=1)
    np.testing.assert_allclose(drawn.image[0, 8, 8], srgb(np.array([0.1, 0.2, 0.3])), atol=5e-3)


def test_shadows_fall_and_do_not_depend_on_the_view():
    floor = square(-2.0, 2.0)
    plate = square(-0.5, 0.5, z=0.6)
    light = Light(up=(0, 0, 1), key=(0.0, 0.0, 1.0))
    alone, both = MeshScene(model(floor)), MeshScene(model(floor, plate))
    up = torch.tensor([0.0, 1.0, 0.0])
    points = np.array([[0.0, 0.0, 0.0], [1.6, 0.0, 0.0]])  # below the plate, far beside it
    seen = []
    for position in ([0.0, -3.0, 0.9], [0.3, 3.0, 0.8], [2.0, -2.0, 0.7]):
        transform = look_at(torch.tensor([position]), torch.tensor([[0.5, 0.0, 0.0]]), up)
        cameras = Cameras(transform, torch.full((1, 2), 400.0), torch.full((1, 2), 200.0), 400, 400)
        flat = points @ transform[0, :, :3].numpy().T + transform[0, :, 3].numpy()
        columns, rows = (flat[:, :2] / flat[:, 2:] * 400 + 200).astype(int).T
        seen.append([scene.render(cameras, light, 1).image[0, rows, columns, 0].numpy() for scene in (alone, both)])
    without, shaded = np.array(seen).transpose(1, 2, 0)
    assert (without > 0.9).all()
    assert (shaded[0] < 0.75).all()
    assert (shaded[1] > 0.85).all()
    assert np.ptp(shaded[0]) < 0.02


@pytest.mark.parametrize("seed", range(2))
def test_maps_of_lamps_say_what_rays_to_the_lamps_say(seed):
    """Light by brute force: every lamp is asked for by a ray through all triangles."""
    vertices, faces, _ = soup(seed, 25)
    scene, cameras = MeshScene(model((vertices, faces, {}))), around(1, seed + 20, pixels=20)
    light = Light((0, 1, 0), (1, 2, 1), bounce=(0, 0, 0), map_size=256)
    hits, drawn = scene.hits(cameras), scene.render(cameras, light, samples=1)
    seen = hits.face[0].numpy() >= 0
    corners = vertices[faces[hits.face[0].numpy()[seen]]]
    points = np.einsum("pk,pkx->px", hits.barycentric[0].numpy()[seen], corners)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    normals *= np.sign(((cameras.positions[0].numpy() - points) * normals).sum(1))[:, None]
    colors = np.repeat([light.key_color, light.sky_color], [light.key_lamps, light.sky_lamps], 0)
    shares = colors / np.repeat([light.key_lamps, light.sky_lamps / 2], [light.key_lamps, light.sky_lamps])[:, None]
    expected = np.zeros_like(points)
    for point, normal, total in zip(points + 0.02 * normals, normals, expected, strict=True):
        free = brute_hits(vertices, faces, point, light.directions())[0] < 0
        total += ((light.directions() @ normal).clip(0) * free) @ shares
    clipped = np.where(expected > 0.7, 0.7 + 0.3 * (1 - np.exp(-(expected - 0.7).clip(0) / 0.3)), expected)
    error = np.abs(drawn.image[0].numpy()[seen] - srgb(clipped)).max(1)
    assert seen.sum() > 40
    assert np.median(error) < 0.01
    assert np.quantile(error, 0.9) < 0.06  # edges of shadows


def test_the_floor_hides_what_is_below_it():
    cameras = orbit(torch.zeros(1, 3), UP, FORWARD, 0.0, 20.0, 6.0, 30.0, 64, 64)
    scene = MeshScene(model(square()))
    whole = scene.render(cameras).alpha.sum()
    half = scene.render(cameras, floor=Floor(np.array([0.0, 1.0, 0.0]), 0.0)).alpha.sum()
    assert 0.4 < half / whole < 0.6


# --- what is broken


def test_a_character_without_faces_is_refused():
    vertices = square()[0]
    with pytest.raises(GambolError, match="'model' has no mesh with faces"):
        MeshScene(model((vertices, np.zeros((0, 3), int), {})))
    with pytest.raises(GambolError, match="nothing to render"):
        MeshScene(model())


def test_odd_meshes_do_no_harm():
    vertices, _, _ = square()
    plain = MeshScene(model(square())).render(facing(), Light((0, 0, 1), (0, 0, 1)))
    flat = np.array([[0, 0, 1], [1, 1, 1], [0, 1, 0]])
    odd = model(
        square(),
        (vertices, np.zeros((0, 3), int), {}),
        (np.concatenate([vertices, 1e9 * vertices[:1]]), flat, {"normals": np.zeros((5, 3))}),
    )
    drawn = MeshScene(odd).render(facing(), Light((0, 0, 1), (0, 0, 1)))
    assert torch.isfinite(drawn.image).all()
    torch.testing.assert_close(drawn.alpha, plain.alpha)
    point = model((np.zeros((3, 3)), np.array([[0, 1, 2]]), {}))
    assert MeshScene(point).render(facing(), Light((0, 0, 1), (0, 0, 1))).alpha.sum() == 0


def test_broken_normals_and_colours_are_not_seen():
    broken = square()
    character = model(broken)
    mesh = dataclasses.replace(
        character.meshes[0],
        normals=np.full((4, 3), np.nan),
        colors=np.full((4, 4), np.inf),
        uvs=np.full((4, 2), np.nan),
    )
    drawn = MeshScene(dataclasses.replace(character, meshes=(mesh,))).render(facing(), Light((0, 0, 1), (0, 0, 1)))
    assert torch.isfinite(drawn.image).all()
    assert (drawn.image > 0.9).all()


@pytest.mark.parametrize("data", [b"", b"no picture", png(np.zeros((8, 8, 3))).data[:45]], ids=["no", "text", "torn"])
def test_a_broken_texture_is_a_warning_and_a_plain_colour(data):
    material = Material(base_color=(1.0, 0.0, 0.0, 1.0), texture=Texture(data, "image/png", "torn"))
    scene = MeshScene(model(square(uvs=CORNERS, material=material)))
    assert "texture 'torn' (image/png) cannot be decoded" in scene.warnings[0]
    np.testing.assert_allclose(
        scene.render(facing()).image, np.broadcast_to([1.0, 0.0, 0.0], scene.render(facing()).image.shape), atol=1e-5
    )


def test_textures_without_coordinates_and_of_one_texel():
    green = png(np.full((1, 1, 3), (0, 255, 0)))
    for uvs, expected in ((None, (1.0, 1.0, 1.0)), (CORNERS * 1e6, (0.0, 1.0, 0.0))):
        scene = MeshScene(model(square(uvs=uvs, material=Material(texture=green))))
        assert not scene.warnings
        np.testing.assert_allclose(
            scene.render(facing()).image, np.broadcast_to(expected, scene.render(facing()).image.shape), atol=1e-5
        )


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "I;16"])
def test_textures_of_all_kinds_of_pixels(mode):
    file = io.BytesIO()
    white = Image.new("L", (4, 4), 255)
    kinds = {"I;16": Image.fromarray(np.full((4, 4), 65535, np.uint16))}
    kinds.get(mode, white.convert(mode) if mode != "I;16" else None).save(file, "PNG")
    texture = Texture(file.getvalue(), "image/png")
    scene = MeshScene(model(square(uvs=CORNERS, material=Material(texture=texture))))
    np.testing.assert_allclose(scene.render(facing()).image, 1, atol=1e-5)


def test_a_pose_of_nan_is_refused():
    scene = MeshScene(model(square()))
    with pytest.raises(GambolError, match="NaN or infinity"):
        scene.pose([np.full((4, 3), np.nan)])
    with pytest.raises(ValueError, match="finite"):
        scene.render(dataclasses.replace(facing(), T_camera_world=torch.full((1, 3, 4), torch.nan)))
    with pytest.raises(ValueError, match="at least 1"):
        scene.render(facing(), samples=0)


@pytest.mark.parametrize("seed", range(3))
def test_normals_of_the_kernel_are_those_of_its_twin(seed):
    """Faces that share vertices, some of which are split, as at seams of textures."""
    generator = np.random.default_rng(seed)
    vertices, faces = generator.normal(size=(40, 3)), generator.integers(0, 40, (60, 3))
    faces = faces[(faces != np.roll(faces, 1, axis=1)).all(1)]
    vertices, normals = np.concatenate([vertices, vertices[:10]]), np.zeros((50, 3))
    faces[::4] = np.where(faces[::4] < 10, faces[::4] + 40, faces[::4])
    same = np.r_[:40, :10]
    scene = MeshScene(model((vertices, faces, {"normals": normals})))
    expected = vertex_normals(vertices, same[faces])[same]
    used = np.unique(faces)
    np.testing.assert_allclose(scene._scene.normals.numpy()[used], expected[used], atol=2e-5)


def ball(rings):
    """A unit sphere of 2 * rings * rings vertices, wound outwards."""
    rise, turn = np.meshgrid(np.linspace(0, np.pi, rings), np.arange(2 * rings) * np.pi / rings, indexing="ij")
    vertices = np.stack([np.sin(rise) * np.cos(turn), np.cos(rise), np.sin(rise) * np.sin(turn)], -1).reshape(-1, 3)
    row, column = (index.ravel() for index in np.mgrid[: rings - 1, : 2 * rings])
    a, b = row * 2 * rings + column, row * 2 * rings + (column + 1) % (2 * rings)
    return vertices, np.concatenate([np.c_[a, b, a + 2 * rings], np.c_[b, b + 2 * rings, a + 2 * rings]]), {}


def test_a_simplified_mesh_has_the_same_shape_and_few_faces():
    vertices, faces, _ = ball(200)
    kept, fewer = simplified(vertices, faces, 64)
    assert len(fewer) < 0.2 * len(faces) and fewer.max() < len(kept)
    middles = vertices[kept][fewer].mean(1)
    assert np.abs(np.linalg.norm(middles, axis=1) - 1).max() < np.sqrt(12) / 64
    corners = vertices[kept][fewer]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1).sum() / 2
    assert area == pytest.approx(4 * np.pi, rel=0.1)


def test_a_fine_mesh_is_lit_as_a_coarse_one(monkeypatch):
    """Its shadows come from the simplified mesh: the same light, to a few hundredths at their edges."""
    fine, wall = ball(250), square(-2.0, 2.0, -1.5)
    light, cameras = Light(up=(0, 1, 0), key=(0.2, 0.3, 1.0)), around(3, 0, 6.0, 64)
    found = MeshScene(model(fine, wall)).render(cameras, light).image
    monkeypatch.setattr("gambol.render.raycast.SHADOW_FACES", 10**9)
    expected = MeshScene(model(fine, wall)).render(cameras, light).image
    assert 0 < (found - expected).abs().mean() < 2e-3
