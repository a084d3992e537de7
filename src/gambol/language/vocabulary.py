"""What words and idioms mean, and which known word a misspelled one is meant to be."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from gambol.language.english import LEXICON, Form, forms_of, is_adjective, words

Kind = Literal["action", "hint", "other", "light", "moving"]
"""An action; what only hints at one ('crosses the road'); what is no action of the table; a verb that says little by
itself ('goes', 'takes', 'starts'); a verb of moving at all, which says something only when negated."""
VERB_PACE = 0.6
"""How much a verb by itself says about pace, as in 'strolls'; an adverb says up to 1."""
MANNERS = {"": 0.0, "slow_": -VERB_PACE, "fast_": VERB_PACE}
MAX_GAP = 3
"""Words that fit into the gap of an idiom, as long as none of them links parts of the sentence."""
MIN_LETTERS = 6
"""Length of the shortest word whose spelling is corrected; shorter words are too like one another. In a word of one
letter fewer, only swapped letters are."""


@dataclass(frozen=True)
class Meaning:
    """What a word or an idiom means."""

    lemma: str
    kind: Kind
    action: str = ""
    pace: float = 0.0

    def between(self, before: Sequence[str], after: Sequence[str]) -> Meaning:
        """What it means between these words."""
        for side, names, action in LEXICON["meanings"].get(self.lemma, ()):
            nearby = before if side == "before" else after
            if any(word in group(names) or word.removesuffix("s") in group(names) for word in nearby):
                return replace(self, action=action, kind="action" if action else "other", pace=0.0)
        return self


@dataclass(frozen=True)
class Idiom:
    """A pattern of words."""

    steps: tuple[Mapping[str, set[Form]], ...]
    """The spellings that fit each step, with the forms of the verb that they may be; none for a gap."""
    meaning: Meaning
    head: int | None
    """Which step is its verb; None for a phrase of manner, such as 'at full tilt', or a name."""

    def match(self, tokens: Sequence[str], start: int, step: int = 0) -> int:
        """The end of the idiom if it begins at a token, else -1."""
        if step == len(self.steps):
            return start
        if self.steps[step]:
            fits = start < len(tokens) and tokens[start] in self.steps[step]
            return self.match(tokens, start + 1, step + 1) if fits else -1
        for resume in range(start, start + MAX_GAP + 1):
            if (end := self.match(tokens, resume, step + 1)) >= 0:
                return end
            if resume >= len(tokens) or tokens[resume] in words.links:
                break
        return -1


Idioms = dict[str, list[Idiom]]
"""Idioms by each spelling of their first word."""


def longest_idiom(table: Idioms, tokens: Sequence[str], start: int) -> tuple[Idiom, int] | None:
    """The longest idiom that begins at a token, of equals the one that fits the fewest phrases, and where it ends."""
    ends = [(idiom.match(tokens, start), idiom) for idiom in table.get(tokens[start], ())]
    end, idiom = max(ends, key=lambda pair: (pair[0], -sum(map(len, pair[1].steps))), default=(-1, None))
    return (idiom, end) if idiom and end > start else None


@cache
def group(names: str) -> frozenset[str]:
    """Words, where names in capitals stand for the words of a group."""
    return frozenset(word for name in names.split() for word in LEXICON["groups"].get(name, name).split())


def _texts(key: str) -> Iterator[tuple[str, float, str]]:
    """Action, pace and text of each entry of that key in the lexicon's actions."""
    for action, texts in LEXICON["actions"].items():
        yield from ((action, pace, texts[manner + key]) for manner, pace in MANNERS.items() if manner + key in texts)


@cache
def verbs() -> dict[str, tuple[Meaning, frozenset[Form]]]:
    """The meaning of each spelling of a verb, and the forms of the verb that it may be; the first verb counts."""
    listed = {kind: text.split() for kind, text in LEXICON["verbs"].items()}
    listed["light"] += [*words.stopping, *words.refusing]
    meanings = [
        Meaning(verb, "action", action, pace) for action, pace, text in _texts("verbs") for verb in text.split()
    ]
    meanings += [Meaning(verb, "hint", action) for action, _, text in _texts("hint_verbs") for verb in text.split()]
    meanings += [Meaning(verb, kind) for kind, known in listed.items() for verb in known]
    found: dict[str, tuple[Meaning, set[Form]]] = {}
    for meaning in meanings:
        for spelling, forms in forms_of(meaning.lemma).items():
            first, known_forms = found.setdefault(spelling, (meaning, set()))
            if first.lemma == meaning.lemma:
                known_forms.update(forms)
    return {spelling: (meaning, frozenset(forms)) for spelling, (meaning, forms) in found.items()}


@cache
def nouns() -> dict[str, Meaning]:
    """Actions as nouns, singular and plural: what one can take, go for or break into."""
    found: dict[str, Meaning] = {}
    for action, pace, text in _texts("nouns"):
        for noun in text.split():
            for spelling in (noun, noun + ("es" if noun.endswith(("h", "x")) else "s")):
                found.setdefault(spelling, Meaning(noun, "action", action, pace))
    return found


@cache
def idioms() -> Idioms:
    """Idioms that mean an action, hint at one, or mean none."""
    entries = [("action", *entry) for entry in _texts("idioms")]
    entries += [("hint", *entry) for entry in _texts("hint_idioms")]
    entries += [("action", action, 0.0, f"{_any_form(action)} PICTURE") for action in LEXICON["actions"]]
    return idiom_table([*entries, *((kind, "", 0.0, text) for kind, text in LEXICON["idioms"].items())])


def _any_form(action: str) -> str:
    """The name of an action as an idiom: 'push* up', but 'tail strike'."""
    first, _, rest = action.partition(" ")
    return f"{first}{'' if first in words.unverbal else '*'} {rest}".strip()


@cache
def pace_idioms() -> Idioms:
    """What is said about pace."""
    return idiom_table([("action", "", row["pace"], row["idioms"]) for row in LEXICON["paces"]])


@cache
def paces() -> dict[str, float]:
    """What single words say about pace."""
    return {word: row["pace"] for row in LEXICON["paces"] for word in row["words"].split()}


def idiom_table(entries: Sequence[tuple]) -> Idioms:
    """entries: kind, action, pace and text of idioms."""
    found: Idioms = {}
    for kind, action, pace, text in entries:
        for pattern in (" ".join(part.split()) for part in text.split(";")):
            steps = pattern.split()
            head = next((index for index, step in enumerate(steps) if "*" in step), None)
            meaning = Meaning(pattern.replace("*", ""), kind, action, pace)
            idiom = Idiom(tuple(map(_spellings, steps)), meaning, head)
            for first in idiom.steps[0]:
                found.setdefault(first, []).append(idiom)
    return found


@cache
def _spellings(step: str) -> dict[str, set[Form]]:
    """What fits a step of an idiom."""
    found: dict[str, set[Form]] = {}
    for name in step.split("|"):
        for word in group(name.removesuffix("*")) - {"_"}:
            for spelling, forms in (forms_of(word) if name.endswith("*") else {word: set[Form]()}).items():
                found.setdefault(spelling, set()).update(forms)
    return found


def corrected(tokens: Sequence[str]) -> list[str]:
    """The tokens joined or parted at their hyphens, and corrected where one letter is wrong."""
    found: list[str] = []
    for token in tokens:
        found += _parted(token, found[-1] if found else "") if "-" in token else [_corrected(token)]
    return found


def _parted(word: str, before: str) -> list[str]:
    """'tip-toes' is one word, 'about-face' are two, 'power-walks' walks, but 'run-down' does not run."""
    joined, parts = word.replace("-", ""), word.split("-")
    if joined in verbs() or joined in nouns():
        return [joined]
    found = longest_idiom(idioms(), parts, 0)
    if (found and found[1] == len(parts)) or parts[0] == "mid":
        return parts
    forms = verbs()[parts[-1]][1] if parts[-1] in verbs() else ()
    return [parts[-1]] if "s" in forms or ("ing" in forms and before in words.be) else [word]


@cache
def _corrected(word: str) -> str:
    """The one form of a verb that is a letter away from an unknown word, else the word itself."""
    if len(word) < MIN_LETTERS - 1 or _is_known(word):
        return word
    near = [
        known
        for known, (meaning, _) in verbs().items()
        if known[0] == word[0] and abs(len(known) - len(word)) <= 1 and meaning.kind == "action"
        if is_misspelling(word, known) and (max(len(known), len(word)) >= MIN_LETTERS or sorted(known) == sorted(word))
    ]
    single = re.sub(r"(.)\1", r"\1", word)  # double letters are most often got wrong
    near = [known for known in near if re.sub(r"(.)\1", r"\1", known) == single] or near
    return near[0] if len({verbs()[known][0].action for known in near}) == 1 else word


@cache
def _other_words() -> frozenset[str]:
    """Known words that are neither verbs nor nouns of actions."""
    spellings = {spelling for word in words.not_misspelled for spelling in forms_of(word)}
    spellings.update(paces(), *(row.get("words", "").split() for row in LEXICON["styles"].values()))
    for table in (idioms(), pace_idioms()):
        spellings.update(*(step for known in table.values() for idiom in known for step in idiom.steps))
    return words.determiners | words.prepositions | words.pronouns | words.subordinators | words.adverbs | spellings


def _is_known(word: str) -> bool:
    doer = word.removesuffix("s").removesuffix("er")
    stems = (word, doer, doer[:-1], doer + "e")
    return word in nouns() or word in _other_words() or is_adjective(word) or any(stem in verbs() for stem in stems)


def is_misspelling(word: str, meant: str) -> bool:
    """Whether one letter too many, too few, wrong, or swapped with its neighbour is all the difference."""
    same = next((i for i, (a, b) in enumerate(zip(word, meant, strict=False)) if a != b), min(len(word), len(meant)))
    rest, wanted = word[same:], meant[same:]
    swapped = len(rest) > 1 and rest[1] + rest[0] + rest[2:] == wanted
    return rest[1:] == wanted[1:] or rest[1:] == wanted or rest == wanted[1:] or swapped
