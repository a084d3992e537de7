"""Training of the prior tracks: clips as tracks, their labels, batches, the training itself."""
