"""Comparisons and ablations, as the papers have them, by one command: `gambol bench`."""
