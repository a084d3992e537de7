"""The lexicon spelt out: every form of every verb, every idiom, ready to be looked up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal

from gambol.priors.pocket.language.grammar import LINKS
from gambol.priors.pocket.language.idioms import GROUPS, IDIOMS, MOVING_IDIOMS, OTHER_IDIOMS, PACE_IDIOMS, WEAK_IDIOMS
from gambol.priors.pocket.language.inflection import Form, forms
from gambol.priors.pocket.language.lexicon import (
    CATENATIVES,
    LEXICON,
    LIGHT,
    MOVING,
    OTHERS,
    REFUSING,
    SENSES,
    STOPPING,
    WEAK,
)

Kind = Literal["action", "weak", "other", "light", "move"]
"""An action; what hints at one ('crosses the road'); a deed that is none of them; a verb that says little by itself
('goes', 'takes', 'starts'); a verb of moving at all, which says something only when denied."""
VERB_PACE = 0.6
"""How much a verb by itself says about pace, as in 'strolls'; an adverb says up to 1."""
GAP = 3
"""How many words fit in the gap of an idiom, as long as none of them links parts of the sentence."""


@dataclass(frozen=True)
class Sense:
    """What a word or an idiom means."""

    lemma: str
    kind: Kind
    action: str = ""
    pace: float = 0.0

    def among(self, before: Sequence[str], after: Sequence[str]) -> Sense:
        """What it means between these words."""
        for side, names, action in SENSES.get(self.lemma, ()):
            nearby = before if side == "before" else after
            if any(word in group(names) or word.removesuffix("s") in group(names) for word in nearby):
                return replace(self, action=action, kind="action" if action else "other", pace=0.0)
        return self


@dataclass(frozen=True)
class Idiom:
    """Words in a row. Each step is a set of spellings; an empty one is a gap."""

    steps: tuple[frozenset[str], ...]
    sense: Sense
    head: int | None
    """Which step is its verb; None for a phrase of manner, such as 'at full tilt', or a name."""
    head_forms: dict[str, frozenset[Form]] = field(default_factory=dict)
    """What each spelling of the verb may be."""

    def end(self, words: Sequence[str], start: int, step: int = 0) -> int:
        """Where it ends if it begins at a word, else -1."""
        if step == len(self.steps):
            return start
        if self.steps[step]:
            fits = start < len(words) and words[start] in self.steps[step]
            return self.end(words, start + 1, step + 1) if fits else -1
        for there in range(start, start + GAP + 1):
            if (found := self.end(words, there, step + 1)) >= 0:
                return found
            if there >= len(words) or words[there] in LINKS:
                break
        return -1


def longest(table: dict[str, list[Idiom]], words: Sequence[str], start: int) -> tuple[Idiom, int] | None:
    """The longest idiom that begins at a word, of equals the one that fits the fewest phrases, and where it ends."""
    ends = [(idiom.end(words, start), idiom) for idiom in table.get(words[start], ())]
    end, idiom = max(ends, key=lambda pair: (pair[0], -sum(map(len, pair[1].steps))), default=(-1, None))
    return (idiom, end) if idiom and end > start else None


@cache
def group(names: str) -> frozenset[str]:
    """Words, where names in capitals stand for the words of a group."""
    return frozenset(word for name in names.split() for word in GROUPS.get(name, name).split())


@cache
def verb_forms() -> dict[str, tuple[Sense, frozenset[Form]]]:
    """What each spelling of a verb means, and which forms of the verb it may be."""
    found: dict[str, tuple[Sense, set[Form]]] = {}
    for sense in _verb_senses():
        for spelling, kinds in forms(sense.lemma).items():
            known, its_forms = found.setdefault(spelling, (sense, set()))
            if known.lemma == sense.lemma:
                its_forms.update(kinds)
    return {spelling: (sense, frozenset(kinds)) for spelling, (sense, kinds) in found.items()}


def _verb_senses() -> Iterable[Sense]:
    """The verbs; where a spelling belongs to several, the first counts."""
    for action, words in LEXICON.items():
        for pace, verbs in ((0.0, words.verbs), (-VERB_PACE, words.slow), (VERB_PACE, words.fast)):
            yield from (Sense(verb, "action", action, pace) for verb in verbs.split())
    for action, verbs in WEAK.items():
        yield from (Sense(verb, "weak", action) for verb in verbs.split())
    yield from (Sense(verb, "move") for verb in MOVING.split())
    yield from (Sense(verb, "light") for verb in [*LIGHT.split(), *CATENATIVES.split(), *STOPPING, *REFUSING])
    yield from (Sense(verb, "other") for verb in OTHERS.split())


@cache
def nouns() -> dict[str, Sense]:
    """Actions as nouns, one and many: what one can take, go for or break into."""
    found: dict[str, Sense] = {}
    for action, words in LEXICON.items():
        for pace, names in ((0.0, words.nouns), (-VERB_PACE, words.slow_nouns), (VERB_PACE, words.fast_nouns)):
            for name in names.split():
                for spelling in (name, name + ("es" if name.endswith(("h", "x")) else "s")):
                    found.setdefault(spelling, Sense(name, "action", action, pace))
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
def idiom_words() -> frozenset[str]:
    """Every word that some idiom uses."""
    tables = (idioms(), pace_idioms())
    return frozenset().union(
        *(step for table in tables for known in table.values() for idiom in known for step in idiom.steps)
    )


@cache
def pace_idioms() -> dict[str, list[Idiom]]:
    """What is said about pace, by each spelling of the first word."""
    found: dict[str, list[Idiom]] = {}
    for pace, text in PACE_IDIOMS.items():
        _add(found, text, "action", pace=pace)
    return found


def _add(found: dict[str, list[Idiom]], text: str, kind: Kind, action: str = "", pace: float = 0.0) -> None:
    for pattern in filter(None, (" ".join(line.split()) for line in text.split(";"))):
        steps = pattern.split()
        sense = Sense(pattern.replace("*", ""), kind, action, pace)
        head = next((index for index, step in enumerate(steps) if "*" in step), None)
        idiom = Idiom(tuple(map(_spellings, steps)), sense, head, {} if head is None else _head_forms(steps[head]))
        for first in idiom.steps[0]:
            found.setdefault(first, []).append(idiom)


@cache
def _spellings(step: str) -> frozenset[str]:
    """What may stand at a step of an idiom; nothing for a gap."""
    found: set[str] = set()
    for name in step.split("|"):
        for word in group(name.removesuffix("*")):
            found.update(forms(word) if name.endswith("*") else [word] if word != "_" else [])
    return frozenset(found)


@cache
def _head_forms(step: str) -> dict[str, frozenset[Form]]:
    found: dict[str, set[Form]] = {}
    for name in step.split("|"):
        for verb in group(name.removesuffix("*")) if name.endswith("*") else ():
            for spelling, kinds in forms(verb).items():
                found.setdefault(spelling, set()).update(kinds)
    return {spelling: frozenset(kinds) for spelling, kinds in found.items()}
