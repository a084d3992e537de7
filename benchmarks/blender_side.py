"""The half of the comparison that runs inside Blender: import a file, pose it, write down where the vertices are.

Run by `blender.py` with an interpreter that has `bpy`; knows nothing of gambol. Reads a list of jobs (JSON) and writes
one .npz for each. Positions are turned back into glTF's axes: y up.
"""

import json
import sys
from types import ModuleType

import bpy
import numpy as np

FPS = 1000
"""Blender counts time in frames, float32. At 1000 a second a frame number keeps microseconds over a clip's length."""


class Probe:
    """Hooks of the glTF importer's extension interface: which object carries which node's mesh, which clip is which."""

    imported: "Probe"

    def __init__(self):
        self.objects = {}
        self.tracks = []
        Probe.imported = self

    def gather_import_node_after_hook(self, vnode, gltf_node, blender_object, gltf):
        if vnode.mesh_node_idx is not None:
            self.objects[vnode.mesh_node_idx] = blender_object

    def gather_import_animations(self, animations, options, gltf):
        options.restore_first_anim = False  # the file's own pose first; clips are chosen below, one by one
        self.tracks = [animation.track_name for animation in animations or []]


def install_probe() -> None:
    """The importer looks for `glTF2ImportUserExtension` in the modules of the enabled add-ons."""
    module = ModuleType("vertex_probe")
    module.glTF2ImportUserExtension = Probe  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    bpy.context.preferences.addons.new().module = module.__name__


def import_file(path: str, bones: str) -> Probe:
    """Into an empty scene, with every vertex kept. `bones`: how the importer chooses the direction of bones."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    install_probe()
    bpy.context.scene.render.fps = FPS
    bpy.ops.import_scene.gltf(filepath=path, merge_vertices=False, bone_heuristic=bones)
    return Probe.imported


def animated_data() -> list:
    """Everything a clip can drive: objects, and the shape keys of meshes."""
    return [*bpy.data.objects, *bpy.data.shape_keys]


class RestPose:
    """Values without a clip. A clip that says nothing of a bone must not inherit what the clip before did to it."""

    def __init__(self):
        bones = [bone for thing in bpy.data.objects if thing.pose for bone in thing.pose.bones]
        self._placed = [
            (thing, thing.location.copy(), thing.rotation_quaternion.copy(), thing.scale.copy())
            for thing in (*bpy.data.objects, *bones)
        ]
        self._keys = [(key, key.value) for keys in bpy.data.shape_keys for key in keys.key_blocks]

    def restore(self) -> None:
        for thing, location, rotation, scale in self._placed:
            thing.location, thing.rotation_quaternion, thing.scale = location, rotation, scale
        for key, value in self._keys:
            key.value = value


def activate(track_name: str) -> None:
    """Make a clip the active action wherever the importer stashed it, as the user would in the action editor."""
    for data in animated_data():
        animation = data.animation_data
        if animation is None:
            continue
        strips = [track.strips[0] for track in animation.nla_tracks if track.name == track_name and track.strips]
        animation.action = strips[0].action if strips else None
        if strips:
            animation.action_slot = strips[0].action_slot


def set_time(seconds: float) -> None:
    """Split so that the float32 sum of frame and subframe is the very number the importer gave the key."""
    moment = np.float32(seconds * FPS)
    frame = np.floor(moment)
    bpy.context.scene.frame_set(int(frame), subframe=float(moment - frame))


def vertices(thing) -> np.ndarray:
    """World positions of the evaluated mesh in glTF's axes (vertices, 3)."""
    evaluated = thing.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = evaluated.to_mesh()
    flat = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", flat)
    evaluated.to_mesh_clear()
    matrix = np.array(evaluated.matrix_world, np.float64)
    x, y, z = (flat.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3]).T
    return np.stack([x, z, -y], axis=1)


def run(path: str, clips: list[dict], bones: str, output: str) -> None:
    """Write 'rest/node' and 'clip/time/node' arrays: each clip by its number in the file, at its times [s]."""
    probe = import_file(path, bones)
    rest = RestPose()
    bpy.context.view_layer.update()
    arrays = {f"rest/{node}": vertices(thing) for node, thing in probe.objects.items()}
    for clip in clips:
        activate("")
        rest.restore()
        activate(probe.tracks[clip["number"]])
        for i, seconds in enumerate(clip["times"]):
            set_time(seconds)
            for node, thing in probe.objects.items():
                arrays[f"{clip['number']}/{i}/{node}"] = vertices(thing)
    arrays["summary"] = np.array(json.dumps(summary(probe)))
    np.savez(output, **arrays)  # type: ignore[arg-type]


def summary(probe: Probe) -> dict:
    """What the import brought into the scene."""
    armatures = [thing for thing in bpy.data.objects if thing.type == "ARMATURE"]
    return {
        "version": bpy.app.version_string,
        "armatures": len(armatures),
        "meshes": len(probe.objects),
        "bones": sum(len(thing.data.bones) for thing in armatures),
        "actions": sorted(action.name for action in bpy.data.actions),
        "tracks": probe.tracks,
    }


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        for job in json.load(file):
            run(**job)
