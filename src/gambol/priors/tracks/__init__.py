"""The built-in prior: a diffusion model of tracks of body parts, for people and animals of any build."""
