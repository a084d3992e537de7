"""What every rasteriser of gambol computes, in words and numbers.

A kernel in front of the near plane is projected to a 2D Gaussian: its mean by the pinhole camera, its covariance by the
Jacobian of the projection at the mean (EWA), where the mean is first drawn to at most `MARGIN` of half the field of
view beyond the picture's edges, plus `BLUR` square pixels on the diagonal. Kernels are blended front to back by depth
of their means, those of equal depth in their order. At a pixel's centre a kernel has alpha = min(opacity exp(-s),
ALPHA_MOST), with s half the squared Mahalanobis distance; below `ALPHA_CUT` it is not there. A pixel takes a kernel as
long as its transmittance before it is above `STOP`. No gradient flows through the cut, the clamp, the order and the
stop.
"""

ALPHA_CUT = 1.0 / 255.0
ALPHA_MOST = 0.999
STOP = 1e-4
BLUR = 0.3
"""[square pixels]"""
MARGIN = 0.3
