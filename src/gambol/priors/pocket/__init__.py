"""The pocket prior: a video model of a few megabytes that ships with gambol.

actions       what it was taught
look          the figure of strokes that it sees of a character
network       the model; `prior` puts it behind the interface of `gambol.priors.prior`
language      sentences to actions
takes         movements of random creatures, in canonical time and space
artists       movements out of artists' clips
training      `gambol train-prior`
evaluation    `gambol eval-prior`
"""
