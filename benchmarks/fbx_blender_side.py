"""The part of `fbx_readers.py` that runs in Blender: import FBX files, pose them, write down where the vertices are.

Run with an interpreter that has `bpy`; knows nothing of gambol. Reads a list of jobs (JSON) and writes one .npz for
each. Positions are turned into glTF's axes: y up. Whatever Blender's importer prints as a warning is kept.
"""

import contextlib
import io
import json
import sys

import bpy
import numpy as np


def vertices() -> dict[str, np.ndarray]:
    """World positions of every object's evaluated mesh, by the object's name."""
    graph = bpy.context.evaluated_depsgraph_get()
    found = {}
    for thing in bpy.data.objects:
        if thing.type != "MESH":
            continue
        evaluated = thing.evaluated_get(graph)
        mesh = evaluated.to_mesh()
        flat = np.empty(3 * len(mesh.vertices), np.float32)
        mesh.vertices.foreach_get("co", flat)
        evaluated.to_mesh_clear()
        matrix = np.array(evaluated.matrix_world, np.float64)
        x, y, z = (flat.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3]).T
        found[thing.name] = np.stack([x, z, -y], axis=1)
    return found


def heads() -> dict[str, np.ndarray]:
    """World positions of the heads of all bones, and of empties and other objects, by their names."""
    graph = bpy.context.evaluated_depsgraph_get()
    found = {}
    for thing in bpy.data.objects:
        evaluated = thing.evaluated_get(graph)
        places = {thing.name: evaluated.matrix_world.translation}
        if thing.type == "ARMATURE":
            places |= {bone.name: evaluated.matrix_world @ bone.head for bone in evaluated.pose.bones}
        for name, (x, y, z) in places.items():
            found[name] = np.array([x, z, -y])
    return found


def activate(take: str) -> bool:
    """Give every object and every set of shape keys its action of a take; whether there was one."""
    some = False
    for data in (*bpy.data.objects, *bpy.data.shape_keys):
        named = f"{data.name}|{take}"[:63]  # Blender's longest name
        ours = [each for each in bpy.data.actions if each.name == named or each.name.startswith(f"{named}|")]
        kind = "OBJECT" if isinstance(data, bpy.types.Object) else "KEY"
        ours = [action for action in ours if action.slots and action.slots[0].target_id_type == kind]
        if ours:
            animation = data.animation_data or data.animation_data_create()
            animation.action = ours[0]
            if animation.action_slot is None and ours[0].slots:
                animation.action_slot = ours[0].slots[0]
            some = True
    return some


def run(path: str, clips: list[dict], output: str, from_start: bool) -> None:
    del from_start  # the caller has added it
    bpy.ops.wm.read_factory_settings(use_empty=True)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        bpy.ops.import_scene.fbx(filepath=path, anim_offset=0.0)
    scene = bpy.context.scene
    for data in (*bpy.data.objects, *bpy.data.shape_keys):
        if data.animation_data:
            data.animation_data.action = None
    bpy.context.view_layer.update()
    arrays = {f"rest/{name}": points for name, points in vertices().items()}
    fps = scene.render.fps / scene.render.fps_base
    for clip in clips:
        if not activate(clip["take"]):
            continue
        for i, seconds in enumerate(clip["times"]):
            frame = seconds * fps
            scene.frame_set(int(np.floor(frame + 1e-6)), subframe=float(max(frame - np.floor(frame + 1e-6), 0.0)))
            key = f"{clip['take']}/{i}"
            arrays |= {f"{key}/{name}": points for name, points in vertices().items()}
            arrays |= {f"{key}/:{name}": point for name, point in heads().items()}
    warned = [line for line in said.getvalue().splitlines() if "warn" in line.lower() or "error" in line.lower()]
    bones = {
        bone.name: [*(thing.matrix_world @ bone.head_local)]
        for thing in bpy.data.objects
        if thing.type == "ARMATURE"
        for bone in thing.data.bones
    }
    facts = {
        "version": bpy.app.version_string,
        "fps": fps,
        "warnings": warned,
        "materials": sorted(material.name for material in bpy.data.materials),
        "images": sorted(image.name for image in bpy.data.images if image.size[0]),
        "bones": bones,
        "actions": sorted(action.name for action in bpy.data.actions),
    }
    arrays["facts"] = np.array(json.dumps(facts))
    np.savez(output, **arrays)  # type: ignore[arg-type]


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        for job in json.load(file):
            run(**job)
