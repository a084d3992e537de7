"""What gambol sees in a character: as plain data, as a readable table, and what will go wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gambol.character.anatomy import Anatomy
from gambol.character.axes import axis_name
from gambol.character.character import Character

if TYPE_CHECKING:
    from rich.console import Console

UNSURE = 0.3
"""Certainty of the facing below which the user is asked to look."""
UNITS = (0.02, 60.0)
"""Heights [m] outside of which a file is probably in centimetres or inches."""


def describe(character: Character, anatomy: Anatomy) -> dict[str, Any]:
    """Everything `gambol info` shows, ready for JSON."""
    body, names = anatomy.body, character.skeleton.names
    spoken = [names[node] for node in body.nodes]
    low, high = character.bounds
    return {
        "name": character.name,
        "size": {"low": low.tolist(), "high": high.tolist(), "height": anatomy.height, "ground": anatomy.ground},
        "facing": {
            "up": axis_name(anatomy.up),
            "forward": axis_name(anatomy.forward),
            "certainty": round(anatomy.certainty, 2),
        },
        "plan": anatomy.plan,
        "skeleton": {
            "nodes": len(character.skeleton),
            "joints": int(character.skeleton.is_joint.sum()),
            "animated_joints": len(body),
            "roots": [spoken[joint] for joint, parent in enumerate(body.parents) if parent < 0],
            "hung_elsewhere": {spoken[joint]: spoken[body.parents[joint]] for joint in body.rehung},
        },
        "parts": {
            part: [spoken[joint] for joint in anatomy.joints_of(part)]
            for part in ("trunk", "neck", "head", "tail")
            if anatomy.joints_of(part)
        },
        "limbs": [
            {
                "name": anatomy.limb_name(limb),
                "kind": limb.kind,
                "side": limb.side,
                "chain": [spoken[joint] for joint in limb.chain],
                "foot": spoken[limb.foot] if limb.foot is not None else None,
                "contacts": len(limb.contacts),
            }
            for limb in anatomy.limbs
        ],
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


def warnings(character: Character, anatomy: Anatomy) -> list[str]:
    """What was repaired on reading, and what will go wrong later, each with the way out."""
    found = list(dict.fromkeys(character.warnings))
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
    from rich.markup import escape
    from rich.table import Table

    facing, skeleton = description["facing"], description["skeleton"]
    console.print(
        f"[bold]{escape(description['name'])}[/]  {description['plan']}, {description['size']['height']:.4g} high"
    )
    console.print(f"faces {facing['forward']}, up {facing['up']} (certainty {facing['certainty']:.0%})")
    roots = ", ".join(skeleton["roots"])
    console.print(f"{skeleton['animated_joints']} of {skeleton['joints']} joints move the skin; root: {escape(roots)}")
    for joint, parent in skeleton["hung_elsewhere"].items():
        console.print(f"  {escape(joint)} hangs on {escape(parent)} (the file keeps it under a control bone)")

    parts = Table("part", "joints, from the body outwards", "touches the ground at", box=None, pad_edge=False)
    for part, joints in description["parts"].items():
        parts.add_row(part, escape(_shortened(joints)))
    for limb in description["limbs"]:
        contact = f"{limb['foot']} ({limb['contacts']} points)" if limb["foot"] else ""
        parts.add_row(limb["name"], escape(_shortened(limb["chain"])), escape(contact))
    meshes = Table("mesh", "vertices", "triangles", "influences", "material", box=None, pad_edge=False)
    for mesh in description["meshes"]:
        look = mesh["material"] + (" (texture)" if mesh["texture"] else "")
        influences = str(mesh["influences"] or "rigid")
        meshes.add_row(
            escape(mesh["name"]), f"{mesh['vertices']:,}", f"{mesh['triangles']:,}", influences, escape(look)
        )
    clips = Table("clip", "seconds", "from", "tracks", box=None, pad_edge=False)
    for clip in description["clips"]:
        clips.add_row(escape(clip["name"]), f"{clip['duration']:.2f}", f"{clip['start']:.2f}", str(clip["tracks"]))
    for table in (parts, meshes, clips):
        if table.row_count:
            console.print()
            console.print(table)
    console.print()
    for warning in description["warnings"]:
        console.print(f"[yellow]warning[/] {escape(warning)}")


def _shortened(names: list[str], most: int = 6) -> str:
    """A list of names on one line; the middle of a long one is left out."""
    if len(names) <= most:
        return " > ".join(names)
    return " > ".join([*names[: most - 2], "...", names[-1]])
