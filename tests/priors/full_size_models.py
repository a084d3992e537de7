"""The benchmark that builds the video models at full size."""

from benchmark_modules import load_benchmark

VIDEO_MODELS = load_benchmark("video_model_configurations").VIDEO_MODELS
costs = load_benchmark("video_model_costs")
