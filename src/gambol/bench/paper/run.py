"""All tables of the paper, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gambol.actions import ACTIONS
from gambol.bench.deformation import DeformationConfig
from gambol.bench.paper import ablations, comparison, diversity, physics
from gambol.bench.paper.methods import Maker, Method, sampled
from gambol.bench.results import Results
from gambol.bench.subjects import PAPER_COUNT, Subject, subjects_of
from gambol.bench.videophy import Version
from gambol.errors import GambolError
from gambol.language import require_intent
from gambol.priors.prior import VideoPrior

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class PaperConfig:
    """How much is run."""

    prior: str = "pixels"
    sentence: str = "it walks"
    characters: int = PAPER_COUNT
    ablated: int = 4
    """Characters of the ablations."""
    steps: int = 300
    """Of score distillation."""
    iterations: int = 60
    """Of the simulation."""
    seed: int = 0
    videophy: Version | None = None
    """Also write videos and questions for this version of VideoPhy, and tell its answers if they are there."""


QUICK = PaperConfig(characters=3, ablated=2, steps=40, iterations=10)
"""Minutes instead of hours: to see that everything works, not what is better."""


def run_paper(config: PaperConfig, inputs: Sequence[Path], folder: Path, on_progress: Progress) -> list[str]:
    """Return the lines of the report; what was measured is kept in a folder, and not measured again."""
    results = Results(folder / "results")
    maker = Maker(results, config.prior, config.sentence, config.steps, config.seed, on_progress)
    if not isinstance(maker.prior(), VideoPrior):
        raise GambolError(f"the paper distills a model of videos, and the prior {config.prior} sees none: use pixels")
    action = require_intent(config.sentence, maker.prior().vocabulary or tuple(ACTIONS)).action
    looking = partial(on_progress, "looking for characters")
    subjects, left_out = subjects_of(inputs, config.characters, action, looking)

    def saying(sentence: str) -> Maker:
        other = Maker(results, config.prior, sentence, config.steps, config.seed, on_progress)
        other.share_priors(maker)
        return other

    few = subjects[: config.ablated]
    lines = comparison.compare(maker, subjects, action, DeformationConfig(), folder, config.videophy)
    paper = ablations.of_the_paper(maker)
    lines += ablations.ablate(maker, few, action, paper, "Ablations of the paper")
    lines += [ablations.PAPER, ""]
    lines += ablations.ablate(maker, few, action, ablations.of_ours(maker), "Choices that are not the paper's")
    lines += ablations.over_calls(maker, few[:3], action, folder)
    lines += physics.track_all(maker, subjects, comparison.AKD, config.iterations, on_progress)
    ours = diversity.ours(maker)
    methods = [Method("sampling and fitting", sampled(maker.prior())), ours]
    lines += diversity.gaits([saying(sentence) for sentence in diversity.GAITS], few[:3], methods)
    both = [Method("AKD"), ours]
    for cases, title, about in (
        (diversity.SHOWN, "Actions of the paper's artist rigs", "As in the paper's figure, here on the zoo."),
        (diversity.HARD, "What the paper says that it cannot do", "AKD with the small prior beside `gambol animate`."),
    ):
        made = [(Subject(name, name), saying(sentence)) for name, sentence in cases]
        lines += diversity.sheets(made, both, folder, title, about)
    return [*lines, *(f"Left out: {text}" for text in left_out)]
