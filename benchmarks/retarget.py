"""Retargeting: how well clips carried onto other characters keep their footing, beside a naive copy of rotations.

    python benchmarks/retarget.py [FOLDER] [--pairs WORD ...] [--most 20] [--sheets FOLDER] [--json FILE]

FOLDER holds characters; PAIRS names them by their path in it, and pairs whose files are missing are left out. Of a
folder that has none of these, gaits are carried from each character to the next of the same number of legs; without a
folder, from each of some animals of the zoo to the next. The naive
copy is what simple tools do: every joint with a namesake, or the joint at the same place of the same limb, gets the
rotation relative to its parent that it has in the source, counted from the rest pose, and the root the source's path
scaled by the height. Columns: foot slide and penetration as in `gambol report`, at a height of 1 m; the share of the
time in which a foot is on the ground in one clip and not in the other; the mean difference between the times of
touchdowns, in which one that is missing counts as a quarter of a second. --sheets writes a picture for each pair:
source, naive copy, ours.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from gambol.character.anatomy import Anatomy, analyze
from gambol.character.bone_mesh import has_bone_mesh, visible
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.character.rig import build_rig
from gambol.creatures.gaits import gait
from gambol.creatures.zoo import create
from gambol.errors import GambolError
from gambol.formats import character_files, load
from gambol.language import action_of_clip
from gambol.motion.chains import find_chains
from gambol.motion.clip_tracks import tracks_of_clip
from gambol.motion.contacts import Contacts, find_contacts
from gambol.motion.correspondence import match_parts
from gambol.motion.mocap_ground import levelled, standing_on_ground
from gambol.motion.retarget import retarget
from gambol.motion.rig_motion import clip_of, rig_motion_of_poses
from gambol.quality.ground import foot_slide, penetration
from gambol.quality.normalized_clip import normalize_clip

ZOO = ["fox", "horse", "elephant", "human", "duck", "ostrich", "trex", "lion", "spider", "beetle", "ant", "scorpion"]
UAL, ADVENTURER = "clips/ual/UAL1_Standard.glb", "gltf/quaternius-more/Adventurer.glb"
HORSE, WOLF, TREX = (f"gltf/quaternius/{name}.glb" for name in ("Horse", "Wolf", "Trex"))
BUNNY, ORC = (f"clips/quaternius-monsters/Big_{name}.glb" for name in ("Bunny", "Orc"))
M2M = "gltf/mesh2motion"
PAIRS = (
    ("bvh/cmu/02_01.bvh", "02_01", UAL),
    ("bvh/cmu/02_01.bvh", "02_01", "gltf/kaykit/Knight.glb"),
    ("bvh/cmu/09_01.bvh", "09_01", ADVENTURER),
    ("bvh/cmu/02_04.bvh", "02_04", BUNNY),
    ("bvh/cmu-actions/05_01.bvh", "05_01", UAL),
    (UAL, "Walk_Loop", BUNNY),
    (UAL, "Dance_Loop", ADVENTURER),
    (UAL, "Sprint_Loop", "bvh/cmu/02_01.bvh"),
    (BUNNY, "Run", ORC),
    (HORSE, "AnimalArmature|Gallop", WOLF),
    (HORSE, "AnimalArmature|Gallop", "gltf/khronos/Fox.glb"),
    (HORSE, "AnimalArmature|Gallop", "clips/elceejo/bear.glb"),
    (WOLF, "AnimalArmature|Walk", HORSE),
    (f"{M2M}/horse-animations.glb", "Trot", "gltf/quaternius/Cow.glb"),
    (f"{M2M}/spider-animations.glb", "Walk", "gltf/quaternius/Spider.glb"),
    (f"{M2M}/bird-animations.glb", "Walk", f"{M2M}/variation-bird-eagle.glb"),
    (f"{M2M}/bird-animations.glb", "Flap", "clips/quaternius-monsters/Flying_Pigeon.glb"),
    (UAL, "Walk_Loop", TREX),
    (TREX, "Armature|TRex_Run", ADVENTURER),
    (UAL, "Walk_Loop", HORSE),
)
"""Source, its clip, and target."""
MISSING = 0.25
"""What a touchdown that is missing counts [s]."""


@dataclass(frozen=True, eq=False)
class Shown:
    """A clip of a character."""

    character: Character
    anatomy: Anatomy
    clip: Clip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", metavar="FOLDER")
    parser.add_argument("--most", type=int, default=20, help="most pairs of a folder that is not listed, or of the zoo")
    parser.add_argument("--pairs", nargs="*", default=[], help="only pairs that have one of these words in a name")
    parser.add_argument("--sheets", type=Path, help="folder for pictures")
    parser.add_argument("--json", type=Path, help="file for the figures")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    print(f"{'':58}   slide [cm/s]          sinks [mm]     contacts off [%]  touchdowns off [ms]")
    print(f"{'':58} source naive  ours    naive   ours     naive  ours       naive  ours   seconds")
    folder = options.folder
    listed = folder is not None and any((folder / path).exists() for path in (PAIRS[0][0], UAL, HORSE))
    for source, clip, target in PAIRS if listed else pairs_of(folder, options.most):
        files = [folder / source, folder / target] if listed else [Path(source), Path(target)]
        label = f"{Path(source).stem} {clip.split('|')[-1]} -> {Path(target).stem}"
        if options.pairs and not any(word in f"{source} {clip} {target}" for word in options.pairs):
            continue
        if listed and not all(file.exists() for file in files):
            print(f"{label}: left out, the files are not there")
            continue
        try:
            row, shown = compare(read(files[0]), clip, read(files[1]))
        except GambolError as error:
            print(f"{label}: left out, {error}", flush=True)
            continue
        rows.append({"pair": label, **row})
        print_row(rows[-1])
        if options.sheets:
            options.sheets.mkdir(parents=True, exist_ok=True)
            sheet(shown, options.sheets / f"{label.replace(' -> ', '-').replace(' ', '-')}.png")
    if rows:
        middle = {key: float(np.nanmedian([row[key] for row in rows])) for key in rows[0] if key != "pair"}
        print_row({"pair": f"median of {len(rows)}", **middle})
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


def read(path: Path) -> Character:
    """A file, or an animal of the zoo that walks."""
    if str(path) not in ZOO:
        return load(path)
    animal = create(str(path))
    return replace(animal, clips={"walk": gait(animal, analyze(animal), "walk")})


def pairs_of(folder: Path | None, most: int) -> list[tuple[str, str, str]]:
    """Gaits of characters and the next ones of the same number of legs."""
    names = [str(path) for path in character_files([folder])] if folder else ZOO
    by_legs: dict[int, list[tuple[str, str | None]]] = {}
    for name in names:
        try:
            character = read(Path(name))
            legs = len(analyze(character).legs)
        except GambolError:
            continue
        gaits = [clip for clip in character.clips if action_of_clip(clip) in ("walk", "trot", "run")]
        by_legs.setdefault(legs, []).append((name, gaits[0] if gaits else None))
    found = []
    for legs, group in sorted(by_legs.items()):
        for (source, clip), (target, _) in zip(group, [*group[1:], group[0]], strict=True):
            if legs and clip and source != target:
                found.append((source, clip, target))
    return found[:most]


def print_row(row: dict) -> None:
    keys = ("slide_source", "slide_naive", "slide", "sinks_naive", "sinks", "off_naive", "off", "late_naive", "late")
    widths = (6, 6, 6, 9, 7, 10, 6, 12, 6)
    told = "".join(f"{row[key]:{width}.1f}" for key, width in zip(keys, widths, strict=True))
    print(f"{row['pair']:58}{told}{row['seconds']:9.1f}", flush=True)


def compare(source: Character, name: str, target: Character) -> tuple[dict[str, float], list[Shown]]:
    """The figures of a pair, and what they were measured on: source, naive copy, ours."""
    begin = time.perf_counter()
    done = retarget(source, name, target)
    seconds = time.perf_counter() - begin
    clip = source.clips[name].from_zero()
    source, anatomy = standing_on_ground(source, clip)
    if has_bone_mesh(source):  # so that its footfalls are found
        clip, _ = levelled(source, anatomy, clip)
    shown = [
        Shown(source, anatomy, clip),
        Shown(done.target, done.anatomy, naive(source, anatomy, clip, done.target, done.anatomy)),
        Shown(done.target, done.anatomy, done.clip),
    ]
    found = {"seconds": seconds}
    legs = _legs(anatomy, done.anatomy)
    contacts = [find_contacts(each.character, each.anatomy, each.clip) for each in shown]
    for each, ours, word in zip(shown, contacts, ("_source", "_naive", ""), strict=True):
        normal = normalize_clip(each.character, each.clip, each.anatomy)
        found[f"slide{word}"] = foot_slide(normal).get("foot_slide_mean", np.nan)
        found[f"sinks{word}"] = penetration(normal).get("penetration_mean", np.nan)
        if word != "_source":
            found[f"off{word}"], found[f"late{word}"] = _timing(contacts[0], ours, legs)
    return found, shown


def _legs(source: Anatomy, target: Anatomy) -> list[tuple[int, int]]:
    """Legs of the source and the legs of the target that correspond to them."""
    parts = match_parts(find_chains(source), find_chains(target))
    theirs, ours = parts.source.legs, parts.target.legs
    pairs = [(parts.counterparts[chain], leg) for leg, chain in enumerate(ours)]
    return [(theirs.index(found.chain), leg) for found, leg in pairs if found and not found.borrowed]


def _timing(source: Contacts, ours: Contacts, legs: list[tuple[int, int]]) -> tuple[float, float]:
    """Share of the time in which contacts differ [%], and mean difference of touchdowns [ms]."""
    if not any(source.down[a].any() for a, _ in legs):
        return np.nan, np.nan
    late = 0.0 if source.loops else source.looped.duration - ours.looped.duration  # a calibration pose is left out
    times = np.linspace(0.0, source.looped.duration, 400, endpoint=False)
    apart, touchdowns = [], []
    for a, b in legs:
        flags = [
            contacts.down[leg][np.clip(((times - shift) * contacts.fps).astype(int), 0, contacts.down.shape[1] - 1)]
            for contacts, leg, shift in ((source, a, 0.0), (ours, b, late))
        ]
        apart.append(np.mean(flags[0] != flags[1]))
        theirs, found = (_starts(each, leg) for each, leg in ((source, a), (ours, b)))
        for start in theirs:
            gaps = np.abs(found + late - start)
            if source.loops:
                gaps = np.minimum(gaps, np.abs(source.looped.duration - gaps))
            touchdowns.append(min(float(gaps.min(initial=MISSING)), MISSING))
    return 100 * float(np.mean(apart)), 1000 * float(np.mean(touchdowns)) if touchdowns else np.nan


def _starts(contacts: Contacts, leg: int) -> np.ndarray:
    """Times of touchdowns [s], without a foot that is down from the start or all the time."""
    spans = [] if contacts.down[leg].all() else contacts.spans(leg)
    return np.array([start for start, _ in spans if contacts.loops or start > 0])


def naive(source: Character, theirs: Anatomy, clip: Clip, target: Character, ours: Anatomy) -> Clip:
    """A copy of rotations relative to the parent, by names or by the place in a limb, and of the root's path."""
    from gambol.motion.contacts import plain

    chains, chains_target, rig = find_chains(theirs), find_chains(ours), build_rig(ours)
    read = tracks_of_clip(source, chains, clip, 30.0, captured=has_bone_mesh(source))
    looped = find_contacts(source, theirs, clip).looped
    count = len(read.poses) + read.tracks.loops
    poses = plain(looped).poses(np.linspace(read.left_out, looped.duration, count))
    axes, axes_target, body = chains.axes, chains_target.axes, ours.body
    rest = theirs.body.T_world_node[theirs.body.nodes][:, :3, :3]
    turned = axes.T @ poses[..., :3, :3] @ np.linalg.inv(rest) @ axes
    turned /= np.cbrt(np.linalg.det(turned))[..., None, None]
    pairs = _joints(source, chains, target, chains_target)
    found = np.tile(np.eye(3), (count, len(body), 1, 1))
    heads = np.zeros((count, len(body), 3))
    root = int(np.flatnonzero(theirs.body.parents < 0)[0])
    moved = (poses[:, root, :3, 3] - theirs.body.heads[root]) * (ours.height / theirs.height) @ axes @ axes_target.T
    for joint, parent in enumerate(body.parents):
        other = pairs.get(joint)
        own = np.broadcast_to(np.eye(3), (count, 3, 3)) if other is None else turned[:, other]
        if other is not None and parent >= 0 and (above := int(theirs.body.parents[other])) >= 0:
            own = found[:, parent] @ turned[:, above].transpose(0, 2, 1) @ own
        elif other is None and parent >= 0:
            own = found[:, parent]
        found[:, joint] = own
        if parent < 0:
            heads[:, joint] = body.heads[joint] + moved
        else:
            way = axes_target.T @ (body.heads[joint] - body.heads[parent])
            heads[:, joint] = heads[:, parent] + (found[:, parent] @ way) @ axes_target.T
    world = np.tile(np.eye(4), (count, len(body), 1, 1))
    world[..., :3, :3] = axes_target @ found @ axes_target.T @ body.T_world_node[body.nodes][:, :3, :3]
    world[..., :3, 3] = heads
    motion = rig_motion_of_poses(rig, world, looped.duration - read.left_out, False)
    return clip_of(target, rig, motion, "naive", motion.fps)


def _joints(source: Character, theirs, target: Character, ours) -> dict[int, int]:
    """The source's joint for each joint of the target: of the same name, or at the same place of the same limb."""
    names = {source.skeleton.names[node]: joint for joint, node in enumerate(theirs.anatomy.body.nodes)}
    found = {
        joint: names[target.skeleton.names[node]]
        for joint, node in enumerate(ours.anatomy.body.nodes)
        if target.skeleton.names[node] in names
    }
    if len(found) > len(ours.anatomy.body) / 2:
        return found
    chains = {(chain.kind, chain.side, chain.rank): chain for chain in theirs.chains}
    found = {}
    for chain in ours.chains:
        other = chains.get((chain.kind, chain.side, chain.rank))
        found |= dict(zip(chain.joints, other.joints, strict=False)) if other else {}
    return found


def sheet(shown: list[Shown], path: Path) -> None:
    """Write source, naive copy and ours below each other, seen from the side, on the ground of the neutral pose."""
    from PIL import Image

    rows = [_strip(each) for each in shown]
    image = Image.new("RGB", (max(row.width for row in rows), sum(row.height for row in rows)))
    top = 0
    for row in rows:
        image.paste(row, (0, top))
        top += row.height
    image.save(path)


def _strip(shown: Shown, frames: int = 8, size: int = 200):
    from gambol.render.picture import place_cameras, render_frames
    from gambol.render.raycast import MeshScene
    from PIL import Image

    character, anatomy = visible(shown.character), shown.anatomy
    times = shown.clip.start + shown.clip.duration * np.arange(frames) / frames
    shot = place_cameras(
        character,
        shown.clip,
        times,
        up=anatomy.up,
        forward=anatomy.forward,
        view="side",
        azimuth=None,
        elevation=None,
        size=size,
    )
    shot = replace(shot, floor=replace(shot.floor, height=anatomy.ground))
    images = [Image.fromarray(np.asarray(frame)) for frame in render_frames(shot, MeshScene(character), samples=2)]
    strip = Image.new("RGB", (frames * size, size))
    for number, image in enumerate(images):
        strip.paste(image, (number * size, 0))
    return strip


if __name__ == "__main__":
    main()
