"""The public names, and where they live. `__init__.py` imports each when it is first used.

    animate, track, report      a clip from a sentence; as a body with weight would do it; how good it is
    retarget                    a clip of one character, or motion capture, for another
    load, save, export, create  characters and clips in files, and the animals of the zoo
    rig                         a skeleton and skin weights for a mesh that has none
    analyze                     facing, limbs, feet, head and tail of a character
    PoseSpace                   plausible poses of a character: to sample, to drag, to go through

Everything else is one import away, in a module that is named after it: `gambol.motion.kinematics`,
`gambol.render.rasterize`, `gambol.quality.ground`.
"""

from .character.anatomy import Anatomy, analyze
from .character.character import Character
from .character.clip import Clip
from .creatures.load import load
from .creatures.zoo import create
from .distillation.animate import animate
from .distillation.config import AnimateConfig
from .errors import GambolError
from .formats import export, save
from .motion.retarget import retarget
from .physics.track import track
from .physics.tracking import TrackConfig
from .poses.pose_space import PoseSpace
from .priors.catalogue import open_prior
from .quality.report import Report, report
from .rigging.rig import rig
from .version import __version__

__all__ = [
    "Anatomy",
    "AnimateConfig",
    "Character",
    "Clip",
    "GambolError",
    "PoseSpace",
    "Report",
    "TrackConfig",
    "__version__",
    "analyze",
    "animate",
    "create",
    "export",
    "load",
    "open_prior",
    "report",
    "retarget",
    "rig",
    "save",
    "track",
]
