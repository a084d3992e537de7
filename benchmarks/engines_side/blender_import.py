"""Where Blender has every bone of a .glb at some times: PYTHON_WITH_BPY blender.py JOB.json."""

import json
import sys
from pathlib import Path

import bpy  # isort: skip  # before addon_utils, which it brings along
import addon_utils

job = json.loads(Path(sys.argv[1]).read_text())
bpy.ops.wm.read_factory_settings(use_empty=True)
addon_utils.enable("io_scene_gltf2")
scene = bpy.context.scene
scene.render.fps = round(job["fps"])
bpy.ops.import_scene.gltf(filepath=job["path"])
places, off = [], 0.0
action = bpy.data.actions.get(job["clip"])
armature = next((thing for thing in bpy.data.objects if thing.type == "ARMATURE"), None)
if action is not None and armature is not None:
    for thing in bpy.data.objects:
        if thing.animation_data:
            for track in list(thing.animation_data.nla_tracks):
                thing.animation_data.nla_tracks.remove(track)
        slots = [slot for slot in action.slots if slot.target_id_type == "OBJECT"]
        own = [slot for slot in slots if slot.name_display == thing.name]
        if own or thing is armature:
            data = thing.animation_data or thing.animation_data_create()
            data.action = action
            data.action_slot = (own or slots)[0]
    curves = [
        curve for layer in action.layers for strip in layer.strips for bag in strip.channelbags for curve in bag.fcurves
    ]
    keys = [point.co[0] for curve in curves for point in curve.keyframe_points]
    off = max(abs(key - round(key)) for key in keys)
    for time in job["times"]:
        frame = time * scene.render.fps
        scene.frame_set(int(frame), subframe=frame - int(frame))
        found = {}
        for bone in armature.pose.bones:
            x, y, z = armature.matrix_world @ bone.head
            found[bone.name] = (x, z, -y)
        places.append(found)
names = [each.name for each in bpy.data.actions]
Path(job["output"]).write_text(json.dumps({"names": names, "places": places, "off_frame": off}))
