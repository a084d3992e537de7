"""Benchmarks, imported by their path.

The folder of benchmarks must not be on the path of the tests: its physics.py would hide tests/physics.
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path


def load_benchmark(name: str):
    spec = spec_from_file_location(name, Path(__file__).parents[1] / "benchmarks" / f"{name}.py")
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
