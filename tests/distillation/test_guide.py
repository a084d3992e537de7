"""Guides: a motion of the same character as noisy start, by its first frame, and as a control."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from character.creatures import dog, human
from distillation.small_gaussian_views import SMALL_SPLATS
from priors.tiny_models import write_wan

import gambol
from gambol.character.clip import Clip
from gambol.creatures.gaits import gait
from gambol.distillation.animate import prepare
from gambol.distillation.config import AnimateConfig, GuideConfig
from gambol.distillation.fit import VideoFitConfig
from gambol.distillation.guide import Guide, carried, guide_clip, is_row_of_poses, lasting_motion
from gambol.distillation.run_config import PriorChoice, RunConfig, hash_guide
from gambol.distillation.sample_and_fit import SampleConfig
from gambol.distillation.score_distillation import ScoreConfig
from gambol.distillation.stage_runner import StageRunner
from gambol.distillation.stages import stages_of
from gambol.errors import GambolError
from gambol.motion.keypoints import find_keypoints
from gambol.priors import gaussian_views
from gambol.priors.catalogue import PRIORS, guided_by, open_prior

SENTENCE = "a small brown dog runs"
SAMPLE = AnimateConfig(
    loop=False,
    seconds=1.5,
    levels=(1.0, 0.7),
    sample=SampleConfig(views=1, steps=2, guidance=3.0),
    fit=VideoFitConfig(steps=2, views=1, harmonics=2),
    foot_lock=None,
)
SCORE = replace(SAMPLE, method="score", score=ScoreConfig(steps=2))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """dog.glb walks; poses.glb is the same dog with a clip of four poses more, a second each."""
    folder = tmp_path_factory.mktemp("guides")
    plain = dog()
    gambol.save(plain, folder / "dog.glb", gait(plain, gambol.analyze(plain), "walk"))
    walking = gambol.load(folder / "dog.glb")
    walk = walking.clips["walk"]
    times = walk.start + walk.duration * np.array([0.0, 0.3, 0.5, 0.9])
    row = Clip.from_poses("poses", walk.sample(walking.skeleton, times), walking.skeleton, fps=1.0)
    gambol.save(walking, folder / "poses.glb", row)
    return folder


@pytest.fixture(scope="module")
def character(folder):
    return gambol.load(folder / "dog.glb")


@pytest.fixture(scope="module")
def tracks():
    return open_prior("tracks")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Priors of few weights, whose videos are small and have 9 frames, so that 13 are two windows."""

    def opened(version, size):
        prior = open_prior(str(write_wan(tmp_path_factory.mktemp("models") / f"tiny-{version}", version)))
        prior.format = replace(prior.format, sizes=(size,), frames=(9,), fps=8)
        return prior

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gaussian_views, "SPLATS", SMALL_SPLATS)
        yield {"vace": opened("vace", (32, 48)), "5b": opened("5b", (32, 64)), "2.1": opened("2.1", (32, 48))}


def finished(problem):
    return StageRunner(stages_of(problem), problem.start).run()


def stage_of(problem):
    return stages_of(problem)[0](problem.start)


@pytest.mark.parametrize("prior", ["tracks", "pixels"])
def test_a_guide_as_start_is_a_clip_to_start_from(character, prior):
    prior = open_prior(prior)
    config = AnimateConfig(sample=SampleConfig(views=1, steps=1), strength=0.4)
    by_guide, by_init = (
        prepare(character, "a dog walks", prior, replace(config, **given))
        for given in ({"guide": GuideConfig("walk")}, {"init": "walk"})
    )
    assert torch.equal(by_guide.start.angles, by_init.start.angles)
    assert by_guide.start.angles.abs().max() > 0.1
    assert (by_guide.timing, by_guide.level, by_guide.guide) == (by_init.timing, by_init.level, None)
    if prior.name == "tracks":
        assert by_guide.level == 0.4


def test_poses_without_a_timing_fill_the_clip(folder, character, tracks):
    """Whatever the length of the clip, the poses are spread evenly over it, the first at its beginning."""
    walk, guide = character.clips["walk"], GuideConfig(str(folder / "poses.glb"))
    problem = prepare(character, "a dog walks", tracks, AnimateConfig(guide=guide, seconds=2.0, loop=False))
    assert problem.seconds == pytest.approx(2.0)
    assert not problem.loops
    times = walk.start + walk.duration * np.array([0.0, 0.3, 0.5, 0.9])
    expected = character.skeleton.world(walk.sample(character.skeleton, times))[:, problem.rig.nodes, :3]
    start = problem.start.resampled(61)
    found = start.world(problem.rig)[[0, 20, 40, 60]].numpy()
    apart = np.abs(found - expected).max() / problem.length
    assert apart < 0.02
    assert np.abs(np.diff(expected, axis=0)).max() / problem.length > 10 * apart


def test_a_motion_keeps_its_own_time(character, tracks):
    walk = character.clips["walk"]
    config = AnimateConfig(guide=GuideConfig("walk"))
    assert not is_row_of_poses(walk, config)
    problem = prepare(character, "a dog walks", tracks, config)
    assert problem.seconds == pytest.approx(walk.duration, abs=1 / 30)
    assert problem.loops


def test_the_guide_shows_in_the_sample(folder, character, tracks):
    """Little noise leaves the poses, and much does not."""
    guide = GuideConfig(str(folder / "poses.glb"))
    config = AnimateConfig(guide=guide, seconds=1.0, loop=False, sample=SampleConfig(steps=4), foot_lock=None)
    apart = []
    for strength in (0.05, 1.0):
        problem = prepare(character, "a dog walks", tracks, replace(config, strength=strength))
        motion = finished(problem)
        apart.append(float((motion.angles - problem.start.resampled(len(motion)).angles).abs().mean()))
    assert apart[0] < 0.5 * apart[1]


def test_clips_come_over_by_the_names_of_joints(folder, character):
    clip = guide_clip(character, str(folder / "poses.glb"))
    assert clip.name == "poses"
    assert is_row_of_poses(clip, AnimateConfig(guide=GuideConfig("poses")))
    assert not is_row_of_poses(clip, AnimateConfig(init="poses")), "a clip to start from keeps its time"
    assert guide_clip(character, f"{folder / 'poses.glb'}:walk").duration == character.clips["walk"].duration
    other = gambol.load(folder / "poses.glb")
    order = np.random.default_rng(0).permutation(len(other.skeleton))
    place = np.argsort(order)
    skeleton, rest = other.skeleton, other.skeleton.rest
    shuffled = replace(
        skeleton,
        names=tuple(skeleton.names[node] for node in order),
        parents=np.array([place[above] if above >= 0 else -1 for above in skeleton.parents[order]]),
        rest=replace(rest, translation=rest.translation[order], rotation=rest.rotation[order], scale=rest.scale[order]),
        is_joint=skeleton.is_joint[order],
    )
    moved = replace(clip, tracks=tuple(replace(track, node=int(place[track.node])) for track in clip.tracks))
    back = carried(character, replace(other, skeleton=shuffled), moved)
    assert [track.node for track in back.tracks] == [track.node for track in clip.tracks]


def test_files_are_named_for_good(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert lasting_motion("poses.glb") == str(folder / "poses.glb")
    assert lasting_motion("poses.glb:walk") == f"{folder / 'poses.glb'}:walk"
    assert lasting_motion("walk") == "walk"


def test_a_guide_that_changed_is_refused_when_the_run_goes_on(folder, character, tracks, tmp_path):
    file = tmp_path / "guide.glb"
    file.write_bytes((folder / "poses.glb").read_bytes())
    guide = GuideConfig(str(file))
    run = RunConfig(
        "dog.glb", "a dog walks", AnimateConfig(guide=guide), prior=PriorChoice(), guide_hash=hash_guide(guide)
    )
    again = RunConfig.from_json(run.json())
    assert again == run
    assert again.problem(character, tracks).start.angles.abs().max() > 0.1
    gambol.save(character, file, character.clips["walk"], overwrite=True)
    with pytest.raises(GambolError, match="the file of the guide is no longer the one this run began with"):
        again.problem(character, tracks)


def refused(character, prior, guide, **options) -> str:
    with pytest.raises(GambolError) as caught:
        prepare(character, "a dog walks", prior, AnimateConfig(guide=guide, **options))
    return str(caught.value)


def test_mistakes_are_told_with_a_way_out(folder, character, tracks, tmp_path):
    found = refused(character, tracks, GuideConfig("trot"))
    assert "has no clip 'trot' to be guided by, and there is no such file" in found and "Available: walk" in found
    assert "has no clip 'hop'. Available: walk, poses" in refused(
        character, tracks, GuideConfig(f"{folder / 'poses.glb'}:hop")
    )
    several = gambol.load(folder / "poses.glb")
    gambol.save(several, tmp_path / "several.glb", replace(character.clips["walk"], name="other"))
    found = refused(character, tracks, GuideConfig(str(tmp_path / "several.glb")))
    assert "several clips, poses, other: name one, as in " in found
    person = human()
    gambol.save(person, tmp_path / "person.glb", gait(person, gambol.analyze(person), "walk"))
    found = refused(character, tracks, GuideConfig(str(tmp_path / "person.glb")))
    assert "carry the clip over with gambol retarget first" in found
    one = Clip.from_poses(
        "one", character.clips["walk"].sample(character.skeleton, np.array([0.2])), character.skeleton
    )
    gambol.save(character, tmp_path / "one.glb", one)
    assert "is a single pose" in refused(character, tracks, GuideConfig(str(tmp_path / "one.glb")))
    with pytest.raises(GambolError, match="init and guide both name a motion"):
        AnimateConfig(init="walk", guide=GuideConfig("walk"))
    with pytest.raises(GambolError, match="scale must be from 0 to 2, got 3"):
        GuideConfig("walk", "control", 3.0)
    with pytest.raises(GambolError, match="is several actions, and a guide goes with one only"):
        prepare(character, "a dog walks, then sits", tracks, AnimateConfig(guide=GuideConfig("walk")))


@pytest.mark.parametrize("name", ["tracks", "pixels"])
def test_built_in_priors_say_who_can_do_what_they_cannot(name, character):
    prior = open_prior(name)
    found = refused(character, prior, GuideConfig("walk", "control"))
    assert found == f"the prior {name} takes no guide as control, only as start; wan-vace-1.3b, wan-vace-14b can"
    found = refused(character, prior, GuideConfig("walk", "first-frame"))
    assert found.endswith("; wan-vace-1.3b, wan-vace-14b, wan-2.2-5b can")


def test_the_catalogue_knows_who_can_be_guided(small):
    assert small["vace"].guides == PRIORS["wan-vace-1.3b"].guides == PRIORS["wan-vace-14b"].guides
    assert small["5b"].guides == PRIORS["wan-2.2-5b"].guides
    assert small["2.1"].guides == PRIORS["wan-2.1-1.3b"].guides == ("start",)
    assert guided_by("start") == list(PRIORS)


@pytest.mark.parametrize("config", [SAMPLE, SCORE], ids=["sample", "score"])
def test_control_changes_what_is_made(small, folder, character, config):
    """At scale 0 it is as without control, from the same start."""
    guide = GuideConfig(str(folder / "poses.glb"), "control")
    problem = prepare(character, SENTENCE, small["vace"], replace(config, guide=guide))
    assert len(problem.start) == 13
    found = {scale: finished(_scaled(problem, scale)).angles for scale in (0.0, 1.0)}
    bare = replace(problem, config=replace(config, guide=replace(guide, role="start"), strength=1.0))
    assert torch.equal(found[0.0], finished(bare).angles)
    assert (found[1.0] - found[0.0]).abs().max() > 1e-4


def _scaled(problem, scale):
    return replace(problem, config=replace(problem.config, guide=replace(problem.config.guide, scale=scale)))


def test_the_control_is_the_guide_as_the_cameras_of_the_videos_see_it(small, folder, character):
    """In every window, and in later stages too."""
    prior = small["vace"]
    problem = prepare(
        character, SENTENCE, prior, replace(SAMPLE, guide=GuideConfig(str(folder / "poses.glb"), "control"))
    )
    other = replace(problem.start, angles=0.3 * problem.start.angles)
    sampler = stages_of(problem)[1](other).sampler
    assert len(sampler.windows) == 2
    seen = sampler.renderer.render(problem.guide.poses(sampler.windows.frames))
    expected = prior.control(sampler.windows.cut(seen))
    torch.testing.assert_close(sampler._control.states, expected.states)
    assert not torch.allclose(seen, sampler.renderer.render(sampler.now), atol=0.05)


@pytest.mark.parametrize("config", [SAMPLE, SCORE], ids=["sample", "score"])
def test_a_control_may_show_depth(small, folder, character, config, monkeypatch):
    prior = small["vace"]
    guide = GuideConfig(str(folder / "poses.glb"), "control", control_kind="depth")
    problem = prepare(character, SENTENCE, prior, replace(config, guide=guide))
    seen, usual = [], prior.control
    monkeypatch.setattr(prior, "control", lambda video, scale: seen.append(video) or usual(video, scale))
    stage = stage_of(problem)
    stage.step(0)
    (video,) = seen
    assert torch.equal(video[..., 0], video[..., 1]) and (video.min(), video.max()) == (0, 1)
    if config is SAMPLE:
        shown = stage.sampler.renderer.render_depth(problem.guide.poses(stage.sampler.windows.frames))
        torch.testing.assert_close(video, stage.sampler.windows.cut(shown))


@pytest.mark.parametrize("config", [SAMPLE, SCORE], ids=["sample", "score"])
def test_a_control_may_show_the_pose_of_a_person(small, config, monkeypatch):
    prior, person = small["vace"], human()
    walk = gait(person, gambol.analyze(person), "walk")
    person = replace(person, clips={"walk": walk})
    guide = GuideConfig("walk", "control", control_kind="pose")
    problem = prepare(person, "a man walks", prior, replace(config, guide=guide))
    seen, usual = [], prior.control
    monkeypatch.setattr(prior, "control", lambda video, scale: seen.append(video) or usual(video, scale))
    stage = stage_of(problem)
    stage.step(0)
    (video,) = seen
    assert 0 < float((video.sum(-1) > 0).float().mean()) < 0.3, "sticks on black"
    if config is SAMPLE:
        sampler = stage.sampler
        poses = problem.guide.poses(sampler.windows.frames)
        shown = sampler.renderer.render_pose(poses, find_keypoints(person, problem.anatomy))
        torch.testing.assert_close(video, sampler.windows.cut(shown))


def test_the_pose_of_a_dog_is_refused(small, folder, character):
    guide = GuideConfig(str(folder / "poses.glb"), "control", control_kind="pose")
    with pytest.raises(GambolError, match=r"pose draws the pose of a person, and .* has not two legs .*; use depth or"):
        prepare(character, SENTENCE, small["vace"], replace(SAMPLE, guide=guide))


@pytest.mark.parametrize("version", ["vace", "5b"])
@pytest.mark.parametrize("config", [SAMPLE, SCORE], ids=["sample", "score"])
def test_videos_begin_with_the_first_frame_of_the_guide(small, folder, character, version, config, monkeypatch):
    prior, guide = small[version], GuideConfig(str(folder / "poses.glb"), "first-frame")
    seconds = 1.5 if config is SAMPLE else 1.0  # in two windows, or in one
    problem = prepare(character, SENTENCE, prior, replace(config, guide=guide, seconds=seconds))
    first, others = problem.start.angles[:1], problem.start.angles[1:]
    assert first.abs().max() > 0.1 and torch.equal(others, first.expand_as(others))
    displacement = problem.start.displacement.double().numpy()
    assert displacement @ problem.anatomy.forward > 0.1 * problem.length, "and glide as the rest pose does"
    asked = []
    usual = prior.estimates
    monkeypatch.setattr(prior, "estimates", lambda *given: asked.append(given[3]) or usual(*given))
    stage = stage_of(problem)
    stage.step(0)
    stage.step(1)
    poses = problem.guide.poses(len(problem.start))
    expected = problem.renderer.following(poses).render(poses[:1])[:, 0]
    torch.testing.assert_close(asked[0], expected, atol=0.03, rtol=0)
    assert [reference is None for reference in asked] == ([False, True] * 2 if config is SAMPLE else [False] * 2)


def test_a_guide_goes_on_as_long_as_the_videos(small, character):
    problem = prepare(character, "a dog walks", small["vace"], replace(SAMPLE, guide=GuideConfig("walk", "control")))
    plain, loop = replace(problem.start, loops=False), replace(problem.start, loops=True)
    for motion, again in ((plain, len(plain) - 1), (loop, 0)):
        guide = Guide(problem.config.guide, motion, problem.rig)
        count = len(motion)
        poses = guide.poses(count + 3)
        assert poses.shape[0] == count + 3
        torch.testing.assert_close(poses[:count], motion.world(problem.rig))
        way = motion.travel if motion.loops else torch.zeros(3)
        torch.testing.assert_close(poses[count, :, :, 3], poses[again, :, :, 3] + way, atol=1e-4, rtol=1e-4)
