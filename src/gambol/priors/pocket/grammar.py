"""The small words of English, and a sentence cut into words."""

from __future__ import annotations

import re

POSSESSIVES = frozenset("my your his her its our their 's".split())
NUMBERS = frozenset("two three four five six seven eight nine ten many several few some both all dozens".split())
ARTICLES = frozenset("a an the these those this that every each no another any".split())
DETERMINERS = POSSESSIVES | NUMBERS | ARTICLES
PRONOUNS = frozenset(
    "i you he she it we they me him us them who which that someone somebody everyone everybody nobody one".split()
)
RELATIVES = frozenset("who which that whose".split())
PREPOSITIONS = frozenset(
    """of in on at for with through over into from between during against without across under like by to toward towards
    near past onto upon beneath below beside along around among amid amidst inside outside behind above before after
    beyond despite off down up round via within amongst alongside underneath about than until till since atop as""".split()
)
PLACES = PREPOSITIONS - frozenset("inside outside behind above below off down up round about before after along around".split())
"""Prepositions that a noun must follow; the others also stand alone, as in 'the one outside runs'."""
BE = frozenset("is are was were be been being am".split())
HAVE = frozenset("has have had having".split())
MODALS = frozenset("can could will would shall should may might must do does did cannot gonna wanna gotta".split())
CONJUNCTIONS = frozenset("and or but then nor yet & plus".split())
SUBORDINATORS = frozenset(
    """while whilst when whenever as because since until till before after if though although once where unless whereas
    wherever so""".split()
)
TOGETHER = frozenset("while whilst when as".split())
"""What joins two things that happen at once."""
NEGATORS = frozenset("not never neither nor without unable unwilling afraid incapable".split())
HARDLY = frozenset("hardly barely scarcely".split())
ADVERBS = frozenset(
    """just now still already always also really quite so too again even often sometimes soon almost ever right here there
    home indoors outdoors outside away back out off up down along around about forward forwards backward backwards ahead
    together alone busy perhaps maybe somewhat rather very far fast hard high low straight away only once twice first
    then finally instead happily afterwards later next please please, upright aside apart across over by anymore
    nowhere everywhere somewhere ashore overhead upwards downwards uphill downhill upstairs downstairs sideways""".split()
)
NOT_ADVERBS = frozenset("fly belly early family ugly jelly lily rely apply supply reply lonely lovely elderly friendly ally "
                        "butterfly dragonfly firefly curly woolly silly wooly bully holly assembly hilly jolly monopoly".split())  # fmt: skip
ADJECTIVES = frozenset(
    """big small large little tiny huge giant gigantic enormous tall short long high low deep wide narrow thin thick fat
    slim heavy light old young new ancient modern fast slow quick swift rapid brisk hot cold warm cool wet dry hard soft
    loud quiet strong weak brave proud happy sad angry tired sleepy lazy hungry thirsty grumpy cute beautiful pretty
    handsome ugly nice good bad great wild tame fierce gentle calm rough smooth rocky stormy foamy gentle crashing rolling
    red orange yellow green blue purple pink brown black white grey gray golden silver dark bright pale colourful colorful
    furry fluffy hairy woolly scaly feathered striped spotted stripy armoured armored robotic mechanical metal wooden
    stone friendly evil mean clumsy graceful elegant noble majestic magic magical mighty powerful muscular skinny baby
    adult fellow lone lonely single other same different own whole entire full empty fresh early late final last first
    second next nervous scared frightened excited playful curious drunk sick injured wounded blind lame undead dead alive
    best better worst favourite favorite daily morning evening nightly funny crazy silly weird strange odd noisy silent
    rapid leisurely lazy hurried speedy sudden steady easy light quiet cautious careful nice lovely left right legged
    eyed tailed haired plump chubby stubby bony tough rusty shiny old-fashioned medieval skilful skillful sturdy stout
    wee massive colossal immense vast little humongous cheerful joyful merry dashing ocean sea sound tidal""".split()
)
ADJECTIVE_ENDINGS = ("ous", "ful", "less", "able", "ible", "ish", "legged", "eyed", "headed", "tailed", "haired", "like")
PLURALS = frozenset("people men women children mice geese sheep fish deer wolves folk cattle police oxen".split())
LEFT = frozenset("left leftward leftwards counterclockwise anticlockwise port".split())
RIGHT = frozenset("right rightward rightwards clockwise starboard".split())

CONTRACTIONS = (
    (r"\b(?:can't|cant|cannot)\b", "can not"), (r"\b(?:won't|wont)\b", "will not"), (r"\bain't\b", "is not"),
    (r"\b(do|does|did|is|are|was|were|have|has|had|would|could|should)n'?t\b", r"\1 not"), (r"\blet's\b", "let us"),
    (r"\b(it|he|she|that|there|who|what|here|where)'s\b", r"\1 is"), (r"'re\b", " are"), (r"'m\b", " am"),
    (r"'ll\b", " will"), (r"'ve\b", " have"), (r"'d\b", " would"), (r"in'(?!\w)", "ing"), (r"'s\b", " 's"),
)  # fmt: skip
STOP, PAUSE = ".", ","
"""How the ends of sentences and of their parts are written among the words."""


def cut(text: str) -> list[str]:
    """The words of a text in small letters, hyphens kept, contractions spelt out; punctuation as '.' or ','."""
    text = re.sub("[\u2018\u2019\u02bc`\u00b4]", "'", text.lower()).replace("_", " ")
    text = re.sub(r"\s[-\u2013\u2014]+\s|[\u2013\u2014]|\.\.\.|\u2026|[;:()\[\]\"\u201c\u201d/|]", " , ", text)
    for spoken, plain in CONTRACTIONS:
        text = re.sub(spoken, plain, text)
    words = re.findall(r"'s(?!\w)|\d+|[^\W\d_]+(?:-[^\W\d_]+)*|[.,!?&\n]", text)
    return [STOP if word in ".!?\n" else PAUSE if word == "," else word for word in words]


def is_adverb(word: str) -> bool:
    return word in ADVERBS or (word.endswith("ly") and len(word) > 4 and word not in NOT_ADVERBS)


def is_adjective(word: str) -> bool:
    return word in ADJECTIVES or (word.endswith(ADJECTIVE_ENDINGS) and len(word) > 5)


def is_plural(word: str) -> bool:
    return word in PLURALS or (word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3)


def may_be_noun(word: str) -> bool:
    """Whether a word could be the noun that an adjective before it describes."""
    small = DETERMINERS | PREPOSITIONS | CONJUNCTIONS | SUBORDINATORS | BE | HAVE | MODALS | PRONOUNS | {STOP, PAUSE, ""}
    return word not in small and not is_adverb(word) and word not in NEGATORS
