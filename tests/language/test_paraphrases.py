"""Sentences that were written without sight of the lexicon, and to which it is never tuned."""

from pathlib import Path

from gambol.actions import ACTIONS
from gambol.language import parse_intent

FILE = Path(__file__).with_name("paraphrases.txt")
EXAMPLES = {"strolls along", "goes for a walk in the park", "sneaks", "galloping", "sprints away"}
"""Of what people might say; given to both sides."""


def test_the_lexicon_was_not_developed_with_them():
    held_out, developed = (
        {line.split("\t")[1].lower() for line in path.read_text(encoding="utf-8").splitlines() if "\t" in line}
        for path in (FILE, FILE.with_name("sentences.txt"))
    )
    assert held_out & developed <= EXAMPLES


def test_nine_of_ten_held_out_paraphrases_reach_the_right_action():
    lines = [line for line in FILE.read_text(encoding="utf-8").splitlines() if line.strip() and line[0] != "#"]
    cases = [line.split("\t") for line in lines]
    assert {wanted for wanted, _ in cases} == {"none", *ACTIONS}
    found = [(wanted, getattr(parse_intent(text), "action", "none"), text) for wanted, text in cases]
    misses = [f"{wanted} <- {text!r}: {got}" for wanted, got, text in found if got != wanted]
    print(f"\n{len(found) - len(misses)} of {len(found)} paraphrases are understood; not:", *misses, sep="\n  ")
    assert len(found) >= 200
    assert len(misses) <= 0.1 * len(found)
