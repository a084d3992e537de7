"""The table of actions: one row for each action that gambol knows, with its properties.

To add an action, add its row here, its words to language/lexicon.toml, its row to priors/pixels/actions.py, and clips
of it to the training of the prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Feature = Literal["legs", "arms", "wings"]
LegRule = Literal["still", "alternate", "diagonals", "gallop", "aloft"]
"""What the legs must do: swing little; left and right by turns; also diagonal legs together; front legs together and
hind legs together; all feet off the ground at some time."""


@dataclass(frozen=True)
class Action:
    """One row of the table."""

    name: str
    meaning: str
    """Verbs that describe the action in help texts: 'walks, strolls, marches'."""
    seconds: float
    """Usual duration of a cycle, or of the whole action if it does not loop, of a body 1 m high without an analytic
    gait of that name [s]: medians of 187 clips by artists, their characters taken to be 1.7 m high, as the units of
    their files say little; guesses for what they did not show."""
    loops: bool = True
    """Whether a clip is one cycle that begins again, rather than one action from start to end."""
    travels: bool = False
    """Whether the action moves the body over the ground."""
    turns: int = 0
    """Whether the body turns: 1 to its left, -1 to its right."""
    airborne: bool = False
    """Whether all feet leave the ground between strides, so that only a foot's height tells whether it bears weight."""
    afloat: bool = False
    """Whether no foot ever bears weight."""
    falls: bool = False
    """Whether the body ends up lying, so that its feet need not be on the ground."""
    needs: tuple[Feature, ...] = ()
    """What a body must have to do it."""
    gaits: tuple[str, ...] = ()
    """Names of the analytic gaits (`gambol.creatures.gaits`) that show it, in order of preference; may be empty."""
    legs: LegRule | None = None
    """What the legs must do (`gambol.quality.rules`); None if nothing can be said."""
    four_legs: LegRule | None = None
    """What the legs of a four-legged body must do, if it differs from `legs`."""

    @property
    def evaluated(self) -> bool:
        """Whether measurements can tell it from the others: it has a rule for its legs, and priors are tested on it."""
        return self.legs is not None

    def leg_rule(self, legs: int) -> LegRule | None:
        """What the legs of a body with that many must do."""
        return self.four_legs if legs == 4 and self.four_legs else self.legs

    @property
    def on_legs(self) -> bool:
        """Whether a body needs legs for it."""
        return "legs" in self.needs

    @property
    def steps(self) -> bool:
        """Whether legs carry the body somewhere, some foot bearing weight for most of the time: walk, trot, run."""
        return self.on_legs and self.travels and not self.airborne


# fmt: off
TABLE = (
    Action("stand", "stands still, breathing, or idles", seconds=2.2, gaits=("idle",), legs="still"),
    Action("walk", "walks, strolls, marches, or sneaks slowly", seconds=0.9, travels=True, needs=("legs",),
           gaits=("walk",), legs="alternate"),
    Action("trot", "trots or jogs", seconds=0.7, travels=True, needs=("legs",), gaits=("trot", "jog"),
           legs="alternate", four_legs="diagonals"),
    Action("run", "runs, gallops, sprints", seconds=0.6, travels=True, needs=("legs",), gaits=("gallop", "run"),
           legs="alternate", four_legs="gallop"),
    Action("hop", "hops along in small leaps", seconds=0.8, travels=True, airborne=True, needs=("legs",),
           gaits=("hop",)),
    Action("jump", "jumps up high", seconds=1.0, travels=True, airborne=True, needs=("legs",), gaits=("jump",),
           legs="aloft"),
    Action("turn left", "turns to its left in place", seconds=1.4, turns=1, gaits=("turn left", "turn")),
    Action("turn right", "turns to its right in place", seconds=1.4, turns=-1, gaits=("turn right",)),
    Action("fly", "flies, flapping its wings", seconds=0.4, travels=True, afloat=True, needs=("wings",)),
    Action("swim", "swims", seconds=1.4, travels=True, afloat=True),
    Action("crawl", "crawls or slithers", seconds=0.8, travels=True),
    Action("dance", "dances", seconds=1.5),
    Action("eat", "eats or grazes", seconds=3.3),
    Action("attack", "attacks: bites, butts, strikes", seconds=0.8, loops=False),
    Action("kick", "kicks", seconds=0.8, loops=False, needs=("legs",)),
    Action("punch", "punches", seconds=0.75, loops=False, needs=("arms",)),
    Action("wave", "waves a hand", seconds=1.5, loops=False, needs=("arms",)),
    Action("die", "dies, falls over", seconds=0.9, loops=False, falls=True),
)
# fmt: on
ACTIONS = {action.name: action for action in TABLE}
"""The rows by name, in the order of the table."""
ACTION_OF_GAIT = {gait: action.name for action in TABLE for gait in action.gaits}
"""The action that each analytic gait shows."""


def gait_names(name: str) -> tuple[str, ...]:
    """The analytic gaits that do for an action or a gait, one of that very name first: ('run', 'gallop') for 'run'."""
    action = ACTIONS.get(ACTION_OF_GAIT.get(name, name))
    return tuple(dict.fromkeys((name, *(action.gaits if action else ()))))


def listing() -> str:
    """The actions and what each means, for help and messages."""
    return "; ".join(f"{action.name} ({action.meaning})" for action in TABLE)
