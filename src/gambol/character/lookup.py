"""Clips and joints by the names that people use for them: `walk` for 'AnimalArmature|Walk', `hand.L` for
'mixamorig:LeftHand'. Every option that takes such a name asks here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches

from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.character.names import SIDES, side, tokens, words
from gambol.errors import GambolError
from gambol.text import printable

MOST_SHOWN = 60
"""Names that an error lists."""
COMMON = 0.8
"""A word in more than this share of a skeleton's names, as 'mixamorig', says nothing about a joint; 'hand' is in two of
three of Mixamo's."""
LAYER = re.compile(r"base ?layer|layer ?\d+", re.IGNORECASE)
"""What Blender writes behind the name of an action from FBX."""
PREFIXES = {"mixamorig", "bip", "def", "j", "jnt", "joint", "valve", "biped"}
"""Words that rigging programs write before the names of joints."""
NUMBER = re.compile(r"#\d{1,9}")
Key = Callable[[str], object]


def short_name(name: str) -> str:
    """What people call a clip: 'Walk' of 'AnimalArmature|Walk', since Blender writes the armature before it, and of
    'Armature|Walk|BaseLayer'."""
    parts = [part.strip() for part in name.split("|") if part.strip()]
    own = [part for part in parts if not LAYER.fullmatch(part)]
    if not parts:
        return name
    return own[-1] if len(own) > 1 else parts[-1]


def clip_key(name: str) -> str:
    """Equal for clips that one word could mean: 'walk', 'Walk', 'Armature|Walk'."""
    return short_name(name).casefold()


def free_clip_name(name: str, taken: Iterable[str], numbered: str = "{}.{:03d}") -> str:
    """The name itself, or with a number as Blender would write it, so that what people call a clip means one of them:
    beside 'AnimalArmature|Walk', 'walk' becomes 'walk.001'."""
    keys = {clip_key(other) for other in taken}
    number, candidate = 0, name
    while clip_key(candidate) in keys:
        number += 1
        candidate = numbered.format(name, number)
    return candidate


def find_clip(character: Character, name: str, what: str = "", also: Sequence[str] = (), where: str = "") -> Clip:
    """The clip that a name means: as it is written in the file, in any case, without what stands before the last '|',
    with or without blanks, '_' and '-', and without words that all clips have. GambolError if there is none, or if it
    may be several.

    what: ends the error, as in 'to start from'; also: what else could have been named; where: the file, if not the
    character's own.
    """
    clips = list(character.clips)
    said = [set(tokens(short_name(clip))) for clip in clips]
    common = set.intersection(*said) if len(said) > 1 else set()  # 'TRex' of 'TRex_Walk' and 'TRex_Run'
    keys: tuple[Key, ...] = (
        str,
        str.casefold,
        clip_key,
        lambda name: re.sub(r"[\W_]+", "", clip_key(name)),
        lambda name: tuple(word for word in tokens(short_name(name)) if word not in common),
    )
    found = _meant(name, clips, keys)
    if len(found) == 1:
        return character.clips[clips[found[0]]]
    place = where or f"'{character.name}'"
    if found:
        raise GambolError(f"'{printable(name)}' may be {_listed(clips[each] for each in found)} of {place}: say which")
    there = f"Available: {_near(name, [*also, *clips])}" if clips or also else "It has none"
    raise GambolError(f"{place} has no clip '{printable(name)[:60]}'{what and ' ' + what}. {there}")


def find_moment(character: Character, text: str) -> tuple[Clip, float]:
    """A clip and a time of it [s], from 'idle' (its start) or 'walk@0.5' (half a second into it)."""
    name, _, seconds = text.rpartition("@")
    if not name or text in character.clips:
        name, seconds = text, "0"
    clip = find_clip(character, name, also=("rest",))
    try:
        time = clip.start + float(seconds)
    except ValueError:
        raise GambolError(f"'{printable(text)}': after @ comes a time in seconds, as in '{name}@0.5'") from None
    if not clip.start <= time <= clip.end + 1e-6:
        raise GambolError(f"'{printable(text)}': the clip '{clip.name}' lasts {clip.duration:.2f} s")
    return clip, time


def find_joint(names: Mapping[int, str], name: str, refusal: str = "there is no joint") -> int:
    """The number of the joint that a name means, among joints given by number and name.

    As it is written in the file, or '#12' for node 12, in any case, without a namespace ('mixamorig:'), or by its words
    and side: `hand.L` is 'LeftHand', 'hand_l', 'DEF-hand.L' and 'J_Bip_L_Hand'. GambolError if there is none, or if it
    may be several. refusal: begins the error for none.
    """
    numbers, there = list(names), [names[number] for number in names]
    common = _common_words(there)
    keys: list[Key] = [
        str,
        str.casefold,
        lambda name: re.split(r"[:|/]", name)[-1].casefold(),
        lambda name: (spoken := _words_of(name, common)) and (side(name), *spoken),
    ]
    if side(name) is None:  # then it may be of either side
        keys.append(lambda name: _words_of(name, common))
    found = _meant(name, there, keys)
    if not found and NUMBER.fullmatch(name) and int(name[1:]) in names:
        return int(name[1:])
    if len(found) == 1:
        return numbers[found[0]]
    shown = printable(name)[:60]
    if found and len({there[each] for each in found}) == 1:
        nodes = _listed(f"#{numbers[each]}" for each in found)
        raise GambolError(f"{len(found)} joints are called '{shown}': name it by its node, one of {nodes}")
    if found:
        raise GambolError(f"the joint '{shown}' may be {_listed(there[each] for each in found)}: say which")
    raise GambolError(f"{refusal} '{shown}'. Available: {_near(name, there)}")


def _meant(name: str, names: Sequence[str], keys: Sequence[Key]) -> list[int]:
    """Indices of the names that are the same by the first key by which any is; empty keys are the same as nothing."""
    for key in keys:
        wanted = key(name)
        found = [i for i, other in enumerate(names) if key(other) == wanted] if wanted else []
        if found:
            return found
    return []


def _common_words(names: Sequence[str]) -> set[str]:
    """Words that stand in most names of a skeleton, as 'Bip' in 'Bip01 L Hand'."""
    counts = Counter(word for name in set(names) for word in set(words(name)))
    most = max(COMMON * len(set(names)), 2)
    return PREFIXES | {word for word, count in counts.items() if count > most and word not in SIDES}


def _words_of(name: str, common: set[str]) -> tuple[str, ...]:
    """Words of a joint's name in one, and its numbers, without its side; () if it has no words. A word that most joints
    have goes with the number behind it."""
    said = [token for token in tokens(name) if token not in SIDES]
    before = ["", *said]
    own = [token for token, last in zip(said, before, strict=False) if not {token, token.isdecimal() and last} & common]
    own = own or said
    spoken = "".join(token for token in own if token.isalpha())
    return (spoken, *(token.lstrip("0") for token in own if token.isdecimal())) if spoken else ()


def _near(name: str, names: Sequence[str]) -> str:
    """Names for an error: what looks like the name first, if there are many."""
    unique = list(dict.fromkeys(names))
    if len(unique) <= MOST_SHOWN:
        return ", ".join(printable(each) for each in unique)
    alike = {each.casefold(): each for each in unique}
    first = [alike[key] for key in get_close_matches(name.casefold(), list(alike), 5, 0.5)]
    shown = [*first, *(each for each in unique if each not in first)][:MOST_SHOWN]
    return f"{', '.join(map(printable, shown))} and {len(unique) - MOST_SHOWN} more, see gambol info"


def _listed(names: Iterable[str]) -> str:
    shown = [f"'{printable(name)}'" for name in names]
    more = f" and {len(shown) - 9} more" if len(shown) > 9 else ""
    return " or ".join(filter(None, [", ".join(shown[: min(len(shown) - 1, 9)]), shown[-1] if not more else ""])) + more
