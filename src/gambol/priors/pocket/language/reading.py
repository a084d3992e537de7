"""How a sentence uses its verbs: which tells what the character does, which only describe, which are denied.

There is no parser here: the words just before and after a verb tell enough.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

from gambol.priors.pocket.language import grammar, lexicon
from gambol.priors.pocket.language.grammar import PAUSE, STOP, is_adjective, is_plural, may_be_noun
from gambol.priors.pocket.language.inflection import Form
from gambol.priors.pocket.language.sentence import Sentence
from gambol.priors.pocket.language.vocabulary import Idiom, Sense, idioms, longest, nouns, verb_forms


class Rank(IntEnum):
    """How strongly a word's place says that it is what the character does."""

    NONE = 0
    NAMED = 1
    """As a noun: 'a walk cycle'."""
    SUBORDINATE = 2
    """'when the cat eats'"""
    HINT = 3
    """'crosses the road', 'on foot'"""
    DESCRIBING = 4
    """'a galloping horse'"""
    BESIDE = 5
    """'a fox that walks', 'a fox walking', '..., walking', 'at a walk'"""
    MAIN = 6
    """The verb of the sentence."""


@dataclass(frozen=True)
class Deed:
    """A verb, an idiom or a noun in its place, from word `start` to before word `end`."""

    start: int
    end: int
    sense: Sense
    rank: Rank
    form: Form | None = None
    denied: bool = False
    relative: bool = False
    """Whether it is in a clause that describes a noun."""


RANKS = {"main": Rank.MAIN, "relative": Rank.BESIDE, "subordinate": Rank.SUBORDINATE}
"""What a finite verb says in each kind of clause."""
FINITE_HELPERS = grammar.HELPERS - {"be", "been", "being", "having"}
DENIALS = {("instead", "of"), ("rather", "than"), ("no", "longer"), ("used", "to")}
STANDING = Sense("not move", "action", "stand")
DONE_TO_THINGS = ("eat", "attack", "kick", "punch", "wave")
ON_A = ("walk", "trot", "run", "attack")


class Reader:
    """Reads a sentence from left to right and collects the deeds in it."""

    def __init__(self, sentence: Sentence) -> None:
        self.sentence = sentence
        self.deeds: list[Deed] = []
        self.clause = "main"  # what the next finite verb belongs to
        self.told = "main"  # what the last finite verb belonged to
        self.enclosed = False  # whether the last relative clause began after a comma
        self.denied = False
        self.hardly = False
        self.watched = False  # whether what follows is what someone looks at
        self.last: Deed | None = None  # the last verb of any kind
        self.light: Deed | None = None  # a light verb that waits for its noun

    def read(self) -> list[Deed]:
        at = 0
        while at < len(self.sentence):
            found = longest(idioms(), self.sentence.words, at)
            if found:
                self._idiom(found[0], at, found[1])
            elif not self._is_small(at):
                self._word(at)
            at = found[1] if found else at + 1
        return self.deeds

    def _idiom(self, idiom: Idiom, start: int, end: int) -> None:
        sense = idiom.sense.among(self.sentence.rest_before(start), self.sentence.rest_after(end - 1))
        if idiom.head is not None:
            head = start + idiom.head
            self._verb(start, end, sense, idiom.head_forms[self.sentence[head]], head)
        elif sense.kind in ("action", "weak"):
            self._add(Deed(start, end, sense, Rank.BESIDE))

    def _is_small(self, at: int) -> bool:
        """Whether a word is one that changes what follows; if so, note how."""
        word, after = self.sentence[at], self.sentence[at + 1]
        if word in (STOP, PAUSE):
            self.clause, self.denied, self.watched, self.light = "main", False, False, None
            self.last = None if word == STOP else self.last
        elif word in grammar.CONJUNCTIONS:
            self.denied = word in ("or", "nor") and self.last is not None and self.last.denied
            self.watched, self.light = False, None
        elif (word in grammar.NEGATORS and after not in ("only", "just")) or (word, after) in DENIALS:
            self.denied = True
        elif word in grammar.HARDLY:
            self.hardly = True
        elif word in grammar.RELATIVES and at and (word != "that" or may_be_noun(self.sentence[at - 1])):
            self.clause, self.enclosed = "relative", self.sentence[at - 1] == PAUSE
        elif word in grammar.SUBORDINATORS:
            self.clause = "subordinate"
        else:
            return False
        return True

    def _word(self, at: int) -> None:
        word, after = self.sentence[at], self.sentence.after(at + 1)
        if word == "still" and self.sentence.before(at) in grammar.BE and not may_be_noun(after):
            self._add(Deed(at, at + 1, STANDING, Rank.BESIDE))
        elif word in FINITE_HELPERS or (word == "'s" and "ing" in self.sentence.forms(after)):
            if self.sentence[at - 1] not in grammar.CONJUNCTIONS:
                self._finite()
            sense = verb_forms()[word][0] if word in verb_forms() else Sense("can", "light")
            self.last = self.light = Deed(at, at + 1, sense, RANKS[self.told], denied=self.denied)
        elif word in verb_forms():
            sense, forms = verb_forms()[word]
            sense = sense.among(self.sentence.rest_before(at), self.sentence.rest_after(at))
            if sense.lemma in lexicon.OBJECTLESS and self._has_object(at + 1):
                sense = replace(sense, kind="other")
            self._verb(at, at + 1, sense, forms, at)
        elif word in nouns():
            self._noun(at)

    def _has_object(self, at: int) -> bool:
        if self.sentence[at] not in {"a", "an", "the"} | grammar.POSSESSIVES:
            return False
        return not lexicon.MEASURES.intersection(self.sentence.span(at + 1, at + 4))

    # What becomes of a verb.

    def _verb(self, start: int, end: int, sense: Sense, forms: frozenset[Form], head: int) -> None:
        rank, form = self._place(start, end, sense, forms, head)
        if rank == Rank.NAMED and form in ("base", "s") and end == start + 1:
            self._noun(start, sense)
        elif rank > Rank.NONE:
            describes = self.told == "relative" and rank == Rank.BESIDE and form != "ing"
            self._govern(Deed(start, end, sense, rank, form, self._is_denied(start, end, form), describes))

    def _is_denied(self, start: int, end: int, form: Form) -> bool:
        """'not walking and running', 'too tired to walk', 'walks no more'."""
        joined = self.sentence[start - 1] == "and" and form in ("base", "ing")
        with_last = joined and self.last is not None and self.last.denied and self.last.form == form
        too_much = self.sentence.before(start) == "to" and "too" in self.sentence.span(start - 4, start)
        return self.denied or with_last or too_much or self.sentence.span(end, end + 2) == ("no", "more")

    def _govern(self, deed: Deed) -> None:
        """Note what a verb does to the next: who stops running does not run, who refuses to walk does not walk."""
        lemma, follows = deed.sense.lemma, self.sentence.after(deed.end)
        if lemma in lexicon.STOPPING and "ing" in self.sentence.forms(follows):
            if lemma != "finish" and not deed.denied:
                self._add(replace(deed, sense=replace(deed.sense, kind="weak", action="stand")))
            self.denied, self.last = not deed.denied, deed
        elif lemma in lexicon.REFUSING and follows == "to":
            self.denied, self.last = not deed.denied, deed
        elif lemma in lexicon.STOPPING and follows == "to":
            self.last = replace(deed, sense=replace(deed.sense, kind="light"))
        else:
            self._settle(deed)

    def _settle(self, deed: Deed) -> None:
        if deed.sense.kind == "move":
            if deed.denied or self.hardly:
                self._add(replace(deed, sense=STANDING, denied=False))
            self.denied = False
        elif deed.sense.kind == "light":
            self.light = deed
        else:
            self._add(deed)
            self.denied, self.light = False, None
        if deed.sense.lemma in lexicon.PERCEIVING and deed.form not in ("base", "participle"):
            self.watched = True
        self.last = deed

    def _add(self, deed: Deed) -> None:
        weak = deed.sense.kind == "weak"
        self.deeds.append(replace(deed, rank=min(deed.rank, Rank.HINT)) if weak else deed)

    def _finite(self) -> Rank:
        """The rank of a finite verb, which settles its clause."""
        self.told, self.clause = self.clause, "main"
        return RANKS[self.told]

    # Where a verb stands.

    def _place(self, start: int, end: int, sense: Sense, forms: frozenset[Form], head: int) -> tuple[Rank, Form]:
        """How a verb is used, and as which of its forms."""
        if "ing" in forms:
            return self._place_ing(start, end, sense), "ing"
        if "s" in forms:
            return self._place_s(head, end), "s"
        if "base" in forms:
            rank = self._place_base(start)
            if rank > Rank.NAMED or "past" not in forms:
                return rank, "base"
        return self._place_past(head, end, forms), "past" if "past" in forms else "participle"

    def _place_ing(self, start: int, end: int, sense: Sense) -> Rank:
        before, after = self.sentence.before(start, over_particles=True), self.sentence[end]
        describes = _describes(before) or (before == PAUSE and is_adjective(self.sentence[start - 2]))
        if f"{self.sentence[start]} {after}" in lexicon.NAMES:
            return Rank.NONE
        if after in lexicon.THINGS and (
            describes or before in grammar.PREPOSITIONS or sense.action not in DONE_TO_THINGS
        ):
            return Rank.NONE
        if before in grammar.BE or before == "'s" or self.sentence.span(start - 2, start) in MIDST:
            return RANKS[self.told]
        if before in grammar.TOGETHER:
            self.clause = "main"
            return Rank.BESIDE
        if self.sentence[start - 1] == "by":
            return Rank.BESIDE
        if describes:
            return self._place_describing(start, end)
        if before in grammar.PREPOSITIONS:
            if not may_be_noun(after):
                return Rank.SUBORDINATE
            return Rank.DESCRIBING if before == "of" or after in lexicon.CARRIERS else Rank.NONE
        governed = self.last and self.last.sense.kind == "light" and before == self.sentence[self.last.end - 1]
        if self.last and (governed or before in grammar.CONJUNCTIONS):
            return self.last.rank
        return Rank.NONE if self.watched else Rank.BESIDE

    def _place_describing(self, start: int, end: int) -> Rank:
        """'a galloping horse', but not 'beside a galloping horse'."""
        if self.sentence[start] in lexicon.LOOKS:
            return Rank.NONE
        if not may_be_noun(self.sentence[end]):
            return Rank.NAMED
        at = self.sentence.leader(start)
        pictured = self.sentence[at] == "of" and self.sentence[at - 1] in lexicon.PICTURES
        elsewhere = self.sentence[at] in grammar.PREPOSITIONS and self.sentence[end] not in lexicon.CARRIERS
        return Rank.DESCRIBING if pictured or not elsewhere else Rank.NONE

    def _place_s(self, start: int, end: int) -> Rank:
        before, directly, word = self.sentence.before(start), self.sentence[start - 1], self.sentence[start]
        if (_describes(before) and before not in STAND_ALONE) or directly in grammar.PLACES or before.isdigit():
            return Rank.NAMED
        if self.last and self.last.end == start and self.told == "main" and directly not in grammar.BE:
            return Rank.NAMED  # an object: 'eats flies'
        if "ing" in self.sentence.forms(directly) and word in lexicon.THINGS:
            return Rank.NONE
        if not before and word in lexicon.BETTER_NOUNS and self._starts_predicate(end):
            return Rank.NONE
        listed = directly == PAUSE and self.last and self.last.relative and not self.enclosed
        if listed or (self.last and (directly in grammar.CONJUNCTIONS or before == "then")):
            return RANKS[self.told]
        at_once = self.clause == "subordinate" and grammar.TOGETHER.intersection(self.sentence.span(start - 4, start))
        rank = self._finite()
        return max(rank, Rank.BESIDE) if at_once and before in grammar.PRONOUNS else rank

    def _starts_predicate(self, at: int) -> bool:
        word = self.sentence.after(at)
        return word in FINITE_HELPERS or "base" in self.sentence.forms(word)

    def _place_base(self, start: int) -> Rank:
        before, directly = self.sentence.before(start), self.sentence[start - 1]
        if before == "to":
            return self._place_infinitive(start)
        if before in grammar.MODALS | grammar.NEGATORS:
            return RANKS[self.told]
        if before in ("", STOP, PAUSE):
            return Rank.MAIN if self.sentence[start] not in lexicon.BARE_NOUNS else Rank.NONE
        if before in grammar.PRONOUNS:
            return self._finite()
        if before in grammar.CONJUNCTIONS:
            return self.last.rank if self.last else Rank.MAIN
        if self.watched:
            return Rank.NONE
        caused = self.last and self.last.sense.lemma in lexicon.CAUSING and self.last.end < start
        asked = self.sentence[0] in grammar.MODALS and not self.deeds
        if caused or asked:
            return Rank.MAIN if directly not in ("a", "an", "the") else Rank.NAMED
        if _describes(before) or before.isdigit() or directly in grammar.PREPOSITIONS:
            return Rank.NAMED
        if self.last and self.last.sense.kind == "light" and self.last.end == start:
            return self.last.rank
        several = self.last is None and "and" in self.sentence.span(start - 5, start)
        return self._finite() if several or is_plural(before) else Rank.NAMED

    def _place_infinitive(self, start: int) -> Rank:
        """'wants to run' is the verb of its sentence; in 'opens its mouth to bite', biting is beside it."""
        if self.last is None:
            return Rank.MAIN
        governed = self.last.sense.kind == "light" and start - self.last.end <= 4
        return self.last.rank if governed else Rank.BESIDE

    def _place_past(self, start: int, end: int, forms: frozenset[Form]) -> Rank:
        before, directly = self.sentence.before(start), self.sentence[start - 1]
        if before in grammar.HAVE:
            return RANKS[self.told] if before != "having" else Rank.SUBORDINATE
        if before in grammar.BE or "past" not in forms or self.sentence[end] == "by":
            return RANKS[self.told] if self.sentence[start] in SEEN else Rank.NONE  # something is done to it
        if (_describes(before) and before not in STAND_ALONE) or directly in grammar.PLACES:
            return Rank.NONE
        if self.last and directly in grammar.CONJUNCTIONS:
            return RANKS[self.told]
        return self._finite()

    # Nouns.

    def _noun(self, at: int, verb: Sense | None = None) -> None:
        """'takes a stroll', 'at a gallop', 'a walk cycle'; 'fox wave', where what could be a verb stands for a noun."""
        word, before = self.sentence[at], self.sentence.before(at)
        if word not in nouns():
            if verb and self._stands_bare(at) and may_be_noun(before) and not is_adjective(before):
                self._settle(Deed(at, at + 1, verb, Rank.NAMED, "base", self.denied))
            return
        sense, leader = nouns()[word], self.sentence.leader(at)
        if self.light and at - self.light.end < 7 and self._takes(self.light, at):
            denied = self.denied or self.light.denied
            deed = replace(self.light, end=at + 1, sense=sense, denied=denied)
            self.denied, self.light, self.last = False, None, deed
            self._add(deed)
        elif is_plural(word) and self.sentence[leader] in grammar.PREPOSITIONS:
            return
        elif self._is_manner(leader, at, sense):
            self._add(Deed(leader, at + 1, sense, Rank.BESIDE, denied=self.denied))
        elif word not in lexicon.THING_NOUNS and (self.sentence[leader] == "of" or self._stands_bare(at)):
            self._add(Deed(at, at + 1, sense, Rank.NAMED, denied=self.denied))

    def _takes(self, light: Deed, at: int) -> bool:
        """Whether a light verb takes a noun: 'goes for a walk', but not 'goes past a dance'."""
        between = grammar.PREPOSITIONS.intersection(self.sentence.span(light.end, at))
        if light.sense.lemma == "be" and not between:
            return self.sentence[light.end] in ("a", "an", "the")
        return between <= (TAKING | {"to", "from"} if light.sense.lemma in lexicon.CHANGING else TAKING)

    def _is_manner(self, leader: int, at: int, sense: Sense) -> bool:
        word = self.sentence[leader]
        if word == "in":
            return self.sentence[at - 1] in ("full", "mid")
        return word in ("at", "with", "for", "mid") or (word == "on" and sense.action in ON_A)

    def _stands_bare(self, at: int) -> bool:
        """Whether a noun is what the sentence is about, and not where something else is."""
        return not grammar.PREPOSITIONS.intersection(self.sentence.span(at - 4, at))


TAKING = grammar.word_set("for on into at off out up with down")
STAND_ALONE = grammar.word_set("that this each another one all both")
"""What describes a noun and also stands for one: 'that walks'."""
MIDST = (("middle", "of"), ("process", "of"), ("act", "of"))
SEEN = ("seen", "spotted", "caught", "filmed")


def _describes(word: str) -> bool:
    return word in grammar.DETERMINERS or is_adjective(word)
