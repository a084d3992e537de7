"""Hyphens, and slips of the pen: the words of a sentence as the lexicon spells them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from gambol.priors.pocket.language import grammar
from gambol.priors.pocket.language.inflection import forms
from gambol.priors.pocket.language.vocabulary import idiom_words, idioms, longest, nouns, verb_forms

SHORTEST = 6
"""Letters of the shortest word in which a slip is mended; shorter words are too like one another. In a word of one
letter fewer, only swapped letters are."""

REAL_WORDS = """
    attach back bait bang banter barter base bask bass baste bat bawl beheld bet better bible bin bind bode bond
    bone boo book boom boost bore bottle branch breach brow brown buckle bulk bunch bunk bush butter cancer canker
    cape case caster cater center chafe champ chap char charm chart chasm chaste cheep chile chili chimp chip clamp
    clasp class cloak clot cloud cop cradle creak creed creek crepe crew crock crook crumble crutch daily darling
    darn date decrease detour devout diet din dish divine dolly down drone drowse duelled duelling dull dunce dye
    egg empire expiry fast fatter feat feel feint fell fend feud filter fit flat flatter fleece fleet flex flier
    flirt fluster fog foray forge frieze fright full gallon gallows gamble gild glade glaze gong gouge grace grade
    grape grate grave gray great green groovy grove guide gull hale halo halve hark harry haste hat hawk hay hint
    hip hobby hock hoe hoop hovel huddle hurray hurt hustle infest invest itch jibe job keen kink lace lade lambda
    lame lass last lathe lazy leaded leaf leak lease leash limber lime liner linker lisp liter longer lop low lug
    lull lump lush mail marsh mash match meaner meringue mesh mind mint moss mulch mush nimble nose operate overheat
    overlap overrate pack paddy page pale pare parish parole patron patter paunch pave paw peace peddle petrol
    piddle pilot pinch pledge plotter plus pod poise poke pole poodle pool pore porter post poster posy pot prank
    prince prod prong prow pudding puddle pun purse rabble rack rage rail rake rapid rare rash rate raze ream rebel
    reef reek regain relate relay rent repel reset resolve respite retain revel revolt rice rim robe room rope rot
    ruin rumble ruse sallow salvage sand sash scab scar scarcer scare scarier scarves scorch scotch scout scrap
    scribble scroll scuff sear shallow share sharper shin ship shuttle sibling side sin sire site skew skimp skin
    skull skunk slab slay slick slim slosh slot sluice slum slur smear smith smock snare snip snipe snoop soak soap
    sour span spark spat spay spew spice spite splice splint spoon sprig spur spy squire squirt stable stage stale
    stall stamp state stave steak steep stew stint strand strangle stray strove struggle strum stub stubble suite
    swab swap swathe swear swine syringe tack tang tangle tar tester thresh thumb titter top tot trample trap trash
    treat trend troupe trout trust tune turf tweak virtual wad waft wail waist waive waked wall wallow ward waste
    wed weed wheedle wheeze while whine whir whirr white winded wobbly wrest blot buff peak peek perk sickle spinal
    suck swill gorse tort posse tram scam
"""
"""Words that are, in one of their forms, a letter away from a verb of ours, and yet no slips of the pen."""


def as_known(words: Sequence[str]) -> list[str]:
    """Words joined or parted at their hyphens, and mended where one letter is wrong."""
    found: list[str] = []
    for word in words:
        found += _parted(word, found[-1] if found else "") if "-" in word else [_mended(word)]
    return found


def _parted(word: str, before: str) -> list[str]:
    """'tip-toes' is one word, 'about-face' are two, 'power-walks' walks, but 'run-down' does not run."""
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
    return frozenset(spelling for word in REAL_WORDS.split() for spelling in forms(word))


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
