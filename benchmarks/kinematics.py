"""Forward kinematics and skinning against plain torch: `python benchmarks/kinematics.py`.

Every figure is the fastest of several runs on this machine's CPU. Baselines are measured in the same run: "loop"
multiplies one joint after the other with torch's own 4 x 4 products, "gather" collects the matrices of all influences
of a vertex and sums them with einsum.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from gambol.character.rig import Rig
from gambol.character.skeleton import levels_of
from gambol.character.transforms import compose, matrix_from_quaternion
from gambol.motion.kinematics import Kinematics, compound_rotation
from gambol.motion.skinning import blend, skin_covariances, skin_points
from torch import Tensor

JOINTS, FRAMES = 500, 64
VERTICES, INFLUENCES, SKIN_FRAMES = 20_000, 4, 16


def milliseconds(run: Callable[[], object], repeats: int) -> float:
    run()
    fastest = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        fastest = min(fastest, time.perf_counter() - start)
    return 1e3 * fastest


def compare(
    name: str, rival: str, ours: Callable[[], Sequence[Tensor]], theirs: Callable[[], Sequence[Tensor]], *inputs: Tensor
) -> None:
    """Prints forward, and forward with backward to `inputs`, of both; first makes sure that they agree."""
    for a, b in zip(ours(), theirs(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-3)
    upstream = [torch.randn(a.shape) for a in ours()]
    for label, backward in (("forward", False), ("forward + backward", True)):
        us = milliseconds(partial(step, ours, inputs, upstream, backward), repeats=20)
        them = milliseconds(partial(step, theirs, inputs, upstream, backward), repeats=5)
        print(f"{name:<66} {label:<19} {us:7.2f} ms   {rival} {them:7.2f} ms   ratio {them / us:5.1f}")


def step(
    function: Callable[[], Sequence[Tensor]], inputs: Sequence[Tensor], upstream: Sequence[Tensor], backward: bool
) -> None:
    with torch.set_grad_enabled(backward):
        results = function()
    if backward:
        torch.autograd.grad(results, inputs, upstream)


def random_rig(parents: np.ndarray, rng: np.random.Generator) -> Rig:
    joints = len(parents)
    rotations = rng.normal(size=(2, joints, 4))
    return Rig(
        nodes=np.arange(joints),
        parents=parents,
        T_parent_joint=compose(rng.normal(size=(joints, 3)) * 0.1, rotations[0], np.ones((joints, 3))),
        scale=np.ones((joints, 3)),
        axes=matrix_from_quaternion(rotations[1]),
        root_axes=np.eye(3)[:, [1, 0, 2]],
        pivot=np.zeros(3),
    )


def loop_kinematics(rig: Rig, angles: Tensor) -> Tensor:
    """The rival: one joint after the other, the body at rest."""
    rotation = compound_rotation(angles, torch.as_tensor(rig.axes, dtype=angles.dtype))
    homogeneous = torch.eye(4).repeat(*angles.shape[:2], 1, 1)
    homogeneous[..., :3, :3] = rotation
    local = torch.as_tensor(rig.T_parent_joint, dtype=angles.dtype) @ homogeneous
    world: list[Tensor] = []
    for joint, parent in enumerate(rig.parents):
        world.append(world[parent] @ local[:, joint] if parent >= 0 else local[:, joint])
    return torch.stack(world, dim=1)[:, :, :3]


def benchmark_kinematics(name: str, parents: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    rig = random_rig(parents, rng)
    kinematics = Kinematics(rig)
    angles = torch.tensor(rng.uniform(-1, 1, (FRAMES, JOINTS, 3)), dtype=torch.float32, requires_grad=True)
    still = torch.zeros(FRAMES, 3)
    compare(
        f"kinematics, {JOINTS} joints x {FRAMES} frames, {name} of depth {len(levels_of(parents))}",
        "loop",
        lambda: [kinematics(angles, still, still)],
        lambda: [loop_kinematics(rig, angles)],
        angles,
    )


def benchmark_skinning(count: int) -> None:
    generator = torch.Generator().manual_seed(0)
    matrices = torch.randn(SKIN_FRAMES, count, 3, 4, generator=generator, requires_grad=True)
    binds = torch.randint(0, count, (VERTICES, INFLUENCES), generator=generator)
    weights = torch.rand(VERTICES, INFLUENCES, generator=generator).softmax(1)
    points = torch.randn(VERTICES, 3, generator=generator)
    factors = torch.randn(VERTICES, 3, 3, generator=generator)
    covariances = factors @ factors.mT

    def ours() -> list[Tensor]:
        blended = blend(matrices, binds, weights)
        return [skin_points(blended, points), skin_covariances(blended, covariances)]

    def gather() -> list[Tensor]:
        blended = torch.einsum("vi,fvirc->fvrc", weights, matrices[:, binds])
        linear = blended[..., :3]
        moved = torch.einsum("fvij,vj->fvi", linear, points) + blended[..., 3]
        return [moved, torch.einsum("fvij,vjk,fvlk->fvil", linear, covariances, linear)]

    compare(f"skinning, {VERTICES} vertices x {count} binds x {SKIN_FRAMES} frames", "gather", ours, gather, matrices)


if __name__ == "__main__":
    torch.manual_seed(0)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads")
    steps = np.random.default_rng(0).integers(1, 41, JOINTS - 1)
    benchmark_kinematics("bushy tree", np.array([-1, *np.maximum(np.arange(1, JOINTS) - steps, 0)]))
    benchmark_kinematics("single chain", np.arange(JOINTS) - 1)
    benchmark_skinning(60)
    benchmark_skinning(800)
