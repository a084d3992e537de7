"""The player of a page, in a real browser without a network."""

import io
import shutil
from pathlib import Path

import numpy as np
import pytest
from assets import asset_files, needs_assets
from PIL import Image
from tube import painted, swing, tube

import gambol
from gambol.character.clip import Clip
from gambol.creatures.gaits import gait
from gambol.quality.normalized_clip import normalize_clip
from gambol.quality.page import report_page
from gambol.quality.player import player_html, player_scene
from gambol.quality.report import report

playwright = pytest.importorskip("playwright.sync_api", reason="the player is tested with playwright")

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
SWITCHES = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
EVIL = '</script><img src=x onerror="window.hacked=1"><!-- \'&'
FRAME = 16
"""Time between two frames [ms] of the clock that tests turn."""


@pytest.fixture(scope="module")
def browser():
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser to try the player in: none of {', '.join(BROWSERS)} is installed")
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=found, args=SWITCHES)
        yield running
        running.close()


class Shown:
    """A page with a player. Its clock stands still, so that every frame is drawn when a test wants it."""

    def __init__(self, browser, path: Path, html: str, before: str = "", size=(380, 420), **options):
        path.write_text(html, encoding="utf-8")
        viewport = {"width": size[0], "height": size[1]}
        self.context = browser.new_context(viewport=viewport, offline=True, reduced_motion="reduce", **options)
        self.page, self.told, self.fetched = self.context.new_page(), [], []
        self.page.on("console", lambda message: self.told.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.told.append(f"error: {error}"))
        self.page.on("request", lambda request: self.fetched.append(request.url))
        self.page.clock.install(time=0)
        self.page.clock.pause_at(1000)
        if before:
            self.page.add_init_script(before)
        self.page.goto(path.as_uri())
        self.page.evaluate("gambolPlayer.ready")
        self.draw()

    def ask(self, what):
        return self.page.evaluate(f"gambolPlayer.{what}")

    def draw(self, frames=2):
        self.page.clock.run_for(FRAME * frames)

    def seek(self, seconds):
        self.ask(f"seek({seconds})")
        self.draw()

    def press(self, selector):
        self.page.click(selector)
        self.draw()

    def drag(self, across, down=0):
        box = self.page.locator(".stage").bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        self.page.mouse.move(x + across, y + down)
        self.page.mouse.up()
        self.draw()

    def picture(self):
        """Of the stage, as numbers from 0 to 1."""
        shot = Image.open(io.BytesIO(self.page.locator(".stage").screenshot()))
        return np.asarray(shot.convert("RGB")) / 255.0


def bare(*scenes) -> str:
    """A page with nothing but a player."""
    return f"<!doctype html><html><head><meta charset='utf-8'></head><body>{player_html(scenes)}</body></html>"


def scene_of(character, clip, label="", **axes):
    return player_scene(normalize_clip(character, clip, gambol.analyze(character, **axes)), label)


def colours(picture):
    return len(np.unique((picture.reshape(-1, 3) * 255).astype(int), axis=0))


def change(before, after):
    """Share of the pixels that differ clearly."""
    return float((np.abs(before - after).max(-1) > 0.05).mean())


@pytest.fixture(scope="module")
def fox(browser, tmp_path_factory):
    """On the whole page of a report."""
    character = gambol.load("fox")
    walk = gait(character, gambol.analyze(character), "walk")
    page = report_page(report(character, walk))
    shown = Shown(browser, tmp_path_factory.mktemp("fox") / "page.html", page, size=(420, 640))
    yield shown
    shown.context.close()


@pytest.fixture(scope="module")
def pair(browser, tmp_path_factory):
    """A tube beside one that was drawn lying on its back; green above, red below, named by somebody evil."""
    paint = Image.new("RGB", (64, 64), (30, 200, 30))
    paint.paste((220, 20, 20), (0, 32, 64, 64))
    one, other = painted(tube(), paint), painted(tube("+z", lift=5.0, scale=80.0), paint)
    scenes = [scene_of(one, swing(), EVIL, up="+y"), scene_of(other, swing("+z"), "after", up="+z")]
    shown = Shown(browser, tmp_path_factory.mktemp("pair") / "page.html", bare(*scenes), size=(660, 420))
    yield shown
    shown.context.close()


def test_it_opens_without_a_network_and_without_a_word(fox):
    assert fox.ask("errors") == [] and fox.told == []
    assert [url for url in fox.fetched if not url.startswith(("file:", "blob:", "data:"))] == []
    assert colours(fox.picture()) > 1000
    assert fox.page.locator(".message").is_hidden()
    assert not fox.ask("playing"), "people who asked for less motion start it themselves"


def test_the_slider_moves_it(fox):
    fox.page.locator("[data-part=time]").fill("0.1")
    fox.draw()
    early = fox.picture()
    assert fox.ask("time") == pytest.approx(0.1, abs=1e-3)
    fox.page.locator("[data-part=time]").fill("0.4")
    fox.draw()
    assert change(early, fox.picture()) > 0.005
    assert "0.40 / 0.57 s" in fox.page.locator("[data-part=clock]").inner_text()
    fox.seek(0.1)
    assert change(early, fox.picture()) < 1e-3


def test_dragging_turns_it_and_a_button_turns_it_back(fox):
    fox.seek(0.2)
    fox.press("[data-view=reset]")
    before = fox.picture()
    fox.drag(120)
    turned = fox.picture()
    assert change(before, turned) > 0.1
    fox.press("[data-view=side]")
    assert change(turned, fox.picture()) > 0.1
    fox.press("[data-view=reset]")
    fox.page.mouse.move(1, 1)
    assert change(before, fox.picture()) < 1e-3


def test_the_wheel_zooms_only_what_was_clicked(fox):
    fox.page.evaluate("document.activeElement.blur()")
    before = fox.picture()
    fox.page.dispatch_event(".stage", "wheel", {"deltaY": -500})
    fox.draw()
    assert change(before, fox.picture()) < 1e-3, "elsewhere it scrolls the page"
    fox.page.locator(".stage").focus()
    fox.page.dispatch_event(".stage", "wheel", {"deltaY": -500})
    fox.draw()
    assert change(before, fox.picture()) > 0.02
    fox.press("[data-view=reset]")


def test_the_skeleton_is_shown_and_hidden(fox):
    fox.seek(0.2)
    before = fox.picture()
    fox.press("[data-toggle=bones]")
    with_bones = fox.picture()
    assert change(before, with_bones) > 0.003
    fox.press("[data-toggle=bones]")
    assert change(before, fox.picture()) < 1e-3
    fox.press("[data-toggle=feet]")
    assert change(before, fox.picture()) > 1e-3, "discs under the feet"
    fox.press("[data-toggle=feet]")


def test_it_plays_in_any_speed_and_goes_round(fox):
    lasted = {}
    for speed in ("0.5", "2"):
        fox.page.select_option("[data-part=speed]", speed)
        fox.seek(0.1)
        fox.ask("play()")
        fox.draw(1)
        start = fox.ask("time")
        fox.draw(3)
        lasted[speed] = fox.ask("time") - start
        fox.ask("pause()")
    assert lasted == {"0.5": pytest.approx(3 * FRAME / 2000), "2": pytest.approx(3 * FRAME / 500)}
    fox.seek(0.55)
    fox.press("[data-part=play]")
    fox.draw()
    assert fox.ask("playing") and 0 < fox.ask("time") < 0.3, "the next round"
    fox.press("[data-part=play]")
    assert not fox.ask("playing")
    fox.page.select_option("[data-part=speed]", "1")


def test_what_walks_away_leaves_a_camera_that_does_not_follow(fox):
    fox.seek(0.0)
    before = fox.picture()
    fox.press("[data-toggle=follow]")
    assert change(before, fox.picture()) < 1e-3
    fox.seek(0.28)
    gone = fox.picture()
    fox.press("[data-toggle=follow]")
    assert change(gone, fox.picture()) > 0.05


def test_keys(fox):
    fox.seek(0.2)
    fox.page.locator(".stage").focus()
    fox.page.keyboard.press("Space")
    assert fox.ask("playing")
    fox.page.keyboard.press("Space")
    assert not fox.ask("playing")
    at = fox.ask("time")
    fox.page.keyboard.press("ArrowRight")
    assert fox.ask("time") == pytest.approx(at + 1 / 30, abs=1e-3)
    for _ in range(20):
        fox.page.keyboard.press("ArrowLeft")
    assert 0 <= fox.ask("time") <= fox.ask("duration")


def test_dark_pages_have_a_dark_stage(fox):
    light = fox.picture().mean()
    fox.page.emulate_media(color_scheme="dark")
    dark = light
    for _ in range(20):  # the page hears of it a little later
        fox.draw()
        dark = min(dark, fox.picture().mean())
        if dark < 0.5 * light:
            break
    fox.page.emulate_media(color_scheme="light")
    assert dark < 0.5 * light


def test_two_side_by_side_both_upright_with_their_textures(pair):
    assert pair.ask("errors") == [] and pair.told == []
    pair.seek(0.0)
    picture = pair.picture()
    left, right = np.array_split(picture, 2, axis=1)
    for half in (left, right):
        red, green = (half[..., i] > 2 * half[..., 1 - i] for i in (0, 1))
        assert red.sum() > 200 and green.sum() > 200
        assert np.nonzero(green)[0].mean() < np.nonzero(red)[0].mean() - 20, "green above red"
    pair.seek(0.9)
    bent = pair.picture()
    halves = [np.array_split(each, 2, axis=1) for each in (picture, bent)]
    assert all(change(halves[0][side], halves[1][side]) > 0.005 for side in (0, 1))
    pair.drag(90)
    turned = np.array_split(pair.picture(), 2, axis=1)
    assert all(change(halves[1][side], turned[side]) > 0.01 for side in (0, 1)), "one camera for both"


def test_names_are_only_text(pair):
    assert pair.page.locator(".label").first.inner_text() == EVIL
    assert pair.page.evaluate("window.hacked") is None
    assert pair.page.locator("img").count() == 0 and pair.page.locator("script").count() == 2


def test_what_does_not_loop_rests_at_its_end(pair):
    pair.seek(0.99)
    pair.ask("play()")
    pair.draw(8)
    assert pair.ask("time") == pair.ask("duration") == 1.0
    pair.draw(30)
    assert pair.ask("time") < 0.9
    pair.ask("pause()")


def test_a_plain_body_that_stands_still(browser, tmp_path):
    shown = Shown(browser, tmp_path / "page.html", bare(scene_of(tube(), Clip("still", ()), up="+y")))
    assert shown.ask("errors") == [] and shown.told == []
    shown.ask("play()")
    assert not shown.ask("playing") and shown.ask("duration") == 0
    assert colours(shown.picture()) > 200
    shown.context.close()


def test_a_browser_without_webgl_says_so(browser, tmp_path):
    blind = "HTMLCanvasElement.prototype.getContext = () => null"
    shown = Shown(browser, tmp_path / "page.html", bare(scene_of(tube(), swing(), up="+y")), before=blind)
    assert shown.page.locator(".message").inner_text().startswith("The 3D view cannot be shown")
    assert len(shown.ask("errors")) == 1
    shown.context.close()


@needs_assets
def test_a_real_file_on_a_phone(browser, tmp_path):
    file = next((path for path in asset_files() if path.name == "Fox.glb"), None)
    if file is None:
        pytest.skip("Fox.glb is not there")
    character = gambol.load(file)
    scenes = [scene_of(character, character.clips[name], name) for name in ("Walk", "Run")]
    shown = Shown(browser, tmp_path / "page.html", bare(*scenes), size=(390, 560))
    assert shown.ask("errors") == [] and shown.told == []
    shown.seek(0.3)
    upper, lower = np.array_split(shown.picture(), 2)
    assert colours(upper) > 500 and colours(lower) > 500, "one above the other"
    wide = shown.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, "nothing sticks out"
    shown.context.close()
