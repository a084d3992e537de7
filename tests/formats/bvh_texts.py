"""A BVH written by hand, and what it takes to read one from a string."""

import numpy as np

from gambol.formats.bvh.reader import read_bvh

CLOSE = 1e-5
"""Of the height, or of the size for skeletons that have no up."""
ARM = """HIERARCHY
ROOT shoulder
{
  OFFSET 0 1 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT elbow
  {
    OFFSET 2 0 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    End Site
    {
      OFFSET 1 0 0
    }
  }
}
MOTION
Frames: 3
Frame Time: 0.5
0 1 0  0 0 0  0 0 0
0 1 0  90 0 0  90 0 0
5 6 7  90 0 90  0 90 0
"""


def read_text(tmp_path, text: str | bytes):
    path = tmp_path / "arm.bvh"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_bvh(path)


def world_at(character, moment: float) -> np.ndarray:
    """Of all nodes."""
    (clip,) = character.clips.values()
    return character.skeleton.world(clip.sample(character.skeleton, moment))[:, :3, 3]
