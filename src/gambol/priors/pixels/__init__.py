"""The pixel prior: a video diffusion model of 8 MB that ships with gambol and runs on any CPU.

figure        the stick figure that it sees of a character
views         renders that figure for animating; clip_videos for scoring a finished clip
network       the model; `prior` puts it behind the interface of `gambol.priors.prior`
data          motions to train on: synthetic ones, and cycles from artists' clips
training      `gambol train-prior`
evaluation    `gambol eval-prior`, on characters that it was not trained on
"""
