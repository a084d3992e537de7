"""Distilling with priors that see the character as it is: tiny models of the real kinds, and one that knows all."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from character.creatures import dog
from distillation.small_gaussian_views import SMALL_SPLATS, OraclePrior, RecordingRenderer, raised, small_views
from priors.tiny_models import write_cogvideox, write_wan

from gambol.distillation.animate import animate, prepare
from gambol.distillation.config import AnimateConfig
from gambol.distillation.fit import VideoFitConfig
from gambol.distillation.sample_and_fit import SampleAndFit, SampleConfig, Sampler
from gambol.distillation.score_distillation import ScoreConfig, ScoreDistillation, VideoObserver
from gambol.distillation.stage_runner import StageRunner
from gambol.distillation.stages import stages_of
from gambol.distillation.windows import windows_over
from gambol.errors import GambolError
from gambol.motion.cuboids import fit_cuboids
from gambol.motion.foot_lock import FootLockConfig
from gambol.motion.parameters import CurveParameters, FrameParameters
from gambol.priors import gaussian_views
from gambol.priors.catalogue import open_prior
from gambol.priors.sample import draw_noise
from gambol.priors.score import DistillationSchedule, Ramp

SENTENCE = "a small brown dog runs"
MODELS = {"cogvideox": (write_cogvideox, "2b"), "wan": (write_wan, "2.1"), "wan with pictures": (write_wan, "5b")}
SIZE = {"cogvideox": (32, 48), "wan": (32, 48), "wan with pictures": (32, 64)}
SAMPLE = AnimateConfig(
    loop=False,
    levels=(1.0, 0.7),
    sample=SampleConfig(views=1, steps=2, guidance=3.0),
    fit=VideoFitConfig(steps=2, views=1, harmonics=2),
    foot_lock=FootLockConfig(steps=2),
    negative="a meadow",
)
SCORE = AnimateConfig(loop=False, method="score", score=ScoreConfig(steps=4), foot_lock=None)


@pytest.fixture(scope="module")
def patch():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gaussian_views, "SPLATS", SMALL_SPLATS)
        yield patch


@pytest.fixture(scope="module", params=MODELS)
def prior(request, tmp_path_factory, patch):
    """Takes 9 frames at most, so that 13 are two windows."""
    write, version = MODELS[request.param]
    prior = open_prior(str(write(tmp_path_factory.mktemp("models") / "tiny", version)))
    prior.format = replace(prior.format, sizes=(SIZE[request.param],), frames=(9,), fps=8)
    return prior


@pytest.fixture(scope="module")
def problem(prior):
    return prepare(dog(), SENTENCE, prior, replace(SAMPLE, seconds=1.5))


@pytest.mark.parametrize("config", [SAMPLE, SCORE], ids=["sample", "score"])
def test_runs_from_end_to_end_and_goes_on_where_it_stopped(problem, config):
    assert len(problem.start) == 13
    problem = replace(problem, config=config)
    runner, states = StageRunner(stages_of(problem), problem.start), []
    while not runner.over:
        log = runner.step()
        assert not log.trouble and all(np.isfinite(value) for value in log.losses.values())
        states.append(runner.state())
    rig_motion = runner.rig_motion()
    assert rig_motion.angles.isfinite().all() and rig_motion.root_translation.isfinite().all()
    assert (rig_motion.angles - problem.start.resampled(len(rig_motion)).angles).abs().max() > 1e-3
    for stopped in (0, 2, 4)[: 3 if config is SAMPLE else 2]:  # while it samples, while it fits, in the next stage
        resumed = StageRunner(stages_of(problem), problem.start)
        resumed.load(states[stopped])
        while not resumed.over:
            resumed.step()
        for name, value in rig_motion.state().items():
            assert torch.equal(resumed.rig_motion().state()[name], value), (stopped, name)


@pytest.mark.parametrize("prior", ["cogvideox"], indirect=True)
def test_a_sentence_becomes_a_clip(prior):
    logs = []
    clip = animate(dog(), SENTENCE, prior, replace(SAMPLE, seconds=1.0), on_step=logs.append)
    assert clip.duration == pytest.approx(1.0)
    assert {log.number for log in logs} == {0, 1, 2}


def test_the_wrong_size_is_refused(problem):
    renderer = gaussian_views.gaussian_views(
        problem.character, problem.anatomy, problem.rig, (40, 60), problem.start, 1
    )
    for config in (SAMPLE, SCORE):
        runner = StageRunner(stages_of(replace(problem, sees=renderer, config=config)), problem.start)
        with pytest.raises(GambolError, match="not 60 x 40"):
            runner.step()


def test_noise_of_overlapping_windows_is_the_same(prior, patch):
    renderer, rig, _, start = small_views(dog(), patch, size=prior.format.sizes[0], frames=17, views=2)
    config = SampleConfig(views=2, steps=2)
    sampler = Sampler(
        prior, renderer, prior.embed(SENTENCE), None, start.world(rig), 1.0, config, torch.Generator().manual_seed(0)
    )
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


def wanted_of(renderer, rig, anatomy, start):
    """The first leg bent, and the body 0.3 legs higher."""
    params = CurveParameters(anatomy, rig, start, renderer.joints, renderer.length, 2)
    with torch.no_grad():
        params.folding[0, 0] = 0.7
        params.root[0, :3] = 0.3 * params.up
    return params.rig_motion()


def error(rig_motion, wanted, rig):
    return float((rig_motion.world(rig) - wanted.world(rig))[..., 3].norm(dim=-1).mean())


def oracle_case(patch, views=2, frames=5, loops=False, **options):
    """A dog that glides, the motion that it should do, and a prior that knows it."""
    renderer, rig, anatomy, start = small_views(
        dog(), patch, size=(32, 48), views=views, frames=frames, glide=1.0, loops=loops
    )
    wanted = wanted_of(renderer, rig, anatomy, start)
    recorder = RecordingRenderer(renderer)
    return recorder, rig, anatomy, start, wanted, OraclePrior(recorder, wanted.world(rig), **options)


def stage_of(recorder, rig, anatomy, start, prior, level=1.0, steps=50, **options):
    params = CurveParameters(anatomy, rig, start, recorder.joints, recorder.length, 2)
    sample = SampleConfig(views=recorder.views, steps=3, guidance=1.0, **options)
    fit = VideoFitConfig(steps=steps, views=recorder.views)
    return SampleAndFit(anatomy, recorder, params, prior, prior.embed("anything"), None, level, sample, fit)


def finished_runner(stage):
    for number in range(stage.steps):
        stage.step(number)
    return stage.rig_motion()


@pytest.mark.parametrize("frames, length, level", [(5, 5, 0.6), (11, 7, 1.0), (4, 7, 1.0)])
def test_sampling_and_fitting_finds_what_the_prior_knows(patch, frames, length, level):
    """At once, in two windows, and as a part of a longer video."""
    recorder, rig, anatomy, start, wanted, prior = oracle_case(patch, frames=frames, length=length)
    rig_motion = finished_runner(stage_of(recorder, rig, anatomy, start, prior, level))
    assert error(rig_motion, wanted, rig) < 0.4 * error(start, wanted, rig)
    parts = recorder.views * len(windows_over(frames, length))
    assert [len(noisy) for noisy, _, _ in prior.asked] == [parts] * 3
    assert [at for _, at, _ in prior.asked] == pytest.approx([level, level * 2 / 3, level / 3])


def score_of(recorder, rig, anatomy, start, prior, **options):
    params, cuboids = FrameParameters(rig, start, recorder.length), fit_cuboids(dog(), rig)
    observer = VideoObserver(recorder, params, prior, prior.embed("anything"), None)
    return ScoreDistillation(observer, cuboids, params, anatomy.ground, ScoreConfig(**options))


def test_score_distillation_finds_what_the_prior_knows(patch):
    recorder, rig, anatomy, start, wanted, prior = oracle_case(patch)
    rig_motion = finished_runner(score_of(recorder, rig, anatomy, start, prior, steps=50, lr=0.02))
    assert error(rig_motion, wanted, rig) < 0.4 * error(start, wanted, rig)
    assert len(prior.asked) == 50


def test_noise_of_score_distillation_is_drawn_in_every_step(patch):
    recorder, rig, anatomy, start, _, prior = oracle_case(patch, views=1)
    plan = DistillationSchedule(Ramp(1.0, 1.0), guidance=Ramp(1.0, 1.0))  # so that it is asked about nothing but noise
    finished_runner(score_of(recorder, rig, anatomy, start, prior, steps=2, plan=plan))
    (first, _, _), (second, _, _) = prior.asked
    assert not torch.equal(first, second)
    assert abs(float(first.std()) - 1) < 0.05


def test_scores_know_the_first_frame_of_their_window(patch):
    recorder, rig, anatomy, start, _, prior = oracle_case(patch, views=1, reference="first")
    finished_runner(score_of(recorder, rig, anatomy, start, prior, steps=1))
    expected = recorder.renderer.render(start.world(rig))[:, 0]
    torch.testing.assert_close(prior.asked[0][2], expected)


def test_a_video_begins_with_the_first_frame_and_later_windows_with_what_they_share(patch):
    recorder, rig, anatomy, start, _, prior = oracle_case(patch, frames=11, length=7, reference="first")
    stage = stage_of(recorder, rig, anatomy, start, prior, steps=0)
    finished_runner(stage)
    assert len(stage.sampler.windows) == 2
    firsts, others = prior.asked[::2], prior.asked[1::2]
    assert len(firsts) == len(others) == 3
    beginning = recorder.renderer.following(start.world(rig)).render(start.world(rig))[:, 0]
    for noisy, _, reference in firsts:
        torch.testing.assert_close(reference, beginning, rtol=0, atol=0.02)
        assert len(noisy) == recorder.views
    assert all(reference is None for _, _, reference in others)
    first, other = firsts[0][0], others[0][0]
    assert not torch.isclose(first[0], first[1]).any(), "each view has noise of its own"
    late = stage.sampler.windows.starts[1]
    assert torch.equal(first[:, late:], other[:, : 7 - late])
    assert not torch.isclose(first[:, :late], other[:, 7 - late :][:, :late]).any(), (
        "and windows only where they overlap"
    )


def test_a_loop_is_rendered_into_its_next_cycle(patch):
    recorder, rig, anatomy, start, _, prior = oracle_case(patch, frames=5, length=9, loops=True)
    stage = stage_of(recorder, rig, anatomy, start, prior, steps=1)
    torch.testing.assert_close(stage.sampler.now, start.repeated(2, rig).world(rig)[:9], rtol=0, atol=1e-5)
    assert len(finished_runner(stage)) == 5


def test_a_fit_that_begins_again_begins_from_nothing(patch):
    """As it does if it goes astray before anything was kept to go back to."""
    recorder, rig, anatomy, start, _, prior = oracle_case(patch)
    stage = stage_of(recorder, rig, anatomy, start, prior, steps=4)
    beginning = stage.state()
    rig_motion = finished_runner(stage)
    stage.load(beginning)
    assert torch.equal(stage.rig_motion().angles, start.angles)
    assert torch.equal(finished_runner(stage).angles, rig_motion.angles)
    stage.load(beginning)
    stage.slow_down()
    careful = finished_runner(stage)
    assert stage.fitting.adam.lr_scale == 0.5
    assert 0 < (careful.angles - start.angles).abs().max() < (rig_motion.angles - start.angles).abs().max()


def test_a_state_has_no_videos_and_shares_no_memory(patch):
    recorder, rig, anatomy, start, _, prior = oracle_case(patch)
    stage = stage_of(recorder, rig, anatomy, start, prior, steps=2)
    finished_runner(stage)
    states = stage.state(), stage.state()
    assert all(value.is_contiguous() for value in states[0].values())
    assert not {value.data_ptr() for value in states[0].values()} & {value.data_ptr() for value in states[1].values()}


def test_cameras_of_a_fit_are_those_of_its_videos(patch):
    """Who rises in the video rises in the world; cameras that followed would take it for a ground that sinks."""
    recorder, rig, anatomy, start, _, _ = oracle_case(patch)
    wanted = raised(start, rig, 0.3 * recorder.length)
    stage = stage_of(recorder, rig, anatomy, start, OraclePrior(recorder, wanted.world(rig)), steps=40)
    rise = (finished_runner(stage).root_translation - start.root_translation) @ stage.params.up / recorder.length
    assert float(rise.mean()) == pytest.approx(0.3, abs=0.06)
