"""Deformation fields, and their distillation by priors whose answer is known."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from character.creatures import dog, human
from distillation.knowing_prior import KnowingPrior
from distillation.small_gaussian_views import FRAMES, SECONDS, SMALL_SPLATS

from gambol import analyze
from gambol.bench.body_motion import FRAMES as MOMENTS
from gambol.bench.deformation import DeformationConfig, DeformationDistillation, deform
from gambol.bench.deformation.bodies import GaussianBody, StrokeBody, moved_body
from gambol.bench.deformation.field import DeformationField, FieldConfig
from gambol.bench.measures import measure
from gambol.character.rig import build_rig
from gambol.distillation.animate import glide_of, prepare
from gambol.distillation.config import AnimateConfig
from gambol.distillation.score_distillation import ScoreConfig
from gambol.errors import GambolError
from gambol.motion.rig_motion import RigMotion
from gambol.priors import gaussian_views
from gambol.priors.catalogue import open_prior
from gambol.priors.pixels.figure import draw_stick_figure
from gambol.priors.pixels.network import NetworkConfig, PixelNetwork
from gambol.priors.pixels.prior import PixelPrior
from gambol.priors.pixels.stage import STAGES
from gambol.priors.pixels.views import StickViews
from gambol.priors.prior import VideoFormat
from gambol.priors.score import DistillationSchedule, Ramp
from gambol.priors.tracks.prior import TrackPrior

FIELDS = [FieldConfig("grid", levels=3, table=10), FieldConfig("waves", levels=3)]
PLAN = DistillationSchedule(Ramp(0.9, 0.3), guidance=Ramp(1, 1))


def score(steps, **settings):
    """Settings of AKD."""
    return AnimateConfig(method="score", foot_lock=None, score=ScoreConfig(steps=steps, plan=PLAN), **settings)


def small_field(config, loops, seed=0):
    """A field whose last layer is not zero."""
    random = torch.Generator().manual_seed(seed)
    field = DeformationField(config, torch.tensor([-1.0, -1.0, -1.0]), 2.0, 0.5, loops, random)
    with torch.no_grad():
        for values in field.parameters():
            values.add_(0.5 * torch.randn(values.shape, generator=random))
    return field


@pytest.mark.parametrize("config", FIELDS, ids=["grid", "waves"])
def test_a_new_field_moves_nothing(config):
    field = DeformationField(config, torch.zeros(3), 1.0, 1.0, True, torch.Generator())
    assert not field(torch.rand(5, 3), torch.rand(5)).any()


@pytest.mark.parametrize("config", FIELDS, ids=["grid", "waves"])
def test_a_field_is_continuous_and_of_a_loop_periodic(config):
    points = 2 * torch.rand(50, 3) - 1
    start, end, nearly = (torch.full((50,), time) for time in (0.0, 1.0, 1 - 1e-5))
    loop, clip = (small_field(config, loops) for loops in (True, False))
    size = loop(points, start).norm(dim=1).mean()
    assert size > 0.05
    assert (loop(points, start) - loop(points, end)).norm(dim=1).max() < 1e-4 * size
    assert (loop(points, start) - loop(points, nearly)).norm(dim=1).max() < 1e-2 * size
    assert (clip(points, start) - clip(points, end)).norm(dim=1).mean() > 0.1 * size
    near = points + 1e-5
    assert (loop(points, start) - loop(near, start)).norm(dim=1).max() < 1e-2 * size


def test_a_grid_is_linear_between_its_corners():
    field = small_field(FieldConfig("grid", levels=1, coarsest=4, table=12), loops=False)
    low, high = torch.tensor([[0.05, 0.3, 0.55, 0.3]]), torch.tensor([[0.2, 0.3, 0.55, 0.3]])  # in one cell
    values = [field.encoding(place) for place in (low, (low + high) / 2, high)]
    torch.testing.assert_close(values[1], (values[0] + values[2]) / 2)


@pytest.mark.parametrize("stage", ["none", "shadow"])
@pytest.mark.parametrize("make", [dog, human])
def test_strokes_in_pieces_look_as_whole_ones_at_rest(make, stage):
    views = StickViews(draw_stick_figure(analyze(make())), 2, 40, stage)
    body = StrokeBody(views)
    still = body.rest.expand(3, -1, -1)
    pictures = body.render(still, torch.tensor([1]))
    torch.testing.assert_close(pictures[0, 0], views.rest_images()[1], atol=2e-5, rtol=0)
    bent = still.clone().requires_grad_()
    body.render(bent, torch.tensor([0])).square().sum().backward()
    assert (bent.grad.unflatten(1, (-1, body.corners)).abs().sum((0, 1, 3)) > 0).all(), "each corner is seen"


@pytest.fixture
def gaussians(monkeypatch):
    """Small views of a dog as Gaussians."""
    monkeypatch.setattr(gaussian_views, "SPLATS", SMALL_SPLATS)
    character = dog()
    anatomy = analyze(character)
    rig = build_rig(anatomy)
    start = RigMotion.at_rest(len(rig.nodes), FRAMES, SECONDS, False)
    return gaussian_views.gaussian_views(character, anatomy, rig, (40, 56), start, 2), start.world(rig)


def test_gaussians_that_are_not_moved_look_as_at_rest(gaussians):
    views, poses = gaussians
    body = moved_body(views)
    assert isinstance(body, GaussianBody)
    still = body.render(body.rest.expand(len(poses), -1, -1), torch.tensor([1]))
    torch.testing.assert_close(still, views.render(poses, torch.tensor([1])))


class Lifting(KnowingPrior):
    """Wants strokes where one field of displacements leads them."""

    def __init__(self, character, moves, size=40):
        views = StickViews(draw_stick_figure(analyze(character)), 6, size)
        body = StrokeBody(views)
        videos = body.render(body.rest + moves(body.rest, views.length), torch.arange(6))
        super().__init__([(rest, "walking", video) for rest, video in zip(views.rest_images(), videos, strict=True)])
        self.format = VideoFormat(frames=(16,), sizes=((size, size),), fps=0)
        self.stage, self.in_place = "none", True

    def _recall(self, text, rest):
        return super()._recall("walking" if text else "", rest)


def sways(points, length):
    """Everything goes up and down, a fifth of a leg."""
    height = 0.2 * length * torch.sin(2 * torch.pi * torch.arange(16) / 16)
    return height[:, None, None] * torch.tensor([0.0, 1.0, 0.0])


@pytest.mark.parametrize("config", FIELDS, ids=["grid", "waves"])
def test_a_field_moves_a_dog_as_its_prior_wants(config):
    character = dog()
    anatomy = analyze(character)
    lr = 0.003 if config.encoding == "grid" else 0.01
    settings = DeformationConfig(config, even=0.001, elastic=0.001, smooth=0.01, lr=lr)
    prior, done = Lifting(character, sways), []
    motion = deform(character, "a dog is walking", prior, score(120), settings, lambda *log: done.append(log))
    assert [number for number, _ in done] == list(range(1, 121)) and done[-1][1]["total"] < done[0][1]["total"]
    wanted = 0.2 * draw_stick_figure(anatomy).leg / anatomy.height * np.sin(2 * np.pi * np.arange(MOMENTS) / MOMENTS)
    risen = (motion.strokes - motion.rest)[..., 1].mean((1, 2))
    assert np.abs(risen - wanted).max() < 0.3 * wanted.max()
    skin = (motion.vertices - motion.neutral)[..., 1].mean(1)
    assert np.abs(skin - wanted).max() < 0.4 * wanted.max(), "the skin goes along"
    assert motion.loops and motion.vertices.shape == (MOMENTS, *motion.neutral.shape)
    way = np.linalg.norm(glide_of(anatomy, AnimateConfig(), motion.seconds)) / anatomy.height
    np.testing.assert_allclose(motion.travel, (0, 0, way), atol=1e-6)
    assert measure(motion)["stretch_mean"] < 10


def untrained(stage):
    """A prior of pixels with random weights."""
    torch.manual_seed(0)
    network = PixelNetwork(NetworkConfig(size=20, patch=5, fine=16, local=1, width=32, depth=2, heads=2))
    network.stages = STAGES
    return PixelPrior(network, stage)


@pytest.mark.parametrize("stage", STAGES)
def test_it_goes_on_where_it_stopped(stage):
    """On every stage of the pixel prior; on a ground it sees the trajectory."""
    problem = prepare(dog(), "a dog is walking", untrained(stage), score(4))
    whole, first, second = (DeformationDistillation(problem, DeformationConfig()) for _ in range(3))
    losses = [whole.step() for _ in range(4)]
    first.step(), first.step()
    second.load(first.state())
    assert [second.step(), second.step()] == losses[2:] and second.done == 4
    assert all(np.isfinite(value) for log in losses for value in log.values())
    motions = [each.body_motion() for each in (whole, second)]
    np.testing.assert_array_equal(motions[0].vertices, motions[1].vertices)
    assert np.abs(motions[0].vertices - motions[0].neutral).max() > 0
    travel = problem.anatomy.height * motions[0].travel[2]
    glide = np.linalg.norm(glide_of(problem.anatomy, problem.config, problem.start.seconds))
    assert travel == pytest.approx(glide, rel=1e-5)
    seen = (whole.way[-1] - whole.way[0]).norm()
    assert float(seen) == pytest.approx(0 if stage == "none" else glide * 15 / 16, rel=1e-5)
    with pytest.raises(ValueError, match="steps are not from 0 to 4"):
        second.load({**first.state(), "done": torch.tensor(5)})


def test_a_prior_of_tracks_is_refused():
    problem = prepare(dog(), "a dog is walking", TrackPrior.load(), score(4))
    with pytest.raises(GambolError, match="tracks sees none"):
        DeformationDistillation(problem, DeformationConfig())


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("model", ["cogvideox", "wan with pictures"])
def test_video_models_move_gaussians(model, loops, tmp_path, monkeypatch):
    """Thirteen frames are two windows of the prior's nine."""
    tiny = pytest.importorskip("priors.tiny_models")
    monkeypatch.setattr(gaussian_views, "SPLATS", SMALL_SPLATS)
    write, version = {"cogvideox": (tiny.write_cogvideox, "2b"), "wan with pictures": (tiny.write_wan, "5b")}[model]
    prior = open_prior(str(write(tmp_path / "tiny", version)))
    size = (32, 48) if model == "cogvideox" else (32, 64)
    prior.format = replace(prior.format, sizes=(size,), frames=(9,), fps=8)
    settings = replace(score(3, loop=loops, negative="a meadow"), seconds=1.625 if loops else 1.5)
    problem = prepare(dog(), "a small brown dog runs", prior, settings)
    distillation = DeformationDistillation(problem, DeformationConfig())
    assert isinstance(distillation.body, GaussianBody) and len(distillation.windows) == 2 and len(problem.start) == 13
    losses = [distillation.step() for _ in range(3)]
    assert all(np.isfinite(value) for log in losses for value in log.values())
    motion = distillation.body_motion()
    assert np.isfinite(motion.vertices).all() and motion.loops == loops
    away = motion.vertices - motion.neutral
    assert np.abs(away - away.mean(1, keepdims=True)).max() > 0
    assert motion.travel[2] > 0.1, "the trajectory that is given"
    assert all(value is None or np.isfinite(value) for value in measure(motion).values())
