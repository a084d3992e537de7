"""BVH, the text format of motion capture: a skeleton of offsets and Euler angles over time."""

from gambol.formats.bvh.reader import read_bvh
from gambol.formats.bvh.writer import write_bvh

__all__ = ["read_bvh", "write_bvh"]
