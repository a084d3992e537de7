"""What a sentence says about a creature: which animal, its colours, its size, what it does."""

import difflib
import re
from dataclasses import dataclass

from gambol.creatures.species import PLANS, SPECIES
from gambol.errors import GambolError

SYNONYMS = {
    "puppy": "dog", "hound": "dog", "labrador": "dog", "kitten": "cat", "kitty": "cat", "tomcat": "cat",
    "lioness": "lion", "grizzly": "bear", "rat": "mouse", "mice": "mouse", "bunny": "rabbit", "hare": "rabbit",
    "pony": "horse", "stallion": "horse", "mare": "horse", "foal": "horse", "mustang": "horse", "ass": "donkey",
    "mule": "donkey", "bull": "cow", "ox": "cow", "calf": "cow", "cattle": "cow", "lamb": "sheep", "ram": "sheep",
    "ewe": "sheep", "hog": "pig", "piglet": "pig", "boar": "pig", "swine": "pig", "stag": "deer", "doe": "deer",
    "fawn": "deer", "reindeer": "deer", "buck": "deer", "moose": "deer", "elk": "deer", "rhinoceros": "rhino",
    "hippopotamus": "hippo", "alligator": "crocodile", "croc": "crocodile", "gecko": "lizard", "iguana": "lizard",
    "salamander": "lizard", "turtle": "tortoise", "man": "human", "person": "human", "guy": "human", "boy": "child",
    "girl": "child", "kid": "child", "toddler": "child", "lady": "woman", "android": "robot",
    "spaceman": "astronaut", "cosmonaut": "astronaut", "tyrannosaurus": "trex", "tyrannosaur": "trex",
    "rex": "trex", "dinosaur": "trex", "raptor": "velociraptor", "wallaby": "kangaroo", "emu": "ostrich",
    "mallard": "duck", "duckling": "duck", "hen": "chicken", "rooster": "chicken", "cock": "chicken",
    "ladybird": "ladybug", "tarantula": "spider",
}  # fmt: skip
YOUNG = ("puppy", "kitten", "foal", "calf", "lamb", "piglet", "fawn", "duckling")
"""Names of young animals; they are also smaller."""

COLORS = {
    "brown": "#6f4526", "black": "#1c1a1a", "white": "#f2efe8", "grey": "#86827e", "gray": "#86827e",
    "red": "#b5322a", "orange": "#d9772b", "yellow": "#e2c23a", "golden": "#d2a24a", "gold": "#d2a24a",
    "green": "#4f8f3a", "blue": "#3a62b5", "purple": "#7a4a9a", "violet": "#7a4a9a", "pink": "#e59aa6",
    "beige": "#d8c4a0", "cream": "#efe2c4", "tan": "#c39a63", "chestnut": "#7b3f22", "silver": "#b5b8ba",
    "turquoise": "#3aa89e", "ginger": "#c9702e",
}  # fmt: skip
SHADES = {"dark": 0.55, "light": 1.35, "pale": 1.45, "bright": 1.15}
SIZES = {
    "tiny": 0.4, "mini": 0.4, "miniature": 0.4, "baby": 0.5, "small": 0.7, "little": 0.7, "short": 0.8,
    "young": 0.7, "tall": 1.25, "big": 1.4, "large": 1.4, "huge": 2.0, "enormous": 2.5, "giant": 3.0,
    "gigantic": 3.0,
}  # fmt: skip
ACTIONS = {
    "walk": ("walk", "walks", "walking", "strolling"),
    "trot": ("trot", "trots", "trotting"),
    "jog": ("jog", "jogs", "jogging"),
    "pace": ("pace", "paces", "pacing"),
    "gallop": ("gallop", "gallops", "galloping"),
    "run": ("run", "runs", "running"),
    "hop": ("hop", "hops", "hopping"),
    "jump": ("jump", "jumps", "jumping", "leaping"),
    "idle": ("idle", "idles", "stands", "standing", "breathing", "waiting"),
    "turn": ("turn", "turns", "turning"),
}
SIDES = ("left", "right")
"""Where a turn goes."""
FILLERS = {
    "a", "an", "the", "is", "does", "that", "which", "who", "and", "with", "of", "in", "on", "to", "my", "one", "very",
}  # fmt: skip


@dataclass(frozen=True)
class Wish:
    """What was understood of a sentence."""

    species: str
    color: str | None = None
    """The main colour, '#rrggbb'."""
    color_words: str = ""
    scale: float = 1.0
    """Size relative to the animal's own."""
    size_words: str = ""
    action: str | None = None
    ignored: tuple[str, ...] = ()
    """Words that mean nothing here."""

    def __str__(self) -> str:
        size = f"{self.size_words} ({self.scale:.2g}x)" if self.size_words else ""
        details = ", ".join(part for part in (self.color_words, size, self.action) if part)
        told = f"{self.species}: {details}" if details else self.species
        return told + (f"; not understood: {', '.join(self.ignored)}" if self.ignored else "")


def understand(sentence: str) -> Wish:
    """Find the animal, its colour, size and action. Raises if there is no known animal, or more than one."""
    spoken_plainly = re.sub(r"\bt[\s._-]*rex\b", "trex", sentence.lower())
    words = re.findall(r"\d+(?:[.,]\d+)*[^\W\d_]*|[^\W\d_]+", spoken_plainly)  # '2.5m' is one word
    named = {species_of(word): word for word in words if species_of(word)}
    if len(named) != 1:
        raise _confused(sentence, words, [name for name in named if name])
    ((species, spoken),) = named.items()
    assert species is not None
    color: str | None = None
    action: str | None = None
    side: str | None = None
    scale, color_words, size_words, ignored = 1.0, list[str](), list[str](), list[str]()
    if (young := _singular(spoken)) in YOUNG:
        scale, size_words = 0.5, [young]
    shade = 1.0
    for word in words:
        doing = next((name for name, forms in ACTIONS.items() if word in forms), None)
        if word in COLORS and color is None:
            color, color_words, shade = _shaded(COLORS[word], shade), [*color_words, word], 1.0
        elif word in SHADES and color is None:
            shade, color_words = SHADES[word], [*color_words, word]
        elif word in SIZES:
            scale, size_words = scale * SIZES[word], [*size_words, word]
        elif doing and action is None:
            action = doing
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
    return Wish(species, color, " ".join(color_words), scale, " ".join(size_words), action, tuple(ignored))


def species_of(word: str) -> str | None:
    """The species a word names, singular or plural, or None."""
    form = _singular(word)
    return form if form in SPECIES else SYNONYMS.get(form)


def _singular(word: str) -> str:
    """A known word this one may be the plural of; else the word itself, as for 'does', which is no deer."""
    if word in FILLERS:
        return word
    forms = [
        word,
        word.removesuffix("s"),
        word.removesuffix("es"),
        re.sub("ies$", "y", word),
        re.sub("ves$", "f", word),
    ]
    forms += [re.sub("men$", "man", word), word.removesuffix("ren")]
    return next((form for form in forms if form in SPECIES or form in SYNONYMS), word)


def known_species() -> str:
    """All names, for messages."""
    return ", ".join(sorted(SPECIES))


def listing() -> str:
    """The species by body plan, one plan a line."""
    return "\n".join(f"{plan:<11}{', '.join(sorted(names))}" for plan, names in PLANS.items())


def _confused(sentence: str, words: list[str], named: list[str]) -> GambolError:
    if named:
        return GambolError(f"'{sentence}' names more than one animal ({', '.join(named)}); say one at a time")
    vocabulary = [*SPECIES, *SYNONYMS]
    near = [match for word in words if len(word) > 3 for match in difflib.get_close_matches(word, vocabulary, 1, 0.75)]
    guess = f"; did you mean {near[0]}?" if near else "."
    return GambolError(f"'{sentence}' names no animal known here{guess} Known: {known_species()}")


def _shaded(color: str, shade: float) -> str:
    channels = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{min(round(channel * shade), 255):02x}" for channel in channels)
