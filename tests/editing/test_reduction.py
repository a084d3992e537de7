from dataclasses import replace

import numpy as np
import pytest
from character.creatures import dog

from gambol import analyze
from gambol.character.clip import Clip, Track, continuous
from gambol.character.transforms import normalize
from gambol.creatures.gaits import gait
from gambol.editing.reduction import BOUND, MORPH, reduce_keys
from gambol.editing.timing import resample


@pytest.fixture(scope="module")
def body():
    character = dog()
    return character, analyze(character)


@pytest.fixture(scope="module")
def walk(body):
    return resample(gait(*body, "walk"), 60)


def furthest(character, first, second):
    """Largest distance of any vertex at 60 times that neither clip was made for [file units]."""
    times = np.linspace(first.start, first.end, 60)
    poses = [clip.sample(character.skeleton, times) for clip in (first, second)]
    places = [np.concatenate(character.vertices(pose), axis=1) for pose in poses]
    return float(np.linalg.norm(places[0] - places[1], axis=-1).max())


@pytest.mark.parametrize("bound", [5e-4, 2e-3, 1e-2])
def test_no_point_is_off_by_more_than_the_bound(body, walk, bound):
    character, anatomy = body
    reduced = reduce_keys(character, anatomy, walk, bound)
    assert reduced.after < reduced.before == sum(len(track.times) for track in walk.tracks)
    assert reduced.error <= bound
    assert furthest(character, walk, reduced.clip) <= 1.05 * bound * anatomy.height  # vertices that were not watched


def test_a_larger_bound_keeps_fewer_keys(body, walk):
    kept = [reduce_keys(*body, walk, bound).after for bound in (2e-4, 2e-3, 2e-2)]
    assert kept[0] > kept[1] > kept[2]


def test_the_loop_stays_closed_and_as_long(body, walk):
    reduced = reduce_keys(*body, walk, 5e-3).clip
    assert (reduced.start, reduced.end) == (walk.start, walk.end)
    skeleton = body[0].skeleton
    for time in (walk.start, walk.end):
        first, second = (skeleton.world(clip.sample(skeleton, time)) for clip in (walk, reduced))
        assert np.abs(first - second).max() < 1e-9


def test_feet_that_stand_stay(body, walk):
    from gambol.quality.ground import foot_slide
    from gambol.quality.normalized_clip import normalize_clip

    character, anatomy = body
    slides = [
        foot_slide(normalize_clip(character, clip, anatomy))["foot_slide_mean"]
        for clip in (walk, reduce_keys(character, anatomy, walk, 2e-3).clip)
    ]
    assert slides[1] < slides[0] + 0.5  # cm/s at 1 m


def one_track(path, values, node=3, **more):
    return Clip("x", (Track(node, path, np.arange(len(values)) / 30, np.asarray(values, float), **more),))


def test_what_holds_anyway_vanishes_and_what_stands_still_keeps_one_key(body):
    character, anatomy = body
    rest = character.skeleton.rest
    moving = one_track("translation", np.outer(np.arange(30) % 2, [0.0, 0.1, 0.0]), node=0).tracks[0]
    held = one_track("rotation", np.tile(normalize(np.array([1.0, 0.2, 0, 0])), (30, 1))).tracks[0]
    idle = one_track("rotation", np.tile(-rest.rotation[5], (30, 1)), node=5).tracks[0]  # -q is the same as q
    reduced = reduce_keys(character, anatomy, Clip("x", (moving, held, idle))).clip
    kept = {track.node: len(track.times) for track in reduced.tracks}
    assert set(kept) == {0, 3} and kept[3] == 1


def test_a_clip_in_which_nothing_moves_lasts_as_long(body):
    character, anatomy = body
    still = one_track("rotation", np.tile(character.skeleton.rest.rotation[3], (30, 1)))
    reduced = reduce_keys(character, anatomy, still)
    assert reduced.clip.duration == still.duration and reduced.after == 2


def test_steps_lose_what_repeats_and_keep_what_jumps(body):
    values = np.repeat([[0.0, 0, 0], [0, 0.2, 0], [0, 0, 0]], 10, axis=0)
    steps = one_track("translation", values, interpolation="STEP")
    moving = one_track("rotation", np.tile([1.0, 0, 0, 0], (3, 1)), node=0)
    clip = Clip("x", (*steps.tracks, *moving.tracks))
    reduced = reduce_keys(*body, clip).clip
    (track,) = (track for track in reduced.tracks if track.interpolation == "STEP")
    assert len(track.times) == 4
    times = np.linspace(0, 29 / 30, 97)
    assert (track.sample(times) == steps.tracks[0].sample(times)).all()


def test_splines_become_linear_within_the_bound(body):
    character, anatomy = body
    smooth = gait(character, anatomy, "walk")
    assert {track.interpolation for track in smooth.tracks} >= {"CUBICSPLINE"}
    reduced = reduce_keys(character, anatomy, smooth, 1e-2)
    assert reduced.error <= 1e-2 and "LINEAR" in {track.interpolation for track in reduced.clip.tracks}
    assert furthest(character, smooth, reduced.clip) <= 1.05e-2 * anatomy.height


def test_a_spline_that_would_become_more_stays(body):
    """A few keys of a spline bend as many linear ones would have to."""
    character, anatomy = body
    node = int(np.flatnonzero(character.skeleton.is_joint)[0])
    angles = np.array([0.0, 1.2, -1.0, 0.8])
    values = np.zeros((4, 3, 4))
    values[:, 1, 0], values[:, 1, 1] = np.cos(angles / 2), np.sin(angles / 2)
    values[1:-1, 0] = values[1:-1, 2] = 0.3
    clip = Clip("bend", (Track(node, "rotation", np.arange(4.0), values, "CUBICSPLINE"),))
    reduced = reduce_keys(character, anatomy, clip, 5e-4)
    assert reduced.clip is clip and (reduced.before, reduced.after, reduced.note) == (4, 4, "")


def test_skeletons_without_a_mesh_are_watched_too(body, walk):
    character, anatomy = body
    bones = replace(character, meshes=())
    reduced = reduce_keys(bones, anatomy, walk, 2e-3)
    assert reduced.after < reduced.before and reduced.error <= 2e-3
    assert furthest(character, walk, reduced.clip) <= 1e-2 * anatomy.height


def test_random_motion_keeps_its_bound(body):
    character, anatomy = body
    for seed in range(3):
        random = np.random.default_rng(seed)
        tracks = []
        for node in range(0, len(character.skeleton), 3):
            turns = np.array([1.0, 0, 0, 0]) + np.cumsum(random.normal(0, 0.05, (60, 4)), axis=0)
            tracks.append(Track(node, "rotation", np.arange(60) / 30, continuous(normalize(turns))))
        clip = Clip("x", tuple(tracks))
        reduced = reduce_keys(character, anatomy, clip, 5e-3)
        assert reduced.error <= 5e-3 and furthest(character, clip, reduced.clip) <= 5.5e-3 * anatomy.height


def test_weights_of_morph_targets_keep_their_own_bound(body):
    values = np.stack([np.linspace(0, 1, 40), np.sin(np.arange(40) / 40)], axis=1)
    reduced = reduce_keys(*body, one_track("weights", values, node=0)).clip
    (track,) = reduced.tracks
    assert len(track.times) < 15 and np.abs(track.sample(np.arange(40) / 30) - values).max() <= MORPH


def test_what_was_done_is_said(body, walk):
    reduced = reduce_keys(*body, walk, 2e-3)
    assert f"{reduced.after:,} of {reduced.before:,} keys kept" in reduced.note and "% of the height" in reduced.note
    assert reduce_keys(*body, Clip("x", ())).note == "" and BOUND < 1e-3


def test_a_clip_is_held_where_only_the_rest_pose_lasts_longer(body):
    """What ends first must not be stretched to the end."""
    character, anatomy = body
    rest = character.skeleton.rest
    node = int(anatomy.body.nodes[-1])
    turned = normalize(rest.rotation[node] + np.array([0.0, 0.4, 0.0, 0.0]))
    nod = Track(
        node, "rotation", np.array([0.0, 0.5, 1.0]), np.stack([rest.rotation[node], turned, rest.rotation[node]])
    )
    still = Track(0, "translation", np.array([0.0, 2.0]), np.repeat(rest.translation[:1], 2, axis=0))
    clip = Clip("nod", (nod, still))
    reduced = reduce_keys(character, anatomy, clip, 1e-3)
    assert reduced.clip.duration == pytest.approx(2) and reduced.error <= 1e-3
    assert furthest(character, clip, reduced.clip) <= 1e-3 * anatomy.height
