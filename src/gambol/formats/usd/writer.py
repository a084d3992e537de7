"""A character as a USD stage: one SkelRoot with skeleton, meshes and materials, and an animation for each clip.

y is up and lengths are metres, as inside. Blender, Houdini and Omniverse show the animation that is bound; the others
lie beside it, and the variant set "clip" of the SkelRoot binds any of them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pxr import Gf, Kind, Sdf, Usd, UsdGeom, UsdSkel, UsdUtils, Vt

from gambol.character.character import Character, Mesh
from gambol.character.clip import Clip, natural_fps
from gambol.errors import AssetError
from gambol.files import replacing, write_file
from gambol.formats.usd.border import rows
from gambol.formats.usd.joints import Joints, find_joints, rest_matrices
from gambol.formats.usd.names import Names
from gambol.formats.usd.write_clips import ClipWriter
from gambol.formats.usd.write_materials import MaterialWriter
from gambol.formats.usd.write_meshes import MeshWriter
from gambol.text import unique_name

FLAT = 1e-30
"""Determinant of a bind transform below which USD cannot invert it."""


def write_stage(character: Character, path: Path, clips: Sequence[Clip], meshes: bool) -> tuple[str, ...]:
    """Write a .usd, .usda, .usdc or .usdz file; returns what got lost, in words. Textures lie in a folder beside it, or
    in the package."""
    lost: list[str] = []
    shown = [mesh for mesh in character.meshes if meshes and len(mesh.faces)]
    with tempfile.TemporaryDirectory(prefix="gambol-usd-") as name:
        folder = Path(name)
        packed = path.suffix.lower() == ".usdz"
        file = folder / (f"{Names().take(path.stem)}.usdc" if packed else path.name)
        textures = "textures" if packed else f"{path.stem}_textures"
        images = _Stage(character, shown, clips, file, textures, lost).write()
        for image, data in images.items():
            (folder / image).parent.mkdir(exist_ok=True)
            (folder / image).write_bytes(data)
        if packed:
            _pack(file, path)
        else:
            for image, data in images.items():
                _place(path.parent / image, data)
            write_file(path, file.read_bytes())
    return tuple(dict.fromkeys(lost))


def _pack(file: Path, path: Path) -> None:
    with replacing(path) as temporary:
        if not UsdUtils.CreateNewUsdzPackage(Sdf.AssetPath(str(file)), str(temporary)):
            raise AssetError(f"{path} cannot be packed as .usdz; write a .usdc instead")


def _place(target: Path, data: bytes) -> None:
    try:
        target.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise AssetError(f"{target.parent} cannot be made: {error.strerror or error}") from None
    write_file(target, data)


class _Stage:
    """A stage under construction."""

    def __init__(
        self,
        character: Character,
        meshes: list[Mesh],
        clips: Sequence[Clip],
        file: Path,
        textures: str,
        lost: list[str],
    ):
        self._character, self._meshes, self._lost, self._file = character, meshes, lost, file
        self._clips = [clip for clip in clips if clip.tracks]
        self._stage = Usd.Stage.CreateNew(str(file))
        UsdGeom.SetStageUpAxis(self._stage, UsdGeom.Tokens.y)
        UsdGeom.SetStageMetersPerUnit(self._stage, 1.0)
        self._materials = MaterialWriter(textures, lost)

    def write(self) -> dict[str, bytes]:
        """Write the layer; returns images by their names relative to it."""
        character = self._character
        joints = find_joints(character, self._clips, self._meshes)
        has_morphs = any(mesh.morph_positions is not None for mesh in self._meshes)
        skeletal = bool(len(joints.names)) or has_morphs
        name = Names().take(character.name, "character")
        root = (UsdSkel.Root if skeletal else UsdGeom.Xform).Define(self._stage, f"/{name}").GetPrim()
        root.SetDisplayName(character.name)
        self._stage.SetDefaultPrim(root)
        Usd.ModelAPI(root).SetKind(Kind.Tokens.component)
        taken = Names(("Materials", "Animations", "Skeleton"))
        writer = MeshWriter(self._stage, character, joints, self._materials, self._lost)
        prims = [writer.write(number, mesh, root, taken) for number, mesh in enumerate(self._meshes)]
        if skeletal:
            skeleton = self._skeleton(root, joints)
            self._animate(root, skeleton, joints, writer)
            UsdSkel.BindingAPI.Apply(root).CreateSkeletonRel().SetTargets([skeleton.GetPath()])
        self._extents(root, prims)
        self._stage.GetRootLayer().Save()
        return self._materials.images

    def _skeleton(self, root: Usd.Prim, joints: Joints) -> UsdSkel.Skeleton:
        skeleton = UsdSkel.Skeleton.Define(self._stage, root.GetPath().AppendChild("Skeleton"))
        UsdSkel.BindingAPI.Apply(skeleton.GetPrim())
        binds = joints.binds.copy()
        flat = np.abs(np.linalg.det(binds)) < FLAT if len(binds) else np.zeros(0, bool)
        if flat.any():
            self._lost.append(f"{flat.sum()} joints were bound with a scale of 0, which USD cannot hold: skin is off")
            binds[flat] = np.eye(4)
        skeleton.CreateJointsAttr(paths_of(joints))
        known: dict[str, None] = {}
        for name in joints.names:
            known[unique_name(name, known)] = None
        skeleton.CreateJointNamesAttr(list(known))
        skeleton.CreateBindTransformsAttr(Vt.Matrix4dArray(rows(binds)))
        rest = rest_matrices(joints, self._character.skeleton.rest)
        skeleton.CreateRestTransformsAttr(Vt.Matrix4dArray(rows(rest)))
        return skeleton

    def _animate(self, root: Usd.Prim, skeleton: UsdSkel.Skeleton, joints: Joints, writer: MeshWriter) -> None:
        """One animation a clip; the new one is bound, which the character itself does not have, else the first."""
        clips = ClipWriter(self._stage, self._character, joints, paths_of(joints), writer.shapes, self._lost)
        taken = Names()
        if not self._clips:
            if still := clips.write_rest(root.GetPath().AppendPath("Animations/rest")):
                self._bind(skeleton, still)
            return
        new = [number for number, clip in enumerate(self._clips) if clip.name not in self._character.clips]
        bound = new[0] if new else 0
        rate = natural_fps(self._clips[bound])
        self._stage.SetTimeCodesPerSecond(rate)
        self._stage.SetFramesPerSecond(rate)
        self._stage.SetStartTimeCode(self._clips[bound].start * rate)
        self._stage.SetEndTimeCode(self._clips[bound].end * rate)
        UsdGeom.Scope.Define(self._stage, root.GetPath().AppendChild("Animations"))
        variants = root.GetVariantSets().AddVariantSet("clip") if len(self._clips) > 1 else None
        names = []
        for clip in self._clips:
            names.append(taken.take(clip.name, "clip"))
            path = root.GetPath().AppendPath(f"Animations/{names[-1]}")
            clips.write(path, clip, rate)
            if variants is None:
                self._bind(skeleton, path)
                return
            variants.AddVariant(names[-1])
            variants.SetVariantSelection(names[-1])
            with variants.GetVariantEditContext():
                self._bind(skeleton, path)
        assert variants is not None
        variants.SetVariantSelection(names[bound])

    def _bind(self, skeleton: UsdSkel.Skeleton, path: Sdf.Path) -> None:
        UsdSkel.BindingAPI(skeleton).CreateAnimationSourceRel().SetTargets([path])

    def _extents(self, root: Usd.Prim, meshes: Sequence[UsdGeom.Mesh]) -> None:
        """Where the character is at rest: what programs frame before they pose it."""
        corners = [np.array(self._character.bounds)] if meshes or len(self._character.skeleton) else []
        if corners and np.isfinite(corners[0]).all():
            lowest, highest = (Gf.Vec3f(*map(float, corner)) for corner in corners[0])
            if root.IsA(UsdGeom.Boundable):
                UsdGeom.Boundable(root).CreateExtentAttr([lowest, highest])
            else:
                UsdGeom.ModelAPI.Apply(root).SetExtentsHint([lowest, highest])


def paths_of(joints: Joints) -> list[str]:
    """As USD names joints: identifiers from the root on, each once."""
    names = Names()
    found: list[str] = []
    for name, parent in zip(joints.names, joints.parents.tolist(), strict=True):
        own = names.take(name, "joint")
        found.append(own if parent < 0 else f"{found[parent]}/{own}")
    return found
