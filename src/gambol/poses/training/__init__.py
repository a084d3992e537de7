"""Training of the pose model."""
