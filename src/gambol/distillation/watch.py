"""A live page of a distillation: the character does what the current draft says while the work goes on.

The work only leaves its newest draft here. One thread of the page's own takes it from time to time, and moves the
vertices that browsers show. Only this file knows viser (`pip install 'gambol[watch]'`).
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import webbrowser
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import cycle
from math import cos, radians, sin
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from gambol.distillation.distill import Scene
from gambol.distillation.journal import Curves, Journal
from gambol.distillation.play import Moment
from gambol.distillation.reel import FRAMES_A_SECOND, Page, Piece, Playhead, Reel, ReelMaker, about_y, pieces_of
from gambol.errors import GambolError
from gambol.motion.draft import Draft

if TYPE_CHECKING:
    import viser

Array = np.ndarray

HOST = "127.0.0.1"
"""The page is for whoever sits here, not for the network."""
PORTS = range(8080, 8100)
"""Tried one after the other if none is asked for."""
PAUSE = 0.5
"""Between updates by the work [s]."""
IDLE = 0.2
"""Between looks for a browser while there is none [s]."""
BYTES_A_SECOND = 12e6
"""Of vertices: 33,000 of them at 30 frames a second, fewer frames beyond that."""
LEISURE = 3.0
"""A frame that took so long is followed by so many times that of rest: what counts is the work."""
SLOWEST = 4.0
"""Frames a second, whatever the two lines above say."""
TILE = 0.25
"""Side of a square on the ground, as a share of the character's longest side."""
AZIMUTH, ELEVATION, DISTANCE, FIELD_OF_VIEW = -42.0, 16.0, 2.3, 35.0
"""Of the first view: three-quarter, as `gambol render` has it [degrees, and the character's longest side]."""
INKS = ("#d9480f", "#1971c2", "#2f9e44", "#9c36b5", "#e8a200", "#0c8599", "#868e96", "#c2255c")


class Watch:
    """The page. `show` is called after every step; it only notes what is new, so it costs the work nothing."""

    def __init__(self, scene: Scene, open_browser: bool = True, port: int | None = None):
        """port: the first free one from 8080 on if not given; 0 for any."""
        module = _viser()
        pieces = pieces_of(scene.character)
        page = Page.of(scene.character, scene.anatomy, scene.rig)
        self._maker = ReelMaker(scene.character, scene.rig, page)
        self._journal = Journal(scene.prompt.text)
        self._draft, self._moments = scene.start, deque[Moment]()
        self._closing = threading.Event()
        reel = self._maker.reel(scene.start)
        with _silently():
            server = module.ViserServer(HOST, _free_port(port), label="gambol", verbose=False)
        self.url = f"http://{HOST}:{server.get_port()}"
        self._screen = Screen(server, pieces, reel)
        self._screen.write(self._journal)
        self._player = threading.Thread(target=self._play, args=(reel,), name="gambol-watch", daemon=True)
        self._player.start()
        if open_browser and _has_screen():
            threading.Thread(target=webbrowser.open, args=(self.url,), name="gambol-browser", daemon=True).start()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def show(self, draft: Draft, moment: Moment | None) -> None:
        """This is how far the work has come. The draft must not be written to afterwards."""
        self._draft = draft
        if moment:
            self._moments.append(moment)

    def close(self) -> None:
        """End the page and its threads; a second time does nothing."""
        if self._closing.is_set():
            return
        self._closing.set()
        self._player.join(timeout=5.0)
        with _silently():
            self._screen.server.stop()

    def _play(self, reel: Reel) -> None:
        head, shown, read, rest, before = Playhead(), self._draft, -PAUSE, 0.0, monotonic()
        while not self._closing.wait(rest):
            now = monotonic()
            elapsed, before, rest = now - before, now, IDLE
            fresh = now - read >= PAUSE
            if fresh:
                read = now
                self._read_moments()
            if not self._screen.server.get_clients():
                continue
            if fresh:
                self._screen.write(self._journal)
                newest = self._draft
                fresh = newest is not shown and _is_sound(newest)
                if fresh:
                    shown, reel = newest, self._maker.reel(newest)
            if self._screen.playing:
                head.advance(reel, min(elapsed, 1.0) * self._screen.speed)
            if self._screen.playing or fresh:
                self._screen.draw(reel, head)
            rest = self._screen.rest_after(monotonic() - now)

    def _read_moments(self) -> None:
        while self._moments:
            self._journal.note(self._moments.popleft())


def _is_sound(draft: Draft) -> bool:
    """Numbers that got out of hand are not for show; the work goes back by itself."""
    return all(bool(part.isfinite().all()) for part in (draft.angles, draft.root_translation, draft.root_angles))


class Screen:
    """What a browser shows: the meshes, the ground, and a panel with text, controls and curves."""

    def __init__(self, server: viser.ViserServer, pieces: list[Piece], reel: Reel):
        self.server, self.pieces, self.playing = server, pieces, True
        count = sum(piece.skinning.shape[0] for piece in pieces)
        self._interval = max(1 / FRAMES_A_SECOND, 12 * count / BYTES_A_SECOND)
        """Between frames [s]."""
        self._set_up_view(reel)
        gui = server.gui
        gui.configure_theme(show_logo=False, show_share_button=False, control_width="medium")
        self._text = gui.add_html("")
        self._button = gui.add_button("Pause")
        self._slider = gui.add_slider("Speed", 0.1, 2.0, 0.05, 1.0)
        nothing = np.array([1.0, 2.0])  # there from the start: browsers miss changes of what has only just come
        scales: Any = {"x": {"time": False}, "y": {"distr": 3}}
        axes: Any = ({"ticks": {"show": False}}, {"ticks": {"show": False}, "grid": {"show": False}})
        self._plot = gui.add_uplot(
            (nothing, nothing),
            _series(["total"]),
            scales=scales,
            axes=axes,
            aspect=1.2,
            padding=(10, 24, 0, 0),
            visible=False,
        )
        self._plotted: tuple[str, ...] = ()

        @self._button.on_click
        def _(_: object) -> None:
            self.playing = not self.playing
            self._button.label = "Pause" if self.playing else "Play"

    @property
    def speed(self) -> float:
        """Times as fast as in life."""
        return float(self._slider.value)

    def rest_after(self, spent: float) -> float:
        """How long to wait after a frame that took so long [s]."""
        rest = max(self._interval - spent, LEISURE * spent)
        return min(rest, 1 / SLOWEST)

    def _set_up_view(self, reel: Reel) -> None:
        scene, rows = self.server.scene, reel.rows(0.0, 0.0)
        scene.set_up_direction("+y")
        scene.world_axes.visible = False
        scene.configure_environment_map("studio", environment_intensity=0.45)
        corners = [piece.vertices(rows) for piece in self.pieces]
        self._meshes = [
            scene.add_mesh_simple(f"/character/{number}", vertices, piece.faces, color=piece.color, side="double")
            for number, (piece, vertices) in enumerate(zip(self.pieces, corners, strict=True))
        ]
        self._ground = scene.add_grid(
            "/ground",
            plane="xz",
            cell_size=TILE,
            section_size=2 * TILE,
            infinite_grid=True,
            fade_distance=9.0,
            shadow_opacity=0.25,
            plane_color=(240, 238, 234),
            plane_opacity=1.0,
        )
        points = np.concatenate([rows.reshape(-1, 4, 3)[:, 3], *corners])
        middle = (points.min(0) + points.max(0)) / 2
        azimuth, elevation = radians(AZIMUTH), radians(ELEVATION)
        toward = np.array([sin(azimuth) * cos(elevation), sin(elevation), cos(azimuth) * cos(elevation)])
        camera = self.server.initial_camera
        camera.up, camera.fov = (0.0, 1.0, 0.0), radians(FIELD_OF_VIEW)
        camera.look_at, camera.position = middle, middle + DISTANCE * toward

    def draw(self, reel: Reel, head: Playhead) -> None:
        """One frame."""
        rows = reel.rows(head.share, head.heading)
        point, facing = head.ground(reel)
        corner = reel.anchor - about_y(-facing) @ (point % (2 * TILE))
        with self.server.atomic():
            for mesh, piece in zip(self._meshes, self.pieces, strict=True):
                mesh.vertices = piece.vertices(rows).astype(np.float32)
            self._ground.position = corner
            self._ground.wxyz = (cos(facing / 2), 0.0, -sin(facing / 2), 0.0)

    def write(self, journal: Journal) -> None:
        """Text and curves."""
        curves = journal.curves()
        names = tuple(curves)
        with self.server.atomic():
            self._text.content = journal.lines()
            if curves and names != self._plotted:
                self._plot.series = _series(names)
                self._plotted = names
            if curves:
                self._plot.data = _columns(curves)
            self._plot.visible = bool(curves)


def _series(names: Iterable[str]) -> Any:
    inks = zip(names, cycle(INKS), strict=False)
    curves = [{"label": name, "stroke": ink, "width": 2 if name == "total" else 1} for name, ink in inks]
    return ({"label": "step"}, *curves)


def _columns(curves: Curves) -> tuple[Array, ...]:
    return (next(iter(curves.values()))[0], *(values for _, values in curves.values()))


def _viser() -> Any:
    try:
        import viser
    except ImportError as error:
        raise GambolError(f"the live page needs viser ({error}); pip install 'gambol[watch]'") from None
    return viser


def _free_port(wanted: int | None) -> int:
    """A port nobody listens on; viser itself would take another one in silence, or wait for ever."""
    if wanted is not None and not 0 <= wanted <= 65535:
        raise GambolError(f"the port of the live page must be from 0 to 65535, got {wanted}")
    for port in (*PORTS, 0) if wanted is None else (wanted,):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            if os.name == "posix":  # as the server itself will: ports of servers that have just ended are free
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise GambolError(f"port {wanted} is taken or not allowed; leave it out to let gambol find a free one")


def _has_screen() -> bool:
    """Whether a browser would open in a window; one in the terminal would write over the progress bar."""
    return sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))


@contextmanager
def _silently() -> Iterator[None]:
    """Without viser's own lines on the terminal."""
    import rich

    console = rich.get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before
