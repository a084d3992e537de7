"""Plan and facing that gambol finds, against what is known, for the characters of a folder of clips.

    python benchmarks/anatomy_plans.py FOLDER

The folder's README.md has a table of files with their true plans. The count is strict: the plan must be the very words
that `gambol info` prints, for the joints the file has. Birds are 'biped, winged' unless their legs share a joint;
insects have six legs, arachnids eight, fish, whales, seals, snakes and blobs none, unless PLANS says otherwise.
"""

import argparse
from collections import Counter
from pathlib import Path

from gambol import analyze, load
from gambol.character.axes import axis_name

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    counts: Counter[tuple[str, str]] = Counter()
    for file, plan in true_plans((folder / "README.md").read_text()).items():
        family = file.split("/")[0]
        boneless = family == "quaternius-cute-monsters"  # their legs have no joints
        plans = PLANS.get(file) or (("no legs",) if boneless else USUAL.get(plan, ("no legs",)))
        forward = FACING.get(file, FAMILIES.get(family, "+z"))
        found = analyze(load(folder / f"{file}.glb"))
        right = {"plan": found.plan in plans, "facing": forward in ("any", axis_name(found.forward))}
        right["both"] = all(right.values())
        for row in (plan, "all, animalworld" if family == "animalworld" else "all, other families", "all"):
            counts.update({(row, "files"): 1, **{(row, what): int(yes) for what, yes in right.items()}})
        if not right["both"]:
            print(f"{file}: {found.plan}, faces {axis_name(found.forward)}; expected {' or '.join(plans)}, {forward}")
    print("\n| true plan | files | plan right | facing right | both |\n|---|---|---|---|---|")
    for row in sorted({row for row, _ in counts}):
        print(f"| {row} | " + " | ".join(str(counts[row, what]) for what in ("files", "plan", "facing", "both")) + " |")


if __name__ == "__main__":
    main()
