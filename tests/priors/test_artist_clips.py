"""Cycles found in clips: of our own gaits, whose truth is known, and of real files."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from assets import asset_files, needs_assets
from character.creatures import dog, fish, human, snake, spider

from gambol import Anatomy, Character, Clip, GambolError, analyze, load, save
from gambol.creatures.gaits.gait import plan_gait
from gambol.creatures.gaits.plan import GaitPlan
from gambol.motion.export import poses_from_world
from gambol.motion.joint_poses import bone_ends, difference, spread
from gambol.motion.stances import find_stances
from gambol.priors.pixels.data.clips import cycles_of, read_library
from gambol.priors.pixels.data.cycle import FRAMES, ActionCycle, poses_in_place

CREATURES = {"dog": dog, "human": human, "spider": spider, "fish": fish, "snake": snake}
PHASES = np.arange(FRAMES) / FRAMES
EARLY = 0.03
"""Cycles: feet of our gaits come down without speed, so they seem to land a little before they do."""


@cache
def analyzed(name: str) -> tuple[Character, Anatomy]:
    character = CREATURES[name]()
    return character, analyze(character)


@cache
def planned(name: str, gait: str) -> GaitPlan:
    return plan_gait(analyzed(name)[1], gait)


def world_of(plan: GaitPlan, cycles: np.ndarray, in_place: bool = True) -> np.ndarray:
    world = plan.world(cycles)
    if in_place:
        world[..., :3, 3] -= (plan.path.stride * cycles)[:, None, None] * plan.anatomy.forward
    return world


def clip_from_world(
    character: Character, plan: GaitPlan, world: np.ndarray, duration: float, start: float = 0.0
) -> Clip:
    clip = Clip.from_poses(
        "clip",
        poses_from_world(character.skeleton, plan.rig.nodes, world),
        character.skeleton,
        (len(world) - 1) / duration,
    )
    return replace(clip, tracks=tuple(replace(track, times=track.times + start) for track in clip.tracks))


def clip_of(name, gait, begin=0.0, strides=1.0, in_place=True, keys=64, start=0.0) -> Clip:
    """A clip that begins anywhere in the stride and lasts for some strides; `keys` of them in each."""
    plan = planned(name, gait)
    cycles = begin + np.arange(round(keys * strides) + 1) / keys
    return clip_from_world(analyzed(name)[0], plan, world_of(plan, cycles, in_place), strides * plan.period, start)


@cache
def truth(name: str, gait: str) -> np.ndarray:
    """Points at 400 phases, on the spot."""
    plan = planned(name, gait)
    return bone_ends(plan.anatomy, world_of(plan, np.arange(400) / 400))


def lateness(name: str, gait: str, cycle: ActionCycle) -> tuple[float, float]:
    """How late the cycle is [cycles], and what then still differs, as a share of the movement."""
    found = bone_ends(analyzed(name)[1], poses_in_place(cycle))
    found, errors = found - found.mean((0, 1)), {}
    for shift in range(-40, 41):
        wanted = np.roll(truth(name, gait), -shift, 0)[::25]
        errors[shift / 400] = difference(found, wanted - wanted.mean((0, 1))) / spread(wanted)
    best = min(errors, key=errors.__getitem__)
    return best, errors[best]


GAITS = [("dog", "walk"), ("dog", "trot"), ("dog", "gallop"), ("human", "walk"), ("human", "run"), ("spider", "walk")]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name, gait", GAITS)
def test_a_gait_is_found_wherever_the_clip_begins(name, gait, seed):
    generator = np.random.default_rng([seed, *gait.encode()])
    character, anatomy = analyzed(name)
    plan = planned(name, gait)
    strides, in_place = int(generator.integers(1, 3)), bool(generator.integers(2))
    clip = clip_of(name, gait, generator.uniform(), strides, in_place, start=generator.uniform())
    action = {"gallop": "run"}.get(gait, gait)
    (cycle,) = cycles_of(character, anatomy, clip, action)
    late, rest = lateness(name, gait, cycle)
    assert -EARLY <= late <= 0.01 and rest < 0.03
    assert cycle.period == pytest.approx(plan.period, rel=1e-6)
    assert np.allclose(cycle.travel, plan.path.stride * anatomy.forward, atol=0.02 * plan.path.stride)
    travelled = cycle.T_world_joint[-1, 0, :3, 3] - poses_in_place(cycle)[-1, 0, :3, 3]
    assert np.allclose(travelled, cycle.travel * 15 / 16)


def test_a_clip_may_end_a_key_early():
    """As exporters do that leave out the frame that equals the first."""
    character, anatomy = analyzed("dog")
    plan = planned("dog", "walk")
    cycles = 0.3 + np.arange(24) / 24
    clip = clip_from_world(character, plan, world_of(plan, cycles), plan.period * 23 / 24)
    (cycle,) = cycles_of(character, anatomy, clip, "walk")
    late, rest = lateness("dog", "walk", cycle)
    assert cycle.period == pytest.approx(plan.period, rel=0.01)
    assert -EARLY - 0.02 <= late <= 0.02 and rest < 0.06


@pytest.mark.parametrize("in_place", [True, False])
def test_strides_are_found_in_a_recording_that_does_not_loop(in_place):
    character, anatomy = analyzed("human")
    plan = planned("human", "walk")
    cycles = cycles_of(character, anatomy, clip_of("human", "walk", 0.35, 2.7, in_place), "walk")
    late, rest = lateness("human", "walk", cycles[0])
    assert -EARLY <= late <= 0.01 and rest < 0.05
    assert cycles[0].period == pytest.approx(plan.period, rel=0.01)
    assert np.allclose(cycles[0].travel, plan.path.stride * anatomy.forward, atol=0.03 * plan.path.stride)


@pytest.mark.parametrize("name", ["dog", "human", "spider"])
def test_a_jump_begins_with_the_landing(name):
    character, anatomy = analyzed(name)
    (cycle,) = cycles_of(character, anatomy, clip_of(name, "jump", 0.4), "jump")
    late, rest = lateness(name, "jump", cycle)
    assert -EARLY <= late <= 0.01 and rest < 0.03


def test_a_turn_goes_on_turning():
    character, anatomy = analyzed("dog")
    plan = planned("dog", "turn left")
    clip = clip_of("dog", "turn left", 0.7, in_place=False)
    (cycle,) = cycles_of(character, anatomy, clip, "turn left")
    ahead = cycle.T_world_joint[:, 0, :3, :3] @ np.linalg.inv(anatomy.body.T_world_node[anatomy.body.nodes[0], :3, :3])
    ahead = ahead @ anatomy.forward
    yaw = np.unwrap(np.arctan2(ahead @ anatomy.left, ahead @ anatomy.forward))
    assert yaw[-1] - yaw[0] == pytest.approx(plan.path.turning * 15 / 16, abs=0.05)
    with pytest.raises(GambolError, match="does not turn right"):
        cycles_of(character, anatomy, clip, "turn right")


@pytest.mark.parametrize("name, gait", GAITS)
def test_stances_are_those_of_the_plan(name, gait):
    anatomy, plan = analyzed(name)[1], planned(name, gait)
    stances = find_stances(anatomy, world_of(plan, np.arange(480) / 480))
    for stance, foot in zip(stances.legs, plan.feet, strict=True):
        assert abs((stance.touchdown - foot.phase + 0.5) % 1.0 - 0.5) < EARLY
        assert stance.duty == pytest.approx(foot.duty, abs=0.06)
    assert stances.passing[0] == pytest.approx(plan.path.stride, rel=0.02)
    assert abs(stances.passing[1]) < 0.01 * plan.path.stride


def test_feet_stand_on_the_ground():
    character, anatomy = analyzed("dog")
    plan = planned("dog", "walk")
    sunk = world_of(plan, np.arange(65) / 64)
    sunk[..., :3, 3] -= 0.3 * anatomy.height * anatomy.up
    (cycle,) = cycles_of(character, anatomy, clip_from_world(character, plan, sunk, plan.period), "walk")
    points = bone_ends(anatomy, cycle.T_world_joint)
    wanted = bone_ends(anatomy, plan.world(PHASES))
    assert (points @ anatomy.up).mean() == pytest.approx((wanted @ anatomy.up).mean(), abs=0.01 * anatomy.height)


def waving(character: Character, anatomy: Anatomy, moments: np.ndarray) -> Clip:
    """The last joint of the body rises by some height at each of even moments, ten in a second."""
    rig = planned("human", "walk").rig
    world = np.repeat(rig.world()[None], len(moments), 0)
    world[:, -1, :3, 3] += moments[:, None] * anatomy.up
    return clip_from_world(character, planned("human", "walk"), world, (len(moments) - 1) / 10)


def test_a_deed_is_trimmed_where_nothing_moves():
    character, anatomy = analyzed("human")
    moments = np.concatenate([np.zeros(20), np.sin(np.linspace(0, 2.0, 16)), np.full(30, np.sin(2.0))]) * 0.5
    (cycle,) = cycles_of(character, anatomy, waving(character, anatomy, moments), "attack")
    heights = cycle.T_world_joint[:, -1, :3, 3] @ anatomy.up
    wanted = 0.5 * np.sin(np.linspace(0, 2.0, FRAMES))
    assert np.allclose(heights - heights[0], wanted, atol=0.03)
    assert cycle.period == pytest.approx(1.5 * 16 / 15, abs=0.2) and not cycle.travel.any()


def test_standing_begins_nearest_to_the_neutral_pose():
    character, anatomy = analyzed("human")
    moments = 0.1 - 0.1 * np.cos(2 * np.pi * (np.arange(41) / 40 - 0.3))
    (cycle,) = cycles_of(character, anatomy, waving(character, anatomy, moments), "stand")
    heights = cycle.T_world_joint[:, -1, :3, 3] @ anatomy.up
    assert heights.argmin() == 0 and cycle.period == pytest.approx(4.0)


def test_long_dances_come_in_parts_that_close():
    character, anatomy = analyzed("human")
    time = np.arange(241) / 10
    moments = 0.3 * np.sin(np.pi * time) * (1 + 0.5 * np.sin(2 * np.pi * time / 24))
    cycles = cycles_of(character, anatomy, waving(character, anatomy, moments), "dance")
    assert len(cycles) > 2 and all(1.4 < cycle.period < 6.1 for cycle in cycles)
    for cycle in cycles:
        heights = cycle.T_world_joint[:, -1, :3, 3] @ anatomy.up
        assert abs(heights[0] - heights[-1]) < 1.5 * np.abs(np.diff(heights)).max()


def test_a_tail_swings_from_the_left_and_beats_are_counted():
    character, anatomy = analyzed("fish")
    body = anatomy.body
    tail = next(j for j in range(len(body)) if character.skeleton.names[body.nodes[j]] == "tail_1")
    angles = 0.5 * np.sin(2 * np.pi * 3 * np.arange(97) / 96 + 1.0)
    node, rest = body.nodes[tail], character.skeleton.rest
    pose = Clip("still", ()).sample(character.skeleton, np.zeros(len(angles)))
    assert np.allclose(rest.rotation[node], [1, 0, 0, 0])
    pose.rotation[:, node] = np.stack([np.cos(angles / 2), 0 * angles, np.sin(angles / 2), 0 * angles], 1)
    (cycle,) = cycles_of(character, anatomy, Clip.from_poses("swim", pose, character.skeleton, 96 / 3), "swim")
    tips = bone_ends(anatomy, cycle.T_world_joint)[:, len(body) + tail] @ anatomy.left
    assert cycle.period == pytest.approx(1.0) and tips.argmax() in (0, 15) and tips.argmin() in (7, 8)


def test_what_does_not_show_the_action_is_refused():
    character, anatomy = analyzed("dog")
    plan = planned("dog", "walk")
    backwards = clip_from_world(character, plan, world_of(plan, -np.arange(65) / 64), plan.period)
    refused = [
        (backwards, "walk", "do not move straight backwards"),
        (clip_of("dog", "pace"), "trot", "a pace rather than a trot"),
        (clip_of("dog", "trot"), "walk", "a trot rather than a walk"),
        (clip_of("dog", "walk"), "jump", "always on the ground"),
        (clip_of("dog", "idle"), "walk", "no foot leaves the ground"),
        (clip_of("dog", "walk", strides=0.6), "walk", "does not repeat"),
        (clip_of("dog", "walk", strides=0.6), "stand", "does not loop"),
        (Clip("pose", clip_of("dog", "walk").tracks[:0]), "walk", "a single pose"),
    ]
    for clip, action, reason in refused:
        with pytest.raises(GambolError, match=reason):
            cycles_of(character, anatomy, clip, action)
    with pytest.raises(GambolError, match="no legs to walk on"):
        cycles_of(*analyzed("snake"), clip_of("dog", "walk"), "walk")
    with pytest.raises(ValueError, match="no action 'sing'"):
        cycles_of(character, anatomy, clip_of("dog", "walk"), "sing")


def test_a_folder_is_gathered_whatever_lies_in_it(tmp_path):
    character, _ = analyzed("dog")
    (tmp_path / "deep").mkdir()
    walk = replace(clip_of("dog", "walk", 0.3), name="Armature|Dog_Walk")
    save(character, tmp_path / "deep" / "dog.glb", walk)
    save(character, tmp_path / "strange.glb", replace(walk, name="Xyzzy"))
    save(character, tmp_path / "still.glb")
    (tmp_path / "broken.glb").write_bytes(b"glTF\x02\x00\x00\x00")
    (tmp_path / "empty.gltf").write_text("{}")
    (tmp_path / "notes.txt").write_text("walk")
    seen = []
    found = read_library(tmp_path, lambda done, total: seen.append((done, total)))
    assert [(p.path.name, p.clip, p.cycle.action) for p in found.cycles] == [("dog.glb", "Armature|Dog_Walk", "walk")]
    assert seen == [(number, 5) for number in range(1, 6)]
    for name, reason in {"broken.glb": "", "empty.gltf": "", "still.glb": "no clips", "strange.glb": "Xyzzy"}.items():
        assert any(line.startswith(name) and reason in line for line in found.skipped)
    assert [path.name for path in found.bodies] == ["dog.glb", "still.glb", "strange.glb"]
    with pytest.raises(GambolError, match="not a folder"):
        read_library(tmp_path / "nowhere")


SEQUENCES = {"Fox.glb": "Walk", "Wolf.glb": "AnimalArmature|Walk", "Alpaca.glb": "AnimalArmature|Walk"}


@needs_assets
@pytest.mark.parametrize("file", SEQUENCES)
def test_real_quadrupeds_walk_in_lateral_sequence(file):
    path = next((path for path in asset_files() if path.name == file), None)
    if path is None:
        pytest.skip(f"no {file}")
    character = load(path)
    anatomy = analyze(character)
    (cycle,) = cycles_of(character, anatomy, character.clips[SEQUENCES[file]], "walk")
    hips = [anatomy.body.heads[leg.chain[0]] @ anatomy.up for leg in anatomy.legs[-2:]]
    assert 0.8 < cycle.travel @ anatomy.forward / (np.mean(hips) - anatomy.ground) < 2.0
    times = np.arange(240) / 240 * cycle.period + character.clips[SEQUENCES[file]].start
    pose = character.clips[SEQUENCES[file]].sample(character.skeleton, times)
    stances = find_stances(anatomy, character.skeleton.world(pose)[:, anatomy.body.nodes])
    first = stances.legs[anatomy.left_hind].touchdown
    phases = [(leg.touchdown - first) % 1.0 for leg in stances.legs]
    assert 0.1 < phases[0] < phases[3] + 0.05 and 0.3 < phases[3] < 0.6 and 0.65 < phases[1] < 0.9
