"""USD in: posed vertices against usd-core's own skinning, and files that are not to be trusted."""

import zipfile
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pxr", reason="needs usd-core")

from benchmark_modules import load_benchmark
from builder import PNG
from pxr import Gf, Sdf, Usd, UsdGeom, UsdShade, UsdSkel, Vt
from usd_stages import (
    CODES,
    FACES,
    JOINTS,
    POINTS,
    add_animation,
    add_material,
    add_mesh,
    add_skeleton,
    bind,
    matrix,
    new_stage,
)

from gambol.character.character import Character
from gambol.errors import AssetError, GambolError
from gambol.formats import load
from gambol.formats.usd import animations, load_save
from gambol.formats.usd.reader import read_stage

usd = load_benchmark("usd_skinning")
CLOSE = 2e-6


def read(stage: Usd.Stage | Path, tmp_path: Path) -> Character:
    path = stage if isinstance(stage, Path) else Path(stage.GetRootLayer().realPath)
    if isinstance(stage, Usd.Stage):
        stage.GetRootLayer().Save()
    scratch = tmp_path / "scratch"
    scratch.mkdir(exist_ok=True)
    return read_stage(path, scratch)


def assert_as_by_usd(stage: Usd.Stage, tmp_path: Path) -> Character:
    """Vertices through the first clip."""
    character = read(stage, tmp_path)
    times, theirs = usd.paths_by_usd(Path(stage.GetRootLayer().realPath))
    assert len(times) > 1
    clip = next(iter(character.clips.values()))
    assert float(usd.distance(usd.paths_of(character, clip, times), theirs)) < CLOSE
    return character


@pytest.mark.parametrize(("up", "metres"), [("Y", 1.0), ("Z", 0.01)])
def test_a_skinned_mesh(up, metres, tmp_path):
    stage = new_stage(tmp_path / "leg.usda", up, metres)
    holder = UsdGeom.Xform.Define(stage, "/Leg/Rig")
    holder.AddTransformOp().Set(Gf.Matrix4d(Gf.Matrix3d(2.0), Gf.Vec3d(1, 2, 3)) * matrix(8))
    skeleton = add_skeleton(stage, "/Leg/Rig/Skeleton")
    add_animation(stage, skeleton)
    bind(add_mesh(stage), skeleton)
    character = assert_as_by_usd(stage, tmp_path)
    assert [
        name for name, joint in zip(character.skeleton.names, character.skeleton.is_joint, strict=True) if joint
    ] == [
        "hip",
        "knee",
        "foot",
    ]
    assert list(character.clips) == ["walk"]
    assert character.clips["walk"].end == pytest.approx(CODES[-1] / 24)
    (mesh,) = character.meshes
    assert len(mesh.faces) == sum(len(face) - 2 for face in FACES)
    world = UsdGeom.XformCache().GetLocalToWorldTransform(skeleton.GetPrim())
    rest = UsdSkel.Skeleton(skeleton).GetRestTransformsAttr().Get()[0] * world
    x, y, z = np.array(rest.ExtractTranslation()) * metres
    expected = [x, y, z] if up == "Y" else [x, z, -y]
    np.testing.assert_allclose(character.skeleton.world()[character.skeleton.names.index("hip"), :3, 3], expected)


def test_other_orders_of_joints(tmp_path):
    """The mesh names some joints in its own order, and the animation moves two of them, in another."""
    stage = new_stage(tmp_path / "leg.usda")
    skeleton = add_skeleton(stage)
    add_animation(stage, skeleton, [JOINTS[2], JOINTS[0]])
    bind(add_mesh(stage), skeleton, [JOINTS[2], JOINTS[0], JOINTS[1]])
    assert_as_by_usd(stage, tmp_path)


def test_influences_that_are_the_same_for_all_points(tmp_path):
    stage = new_stage(tmp_path / "leg.usda")
    skeleton = add_skeleton(stage)
    add_animation(stage, skeleton)
    mesh = add_mesh(stage)
    binding = UsdSkel.BindingAPI.Apply(mesh.GetPrim())
    binding.CreateJointIndicesPrimvar(True, 2).Set([0, 2])
    binding.CreateJointWeightsPrimvar(True, 2).Set([0.5, 0.5])
    binding.CreateSkeletonRel().SetTargets([skeleton.GetPath()])
    assert_as_by_usd(stage, tmp_path)


def test_two_skeletons_move_in_one_clip(tmp_path):
    stage = new_stage(tmp_path / "leg.usda")
    for number in range(2):
        root = UsdSkel.Root.Define(stage, f"/Leg{number}")
        root.AddTranslateOp().Set((9.0 * number, 0, 0))
        skeleton = add_skeleton(stage, f"/Leg{number}/Skeleton", seed=number)
        add_animation(stage, skeleton, name=f"move{number}", seed=number)
        bind(add_mesh(stage, f"/Leg{number}/Tube"), skeleton)
    character = assert_as_by_usd(stage, tmp_path)
    assert list(character.clips) == ["Leg"]
    assert character.skeleton.is_joint.sum() == 6


def test_animations_that_are_not_bound_are_clips_too(tmp_path):
    stage = new_stage(tmp_path / "leg.usda")
    skeleton = add_skeleton(stage)
    other = add_animation(stage, skeleton, name="run", seed=1)
    other.GetPrim().SetDisplayName("run fast")
    add_animation(stage, skeleton)
    bind(add_mesh(stage), skeleton)
    character = assert_as_by_usd(stage, tmp_path)
    assert list(character.clips) == ["walk", "run fast"]


def test_an_animation_is_for_the_skeleton_that_is_nearest(tmp_path):
    """Two characters with the same joints: an animation of one is not a clip of the other."""
    stage = new_stage(tmp_path / "leg.usda")
    for name in ("One", "Two"):
        UsdSkel.Root.Define(stage, f"/Leg/{name}")
        skeleton = add_skeleton(stage, f"/Leg/{name}/Skeleton")
        add_animation(stage, skeleton, name="run", seed=1)
        add_animation(stage, skeleton)
        bind(add_mesh(stage, f"/Leg/{name}/Tube"), skeleton)
    clips = assert_as_by_usd(stage, tmp_path).clips
    assert list(clips) == ["Leg", "run", "run.001"]
    first, second = ({track.node for track in clips[name].tracks} for name in ("run", "run.001"))
    assert first and second and not first & second


def test_roots_within_roots_take_no_longer_than_beside_each_other(tmp_path):
    """USD answers for all that is below a root; asking it for each one anew took a minute for 3,000."""
    stage = new_stage(tmp_path / "leg.usda")
    place = "/Leg"
    for number in range(400):
        place += f"/root{number}"
        UsdSkel.Root.Define(stage, place)
    skeleton = add_skeleton(stage, f"{place}/Skeleton")
    add_animation(stage, skeleton)
    bind(add_mesh(stage, f"{place}/Tube"), skeleton)
    with pytest.MonkeyPatch.context() as patch:
        asked = []
        populate = UsdSkel.Cache.Populate
        patch.setattr(UsdSkel.Cache, "Populate", lambda *given: asked.append(given) or populate(*given))
        (mesh,) = assert_as_by_usd(stage, tmp_path).meshes
    assert mesh.skinned and len(asked) == 1


def test_too_many_animations_are_left_out_with_a_warning(tmp_path, monkeypatch):
    monkeypatch.setattr(animations, "MOST_MOVED", 2)
    stage = new_stage(tmp_path / "leg.usda")
    skeleton = add_skeleton(stage)
    for name in ("run", "hop", "walk"):
        add_animation(stage, skeleton, name=name)
    bind(add_mesh(stage), skeleton)
    character = read(stage, tmp_path)
    assert list(character.clips) == ["walk", "run"]
    assert any("animations move more than 2 skeletons" in warning for warning in character.warnings)


def test_a_prim_that_moves_by_itself(tmp_path):
    stage = new_stage(tmp_path / "leg.usda", "Z")
    mesh = add_mesh(stage)
    op = UsdGeom.Xformable(mesh).AddRotateXYZOp()
    for code, angle in ((0, 0.0), (10, 40.0), (20, 10.0)):
        op.Set(Gf.Vec3f(angle, 0, 0), code)
    assert_as_by_usd(stage, tmp_path)


def test_blend_shapes_with_inbetweens(tmp_path):
    """Weights go beyond their inbetweens and back, between their keys, too: joints have more of them."""
    stage = new_stage(tmp_path / "leg.usda", "Z", 0.5)
    skeleton = add_skeleton(stage)
    animation = add_animation(stage, skeleton, codes=range(1, 25))
    mesh = add_mesh(stage)
    bind(mesh, skeleton)
    rng = np.random.default_rng(3)
    binding = UsdSkel.BindingAPI(mesh)
    binding.CreateBlendShapesAttr(["thick", "bent"])
    paths = []
    for name, places in (("thick", ()), ("bent", (0.25, 0.5, 1.5))):
        shape = UsdSkel.BlendShape.Define(stage, f"/Leg/Tube/{name}")
        moved = np.arange(4, 12) if name == "thick" else np.arange(16)
        shape.CreatePointIndicesAttr(moved.tolist())
        shape.CreateOffsetsAttr(Vt.Vec3fArray.FromNumpy(rng.normal(size=(len(moved), 3)).astype(np.float32)))
        for number, place in enumerate(places):
            between = shape.CreateInbetween(f"at{number}")
            between.SetWeight(place)
            between.SetOffsets(Vt.Vec3fArray.FromNumpy(rng.normal(size=(len(moved), 3)).astype(np.float32)))
        paths.append(shape.GetPath())
    binding.CreateBlendShapeTargetsRel().SetTargets(paths)
    animation.CreateBlendShapesAttr(["bent", "thick"])
    weights = animation.CreateBlendShapeWeightsAttr()
    for code, bent, thick in ((1, 0.0, 0.2), (9, 1.5, 1.0), (20, 0.1, 0.0), (24, 0.9, 0.5)):
        weights.Set([bent, thick], code)
    character = assert_as_by_usd(stage, tmp_path)
    assert set(character.meshes[0].morph_names) >= {"thick", "bent"}
    assert len(character.meshes[0].morph_names) == 5


def test_dual_quaternions_are_a_warning(tmp_path):
    stage = new_stage(tmp_path / "leg.usda")
    skeleton = add_skeleton(stage)
    mesh = add_mesh(stage)
    bind(mesh, skeleton)
    UsdSkel.BindingAPI(mesh).CreateSkinningMethodAttr(UsdSkel.Tokens.dualQuaternion)
    assert any("dual quaternions" in warning for warning in read(stage, tmp_path).warnings)


def test_corners_that_differ_become_vertices(tmp_path):
    stage = new_stage(tmp_path / "leg.usda")
    mesh = add_mesh(stage)
    corners = sum(len(face) for face in FACES)
    api = UsdGeom.PrimvarsAPI(mesh)
    uvs = np.random.default_rng(0).uniform(size=(corners, 2)).astype(np.float32)
    api.CreatePrimvar("st", Sdf.ValueTypeNames.TexCoord2fArray, "faceVarying").Set(Vt.Vec2fArray.FromNumpy(uvs))
    mesh.CreateDisplayColorPrimvar("uniform").Set([(number / 20, 0, 1) for number in range(len(FACES))])
    mesh.CreateOrientationAttr("leftHanded")
    (found,) = read(stage, tmp_path).meshes
    assert len(found.positions) == corners
    starts = np.cumsum([0, *(len(face) for face in FACES)])
    for start, face in zip(starts, FACES, strict=False):
        for offset, point in enumerate(face):
            near = np.abs(found.uvs - [uvs[start + offset, 0], 1 - uvs[start + offset, 1]]).max(1).argmin()
            np.testing.assert_allclose(found.positions[near], 0.01 * POINTS[point], rtol=1e-5)
            np.testing.assert_allclose(found.colors[near], [list(starts).index(start) / 20, 0, 1, 1], atol=1e-6)
    plain = np.cross(*(np.diff(found.positions[found.faces[0]], axis=0)))
    assert plain @ (found.positions[found.faces[0]].mean(0) - found.positions.mean(0)) > 0  # outwards once turned over


def test_holes_and_degenerate_faces_are_left_out(tmp_path):
    stage = new_stage(tmp_path / "leg.usda")
    mesh = add_mesh(stage)
    mesh.CreateFaceVertexCountsAttr([2, 4, 1, 4])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 0, 1, 5, 4, 2, 1, 2, 6, 5])
    mesh.CreateHoleIndicesAttr([3])
    (found,) = read(stage, tmp_path).meshes
    assert len(found.faces) == 2
    assert len(found.positions) == 4


def test_a_mesh_of_several_materials_and_a_texture(tmp_path):
    stage = new_stage(tmp_path / "leg.usda")
    mesh = add_mesh(stage)
    (tmp_path / "skin.png").write_bytes(PNG)
    textured = add_material(stage, "/Leg/Skin", (), "./skin.png")
    red = add_material(stage, "/Leg/Red", (1.0, 0.0, 0.0))
    uvs = np.random.default_rng(0).uniform(size=(16, 2)).astype(np.float32)
    for name, values in (("st", 0 * uvs), ("second", uvs)):
        primvar = UsdGeom.PrimvarsAPI(mesh).CreatePrimvar(name, Sdf.ValueTypeNames.TexCoord2fArray, "vertex")
        primvar.Set(Vt.Vec2fArray.FromNumpy(values))
    api = UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim())
    api.Bind(textured)
    subset = api.CreateMaterialBindSubset("top", [12])
    UsdShade.MaterialBindingAPI.Apply(subset.GetPrim()).Bind(red)
    meshes = {each.material.name: each for each in read(stage, tmp_path).meshes}
    assert {name: len(each.faces) for name, each in meshes.items()} == {"Skin": 24, "Red": 2}
    assert meshes["Red"].material.base_color == (1.0, 0.0, 0.0, 1.0)
    skin = meshes["Skin"]
    assert skin.material.texture is not None and skin.material.texture.data == PNG
    assert (skin.material.wrap, skin.material.roughness) == ((33071, 10497), 0.25)
    np.testing.assert_allclose(skin.uvs, np.stack([uvs[:, 0], 1 - uvs[:, 1]], axis=1), atol=1e-6)


def test_what_is_not_to_be_seen_is_left_out(tmp_path):
    stage = new_stage(tmp_path / "leg.usda")
    add_mesh(stage)
    UsdGeom.Imageable(add_mesh(stage, "/Leg/Hidden")).MakeInvisible()
    UsdGeom.Imageable(add_mesh(stage, "/Leg/Proxy")).CreatePurposeAttr("proxy")
    UsdGeom.Sphere.Define(stage, "/Leg/Ball")
    character = read(stage, tmp_path)
    assert [mesh.name for mesh in character.meshes] == ["Tube"]
    assert len(character.warnings) == 2


def test_files_beside_are_composed_and_others_are_not(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    for folder, name in ((tmp_path, "secret"), (inside, "part")):
        other = Usd.Stage.CreateNew(str(folder / f"{name}.usda"))
        other.SetDefaultPrim(add_mesh(other, f"/{name}").GetPrim())
        other.GetRootLayer().Save()
    stage = new_stage(inside / "leg.usda")
    stage.DefinePrim("/Leg/part").GetReferences().AddReference("./part.usda")
    for number, name in enumerate(("../secret.usda", str(tmp_path / "secret.usda"), "./missing.usda", "secret.usda")):
        stage.DefinePrim(f"/Leg/other{number}").GetReferences().AddReference(name)
        stage.DefinePrim(f"/Leg/load{number}").GetPayloads().AddPayload(name)
    stage.GetRootLayer().subLayerPaths.append("../secret.usda")
    character = read(stage, tmp_path)
    assert [mesh.name for mesh in character.meshes] == ["part"]
    assert sum("a part of the scene is missing" in warning for warning in character.warnings) == 4


def test_value_clips_are_not_opened(tmp_path):
    other = Usd.Stage.CreateNew(str(tmp_path / "points.usda"))
    add_mesh(other).GetPointsAttr().Set([(9, 9, 9)] * 16, 0)
    other.GetRootLayer().Save()
    stage = new_stage(tmp_path / "leg.usda")
    api = Usd.ClipsAPI(add_mesh(stage))
    stage.GetPrimAtPath("/Leg/Tube").RemoveProperty("points")
    api.SetClipAssetPaths([Sdf.AssetPath(str(tmp_path / "points.usda"))])
    api.SetClipPrimPath("/Leg/Tube")
    api.SetClipActive([(0, 0)])
    assert api.GetPrim().GetAttribute("points").Get(0)[0] == Gf.Vec3f(9)
    stage.GetRootLayer().Save()
    with pytest.raises(AssetError, match="names a point that does not exist; there are 0"):
        read(tmp_path / "leg.usda", tmp_path)


def test_a_file_that_unfolds_is_refused(tmp_path):
    """Each prim is ten of the one before: a kilobyte that would be ten billion prims."""
    lines = ["#usda 1.0", 'def Xform "p0"\n{\n}']
    for level in range(1, 11):
        children = "\n".join(f'def "c{each}" (references = </p{level - 1}>)\n{{\n}}' for each in range(10))
        lines.append(f'def Xform "p{level}"\n{{\n{children}\n}}')
    path = tmp_path / "bomb.usda"
    path.write_text("\n".join(lines))
    with pytest.raises(AssetError, match="unfolds to more than"):
        read(path, tmp_path)


def test_a_package_with_its_texture(tmp_path):
    inside = tmp_path / "in"
    inside.mkdir()
    stage = new_stage(inside / "leg.usda")
    mesh = add_mesh(stage)
    UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim()).Bind(add_material(stage, "/Leg/Skin", (), "images/skin.png"))
    stage.GetRootLayer().Save()
    with zipfile.ZipFile(tmp_path / "leg.usdz", "w") as package:
        package.write(inside / "leg.usda", "leg.usda")
        package.writestr("images/skin.png", PNG)
    (found,) = read(tmp_path / "leg.usdz", tmp_path).meshes
    assert found.material.texture is not None and found.material.texture.data == PNG


@pytest.mark.parametrize(
    ("name", "how", "said"),
    [
        ("../leg.usda", zipfile.ZIP_STORED, "leaves the folder"),
        ("/leg.usda", zipfile.ZIP_STORED, "leaves the folder"),
        ("leg.usda", zipfile.ZIP_DEFLATED, "is compressed"),
        ("leg.txt", zipfile.ZIP_STORED, "first file must be a USD layer"),
    ],
)
def test_packages_that_are_refused(name, how, said, tmp_path):
    with zipfile.ZipFile(tmp_path / "leg.usdz", "w", how) as package:
        package.writestr(name, "#usda 1.0")
    with pytest.raises(AssetError, match=said):
        read(tmp_path / "leg.usdz", tmp_path)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (lambda mesh: mesh.CreateFaceVertexIndicesAttr([0, 1, 99]), "corners"),
        (lambda mesh: mesh.CreateFaceVertexCountsAttr([-4, 60]), "corners"),
        (lambda mesh: mesh.CreatePointsAttr([(np.nan, 0, 0)] * 16), "NaN"),
        (lambda mesh: mesh.CreatePointsAttr([(0, 0, 0)] * 5), "does not exist"),
        (lambda mesh: UsdGeom.Xformable(mesh).AddTranslateOp().Set((1e30, 0, 0)), "beyond"),
    ],
)
def test_broken_meshes_are_refused(broken, said, tmp_path):
    stage = new_stage(tmp_path / "leg.usda")
    broken(add_mesh(stage))
    with pytest.raises(AssetError, match=said):
        read(stage, tmp_path)


def test_joints_that_are_no_tree_are_left_out(tmp_path):
    stage = new_stage(tmp_path / "leg.usda")
    skeleton = add_skeleton(stage)
    skeleton.CreateJointsAttr(["hip/knee", "hip", "hip"])
    bind(add_mesh(stage), skeleton)
    character = read(stage, tmp_path)
    assert not character.skeleton.is_joint.any()
    assert any("are no tree" in warning for warning in character.warnings)


def test_a_keyframe_of_the_wrong_length_leaves_the_clip_out(tmp_path):
    stage = new_stage(tmp_path / "leg.usda")
    skeleton = add_skeleton(stage)
    add_animation(stage, skeleton).GetTranslationsAttr().Set([(0, 0, 0)], 7)
    bind(add_mesh(stage), skeleton)
    character = read(stage, tmp_path)
    assert character.clips == {}
    assert any("cannot be read and is left out" in warning for warning in character.warnings)


def test_a_file_is_read_in_another_process(tmp_path):
    stage = new_stage(tmp_path / "leg.usdc")
    skeleton = add_skeleton(stage)
    add_animation(stage, skeleton)
    bind(add_mesh(stage), skeleton)
    here = read(stage, tmp_path)
    there = load(tmp_path / "leg.usdc")
    assert (there.name, list(there.clips)) == ("leg", ["walk"])
    np.testing.assert_array_equal(there.rest_vertices, here.rest_vertices)
    assert there.source.path == tmp_path / "leg.usdc"


@pytest.mark.parametrize("content", [b"", b"PXR-USDC" + 200 * b"\xff", b"#usda 1.0\ndef {", b"no USD at all"])
def test_what_is_no_usd_is_refused_with_a_sentence(content, tmp_path):
    path = tmp_path / "leg.usd"
    path.write_bytes(content)
    with pytest.raises(AssetError, match="cannot be read"):
        read(path, tmp_path)


def test_without_usd_core_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(load_save, "find_spec", lambda name: None)
    with pytest.raises(GambolError, match=r"pip install 'gambol\[usd\]'"):
        load(tmp_path / "leg.usdz")
