"""Finishing: from a clip to the form a game or a film needs. Cut and timed, looping, in place or with root motion, with
feet that stand, and with events that tell when they come down. Every tool takes a motion and gives one."""
