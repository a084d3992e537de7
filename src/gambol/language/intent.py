"""What a sentence, or the name of a clip, asks for: an action and how fast. Nothing is guessed."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from gambol.actions import ACTIONS, known_action
from gambol.errors import GambolError
from gambol.language.english import LEXICON, PAUSE, STOP, describes_noun, may_be_noun, tokenize, words
from gambol.language.manner import Manner, Side, manner_of
from gambol.language.parser import Predicate, Role, SentenceParser
from gambol.language.vocabulary import corrected, group, idioms, longest_idiom, nouns, pace_idioms, paces, verbs

MAX_LETTERS = 2000
"""Largest number of characters of a sentence; the time to parse grows faster than its length."""

DESCRIBES = (Role.NOUN, Role.ATTRIBUTE, Role.NONE)
"""What says who does something, as in 'a walking robot'."""
AFTERWARDS = frozenset({"then", "before", "after", "afterwards", "finally", "until", "once", "followed", "next"})
"""Words by which actions follow each other."""
CLAUSE_LINKS = frozenset({"before", "until"})
"""Words that begin a clause of what is done afterwards; what is done 'after' or 'once' something was, is the action."""
UNREAL = frozenset({"like", "as", "if", "almost", "nearly"})
"""Words before what is not done: 'as if it were about to fall'."""
CIRCLES = frozenset({"circle", "circles"})
TURNED = frozenset({"curve", "curving", "veering", "arc", "bend", "clockwise", "counterclockwise", "anticlockwise"})
"""Words of a way that is not straight."""
MOST_PARTS = 6
"""Largest number of actions that follow each other."""
BACKWARDS_WALK, BACKWARDS = "walk backwards", frozenset({"backward", "backwards", "reverse"})


@dataclass(frozen=True)
class Intent:
    """What was understood of a sentence."""

    action: str
    """A name in `actions.ACTIONS`."""
    pace: float
    """Pace from -1 (slow) through 0 (usual) to 1 (fast)."""
    words: str
    """The words it was recognised by."""
    left_out: tuple[str, ...] = ()
    """Further actions of the sentence: a clip shows one at a time, the first."""
    instead_of: str = ""
    """The action that the sentence means, if a prior knows only the more general `action`."""
    manner: Manner = field(default_factory=Manner)
    """How it is done."""
    meanwhile: str = ""
    """An action of arms or head that is done at the same time."""
    then: tuple[Intent, ...] = ()
    """What is done afterwards, in order."""

    @property
    def meaning(self) -> str:
        """What is done and how, in words for the user: 'walk and wave, sad, slow, then sit down'."""
        both = f" and {self.meanwhile}" if self.meanwhile else ""
        how = "".join(f", {style}" for style in self.manner.styles)
        pace = "" if abs(self.pace) < 0.25 else ", slow" if self.pace < 0 else ", fast"
        side = ", backwards" * self.manner.backwards + (f", {self.manner.side} side" if self.manner.side else "")
        side += f", {self.manner.course}" if self.manner.course else ""
        then = "".join(f", then {each.meaning}" for each in self.then)
        return f"{self.action}{both}{how}{pace}{side}{then}"

    def __str__(self) -> str:
        rest = f"; left out: {', '.join(self.left_out)}" if self.left_out else ""
        return f"{self.meaning} (from '{self.words}'){rest}"

    @property
    def asked(self) -> str:
        """The action as the user calls it: 'sneak' for a walk in the style that shows it."""
        shown = self.instead_of and ACTIONS[self.instead_of].kind_style
        return self.instead_of if shown else self.action

    @property
    def note(self) -> str:
        """What the user should know: that an action is shown instead of another, that some are left out, which words
        are not understood."""
        general = f"this prior does not know '{self.instead_of}': '{self.action}' is shown instead"
        rest = f"only '{self.action}' is shown, not {' and '.join(self.left_out)}"
        ignored = f"not understood: {', '.join(repr(words) for words in self.manner.ignored)}"
        other = self.instead_of != self.asked
        said = ((general, other and self.instead_of), (rest, self.left_out), (ignored, self.manner.ignored))
        notes = (*(text for text, why in said if why), *(each.note for each in self.then if each.note))
        return "; ".join(dict.fromkeys(notes))

    @property
    def unshown(self) -> str:
        """What the user should know if only the action and its pace can be shown."""
        side = (f"the {self.manner.side} side",) if self.manner.side else ()
        back = (*("backwards",) * self.manner.backwards, *filter(None, [self.manner.course]))
        also = (self.meanwhile,) if self.meanwhile else ()
        after = tuple(f"then {each.meaning}" for each in self.then)
        found = (*self.manner.styles, *side, *back, *also, *after)
        return f"understood but not shown: {', '.join(found)}" if found else ""

    def followed_by(self, others: Iterable[Intent]) -> Intent:
        """The same, and afterwards what others say."""
        added = [each for other in others for each in (replace(other, then=()), *other.then)]
        return replace(self, then=(*self.then, *added))

    def known_to(self, vocabulary: Collection[str] | None) -> Intent | None:
        """The same for a prior that knows some actions only, a more general action at its pace if need be; None if it
        knows none. vocabulary: names of actions; None if all are known."""
        if self.meanwhile and known_action(self.meanwhile, vocabulary) is None:
            left_out = (*self.left_out, self.meanwhile)
            return replace(self, meanwhile="", left_out=left_out).known_to(vocabulary)
        if self.then:
            known = [(each, each.known_to(vocabulary)) for each in self.then]
            left_out = (*self.left_out, *(each.action for each, shown in known if shown is None))
            alone = replace(self, then=(), left_out=left_out).known_to(vocabulary)
            return alone and replace(alone, then=tuple(shown for _, shown in known if shown))
        name, action, pace = self.action, known_action(self.action, vocabulary), self.pace
        if action is None or action == self.action:
            return self if action else None
        manner = self.manner
        while name != action:
            row = ACTIONS[name]
            name, pace = row.kind_of, pace + row.kind_pace
            if row.kind_style == "backwards":
                manner = replace(manner, backwards=True)
            elif row.kind_style:
                manner = replace(manner, styles=tuple(dict.fromkeys((*manner.styles, row.kind_style))))
        left_out = tuple(each for each in self.left_out if each != action)
        return replace(
            self, action=action, pace=_bounded(pace), left_out=left_out, manner=manner, instead_of=self.action
        )


def parse_intent(sentence: str) -> Intent | None:
    """The action that a sentence asks for, the first if there are several, or None."""
    tokens = _after_corrections(corrected(tokenize(sentence)))
    if (name := " ".join(token for token in tokens if token != STOP)) in ACTIONS:
        return Intent(name, 0.0, name)
    predicates = SentenceParser(tokens).parse()
    wanted = _wanted(predicates or _named_last(tokens))
    if not wanted:
        return None
    chosen = _instead_of_standing(min(wanted, key=lambda each: (-each.role, each.start)), wanted, tokens)
    action = _with_side(chosen, tokens)
    asked = dict.fromkeys(_with_side(each, tokens) for each in wanted if each.role >= Role.ADJUNCT)
    curve, circle = _course(action, wanted, tokens)
    if curve and not circle:
        wanted = [each for each in wanted if not ACTIONS[each.meaning.action].turns]
        asked = {name: None for name in asked if not ACTIONS[name].turns}
    backwards = ACTIONS[action].travels and bool(BACKWARDS.intersection(tokens))
    if backwards and action in ("walk", BACKWARDS_WALK):
        asked.pop(action, None)
        action, backwards = BACKWARDS_WALK, False
    if chosen.meaning.lemma in words.postures or chosen.start > min(each.start for each in wanted):
        asked.pop("stand", None)
    spoken = tokens[chosen.start : chosen.end]
    while spoken[-1] in words.articles | words.possessives:
        spoken = spoken[:-1]  # 'rams' in 'rams the'
    left_out = tuple(name for name in asked if name != action)
    meanwhile = ""
    if not AFTERWARDS.intersection(tokens):
        action, meanwhile = _at_once(
            action, [_with_side(each, tokens) for each in wanted if each.role not in DESCRIBES]
        )
        left_out = tuple(name for name in (*left_out, *asked) if name not in (action, meanwhile))
        left_out = tuple(dict.fromkeys(left_out))
    places = {place for each in wanted for place in range(each.start, each.end)}
    followed = _sequence(chosen, wanted, tokens, (action, meanwhile))
    if followed:
        shown = {_with_side(each, tokens) for each in followed}
        left_out = tuple(name for name in left_out if name not in shown)
        return replace(_with_followers(followed, tokens, places), left_out=left_out)
    manner = replace(manner_of(tokens, places), backwards=backwards, curve=curve, circle=circle)
    if curve:
        manner = replace(manner, ignored=tuple(word for word in manner.ignored if word not in CIRCLES | TURNED))
    if ACTIONS[action].turns or ACTIONS[action].sideways:
        manner = replace(manner, side=_way_aside(action, tokens))
    if backwards or action == BACKWARDS_WALK:
        manner = replace(manner, ignored=tuple(word for word in manner.ignored if word not in BACKWARDS))
    return Intent(action, _pace(chosen, wanted, tokens), " ".join(spoken), left_out, manner=manner, meanwhile=meanwhile)


def _course(action: str, wanted: Sequence[Predicate], tokens: Sequence[str]) -> tuple[Side, bool]:
    """To which side what travels turns on its way, and whether it goes all around: 'runs in circles', 'walks, turning
    left', 'trots in a curve to the right'."""
    if not (ACTIONS[action].travels and ACTIONS[action].loops):
        return "", False
    circle = any(token in CIRCLES and tokens[max(at - 2, 0) : at].count("in") for at, token in enumerate(tokens))
    curves = any(token in TURNED for token in tokens)
    turns = [each for each in wanted if ACTIONS[each.meaning.action].turns and each.form == "ing"]
    if not (circle or curves or turns):
        return "", False
    right = any(token in words.right | {"clockwise"} for token in tokens)
    return "right" if right else "left", circle


def _at_once(action: str, asked: Sequence[str]) -> tuple[str, str]:
    """What carries the body, and what arms or head do at the same time, of two actions that go together."""
    others = [name for name in dict.fromkeys(asked) if name != action]
    if len(others) != 1:
        return action, ""
    for base, other in ((action, others[0]), (others[0], action)):
        if ACTIONS[base].steps and LEXICON["actions"].get(other, {}).get("while_standing"):
            return base, other
    return action, ""


def _sequence(
    chosen: Predicate, wanted: Sequence[Predicate], tokens: Sequence[str], shown: tuple[str, str]
) -> list[Predicate]:
    """Predicates of actions that follow each other, in the order in which they are done; none if there is one action
    only. shown: the action, and what is done at the same time, which does not follow."""
    order: list[Predicate] = []
    waiting: list[Predicate] = []
    for each in wanted:
        before = tokens[max(each.start - 3, 0) : each.start]
        links = CLAUSE_LINKS.intersection(before)
        least = Role.ADJUNCT if AFTERWARDS.intersection(before) else Role.MAIN
        least = Role.SUBORDINATE if links or {"after", "that"} <= set(before) else least
        real = not UNREAL.intersection(tokens[max(each.start - 5, 0) : each.start])
        if links and not order:  # 'before jumping, the cat walks'
            waiting.append(each)
        elif each == chosen or (each.role >= least and real and not each.relative):
            order += [each, *waiting]
            waiting = []
    found: list[Predicate] = []
    for each in order:  # 'is walking, walking on' is one action; 'stands up and stands' two words for one
        name = _with_side(each, tokens)
        if name == shown[1] or (name == "stand" and each.meaning.lemma in words.postures):
            continue
        if not found or name != _with_side(found[-1], tokens):
            found.append(each)
    return found[:MOST_PARTS] if len(found) > 1 and chosen == found[0] else []


def _with_followers(parts: Sequence[Predicate], tokens: Sequence[str], spoken: set[int]) -> Intent:
    """Actions that follow each other, each with what the words around it say of how it is done; what is said before
    the first verb is said of all."""
    starts = sorted(each.start for each in parts)
    found = []
    for each in parts:
        after = next((start for start in starts if start > each.start), len(tokens))
        clause = [at for at in range(len(tokens)) if each.start <= at < after or at < starts[0]]
        own = [tokens[at] for at in clause]
        manner = manner_of(own, {clause.index(at) for at in spoken if at in clause})
        action = _with_side(each, tokens)
        backwards = ACTIONS[action].travels and bool(BACKWARDS.intersection(own))
        if backwards:
            ignored = tuple(word for word in manner.ignored if word not in BACKWARDS)
            manner = replace(manner, ignored=ignored, backwards=action not in ("walk", BACKWARDS_WALK))
            action = BACKWARDS_WALK if action == "walk" else action
        if ACTIONS[action].turns or ACTIONS[action].sideways:
            manner = replace(manner, side=_way_aside(action, own))
        curve, circle = _course(action, [each], own)
        if curve:
            ignored = tuple(word for word in manner.ignored if word not in CIRCLES | TURNED)
            manner = replace(manner, curve=curve, circle=circle, ignored=ignored)
        words_of = " ".join(tokens[each.start : each.end])
        found.append(Intent(action, _pace(each, parts, tokens), words_of, manner=manner))
    return replace(found[0], then=tuple(found[1:]))


def require_intent(sentence: str, vocabulary: Collection[str] | None = None) -> Intent:
    """The action that a sentence asks for; GambolError if there is none or the sentence is too long.

    vocabulary: the actions that a prior knows, by default all. The action becomes a more general one that is among
    them (`Intent.known_to`); GambolError if there is none.
    """
    if len(sentence) > MAX_LETTERS:
        raise GambolError(f"the sentence has {len(sentence):,} characters; shorten it to {MAX_LETTERS:,}")
    intent = parse_intent(sentence)
    if intent and (known := intent.known_to(vocabulary)):
        return known
    parts = ACTIONS[intent.action].needs if intent else ()
    needs = f", which needs {' and '.join(parts)}," if parts else ""
    why = (
        f"this prior cannot show '{intent.action}'{needs} with a body like this"
        if intent
        else f"no action was recognised in '{textwrap.shorten(sentence, 200, placeholder='...')}'"
    )
    raise GambolError(
        f"{why}; {'gambol' if vocabulary is None else 'the prior'} knows: {', '.join(vocabulary or ACTIONS)}. "
        "For anything else, take another prior: 'gambol priors' lists them"
    )


def _after_corrections(tokens: Sequence[str]) -> Sequence[str]:
    """What is said after 'no,' if it is said instead: 'it climbs? no, it walks'."""
    last = max((at for at in range(1, len(tokens) - 1) if tokens[at] == "no" and tokens[at + 1] == PAUSE), default=0)
    return tokens[last + 2 :] if last and tokens[last - 1] in (STOP, PAUSE) else tokens


def _named_last(tokens: Sequence[str]) -> list[Predicate]:
    """The action that the last of a few bare words names, as in 'knight roll' or 'angry stretch', where no word says
    what else they mean: 'a cake stand' is none."""
    end = len(tokens) - (tokens[-1:] == [STOP])
    last = tokens[end - 1] if end else ""
    bare = not (words.links | words.determiners | words.negators).intersection(tokens[:end])
    within = any((idiom := longest_idiom(idioms(), tokens, at)) and idiom[1] >= end for at in range(end))
    if end < 2 or not bare or within or last in words.doers | words.nouns_alone:
        return []
    meaning, forms = verbs().get(last, (None, ()))
    found = meaning if meaning and "base" in forms else nouns().get(last)
    return [Predicate(end - 1, end, found, Role.NOUN, "base")] if found and found.kind == "action" else []


def _wanted(predicates: Sequence[Predicate]) -> list[Predicate]:
    """The actions among what is done; descriptions do not count if the sentence says that something else is done."""
    done = [each for each in predicates if not each.negated]
    others = [each for each in done if each.meaning.kind == "other"]
    main_is_other = any(each.role == Role.MAIN for each in others)
    first_other = min((each.start for each in others if each.role >= Role.ADJUNCT), default=None)
    found = []
    for each in done:
        describes = each.role < Role.ADJUNCT or each.relative
        after_other = first_other is not None and first_other < each.start
        overruled = main_is_other or (each.role in (Role.NOUN, Role.ATTRIBUTE) and after_other)
        if each.meaning.kind != "other" and not (describes and overruled):
            found.append(each)
    return found


def _instead_of_standing(chosen: Predicate, wanted: Sequence[Predicate], tokens: Sequence[str]) -> Predicate:
    """Who stands waving waves; so does who stands and waves."""
    if chosen.meaning.action != "stand" or chosen.meaning.lemma not in words.postures:
        return chosen
    for each in wanted:
        between = tokens[chosen.end : each.start] if each.start > chosen.start else ["then"]
        meanwhile = each.form == "ing" and each.role == Role.ADJUNCT
        in_place = LEXICON["actions"][each.meaning.action].get("while_standing") and each.role == Role.MAIN
        also = meanwhile or (in_place and chosen.meaning.lemma == "stand")
        if each.meaning.action != "stand" and also and "then" not in between:
            return each
    return chosen


def _with_side(predicate: Predicate, tokens: Sequence[str]) -> str:
    """The action; for a turn, to the side that is named nearest to it, or else to the left."""
    if not ACTIONS[predicate.meaning.action].turns:
        return predicate.meaning.action
    sides = [at for at, token in enumerate(tokens) if token in words.left | words.right and _is_side(tokens, at)]
    nearest = min(sides, key=lambda at: abs(at - predicate.end + 0.5), default=None)
    return "turn right" if nearest is not None and tokens[nearest] in words.right else "turn left"


def _way_aside(action: str, tokens: Sequence[str]) -> Side:
    """To which side somebody steps; "" for who does not, or to any."""
    if not ACTIONS[action].sideways:
        return ""
    named = words.left | words.right
    side = next((token for at, token in enumerate(tokens) if token in named and _is_side(tokens, at)), "")
    return "left" if side in words.left else "right" if side in words.right else ""


def _is_side(tokens: Sequence[str], at: int) -> bool:
    """Whether a word names a side: not in 'right now', 'right round', 'all right', 'left the room'."""
    before, after = tokens[at - 1] if at else "", tokens[at + 1] if at + 1 < len(tokens) else ""
    if tokens[at] == "left":
        return after not in (words.articles | words.possessives) - {"that"}
    last = at + 2 >= len(tokens) or tokens[at + 2] in (STOP, PAUSE, "and", "to")
    emphatic = after in ("now", "here", "there", "away", "back") or (after in ("round", "around") and last)
    return before != "all" and not emphatic


def _pace(chosen: Predicate, wanted: Sequence[Predicate], tokens: Sequence[str]) -> float:
    """How fast: what the verb says by itself, and the adverbs that are nearer to it than to any other action."""
    pace, at = chosen.meaning.pace, 0
    while at < len(tokens):
        idiom = longest_idiom(pace_idioms(), tokens, at)
        said = idiom[0].meaning.pace if idiom else _pace_of_word(tokens, at, chosen)
        if said and not words.negators.intersection(tokens[max(at - 2, 0) : at]):
            distances = [(max(each.start - at, at - each.end + 1, 0), each.start) for each in wanted]
            nearest = wanted[distances.index(min(distances))]
            pace += said if nearest.meaning.action == chosen.meaning.action else 0.0
        at = idiom[1] if idiom else at + 1
    return _bounded(pace)


def _bounded(pace: float) -> float:
    return max(-1.0, min(1.0, pace))


def _pace_of_word(tokens: Sequence[str], at: int, chosen: Predicate) -> float:
    said = paces().get(tokens[at], 0.0)
    if tokens[at] not in words.pace_adjectives or chosen.start <= at < chosen.end:
        return said
    before, after = tokens[at - 1] if at else "", tokens[at + 1] if at + 1 < len(tokens) else ""
    beside = after in nouns() or at + 1 == chosen.start
    describes_other = describes_noun(before) or before in words.be or not before or may_be_noun(after)
    return said if beside or not describes_other else 0.0


def action_of_clip(name: str) -> str | None:
    """The action that an artist's name for a clip means, or None: for no action, a mixture, or only a part of one."""
    layers = [part for part in name.split("|") if not re.search("armature|rig$|layer", part.lower())] or [name]
    spoken = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", re.sub(r"hip[\s_-]*hop", "", " ".join(layers), flags=re.I))
    text = " ".join(spoken).lower()
    if not re.search("|".join(LEXICON["clip_mixtures"]["patterns"]), text):
        for action, pattern in LEXICON["clip_names"].items():
            if re.search(pattern, text):
                return action
    tokens = text.split()
    into_idle = tokens[-2:] == ["to", "idle"]
    tokens = tokens[:-2] if into_idle else tokens
    sides = {token for token in tokens if token in ("left", "right", "l", "r")}
    found: set[str] = set()
    for token in tokens:
        lemma, action = _meaning_in_clip(token)
        if words.clip_spoilers & {lemma, token} or action == "":
            return None
        if action and token != "standing":  # by itself it is getting up; before other words, how they are done
            found.add(action)
        elif not action and found and len(token) > 1 and token not in words.clip_neutral | sides:
            return None  # what comes after the action changes it; before it, it is the character's name
    found -= {ACTIONS[action].kind_of for action in found}
    return _in_full(found.pop(), sides, into_idle, tokens) if len(found) == 1 else None


def _meaning_in_clip(token: str) -> tuple[str, str | None]:
    """The base form of a word, and its action: None if it has none, empty if it means none of the table."""
    if token in LEXICON["clip_words"]:
        return token, LEXICON["clip_words"][token]
    if token not in verbs() or token in words.clip_neutral:
        return token, None
    meaning, _ = verbs()[token]
    return meaning.lemma, meaning.action if meaning.kind == "action" else "" if meaning.kind == "other" else None


def _in_full(action: str, sides: set[str], into_idle: bool, tokens: Sequence[str]) -> str | None:
    """The action of a clip, or None if its name says that the clip is only a part of it."""
    if ACTIONS[action].turns:
        return None if len(sides) != 1 else "turn right" if sides & {"right", "r"} else "turn left"
    if sides and not LEXICON["actions"][action].get("sided"):
        return None
    if (into_idle and ACTIONS[action].loops and action != "jump") or (action == "jump" and "loop" in tokens):
        return None
    return "crawl" if action == "walk" and group("LEGLESS").intersection(tokens) else action
