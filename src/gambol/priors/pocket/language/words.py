"""What a sentence, or the name of a clip, asks the pocket prior for: an action it was taught, and how fast.

It never guesses: where no action is recognised, it says so.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from gambol.errors import GambolError
from gambol.priors.pocket.actions import ACTIONS
from gambol.priors.pocket.language import grammar, lexicon
from gambol.priors.pocket.language.reading import Deed, Rank, Reader
from gambol.priors.pocket.language.sentence import Sentence
from gambol.priors.pocket.language.spelling import as_known
from gambol.priors.pocket.language.vocabulary import group, longest, nouns, pace_idioms, verb_forms

NOT_AFTER_A_SIDE = ("now", "here", "there", "away", "back")
BACKWARDS, GOING = (
    frozenset({"backward", "backwards", "reverse"}),
    ("walk", "trot", "run", "hop", "crawl", "swim", "fly"),
)
"""A way that nothing was taught to go, and what goes."""
LONGEST = 2000
"""Letters of a sentence; more is no sentence, and reading it takes ever longer."""
IN_PLACE = ("dance", "eat", "attack", "kick", "punch", "wave")
"""What one does standing."""

CLIP_WORDS = {"death": "die", "dead": "die", "survey": "stand", "flight": "fly", "headbut": "attack", "ballet": "dance"}
"""What artists call actions in the names of clips, besides the verbs."""
CLIP_NEUTRAL = grammar.word_set("""
    fast slow slowly normal neutral loop cycle anim animation action take rm root motion in place inplace melee
    unarmed dualwield full long short front forward forwards fwd horizontal vertical diagonal head low high headlow
    headhigh formal casual basic default simple new old final main standard layer base quick brisk happy angry proud
    sad tired mixamo com ip grass standing relaxed heavy light strong weak one two hand handed hands tail claw claws
    mouth breathing
""")
"""Words in the name of a clip that leave its action as it is."""
CLIP_SPOILERS = grammar.word_set("""
    pose tpose apose rest stop step fall hit charge glide dive spin rotate revolve block dodge duck land start begin
    end react receive recieve damage hurt strafe the to carry gun rifle pistol bow crouch prone injured drunk zombie
    back backward backwards bwd side sideways air ladder stair stairs wall swing greet relax spring inch wheel
    flutter
""")
"""Words in the name of a clip after which it is not simply the action."""


@dataclass(frozen=True)
class Intent:
    """What was understood of a sentence."""

    action: str
    """A name in `actions.ACTIONS`."""
    pace: float
    """-1 slowly, 0 as usual, 1 fast."""
    words: str
    """What it was recognised by."""
    left_out: tuple[str, ...] = ()
    """Further actions that the sentence asks for: a clip shows one at a time, the first."""

    def __str__(self) -> str:
        pace = "" if abs(self.pace) < 0.25 else ", slowly" if self.pace < 0 else ", fast"
        rest = f"; left out: {', '.join(self.left_out)}" if self.left_out else ""
        return f"{self.action}{pace} (from '{self.words}'){rest}"


def understand(text: str) -> Intent | None:
    """The action that a sentence asks for, the first if there are several, or None."""
    words = as_known(grammar.cut(text))
    deeds = _wanted(Reader(Sentence(tuple(words))).read())
    if not deeds:
        return None
    chosen = _done_meanwhile(min(deeds, key=lambda deed: (-deed.rank, deed.start)), deeds, words)
    action = _with_side(chosen, words)
    if action in GOING and BACKWARDS.intersection(words):
        return None
    asked = dict.fromkeys(_with_side(deed, words) for deed in deeds if deed.rank >= Rank.BESIDE and deed is not chosen)
    if chosen.sense.lemma in lexicon.POSTURE or chosen.start > min(deed.start for deed in deeds):
        asked.pop("stand", None)
    spoken = words[chosen.start : chosen.end]
    while spoken[-1] in grammar.ARTICLES | grammar.POSSESSIVES:
        spoken = spoken[:-1]  # 'rams' in 'rams the'
    left_out = tuple(name for name in asked if name != action)
    return Intent(action, _pace(chosen, deeds, words), " ".join(spoken), left_out)


def require(text: str) -> Intent:
    """As `understand`, but raises if there is no action in it."""
    if len(text) > LONGEST:
        raise GambolError(f"a sentence has up to {LONGEST:,} letters, this one {len(text):,}")
    if intent := understand(text):
        return intent
    told = textwrap.shorten(text, 200, placeholder="...")
    raise GambolError(
        f"no action was recognised in '{told}'; the pocket prior knows: {', '.join(ACTIONS)}. "
        "For anything else, take a prior with an open vocabulary: 'gambol priors' lists them"
    )


def _wanted(deeds: Sequence[Deed]) -> list[Deed]:
    """The actions among what is done; descriptions do not count if the sentence tells of something else."""
    done = [deed for deed in deeds if not deed.denied]
    others = [deed for deed in done if deed.sense.kind == "other"]
    told_otherwise = any(deed.rank == Rank.MAIN for deed in others)
    first_other = min((deed.start for deed in others if deed.rank >= Rank.BESIDE), default=None)
    found = []
    for deed in done:
        describes = deed.rank < Rank.BESIDE or deed.relative
        beside_the_point = told_otherwise or (
            deed.rank in (Rank.NAMED, Rank.DESCRIBING) and first_other is not None and first_other < deed.start
        )
        if deed.sense.kind != "other" and not (describes and beside_the_point):
            found.append(deed)
    return found


def _done_meanwhile(chosen: Deed, deeds: Sequence[Deed], words: Sequence[str]) -> Deed:
    """Who stands waving waves; so does who stands and waves."""
    if chosen.sense.action != "stand" or chosen.sense.lemma not in lexicon.POSTURE:
        return chosen
    for deed in deeds:
        between = words[chosen.end : deed.start] if deed.start > chosen.start else ["then"]
        meanwhile = deed.form == "ing" and deed.rank == Rank.BESIDE
        in_place = deed.rank == Rank.MAIN and deed.sense.action in IN_PLACE and chosen.sense.lemma == "stand"
        if deed.sense.action != "stand" and (meanwhile or in_place) and "then" not in between:
            return deed
    return chosen


def _with_side(deed: Deed, words: Sequence[str]) -> str:
    """The action; for a turn, the side that is named nearest to it, or else the left."""
    if not deed.sense.action.startswith("turn"):
        return deed.sense.action
    sides = [at for at, word in enumerate(words) if word in grammar.LEFT | grammar.RIGHT and not _is_no_side(words, at)]
    nearest = min(sides, key=lambda at: abs(at - deed.end + 0.5), default=None)
    return "turn right" if nearest is not None and words[nearest] in grammar.RIGHT else "turn left"


def _is_no_side(words: Sequence[str], at: int) -> bool:
    """'right now', 'right round', 'all right', 'left the room'."""
    before, after = words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else ""
    if words[at] == "left":
        return after in grammar.ARTICLES | grammar.POSSESSIVES and after != "that"
    last = at + 2 >= len(words) or words[at + 2] in (grammar.STOP, grammar.PAUSE, "and", "to")
    return before == "all" or after in NOT_AFTER_A_SIDE or (after in ("round", "around") and last)


def _pace(chosen: Deed, deeds: Sequence[Deed], words: Sequence[str]) -> float:
    """How fast: what the verb says by itself, and the adverbs that are nearer to it than to any other action."""
    pace, at = chosen.sense.pace, 0
    while at < len(words):
        idiom = longest(pace_idioms(), words, at)
        said = idiom[0].sense.pace if idiom else _pace_of_word(words, at, chosen)
        if said and not grammar.NEGATORS.intersection(words[max(at - 2, 0) : at]):
            nearest = min(deeds, key=lambda deed: (_distance(deed, at), deed.start))
            pace += said if nearest.sense.action == chosen.sense.action else 0.0
        at = idiom[1] if idiom else at + 1
    return max(-1.0, min(1.0, pace))


def _pace_of_word(words: Sequence[str], at: int, chosen: Deed) -> float:
    word = words[at]
    said = next((pace for pace, listed in lexicon.PACES.items() if word in listed.split()), 0.0)
    if not said or word not in lexicon.PACE_ADJECTIVES or chosen.start <= at < chosen.end:
        return said
    before, after = words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else ""
    beside_deed = after in nouns() or at + 1 == chosen.start
    describes = before in grammar.DETERMINERS or grammar.is_adjective(before) or before in grammar.BE or not before
    return said if beside_deed or not (describes or grammar.may_be_noun(after)) else 0.0


def _distance(deed: Deed, at: int) -> int:
    return max(deed.start - at, at - deed.end + 1, 0)


def action_of_clip(name: str) -> str | None:
    """The action that an artist's name for a clip means, or None: for no action, a mixture, or only a part of one."""
    layers = [part for part in name.split("|") if not re.search("armature|rig$|layer", part.lower())] or [name]
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", re.sub(r"hip[\s_-]*hop", "", " ".join(layers), flags=re.I))
    words = re.sub(r"\bhead but\b", "headbut", " ".join(words).lower()).split()
    into_idle = words[-2:] == ["to", "idle"]
    words = words[:-2] if into_idle else words
    found: list[str] = []
    sides = {word for word in words if word in ("left", "right", "l", "r")}
    for word in words:
        lemma, action = _in_clip(word)
        if lemma in CLIP_SPOILERS or word in CLIP_SPOILERS or action == "":
            return None
        if action and word != "standing":  # by itself it is getting up; before other words, how they are done
            found.append(action)
        elif not action and found and len(word) > 1 and word not in {*CLIP_NEUTRAL, *sides}:
            return None  # what comes after the action changes it; before it, it is the character's name
    return _one_action(set(found), sides, into_idle, words)


def _in_clip(word: str) -> tuple[str, str | None]:
    """The base form of a word, and its action: None if it has none, empty if it is another deed."""
    if word in CLIP_WORDS:
        return word, CLIP_WORDS[word]
    if word not in verb_forms() or word in CLIP_NEUTRAL:
        return word, None
    sense, _ = verb_forms()[word]
    return sense.lemma, sense.action if sense.kind == "action" else "" if sense.kind == "other" else None


def _one_action(found: set[str], sides: set[str], into_idle: bool, words: Sequence[str]) -> str | None:
    if len(found) == 2 and "attack" in found and found & {"kick", "punch"}:
        found = found - {"attack"}
    if len(found) != 1:
        return None
    (action,) = found
    if action == "turn left":
        return None if len(sides) != 1 else "turn right" if sides & {"right", "r"} else "turn left"
    if sides and action not in ("attack", "kick", "punch", "wave"):
        return None
    if (into_idle and ACTIONS[action].loops and action != "jump") or (action == "jump" and "loop" in words):
        return None
    return "crawl" if action == "walk" and group("LEGLESS").intersection(words) else action
