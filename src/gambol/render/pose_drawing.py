"""Drawings of the pose of a person, as video models know them: coloured sticks between points of the body on black.

They are what DWPose and OpenPose draw of the people they find in pictures: points and sticks have the colours of
ControlNet's `draw_bodypose`, sticks are ellipses that end in their points, drawn one over the other in a fixed order
and darkened, and points are discs over them. Only VACE is shown them here, and VACE's own preprocessing exchanges red
and blue (its `PoseAnnotator`, github.com/ali-vilab/VACE/issues/134), so these do, too.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gambol.motion.keypoints import KEYPOINTS
from gambol.render.cameras import Cameras

STICKS = (
    *(("neck", "right shoulder"), ("neck", "left shoulder")),
    *(("right shoulder", "right elbow"), ("right elbow", "right wrist")),
    *(("left shoulder", "left elbow"), ("left elbow", "left wrist")),
    *(("neck", "right hip"), ("right hip", "right knee"), ("right knee", "right ankle")),
    *(("neck", "left hip"), ("left hip", "left knee"), ("left knee", "left ankle")),
    *(("neck", "nose"), ("nose", "right eye"), ("right eye", "right ear")),
    *(("nose", "left eye"), ("left eye", "left ear")),
)
"""In the order in which they are drawn."""
COLORS = (
    *((255, 0, 0), (255, 85, 0), (255, 170, 0), (255, 255, 0), (170, 255, 0), (85, 255, 0), (0, 255, 0)),
    *((0, 255, 85), (0, 255, 170), (0, 255, 255), (0, 170, 255), (0, 85, 255), (0, 0, 255), (85, 0, 255)),
    *((170, 0, 255), (255, 0, 255), (255, 0, 170), (255, 0, 85)),
)
"""Of the points, and of the sticks, each in its order, before red and blue are exchanged."""
DARKENED = 0.6
"""Brightness of sticks."""
RADIUS = 4 / 1024
"""Half the width of sticks, and the radius of points [shorter sides of the picture]."""


def pose_pictures(
    points: Float[Tensor, "frames points 3"], seen: Bool[Tensor, "frames points"], cameras: Cameras
) -> Float[Tensor, "frames height width 3"]:
    """Points of a person as cameras see them. seen: which of them are drawn, and sticks between two of them."""
    turned = (cameras.T_camera_world[:, None, :, :3] @ points[..., None])[..., 0]
    x, y, depth = (turned + cameras.T_camera_world[:, None, :, 3]).unbind(-1)
    seen = seen & (depth > cameras.near)
    level = torch.stack([x, y], -1) / depth.clamp(min=cameras.near)[..., None]
    pixels = level * cameras.focal[:, None] + cameras.center[:, None]
    radius = RADIUS * min(cameras.width, cameras.height)
    colors = torch.tensor(COLORS).flip(-1).to(points) / 255
    pictures = points.new_zeros(len(points), cameras.height, cameras.width, 3)
    for picture, own, shown in zip(pictures, pixels, seen, strict=True):
        for color, names in zip(colors, STICKS, strict=False):
            first, last = (KEYPOINTS.index(name) for name in names)
            if shown[first] and shown[last]:
                _draw_ellipse(picture, own[first], own[last], radius, DARKENED * color)
        for color, point in zip(colors[shown], own[shown], strict=True):
            _draw_ellipse(picture, point, point, radius, color)
    return pictures


def _draw_ellipse(
    picture: Float[Tensor, "height width 3"],
    first: Float[Tensor, 2],
    last: Float[Tensor, 2],
    radius: float,
    color: Float[Tensor, 3],
) -> None:
    """Draw an ellipse over a picture, with soft edges of one pixel: a stick between two points, or a disc about one.
    Places in pixels, columns first."""
    low = (torch.minimum(first, last) - radius - 1).floor().long().clamp(min=0).tolist()
    high = (torch.maximum(first, last) + radius + 2).ceil().long().clamp(min=0).tolist()
    part = picture[low[1] : high[1], low[0] : high[0]]
    if not part.numel():
        return
    rows, columns = (torch.arange(part.shape[axis]).to(first) + low[1 - axis] + 0.5 for axis in (0, 1))
    away = torch.stack(torch.meshgrid(columns, rows, indexing="xy"), -1) - (first + last) / 2
    length = (last - first).norm()
    along = (last - first) / length if length > 0 else first.new_tensor([1.0, 0.0])
    sizes = torch.stack([(length / 2).clamp(min=radius), length.new_tensor(radius)])
    place = torch.stack([away @ along, away @ along.flip(0).mul(along.new_tensor([-1.0, 1.0]))], -1)
    ratio = (place / sizes).norm(dim=-1)
    slope = (place / sizes.square()).norm(dim=-1)
    distance = torch.where(slope > 0, ratio * (ratio - 1) / slope.clamp(min=1e-9), -sizes.min())
    cover = (0.5 - distance).clamp(0, 1)[..., None]
    part.copy_(part + cover * (color - part))
