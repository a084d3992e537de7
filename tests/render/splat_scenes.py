"""Clouds of Gaussians that are hard to draw, for all rasterisers, and what the dense reference draws of them."""

from dataclasses import dataclass
from functools import cache
from math import log

import rasterizer_twin
import reference
import torch
from torch import Tensor

from gambol.render.cameras import Cameras
from gambol.render.gaussians import covariances_of
from gambol.render.rasterize import Rendering, rasterize

SCENES = ["random", "anisotropic", "huge", "behind", "overlapping", "tiny", "outside", "opacity"]
SIZES = [(37, 26), (32, 32), (61, 9), (24, 50)]
GAUSSIAN_INPUTS = ("means", "covariances", "opacities", "colors")
CAMERA_INPUTS = ("T_camera_world", "focal", "center")
RASTERIZERS = {"torch": rasterizer_twin.rasterize, "simd": rasterize}


@dataclass(frozen=True)
class Problem:
    """Two frames of Gaussians and cameras, and the weights of a loss, in float64 (with values float32 can hold)."""

    inputs: dict[str, Tensor]
    width: int
    height: int
    grad_image: Tensor
    grad_alpha: Tensor

    def leaves(self, dtype: torch.dtype) -> dict[str, Tensor]:
        return leaves(self.inputs, dtype)

    def drawn(self, inputs: dict[str, Tensor], rasterizer: str) -> Rendering:
        return RASTERIZERS[rasterizer](*gaussians_and_cameras(inputs, self.width, self.height))


@dataclass(frozen=True)
class Answer:
    """Pictures, and the gradients of the loss."""

    image: Tensor
    alpha: Tensor
    grads: dict[str, Tensor]


def leaves(inputs: dict[str, Tensor], dtype: torch.dtype) -> dict[str, Tensor]:
    """With gradients to all but the cameras."""
    copies = {name: tensor.detach().to(dtype, copy=True) for name, tensor in inputs.items()}
    return {name: tensor.requires_grad_(name not in CAMERA_INPUTS) for name, tensor in copies.items()}


def gaussians_and_cameras(inputs: dict[str, Tensor], width: int, height: int) -> tuple:
    return *(inputs[name] for name in GAUSSIAN_INPUTS), cameras_of(inputs, width, height)


def cameras_of(inputs: dict[str, Tensor], width: int, height: int) -> Cameras:
    return Cameras(*(inputs[name] for name in CAMERA_INPUTS), width, height, near=0.1)


def look_at(positions: Tensor, targets: Tensor, up: Tensor) -> Tensor:
    """T_camera_world of cameras that look from positions to targets, with `up` upwards in the image."""
    normalize = torch.nn.functional.normalize
    ahead = normalize(targets - positions, dim=-1)
    right = normalize(torch.linalg.cross(ahead, up.expand_as(ahead)), dim=-1)
    rotation = torch.stack([right, torch.linalg.cross(ahead, right), ahead], dim=-2)
    return torch.cat([rotation, -(rotation @ positions[..., None])], dim=-1)


def log_between(low: float, high: float, *shape: int) -> Tensor:
    return torch.exp(log(low) + log(high / low) * torch.rand(shape, dtype=torch.float64))


@cache
def scene(name: str, seed: int, gaussians: int = 40, width: int = 0, height: int = 0) -> Problem:
    """Gaussians around the origin, others in each frame, seen from 4 units away with a focal length of 40 pixels."""
    torch.manual_seed(seed)
    if not width:
        width, height = SIZES[seed % len(SIZES)]
    means = 0.7 * torch.randn(2, gaussians, 3, dtype=torch.float64)
    scales = log_between(0.03, 0.4, 2, gaussians, 3)
    opacities = 0.05 + 0.9 * torch.rand(2, gaussians, dtype=torch.float64)
    toward = torch.nn.functional.normalize(torch.randn(2, 3, dtype=torch.float64), dim=-1)
    match name:
        case "anisotropic":
            scales = log_between(0.01, 1.0, 2, gaussians, 3)
        case "huge":
            scales, opacities = log_between(1.0, 30.0, 2, gaussians, 3), 0.3 * opacities
        case "behind":  # two thirds of them behind the camera or beside it
            means = means * 8
        case "overlapping":  # on one line of sight, in random order
            apart = torch.linspace(-0.1, 0.1, gaussians, dtype=torch.float64)[torch.randperm(gaussians)]
            means = apart[:, None] * toward[:, None]
        case "tiny":
            scales = log_between(1e-5, 1e-3, 2, gaussians, 3)
        case "outside":  # beyond the edges and beyond the margin of the Jacobian, but wide enough to reach in
            means, scales = 3 * means, log_between(0.5, 2.0, 2, gaussians, 3)
        case "opacity":  # never there, hardly there, clamped, and so many that pixels stop
            choice = torch.tensor([0.0, 0.003, 0.0041, 0.5, 0.9, 0.9985, 1.0], dtype=torch.float64)
            opacities, scales = choice[torch.randint(7, (2, gaussians))], log_between(0.2, 0.8, 2, gaussians, 3)
    poses = look_at(4 * toward, torch.zeros_like(toward), torch.tensor([0.1, 1.0, 0.2], dtype=torch.float64))
    focal = 35 + 10 * torch.rand(2, 2)
    center = torch.tensor([width / 2, height / 2]) + 6 * torch.rand(2, 2) - 3
    covariances = covariances_of(torch.randn(2, gaussians, 4, dtype=torch.float64), scales)
    values = (means, covariances, opacities, torch.rand(2, gaussians, 3), poses, focal, center)
    inputs = {name: value.float().double() for name, value in zip(GAUSSIAN_INPUTS + CAMERA_INPUTS, values, strict=True)}
    weights = torch.randn(2, height, width, 4, dtype=torch.float64)
    return Problem(inputs, width, height, weights[..., :3], weights[..., 3])


def answer(scene: Problem, inputs: dict[str, Tensor], drawn: Rendering, sure: Tensor) -> Answer:
    """Counted over the pixels where all must agree; the others are black."""
    image, alpha = sure[..., None] * drawn.image, sure * drawn.alpha
    loss = (scene.grad_image * image).sum() + (scene.grad_alpha * alpha).sum()
    wanted = {name: tensor for name, tensor in inputs.items() if tensor.requires_grad}
    grads = torch.autograd.grad(loss, list(wanted.values()))
    return Answer(image.detach(), alpha.detach(), dict(zip(wanted, grads, strict=True)))


@cache
def truth(name: str, seed: int) -> tuple[Answer, Tensor]:
    """What the reference says, and where it is sure."""
    given = scene(name, seed)
    inputs = given.leaves(torch.float64)
    image, alpha, sure = reference.draw(*gaussians_and_cameras(inputs, given.width, given.height))
    assert sure.double().mean() > 0.99
    return answer(given, inputs, Rendering(image, alpha), sure), sure
