"""What the data of the pixel prior needs to know about each action, beside its row in `gambol.actions`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ClipKind = Literal["steps", "leaps", "turns", "flies", "floats", "stands", "lingers", "gestures", "once"]
"""What a clip does as far as feet and path tell, see `gambol.priors.pixels.clip_videos.kinds_of`."""
CycleStart = Literal["touchdown", "landing", "stroke", "neutral", "anywhere"]
"""Where cycles of an action begin, so that all are in phase: at the touchdown of the left hind foot, at the landing,
with what swings most at its extreme, nearest to the neutral pose, or where the clip begins."""


@dataclass(frozen=True)
class PixelAction:
    """One row of the table."""

    weight: float
    """How often it is shown in training, relative to the others."""
    starts_at: CycleStart
    kinds: tuple[ClipKind, ...]
    """Kinds of clips that may show it. The prior has seen little of some actions, and its vague guesses for them err
    less than wrong ones, so that they must not be asked about for other clips."""
    cuts: tuple[ClipKind, ...] = ()
    """Kinds of clips out of which a cycle is cut as for this action."""


EITHER: tuple[ClipKind, ...] = ("gestures", "once")
# fmt: off
PIXEL_ACTIONS = {
    "stand": PixelAction(3.0, "neutral", ("steps", "leaps", "turns", "flies", "floats", "stands", "lingers"),
                         cuts=("stands",)),
    "walk": PixelAction(5.0, "touchdown", ("steps", "stands")),
    "trot": PixelAction(4.0, "touchdown", ("steps",)),
    "run": PixelAction(5.0, "touchdown", ("steps",), cuts=("steps",)),
    "hop": PixelAction(3.0, "touchdown", ("steps", "leaps")),
    "jump": PixelAction(3.0, "landing", ("steps", "leaps"), cuts=("leaps",)),
    "turn left": PixelAction(1.0, "touchdown", ("turns",), cuts=("turns",)),
    "turn right": PixelAction(1.0, "touchdown", ("turns",), cuts=("turns",)),
    "fly": PixelAction(1.5, "stroke", ("flies",), cuts=("flies",)),
    "swim": PixelAction(0.5, "stroke", ("floats",), cuts=("floats",)),
    "crawl": PixelAction(0.5, "stroke", ("floats",)),
    "dance": PixelAction(0.5, "anywhere", ("lingers",), cuts=("lingers",)),
    "eat": PixelAction(0.5, "neutral", ("lingers",)),
    "attack": PixelAction(0.5, "anywhere", EITHER, cuts=EITHER),
    "kick": PixelAction(0.5, "anywhere", EITHER),
    "punch": PixelAction(0.5, "anywhere", EITHER),
    "wave": PixelAction(0.5, "anywhere", EITHER),
    "die": PixelAction(0.5, "anywhere", ("once",)),
}
# fmt: on
