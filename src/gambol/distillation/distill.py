"""From a sentence to a motion: which acts, in which order, on which film set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import torch
from jaxtyping import Float

from gambol.character.anatomy import Anatomy, study
from gambol.character.character import Character
from gambol.character.rig import Rig, build_rig
from gambol.creatures.gaits.footfalls import speed_of
from gambol.creatures.gaits.gait import likely_metres
from gambol.creatures.gaits.legs import hip_height_of
from gambol.distillation.act import Act
from gambol.distillation.config import DistillConfig, preset_for
from gambol.distillation.doubts import doubts_about, require_body
from gambol.distillation.figures import FigureSet
from gambol.distillation.film_set import FilmSet
from gambol.distillation.footing import FEWEST, Footing, find_loads, grounded
from gambol.distillation.holds import Holds
from gambol.distillation.pacing import Timing, seconds_for, timing_for
from gambol.distillation.pinning import holds_of
from gambol.distillation.play import MakeAct, Moment, Play
from gambol.distillation.puppet import CurvePuppet, FramePuppet
from gambol.distillation.sampled import Rehearsal
from gambol.distillation.score_distillation import ScoreDistillation
from gambol.errors import GambolError
from gambol.motion.cuboids import Cuboids, fit_cuboids
from gambol.motion.draft import Draft, clip_of, draft_of
from gambol.motion.low_skin import LowSkin
from gambol.motion.motion import Motion
from gambol.priors.pocket.actions import ACTIONS
from gambol.priors.pocket.language.words import Intent, require, understand
from gambol.priors.pocket.look import draw_figure
from gambol.priors.prior import Prompt, VideoPrior

Array = np.ndarray

GOING = ("walk", "trot", "run", "hop", "jump")
"""Actions that lead somewhere on feet."""
TURNS = ("turn left", "turn right")
LEAPS = ("jump",)
"""Where only a foot's height tells whether it bears."""
LONG = 2.5
"""A clip this many times longer than an action usually takes holds more than one round of it."""
FLOATS = ("fly", "swim")
"""Where no foot bears anything."""


def distill(
    character: Character,
    prompt: str,
    prior: VideoPrior,
    config: DistillConfig | None = None,
    *,
    name: str | None = None,
    on_step: Callable[[Moment], None] = lambda moment: None,
) -> Motion:
    """A motion of the character that does what the sentence says.

    config: the preset 'standard' if not given. name: of the clip; the action, or the first words of the sentence.
    """
    scene = prepare(character, prompt, prior, config or preset_for("standard", prior))
    play = Play(acts_of(scene), scene.start)
    while not play.over:
        on_step(play.step())
    return scene.motion(play.draft(), name or scene.title)


@dataclass(frozen=True)
class Scene:
    """Everything that stays as it is during a distillation."""

    character: Character
    anatomy: Anatomy
    rig: Rig
    prior: VideoPrior
    prompt: Prompt
    negative: Prompt | None
    intent: Intent | None
    """What of the sentence is understood without the prior."""
    config: DistillConfig
    start: Draft
    holds: Holds
    film_set: FilmSet
    rounds: int = 1
    """How often what was distilled is repeated in the clip."""
    still: float = 0.0
    """How long the clip holds its last pose at the end [s]."""
    notes: tuple[str, ...] = ()
    """What is not as the user may think, in sentences."""
    way: Float[Array, 3] | None = None
    """How far the clip it began with leads, or its glide, if the prior sees it on the spot [file units]."""

    @property
    def title(self) -> str:
        """A name for the clip."""
        return self.intent.action if self.intent else " ".join(self.prompt.text.split()[:6])

    @property
    def warnings(self) -> tuple[str, ...]:
        """All there is to be said before the work."""
        said = (*self.character.warnings, self.prompt.note, *self.notes)
        return tuple(dict.fromkeys(warning for warning in said if warning))

    @property
    def seconds(self) -> float:
        """Length of the clip."""
        return self.rounds * self.start.seconds + self.still

    @cached_property
    def cuboids(self) -> Cuboids:
        return fit_cuboids(self.character, self.rig)

    @property
    def goes(self) -> bool:
        return self.intent is not None and self.intent.action in GOING

    @property
    def leaps(self) -> bool:
        return self.intent is not None and self.intent.action in LEAPS

    @property
    def floats(self) -> bool:
        return self.intent is not None and self.intent.action in FLOATS

    def frames(self, seconds: float, loops: bool) -> int:
        """Of a clip of this length, the last one included if it does not loop."""
        return max(round(seconds * self.config.fps), 2) + (0 if loops else 1)

    def clip(self, draft: Draft) -> Draft:
        """The whole clip at its frame rate, from what the last act left."""
        draft = self.travelling(draft)
        whole = draft.repeated(self.rounds, self.rig) if draft.loops else draft
        whole = whole.resampled(self.frames(whole.seconds, whole.loops))
        whole = whole if self.holds.only is None else self._outside_as_it_was(whole)
        return whole.held(self.still) if self.still else whole

    def travelling(self, draft: Draft) -> Draft:
        """What the last act left, with its way; footing has already given it one."""
        if self.way is None or self.config.footing:
            return draft
        return draft.leading(torch.as_tensor(self.way).float())

    def _outside_as_it_was(self, whole: Draft) -> Draft:
        """Frames outside the segment that was redone, straight from the clip."""
        motion = self.character.clips[self.config.init or ""]
        times = motion.start + motion.duration * whole.along.double().numpy()
        was = draft_of(self.character, self.rig, motion, times, whole.loops)
        free = self.holds.freedom(was)
        return replace(
            whole,
            angles=was.angles + free[:, None, None] * (whole.angles - was.angles),
            root_translation=was.root_translation + free[:, None] * (whole.root_translation - was.root_translation),
            root_angles=was.root_angles + free[:, None] * (whole.root_angles - was.root_angles),
        )

    def motion(self, draft: Draft, name: str) -> Motion:
        """As a clip for the character's file; what loops ends with the pose it began with."""
        return clip_of(self.character, self.rig, self.clip(draft), name, self.config.fps)


def prepare(
    character: Character,
    prompt: str,
    prior: VideoPrior,
    config: DistillConfig,
    anatomy: Anatomy | None = None,
) -> Scene:
    """Look at the character, read the sentence, and lay out the time."""
    if not prompt.strip():
        raise GambolError("the sentence is empty: say what the character does, as in 'a fox is walking'")
    if not character.skeleton.is_joint.any():
        raise GambolError(
            f"'{character.name}' has no joints to move; bind it to a skeleton with "
            "`gambol skin MESH --skeleton RIG -o FILE`"
        )
    anatomy = anatomy or study(character)
    require_body(character, anatomy)
    rig = build_rig(anatomy)
    intent = require(prompt) if prior.look == "parts" else understand(prompt)
    told = prior.embed(prompt)
    negative = prior.embed(config.negative) if config.negative else None
    prior.free_text_encoder()
    start, timing = _layout(character, anatomy, rig, prior, intent, config)
    notes = (*doubts_about(character, anatomy, intent.action if intent else None), timing.note)
    way = None
    if prior.look == "parts":  # its cameras stand still, so what it sees is on the spot
        glides = not config.init and intent is not None and intent.action in GOING
        whole = glide_of(anatomy, config, start.seconds) if glides else start.way.double().numpy()
        way = whole - whole @ anatomy.up * anatomy.up
        start = start if glides else start.leading((start.way.double() - torch.as_tensor(way)).float())
    _check_pins(config, timing)
    holds = holds_of(character, rig, config, start, timing.rounds)
    film_set = film_set_for(character, anatomy, rig, prior, config, start)
    rounds, still = timing.rounds, timing.still
    return Scene(
        character,
        anatomy,
        rig,
        prior,
        told,
        negative,
        intent,
        config,
        start,
        holds,
        film_set,
        rounds,
        still,
        notes,
        way,
    )


def film_set_for(
    character: Character, anatomy: Anatomy, rig: Rig, prior: VideoPrior, config: DistillConfig, start: Draft
) -> FilmSet:
    """The look the prior knows."""
    height, _ = prior.format.sizes[0]
    if prior.look == "parts":
        return FigureSet(draw_figure(anatomy), config.sample.views, height)
    from gambol.distillation.actors import actor_set

    return actor_set(character, anatomy, rig, prior.format.sizes[0], start, config.sample.views)


def _layout(
    character: Character, anatomy: Anatomy, rig: Rig, prior: VideoPrior, intent: Intent | None, config: DistillConfig
) -> tuple[Draft, Timing]:
    """The first draft, and how it fills the clip."""
    joints = len(rig.nodes)
    if config.init:
        return _from_clip(character, anatomy, rig, prior, intent, config)
    cyclic = intent is not None and ACTIONS[intent.action].loops
    if prior.look == "parts":  # its videos of cyclic actions are cycles, whether the clip is to loop or not
        assert intent is not None
        natural = seconds_for(anatomy, intent.action, intent.pace)
        timing = timing_for(natural, config.seconds, config.fps, loops=cyclic or bool(config.loop), cyclic=cyclic)
        return Draft.at_rest(joints, prior.format.frames[0], timing.seconds, timing.loops), timing
    fps = prior.format.fps
    longest = (max(prior.format.frames) - 1) / fps
    seconds = config.seconds or longest
    loops = cyclic if config.loop is None else config.loop
    frames = round(seconds * fps) + (0 if loops else 1)
    start = Draft.at_rest(joints, max(frames, 2), seconds, loops, glide_of(anatomy, config, seconds))
    return start, Timing(seconds, loops)


def glide_of(anatomy: Anatomy, config: DistillConfig, seconds: float) -> Float[Array, 3]:
    """How far AKD's first motion, the pose at rest gliding forward, leads in that time [file units]."""
    if not anatomy.legs:
        return np.zeros(3)
    metres = likely_metres(anatomy)
    return speed_of(max(hip_height_of(anatomy), 0.0) * metres, config.glide) * seconds / metres * anatomy.forward


def _check_pins(config: DistillConfig, timing: Timing) -> None:
    """Refuse poses pinned to where nothing moves any more."""
    last = round(timing.seconds * config.fps)
    late = [f"{frame}:{pose}" for frame, pose in config.pins if frame > last]
    if timing.still and late:
        raise GambolError(f"pin {late[0]}: the motion is over at frame {last} and held from there; pin an earlier one")


def _from_clip(
    character: Character, anatomy: Anatomy, rig: Rig, prior: VideoPrior, intent: Intent | None, config: DistillConfig
) -> tuple[Draft, Timing]:
    """A clip of the character as the first draft."""
    clips = character.clips
    if config.init is None or config.init not in clips:
        there = f"Available: {', '.join(clips)}" if clips else "It has none"
        raise GambolError(f"'{character.name}' has no clip '{config.init}' to begin with. {there}")
    motion = clips[config.init]
    if motion.duration <= 0:
        raise GambolError(f"the clip '{config.init}' is a single pose: pin it instead, as in --pin 0:{config.init}")
    cyclic = goes_round(character, rig, motion)
    wanted = cyclic if config.loop is None else config.loop
    timing = timing_for(motion.duration, config.seconds, config.fps, loops=wanted, cyclic=cyclic)
    pocket = prior.look == "parts"
    if pocket and intent and motion.duration > LONG * seconds_for(anatomy, intent.action, intent.pace):
        note = (
            f"'{config.init}' lasts {motion.duration:.1f} s, and the prior takes it for one round or deed of 16 frames"
        )
        timing = replace(timing, note=f"{note}: what is quick in it gets lost")
    count = max(round(motion.duration * prior.format.fps), 1)
    frames = prior.format.frames[0] if pocket else count + (0 if timing.loops else 1)
    steps = frames if timing.loops else frames - 1
    times = motion.start + motion.duration * np.arange(frames) / steps
    return replace(draft_of(character, rig, motion, times, timing.loops), seconds=timing.seconds), timing


def goes_round(character: Character, rig: Rig, motion: Motion) -> bool:
    """Whether a clip ends in the pose it begins with; without a mesh joints tell, to a hundredth of the size."""
    from gambol.render.picture import loop_travel

    if any(len(mesh.faces) for mesh in character.meshes):
        return loop_travel(character, motion) is not None
    ends = motion.sample(character.skeleton, np.array([motion.start, motion.end]))
    first, last = character.skeleton.world(ends)[:, rig.nodes][..., :3, 3]
    way = last - first
    return bool(np.abs(way - way.mean(0)).max() < 0.01 * np.ptp(first, axis=0).max())


def acts_of(scene: Scene) -> list[MakeAct]:
    """The acts of a distillation."""
    config = scene.config
    acts: list[MakeAct] = []
    if config.method == "score":
        acts.append(partial(_score, scene))
    else:
        levels = config.levels
        if config.init:  # the first round leaves it as far as the user wants, the others less in proportion
            levels = tuple(config.strength * level / levels[0] for level in levels)
        acts += [partial(_rehearsal, scene, number, level) for number, level in enumerate(levels)]
    if config.footing:
        acts.append(partial(_footing, scene))
    return acts


def _rehearsal(scene: Scene, number: int, level: float, draft: Draft) -> Act:
    config, film_set = scene.config, scene.film_set
    harmonics = config.fit.harmonics  # of a cycle; of a video in seconds, about as many a second
    if scene.prior.format.fps:
        harmonics = min(harmonics * max(round(draft.seconds), 1), len(draft) // 2)
    goes_round = scene.intent is not None and scene.intent.action in TURNS
    puppet = CurvePuppet(
        scene.anatomy, scene.rig, draft, film_set.joints, film_set.length, harmonics, scene.holds, goes_round
    )
    return Rehearsal(
        scene.anatomy,
        film_set,
        puppet,
        scene.prior,
        scene.prompt,
        level,
        config.sample,
        config.fit,
        scene.negative,
        number,
    )


def _score(scene: Scene, draft: Draft) -> Act:
    film_set, ground = scene.film_set, scene.anatomy.ground
    puppet = FramePuppet(scene.rig, draft, film_set.length, scene.holds)
    return ScoreDistillation(
        film_set, scene.cuboids, puppet, ground, scene.prior, scene.prompt, scene.config.score, scene.negative
    )


def _footing(scene: Scene, draft: Draft) -> Act:
    """Of a segment that is redone only the feet are cared for: the body's way is that of the clip around it."""
    assert scene.config.footing is not None
    anatomy, rig, length = scene.anatomy, scene.rig, scene.film_set.length
    count = scene.frames(draft.seconds, draft.loops)
    dense = draft.resampled(count * -(-FEWEST // count))
    if scene.config.init and scene.way is not None:
        dense = dense.leading(torch.as_tensor(scene.way).float())
    loads = find_loads(anatomy, rig, dense, length, goes=scene.goes, leaps=scene.leaps, floats=scene.floats)
    if dense.loops:
        dense = dense.leading(torch.as_tensor(loads.travel).float())
    segment = scene.holds.only is not None
    if not segment:
        dense = grounded(anatomy, dense, loads, rig)
    skin = LowSkin(scene.character, anatomy, rig, most=400)
    footing = scene.config.footing
    return Footing(anatomy, rig, skin, dense, loads, length, footing, scene.holds, paced=not segment)
