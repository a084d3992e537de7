"""The live page."""

import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from dataclasses import replace

import numpy as np
import pytest
import torch
from character.creatures import dog

from gambol.character.anatomy import study
from gambol.character.rig import build_rig
from gambol.distillation import watch as page
from gambol.distillation.config import DistillConfig
from gambol.distillation.distill import Scene
from gambol.distillation.play import Moment
from gambol.distillation.watch import Watch
from gambol.errors import GambolError
from gambol.motion.draft import Draft
from gambol.priors.prior import Prompt

FRAMES = 8


@pytest.fixture(scope="module")
def scene():
    character = dog()
    anatomy = study(character)
    rig = build_rig(anatomy)
    start = Draft.at_rest(len(rig.nodes), FRAMES, 0.5, True)
    prompt = Prompt("a dog is walking", torch.zeros(1, 1, 1))
    unused: dict = dict.fromkeys(("prior", "negative", "intent", "holds", "film_set"))
    return Scene(character, anatomy, rig, prompt=prompt, config=DistillConfig(), start=start, **unused)


@pytest.fixture
def watch(scene):
    pytest.importorskip("viser")
    with Watch(scene, open_browser=False, port=0) as opened:
        yield opened


def moved(draft, seed):
    angles = 0.3 * torch.randn(draft.angles.shape, generator=torch.Generator().manual_seed(seed))
    return replace(draft, angles=angles)


def moment(step):
    return Moment("fitting", 0, step, 100, {"total": 1 / step})


def until(true, seconds=10.0):
    """Whether something becomes true before long."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    return true()


def vertices_of(watch):
    return np.concatenate([mesh.vertices for mesh in watch._screen._meshes])


def somebody_looks(watch, monkeypatch):
    monkeypatch.setattr(watch._screen.server, "get_clients", lambda: {0: None})


def test_a_page_for_this_machine_alone_and_no_word_on_the_terminal(watch, capfd):
    assert watch.url.startswith("http://127.0.0.1:")
    with urllib.request.urlopen(watch.url, timeout=10) as answer:
        assert answer.status == 200
        assert b"<html" in answer.read()
    watch.close()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(watch.url, timeout=2)
    assert capfd.readouterr() == ("", "")


def test_close_ends_all_threads(scene):
    pytest.importorskip("viser")
    before = set(threading.enumerate())
    watch = Watch(scene, open_browser=False, port=0)
    assert "gambol-watch" in {thread.name for thread in threading.enumerate()}
    watch.close()
    assert until(lambda: set(threading.enumerate()) <= before)
    watch.close()
    watch.show(scene.start, moment(1))


def test_drafts_come_to_the_page(watch, scene, monkeypatch):
    somebody_looks(watch, monkeypatch)
    still = vertices_of(watch)
    assert not until(lambda: np.abs(vertices_of(watch) - still).max() > 1e-5, 0.3)  # the first draft is at rest
    watch.show(moved(scene.start, 0), moment(1))
    watch.show(moved(scene.start, 1), moment(2))
    assert until(lambda: np.abs(vertices_of(watch) - still).max() > 0.05)
    assert until(lambda: "step 2 of 100" in watch._screen._text.content)
    assert until(lambda: watch._screen._plot.visible)
    assert [len(column) for column in watch._screen._plot.data] == [2, 2]


def test_paused_page_stands_still_but_shows_what_is_new(watch, scene, monkeypatch):
    watch._screen.playing = False
    somebody_looks(watch, monkeypatch)
    reel = watch._maker.reel(moved(scene.start, 3))
    wanted = np.concatenate([piece.vertices(reel.rows(0.0, 0.0)) for piece in watch._screen.pieces])
    watch.show(moved(scene.start, 3), moment(1))
    assert until(lambda: np.abs(vertices_of(watch) - wanted).max() < 1e-5)
    assert not until(lambda: np.abs(vertices_of(watch) - wanted).max() > 1e-5, 0.2)


def test_numbers_out_of_hand_are_not_shown(watch, scene, monkeypatch):
    somebody_looks(watch, monkeypatch)
    lost = replace(scene.start, angles=torch.full_like(scene.start.angles, torch.nan))
    watch.show(lost, replace(moment(7), trouble="the loss became nan"))
    assert until(lambda: "the loss became nan" in watch._screen._text.content)
    assert np.isfinite(vertices_of(watch)).all()
    watch.show(moved(scene.start, 2), moment(8))
    still = vertices_of(watch)
    assert until(lambda: np.abs(vertices_of(watch) - still).max() > 0.05)


def test_work_does_not_wait_for_a_slow_page(watch, scene, monkeypatch):
    begun, go_on, gave_up = threading.Event(), threading.Event(), threading.Event()

    def slow(self, draft):
        begun.set()
        if not go_on.wait(20):
            gave_up.set()
        return real(self, draft)

    real = page.ReelMaker.reel
    monkeypatch.setattr(page.ReelMaker, "reel", slow)
    somebody_looks(watch, monkeypatch)
    watch.show(moved(scene.start, 0), moment(1))
    assert begun.wait(10)
    for step in range(2, 1002):
        watch.show(moved(scene.start, 0), moment(step))
    assert not gave_up.is_set()
    go_on.set()
    assert until(lambda: "step 1,001 of 100" in watch._screen._text.content)


def test_nothing_is_drawn_for_nobody(watch, scene, monkeypatch):
    monkeypatch.setattr(watch._screen, "draw", lambda *_: pytest.fail("drawn"))
    watch.show(moved(scene.start, 0), moment(1))
    assert until(lambda: watch._journal.last is not None)
    assert not until(lambda: not watch._player.is_alive(), 0.3)


def test_big_meshes_and_slow_machines_get_fewer_frames(watch):
    screen = watch._screen
    usual = screen.rest_after(0.001)
    assert usual == pytest.approx(1 / 30 - 0.001)
    assert screen.rest_after(0.03) == pytest.approx(0.09)  # three quarters of the time are the work's
    assert screen.rest_after(9.0) <= 0.25
    screen._interval = 12 * 100_000 / page.BYTES_A_SECOND
    assert screen.rest_after(0.001) == pytest.approx(0.099)


def test_browser_opens_where_there_is_a_screen(scene, monkeypatch):
    pytest.importorskip("viser")
    opened: list[str] = []
    monkeypatch.setattr(page.webbrowser, "open", opened.append)
    monkeypatch.setattr(page, "_has_screen", lambda: True)
    with Watch(scene, port=0) as watch:
        assert until(lambda: opened == [watch.url])
    monkeypatch.setattr(page, "_has_screen", lambda: False)
    Watch(scene, port=0).close()
    assert len(opened) == 1


def test_ports(scene, monkeypatch):
    pytest.importorskip("viser")
    with socket.socket() as other:
        other.bind((page.HOST, 0))
        other.listen()
        taken = other.getsockname()[1]
        with pytest.raises(GambolError, match=f"port {taken} is taken"):
            Watch(scene, open_browser=False, port=taken)
        monkeypatch.setattr(page, "PORTS", range(taken, taken + 1))
        with Watch(scene, open_browser=False) as watch:
            assert not watch.url.endswith(f":{taken}")
    with pytest.raises(GambolError, match="from 0 to 65535, got 70000"):
        Watch(scene, open_browser=False, port=70000)


def test_without_viser_it_says_how_to_get_it(scene, monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(GambolError, match=r"pip install 'gambol\[watch\]'"):
        Watch(scene)
