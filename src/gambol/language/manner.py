"""How something is done: styles, sides, and words that ask for more than can be shown."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from gambol.language.english import LEXICON, PAUSE, STOP, is_adverb, words
from gambol.language.vocabulary import Idioms, idiom_table, longest_idiom, pace_idioms, paces

Side = Literal["", "left", "right"]


@dataclass(frozen=True)
class Manner:
    """What a sentence says about how."""

    styles: tuple[str, ...] = ()
    """Names in `motion.styles.STYLES`, in the order of the sentence."""
    side: Side = ""
    """Which hand or foot acts, or to which side the way leads."""
    backwards: bool = False
    """Whether what travels goes backwards."""
    curve: Side = ""
    """To which side what travels turns on its way."""
    circle: bool = False
    """Whether it goes all around."""
    ignored: tuple[str, ...] = ()
    """Words that ask for something that is not shown."""

    @property
    def course(self) -> str:
        """The way that is taken, in words for the user; "" if it is straight."""
        return (f"in a circle to the {self.curve}" if self.circle else f"turning {self.curve}") if self.curve else ""


def manner_of(tokens: Sequence[str], spoken: Collection[int]) -> Manner:
    """What the tokens of a sentence say about how. spoken: places of those that say what is done."""
    styles: list[str] = []
    used = {*spoken, *(place for place, token in enumerate(tokens) if token in paces())}
    at = 0
    while at < len(tokens):
        found = longest_idiom(_style_idioms(), tokens, at)
        name = found[0].meaning.action if found else _style_words().get(tokens[at], "")
        end = found[1] if found else at + 1
        if name and not words.negators.intersection(tokens[max(at - 2, 0) : at]):
            styles.append(name)
            used.update(range(at, end))
        elif pace := longest_idiom(pace_idioms(), tokens, at):
            used.update(range(at, pace[1]))
        at = end if found else at + 1
    side, place = _side(tokens)
    used.update(place)
    return Manner(tuple(dict.fromkeys(styles)), side, ignored=tuple(_ignored(tokens, used)))


@cache
def _style_idioms() -> Idioms:
    rows = LEXICON["styles"].items()
    return idiom_table([("action", name, 0.0, row["idioms"]) for name, row in rows if "idioms" in row])


@cache
def _style_words() -> dict[str, str]:
    return {word: name for name, row in LEXICON["styles"].items() for word in row.get("words", "").split()}


def _side(tokens: Sequence[str]) -> tuple[Side, range]:
    """'left' of 'with his left hand', 'a right hook', 'left-handed'."""
    for at, token in enumerate(tokens):
        side: Side = "left" if token.startswith("left") else "right" if token.startswith("right") else ""
        after = tokens[at + 1] if at + 1 < len(tokens) else ""
        before = tokens[at - 1] if at else ""
        alone = before in words.possessives and after in ("", STOP, PAUSE)  # 'jabs with his left'
        if side and (after in words.sided_parts or token in words.handed or alone):
            return side, range(at, at + 2)
    return "", range(0)


def _ignored(tokens: Sequence[str], used: Collection[int]) -> list[str]:
    """Adverbs of manner and direction, and things that are held, that nothing was made of."""
    found: list[str] = []
    for at, token in enumerate(tokens):
        if at in used:
            continue
        manner = is_adverb(token) and token.endswith("ly") and token not in words.vague
        if manner or token in words.unshown_directions:
            found.append(token)
        if token in words.holding and at + 1 < len(tokens):
            end = at + 1
            while end < len(tokens) and end - at < 4 and tokens[end] not in words.links | {STOP, PAUSE}:
                end += 1
            if end > at + 1 and not any(place in used for place in range(at + 1, end)):
                found.append(" ".join(tokens[at:end]))
    return found
