"""What Autodesk's FBX SDK makes of the .fbx files that gambol writes, by FBX2glTF, which is built on it.

    npm pack fbx2gltf@0.9.7 && tar xzf fbx2gltf-0.9.7.tgz && chmod +x package/bin/Linux/FBX2glTF
    python benchmarks/fbx_sdk.py --program package/bin/Linux/FBX2glTF fox FILES

Each character is written as .fbx, converted to .glb by the program, which samples takes, leaves out their last frame
and keeps four weights a vertex, and read again. The largest distance of any joint from where the character has it, at
rest and at the frames of the clips that are also frames of the program, and of any vertex of the new file from the
nearest of the character's [height].
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from gambol import Character, Clip, analyze
from gambol.character.clip import natural_fps
from gambol.creatures.gaits import gait
from gambol.creatures.load import load
from gambol.formats.convert import convert
from scipy.spatial import cKDTree

RATES = (24, 30, 60)
"""Frames a second at which the program can sample."""


def frames_of(clip: Clip) -> tuple[int, np.ndarray] | None:
    """A rate of the program, and times that are frames of it and of the take that gambol writes [s]; None for a clip
    whose frames are none of the program's."""
    fps = natural_fps(clip)
    for rate in RATES:
        times = np.arange(round(np.ceil(clip.start * rate - 1e-3)), int(clip.end * rate + 1e-3) + 1) / rate
        frames = (times - clip.start) * fps
        shared = times[np.abs(frames - np.round(frames)) < 1e-3]
        if len(shared) > 2:
            return rate, shared
    return None


def converted(program: Path, path: Path, rate: int) -> Character:
    target = path.with_suffix("")
    command = [str(program), "-b", "-i", str(path), "-o", str(target), "--anim-framerate", f"bake{rate}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{path.name}: {(done.stdout + done.stderr)[-300:]}")
    said = [line for line in (done.stdout + done.stderr).splitlines() if "warning" in line.lower()]
    if said:
        print(f"{path.name}: {said[0]}")
    return load(target.with_suffix(".glb"))


def compared(
    character: Character, clips: list[Clip], there: Character, times: list[np.ndarray], rate: int
) -> tuple[float, ...]:
    """Distances of joints at rest and in clips, and of vertices in clips [height]."""
    height = float(np.ptp(np.array(character.bounds), axis=0).max())
    at = {name: node for node, name in enumerate(there.skeleton.names)}
    nodes = [node for node in np.flatnonzero(character.skeleton.is_joint) if character.skeleton.names[node] in at]
    theirs = [at[character.skeleton.names[node]] for node in nodes]
    assert len(nodes) == character.skeleton.is_joint.sum(), "joints are missing"

    def off(own, other) -> float:
        places = (character.skeleton.world(own)[..., nodes, :3, 3], there.skeleton.world(other)[..., theirs, :3, 3])
        return float(np.linalg.norm(places[0] - places[1], axis=-1).max()) / height

    posed = skinned = 0.0
    for clip, moments in zip(clips, times, strict=True):
        since = moments - int(clip.start * rate) / rate  # it counts from the frame in which a take begins
        last = there.clips[clip.name].end + 1e-6
        own = clip.sample(character.skeleton, moments[since <= last])
        other = there.clips[clip.name].sample(there.skeleton, since[since <= last])
        posed = max(posed, off(own, other))
        for frame in (0, int((since <= last).sum()) - 1):
            points = [
                np.concatenate(each.vertices(pose.at(frame))) for each, pose in ((character, own), (there, other))
            ]
            skinned = max(skinned, float(cKDTree(points[0]).query(points[1])[0].max()) / height)
    return off(None, None), posed, skinned


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("characters", nargs="+", metavar="FILE|ANIMAL")
    parser.add_argument("--program", type=Path, required=True, help="FBX2glTF")
    parser.add_argument("--clips", type=int, default=6, metavar="N", help="most clips of a file (6)")
    options = parser.parse_args()
    print("| file | joints | clips | at rest | in clips | vertices |\n|---|---|---|---|---|---|")
    for name in options.characters:
        character = load(name)
        if not character.clips and not Path(name).suffix:
            character = replace(character, clips={"walk": gait(character, analyze(character), "walk")})
        takes = [(replace(clip, name=each), frames_of(clip)) for each, clip in character.clips.items()]
        rates = [shared[0] for _, shared in takes if shared]
        usual = max(set(rates), key=rates.count, default=30)
        chosen = [(clip, shared[1]) for clip, shared in takes if shared and shared[0] == usual][: options.clips]
        clips, times = [clip for clip, _ in chosen], [moments for _, moments in chosen]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "a.fbx")
            convert(character, path, clips)
            rest, posed, skinned = compared(character, clips, converted(options.program, path, usual), times, usual)
        joints = int(character.skeleton.is_joint.sum())
        print(f"| {Path(name).name} | {joints} | {len(clips)} | {rest:.1e} | {posed:.1e} | {skinned:.1e} |", flush=True)


if __name__ == "__main__":
    main()
