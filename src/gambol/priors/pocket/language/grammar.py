"""The small words of English, and a sentence cut into words."""

from __future__ import annotations

import re


def word_set(text: str) -> frozenset[str]:
    """The words of a text, to look up."""
    return frozenset(text.split())


POSSESSIVES = word_set("my your his her its our their 's")
NUMBERS = word_set("two three four five six seven eight nine ten many several few some both all dozens")
ARTICLES = word_set("a an the these those this that every each no another any")
DETERMINERS = POSSESSIVES | NUMBERS | ARTICLES
PRONOUNS = word_set("""
    i you he she it we they me him us them who which that someone somebody everyone everybody nobody one
""")
RELATIVES = word_set("who which that whose")
PREPOSITIONS = word_set("""
    of in on at for with through over into from between during against without across under like by to toward
    towards near past onto upon beneath below beside along around among amid amidst inside outside behind above
    before after beyond despite off down up round via within amongst alongside underneath about than until till
    since atop as
""")
PLACES = PREPOSITIONS - word_set("""
    inside outside behind above below off down up round about before after along around
""")
"""Prepositions that a noun must follow; the others also stand alone, as in 'the one outside runs'."""
BE = word_set("is are was were be been being am")
HAVE = word_set("has have had having")
MODALS = word_set("can could will would shall should may might must do does did cannot gonna wanna gotta")
CONJUNCTIONS = word_set("and or but then nor yet & plus")
SUBORDINATORS = word_set("""
    while whilst when whenever as because since until till before after if though although once where unless whereas
    wherever so
""")
TOGETHER = word_set("while whilst when as")
"""What joins two things that happen at once."""
NEGATORS = word_set("not never neither nor without unable unwilling afraid incapable")
HARDLY = word_set("hardly barely scarcely")
ADVERBS = word_set("""
    just now still already always also really quite so too again even often sometimes soon almost ever here there
    home indoors outdoors together alone busy perhaps maybe somewhat rather very only once twice finally instead
    afterwards later please upright aside apart anymore nowhere everywhere somewhere ashore overhead upwards
    downwards uphill downhill upstairs downstairs sideways away back forward forwards backward backwards ahead far
    fast hard high low straight nearby long
""")
PARTICLES = word_set("up off out down along around about over by across on in through round")
"""They belong to the verb before them: 'sets off running'."""
NOT_ADVERBS = word_set("""
    fly belly early family ugly jelly lily rely apply supply reply lonely lovely elderly friendly ally butterfly
    dragonfly firefly curly woolly silly wooly bully holly assembly hilly jolly monopoly
""")
ADJECTIVES = word_set("""
    afternoon ancient angry armored armoured bad beautiful big black blue bony brave bright brisk brown calm careful
    cautious cheerful chubby clumsy colorful colossal colourful cool crazy curious cute daily dark deep different
    dry easy elegant empty enormous entire evening evil excited fat favorite favourite feathered fierce fluffy foamy
    fresh friendly frightened full funny furry gentle giant gigantic golden good graceful gray great green grey
    grumpy hairy handsome happy hard heavy hot huge humongous hungry hurried immense joyful large lazy leisurely
    little lone lonely long loud lovely magic magical majestic massive mean mechanical medieval merry mighty modern
    morning muscular narrow nervous new nice nightly noble noisy odd old orange pale pink playful plump powerful
    pretty proud purple quick quiet rapid red robotic rocky rough rusty sad scaly scared shiny short sick silent
    silly silver skilful skillful skinny sleepy slim slow small smooth soft speedy spotted steady stormy stout
    strange striped stripy strong stubby sturdy sudden swift tall tame thick thin thirsty tiny tired tough ugly
    usual vast warm weak wee weird wet white whole wide wild wooden woolly yellow young
""")
"""Common ones that are not nouns as well."""
ADJECTIVE_ENDINGS = tuple(word_set("ous ful less able ible ish legged eyed headed tailed haired like"))
PLURALS = word_set("people men women children mice geese sheep fish deer wolves folk cattle police oxen")
LEFT = word_set("left leftward leftwards counterclockwise anticlockwise port")
RIGHT = word_set("right rightward rightwards clockwise starboard")

CONTRACTIONS = (
    (r"\b(?:can't|cant|cannot)\b", "can not"), (r"\b(?:won't|wont)\b", "will not"), (r"\bain't\b", "is not"),
    (r"\b(do|does|did|is|are|was|were|have|has|had|would|could|should)n'?t\b", r"\1 not"), (r"\blet's\b", "let us"),
    (r"\b(it|he|she|that|there|who|what|here|where)'s\b", r"\1 is"), (r"'re\b", " are"), (r"'m\b", " am"),
    (r"'ll\b", " will"), (r"'ve\b", " have"), (r"'d\b", " would"), (r"in'(?!\w)", "ing"), (r"'s\b", " 's"),
)  # fmt: skip
STOP, PAUSE = ".", ","
"""How the ends of sentences and of their parts are written among the words."""
HELPERS = BE | HAVE | MODALS
LINKS = PREPOSITIONS | CONJUNCTIONS | SUBORDINATORS | {STOP, PAUSE}
SMALL_WORDS = LINKS | DETERMINERS | HELPERS | PRONOUNS | NEGATORS | {""}


def cut(text: str) -> list[str]:
    """The words of a text in small letters, hyphens kept, contractions spelt out; punctuation as '.' or ','."""
    text = re.sub("[\u2018\u2019\u02bc`\u00b4]", "'", text.lower()).replace("_", " ")
    text = re.sub(r"\s[-\u2013\u2014]+\s|[\u2013\u2014]|\.\.\.|\u2026|[;:()\[\]\"\u201c\u201d/|]", " , ", text)
    text = re.sub(r"\b(?:counter|anti)[-\s]clockwise", "counterclockwise", text)
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
    return word not in SMALL_WORDS and not is_adverb(word)
