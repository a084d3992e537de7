"""From clips to what a body is asked to do, and back to clips."""

import dataclasses

import numpy as np
import pytest
import torch
from character.creatures import dog, fish, turned
from performers import cut, on_stage, stage_of, take_of, with_clips

from gambol.character.character import Character
from gambol.character.skeleton import Pose
from gambol.creatures.gaits import gait
from gambol.errors import GambolError
from gambol.motion.draft import Draft
from gambol.motion.motion import Motion, Track
from gambol.physics.take import Physique, Take
from gambol.physics.track import Tracked


def as_asked(take: Take, drift=(0.0, 0.0, 0.0), bend: float = 0.0) -> Tracked:
    """A body that does exactly what it is asked to, but for a drift of all, and a last bone that bends, in a round."""
    reference = take.reference
    again = [*range(len(reference)), 0] if reference.loops else [*range(len(reference))]
    along = torch.linspace(0, 1, len(again))[:, None, None]
    x = reference.x[again] + along * torch.tensor(drift)
    half = 0.5 * bend * along[:, 0]
    turn = torch.cat([torch.cos(half), torch.sin(half), 0 * half, 0 * half], 1)
    q = reference.q[again].clone()
    w, v = turn[:, :1], turn[:, 1:]
    a, b = q[:, -1, :1], q[:, -1, 1:]
    q[:, -1] = torch.cat([w * a - (v * b).sum(1, keepdim=True), w * b + a * v + torch.linalg.cross(v, b)], 1)
    return Tracked(reference, x, q, 0.0, 0.0, torch.zeros(len(reference), 0))


def joints_at(character: Character, motion: Motion, times: np.ndarray) -> np.ndarray:
    world = character.skeleton.world(motion.sample(character.skeleton, times))
    return world[..., :3, 3][:, character.skeleton.is_joint]


def assert_same_motion(physique: Physique, ours: Motion, theirs: Motion, tolerance: float = 1e-3) -> None:
    """At the frames of both, whenever they begin; tolerance in leg lengths."""
    assert ours.duration == pytest.approx(theirs.duration, abs=1e-6)
    times = np.linspace(0, theirs.duration, 1 + round(theirs.duration * physique.fps))
    found, expected = (joints_at(physique.character, each, each.start + times) for each in (ours, theirs))
    np.testing.assert_allclose(found, expected, atol=tolerance * physique.length)


def clip_again(take: Take, tracked: Tracked | None = None, name: str = "again") -> Motion:
    draft = take.performed(tracked or as_asked(take))
    return take.clip(draft, name, draft.rate)


# Rounds


@pytest.mark.parametrize("name", ["dog", "human", "spider"])
def test_rounds_on_the_spot_go_at_the_pace_of_their_feet_and_come_back(name):
    ahead = take_of(name, "walk")
    character = ahead.physique.character
    walk = gait(character, ahead.physique.anatomy, "walk", in_place=True)
    physique = Physique(dataclasses.replace(character, clips={"walk": walk}), ahead.physique.anatomy)
    take = physique.take("walk", mend=False)
    assert take.in_place and not ahead.in_place
    assert not take.raw.travel.norm() > 1e-4 * physique.length
    torch.testing.assert_close(take.mended.travel, ahead.raw.travel, rtol=0.05, atol=0.01 * physique.length)
    torch.testing.assert_close(take.seen.travel, take.mended.travel)
    torch.testing.assert_close(take.reference.ground, ahead.reference.ground, rtol=0.05, atol=0.01)
    found = take.performed(as_asked(take))
    torch.testing.assert_close(found.travel, take.mended.travel, rtol=1e-3, atol=1e-3 * physique.length)
    assert_same_motion(physique, clip_again(take), walk, 0.02)


@pytest.mark.parametrize("action", ["walk", "idle"])
def test_what_goes_or_stands_is_given_back_as_it_was(action):
    physique = stage_of("dog", action)
    take = physique.take(action, mend=False)
    assert take.reference.loops and not take.in_place
    assert_same_motion(physique, clip_again(take), physique.character.clips[action], 0.01)


def test_a_body_that_falls_behind_goes_less_far():
    take = take_of("dog", "walk")
    plain = take.performed(as_asked(take))
    late = take.performed(as_asked(take, drift=(0.0, 0.01, -0.05)))
    lost = torch.as_tensor(take.physique.anatomy.forward).float() * -0.05 * take.physique.ragdoll.unit
    torch.testing.assert_close(late.travel - plain.travel, lost, atol=1e-5, rtol=0)
    assert float(late.travel @ torch.as_tensor(take.physique.anatomy.up).float()) == pytest.approx(0.0, abs=1e-6)


def test_rounds_are_closed():
    """What is off at the end is spread over the whole round: no step is larger at the seam than elsewhere."""
    take = take_of("dog", "walk")
    draft = take.performed(as_asked(take, drift=(0.05, 0.1, 0.05), bend=1.0))
    assert draft.loops and len(draft) == len(take.raw)
    world = draft.repeated(2, take.physique.rig).world(take.physique.rig)
    last_bone = int(take.physique.ragdoll.joints[-1])
    for path in (
        world[:, 0, :, 3] @ torch.as_tensor(take.physique.anatomy.up).float()[:, None],
        world[:, last_bone, :, :3],
    ):
        steps = (path[1:] - path[:-1]).flatten(1).norm(dim=1)
        assert steps[len(draft) - 1] < 1.2 * steps[: len(draft) - 1].max()
    clip = take.clip(draft, "again", draft.rate)
    first, last = joints_at(take.physique.character, clip, np.array([clip.start, clip.end]))
    np.testing.assert_allclose(last - first, (last - first).mean(0)[None].repeat(len(first), 0), atol=1e-5)


@pytest.mark.parametrize("name", ["mixamo.com", "Armature|Take 001"])
def test_clips_that_say_nothing_are_looked_at(name):
    """A walk on the spot is known by its feet, whatever it is called; standing is no walk."""
    physique = stage_of("dog", "walk")
    walk, idle = (gait(physique.character, physique.anatomy, action, in_place=True) for action in ("walk", "idle"))
    clips = {name: dataclasses.replace(walk, name=name), "Scene": dataclasses.replace(idle, name="Scene")}
    physique = Physique(dataclasses.replace(physique.character, clips=clips), physique.anatomy)
    assert physique.take(name, mend=False).in_place
    assert not physique.take("Scene", mend=False).in_place


# What is kept


@pytest.mark.parametrize("seconds", [0.4371, 1.0, 0.01])
def test_what_does_not_loop_keeps_its_length(seconds):
    physique = stage_of("dog", "walk")
    walk = cut(physique.character.clips["walk"], 0.55, "part")
    pace = seconds / walk.duration
    part = Motion("part", tuple(dataclasses.replace(each, times=2.0 + pace * each.times) for each in walk.tracks))
    physique = Physique(with_clips(physique.character, part), physique.anatomy)
    take = physique.take("part", mend=False)
    assert not take.reference.loops and not take.in_place
    assert take.raw.seconds == pytest.approx(seconds) and len(take.raw) == max(round(seconds * physique.fps), 2) + 1
    again = clip_again(take)
    assert again.start == 0.0
    lift = float((take.mended.root_translation - take.raw.root_translation).abs().max())
    assert_same_motion(physique, again, part, 0.001 + lift / physique.length)


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
    character, hat = with_prop(stage_of("dog", "walk").character)
    mesh = character.meshes[0]
    mesh = dataclasses.replace(
        mesh, morph_positions=np.zeros((1, *mesh.positions.shape), np.float32), morph_weights=np.zeros(1)
    )
    walk = character.clips["walk"]
    times = np.linspace(0.0, walk.duration, 5)
    smile = Track(mesh.node, "weights", times, np.linspace(0, 1, 5)[:, None])
    tip = Track(hat, "translation", times, np.outer(np.sin(np.pi * times / walk.duration), [0.0, 0.1, 0.0]))
    both = Motion("walk", (*walk.tracks, smile, tip))
    late = Motion("walk", tuple(dataclasses.replace(each, times=each.times + 3.0) for each in both.tracks))
    physique = on_stage(dataclasses.replace(character, meshes=(mesh,), clips={"walk": late}))
    assert hat not in physique.rig.nodes
    again = clip_again(physique.take("walk", mend=False))
    for track in (smile, tip):
        (found,) = [each for each in again.tracks if (each.node, each.path) == (track.node, track.path)]
        np.testing.assert_allclose(found.times, track.times, atol=1e-6)
        assert (found.values == track.values).all()
    assert_same_motion(physique, again, both, 0.01)


def test_an_armature_that_moves_does_not_move_the_character_twice():
    """The way of a walk is on the node above the skeleton, where it is in many files."""
    character = turned(stage_of("dog", "walk").character, (1.0, 0.0, 0.0, 0.0))
    walk, armature = character.clips["walk"], len(character.skeleton) - 1
    times = np.linspace(0, walk.duration, 65)
    tracks = [Track(each.node, each.path, times, each.sample(times)) for each in walk.tracks]
    (hips,) = (number for number, each in enumerate(tracks) if each.path == "translation")
    shift = np.outer(times / walk.duration, tracks[hips].values[-1] - tracks[hips].values[0])
    tracks[hips] = dataclasses.replace(tracks[hips], values=tracks[hips].values - shift)
    moved = Motion("walk", (*tracks, Track(armature, "translation", times, shift)))
    physique = on_stage(dataclasses.replace(character, clips={"walk": moved}))
    take = physique.take("walk", mend=False)
    assert float(take.raw.travel.norm()) == pytest.approx(float(np.linalg.norm(shift[-1])), rel=1e-4)
    assert_same_motion(physique, clip_again(take), moved, 0.01)


def test_clips_have_the_name_and_the_rate_they_are_given():
    take = take_of("dog", "walk")
    clip = take.clip(take.raw, "a good name", take.raw.rate)
    assert clip.name == "a good name"
    assert clip.duration == pytest.approx(take.motion.duration)
    half = take.raw.resampled(len(take.raw) // 2)
    assert len(take.clip(half, "half", half.rate).tracks[0].times) == len(take.raw) // 2 + 1


def test_frames_a_second():
    """As many as suit the size, or as many as one likes; small animals are quick."""
    physique = stage_of("dog", "walk")
    assert physique.fps == 60 and stage_of("human", "walk").fps == 30
    take = physique.take("walk", fps=20.0, mend=False)
    assert len(take.raw) == round(20 * take.motion.duration)
    assert take.reference.fps == pytest.approx(len(take.raw) / take.motion.duration)


def test_only_points_near_the_ground_are_simulated():
    take = take_of("human", "walk")
    near = take.physique.near_ground(take.reference)
    ragdoll = take.physique.ragdoll
    assert 0 < near.sum() < len(near)
    feet = {bone for bone, name in enumerate(ragdoll.names) if name.startswith("foot")}
    assert feet <= set(ragdoll.point_bones[near].tolist())
    assert not {ragdoll.names.index("head")} & set(ragdoll.point_bones[near].tolist())


# Feet


def skated(motion: Motion, node: int, way: np.ndarray) -> Motion:
    """A clip that goes farther than its feet do: so they slide."""
    tracks = []
    for each in motion.tracks:
        if (each.node, each.path) == (node, "translation"):
            times = np.linspace(motion.start, motion.end, 65)
            values = each.sample(times) + np.linspace(0, 1, 65)[:, None] * way
            each = Track(node, "translation", times, values)
        tracks.append(each)
    return Motion(motion.name, tuple(tracks))


def test_feet_that_skate_are_mended():
    physique = stage_of("human", "walk")
    way = 0.3 * physique.length * physique.anatomy.forward
    dirty = skated(physique.character.clips["walk"], physique.character.skeleton.names.index("hips"), way)
    physique = Physique(with_clips(physique.character, dirty), physique.anatomy)
    told = []
    left, mended = (
        physique.take("walk", mend=mend, on_progress=lambda *each: told.append(each)) for mend in (False, True)
    )
    assert told and told[-1][0] == told[-1][1]

    def slide(draft: Draft) -> float:
        points = mended.loads.points(draft.world(physique.rig))
        weights = mended.loads.weights
        weights = weights[:: len(weights) // len(draft)]
        ahead = torch.cat([points[1:], points[:1] + draft.travel])
        speed = (ahead - points)[..., [0, 2]].norm(dim=-1) * draft.rate / physique.length
        return float((weights * speed).sum() / weights.sum())

    assert slide(left.mended) > 0.1
    assert slide(mended.mended) < 0.3 * slide(left.mended)


@pytest.mark.parametrize("height", [0.1, -0.3])
def test_what_hovers_or_sinks_is_set_on_the_ground(height):
    """Clips are made at some height above or below the ground, and meant to be on it."""
    physique = stage_of("dog", "walk")
    walk = raised(physique.character.clips["walk"], 0, height * physique.anatomy.height)
    physique = Physique(with_clips(physique.character, walk), physique.anatomy)
    take = physique.take("walk", mend=False)
    torch.testing.assert_close(take.reference.x, take_of("dog", "walk").reference.x, atol=1e-3, rtol=0)


def raised(motion: Motion, node: int, height: float) -> Motion:
    tracks = [
        dataclasses.replace(each, values=each.values + _value_only(each, height))
        if (each.node, each.path) == (node, "translation")
        else each
        for each in motion.tracks
    ]
    assert any(changed is not each for changed, each in zip(tracks, motion.tracks, strict=True))
    return Motion(motion.name, tuple(tracks))


def _value_only(track: Track, height: float) -> np.ndarray:
    """Tangents of splines stay as they are."""
    shift = np.array([0.0, height, 0.0])
    return np.stack([0 * shift, shift, 0 * shift]) if track.interpolation == "CUBICSPLINE" else shift


# Mistakes


def refused(character: Character, name: str) -> str:
    with pytest.raises(GambolError) as error:
        on_stage(character).take(name, mend=False)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_unknown_clips_list_those_there_are():
    both = with_clips(dog(), Motion("walk", ()), Motion("trot", ()))
    assert refused(both, "hop") == "'dog' has no clip 'hop'. Available: walk, trot"
    assert refused(dog(), "hop") == "'dog' has no clip 'hop'. It has none"


@pytest.mark.parametrize("tracks", [(), (Track(0, "translation", np.array([0.5]), np.zeros((1, 3))),)])
def test_a_single_pose_is_no_motion(tracks):
    assert "'pose' is a single pose: there is no motion" in refused(with_clips(dog(), Motion("pose", tracks)), "pose")


def test_clips_that_are_too_long():
    walk = stage_of("dog", "walk").character.clips["walk"]
    slow = Motion("sleep", tuple(dataclasses.replace(each, times=100 * each.times) for each in walk.tracks))
    assert "lasts 63.3 s; up to 30 s can be tracked" in refused(with_clips(dog(), slow), "sleep")


def test_clips_above_the_ground():
    character = stage_of("dog", "walk").character
    up = Motion("Scene", raised(character.clips["walk"], 0, 3.0).tracks)
    told = refused(with_clips(character, up), "Scene")
    assert "'Scene' has no contact with the ground, it stays 30" in told
    assert "track clips that stand or go" in told


@pytest.mark.parametrize(("name", "action"), [("swim", "swim"), ("Armature|Fly_Loop", "fly")])
def test_clips_of_swimmers_and_fliers(name, action):
    wag = Motion(
        name, (Track(0, "translation", np.array([0.0, 0.5, 1.0]), np.array([[0, 0, 0], [0, 0.1, 0], [0, 0, 0.0]])),)
    )
    told = refused(with_clips(fish(), wag), name)
    assert f"'{name}' has no contact with the ground, it is a clip of '{action}'" in told
