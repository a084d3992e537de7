"""VRM's map of bones, and VRM animation out and in."""

from dataclasses import replace

import numpy as np
import pytest
from vrm_files import bones_of, human, write_vrm

from gambol.character.anatomy import analyze
from gambol.character.clip import Clip, Track
from gambol.character.humanoid import PARENTS, REQUIRED, is_humanoid, parent_of
from gambol.character.transforms import matrix_from_quaternion
from gambol.creatures.gaits import gait
from gambol.creatures.load import load
from gambol.errors import GambolError
from gambol.formats import export
from gambol.formats.gltf.document import open_document
from gambol.formats.gltf.vrma import write_vrma
from gambol.motion.humanoid import find_humanoid
from gambol.motion.retarget import retarget

EXTENSION = "VRMC_vrm_animation"
LINKS = ("leftUpperArm", "leftLowerArm", "leftHand")


@pytest.fixture(scope="module")
def walk() -> Clip:
    return gait(human(), analyze(human()), "walk")


@pytest.mark.parametrize(("version", "way"), [(0, -1.0), (1, 1.0)])
def test_parts_and_facing_are_those_of_the_map(version, way, tmp_path):
    character = load(write_vrm(tmp_path / "hero.vrm", version))
    anatomy = analyze(character)
    assert anatomy.certainty == 1.0
    np.testing.assert_allclose(anatomy.forward, [0, 0, way], atol=1e-9)
    known = bones_of(human().skeleton)
    for limb in anatomy.limbs:
        bones = ("UpperLeg", "LowerLeg", "Foot") if limb.kind == "leg" else ("Shoulder", "UpperArm", "LowerArm", "Hand")
        nodes = anatomy.body.nodes[list(limb.chain[: len(bones)])].tolist()
        assert nodes == [known[limb.side + bone] for bone in bones]
    assert len(anatomy.limbs) == 4
    unnamed = analyze(load(write_vrm(tmp_path / "unnamed.vrm", version, named=False)))
    assert unnamed.certainty < 0.5


def test_a_map_that_says_the_opposite_of_the_names_is_believed(tmp_path):
    """Left and right swapped: such a person faces the other way."""
    character = load(write_vrm(tmp_path / "hero.vrm"))
    mirror = {bone: bone.replace("left", "right") for bone in PARENTS if bone.startswith("left")}
    mirror |= {right: left for left, right in mirror.items()}
    swapped = {node: mirror.get(bone, bone) for node, bone in character.hints.items()}
    np.testing.assert_allclose(analyze(replace(character, hints=swapped)).forward, [0, 0, -1], atol=1e-9)


def test_what_the_user_says_goes_before_the_map(tmp_path):
    character = load(write_vrm(tmp_path / "hero.vrm"))
    np.testing.assert_allclose(analyze(character, forward="-z").forward, [0, 0, -1], atol=1e-9)


def test_a_map_that_contradicts_the_skeleton_is_a_hint_only(tmp_path):
    character = load(write_vrm(tmp_path / "hero.vrm"))
    nodes = {bone: node for node, bone in character.hints.items()}
    wrong = {**character.hints, nodes["leftHand"]: "rightHand", nodes["rightHand"]: "leftHand"}
    assert len(analyze(replace(character, hints=wrong)).limbs) == 4


def test_bones():
    assert len(PARENTS) == 55
    assert parent_of("leftUpperArm", {"spine": 1, "hips": 0}) == "spine"
    assert set(REQUIRED) < set(PARENTS)
    assert not is_humanoid({0: "hips"})


@pytest.mark.parametrize("version", [0, 1])
def test_a_vrma_moves_its_model_as_the_clip_does(version, walk, tmp_path):
    """By the formula of VRM's specification: a rotation N of the file turns a joint whose world and local rotations at
    rest are W and L to L W^-1 N W, seen from a model that faces +z."""
    character = load(write_vrm(tmp_path / "hero.vrm", version, {"walk": walk}))
    assert export(character, character.clips["walk"], tmp_path / "walk.vrma") == ()
    animation = load(tmp_path / "walk.vrma")
    clip = animation.clips["walk"]
    times = clip.times(30.0)
    poses = clip.sample(animation.skeleton, times)
    bones = {bone: node for node, bone in animation.hints.items()}
    skeleton = character.skeleton
    flip = np.diag([-1.0, 1.0, -1.0]) if version == 0 else np.eye(3)
    local, world = matrix_from_quaternion(skeleton.rest.rotation), skeleton.world()[:, :3, :3]
    rotation = np.tile(skeleton.rest.matrices(), (len(times), 1, 1, 1))
    for node, bone in character.hints.items():
        turned = flip @ matrix_from_quaternion(poses.rotation[:, bones[bone]]) @ flip
        rotation[:, node, :3, :3] = local[node] @ world[node].T @ turned @ world[node]
    hips = next(node for node, bone in character.hints.items() if bone == "hips")
    path = poses.translation[:, bones["hips"]] @ flip  # the parent of the hips is the world
    assert skeleton.parents[hips] < 0
    rotation[:, hips, :3, 3] = path
    posed = rotation.copy()
    for level in skeleton.levels[1:]:
        posed[:, level] = posed[:, skeleton.parents[level]] @ posed[:, level]
    expected = skeleton.world(character.clips["walk"].sample(skeleton, times))
    named = list(character.hints)
    np.testing.assert_allclose(posed[:, named, :3, 3], expected[:, named, :3, 3], atol=2e-5)


def test_a_vrma_as_the_specification_demands(walk, tmp_path):
    write_vrma(human(), walk, tmp_path / "walk.vrma")
    content = open_document(tmp_path / "walk.vrma").json
    assert content["extensionsUsed"] == [EXTENSION]
    said = content["extensions"][EXTENSION]
    assert said["specVersion"] == "1.0"
    bones = {bone: entry["node"] for bone, entry in said["humanoid"]["humanBones"].items()}
    assert set(bones) >= set(REQUIRED) and not {"leftEye", "rightEye"} & set(bones)
    for key in ("meshes", "skins", "materials", "images"):
        assert key not in content
    (animation,) = content["animations"]
    for channel in animation["channels"]:
        path, node = channel["target"]["path"], channel["target"]["node"]
        assert path == "rotation" or (path, node) == ("translation", bones["hips"])


@pytest.mark.parametrize("name", ["human", "child", "robot"])
def test_any_person_stands_in_the_t_pose(name, tmp_path):
    character = load(name)
    write_vrma(character, gait(character, analyze(character), "walk"), tmp_path / "walk.vrma")
    animation = load(tmp_path / "walk.vrma")
    assert animation.skeleton.is_joint.all()
    bones = {bone: node for node, bone in animation.hints.items()}
    at = animation.skeleton.world()[:, :3, 3]
    np.testing.assert_allclose(animation.skeleton.rest.rotation, np.tile([1.0, 0, 0, 0], (len(at), 1)))
    arm = at[[bones[bone] for bone in LINKS]]
    assert (np.diff(arm[:, 0]) > 0.05).all()
    assert np.ptp(arm[:, 1]) < 0.02 * np.ptp(at[:, 1])
    foot = at[bones["leftFoot"]]
    assert 0 < foot[1] < 0.1 * np.ptp(at[:, 1])
    np.testing.assert_allclose(analyze(animation).forward, [0, 0, 1], atol=1e-9)


def test_joints_are_where_the_clip_has_them(walk, tmp_path):
    write_vrma(human(), walk, tmp_path / "walk.vrma")
    animation = load(tmp_path / "walk.vrma")
    times = animation.clips["walk"].times(30.0)
    found = animation.skeleton.world(animation.clips["walk"].sample(animation.skeleton, times))[:, :, :3, 3]
    humanoid = find_humanoid(human(), analyze(human()))
    skeleton = human().skeleton
    expected = skeleton.world(walk.sample(skeleton, times))[:, humanoid.nodes][..., :3, 3]
    np.testing.assert_allclose(found, (expected - humanoid.origin) @ humanoid.axes, atol=1e-4)


def test_a_vrma_moves_another_character(walk, tmp_path):
    write_vrma(human(), walk, tmp_path / "walk.vrma")
    animation, child = load(tmp_path / "walk.vrma"), load("child")
    done = retarget(animation, "walk", child)
    assert done.dropped == ()
    direct = retarget(human(), walk, child)
    times = np.linspace(0, min(done.clip.duration, direct.clip.duration), 9)
    heads = [
        child.skeleton.world(each.sample(child.skeleton, times))[:, child.skeleton.is_joint, :3, 3]
        for each in (done.clip, direct.clip)
    ]
    assert np.abs(heads[0] - heads[1]).max() < 0.1 * analyze(child).height


def test_who_is_no_person_is_refused(tmp_path):
    fox = load("fox")
    with pytest.raises(GambolError, match=r"'fox' \(quadruped\) has not two legs"):
        export(fox, gait(fox, analyze(fox), "walk"), tmp_path / "walk.vrma")


def test_what_has_no_bone_is_said(walk, tmp_path):
    fingers = human().skeleton.names.index("fingers.L")
    turning = Track(fingers, "rotation", np.array([0.0, 1.0]), np.array([[1.0, 0, 0, 0], [0.8, 0.6, 0, 0]]))
    (lost,) = write_vrma(human(), replace(walk, tracks=(*walk.tracks, turning)), tmp_path / "walk.vrma")
    assert lost == "VRM has no bones for 'fingers.L': what they do of their own is left out"
