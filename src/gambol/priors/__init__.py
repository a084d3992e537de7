"""Video priors: models that know how a video of a sentence looks, behind one small interface (`priors.prior`)."""
