"""Plan, facing, head and limbs that gambol finds, against what is known, for the characters of a folder of clips.

    python benchmarks/anatomy_plans.py FOLDER

The folder's README.md has a table of files with their true plans. The count is strict: the plan must be the very words
that `gambol info` prints, for the joints the file has. Birds are 'biped, winged' unless their legs share a joint;
insects have six legs, arachnids eight, fish, whales, seals, snakes and blobs none, unless PLANS says otherwise.

Head and limbs are judged twice, with the file's names and with all names removed: what they are judged by is names of
joints, which gambol reads as well, so that only the second is evidence.

- head found: whether any joint is part of a head; not every body has one, a blob or a rig of one joint has none.
- head at its end: its skin is in the foremost third of the body, or, if that is higher than long, in the topmost; of
  the bodies with a head found.
- head joint: the joint called head that moves most skin is part of the head; of the files with such a joint.
- legs, wings: as many pairs of legs as the true plan has, and wings if and only if it has.
- arms: bipeds with arms or hands called left and right have one pair of arms, others none.
- sides: all limbs that have joints called left or right are on that side; of the files with such limbs.
"""

import argparse
import dataclasses
from collections import Counter
from pathlib import Path

import numpy as np
from gambol import Anatomy, Character, analyze, load
from gambol.character import names
from gambol.character.axes import AXES, axis_name

USUAL = {
    "quadruped": ("quadruped",),
    "biped": ("biped",),
    "biped with tail": ("biped",),
    "upper body, crawls on its arms": ("biped",),  # the file has two legs and no arms
    "bird": ("biped, winged",),
    "flyer": ("no legs, winged",),
    "insect": ("six legs", "six legs, winged"),
    "arachnid": ("eight legs",),
    "dragon": ("quadruped, winged",),
    "ape / monkey": ("quadruped", "biped"),
    "turtle": ("no legs", "quadruped"),
}
PLANS = {
    **dict.fromkeys(("sketchfab-ccby/bird", "animalworld/robin", "animalworld/stellerseagle"), ("no legs, winged",)),
    **dict.fromkeys(("animalworld/dragonfly", "animalworld/mosquito", "animalworld/wasp"), ("no legs, winged",)),
    **dict.fromkeys(("elceejo/fire_dragon", "elceejo/ice_dragon"), ("biped, winged",)),  # wyverns
    **dict.fromkeys(("animalworld/lobster", "animalworld/scorpion", "animalworld/crab"), ("six legs",)),
    "animalworld/hermitcrab": ("quadruped", "six legs"),
    **dict.fromkeys(("kenney-cube-pets/caterpillar", "kenney-cube-pets/crab"), ("quadruped",)),
    **dict.fromkeys((f"kenney-cube-pets/{name}" for name in ("duck", "parrot", "penguin")), ("biped, winged",)),
    "kenney-cube-pets/bee": ("quadruped, winged",),
    "kenney-cube-pets/fish": ("no legs", "no legs, winged"),  # its fins are called wings
}
"""Files whose joints allow another plan than the animal has, seen in pictures."""
FACING = {
    **dict.fromkeys((f"quaternius-people/{name}" for name in ("Animated_Human", "Animated_Woman", "Zombie")), "+x"),
    **dict.fromkeys(("sketchfab-ccby/goldfish", "sketchfab-ccby/phoenix"), "+x"),
    **dict.fromkeys(("sketchfab-ccby/anglerfish", "sketchfab-ccby/humpback_whale", "animalworld/crab"), "-x"),
    **dict.fromkeys(("sketchfab-ccby/guppy", "sketchfab-ccby/rat"), "-z"),
    **dict.fromkeys(("sketchfab-ccby/vampire_squid", "animalworld/squid"), "any"),  # swim with the arms behind
}
FAMILIES = {"animalworld": "-z", "elceejo": "-z", "kenney-prototype": "-x"}


def true_plans(readme: str) -> dict[str, str]:
    """The plan of each file, without its path's ending, from the table."""
    rows = ([cell.strip() for cell in line.split("|")] for line in readme.splitlines())
    return {row[1][:-4]: row[2].split(" (")[0] for row in rows if len(row) > 5 and row[1].endswith(".glb")}


def without_names(character: Character) -> Character:
    nameless = tuple(f"node {i}" for i in range(len(character.skeleton)))
    return dataclasses.replace(character, skeleton=dataclasses.replace(character.skeleton, names=nameless), hints={})


def is_at_its_end(found: Anatomy, forward: str) -> bool:
    """Whether the head is in the foremost third, or of a body higher than long in the topmost one."""
    points, owners = found.body.points
    ahead = next((np.array(axis) for name, axis in AXES.items() if name == forward), found.forward)
    ways = [ahead, found.up] if np.ptp(points @ ahead) < np.ptp(points @ found.up) else [ahead]
    joints = found.joints_of("head")
    head = points[np.isin(owners, joints)]
    head = head if len(head) else found.body.heads[joints]
    places = [((head @ way).mean() - (points @ way).min()) / max(np.ptp(points @ way), 1e-9) for way in ways]
    return bool(max(places) > 2 / 3)


def has_named_arms(labels: list[str]) -> bool:
    return {names.side(label) for label in labels if names.hint(label) == "arm"} >= {"left", "right"}


def limb_sides(found: Anatomy, labels: list[str]) -> list[bool]:
    """For each limb that has joints called left or right, whether most of them agree with the side found."""
    judged = []
    for limb in found.limbs:
        said = [side for side in (names.side(labels[joint]) for joint in limb.joints) if side]
        judged += [2 * said.count(limb.side) > len(said)] if said else []
    return judged


def judge(found: Anatomy, labels: list[str], plans: tuple[str, ...], forward: str) -> dict[str, bool]:
    """What is right of head and limbs, as far as it can be told; labels: the file's names of the joints."""
    right = {"head found": bool(found.joints_of("head"))}
    if right["head found"]:
        right["head at its end"] = is_at_its_end(found, forward)
    called = [joint for joint, label in enumerate(labels) if "head" in names.words(label)]
    if called:
        right["head joint"] = found.parts[max(called, key=lambda joint: found.body.mass[joint])] == "head"
    arms = 1 if has_named_arms(labels) and "biped" in plans else 0
    right["legs"] = any(plan.split(",")[0] == found.plan.split(",")[0] for plan in plans)
    right["wings"] = any(plan.endswith("winged") == (found.pairs("wing") > 0) for plan in plans)
    if arms or not has_named_arms(labels):
        right["arms"] = found.pairs("arm") == arms
    if sides := limb_sides(found, labels):
        right["sides"] = all(sides)
    return right


JUDGED = ("head found", "head at its end", "head joint", "legs", "wings", "arms", "sides")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    counts: Counter[tuple[str, str]] = Counter()
    wrong = []
    print("| file | plan | faces | " + " | ".join(JUDGED) + " |\n" + "|---" * (len(JUDGED) + 3) + "|")
    for file, plan in true_plans((folder / "README.md").read_text()).items():
        family = file.split("/")[0]
        boneless = family == "quaternius-cute-monsters"  # their legs have no joints
        plans = PLANS.get(file) or (("no legs",) if boneless else USUAL.get(plan, ("no legs",)))
        forward = FACING.get(file, FAMILIES.get(family, "+z"))
        character = load(folder / f"{file}.glb")
        found = analyze(character)
        right = {"plan": found.plan in plans, "facing": forward in ("any", axis_name(found.forward))}
        right["both"] = all(right.values())
        for row in (plan, "all, animalworld" if family == "animalworld" else "all, other families", "all"):
            counts.update({(row, "files"): 1, **{(row, what): int(yes) for what, yes in right.items()}})
        if not right["both"]:
            expected = f"expected {' or '.join(plans)}, {forward}"
            wrong.append(f"{file}: {found.plan}, faces {axis_name(found.forward)}; {expected}")
        cells = []
        nameless = analyze(without_names(character))
        judged = [
            judge(each, [character.skeleton.names[node] for node in each.body.nodes], plans, forward)
            for each in (found, nameless)
        ]
        for what in JUDGED:
            cells.append(" / ".join({True: "yes", False: "NO", None: "-"}[each.get(what)] for each in judged))
            for way, each in zip(("named", "nameless"), judged, strict=True):
                counts.update({(way, what): int(each.get(what, False)), (f"{way} judged", what): int(what in each)})
        print(f"| {file} | {found.plan} | {axis_name(found.forward)} | " + " | ".join(cells) + " |", flush=True)
    print("\nwrong plan or facing:", *wrong, sep="\n")
    print("\n| true plan | files | plan right | facing right | both |\n|---|---|---|---|---|")
    for row in sorted({row for row, what in counts if what == "files"}):
        print(f"| {row} | " + " | ".join(str(counts[row, what]) for what in ("files", "plan", "facing", "both")) + " |")
    print("\n| | with names | names removed |\n|---|---|---|")
    for what in JUDGED:
        ways = (f"{counts[way, what]} of {counts[f'{way} judged', what]}" for way in ("named", "nameless"))
        print(f"| {what} | " + " | ".join(ways) + " |")


if __name__ == "__main__":
    main()
