"""Clips carried onto other rigs: the same one, others of its kind, other body plans, and motion capture."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from assets import assets_folder
from distillation.odd_characters import mesh_alone, one_joint, scaled
from motion.strides import longer, moved, standing

import gambol
from gambol import Anatomy, Character, Clip, analyze, export, load
from gambol.character.clip import Track
from gambol.creatures.gaits import gait
from gambol.errors import GambolError
from gambol.motion.chains import find_chains
from gambol.motion.clip_tracks import tracks_of_clip
from gambol.motion.correspondence import match_parts
from gambol.motion.loops import loop_travel
from gambol.motion.mocap_ground import levelled, standing_on_ground
from gambol.motion.retarget import RetargetedClip, retarget
from gambol.quality.ground import foot_slide, penetration
from gambol.quality.normalized_clip import normalize_clip


@cache
def animal(words: str) -> tuple[Character, Anatomy]:
    character = gambol.create(words)
    return character, analyze(character)


@cache
def walk(words: str, in_place: bool = False, action: str = "walk") -> Clip:
    return gait(*animal(words), action, in_place=in_place)


@cache
def carried(source: str, target: str, in_place: bool = False, fix_feet: bool = True) -> RetargetedClip:
    return retarget(animal(source)[0], walk(source, in_place), animal(target)[0], fix_feet=fix_feet)


def renamed(character: Character) -> Character:
    """The same rig under other names, so that parts must be found and not joints."""
    names = tuple(f"{name}_b" for name in character.skeleton.names)
    return replace(character, skeleton=replace(character.skeleton, names=names), source=None)


def strays(character: Character, anatomy: Anatomy, first: Clip, second: Clip) -> tuple[float, float]:
    """Largest distance of a joint between two clips [height], and largest angle between its rotations [degrees]."""
    nodes = anatomy.body.nodes
    shares = np.linspace(0.0, 1.0, 50)
    one, other = (
        character.skeleton.world(clip.sample(character.skeleton, clip.start + shares * clip.duration))[:, nodes]
        for clip in (first, second)
    )
    far = np.linalg.norm(one[..., :3, 3] - other[..., :3, 3], axis=-1).max() / anatomy.height
    turns = np.linalg.inv(one[..., :3, :3]) @ other[..., :3, :3]
    cosines = (np.trace(turns, axis1=-2, axis2=-1) - 1) / 2
    return float(far), float(np.degrees(np.arccos(np.clip(cosines, -1, 1))).max())


def slide(done: RetargetedClip, clip: Clip) -> float:
    return foot_slide(normalize_clip(done.target, clip, done.anatomy))["foot_slide_mean"]


def sinks(done: RetargetedClip) -> float:
    return penetration(normalize_clip(done.target, done.clip, done.anatomy))["penetration_mean"]


@pytest.mark.parametrize("words", ["fox", "human", "spider"])
def test_a_clip_for_the_same_rig_stays_as_it_is(words):
    character, anatomy = animal(words)
    done = retarget(character, walk(words), character)
    assert strays(character, anatomy, walk(words), done.clip) == (0.0, pytest.approx(0.0, abs=1e-5))
    assert not done.dropped and not done.following and "the same" in done.notes[0]


@pytest.mark.parametrize("words", ["fox", "human", "spider"])
def test_a_clip_comes_back_from_a_rig_of_another_size(words):
    character, anatomy = animal(words)
    larger = scaled(character, 3.0)
    there = retarget(character, walk(words), larger)
    assert "3 times as large" in there.notes[0]
    back = retarget(larger, there.clip, character)
    assert max(strays(character, anatomy, walk(words), back.clip)) < 1e-4


def test_a_clip_comes_back_from_a_rig_with_other_proportions():
    character, anatomy = animal("fox")
    rest = character.skeleton.rest
    legs = np.array([name.startswith(("front", "hind")) for name in character.skeleton.names])
    longer_legs = rest.translation * np.where(legs, 1.3, 1.0)[:, None]
    lanky = replace(character, skeleton=replace(character.skeleton, rest=replace(rest, translation=longer_legs)))
    lanky = with_rest_bound(lanky)
    there = retarget(character, walk("fox"), lanky, fix_feet=False)
    assert "each keeps its own rotation" in there.notes[0]
    back = retarget(lanky, there.clip, character, fix_feet=False)
    far, turn = strays(character, anatomy, walk("fox"), back.clip)
    assert far < 0.01 and turn < 3.0


def with_rest_bound(character: Character) -> Character:
    """The character with its skin bound in the rest pose: each vertex goes where its joints have gone."""
    skeleton = character.skeleton
    world = skeleton.world(skeleton.rest)[character.bind_nodes]
    meshes = []
    for mesh in character.meshes:
        change = world @ character.inverse_binds
        blended = np.einsum("vk,vkij->vij", mesh.weights, change[mesh.binds])
        points = np.append(mesh.positions, np.ones((len(mesh.positions), 1)), axis=1)
        meshes.append(replace(mesh, positions=(blended @ points[..., None])[:, :3, 0].astype(np.float32)))
    return replace(character, meshes=tuple(meshes), inverse_binds=np.linalg.inv(world))


@pytest.mark.parametrize("words", ["fox", "human", "horse"])
def test_joints_are_found_whatever_their_names_are(words):
    character, anatomy = animal(words)
    done = retarget(character, walk(words), renamed(character))
    far, turn = strays(character, anatomy, walk(words), done.clip)
    assert far < 0.01 and turn < 3.0


@pytest.mark.parametrize("name, clip", [("gltf/quaternius/Wolf.glb", "Walk"), ("clips/ual/UAL1_Standard.glb", "Jog")])
def test_real_clips_come_back(name, clip):
    folder = assets_folder()
    if folder is None or not (folder / name).exists():
        pytest.skip("no real characters")
    character = load(folder / name)
    clip = next(each for label, each in character.clips.items() if clip in label)
    larger = scaled(character, 2.0)
    there = retarget(character, clip, larger)
    back = retarget(larger, there.clip, character)
    far, turn = strays(character, analyze(character), clip, back.clip)
    assert far < 0.01 and turn < 3.0


@pytest.mark.parametrize(
    "source, target",
    [("horse", "fox"), ("fox", "elephant"), ("human", "child"), ("ant", "beetle"), ("duck", "ostrich")],
)
def test_feet_stand_on_the_ground(source, target):
    done = carried(source, target)
    assert slide(done, done.clip) < 3.0
    assert slide(done, done.clip) <= slide(done, done.unfixed) + 0.5
    assert sinks(done) < 8.0
    assert not done.dropped


@pytest.mark.parametrize("in_place", [False, True])
def test_loops_loop_and_what_is_in_place_stays(in_place):
    done = carried("horse", "fox", in_place)
    assert done.clip.duration == pytest.approx(walk("horse").duration, rel=1e-3)
    travel = loop_travel(done.target, done.clip)
    assert travel is not None
    ahead = float(travel @ done.anatomy.forward) / done.anatomy.height
    assert abs(ahead) < 1e-3 if in_place else ahead > 0.3


def test_legs_of_another_plan_move_as_others_do():
    done = carried("human", "horse")
    assert done.dropped == ("left arm", "right arm")
    assert done.following == ("tail",)
    assert any("left leg from right leg" in note for note in done.notes)
    assert slide(done, done.clip) < 3.0 and sinks(done) < 5.0


def test_what_the_target_lacks_is_dropped_and_arms_hang_down():
    done = carried("horse", "human")
    assert set(done.dropped) == {"left leg", "right leg", "tail"}
    assert set(done.following) == {"left arm", "right arm"}
    chains = find_chains(done.anatomy)
    arm = next(chain for chain in chains.chains if chain.name == "left arm")
    skeleton, nodes = done.target.skeleton, done.anatomy.body.nodes
    world = skeleton.world(done.clip.sample(skeleton, np.linspace(0, done.clip.duration, 9)))[:, nodes][..., :3, 3]
    way = world[:, arm.joints[-1]] - world[:, arm.joints[0]]
    assert (way @ done.anatomy.up < -0.8 * np.linalg.norm(way, axis=1)).all()


def test_no_knee_bends_the_wrong_way():
    """The hock of a Tyrannosaurus folds forward, a human's knee backward."""
    done = carried("trex", "human")
    chains = find_chains(done.anatomy)
    skeleton, body = done.target.skeleton, done.anatomy.body
    times = np.linspace(0, done.clip.duration, 40)
    world = skeleton.world(done.clip.sample(skeleton, times))[:, body.nodes][..., :3, 3] @ chains.axes
    for number in chains.legs:
        joints = chains.chains[number].joints
        hip, knee, ankle = (world[:, joint] for joint in joints[-3:])
        line = ankle - hip
        along = ((knee - hip) * line).sum(1) / (line**2).sum(1)
        before = (knee - hip - along[:, None] * line)[:, 2] / np.linalg.norm(line, axis=1)
        assert before.min() > -0.05


def test_bodies_without_a_part_in_common_are_refused():
    human = animal("human")[0]
    with pytest.raises(GambolError, match="no part in common but the trunk: 'human' has neck, left leg"):
        retarget(human, walk("human"), one_joint())


def test_a_mesh_without_joints_is_refused():
    with pytest.raises(GambolError, match="has no joints that could move it; give it a skeleton first"):
        retarget(animal("human")[0], walk("human"), mesh_alone())


def test_clips_that_are_not_there_are_listed():
    with pytest.raises(GambolError, match=r"has no clip 'fly'\. It has none"):
        retarget(animal("fox")[0], "fly", animal("human")[0])


@pytest.mark.parametrize("ours, theirs, lent", [("horse", "human", 2), ("beetle", "fox", 2), ("spider", "human", 6)])
def test_missing_legs_are_lent_across_the_body(ours, theirs, lent):
    parts = match_parts(find_chains(animal(theirs)[1]), find_chains(animal(ours)[1]))
    borrowed = [(chain, found) for chain, found in zip(parts.target.chains, parts.counterparts, strict=True)
                if found and found.borrowed]  # fmt: skip
    assert len(parts.borrowed) == len(borrowed) == lent
    for chain, found in borrowed:
        steps = max(each.rank for each in parts.target.chains if each.kind == "leg") - chain.rank
        other = parts.source.chains[found.chain]
        pairs = len(parts.source.legs) // 2
        assert found.mirrored == (other.side != chain.side) == ((steps - pairs + 1) % 2 == 1)


def test_a_flight_is_not_pulled_to_the_ground():
    human, anatomy = animal("human")
    clip = moved(human, standing(human, 1.0), lambda t: np.outer(3 + np.sin(6 * t), anatomy.up * anatomy.height))
    child, _ = animal("child")
    done = retarget(human, clip, child)
    height = done.anatomy.height
    world = child.skeleton.world(done.clip.sample(child.skeleton, np.linspace(0, 1, 9)))[:, done.anatomy.body.nodes]
    assert (world[..., :3, 3] @ done.anatomy.up).min() > 1.0 * height


def test_motion_capture_starts_forward_without_its_calibration_pose(tmp_path):
    capture = captured(tmp_path, sideways=True)
    done = retarget(capture, "walk", animal("child")[0])
    assert any("calibration pose" in note for note in done.notes)
    child, body = done.target.skeleton, done.anatomy
    world = child.world(done.clip.sample(child, np.array([0.0, done.clip.duration])))[:, body.body.nodes][..., :3, 3]
    way = (world[1] - world[0]).mean(0)
    assert way @ body.forward > 0.95 * np.linalg.norm(way)
    assert np.linalg.norm((world[0] - body.body.heads).mean(0)) < 0.2 * body.height


def test_a_tilted_floor_is_levelled(tmp_path):
    capture = captured(tmp_path, slope=0.02)
    clip = capture.clips["walk"]
    character, anatomy = standing_on_ground(capture, clip)
    level, slope = levelled(character, anatomy, clip)
    assert slope == pytest.approx(0.02, abs=0.004)
    assert levelled(character, anatomy, level)[1] < 0.003
    flat = captured(tmp_path).clips["walk"]
    assert levelled(*standing_on_ground(captured(tmp_path), flat), flat)[1] < 0.003


@cache
def _long_walk() -> Clip:
    return longer(walk("human"), 3.3, 60.0)


def captured(tmp_path, slope: float = 0.0, sideways: bool = False) -> Character:
    """A human's walk as a .bvh: a skeleton alone, on a floor that may rise. sideways: it walks to the left of its rest
    pose, from anywhere, after one frame of the rest pose."""
    human, anatomy = animal("human")
    clip = moved(human, _long_walk(), lambda t: slope * np.outer(t / t[-1], anatomy.up) * way(human, anatomy), 60.0)
    path = tmp_path / "walk.bvh"
    export(human, clip, path, 60.0)
    capture = load(path)
    made = capture.clips["walk"]
    if not sideways:
        return capture
    skeleton = capture.skeleton
    root = int(np.flatnonzero(skeleton.parents < 0)[0])
    turn = np.array([np.cos(0.7), *(np.sin(0.7) * anatomy.up)])
    tracks = []
    for track in made.tracks:
        values = track.values.copy()
        if track.node == root and track.path == "rotation":
            values = multiplied(turn, values)
        if track.node == root and track.path == "translation":
            values = turned(turn, values) + 5 * anatomy.height * anatomy.left
        values[0] = getattr(skeleton.rest, track.path)[track.node]
        tracks.append(Track(track.node, track.path, track.times, values))
    return replace(capture, clips={"walk": Clip("walk", tuple(tracks))})


def way(character: Character, anatomy: Anatomy) -> float:
    """How far the long walk leads [file units]."""
    track = next(track for track in _long_walk().tracks if track.path == "translation")
    return float((track.values[-1] - track.values[0]) @ anatomy.forward)


def multiplied(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Products of quaternions, wxyz."""
    w, x = a[0] * b[:, :1] - b[:, 1:] @ a[1:, None], a[0] * b[:, 1:] + b[:, :1] * a[1:] + np.cross(a[1:], b[:, 1:])
    return np.concatenate([w, x], 1)


def turned(a: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Points rotated by a unit quaternion."""
    return points + 2 * np.cross(a[1:], np.cross(a[1:], points) + a[0] * points)


def test_a_calibration_pose_is_found_before_a_fast_walk(tmp_path):
    """With few keys a second the body travels far from key to key: that hides no T-pose."""
    capture = captured(tmp_path, sideways=True)
    clip = capture.clips["walk"]
    root = int(np.flatnonzero(capture.skeleton.parents < 0)[0])
    few = []
    for track in clip.tracks:
        values = track.values[::5].copy()
        if track.path == "translation" and track.node == root:
            values[0] = values[1]  # it stands where it sets out
        few.append(replace(track, times=track.times[::5], values=values))
    thin = replace(clip, tracks=tuple(few))
    character, anatomy = standing_on_ground(capture, thin)
    chains, first = find_chains(anatomy), few[0].times[1] - few[0].times[0]
    assert tracks_of_clip(character, chains, thin, 30.0, captured=True).left_out == pytest.approx(first)
    later = tuple(replace(track, times=track.times[1:], values=track.values[1:]) for track in few)
    assert tracks_of_clip(character, chains, replace(clip, tracks=later), 30.0, captured=True).left_out == 0
