"""Small USD stages made with usd-core: what the reader is tested against was not written by gambol."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, UsdShade, UsdSkel, Vt

JOINTS = ["hip", "hip/knee", "hip/knee/foot"]
HEADS = np.array([[0.0, 3.0, 0.0], [0.5, 2.0, 0.0], [0.0, 1.0, 0.3]])
"""Places of the joints in the skeleton."""
POINTS = np.array(
    [[x, y, z] for y in (3.0, 2.0, 1.0, 0.0) for x, z in ((-0.4, 0.3), (0.4, 0.3), (0.4, -0.3), (-0.4, -0.3))]
)
"""A tube of four square rings."""
SIDES = [(4 * ring + side, 4 * ring + (side + 1) % 4) for ring in range(3) for side in range(4)]
FACES = [*((a, b, b + 4, a + 4) for a, b in SIDES), (3, 2, 1, 0)]
CODES = (1, 5, 12, 24)


def new_stage(path: Path, up: str = "Y", metres: float = 0.01, rate: float = 24.0) -> Usd.Stage:
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, up)
    UsdGeom.SetStageMetersPerUnit(stage, metres)
    stage.SetTimeCodesPerSecond(rate)
    root = UsdSkel.Root.Define(stage, "/Leg")
    stage.SetDefaultPrim(root.GetPrim())
    UsdSkel.BindingAPI.Apply(root.GetPrim())
    return stage


def matrix(seed: int, moved: float = 1.0) -> Gf.Matrix4d:
    """A rotation and a translation."""
    rng = np.random.default_rng(seed)
    turn = Gf.Rotation(Gf.Vec3d(*rng.normal(size=3).tolist()), float(rng.uniform(20, 160)))
    return Gf.Matrix4d(turn, Gf.Vec3d(*(moved * rng.normal(size=3)).tolist()))


def add_skeleton(stage: Usd.Stage, path: str = "/Leg/Skeleton", seed: int = 0) -> UsdSkel.Skeleton:
    """Three joints with axes of their own, which rest in another pose than they were bound in."""
    skeleton = UsdSkel.Skeleton.Define(stage, path)
    UsdSkel.BindingAPI.Apply(skeleton.GetPrim())
    binds, rest = [], []
    for number, head in enumerate(HEADS):
        placed = matrix(seed + number, 0.0)
        placed.SetTranslateOnly(Gf.Vec3d(*head.tolist()))
        binds.append(placed)
        local = placed * binds[number - 1].GetInverse() if number else placed
        turned = Gf.Matrix4d(Gf.Rotation(Gf.Vec3d(1, 0, 1), 15.0 * (number + 1)), Gf.Vec3d(0.0))
        rest.append(turned * local)
    skeleton.CreateJointsAttr(JOINTS)
    skeleton.CreateBindTransformsAttr(Vt.Matrix4dArray(binds))
    skeleton.CreateRestTransformsAttr(Vt.Matrix4dArray(rest))
    return skeleton


def add_animation(
    stage: Usd.Stage,
    skeleton: UsdSkel.Skeleton,
    joints: Sequence[str] = JOINTS,
    name: str = "walk",
    seed: int = 5,
    codes: Sequence[int] = CODES,
) -> UsdSkel.Animation:
    """Turns, and moves a little, at uneven times; bound."""
    rng = np.random.default_rng(seed)
    animation = UsdSkel.Animation.Define(stage, f"{skeleton.GetPath()}/{name}")
    animation.CreateJointsAttr(list(joints))
    rest = dict(zip(JOINTS, skeleton.GetRestTransformsAttr().Get(), strict=True))
    count = len(joints)
    turns, places, sizes = (
        animation.CreateRotationsAttr(),
        animation.CreateTranslationsAttr(),
        animation.CreateScalesAttr(),
    )
    for code in codes:
        own = [Gf.Quatf(rest[joint].ExtractRotationQuat()) for joint in joints]
        extra = [Gf.Quatf(Gf.Rotation(Gf.Vec3d(*rng.normal(size=3).tolist()), 50.0).GetQuat()) for _ in joints]
        turns.Set(Vt.QuatfArray([a * b for a, b in zip(own, extra, strict=True)]), code)
        moved = [
            Gf.Vec3f(rest[joint].ExtractTranslation()) + Gf.Vec3f(*(0.1 * rng.normal(size=3)).tolist())
            for joint in joints
        ]
        places.Set(Vt.Vec3fArray(moved), code)
    sizes.Set(Vt.Vec3hArray([Gf.Vec3h(1, 1.25, 1)] * count))
    UsdSkel.BindingAPI(skeleton).CreateAnimationSourceRel().SetTargets([animation.GetPath()])
    return animation


def add_mesh(stage: Usd.Stage, path: str = "/Leg/Tube") -> UsdGeom.Mesh:
    mesh = UsdGeom.Mesh.Define(stage, path)
    mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(POINTS.astype(np.float32)))
    mesh.CreateFaceVertexCountsAttr([len(face) for face in FACES])
    mesh.CreateFaceVertexIndicesAttr([corner for face in FACES for corner in face])
    mesh.CreateSubdivisionSchemeAttr("none")
    return mesh


def bind(mesh: UsdGeom.Mesh, skeleton: UsdSkel.Skeleton, joints: Sequence[str] | None = None) -> None:
    """Two joints a point; joints: the mesh's own order of them."""
    binding = UsdSkel.BindingAPI.Apply(mesh.GetPrim())
    order = list(joints or JOINTS)
    if joints:
        binding.CreateJointsAttr(order)
    lower = np.minimum(np.arange(16) // 4, 2)
    pairs = np.stack([lower, np.minimum(lower + 1, 2)], axis=1)
    indices = [order.index(JOINTS[joint]) for joint in pairs.ravel()]
    weights = np.where(pairs[:, :1] == pairs[:, 1:], [[0.5, 0.5]], [[0.75, 0.25]])
    binding.CreateJointIndicesPrimvar(False, 2).Set(indices)
    binding.CreateJointWeightsPrimvar(False, 2).Set(weights.ravel().astype(float).tolist())
    binding.CreateGeomBindTransformAttr(Gf.Matrix4d(Gf.Rotation(Gf.Vec3d(0, 1, 0), 30), Gf.Vec3d(0.1, 0, 0)))
    binding.CreateSkeletonRel().SetTargets([skeleton.GetPath()])


def add_material(stage: Usd.Stage, path: str, color: Sequence[float], image: str | None = None) -> UsdShade.Material:
    material = UsdShade.Material.Define(stage, path)
    shader = UsdShade.Shader.Define(stage, f"{path}/surface")
    shader.CreateIdAttr("UsdPreviewSurface")
    material.CreateSurfaceOutput().ConnectToSource(shader.ConnectableAPI(), "surface")
    diffuse = shader.CreateInput("diffuseColor", Sdf.ValueTypeNames.Color3f)
    shader.CreateInput("roughness", Sdf.ValueTypeNames.Float).Set(0.25)
    if image is None:
        diffuse.Set(Gf.Vec3f(*color))
        return material
    texture = UsdShade.Shader.Define(stage, f"{path}/texture")
    texture.CreateIdAttr("UsdUVTexture")
    texture.CreateInput("file", Sdf.ValueTypeNames.Asset).Set(Sdf.AssetPath(image))
    texture.CreateInput("wrapS", Sdf.ValueTypeNames.Token).Set("clamp")
    reader = UsdShade.Shader.Define(stage, f"{path}/reader")
    reader.CreateIdAttr("UsdPrimvarReader_float2")
    reader.CreateInput("varname", Sdf.ValueTypeNames.String).Set("second")
    result = reader.CreateOutput("result", Sdf.ValueTypeNames.Float2)
    texture.CreateInput("st", Sdf.ValueTypeNames.Float2).ConnectToSource(result)
    diffuse.ConnectToSource(texture.ConnectableAPI(), "rgb")
    return material
