"""Every creature of the zoo on one sheet.

python examples/03_zoo.py zoo.png            all of them
python examples/03_zoo.py zoo.png fox duck   only these
"""

import sys
from pathlib import Path

from gambol.creatures.species import SPECIES
from gambol.creatures.zoo import Creature
from gambol.render.movie import contact_sheet, write_picture
from gambol.render.picture import portrait

UPRIGHT, LENGTHWISE = 34.0, 50.0
"""From where; people and birds show their faces better from nearer the front [degrees]."""


def main(path: Path, names: list[str]) -> None:
    pictures = {}
    for name in names or list(SPECIES):
        creature = Creature(name, SPECIES[name])
        low, high = creature.blueprint.bounds
        upright = high[1] - low[1] > 1.4 * (high[2] - low[2])
        pictures[name] = portrait(creature.character(), 230, UPRIGHT if upright else LENGTHWISE)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_picture(contact_sheet(list(pictures.values()), list(pictures), columns=8), path)
    print(f"wrote {path}: {len(pictures)} creatures")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "zoo.png"), sys.argv[2:])
