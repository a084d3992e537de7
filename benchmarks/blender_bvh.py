"""Open the .bvh files gambol writes in Blender and compare where the joints are.

    python benchmarks/blender_bvh.py [--blender-python PATH] FILES_OR_ANIMALS...

Of each character the first clips (an animal of the zoo: its walk) are written as .bvh and imported by Blender's own
importer, in an interpreter that has `bpy`. Compared are the heads of all bones, at rest with the pose the skin was
bound in, and in a few frames with the clip as gambol samples it. Blender's frame 1 is the first of the .bvh.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

TOLERANCE = 1e-5
"""Largest distance of any joint from Blender's, relative to the longest side of the skeleton. Blender's own rounding:
poses are float32, and so are angles after conversion to the axes of a bone."""
FRAMES = 6
CLIPS = 2


def inside_blender(jobs: list[dict]) -> None:
    """The half that runs with bpy: heads of bones at rest and in some frames, in glTF's axes, into one .npz a job."""
    import bpy  # isort: skip  # before addon_utils, which it brings along
    import addon_utils

    for job in jobs:
        bpy.ops.wm.read_factory_settings(use_empty=True)
        addon_utils.enable("io_anim_bvh")
        bpy.ops.import_anim.bvh(filepath=job["path"], axis_forward="-Z", axis_up="Y", rotate_mode=job["mode"])
        armature = next(thing for thing in bpy.data.objects if thing.type == "ARMATURE")

        def upright(points: list, armature=armature) -> np.ndarray:
            x, y, z = np.array([armature.matrix_world @ point for point in points]).T
            return np.stack([x, z, -y], axis=1)

        rest = upright([armature.data.bones[name].head_local for name in job["names"]])
        posed = []
        for frame in job["frames"]:
            bpy.context.scene.frame_set(frame + 1)
            posed.append(upright([armature.pose.bones[name].head for name in job["names"]]))
        np.savez(job["output"], rest=rest, posed=np.array(posed))


def outside(names: list[str], python: str, mode: str) -> int:
    """The half that knows gambol: writes files, has them opened, compares; the exit code."""
    from gambol.formats.bvh.writer import safe_names, write_bvh
    from gambol.formats.joints import sample_joints

    worst = 0.0
    print("| character | clip | joints | frames | rest | posed |", "|---" * 6 + "|", sep="\n")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            for character, clip in clips_of(name):
                path, output = Path(folder, "clip.bvh"), Path(folder, "heads.npz")
                write_bvh(character, clip, path)
                joints = sample_joints(character, clip)
                last = len(joints.positions) - 1
                frames = np.unique(np.linspace(0, last, FRAMES).round().astype(int)).tolist()
                job = {"path": str(path), "output": str(output), "frames": frames, "mode": mode}
                job["names"] = safe_names(joints.names)
                run_blender(python, [job], Path(folder, "jobs.json"))
                with np.load(output) as heads:
                    rest = np.linalg.norm(heads["rest"] - joints.rest_positions, axis=-1).max() / joints.size
                    posed = np.linalg.norm(heads["posed"] - joints.positions[frames], axis=-1).max() / joints.size
                worst = max(worst, posed)
                row = (character.name, clip.name, len(joints.names), last + 1, f"{rest:.1e}", f"{posed:.1e}")
                print("| " + " | ".join(map(str, row)) + " |", flush=True)
    print(f"\nworst: {worst:.1e} of the skeleton's size, allowed {TOLERANCE:g}")
    return int(not worst <= TOLERANCE)


def clips_of(name: str):
    from gambol import analyze, load
    from gambol.creatures.gaits import gait

    character = load(name)
    if character.clips:
        return [(character, clip) for clip in list(character.clips.values())[:CLIPS]]
    return [(character, gait(character, analyze(character), "walk"))]


def run_blender(python: str, jobs: list[dict], file: Path) -> None:
    file.write_text(json.dumps(jobs))
    finished = subprocess.run([python, __file__, "--inside", str(file)], capture_output=True, text=True, timeout=900)
    if finished.returncode:
        sys.exit(f"Blender could not do it:\n{finished.stderr or finished.stdout}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["fox"], metavar="FILES_OR_ANIMALS")
    parser.add_argument("--blender-python", default=os.environ.get("GAMBOL_BLENDER_PYTHON", sys.executable))
    parser.add_argument("--mode", choices=("NATIVE", "QUATERNION", "XYZ"), default="NATIVE", help="Blender's rotations")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        inside_blender(json.loads(arguments.inside.read_text()))
        return 0
    return outside(arguments.names, arguments.blender_python, arguments.mode)


if __name__ == "__main__":
    sys.exit(main())
