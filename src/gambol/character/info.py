"""What gambol sees in a character: as plain data, as a readable table, and what will go wrong."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from gambol.character.anatomy import UNSURE, Anatomy
from gambol.character.axes import axis_name
from gambol.character.character import Character
from gambol.text import printable

if TYPE_CHECKING:
    from rich.console import Console

UNITS = (0.02, 60.0)
"""Heights [m] outside of which a file is probably in centimetres or inches."""


def describe(character: Character, anatomy: Anatomy) -> dict[str, Any]:
    """Everything `gambol info` shows, ready for JSON. Joints are given by name and, since names repeat, by node."""
    held = anatomy.body.vertices[anatomy.body.owners >= 0]
    points = held if len(held) else anatomy.body.heads
    return {
        "name": character.name,
        "size": {  # of the body in its neutral pose [file units]
            "low": points.min(0).tolist(),
            "high": points.max(0).tolist(),
            "height": anatomy.height,
            "ground": anatomy.ground,
        },
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


def _joints(character: Character, anatomy: Anatomy) -> list[dict[str, Any]]:
    body, names = anatomy.body, character.skeleton.names
    reparented = set(body.reparented.tolist())

    def node(joint: int) -> int | None:
        return int(body.nodes[joint]) if joint >= 0 else None

    return [
        {
            "node": node(joint),
            "name": names[body.nodes[joint]],
            "parent": node(int(body.parents[joint])),
            "mirror": node(int(anatomy.partners[joint])),
            "part": anatomy.parts[joint],
            "reparented": joint in reparented,
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
        found.append("no feet found: ground contact cannot be measured; if it has legs, say so by --plan or --joints")
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
    """Print the description as tables for a person."""
    from rich.table import Table
    from rich.text import Text

    def say(line: str, style: str = "") -> None:  # names come from files: nothing in them is taken for markup
        console.print(printable(line), style=style, markup=False, soft_wrap=True)

    facing, joints = description["facing"], description["joints"]
    say(f"{description['name']}  {description['plan']}, {description['size']['height']:.4g} high", "bold")
    say(f"faces {facing['forward']}, up {facing['up']} (certainty {facing['certainty']:.0%})")
    say(_skeleton_line(description))
    names = {joint["node"]: joint["name"] for joint in joints}
    for joint in joints:
        if joint["reparented"]:
            say(f"  {joint['name']} is taken as a child of {names[joint['parent']]} (not so in the file)")
    for columns, rows in _tables(description).items():
        table = Table(*columns, box=None, pad_edge=False)
        for row in rows:
            table.add_row(*(Text(printable(cell)) for cell in row))
        if rows:
            console.print()
            console.print(table)
    if description["warnings"]:
        console.print()
    for warning in description["warnings"]:
        say(f"warning: {warning}", "yellow")


def _skeleton_line(description: dict[str, Any]) -> str:
    joints, skeleton = description["joints"], description["skeleton"]
    roots = ", ".join(joint["name"] for joint in joints if joint["parent"] is None)
    pairs = sum(joint["mirror"] not in (None, joint["node"]) for joint in joints) // 2
    counted = f"{len(joints)} of {skeleton['joints']} joints" if skeleton["joints"] else f"{len(joints)} nodes"
    moving = " move the skin" if description["meshes"] else ""
    return f"{counted}{moving}, {pairs} left/right pairs; root: {roots}"


def _tables(description: dict[str, Any]) -> dict[tuple[str, ...], list[tuple[str, ...]]]:
    """Rows of the tables of parts, meshes and clips, by their columns."""
    parts: list[tuple[str, ...]] = []
    for part in ("trunk", "neck", "head", "tail"):
        members = [joint["name"] for joint in description["joints"] if joint["part"] == part]
        if members:
            parts.append((part, _shortened(members, ", "), ""))
    for limb in description["limbs"]:
        contact = f"{limb['foot']} ({len(limb['contacts'])} points)" if limb["foot"] else ""
        parts.append((limb["name"], _shortened(limb["chain"], " > "), contact))
    meshes: list[tuple[str, ...]] = []
    for mesh in description["meshes"]:
        look = mesh["material"] + (" (texture)" if mesh["texture"] else "")
        influences = str(mesh["influences"] or "rigid")
        meshes.append((mesh["name"], f"{mesh['vertices']:,}", f"{mesh['triangles']:,}", influences, look))
    clips: list[tuple[str, ...]] = [
        (clip["name"], f"{clip['duration']:.2f}", f"{clip['start']:.2f}", str(clip["tracks"]))
        for clip in description["clips"]
    ]
    return {
        ("part", "joints", "touches the ground at"): parts,
        ("mesh", "vertices", "triangles", "influences", "material"): meshes,
        ("clip", "seconds", "from", "tracks"): clips,
    }


def _shortened(names: list[str], separator: str, most: int = 6) -> str:
    """A list of names on one line; the middle of a long one is left out."""
    shown = names if len(names) <= most else [*names[: most - 2], "...", names[-1]]
    return separator.join(shown)
