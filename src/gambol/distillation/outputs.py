"""What a run leaves in its folder at the end: the clip in the user's own file, a movie, a contact sheet, a report."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.distillation.problem import Problem
from gambol.distillation.run import FILES, MOVIE, NUMBERS, REPORT, SHEET, Run, read_losses
from gambol.distillation.run_config import RunConfig
from gambol.distillation.stage_runner import StageRunner
from gambol.engines.fit import FittedClip, fit
from gambol.engines.targets import ENGINES
from gambol.errors import GambolError
from gambol.files import write_file
from gambol.formats import export, own_suffix, save
from gambol.formats.convert import convert
from gambol.formats.gltf.document import Document
from gambol.priors.prior import VideoPrior
from gambol.progress import peak_memory
from gambol.render.clip_renderer import MOVIE_FPS, ClipRenderer

DRAFT_MOVIE_FPS = 10.0
"""Largest frame rate of the movie of a draft [frames/s]."""


@dataclass(frozen=True)
class RunResult:
    """What a run has written."""

    name: str
    """Name of the clip in its file."""
    seconds: float
    """Length of the clip [s]."""
    loops: bool
    summary: str
    """One line on how good the clip is."""
    written: tuple[Path, ...]
    warnings: tuple[str, ...]
    advice: tuple[str, ...]
    """What is to be done in the engine that the file is for."""


def draw_with(clip_renderer: ClipRenderer, problem: Problem) -> Callable[[StageRunner, Path], None]:
    """Return a function that renders the current motion, small and fast, or nothing if there is nothing to see."""

    def draw(runner: StageRunner, path: Path) -> None:
        with suppress(GambolError):
            clip_renderer.preview(problem.clip(runner.rig_motion(), "preview"), path)

    return draw


def clip_file(character: Character, animation_only: bool = False) -> str:
    """Return the name of the clip's file: in the format that the character came in if it can be written, or else .glb;
    a .gltf becomes a .glb, too, which needs no files beside it, and so do joints alone of a .vrm."""
    came: Path | None = getattr(character.source, "path", None)
    if came is None:
        return "clip.glb"
    return "clip.vrm" if came.suffix.lower() == ".vrm" and not animation_only else f"clip{own_suffix(came)}"


def check_references(character: Character) -> None:
    """Refuse, before any work, a character that refers to a file with the name of one that a run writes."""
    source = character.source
    if not isinstance(source, Document) or source.chunks is None:
        return
    for fields in (*source.lists["buffers"], *source.lists["images"]):
        name = unquote(fields.text("uri")) if "uri" in fields else ""
        if name in FILES:
            raise GambolError(f"{source.label} needs a file {name} beside it, and a run writes one; rename that file")


def write_outputs(
    run: Run,
    problem: Problem,
    runner: StageRunner,
    clip_renderer: ClipRenderer,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> RunResult:
    """Write all files, the page last. What cannot be done becomes a warning: the optimisation is done."""
    from gambol.quality.page import RunDetails, run_page
    from gambol.quality.report import json_of, report

    folder, config, motion = run.folder, run.run_config, runner.rig_motion()
    losses = read_losses(folder)
    warnings = [*problem.warnings, *(row["trouble"] for row in losses)]
    fitted = _fitted(problem, problem.clip(motion, config.name or problem.title), config, warnings)
    character, clip = fitted.character, fitted.clip
    if character is not problem.character:  # it has got a root bone
        clip_renderer = ClipRenderer(character, fitted.anatomy)
    path = folder / clip_file(problem.character, config.animation_only)
    compact = bool(config.engine and ENGINES[config.engine].compact)
    if config.animation_only:
        warnings += convert(character, path, [clip], meshes=False, compact=compact)
        name = clip.name
    else:
        name = save(character, path, clip, lost=warnings, compact=compact) or clip.name
    written = [path]
    for kind in config.export:
        target = folder / f"clip.{kind}"
        try:
            warnings += export(character, clip, target, problem.config.fps, fitted.anatomy)
            written.append(target)
        except GambolError as error:
            warnings.append(f"no {target.name} was written: {error}")
    try:
        most = DRAFT_MOVIE_FPS if config.preset == "draft" else MOVIE_FPS
        clip_renderer.movie(clip, folder / MOVIE, folder / SHEET, min(problem.config.fps, most), on_progress)
        written += [folder / MOVIE, folder / SHEET]
        warnings += clip_renderer.warnings
    except GambolError as error:
        warnings.append(f"no movie and no contact sheet were rendered: {error}")
    try:
        named = replace(clip, name=name)
        judge = problem.prior if isinstance(problem.prior, VideoPrior) else None
        found = report(character, named, fitted.anatomy, prompt=_sentence(config), prior=judge)
        write_file(folder / NUMBERS, json_of(found).encode())
        written.append(folder / NUMBERS)
    except GambolError as error:
        found = None
        warnings.append(f"the clip could not be measured: {error}")
    shareable = _without_folders(config)
    details = RunDetails(
        prompt=_sentence(config),
        character=problem.character.name,
        clip=path.name,
        clip_name=name,
        movie=MOVIE if (folder / MOVIE).exists() else None,
        sheet=(folder / SHEET).read_bytes() if (folder / SHEET).exists() else None,
        losses=losses,
        warnings=tuple(filter(None, warnings)),
        facts=_facts(run, problem, shareable),
        settings=shareable.json(),
    )
    write_file(folder / REPORT, run_page(details, found).encode())
    written.append(folder / REPORT)
    summary = found.summary if found else "the clip could not be measured"
    warned = tuple(details.warnings)
    return RunResult(name, clip.duration, problem.loops, summary, tuple(written), warned, fitted.advice)


def _fitted(problem: Problem, clip: Clip, config: RunConfig, warnings: list[str]) -> FittedClip:
    """Return the clip with its edits and as its engine wants it; without them, and with a warning, if that fails."""
    character, anatomy = problem.character, problem.anatomy
    options: dict = {"reduce": config.reduce, "loops": problem.loops}
    options["taken"] = () if config.animation_only else character.clips
    try:
        return fit(character, anatomy, clip, config.edit, config.engine, **options)
    except GambolError as error:
        warnings.append(f"the clip is written without the edits asked for: {error}")
        return FittedClip(character, anatomy, (), clip, ())


def _sentence(config: RunConfig) -> str:
    """Return all that was asked for, as one sentence."""
    return ", then ".join([config.prompt, *config.then])


def _facts(run: Run, problem: Problem, config: RunConfig) -> list[tuple[str, str]]:
    """Return how the clip was made, as titles and texts for the page."""
    minutes, seconds = divmod(round(run.seconds), 60)
    return [
        ("character", config.character),
        ("understood", str(problem.intent) if problem.intent else "left to the prior"),
        ("prior", config.prior.name),
        ("made by", problem.made_by),
        ("preset", f"{config.preset}, seed {problem.config.seed}"),
        ("time", f"{minutes} min {seconds} s" if minutes else f"{run.seconds:.1f} s"),
        ("peak memory", peak_memory()),
        ("gambol", config.version),
    ]


def _without_folders(config: RunConfig) -> RunConfig:
    """Return the config with files by their names, not by where they are on this machine: the page may be shared."""
    weights = config.prior.weights and Path(config.prior.weights).name
    prior = replace(config.prior, name=_file_name(config.prior.name), weights=weights)
    guide = config.config.guide
    guide = guide and replace(guide, motion=_file_name(guide.motion))
    named = replace(config.config, guide=guide)
    return replace(config, config=named, character=_file_name(config.character), prior=prior)


def _file_name(text: str) -> str:
    return Path(text).name if Path(text).is_absolute() else text
