"""From a sentence to a motion, with a prior that knows the answer by heart."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from character.creatures import dog, fish, human
from distillation.knowing_prior import KnowingPrior

from gambol.character.anatomy import analyze
from gambol.character.clip import Clip, Track
from gambol.creatures.gaits import gait
from gambol.distillation.animate import animate, prepare
from gambol.distillation.config import AnimateConfig
from gambol.distillation.fit import VideoFitConfig
from gambol.distillation.sample_and_fit import SampleConfig
from gambol.distillation.score_distillation import ScoreConfig
from gambol.distillation.stage_runner import StageRunner
from gambol.distillation.stages import stages_of
from gambol.errors import GambolError
from gambol.formats import load, save
from gambol.motion.foot_lock import FootLockConfig
from gambol.priors.pixels.data.cycle import poses_in_place
from gambol.priors.pixels.data.synthetic import gait_cycle
from gambol.priors.pixels.figure import draw_stick_figure
from gambol.priors.pixels.views import StickViews
from gambol.priors.score import DistillationSchedule, Ramp
from gambol.quality.report import report

VIEWS = 2


class Told(KnowingPrior):
    """As its parent, but whatever the sentence: it knows one action only."""

    def _recall(self, text, rest):
        return super()._recall("walking" if text else "", rest)


def knowing(character, action):
    anatomy = analyze(character)
    renderer = StickViews(draw_stick_figure(anatomy), VIEWS, 60)
    poses = torch.as_tensor(poses_in_place(gait_cycle(anatomy, action))[:, :, :3], dtype=torch.float32)
    videos = renderer.render(poses)
    return Told([(rest, "walk", video) for rest, video in zip(renderer.rest_images(), videos, strict=True)])


def settings(steps=50, **wishes):
    sample, fit = SampleConfig(views=VIEWS, steps=1, guidance=1.0), VideoFitConfig(steps=steps, views=VIEWS)
    return AnimateConfig(sample=sample, fit=fit, foot_lock=FootLockConfig(steps=60), **wishes)


def finished_runner(problem):
    runner = StageRunner(stages_of(problem), problem.start)
    while not runner.over:
        if runner.done == 0:
            runner.before = runner.rig_motion()  # the motion with which the last stage begins
        runner.step()
    return runner


@pytest.fixture(scope="module")
def walker():
    character = dog()
    return character, knowing(character, "walk")


def test_a_dog_walks_as_it_is_told(walker, tmp_path):
    character, prior = walker
    problem = prepare(character, "a dog is walking", prior, settings())
    runner = finished_runner(problem)
    before, after = (
        report(character, problem.clip(rig_motion, "walk"), problem.anatomy)
        for rig_motion in (runner.before, runner.rig_motion())
    )
    assert not after.broken_rule and after.values["alternation"] > 0.6
    assert after.values["foot_slide_mean"] < 0.5 * before.values["foot_slide_mean"] + 5.0
    true = gait_cycle(problem.anatomy, "walk")
    travel = runner.rig_motion().travel.double().numpy()
    assert travel @ problem.anatomy.forward == pytest.approx(np.linalg.norm(true.travel), rel=0.25)
    clip = problem.clip(runner.rig_motion(), "walk")
    assert clip.duration == pytest.approx(true.period, abs=1 / 30)
    save(character, tmp_path / "dog.glb", clip)
    again = load(tmp_path / "dog.glb").clips["walk"]
    first, last = (again.sample(character.skeleton, time) for time in (again.start, again.end))
    turned = 1 - np.abs((first.rotation * last.rotation).sum(-1))
    assert turned.max() < 1e-6, "the end leads back to the start"


def test_clips_have_the_length_that_is_asked_for(walker):
    character, prior = walker
    clip = animate(character, "walking", prior, settings(steps=3, seconds=2.5, fps=24.0))
    assert clip.duration == pytest.approx(2.5)
    assert clip.name == "walk"
    once = animate(character, "walking", prior, settings(steps=3, loop=False), name="once")
    assert once.name == "once"


def test_a_clip_that_is_not_to_loop_is_cut_off(walker):
    character, prior = walker
    whole, cut = (prepare(character, "walking", prior, settings(3, seconds=1.3, loop=loop)) for loop in (None, False))
    assert whole.loops and not cut.loops and cut.seconds == pytest.approx(1.3)
    natural = prepare(character, "walking", prior, settings(3)).seconds
    assert cut.start.seconds == pytest.approx(natural, abs=1 / 60), "at its own pace"
    clip = cut.clip(finished_runner(cut).rig_motion(), "walk")
    assert clip.duration == pytest.approx(1.3)
    first, last = (clip.sample(character.skeleton, time).rotation for time in (clip.start, clip.end))
    assert np.abs(first - last).max() > 0.02, "it does not end as it begins"
    once = prepare(character, "walking", prior, settings(3, loop=False))
    assert once.loops and "give other --seconds" in once.timing.note


def test_states_that_cannot_be_are_refused(walker):
    character, prior = walker
    problem = prepare(character, "walking", prior, settings(3))
    stage = stages_of(problem)[0](problem.start)
    stage.step(0)
    state = stage.state()
    stage.load(state)
    latents = state["latents"]
    for change in (
        {"slowed": torch.tensor(10**15)},
        {"slowed": torch.tensor(-1)},
        {"latents": latents[..., :-1, :].contiguous()},
        {"latents": float("nan") * latents},
        {"search": torch.tensor([1e300, -1e300], dtype=torch.float64)},
    ):
        with pytest.raises(ValueError, match=r"slowed must|its latents|are not possible"):
            stage.load({**state, **change})


def test_clips_to_start_from_are_not_too_long(walker):
    character, prior = walker
    track = Track(0, "translation", np.array([0.0, 61.0]), np.array([[0.0, 1, 0], [0, 1, 5]]))
    long = replace(character, clips={"long": Clip("long", (track,))})
    with pytest.raises(GambolError, match="lasts 61 s, and up to 60 s can be started from; cut it"):
        prepare(long, "walking", prior, settings(3, init="long"))


def test_a_pinned_pose_and_kept_joints_are_kept(walker):
    character, prior = walker
    problem = prepare(character, "walking", prior, settings(steps=20))
    name = character.skeleton.names[problem.rig.nodes[problem.anatomy.legs[0].chain[0]]]
    held = prepare(character, "walking", prior, settings(steps=20, pins=((5, "rest"),), freeze=(name,)))
    clip = held.clip(finished_runner(held).rig_motion(), "walk")
    poses = clip.sample(character.skeleton, np.array([5 / 30, 10 / 30]))
    rest = character.skeleton.rest.rotation
    apart = 2 * np.arccos(np.clip(np.abs((poses.rotation * rest).sum(-1)), 0, 1))
    assert apart[0, 1:].max() < 0.02, "but for the heading of the whole body"
    assert apart[1].max() > 0.1
    kept = character.skeleton.names.index(name)
    assert kept not in {track.node for track in clip.tracks}


def test_a_segment_of_a_clip_is_redone_and_the_rest_stays(walker, tmp_path):
    character, prior = walker
    anatomy = analyze(character)
    save(character, tmp_path / "dog.glb", replace(gait(character, anatomy, "trot"), name="trot"))
    trotting = load(tmp_path / "dog.glb")
    trot = trotting.clips["trot"]
    frames = round(trot.duration * 30)
    problem = prepare(trotting, "walking", prior, settings(steps=20, init="trot", frames=(4, frames - 3)))
    redone = problem.clip(finished_runner(problem).rig_motion(), "new")
    times = np.arange(frames) / 30
    was, now = (clip.sample(trotting.skeleton, times) for clip in (trot, redone))
    where = [trotting.skeleton.world(poses)[:, problem.rig.nodes][..., :3, 3] for poses in (was, now)]
    apart = np.abs(where[0] - where[1]).max((1, 2)) / problem.renderer.length
    middle = frames // 2
    assert max(apart[:4].max(), apart[frames - 2 :].max()) < 1e-4
    assert apart[middle] > 0.1


def test_score_distillation_moves_to_what_the_prior_knows(walker):
    character, prior = walker
    plan = DistillationSchedule(Ramp(0.9, 0.5), guidance=Ramp(1, 1))
    score = ScoreConfig(steps=120, plan=plan, lr=0.03, lr_end=0.1, smooth=0.01)
    problem = prepare(character, "walking", prior, replace(settings(), method="score", score=score, foot_lock=None))
    true = poses_in_place(gait_cycle(problem.anatomy, "walk"))[..., :3, 3]
    errors = [
        np.linalg.norm(rig_motion.world(problem.rig)[..., 3].numpy() - true, axis=-1).mean()
        for rig_motion in (problem.start, finished_runner(problem).rig_motion())
    ]
    assert errors[1] < 0.6 * errors[0]


@pytest.mark.parametrize(
    "make, prompt, message",
    [
        (dog, "", "the sentence is empty"),
        (dog, "a dog is blue", "no action was recognised"),
        (human, "a man walks", None),
        (fish, "a fish swims", None),
    ],
)
def test_what_can_be_animated_is_and_the_rest_is_told(make, prompt, message):
    character = make()
    prior = knowing(dog(), "walk")
    if message:
        with pytest.raises(GambolError, match=message):
            prepare(character, prompt, prior, settings(steps=2))
    else:
        clip = animate(character, prompt, prior, settings(steps=2))
        assert np.isfinite(np.concatenate([track.values.ravel() for track in clip.tracks] or [np.zeros(1)])).all()


def test_a_clip_to_begin_with_must_be_there(walker):
    character, prior = walker
    with pytest.raises(GambolError, match="has no clip 'run' to start from"):
        prepare(character, "walking", prior, settings(init="run"))
