"""Every creature of the zoo on one sheet.

python examples/06_zoo.py zoo.png            all of them
python examples/06_zoo.py zoo.png fox duck   only these
"""

import sys
from pathlib import Path

import numpy as np
from gambol.creatures.species import SPECIES
from gambol.creatures.zoo import Creature
from gambol.render.movie import contact_sheet, write_picture
from gambol.render.picture import place_cameras, render_frames

UPRIGHT, LENGTHWISE = 34.0, 50.0
"""Azimuth of the camera [degrees]; people and birds show their faces better from nearer the front."""


def main(path: Path, names: list[str]) -> None:
    pictures = {}
    up, forward = np.eye(3)[1:]
    for name in names or list(SPECIES):
        creature = Creature(name, SPECIES[name])
        low, high = creature.blueprint.bounds
        upright = high[1] - low[1] > 1.4 * (high[2] - low[2])
        azimuth = UPRIGHT if upright else LENGTHWISE
        shot = place_cameras(creature.character(), up=up, forward=forward, azimuth=azimuth, size=230, fill=0.88)
        pictures[name] = next(render_frames(shot, samples=4))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_picture(contact_sheet(list(pictures.values()), list(pictures), columns=8), path)
    print(f"wrote {path}: {len(pictures)} creatures")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "zoo.png"), sys.argv[2:])
