"""gambol animates any 3D character from a sentence.

`__init__.pyi` lists the public names; each is imported when it is first used, so that `gambol --help` answers at once.
"""

import os
import sys

import lazy_loader

# Before torch is imported: its idle threads would else keep spinning on the cores that our own threads work on. On two
# busy cores a step of fitting Gaussians took 230 ms with that and 30 without. See `gambol.parallel`.
if "torch" not in sys.modules:
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
