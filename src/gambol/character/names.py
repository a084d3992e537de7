"""What a joint's name hints at. Names are never needed: they weigh in where geometry alone is unsure."""

import re
from collections.abc import Sequence
from typing import Literal

SIDES = dict.fromkeys(("l", "left", "lft", "lt"), "left") | dict.fromkeys(("r", "right", "rgt", "rt"), "right")

VOCABULARY = {
    "ear": "ear ears horn antenna antennae feeler eye eyes eyelid eyebrow brow whisker",
    "head": "head skull face jaw mouth nose snout muzzle beak chin teeth tongue",
    "neck": "neck",
    "tail": "tail sting",
    "leg": "leg foot feet thigh shin calf knee ankle toe toes paw hoof femur tibia",
    "arm": "arm forearm upperarm lowerarm hand elbow wrist finger thumb fist palm claw",
    "wing": "wing feather",
    "fin": "fin flipper fluke flippers",
    "trunk": "spine chest torso thorax hips pelvis belly stomach abdomen body waist",
}
HINTS = {part: known.split() for part, known in VOCABULARY.items()}


FACE = ("eye", "eyes", "eyeball", "eyeballs", "pupil", "pupils", "iris", "mouth", "teeth", "tongue", "nose", "beak")
"""What stands in front of a head, in names of meshes and materials."""


def tokens(name: str) -> list[str]:
    """Lower-case words and numbers of a name: 'mixamorig:LeftHandIndex1' -> mixamorig, left, hand, index, 1."""
    spaced = re.sub(r"FBXASC\d{3}", " ", name)  # how FBX exporters escape characters such as the dot
    spaced = re.sub(r"([a-z\d])([A-Z])", r"\1 \2", spaced)
    spaced = re.sub(r"([A-Z])([A-Z][a-z])", r"\1 \2", spaced)  # LLeg, RArm
    return [token.lower() for token in re.findall(r"[A-Za-z]+|[0-9]+", spaced)]


def words(name: str) -> list[str]:
    """Lower-case words of a joint's name: 'mixamorig:LeftUpLeg' -> mixamorig, left, up, leg."""
    return [token for token in tokens(name) if token.isalpha()]


def side(name: str) -> Literal["left", "right"] | None:
    """The side a name claims: 'Arm.L', 'l-arm', 'RightHand', 'thigh_r'."""
    found = {SIDES[word] for word in words(name) if word in SIDES}
    return found.pop() if len(found) == 1 else None  # type: ignore[return-value]


def sideless(name: str) -> str:
    """The name without its side: the same for a left and a right joint."""
    digits = re.sub(r"FBXASC\d{3}|\D", "", name)
    return " ".join(word for word in words(name) if word not in SIDES) + digits


def hint(name: str) -> str | None:
    """The body part a name speaks of: one of the keys of HINTS, or None."""
    spoken = words(name)
    for part, known in HINTS.items():
        if any(word in known for word in spoken):
            return part
    joined = "".join(spoken)
    return next((part for part, known in HINTS.items() if any(w in joined for w in known if len(w) > 3)), None)


def is_of_face(*labels: str) -> bool:
    """Whether a mesh is of a face, by its name or that of its material: 'Eye_Black'."""
    return any(word in FACE for label in labels for word in words(label))


def are_meaningful(labels: Sequence[str]) -> bool:
    """Whether a file has names worth the word: more than a quarter of them speak of a side or of another part than the
    trunk, since any root may be called body."""
    return 4 * sum(hint(label) not in (None, "trunk") or side(label) is not None for label in labels) > len(labels)
