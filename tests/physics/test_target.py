"""From clips to what a body is asked to do, and back to clips."""

import dataclasses

import numpy as np
import pytest
import torch
from bodies import body_of, body_with, cut, target_of, with_clips
from character.creatures import dog, fish, turned

from gambol.character.character import Character
from gambol.character.clip import Clip, Track
from gambol.character.skeleton import Pose
from gambol.creatures.gaits import gait
from gambol.errors import GambolError
from gambol.motion.rig_motion import RigMotion
from gambol.physics.target import PhysicalCharacter, TrackingTarget
from gambol.physics.tracking import TrackedReference


def as_asked(target: TrackingTarget, drift=(0.0, 0.0, 0.0), bend: float = 0.0) -> TrackedReference:
    """A body that does exactly what it is asked to, but for a drift of all, and a last bone that bends, in a round."""
    reference = target.reference
    again = [*range(len(reference)), 0] if reference.loops else [*range(len(reference))]
    along = torch.linspace(0, 1, len(again))[:, None, None]
    x = reference.x[again] + along * torch.tensor(drift)
    half = 0.5 * bend * along[:, 0]
    turn = torch.cat([torch.cos(half), torch.sin(half), 0 * half, 0 * half], 1)
    q = reference.q[again].clone()
    w, v = turn[:, :1], turn[:, 1:]
    a, b = q[:, -1, :1], q[:, -1, 1:]
    q[:, -1] = torch.cat([w * a - (v * b).sum(1, keepdim=True), w * b + a * v + torch.linalg.cross(v, b)], 1)
    return TrackedReference(reference, x, q, 0.0, 0.0, torch.zeros(len(reference), 0))


def joints_at(character: Character, clip: Clip, times: np.ndarray) -> np.ndarray:
    world = character.skeleton.world(clip.sample(character.skeleton, times))
    return world[..., :3, 3][:, character.skeleton.is_joint]


def assert_same_clip(body: PhysicalCharacter, ours: Clip, theirs: Clip, tolerance: float = 1e-3) -> None:
    """At the frames of both, whenever they begin; tolerance in leg lengths."""
    assert ours.duration == pytest.approx(theirs.duration, abs=1e-6)
    times = np.linspace(0, theirs.duration, 1 + round(theirs.duration * body.fps))
    found, expected = (joints_at(body.character, each, each.start + times) for each in (ours, theirs))
    np.testing.assert_allclose(found, expected, atol=tolerance * body.length)


def clip_again(target: TrackingTarget, tracked: TrackedReference | None = None, name: str = "again") -> Clip:
    rig_motion = target.result(tracked or as_asked(target))
    return target.as_clip(rig_motion, name, rig_motion.fps)


# Rounds


@pytest.mark.parametrize("name", ["dog", "human", "spider"])
def test_rounds_on_the_spot_go_at_the_pace_of_their_feet_and_come_back(name):
    ahead = target_of(name, "walk")
    character = ahead.body.character
    walk = gait(character, ahead.body.anatomy, "walk", in_place=True)
    body = PhysicalCharacter(dataclasses.replace(character, clips={"walk": walk}), ahead.body.anatomy)
    target = body.target("walk", fix_feet=False)
    assert target.locked_clip.in_place and not ahead.locked_clip.in_place
    assert not target.locked_clip.raw.travel.norm() > 1e-4 * body.length
    torch.testing.assert_close(
        target.locked_clip.locked.travel, ahead.locked_clip.raw.travel, rtol=0.05, atol=0.01 * body.length
    )
    torch.testing.assert_close(target.reference.ground, ahead.reference.ground, rtol=0.05, atol=0.01)
    found = target.result(as_asked(target))
    torch.testing.assert_close(found.travel, target.locked_clip.locked.travel, rtol=1e-3, atol=1e-3 * body.length)
    assert_same_clip(body, clip_again(target), walk, 0.02)


@pytest.mark.parametrize("action", ["walk", "idle"])
def test_what_goes_or_stands_is_given_back_as_it_was(action):
    body = body_of("dog", action)
    target = body.target(action, fix_feet=False)
    assert target.reference.loops and not target.locked_clip.in_place
    assert_same_clip(body, clip_again(target), body.character.clips[action], 0.01)


def test_a_body_that_falls_behind_goes_less_far():
    target = target_of("dog", "walk")
    plain = target.result(as_asked(target))
    late = target.result(as_asked(target, drift=(0.0, 0.01, -0.05)))
    lost = torch.as_tensor(target.body.anatomy.forward).float() * -0.05 * target.body.ragdoll.unit
    torch.testing.assert_close(late.travel - plain.travel, lost, atol=1e-5, rtol=0)
    assert float(late.travel @ torch.as_tensor(target.body.anatomy.up).float()) == pytest.approx(0.0, abs=1e-6)


def test_rounds_are_closed():
    """What is off at the end is spread over the whole round: no step is larger at the seam than elsewhere."""
    target = target_of("dog", "walk")
    rig_motion = target.result(as_asked(target, drift=(0.05, 0.1, 0.05), bend=1.0))
    assert rig_motion.loops and len(rig_motion) == len(target.locked_clip.raw)
    world = rig_motion.repeated(2, target.body.rig).world(target.body.rig)
    last_bone = int(target.body.ragdoll.joints[-1])
    for path in (
        world[:, 0, :, 3] @ torch.as_tensor(target.body.anatomy.up).float()[:, None],
        world[:, last_bone, :, :3],
    ):
        steps = (path[1:] - path[:-1]).flatten(1).norm(dim=1)
        assert steps[len(rig_motion) - 1] < 1.2 * steps[: len(rig_motion) - 1].max()
    clip = target.as_clip(rig_motion, "again", rig_motion.fps)
    first, last = joints_at(target.body.character, clip, np.array([clip.start, clip.end]))
    np.testing.assert_allclose(last - first, (last - first).mean(0)[None].repeat(len(first), 0), atol=1e-5)


def test_clips_that_say_nothing_are_looked_at():
    """A walk on the spot is known by its feet, whatever it is called; standing is no walk."""
    body = body_of("dog", "walk")
    walk, idle = (gait(body.character, body.anatomy, action, in_place=True) for action in ("walk", "idle"))
    clips = {"mixamo.com": walk, "Armature|Take 001": walk, "Scene": idle}
    clips = {name: dataclasses.replace(clip, name=name) for name, clip in clips.items()}
    body = PhysicalCharacter(dataclasses.replace(body.character, clips=clips), body.anatomy)
    in_place = {name: body.target(name, fix_feet=False).locked_clip.in_place for name in clips}
    assert in_place == {"mixamo.com": True, "Armature|Take 001": True, "Scene": False}


# What is kept


@pytest.mark.parametrize("seconds", [0.4371, 1.0, 0.01])
def test_what_does_not_loop_keeps_its_length(seconds):
    body = body_of("dog", "walk")
    walk = cut(body.character.clips["walk"], 0.55, "part")
    pace = seconds / walk.duration
    part = Clip("part", tuple(dataclasses.replace(each, times=2.0 + pace * each.times) for each in walk.tracks))
    body = PhysicalCharacter(with_clips(body.character, part), body.anatomy)
    target = body.target("part", fix_feet=False)
    assert not target.reference.loops and not target.locked_clip.in_place
    assert (
        target.locked_clip.raw.seconds == pytest.approx(seconds)
        and len(target.locked_clip.raw) == max(round(seconds * body.fps), 2) + 1
    )
    again = clip_again(target)
    assert again.start == 0.0
    lift = float((target.locked_clip.locked.root_translation - target.locked_clip.raw.root_translation).abs().max())
    assert_same_clip(body, again, part, 0.001 + lift / body.length)


def with_prop(character: Character) -> tuple[Character, int]:
    """One more node, which no skin hangs on, on the head."""
    skeleton, count = character.skeleton, len(character.skeleton)
    rest = skeleton.rest
    pose = Pose(*(np.concatenate([part, part[:1]]) for part in (rest.translation, rest.rotation, rest.scale)))
    longer = dataclasses.replace(
        skeleton,
        names=(*skeleton.names, "hat"),
        parents=np.append(skeleton.parents, skeleton.names.index("head")),
        rest=pose,
        is_joint=np.append(skeleton.is_joint, False),
    )
    return dataclasses.replace(character, skeleton=longer), count


def test_tracks_of_other_things_are_kept():
    """Of a hat, and of morph targets; they begin with the clip, also if that does not begin at 0."""
    character, hat = with_prop(body_of("dog", "walk").character)
    mesh = character.meshes[0]
    mesh = dataclasses.replace(
        mesh, morph_positions=np.zeros((1, *mesh.positions.shape), np.float32), morph_weights=np.zeros(1)
    )
    walk = character.clips["walk"]
    times = np.linspace(0.0, walk.duration, 5)
    smile = Track(mesh.node, "weights", times, np.linspace(0, 1, 5)[:, None])
    tip = Track(hat, "translation", times, np.outer(np.sin(np.pi * times / walk.duration), [0.0, 0.1, 0.0]))
    both = Clip("walk", (*walk.tracks, smile, tip))
    late = Clip("walk", tuple(dataclasses.replace(each, times=each.times + 3.0) for each in both.tracks))
    body = body_with(dataclasses.replace(character, meshes=(mesh,), clips={"walk": late}))
    assert hat not in body.rig.nodes
    again = clip_again(body.target("walk", fix_feet=False))
    for track in (smile, tip):
        (found,) = [each for each in again.tracks if (each.node, each.path) == (track.node, track.path)]
        np.testing.assert_allclose(found.times, track.times, atol=1e-6)
        assert (found.values == track.values).all()
    assert_same_clip(body, again, both, 0.01)


def test_an_armature_that_moves_does_not_move_the_character_twice():
    """The way of a walk is on the node above the skeleton, where it is in many files."""
    character = turned(body_of("dog", "walk").character, (1.0, 0.0, 0.0, 0.0))
    walk, armature = character.clips["walk"], len(character.skeleton) - 1
    times = np.linspace(0, walk.duration, 65)
    tracks = [Track(each.node, each.path, times, each.sample(times)) for each in walk.tracks]
    (hips,) = (number for number, each in enumerate(tracks) if each.path == "translation")
    shift = np.outer(times / walk.duration, tracks[hips].values[-1] - tracks[hips].values[0])
    tracks[hips] = dataclasses.replace(tracks[hips], values=tracks[hips].values - shift)
    moved = Clip("walk", (*tracks, Track(armature, "translation", times, shift)))
    body = body_with(dataclasses.replace(character, clips={"walk": moved}))
    target = body.target("walk", fix_feet=False)
    assert float(target.locked_clip.raw.travel.norm()) == pytest.approx(float(np.linalg.norm(shift[-1])), rel=1e-4)
    assert_same_clip(body, clip_again(target), moved, 0.01)


def test_clips_have_the_name_and_the_rate_they_are_given():
    target = target_of("dog", "walk")
    clip = target.as_clip(target.locked_clip.raw, "a good name", target.locked_clip.raw.fps)
    assert clip.name == "a good name"
    assert clip.duration == pytest.approx(target.locked_clip.clip.duration)
    half = target.locked_clip.raw.resampled(len(target.locked_clip.raw) // 2)
    assert len(target.as_clip(half, "half", half.fps).tracks[0].times) == len(target.locked_clip.raw) // 2 + 1


def test_frames_a_second():
    """As many as suit the size, or as many as one likes; small animals are quick."""
    body = body_of("dog", "walk")
    assert body.fps == 60 and body_of("human", "walk").fps == 30
    target = body.target("walk", fps=20.0, fix_feet=False)
    assert len(target.locked_clip.raw) == round(20 * target.locked_clip.clip.duration)
    assert target.reference.fps == pytest.approx(len(target.locked_clip.raw) / target.locked_clip.clip.duration)


def test_only_points_near_the_ground_are_simulated():
    target = target_of("human", "walk")
    near = target.body.near_ground(target.reference)
    ragdoll = target.body.ragdoll
    assert 0 < near.sum() < len(near)
    feet = {bone for bone, name in enumerate(ragdoll.names) if name.startswith("foot")}
    assert feet <= set(ragdoll.point_bones[near].tolist())
    assert not {ragdoll.names.index("head")} & set(ragdoll.point_bones[near].tolist())


# Feet


def skated(clip: Clip, node: int, way: np.ndarray) -> Clip:
    """A clip that goes farther than its feet do: so they slide."""
    tracks = []
    for each in clip.tracks:
        if (each.node, each.path) == (node, "translation"):
            times = np.linspace(clip.start, clip.end, 65)
            values = each.sample(times) + np.linspace(0, 1, 65)[:, None] * way
            each = Track(node, "translation", times, values)
        tracks.append(each)
    return Clip(clip.name, tuple(tracks))


def test_feet_that_skate_are_locked():
    body = body_of("human", "walk")
    way = 0.3 * body.length * body.anatomy.forward
    dirty = skated(body.character.clips["walk"], body.character.skeleton.names.index("hips"), way)
    body = PhysicalCharacter(with_clips(body.character, dirty), body.anatomy)
    told = []
    left, locked = (
        body.target("walk", fix_feet=fix, on_progress=lambda *each: told.append(each)) for fix in (False, True)
    )
    assert told and told[-1][0] == told[-1][1]

    def slide(rig_motion: RigMotion) -> float:
        points = locked.locked_clip.loads.points(rig_motion.world(body.rig))
        weights = locked.locked_clip.loads.weights
        weights = weights[:: len(weights) // len(rig_motion)]
        ahead = torch.cat([points[1:], points[:1] + rig_motion.travel])
        speed = (ahead - points)[..., [0, 2]].norm(dim=-1) * rig_motion.fps / body.length
        return float((weights * speed).sum() / weights.sum())

    assert slide(left.locked_clip.locked) > 0.1
    assert slide(locked.locked_clip.locked) < 0.3 * slide(left.locked_clip.locked)


@pytest.mark.parametrize("height", [0.1, -0.3])
def test_what_hovers_or_sinks_is_set_on_the_ground(height):
    """Clips are made at some height above or below the ground, and meant to be on it."""
    body = body_of("dog", "walk")
    walk = raised(body.character.clips["walk"], 0, height * body.anatomy.height)
    body = PhysicalCharacter(with_clips(body.character, walk), body.anatomy)
    target = body.target("walk", fix_feet=False)
    torch.testing.assert_close(target.reference.x, target_of("dog", "walk").reference.x, atol=1e-3, rtol=0)


def raised(clip: Clip, node: int, height: float) -> Clip:
    tracks = [
        dataclasses.replace(each, values=each.values + _value_only(each, height))
        if (each.node, each.path) == (node, "translation")
        else each
        for each in clip.tracks
    ]
    assert any(changed is not each for changed, each in zip(tracks, clip.tracks, strict=True))
    return Clip(clip.name, tuple(tracks))


def _value_only(track: Track, height: float) -> np.ndarray:
    """Tangents of splines stay as they are."""
    shift = np.array([0.0, height, 0.0])
    return np.stack([0 * shift, shift, 0 * shift]) if track.interpolation == "CUBICSPLINE" else shift


# Mistakes


def refused(character: Character, name: str) -> str:
    with pytest.raises(GambolError) as error:
        body_with(character).target(name, fix_feet=False)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_unknown_clips_list_those_there_are():
    both = with_clips(dog(), Clip("walk", ()), Clip("trot", ()))
    assert refused(both, "hop") == "'dog' has no clip 'hop'. Available: walk, trot"
    assert refused(dog(), "hop") == "'dog' has no clip 'hop'. It has none"


@pytest.mark.parametrize("tracks", [(), (Track(0, "translation", np.array([0.5]), np.zeros((1, 3))),)])
def test_a_single_pose_is_no_motion(tracks):
    assert "'pose' is a single pose: there is no motion" in refused(with_clips(dog(), Clip("pose", tracks)), "pose")


def test_clips_that_are_too_long():
    walk = body_of("dog", "walk").character.clips["walk"]
    slow = Clip("sleep", tuple(dataclasses.replace(each, times=100 * each.times) for each in walk.tracks))
    assert "lasts 63.3 s; up to 30 s can be tracked" in refused(with_clips(dog(), slow), "sleep")


def test_clips_above_the_ground():
    character = body_of("dog", "walk").character
    up = Clip("Scene", raised(character.clips["walk"], 0, 3.0).tracks)
    told = refused(with_clips(character, up), "Scene")
    assert "'Scene' has no contact with the ground, it stays 30" in told
    assert "use a clip that stands or moves on the ground" in told


@pytest.mark.parametrize(("name", "action"), [("swim", "swim"), ("Armature|Fly_Loop", "fly")])
def test_clips_of_swimmers_and_fliers(name, action):
    wag = Clip(
        name, (Track(0, "translation", np.array([0.0, 0.5, 1.0]), np.array([[0, 0, 0], [0, 0.1, 0], [0, 0, 0.0]])),)
    )
    told = refused(with_clips(fish(), wag), name)
    assert f"'{name}' has no contact with the ground, it is a clip of '{action}'" in told
