"""The benchmark that builds the video models at full size, imported by its path.

The folder of benchmarks must not be on the path of the tests: its physics.py would hide tests/physics.
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path


def _load(name):
    spec = spec_from_file_location(name, Path(__file__).parents[2] / "benchmarks" / f"{name}.py")
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


VIDEO_MODELS = _load("video_model_configurations").VIDEO_MODELS
costs = _load("video_model_costs")
