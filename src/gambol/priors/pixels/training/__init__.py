"""Training the network: the dataset, batches, the optimiser, and the loop."""
