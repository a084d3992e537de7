"""`gambol.animate`: optimise the motion of a character with a video prior, in a run that can be resumed."""
