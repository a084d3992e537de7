"""Pictures for people: all of the character in view, steady cameras, floor and shadow, clips and frames."""

import dataclasses

import numpy as np
import pytest
import torch
from assets import asset_files, asset_name, needs_assets
from character.creatures import dog

import gambol
from gambol import GambolError
from gambol.character.clip import Clip
from gambol.character.skeleton import Pose
from gambol.motion.loops import loop_travel
from gambol.render.picture import FILL, choose_frames, place_cameras, render_frames
from gambol.render.rasterize import Rendering
from gambol.render.raycast import MeshScene

UP, FORWARD = np.eye(3)[1:]
REAL = ("Fox", "Knight", "lumberjack", "RobotExpressive", "spider-animations", "Wasp", "MorphStressTest")


def leaping(character, frames=20, fps=10.0) -> Clip:
    """Runs 6 units forward and leaps 2 units high on the way."""
    rest = character.skeleton.rest
    share = np.linspace(0, 1, frames)
    shift = np.stack([0 * share, 2 * np.maximum(np.sin(2 * np.pi * share - 1), 0), 6 * share], 1)
    translation = np.repeat(rest.translation[None], frames, 0)
    roots = np.flatnonzero(character.skeleton.parents < 0)
    translation[:, roots] += shift[:, None]
    still = [np.repeat(values[None], frames, 0) for values in (rest.rotation, rest.scale)]
    return Clip.from_poses("leap", Pose(translation, *still), character.skeleton, fps)


@pytest.fixture(scope="module")
def character():
    return dog()


@pytest.fixture(scope="module")
def clip(character):
    return leaping(character)


def in_picture(shot, points, frame):
    """Where points of the world are in the picture [pixels], y down."""
    transform = shot.cameras.T_camera_world[frame].numpy()
    seen = points @ transform[:, :3].T + transform[:, 3]
    return seen[:, :2] / seen[:, 2:] * shot.cameras.focal[frame].numpy() + shot.cameras.center[frame].numpy()


def test_few_vertices_of_a_fine_mesh_place_the_camera(character, clip, monkeypatch):
    times, axes = clip.times(10), {"up": UP, "forward": FORWARD}
    exact = place_cameras(character, clip, times, **axes)
    monkeypatch.setattr("gambol.render.picture.MOST_VERTICES", len(character.rest_vertices) // 8)
    close = place_cameras(character, clip, times, **axes)
    assert close.distance == pytest.approx(exact.distance, rel=0.1) and close.distance != exact.distance
    assert close.floor.height == pytest.approx(exact.floor.height, abs=0.05 * np.ptp(character.rest_vertices))


@pytest.mark.parametrize("view", ["side", "front", "three-quarter", "orbit"])
def test_nothing_is_cut_off_and_the_picture_is_filled(character, clip, view):
    shot = place_cameras(character, clip, clip.times(10), up=UP, forward=FORWARD, view=view, size=100)
    flat = [in_picture(shot, np.concatenate(shot.vertices(frame)), frame) for frame in range(len(shot))]
    low, high = np.concatenate(flat).min(0), np.concatenate(flat).max(0)
    margin = 50 * (1 - FILL)
    assert (low > margin - 1).all()
    assert (high < 100 - margin + 1).all()
    assert max(high - low) > 95 * FILL  # and no smaller than it has to be
    if view != "orbit":
        np.testing.assert_allclose((low + high) / 2, 50, atol=1)


def test_a_character_is_seen_from_where_it_is_said(character):
    nose, tail = np.array([[0, 0.5, 1.0]]), np.array([[0, 0.5, -1.0]])

    def rightwards(**how):
        shot = place_cameras(character, up=UP, forward=FORWARD, size=100, **how)
        return float((in_picture(shot, nose, 0) - in_picture(shot, tail, 0))[0, 0])

    assert rightwards(view="side") > 30
    assert 5 < rightwards(view="three-quarter") < rightwards(view="side")
    assert abs(rightwards(view="front")) < 1
    assert rightwards(view="side", azimuth=90) < -30
    above = place_cameras(character, up=UP, forward=FORWARD, elevation=80.0).cameras.positions[0].numpy()
    assert above[1] > 5 * np.abs(above[[0, 2]]).max()


def test_an_orbit_goes_round_once(character):
    shot = place_cameras(character, None, np.zeros(12), up=UP, forward=FORWARD, view="orbit", size=32)
    places = shot.cameras.positions.numpy()
    angles = np.unwrap(np.arctan2(places[:, 0] - places[:, 0].mean(), places[:, 2] - places[:, 2].mean()))
    np.testing.assert_allclose(np.diff(angles), 2 * np.pi / 12, atol=0.02)


def test_the_camera_moves_steadily(character, clip):
    times = np.linspace(clip.start, clip.end, 60)
    shot = place_cameras(character, clip, times, up=UP, forward=FORWARD, view="side", size=32)
    shaking = np.abs(np.diff(shot.cameras.positions.numpy(), n=2, axis=0)).max()
    center = np.array([np.concatenate(shot.vertices(frame)).mean(0) for frame in range(60)])
    assert shaking < 0.2 * np.abs(np.diff(center, n=2, axis=0)).max()


def test_the_floor_is_below_the_feet_and_not_lifted_by_a_leap(character, clip):
    lowest = np.concatenate(character.vertices())[:, 1].min()
    shot = place_cameras(character, clip, clip.times(10), up=UP, forward=FORWARD)
    assert shot.floor.height == pytest.approx(lowest, abs=0.01)
    assert place_cameras(character, up=UP, forward=FORWARD).floor.height == pytest.approx(lowest, abs=1e-6)


def test_frames_show_the_character_and_its_shadow(character):
    shot = place_cameras(character, None, np.zeros(2), up=UP, forward=FORWARD, size=96)
    told = []
    first, second = render_frames(shot, on_progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 2), (2, 2)]
    np.testing.assert_array_equal(first, second)
    (bare,) = render_frames(
        dataclasses.replace(shot, times=np.zeros(1), shifts=np.zeros((1, 3))),
        draw_character=lambda frame, camera: nothing(camera),
    )
    body = np.abs(first.astype(int) - bare).max(-1) > 25
    assert 0.05 < body.mean() < 0.5
    columns = np.nonzero(body)[1]
    assert abs(columns.mean() - 48) < 15
    column, row = in_picture(shot, np.array([[0.0, shot.floor.height, 0.0]]), 0)[0].astype(int)
    around = bare[row - 15 : row + 16, column - 15 : column + 30]
    assert around.min() < 0.8 * bare[-6:, :6].mean()  # the floor near the body is in the shade


def nothing(camera):
    shape = (1, camera.height, camera.width)
    return Rendering(torch.zeros(*shape, 3), torch.zeros(shape))


def test_tiles_stay_where_they_are_when_the_character_walks(character, clip):
    """The same camera sees the same floor in all frames, far from the shadow."""
    shot = place_cameras(character, clip, np.array([0.0, 0.2, 1.9]), up=UP, forward=FORWARD, view="side", size=96)
    fixed = dataclasses.replace(shot, cameras=shot.cameras[torch.zeros(3, dtype=torch.long)])
    frames = np.array(list(render_frames(fixed, draw_character=lambda frame, camera: nothing(camera)))).astype(int)
    assert np.abs(frames - frames[0])[:, -15:, :15].max() <= 3
    assert np.ptp(frames[0, 60:]) > 8  # there are tiles


def test_up_may_be_any_axis(character):
    turned = dataclasses.replace(
        character,
        meshes=tuple(dataclasses.replace(mesh, positions=mesh.positions[:, [2, 0, 1]]) for mesh in character.meshes),
    )
    rest = turned.skeleton.rest
    rest = dataclasses.replace(rest, translation=rest.translation[:, [2, 0, 1]])
    inverse = turned.inverse_binds.copy()
    inverse[:, :3, 3] = inverse[:, [2, 0, 1], 3]
    turned = dataclasses.replace(
        turned, skeleton=dataclasses.replace(turned.skeleton, rest=rest), inverse_binds=inverse
    )
    (usual,) = render_frames(place_cameras(character, up=UP, forward=FORWARD, size=64))
    (other,) = render_frames(place_cameras(turned, up=UP[[2, 0, 1]], forward=FORWARD[[2, 0, 1]], size=64))
    assert np.abs(usual.astype(int) - other).mean() < 3


@needs_assets
@pytest.mark.parametrize("path", [path for path in asset_files() if path.stem in REAL], ids=asset_name)
def test_real_characters_are_shown(path):
    real = gambol.load(path)
    anatomy = gambol.analyze(real)
    clip = next(iter(real.clips.values()), None)
    times = None if clip is None else np.array([clip.start, clip.end])
    shot = place_cameras(real, clip, times, up=anatomy.up, forward=anatomy.forward, size=64)
    scene = MeshScene(real)
    assert not scene.warnings
    shown = [picture.astype(int) for picture in render_frames(shot, scene, samples=1)]
    bare = [
        picture.astype(int)
        for picture in render_frames(shot, scene, draw_character=lambda frame, camera: nothing(camera))
    ]
    for picture, without in zip(shown, bare, strict=True):
        body = np.abs(picture - without).max(-1) > 12
        assert 0.02 < body.mean() < 0.7
        assert not body[[0, -1]].any()
        assert not body[:, [0, -1]].any()


def test_what_cannot_be_shown_is_named(character, clip):
    with pytest.raises(GambolError, match="no mesh with faces"):
        place_cameras(dataclasses.replace(character, meshes=()), up=UP, forward=FORWARD)
    point = tuple(dataclasses.replace(mesh, positions=0 * mesh.positions) for mesh in character.meshes)
    still = dataclasses.replace(character, meshes=point, inverse_binds=0 * character.inverse_binds)
    with pytest.raises(GambolError, match="is a single point"):
        place_cameras(still, up=UP, forward=FORWARD)
    track = dataclasses.replace(clip.tracks[0], values=np.full_like(clip.tracks[0].values, np.nan))
    with pytest.raises(GambolError, match="frame 0 has vertices at NaN"):
        place_cameras(character, Clip("broken", (track,)), np.zeros(1), up=UP, forward=FORWARD)


def test_frames_are_those_of_the_clip_or_begin_it_again(clip):
    times, view = choose_frames(clip, "auto")
    assert view == "three-quarter"
    np.testing.assert_allclose(times, np.arange(58) / 30, atol=1e-9)  # 1.9 s
    assert len(choose_frames(clip, "side", seconds=0.5)[0]) == 15
    longer, _ = choose_frames(clip, "side", seconds=3.0)
    assert len(longer) == 90
    np.testing.assert_allclose(longer[58:], longer[:32])
    assert len(choose_frames(clip, "orbit")[0]) == 120
    np.testing.assert_allclose(choose_frames(clip, "auto", ".png")[0], np.linspace(0, 1.9, 8))


def test_a_clip_that_loops_goes_on(character, clip):
    """The leap ends in the pose it begins with, 6 units ahead."""
    np.testing.assert_allclose(loop_travel(character, clip), (0, 0, 6), atol=0.01)
    times, _ = choose_frames(clip, "side", ".mp4", 10.0, loops=True)
    np.testing.assert_allclose(times, np.arange(38) / 10)  # twice 1.9 s
    assert len(choose_frames(clip, "side", ".gif", 10.0, loops=True)[0]) == 19
    shot = place_cameras(character, clip, times, up=UP, forward=FORWARD)
    first, again = (np.concatenate(shot.vertices(frame)) for frame in (4, 23))
    np.testing.assert_allclose(again - first, np.broadcast_to((0, 0, 6), first.shape), atol=0.01)
    cut = choose_frames(clip, "side", ".mp4", 10.0)[0][:10]
    half = Clip("half", tuple(dataclasses.replace(t, times=t.times[:10], values=t.values[:10]) for t in clip.tracks))
    assert place_cameras(character, half, cut, up=UP, forward=FORWARD).shifts.max() == 0


def test_a_clip_that_ends_elsewhere_does_not_loop(character):
    rest = character.skeleton.rest
    rotation = np.repeat(rest.rotation[None], 2, 0)
    rotation[1, character.skeleton.names.index("neck")] = (np.cos(0.3), np.sin(0.3), 0, 0)
    poses = Pose(np.repeat(rest.translation[None], 2, 0), rotation, np.repeat(rest.scale[None], 2, 0))
    assert loop_travel(character, Clip.from_poses("nod", poses, character.skeleton)) is None
    assert loop_travel(character, Clip("nothing", ())) is None


def test_what_stands_still_is_turned_or_seen_once():
    times, view = choose_frames(None, "auto")
    assert (len(times), view) == (120, "orbit")
    times, view = choose_frames(None, "auto", ".png")
    assert (len(times), view) == (1, "three-quarter")
    assert len(choose_frames(None, "orbit", ".png")[0]) == 8
    assert len(choose_frames(None, "front", ".gif", 10.0, 1.5)[0]) == 15
    assert len(choose_frames(Clip("pose", ()), "auto", ".png")[0]) == 1
