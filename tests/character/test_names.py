import pytest

from gambol.character.names import hint, side, sideless, words


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mixamorig:LeftUpLeg", "left"),
        ("Arm.R", "right"),
        ("l-arm", "left"),
        ("thigh_r", "right"),
        ("shoulderFBXASC046L", "left"),
        ("b_RightFoot01_021", "right"),
        ("Skeleton_arm_joint_L__4_", "left"),
        ("upperarm.l", "left"),
        ("Spine", None),
        ("LeftRightSwitch", None),
        ("Tail", None),
        ("node 12", None),
    ],
)
def test_side(name, expected):
    assert side(name) == expected


@pytest.mark.parametrize(
    ("left", "right"), [("Leg1.L", "Leg1.R"), ("LeftHand", "RightHand"), ("thighFBXASC046L", "thighFBXASC046R")]
)
def test_sideless_names_of_a_pair_are_equal(left, right):
    assert sideless(left) == sideless(right)


def test_sideless_keeps_numbers_apart():
    assert sideless("Leg1.L") != sideless("Leg2.R")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mixamorig:HeadTop_End", "head"),
        ("Neck2", "neck"),
        ("tail_tip", "tail"),
        ("BackLowLeg.L", "leg"),
        ("RightForeArm", "arm"),
        ("Ear1.L", "ear"),
        ("wing_feather_1", "wing"),
        ("TopFlipper.L", "fin"),
        ("Spine01", "trunk"),
        ("Bone.001", None),
    ],
)
def test_hint(name, expected):
    assert hint(name) == expected


def test_words_split_camel_case_and_separators():
    assert words("mixamorig:LeftUpLeg_01") == ["mixamorig", "left", "up", "leg"]
