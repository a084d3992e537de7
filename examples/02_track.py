"""Make a clip physically plausible: a fox that trots, as a body with weight would do it.

python examples/02_track.py fox-physics.glb
"""

import sys

import gambol
from gambol.creatures.gaits import gait

fox = gambol.load("fox")
trot = gait(fox, gambol.analyze(fox), "trot")
done = gambol.track(fox, trot, gambol.TrackConfig(iterations=30))
print(f"bones stay within {done.deviation:.1%} of the height; feet slide {done.after['foot_slide_mean']:.1f} cm/s")
gambol.save(fox, sys.argv[1], done.clip)
