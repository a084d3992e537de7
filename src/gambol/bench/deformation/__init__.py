"""AKD's rival: a deformation field, as in 4D-fy and TC4D. It moves every point of the character in space and time,
along a given trajectory, and knows nothing of joints.

    motion = deform(character, "it walks", prior, AnimateConfig(method="score", foot_lock=None))
"""

from gambol.bench.deformation.distillation import DeformationConfig, DeformationDistillation, deform

__all__ = ["DeformationConfig", "DeformationDistillation", "deform"]
