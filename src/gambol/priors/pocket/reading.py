"""How a sentence uses its verbs: which tells what the character does, which only describe, which are denied.

There is no parser here: the words just before and after a verb tell enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from gambol.priors.pocket import grammar, lexicon
from gambol.priors.pocket.grammar import PAUSE, STOP, is_adjective, is_adverb, is_plural, may_be_noun
from gambol.priors.pocket.inflection import Form
from gambol.priors.pocket.vocabulary import Idiom, Sense, group, idioms, longest, nouns, verb_forms


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
    """A verb, an idiom or a noun in its place: `words[start:end]`."""

    start: int
    end: int
    sense: Sense
    rank: Rank
    form: Form | None = None
    denied: bool = False
    relative: bool = False
    """In a clause that describes a noun."""


RANKS = {"main": Rank.MAIN, "relative": Rank.BESIDE, "subordinate": Rank.SUBORDINATE}
FINITE_HELPERS = (grammar.BE | grammar.HAVE | grammar.MODALS) - {"be", "been", "being", "having"}
DENIALS = {("instead", "of"), ("rather", "than"), ("no", "longer"), ("used", "to")}
CAUSING = group("make let have help see watch want get like love need ask tell force order command allow train show")
ON_A = ("walk", "trot", "run", "attack")
DONE_TO_THINGS = ("eat", "attack", "kick", "punch", "wave")
STANDING = Sense("not move", "action", "stand")


class Reader:
    """Reads words from left to right and collects the deeds."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
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
        while at < len(self.words):
            found = longest(idioms(), self.words, at)
            if found:
                self._idiom(*found, at)
                at = found[1]
            else:
                self._word(at)
                at += 1
        return self.deeds

    def _idiom(self, idiom: Idiom, end: int, start: int) -> None:
        sense = idiom.sense.among(self.words[:start], self.words[end:])
        if idiom.head is not None:
            self._verb(start, end, sense, idiom.head_forms[self.words[start + idiom.head]], start + idiom.head)
        elif sense.kind in ("action", "weak"):
            self._add(Deed(start, end, sense, Rank.BESIDE))

    def _word(self, at: int) -> None:
        word = self.words[at]
        if self._is_small(at):
            return
        if word == "still" and self._before(at) in grammar.BE and not may_be_noun(self._after(at + 1)):
            self._add(Deed(at, at + 1, STANDING, Rank.BESIDE))
        elif word in FINITE_HELPERS or (word == "'s" and "ing" in self._forms(self._after(at + 1))):
            if self._at(at - 1) not in grammar.CONJUNCTIONS:
                self._finite()
            lemma = verb_forms()[word][0] if word in verb_forms() else Sense("can", "light")
            self.last = self.light = Deed(at, at + 1, lemma, RANKS[self.told], denied=self.denied)
        elif word in verb_forms():
            sense, forms = verb_forms()[word]
            sense = sense.among(self._sentence(at, -1), self._sentence(at, 1))
            if sense.lemma in lexicon.OBJECTLESS.split() and self._has_object(at + 1):
                sense = replace(sense, kind="other")
            self._verb(at, at + 1, sense, forms)
        elif word in nouns():
            self._noun(at)

    # Small words.

    def _is_small(self, at: int) -> bool:
        """Note what a small word does to what follows; whether it was one."""
        word, after = self.words[at], self._at(at + 1)
        if word in (STOP, PAUSE):
            self.clause, self.denied, self.watched, self.light = "main", False, False, None
            self.last = None if word == STOP else self.last
        elif word in ("or", "nor"):
            self.denied, self.watched, self.light = self.last is not None and self.last.denied, False, None
        elif word in grammar.CONJUNCTIONS:
            self.denied, self.watched, self.light = False, False, None
        elif (word in grammar.NEGATORS and after not in ("only", "just")) or (word, after) in DENIALS:
            self.denied = True
        elif word in grammar.HARDLY:
            self.hardly = True
        elif word in grammar.RELATIVES and at and (word != "that" or may_be_noun(self._at(at - 1))):
            self.clause, self.enclosed = "relative", self._at(at - 1) == PAUSE
        elif word in grammar.SUBORDINATORS:
            self.clause = "subordinate"
        else:
            return False
        return True

    def _finite(self) -> Rank:
        """The rank of a finite verb, which settles its clause."""
        self.told, self.clause = self.clause, "main"
        return RANKS[self.told]

    # Verbs.

    def _verb(self, start: int, end: int, sense: Sense, forms: frozenset[Form], head: int | None = None) -> None:
        rank, form = self._place(start, end, forms, start if head is None else head, sense)
        if rank == Rank.NAMED and form in ("base", "s") and end == start + 1:
            return self._noun(start, sense)
        if rank == Rank.NONE:
            return None
        also_denied = self.last and self.last.denied and self.last.form == form and self._at(start - 1) == "and"
        denied = self.denied or bool(also_denied and form in ("base", "ing"))
        if form == "base" and "too" in self.words[max(start - 4, 0) : start] and self._before(start) == "to":
            denied = True
        denied = denied or tuple(self.words[end : end + 2]) == ("no", "more")
        deed = Deed(start, end, sense, rank, form, denied, self.told == "relative" and rank == Rank.BESIDE and form != "ing")
        follows = self._after(end)
        if sense.lemma in lexicon.STOPPING.split() and "ing" in self._forms(follows):
            if sense.lemma != "finish" and not denied:
                self._add(replace(deed, sense=replace(sense, kind="weak", action="stand")))
            self.denied, self.last = not denied, deed
        elif sense.lemma in lexicon.REFUSING.split() and follows == "to":
            self.denied, self.last = not denied, deed
        elif sense.lemma in lexicon.STOPPING.split() and follows == "to":
            self.last = replace(deed, sense=replace(sense, kind="light"))
        else:
            self._settle(deed)
        return None

    def _settle(self, deed: Deed) -> None:
        """Keep a deed, and note what it does to what follows."""
        kind = deed.sense.kind
        if kind == "move":
            if deed.denied or self.hardly:
                self._add(replace(deed, sense=STANDING, denied=False))
            self.denied = False
        elif kind == "light":
            self.light = deed
        else:
            self._add(deed)
            self.denied, self.light = False, None
        if deed.sense.lemma in lexicon.PERCEIVING.split() and deed.form not in ("base", "participle"):
            self.watched = True
        self.last = deed

    def _add(self, deed: Deed) -> None:
        if deed.sense.kind == "weak":
            deed = replace(deed, rank=min(deed.rank, Rank.HINT))
        self.deeds.append(deed)

    def _place(self, start: int, end: int, forms: frozenset[Form], head: int, sense: Sense) -> tuple[Rank, Form]:
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
        before, after, word = self._before(start, over_particles=True), self._at(end), self.words[start]
        named = f"{word} {after}" in {" ".join(name.split()) for name in lexicon.NAMES.split(",")}
        describes = before in grammar.DETERMINERS | grammar.PREPOSITIONS or is_adjective(before)
        if named or (after in lexicon.THINGS.split() and (describes or sense.action not in DONE_TO_THINGS)):
            return Rank.NONE
        if before in grammar.BE or before == "'s":
            return RANKS[self.told]
        if before in grammar.SUBORDINATORS and before in grammar.TOGETHER:
            self.clause = "main"
            return Rank.BESIDE
        if before == "by" or self._at(start - 1) == "by":
            return Rank.BESIDE
        if before == "of" and self._at(start - 2) in ("middle", "process", "act"):
            return RANKS[self.told]
        if before in grammar.DETERMINERS or is_adjective(before) or (before == PAUSE and is_adjective(self._at(start - 2))):
            return self._place_describing(start, end)
        if before in grammar.PREPOSITIONS:
            fits = before == "of" or after in lexicon.CARRIERS.split()
            return Rank.DESCRIBING if fits and may_be_noun(after) else Rank.SUBORDINATE if not may_be_noun(after) else Rank.NONE
        if before in grammar.CONJUNCTIONS and self.last:
            return self.last.rank
        if self.last and self.last.sense.kind == "light" and before == self.words[self.last.end - 1]:
            return self.last.rank
        return Rank.NONE if self.watched else Rank.BESIDE

    def _place_describing(self, start: int, end: int) -> Rank:
        """'a galloping horse', but not 'beside a galloping horse'."""
        if not may_be_noun(self._at(end)) or self.words[start] in lexicon.LOOKS.split():
            return Rank.NAMED if self.words[start] not in lexicon.LOOKS.split() else Rank.NONE
        at = start - 1
        while at >= 0 and (self.words[at] in grammar.DETERMINERS | {PAUSE} or is_adjective(self.words[at]) or is_adverb(self.words[at])):
            at -= 1
        if self._at(at) not in grammar.PREPOSITIONS or self._at(end) in lexicon.CARRIERS.split():
            return Rank.DESCRIBING
        pictured = self._at(at) == "of" and self._at(at - 1) in lexicon.PICTURES.split()
        return Rank.DESCRIBING if pictured or (self._at(at) == "of" and at == start - 1) else Rank.NONE

    def _place_s(self, start: int, end: int) -> Rank:
        before, directly = self._before(start), self._at(start - 1)
        pronouns = {"that", "this", "each", "another", "one", "all", "both"}
        if (before in grammar.DETERMINERS and before not in pronouns) or directly in grammar.PLACES or before.isdigit():
            return Rank.NAMED
        if is_adjective(before):
            return Rank.NAMED
        if self.last and self.last.end == start and self.told == "main" and directly not in grammar.BE:
            return Rank.NAMED
        if not before and self.words[start] in lexicon.BETTER_NOUNS.split() and self._starts_predicate(end):
            return Rank.NONE
        listed = self.last and self.last.relative and directly == PAUSE and not self.enclosed
        if (directly in grammar.CONJUNCTIONS or before == "then") and self.last or listed:
            return RANKS[self.told]
        pronoun = before in grammar.PRONOUNS and self.clause == "subordinate" and self._joins_at_once(start)
        return max(self._finite(), Rank.BESIDE) if pronoun else self._finite()

    def _place_base(self, start: int) -> Rank:
        before, directly = self._before(start), self._at(start - 1)
        if before == "to":
            return self._place_infinitive(start)
        if before in grammar.MODALS or before in grammar.NEGATORS:
            return RANKS[self.told]
        if before in ("", STOP, PAUSE):
            return Rank.MAIN
        if before in grammar.PRONOUNS:
            return self._finite()
        if before in grammar.CONJUNCTIONS:
            return self.last.rank if self.last else Rank.MAIN
        if self.watched:
            return Rank.NONE
        caused = self.last and self.last.sense.lemma in CAUSING and self.last.end < start
        asked = self._at(0) in grammar.MODALS and len(self.deeds) == 0
        if caused or asked:
            return Rank.MAIN if directly not in ("a", "an", "the") else Rank.NAMED
        if before in grammar.DETERMINERS or is_adjective(before) or before.isdigit() or directly in grammar.PREPOSITIONS:
            return Rank.NAMED
        if self.last and self.last.sense.kind == "light" and self.last.end == start:
            return self.last.rank
        several = "and" in self.words[max(start - 5, 0) : start] and self.last is None
        return self._finite() if is_plural(before) or several else Rank.NAMED

    def _place_infinitive(self, start: int) -> Rank:
        """'wants to run' is the verb of its sentence; in 'opens its mouth to bite', biting is beside it."""
        if self.last is None:
            return Rank.MAIN
        governed = self.last.sense.kind == "light" and start - self.last.end <= 4
        return self.last.rank if governed else Rank.BESIDE

    def _place_past(self, start: int, end: int, forms: frozenset[Form]) -> Rank:
        before, directly = self._before(start), self._at(start - 1)
        if before in grammar.HAVE:
            return RANKS[self.told]
        if before in grammar.BE or "past" not in forms or self._at(end) == "by":
            return RANKS[self.told] if self.words[start] in ("seen", "spotted", "caught", "filmed") else Rank.NONE
        if before in grammar.DETERMINERS - {"that", "this", "one", "all", "both", "each"} or is_adjective(before):
            return Rank.NONE
        if directly in grammar.PLACES:
            return Rank.NONE
        if directly in grammar.CONJUNCTIONS and self.last:
            return RANKS[self.told]
        return self._finite()

    # Nouns.

    def _noun(self, at: int, verb: Sense | None = None) -> None:
        """'takes a stroll', 'at a gallop', 'a walk cycle'; 'fox wave' with a verb in place of a noun."""
        if self.words[at] not in nouns():
            if verb and self._stands_bare(at) and may_be_noun(self._before(at)) and not is_adjective(self._before(at)):
                self._settle(Deed(at, at + 1, verb, Rank.NAMED, "base", self.denied))
            return None
        sense = nouns()[self.words[at]]
        if self.light and at - self.light.end < 7 and self._leads(self.light, at):
            deed = Deed(self.light.start, at + 1, sense, self.light.rank, self.light.form, self.denied or self.light.denied)
            self.denied, self.light, self.last = False, None, deed
            return self._add(deed)
        back = at - 1
        while back >= 0 and (self.words[back] in grammar.DETERMINERS or is_adjective(self.words[back]) or is_adverb(self.words[back])):
            back -= 1
        leader = self._at(back)
        if is_plural(self.words[at]) and leader in grammar.PREPOSITIONS:
            return None
        if leader in ("at", "with", "for") or (leader == "on" and sense.action in ON_A) or (leader == "in" and self._at(at - 1) in ("full", "mid")) or leader == "mid":
            self._add(Deed(back, at + 1, sense, Rank.BESIDE, denied=self.denied))
        elif sense.lemma not in lexicon.THING_NOUNS.split() and (leader == "of" or self._stands_bare(at)):
            self._add(Deed(at, at + 1, sense, Rank.NAMED, denied=self.denied))
        return None

    def _leads(self, light: Deed, at: int) -> bool:
        """Whether a light verb takes this noun: 'goes for a walk', but not 'goes past a dance'."""
        between = [word for word in self.words[light.end : at] if word in grammar.PREPOSITIONS]
        allowed = {"for", "on", "into", "at", "off", "out", "up", "with", "down"}
        if light.sense.lemma in ("slow", "drop", "change", "switch", "shift", "come", "speed", "ease", "settle"):
            allowed |= {"to", "from"}
        if light.sense.lemma == "be" and not between:
            return self._at(light.end) in ("a", "an", "the")
        return set(between) <= allowed

    def _stands_bare(self, at: int) -> bool:
        """Whether a noun is what the sentence is about, not where something else is."""
        return not any(word in grammar.PREPOSITIONS for word in self.words[max(at - 4, 0) : at])

    # Looking around.

    def _at(self, index: int) -> str:
        return self.words[index] if 0 <= index < len(self.words) else ""

    def _before(self, at: int, over_particles: bool = False) -> str:
        """The word before one, adverbs left out."""
        at -= 1
        while at >= 0 and (is_adverb(self.words[at]) or (over_particles and self.words[at] in grammar.PARTICLES)):
            at -= 1
        return self._at(at)

    def _after(self, at: int) -> str:
        """The first word from here on that is no adverb."""
        while at < len(self.words) and is_adverb(self.words[at]):
            at += 1
        return self._at(at)

    def _forms(self, word: str) -> frozenset[Form]:
        return verb_forms()[word][1] if word in verb_forms() else frozenset()

    def _sentence(self, at: int, step: int) -> list[str]:
        """The words before (-1) or after (1) one in its sentence."""
        found = []
        at += step
        while 0 <= at < len(self.words) and self.words[at] != STOP:
            found.append(self.words[at])
            at += step
        return found

    def _has_object(self, at: int) -> bool:
        if self._at(at) not in {"a", "an", "the"} | grammar.POSSESSIVES:
            return False
        return not any(word in lexicon.MEASURES.split() for word in self.words[at + 1 : at + 4])

    def _starts_predicate(self, at: int) -> bool:
        after = self._after(at)
        return after in FINITE_HELPERS or "base" in self._forms(after)

    def _joins_at_once(self, start: int) -> bool:
        return any(word in grammar.TOGETHER for word in self.words[max(start - 4, 0) : start])
