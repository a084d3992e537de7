"""The part of `fbx_readers.py` that asks ufbx: its own evaluation of a file, with nothing changed but axes and units.

Reads a list of jobs (JSON) and writes one .npz for each, as `fbx_blender_side.py` does. The scene is evaluated as a
whole, skinning included, with pivots, inherit modes and curves as the file has them, y up and in metres; gambol goes
another way, by baked local transforms and its own skinning.
"""

import gc
import json
import os
import sys
from pathlib import Path

import numpy as np
import ufbx
from gambol.formats.fbx.extract import array, items

gc.disable()  # see extract.py for what is wrong with the binding


def matrix(columns) -> np.ndarray:
    return np.array(columns, np.float64).T


def vertices(scene) -> dict[str, np.ndarray]:
    """World positions of every object's mesh, by the object's name."""
    found = {}
    for node in items(scene.nodes):
        mesh = node.mesh
        if mesh is None or not mesh.num_triangles:
            continue
        points = array(mesh.skinned_position.values).reshape(-1, 3)
        if mesh.skinned_is_local:
            to_world = matrix(node.geometry_to_world)
            points = points @ to_world[:, :3].T + to_world[:, 3]
        found[node.name] = points
    return found


def places(scene) -> dict[str, np.ndarray]:
    """World positions of all nodes but the root, by their names after a colon."""
    nodes = [node for node in items(scene.nodes) if not node.is_root]
    return {f":{node.name}": matrix(node.node_to_world)[:, 3] for node in nodes}


def run(path: str, clips: list[dict], output: str, from_start: bool) -> None:
    """from_start: whether times count from the start of a take, as in a clip that was read, or are the file's own."""
    scene = ufbx.load_file(
        path,
        target_axes=ufbx.axes_right_handed_y_up,
        target_unit_meters=1.0,
        evaluate_skinning=True,
    )
    unit = scene.settings.original_unit_meters
    arrays = {}
    for node in items(scene.nodes):
        if node.mesh is not None and node.mesh.num_triangles:
            arrays[f"points/{node.name}"] = array(node.mesh.vertices).reshape(-1, 3) * unit
    arrays |= {f"rest/{name}": points for name, points in (vertices(scene) | places(scene)).items()}
    stacks = {stack.name: stack for stack in items(scene.anim_stacks)}
    starts = {name: stack.time_begin for name, stack in stacks.items()}
    for clip in clips:
        for i, seconds in enumerate(clip["times"]):
            time = seconds + (starts[clip["take"]] if from_start else 0.0)
            posed = ufbx.evaluate_scene(scene, stacks[clip["take"]].anim, time, evaluate_skinning=True)
            key = f"{clip['take']}/{i}"
            arrays |= {f"{key}/{name}": points for name, points in (vertices(posed) | places(posed)).items()}
    facts = {"fps": scene.settings.frames_per_second, "starts": starts}
    arrays["facts"] = np.array(json.dumps(facts))
    np.savez(output, **arrays)


if __name__ == "__main__":
    for job in json.loads(Path(sys.argv[1]).read_text()):
        run(**job)
    sys.stdout.flush()
    os._exit(0)
