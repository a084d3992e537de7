"""report.html: a clip that plays in 3D, alone or beside another one, with its verdict and its measures.

The page of a run of `gambol animate` is the same page, with how to use the clip and how it was made.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from gambol.errors import GambolError
from gambol.quality.charts import gait_diagram, joint_curves, loss_charts, plausibility_curve
from gambol.quality.html import MetricRow, bullets, document, folded, metric_table, paragraph, picture, section, table
from gambol.quality.measures import MEASURES, Family
from gambol.quality.player import player_html, player_scene
from gambol.quality.report import Report, rows_of

TITLES: dict[Family, str] = {
    "feet": "Feet and ground",
    "posture": "Trunk, arms, head and tail",
    "skin": "Skin",
    "bones": "Bones",
    "flow": "Movement",
    "prior": "What a prior sees",
}
SHEET_SIZE = 144
"""Width and height of each picture on the contact sheet [pixels]."""
LOSSES = " losses.jsonl beside this page holds every step."


@dataclass(frozen=True)
class RunDetails:
    """What the page of a run shows beside the report, as plain text, never HTML."""

    prompt: str
    character: str
    clip: str
    """Name of the clip's file, in the page's own folder."""
    clip_name: str
    movie: str | None
    """Name of the movie's file, shown if there is no player."""
    sheet: bytes | None
    """Contact sheet as a PNG."""
    losses: Sequence[dict[str, Any]]
    """Lines of losses.jsonl."""
    warnings: Sequence[str]
    facts: Sequence[tuple[str, str]]
    settings: str
    """config.json"""


def report_page(
    report: Report,
    against: Report | None = None,
    losses: Sequence[dict[str, Any]] = (),
    prompt: str | None = None,
) -> str:
    """The page of a clip as HTML. against: another clip, shown beside it. losses: lines of losses.jsonl of the run that
    made it. prompt: what the user asked for."""
    normalized = report.normalized
    name = normalized.clip.name
    kind = "loops" if normalized.loops else "does not loop"
    parts = [
        paragraph(f"{normalized.character.name}, clip ‘{name}’, {normalized.seconds:.2f} s, {kind}", "who"),
        _verdict(report),
        paragraph(f"{names_of(report, against)[0]}: {against.summary}") if against else "",
        _player(report, against),
        _sheet(report),
        *_sections(report, against),
        section("Losses of the run that made it", loss_charts(losses)),
        _meanings(),
    ]
    return document(prompt or name, parts)


def run_page(run: RunDetails, report: Report | None) -> str:
    """The page of a run as HTML; nothing in it is fetched from elsewhere but the movie, from the same folder.

    report: None if the clip could not be measured.
    """
    player = _player(report) if report else ""
    where = f'<a href="{escape(run.clip)}">{escape(run.clip)}</a>'
    parts = [
        f'<p class="who">{escape(run.character)}, clip ‘{escape(run.clip_name)}’ in {where}</p>',
        _verdict(report) if report else paragraph("the clip could not be measured", "verdict doubtful"),
        player,
        _shown(run, bool(player)),
        section("Warnings", bullets(run.warnings)),
        *(_sections(report) if report else ()),
        section("Losses", loss_charts(run.losses)),
        section("How to use it", _uses(run)),
        section("How it was made", table([(name, value, "") for name, value in run.facts if value])),
        _meanings() if report else "",
        folded("All settings", f"<pre>{escape(run.settings)}</pre>"),
    ]
    return document(run.prompt, parts, LOSSES if run.losses else "")


def names_of(report: Report, against: Report | None) -> tuple[str, str]:
    """Names of the other clip and of this one, in the order in which they stand."""
    name = report.normalized.clip.name
    if against is None:
        return "", ""
    other = against.normalized.clip.name
    return (other, name) if other != name else ("before", "after")


def _verdict(report: Report) -> str:
    return paragraph(report.summary, "verdict" if report.verdict == "good" else f"verdict {report.verdict}")


def _player(report: Report, against: Report | None = None) -> str:
    """The clip in 3D; the other clip beside it, to the left."""
    names = names_of(report, against)
    try:
        scenes = [player_scene(against.normalized, names[0])] if against else []
        return player_html([*scenes, player_scene(report.normalized, names[1])])
    except GambolError as error:
        return paragraph(f"It cannot be shown in 3D: {error}")


def _sections(report: Report, against: Report | None = None) -> list[str]:
    """Notes, a table for each family of measures, and diagrams: which feet are down when, how joints turn."""
    return [
        section("Notes", "".join(paragraph(note) for note in report.notes)),
        *(section(title, _measured(report, against, family)) for family, title in TITLES.items()),
        section("Gait", gait_diagram(report.normalized)),
        section("Joints that turn most", joint_curves(report.normalized)),
        section("How plausible its poses are", _plausibility(report)),
    ]


def _measured(report: Report, against: Report | None, family: Family) -> str:
    rows = []
    for each, own, other, place in rows_of(report, against):
        rank = report.ranks[each.key]
        share = rank.share if rank and each.better not in ("neither", "usual") else None
        if each.family == family:
            rows.append(MetricRow(each.title, own, other, share, place, each.meaning))
    heads = names_of(report, against) if against else None
    score = paragraph(f"{report.prior_score.text}.") if family == "prior" and report.prior_score else ""
    return metric_table(rows, heads) + score


def _plausibility(report: Report) -> str:
    return plausibility_curve(report.poses, report.normalized.seconds) if report.poses else ""


def _meanings() -> str:
    return folded("What the numbers mean", table([(each.title, "", each.meaning) for each in MEASURES]))


def _sheet(report: Report) -> str:
    """Eight frames side by side; nothing if there is nothing to see."""
    from PIL import Image

    from gambol.render.clip_renderer import ClipRenderer

    normalized = report.normalized
    try:
        sheet = ClipRenderer(normalized.character, normalized.anatomy).sheet(
            normalized.clip, "three-quarter", SHEET_SIZE, 2
        )
    except GambolError:
        return ""
    file = io.BytesIO()
    Image.fromarray(sheet).save(file, format="PNG")
    return picture(file.getvalue(), "Frames of the clip")


def _shown(run: RunDetails, playing: bool) -> str:
    shown = ""
    if run.movie and not playing:
        shown += f'<video src="{escape(run.movie)}" controls autoplay loop muted playsinline></video>\n'
    if run.sheet:
        shown += picture(run.sheet, "Frames of the clip") + "\n"
    return f'<div class="shown">\n{shown}</div>' if shown else ""


def _uses(run: RunDetails) -> str:
    """The clip in other programs."""
    code = f"""\
import {{ GLTFLoader }} from "three/addons/loaders/GLTFLoader.js";

const gltf = await new GLTFLoader().loadAsync({json.dumps(run.clip)});
const mixer = new THREE.AnimationMixer(gltf.scene);
mixer.clipAction(THREE.AnimationClip.findByName(gltf.animations, {json.dumps(run.clip_name)})).play();
scene.add(gltf.scene);  // and mixer.update(seconds) before each frame"""
    vrm = " (with the VRM add-on)" if run.clip.endswith(".vrm") else ""
    return (
        f"<p><b>Blender</b>{vrm}: File → Import → glTF 2.0 → {escape(run.clip)}; the motion is the "
        f"action ‘{escape(run.clip_name)}’ of the armature. Unity, Unreal and Godot read it too.</p>"
        f"<p><b>three.js</b>:</p><pre>{escape(code)}</pre>"
    )
