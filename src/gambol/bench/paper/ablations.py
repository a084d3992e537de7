"""What each part of AKD, and each choice of ours, is worth: the same with one thing changed, and quality over calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gambol.bench.markdown import mean_and_spread, number, table
from gambol.bench.paper.methods import Change, Maker, Method, sampled, scored
from gambol.bench.paper.scores import COLUMNS, SHORT, Scores, mean, score_table, scores_of
from gambol.bench.plots import write_curves
from gambol.bench.subjects import Subject
from gambol.distillation.config import AnimateConfig
from gambol.errors import GambolError
from gambol.motion.foot_lock import FootLockConfig
from gambol.priors.pixels.prior import PixelPrior
from gambol.priors.score import DISTILLATION_SCHEDULES

HARMONICS = 4
"""Of the curves that are optimised instead of every angle of every frame."""
STAGE = "pixels-shadow"
"""The variant of the small prior that sees a ground and a shadow."""
PLAUSIBLE = 0.1
"""Weight of the pose space where it is on."""
BUDGETS = (0.125, 0.25, 0.5, 1.0, 2.0)
"""Numbers of steps for the plot over calls, as shares of the usual one."""
PAPER = (
    "The paper's SA / PC: ostrich 0.982 / 0.294, without ground rendering 0.777 / 0.107; tiger 0.989 / 0.321, without "
    "L_ground 0.979 / 0.269, without L_smooth 0.984 / 0.294."
)


def of_the_paper(maker: Maker) -> list[Method]:
    """Return AKD and what the paper leaves out of it. gambol's own small prior must see the ground for that, as its
    variant 'pixels-shadow' does; what the views of big video models show is not changed."""
    stage = STAGE if isinstance(maker.prior(), PixelPrior) else ""
    methods = [Method("AKD", prior=stage)]
    if stage:
        methods += [
            Method("without ground rendering", prior=stage, unseen_ground=True),
            Method("without shadow", prior="pixels-ground"),
        ]
    return [
        *methods,
        Method("without L_ground", scored(ground=0.0), stage),
        Method("without L_smooth", scored(smooth=0.0), stage),
        Method("without initial velocity", lambda config: replace(config, glide=0.0), stage),
        Method("curves instead of raw angles", scored(harmonics=HARMONICS), stage),
    ]


def of_ours(maker: Maker) -> list[Method]:
    """Return choices that are not the paper's."""
    methods = [
        Method("AKD"),
        Method("noise levels and guidance of the paper", scored(plan=DISTILLATION_SCHEDULES["paper"])),
        Method("noise levels and guidance of CHORD", scored(plan=DISTILLATION_SCHEDULES["chord"])),
        Method("inverted noise (SDI), as many calls", _inverted(maker.steps)),
        Method("matched noise (RFDS-Rev)", scored(noise="matched")),
        Method("with the pose space", scored(plausible=PLAUSIBLE)),
        Method("with foot lock", _with_foot_lock),
        Method("sampling and fitting", sampled(maker.prior())),
        Method("sampling and fitting, no foot lock", lambda config: _bare(sampled(maker.prior())(config))),
    ]
    tracks = maker.prior("tracks")
    return [*methods, Method("prior tracks", sampled(tracks), "tracks")]


def ablate(maker: Maker, subjects: Sequence[Subject], action: str, methods: Sequence[Method], title: str) -> list[str]:
    """Return the lines of a section."""
    rows: dict[str, list[Scores]] = {}
    calls: dict[str, list[float]] = {}
    left_out = []
    for subject in subjects:
        for method in methods:
            try:
                take = maker.by_joints(subject, method)
            except GambolError as error:
                left_out.append(f"Left out: {subject.name}, {method.title}: {error}")
                continue
            rows.setdefault(method.title, []).append(scores_of(take.motion, action))
            calls.setdefault(method.title, []).append(take.calls)
    names = ", ".join(subject.name for subject in subjects)
    priors = ", ".join(dict.fromkeys(method.prior or maker.prior_name for method in methods))
    first = (
        f"{names}; '{maker.sentence}', prior {priors}, {maker.steps} steps of score distillation, seed "
        f"{maker.seed}, mean ± standard deviation over characters."
    )
    lines = [f"### {title}", "", first, "", score_table(rows, SHORT), ""]
    spent = [[name, mean_and_spread(values, 0)] for name, values in calls.items()]
    return [*lines, "Calls of the prior:", "", table(["", "calls"], spent), "", *left_out, ""]


def over_calls(
    maker: Maker, subjects: Sequence[Subject], action: str, folder: Path, budgets: Sequence[float] = BUDGETS
) -> list[str]:
    """Return the lines of the section on quality over prior calls, with its plot."""
    usual = maker.steps
    kinds = {
        "score distillation": [Method("AKD", scored(steps=max(round(usual * share), 2))) for share in budgets],
        "sampling and fitting": [
            Method("sampling and fitting", _sampled_with(maker, views, steps))
            for views, steps in ((2, 1), (6, 1), (6, 8))
        ],
    }
    curves: dict[str, dict[str, list[tuple[float, float]]]] = {"semantic": {}, "physical": {}}
    rows = []
    for kind, methods in kinds.items():
        for method in methods:
            takes = [maker.by_joints(subject, method) for subject in subjects]
            scores = [scores_of(take.motion, action) for take in takes]
            calls = sum(take.calls for take in takes) / len(takes)
            found = {key: mean([each[key] for each in scores]) for key in SHORT}
            rows.append([kind, f"{calls:.0f}", *(number(found[key], _digits(key)) for key in SHORT)])
            for key, plotted in curves.items():
                value = found[key]
                if value is not None:
                    plotted.setdefault(kind, []).append((round(calls), value))
    titles = {column.key: column.title for column in COLUMNS}
    for key, plotted in curves.items():
        write_curves(folder / f"calls-{key}.svg", f"{titles[key]} over calls", "calls of the prior", plotted, True)
    head = ["", "calls", *(titles[key] for key in SHORT)]
    pictures = [f"![{titles[key]} over calls of the prior]({folder.name}/calls-{key}.svg)" for key in curves]
    names = ", ".join(subject.name for subject in subjects)
    return ["### Quality over calls of the prior", "", f"Means over {names}.", "", table(head, rows), "", *pictures, ""]


def _inverted(steps: int) -> Change:
    """Return the change to SDI, which asks for 22 estimates in a step instead of 2, with as many estimates."""
    return scored(noise="inverted", plan=DISTILLATION_SCHEDULES["sdi"], steps=max(round(steps / 11), 1))


def _with_foot_lock(config: AnimateConfig) -> AnimateConfig:
    return replace(config, foot_lock=FootLockConfig())


def _bare(config: AnimateConfig) -> AnimateConfig:
    return replace(config, foot_lock=None)


def _sampled_with(maker: Maker, views: int, steps: int) -> Change:
    def change(config: AnimateConfig) -> AnimateConfig:
        usual = sampled(maker.prior())(config)
        fit = replace(usual.fit, views=min(usual.fit.views, views))
        return _bare(replace(usual, sample=replace(usual.sample, views=views, steps=steps), fit=fit))

    return change


def _digits(key: str) -> int:
    return next(column.digits for column in COLUMNS if column.key == key)
