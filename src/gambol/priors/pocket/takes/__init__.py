"""Movements in canonical time and space, and the herd of random creatures that shows them."""
