"""Skeletons for bare meshes: how near to those of artists, on real rigs without their skeleton and on the zoo.

    python benchmarks/rig.py [FOLDER] [--zoo 24] [--pictures OUT] [--only TEXT] [--files all|trained|seen|held-out]
                                      [--walks] [--most 40]

FOLDER holds `gltf` and `clips`, as in rig_files.py, or any rigged characters, up to --most; plan and facing are then
what `gambol info` reads of their own skeletons. Without it only animals of the zoo are rigged. Every character loses
skeleton, skin and clips, keeps its mesh in the neutral pose, and is rigged by `gambol.rig` without any option. Then,
for each plan and over all:

- J2J, J2B, B2B: Chamfer distances x 100 in a unit box, the mean of both directions, from joints to joints, joints to
  bones, and bones to bones sampled every 0.005. Joints that move no skin do not count, on either side.
- P, R, IoU: shares of our joints and of the artist's that are matched, one to one, with one of the other within 0.05
  of the unit box, and matches by all joints of both (in percent). Papers measure nearness by the thickness of the body.
- plan: the number of legs that RIGS says, as `gambol info` reads the result.
- facing: the axis that it truly faces.
- limbs: every leg, arm and wing of the artist's skeleton has one of ours of its kind whose tip is within 0.15 of the
  unit box, and we have no other. Fins, ears and horns do not count.
- seconds: the median of all of `rig`, reading the file not included.

Rows: by plan, and apart from that the rigs of joints in a blended skin alone (ARTISTS), without those of boxes on one
joint each and those whose tree was inferred by a converter; each by what is shipped (templates and network), templates
only, network only, and the raw curve skeleton: bones along every branch of the solid, as for what has no plan. Tables:
files of families that the network was trained on; others, which were looked at while constants were chosen; files that
nothing was chosen by, of families that were not trained on, though some are by artists of others that were; and random
animals of the zoo, whose skeletons are known, other ones than those of the training.

--walks instead: the files of WALKERS are animated with "it is walking" and "it is running" on the artist's skeleton and
on ours, with the defaults of `gambol.animate`; verdict, foot slide and the reason of the report side by side.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from gambol.character.anatomy import Anatomy, analyze
from gambol.character.axes import axis_name
from gambol.character.body import Body
from gambol.character.character import Character
from gambol.character.coarse import joined, small_enough
from gambol.character.limbs import Limb
from gambol.character.plans import Plan
from gambol.character.skeleton import Pose, Skeleton
from gambol.character.skin import baked
from gambol.creatures.zoo import random_creature
from gambol.distillation.animate import animate
from gambol.errors import GambolError
from gambol.formats import character_files, load, save
from gambol.quality.report import report
from gambol.rigging.curve_skeleton import build_branches
from gambol.rigging.curves import Centrelines
from gambol.rigging.options import Method, RigOptions
from gambol.rigging.placement import find_body
from gambol.rigging.rig import rig_mesh
from gambol.rigging.solid import solid_of
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree

from rig_files import ARTISTS, BOXES, HELD_OUT, RIGS, TURNED, UNSEEN, WALKERS

Array = np.ndarray
LEGS = {"biped": 1, "quadruped": 2, "six legs": 3, "eight legs": 4, "no legs": 0}
STEP = 0.005
"""Distance of samples along a bone, in a unit box."""
NEAR = 0.15
"""A limb is the same as the artist's if the tips are this near, in a unit box."""
MATCHED = 0.05
"""Two joints are the same if they are this near, in a unit box."""
UPPER = ("arm", "wing")
FILES = {
    "trained": {name: plan for name, plan in RIGS.items() if not name.startswith(UNSEEN)},
    "seen": {name: plan for name, plan in RIGS.items() if name.startswith(UNSEEN)},
    "held-out": HELD_OUT,
}
METHODS: tuple[Method, ...] = ("both", "templates", "network")
RAW = "raw"
ROWS = {"templates": "templates only", "network": "network only", RAW: "raw curve skeleton"}
"""How rows of the tables are called."""


Figures = tuple[float, ...]
"""J2J, J2B, B2B, and precision, recall and IoU of joints [percent]."""
NOTHING: Figures = (np.nan,) * 6


@dataclass(frozen=True)
class Result:
    """What one method made of one file."""

    figures: Figures = NOTHING
    right: tuple[bool, bool, bool] = (False, False, False)
    """Plan, facing, limbs."""
    seconds: float = np.nan
    told: str = ""


@dataclass(frozen=True)
class Row:
    """What came out for one file."""

    name: str
    plan: str
    results: dict[str, Result]
    """By method."""


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


@dataclass(frozen=True)
class Bones:
    """Joints and bones [file units]."""

    joints: Array
    ends: Array
    """Heads and tips (2, bones, 3)."""


def bones_of(body: Body) -> Bones:
    """Joints that move skin, with their bones."""
    held = body.mass > 0
    return Bones(body.heads[held], np.stack([body.heads[held], body.tips[held]]))


def raw_curve(mesh: Character) -> Bones:
    """The skeleton of a mesh without any plan: bones along all branches of its solid."""
    found = find_body(solid_of(*joined(small_enough(baked(mesh)))), "+y", RigOptions())
    size = float(np.ptp(found.solid.points, axis=0).max()) + found.solid.pitch
    layout = build_branches(found.parts, Centrelines(found.solid, found.parts.centre), size)
    heads, parents = layout.heads, np.array(layout.parents)
    below = np.flatnonzero(parents >= 0)
    return Bones(heads[~np.array(layout.is_tip)], np.stack([heads[parents[below]], heads[below]]))


def chamfer(ours: Bones, theirs: Bones, scale: float) -> tuple[float, float, float]:
    """J2J, J2B, B2B x 100."""
    samples = [_sampled(bones.ends, STEP / scale) for bones in (ours, theirs)]

    def both(a: Array, b: Array, c: Array, d: Array) -> float:
        return 50 * scale * float(cKDTree(a).query(b)[0].mean() + cKDTree(c).query(d)[0].mean())

    return (
        both(ours.joints, theirs.joints, theirs.joints, ours.joints),
        both(samples[1], ours.joints, samples[0], theirs.joints),
        both(samples[0], samples[1], samples[1], samples[0]),
    )


def matches(ours: Bones, theirs: Bones, scale: float) -> tuple[float, float, float]:
    """Precision, recall and IoU of joints, in percent."""
    apart = scale * np.linalg.norm(ours.joints[:, None] - theirs.joints, axis=2)
    # Pairs that are too far apart cost all the same, so that they never push out a good one.
    rows, columns = linear_sum_assignment(np.minimum(apart, 2 * MATCHED))
    same = int((apart[rows, columns] < MATCHED).sum())
    first, second = apart.shape
    return 100 * same / first, 100 * same / second, 100 * same / (first + second - same)


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
    """Rig the mesh of a character by all methods and compare with its own skeleton."""
    legs = plan.split(",")[0]
    theirs = analyze(character)
    if len(theirs.legs) != 2 * LEGS[legs]:
        given: Plan = legs.replace(" ", "-")  # type: ignore[assignment]
        with suppress(GambolError):
            theirs = analyze(character, plan=given)
    mesh = bare(character)
    scale = 1 / float(np.ptp(mesh.rest_vertices, axis=0).max())
    results: dict[str, Result] = {method: _result(mesh, theirs, legs, forward, scale, method) for method in METHODS}
    with suppress(GambolError):
        curve, artist = raw_curve(mesh), bones_of(theirs.body)
        results[RAW] = Result((*chamfer(curve, artist, scale), *matches(curve, artist, scale)))
    if pictures:
        from gambol.character.sketch import sketch

        with suppress(GambolError):
            rigged = rig_mesh(mesh).character
            sketch(rigged, analyze(rigged), pictures / f"{name.replace('/', '-')}.png", 300)
    return Row(name, legs, results)


def _result(mesh: Character, theirs: Anatomy, legs: str, forward: str, scale: float, method: Method) -> Result:
    start = time.perf_counter()
    try:
        rigged = rig_mesh(mesh, RigOptions(method=method))
    except GambolError as error:
        return Result(seconds=time.perf_counter() - start, told=str(error))
    seconds = time.perf_counter() - start
    ours = analyze(rigged.character)
    right, told = limbs_right(ours, theirs, scale)
    found = rigged.plan if rigged.plan == ours.plan else f"{rigged.plan} read as {ours.plan}"
    told = f"{found} {rigged.plan_certainty:.2f}, {rigged.forward} {rigged.forward_certainty:.2f}; {told}"
    bones, artist = bones_of(ours.body), bones_of(theirs.body)
    figures = (*chamfer(bones, artist, scale), *matches(bones, artist, scale))
    all_right = len(ours.legs) == 2 * LEGS[legs], rigged.forward == forward, right
    return Result(figures, all_right, seconds, told)


def table(rows: list[Row]) -> Iterator[str]:
    """Markdown: what is shipped by plan and over all, then the other methods."""
    yield "| | files | J2J | J2B | B2B | P | R | IoU | plan | facing | limbs | seconds |"
    yield "|---" * 12 + "|"
    groups = {plan: [row for row in rows if row.plan == plan] for plan in LEGS}
    for name, chosen in groups.items():
        if chosen:
            yield _line(name, [row.results["both"] for row in chosen])
    blended = [row for row in rows if row.name.startswith(ARTISTS) and not row.name.startswith(BOXES)]
    for name, chosen in {"blended skins": blended, "all": rows}.items():
        for method in (*METHODS, RAW) if chosen else ():
            label = name if method == "both" else f"{name}: {ROWS[method]}"
            yield _line(label, [row.results.get(method, Result()) for row in chosen])


def _line(label: str, results: Sequence[Result]) -> str:
    """A row of a table."""
    mean = np.nanmean([result.figures for result in results], axis=0)
    cells = [str(len(results)), *(f"{value:.2f}" for value in mean[:3]), *(f"{value:.0f}" for value in mean[3:])]
    if np.isnan([result.seconds for result in results]).all():
        return f"| {label} | {' | '.join(cells)} | | | | |"
    right = zip(*(result.right for result in results), strict=True)
    cells += [f"{sum(each)}/{len(results)}" for each in right]
    return f"| {label} | {' | '.join(cells)} | {np.nanmedian([result.seconds for result in results]):.1f} |"


def path_of(name: str, folder: Path) -> Path:
    """Where a listed file is."""
    return folder / name if name.startswith("gltf") else folder / "clips" / name


def real(files: dict[str, str], folder: Path, only: str, pictures: Path | None) -> Iterator[Row]:
    """A row for each of some files whose name contains a text."""
    for name, plan in files.items():
        if only not in name:
            continue
        character = load(path_of(name, folder))
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


def others(folder: Path, most: int, pictures: Path | None) -> Iterator[Row]:
    """A row for each of some rigged characters of a folder that is not listed."""
    done = 0
    for path in character_files([folder]):
        if done == most:
            return
        try:
            character = load(path)
            own = analyze(character)
            if not character.can_move or not len(own.body.vertices):
                continue
            plan = next(name for name, pairs in LEGS.items() if 2 * pairs == len(own.legs))
            row = compare(path.stem, character, plan, axis_name(own.forward), pictures)
        except (GambolError, StopIteration) as error:
            print(f"{path.name}: left out, {str(error) or 'an odd number of legs'}", file=sys.stderr)
            continue
        done += 1
        yield row


def show(row: Row) -> None:
    both = row.results["both"]
    marks = "".join(mark if right else "-" for mark, right in zip("pfl", both.right, strict=True))
    near = ", ".join(f"{method} {result.figures[0]:.2f}" for method, result in row.results.items())
    print(f"{marks} {row.name} ({row.plan}) {near} {both.seconds:.1f}s {both.told}", file=sys.stderr)


def walks(folder: Path, out: Path | None) -> Iterator[str]:
    """Markdown: gaits on the artist's skeleton and on ours. Clips go to a folder, to be looked at."""
    for gait, prompt in (("walk", "it is walking"), ("run", "it is running")):
        yield f"| {gait}: file | artist's skeleton | slide cm/s | ours | slide cm/s | |"
        yield "|---|---|---|---|---|---|"
        verdicts = []
        for name in WALKERS:
            own = load(path_of(name, folder))
            rigged = rig_mesh(bare(own))
            cells, verdict = [], []
            for kind, character in (("own", own), ("ours", rigged.character)):
                clip = animate(character, prompt, name=f"gambol {gait}")
                said = report(character, clip, prompt=prompt)
                slide = said.values.get("foot_slide_mean")
                cells.append(f"{said.verdict} | {'' if slide is None else f'{slide:.1f}'}")
                reason = said.summary
                verdict.append(said.verdict)
                if out:
                    save(character, out / f"{name.replace('/', '-')[:-4]}-{gait}-{kind}.glb", clip, overwrite=True)
            verdicts.append(verdict)
            yield f"| {name} | {cells[0]} | {cells[1]} | {reason} |"
        for wanted in ("good", "plausible"):
            well = [verdict for verdict in verdicts if verdict[0] in ("good", wanted)]
            kept = sum(verdict[1] in ("good", wanted) for verdict in well)
            yield f"\n{gait}: of {len(well)} that are {wanted} or better on the artist's skeleton, {kept} are on ours\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--zoo", type=int, default=24)
    parser.add_argument("--most", type=int, default=40)
    parser.add_argument("--only", default="")
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--files", choices=("all", *FILES), default="all")
    parser.add_argument("--walks", action="store_true")
    given = parser.parse_args()
    if given.walks:
        for line in walks(given.folder, given.pictures):
            print(line, flush=True)
        return
    chosen = {name: files for name, files in FILES.items() if given.files in ("all", name)}
    if given.folder is None:
        chosen = {}
    listed = given.folder is not None and any(path_of(name, given.folder).exists() for name in RIGS)
    if given.folder is not None and not listed:
        own = []
        for row in others(given.folder, given.most, given.pictures):
            show(row)
            own.append(row)
        print("\n".join([given.folder.name, "", *table(own)]) if own else "no rigged character", flush=True)
        chosen = {}
    tables = {name: real(files, given.folder, given.only, given.pictures) for name, files in chosen.items()}
    found: dict[str, list[Row]] = {}
    for name, rows in {**tables, "random animals": animals(given.zoo, given.pictures)}.items():
        found[name] = []
        for row in rows:
            show(row)
            found[name].append(row)
    if len(chosen) > 1:
        found["all that the network was not trained on"] = [*found["seen"], *found["held-out"]]
    for name, all_rows in found.items():
        if all_rows:
            print("\n".join(["", name, "", *table(all_rows)]), flush=True)


if __name__ == "__main__":
    main()
