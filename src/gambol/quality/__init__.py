"""`gambol.report`: measures of a clip, their percentile ranks among artists' clips, the verdict and the page."""
