"""CogVideoX and Wan as priors. They are built from components of `diffusers` rather than its pipelines, which run
without gradients and round sizes silently. Needs `pip install 'gambol[diffusers]'`."""
