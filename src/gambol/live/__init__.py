"""The page of `gambol animate --watch`, which plays the motion while it is being optimised."""
