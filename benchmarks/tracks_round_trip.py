"""Round trip: how exactly clips come back from tracks of body parts when they are written onto the rig they came from.

    python benchmarks/tracks_round_trip.py FOLDER ... [--clips N] [--worst N] [--json FILE]

All characters in the folders and below, of each up to N clips spread evenly over its list, each at up to 48 even times.
Joints are those of `gambol.motion.chains`: trunk, neck and head, tail, and of arms, legs, wings and fins all from the
shoulder or hip to the hand or foot. Single fingers and toes do not count, but all fingers of a hand as a whole do: the
rotation of the station they share. What hangs beside the chains, as ears, jaws, hair and clothes, does not count.

A clip comes back if, at all times and for all these joints, the place is within 1 % of the height of the body, from
the ground to its highest point, and the rotation within 3 degrees. The family is the folder that a file is in.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from gambol import Character, analyze, load
from gambol.character.clip import Clip
from gambol.character.transforms import nearest_rotation
from gambol.errors import GambolError
from gambol.formats import character_files
from gambol.motion.body_tracks import poses_of_tracks, station_rotations, tracks_of_poses
from gambol.motion.chains import DIGITS, Chains, find_chains
from gambol.progress import progress
from jaxtyping import Float
from torch import Tensor

NEAR, SAME_WAY = 0.01, 3.0
"""Largest error of a clip that comes back: of places [height], of rotations [degrees]."""
FRAMES = 48
"""Most frames of a clip that are compared."""


@dataclass(frozen=True)
class Returned:
    """How exactly a clip came back."""

    family: str
    file: str
    clip: str
    place: float
    """Largest error of the place of a joint [height]."""
    place_of: str
    """The joint that it is of."""
    angle: float
    """Largest error of a rotation [degrees]."""
    angle_of: str
    """The joint that it is of, or the chain whose fingers it is of."""
    stretch: float
    """How far a joint of the chains moves at most from where the joint above it holds it at rest [height]: what no
    rotation can say."""

    @property
    def off(self) -> float:
        """The larger error, as a multiple of the largest one of a clip that comes back."""
        return max(self.place / NEAR, self.angle / SAME_WAY)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--clips", type=int, default=4, metavar="N", help="most clips of a file (4)")
    parser.add_argument("--worst", type=int, default=40, metavar="N", help="most clips that are named (40)")
    parser.add_argument("--json", type=Path, help="file for the figures of every clip")
    options = parser.parse_args()
    torch.set_num_threads(1)
    files = sorted(character_files(options.folders, (".bvh",)))
    found: list[Returned] = []
    with progress("round trips") as advance:
        for number, file in enumerate(files):
            advance(number, len(files), note=file.stem)
            try:
                found += round_trips(file, options.clips)
            except GambolError as error:
                print(f"{file.name}: left out, {error}", file=sys.stderr)
        advance(len(files), len(files))
    if not found:
        parser.error("there is no clip of a character with joints in these folders")
    print_table(found, options.worst)
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in found], indent=1))


def round_trips(file: Path, most: int) -> list[Returned]:
    """Some clips of a character, written onto tracks and back."""
    character = load(file)
    clips = [clip for clip in character.clips.values() if any(track.path != "weights" for track in clip.tracks)]
    if not clips or not character.can_move:
        return []
    chains = find_chains(analyze(character))
    chosen = np.unique(np.linspace(0, len(clips) - 1, min(most, len(clips))).round().astype(int))
    return [round_trip(file, character, chains, clips[number]) for number in chosen]


def round_trip(file: Path, character: Character, chains: Chains, clip: Clip) -> Returned:
    """A clip on its rig, beside what its tracks say on the same rig."""
    body, height = chains.anatomy.body, chains.anatomy.height
    times = np.linspace(clip.start, clip.end, min(max(round(30 * clip.duration) + 1, 2), FRAMES))
    world = character.skeleton.world(clip.sample(character.skeleton, times))[:, body.nodes, :3]
    poses = torch.as_tensor(world)
    again = poses_of_tracks(chains, tracks_of_poses(chains, poses, max(clip.duration, 1e-6), False, heading=0.0))
    labels = [character.skeleton.names[node] for node in body.nodes]
    joints = sorted({joint for chain in chains.chains for joint in chain.joints})
    apart = (again - poses)[:, joints][..., 3].norm(dim=-1).amax(0).numpy() / height
    rest = np.linalg.inv(body.T_world_node[body.nodes][joints, :3, :3])
    turns = (nearest_rotation(each[:, joints, :, :3].numpy() @ rest) for each in (poses, again))
    angles = _angles(*turns).max(0)
    off = {labels[joint]: float(angle) for joint, angle in zip(joints, angles, strict=True)}
    off |= _digits(chains, poses, again)
    worst = max(off, key=lambda name: off[name])
    far = int(apart.argmax())
    names = (file.parent.name, file.stem, clip.name)
    return Returned(
        *names, float(apart[far]), labels[joints[far]], off[worst], worst, _stretch(chains, world, joints) / height
    )


def _digits(
    chains: Chains, poses: Float[Tensor, "frames joints 3 4"], again: Float[Tensor, "frames joints 3 4"]
) -> dict[str, float]:
    """Largest error of the fingers or toes of each limb as a whole [degrees]."""
    before, after = (station_rotations(chains, each, 0.0)[:, :, DIGITS].numpy() for each in (poses, again))
    limbs = [number for number, chain in enumerate(chains.chains) if chain.kind in ("arm", "leg")]
    return {f"fingers of {chains.chains[n].name}": float(_angles(before[:, n], after[:, n]).max()) for n in limbs}


def _angles(a: Float[np.ndarray, "*batch 3 3"], b: Float[np.ndarray, "*batch 3 3"]) -> Float[np.ndarray, " *batch"]:
    """Angles between rotations [degrees]; by the chord, which is exact for small ones."""
    chord = np.linalg.norm(a - b, axis=(-2, -1)) / np.sqrt(8)
    return np.degrees(2 * np.arcsin(np.clip(chord, 0, 1)))


def _stretch(chains: Chains, world: Float[np.ndarray, "frames joints 3 4"], joints: list[int]) -> float:
    """How far joints move at most from where those above hold them at rest [file units]."""
    body = chains.anatomy.body
    held = [joint for joint in joints if body.parents[joint] >= 0]
    above = body.parents[held]
    turned = nearest_rotation(world[..., :3] @ np.linalg.inv(body.T_world_node[body.nodes][:, :3, :3]))
    rest = body.heads[held] - body.heads[above]
    kept = world[:, above][..., 3] + (turned[:, above] @ rest[..., None])[..., 0]
    return float(np.linalg.norm(world[:, held][..., 3] - kept, axis=-1).max(initial=0))


def print_table(found: list[Returned], worst: int) -> None:
    families = defaultdict(list)
    for each in found:
        families[each.family].append(each)
    print("| family | files | clips | come back | place [%]: median | worst | angle [°]: median | worst |")
    print("|---|---|---|---|---|---|---|---|")
    for family, clips in [*sorted(families.items()), ("all", found)]:
        places, angles = [100 * each.place for each in clips], [each.angle for each in clips]
        told = " | ".join(f"{value:.2f}" for each in (places, angles) for value in (np.median(each), max(each)))
        files, back = len({(each.family, each.file) for each in clips}), sum(each.off <= 1 for each in clips)
        print(f"| {family} | {files} | {len(clips)} | {back} | {told} |")
    missed = sorted((each for each in found if each.off > 1), key=lambda each: -each.off)
    back = len(found) - len(missed)
    print(f"\n{back} of {len(found)} come back ({100 * back / len(found):.1f} %).")
    print("\n| clip that does not | place [%] | of | angle [°] | of | stretch [%] |\n|---|---|---|---|---|---|")
    for each in missed[:worst]:
        name = f"{each.family}/{each.file} {each.clip.replace('|', ' ')}"
        place, angle = f"{100 * each.place:.1f} | {each.place_of}", f"{each.angle:.1f} | {each.angle_of}"
        print(f"| {name} | {place} | {angle} | {100 * each.stretch:.1f} |")


if __name__ == "__main__":
    main()
