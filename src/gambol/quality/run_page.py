"""report.html of a run of `gambol animate`: how good its clip is, how to use it, how it was made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from gambol.quality.charts import loss_charts
from gambol.quality.page import bullets, document, folded, paragraph, picture, section, table


@dataclass(frozen=True)
class Page:
    """What is on it. All of it is text to be shown as it is, never markup, where it does not say so."""

    title: str
    """The sentence."""
    character: str
    verdict: str
    """One line on how good the clip is."""
    clip: str
    """File names, in the page's own folder."""
    clip_name: str
    movie: str | None
    sheet: bytes | None
    """A PNG."""
    rows: Sequence[tuple[str, str, str]]
    """(what, value, remark) of all that was measured."""
    losses: Sequence[dict[str, Any]]
    """Lines of losses.jsonl."""
    warnings: Sequence[str]
    facts: Sequence[tuple[str, str]]
    settings: str
    """config.json"""
    player: str = ""
    """The clip in 3D (`player_html`), instead of the movie. This and the next are markup of our own."""
    figures: Sequence[tuple[str, str]] = ()
    """(title, markup) of further sections, such as charts; the titles are plain text."""


LOSSES = " losses.jsonl beside this page holds every step."


def html_of(page: Page) -> str:
    """The whole page; nothing in it is fetched from elsewhere but the movie, from the same folder."""
    parts = [
        f'<p class="who">{escape(page.character)}, clip \u2018{escape(page.clip_name)}\u2019 in '
        f'<a href="{escape(page.clip)}">{escape(page.clip)}</a></p>',
        paragraph(page.verdict, "verdict" if page.verdict.startswith("good") else "verdict doubtful"),
        page.player,
        _shown(page),
        section("Warnings", bullets(page.warnings)),
        section("Measured", table(page.rows)),
        *(section(title, figure) for title, figure in page.figures),
        section("Losses", loss_charts(page.losses)),
        section("How to use it", _uses(page)),
        section("How it was made", table([(name, value, "") for name, value in page.facts if value])),
        folded("All settings", f"<pre>{escape(page.settings)}</pre>"),
    ]
    return document(page.title, parts, LOSSES if page.losses else "")


def _shown(page: Page) -> str:
    shown = ""
    if page.movie and not page.player:
        shown += f'<video src="{escape(page.movie)}" controls autoplay loop muted playsinline></video>\n'
    if page.sheet:
        shown += picture(page.sheet, "Eight moments of the clip") + "\n"
    return f'<div class="shown">\n{shown}</div>' if shown else ""


def _uses(page: Page) -> str:
    """The clip in other programs."""
    code = f"""\
import {{ GLTFLoader }} from "three/addons/loaders/GLTFLoader.js";

const gltf = await new GLTFLoader().loadAsync({_quoted(page.clip)});
const mixer = new THREE.AnimationMixer(gltf.scene);
mixer.clipAction(THREE.AnimationClip.findByName(gltf.animations, {_quoted(page.clip_name)})).play();
scene.add(gltf.scene);  // and mixer.update(seconds) before each frame"""
    vrm = " (with the VRM add-on)" if page.clip.endswith(".vrm") else ""
    return (
        f"<p><b>Blender</b>{vrm}: File \u2192 Import \u2192 glTF 2.0 \u2192 {escape(page.clip)}; the motion is the "
        f"action \u2018{escape(page.clip_name)}\u2019 of the armature. Unity, Unreal and Godot read it too.</p>"
        f"<p><b>three.js</b>:</p><pre>{escape(code)}</pre>"
    )


def _quoted(text: str) -> str:
    """As a string of JavaScript."""
    return json.dumps(text)
