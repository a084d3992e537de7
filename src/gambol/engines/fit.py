"""A clip made fit for an engine: edits, root bone, frame rate, keys, its name, and what the file cannot say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from gambol.actions import ACTIONS
from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.editing.edit import EditConfig, edit
from gambol.editing.path import find_path
from gambol.editing.reduction import reduce_keys
from gambol.engines.names import clip_name, joint_notes
from gambol.engines.root_bone import with_root_bone
from gambol.engines.targets import ENGINES, Engine, EngineName
from gambol.errors import GambolError
from gambol.language import action_of_clip
from gambol.motion.loops import loop_if_any

SMALLEST, LARGEST = 0.02, 30.0
"""Heights of characters between which nobody asks whether a file is in metres [file units]."""
AS_IT_IS = Engine(importer="any program")
"""No engine in particular."""


@dataclass(frozen=True)
class FittedCharacter:
    """A character as an engine wants it."""

    character: Character
    anatomy: Anatomy
    advice: tuple[str, ...]
    """What is to be done in the engine, and what to know about the file."""


@dataclass(frozen=True)
class FittedClip(FittedCharacter):
    """A clip, and the character that it is for."""

    clip: Clip
    notes: tuple[str, ...]
    """What was done, in sentences."""


def fit_without_clip(character: Character, anatomy: Anatomy, engine: EngineName | None) -> FittedCharacter:
    """Make a character without clips what an engine expects, if one is given."""
    row = ENGINES[engine] if engine else AS_IT_IS
    if row.root_bone:
        character, anatomy = with_root_bone(character, anatomy)
    return FittedCharacter(character, anatomy, tuple(_advice(character, anatomy, row)) if engine else ())


def fit(
    character: Character,
    anatomy: Anatomy,
    clip: Clip,
    config: EditConfig,
    engine: EngineName | None = None,
    *,
    name: str | None = None,
    reduce: float | None = None,
    taken: Iterable[str] = (),
    loops: bool | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> FittedClip:
    """Edit a clip, and make it what an engine expects, if one is given.

    name: of the new clip; by default its own. reduce: largest error of key reduction [height]; by default what the
    engine wants, and 0 keeps all keys. taken: names of the other clips in the file. loops: whether it is to loop there;
    by default if it ends as it begins, and does not show an action that is done once, as its name says.
    """
    row = ENGINES[engine] if engine else AS_IT_IS
    if row.root_bone:
        character, anatomy = with_root_bone(character, anatomy)
        config = _with_root_motion(character, anatomy, clip, config)
    splines = any(track.interpolation == "CUBICSPLINE" for track in clip.tracks)
    fps = row.fps or (row.spline_fps if splines else None)
    if fps is not None and config.fps is None:
        config = replace(config, fps=fps)
    done = edit(character, anatomy, clip, config, on_progress)
    found, notes = replace(done.clip, name=name or clip.name), list(done.notes)
    bound = row.reduce if reduce is None else reduce
    if bound:
        reduced = reduce_keys(character, anatomy, found, bound, row.compact)
        found = reduced.clip
        none = f"all {reduced.before:,} keys kept: without any, a point is off by {100 * bound:.2g} % of the height"
        notes.append(reduced.note or none)
    if engine is None:
        return FittedClip(character, anatomy, (), found, tuple(notes))
    if loops is None:
        loops = config.loop or _loops(character, anatomy, found)
    found = replace(found, name=clip_name(found.name, loops, taken, row))
    extras = found.extras.get("gambol", {})
    root = extras.get("root_motion", {}).get("node")
    return FittedClip(character, anatomy, tuple(_advice(character, anatomy, row, loops, root)), found, tuple(notes))


def _with_root_motion(character: Character, anatomy: Anatomy, clip: Clip, config: EditConfig) -> EditConfig:
    """Root motion, unless the clip stays in place or is to."""
    if config.in_place or config.root_motion or not clip.tracks:
        return config
    try:
        path, goes = find_path(character, anatomy, clip)
    except GambolError:
        return config
    return replace(config, root_motion=goes and path.moves)


def _loops(character: Character, anatomy: Anatomy, clip: Clip) -> bool:
    """Whether a clip is to be played over and over: an attack that ends in the pose it began with is not."""
    action = action_of_clip(clip.name)
    if action and not ACTIONS[action].loops:
        return False
    known = clip.extras.get("gambol", {}).get("loops")
    return bool(loop_if_any(character, anatomy, clip).loops if known is None else known)


def _advice(
    character: Character, anatomy: Anatomy, engine: Engine, loops: bool = False, root: str | None = None
) -> Iterator[str]:
    if loops and engine.looping:
        yield f"the clip loops: {engine.looping}"
    if root and engine.travelling:
        yield f"root motion: {engine.travelling.format(root=root)}"
    if not SMALLEST < anatomy.height < LARGEST:
        yield (
            f"'{character.name}' is {anatomy.height:.3g} units high, and engines take units for metres: scale it, "
            f"{engine.scale}"
        )
    names = [name for name, joint in zip(character.skeleton.names, character.skeleton.is_joint, strict=True) if joint]
    yield from joint_notes(names, engine)
