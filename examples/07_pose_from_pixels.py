"""The path a video model's gradients take, from pixels back to joint angles: find a pose from pictures alone.

python examples/07_pose_from_pixels.py fox.png

A fox nods and lifts a foreleg. Its pictures from two sides are the target; Adam turns all joints until the rendered
fox looks the same. The sheet shows the target above, the start in the middle and what was found below.
"""

import sys
from pathlib import Path

import gambol
import torch
from gambol.character.rig import build_rig
from gambol.motion.kinematics import Kinematics
from gambol.render.cameras import box_centers, frame_distance, orbit
from gambol.render.ground_plane import GroundPlane
from gambol.render.movie import contact_sheet, write_picture
from gambol.render.skinned_gaussians import bind_gaussians
from gambol.render.splat import SplatConfig, splat

SIDES = (70.0, -70.0)
"""Azimuth of the cameras [degrees]."""


def difference(pictures: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """Multi-scale mean squared error of pictures: blurred ones give gradients before a leg overlaps its target."""
    missing = (pictures - wanted).movedim(-1, 1)
    blurred = [torch.nn.functional.avg_pool2d(missing, pool).square().mean() * pool for pool in (1, 4, 16)]
    return torch.stack(blurred).sum()


def main(path: Path, count: int = 2000, size: int = 128, steps: int = 120) -> None:
    fox = gambol.create("fox")
    anatomy = gambol.analyze(fox)
    rig = build_rig(anatomy)
    splats = splat(fox, SplatConfig(gaussians=count, views=60, size=128))
    gaussians = bind_gaussians(splats.gaussians, fox, rig)
    kinematics, ground = Kinematics(rig), GroundPlane.of(anatomy, shadow=0.5)
    up, forward = (torch.as_tensor(axis, dtype=torch.float32) for axis in (anatomy.up, anatomy.forward))
    colors = 0.5 + gaussians.harmonics[:, 0] * 0.28209479

    def posed(angles: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Means and covariances of the Gaussians in a pose, repeated for each camera."""
        still = torch.zeros(1, 3)
        means, covariances = gaussians.posed(kinematics(angles[None], still, still))
        return means.expand(len(SIDES), -1, -1), covariances.expand(len(SIDES), -1, -1)

    truth = torch.zeros(len(rig.nodes), 3)
    truth[anatomy.joints_of("head")[0], 0] = 0.6
    lifted = anatomy.legs[0].chain
    truth[lifted[0], 0], truth[lifted[1], 0] = -0.7, 0.8
    seen = posed(truth)[0]
    view = (box_centers(seen), up, forward, torch.tensor(SIDES), 12.0)
    cameras = orbit(*view, frame_distance(seen, *view, 35.0, size, size), 35.0, size, size)
    backdrop = ground.backdrop(cameras)

    def render(angles: torch.Tensor) -> torch.Tensor:
        return ground.render(*posed(angles), gaussians.opacities, colors, cameras, backdrop=backdrop)

    wanted = render(truth)
    angles = torch.zeros_like(truth, requires_grad=True)
    optimizer = torch.optim.Adam([angles], lr=0.03)
    for step in range(steps):
        loss = difference(render(angles), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step in (0, steps - 1):
            away = (posed(angles)[0] - posed(truth)[0]).norm(dim=-1).mean() / anatomy.height
            print(f"step {step + 1}: picture error {loss:.5f}, Gaussians {100 * away:.1f} % of the height away")
    rows = {"target": wanted, "start": render(torch.zeros_like(truth)), "found": render(angles.detach())}
    frames = [frame for row in rows.values() for frame in (row.detach().clamp(0, 1) * 255).byte().numpy()]
    labels = [name for name in rows for _ in SIDES]
    write_picture(contact_sheet(frames, labels, columns=len(SIDES)), path)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
