"""Hyphens, and slips of the pen: the words of a sentence as the lexicon spells them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from gambol.priors.pocket import grammar, lexicon
from gambol.priors.pocket.inflection import forms
from gambol.priors.pocket.vocabulary import idiom_words, idioms, longest, nouns, verb_forms

SHORTEST = 6
"""Letters of the shortest word in which a slip is mended; shorter words are too like one another. In a word of one
letter fewer, only swapped letters are."""


def as_known(words: Sequence[str]) -> list[str]:
    """Words joined or parted at their hyphens, and mended where one letter is wrong."""
    found: list[str] = []
    for word in words:
        found += _parted(word, found[-1] if found else "") if "-" in word else [_mended(word)]
    return found


def _parted(word: str, before: str) -> list[str]:
    """'tip-toes' is one word, 'about-face' are two, 'power-walks' walks, and 'run-down' has nothing to do with running."""
    joined, parts = word.replace("-", ""), word.split("-")
    if joined in verb_forms() or joined in nouns():
        return [joined]
    found = longest(idioms(), parts, 0)
    if (found and found[1] == len(parts)) or parts[0] == "mid":
        return parts
    _, forms = verb_forms().get(parts[-1], (None, frozenset()))
    return [parts[-1]] if "s" in forms or ("ing" in forms and before in grammar.BE) else [word]


@cache
def _mended(word: str) -> str:
    """The one form of a verb that is a letter away from an unknown word, else the word itself."""
    if len(word) < SHORTEST - 1 or _is_known(word):
        return word
    near = [
        known
        for known, (sense, _) in verb_forms().items()
        if known[0] == word[0] and abs(len(known) - len(word)) <= 1 and sense.kind == "action" and is_slip(word, known)
        if max(len(known), len(word)) >= SHORTEST or sorted(known) == sorted(word)
    ]
    near = [known for known in near if _single(known) == _single(word)] or near
    return near[0] if len({verb_forms()[known][0].action for known in near}) == 1 else word


def _single(word: str) -> str:
    """A word without its double letters, which are most often got wrong."""
    return re.sub(r"(.)\1", r"\1", word)


@cache
def _real_words() -> frozenset[str]:
    return frozenset(spelling for word in lexicon.REAL_WORDS.split() for spelling in forms(word))


def _is_known(word: str) -> bool:
    small = (grammar.DETERMINERS, grammar.PREPOSITIONS, grammar.PRONOUNS, grammar.SUBORDINATORS, grammar.ADVERBS)
    if word in verb_forms() or word in nouns() or word in _real_words() or grammar.is_adjective(word):
        return True
    doer = word.removesuffix("s").removesuffix("er")
    stems = (doer, doer[:-1], doer + "e")
    return any(word in words for words in small) or word in idiom_words() or any(stem in verb_forms() for stem in stems)


def is_slip(word: str, meant: str) -> bool:
    """Whether one letter too many, too few, wrong, or swapped with its neighbour is all the difference."""
    same = next((i for i, (a, b) in enumerate(zip(word, meant, strict=False)) if a != b), min(len(word), len(meant)))
    rest, wanted = word[same:], meant[same:]
    swapped = len(rest) > 1 and rest[1] + rest[0] + rest[2:] == wanted
    return rest[1:] == wanted[1:] or rest[1:] == wanted or rest == wanted[1:] or swapped
