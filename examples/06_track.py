"""Make a clip physically plausible: a fox that trots, as a body with weight would do it.

python examples/06_track.py fox-physics.glb
"""

import dataclasses
import sys

import gambol

fox = gambol.load("fox")
trot = gambol.gait(fox, gambol.study(fox), "trot")
fox = dataclasses.replace(fox, clips={"trot": trot})
(done,) = gambol.perform(fox, ["trot"], gambol.TrackConfig(iterations=30))
print(f"bones stay within {done.strays:.1%} of the height of the clip; loaded feet creep {done.slip:.1f} cm/s")
gambol.save(fox, sys.argv[1], done.motion)
