"""Travel and turn apart from the rest."""

import json
from dataclasses import replace

import numpy as np
import pytest
from walkers import fall, held, places, rounds_of, walk, walker

from gambol.character.anatomy import analyze
from gambol.character.clip import Clip, Track
from gambol.character.transforms import quaternion_from_matrix, quaternion_multiply, rotation_about
from gambol.editing.path import find_path
from gambol.editing.retrack import key_times, retracked, world_of
from gambol.editing.root_motion import in_place, root_node, with_root_motion
from gambol.errors import GambolError


def level(anatomy, points: np.ndarray) -> np.ndarray:
    return points - (points @ anatomy.up)[..., None] * anatomy.up


def way_of(character, clip) -> np.ndarray:
    first, last = places(character, clip, np.array([clip.start, clip.end])).mean(1)
    return last - first


def gliding(character, anatomy, speed=1.5, sway=0.04, sways=1.5, seconds=4.0, turn=0.0) -> Clip:
    """It goes ahead, from rest to rest, and sways from side to side; lengths in heights. turn: to the left [rad]."""
    times = np.linspace(0, seconds, round(60 * seconds) + 1)
    along = np.clip((times - 0.5) / (seconds - 1), 0, 1)
    along = along * along * (3 - 2 * along)
    hips = int(np.flatnonzero(character.skeleton.parents < 0)[0])
    rest = character.skeleton.rest
    way = anatomy.height * np.outer(along * speed * (seconds - 1), anatomy.forward)
    aside = (
        anatomy.height * sway * np.outer(np.sin(2 * np.pi * sways * times) * (along > 0) * (along < 1), anatomy.left)
    )
    turns = quaternion_from_matrix(rotation_about(anatomy.up, turn * along))
    rotation = quaternion_multiply(turns, np.broadcast_to(rest.rotation[hips], turns.shape))
    arm = int(np.flatnonzero(character.skeleton.is_joint)[-1])
    waves = np.stack([np.cos(0.2 * np.sin(times)), np.sin(0.2 * np.sin(times)), 0 * times, 0 * times], 1)
    return Clip(
        "glide",
        (
            Track(hips, "translation", times, rest.translation[hips] + way + aside),
            Track(hips, "rotation", times, rotation),
            Track(arm, "rotation", times, quaternion_multiply(waves, np.broadcast_to(rest.rotation[arm], waves.shape))),
        ),
    )


# In place


@pytest.mark.parametrize("armature", [False, True])
@pytest.mark.parametrize("name", ["dog", "human"])
def test_a_walk_without_its_way_is_a_walk_in_place(name, armature):
    character, anatomy = walker(name, armature)
    clip = walk(name, armature=armature)
    found, path = in_place(character, anatomy, clip)
    np.testing.assert_allclose(path.positions[-1], level(anatomy, way_of(character, clip)), atol=1e-6)
    assert not path.yaw.any() and len(path.times) == 2
    assert np.linalg.norm(way_of(character, found)) < 1e-9
    assert {track.node for track in found.tracks} == {track.node for track in clip.tracks}, "no node goes back instead"
    times = np.linspace(0, clip.duration, 40)
    expected = places(character, walk(name, in_place=True, armature=armature), times)
    np.testing.assert_allclose(places(character, found, times), expected, atol=2e-3 * anatomy.height)


@pytest.mark.parametrize("make", [walk, lambda name: gliding(*walker(name), turn=2.0)])
def test_a_clip_in_place_and_its_path_are_the_clip(make):
    character, anatomy = walker("human")
    clip = make("human")
    found, path = in_place(character, anatomy, clip)
    times = key_times(found)
    again = path.at(times, anatomy.up)[:, None] @ world_of(character.skeleton, found, times)
    off = again - world_of(character.skeleton, clip, times)
    assert np.abs(off[:, character.skeleton.is_joint]).max() < 1e-9


def test_a_gait_in_place_stays_and_its_feet_tell_how_far_it_would_go():
    for name in ("dog", "human"):
        character, anatomy = walker(name)
        clip = walk(name, in_place=True)
        found, path = in_place(character, anatomy, clip)
        assert found is clip
        way = level(anatomy, way_of(character, walk(name)))
        np.testing.assert_allclose(path.positions[-1], way, atol=0.05 * np.linalg.norm(way))


def test_what_stands_goes_nowhere():
    character, anatomy = walker("human")
    for clip in (walk("human", "idle"), held(walk("human"), 1.0), held(walk("human"), 0.0)):
        found, path = in_place(character, anatomy, clip)
        assert not path.moves and found.tracks == clip.tracks


def test_swaying_belongs_to_the_body_and_not_to_its_path():
    character, anatomy = walker("human")
    clip = gliding(character, anatomy)
    found, path = in_place(character, anatomy, clip)
    middle = places(character, found, np.linspace(1, 3, 121)).mean(1) - places(character, found, np.zeros(1)).mean(1)
    ahead, aside = (middle @ axis / anatomy.height for axis in (anatomy.forward, anatomy.left))
    assert np.ptp(aside) > 0.85 * 2 * 0.04, "the sway is still there"
    assert np.abs(ahead).max() < 0.1 * 1.5 * 3, "and it does not swim away"
    ends = path.positions[-1] @ np.stack([anatomy.forward, anatomy.left], 1) / anatomy.height
    np.testing.assert_allclose(ends, [4.5, 0.0], atol=1e-3)
    steps = np.diff(path.positions @ anatomy.left) / anatomy.height
    assert np.abs(steps).max() < 0.005, "the path is calm"


@pytest.mark.parametrize("turn", [-2.5, 1.0, 5.0])
def test_turns_are_taken_out_however_far(turn):
    character, anatomy = walker("human")
    clip = gliding(character, anatomy, turn=turn)
    found, path = in_place(character, anatomy, clip)
    assert path.yaw[-1] == pytest.approx(turn, abs=1e-3)
    first, last = places(character, found, np.array([0.0, found.duration]))
    np.testing.assert_allclose(first, last, atol=0.02 * anatomy.height)


def test_a_round_that_turns_goes_around_a_circle():
    character, anatomy = walker("dog")
    clip = walk("dog", "turn left")
    found, path = in_place(character, anatomy, clip)
    assert path.yaw[-1] > 0.2
    np.testing.assert_allclose(np.diff(path.yaw, 2), 0, atol=1e-9)
    lengths = np.linalg.norm(np.diff(path.positions, axis=0), axis=1)
    np.testing.assert_allclose(lengths, lengths.mean(), rtol=1e-6)
    first, last = places(character, found, np.array([0.0, found.duration]))
    np.testing.assert_allclose(first, last, atol=1e-6)


def test_a_body_that_rolls_over_does_not_spin():
    character, anatomy = walker("human")
    tips = fall(character)
    hips = tips.tracks[0]
    angle = np.linspace(0, np.pi, len(hips.times))  # over its head
    turn = np.stack([np.cos(angle / 2), np.sin(angle / 2), 0 * angle, 0 * angle], axis=1)
    rolls = replace(hips, values=quaternion_multiply(turn, np.broadcast_to(hips.values[0], turn.shape)))
    path, _ = find_path(character, anatomy, replace(tips, tracks=(rolls, tips.tracks[1])))
    assert np.abs(path.yaw).max() < 0.2


# On the root


@pytest.mark.parametrize("name", ["dog", "human"])
def test_travel_goes_to_the_root_and_nothing_else_moves(name):
    character, anatomy = walker(name, armature=True)
    clip = rounds_of(walk(name, armature=True), 1.0)
    found, path, node = with_root_motion(character, anatomy, clip)
    assert node == "armature" and path.moves
    times = key_times(found)
    T_before, T_after = (world_of(character.skeleton, each, times) for each in (clip, found))
    joints = character.skeleton.is_joint
    assert np.abs(T_after - T_before)[:, joints].max() < 1e-5 * anatomy.height
    root = character.skeleton.names.index("armature")
    np.testing.assert_allclose(T_after[-1, root, :3, 3] - T_after[0, root, :3, 3], path.positions[-1], atol=1e-9)
    assert np.abs(np.diff(T_after[:, root, :3, 3] @ anatomy.up)).max() < 1e-9
    hips = int(anatomy.body.nodes[0])
    seen = np.linalg.solve(T_after[:, root], T_after[:, hips])[:, :3, 3]
    assert np.linalg.norm(seen[-1] - seen[0]) < 1e-6, "hips no longer travel"
    again, path_again, _ = with_root_motion(character, anatomy, found)
    np.testing.assert_allclose(path_again.positions, path.positions, atol=1e-6)
    assert np.abs(world_of(character.skeleton, again, times) - T_after).max() < 1e-6


def test_turns_go_to_the_root():
    character, anatomy = walker("human", armature=True)
    plain, _ = walker("human")
    glide = gliding(plain, walker("human")[1], turn=1.5)
    hips = glide.tracks[0].node
    times = glide.tracks[0].times
    T_world = world_of(plain.skeleton, glide, times)
    clip = retracked(character.skeleton, Clip("glide", glide.tracks[2:]), times, {hips: T_world[:, hips]})
    found, path, _ = with_root_motion(character, anatomy, clip)
    assert path.yaw[-1] == pytest.approx(1.5, abs=1e-3)
    keys = key_times(found)
    off = world_of(character.skeleton, found, keys) - world_of(character.skeleton, clip, keys)
    assert np.abs(off[:, character.skeleton.is_joint]).max() < 1e-5


@pytest.mark.parametrize("name", ["dog", "human"])
def test_a_gait_in_place_begins_to_travel_as_its_feet_say(name):
    character, anatomy = walker(name, armature=True)
    clip = walk(name, in_place=True, armature=True)
    found, path, _ = with_root_motion(character, anatomy, clip)
    way = level(anatomy, way_of(character, walk(name, armature=True)))
    np.testing.assert_allclose(level(anatomy, way_of(character, found)), path.positions[-1], atol=1e-6)
    np.testing.assert_allclose(path.positions[-1], way, atol=0.05 * np.linalg.norm(way))
    changed = {track.node for track in found.tracks} - {track.node for track in clip.tracks}
    assert changed == {character.skeleton.names.index("armature")}


def test_without_a_node_above_the_hips_these_are_the_root():
    """What travels stays as it is; what goes in place begins to travel, as its feet say."""
    character, anatomy = walker("human")
    clip = walk("human")
    assert root_node(character, anatomy) is None
    found, path, node = with_root_motion(character, anatomy, clip)
    assert node == "hips" and path.moves
    np.testing.assert_allclose(way_of(character, found), way_of(character, clip), atol=1e-9)
    still, _ = in_place(character, anatomy, clip)
    assert np.abs(level(anatomy, way_of(character, still))).max() < 1e-6
    again, _, _ = with_root_motion(character, anatomy, still)
    way = level(anatomy, way_of(character, clip))
    np.testing.assert_allclose(level(anatomy, way_of(character, again)), way, atol=0.05 * np.linalg.norm(way))


def test_of_several_roots_none_can_carry_the_way():
    character, _ = walker("human")
    parents = character.skeleton.parents.copy()
    parents[np.flatnonzero(parents == np.flatnonzero(parents < 0)[0])[0]] = -1
    apart = replace(character, skeleton=replace(character.skeleton, parents=parents), clips={})
    with pytest.raises(GambolError, match=r"its joints are under 2 separate root nodes.*--in-place"):
        with_root_motion(apart, analyze(apart), walk("human"))


def test_a_path_is_written_as_plain_numbers():
    character, anatomy = walker("dog")
    path, _ = find_path(character, anatomy, walk("dog"))
    said = json.loads(json.dumps(path.lasting(2.0).json(), allow_nan=False))
    assert said["times"] == [0.0, 2.0] and said["yaw"] == [0.0, 0.0]
    np.testing.assert_allclose(said["positions"], path.positions, rtol=1e-5, atol=1e-6)
