"""The one honest line: what makes a clip good, plausible or doubtful."""

from dataclasses import replace

import numpy as np
import pytest

from gambol.quality.clip import ClipReport
from gambol.quality.feet import Feet
from gambol.quality.gait import Gait, Pairings

FOUR = np.full(4, 40.0)
WALK = ClipReport(
    seconds=1.0,
    loops=True,
    feet=Feet(slide=0.05, speed=2.0, depth=0.0, floating=0.0),
    feet_before=None,
    gait=Gait(FOUR, FOUR / 400, FOUR, np.zeros(4)),
    pairings=Pairings(sides=-0.8, diagonals=0.0),
    rise=0.1,
    aloft=0.0,
    taken_for="walk",
    asked_for="walk",
)


def asked(action, **changes):
    return replace(WALK, asked_for=action, taken_for=action, **changes)


@pytest.mark.parametrize(
    "report, verdict, reason",
    [
        (WALK, "good", "feet hold"),
        (replace(WALK, taken_for="stand"), "doubtful", "takes it for 'stand'"),
        (replace(WALK, pairings=Pairings(-0.2, 0.0)), "doubtful", "do not alternate"),
        (replace(WALK, feet=Feet(0.5, 2.0, 0.0, 0.0)), "doubtful", "feet slide (25.0% of the speed)"),
        (replace(WALK, feet=Feet(0.0, 2.0, 0.1, 0.0)), "doubtful", "sinks 10.0% of a leg"),
        (asked("trot"), "doubtful", "diagonal legs"),
        (asked("trot", pairings=Pairings(-0.9, 0.9)), "good", "recognises"),
        (asked("run"), "doubtful", "as in a gallop"),
        (asked("jump"), "doubtful", "never all leave the ground"),
        (asked("jump", aloft=0.2), "good", "recognises"),
        (asked("stand"), "doubtful", "legs swing while it stands"),
        (asked("attack"), "plausible", "recognises"),
        (asked("walk", gait=None, pairings=None, feet=None), "doubtful", "no legs to walk with"),
    ],
)
def test_a_verdict_names_its_reason(report, verdict, reason):
    assert report.summary.startswith(f"{verdict}: ")
    assert reason in report.summary
