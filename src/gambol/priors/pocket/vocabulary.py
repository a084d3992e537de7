"""The lexicon spelt out: every form of every verb, every idiom, ready to be looked up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal

from gambol.priors.pocket.grammar import CONJUNCTIONS, PAUSE, PREPOSITIONS, STOP, SUBORDINATORS, SMALL_WORDS
from gambol.priors.pocket.idioms import IDIOMS, MOVING, OTHER_IDIOMS, PACE_IDIOMS, SELVES, WEAK_IDIOMS
from gambol.priors.pocket.inflection import Form, forms
from gambol.priors.pocket.lexicon import CATENATIVES, LEXICON, LIGHT, OTHERS, REAL_WORDS, WEAK

Kind = Literal["action", "weak", "other", "light", "move"]
"""An action; what hints at one ('crosses the road'); a deed that is none of them; a verb that says little by itself
('goes', 'takes', 'starts'); a verb of moving at all, which means something only when denied."""


@dataclass(frozen=True)
class Sense:
    """What a word or an idiom means."""

    lemma: str
    kind: Kind
    action: str = ""
    pace: float = 0.0


@dataclass(frozen=True)
class Idiom:
    """Words in a row. Each step is a set of spellings; an empty one is a gap."""

    steps: tuple[frozenset[str], ...]
    sense: Sense
    has_verb: bool
    """Whether its first word is a verb; else it is a phrase of manner, such as 'at full tilt'."""

    def end(self, words: list[str], start: int, step: int = 0) -> int:
        """Where it ends if it begins at a word, else -1."""
        if step == len(self.steps):
            return start
        if self.steps[step]:
            return self.end(words, start + 1, step + 1) if words[start : start + 1] and words[start] in self.steps[step] else -1
        for gap in range(GAP + 1):
            if (found := self.end(words, start + gap, step + 1)) >= 0:
                return found
            if not words[start + gap : start + gap + 1] or words[start + gap] in NO_GAP:
                break
        return -1


GAP = 3
NO_GAP = PREPOSITIONS | CONJUNCTIONS | SUBORDINATORS | {PAUSE, STOP}


@cache
def verb_forms() -> dict[str, tuple[Sense, frozenset[Form]]]:
    """What each spelling of a verb means, and which forms of the verb it may be."""
    found: dict[str, tuple[Sense, set[Form]]] = {}
    for sense in _verb_senses():
        for spelling, kinds in forms(sense.lemma).items():
            known = found.setdefault(spelling, (sense, set()))
            if known[0] is sense:
                known[1].update(kinds)
    return {spelling: (sense, frozenset(kinds)) for spelling, (sense, kinds) in found.items()}


def _verb_senses() -> Iterable[Sense]:
    """The verbs; where one is listed twice, the first counts."""
    for action, words in LEXICON.items():
        for pace, verbs in ((0.0, words.verbs), (-VERB_PACE, words.slow), (VERB_PACE, words.fast)):
            yield from (Sense(verb, "action", action, pace) for verb in verbs.split())
    for action, verbs in WEAK.items():
        yield from (Sense(verb, "weak", action) for verb in verbs.split())
    yield from (Sense(verb, "move") for verb in MOVING.split())
    yield from (Sense(verb, "light") for verb in (LIGHT + " " + CATENATIVES).split())
    yield from (Sense(verb, "other") for verb in OTHERS.split())


VERB_PACE = 0.6
"""How much a verb by itself says about pace, as in 'strolls'; an adverb says up to 1."""


@cache
def nouns() -> dict[str, Sense]:
    """Actions as nouns: what one can take, go for or break into."""
    found: dict[str, Sense] = {}
    for action, words in LEXICON.items():
        for pace, names in ((0.0, words.nouns), (-VERB_PACE, words.slow_nouns), (VERB_PACE, words.fast_nouns)):
            for name in names.split():
                found.setdefault(name, Sense(name, "action", action, pace))
    return found


@cache
def idioms() -> dict[str, list[Idiom]]:
    """Idioms by each spelling of their first word."""
    found: dict[str, list[Idiom]] = {}
    for (action, pace), text in IDIOMS.items():
        _add(found, text, "action", action, pace * VERB_PACE)
    for action, text in WEAK_IDIOMS.items():
        _add(found, text, "weak", action)
    _add(found, OTHER_IDIOMS, "other")
    _add(found, MOVING_IDIOMS, "move")
    return found


@cache
def pace_idioms() -> dict[str, list[Idiom]]:
    found: dict[str, list[Idiom]] = {}
    for pace, text in PACE_IDIOMS.items():
        _add(found, text, "action", pace=pace)
    return found


def _add(found: dict[str, list[Idiom]], text: str, kind: Kind, action: str = "", pace: float = 0.0) -> None:
    for line in text.split(";"):
        if not (pattern := " ".join(line.split())):
            continue
        steps = tuple(_spellings(step) for step in pattern.split())
        sense = Sense(pattern.replace("*", ""), kind, action, pace)
        idiom = Idiom(steps, sense, "*" in pattern.split()[0])
        for first in steps[0]:
            found.setdefault(first, []).append(idiom)


def _spellings(step: str) -> frozenset[str]:
    found: set[str] = set()
    for word in step.split("|"):
        if word == "SELF":
            found.update(SELVES.split())
        elif word.endswith("*"):
            found.update(forms(word[:-1]))
        elif word != "_":
            found.add(word)
    return frozenset(found)


def longest(table: dict[str, list[Idiom]], words: list[str], start: int) -> tuple[Idiom, int] | None:
    """The longest idiom that begins at a word, and where it ends."""
    ends = [(idiom.end(words, start), idiom) for idiom in table.get(words[start], ())]
    end, idiom = max(ends, key=lambda pair: pair[0], default=(-1, None))
    return (idiom, end) if idiom and end > start else None
