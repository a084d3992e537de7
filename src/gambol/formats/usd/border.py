"""The border between USD and gambol: row vectors and column vectors, axes, units, times.

Inside, y is up and lengths are metres. What a stage calls up and how long its unit is, is converted here and nowhere
else, by one similarity S: a point p becomes S p, and a transform T becomes S T S^-1, so that nothing is left over.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from pxr import Gf, Usd, UsdGeom

from gambol.character.transforms import normalize, wxyz_from_xyzw
from gambol.errors import AssetError
from gambol.formats.files import LARGEST_NUMBER, in_range

UPRIGHT = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
"""z up to y up: (x, y, z) becomes (x, z, -y)."""
LARGEST_UNIT = 1e6
"""Metres that a unit may be long, and parts into which it may divide a metre."""


@dataclass(frozen=True)
class Border:
    """How a stage's coordinates become ours."""

    axes: Float[np.ndarray, "3 3"]
    unit: float
    """Length of the stage's unit [m]."""
    rate: float
    """Time codes a second."""

    @staticmethod
    def of(stage: Usd.Stage) -> Border:
        """What the stage says; a stage that does not say its unit counts in centimetres, by USD's definition."""
        unit, rate = float(UsdGeom.GetStageMetersPerUnit(stage)), float(stage.GetTimeCodesPerSecond())
        if not (1 / LARGEST_UNIT <= unit <= LARGEST_UNIT and 1e-6 <= rate <= 1e6):
            raise AssetError(f"the stage's unit is {unit:g} m, and it has {rate:g} time codes a second: out of range")
        upright = UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.z
        return Border(UPRIGHT if upright else np.eye(3), unit, rate)

    def points(self, points: Float[np.ndarray, "*batch 3"]) -> Float[np.ndarray, "*batch 3"]:
        return self.unit * points @ self.axes.T

    def directions(self, vectors: Float[np.ndarray, "*batch 3"]) -> Float[np.ndarray, "*batch 3"]:
        return vectors @ self.axes.T

    def scales(self, scales: Float[np.ndarray, "*batch 3"]) -> Float[np.ndarray, "*batch 3"]:
        return scales @ np.abs(self.axes).T

    def rotations(self, wxyz: Float[np.ndarray, "*batch 4"]) -> Float[np.ndarray, "*batch 4"]:
        return np.concatenate([wxyz[..., :1], self.directions(wxyz[..., 1:])], axis=-1)

    def matrices(self, matrices: Float[np.ndarray, "*batch 4 4"]) -> Float[np.ndarray, "*batch 4 4"]:
        """Of column vectors, from those of column vectors."""
        found = np.array(matrices, np.float64)
        found[..., :3, :3] = self.axes @ found[..., :3, :3] @ self.axes.T
        found[..., :3, 3] = self.points(found[..., :3, 3])
        found[..., 3, :] = (0.0, 0.0, 0.0, 1.0)
        return found

    def seconds(self, codes: Float[np.ndarray, " keys"]) -> Float[np.ndarray, " keys"]:
        return np.asarray(codes, np.float64) / self.rate


def columns(matrices) -> Float[np.ndarray, "*batch 4 4"]:
    """USD's matrices, which act on row vectors, as ours."""
    return np.swapaxes(np.array(matrices, np.float64), -1, -2)


def rows(matrices: Float[np.ndarray, "*batch 4 4"]) -> list[Gf.Matrix4d]:
    """The other way."""
    return [Gf.Matrix4d(*matrix.T.ravel().tolist()) for matrix in np.asarray(matrices, np.float64).reshape(-1, 4, 4)]


def checked(values: np.ndarray, what: str) -> np.ndarray:
    """The values, if all are finite and not too large; AssetError otherwise."""
    if not in_range(values):
        raise AssetError(f"{what} are NaN, infinite or beyond {LARGEST_NUMBER:g}")
    return values


def quaternions(values, what: str) -> Float[np.ndarray, "*batch 4"]:
    """USD's quaternions as unit ones, wxyz; one of length zero is no rotation."""
    found = checked(np.array(values, np.float64).reshape(-1, 4), what)
    found = normalize(wxyz_from_xyzw(found))
    found[~found.any(axis=-1)] = (1.0, 0.0, 0.0, 0.0)
    return found
