"""The live page: the character plays the current motion while it is being optimised.

The optimisation only leaves its newest motion here. A thread of the page's own picks it up from time to time and sends
the moved vertices to the browser.

viser's skinned meshes would do the skinning in the browser, but send two messages for every bone and frame: for 60
bones in six colours that takes 24 ms of processor time a frame, against 2.3 ms for skinning and sending 20,000
vertices. They also have rigid bones only, and drop all but four influences of a vertex without normalising the rest.
"""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from collections import deque
from itertools import cycle
from math import cos, radians, sin
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from gambol.distillation.problem import Problem
from gambol.distillation.stage_runner import StageRunner, StepLog
from gambol.errors import GambolError
from gambol.live.losses import LossHistory
from gambol.live.playback import FRAME_RATE, ColoredMesh, Playback, PlaybackMaker, PlayHead, colored_meshes
from gambol.motion.rig_motion import RigMotion

if TYPE_CHECKING:
    from gambol.live.server import PrivateServer

MOTION_INTERVAL = 0.3
"""Shortest time between two motions taken from the optimisation; making one takes longer than some steps [s]."""
UPDATE_INTERVAL = 0.5
"""Time between updates of the motion, the text and the curves on the page [s]."""
IDLE_INTERVAL = 0.2
"""Time between looks for a browser while there is none [s]."""
REST = 3.0
"""The page rests this many times as long as a frame took, so that most of the processor is left to the optimisation."""
LONGEST_REST = 0.25
"""Longest time between two frames [s]."""
TILE = 0.25
"""Side of a square on the ground; the longest side of the character is 1."""
AZIMUTH, ELEVATION, DISTANCE, FIELD_OF_VIEW = radians(-42.0), radians(16.0), 2.3, radians(35.0)
"""The first view: three-quarter, as in `gambol render`."""
CURVE_COLORS = ("#d9480f", "#1971c2", "#2f9e44", "#9c36b5", "#e8a200", "#0c8599", "#868e96", "#c2255c")


class LivePage:
    """Serves the page until it is closed. `show` is called after every step and returns at once."""

    def __init__(self, problem: Problem, open_browser: bool = True):
        try:
            from gambol.live.server import PrivateServer
        except ImportError as error:
            raise GambolError(f"the live page needs viser ({error}); pip install 'gambol[watch]'") from None
        self._maker = PlaybackMaker(problem.character, problem.anatomy, problem.rig)
        self._history, self._steps = LossHistory(problem.prompt.text), deque[StepLog]()
        self._motion, self._taken = problem.start, 0.0
        self._closing = threading.Event()
        playback = self._maker.playback(problem.start)
        self._view = PageView(PrivateServer(), colored_meshes(problem.character), playback)
        self._view.write(self._history)
        self.url = self._view.server.url
        """The address, with the token without which nothing is served."""
        self._player = threading.Thread(target=self._play, args=(playback,), name="gambol-live", daemon=True)
        self._player.start()
        if open_browser and _has_display():
            threading.Thread(target=webbrowser.open, args=(self.url,), name="gambol-browser", daemon=True).start()

    def show(self, runner: StageRunner, step: StepLog | None = None) -> None:
        """Show the current motion, soon; at once if it is not after a step but at the end."""
        if step is None or monotonic() - self._taken > MOTION_INTERVAL:
            self._motion, self._taken = runner.rig_motion(), monotonic()
        if step:
            self._steps.append(step)

    def close(self) -> None:
        """End the server and its threads; a second call does nothing."""
        if not self._closing.is_set():
            self._closing.set()
            self._player.join(timeout=5.0)
            self._view.server.stop()

    def _play(self, playback: Playback) -> None:
        view, shown, updated, rest, before = self._view, self._motion, -UPDATE_INTERVAL, 0.0, monotonic()
        while not self._closing.wait(rest):
            now = monotonic()
            elapsed, before, rest = now - before, now, IDLE_INTERVAL
            while self._steps:
                self._history.add(self._steps.popleft())
            if not view.server.get_clients():
                continue
            if now - updated >= UPDATE_INTERVAL:
                updated = now
                view.write(self._history)
                newest = self._motion
                if newest is not shown and _is_finite(newest):
                    shown, playback, view.stale = newest, self._maker.playback(newest), True
            if view.playing:
                view.head.advance(playback, min(elapsed, 1.0) * view.speed)
            if view.playing or view.stale:
                view.draw(playback)
            rest = rest_after(monotonic() - now)


def rest_after(spent: float) -> float:
    """How long to wait after a frame that took a given time [s]."""
    return min(max(1 / FRAME_RATE - spent, REST * spent), LONGEST_REST)


class PageView:
    """What a browser shows: the character, the ground, and a panel with text, controls and loss curves."""

    def __init__(self, server: PrivateServer, meshes: list[ColoredMesh], playback: Playback):
        self.server, self.meshes, self.head = server, meshes, PlayHead()
        self.playing, self.stale = True, False
        """stale: the frame on the page is no longer the one at the play head."""
        self._add_scene(playback)
        self._add_panel()

    def _add_scene(self, playback: Playback) -> None:
        scene, matrices = self.server.scene, playback.at(0.0)
        scene.set_up_direction("+y")
        scene.world_axes.visible = False
        scene.configure_environment_map("studio", environment_intensity=0.45)
        self._character = scene.add_frame("/character", show_axes=False)
        vertices = [mesh.vertices(matrices) for mesh in self.meshes]
        self._handles = [
            scene.add_mesh_simple(f"/character/{number}", points, mesh.faces, color=mesh.color, side="double")
            for number, (mesh, points) in enumerate(zip(self.meshes, vertices, strict=True))
        ]
        look: dict[str, Any] = {"shadow_opacity": 0.25, "plane_color": (240, 238, 234), "plane_opacity": 1.0}
        sizes: dict[str, Any] = {"cell_size": TILE, "section_size": 2 * TILE, "fade_distance": 9.0}
        self._ground = scene.add_grid("/ground", plane="xz", infinite_grid=True, **sizes, **look)
        points = np.concatenate([matrices[:, :, 3].numpy(), *vertices])
        center = (points.min(0) + points.max(0)) / 2
        toward = np.array([sin(AZIMUTH) * cos(ELEVATION), sin(ELEVATION), cos(AZIMUTH) * cos(ELEVATION)])
        camera = self.server.initial_camera
        camera.up, camera.fov = (0.0, 1.0, 0.0), FIELD_OF_VIEW
        camera.look_at, camera.position = center, center + DISTANCE * toward

    def _add_panel(self) -> None:
        gui = self.server.gui
        gui.configure_theme(show_logo=False, show_share_button=False, control_width="medium")
        self._text, self._button = gui.add_html(""), gui.add_button("Pause")
        self._speed = gui.add_slider("Speed", 0.1, 2.0, 0.05, 1.0)
        self._position = gui.add_slider("Position", 0.0, 1.0, 0.01, 0.0)
        empty = np.array([1.0, 2.0])  # there from the start: browsers miss changes of a plot that was just added
        scales: Any = {"x": {"time": False}, "y": {"distr": 3}}
        axes: Any = ({"ticks": {"show": False}}, {"ticks": {"show": False}, "grid": {"show": False}})
        options: Any = {"scales": scales, "axes": axes, "aspect": 1.2, "padding": (10, 24, 0, 0), "visible": False}
        self._plot = gui.add_uplot((empty, empty), _series(["step", "total"]), **options)

        @self._button.on_click
        def _(_: object) -> None:
            self.playing = not self.playing
            self._button.label = "Pause" if self.playing else "Play"

        @self._position.on_update
        def _(event: Any) -> None:
            if event.client is not None:  # moved by a person, not by `write`
                self.head.phase, self.stale = float(self._position.value), True

    @property
    def speed(self) -> float:
        """Playback speed; 1 is real time."""
        return float(self._speed.value)

    def draw(self, playback: Playback) -> None:
        """Send the frame at the play head."""
        self.stale, matrices, heading = False, playback.at(self.head.phase), self.head.heading
        with self.server.atomic():
            for handle, mesh in zip(self._handles, self.meshes, strict=True):
                handle.vertices = mesh.vertices(matrices)
            self._character.wxyz = (cos(heading / 2), 0.0, sin(heading / 2), 0.0)
            self._ground.position = -(self.head.position(playback) % (2 * TILE))

    def write(self, history: LossHistory) -> None:
        """Send the text, the loss curves and the position of the play head."""
        curves = history.curves()
        with self.server.atomic():
            self._text.content = history.html()
            self._position.value = round(min(self.head.phase, 1.0), 2)  # type: ignore[misc]
            if curves:
                if [series["label"] for series in self._plot.series] != list(curves):
                    self._plot.series = _series(list(curves))
                self._plot.data = tuple(curves.values())
            self._plot.visible = bool(curves)


def _series(names: list[str]) -> Any:
    curves = zip(names[1:], cycle(CURVE_COLORS), strict=False)
    styles = [{"label": name, "stroke": color, "width": 2 if name == "total" else 1} for name, color in curves]
    return ({"label": names[0]}, *styles)


def _is_finite(motion: RigMotion) -> bool:
    """Whether the motion can be shown; the optimisation undoes steps that diverge by itself."""
    return all(bool(part.isfinite().all()) for part in (motion.angles, motion.root_translation, motion.root_angles))


def _has_display() -> bool:
    """Whether a browser would open in a window; one in the terminal would overwrite the progress bar."""
    return sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
