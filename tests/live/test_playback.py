"""The live page plays what the motion says."""

import dataclasses
import io

import numpy as np
import pytest
import torch
from character.creatures import dog, human
from PIL import Image
from scipy.spatial import cKDTree

from gambol.character.anatomy import analyze
from gambol.character.character import Character, Material, Texture
from gambol.character.rig import build_rig
from gambol.character.transforms import rotation_about
from gambol.live.playback import FRAME_RATE, MOST_COLORS, PAUSE_AT_END, UP, PlaybackMaker, PlayHead, colored_meshes
from gambol.motion.export import poses_from_world
from gambol.motion.rig_motion import RigMotion

FRAMES = 9


def made(make):
    character = make()
    anatomy = analyze(character)
    rig = build_rig(anatomy)
    return character, anatomy, rig, PlaybackMaker(character, anatomy, rig)


def random_motion(rig, seed, loops, turn=0.0):
    """At the page's own frame rate, so that nothing is interpolated."""
    random = torch.Generator().manual_seed(seed)

    def some(*shape):
        return 0.4 * torch.randn(*shape, generator=random)

    right, forward = (torch.as_tensor(axis, dtype=torch.float32) for axis in rig.root_axes.T[1:])
    travel = 1.3 * forward + 0.2 * right if loops else torch.zeros(3)
    along = torch.arange(FRAMES)[:, None] / FRAMES
    return RigMotion(
        some(FRAMES, len(rig.nodes), 3),
        some(FRAMES, 3) + along * travel,
        some(FRAMES, 3) + along * torch.tensor([turn, 0.0, 0.0]),
        (FRAMES - 0.5) / FRAME_RATE,
        loops,
        travel,
        turn,
    )


def apart(left, right):
    """The greatest distance from a point of one to the other."""
    return max(cKDTree(left).query(right)[0].max(), cKDTree(right).query(left)[0].max())


@pytest.mark.parametrize("turn", [0.0, 0.1, -0.3, 1.2])
@pytest.mark.parametrize("make", [dog, human])
def test_cycles_continue_where_the_last_one_ended(make, turn):
    """Vertices on the page, moved back to where the page says they are, are those of the exported clip."""
    character, _, rig, maker = made(make)
    motion = random_motion(rig, 5, True, turn)
    pose = poses_from_world(character.skeleton, rig.nodes, motion.repeated(3, rig).world(rig).double().numpy())
    axes, origin = maker.axes.numpy(), maker.origin.numpy()
    expected = (np.concatenate(character.vertices(pose), axis=-2) - origin) @ axes.T
    start = (axes @ motion.root_translation[0].numpy()) * (1, 0, 1)
    meshes, playback, head = colored_meshes(character), maker.playback(motion), PlayHead()
    for frame in range(3 * FRAMES):
        matrices = playback.at(head.phase)
        heading = rotation_about(UP, np.array(head.heading))
        shown = np.concatenate([mesh.vertices(matrices) for mesh in meshes]) @ heading.T
        assert apart(shown + start + head.position(playback), expected[frame]) < 1e-4, frame
        head.advance(playback, playback.seconds / FRAMES + 1e-9)


@pytest.mark.parametrize("turn", [0.0, 0.1, 1.2])
def test_end_of_a_cycle_is_the_start_of_the_next(turn):
    _, _, rig, maker = made(dog)
    playback = maker.playback(random_motion(rig, 2, True, turn))
    turned = torch.as_tensor(rotation_about(UP, np.array(turn))).float() @ playback.at(0.0)
    torch.testing.assert_close(playback.at(1.0), turned, atol=1e-5, rtol=0)


def test_a_travelling_character_stays_in_its_place():
    character, _, rig, maker = made(dog)
    playback = maker.playback(RigMotion.at_rest(len(rig.nodes), FRAMES, 1.0, True, 7 * rig.root_axes[:, 2]))
    first, later = (colored_meshes(character)[0].vertices(playback.at(phase)) for phase in (0.0, 0.77))
    np.testing.assert_allclose(first, later, atol=1e-5)
    size = 1 / np.linalg.norm(maker.axes[2])
    np.testing.assert_allclose(playback.displacement, [0, 0, 7 / size], atol=1e-6)


def test_the_character_stands_on_the_ground_and_looks_forward():
    character, anatomy, rig, maker = made(dog)
    matrices = maker.playback(RigMotion.at_rest(len(rig.nodes), 2, 1.0, True)).at(0.0)
    points = np.concatenate([mesh.vertices(matrices) for mesh in colored_meshes(character)])
    low, high = points.min(0), points.max(0)
    assert (high - low).max() == pytest.approx(1.0, abs=0.02)
    assert low[1] == pytest.approx(0.0, abs=0.02)
    head = anatomy.joints_of("head")[0]
    nose = maker.axes.numpy() @ (rig.world()[head, :3, 3] - maker.origin.numpy())
    assert nose[2] > 0 < nose[1]


def test_a_motion_that_does_not_loop_holds_its_end_and_starts_again():
    _, _, rig, maker = made(dog)
    motion = random_motion(rig, 1, False)
    playback, head = maker.playback(motion), PlayHead()
    head.advance(playback, motion.seconds + 0.8 * PAUSE_AT_END)
    assert head.phase > 1
    torch.testing.assert_close(playback.at(head.phase), playback.at(1.0))
    assert head.position(playback) == pytest.approx(playback.displacement)
    head.advance(playback, 0.3 * PAUSE_AT_END)
    assert head.phase == 0
    assert head.position(playback) == pytest.approx(np.zeros(3))


def test_long_motions_have_fewer_frames():
    _, _, rig, maker = made(dog)
    assert len(maker.playback(RigMotion.at_rest(len(rig.nodes), 30, 300.0, False)).matrices) <= 600


def test_meshes_have_the_colours_of_the_character_and_all_its_faces():
    character = dog()
    (mesh,) = character.meshes
    parts = colored_meshes(character)
    assert sum(len(part.faces) for part in parts) == len(mesh.faces)
    linear = np.unique(mesh.colors[:, :3], axis=0)
    srgb = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055) * 255
    assert len(parts) == len(srgb)
    np.testing.assert_allclose(sorted(part.color for part in parts), sorted(srgb.tolist()), atol=1.5)


def with_mesh(character: Character, **changes) -> Character:
    (mesh,) = character.meshes
    return dataclasses.replace(character, meshes=(dataclasses.replace(mesh, **changes),))


def test_many_colours_become_few():
    character = dog()
    colors = np.random.default_rng(0).random((len(character.meshes[0].positions), 4))
    colors[:, 3] = 1
    character = with_mesh(character, colors=colors)
    assert 2 < len(colored_meshes(character)) <= MOST_COLORS
    assert len(colored_meshes(dataclasses.replace(character, meshes=character.meshes * 20))) == 20


def test_texture_is_looked_up_and_holes_are_left_out():
    texels = np.array([[[250, 0, 0, 255], [0, 0, 250, 255], [0, 250, 0, 0]]], np.uint8)
    file = io.BytesIO()
    Image.fromarray(texels).save(file, "png")
    character = dog()
    faces = character.meshes[0].faces
    third = np.arange(len(character.meshes[0].positions)) * 3 // (faces.max() + 1)
    uvs = np.stack([(third + 0.5) / 3 + 4, np.full(len(third), 0.5)], 1)  # repeated, so whole numbers do not matter
    material = Material(texture=Texture(file.getvalue(), "image/png"), alpha_mode="MASK")
    parts = colored_meshes(with_mesh(character, colors=None, uvs=uvs, material=material))
    colors = {part.color for part in parts}
    assert {(250, 0, 0), (0, 0, 250)} <= colors
    assert not any(green > 200 for _, green, _ in colors)
    assert 0 < sum(len(part.faces) for part in parts) < len(faces)


def test_a_broken_texture_is_white():
    material = Material(texture=Texture(b"no picture", "image/png"))
    uvs = np.full((len(dog().meshes[0].positions), 2), np.nan)
    (part,) = colored_meshes(with_mesh(dog(), colors=None, uvs=uvs, material=material))
    assert part.color == (255, 255, 255)


def test_seams_are_closed():
    character = with_mesh(dog(), colors=None)
    (mesh,) = character.meshes
    corners = mesh.faces.ravel()
    split = {name: getattr(mesh, name)[corners] for name in ("positions", "binds", "weights")}
    torn = with_mesh(character, **split, faces=np.arange(len(corners)).reshape(-1, 3))
    (whole,), (mended,) = colored_meshes(character), colored_meshes(torn)
    assert whole.skinning.shape == mended.skinning.shape


def test_a_character_without_faces_has_no_meshes():
    assert colored_meshes(with_mesh(dog(), faces=np.zeros((0, 3), int))) == []
    assert colored_meshes(dataclasses.replace(dog(), meshes=())) == []
