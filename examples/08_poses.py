"""Which poses are plausible? Sample some, lift a foreleg, and go through all of them as a motion.

python examples/08_poses.py fox-poses.glb
"""

import sys

import gambol

fox = gambol.load("fox")
space = gambol.PoseSpace(fox)
sampled = space.sample(3, seed=1, text="a fox sits")
paw = space.world(space.rest)[0, space.joints.index("front_foot.L"), :, 3]
lifted = space.poses_of(space.solve({"front_foot.L": (paw + 0.1).tolist()}))
keys = [(0, space.rest), (20, sampled[[0]]), (40, lifted), (60, space.rest)]
name = gambol.save(fox, sys.argv[1], space.clip(space.tween(keys), "poses", fps=30))
print(f"wrote {sys.argv[1]}: clip '{name}'")
