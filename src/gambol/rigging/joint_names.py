"""Names of the joints of people as other programs call them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

NameScheme = Literal["gambol", "mixamo", "vrm", "unreal"]
"""Whose names joints get; all but gambol's are for people."""

MIDDLE = {
    "mixamo": {"hips": "mixamorig:Hips", "neck": "mixamorig:Neck", "head": "mixamorig:Head",
               "head_tip": "mixamorig:HeadTop_End"},
    "vrm": {},
    "unreal": {"hips": "pelvis", "neck": "neck_01"},
}  # fmt: skip
"""Joints in the middle whose names differ from ours, but for the spine."""
LIMBS = {
    "mixamo": {
        "shoulder": "Shoulder", "upper_arm": "Arm", "forearm": "ForeArm", "hand": "Hand", "fingers": "HandMiddle1",
        "fingers_tip": "HandMiddle4", "thigh": "UpLeg", "shin": "Leg", "foot": "Foot", "toes": "ToeBase",
        "toes_tip": "Toe_End",
    },
    "vrm": {
        "shoulder": "Shoulder", "upper_arm": "UpperArm", "forearm": "LowerArm", "hand": "Hand",
        "fingers": "MiddleProximal", "thigh": "UpperLeg", "shin": "LowerLeg", "foot": "Foot", "toes": "Toes",
    },
    "unreal": {
        "shoulder": "clavicle", "upper_arm": "upperarm", "forearm": "lowerarm", "hand": "hand", "fingers": "middle_01",
        "thigh": "thigh", "shin": "calf", "foot": "foot", "toes": "ball",
    },
}  # fmt: skip
"""Joints of limbs, without their side."""
SIDES = {
    "mixamo": {"L": "mixamorig:Left{}", "R": "mixamorig:Right{}"},
    "vrm": {"L": "left{}", "R": "right{}"},
    "unreal": {"L": "{}_l", "R": "{}_r"},
}
"""How a side is said."""


def named_as(names: Sequence[str], scheme: NameScheme) -> list[str]:
    """The names of joints in another scheme; what that has no name for, as a tail, keeps ours."""
    if scheme == "gambol":
        return list(names)
    spine = [name for name in names if re.fullmatch(r"spine_\d+|chest", name)]
    found = []
    for name in names:
        stem, _, side = name.partition(".")
        if name in spine:
            found.append(_spine(spine.index(name), len(spine), scheme))
        elif side in SIDES[scheme] and stem in LIMBS[scheme]:
            found.append(SIDES[scheme][side].format(LIMBS[scheme][stem]))
        else:
            found.append(MIDDLE[scheme].get(name, name))
    return found


def _spine(number: int, count: int, scheme: NameScheme) -> str:
    """The name of a joint of the spine, by its number from the hips on."""
    if scheme == "mixamo":
        return f"mixamorig:Spine{number or ''}"
    if scheme == "unreal":
        return f"spine_{number + 1:02d}"
    if number == 0:
        return "spine"
    last = "upperChest" if count > 2 else "chest"  # VRM knows three joints
    return last if number == count - 1 else "chest" if number == 1 else f"chest_{number}"
