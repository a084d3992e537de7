"""Movies and contact sheets of clips."""

import numpy as np
import pytest
from character.creatures import dog

from gambol.character.anatomy import analyze
from gambol.character.clip import Clip
from gambol.creatures.gaits import gait
from gambol.render import clip_renderer
from gambol.render.clip_renderer import ClipRenderer


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(clip_renderer, "MOVIE_SIZE", 32)


def test_long_loops_are_cut_not_slowed(tmp_path, monkeypatch):
    character = dog()
    anatomy, shown = analyze(character), []
    monkeypatch.setattr(clip_renderer, "LONGEST_MOVIE", 0.4)
    monkeypatch.setattr(clip_renderer, "write_movie", lambda pictures, path, fps: shown.append((pictures, fps)))
    walk = gait(character, anatomy, "walk")
    assert walk.duration > 0.5
    ClipRenderer(character, anatomy).movie(walk, tmp_path / "walk.mp4", tmp_path / "walk.png", 8.0)
    ((pictures, fps),) = shown
    assert fps == 8 and len(pictures) == 3


@pytest.mark.parametrize(("loops", "most"), [(True, 10.0), (False, 10.0), (False, 0.4)])
def test_a_sheet_shows_the_clip_once_from_start_to_end(tmp_path, monkeypatch, loops, most):
    """Also where the movie repeats the clip, or is cut before its end."""
    character = dog()
    anatomy, shown, sheets = analyze(character), [], []
    monkeypatch.setattr(clip_renderer, "LONGEST_MOVIE", most)
    monkeypatch.setattr(clip_renderer, "write_movie", lambda pictures, path, fps: shown.append((pictures, fps)))

    def sheet(pictures, labels):
        sheets.append((pictures, labels))
        return pictures[0]

    monkeypatch.setattr(clip_renderer, "contact_sheet", sheet)
    monkeypatch.setattr("gambol.render.movie.contact_sheet", sheet)
    clip = gait(character, anatomy, "walk")
    if not loops:
        times = clip.start + np.arange(0, 0.6 * clip.duration, 1 / 40)
        clip = Clip.from_poses("half", clip.sample(character.skeleton, times), character.skeleton, 40)
    ClipRenderer(character, anatomy).movie(clip, tmp_path / "walk.mp4", tmp_path / "walk.png", 20.0)
    ((pictures, labels),), ((movie, fps),) = sheets, shown
    times = [float(label.removesuffix(" s")) for label in labels]
    assert times[0] == 0 and times == sorted(set(times)) and len(times) == 8
    assert times[-1] == pytest.approx(clip.duration, abs=1 / 20)
    assert len(movie) / fps == pytest.approx(min(most, max(2.0, clip.duration)), abs=clip.duration)
    assert (pictures[0] == pictures[-1]).all() == loops
