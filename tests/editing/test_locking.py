"""Feet that slide made to stand."""

from dataclasses import replace

import numpy as np
import pytest
from walkers import fall, held, places, walk, walker

from gambol.character.clip import Clip, Track
from gambol.editing.locking import lock_feet
from gambol.editing.timing import speed
from gambol.errors import GambolError
from gambol.quality.ground import foot_slide
from gambol.quality.normalized_clip import normalize_clip


def skating(name: str, factor: float) -> Clip:
    """A walk whose body goes farther than its feet do, with a head that grows, and a face."""
    clip = walk(name, armature=True)
    tracks = []
    for track in clip.tracks:
        if track.path == "translation":
            values = track.sample(track.times)  # of a spline too
            share = ((track.times - track.times[0]) / clip.duration)[:, None]
            values = values + (factor - 1) * share * (values[-1] - values[0])
            track = Track(track.node, track.path, track.times, values)
        tracks.append(track)
    head = walker(name, armature=True)[0].skeleton.names.index("head")
    extra = (
        Track(head, "scale", np.array([0.0, clip.duration]), np.ones((2, 3)) + np.array([[0.0], [0.1]])),
        Track(0, "weights", np.array([0.0, 0.3]), np.array([[0.0], [1.0]])),
    )
    return replace(clip, tracks=(*tracks, *extra))


def test_a_walk_that_skates_no_longer_does():
    character, anatomy = walker("human", armature=True)
    clip = skating("human", 1.25)
    done = []
    locked = lock_feet(character, anatomy, clip, lambda *progress: done.append(progress))
    assert locked.changed and done[-1][0] == done[-1][1]
    assert locked.before > 8, "cm/s"
    assert locked.after < 0.2 * locked.before
    assert foot_slide(normalize_clip(character, locked.clip, anatomy))["foot_slide_mean"] == pytest.approx(locked.after)
    times = np.linspace(0, clip.duration, 30)
    moved = np.linalg.norm(places(character, locked.clip, times) - places(character, clip, times), axis=-1)
    assert moved.mean() < 0.05 * anatomy.height, "it is still the same walk"
    first, last = places(character, locked.clip, np.array([0.0, locked.clip.duration]))
    way = last - first
    assert np.abs(way - way.mean(0)).max() < 1e-4 * anatomy.height, "and still a loop"
    assert all(any(track is kept for kept in locked.clip.tracks) for track in clip.tracks[-2:])
    arm = character.skeleton.names.index("forearm.L")
    (before,) = (track for track in clip.tracks if track.node == arm)
    assert any(track is before for track in locked.clip.tracks), "arms keep their keys"


def test_feet_that_stand_are_left_alone():
    character, anatomy = walker("human")
    for clip in (walk("human"), walk("human", in_place=True)):
        locked = lock_feet(character, anatomy, clip)
        assert locked.clip is clip and not locked.changed and locked.before < 0.5


def test_what_has_no_feet_or_no_time_is_refused():
    fish, anatomy = walker("fish")
    with pytest.raises(GambolError, match="'fish' has no legs that stand on the ground: there are no feet to lock"):
        lock_feet(fish, anatomy, fall(fish))
    character, anatomy = walker("human")
    with pytest.raises(GambolError, match=r"up to 30 s, and 'walk' lasts .* s; trim it"):
        lock_feet(character, anatomy, speed(walk("human"), 0.02))
    with pytest.raises(GambolError, match="is a single pose"):
        lock_feet(character, anatomy, held(walk("human"), 0.0))
