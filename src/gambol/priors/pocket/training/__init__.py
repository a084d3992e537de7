"""Teaching the network: batches of filmed takes, the optimiser, the state, and what is around them."""
