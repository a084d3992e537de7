"""How a sentence uses its verbs: which says what the character does, which only describe, which are negated.

There is no grammar here: the words just before and after a verb tell enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from gambol.language.english import (
    LEXICON,
    PAUSE,
    STOP,
    Form,
    describes_noun,
    is_adjective,
    is_adverb,
    is_plural,
    may_be_noun,
    words,
)
from gambol.language.vocabulary import Idiom, Meaning, idioms, longest_idiom, nouns, verbs

PHRASES = {name: {" ".join(phrase.split()) for phrase in text.split(",")} for name, text in LEXICON["phrases"].items()}
STANDING = Meaning("not move", "action", "stand")
SEEN = ("seen", "spotted", "caught", "filmed")


class Role(IntEnum):
    """How strongly the place of a word says that it is what the character does."""

    NONE = 0
    NOUN = 1
    """'a walk cycle'"""
    SUBORDINATE = 2
    """'when the cat eats'"""
    HINT = 3
    """'crosses the road', 'on foot'"""
    ATTRIBUTE = 4
    """'a galloping horse'"""
    ADJUNCT = 5
    """'a fox that walks', 'a fox walking', '..., walking', 'at a walk'"""
    MAIN = 6
    """The verb of the sentence."""


CLAUSES = {"main": Role.MAIN, "relative": Role.ADJUNCT, "subordinate": Role.SUBORDINATE}
"""The role of a finite verb in each kind of clause."""


@dataclass(frozen=True)
class Predicate:
    """A verb, an idiom or a noun that says what is done, from token `start` to before token `end`."""

    start: int
    end: int
    meaning: Meaning
    role: Role
    form: Form | None = None
    negated: bool = False
    relative: bool = False
    """Whether it is in a clause that describes a noun."""


class SentenceParser:
    """Reads tokens from left to right and collects the predicates."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens = tuple(tokens)
        self.found: list[Predicate] = []
        self.next_clause = "main"  # of the next finite verb
        self.clause = "main"  # of the last finite verb
        self.enclosed = False  # whether the last relative clause began after a comma
        self.negated = False
        self.hardly = False
        self.perceived = False  # whether what follows is what someone looks at
        self.last: Predicate | None = None  # the last verb of any kind
        self.light: Predicate | None = None  # a light verb that waits for its noun

    def parse(self) -> list[Predicate]:
        """All predicates, in the order of the sentence."""
        at = 0
        while at < len(self.tokens):
            idiom = longest_idiom(idioms(), self.tokens, at)
            if idiom:
                self._read_idiom(idiom[0], at, idiom[1])
            elif not self._read_function_word(at):
                self._read_word(at)
            at = idiom[1] if idiom else at + 1
        return self.found

    # Looking around.

    def _at(self, at: int) -> str:
        """A token; "" before the first and after the last."""
        return self.tokens[at] if 0 <= at < len(self.tokens) else ""

    def _span(self, start: int, end: int) -> tuple[str, ...]:
        return self.tokens[max(start, 0) : max(end, 0)]

    def _before(self, at: int, over_particles: bool = False) -> str:
        """The word before one, adverbs left out, and on demand particles too: 'is off again running'."""
        at -= 1
        while is_adverb(self._at(at)) or (over_particles and self._at(at) in words.particles):
            at -= 1
        return self._at(at)

    def _after(self, at: int) -> str:
        """The first word from here on that is no adverb."""
        while is_adverb(self._at(at)):
            at += 1
        return self._at(at)

    def _leader(self, at: int) -> int:
        """Where the word is that comes before a noun and all that describes it: 'at' in 'at a very brisk walk'."""
        at -= 1
        while describes_noun(self._at(at)) or is_adverb(self._at(at)):
            at -= 1
        return at

    def _in_context(self, meaning: Meaning, start: int, end: int) -> Meaning:
        """What a verb or an idiom means among the other words of its sentence."""
        first = max((i + 1 for i in range(start) if self.tokens[i] == STOP), default=0)
        last = next((i for i in range(end, len(self.tokens)) if self.tokens[i] == STOP), len(self.tokens))
        return meaning.between(self.tokens[first:start], self.tokens[end:last])

    def _forms(self, word: str) -> frozenset[Form]:
        return verbs()[word][1] if word in verbs() else frozenset()

    # Reading.

    def _read_idiom(self, idiom: Idiom, start: int, end: int) -> None:
        meaning = self._in_context(idiom.meaning, start, end)
        head = start + (idiom.head or 0)
        forms = frozenset(idiom.steps[idiom.head].get(self._at(head), ())) if idiom.head is not None else frozenset()
        if forms:
            self._read_verb(start, end, meaning, forms, head)
        elif meaning.kind in ("action", "hint"):
            self._add(Predicate(start, end, meaning, Role.ADJUNCT))

    def _read_function_word(self, at: int) -> bool:
        """Note how a word changes what follows; whether it does."""
        word, after = self._at(at), self._at(at + 1)
        if word in (STOP, PAUSE):
            self.next_clause, self.negated, self.perceived, self.light = "main", False, False, None
            self.last = None if word == STOP else self.last
        elif word in words.conjunctions:
            self.negated = word in ("or", "nor") and self.last is not None and self.last.negated
            self.perceived, self.light = False, None
        elif (word in words.negators and after not in ("only", "just")) or f"{word} {after}" in PHRASES["denials"]:
            self.negated = True
        elif word in words.hardly:
            self.hardly = True
        elif word in words.relatives and at and (word != "that" or may_be_noun(self._at(at - 1))):
            self.next_clause, self.enclosed = "relative", self._at(at - 1) == PAUSE
        elif word in words.subordinators:
            self.next_clause = "subordinate"
        else:
            return False
        return True

    def _read_word(self, at: int) -> None:
        word, after = self._at(at), self._after(at + 1)
        if word == "still" and self._before(at) in words.be and not may_be_noun(after):
            self._add(Predicate(at, at + 1, STANDING, Role.ADJUNCT))
        elif word in words.finite_helpers or (word == "'s" and "ing" in self._forms(after)):
            if self._at(at - 1) not in words.conjunctions:
                self._finite_role()
            meaning = verbs()[word][0] if word in verbs() else Meaning("can", "light")
            self.last = self.light = Predicate(at, at + 1, meaning, CLAUSES[self.clause], negated=self.negated)
        elif word in verbs():
            meaning = self._in_context(verbs()[word][0], at, at + 1)
            if meaning.lemma in LEXICON["alone"] and after in {"", STOP, PAUSE, *words.conjunctions}:
                meaning = replace(meaning, kind="action", action=LEXICON["alone"][meaning.lemma])
            has_object = self._at(at + 1) in {"a", "an", "the"} | words.possessives
            if meaning.lemma in words.objectless and has_object and not words.measures & {*self._span(at + 2, at + 5)}:
                meaning = replace(meaning, kind="other")
            self._read_verb(at, at + 1, meaning, self._forms(word), at)
        elif word in nouns():
            self._read_noun(at)

    def _read_verb(self, start: int, end: int, meaning: Meaning, forms: frozenset[Form], head: int) -> None:
        role, form = self._role(start, end, meaning, forms, head)
        if role == Role.NOUN and form in ("base", "s") and end == start + 1:
            self._read_noun(start, meaning)
        elif role > Role.NONE:
            relative = self.clause == "relative" and role == Role.ADJUNCT and form != "ing"
            self._govern(Predicate(start, end, meaning, role, form, self._is_negated(start, end, form), relative))

    def _is_negated(self, start: int, end: int, form: Form) -> bool:
        """'not walking and running', 'too tired to walk', 'walks no more'."""
        joined = self._at(start - 1) == "and" and form in ("base", "ing")
        with_last = joined and self.last is not None and self.last.negated and self.last.form == form
        too_much = self._before(start) == "to" and "too" in self._span(start - 4, start)
        return self.negated or with_last or too_much or self._span(end, end + 2) == ("no", "more")

    def _govern(self, verb: Predicate) -> None:
        """Note what a verb does to the next: who stops running does not run, who refuses to walk does not walk."""
        lemma, follows = verb.meaning.lemma, self._after(verb.end)
        if lemma in words.stopping and "ing" in self._forms(follows):
            if lemma != "finish" and not verb.negated:
                self._add(replace(verb, meaning=replace(verb.meaning, kind="hint", action="stand")))
            self.negated, self.last = not verb.negated, verb
        elif lemma in words.refusing and follows == "to":
            self.negated, self.last = not verb.negated, verb
        elif lemma in words.stopping and follows == "to":
            self.last = replace(verb, meaning=replace(verb.meaning, kind="light"))
        else:
            self._settle(verb)

    def _settle(self, verb: Predicate) -> None:
        if verb.meaning.kind == "moving":
            if verb.negated or self.hardly:
                self._add(replace(verb, meaning=STANDING, negated=False))
            self.negated = False
        elif verb.meaning.kind == "light":
            self.light = verb
        else:
            self._add(verb)
            self.negated, self.light = False, None
        if verb.meaning.lemma in words.perceiving and verb.form not in ("base", "participle"):
            self.perceived = True
        self.last = verb

    def _add(self, predicate: Predicate) -> None:
        hints = predicate.meaning.kind == "hint"
        self.found.append(replace(predicate, role=min(predicate.role, Role.HINT)) if hints else predicate)

    def _finite_role(self) -> Role:
        """The role of a finite verb, which begins its clause."""
        self.clause, self.next_clause = self.next_clause, "main"
        return CLAUSES[self.clause]

    # The role of a verb, by its form.

    def _role(self, start: int, end: int, meaning: Meaning, forms: frozenset[Form], head: int) -> tuple[Role, Form]:
        """How a verb is used, and as which of its forms."""
        if "ing" in forms:
            return self._role_of_ing(start, end, meaning), "ing"
        if "s" in forms:
            return self._role_of_s(head, end), "s"
        if "base" in forms:
            role = self._role_of_base(start, end)
            if role > Role.NOUN or "past" not in forms:
                return role, "base"
        return self._role_of_past(head, end, forms), "past" if "past" in forms else "participle"

    def _role_of_ing(self, start: int, end: int, meaning: Meaning) -> Role:
        before, after = self._before(start, over_particles=True), self._at(end)
        describes = describes_noun(before) or (before == PAUSE and is_adjective(self._at(start - 2)))
        takes_things = LEXICON["actions"].get(meaning.action, {}).get("takes_things")
        if f"{self._at(start)} {after}" in PHRASES["names"]:
            return Role.NONE
        if after in words.things and (describes or before in words.prepositions or not takes_things):
            return Role.NONE
        if before in words.be or before == "'s":
            return CLAUSES[self.clause]
        if before in words.simultaneous:
            self.next_clause = "main"
            return Role.ADJUNCT
        if self._at(start - 1) == "by":
            return Role.ADJUNCT
        if describes:
            return self._role_of_attribute(start, end)
        if before in words.prepositions:
            if not may_be_noun(after):
                return Role.SUBORDINATE
            return Role.ATTRIBUTE if before == "of" or after in words.manners else Role.NONE
        governed = self.last and self.last.meaning.kind == "light" and before == self._at(self.last.end - 1)
        if self.last and (governed or before in words.conjunctions):
            return self.last.role
        return Role.NONE if self.perceived else Role.ADJUNCT

    def _role_of_attribute(self, start: int, end: int) -> Role:
        """'a galloping horse', but not 'beside a galloping horse'."""
        if self._at(start) in words.appearances:
            return Role.NONE
        if not may_be_noun(self._at(end)):
            return Role.NOUN
        at = self._leader(start)
        pictured = self._at(at) == "of" and self._at(at - 1) in words.pictures
        elsewhere = self._at(at) in words.prepositions and self._at(end) not in words.manners
        return Role.ATTRIBUTE if pictured or not elsewhere else Role.NONE

    def _after_determiner(self, before: str, directly: str) -> bool:
        """Whether the words before a verb make it a noun: 'a walk', 'in waves'."""
        describes = describes_noun(before) and before not in words.standalone_determiners
        return describes or directly in words.prepositions - words.standalone_prepositions

    def _role_of_s(self, start: int, end: int) -> Role:
        before, directly, word = self._before(start), self._at(start - 1), self._at(start)
        if self._after_determiner(before, directly) or before.isdigit():
            return Role.NOUN
        if self.last and self.last.end == start and self.clause == "main" and directly not in words.be:
            return Role.NOUN  # an object: 'eats flies'
        if "ing" in self._forms(directly) and word in words.things:
            return Role.NONE
        if not before and word in words.nouns_at_the_start:
            following = self._after(end)
            if following in words.finite_helpers or "base" in self._forms(following):
                return Role.NONE
        listed = directly == PAUSE and self.last and self.last.relative and not self.enclosed
        if listed or (self.last and (directly in words.conjunctions or before == "then")):
            return CLAUSES[self.clause]
        return self._finite_role()

    def _role_of_base(self, start: int, end: int) -> Role:
        before, directly = self._before(start), self._at(start - 1)
        if before == "to":
            return self.last.role if self.last else Role.MAIN
        if before in words.modals | words.negators:
            return CLAUSES[self.clause]
        if before in ("", STOP, PAUSE):
            thing = end == start + 1 and (self._at(start) in words.nouns_alone or self._is_doer(start))
            return Role.NONE if thing else Role.MAIN
        if before in words.pronouns:
            return self._finite_role()
        if before in words.conjunctions:
            return self.last.role if self.last else Role.MAIN
        if self.perceived:
            return Role.NONE
        caused = self.last and self.last.meaning.lemma in words.causing and self.last.end < start
        asked = self._at(0) in words.modals and not self.found
        if caused or asked:
            return Role.MAIN if directly not in ("a", "an", "the") else Role.NOUN
        if describes_noun(before) or before.isdigit() or directly in words.prepositions:
            return Role.NOUN
        if self.last and self.last.meaning.kind == "light" and self.last.end == start:
            return self.last.role
        several = self.last is None and "and" in self._span(start - 5, start)
        return self._finite_role() if several or is_plural(before) else Role.NOUN

    def _is_doer(self, at: int) -> bool:
        """Whether a word says who does something rather than what is done: 'crow takes off'."""
        if self._at(at) not in words.doers:
            return False
        idiom = longest_idiom(idioms(), self.tokens, at + 1) if at + 1 < len(self.tokens) else None
        forms = idiom[0].steps[0].get(self._at(at + 1), set()) if idiom else self._forms(self._after(at + 1))
        return bool({"s", "ing"} & forms)

    def _role_of_past(self, start: int, end: int, forms: frozenset[Form]) -> Role:
        before, directly = self._before(start), self._at(start - 1)
        if before in words.have:
            return CLAUSES[self.clause] if before != "having" else Role.SUBORDINATE
        if before in words.be or "past" not in forms or self._at(end) == "by":
            return CLAUSES[self.clause] if self._at(start) in SEEN else Role.NONE  # something is done to it
        if self._after_determiner(before, directly) or (before in ("", STOP, PAUSE) and self._at(end) in nouns()):
            return Role.NONE  # also 'relaxed walk'
        if self.last and directly in words.conjunctions:
            return CLAUSES[self.clause]
        return self._finite_role()

    # Nouns.

    def _read_noun(self, at: int, verb: Meaning | None = None) -> None:
        """'takes a stroll', 'at a gallop', 'a walk cycle'; 'fox wave', where what could be a verb stands for a noun."""
        word, before = self._at(at), self._before(at)
        alone = not words.prepositions.intersection(self._span(at - 4, at))  # what the sentence is about
        if word not in nouns():
            if verb and alone and may_be_noun(before) and not is_adjective(before):
                self._settle(Predicate(at, at + 1, verb, Role.NOUN, "base", self.negated))
            return
        meaning, leader = nouns()[word], self._leader(at)
        if self.light and at - self.light.end < 7 and self._takes(self.light, at):
            negated = self.negated or self.light.negated
            taken = replace(self.light, end=at + 1, meaning=meaning, negated=negated)
            self.negated, self.light, self.last = False, None, taken
            self._add(taken)
        elif is_plural(word) and self._at(leader) in words.prepositions:
            return
        elif self._is_manner(leader, at, meaning):
            self._add(Predicate(leader, at + 1, meaning, Role.ADJUNCT, negated=self.negated))
        elif word not in words.nouns_after_verbs and (self._at(leader) == "of" or alone):
            self._add(Predicate(at, at + 1, meaning, Role.NOUN, negated=self.negated))

    def _takes(self, light: Predicate, at: int) -> bool:
        """Whether a light verb takes a noun: 'goes for a walk', but not 'goes past a dance'."""
        between = words.prepositions.intersection(self._span(light.end, at))
        if light.meaning.lemma == "be" and not between:
            return self._at(light.end) in ("a", "an", "the")
        changing = {"to", "from"} if light.meaning.lemma in words.changing else set()
        return between <= words.taken_by | changing

    def _is_manner(self, leader: int, at: int, meaning: Meaning) -> bool:
        word = self._at(leader)
        if word == "in":
            return self._at(at - 1) in ("full", "mid")
        on_a = LEXICON["actions"][meaning.action].get("on_a")
        return word in ("at", "with", "for", "mid") or (word == "on" and bool(on_a))
