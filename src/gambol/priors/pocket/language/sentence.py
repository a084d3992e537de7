"""Words in a row, and looking around among them."""

from __future__ import annotations

from dataclasses import dataclass

from gambol.priors.pocket.language.grammar import DETERMINERS, PARTICLES, STOP, is_adjective, is_adverb
from gambol.priors.pocket.language.inflection import Form
from gambol.priors.pocket.language.vocabulary import verb_forms


@dataclass(frozen=True)
class Sentence:
    """The words of a text as the lexicon spells them."""

    words: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, at: int) -> str:
        """A word; nothing before the first and after the last."""
        return self.words[at] if 0 <= at < len(self.words) else ""

    def span(self, start: int, end: int) -> tuple[str, ...]:
        return self.words[max(start, 0) : max(end, 0)]

    def before(self, at: int, over_particles: bool = False) -> str:
        """The word before one, adverbs left out, and on demand particles too: 'is off again running'."""
        at -= 1
        while is_adverb(self[at]) or (over_particles and self[at] in PARTICLES):
            at -= 1
        return self[at]

    def after(self, at: int) -> str:
        """The first word from here on that is no adverb."""
        while is_adverb(self[at]):
            at += 1
        return self[at]

    def leader(self, at: int) -> int:
        """Where the word is that comes before a noun and all that describes it: 'at' in 'at a very brisk walk'."""
        at -= 1
        while self[at] in DETERMINERS or is_adjective(self[at]) or is_adverb(self[at]):
            at -= 1
        return at

    def rest_before(self, at: int) -> tuple[str, ...]:
        """The words of the same sentence before one."""
        start = max((index + 1 for index in range(at) if self.words[index] == STOP), default=0)
        return self.words[start:at]

    def rest_after(self, at: int) -> tuple[str, ...]:
        """The words of the same sentence after one."""
        end = next((index for index in range(at + 1, len(self)) if self.words[index] == STOP), len(self))
        return self.words[at + 1 : end]

    def forms(self, word: str) -> frozenset[Form]:
        """Which forms of a verb a word may be."""
        return verb_forms()[word][1] if word in verb_forms() else frozenset()
