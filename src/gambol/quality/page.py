"""report.html: one page on one run, complete in itself, to look at and to pass on."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from gambol.quality.charts import loss_charts


@dataclass(frozen=True)
class Page:
    """What is on it. All of it is text to be shown as it is, never markup."""

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


STYLE = """
:root { color-scheme: light dark; --paper: #faf8f4; --ink: #2a2723; --soft: #7a746b; --line: #ddd7cc; --card: #fff;
  --good: #2f7d4f; --bad: #b5541c; }
@media (prefers-color-scheme: dark) { :root { --paper: #1b1a18; --ink: #e9e5de; --soft: #a29b90; --line: #3a3733;
  --card: #24221f; --good: #6cc48f; --bad: #eb9a63; } }
body { margin: 0 auto; max-width: 60rem; padding: 2.5rem 1.25rem 4rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.9rem; line-height: 1.2; } h2 { margin: 2.5rem 0 .75rem; font-size: 1.15rem; }
.who { margin: .25rem 0 1.25rem; color: var(--soft); }
.verdict { margin: 0 0 1.5rem; padding: .7rem 1rem; border-left: .3rem solid var(--good); background: var(--card);
  font-size: 1.05rem; }
.verdict.doubtful { border-color: var(--bad); }
.shown { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; }
video, img { display: block; max-width: 100%; border-radius: .5rem; border: 1px solid var(--line); }
video { flex: 0 1 20rem; min-width: 12rem; } .shown img { flex: 1 1 24rem; min-width: 0; }
table { border-collapse: collapse; width: 100%; background: var(--card); }
th, td { padding: .35rem .75rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top;
  overflow-wrap: anywhere; }
th { font-weight: 500; color: var(--soft); } td.value { font-variant-numeric: tabular-nums; }
td.remark { color: var(--soft); }
.warnings { margin: 0; padding: .7rem 1rem .7rem 2.2rem; border-left: .3rem solid var(--bad); background: var(--card); }
.charts { display: flex; flex-wrap: wrap; gap: 1rem; } .charts figure { flex: 1 1 22rem; margin: 0; padding: .75rem;
  background: var(--card); border: 1px solid var(--line); border-radius: .5rem; }
figcaption { font-size: .9rem; color: var(--soft); } svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font: 11px system-ui, sans-serif; } svg .rule { stroke: var(--line); }
.key { display: inline-block; margin-right: .9rem; } .key i { display: inline-block; width: .8rem; height: .2rem;
  margin-right: .35rem; vertical-align: middle; }
pre { overflow-x: auto; padding: .75rem 1rem; background: var(--card); border: 1px solid var(--line);
  border-radius: .5rem; font: 13px/1.45 ui-monospace, monospace; }
details { margin-top: 1rem; }
summary { cursor: pointer; color: var(--soft); } footer { margin-top: 3rem; color: var(--soft); font-size: .85rem; }
"""


def html_of(page: Page) -> str:
    """The whole page; nothing in it is fetched from elsewhere but the movie, from the same folder."""
    doubtful = "" if page.verdict.startswith("good") else " doubtful"
    parts = [
        f"<h1>{escape(page.title)}</h1>",
        f'<p class="who">{escape(page.character)}, clip \u2018{escape(page.clip_name)}\u2019 in '
        f'<a href="{escape(page.clip)}">{escape(page.clip)}</a></p>',
        f'<p class="verdict{doubtful}">{escape(page.verdict)}</p>',
        _shown(page),
        _section("Warnings", _warnings(page.warnings)),
        _section("Measured", _table(page.rows)),
        _section("Losses", loss_charts(page.losses)),
        _section("How to use it", _uses(page)),
        _section("How it was made", _table([(name, value, "") for name, value in page.facts if value])),
        f"<details><summary>All settings</summary><pre>{escape(page.settings)}</pre></details>",
        "<footer>Made by gambol. losses.jsonl beside this page holds every step.</footer>",
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(page.title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(part for part in parts if part)
        + "\n</body>\n</html>\n"
    )


def _section(title: str, content: str) -> str:
    return f"<h2>{title}</h2>\n{content}" if content else ""


def _shown(page: Page) -> str:
    shown = ""
    if page.movie:
        shown += f'<video src="{escape(page.movie)}" controls autoplay loop muted playsinline></video>\n'
    if page.sheet:
        picture = base64.b64encode(page.sheet).decode()
        shown += f'<img alt="Eight moments of the clip" src="data:image/png;base64,{picture}">\n'
    return f'<div class="shown">\n{shown}</div>' if shown else ""


def _warnings(warnings: Sequence[str]) -> str:
    items = "".join(f"<li>{escape(warning)}</li>" for warning in warnings)
    return f'<ul class="warnings">{items}</ul>' if items else ""


def _table(rows: Sequence[tuple[str, str, str]]) -> str:
    lines = (
        f'<tr><th>{escape(name)}</th><td class="value">{escape(value)}</td>'
        f'<td class="remark">{escape(remark)}</td></tr>'
        for name, value, remark in rows
    )
    return f"<table>{''.join(lines)}</table>" if rows else ""


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
