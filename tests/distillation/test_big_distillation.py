"""Distilling with priors that see the character as it is: tiny models of the real kinds, and one that knows all."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from character.creatures import dog
from distillation.little_actors import LITTLE, Director, Watched, little_set, raised
from priors.tiny_models import write_cogvideox, write_wan

from gambol.distillation import actors
from gambol.distillation.config import DistillConfig
from gambol.distillation.distill import acts_of, distill, prepare
from gambol.distillation.fit import FitConfig
from gambol.distillation.footing import FootingConfig
from gambol.distillation.play import Play
from gambol.distillation.puppet import CurvePuppet, FramePuppet
from gambol.distillation.sampled import Rehearsal, SampleConfig, Sampler
from gambol.distillation.score_distillation import ScoreConfig, ScoreDistillation
from gambol.distillation.windows import windows_over
from gambol.errors import GambolError
from gambol.motion.cuboids import fit_cuboids
from gambol.priors.catalogue import open_prior
from gambol.priors.sample import draw_noise
from gambol.priors.score import Plan, Ramp

SENTENCE = "a small brown dog runs"
MODELS = {"cogvideox": (write_cogvideox, "2b"), "wan": (write_wan, "2.1"), "wan with pictures": (write_wan, "5b")}
SIZE = {"cogvideox": (32, 48), "wan": (32, 48), "wan with pictures": (32, 64)}
SAMPLE = DistillConfig(
    loop=False,
    levels=(1.0, 0.7),
    sample=SampleConfig(views=1, steps=2, guidance=3.0),
    fit=FitConfig(steps=2, views=1, places=0.0, harmonics=2),
    footing=FootingConfig(steps=2),
    negative="a meadow",
)
SCORE = DistillConfig(loop=False, method="score", score=ScoreConfig(steps=4, noise="matched"), footing=None)


@pytest.fixture(scope="module")
def patch():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(actors, "SPLATS", LITTLE)
        yield patch


@pytest.fixture(scope="module", params=MODELS)
def prior(request, tmp_path_factory, patch):
    """Takes 9 frames at most, so that 13 are two windows."""
    write, version = MODELS[request.param]
    prior = open_prior(str(write(tmp_path_factory.mktemp("models") / "tiny", version)))
    prior.format = replace(prior.format, sizes=(SIZE[request.param],), frames=(9,), fps=8)
    return prior


@pytest.fixture(scope="module")
def scene(prior):
    return prepare(dog(), SENTENCE, prior, replace(SAMPLE, seconds=1.5))


@pytest.mark.parametrize("config", [SAMPLE, SCORE], ids=["sample", "score"])
def test_runs_from_end_to_end_and_goes_on_where_it_stopped(scene, config):
    assert len(scene.start) == 13
    scene = replace(scene, config=config)
    play, states = Play(acts_of(scene), scene.start), []
    while not play.over:
        moment = play.step()
        assert not moment.trouble and all(np.isfinite(value) for value in moment.losses.values())
        states.append(play.state())
    draft = play.draft()
    assert draft.angles.isfinite().all() and draft.root_translation.isfinite().all()
    assert (draft.angles - scene.start.resampled(len(draft)).angles).abs().max() > 1e-3
    for stopped in (0, 2, 4)[: 3 if config is SAMPLE else 2]:  # while it samples, while it fits, in the next round
        resumed = Play(acts_of(scene), scene.start)
        resumed.load(states[stopped])
        while not resumed.over:
            resumed.step()
        for name, value in draft.state().items():
            assert torch.equal(resumed.draft().state()[name], value), (stopped, name)


@pytest.mark.parametrize("prior", ["cogvideox"], indirect=True)
def test_a_sentence_becomes_a_clip(prior):
    moments = []
    motion = distill(dog(), SENTENCE, prior, replace(SAMPLE, seconds=1.0), on_step=moments.append)
    assert motion.duration == pytest.approx(1.0)
    assert {moment.number for moment in moments} == {0, 1, 2}


def test_the_wrong_size_is_refused(scene):
    film_set = actors.actor_set(scene.character, scene.anatomy, scene.rig, (40, 60), scene.start, 1)
    for config in (SAMPLE, SCORE):
        play = Play(acts_of(replace(scene, film_set=film_set, config=config)), scene.start)
        with pytest.raises(GambolError, match="not 60 x 40"):
            play.step()


def test_noise_of_overlapping_windows_is_the_same(prior, patch):
    film_set, rig, _, start = little_set(dog(), patch, size=prior.format.sizes[0], frames=17, views=2)
    config = SampleConfig(views=2, steps=2)
    sampler = Sampler(prior, film_set, prior.embed(SENTENCE), start.world(rig), 1.0, config)
    windows = sampler.windows
    assert windows == windows_over(17, 9, 4) and len(windows) == 3
    noise = sampler._noisy()
    assert torch.equal(noise, sampler._noisy())
    views = noise.movedim(prior.time_axis, 1).unflatten(0, (2, 3))
    assert torch.equal(views[:, 0, 2], views[:, 1, 1]) and torch.equal(views[:, 1, 2], views[:, 2, 1])
    assert not torch.equal(views[:, 0, 1], views[:, 1, 0]), "of a single frame is no latent in the window before"
    assert not torch.equal(views[0], views[1])
    drawn = draw_noise(noise, torch.Generator().manual_seed(0)).movedim(prior.time_axis, 1).unflatten(0, (2, 3))
    assert torch.equal(views[:, 0], drawn[:, 0]), "a mean of noise is less than noise"
    sampler.step(0)
    sampler.step(1)
    views = sampler.latents.movedim(prior.time_axis, 1).unflatten(0, (2, 3))
    torch.testing.assert_close(views[:, 0, 2], views[:, 1, 1])
    assert sampler.videos().shape == (2, 17, *prior.format.sizes[0], 3)


def test_latents_of_windows_stand_for_the_same_frames(prior):
    """A frame that changes, changes latents from the same place of the clip on, whichever window it is seen in."""
    if prior.time_axis == 1:
        pytest.skip("CogVideoX sees frames by eight, the last of them in the first too")
    video = torch.rand(1, 13, *prior.format.sizes[0], 3, generator=torch.Generator().manual_seed(0))
    windows = windows_over(13, 9, 4)
    assert windows.starts == (0, 4)
    for frame in (5, 6, 8):
        changed = video.clone()
        changed[:, frame] = 1 - changed[:, frame]
        before, after = (prior.encode(windows.cut(each)) for each in (video, changed))
        differ = (after - before).abs().amax((1, 3, 4)) > 1e-6
        places = [int(found.nonzero()[0]) + start // 4 for found, start in zip(differ, windows.starts, strict=True)]
        assert places == [2, 2]


def wanted_of(film_set, rig, anatomy, start):
    """The first leg bent, and the body 0.3 legs higher."""
    puppet = CurvePuppet(anatomy, rig, start, film_set.joints, film_set.length, 2)
    with torch.no_grad():
        puppet.folding[0, 0] = 0.7
        puppet.root[0, :3] = 0.3 * puppet.up
    return puppet.draft()


def error(draft, wanted, rig):
    return float((draft.world(rig) - wanted.world(rig))[..., 3].norm(dim=-1).mean())


def directed(patch, views=2, frames=5, loops=False, **options):
    """A dog that glides, what it should do, and who knows it."""
    film_set, rig, anatomy, start = little_set(
        dog(), patch, size=(32, 48), views=views, frames=frames, glide=1.0, loops=loops
    )
    wanted = wanted_of(film_set, rig, anatomy, start)
    watched = Watched(film_set)
    return watched, rig, anatomy, start, wanted, Director(watched, wanted.world(rig), **options)


def rehearsal_of(watched, rig, anatomy, start, prior, level=1.0, steps=50, **options):
    puppet = CurvePuppet(anatomy, rig, start, watched.joints, watched.length, 2)
    sample = SampleConfig(views=watched.views, steps=3, guidance=1.0, **options)
    fit = FitConfig(steps=steps, views=watched.views, places=0.0)
    return Rehearsal(anatomy, watched, puppet, prior, prior.embed("anything"), level, sample, fit)


def played(act):
    for number in range(act.steps):
        act.step(number)
    return act.draft()


@pytest.mark.parametrize("frames, length, level", [(5, 5, 0.6), (11, 7, 1.0), (4, 7, 1.0)])
def test_sampling_and_fitting_finds_what_the_prior_knows(patch, frames, length, level):
    """At once, in two windows, and as a part of a longer video."""
    watched, rig, anatomy, start, wanted, prior = directed(patch, frames=frames, length=length)
    draft = played(rehearsal_of(watched, rig, anatomy, start, prior, level))
    assert error(draft, wanted, rig) < 0.4 * error(start, wanted, rig)
    parts = watched.views * len(windows_over(frames, length))
    assert [len(noisy) for noisy, _, _ in prior.asked] == [parts] * 3
    assert [at for _, at, _ in prior.asked] == pytest.approx([level, level * 2 / 3, level / 3])


def score_of(watched, rig, anatomy, start, prior, **options):
    puppet, cuboids = FramePuppet(rig, start, watched.length), fit_cuboids(dog(), rig)
    told, config = prior.embed("anything"), ScoreConfig(**options)
    return ScoreDistillation(watched, cuboids, puppet, anatomy.ground, prior, told, config)


@pytest.mark.parametrize("noise", ["drawn", "matched"])
def test_score_distillation_finds_what_the_prior_knows(patch, noise):
    watched, rig, anatomy, start, wanted, prior = directed(patch)
    draft = played(score_of(watched, rig, anatomy, start, prior, steps=50, rate=0.02, noise=noise))
    assert error(draft, wanted, rig) < 0.4 * error(start, wanted, rig)
    assert len(prior.asked) == 50 * (2 if noise == "matched" else 1)


@pytest.mark.parametrize("noise", ["drawn", "fixed"])
def test_noise_of_score_distillation_is_drawn_or_fixed(patch, noise):
    watched, rig, anatomy, start, _, prior = directed(patch, views=1)
    plan = Plan(Ramp(1.0, 1.0), guidance=Ramp(1.0, 1.0))  # so that it is asked about nothing but noise
    played(score_of(watched, rig, anatomy, start, prior, steps=2, plan=plan, noise=noise))
    (first, _, _), (second, _, _) = prior.asked
    assert torch.equal(first, second) == (noise == "fixed")
    assert abs(float(first.std()) - 1) < 0.05


def test_scores_know_the_first_frame_of_their_window(patch):
    watched, rig, anatomy, start, _, prior = directed(patch, views=1, reference="first")
    played(score_of(watched, rig, anatomy, start, prior, steps=1))
    expected = watched.film_set.film(start.world(rig))[:, 0]
    torch.testing.assert_close(prior.asked[0][2], expected)


def test_a_video_begins_with_the_first_frame_and_later_windows_with_what_they_share(patch):
    watched, rig, anatomy, start, _, prior = directed(patch, frames=11, length=7, reference="first")
    act = rehearsal_of(watched, rig, anatomy, start, prior, steps=0, shared_noise=True)
    played(act)
    assert len(act.sampler.windows) == 2
    firsts, others = prior.asked[::2], prior.asked[1::2]
    assert len(firsts) == len(others) == 3
    beginning = watched.film_set.aimed(start.world(rig)).film(start.world(rig))[:, 0]
    for noisy, _, reference in firsts:
        torch.testing.assert_close(reference, beginning, rtol=0, atol=0.02)
        assert len(noisy) == watched.views
    assert all(reference is None for _, _, reference in others)
    first, other = firsts[0][0], others[0][0]
    assert torch.equal(first[0], first[1]) and torch.equal(other[0], other[1]), "views share their noise"
    late = act.sampler.windows.starts[1]
    assert torch.equal(first[:, late:], other[:, : 7 - late])
    assert not torch.isclose(first[:, :late], other[:, 7 - late :][:, :late]).any(), (
        "and windows only where they overlap"
    )


def test_a_loop_is_filmed_into_its_next_round(patch):
    watched, rig, anatomy, start, _, prior = directed(patch, frames=5, length=9, loops=True)
    act = rehearsal_of(watched, rig, anatomy, start, prior, steps=1)
    torch.testing.assert_close(act.sampler.now, start.repeated(2, rig).world(rig)[:9], rtol=0, atol=1e-5)
    assert len(played(act)) == 5


def test_a_fit_that_begins_again_begins_from_nothing(patch):
    """As it does if it goes astray before anything was kept to go back to."""
    watched, rig, anatomy, start, _, prior = directed(patch)
    act = rehearsal_of(watched, rig, anatomy, start, prior, steps=4)
    beginning = act.state()
    draft = played(act)
    act.load(beginning)
    assert torch.equal(act.draft().angles, start.angles)
    assert torch.equal(played(act).angles, draft.angles)
    act.load(beginning)
    act.slow_down()
    careful = played(act)
    assert act.fitting.search.caution == 0.5
    assert 0 < (careful.angles - start.angles).abs().max() < (draft.angles - start.angles).abs().max()


def test_a_state_has_no_videos_and_shares_no_memory(patch):
    watched, rig, anatomy, start, _, prior = directed(patch)
    act = rehearsal_of(watched, rig, anatomy, start, prior, steps=2)
    played(act)
    states = act.state(), act.state()
    assert all(value.is_contiguous() for value in states[0].values())
    assert not {value.data_ptr() for value in states[0].values()} & {value.data_ptr() for value in states[1].values()}


def test_cameras_of_a_fit_are_those_of_its_videos(patch):
    """Who rises in the video rises in the world; cameras that followed would take it for a ground that sinks."""
    watched, rig, anatomy, start, _, _ = directed(patch)
    wanted = raised(start, rig, 0.3 * watched.length)
    act = rehearsal_of(watched, rig, anatomy, start, Director(watched, wanted.world(rig)), steps=40)
    rise = (played(act).root_translation - start.root_translation) @ act.puppet.up / watched.length
    assert float(rise.mean()) == pytest.approx(0.3, abs=0.06)
