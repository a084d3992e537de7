"""Sentences and names of clips to actions and paces, without guessing: `words.understand`."""
