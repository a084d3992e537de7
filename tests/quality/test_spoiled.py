"""Spoiled clips of our own creatures are doubtful, the unspoiled are not."""

import numpy as np
import pytest
from motion.strides import stride

from gambol.bench.spoiling import SPOILERS, Source
from gambol.quality.faults import faults
from gambol.quality.normalized_clip import normalize_clip
from gambol.quality.recognition import ENOUGH, ArtistMotions, Comparison, alike, artist_motions
from gambol.quality.report import report


def verdict(made, clip, action="walk"):
    return report(made.character, clip, made.anatomy, prompt=action).verdict


@pytest.mark.parametrize("name", ["human", "dog"])
def test_a_walk_of_our_own_is_not_doubtful(name):
    made = stride(name, "walk")
    assert verdict(made, made.clip) in ("good", "plausible")


@pytest.mark.parametrize("kind", ["head upside down", "floats 15 %", "sunk 15 %", "legs in step", "legs tremble"])
def test_a_spoiled_walk_is_doubtful(kind):
    made = stride("human", "walk")
    clip = SPOILERS[kind](Source(made.character, made.anatomy, made.clip, "walk"))
    assert verdict(made, clip) == "doubtful"


def test_a_body_that_never_is_upright_is_upside_down_unless_it_should_lie():
    made = stride("human", "walk")
    clip = normalize_clip(made.character, made.clip, made.anatomy)
    told = ("it is upside down all the time",)
    assert faults(clip, {"upright high": -0.9}, "walk") == told
    assert faults(clip, {"upright high": 0.9}, "walk") == faults(clip, {"upright high": -0.9}, "sleep") == ()


def test_a_walk_is_no_jump():
    made = stride("human", "walk")
    assert verdict(made, made.clip, "jump") == "doubtful"


def test_a_comparison_names_what_differs():
    assert Comparison(20, 0.5, "run", {"tempo": 0.1}).reasons == ()
    slow = Comparison(20, 0.5, "run", {"tempo": -2.0})
    assert slow.reasons == ("7.4 times slower than 20 artists' clips of the action",)
    assert Comparison(ENOUGH - 1, 0.5, "run", {"tempo": -2.0}).reasons == ()
    assert Comparison(0, 3.0, "run", {}).reasons == ("it looks more like 'run'",)
    assert Comparison(0, 0.5, "run", {}).reasons == ()


def test_too_few_clips_are_no_evidence():
    motions = ArtistMotions(("hips low",), np.zeros((3, 1)), ["walk"] * 3, ["biped"] * 3, ["a", "b", "c"])
    found = motions.compare({"hips low": 1.0}, "walk", "biped")
    assert (found.peers, found.nearer, found.reasons) == (0, None, ())


def test_the_clips_that_ship_hold_common_actions_and_can_leave_out_a_pack():
    motions = artist_motions()
    assert {"walk", "run", "die", "wave"} <= set(motions.actions)
    pack = motions.packs[0]
    assert pack not in motions.without([pack]).packs
    assert alike("sneak", "run") and not alike("die", "walk")
