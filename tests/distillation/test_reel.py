"""What the live page plays is what the draft says."""

import dataclasses
import io

import numpy as np
import pytest
import torch
from character.creatures import dog, human
from PIL import Image
from scipy.spatial import cKDTree

from gambol.character.anatomy import study
from gambol.character.character import Character, Material, Texture
from gambol.character.rig import build_rig
from gambol.distillation.reel import COLORS, FRAMES_A_SECOND, HOLD, Page, Playhead, ReelMaker, about_y, pieces_of
from gambol.motion.draft import Draft
from gambol.motion.export import poses_from_world

FRAMES = 9


def stood_up(make):
    character = make()
    anatomy = study(character)
    rig = build_rig(anatomy)
    return character, anatomy, rig, ReelMaker(character, rig, Page.of(character, anatomy, rig))


def any_draft(rig, seed, loops, turn=0.0):
    """At the reel's own frame rate, so that nothing is between frames."""
    random = torch.Generator().manual_seed(seed)

    def some(*shape):
        return 0.4 * torch.randn(*shape, generator=random)

    right, forward = (torch.as_tensor(axis, dtype=torch.float32) for axis in rig.root_axes.T[1:])
    travel = 1.3 * forward + 0.2 * right if loops else torch.zeros(3)
    along = torch.arange(FRAMES)[:, None] / FRAMES
    yaw = torch.tensor([turn, 0.0, 0.0])
    return Draft(
        some(FRAMES, len(rig.nodes), 3),
        some(FRAMES, 3) + along * travel,
        some(FRAMES, 3) + along * yaw,
        (FRAMES - 0.5) / FRAMES_A_SECOND,
        loops,
        travel,
        turn,
    )


def on_the_page(character, rig, page, T_world_joint):
    """All vertices, by the way a clip takes into a file."""
    pose = poses_from_world(character.skeleton, rig, T_world_joint.double().numpy())
    vertices = np.concatenate(character.vertices(pose), axis=-2)
    return (vertices - page.origin) @ page.rotation.T / page.size


def apart(left, right):
    """The greatest distance from a point of one to the other."""
    return max(cKDTree(left).query(right)[0].max(), cKDTree(right).query(left)[0].max())


@pytest.mark.parametrize("turn", [0.0, 0.1, -0.3, 1.2])
@pytest.mark.parametrize("make", [dog, human])
def test_rounds_go_on_where_the_last_ended(make, turn):
    character, _, rig, maker = stood_up(make)
    draft = any_draft(rig, 5, True, turn)
    truth = on_the_page(character, rig, maker.page, draft.repeated(3, rig).world(rig))
    pieces, reel, head = pieces_of(character), maker.reel(draft), Playhead()
    assert reel.drifts == (abs(turn) < 0.35)
    for frame in range(3 * FRAMES):
        rows = reel.rows(head.share, head.heading)
        shown = np.concatenate([piece.vertices(rows) for piece in pieces])
        point, facing = head.ground(reel)
        assert apart((shown - reel.anchor) @ about_y(facing).T + point, truth[frame]) < 1e-4, frame
        head.advance(reel, reel.seconds / FRAMES + 1e-9)


@pytest.mark.parametrize("turn", [0.0, 0.1, 1.2])
def test_end_of_a_round_is_the_start_of_the_next(turn):
    _, _, rig, maker = stood_up(dog)
    reel = maker.reel(any_draft(rig, 2, True, turn))
    np.testing.assert_allclose(reel.rows(1.0, 0.4), reel.rows(0.0, 0.4 + turn), atol=1e-5)


def test_what_goes_somewhere_stays_in_its_place_on_the_page():
    character, _, rig, maker = stood_up(dog)
    reel = maker.reel(Draft.at_rest(len(rig.nodes), FRAMES, 1.0, True, 7 * rig.root_axes[:, 2]))
    first, later = (pieces_of(character)[0].vertices(reel.rows(share, 0.0)) for share in (0.0, 0.77))
    np.testing.assert_allclose(first, later, atol=1e-5)
    np.testing.assert_allclose(reel.way, [0, 0, 7 / maker.page.size], atol=1e-6)


def test_page_does_not_depend_on_size_and_axes():
    character, anatomy, rig, maker = stood_up(dog)
    rows = maker.reel(Draft.at_rest(len(rig.nodes), 2, 1.0, True)).rows(0.0, 0.0)
    points = np.concatenate([piece.vertices(rows) for piece in pieces_of(character)])
    low, high = points.min(0), points.max(0)
    assert (high - low).max() == pytest.approx(1.0, abs=0.02)
    assert low[1] == pytest.approx(0.0, abs=0.02)  # it stands on the ground
    head = anatomy.joints_of("head")[0]
    nose = maker.page.rotation @ (rig.world()[head, :3, 3] - maker.page.origin)
    assert nose[2] > 0 < nose[1]


def test_what_does_not_loop_holds_its_end_and_begins_again():
    _, _, rig, maker = stood_up(dog)
    draft = any_draft(rig, 1, False)
    reel, head = maker.reel(draft), Playhead()
    head.advance(reel, draft.seconds + 0.8 * HOLD)
    assert head.share > 1
    np.testing.assert_allclose(reel.rows(head.share, 0.0), reel.rows(1.0, 0.0))
    assert head.ground(reel)[0] == pytest.approx(reel.anchor + reel.way)
    head.advance(reel, 0.3 * HOLD)
    assert head.share == 0
    assert head.ground(reel)[0] == pytest.approx(reel.anchor)


def test_long_clips_become_short_reels():
    _, _, rig, maker = stood_up(dog)
    assert len(maker.reel(Draft.at_rest(len(rig.nodes), 30, 300.0, False)).matrices) <= 600


def test_pieces_have_the_colours_of_the_character_and_all_its_faces():
    character = dog()
    (mesh,) = character.meshes
    pieces = pieces_of(character)
    assert sum(len(piece.faces) for piece in pieces) == len(mesh.faces)
    linear = np.unique(mesh.colors[:, :3], axis=0)
    painted = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055) * 255
    assert len(pieces) == len(painted)
    np.testing.assert_allclose(sorted(piece.color for piece in pieces), sorted(painted.tolist()), atol=1.5)


def with_mesh(character: Character, **changes) -> Character:
    (mesh,) = character.meshes
    return dataclasses.replace(character, meshes=(dataclasses.replace(mesh, **changes),))


def test_many_colours_become_few():
    character = dog()
    colors = np.random.default_rng(0).random((len(character.meshes[0].positions), 4))
    colors[:, 3] = 1
    assert 2 < len(pieces_of(with_mesh(character, colors=colors))) <= COLORS


def test_texture_is_looked_up_and_holes_are_left_out():
    texels = np.array([[[250, 0, 0, 255], [0, 0, 250, 255], [0, 250, 0, 0]]], np.uint8)
    file = io.BytesIO()
    Image.fromarray(texels).save(file, "png")
    character = dog()
    faces = character.meshes[0].faces
    third = np.arange(len(character.meshes[0].positions)) * 3 // (faces.max() + 1)
    uvs = np.stack([(third + 0.5) / 3 + 4, np.full(len(third), 0.5)], 1)  # repeated, so whole numbers do not matter
    material = Material(texture=Texture(file.getvalue(), "image/png"), alpha_mode="MASK")
    pieces = pieces_of(with_mesh(character, colors=None, uvs=uvs, material=material))
    colors = {piece.color for piece in pieces}
    assert {(250, 0, 0), (0, 0, 250)} <= colors
    assert not any(green > 200 for _, green, _ in colors)
    assert 0 < sum(len(piece.faces) for piece in pieces) < len(faces)


def test_broken_texture_does_no_harm():
    material = Material(texture=Texture(b"no picture", "image/png"))
    uvs = np.full((len(dog().meshes[0].positions), 2), np.nan)
    (piece,) = pieces_of(with_mesh(dog(), colors=None, uvs=uvs, material=material))
    assert piece.color == (255, 255, 255)


def test_seams_are_closed():
    character = with_mesh(dog(), colors=None)
    (mesh,) = character.meshes
    corners = mesh.faces.ravel()
    parts = {name: getattr(mesh, name)[corners] for name in ("positions", "binds", "weights")}
    torn = with_mesh(character, **parts, faces=np.arange(len(corners)).reshape(-1, 3))
    (whole,), (mended,) = pieces_of(character), pieces_of(torn)
    assert whole.skinning.shape == mended.skinning.shape


def test_character_without_faces_has_no_pieces():
    assert pieces_of(with_mesh(dog(), faces=np.zeros((0, 3), int))) == []
    assert pieces_of(dataclasses.replace(dog(), meshes=())) == []
