"""When feet come down, in the extras of a clip."""

from dataclasses import replace

import numpy as np
import pytest
from walkers import fall, held, rounds_of, walk, walker

import gambol
from gambol.editing.edit import EditConfig, edit, with_events
from gambol.editing.timing import speed


def contacts_of(character, anatomy, clip):
    return with_events(character, anatomy, clip).extras["gambol"]["contacts"]


@pytest.mark.parametrize("name, feet", [("dog", 4), ("human", 2)])
@pytest.mark.parametrize("in_place", [False, True])
def test_every_foot_of_a_walk_comes_down_once(name, feet, in_place):
    character, anatomy = walker(name)
    clip = walk(name, in_place=in_place)
    events = contacts_of(character, anatomy, clip)
    assert len({event["foot"] for event in events}) == len(events) == feet
    assert [event["down"] for event in events] == sorted(event["down"] for event in events)
    joints = {character.skeleton.names[node] for node in anatomy.body.nodes}
    for event in events:
        assert event["node"] in joints and event["node"].endswith(".L" if "left" in event["foot"] else ".R")
        assert 0 <= event["down"] < clip.duration
        assert 0.5 < (event["up"] - event["down"]) / clip.duration < 0.8, "a walk"
    first = "left leg" if feet == 2 else "left hind leg"
    (down,) = (event["down"] for event in events if event["foot"] == first)
    late = (down / clip.duration + 0.5) % 1 - 0.5
    assert abs(late) < 0.05, "a stride begins when that foot comes down"


def test_left_and_right_are_half_a_stride_apart():
    character, anatomy = walker("human")
    clip = walk("human")
    left, right = sorted(contacts_of(character, anatomy, clip), key=lambda event: event["foot"])
    assert abs((right["down"] - left["down"]) / clip.duration % 1 - 0.5) < 0.03


def test_times_are_those_of_the_clip():
    character, anatomy = walker("dog")
    clip = walk("dog")
    slow, quick = (contacts_of(character, anatomy, each) for each in (clip, speed(clip, 2.0)))
    for one, two in zip(slow, quick, strict=True):
        assert one["foot"] == two["foot"]
        np.testing.assert_allclose([two["down"], two["up"]], [one["down"] / 2, one["up"] / 2], atol=0.02)


def test_of_what_does_not_loop_contacts_end_with_it():
    character, anatomy = walker("human")
    clip = rounds_of(walk("human"), 1.6)
    events = contacts_of(character, anatomy, clip)
    assert len(events) >= 3
    assert all(0 <= event["down"] < event["up"] <= clip.duration + 1e-4 for event in events)
    for event in contacts_of(character, anatomy, held(walk("human", "idle"), 1.0)):
        assert (event["down"], event["up"]) == (0.0, 1.0)


def test_what_has_no_legs_has_no_contacts():
    character, anatomy = walker("fish")
    assert contacts_of(character, anatomy, fall(character)) == []


def test_files_keep_them(tmp_path):
    character, anatomy = walker("dog")
    clip = replace(walk("dog"), extras={"author": "me", "gambol": "old"})
    done = edit(character, anatomy, clip, EditConfig(in_place=True, fps=24.0))
    said = done.clip.extras["gambol"]
    assert said["version"] == 1 and said["loops"] is True and len(said["contacts"]) == 4
    assert said["root_motion"]["node"] is None
    assert said["root_motion"]["times"][-1] == pytest.approx(done.clip.duration, rel=1e-5)
    assert all(event["down"] < done.clip.duration for event in said["contacts"])
    assert done.notes[-1] == "4 contacts of feet noted"
    gambol.save(character, tmp_path / "dog.glb", done.clip)
    again = gambol.load(tmp_path / "dog.glb").clips["walk"]
    assert again.extras == done.clip.extras and again.extras["author"] == "me"


def test_they_can_be_left_out():
    character, anatomy = walker("dog")
    clip = with_events(character, anatomy, walk("dog"))
    assert "root_motion" not in clip.extras["gambol"]
    done = edit(character, anatomy, clip, EditConfig(events=False))
    assert done.clip.extras == {} and done.notes == ()
