"""Sentences and names of clips to actions and paces, from the words of lexicon.toml."""

from gambol.language.intent import MAX_LETTERS, Intent, action_of_clip, require, understand

__all__ = ["MAX_LETTERS", "Intent", "action_of_clip", "require", "understand"]
