"""Sentences and names of clips to actions and paces, from the words of lexicon.toml."""

from gambol.language.intent import MAX_LETTERS, Intent, action_of_clip, parse_intent, require_intent
from gambol.language.manner import Manner

__all__ = ["MAX_LETTERS", "Intent", "Manner", "action_of_clip", "parse_intent", "require_intent"]
