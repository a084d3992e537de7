"""Editing of clips: trim, speed, loop, smooth, foot lock, in place or root motion, frame rate, contact events."""
