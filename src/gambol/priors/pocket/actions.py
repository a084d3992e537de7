"""What the pocket prior was taught."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Action:
    """One thing a character can do."""

    name: str
    meaning: str
    """As one would tell it to a user."""
    loops: bool = True
    """Whether a clip is one cycle that begins again, or one deed from start to end."""


KNOWN = (
    Action("stand", "stands still, breathing, or idles"),
    Action("walk", "walks; also strolls, marches, sneaks (slowly)"),
    Action("trot", "trots or jogs"),
    Action("run", "runs, gallops, sprints"),
    Action("hop", "hops along in small leaps"),
    Action("jump", "jumps up high"),
    Action("turn left", "turns to its left on the spot"),
    Action("turn right", "turns to its right on the spot"),
    Action("fly", "flies, flapping its wings"),
    Action("swim", "swims"),
    Action("crawl", "crawls or slithers"),
    Action("dance", "dances"),
    Action("eat", "eats or grazes"),
    Action("attack", "attacks: bites, butts, strikes", loops=False),
    Action("kick", "kicks", loops=False),
    Action("punch", "punches", loops=False),
    Action("wave", "waves a hand", loops=False),
    Action("die", "dies, falls over", loops=False),
)
ACTIONS = {action.name: action for action in KNOWN}
