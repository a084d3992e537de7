"""The comparison and the ablations of the AKD paper, with any prior."""
