"""Motions in canonical time and space: of random creatures, and from artists' clips."""
