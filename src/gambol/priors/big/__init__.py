"""Big video models as priors: CogVideoX and Wan, from components of `diffusers`, never through its pipelines, which run
without gradients and round sizes in silence. Needs `pip install 'gambol[diffusers]'`."""
