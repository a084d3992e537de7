"""Artists' clips and motion capture as the judge sees them: strokes of the body, and the action of a clip's name."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from gambol.actions import ACTIONS
from gambol.bench.body_motion import BodyMotion, body_motion_of
from gambol.bench.judge.stroke_parts import mean_velocity
from gambol.character.anatomy import Anatomy
from gambol.character.character import Character
from gambol.character.clip import Clip
from gambol.errors import GambolError
from gambol.formats import character_files
from gambol.language import action_of_clip
from gambol.motion.mocap_ground import levelled
from gambol.parallel import workers
from gambol.priors.tracks.training.clips import CALIBRATION
from gambol.priors.tracks.training.dataset import CAPTURE, captions, family_of, opened

SHORTEST = 0.15
"""Clips that are shorter are poses [s]."""
LONGEST, WINDOW, MOST_WINDOWS = 6.0, 3.0, 5
"""A clip that is longer is cut into windows of so many seconds, of which at most so many are taken, evenly spaced: 48
frames of half a minute show no step."""
FPS = 60.0
"""Frames per second of a window."""
LEAST = 0.002
"""Least mean distance of points from their mean place for a clip that is no pose [m]."""
SLOWEST = 0.1
"""Least speed of a gait [m/s]."""
MOST_STROKES = 120
"""Bodies of more strokes are left out."""


@dataclass(frozen=True, eq=False)
class ArtistMotion:
    """A motion by an artist, or captured."""

    motion: BodyMotion
    """Without skin."""
    action: str
    """What the clip's name says it shows; empty if it says nothing known."""
    family: str
    name: str
    """File and clip."""


def clip_files(folders: Sequence[Path]) -> list[Path]:
    """Files of characters and motion capture in folders and below."""
    for folder in folders:
        if not folder.is_dir():
            raise GambolError(f"'{folder}' is not a folder: give one with characters or motion capture")
    return character_files(folders, CAPTURE)


def read_motions(
    paths: Sequence[Path], on_progress: Callable[[int, int], None]
) -> tuple[list[ArtistMotion], list[str]]:
    """Motions of files, and a sentence for each clip or file that was left out. Read by several processes."""
    found: list[ArtistMotion] = []
    skipped: list[str] = []
    with ProcessPoolExecutor(workers(), initializer=torch.set_num_threads, initargs=(1,)) as pool:
        for number, data in enumerate(pool.map(_pickled, paths, chunksize=2)):
            motions, reasons = pickle.loads(data)
            found += motions
            skipped += reasons
            on_progress(number + 1, len(paths))
    return found, skipped


def _pickled(path: Path) -> bytes:
    return pickle.dumps(read_file(path))


def read_file(path: Path) -> tuple[list[ArtistMotion], list[str]]:
    """Motions of one file. Whatever is wrong with it, the others are read."""
    try:
        character, anatomy = opened(path)
    except Exception as error:  # of whatever kind: the folder is the user's
        return [], [f"{path.name}: {error}"]
    found: list[ArtistMotion] = []
    skipped: list[str] = []
    captured = path.suffix.lower() == ".bvh"
    for name, clip in character.clips.items():
        spoken = captions(path).get(path.name, name) if captured else name
        try:
            motions = motions_of_clip(character, anatomy, clip, captured)
        except Exception as error:  # as above
            skipped.append(f"{path.name}, {name}: {error}")
            continue
        action = action_of_clip(spoken) or ""
        if any(marches_in_place(each, action) for each in motions):
            skipped.append(f"{path.name}, {name}: is a gait in place whose feet do not say how far it goes")
            continue
        found += [ArtistMotion(each, action, family_of(path), f"{path.name}/{name}") for each in motions]
    return found, skipped


def motions_of_clip(character: Character, anatomy: Anatomy, clip: Clip, captured: bool = False) -> list[BodyMotion]:
    """The motion of a clip, or those of windows of a long one. Raises GambolError if it hardly moves."""
    if clip.duration < SHORTEST:
        raise GambolError("is a pose, or too short")
    clip = levelled(character, anatomy, clip)[0] if captured else clip
    begin = CALIBRATION if captured else 0.0
    clips = [clip]
    if clip.duration - begin > LONGEST or captured:
        count = min(max(round((clip.duration - begin) / WINDOW), 1), MOST_WINDOWS)
        span = min(WINDOW, clip.duration - begin)
        starts = clip.start + begin + np.linspace(0.0, clip.duration - begin - span, count)
        times = np.linspace(0.0, span, round(span * FPS) + 1)
        clips = [
            Clip.from_poses(clip.name, clip.sample(character.skeleton, start + times), character.skeleton, FPS)
            for start in starts
        ]
    motions = [body_motion_of(character, each, anatomy, skin=False) for each in clips]
    motions = [each for each in motions if spread_of(each) > LEAST]
    if not motions:
        raise GambolError("hardly moves")
    if not 0 < motions[0].strokes.shape[1] <= MOST_STROKES:
        raise GambolError(f"has {motions[0].strokes.shape[1]} strokes")
    return motions


def spread_of(motion: BodyMotion) -> float:
    """Mean distance of points from where they are on average [m]."""
    return (
        float(np.linalg.norm(motion.strokes - motion.strokes.mean(0), axis=-1).mean()) if motion.strokes.size else 0.0
    )


def marches_in_place(motion: BodyMotion, action: str) -> bool:
    """Whether a loop that should lead somewhere on legs does not: then nothing says how fast the ground passes."""
    row = ACTIONS.get(action)
    steps = row is not None and row.travels and row.on_legs and not row.airborne
    return steps and motion.loops and float(np.linalg.norm(mean_velocity(motion))) < SLOWEST
