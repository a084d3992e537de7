"""What gambol sees in a character: as plain data, as a readable table, and what will go wrong."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from gambol.character.anatomy import Anatomy
from gambol.character.axes import axis_name
from gambol.character.character import Character

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

UNSURE = 0.3
"""Certainty of the facing below which the user is asked to look."""
UNITS = (0.02, 60.0)
"""Heights [m] outside of which a file is probably in centimetres or inches."""


def describe(character: Character, anatomy: Anatomy) -> dict[str, Any]:
    """Everything `gambol info` shows, ready for JSON. Joints are given by name and, since names repeat, by node."""
    return {
        "name": character.name,
        "size": _size(anatomy),
        "facing": {
            "up": axis_name(anatomy.up),
            "forward": axis_name(anatomy.forward),
            "certainty": round(anatomy.certainty, 2),
        },
        "plan": anatomy.plan,
        "skeleton": {
            "nodes": len(character.skeleton),
            "joints": int(character.skeleton.is_joint.sum()),
            "animated_joints": len(anatomy.body),
        },
        "joints": _joints(character, anatomy),
        "limbs": _limbs(character, anatomy),
        "meshes": [
            {
                "name": mesh.name,
                "vertices": len(mesh.positions),
                "triangles": len(mesh.faces),
                "influences": mesh.weights.shape[1] if mesh.skinned else 0,
                "material": mesh.material.name,
                "texture": mesh.material.texture is not None,
                "vertex_colors": mesh.colors is not None,
                "morph_targets": 0 if mesh.morph_positions is None else len(mesh.morph_positions),
            }
            for mesh in character.meshes
        ],
        "clips": [
            {"name": clip.name, "start": clip.start, "duration": clip.duration, "tracks": len(clip.tracks)}
            for clip in character.clips.values()
        ],
        "warnings": warnings(character, anatomy),
    }


def _size(anatomy: Anatomy) -> dict[str, Any]:
    """The box around the body in its neutral pose, and how it stands [file units]."""
    body = anatomy.body
    held = body.vertices[body.owners >= 0]
    points = held if len(held) else body.heads
    return {
        "low": points.min(0).tolist(),
        "high": points.max(0).tolist(),
        "height": anatomy.height,
        "ground": anatomy.ground,
    }


def _joints(character: Character, anatomy: Anatomy) -> list[dict[str, Any]]:
    body, names = anatomy.body, character.skeleton.names
    rehung = set(body.rehung.tolist())

    def node(joint: int) -> int | None:
        return int(body.nodes[joint]) if joint >= 0 else None

    return [
        {
            "node": node(joint),
            "name": names[body.nodes[joint]],
            "parent": node(int(body.parents[joint])),
            "mirror": node(int(anatomy.partners[joint])),
            "part": anatomy.parts[joint],
            "hung_elsewhere": joint in rehung,
        }
        for joint in range(len(body))
    ]


def _limbs(character: Character, anatomy: Anatomy) -> list[dict[str, Any]]:
    body, names = anatomy.body, character.skeleton.names
    return [
        {
            "name": anatomy.limb_name(limb),
            "kind": limb.kind,
            "side": limb.side,
            "chain": [names[body.nodes[joint]] for joint in limb.chain],
            "nodes": [int(body.nodes[joint]) for joint in limb.chain],
            "foot": names[body.nodes[limb.foot]] if limb.foot is not None else None,
            "contacts": [{"node": int(body.nodes[joint]), "point": list(point)} for joint, point in limb.contacts],
        }
        for limb in anatomy.limbs
    ]


def warnings(character: Character, anatomy: Anatomy) -> list[str]:
    """What was repaired on reading, and what will go wrong later, each with the way out."""
    repeated = Counter(character.warnings)  # the parts of one mesh share its name
    found = [text if count == 1 else f"{text} ({count} times)" for text, count in repeated.items()]
    if not character.meshes:
        found.append("there is no mesh: only the skeleton can be animated")
    elif not any(mesh.skinned for mesh in character.meshes):
        found.append("no mesh has a skin: parts move rigidly with their nodes; bind the mesh to a skeleton first")
    if len(anatomy.body) < 3:
        found.append(f"only {len(anatomy.body)} joint(s) move anything: there is little to animate")
    if not anatomy.legs:
        found.append("no feet found: ground contact cannot be judged; if it has legs, check --up and --forward")
    if anatomy.certainty < UNSURE:
        found.append(f"facing is a guess ({axis_name(anatomy.forward)}); set it with --forward")
    if axis_name(anatomy.up) != "+y":
        found.append(f"stands along {axis_name(anatomy.up)}, glTF expects +y up: set --up if this is wrong")
    if anatomy.height < UNITS[0]:
        found.append(f"only {anatomy.height:.3g} units high, and glTF units are metres: the file may be scaled by 0.01")
    if anatomy.height > UNITS[1]:
        found.append(f"{anatomy.height:.3g} units high, and glTF units are metres: the file may be in centimetres")
    return found


def show(description: dict[str, Any], console: Console) -> None:
    """The description as tables for a person."""
    facing, joints = description["facing"], description["joints"]
    _say(console, f"{description['name']}  {description['plan']}, {description['size']['height']:.4g} high", "bold")
    _say(console, f"faces {facing['forward']}, up {facing['up']} (certainty {facing['certainty']:.0%})")
    _say(console, _skeleton_line(description))
    names = {joint["node"]: joint["name"] for joint in joints}
    for joint in joints:
        if joint["hung_elsewhere"]:
            parent = names[joint["parent"]]
            _say(console, f"  {joint['name']} hangs on {parent} (the file keeps it under another node)")
    for table in (_parts_table(description), _meshes_table(description), _clips_table(description)):
        if table.row_count:
            console.print()
            console.print(table)
    if description["warnings"]:
        console.print()
    for warning in description["warnings"]:
        _say(console, f"warning: {warning}", "yellow")


def _say(console: Console, line: str, style: str = "") -> None:
    """One line, with nothing in it taken for markup: names come from files."""
    console.print(_plain(line), style=style, markup=False, soft_wrap=True)


def _skeleton_line(description: dict[str, Any]) -> str:
    joints, skeleton = description["joints"], description["skeleton"]
    roots = ", ".join(joint["name"] for joint in joints if joint["parent"] is None)
    pairs = sum(joint["mirror"] not in (None, joint["node"]) for joint in joints) // 2
    counted = f"{len(joints)} of {skeleton['joints']} joints" if skeleton["joints"] else f"{len(joints)} nodes"
    moving = " move the skin" if description["meshes"] else ""
    return f"{counted}{moving}, {pairs} left/right pairs; root: {roots}"


def _parts_table(description: dict[str, Any]) -> Table:
    table = _table("part", "joints", "touches the ground at")
    for part in ("trunk", "neck", "head", "tail"):
        members = [joint["name"] for joint in description["joints"] if joint["part"] == part]
        if members:
            _add_row(table, part, _shortened(members, ", "), "")
    for limb in description["limbs"]:
        contact = f"{limb['foot']} ({len(limb['contacts'])} points)" if limb["foot"] else ""
        _add_row(table, limb["name"], _shortened(limb["chain"], " > "), contact)
    return table


def _meshes_table(description: dict[str, Any]) -> Table:
    table = _table("mesh", "vertices", "triangles", "influences", "material")
    for mesh in description["meshes"]:
        look = mesh["material"] + (" (texture)" if mesh["texture"] else "")
        influences = str(mesh["influences"] or "rigid")
        _add_row(table, mesh["name"], f"{mesh['vertices']:,}", f"{mesh['triangles']:,}", influences, look)
    return table


def _clips_table(description: dict[str, Any]) -> Table:
    table = _table("clip", "seconds", "from", "tracks")
    for clip in description["clips"]:
        _add_row(table, clip["name"], f"{clip['duration']:.2f}", f"{clip['start']:.2f}", str(clip["tracks"]))
    return table


def _table(*columns: str) -> Table:
    from rich.table import Table

    return Table(*columns, box=None, pad_edge=False)


def _add_row(table: Table, *cells: str) -> None:
    from rich.text import Text

    table.add_row(*(Text(_plain(cell)) for cell in cells))


def _plain(text: str) -> str:
    """Without control characters, which could do anything to a terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _shortened(names: list[str], separator: str, most: int = 6) -> str:
    """A list of names on one line; the middle of a long one is left out."""
    if len(names) <= most:
        return separator.join(names)
    return separator.join([*names[: most - 2], "...", names[-1]])
