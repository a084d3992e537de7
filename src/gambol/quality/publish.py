"""report.html on a clip: it plays in 3D, alone or beside another one, with all that was measured below it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from gambol.errors import GambolError
from gambol.quality.charts import loss_charts
from gambol.quality.diagrams import gait_diagram, joint_curves
from gambol.quality.measures import MEASURES, Family
from gambol.quality.page import MetricRow, document, folded, metric_table, paragraph, picture, section, table
from gambol.quality.player import player_html, player_scene
from gambol.quality.report import Report

TITLES: dict[Family, str] = {
    "feet": "Feet and ground",
    "skin": "Skin",
    "bones": "Bones",
    "flow": "Movement",
    "prior": "What a video model sees",
}
SHEET_SIZE = 144
"""Width and height of each picture on the contact sheet [pixels]."""


def publish(
    report: Report,
    against: Report | None = None,
    losses: Sequence[dict[str, Any]] = (),
    prompt: str | None = None,
) -> str:
    """The page. against: another clip, shown beside it; losses: of the run that made it; prompt: what was asked for."""
    specimen = report.specimen
    name = specimen.motion.name
    title = prompt or name
    kind = "loops" if specimen.loops else "does not loop"
    who = f"{specimen.character.name}, clip ‘{name}’, {specimen.seconds:.2f} s, {kind}"
    parts = [
        paragraph(who, "who"),
        paragraph(report.summary, "verdict" if report.verdict == "good" else "verdict doubtful"),
        paragraph(f"{names_of(report, against)[0]}: {against.summary}") if against else "",
        player(report, against),
        _sheet(report),
        section("Notes", "".join(paragraph(note) for note in report.notes)),
        *(section(*each) for each in (*measured(report, against), *figures(report))),
        section("Losses of the run that made it", loss_charts(losses)),
        folded("What the numbers mean", table([(each.title, "", each.meaning) for each in MEASURES])),
    ]
    return document(title, parts)


def names_of(report: Report, against: Report | None) -> tuple[str, str]:
    """Of the other clip and of this one, in the order in which they stand."""
    name = report.specimen.motion.name
    if against is None:
        return "", ""
    other = against.specimen.motion.name
    return (other, name) if other != name else ("before", "after")


def player(report: Report, against: Report | None = None) -> str:
    """In 3D; the other clip beside it, to the left."""
    names = names_of(report, against)
    try:
        scenes = [player_scene(against.specimen, names[0])] if against else []
        return player_html([*scenes, player_scene(report.specimen, names[1])])
    except GambolError as error:
        return paragraph(f"It cannot be shown in 3D: {error}")


def measured(report: Report, against: Report | None = None) -> list[tuple[str, str]]:
    """(title, markup): a table for each family of measures."""
    found = []
    for family, title in TITLES.items():
        rows = []
        for each in MEASURES:
            own = report.values.get(each.key)
            other = against.values.get(each.key) if against else None
            if each.family != family or (own is None and other is None):
                continue
            standing = report.standings[each.key]
            place = standing.share if standing and each.better != "neither" else None
            others = each.text(other) if against else ""
            rows.append(MetricRow(each.title, each.text(own), others, place, report.worth(each), each.meaning))
        heads = names_of(report, against) if against else None
        said = f"{report.opinion.text}." if family == "prior" and report.opinion else ""
        found.append((title, metric_table(rows, heads) + (paragraph(said) if said else "")))
    return found


def figures(report: Report) -> list[tuple[str, str]]:
    """(title, markup) of drawings: which feet are down when, and how joints turn."""
    return [
        ("Gait", gait_diagram(report.specimen)),
        ("Joints that turn most", joint_curves(report.specimen)),
    ]


def _sheet(report: Report) -> str:
    """Eight moments side by side; nothing if there is nothing to see."""
    from PIL import Image

    from gambol.render.movie import contact_sheet
    from gambol.render.picture import direct, film
    from gambol.render.raycast import MeshScene
    from gambol.render.show import choose_frames

    character, anatomy, motion = report.specimen.character, report.specimen.anatomy, report.specimen.motion
    times, view = choose_frames(motion, "three-quarter", ".png")
    try:
        shot = direct(character, motion, times, up=anatomy.up, forward=anatomy.forward, view=view, size=SHEET_SIZE)
        pictures = list(film(shot, MeshScene(character), samples=2))
    except GambolError:
        return ""
    file = io.BytesIO()
    labels = [f"{time - times[0]:.2f} s" for time in times]
    Image.fromarray(contact_sheet(pictures, labels)).save(file, format="PNG")
    return picture(file.getvalue(), "Moments of the clip")
