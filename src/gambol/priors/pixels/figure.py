"""The stick figure that the pixel prior sees of a character: strokes coloured by body part on an even background.

Every character is drawn alike, whatever its skin: a limb is a chain of strokes, the left hind one red on every animal,
and a stroke is as wide on a mouse as on an elephant. So one small network can know them all, knees show, and thin legs
do not get lost between pixels. Strokes are Gaussians, so the picture has gradients to the joints.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gambol.character.anatomy import Anatomy
from gambol.character.limbs import Limb
from gambol.motion.legs import leg_length
from gambol.render.cameras import Cameras, orbit
from gambol.render.gaussians import pack
from gambol.render.ground_plane import GroundPlane
from gambol.render.rasterize import rasterize

HIND = {"left": (0.90, 0.12, 0.12), "right": (0.10, 0.22, 0.92)}
"""Red and blue: hind legs, and the legs of what has only two."""
FRONT = {"left": (0.98, 0.62, 0.05), "right": (0.05, 0.72, 0.78)}
"""Orange and cyan: front legs, arms, wings and fins; pairs of legs between are mixtures."""
TRUNK, HEAD, TAIL = (0.45, 0.45, 0.45), (0.22, 0.22, 0.24), (0.20, 0.65, 0.25)
BACKGROUND = 0.92
CONTRAST = 0.35
"""For a network colours count from the background in this unit, so that figures are about as strong as noise."""
UPPER = 0.66
"""Brightness of the first stroke of a limb, so that the knee shows."""
WIDTHS = {"trunk": 0.058, "neck": 0.045, "head": 0.058, "tail": 0.030, "limb": 0.034}
"""Standard deviation across a stroke, in half sides of the picture: of 60 pixels, a limb is about 3.5 wide."""
STROKE_GAUSSIANS = 3
"""Gaussians in a stroke."""
OPACITY = 0.95
VIEWS = (55.0, 90.0, 125.0, -55.0, -90.0, -125.0)
"""Azimuths of the cameras, as in `cameras.orbit` [degrees]: whoever asks the prior chooses the cameras, so it need not
know more of them. From both sides, since one leg hides the other; askew, since a side view has no depth."""
ELEVATION = 10.0
"""Elevation of the cameras [degrees]."""
FIELD_OF_VIEW = 20.0
"""Field of view [degrees]: a long lens, since perspective would only add variety to learn."""


@dataclass(frozen=True)
class StickFigure:
    """The strokes of a character, fixed to its joints."""

    joints: Int[np.ndarray, " strokes"]
    """The joint of the body (`Anatomy.body`) that moves each stroke."""
    ends: Float[np.ndarray, "strokes 2 3"]
    """Start and end of each stroke in its joint's own space."""
    colors: Float[np.ndarray, "strokes 3"]
    """sRGB"""
    widths: Float[np.ndarray, " strokes"]
    """Standard deviation across, in half sides of the picture."""
    parts: tuple[str, ...]
    """trunk, neck, head, tail, or a limb: 'left leg 0'."""
    rest: Float[np.ndarray, "strokes 2 3"]
    """Start and end in the neutral pose [file units]."""
    up: Float[np.ndarray, 3]
    forward: Float[np.ndarray, 3]
    ground: float
    """Height of the ground along up [file units]."""
    leg: float
    """Length of its legs, or what stands for it in a body without [file units]."""

    def points(self, T_world_joint: Float[Tensor, "*frames joints _ 4"]) -> Float[Tensor, "*frames strokes 2 3"]:
        """Start and end of the strokes in any poses [file units]; differentiable."""
        moved = T_world_joint[..., torch.as_tensor(self.joints), :3, :]
        ends = torch.as_tensor(self.ends).to(T_world_joint)
        return torch.einsum("...sij,skj->...ski", moved[..., :3], ends) + moved[..., None, :, 3]


def draw_stick_figure(anatomy: Anatomy) -> StickFigure:
    """The stick figure of a character."""
    strokes: list[tuple[int, np.ndarray, np.ndarray, tuple, float, str]] = []
    body = anatomy.body
    limbs = [limb for limb in anatomy.limbs if limb.kind != "ear"]
    in_limbs = {joint for limb in limbs for joint in limb.joints}
    for joint, end, part in _middle(anatomy, [limb.chain[0] for limb in limbs], in_limbs):
        color = {"trunk": TRUNK, "tail": TAIL}.get(part, HEAD)
        strokes.append((joint, body.heads[joint], end, color, WIDTHS[part], part))
    for limb in limbs:
        root = limb.chain[0]
        parent = int(body.parents[root])
        if parent >= 0:
            strokes.append((parent, body.heads[parent], body.heads[root], TRUNK, WIDTHS["limb"], "trunk"))
        for number, joint in enumerate(limb.chain):
            last = number + 1 == len(limb.chain)
            end = body.tips[joint] if last else body.heads[limb.chain[number + 1]]
            shade = np.array(_color(anatomy, limb)) * (UPPER if number == 0 else 1.0)
            strokes.append((joint, body.heads[joint], end, tuple(shade), WIDTHS["limb"], _name(limb)))
    joints = np.array([stroke[0] for stroke in strokes], np.int64)
    rest = np.array([[stroke[1], stroke[2]] for stroke in strokes]).reshape(-1, 2, 3)
    T_joint_world = np.linalg.inv(body.T_world_node[body.nodes])[joints]
    ends = np.einsum("sij,skj->ski", T_joint_world[:, :3, :3], rest) + T_joint_world[:, None, :3, 3]
    colors = np.array([stroke[3] for stroke in strokes]).reshape(-1, 3)
    widths = np.array([stroke[4] for stroke in strokes])
    parts = tuple(stroke[5] for stroke in strokes)
    axes = (anatomy.up, anatomy.forward)
    return StickFigure(joints, ends, colors, widths, parts, rest, *axes, anatomy.ground, leg_length(anatomy))


def _middle(anatomy: Anatomy, roots: list[int], in_limbs: set[int]) -> list[tuple[int, np.ndarray, str]]:
    """(joint, end, part) of the strokes from tail to head: those that lead to a limb or to an end of the body."""
    body = anatomy.body
    middle = [joint for joint in range(len(body)) if joint not in in_limbs]
    leads: set[int] = set()
    for joint in [*roots, *_tips(anatomy, middle)]:
        leads.update([joint, *body.above(joint)])
    found: list[tuple[int, np.ndarray, str]] = []
    for joint in middle:
        if joint not in leads:
            continue
        part = anatomy.parts[joint] if anatomy.parts[joint] in WIDTHS else "trunk"
        onward = [child for child in body.children[joint] if child in leads and child not in in_limbs]
        found.extend((joint, body.heads[child], part) for child in onward)
        if not onward and joint not in {int(body.parents[root]) for root in roots}:
            found.append((joint, body.tips[joint], part))
    return found


def _tips(anatomy: Anatomy, middle: list[int]) -> list[int]:
    """The joints at which head, tail and, if there is neither, the trunk end: one each, that which reaches farthest."""
    body, ends = anatomy.body, []
    for part in ("head", "tail"):
        own = [joint for joint in middle if anatomy.parts[joint] == part]
        if own:
            first = body.heads[own[0]]
            ends.append(max(own, key=lambda joint: float(np.linalg.norm(body.tips[joint] - first))))
    if not ends:
        ends = [joint for joint in middle if not any(child in middle for child in body.children[joint])]
    return ends


def _name(limb: Limb) -> str:
    return f"{limb.side} {limb.kind} {limb.rank}"


def _color(anatomy: Anatomy, limb: Limb) -> tuple[float, float, float]:
    """Legs go from the hind colour to the front one, from the back of the body to its front."""
    pairs = max(other.rank for other in anatomy.limbs if other.kind == limb.kind) + 1
    if limb.kind != "leg":
        return FRONT[limb.side]
    front = 0.0 if pairs == 1 else 1 - limb.rank / (pairs - 1)
    hind_color, front_color = np.array(HIND[limb.side]), np.array(FRONT[limb.side])
    return tuple(hind_color + front * (front_color - hind_color))


def aim(
    figure: StickFigure,
    azimuth: float,
    elevation: float,
    size: int,
    *,
    zoom: float = 1.0,
    shift: tuple[float, float] = (0.0, 0.0),
) -> tuple[Cameras, float]:
    """One camera that stands still, and half the side of its picture at the character's middle [file units].

    The figure at rest, but for its tail, fits with room for strides on both sides and for a leap above. azimuth as in
    `cameras.orbit` [degrees]; zoom and shift (in half sides) leave the usual framing, for training.
    """
    shown = [part != "tail" for part in figure.parts]  # a long tail would make everything else tiny
    points = figure.rest[shown if any(shown) else slice(None)].reshape(-1, 3)
    up, forward = figure.up, figure.forward
    left = np.cross(up, forward)
    turn, lift = np.radians(azimuth), np.radians(elevation)
    level = forward * np.cos(turn) + left * np.sin(turn)
    right = left * np.cos(turn) - forward * np.sin(turn)
    above, toward = up * np.cos(lift) - level * np.sin(lift), level * np.cos(lift) + up * np.sin(lift)
    (west, east), (low, high) = (((points @ axis).min(), (points @ axis).max()) for axis in (right, above))
    room = figure.leg
    west, east, low, high = west - 0.45 * room, east + 0.45 * room, low - 0.12 * room, high + 0.45 * room
    half = max(east - west, high - low) / 2 / zoom
    depth = points @ toward
    center = right * ((west + east) / 2 + shift[0] * half) + above * ((low + high) / 2 + shift[1] * half)
    center = center + toward * (depth.min() + depth.max()) / 2
    distance = half / np.tan(np.radians(FIELD_OF_VIEW) / 2)
    targets, upward, ahead = (torch.tensor(value, dtype=torch.float32) for value in (center[None], up, forward))
    return orbit(targets, upward, ahead, azimuth, elevation, float(distance), FIELD_OF_VIEW, size, size), float(half)


def gaussians_of(
    points: Float[Tensor, "*frames strokes corners 3"], widths: Float[Tensor, "*#frames strokes"]
) -> tuple[Float[Tensor, "*frames gaussians 3"], Float[Tensor, "*frames gaussians 6"]]:
    """Means and covariances of the Gaussians that make up strokes of some widths [file units]. A stroke is straight
    between two corners, or bends at more of them: with STROKE_GAUSSIANS + 1, each Gaussian has a piece of its own."""
    start, along = points[..., :-1, :], points[..., 1:, :] - points[..., :-1, :]
    each = STROKE_GAUSSIANS // along.shape[-2]  # Gaussians in a straight piece
    places = (torch.arange(each).to(points) + 0.5) / each
    means = start[..., None, :] + places[:, None] * along[..., None, :]
    across = (widths**2)[..., None, None, None] * torch.eye(3).to(points)
    step = along / each
    covariances = across + 0.25 * step[..., :, None] * step[..., None, :]
    packed = pack(covariances)[..., None, :].expand(*means.shape[:-1], 6)
    return means.flatten(-4, -2), packed.flatten(-4, -2)


def render_strokes(
    points: Float[Tensor, "frames strokes 2 3"],
    colors: Float[Tensor, "*frames strokes 3"],
    widths: Float[Tensor, "*frames strokes"],
    cameras: Cameras,
    ground: GroundPlane | None = None,
) -> Float[Tensor, "frames height width 3"]:
    """Pictures of strokes, on an even background or on a ground; widths in file units; a stroke of width 0 is not
    drawn."""
    widths = widths.expand(points.shape[:-2])
    means, covariances = gaussians_of(points, widths)
    opacities = (OPACITY * (widths > 0)).repeat_interleave(STROKE_GAUSSIANS, -1)
    shades = colors.expand(*points.shape[:-2], 3).repeat_interleave(STROKE_GAUSSIANS, -2)
    if ground is not None:
        return ground.render(means, covariances, opacities, shades, cameras)
    background = torch.full((3,), BACKGROUND).to(points)
    return rasterize(means, covariances, opacities, shades, cameras).over(background)


def scaled(pictures: Float[Tensor, "*pictures 3"]) -> Float[Tensor, "*pictures 3"]:
    """sRGB as a network sees it."""
    return (pictures - BACKGROUND) / CONTRAST


def unscaled(latents: Float[Tensor, "*pictures 3"]) -> Float[Tensor, "*pictures 3"]:
    """Back to sRGB."""
    return latents * CONTRAST + BACKGROUND


def limb_weights(
    videos: Float[Tensor, "videos frames size size 3"], rests: Float[Tensor, "videos size size 3"], most: float = 8.0
) -> Float[Tensor, "videos frames size size 1"]:
    """Weights of pixels in the loss: colourful ones, which are limbs, count most, also where limbs are at rest."""
    seen = torch.cat([rests[:, None], videos], 1)
    vivid = (seen.amax(-1) - seen.amin(-1)).mul(CONTRAST / 0.6).clamp(0, 1)
    return 1 + most * torch.maximum(vivid[:, 1:], vivid[:, :1])[..., None]
