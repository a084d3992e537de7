"""Clouds of Gaussians as .ply files, as 3DGS and every program after it write them.

A vertex is a Gaussian: x y z, f_dc_* and f_rest_* (spherical harmonics; the rest channel by channel), opacity (a
logit), scale_* (logarithms), rot_* (a quaternion wxyz). Normals are written as zeros because some readers count
columns.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from gambol.errors import AssetError, GambolError
from gambol.files import check_folder, write_file
from gambol.formats.ply import Table, read_tables
from gambol.render.gaussians import Gaussians

MOST_OPAQUE = 0.99
"""Opacities above are lowered to it: a Gaussian that hides all behind it gives that no gradient."""


def read_splats(path: str | Path) -> Gaussians:
    """The Gaussians of a 3DGS .ply file, in its own coordinates; those with NaN or infinite values are left out.

    So are those whose size, squared, is no number of float32: beyond e^40 file units.
    """
    path = Path(path)
    vertices = read_tables(path).get("vertex", {})
    rest = sum(name.startswith("f_rest_") for name in vertices)
    if rest not in (0, 9, 24, 45):
        raise AssetError(f"{path} has {rest} columns f_rest_*; spherical harmonics have 0, 9, 24 or 45")
    means = _columns(path, vertices, ["x", "y", "z"])
    colors = _columns(path, vertices, [f"f_dc_{i}" for i in range(3)])[:, None]
    if rest:
        higher = _columns(path, vertices, [f"f_rest_{i}" for i in range(rest)])
        colors = np.concatenate([colors, higher.reshape(len(means), 3, -1).transpose(0, 2, 1)], axis=1)
    logits = _columns(path, vertices, ["opacity"])[:, 0]
    scales = _columns(path, vertices, [f"scale_{i}" for i in range(3)])
    wxyz = _columns(path, vertices, [f"rot_{i}" for i in range(4)])
    length = np.linalg.norm(wxyz, axis=1)
    parts = (means, wxyz, scales, logits[:, None], colors.reshape(len(means), -1))
    sound = np.isfinite(np.concatenate(parts, axis=1)).all(1) & (length > 0)
    sound &= ((scales > -60) & (scales < 40)).all(1)
    if not sound.any():
        raise AssetError(f"{path} holds no Gaussian with finite values")
    unit = wxyz / np.where(length > 0, length, 1)[:, None]
    kept = [torch.as_tensor(part[sound].astype(np.float32)) for part in (means, unit, scales, logits, colors)]
    return Gaussians(kept[0], kept[1], kept[2].exp(), kept[3].sigmoid().clamp_max(MOST_OPAQUE), kept[4])


def _columns(path: Path, vertices: Table, names: list[str]) -> np.ndarray:
    missing = [name for name in names if name not in vertices]
    if missing:
        raise AssetError(f"{path} is no cloud of Gaussians: its vertices have no {', '.join(missing)}")
    columns = [vertices[name] for name in names]
    if any(isinstance(column, list) or column.ndim != 1 for column in columns):
        raise AssetError(f"{path}: {', '.join(names)} must be single numbers, not lists")
    with np.errstate(invalid="ignore"):  # a signalling NaN
        return np.stack(columns, axis=1, dtype=np.float64)


def check_splats(path: str | Path) -> None:
    """Refuse, before any work, a file that `write_splats` could not write."""
    path = Path(path)
    if path.suffix.lower() != ".ply":
        raise GambolError(f"Gaussians are written as .ply, got {path}")
    check_folder(path)


def write_splats(gaussians: Gaussians, path: str | Path) -> None:
    """A binary .ply file that viewers of 3DGS open."""
    check_splats(path)
    path = Path(path)
    higher = gaussians.harmonics[:, 1:].transpose(1, 2).flatten(1)
    columns = {
        "x y z": gaussians.means,
        "nx ny nz": torch.zeros_like(gaussians.means),
        "f_dc_0 f_dc_1 f_dc_2": gaussians.harmonics[:, 0],
        " ".join(f"f_rest_{i}" for i in range(higher.shape[1])): higher,
        "opacity": gaussians.opacities.clamp(1e-6, 1 - 1e-6).logit()[:, None],
        "scale_0 scale_1 scale_2": gaussians.scales.clamp_min(1e-20).log(),
        "rot_0 rot_1 rot_2 rot_3": gaussians.wxyz,
    }
    names = " ".join(columns).split()
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {len(gaussians)}"]
    header += [f"property float {name}" for name in names] + ["end_header", ""]
    rows = torch.cat(list(columns.values()), dim=1).detach().cpu().numpy().astype("<f4")
    write_file(path, "\n".join(header).encode() + rows.tobytes())
