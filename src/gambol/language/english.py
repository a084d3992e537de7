"""English words: tokens of a sentence, classes of words, and forms of verbs. The words are in lexicon.toml."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Literal

Form = Literal["base", "s", "ing", "past", "participle"]

LEXICON = tomllib.loads(Path(__file__).with_name("lexicon.toml").read_text(encoding="utf-8"))
"""The tables of lexicon.toml."""
words = SimpleNamespace(**{name: frozenset(text.split()) for name, text in LEXICON["classes"].items()})
"""Classes of words: `words.articles` is the set of articles."""
STOP, PAUSE = ".", ","
"""Tokens for the end of a sentence and of a part of it."""
words.determiners = words.possessives | words.numbers | words.articles
words.helpers = words.be | words.have | words.modals
words.finite_helpers = words.helpers - {"be", "been", "being", "having"}
words.links = words.prepositions | words.conjunctions | words.subordinators | {STOP, PAUSE}
words.function = words.links | words.determiners | words.helpers | words.pronouns | words.negators | {""}

CONTRACTIONS = (
    (r"\b(?:can't|cant|cannot)\b", "can not"), (r"\b(?:won't|wont)\b", "will not"), (r"\bain't\b", "is not"),
    (r"\b(do|does|did|is|are|was|were|have|has|had|would|could|should)n'?t\b", r"\1 not"), (r"\blet's\b", "let us"),
    (r"\b(it|he|she|that|there|who|what|here|where)'s\b", r"\1 is"), (r"'re\b", " are"), (r"'m\b", " am"),
    (r"'ll\b", " will"), (r"'ve\b", " have"), (r"'d\b", " would"), (r"in'(?!\w)", "ing"), (r"'s\b", " 's"),
)  # fmt: skip
IRREGULAR = dict(re.findall(r"(\w+): ([^;]+)", " ".join(LEXICON["irregular_verbs"]["forms"].split())))
BE: dict[str, set[Form]] = {"is": {"s"}, "am": {"s"}, "are": {"base"}, "be": {"base"}, "being": {"ing"}}
VOWELS = "aeiou"


def tokenize(text: str) -> list[str]:
    """The words of a text in lower case, contractions spelt out and hyphens kept; punctuation as STOP or PAUSE."""
    text = re.sub("[\u2018\u2019\u02bc`\u00b4]", "'", text.lower()).replace("_", " ")
    text = re.sub(r"\s[-\u2013\u2014]+\s|[\u2013\u2014]|\.\.\.|\u2026|[;:()\[\]\"\u201c\u201d/|]", " , ", text)
    text = re.sub(r"\b(?:counter|anti)[-\s]clockwise", "counterclockwise", text)
    for spoken, plain in CONTRACTIONS:
        text = re.sub(spoken, plain, text)
    tokens = re.findall(r"'s(?!\w)|\d+|[^\W\d_]+(?:-[^\W\d_]+)*|[.,!?&\n]", text)
    return [STOP if token in ".!?\n" else token for token in tokens]


def is_adverb(word: str) -> bool:
    return word in words.adverbs or (word.endswith("ly") and len(word) > 4 and word not in words.not_adverbs)


def is_adjective(word: str) -> bool:
    return word in words.adjectives or (word.endswith(tuple(words.adjective_endings)) and len(word) > 5)


def is_plural(word: str) -> bool:
    return word in words.plurals or (word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3)


def describes_noun(word: str) -> bool:
    return word in words.determiners or is_adjective(word)


def may_be_noun(word: str) -> bool:
    """Whether a word could be the noun that an adjective before it describes."""
    return word not in words.function and not is_adverb(word)


@cache
def forms_of(verb: str) -> dict[str, set[Form]]:
    """Every spelling of a verb, British and American, with the forms it may be."""
    found: dict[str, set[Form]] = {spelling: set(forms) for spelling, forms in BE.items()} if verb == "be" else {}
    if verb != "be":
        found[verb] = {"base"}
        found.setdefault(_third_person(verb), set()).add("s")
        for stem in _stems(verb, "i"):
            found.setdefault(stem + "ing", set()).add("ing")
    past, _, participle = IRREGULAR.get(verb, " ".join(stem + "ed" for stem in _stems(verb, "e"))).partition(" / ")
    for spelling in past.split():
        found.setdefault(spelling, set()).add("past")
    for spelling in (participle or past).split():
        found.setdefault(spelling, set()).add("participle")
    return found


def _third_person(verb: str) -> str:
    if verb == "have":
        return "has"
    if verb.endswith("y") and verb[-2] not in VOWELS:
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "x", "z", "ch", "sh", "go", "do")) and verb != "tango" else "s")


def _stems(verb: str, before: str) -> list[str]:
    """What -ing (before: "i") or -ed ("e") is added to: several where spellings differ ('swiveling', 'swivelling')."""
    if before == "i" and verb.endswith("ie"):
        return [verb[:-2] + "y", verb]
    if verb.endswith("e") and (before == "e" or not verb.endswith(("ee", "oe", "ye"))):
        return [verb[:-1]]
    if before == "e" and verb.endswith("y") and verb[-2] not in VOWELS:
        return [verb[:-1] + "i"]
    if verb.endswith("c"):
        return [verb + "k"]
    sounds = verb.replace("qu", "qw")
    if verb[-1] in VOWELS + "wxyh" or sounds[-2] not in VOWELS or sounds[-3:-2] in VOWELS:
        return [verb]
    syllables = sum(now in VOWELS and last not in VOWELS for last, now in zip(" " + sounds, sounds, strict=False))
    return [verb + verb[-1]] if syllables == 1 else [verb, verb + verb[-1]]
