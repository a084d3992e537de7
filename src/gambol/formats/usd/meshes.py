"""Meshes of USD: polygons as triangles, corners that differ as vertices of their own, a mesh for each material."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int
from pxr import Sdf, Usd, UsdGeom, UsdShade, UsdSkel

from gambol.character.character import Material, Mesh
from gambol.errors import AssetError
from gambol.formats.plain import finite
from gambol.formats.usd.border import Border, checked, columns
from gambol.formats.usd.materials import MaterialReader, Surface
from gambol.formats.usd.shapes import Shapes, read_shapes
from gambol.formats.usd.skeletons import UsdSkeleton
from gambol.formats.weights import repaired_weights
from gambol.text import printable

if TYPE_CHECKING:
    from gambol.formats.usd.reader import Binds

EARLIEST = Usd.TimeCode.EarliestTime()
LARGEST_TOTAL = 4_000_000
"""Vertices of all meshes together; the same as for glTF."""
MOST_INFLUENCES = 64
"""Joints that move a vertex."""
USUAL_COORDINATES = ("st", "UVMap", "st0", "map1")
PER_POINT = (UsdGeom.Tokens.vertex, UsdGeom.Tokens.varying)
BY_HAND = Material(metallic=0.0)

Binding = tuple[UsdSkel.SkinningQuery, UsdSkeleton]


class Corners:
    """The corners of a mesh's polygons."""

    def __init__(self, prim: Usd.Prim, label: str):
        mesh = UsdGeom.Mesh(prim)
        self.label = label
        self.points = checked(_array(mesh.GetPointsAttr(), 3), f"{label}: points")
        counts = _array(mesh.GetFaceVertexCountsAttr(), 1)[:, 0].astype(np.int64)
        self.indices = _array(mesh.GetFaceVertexIndicesAttr(), 1)[:, 0].astype(np.int64)
        if len(self.points) > LARGEST_TOTAL or len(self.indices) > 3 * LARGEST_TOTAL:
            raise AssetError(f"{label} has more than {LARGEST_TOTAL:,} vertices: decimate it first")
        if (counts < 0).any() or counts.sum() != len(self.indices):
            raise AssetError(f"{label}: its faces have {counts.sum()} corners and {len(self.indices)} are there")
        if len(self.indices) and not (self.indices.min() >= 0 and self.indices.max() < len(self.points)):
            raise AssetError(f"{label}: a face names a point that does not exist; there are {len(self.points)}")
        self.polygons = np.repeat(np.arange(len(counts)), counts)
        """The polygon of each corner."""
        self.triangles, self.owners = _fans(counts)
        holes = _array(mesh.GetHoleIndicesAttr(), 1)[:, 0].astype(np.int64)
        if len(holes):
            solid = ~np.isin(self.owners, holes)
            self.triangles, self.owners = self.triangles[solid], self.owners[solid]
        if mesh.GetOrientationAttr().Get(EARLIEST) == UsdGeom.Tokens.leftHanded:
            self.triangles = self.triangles[:, ::-1]

    def spread(self, values: np.ndarray, interpolation: str) -> np.ndarray | None:
        """A value for each corner; None if there are not as many values as the interpolation asks for."""
        asked = {
            UsdGeom.Tokens.constant: np.zeros(len(self.indices), np.int64),
            UsdGeom.Tokens.uniform: self.polygons,
            UsdGeom.Tokens.faceVarying: np.arange(len(self.indices)),
        }
        at = self.indices if interpolation in PER_POINT else asked.get(interpolation)
        if at is None or (len(at) and at.max() >= len(values)):
            return None
        return values[at]


def _array(attribute: Usd.Attribute, width: int) -> np.ndarray:
    value = attribute.Get(EARLIEST)
    found = np.zeros((0, width)) if value is None else np.array(value, np.float64)
    return found.reshape(-1, width)


def _fans(counts: Int[np.ndarray, " polygons"]) -> tuple[Int[np.ndarray, "faces 3"], Int[np.ndarray, " faces"]]:
    """Triangles around the first corner of each polygon, as numbers of corners, and the polygon of each."""
    sides = np.maximum(counts - 2, 0)
    owners = np.repeat(np.arange(len(counts)), sides)
    starts = np.cumsum(counts) - counts
    step = np.arange(len(owners)) - np.repeat(np.cumsum(sides) - sides, sides)
    first = starts[owners]
    return np.stack([first, first + step + 1, first + step + 2], axis=1), owners


class MeshReader:
    """Reads meshes with their skins, blend shapes and materials, and collects binds and blend shapes."""

    def __init__(
        self,
        border: Border,
        binds: Binds,
        materials: MaterialReader,
        bindings: Mapping[str, Binding],
        warnings: list[str],
    ):
        self._border, self._binds, self._materials = border, binds, materials
        self._bindings, self._warnings = bindings, warnings
        self._vertices = 0
        self.shapes: list[Shapes] = []

    def read(self, prim: Usd.Prim, node: int) -> list[Mesh]:
        """The meshes of a prim, one a material."""
        label = f"mesh '{printable(prim.GetName())}'"
        try:
            corners = Corners(prim, label)
        except (TypeError, ValueError) as error:
            raise AssetError(f"{label} cannot be read: {error}") from None
        if not len(corners.triangles):
            return []
        scheme = UsdGeom.Mesh(prim).GetSubdivisionSchemeAttr()
        if scheme.HasAuthoredValue() and scheme.Get() != UsdGeom.Tokens.none:
            self._warnings.append(f"{label} is a subdivision surface: its control mesh is used as it is")
        if UsdGeom.Mesh(prim).GetPointsAttr().ValueMightBeTimeVarying():
            self._warnings.append(f"{label} has points that move by themselves: only joints and blend shapes are read")
        found = []
        for surface, chosen in self._surfaces(prim, corners):
            if chosen.any():
                found.append(self._mesh(prim, node, corners, surface, chosen))
        return found

    def _surfaces(
        self, prim: Usd.Prim, corners: Corners
    ) -> Iterator[tuple[Surface | None, Bool[np.ndarray, " faces"]]]:
        """Materials and the triangles that have them."""
        api = UsdShade.MaterialBindingAPI(prim)
        left = np.ones(len(corners.owners), bool)
        for subset in api.GetMaterialBindSubsets():
            listed = subset.GetIndicesAttr().Get(EARLIEST)
            faces = np.isin(corners.owners, np.array([] if listed is None else listed)) & left
            left &= ~faces
            yield self._surface(UsdShade.MaterialBindingAPI(subset.GetPrim()), api), faces
        yield self._surface(api), left

    def _surface(self, *bound: UsdShade.MaterialBindingAPI) -> Surface | None:
        for api in bound:
            material = api.ComputeBoundMaterial()[0]
            if material:
                return self._materials.read(material)
        return None

    def _mesh(
        self,
        prim: Usd.Prim,
        node: int,
        corners: Corners,
        surface: Surface | None,
        chosen: Bool[np.ndarray, " faces"],
    ) -> Mesh:
        """Corners that agree in point and looks become one vertex."""
        name = printable(prim.GetDisplayName() or prim.GetName())
        used, faces = np.unique(corners.triangles[chosen], return_inverse=True)
        looks = {
            "normals": self._normals(prim, corners),
            "uvs": self._coordinates(prim, corners, surface.coordinates if surface else ""),
            "colors": self._colors(prim, corners, surface.colors if surface else "displayColor"),
        }
        keys = [corners.indices[used]]
        for values in looks.values():
            if values is not None:
                keys.append(np.unique(values[used], axis=0, return_inverse=True)[1].reshape(-1))
        _, kept, vertex = np.unique(np.stack(keys, axis=1), axis=0, return_index=True, return_inverse=True)
        at = used[kept]
        points = corners.indices[at]
        self._vertices += len(points)
        if self._vertices > LARGEST_TOTAL:
            raise AssetError(f"there are more than {LARGEST_TOTAL:,} vertices: decimate the meshes first")
        arrays = {
            key: None if values is None else finite(values[at].astype(np.float32), name, key, self._warnings)
            for key, values in looks.items()
        }
        positions = self._border.points(corners.points)
        shapes = self._shapes(prim, node, len(corners.points))
        two_sided = bool(UsdGeom.Mesh(prim).GetDoubleSidedAttr().Get())
        base = surface.material if surface else self._plain(prim, arrays["colors"])
        if surface is None and base is not BY_HAND:  # one colour for all of it
            arrays["colors"] = None
        return Mesh(
            name=name,
            node=node,
            positions=positions[points].astype(np.float32),
            faces=vertex.reshape(-1)[faces.reshape(-1)].reshape(-1, 3),
            material=replace(base, double_sided=two_sided),
            morph_positions=None if shapes is None else shapes.offsets[:, points].astype(np.float32),
            morph_weights=None if shapes is None else np.zeros(len(shapes.names)),
            morph_names=() if shapes is None else shapes.names,
            normals=arrays["normals"],
            uvs=arrays["uvs"],
            colors=arrays["colors"],
            **self._influences(prim, node, name, len(corners.points), points, positions),
        )

    def _shapes(self, prim: Usd.Prim, node: int, points: int) -> Shapes | None:
        """Those of the prim, read once for all its materials."""
        known = next((each for each in self.shapes if each.node == node), None)
        bound = self._bindings.get(str(prim.GetPath()))
        if known or bound is None:
            return known
        shapes = read_shapes(prim, node, str(bound[1].prim.GetPath()), points, self._border, self._warnings)
        if shapes:
            self.shapes.append(shapes)
        return shapes

    def _influences(
        self,
        prim: Usd.Prim,
        node: int,
        name: str,
        count: int,
        points: Int[np.ndarray, " vertices"],
        positions: Float[np.ndarray, "points 3"],
    ) -> dict:
        """Binds and weights of the vertices; a mesh without a skin follows its node."""
        query, skeleton = self._bindings.get(str(prim.GetPath()), (None, None))
        if query is None or skeleton is None or not query.HasJointInfluences():
            bind = self._binds.add(node, np.eye(4))
            alone = {"binds": np.full((len(points), 1), bind), "weights": np.ones((len(points), 1))}
            return {**alone, "skinned": False}
        if query.GetSkinningMethod() == UsdSkel.Tokens.dualQuaternion:
            self._warnings.append(f"mesh '{name}' is skinned by dual quaternions: it is shown with linear blending")
        given = query.ComputeVaryingJointInfluences(count, EARLIEST)
        indices, weights = given[-2:] if given else ((), ())
        influences = len(indices) // max(count, 1)
        if not influences or len(indices) != influences * count or len(weights) != len(indices):
            raise AssetError(f"mesh '{name}': {len(indices)} influences do not fit {count} points")
        if influences > MOST_INFLUENCES:
            raise AssetError(f"mesh '{name}': {influences} joints move each point; {MOST_INFLUENCES} are read at most")
        table = self._table(query, skeleton, name)
        joints = np.array(indices, np.int64).reshape(count, influences)[points]
        shares = np.array(weights, np.float64).reshape(count, influences)[points]
        shares = repaired_weights(name, shares, positions[points], joints, self._warnings)
        named = joints[shares > 0]
        if named.min(initial=0) < 0 or named.max(initial=0) >= len(table) or (table[named] < 0).any():
            raise AssetError(f"mesh '{name}' is moved by joints that its skeleton does not have")
        joints = np.where(shares > 0, joints, named[0])
        used = shares.max(axis=0) > 0
        skin = np.unique(table[table >= 0])
        return {"binds": table[joints[:, used]], "weights": shares[:, used], "skinned": True, "skin": skin}

    def _table(self, query: UsdSkel.SkinningQuery, skeleton: UsdSkeleton, name: str) -> Int[np.ndarray, " joints"]:
        """The bind of each joint in the mesh's own order, -1 for what the skeleton does not have."""
        order = query.GetJointOrder()
        joints = skeleton.joints if order is None else tuple(str(joint) for joint in order)
        index = {joint: number for number, joint in enumerate(skeleton.joints)}
        geometry = self._border.matrices(
            checked(columns(query.GetGeomBindTransform(EARLIEST)), f"mesh '{name}': its geomBindTransform")
        )
        found = []
        for joint in joints:
            number = index.get(joint, -1)
            matrix = skeleton.inverse_binds[number] @ geometry
            found.append(self._binds.add(int(skeleton.nodes[number]), matrix) if number >= 0 else -1)
        return np.array(found, np.int64)

    def _normals(self, prim: Usd.Prim, corners: Corners) -> np.ndarray | None:
        mesh = UsdGeom.Mesh(prim)
        primvar = UsdGeom.PrimvarsAPI(prim).GetPrimvar("normals")
        if primvar and primvar.HasAuthoredValue():
            found = _flattened(primvar, 3)
            interpolation = primvar.GetInterpolation()
        else:
            found, interpolation = _array(mesh.GetNormalsAttr(), 3), mesh.GetNormalsInterpolation()
        spread = corners.spread(found, interpolation) if found is not None and len(found) else None
        return None if spread is None else self._border.directions(spread)

    def _coordinates(self, prim: Usd.Prim, corners: Corners, wanted: str) -> np.ndarray | None:
        """Texture coordinates, v from the top of the picture."""
        api = UsdGeom.PrimvarsAPI(prim)
        pairs = (Sdf.ValueTypeNames.TexCoord2fArray, Sdf.ValueTypeNames.Float2Array)
        there = [each for each in api.FindPrimvarsWithInheritance() if each.GetTypeName() in pairs]
        names = [each.GetPrimvarName() for each in there]
        for name in (wanted, *USUAL_COORDINATES, *names):
            if name in names:
                primvar = there[names.index(name)]
                found = _flattened(primvar, 2)
                spread = None if found is None else corners.spread(found, primvar.GetInterpolation())
                return None if spread is None else np.stack([spread[:, 0], 1 - spread[:, 1]], axis=1)
        return None

    def _colors(self, prim: Usd.Prim, corners: Corners, name: str) -> np.ndarray | None:
        """Linear RGBA from a primvar."""
        primvar = UsdGeom.PrimvarsAPI(prim).FindPrimvarWithInheritance(name) if name else None
        if not primvar or not primvar.HasAuthoredValue():
            return None
        found = _flattened(primvar, 3)
        spread = None if found is None else corners.spread(found, primvar.GetInterpolation())
        return None if spread is None else np.append(np.clip(spread, 0, 1), np.ones((len(spread), 1)), axis=1)

    def _plain(self, prim: Usd.Prim, colors: np.ndarray | None) -> Material:
        """What stands for a material: one colour, if the mesh has one for all of it."""
        if colors is None or not len(colors) or (colors != colors[0]).any():
            return BY_HAND
        red, green, blue = (float(part) for part in colors[0, :3])
        return Material(base_color=(red, green, blue, 1.0), metallic=0.0)


def _flattened(primvar: UsdGeom.Primvar, width: int) -> np.ndarray | None:
    """The values of a primvar without its indices."""
    value = primvar.ComputeFlattened(EARLIEST)
    if value is None:
        return None
    try:
        return np.array(value, np.float64).reshape(-1, width)
    except (TypeError, ValueError):
        return None
