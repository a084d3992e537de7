from dataclasses import replace

import numpy as np
import pytest
from character.creatures import dog

from gambol.character.clip import Clip, Track
from gambol.character.lookup import find_clip, find_joint, find_moment, free_clip_name, short_name
from gambol.errors import GambolError

MIXAMO = ["mixamorig:Hips", "mixamorig:Spine", "mixamorig:Spine1", "mixamorig:LeftHand", "mixamorig:LeftHandIndex1"]
MIXAMO += ["mixamorig:RightHand", "mixamorig:LeftForeArm", "mixamorig:LeftUpLeg", "mixamorig:Head"]
BIPED = ["Bip01", "Bip01 Pelvis", "Bip01 L Hand", "Bip01 R Hand", "Bip01 L Finger01", "Bip01 Head"]


def with_clips(*names):
    track = Track(0, "translation", np.array([0.0, 1.0]), np.zeros((2, 3)))
    return replace(dog(), clips={name: Clip(name, (track,)) for name in names})


def joint(names, name):
    return names[find_joint(dict(enumerate(names)), name)]


@pytest.mark.parametrize(
    ("names", "said", "meant"),
    [
        (["AnimalArmature|Walk", "AnimalArmature|Walk_Back"], "walk", "AnimalArmature|Walk"),
        (["AnimalArmature|Walk", "AnimalArmature|Walk_Back"], "walk back", "AnimalArmature|Walk_Back"),
        (["Armature|walk", "Walk"], "Walk", "Walk"),
        (["Walk", "walk"], "walk", "walk"),
        (["A|Run", "B|Run"], "a|run", "A|Run"),
        (["Armature|mixamo.com|Layer0", "idle"], "Mixamo.com", "Armature|mixamo.com|Layer0"),
        (["Armature|Walk|BaseLayer", "Armature|Run|BaseLayer"], "walk", "Armature|Walk|BaseLayer"),
        (["Attack1", "Attack2"], "attack 2", "Attack2"),
        (["A|TRex_Walk", "A|TRex_Walk_Fast", "A|TRex_Run"], "walk", "A|TRex_Walk"),
        (["|", "x"], "|", "|"),
    ],
)
def test_clips_are_found_as_people_call_them(names, said, meant):
    assert find_clip(with_clips(*names), said).name == meant


@pytest.mark.parametrize(
    ("names", "said", "told"),
    [
        (["A|Run", "B|Run"], "run", "'run' may be 'A|Run' or 'B|Run' of 'dog': say which"),
        (["Walk", "WALK", "wAlk"], "walk", "'walk' may be 'Walk', 'WALK' or 'wAlk'"),
        (["Attack1", "Attack2"], "attack", "'dog' has no clip 'attack'. Available: Attack1, Attack2"),
        (["Walking"], "", "has no clip ''. Available: Walking"),
        ([], "walk", "'dog' has no clip 'walk'. It has none"),
        ([f"clip{n}" for n in range(99)] + ["walking"], "walkin", "Available: walking, clip0, "),
    ],
)
def test_clips_that_are_not_sure(names, said, told):
    with pytest.raises(GambolError) as error:
        find_clip(with_clips(*names), said)
    assert told in str(error.value)


def test_moments_of_clips():
    character = with_clips("A|Walk", "odd@name")
    assert find_moment(character, "walk@0.5")[1] == 0.5
    assert find_moment(character, "odd@name")[0].name == "odd@name"
    for text, told in (
        ("walk@x", "after @ comes a time"),
        ("walk@3", "lasts 1.00 s"),
        ("hop", "Available: rest, A|Walk"),
    ):
        with pytest.raises(GambolError, match=told.replace("|", r"\|")):
            find_moment(character, text)


@pytest.mark.parametrize(
    ("names", "said", "meant"),
    [
        (MIXAMO, "hand.L", "mixamorig:LeftHand"),
        (MIXAMO, "right_hand", "mixamorig:RightHand"),
        (MIXAMO, "LeftHand", "mixamorig:LeftHand"),
        (MIXAMO, "forearm.L", "mixamorig:LeftForeArm"),
        (MIXAMO, "HEAD", "mixamorig:Head"),
        (MIXAMO, "spine_01", "mixamorig:Spine1"),
        (MIXAMO, "spine", "mixamorig:Spine"),
        (BIPED, "hand.R", "Bip01 R Hand"),
        (BIPED, "finger1.L", "Bip01 L Finger01"),
        (["DEF-hand.L", "DEF-hand.R", "DEF-spine"], "hand.L", "DEF-hand.L"),
        (["J_Bip_L_UpperArm", "J_Bip_R_UpperArm", "J_Bip_C_Head"], "upper_arm.L", "J_Bip_L_UpperArm"),
        (["Bone", "Bone.001", "Bone.002"], "bone 1", "Bone.001"),
        (["hand.L", "HAND.L"], "hand.L", "hand.L"),
        (["頭", "左手"], "左手", "左手"),
    ],
)
def test_joints_are_found_by_what_they_are(names, said, meant):
    assert joint(names, said) == meant


@pytest.mark.parametrize(
    ("names", "said", "told"),
    [
        (MIXAMO, "hand", "the joint 'hand' may be 'mixamorig:LeftHand' or 'mixamorig:RightHand': say which"),
        (MIXAMO[:4], "hand.R", "there is no joint 'hand.R'. Available: mixamorig:Hips, "),
        (["a", "a", "b"], "a", "2 joints are called 'a': name it by its node, one of '#0' or '#1'"),
        (["a"], "#1", "there is no joint '#1'"),
        (["a"], "", "there is no joint ''"),
        (["Bone" + "1" * 5000], "bone 1", "Available"),
    ],
)
def test_joints_that_are_not_sure(names, said, told):
    with pytest.raises(GambolError) as error:
        joint(names, said)
    assert told in str(error.value)


def test_a_repeated_joint_is_named_by_its_node():
    assert find_joint({4: "a", 7: "a"}, "#7") == 7


def test_a_second_clip_of_a_name_leaves_both_usable():
    assert short_name("A|B|Walk") == "Walk" and short_name("Walk|") == "Walk"
    taken = ["AnimalArmature|Walk", "run"]
    second = free_clip_name("walk", taken)
    assert second == "walk.001" and free_clip_name("walk", [*taken, second]) == "walk.002"
    assert free_clip_name("Run", taken) == "Run.001" and free_clip_name("trot", taken) == "trot"
    both = with_clips(*taken, second)
    assert find_clip(both, "walk").name == taken[0] and find_clip(both, second).name == second


@pytest.mark.parametrize("said", ["hand.L", "left hand", "hand_l", "LeftHand"])
def test_the_hands_of_a_whole_mixamo_rig_are_found(said):
    """Two of three of its joints have 'hand' in their names."""
    names = [*MIXAMO, *(f"mixamorig:{part}" for part in ("Spine2", "Neck", "RightUpLeg", "LeftLeg", "RightLeg"))]
    for side in ("Left", "Right"):
        names += [f"mixamorig:{side}{part}" for part in ("Shoulder", "Arm", "Foot", "ToeBase")]
        fingers = [f"{finger}{n}" for finger in ("Thumb", "Index", "Middle", "Ring", "Pinky") for n in range(1, 5)]
        names += [f"mixamorig:{side}Hand{finger}" for finger in fingers]
    names = list(dict.fromkeys(names))
    assert joint(names, said) == "mixamorig:LeftHand"
