"""Pose spaces (ViPS): which poses are plausible for a rig, by one model for all rigs."""
