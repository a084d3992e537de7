"""Training of networks: the optimizer, and a training that can be stopped and resumed."""
