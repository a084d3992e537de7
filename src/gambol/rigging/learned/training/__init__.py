"""Training of the joint network: rigs in random poses and proportions."""
