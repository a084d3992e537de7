"""gambol animates any 3D character from a sentence.

The public names, imported when first used so that `gambol --help` answers at once.
"""

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

# Before torch is imported: its idle threads would else keep spinning on the cores that our own threads work on. On two
# busy cores a step of fitting Gaussians took 230 ms with that and 30 without. See `gambol.parallel`.
if "torch" not in sys.modules:
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

if TYPE_CHECKING:
    from gambol.character.anatomy import Anatomy as Anatomy
    from gambol.character.anatomy import study as study
    from gambol.character.character import Character as Character
    from gambol.character.character import Material as Material
    from gambol.character.character import Mesh as Mesh
    from gambol.character.heat import heat_weights as heat_weights
    from gambol.character.rig import Rig as Rig
    from gambol.character.rig import build_rig as build_rig
    from gambol.character.skeleton import Pose as Pose
    from gambol.character.skeleton import Skeleton as Skeleton
    from gambol.character.skin import skin_mesh as skin_mesh
    from gambol.character.transfer import closest_points as closest_points
    from gambol.character.transfer import transfer_weights as transfer_weights
    from gambol.creatures.gaits import actions_for as actions_for
    from gambol.creatures.gaits import gait as gait
    from gambol.creatures.zoo import create as create
    from gambol.creatures.zoo import random_creature as random_creature
    from gambol.distillation.config import DistillConfig as DistillConfig
    from gambol.distillation.config import preset_for as preset_for
    from gambol.distillation.distill import distill as distill
    from gambol.errors import AssetError as AssetError
    from gambol.errors import GambolError as GambolError
    from gambol.formats import export as export
    from gambol.formats import load as load
    from gambol.formats import save as save
    from gambol.formats.npz import read_npz as read_npz
    from gambol.formats.splats import read_splats as read_splats
    from gambol.formats.splats import write_splats as write_splats
    from gambol.motion.cuboids import corner_positions as corner_positions
    from gambol.motion.cuboids import fit_cuboids as fit_cuboids
    from gambol.motion.cuboids import ground_loss as ground_loss
    from gambol.motion.export import poses_from_world as poses_from_world
    from gambol.motion.kinematics import Kinematics as Kinematics
    from gambol.motion.motion import Motion as Motion
    from gambol.motion.motion import Track as Track
    from gambol.motion.skinning import Binding as Binding
    from gambol.motion.skinning import blend as blend
    from gambol.motion.skinning import skin_covariances as skin_covariances
    from gambol.motion.skinning import skin_points as skin_points
    from gambol.physics.perform import perform as perform
    from gambol.physics.simulation import SolverConfig as SolverConfig
    from gambol.physics.track import TrackConfig as TrackConfig
    from gambol.priors.catalogue import open_prior as open_prior
    from gambol.quality.report import Report as Report
    from gambol.quality.report import report_on as report_on
    from gambol.render.actor import Actor as Actor
    from gambol.render.actor import attach as attach
    from gambol.render.cameras import Cameras as Cameras
    from gambol.render.cameras import orbit as orbit
    from gambol.render.gaussian_skinning import skin_gaussians as skin_gaussians
    from gambol.render.gaussians import Gaussians as Gaussians
    from gambol.render.rasterize import Rendering as Rendering
    from gambol.render.rasterize import rasterize as rasterize
    from gambol.render.rasterize import rasterize_gaussians as rasterize_gaussians
    from gambol.render.splat import SplatConfig as SplatConfig
    from gambol.render.splat import splat as splat
    from gambol.render.stage import Stage as Stage

__version__ = "0.1.0"

_HOMES = {
    "gambol.formats": ("load", "save", "export"),
    "gambol.formats.npz": ("read_npz",),
    "gambol.character.character": ("Character", "Material", "Mesh"),
    "gambol.character.skeleton": ("Pose", "Skeleton"),
    "gambol.character.anatomy": ("Anatomy", "study"),
    "gambol.character.rig": ("Rig", "build_rig"),
    "gambol.character.heat": ("heat_weights",),
    "gambol.character.skin": ("skin_mesh",),
    "gambol.character.transfer": ("closest_points", "transfer_weights"),
    "gambol.creatures.zoo": ("create", "random_creature"),
    "gambol.creatures.gaits": ("gait", "actions_for"),
    "gambol.motion.motion": ("Motion", "Track"),
    "gambol.motion.kinematics": ("Kinematics",),
    "gambol.motion.skinning": ("Binding", "blend", "skin_points", "skin_covariances"),
    "gambol.motion.cuboids": ("fit_cuboids", "corner_positions", "ground_loss"),
    "gambol.motion.export": ("poses_from_world",),
    "gambol.render.gaussians": ("Gaussians",),
    "gambol.render.cameras": ("Cameras", "orbit"),
    "gambol.render.rasterize": ("Rendering", "rasterize", "rasterize_gaussians"),
    "gambol.render.splat": ("SplatConfig", "splat"),
    "gambol.formats.splats": ("read_splats", "write_splats"),
    "gambol.render.actor": ("Actor", "attach"),
    "gambol.render.stage": ("Stage",),
    "gambol.render.gaussian_skinning": ("skin_gaussians",),
    "gambol.distillation.distill": ("distill",),
    "gambol.distillation.config": ("DistillConfig", "preset_for"),
    "gambol.priors.catalogue": ("open_prior",),
    "gambol.physics.perform": ("perform",),
    "gambol.physics.track": ("TrackConfig",),
    "gambol.physics.simulation": ("SolverConfig",),
    "gambol.quality.report": ("Report", "report_on"),
    "gambol.errors": ("AssetError", "GambolError"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = ["__version__", *_HOME_OF]


def __getattr__(name: str):
    if name not in _HOME_OF:
        raise AttributeError(f"module 'gambol' has no attribute '{name}'. Available: {', '.join(sorted(_HOME_OF))}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return __all__
