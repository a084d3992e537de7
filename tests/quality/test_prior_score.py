"""What a prior makes of a clip: how it is shown to it, and what its answers are turned into."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from assets import asset_files, needs_assets
from character.creatures import dog, fish, human
from distillation.small_gaussian_views import SMALL_SPLATS

from gambol import Clip, GambolError, analyze, load
from gambol.character.clip import Track
from gambol.character.skeleton import Pose
from gambol.creatures.gaits import gait
from gambol.creatures.gaits.gait import plan_gait
from gambol.motion.export import poses_from_world
from gambol.priors import gaussian_views
from gambol.priors.pixels.clip_videos import kinds_of, words_for
from gambol.priors.pixels.data.clips import cycles_of
from gambol.priors.pixels.prior import PixelPrior
from gambol.priors.prior import Prompt, VideoFormat, VideoPrior
from gambol.priors.recognise import log_errors
from gambol.priors.schedule import FlowSchedule
from gambol.quality.normalized_clip import normalize_clip
from gambol.quality.prior_score import PriorScore, score_clip

MAKERS = {"dog": dog, "human": human, "fish": fish}


@cache
def analyzed(name):
    character = MAKERS[name]() if name in MAKERS else load(name)
    return character, analyze(character)


@cache
def pixels():
    return PixelPrior.load()


def clip_of(name, action):
    character, anatomy = analyzed(name)
    return normalize_clip(character, gait(character, anatomy, action), anatomy)


def walk_of(name, action, begin=0.0, strides=1, in_place=True, keys=48):
    """Some strides of a gait that begin anywhere, as a clip."""
    character, anatomy = analyzed(name)
    plan = plan_gait(anatomy, action)
    cycles = begin + np.arange(keys * strides + 1) / keys
    world = plan.world(cycles)
    if in_place:
        world[..., :3, 3] -= (plan.path.stride * cycles)[:, None, None] * anatomy.forward
    poses = poses_from_world(character.skeleton, plan.rig.nodes, world)
    clip = Clip.from_poses("clip", poses, character.skeleton, keys / plan.period)
    return normalize_clip(character, clip, anatomy)


def shaken(normalized, degrees=15.0):
    """The same with joints that tremble."""
    character, clip = normalized.character, normalized.clip
    times = np.linspace(clip.start, clip.end, 33)
    pose = clip.sample(character.skeleton, times)
    noise = np.random.default_rng(0).normal(size=(33, len(character.skeleton), 4)) * np.radians(degrees) / 2
    noise[..., 0], noise[-1] = 0.0, noise[0]
    rotation = pose.rotation + noise
    rotation /= np.linalg.norm(rotation, axis=-1, keepdims=True)
    trembling = Pose(pose.translation, rotation, pose.scale)
    shaken = Clip.from_poses("shaken", trembling, character.skeleton, 32 / clip.duration)
    return normalize_clip(character, shaken, normalized.anatomy)


class Stub(VideoPrior):
    """Sees, whatever it is shown, the video itself, off by a number that goes with the sentence."""

    name, schedule, reference = "stub", FlowSchedule(), "first"

    def __init__(self, off, frames=(16,), size=(60, 60), fps=0):
        self.off, self.format = off, VideoFormat(frames, (size,), fps)
        self.shown = []

    def embed(self, text):
        return Prompt(text, torch.zeros(1))

    def encode(self, video):
        self.shown.append(video)
        return 2 * video - 1

    def decode(self, latents):
        return (latents + 1) / 2

    def estimates(self, noisy, level, prompts, reference=None):
        assert reference is None or len(reference) == len(noisy)
        clean = self.encode(self.shown[0])
        return tuple(clean + self.off[prompt.text] for prompt in prompts)


class StickStub(Stub):
    """Sees stick figures and has a vocabulary, as the pixel prior does."""

    reference, vocabulary, clip_videos = "rest", PixelPrior.vocabulary, PixelPrior.clip_videos
    stage, in_place = PixelPrior.stage, PixelPrior.in_place


def latents_of(normalized, prior):
    return prior.clip_videos(normalized.character, normalized.anatomy, normalized.clip, normalized.contacts).latents


@pytest.mark.parametrize(
    ("name", "action", "kind"),
    [
        ("dog", "walk", "steps"),
        ("human", "run", "steps"),
        ("dog", "idle", "stands"),
        ("human", "turn left", "turns"),
    ],
)
def test_feet_and_way_say_what_a_clip_can_be(name, action, kind):
    assert kinds_of(clip_of(name, action).contacts) == (kind,)


def test_what_has_no_feet_floats_and_what_ends_elsewhere_is_a_deed():
    (fish, fish_anatomy), (dog, dog_anatomy) = analyzed("fish"), analyzed("dog")
    times, angle = np.linspace(0, 1, 17), 0.4 * np.sin(np.linspace(0, 2 * np.pi, 17))
    quaternions = np.stack([np.cos(angle / 2), 0 * angle, np.sin(angle / 2), 0 * angle], 1)
    tail = int(fish_anatomy.body.nodes[fish_anatomy.parts.index("tail")])
    assert kinds_of(
        normalize_clip(fish, Clip("swim", (Track(tail, "rotation", times, quaternions),)), fish_anatomy).contacts
    ) == ("floats",)
    hips = int(dog_anatomy.body.nodes[0])
    over = Track(hips, "rotation", np.array([0.0, 1.0]), np.array([[1.0, 0, 0, 0], [0.7, 0, 0, 0.7]]))
    assert kinds_of(normalize_clip(dog, Clip("die", (over,)), dog_anatomy).contacts) == ("once",)
    slowly = replace(over, times=np.array([0.0, 20.0]))
    assert kinds_of(normalize_clip(dog, Clip("die", (slowly,)), dog_anatomy).contacts) == ()  # 16 frames cannot show it


@pytest.mark.parametrize(("name", "action"), [("dog", "walk"), ("human", "run")])
def test_the_prior_is_shown_the_same_cycle_wherever_a_clip_begins(name, action):
    """One stride from the touchdown of the left hind foot, on the spot, however many there are."""
    prior = StickStub({})
    true = latents_of(walk_of(name, action), prior)
    moved = (true - true.mean(1, keepdim=True)).square().mean()
    for begin, strides, in_place in ((0.3, 1, True), (0.8, 2, True), (0.55, 1, False)):
        other = latents_of(walk_of(name, action, begin, strides, in_place), prior)
        assert (other - true).square().mean() < 0.03 * moved


def test_nothing_to_show():
    character, anatomy = analyzed("dog")
    hips = int(anatomy.body.nodes[0])
    pose = Clip("pose", (Track(hips, "rotation", np.array([0.0]), np.array([[1.0, 0, 0, 0]])),))
    assert score_clip(normalize_clip(character, pose, anatomy), StickStub({})) is None


def test_a_body_that_never_comes_down_does_not_leap():
    """It was called a leap: nothing is lower than the mean of nothing."""
    character, anatomy = analyzed("dog")
    with pytest.raises(GambolError, match="which is no jump"):
        cycles_of(character, anatomy, gait(character, anatomy, "idle"), "jump")


def test_errors_are_those_of_the_estimates():
    videos = torch.rand(2, 3, 4, 5, 3)
    prior = Stub({"a": 0.5, "b": 0.0, "": 2.0})
    prior.shown = [(videos + 1) / 2]
    prompts = [prior.embed(text) for text in ("a", "b", "")]
    weights = torch.full((2, 3, 4, 5, 1), 3.0)
    errors = log_errors(prior, videos, prompts, (0.3, 0.7, 0.9), torch.Generator(), weights=weights)
    assert errors.shape == (3, 3, 2)
    torch.testing.assert_close(errors[:, 0, 0].exp(), 3 * torch.tensor([0.25, 0.0, 4.0]), atol=1e-5, rtol=1e-5)


def test_the_words_with_the_least_error_come_first():
    off = {"stand": 0.5, "walk": 0.3, "trot": 0.2, "run": 0.4, "hop": 0.5, "jump": 0.6}
    score = score_clip(walk_of("dog", "walk"), StickStub(off))
    assert set(score.words) == set(words_for("steps", StickStub(off)))
    assert score.words[:2] == ("trot", "walk") and score.taken_for == "trot"
    assert sum(score.shares) == pytest.approx(1.0) and list(score.shares) == sorted(score.shares, reverse=True)
    assert score.text.startswith("'trot' (100%); plausibility ")
    worse = score_clip(walk_of("dog", "walk"), StickStub({word: 2 * value for word, value in off.items()}))
    assert worse.plausibility == pytest.approx(score.plausibility / 4, rel=1e-4)
    assert worse.shares == pytest.approx(score.shares, abs=1e-6)  # only their ratios count


def test_any_prompts_can_be_asked_about():
    off = {"a dog is walking": 0.30, "a dog trots": 0.31, "a dog": 0.32}
    clip = walk_of("dog", "walk")
    score = score_clip(clip, StickStub(off), ["a dog", "a dog trots", "a dog is walking", "a dog"])
    assert score.words == ("a dog is walking", "a dog trots", "a dog")
    assert score.share_of("trot") == score.shares[1]
    assert score.share_of("run") is None and score.share_of(None) is None
    with pytest.raises(GambolError, match="at least one prompt"):
        score_clip(clip, StickStub(off), [])
    with pytest.raises(GambolError, match="the prior 'stub' has an open vocabulary"):
        score_clip(clip, Stub(off))
    with pytest.raises(GambolError, match="no action was recognised"):
        score_clip(clip, pixels(), ["a green dog"])


def test_words_that_mean_the_same_share():
    score = PriorScore("stub", ("walk", "a dog strolls", "run"), (0.5, 0.3, 0.2), 1.0)
    assert score.share_of("walk") == pytest.approx(0.8)


def test_other_priors_see_the_character_as_it_is_on_its_way(monkeypatch):
    monkeypatch.setattr(gaussian_views, "SPLATS", SMALL_SPLATS)
    prior = Stub({"a": 0.5, "b": 0.1}, frames=(5, 9), size=(40, 56), fps=12)
    score = score_clip(walk_of("dog", "walk"), prior, ["a", "b"])
    assert score.taken_for == "b"
    video = prior.shown[0]
    assert video.shape == (2, 9, 40, 56, 3)  # what loops goes on for as long as the longest videos are
    assert video.diff(dim=1).abs().mean((2, 3, 4)).min() > 1e-3  # both the legs and the ground move


@pytest.mark.parametrize("action", ["trot", "idle"])
def test_the_pixel_prior_knows_a_fox_and_a_broken_one(action):
    clip = clip_of("fox", action)
    score = score_clip(clip, pixels())
    assert score.prior == "pixels" and score.taken_for == {"idle": "stand"}.get(action, action)
    if action == "trot":
        broken = score_clip(shaken(clip), pixels())
        assert broken is None or broken.plausibility < 0.7 * score.plausibility


@needs_assets
def test_a_real_fox_runs():
    path = next((path for path in asset_files() if path.name == "Fox.glb"), None)
    if path is None:
        pytest.skip("no fox among the real characters")
    fox = load(path)
    score = score_clip(normalize_clip(fox, fox.clips["Run"]), pixels())
    assert score.taken_for == "run"
