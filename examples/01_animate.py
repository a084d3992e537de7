"""From a sentence to a clip: a walk for the fox of the zoo, made with the prior that comes with gambol.

python examples/01_animate.py fox-walk.glb
"""

import sys

import gambol
from gambol.distillation.config import preset_for

character = gambol.load("fox")
prior = gambol.open_prior("tracks")
config = preset_for("draft", prior)  # leave it out for a better walk that takes a little longer
clip = gambol.animate(character, "a fox is walking", prior, config)
name = gambol.save(character, sys.argv[1], clip)
print(f"wrote {sys.argv[1]}: clip '{name}', {clip.duration:.2f} s")
