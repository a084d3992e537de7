"""What a sentence says about a creature: which animal, its colours, its size, what it does."""

import difflib
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from gambol.creatures.species import PLANS, SPECIES
from gambol.errors import GambolError
from gambol.language.english import forms_of

WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
SYNONYMS = {word: species for species, text in WORDS["synonyms"].items() for word in text.split()}
COLORS, SHADES, SIZES, YOUNG = (WORDS[table] for table in ("colors", "shades", "sizes", "young"))
GAITS = {form: gait for gait, text in WORDS["gaits"].items() for verb in text.split() for form in forms_of(verb)}
SIDES = ("left", "right")
"""Directions of a turn."""
FILLERS = frozenset(WORDS["other"]["fillers"].split())


@dataclass(frozen=True)
class CreatureRequest:
    """What was understood of a sentence about a creature."""

    species: str
    color: str | None = None
    """The main colour, '#rrggbb'."""
    color_words: str = ""
    scale: float = 1.0
    """Size relative to the animal's own."""
    size_words: str = ""
    action: str | None = None
    ignored: tuple[str, ...] = ()
    """Words that were not understood."""

    def __str__(self) -> str:
        size = f"{self.size_words} ({self.scale:.2g}x)" if self.size_words else ""
        details = ", ".join(part for part in (self.color_words, size, self.action) if part)
        text = f"{self.species}: {details}" if details else self.species
        return text + (f"; not understood: {', '.join(self.ignored)}" if self.ignored else "")


def parse_request(sentence: str) -> CreatureRequest:
    """Find the animal, its colour, size and action. Raises if there is no known animal, or more than one."""
    plain = re.sub(r"\bt[\s._-]*rex\b", "trex", sentence.lower())
    words = re.findall(r"\d+(?:[.,]\d+)*[^\W\d_]*|[^\W\d_]+", plain)  # '2.5m' is one word
    named = {species_of(word): word for word in words if species_of(word)}
    if len(named) != 1:
        raise _unclear_species(sentence, words, [name for name in named if name])
    ((species, noun),) = named.items()
    assert species is not None
    color: str | None = None
    action: str | None = None
    side: str | None = None
    scale, color_words, size_words, ignored = 1.0, list[str](), list[str](), list[str]()
    if (young := _singular(noun)) in YOUNG:
        scale, size_words = YOUNG[young], [young]
    shade = 1.0
    for word in words:
        if word in COLORS and color is None:
            color, color_words, shade = _shaded(COLORS[word], shade), [*color_words, word], 1.0
        elif word in SHADES and color is None:
            shade, color_words = SHADES[word], [*color_words, word]
        elif word in SIZES:
            scale, size_words = scale * SIZES[word], [*size_words, word]
        elif word in GAITS and action is None:
            action = GAITS[word]
        elif word in SIDES and side is None:
            side = word
        elif species_of(word) is None and word not in FILLERS:
            ignored.append(word)
    if side and action == "turn":
        action = f"turn {side}"
    elif side:
        ignored.append(side)
    if color is None and color_words:  # 'a dark horse' names no colour
        ignored, color_words = [*color_words, *ignored], []
    return CreatureRequest(species, color, " ".join(color_words), scale, " ".join(size_words), action, tuple(ignored))


def species_of(word: str) -> str | None:
    """The species a word names, singular or plural, or None."""
    form = _singular(word)
    return form if form in SPECIES else SYNONYMS.get(form)


def _singular(word: str) -> str:
    """A known word this one may be the plural of; else the word itself, as for 'does', which is no deer."""
    if word in FILLERS:
        return word
    forms = [word, *(word.removesuffix(ending) for ending in ("s", "es", "ren"))]
    forms += [re.sub(plural, singular, word) for plural, singular in (("ies$", "y"), ("ves$", "f"), ("men$", "man"))]
    return next((form for form in forms if form in SPECIES or form in SYNONYMS), word)


def known_species() -> str:
    """All names, for messages."""
    return ", ".join(sorted(SPECIES))


def listing() -> str:
    """The species by body plan, one plan a line."""
    return "\n".join(f"{plan:<11}{', '.join(sorted(names))}" for plan, names in PLANS.items())


def _unclear_species(sentence: str, words: list[str], named: list[str]) -> GambolError:
    if named:
        return GambolError(f"'{sentence}' names more than one animal ({', '.join(named)}); say one at a time")
    vocabulary = [*SPECIES, *SYNONYMS]
    near = [match for word in words if len(word) > 3 for match in difflib.get_close_matches(word, vocabulary, 1, 0.75)]
    guess = f"; did you mean {near[0]}?" if near else "."
    return GambolError(f"'{sentence}' names no animal known here{guess} Known: {known_species()}")


def _shaded(color: str, shade: float) -> str:
    channels = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{min(round(channel * shade), 255):02x}" for channel in channels)
