"""`gambol animate`: a motion from a sentence."""

from __future__ import annotations

import dataclasses
import gc
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from gambol.character.axes import AxisChoice
from gambol.commands.options import AS_MADE, Finishing
from gambol.errors import GambolError

if TYPE_CHECKING:
    from gambol.distillation.distill import Scene
    from gambol.distillation.play import Moment, Play
    from gambol.distillation.premiere import Outcome
    from gambol.distillation.recipe import PriorChoice, Recipe
    from gambol.distillation.run import Run

LARGEST_SEED = 1_000_000


@dataclass
class Animate:
    """Make a character do what a sentence says, and write the motion as a clip into its own file.

    A run is a folder: clip.glb (your file plus the clip), preview.mp4, sheet.png, report.html and report.json (how good
    it is), and all that is needed to go on if it is stopped, by Ctrl-C or worse.

    examples:
      gambol animate fox "a fox is walking"                        one of gambol's own zoo
      gambol animate hero.glb "a knight is running" -o hero-run    your own file
      gambol animate --resume hero-run                             go on after Ctrl-C
      gambol animate hero.glb "a man jumps" --preset draft --watch
      gambol animate hero.glb "a knight walks" --seconds 4 --keep hand.L hand.R
      gambol animate hero.glb "a knight walks" --pin 0:idle --pin 20:wave@0.5
      gambol animate hero.glb "a knight runs" --init run --strength 0.5 --only 10:25
      gambol animate hero.glb "a knight is dancing" --prior wan-2.1-1.3b --offload
    """

    character: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="[CHARACTER]")] = None
    """A rigged character (.glb, .vrm or .gltf), or one of the zoo: fox."""
    prompt: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="[SENTENCE]")] = None
    """What it does, such as "a fox is walking"."""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")] = None
    """The run's folder; by default a new one here, named by the character and what it does: fox-walk."""
    resume: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Go on with a run that was stopped. It ends as if it had not been; no other options but --watch."""
    preset: Literal["draft", "standard", "paper"] = "standard"
    """Draft is a quick look, standard the best gambol can do, paper what the AKD paper did, in 10,000 steps."""
    seconds: Annotated[float | None, tyro.conf.arg(metavar="SECONDS")] = None
    """Length of the clip [s]; what loops is repeated. By default one round, or as long as such a deed takes."""
    fps: float = 30.0
    """Frames a second of the clip."""
    loop: bool = False
    """Let the end lead back to the start, also if the action is not cyclic."""
    no_loop: bool = False
    """Let it end where it ends, also if the action is cyclic."""
    seed: int = 0
    """Of everything that is random: another one, another motion."""
    name: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """Of the clip in the file; by default the action."""
    init: Annotated[str | None, tyro.conf.arg(metavar="CLIP")] = None
    """Begin with a clip of the character instead of nothing."""
    strength: float = 0.7
    """How far to leave that clip: from 0.01, hardly, to 1, wholly."""
    only: Annotated[str | None, tyro.conf.arg(metavar="FROM:TO")] = None
    """Change only these frames of that clip."""
    pin: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="FRAME:POSE")] = ()
    """Hold a pose at a frame: rest, a clip's first frame (20:idle), or any moment of it in seconds (20:idle@0.5). May
    be given several times."""
    keep: Annotated[tuple[str, ...], tyro.conf.arg(metavar="JOINT ...")] = ()
    """Joints that do not move, or move as in --init."""
    prior: Annotated[str, tyro.conf.arg(metavar="PRIOR")] = "pocket"
    """The video model that knows movement: a name that `gambol priors` lists, a folder, or a hub id."""
    weights: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Other weights for pocket, as `gambol train-prior` writes them."""
    device: str = "auto"
    """Where big priors work: cuda, cuda:1, cpu."""
    offload: bool = False
    """Big priors: keep only the part that works on the GPU."""
    tiling: bool = False
    """Big priors: encode pictures in tiles, in less memory."""
    watch: bool = False
    """Open a page that shows the motion while it is made."""
    finishing: Finishing = AS_MADE
    export: Annotated[tuple[Literal["bvh", "npz"], ...], tyro.conf.arg(metavar="{bvh,npz} ...")] = ()
    """Also write the clip alone, without a mesh: for other programs, for numpy."""
    up: AxisChoice = "auto"
    """The axis that points up."""
    forward: AxisChoice = "auto"
    """The axis it faces."""

    def run(self) -> None:
        with _loading():
            ready = self._start() if self.resume is None else self._resume(self.resume)
        if ready:
            perform(*ready, self.watch)

    def _start(self) -> tuple[Run, Scene]:
        wishes = self._check()
        from gambol.distillation.run import claim_folder

        assert self.character is not None and self.prompt is not None
        folder = self.output or free_folder(self.character, self.prompt)
        fresh = not folder.exists()
        claim_folder(folder)
        try:
            return self._begin(folder, wishes)
        except BaseException:
            if fresh and folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
            raise

    def _check(self) -> dict[str, Any]:
        """Refuse what cannot be meant before anything is loaded; fields of `DistillConfig` that the user gave."""
        if not self.character or not self.prompt or not self.prompt.strip():
            missing = "a character and a sentence" if not self.character else "a sentence that says what it does"
            raise GambolError(f"""{missing} is needed, as in: gambol animate fox "a fox is walking\"""")
        if self.loop and self.no_loop:
            raise GambolError("--loop and --no-loop cannot both be; leave one out")
        if not 0 <= self.seed <= LARGEST_SEED:
            raise GambolError(f"--seed must be from 0 to {LARGEST_SEED:,}, got {self.seed}")
        if self.name is not None and not self.name.strip():
            raise GambolError("--name must not be empty")
        if self.watch and find_spec("viser") is None:
            raise GambolError("--watch needs viser; pip install 'gambol[watch]'")
        from gambol.distillation.config import DistillConfig

        wishes: dict[str, Any] = {
            "fps": self.fps,
            "seconds": self.seconds,
            "loop": True if self.loop else False if self.no_loop else None,
            "init": self.init,
            "strength": self.strength,
            "only": _frames(self.only) if self.only is not None else None,
            "pins": tuple(_pinned(pin) for pin in self.pin),
            "keep": self.keep,
        }
        DistillConfig(**wishes)  # raises if a value is out of range
        self.finishing.config()
        if self.init is None and self.strength != DistillConfig.strength:
            raise GambolError("--strength says how far to leave a clip: name that clip with --init")
        if self.preset == "paper" and self.strength != DistillConfig.strength:
            raise GambolError("--strength is for draft and standard: paper puts no noise on a clip; leave it out")
        return wishes

    def _begin(self, folder: Path, wishes: dict[str, Any]) -> tuple[Run, Scene]:
        """Everything that can go wrong with the input does so here; then the run is on the disk."""
        import torch

        from gambol.distillation.config import preset_for
        from gambol.distillation.premiere import check_references
        from gambol.distillation.recipe import Recipe, lasting_name, mark_character, mark_prior
        from gambol.distillation.run import Run, check_room, room_for
        from gambol.finishing.finish import check
        from gambol.formats import load

        assert self.character is not None and self.prompt is not None
        character = load(self.character)
        check_references(character)
        choice = self._prior()
        prior = choice.open()
        recipe = Recipe(
            character=lasting_name(self.character),
            prompt=self.prompt,
            config=dataclasses.replace(preset_for(self.preset, prior, self.seed), **wishes),
            preset=self.preset,
            prior=choice.lasting(),
            name=self.name,
            finish=self.finishing.config(),
            export=tuple(dict.fromkeys(self.export)),
            up=self.up,
            forward=self.forward,
            threads=torch.get_num_threads(),
            character_mark=mark_character(character),
            prior_mark=mark_prior(prior),
        )
        scene = recipe.scene(character, prior)
        check(scene.character, scene.anatomy, recipe.finish)
        check_room(folder, room_for(scene))
        return Run.begin(folder, recipe), scene

    def _prior(self) -> PriorChoice:
        from gambol.distillation.recipe import PriorChoice

        weights = str(self.weights) if self.weights else None
        return PriorChoice(self.prior, weights, self.device, self.offload, self.tiling)

    def _resume(self, folder: Path) -> tuple[Run, Scene] | None:
        """The run as it was left; None if it is finished."""
        for field in dataclasses.fields(self):
            if field.name not in ("resume", "watch") and getattr(self, field.name) != field.default:
                spoken = {"character": "the character", "prompt": "the sentence", "finishing": self.finishing.given}
                given = spoken.get(field.name, "--" + field.name.replace("_", "-"))
                raise GambolError(f"--resume goes on with the run's own settings: leave out {given}")
        from gambol.distillation.run import Run

        run = Run.open(folder)
        if run.finished:
            print(f"{folder} is finished: there is nothing left to do; see {folder / 'report.html'}")
            return None
        return run, scene_again(run.recipe)


@contextmanager
def _loading() -> Iterator[None]:
    """Without a search for garbage: what is loaded stays, and to look through it again and again takes 0.5 s."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def scene_again(recipe: Recipe) -> Scene:
    """The scene of a run that was begun earlier."""
    import torch

    from gambol import __version__
    from gambol.formats import load

    if recipe.version != __version__:
        _warn(f"the run was begun with gambol {recipe.version}; with {__version__} it may end differently")
    torch.set_num_threads(recipe.threads)
    return recipe.scene(load(recipe.character), recipe.prior.open())


def perform(run: Run, scene: Scene, watch: bool) -> None:
    """From the first step, or where it was stopped, to the last file."""
    from gambol.commands.animate_progress import LivePage, telling
    from gambol.distillation.premiere import Crew, draw_with, finish
    from gambol.distillation.run import STATE, steps_of
    from gambol.progress import progress

    for warning in scene.warnings:
        _warn(warning)
    planned = steps_of(scene.config)
    begins = "going on with" if (run.folder / STATE).exists() else "animating"
    print(
        f"{begins} '{scene.character.name}': {_outline(run, scene)}, {sum(planned):,} steps in {run.folder}", flush=True
    )
    crew, page = Crew(scene.character, scene.anatomy), LivePage(scene) if watch else None
    try:
        with telling(planned) as teller:

            def on_step(moment: Moment, play: Play) -> None:
                teller.step(moment)
                if page:
                    page.show(play, moment)

            play = run.perform(scene, on_step, draw_with(crew, scene))
        with progress("filming the clip") as advance:  # the first time ever compiles kernels, some twenty seconds
            outcome = finish(run, scene, play, crew, advance)
        _tell(run, outcome)
        if page:
            page.show(play)
            if sys.stdin.isatty():
                input("the page stays open until you press Enter ")
    except KeyboardInterrupt:
        if not run.finished:
            print(f"\nsaved; go on with: gambol animate --resume {_shell(run.folder)}", file=sys.stderr)
        raise
    finally:
        if page:
            page.close()


def _outline(run: Run, scene: Scene) -> str:
    ways = "a loop" if scene.start.loops else "a clip"
    what = f"'{scene.intent.action}'" if scene.intent else f"'{scene.prompt.text}'"
    return f"{what}, {ways} of {scene.seconds:.2f} s, prior {run.recipe.prior.name}, preset {run.recipe.preset}"


def _tell(run: Run, outcome: Outcome) -> None:
    for warning in outcome.warnings:
        if warning.startswith("there are no pictures"):
            _warn(warning)
    names = ", ".join(path.name for path in outcome.written)
    loops = "loops" if outcome.loops else "does not loop"
    print(f"wrote {run.folder}/: {names}; clip '{outcome.name}', {outcome.seconds:.2f} s, {loops}")
    print(outcome.summary)


def free_folder(character: str, prompt: str) -> Path:
    """A name that no file or folder here has: 'fox-walk', or 'fox-walk-2'."""
    from gambol.priors.pocket.language.words import LONGEST, understand

    intent = understand(prompt[:LONGEST])
    stem = Path(character).stem if Path(character).is_file() else character
    deed = intent.action if intent else " ".join(prompt.split()[:4])
    name = re.sub(r"[^\w.]+", "-", f"{stem}-{deed}").strip("-.").lower()[:60] or "run"
    number = 1
    while (folder := Path(name if number == 1 else f"{name}-{number}")).exists():
        number += 1
    return folder


def _frames(text: str) -> tuple[int, int]:
    first, _, last = text.partition(":")
    if not (first.isdecimal() and last.isdecimal()):
        raise GambolError(f"--only takes two frames, as in 10:25, got '{text}'")
    return int(first), int(last)


def _pinned(text: str) -> tuple[int, str]:
    frame, _, pose = text.partition(":")
    if not (frame.isdecimal() and pose):
        raise GambolError(f"--pin takes a frame and a pose, as in 0:rest or 20:idle@0.5, got '{text}'")
    return int(frame), pose


def _shell(path: Path) -> str:
    import shlex

    return shlex.quote(str(path))


def _warn(text: str) -> None:
    print(f"warning: {text}", file=sys.stderr)
