"""Meshes as UsdGeom.Mesh prims, with skin, blend shapes, texture coordinates and materials."""

from __future__ import annotations

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, UsdShade, UsdSkel, Vt

from gambol.character.character import Character, Mesh
from gambol.character.transforms import normalize
from gambol.formats.usd.border import rows
from gambol.formats.usd.joints import Joints
from gambol.formats.usd.names import Names
from gambol.formats.usd.write_materials import MaterialWriter


class MeshWriter:
    """Writes meshes below the root of the character."""

    def __init__(
        self, stage: Usd.Stage, character: Character, joints: Joints, materials: MaterialWriter, lost: list[str]
    ):
        self._stage, self._character, self._joints = stage, character, joints
        self._materials, self._lost = materials, lost
        self._shape_names = Names()
        self.shapes: dict[int, list[str]] = {}
        """What animations call the blend shapes of each node that carries meshes."""

    def write(self, number: int, mesh: Mesh, root: Usd.Prim, taken: Names) -> UsdGeom.Mesh:
        """One mesh; number: its place among the meshes that are written."""
        path = root.GetPath().AppendChild(taken.take(mesh.name, "mesh"))
        made = UsdGeom.Mesh.Define(self._stage, path)
        made.GetPrim().SetDisplayName(mesh.name)
        made.CreatePointsAttr(_vectors(mesh.positions))
        made.CreateFaceVertexCountsAttr(Vt.IntArray(len(mesh.faces), 3))
        made.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(mesh.faces.reshape(-1).astype(np.int32)))
        made.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
        made.CreateDoubleSidedAttr(mesh.material.double_sided)
        made.CreateExtentAttr(
            [Gf.Vec3f(*map(float, mesh.positions.min(0))), Gf.Vec3f(*map(float, mesh.positions.max(0)))]
        )
        if mesh.normals is not None:
            made.CreateNormalsAttr(_vectors(normalize(mesh.normals.astype(np.float64))))
            made.SetNormalsInterpolation(UsdGeom.Tokens.vertex)
        api = UsdGeom.PrimvarsAPI(made)
        if mesh.uvs is not None:
            flipped = np.stack([mesh.uvs[:, 0], 1 - mesh.uvs[:, 1]], axis=1).astype(np.float32)
            st = api.CreatePrimvar("st", Sdf.ValueTypeNames.TexCoord2fArray, UsdGeom.Tokens.vertex)
            st.Set(Vt.Vec2fArray.FromNumpy(flipped))
        if mesh.colors is not None:
            made.CreateDisplayColorPrimvar(UsdGeom.Tokens.vertex).Set(_vectors(mesh.colors[:, :3]))
            if (mesh.colors[:, 3] < 1).any():
                self._lost.append(
                    f"mesh '{mesh.name}': its vertices' opacity is kept as displayOpacity, which few show"
                )
                opacity = Vt.FloatArray.FromNumpy(np.ascontiguousarray(mesh.colors[:, 3], np.float32))
                made.CreateDisplayOpacityPrimvar(UsdGeom.Tokens.vertex).Set(opacity)
        self._bind(number, mesh, made)
        self._write_shapes(mesh, made)
        material = self._materials.write(self._stage, root, mesh)
        UsdShade.MaterialBindingAPI.Apply(made.GetPrim()).Bind(material)
        return made

    def _bind(self, number: int, mesh: Mesh, made: UsdGeom.Mesh) -> None:
        """Influences, or the place of a mesh that stands still."""
        slots = self._joints.slots.get(number)
        if slots is None:
            binds = np.unique(mesh.binds[mesh.weights > 0])
            matrix = self._character.bind_matrices(self._character.skeleton.world())[binds[0]]
            made.AddTransformOp().Set(rows(matrix)[0])
            return
        binding = UsdSkel.BindingAPI.Apply(made.GetPrim())
        used = mesh.weights > 0
        table = np.zeros(max(slots) + 1, np.int64)
        table[list(slots)] = list(slots.values())
        first = table[mesh.binds[used][0]]
        indices = np.where(used, table[np.where(used, mesh.binds, next(iter(slots)))], first).astype(np.int32)
        weights = np.where(used, mesh.weights, 0.0).astype(np.float32)
        count = indices.shape[1]
        constant = count == 1 and (indices == indices[0]).all()
        if constant:
            indices, weights = indices[:1], weights[:1]
        binding.CreateJointIndicesPrimvar(bool(constant), count).Set(Vt.IntArray.FromNumpy(indices.reshape(-1)))
        binding.CreateJointWeightsPrimvar(bool(constant), count).Set(Vt.FloatArray.FromNumpy(weights.reshape(-1)))
        binding.CreateGeomBindTransformAttr(rows(self._joints.geometry[number])[0])

    def _write_shapes(self, mesh: Mesh, made: UsdGeom.Mesh) -> None:
        if mesh.morph_positions is None:
            return
        if mesh.node not in self.shapes:
            given = [*mesh.morph_names, *[""] * len(mesh.morph_positions)][: len(mesh.morph_positions)]
            self.shapes[mesh.node] = [self._shape_names.take(name, "shape") for name in given]
        names = self.shapes[mesh.node][: len(mesh.morph_positions)]
        binding = UsdSkel.BindingAPI.Apply(made.GetPrim())
        binding.CreateBlendShapesAttr(names)
        paths = []
        for name, offsets in zip(names, mesh.morph_positions, strict=True):
            shape = UsdSkel.BlendShape.Define(self._stage, made.GetPath().AppendChild(name))
            moved = np.flatnonzero(offsets.any(axis=1))
            moved = moved if len(moved) else np.zeros(1, np.int64)
            shape.CreateOffsetsAttr(_vectors(offsets[moved]))
            shape.CreatePointIndicesAttr(Vt.IntArray.FromNumpy(moved.astype(np.int32)))
            paths.append(shape.GetPath())
        binding.CreateBlendShapeTargetsRel().SetTargets(paths)


def _vectors(values: np.ndarray) -> Vt.Vec3fArray:
    return Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(values, np.float32))
