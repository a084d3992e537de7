"""The half of the weight comparison that runs inside Blender: parent a mesh to bones "with automatic weights".

Run by `heat.py` with an interpreter that has `bpy`; knows nothing of gambol. Reads an .npz with vertices, faces, heads
and tips, and writes one with the weights (vertices, bones) and the seconds that Blender's operator took.
"""

import sys
import time

import bpy
import numpy as np


def make_mesh(vertices: np.ndarray, faces: np.ndarray):
    mesh = bpy.data.meshes.new("skin")
    mesh.from_pydata(vertices.tolist(), [], faces.tolist())
    thing = bpy.data.objects.new("skin", mesh)
    bpy.context.collection.objects.link(thing)
    return thing


def make_armature(heads: np.ndarray, tips: np.ndarray, shortest: float):
    """Bones named by their number. Blender deletes bones of no length, so those get a little."""
    armature = bpy.data.objects.new("bones", bpy.data.armatures.new("bones"))
    bpy.context.collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for number, (head, tip) in enumerate(zip(heads, tips, strict=True)):
        bone = armature.data.edit_bones.new(str(number))
        bone.head = head
        bone.tail = tip if np.linalg.norm(tip - head) > shortest else head + np.array([0, shortest, 0])
    bpy.ops.object.mode_set(mode="OBJECT")
    return armature


def automatic_weights(skin, armature, bones: int) -> tuple[np.ndarray, float]:
    bpy.ops.object.select_all(action="DESELECT")
    skin.select_set(True)
    armature.select_set(True)
    bpy.context.view_layer.objects.active = armature
    start = time.perf_counter()
    bpy.ops.object.parent_set(type="ARMATURE_AUTO")
    seconds = time.perf_counter() - start
    weights = np.zeros((len(skin.data.vertices), bones))
    number = {group.index: int(group.name) for group in skin.vertex_groups}
    for vertex in skin.data.vertices:
        for entry in vertex.groups:
            weights[vertex.index, number[entry.group]] = entry.weight
    return weights, seconds


def run(source: str, target: str) -> None:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    with np.load(source) as given:
        vertices, faces, heads, tips = (given[name] for name in ("vertices", "faces", "heads", "tips"))
    skin = make_mesh(vertices, faces)
    armature = make_armature(heads, tips, 1e-4 * float(np.ptp(vertices, axis=0).max()))
    weights, seconds = automatic_weights(skin, armature, len(heads))
    np.savez(target, weights=weights, seconds=seconds)


if __name__ == "__main__":
    run(*sys.argv[1:])
