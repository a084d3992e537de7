"""The live page."""

import sys
import threading
import time
import urllib.error
import urllib.request
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from character.creatures import dog

from gambol.character.anatomy import analyze
from gambol.character.rig import build_rig
from gambol.distillation.animate import prepare
from gambol.distillation.config import AnimateConfig
from gambol.distillation.stage_runner import StageRunner, StepLog
from gambol.errors import GambolError
from gambol.live import page as live_page
from gambol.live.page import LivePage, rest_after
from gambol.motion.rig_motion import RigMotion
from gambol.priors.catalogue import open_prior

FRAMES = 8


@pytest.fixture(scope="module")
def problem():
    character = dog()
    anatomy = analyze(character)
    rig = build_rig(anatomy)
    start = RigMotion.at_rest(len(rig.nodes), FRAMES, 0.5, True)
    return replace(prepare(character, "a dog is walking", open_prior("pixels"), AnimateConfig(), anatomy), start=start)


@pytest.fixture
def page(problem, monkeypatch):
    pytest.importorskip("viser")
    monkeypatch.setattr(live_page, "MOTION_INTERVAL", -1.0)
    opened = LivePage(problem, open_browser=False)
    yield opened
    opened.close()


def at(motion):
    """A run whose current motion this is."""
    return StageRunner([], motion)


def moved(motion, seed):
    angles = 0.3 * torch.randn(motion.angles.shape, generator=torch.Generator().manual_seed(seed))
    return replace(motion, angles=angles)


def step(number):
    return StepLog("fitting", 0, number, 100, {"total": 1 / number})


def until(true, seconds=10.0):
    """Whether something becomes true before long."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    return true()


def vertices_of(page):
    return np.concatenate([handle.vertices for handle in page._view._handles])


def vertices_at(page, motion, phase):
    matrices = page._maker.playback(motion).at(phase)
    return np.concatenate([mesh.vertices(matrices) for mesh in page._view.meshes])


def connect_somebody(page, monkeypatch):
    monkeypatch.setattr(page._view.server, "get_clients", lambda: {0: None})


def test_the_page_ends_when_it_is_closed_and_writes_nothing_to_the_terminal(page, capfd):
    with urllib.request.urlopen(page.url, timeout=10) as answer:
        assert answer.status == 200
        assert b"<html" in answer.read()
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(page.url.rsplit("/", 2)[0], timeout=10)
    page.close()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(page.url, timeout=2)
    assert capfd.readouterr() == ("", "")


def test_close_ends_all_threads(problem):
    pytest.importorskip("viser")
    before = set(threading.enumerate())
    page = LivePage(problem, open_browser=False)
    assert "gambol-live" in {thread.name for thread in threading.enumerate()}
    page.close()
    assert until(lambda: set(threading.enumerate()) <= before)
    page.close()
    page.show(at(problem.start), step(1))


def test_motions_come_to_the_page(page, problem, monkeypatch):
    connect_somebody(page, monkeypatch)
    still = vertices_of(page)
    assert not until(lambda: np.abs(vertices_of(page) - still).max() > 1e-5, 0.3)  # the first motion is at rest
    page.show(at(moved(problem.start, 0)), step(1))
    page.show(at(moved(problem.start, 1)), step(2))
    assert until(lambda: np.abs(vertices_of(page) - still).max() > 0.05)
    assert until(lambda: "step 2 of 100" in page._view._text.content)
    assert until(lambda: page._view._plot.visible)
    assert [len(column) for column in page._view._plot.data] == [2, 2]


def test_motions_are_not_made_after_every_step(page, problem, monkeypatch):
    monkeypatch.setattr(live_page, "MOTION_INTERVAL", 100.0)
    made = []
    run = at(problem.start)
    monkeypatch.setattr(run, "rig_motion", lambda: made.append(1) or problem.start)
    page.show(run, step(1))
    page.show(run, step(2))
    assert len(made) == 1
    page.show(run)  # the last one is always shown
    assert len(made) == 2


def test_a_paused_page_stands_still_but_shows_new_motions(page, problem, monkeypatch):
    page._view.playing = False
    connect_somebody(page, monkeypatch)
    wanted = vertices_at(page, moved(problem.start, 3), 0.0)
    page.show(at(moved(problem.start, 3)), step(1))
    assert until(lambda: np.abs(vertices_of(page) - wanted).max() < 1e-5)
    assert not until(lambda: np.abs(vertices_of(page) - wanted).max() > 1e-5, 0.2)


def test_a_person_can_move_the_play_head(page, problem, monkeypatch):
    page._view.playing = False
    motion = moved(problem.start, 4)
    page.show(at(motion), step(1))
    connect_somebody(page, monkeypatch)
    assert until(lambda: np.abs(vertices_of(page) - vertices_at(page, motion, 0.0)).max() < 1e-5)
    page._view._position._impl.value = 0.4
    for callback in page._view._position._impl.update_cb:
        callback(SimpleNamespace(client=object()))
    assert until(lambda: np.abs(vertices_of(page) - vertices_at(page, motion, 0.4)).max() < 1e-5)
    page._view._position.value = 0.9  # as the page itself does while it plays
    assert page._view.head.phase == 0.4


def test_motions_with_nan_are_not_shown(page, problem, monkeypatch):
    connect_somebody(page, monkeypatch)
    lost = replace(problem.start, angles=torch.full_like(problem.start.angles, torch.nan))
    page.show(at(lost), replace(step(7), trouble="the loss became nan"))
    assert until(lambda: "the loss became nan" in page._view._text.content)
    assert np.isfinite(vertices_of(page)).all()
    page.show(at(moved(problem.start, 2)), step(8))
    still = vertices_of(page)
    assert until(lambda: np.abs(vertices_of(page) - still).max() > 0.05)


def test_the_run_does_not_wait_for_a_slow_page(page, problem, monkeypatch):
    begun, go_on, gave_up = threading.Event(), threading.Event(), threading.Event()

    def slow(self, motion):
        begun.set()
        if not go_on.wait(20):
            gave_up.set()
        return real(self, motion)

    real = live_page.PlaybackMaker.playback
    monkeypatch.setattr(live_page.PlaybackMaker, "playback", slow)
    connect_somebody(page, monkeypatch)
    page.show(at(moved(problem.start, 0)), step(1))
    assert begun.wait(10)
    for number in range(2, 1002):
        page.show(at(moved(problem.start, 0)), step(number))
    assert not gave_up.is_set()
    go_on.set()
    assert until(lambda: "step 1,001 of 100" in page._view._text.content)


def test_nothing_is_drawn_for_nobody(page, problem, monkeypatch):
    monkeypatch.setattr(page._view, "draw", lambda *_: pytest.fail("drawn"))
    page.show(at(moved(problem.start, 0)), step(1))
    assert until(lambda: page._history.latest is not None)
    assert not until(lambda: not page._player.is_alive(), 0.3)


def test_slow_frames_leave_the_processor_to_the_optimisation():
    assert rest_after(0.001) == pytest.approx(1 / 30 - 0.001)
    assert rest_after(0.03) == pytest.approx(0.09)
    assert rest_after(9.0) == 0.25


def test_browser_opens_where_there_is_a_display(problem, monkeypatch):
    pytest.importorskip("viser")
    opened: list[str] = []
    monkeypatch.setattr(live_page.webbrowser, "open", opened.append)
    monkeypatch.setattr(live_page, "_has_display", lambda: True)
    page = LivePage(problem)
    assert until(lambda: opened == [page.url])
    page.close()
    monkeypatch.setattr(live_page, "_has_display", lambda: False)
    LivePage(problem).close()
    assert len(opened) == 1


def test_two_pages_have_two_ports(page, problem):
    other = LivePage(problem, open_browser=False)
    assert other.url.split("/")[2] != page.url.split("/")[2]
    other.close()


def test_without_viser_it_says_how_to_get_it(problem, monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    monkeypatch.delitem(sys.modules, "gambol.live.server", raising=False)
    with pytest.raises(GambolError, match=r"pip install 'gambol\[watch\]'"):
        LivePage(problem)
