"""From what a prior knows to a motion of a character."""
