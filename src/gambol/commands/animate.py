"""`gambol animate`: a motion from a sentence."""

from __future__ import annotations

import dataclasses
import gc
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import tyro

from gambol.actions import listing
from gambol.commands.messages import say, warn
from gambol.commands.options import (
    AS_FOUND,
    AS_MADE,
    FOR_ANY,
    AnatomyGiven,
    Editing,
    ForEngine,
    check_name,
    rigged,
)
from gambol.errors import GambolError
from gambol.files import locked_folder
from gambol.ranges import CONTROL_SCALE, FPS, MOST_FRAMES, SECONDS, SEED, STRENGTH, Weight, check_frames

if TYPE_CHECKING:
    from gambol.character.character import Character
    from gambol.distillation.config import GuideConfig
    from gambol.distillation.outputs import RunResult
    from gambol.distillation.problem import Problem
    from gambol.distillation.run import Run
    from gambol.distillation.run_config import PriorChoice
    from gambol.distillation.stage_runner import StageRunner, StepLog

USUAL_STRENGTH = 0.7
RIGGED = "-rigged"
"""End of the name of the file in a run's folder that holds a mesh with its new skeleton."""
Shown = TypeVar("Shown")


def _with_actions(command: type[Shown]) -> type[Shown]:
    """Write the table of actions into a command's help."""
    command.__doc__ = (command.__doc__ or "").replace("{actions}", listing())
    return command


@_with_actions
@dataclass
class AnimateCommand:
    """Make a character do what a sentence says, and write the motion as a clip into its own file.

    A run is a folder: clip.glb (your file plus the clip; clip.fbx or .usd if yours is one), preview.mp4, sheet.png,
    report.html and report.json (how good the clip is), and everything needed to resume if it is stopped, by Ctrl-C or
    worse.

    The prior tracks, which comes with gambol, knows these actions, at any pace ("strolls", "sprints"):
    {actions}.
    Priors with an open vocabulary take any sentence: see gambol priors.

    examples:
      gambol animate fox "a fox is walking"                        one of gambol's own zoo
      gambol animate hero.glb "a knight is running" -o hero-run    your own file
      gambol animate cow.obj "a cow is walking"                    a mesh without a skeleton: it gets one first
      gambol animate hero.glb "a knight runs" --for godot           its importer sets the clip to loop
      gambol animate --resume hero-run                             continue after Ctrl-C
      gambol animate hero.glb "a man jumps" --preset draft --watch
      gambol animate hero.glb "a knight walks, then bows"          one clip of both; or --then "he bows"
      gambol animate hero.glb "a knight walks" --seconds 4 --freeze hand.L hand.R
      gambol animate hero.glb "a knight walks" --pin 0:idle --pin 20:wave@0.5
      gambol animate hero.glb "a knight runs" --init run --strength 0.5 --frames 10:25
      gambol animate hero.glb "a knight draws a bow" --guide bow-poses.glb --strength 0.6
      gambol animate hero.glb "a knight is dancing" --prior wan-2.1-1.3b --offload
      gambol animate hero.glb "a knight is dancing" --prior wan-vace-1.3b --guide dance.glb --guide-as control
    """

    character: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="[CHARACTER]")] = None
    """A rigged character (.glb, .vrm, .gltf, .fbx or .usd), a mesh (.obj, .ply, .stl, .off), or one of the zoo: fox."""
    prompt: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="[SENTENCE]")] = None
    """What the character does, such as "a fox is walking"."""
    then: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="SENTENCE")] = ()
    """What the character does next, in the same clip, as in --then "he sits down". May be given several times."""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")] = None
    """Folder of the run; by default a new one here, named after character and action: fox-walk."""
    resume: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Continue a run that was stopped, with its own settings; the result is the same as without the stop. Only --watch
    may be added, and --prior to allow a download of its model."""
    preset: Literal["draft", "standard", "paper"] = "standard"
    """draft is quick, standard is the best quality, paper repeats the AKD paper in 10,000 steps, by default with the
    small video model pixels."""
    seconds: Annotated[float | None, SECONDS, tyro.conf.arg(metavar="SECONDS")] = None
    """Length of the clip [s]; a loop is repeated. By default one cycle, or as long as such an action takes."""
    fps: Annotated[float, FPS] = 30.0
    """Frame rate of the clip [frames/s]."""
    loop: bool = False
    """Make the clip loop, even if the action is not cyclic."""
    no_loop: bool = False
    """Do not make the clip loop, even if the action is cyclic."""
    seed: Annotated[int, SEED] = 0
    """Seed of the random numbers: another seed gives another motion."""
    name: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """Name of the clip in the file; by default the action."""
    init: Annotated[str | None, tyro.conf.arg(metavar="CLIP")] = None
    """Start from this clip of the character instead of the rest pose."""
    guide: Annotated[str | None, tyro.conf.arg(metavar="CLIP|FILE")] = None
    """A motion that guides the prior: a clip of the character, or a file of the same skeleton, such as `gambol poses`
    and `gambol tween` write (poses.glb, or poses.glb:CLIP). Poses without a timing fill the whole clip."""
    guide_as: Literal["start", "first-frame", "control"] = "start"
    """How it guides: as a start, like --init; by its first frame, with video models that take a picture; or as a
    control of every frame, with wan-vace-1.3b and wan-vace-14b."""
    control_scale: Annotated[float, CONTROL_SCALE] = 1.0
    """How strong that control is; at 0 there is none."""
    control_kind: Literal["grey", "depth", "pose"] = "grey"
    """What that control shows of the guide: pictures in shades of grey, of depth, or drawings of the pose, as DWPose
    makes them, of characters with a head, two arms and two legs."""
    strength: Annotated[float, STRENGTH] = USUAL_STRENGTH
    """How much the clip of --init, or a guide that is the start, may change: from 0.01, hardly, to 1, completely."""
    frames: Annotated[str | None, tyro.conf.arg(metavar="FROM:TO")] = None
    """Change only these frames of the --init clip."""
    pin: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="FRAME:POSE")] = ()
    """Hold a pose at a frame: rest, a clip's first frame (20:idle), or any time of it in seconds (20:idle@0.5). May be
    given several times."""
    freeze: Annotated[tuple[str, ...], tyro.conf.arg(metavar="JOINT ...")] = ()
    """Joints that do not move, or move as in the clip of --init or --guide. hand.L is 'mixamorig:LeftHand', too."""
    prior: Annotated[str | None, tyro.conf.arg(metavar="PRIOR")] = None
    """The model that the motion comes from: tracks, the default, which samples how the parts of a body move; pixels,
    gambol's small video model; or another one that `gambol priors` lists, a folder, or a hub id."""
    weights: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Other weights for the prior tracks or pixels, as `gambol train-prior` writes them."""
    plausible: Weight = 0.0
    """Weight of a loss that keeps poses plausible, for priors of videos and the preset paper; 0.1 is a usual one."""
    pose_weights: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """What `gambol train-poses` wrote, for --plausible; by default the weights that come with gambol."""
    device: str = "auto"
    """Where big priors run: cuda, cuda:1, cpu."""
    offload: bool = False
    """Big priors: keep only the component that is working on the GPU."""
    tiling: bool = False
    """Big priors: encode frames in tiles, which takes less memory."""
    watch: bool = False
    """Open a page that shows the motion while it is made."""
    editing: Editing = AS_MADE
    engine: ForEngine = FOR_ANY
    animation_only: bool = False
    """Write joints and the new clip alone into the clip's file: no mesh, no other clip."""
    export: Annotated[tuple[Literal["bvh", "npz", "vrma"], ...], tyro.conf.arg(metavar="{bvh,npz,vrma} ...")] = ()
    """Also write the clip alone, without a mesh: .bvh for other programs, .vrma for VRM avatars, .npz for numpy."""
    anatomy: AnatomyGiven = AS_FOUND

    def run(self) -> None:
        if self.resume is not None:
            self._resume(self.resume)
            return
        settings = self._check()
        assert self.character is not None and self.prompt is not None
        folder = self.output or free_folder(self.character, self.prompt)
        with locked_folder(folder):
            with _loading():
                ready = self._begin(folder, settings)
            execute(*ready, self.watch)

    def _check(self) -> dict[str, Any]:
        """Refuse wrong values before anything heavy is loaded; returns fields of `AnimateConfig`."""
        if not self.character or not self.prompt or not self.prompt.strip():
            missing = "a character and a sentence" if not self.character else "a sentence that says what it does"
            raise GambolError(f"""{missing} is needed, as in: gambol animate fox "a fox is walking\"""")
        if not all(sentence.strip() for sentence in self.then):
            raise GambolError("--then needs a sentence that says what the character does next")
        if self.loop and self.no_loop:
            raise GambolError("--loop and --no-loop exclude each other; leave one out")
        check_frames(self.seconds or 0.0, self.fps)
        check_name(self.name)
        self.editing.check()
        self.engine.check()
        self._check_guide()
        starts = self.init is not None or (self.guide is not None and self.guide_as == "start")
        if not starts and self.strength != USUAL_STRENGTH:
            raise GambolError("--strength says how much a clip may change: name that clip with --init or --guide")
        if self.init is None and self.frames is not None:
            raise GambolError("--frames names frames of a clip to redo: name that clip with --init")
        if self.preset == "paper" and self.strength != USUAL_STRENGTH:
            raise GambolError("--strength is for draft and standard: paper puts no noise on a clip; leave it out")
        if self.pose_weights and not self.plausible:
            raise GambolError("--pose-weights is the pose model of --plausible: give its weight too")
        if self.plausible and self.preset != "paper" and self.prior in (None, "tracks"):
            raise GambolError(
                "--plausible is for motions that are optimised, and those of the prior tracks are sampled: "
                "give a prior of videos, as in --prior pixels, or --preset paper"
            )
        if self.watch and find_spec("viser") is None:
            raise GambolError("--watch needs viser; pip install 'gambol[watch]'")
        return {
            "fps": self.fps,
            "seconds": self.seconds,
            "loop": True if self.loop else False if self.no_loop else None,
            "init": self.init,
            "strength": self.strength,
            "frames": _frames(self.frames) if self.frames is not None else None,
            "pins": tuple(_pinned(pin) for pin in self.pin),
            "freeze": self.freeze,
            "pose_weights": str(self.pose_weights.resolve()) if self.pose_weights else None,
        }

    def _check_guide(self) -> None:
        if self.guide is not None and self.init is not None:
            raise GambolError("--init and --guide both name a motion to begin with; leave one out")
        if self.guide is None and self.guide_as != "start":
            raise GambolError(f"--guide-as {self.guide_as} needs a motion: name it with --guide")
        if self.guide_as != "control" and self.control_scale != 1.0:
            raise GambolError("--control-scale is for --guide-as control; leave it out")
        if self.guide_as != "control" and self.control_kind != "grey":
            raise GambolError("--control-kind is for --guide-as control; leave it out")

    def _guide(self) -> GuideConfig | None:
        from gambol.distillation.config import GuideConfig
        from gambol.distillation.guide import lasting_motion

        if self.guide is None:
            return None
        return GuideConfig(lasting_motion(self.guide), self.guide_as, self.control_scale, self.control_kind)

    def _begin(self, folder: Path, settings: dict[str, Any]) -> tuple[Run, Problem]:
        """Load and check the character and the prior, then write the settings of the run."""
        import torch

        from gambol.creatures.load import load
        from gambol.distillation.config import preset_for
        from gambol.distillation.guide import hash_guide
        from gambol.distillation.outputs import check_references
        from gambol.distillation.run import Run, check_room, check_unused, room_for
        from gambol.distillation.run_config import RunConfig, hash_character, lasting_name
        from gambol.editing.edit import check
        from gambol.poses.model import PoseModel
        from gambol.rigging.rig import is_bare

        check_unused(folder)
        assert self.character is not None and self.prompt is not None
        character = load(self.character)
        name = lasting_name(self.character)
        if is_bare(character):
            character, name = self._rigged(character, folder)
        check_references(character)
        choice = self._prior()
        prior = choice.open()
        settings["guide"] = self._guide()
        config = dataclasses.replace(preset_for(self.preset, prior, self.seed), **settings)
        part = "score" if config.method == "score" else "fit"
        weighted = dataclasses.replace(getattr(config, part), plausible=self.plausible)
        config = dataclasses.replace(config, **{part: weighted})
        run_config = RunConfig(
            character=name,
            prompt=self.prompt,
            then=self.then,
            config=config,
            preset=self.preset,
            prior=choice.lasting(),
            name=self.name,
            edit=self.editing.config(),
            engine=self.engine.target,
            reduce=self.engine.bound,
            animation_only=self.animation_only,
            export=tuple(dict.fromkeys(self.export)),
            **self.anatomy.lasting(),
            threads=torch.get_num_threads(),
            character_hash=hash_character(character),
            guide_hash=hash_guide(settings["guide"]),
            prior_hash=prior.fingerprint(),
            pose_hash=PoseModel.load(self.pose_weights).fingerprint() if self.plausible else "",
        )
        problem = run_config.problem(character, prior)
        check(problem.character, problem.anatomy, run_config.edit)
        check_room(folder, room_for(problem))
        return Run.begin(folder, run_config), problem

    def _rigged(self, mesh: Character, folder: Path) -> tuple[Character, str]:
        """A mesh with a skeleton, written into the folder of the run, and the name of that file."""
        from gambol.commands.saving import save_character
        from gambol.distillation.run_config import lasting_name
        from gambol.formats import load, own_suffix

        character = rigged(mesh, self.anatomy)
        folder.mkdir(parents=True, exist_ok=True)
        source = Path(self.character or mesh.name)
        file = folder / f"{source.stem}{RIGGED}{own_suffix(source)}"
        save_character(character, file, overwrite=True)
        return load(file), lasting_name(str(file))

    def _prior(self) -> PriorChoice:
        from gambol.distillation.run_config import PriorChoice
        from gambol.priors.catalogue import DEFAULT, PAPER_DEFAULT

        usual = PAPER_DEFAULT if self.preset == "paper" else DEFAULT
        weights = str(self.weights) if self.weights else None
        return PriorChoice(self.prior or usual, weights, self.device, self.offload, self.tiling)

    def _resume(self, folder: Path) -> None:
        """Continue a run; says so if it is finished."""
        for field in dataclasses.fields(self):
            if field.name not in ("resume", "watch", "prior") and getattr(self, field.name) != field.default:
                spoken = {
                    "character": "the character",
                    "prompt": "the sentence",
                    "anatomy": "--up, --forward, --plan and --joints",
                }
                spoken["editing"], spoken["engine"] = self.editing.given, "--for and --reduce"
                given = spoken.get(field.name, "--" + field.name.replace("_", "-"))
                raise GambolError(f"--resume uses the run's own settings: leave out {given}")
        if not folder.is_dir():
            raise GambolError(f"cannot resume: there is no folder {folder}")
        with locked_folder(folder):
            with _loading():
                from gambol.distillation.run import Run

                run = Run.open(folder)
                named = run.run_config.prior.name
                if self.prior not in (None, named):
                    raise GambolError(f"the run's prior is {named}; a run cannot be resumed with another one")
                if run.finished:
                    say(f"{folder} is finished: there is nothing left to do; see {folder / 'report.html'}")
                    return
                problem = resumed_problem(run, may_download=self.prior == named)
            execute(run, problem, self.watch)


@contextmanager
def _loading() -> Iterator[None]:
    """Suspend garbage collection inside the block: what is loaded stays, and scanning it would take 0.5 s."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def resumed_problem(run: Run, may_download: bool) -> Problem:
    """Return the problem of a run that was started earlier. A model is fetched from the hub only if the user allows it
    again: config.json may come from somebody else."""
    import torch

    from gambol.creatures.load import load
    from gambol.priors.catalogue import BUILT_IN

    run_config = run.run_config
    torch.set_num_threads(run_config.threads)
    try:
        prior = run_config.prior.open(download=may_download)
    except GambolError as error:
        if may_download or run_config.prior.name in BUILT_IN:
            raise
        again = f"gambol animate --resume {shlex.quote(str(run.folder))} --prior {shlex.quote(run_config.prior.name)}"
        raise GambolError(f"{error}; resuming downloads nothing unless you name the model again: {again}") from None
    return run_config.problem(load(run_config.character), prior)


def execute(run: Run, problem: Problem, watch: bool) -> None:
    """Do all steps that are left, and write all files."""
    from gambol.commands.animate_progress import StepReporter
    from gambol.distillation.config import steps_of
    from gambol.distillation.outputs import draw_with, write_outputs
    from gambol.distillation.run import STATE
    from gambol.progress import progress
    from gambol.render.clip_renderer import ClipRenderer

    for warning in problem.warnings:
        warn(warning)
    planned = steps_of(problem.config, problem.prior.name, max(len(problem.parts), 1))
    begins = "resuming" if (run.folder / STATE).exists() else "animating"
    say(f"{begins} '{problem.character.name}': {_outline(run, problem)}, {sum(planned):,} steps in {run.folder}")
    clip_renderer, page = ClipRenderer(problem.character, problem.anatomy), None
    if watch:
        from gambol.live.page import LivePage

        page = LivePage(problem)
        say(f"watch it at {page.url}")
    try:
        with progress("starting") as advance:
            reporter = StepReporter(planned, advance)

            def on_step(log: StepLog, runner: StageRunner) -> None:
                reporter.step(log)
                if page:
                    page.show(runner, log)

            runner = run.solve(problem, on_step, draw_with(clip_renderer, problem))
        with progress("rendering the clip") as advance:  # the first time ever compiles kernels, some twenty seconds
            result = write_outputs(run, problem, runner, clip_renderer, advance)
        _print_summary(run, result)
        if page:
            page.show(runner)
            if sys.stdin.isatty():
                input("the page stays open until you press Enter ")
    except KeyboardInterrupt:
        if not run.finished:
            resume = f"gambol animate --resume {shlex.quote(str(run.folder))}"
            print(f"\nsaved; resume with: {resume}", file=sys.stderr)
        raise
    finally:
        if page:
            page.close()


def _outline(run: Run, problem: Problem) -> str:
    kind = "a loop" if problem.loops else "a clip"
    what = f"'{problem.intent.meaning}'" if problem.intent else f"'{problem.prompt.text}'"
    guide = problem.config.guide
    guided = f", guided by '{Path(guide.motion).name}' as {guide.role}" if guide else ""
    return f"{what}, {kind} of {problem.seconds:.2f} s, by {problem.made_by}{guided}, preset {run.run_config.preset}"


def _print_summary(run: Run, result: RunResult) -> None:
    for warning in result.warnings:
        if warning.startswith(("no movie", "no clip.")):
            warn(warning)
    names = ", ".join(path.name for path in result.written)
    loops = "loops" if result.loops else "does not loop"
    say(f"wrote {run.folder}/: {names}; clip '{result.name}', {result.seconds:.2f} s, {loops}")
    say(result.summary)
    for sentence in result.advice:
        say(sentence)


def free_folder(character: str, prompt: str) -> Path:
    """A folder name that is not in use here, from the character and the action: 'fox-walk', or 'fox-walk-2'."""
    from gambol.language import MAX_LETTERS, parse_intent

    intent = parse_intent(prompt[:MAX_LETTERS])
    stem = Path(character).stem if Path(character).is_file() else character
    action = intent.action if intent else " ".join(prompt.split()[:4])
    name = re.sub(r"[^\w.]+", "-", f"{stem}-{action}").strip("-.").lower()[:60] or "run"
    number = 1
    while (folder := Path(name if number == 1 else f"{name}-{number}")).exists():
        number += 1
    return folder


def _frame(text: str) -> int | None:
    """A frame number; None if the text is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= len(str(MOST_FRAMES)) else None


def _frames(text: str) -> tuple[int, int]:
    first, last = (_frame(part) for part in (text.partition(":")[0], text.partition(":")[2]))
    if first is None or last is None:
        raise GambolError(f"--frames takes two frames, as in 10:25, got '{text[:40]}'")
    if last <= first:
        raise GambolError(f"--frames goes from a frame to a later one, as in 10:25, got '{text}'")
    return first, last


def _pinned(text: str) -> tuple[int, str]:
    number, _, pose = text.partition(":")
    frame = _frame(number)
    if frame is None or not pose:
        raise GambolError(f"--pin takes a frame and a pose, as in 0:rest or 20:idle@0.5, got '{text[:40]}'")
    return frame, pose
