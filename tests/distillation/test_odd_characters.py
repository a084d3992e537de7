"""Odd characters and odd wishes: they work, or one sentence says why not."""

import dataclasses

import numpy as np
import pytest
import torch
from character.creatures import dog, fish, human, snake, turned, without_names
from distillation.fitting import fit_videos
from distillation.odd_characters import (
    WaggingPrior,
    backwards,
    centipede,
    joints_alone,
    long_chain,
    many_vertices,
    mesh_alone,
    on_its_back,
    one_joint,
    one_joint_and_no_mesh,
    rigid_parts,
    scaled,
    together,
    upside_down,
    with_scale,
)

from gambol.character.anatomy import analyze
from gambol.character.rig import build_rig
from gambol.creatures.gaits import gait
from gambol.distillation.animate import prepare
from gambol.distillation.config import AnimateConfig
from gambol.distillation.fit import VideoFitConfig
from gambol.distillation.sample_and_fit import SampleConfig
from gambol.distillation.stage_runner import StageRunner
from gambol.distillation.stages import stages_of
from gambol.distillation.timing import seconds_for, timing_for
from gambol.errors import GambolError
from gambol.formats import load, save
from gambol.motion.foot_lock import FootLockConfig
from gambol.motion.rig_motion import RigMotion
from gambol.priors.pixels.figure import draw_stick_figure
from gambol.priors.pixels.views import StickViews
from gambol.quality.report import report


def settings(steps=3, foot_lock=4, **wishes):
    sample, fit = SampleConfig(views=1, steps=1, guidance=1.0), VideoFitConfig(steps=steps, views=1)
    return AnimateConfig(
        sample=sample, fit=fit, foot_lock=FootLockConfig(steps=foot_lock) if foot_lock else None, **wishes
    )


def problem_of(character, prompt="it walks", anatomy=None, **wishes):
    return prepare(character, prompt, WaggingPrior(character, anatomy), settings(**wishes), anatomy)


def finished_runner(problem):
    runner = StageRunner(stages_of(problem), problem.start)
    while not runner.over:
        if runner.done == 0:
            runner.before = runner.rig_motion()  # the motion with which the last stage begins
        assert not runner.step().trouble
    return runner


def reported(problem, rig_motion):
    """The report on a clip, without the prior."""
    return report(
        problem.character, problem.clip(rig_motion, problem.title), problem.anatomy, prompt=problem.prompt.text
    )


@pytest.fixture(scope="module")
def hound():
    return dog()


@pytest.mark.parametrize(
    "make, prompt, shortest, longest",
    [
        (joints_alone, "it walks", 0.4, 0.8),
        (lambda: rigid_parts(dog()), "it walks", 0.4, 0.8),
        (snake, "a snake walks", 0.6, 1.5),
        (snake, "a snake swims", 0.9, 2.2),
        (snake, "a snake crawls", 0.6, 1.5),
        (snake, "a snake attacks", 0.6, 1.5),
        (fish, "a fish swims", 0.6, 1.8),
        (fish, "a fish walks", 0.4, 1.2),
        (one_joint, "it hops", 0.5, 1.2),
        (lambda: long_chain(150), "it crawls", 0.8, 2.0),
        (lambda: centipede(25), "it walks", 0.2, 0.8),
        (lambda: many_vertices(dog(), 20_000), "it walks", 0.4, 0.8),
        (lambda: scaled(human(), 0.001), "it runs", 0.3, 1.0),
        (lambda: scaled(human(), 1000.0), "it runs", 0.3, 1.0),
        (lambda: turned(human(), (1, 0, 0, 0), 1e-6), "it jumps", 0.3, 1.5),
        (lambda: together(dog(), human(), 1.5), "they walk", 0.4, 1.2),
        (lambda: with_scale(dog(), 0.0, "tail.1", "ear.L"), "it walks", 0.4, 0.8),
        (lambda: with_scale(dog(), 0.0, "thigh.L"), "it walks", 0.4, 1.2),
    ],
)
def test_odd_characters_move_at_a_pace_that_suits_them(make, prompt, shortest, longest, tmp_path):
    save(make(), tmp_path / "in.glb")
    character = load(tmp_path / "in.glb")
    problem = problem_of(character, prompt)
    runner = finished_runner(problem)
    name = save(character, tmp_path / "out.glb", problem.clip(runner.rig_motion(), problem.title))
    clip = load(tmp_path / "out.glb").clips[name]
    poses = clip.sample(character.skeleton, np.linspace(clip.start, clip.end, 9))
    places = character.skeleton.world(poses)[:, problem.rig.nodes][..., :3, 3] / problem.renderer.length
    assert np.isfinite(places).all()
    assert max(np.ptp(places, axis=0).max(), np.ptp(poses.rotation, axis=0).max()) > 1e-2
    assert shortest <= clip.duration <= longest
    found = reported(problem, runner.rig_motion())
    assert found.summary.startswith(("good", "plausible", "doubtful"))
    numbers = [value for value in found.values.values() if value is not None]
    assert np.isfinite(numbers).all() and found.values["motion_amount"] > 0.01


@pytest.mark.parametrize(
    "make, prompt, message",
    [
        (mesh_alone, "it walks", "'statue' has no joints to move; give it a skeleton with `gambol rig"),
        (one_joint_and_no_mesh, "it walks", "'point' is a single point, a joint without bones or skin"),
        (lambda: with_scale(dog(), 0.0, "hips"), "it walks", "'dog' has no joint that could turn: all are scaled"),
        (dog, "  ", "the sentence is empty"),
        (dog, "a blue dog", "no action was recognised in 'a blue dog'"),
    ],
)
def test_what_cannot_move_is_refused_in_one_sentence(make, prompt, message, hound):
    with pytest.raises(GambolError, match=message):
        prepare(make(), prompt, WaggingPrior(hound), settings())


@pytest.mark.parametrize(
    "make, prompt, warning",
    [
        (dog, "it walks", None),
        (snake, "it crawls", None),
        (lambda: dataclasses.replace(dog(), meshes=()), "it walks", None),
        (snake, "it walks", "no legs were found on 'snake', so it can walk with the rest of its body only"),
        (lambda: without_names(on_its_back(human())), "it kicks", "say how it stands with --up and --forward"),
        (
            lambda: together(dog(), human(), 1.5),
            "it eats",
            "has 2 skeletons ('hips', 'hips too'), which are moved as one body",
        ),
        (lambda: long_chain(40), "it walks", "no legs were found on 'worm'"),
    ],
)
def test_what_is_doubtful_is_said_before_the_work(make, prompt, warning):
    character = make()
    problem = problem_of(character, prompt)
    if warning is None:
        assert problem.warnings == ()
    else:
        (said,) = problem.warnings
        assert warning in said


def test_nothing_without_legs_is_called_a_good_walk(hound):
    problem = problem_of(snake(), "it walks")
    assert reported(problem, problem.start).broken_rule == "there are no legs to walk with"
    problem = problem_of(snake(), "it crawls")
    assert not reported(problem, problem.start).broken_rule


def test_a_character_that_lies_stands_up_if_told_how():
    lying = without_names(on_its_back(human()))
    assert not analyze(lying).legs
    anatomy = analyze(lying, "-z", "+y")
    problem = problem_of(lying, "it walks", anatomy)
    assert problem.warnings == ()
    upright = finished_runner(problem_of(without_names(human())))
    assert torch.allclose(finished_runner(problem).rig_motion().angles, upright.rig_motion().angles, atol=2e-2)


@pytest.fixture(scope="module")
def usual(hound):
    problem = problem_of(hound, steps=6, foot_lock=10)
    return problem, finished_runner(problem)


@pytest.mark.parametrize(
    "change, tolerance",
    [
        (lambda character: scaled(character, 128.0), 0.0),
        (lambda character: scaled(character, 2.0**-10), 0.0),
        (lambda character: scaled(character, 100.0), 1e-3),
        (lambda character: turned(character, (1, 0, 0, 0), 1000.0), 1e-3),
        (upside_down, 1e-5),
        (backwards, 1e-5),
        (on_its_back, 1e-3),
    ],
)
def test_size_and_axes_of_the_file_do_not_matter(change, tolerance, hound, usual):
    """Powers of two change no digit, so nothing in the whole work depends on the unit; others are rounded."""
    problem = problem_of(change(hound), steps=6, foot_lock=10)
    before, now = usual[1].rig_motion(), finished_runner(problem).rig_motion()
    assert len(now) == len(before) and now.seconds == before.seconds
    assert float((now.angles - before.angles).abs().max()) <= tolerance
    ways = [
        float(rig_motion.travel.double().numpy() @ each.anatomy.forward) / each.renderer.length
        for each, rig_motion in ((usual[0], before), (problem, now))
    ]
    assert ways[0] == pytest.approx(ways[1], abs=max(tolerance, 1e-6))


@pytest.mark.parametrize("make", [snake, lambda: long_chain(60)])
def test_long_bodies_are_not_thrown_about_by_a_fit(make):
    """A wave along the body is found, and the first steps do not lead far from where it began."""
    character = make()
    anatomy = analyze(character)
    rig = build_rig(anatomy)
    renderer = StickViews(draw_stick_figure(anatomy), 2, 60)
    joints = torch.arange(len(rig.nodes)) / len(rig.nodes)
    wave = 3.0 / len(rig.nodes) * torch.sin(2 * torch.pi * (torch.arange(16)[:, None] / 16 + 2 * joints))
    still = RigMotion.at_rest(len(rig.nodes), 16, 1.0, True)
    true = dataclasses.replace(still, angles=wave[..., None] * torch.tensor([0.0, 1.0, 0.0])).world(rig)
    _, poses, losses = fit_videos(anatomy, renderer, renderer.render(true), config=VideoFitConfig(steps=40, views=2))
    rest, found = (
        np.linalg.norm(T - true[..., 3].numpy(), axis=-1).mean() for T in (rig.world()[:, :3, 3], poses[..., :3, 3])
    )
    assert found < 0.6 * rest
    assert max(losses) < 3 * losses[0]


def test_times_grow_with_the_root_of_the_size(hound):
    near, far = (problem_of(character, foot_lock=0, fps=240.0) for character in (hound, scaled(hound, 4.0)))
    assert far.start.seconds == pytest.approx(2 * near.start.seconds, abs=1 / 120)
    runners = [finished_runner(problem) for problem in (near, far)]
    assert torch.equal(runners[0].rig_motion().angles, runners[1].rig_motion().angles)
    speeds = [
        problem.whole(runner.rig_motion()).displacement.norm() / problem.seconds
        for problem, runner in zip((near, far), runners, strict=True)
    ]
    assert speeds[1] / speeds[0] == pytest.approx(2, rel=0.02)
    for action in ("walk", "crawl", "swim", "stand"):
        slow, quick = (seconds_for(analyze(scaled(snake(), size)), action) for size in (4.0, 1.0))
        assert slow == pytest.approx(2 * quick)


@pytest.mark.parametrize(
    "asked, loops, cyclic, found",
    [
        (None, False, False, (0.8, False, 1, 0.0)),
        (1.5, False, False, (1.5, False, 1, 0.0)),
        (5.0, False, False, (0.8, False, 1, 4.2)),
        (0.2, False, False, (0.2, False, 1, 0.0)),
        (5.0, True, False, (5 / 6, True, 6, 0.0)),
        (1.1, True, True, (1.1, True, 1, 0.0)),
        (5.0, True, True, (5 / 6, True, 6, 0.0)),
        (1.5, False, True, (1.5, False, 1, 0.0)),
        (5.0, False, True, (5 / 6, True, 6, 0.0)),
    ],
)
def test_deeds_keep_their_pace_and_rounds_are_repeated(asked, loops, cyclic, found):
    timing = timing_for(0.8, asked, 30.0, loops=loops, cyclic=cyclic)
    assert (timing.seconds, timing.loops, timing.cycles, timing.hold) == pytest.approx(found)
    assert timing.cycles * timing.seconds + timing.hold == pytest.approx(asked or 0.8)
    odd = asked is not None and not loops and not 0.4 <= asked <= 1.6
    assert bool(timing.note) == odd


@pytest.mark.parametrize("fps", [1.0, 7.0, 240.0])
def test_any_length_at_any_rate_has_whole_frames(fps):
    for asked in (0.1, 0.77, 2.0, 600.0):
        for loops in (False, True):
            timing = timing_for(0.3, asked, fps, loops=loops, cyclic=loops)
            frames = (timing.cycles * timing.seconds + timing.hold) * fps
            assert frames == pytest.approx(max(round(asked * fps), 2))
            assert timing.seconds > 0 and timing.hold >= 0


def test_a_long_action_ends_and_is_held(hound):
    problem = problem_of(hound, "it attacks", seconds=4.0)
    seconds = seconds_for(problem.anatomy, "attack")
    assert any("the last pose is held for 3.20 s" in warning for warning in problem.warnings)
    runner = finished_runner(problem)
    clip = problem.clip(runner.rig_motion(), "attack")
    assert clip.duration == pytest.approx(4.0) == problem.seconds
    assert reported(problem, runner.rig_motion()).normalized.seconds == pytest.approx(4.0)
    times = np.array([0.0, 0.5 * seconds, round(30 * seconds) / 30, 2.0, 4.0])
    places = problem.character.skeleton.world(clip.sample(problem.character.skeleton, times))[..., :3, 3]
    apart = np.abs(places - places[-1]).max((1, 2)) / problem.renderer.length
    assert apart[2:].max() < 1e-5 < 1e-2 < apart[:2].min()
    with pytest.raises(GambolError, match="pin 100:rest: the action ends at frame 24 and its last pose is held"):
        problem_of(hound, "it attacks", seconds=4.0, pins=((100, "rest"),))
    pinned = problem_of(hound, "it attacks", seconds=4.0, pins=((24, "rest"),))
    end = pinned.whole(finished_runner(pinned).rig_motion())
    assert len(end) == 121
    assert end.angles[[24, 120]].abs().max() < 1e-5


def test_a_clip_to_begin_with_is_held_or_repeated_too(hound, tmp_path):
    save(joints_alone(), tmp_path / "bones.glb", gait(hound, analyze(hound), "walk"))
    bones = load(tmp_path / "bones.glb")
    usual = bones.clips["walk"].duration
    for wishes, loops, cycles in (({}, True, 1), ({"seconds": 4 * usual}, True, 4), ({"loop": False}, False, 1)):
        problem = problem_of(bones, init="walk", **wishes)
        assert (problem.start.loops, problem.timing.cycles, problem.timing.hold) == (loops, cycles, 0.0)
        assert problem.start.seconds == pytest.approx(usual)
    name = save(bones, tmp_path / "twice.glb", bones.clips["walk"])
    assert name == "walk.001"
    assert set(load(tmp_path / "twice.glb").clips) == {"walk", "walk.001"}


def test_feet_of_what_flies_are_left_alone(hound):
    flying = problem_of(hound, "it flies", steps=1, foot_lock=30)
    runner = finished_runner(flying)
    before, after = runner.before, runner.rig_motion()
    legs = sorted({joint for leg in flying.anatomy.legs for joint in leg.joints})
    assert torch.equal(before.angles[:, legs], after.angles[:, legs])
    walking = problem_of(hound, "it walks", steps=1, foot_lock=30)
    runner = finished_runner(walking)
    assert (runner.before.angles - runner.rig_motion().angles).abs().max() > 1e-3
