"""How good a motion is, in numbers."""
