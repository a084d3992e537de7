"""How long `gambol animate` takes, from file to file, and where the time goes.

    python benchmarks/animate.py [CHARACTER] ["SENTENCE"]

The limits: 8 s on two cores for the preset standard and 5 s for draft, with the default prior, once caches are warm;
memory below 2 GB. With the prior pixels: where the time goes, and a step of score distillation in at most 1.3 times
what the prior alone takes for the same videos.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import gambol  # noqa: F401
import torch
from gambol.creatures.load import load
from gambol.distillation.animate import prepare
from gambol.distillation.config import preset_for
from gambol.distillation.problem import Problem
from gambol.distillation.stage_runner import StageRunner
from gambol.distillation.stages import stages_of
from gambol.motion import kinematics
from gambol.priors.pixels.prior import PixelPrior
from gambol.priors.sample import draw_noise
from gambol.render import gaussian_skinning
from gambol.render.rasterizers import simd

LIMITS, FACTOR, MEMORY = {"standard": 8.0, "draft": 5.0}, 1.3, 2.0
REPEATS = 3
"""After a first run that warms the caches."""


def main() -> None:
    character = sys.argv[1] if len(sys.argv) > 1 else "fox"
    sentence = sys.argv[2] if len(sys.argv) > 2 else "it is walking"
    print(f"'{sentence}', {character}: the least of {REPEATS} runs")
    for preset, limit in LIMITS.items():
        whole = min([file_to_file(character, sentence, preset) for _ in range(REPEATS + 1)][1:])
        print(f"file to file, {preset:8} {whole:6.1f} s   {whole / limit:5.2f} of the limit of {limit:g} s")
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / (1 << 20)  # it counts in KiB
    print(f"most memory     {most:6.2f} GiB {most / MEMORY:5.2f} of the limit of {MEMORY:g} GiB")
    print("with the prior pixels:")
    prior = PixelPrior.load()
    problem = prepare(load(character), sentence, prior, preset_for("standard", prior))
    shares(problem)
    score_steps(problem)


def file_to_file(character: str, sentence: str, preset: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        options = ["-o", str(Path(folder) / "run"), "--preset", preset]
        command = [sys.executable, "-m", "gambol", "animate", character, sentence, *options]
        subprocess.run(command, check=True, capture_output=True)
        return time.perf_counter() - begun


def shares(problem: Problem) -> None:
    """Print the share of each part in the time from the first step to the last."""
    spent: dict[str, float] = defaultdict(float)
    parts = [
        ("prior", type(problem.prior), "estimates"),
        ("rasteriser", simd._Draw, "forward"),
        ("rasteriser", simd._Draw, "backward"),
        ("skinning", gaussian_skinning._SkinGaussians, "forward"),
        ("skinning", gaussian_skinning._SkinGaussians, "backward"),
        ("kinematics", kinematics._Chain, "forward"),
        ("kinematics", kinematics._Chain, "backward"),
    ]
    with timed(parts, spent):
        begun = time.perf_counter()
        runner = StageRunner(stages_of(problem), problem.start)
        stages: dict[str, float] = defaultdict(float)
        while not runner.over:
            before = time.perf_counter()
            stages[runner.step().stage] += time.perf_counter() - before
        total = time.perf_counter() - begun
    spent["the rest"] = total - sum(spent.values())
    print(f"all stages      {total:6.1f} s   " + ", ".join(f"{name} {took:.1f} s" for name, took in stages.items()))
    for name, took in sorted(spent.items(), key=lambda pair: -pair[1]):
        print(f"  {name:13s} {took:6.1f} s   {took / total:5.0%}")


@contextmanager
def timed(parts, spent):
    """Count the time inside some methods."""
    kept = []
    for name, owner, method in parts:
        original = owner.__dict__[method]
        plain = original.__func__ if isinstance(original, staticmethod) else original

        def counted(*args, plain=plain, name=name, **options):
            begun = time.perf_counter()
            try:
                return plain(*args, **options)
            finally:
                spent[name] += time.perf_counter() - begun

        kept.append((owner, method, original))
        setattr(owner, method, staticmethod(counted) if isinstance(original, staticmethod) else counted)
    try:
        yield
    finally:
        for owner, method, original in kept:
            setattr(owner, method, original)


def score_steps(problem: Problem, steps: int = 40) -> None:
    """A step of score distillation against the prior alone, by turns."""
    prior = problem.prior
    assert isinstance(prior, PixelPrior)
    paper = preset_for("paper", prior)
    stage = stages_of(replace(problem, config=paper))[0](problem.start)
    renderer = problem.renderer
    view = torch.zeros(1, dtype=torch.int64)
    with torch.no_grad():
        latents = prior.encode(renderer.render(problem.start.world(problem.rig), view))
    noisy = draw_noise(latents)
    ask = partial(prior.denoise, noisy, 0.7, problem.prompt, 100.0, None, renderer.rest_images()[view])
    ours, alone = [], []
    for number in range(steps):
        begun = time.perf_counter()
        stage.step(number)
        middle = time.perf_counter()
        ask()
        ours.append(middle - begun)
        alone.append(time.perf_counter() - middle)
    step, call = sorted(ours)[steps // 2], sorted(alone)[steps // 2]
    alone_ms = f"{1e3 * call:.1f} ms"
    print(f"score step      {1e3 * step:6.1f} ms  {step / call:5.2f} of the prior alone ({alone_ms}); limit {FACTOR}")


if __name__ == "__main__":
    main()
