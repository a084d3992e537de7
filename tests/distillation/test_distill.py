"""From a sentence to a motion, with a prior that knows the answer by heart."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from character.creatures import dog, fish, human
from distillation.knowing_prior import KnowingPrior

from gambol.character.anatomy import study
from gambol.creatures.gaits import gait
from gambol.distillation.config import DistillConfig
from gambol.distillation.distill import acts_of, distill, prepare
from gambol.distillation.figures import FigureSet
from gambol.distillation.fit import FitConfig
from gambol.distillation.footing import FootingConfig
from gambol.distillation.play import Play
from gambol.distillation.sampled import SampleConfig
from gambol.distillation.score_distillation import ScoreConfig
from gambol.errors import GambolError
from gambol.formats import load, save
from gambol.priors.pocket.artists.clips import on_the_spot
from gambol.priors.pocket.look import draw_figure
from gambol.priors.pocket.takes.herd import gait_cycle
from gambol.priors.score import Plan, Ramp
from gambol.quality.clip import measure_clip

VIEWS = 2


class Told(KnowingPrior):
    """As its parent, but whatever the sentence: it knows one action only."""

    def _recall(self, text, rest):
        return super()._recall("walking" if text else "", rest)


def knowing(character, action):
    anatomy = study(character)
    film_set = FigureSet(draw_figure(anatomy), VIEWS, 60)
    poses = torch.as_tensor(on_the_spot(gait_cycle(anatomy, action))[:, :, :3], dtype=torch.float32)
    videos = film_set.film(poses)
    return Told([(rest, "walk", video) for rest, video in zip(film_set.at_rest(), videos, strict=True)])


def settings(steps=50, **wishes):
    sample, fit = SampleConfig(views=VIEWS, steps=1, guidance=1.0), FitConfig(steps=steps, views=VIEWS)
    return DistillConfig(sample=sample, fit=fit, footing=FootingConfig(steps=60), **wishes)


def played(scene):
    play = Play(acts_of(scene), scene.start)
    while not play.over:
        play.step()
    return play


@pytest.fixture(scope="module")
def walker():
    character = dog()
    return character, knowing(character, "walk")


def test_a_dog_walks_as_it_is_told(walker, tmp_path):
    character, prior = walker
    scene = prepare(character, "a dog is walking", prior, settings())
    play = played(scene)
    report = measure_clip(scene, play.draft(), play.before)
    assert report.pairings.sides < -0.6
    assert not report.broken_word
    assert report.feet.skating < 0.5 * report.feet_before.skating + 0.05
    true = gait_cycle(scene.anatomy, "walk")
    travel = play.draft().travel.double().numpy()
    assert travel @ scene.anatomy.forward == pytest.approx(np.linalg.norm(true.travel), rel=0.25)
    motion = scene.motion(play.draft(), "walk")
    assert motion.duration == pytest.approx(true.period, abs=1 / 30)
    save(character, tmp_path / "dog.glb", motion)
    again = load(tmp_path / "dog.glb").clips["walk"]
    first, last = (again.sample(character.skeleton, time) for time in (again.start, again.end))
    turned = 1 - np.abs((first.rotation * last.rotation).sum(-1))
    assert turned.max() < 1e-6, "the end leads back to the start"


def test_clips_have_the_length_that_is_asked_for(walker):
    character, prior = walker
    motion = distill(character, "walking", prior, settings(steps=3, seconds=2.5, fps=24.0))
    assert motion.duration == pytest.approx(2.5)
    assert motion.name == "walk"
    once = distill(character, "walking", prior, settings(steps=3, loop=False), name="once")
    assert once.name == "once"


def test_a_pinned_pose_and_kept_joints_are_kept(walker):
    character, prior = walker
    scene = prepare(character, "walking", prior, settings(steps=20))
    name = character.skeleton.names[scene.rig.nodes[scene.anatomy.legs[0].chain[0]]]
    held = prepare(character, "walking", prior, settings(steps=20, pins=((5, "rest"),), keep=(name,)))
    motion = held.motion(played(held).draft(), "walk")
    poses = motion.sample(character.skeleton, np.array([5 / 30, 10 / 30]))
    rest = character.skeleton.rest.rotation
    apart = 2 * np.arccos(np.clip(np.abs((poses.rotation * rest).sum(-1)), 0, 1))
    assert apart[0, 1:].max() < 0.02, "but for the heading of the whole body"
    assert apart[1].max() > 0.1
    kept = character.skeleton.names.index(name)
    assert kept not in {track.node for track in motion.tracks}


def test_a_segment_of_a_clip_is_redone_and_the_rest_stays(walker, tmp_path):
    character, prior = walker
    anatomy = study(character)
    save(character, tmp_path / "dog.glb", replace(gait(character, anatomy, "trot"), name="trot"))
    trotting = load(tmp_path / "dog.glb")
    clip = trotting.clips["trot"]
    frames = round(clip.duration * 30)
    scene = prepare(trotting, "walking", prior, settings(steps=20, init="trot", only=(4, frames - 3)))
    motion = scene.motion(played(scene).draft(), "new")
    times = np.arange(frames) / 30
    was, now = (each.sample(trotting.skeleton, times) for each in (clip, motion))
    where = [trotting.skeleton.world(poses)[:, scene.rig.nodes][..., :3, 3] for poses in (was, now)]
    apart = np.abs(where[0] - where[1]).max((1, 2)) / scene.film_set.length
    middle = frames // 2
    assert max(apart[:4].max(), apart[frames - 2 :].max()) < 1e-4
    assert apart[middle] > 0.1


def test_score_distillation_moves_to_what_the_prior_knows(walker):
    character, prior = walker
    plan = Plan(Ramp(0.9, 0.5), guidance=Ramp(1, 1))
    score = ScoreConfig(steps=120, plan=plan, rate=0.03, cooled=0.1, smooth=0.01)
    scene = prepare(character, "walking", prior, replace(settings(), method="score", score=score, footing=None))
    true = on_the_spot(gait_cycle(scene.anatomy, "walk"))[..., :3, 3]
    errors = [
        np.linalg.norm(draft.world(scene.rig)[..., 3].numpy() - true, axis=-1).mean()
        for draft in (scene.start, played(scene).draft())
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
        motion = distill(character, prompt, prior, settings(steps=2))
        assert np.isfinite(np.concatenate([track.values.ravel() for track in motion.tracks] or [np.zeros(1)])).all()


def test_a_clip_to_begin_with_must_be_there(walker):
    character, prior = walker
    with pytest.raises(GambolError, match="has no clip 'run' to begin with"):
        prepare(character, "walking", prior, settings(init="run"))
