"""Skeletons for bare meshes: how near to those of artists, on real rigs without their skeleton and on the zoo.

    python benchmarks/rig.py FOLDER [--zoo 24] [--pictures OUT] [--only TEXT] [--walks]

FOLDER holds `gltf` and `clips`, as the files are named in RIGS. Every character loses skeleton, skin and clips, keeps
its mesh in the neutral pose, and is rigged by `gambol.rig` without any option. Then, for each plan and over all:

- J2J, J2B, B2B: Chamfer distances x 100 in a unit box, the mean of both directions, from joints to joints, joints to
  bones, and bones to bones sampled every 0.005. Joints that move no skin do not count, on either side.
- plan: the number of legs that RIGS says, as `gambol info` reads the result.
- facing: the axis that it truly faces.
- limbs: every leg, arm and wing of the artist's skeleton has one of ours of its kind whose tip is within 0.15 of the
  unit box, and we have no other. Fins, ears and horns do not count.
- seconds: the median of all of `rig`, reading the file not included.

Rows: by plan, and apart from that the rigs of joints in a blended skin alone (ARTISTS), without those of boxes on one
joint each and those whose tree was inferred by a converter. The second table is of random animals of the zoo, whose
skeletons are known; none of them was used to choose anything.

--walks instead: the files of WALKERS are animated with "it is walking" on the artist's skeleton and on ours, with the
defaults of `gambol.animate`; verdict, foot slide and the reason of the report side by side.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from gambol.character.anatomy import Anatomy, analyze
from gambol.character.axes import axis_name
from gambol.character.body import Body
from gambol.character.character import Character
from gambol.character.limbs import Limb
from gambol.character.plans import Plan
from gambol.character.skeleton import Pose, Skeleton
from gambol.character.skin import baked
from gambol.creatures.zoo import random_creature
from gambol.distillation.animate import animate
from gambol.errors import GambolError
from gambol.formats import load, save
from gambol.quality.report import report
from gambol.rigging.rig import rig_mesh
from scipy.spatial import cKDTree

Array = np.ndarray
RIGS: dict[str, str] = {
    "gltf/khronos/CesiumMan.glb": "biped",
    "gltf/babylon/HVGirl.glb": "biped",
    "gltf/threejs/RobotExpressive.glb": "biped",
    "gltf/kaykit/Knight.glb": "biped",
    "gltf/playcanvas/lumberjack.glb": "biped",
    "gltf/quaternius/cyberpunk_Character.glb": "biped",
    "gltf/quaternius/platformer_Character.glb": "biped",
    "gltf/quaternius-more/Adventurer.glb": "biped",
    "gltf/quaternius-more/Mike.glb": "biped",
    "gltf/mesh2motion/variation-human-female.glb": "biped",
    "gltf/mesh2motion/kaiju-animations.glb": "biped",
    "ual/UAL1_Standard.glb": "biped",
    "quaternius-people/Animated_Woman.glb": "biped",
    "quaternius-people/Male_Casual.glb": "biped",
    "quaternius-monsters/Big_Yeti.glb": "biped",
    "kaykit/Rig_Large_basic.glb": "biped",
    "kenney-mini/character-female-a.glb": "biped",
    "gltf/quaternius/Trex.glb": "biped",
    "elceejo/chicken.glb": "biped",
    "elceejo/turkey.glb": "biped",
    "animalworld/goose.glb": "biped",
    "sketchfab-ccby/phoenix.glb": "biped",
    "elceejo/fire_dragon.glb": "biped",
    "gltf/mesh2motion/bird-animations.glb": "biped",
    "gltf/quaternius-more/King.glb": "biped",
    "gltf/mesh2motion/variation-human-zombie.glb": "biped",
    "gltf/quaternius/Horse.glb": "quadruped",
    "gltf/quaternius/Cow.glb": "quadruped",
    "gltf/quaternius/Wolf.glb": "quadruped",
    "gltf/quaternius/Rat.glb": "quadruped",
    "gltf/quaternius/Alpaca.glb": "quadruped",
    "gltf/quaternius/Apatosaurus.glb": "quadruped",
    "gltf/quaternius/Triceratops.glb": "quadruped",
    "gltf/quaternius-more/Deer.glb": "quadruped",
    "gltf/khronos/Fox.glb": "quadruped",
    "gltf/mesh2motion/horse-animations.glb": "quadruped",
    "gltf/mesh2motion/variation-fox-dog.glb": "quadruped",
    "elceejo/bear.glb": "quadruped",
    "elceejo/cat.glb": "quadruped",
    "elceejo/pig.glb": "quadruped",
    "sketchfab-ccby/toon_cat.glb": "quadruped",
    "sketchfab-ccby/rat.glb": "quadruped",
    "animalworld/elephant.glb": "quadruped",
    "animalworld/giraffe.glb": "quadruped",
    "animalworld/tiger.glb": "quadruped",
    "animalworld/iguana.glb": "quadruped",
    "gltf/mesh2motion/dragon-animations.glb": "quadruped",
    "sketchfab-ccby/little_dragon.glb": "quadruped",
    "gltf/quaternius-more/Bull.glb": "quadruped",
    "elceejo/wolf.glb": "quadruped",
    "sketchfab-ccby/bird.glb": "no legs",
    "gltf/quaternius/Snake.glb": "no legs",
    "animalworld/viper.glb": "no legs",
    "gltf/quaternius/Shark.glb": "no legs",
    "gltf/quaternius/Fish1.glb": "no legs",
    "gltf/quaternius-more/Clownfish.glb": "no legs",
    "gltf/mesh2motion/shark-animations.glb": "no legs",
    "sketchfab-ccby/blue_whale.glb": "no legs",
    "animalworld/trout.glb": "no legs",
    "gltf/quaternius/Dolphin.glb": "no legs",
    "gltf/quaternius/Whale.glb": "no legs",
    "animalworld/cockroach.glb": "six legs",
    "animalworld/locust.glb": "six legs",
    "gltf/quaternius/Spider.glb": "eight legs",
    "gltf/mesh2motion/spider-animations.glb": "eight legs",
    "animalworld/spider.glb": "eight legs",
}
"""Files of the folder with their plans, of families of all kinds; seen in pictures."""
LEGS = {"biped": 1, "quadruped": 2, "six legs": 3, "eight legs": 4, "no legs": 0}
TURNED = {"elceejo": "-z", "animalworld": "-z", "sketchfab-ccby/phoenix": "+x", "sketchfab-ccby/rat": "-z"}
"""Families and files that do not face +z."""
WALKERS = (
    "gltf/khronos/CesiumMan.glb",
    "gltf/quaternius-more/Adventurer.glb",
    "gltf/mesh2motion/variation-human-female.glb",
    "ual/UAL1_Standard.glb",
    "quaternius-people/Animated_Woman.glb",
    "gltf/quaternius/Trex.glb",
    "gltf/quaternius/Horse.glb",
    "gltf/quaternius/Wolf.glb",
    "gltf/quaternius-more/Deer.glb",
    "gltf/khronos/Fox.glb",
    "gltf/quaternius/Triceratops.glb",
    "gltf/quaternius/Spider.glb",
)
ARTISTS = ("gltf/", "ual/", "quaternius", "sketchfab", "kaykit/")
STEP = 0.005
"""Distance of samples along a bone, in a unit box."""
NEAR = 0.15
"""A limb is the same as the artist's if the tips are this near, in a unit box."""
UPPER = ("arm", "wing")


@dataclass(frozen=True)
class Row:
    """What came out for one file."""

    name: str
    plan: str
    chamfer: tuple[float, float, float]
    plan_right: bool
    facing_right: bool
    limbs_right: bool
    seconds: float
    told: str


def bare(character: Character) -> Character:
    """The mesh alone, in the neutral pose, on one node."""
    meshes = [
        replace(
            mesh,
            node=0,
            binds=np.zeros((len(mesh.positions), 1), np.int64),
            weights=np.ones((len(mesh.positions), 1)),
            skinned=False,
            skin=None,
            morph_positions=None,
            morph_weights=None,
            morph_names=(),
        )
        for mesh in baked(character)
    ]
    rest = Pose(np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0, 0.0]]), np.ones((1, 3)))
    skeleton = Skeleton((character.name,), np.array([-1]), rest, np.zeros(1, bool))
    return Character(character.name, skeleton, tuple(meshes), np.zeros(1, np.int64), np.eye(4)[None])


def skeleton_points(body: Body) -> tuple[Array, Array]:
    """Joints that move skin, and samples of their bones [file units]; for the scale of a unit box see `compare`."""
    held = body.mass > 0
    return body.heads[held], np.stack([body.heads[held], body.tips[held]])


def chamfer(ours: Body, theirs: Body, scale: float) -> tuple[float, float, float]:
    """J2J, J2B, B2B x 100."""
    joints, bones = zip(*(skeleton_points(body) for body in (ours, theirs)), strict=True)
    sampled = [_sampled(each, STEP / scale) for each in bones]

    def both(a: Array, b: Array) -> float:
        return 50 * scale * float(cKDTree(a).query(b)[0].mean() + cKDTree(b).query(a)[0].mean())

    j2b = (
        50
        * scale
        * float(cKDTree(sampled[1]).query(joints[0])[0].mean() + cKDTree(sampled[0]).query(joints[1])[0].mean())
    )
    return both(joints[0], joints[1]), j2b, both(sampled[0], sampled[1])


def _sampled(bones: Array, step: float) -> Array:
    found = [
        np.linspace(head, tip, max(2, int(np.linalg.norm(tip - head) / step) + 1))
        for head, tip in zip(*bones, strict=True)
    ]
    return np.concatenate(found)


def limbs_right(ours: Anatomy, theirs: Anatomy, scale: float) -> tuple[bool, str]:
    """Whether the legs, arms and wings of both are the same, and what is missing or too many."""

    def wanted(anatomy: Anatomy) -> list[Limb]:
        return [limb for limb in anatomy.limbs if limb.kind in ("leg", *UPPER)]

    def tip(anatomy: Anatomy, limb: Limb) -> Array:
        return anatomy.body.tips[limb.chain[-1]]

    left = wanted(ours)
    missing = []
    for limb in wanted(theirs):
        alike = [
            each
            for each in left
            if (each.kind == limb.kind or {each.kind, limb.kind} <= set(UPPER))
            and scale * np.linalg.norm(tip(ours, each) - tip(theirs, limb)) < NEAR
        ]
        if alike:
            left.remove(min(alike, key=lambda each: float(np.linalg.norm(tip(ours, each) - tip(theirs, limb)))))
        else:
            missing.append(limb)
    said = [f"no {theirs.limb_name(limb)}" for limb in missing] + [f"false {ours.limb_name(limb)}" for limb in left]
    return not said, ", ".join(said)


def compare(name: str, character: Character, plan: str, forward: str, pictures: Path | None) -> Row:
    """Rig the mesh of a character and compare with its own skeleton."""
    legs = plan.split(",")[0]
    theirs = analyze(character)
    if len(theirs.legs) != 2 * LEGS[legs]:
        given: Plan = legs.replace(" ", "-")  # type: ignore[assignment]
        with suppress(GambolError):
            theirs = analyze(character, plan=given)
    mesh = bare(character)
    scale = 1 / float(np.ptp(mesh.rest_vertices, axis=0).max())
    start = time.perf_counter()
    try:
        rigged = rig_mesh(mesh)
    except GambolError as error:
        return Row(name, legs, (np.nan,) * 3, False, False, False, time.perf_counter() - start, str(error))
    seconds = time.perf_counter() - start
    ours = analyze(rigged.character)
    if pictures:
        from gambol.character.sketch import sketch

        sketch(rigged.character, ours, pictures / f"{name.replace('/', '-')}.png", 300)
    facing = rigged.forward == forward
    right, told = limbs_right(ours, theirs, scale)
    found = rigged.plan if rigged.plan == ours.plan else f"{rigged.plan} read as {ours.plan}"
    told = f"{found} {rigged.plan_certainty:.2f}, {rigged.forward} {rigged.forward_certainty:.2f}; {told}"
    plan_right = len(ours.legs) == 2 * LEGS[legs]
    return Row(name, legs, chamfer(ours.body, theirs.body, scale), plan_right, facing, right, seconds, told)


def table(rows: list[Row]) -> Iterator[str]:
    """Markdown, by plan and over all."""
    yield "| | files | J2J | J2B | B2B | plan | facing | limbs | seconds |"
    yield "|---|---|---|---|---|---|---|---|---|"
    groups = {plan: [row for row in rows if row.plan == plan] for plan in LEGS}
    groups["blended skins"] = [row for row in rows if row.name.startswith(ARTISTS)]
    groups["all"] = rows
    for name, chosen in groups.items():
        if chosen:
            distances = " | ".join(f"{value:.2f}" for value in np.nanmean([row.chamfer for row in chosen], axis=0))
            right = ([row.plan_right, row.facing_right, row.limbs_right] for row in chosen)
            shares = " | ".join(f"{sum(each)}/{len(chosen)}" for each in zip(*right, strict=True))
            seconds = float(np.median([row.seconds for row in chosen]))
            yield f"| {name} | {len(chosen)} | {distances} | {shares} | {seconds:.1f} |"


def real(folder: Path, only: str, pictures: Path | None) -> Iterator[Row]:
    """A row for each file of RIGS whose name contains a text."""
    for name, plan in RIGS.items():
        if only not in name:
            continue
        path = folder / name if name.startswith("gltf") else folder / "clips" / name
        character = load(path)
        turned = [way for start, way in TURNED.items() if name.startswith(start)]
        yield compare(name, character, plan, turned[0] if turned else axis_name(analyze(character).forward), pictures)


def animals(count: int, pictures: Path | None) -> Iterator[Row]:
    """A row for each of some random animals."""
    names = ("no legs", "biped", "quadruped", "six legs", "eight legs")
    for number in range(count):
        creature = random_creature(90_000 + number).character()
        own = analyze(creature)
        plan = names[len(own.legs) // 2]
        yield compare(f"animal {number} {creature.name}", creature, plan, axis_name(own.forward), pictures)


def show(row: Row) -> None:
    marks = "".join(
        mark if right else "-"
        for mark, right in zip("pfl", (row.plan_right, row.facing_right, row.limbs_right), strict=True)
    )
    print(f"{marks} {row.name} ({row.plan}) {row.chamfer[0]:.2f} {row.seconds:.1f}s {row.told}", flush=True)


def walks(folder: Path, out: Path | None) -> Iterator[str]:
    """Markdown: walks on the artist's skeleton and on ours. Clips go to a folder, to be looked at."""
    yield "| file | artist's skeleton | slide cm/s | ours | slide cm/s | |"
    yield "|---|---|---|---|---|---|"
    for name in WALKERS:
        own = load(folder / name if name.startswith("gltf") else folder / "clips" / name)
        rigged = rig_mesh(bare(own))
        cells = []
        for kind, character in (("own", own), ("ours", rigged.character)):
            clip = animate(character, "it is walking", name="gambol walk")
            said = report(character, clip, prompt="it is walking")
            slide = said.values.get("foot_slide_mean")
            cells.append(f"{said.verdict} | {'' if slide is None else f'{slide:.1f}'}")
            reason = said.summary
            if out:
                save(character, out / f"{name.replace('/', '-')[:-4]}-{kind}.glb", clip, overwrite=True)
        yield f"| {name} | {cells[0]} | {cells[1]} | {reason} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--zoo", type=int, default=24)
    parser.add_argument("--only", default="")
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--walks", action="store_true")
    given = parser.parse_args()
    if given.walks:
        for line in walks(given.folder, given.pictures):
            print(line, flush=True)
        return
    for rows in (real(given.folder, given.only, given.pictures), animals(given.zoo, given.pictures)):
        found = []
        for row in rows:
            show(row)
            found.append(row)
        print("\n".join(table(found)), flush=True)


if __name__ == "__main__":
    main()
