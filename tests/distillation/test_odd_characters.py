"""Odd characters and odd wishes: they work, or one sentence says why not."""

import dataclasses

import numpy as np
import pytest
import torch
from character.creatures import dog, fish, human, snake, turned, without_names
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
    scaled,
    together,
    upside_down,
    with_scale,
)

from gambol.character.anatomy import study
from gambol.character.rig import build_rig
from gambol.creatures.gaits import gait
from gambol.distillation.config import DistillConfig
from gambol.distillation.distill import acts_of, prepare
from gambol.distillation.figures import FigureSet
from gambol.distillation.fit import FitConfig, fit_motion
from gambol.distillation.footing import FootingConfig
from gambol.distillation.pacing import seconds_for, timing_for
from gambol.distillation.play import Play
from gambol.distillation.sampled import SampleConfig
from gambol.errors import GambolError
from gambol.formats import load, save
from gambol.motion.draft import Draft
from gambol.priors.pocket.look import draw_figure
from gambol.quality.clip import measure_clip


def settings(steps=3, footing=4, **wishes):
    sample, fit = SampleConfig(views=1, steps=1, guidance=1.0), FitConfig(steps=steps, views=1)
    return DistillConfig(sample=sample, fit=fit, footing=FootingConfig(steps=footing) if footing else None, **wishes)


def scene_of(character, prompt="it walks", anatomy=None, **wishes):
    return prepare(character, prompt, WaggingPrior(character, anatomy), settings(**wishes), anatomy)


def played(scene):
    play = Play(acts_of(scene), scene.start)
    while not play.over:
        assert not play.step().trouble
    return play


@pytest.fixture(scope="module")
def hound():
    return dog()


@pytest.mark.parametrize(
    "make, prompt, shortest, longest",
    [
        (joints_alone, "it walks", 0.4, 0.8),
        (snake, "a snake walks", 0.6, 1.5),
        (snake, "a snake swims", 0.9, 2.2),
        (snake, "a snake crawls", 0.6, 1.5),
        (snake, "a snake attacks", 0.6, 1.5),
        (fish, "a fish swims", 0.6, 1.8),
        (fish, "a fish walks", 0.4, 1.2),
        (one_joint, "it hops", 0.5, 1.2),
        (long_chain, "it crawls", 0.8, 2.0),
        (centipede, "it walks", 0.2, 0.8),
        (lambda: many_vertices(dog()), "it walks", 0.4, 0.8),
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
    scene = scene_of(character, prompt)
    play = played(scene)
    name = save(character, tmp_path / "out.glb", scene.motion(play.draft(), scene.title))
    clip = load(tmp_path / "out.glb").clips[name]
    poses = clip.sample(character.skeleton, np.linspace(clip.start, clip.end, 9))
    places = character.skeleton.world(poses)[:, scene.rig.nodes][..., :3, 3] / scene.film_set.length
    assert np.isfinite(places).all()
    assert max(np.ptp(places, axis=0).max(), np.ptp(poses.rotation, axis=0).max()) > 1e-2
    assert shortest <= clip.duration <= longest
    report = measure_clip(scene, play.draft(), play.before)
    assert 0 <= report.rise < 10, "in lengths of a leg, or what stands for it"
    assert report.feet is None or 0 <= report.feet.speed < 10
    assert report.summary.startswith(("good", "plausible", "doubtful"))


@pytest.mark.parametrize(
    "make, prompt, message",
    [
        (mesh_alone, "it walks", "'statue' has no joints to move; bind it to a skeleton with `gambol skin"),
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
        (lambda: centipede(71, apart=0.1), "it walks", "no legs were found on 'centipede'"),
    ],
)
def test_what_is_doubtful_is_said_before_the_work(make, prompt, warning):
    character = make()
    scene = scene_of(character, prompt)
    if warning is None:
        assert scene.warnings == ()
    else:
        (said,) = scene.warnings
        assert warning in said


def test_nothing_without_legs_is_called_a_good_walk(hound):
    scene = scene_of(snake(), "it walks")
    assert measure_clip(scene, scene.start).summary.startswith("doubtful: there are no legs to walk with")
    scene = scene_of(snake(), "it crawls")
    assert not measure_clip(scene, scene.start).broken_word


def test_a_character_that_lies_stands_up_if_told_how():
    lying = without_names(on_its_back(human()))
    assert not study(lying).legs
    anatomy = study(lying, "-z", "+y")
    scene = scene_of(lying, "it walks", anatomy)
    assert scene.warnings == ()
    upright = played(scene_of(without_names(human())))
    assert torch.allclose(played(scene).draft().angles, upright.draft().angles, atol=2e-2)


@pytest.fixture(scope="module")
def usual(hound):
    scene = scene_of(hound, steps=6, footing=10)
    return scene, played(scene)


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
    scene = scene_of(change(hound), steps=6, footing=10)
    before, now = usual[1].draft(), played(scene).draft()
    assert len(now) == len(before) and now.seconds == before.seconds
    assert float((now.angles - before.angles).abs().max()) <= tolerance
    ways = [
        float(draft.travel.double().numpy() @ each.anatomy.forward) / each.film_set.length
        for each, draft in ((usual[0], before), (scene, now))
    ]
    assert ways[0] == pytest.approx(ways[1], abs=max(tolerance, 1e-6))


@pytest.mark.parametrize("make", [snake, lambda: long_chain(60)])
def test_long_bodies_are_not_thrown_about_by_a_fit(make):
    """A wave along the body is found, and the first steps do not lead far from where it began."""
    character = make()
    anatomy = study(character)
    rig = build_rig(anatomy)
    film_set = FigureSet(draw_figure(anatomy), 2, 60)
    joints = torch.arange(len(rig.nodes)) / len(rig.nodes)
    wave = 3.0 / len(rig.nodes) * torch.sin(2 * torch.pi * (torch.arange(16)[:, None] / 16 + 2 * joints))
    still = Draft.at_rest(len(rig.nodes), 16, 1.0, True)
    true = dataclasses.replace(still, angles=wave[..., None] * torch.tensor([0.0, 1.0, 0.0])).world(rig)
    fit = fit_motion(anatomy, film_set, film_set.film(true), config=FitConfig(steps=40, views=2))
    rest, found = (
        np.linalg.norm(T - true[..., 3].numpy(), axis=-1).mean()
        for T in (rig.world()[:, :3, 3], fit.T_world_joint[..., :3, 3])
    )
    assert found < 0.6 * rest
    assert max(fit.losses) < 3 * fit.losses[0]


def test_times_grow_with_the_root_of_the_size(hound):
    near, far = (scene_of(character, footing=0, fps=240.0) for character in (hound, scaled(hound, 4.0)))
    assert far.start.seconds == pytest.approx(2 * near.start.seconds, abs=1 / 120)
    plays = [played(scene) for scene in (near, far)]
    assert torch.equal(plays[0].draft().angles, plays[1].draft().angles)
    speeds = [
        scene.clip(play.draft()).way.norm() / scene.seconds for scene, play in zip((near, far), plays, strict=True)
    ]
    assert speeds[1] / speeds[0] == pytest.approx(2, rel=0.02)
    for action in ("walk", "crawl", "swim", "stand"):
        slow, quick = (seconds_for(study(scaled(snake(), size)), action) for size in (4.0, 1.0))
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
    assert (timing.seconds, timing.loops, timing.rounds, timing.still) == pytest.approx(found)
    assert timing.rounds * timing.seconds + timing.still == pytest.approx(asked or 0.8)
    odd = asked is not None and not loops and not 0.4 <= asked <= 1.6
    assert bool(timing.note) == odd


@pytest.mark.parametrize("fps", [1.0, 7.0, 240.0])
def test_any_length_at_any_rate_has_whole_frames(fps):
    for asked in (0.1, 0.77, 2.0, 600.0):
        for loops in (False, True):
            timing = timing_for(0.3, asked, fps, loops=loops, cyclic=loops)
            frames = (timing.rounds * timing.seconds + timing.still) * fps
            assert frames == pytest.approx(max(round(asked * fps), 2))
            assert timing.seconds > 0 and timing.still >= 0


def test_a_long_deed_ends_and_is_held(hound):
    scene = scene_of(hound, "it attacks", seconds=4.0)
    deed = seconds_for(scene.anatomy, "attack")
    assert any("the last pose is held for 3.20 s" in warning for warning in scene.warnings)
    play = played(scene)
    motion = scene.motion(play.draft(), "attack")
    assert motion.duration == pytest.approx(4.0) == scene.seconds
    assert measure_clip(scene, play.draft()).seconds == pytest.approx(4.0)
    times = np.array([0.0, 0.5 * deed, round(30 * deed) / 30, 2.0, 4.0])
    places = scene.character.skeleton.world(motion.sample(scene.character.skeleton, times))[..., :3, 3]
    apart = np.abs(places - places[-1]).max((1, 2)) / scene.film_set.length
    assert apart[2:].max() < 1e-5 < 1e-2 < apart[:2].min()
    with pytest.raises(GambolError, match="pin 100:rest: the motion is over at frame 24 and held from there"):
        scene_of(hound, "it attacks", seconds=4.0, pins=((100, "rest"),))
    pinned = scene_of(hound, "it attacks", seconds=4.0, pins=((24, "rest"),))
    end = pinned.clip(played(pinned).draft())
    assert len(end) == 121
    assert end.angles[[24, 120]].abs().max() < 1e-5


def test_a_clip_to_begin_with_is_held_or_repeated_too(hound, tmp_path):
    save(joints_alone(), tmp_path / "bones.glb", gait(hound, study(hound), "walk"))
    bones = load(tmp_path / "bones.glb")
    usual = bones.clips["walk"].duration
    for wishes, loops, rounds in (({}, True, 1), ({"seconds": 4 * usual}, True, 4), ({"loop": False}, False, 1)):
        scene = scene_of(bones, init="walk", **wishes)
        assert (scene.start.loops, scene.rounds, scene.still) == (loops, rounds, 0.0)
        assert scene.start.seconds == pytest.approx(usual)
    name = save(bones, tmp_path / "twice.glb", bones.clips["walk"])
    assert name == "walk.001"
    assert set(load(tmp_path / "twice.glb").clips) == {"walk", "walk.001"}


def test_feet_of_what_flies_are_left_alone(hound):
    flying = scene_of(hound, "it flies", steps=1, footing=30)
    play = played(flying)
    assert measure_clip(flying, play.draft()).feet is None
    before, after = play.before, play.draft()
    legs = sorted({joint for leg in flying.anatomy.legs for joint in leg.joints})
    assert torch.equal(before.angles[:, legs], after.angles[:, legs])
    walking = scene_of(hound, "it walks", steps=1, footing=30)
    play = played(walking)
    assert (play.before.angles - play.draft().angles).abs().max() > 1e-3
