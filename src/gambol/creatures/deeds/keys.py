"""The tables of deeds (deeds.toml, people.toml): goals for parts of a body over time, by build."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

import numpy as np
from jaxtyping import Float
from scipy.interpolate import PchipInterpolator

from gambol.character.anatomy import Anatomy
from gambol.creatures.deeds.compact import is_compact
from gambol.creatures.gaits.foot_paths import PerFrame, smooth
from gambol.creatures.gaits.trunk import is_upright
from gambol.motion.legs import hip_height_of

Build = Literal["quadruped", "biped", "crawler", "legless", "compact", "flier", "person"]
BUILDS: tuple[Build, ...] = ("quadruped", "biped", "crawler", "legless", "compact", "flier", "person")
"""Four legs; two legs below a trunk that lies, as a bird's; six legs or more; none, and long, as a snake; none, and not
long, as a blob; wings, and no legs to stand on; two legs and arms, upright."""
TABLES = ("deeds.toml", "people.toml")
GOALS = (
    "rise", "ahead", "aside", "pitch", "roll", "yaw", "sit", "lie", "arch", "bend", "neck", "nod", "look", "tilt",
    "muzzle", "steady", "settle", "tail", "wag", "wings", "flap", "arms", "raise", "coil", "twist", "kneel", "prop",
    "seat", "flat",
    "beat", "legs",
)  # fmt: skip
"""What a body can be told to do; deeds.toml and people.toml say what each means."""
FEET = ("ahead", "up", "out", "aside", "free", "curl")
HANDS, SOLES = ("hands", "near hand", "far hand"), ("feet", "near foot", "far foot")
ORIGINS = {
    **dict.fromkeys(HANDS, ("rest", "shoulder", "chest", "middle", "head", "hips", "knee", "other", "ground", "laid")),
    **dict.fromkeys(SOLES, ("stand", "hips", "knee", "laid")),
}
"""What places of people's hands and feet are counted from."""
USUAL_ORIGIN = {**dict.fromkeys(HANDS, "shoulder"), **dict.fromkeys(SOLES, "stand")}
TWISTS = ("elbow", "palm", "wrist", "fist", "tip", "shrug", "turn", "heel", "curl", "splay")
AXES = ("out", "up", "ahead")
ROUNDED, BINOMIAL = 0.015, (1, 6, 15, 20, 15, 6, 1)
"""Steps, as shares of a deed, and weights of a mean over time that rounds the corners of speed at keys."""
LOWEST_HIP = 0.02
"""Share of its height below which the hips of a body are too low for deeds on legs."""


@dataclass(frozen=True)
class Wave:
    """An oscillation that is added to a goal."""

    goal: str
    size: float
    times: float
    """Whole periods from `start` to `end`."""
    phase: float = 0.0
    start: float = 0.0
    end: float = 1.0
    """Shares of the deed; it swells and fades within them unless they are all of a loop."""


@dataclass(frozen=True)
class Deed:
    """One deed of one build."""

    action: str
    build: Build
    seconds: float
    """Usual duration, of a body 1 m high [s]."""
    loops: bool
    keys: dict[str, tuple[tuple[float, float], ...]]
    """Times as shares of the deed, and values, of each goal."""
    waves: tuple[Wave, ...] = ()
    needs: str = ""
    """Kind of limb or part without which it makes no sense: 'wing', 'tail'."""
    travel: float = 0.0
    """How far a cycle of a loop leads ahead [leg lengths; heights of a compact body or a flier]."""
    sidle: float = 0.0
    """How far a cycle of a loop leads a person to the near side [leg lengths]."""
    variants: tuple[Deed, ...] = ()
    """Other ways to do it."""

    def variant(self, generator: np.random.Generator) -> Deed:
        """One of the ways to do it, this one included."""
        ways = (self, *self.variants)
        return ways[int(generator.integers(len(ways)))] if self.variants else self

    def value(self, goal: str, share: PerFrame, default: float = 0.0) -> PerFrame:
        """A goal over time. share: of the deed, from 0 to 1."""
        keys = self.keys.get(goal)
        found = np.full(len(share), default)
        if keys:
            times, values = np.array(keys, np.float64).T
            eased = _eased(times, values, self.loops)
            found = np.average([eased(share + ROUNDED * number) for number in range(-3, 4)], axis=0, weights=BINOMIAL)
        for wave in self.waves:
            if wave.goal == goal:
                found = found + self._wave(wave, share)
        return found

    def _wave(self, wave: Wave, share: PerFrame) -> PerFrame:
        inside = np.clip((share - wave.start) / (wave.end - wave.start), 0.0, 1.0)
        turn = wave.size * np.sin(2 * np.pi * (wave.times * inside - wave.phase))
        if self.loops and wave.start == 0 and wave.end == 1:
            return turn
        return turn * smooth(inside / 0.2) * smooth((1 - inside) / 0.25)

    def has(self, goal: str) -> bool:
        """Whether anything is said of a goal."""
        return goal in self.keys or any(wave.goal == goal for wave in self.waves)


def _eased(times: Float[np.ndarray, " keys"], values: Float[np.ndarray, " keys"], loops: bool) -> PchipInterpolator:
    """Values between keys, without overshoot; still before the first and after the last, or periodic."""
    if loops:
        times = np.concatenate([times - 1, times, times + 1])
        values = np.tile(values, 3)
    else:
        times = np.concatenate([[min(times[0], 0) - 1], times, [max(times[-1], 1) + 1]])
        values = np.concatenate([values[:1], values, values[-1:]])
    return PchipInterpolator(times, values)


def build_of(anatomy: Anatomy) -> Build | None:
    """The build that a body has for deeds; None for who stands on no pairs of legs but has some."""
    legs = len(anatomy.legs)
    limbs = {limb.kind for limb in anatomy.limbs}
    if "wing" in limbs and not (legs and anatomy.stands):
        return "flier"
    if not legs:
        if "fin" not in limbs and is_compact(anatomy):
            return "compact"
        return None if limbs & {"arm", "fin"} else "legless"
    if not anatomy.stands or legs % 2 or hip_height_of(anatomy) < LOWEST_HIP * anatomy.height:
        return None
    if legs == 2:
        return "person" if is_upright(anatomy) and anatomy.pairs("arm") and not anatomy.pairs("wing") else "biped"
    return "quadruped" if legs == 4 else "crawler"


def deeds_of(anatomy: Anatomy) -> dict[str, Deed]:
    """The deeds of a body by action."""
    build = build_of(anatomy)
    has = {limb.kind for limb in anatomy.limbs} | ({"tail"} if anatomy.joints_of("tail") else set()) | {""}
    return {} if build is None else {name: deed for name, deed in _table()[build].items() if deed.needs in has}


@cache
def _table() -> dict[Build, dict[str, Deed]]:
    rows: dict[str, dict[str, dict]] = {}
    for name in TABLES:
        rows |= tomllib.loads((files("gambol.creatures.deeds") / name).read_text("utf-8"))
    return {build: {name: _deed(name, build, row) for name, row in rows[build].items()} for build in BUILDS}


def _deed(action: str, build: Build, row: dict) -> Deed:
    row = dict(row)
    common = {name: row[name] for name in ("seconds", "loops", "needs", "travel", "sidle") if name in row}
    variants = tuple(_deed(action, build, common | each) for each in row.pop("variants", []))
    seconds, loops = float(row.pop("seconds")), bool(row.pop("loops", False))
    needs, travel = str(row.pop("needs", "")), float(row.pop("travel", 0.0))
    sidle = float(row.pop("sidle", 0.0))
    waves = tuple(Wave(str(each[0]), *map(float, each[1:])) for each in row.pop("waves", []))
    keys: dict[str, tuple[tuple[float, float], ...]] = {}
    for goal, pairs in row.items():
        if build == "person" and goal in ORIGINS:
            keys |= _places(goal, pairs)
        else:
            keys[goal] = tuple((float(at), float(value)) for at, value in pairs)
    for goal in (*keys, *(wave.goal for wave in waves)):
        part, _, what = goal.partition(".")
        assert goal in GOALS or what in _known(part), f"{build}, {action}: unknown goal '{goal}' of '{part}'"
    return Deed(action, build, seconds, loops, keys, waves, needs, travel, sidle, variants)


def _known(part: str) -> tuple[str, ...]:
    """What can be said of a foot or hand."""
    if part not in ORIGINS:
        return FEET
    return *TWISTS, *ORIGINS[part], *(f"{origin}.{axis}" for origin in ORIGINS[part] for axis in AXES)


def _places(part: str, rows: list) -> dict[str, tuple[tuple[float, float], ...]]:
    """Goals from keys of a hand or foot: [time, [out, up, ahead], origin], or [time, origin] where it has no axes.

    Each origin has a weight over time, 1 at its own keys, and places that are eased between these alone.
    """
    parsed = []
    for at, *what in sorted(rows, key=lambda row: row[0]):
        place = what[0] if isinstance(what[0], list) else [0.0, 0.0, 0.0]
        origin = what[-1] if isinstance(what[-1], str) else USUAL_ORIGIN[part]
        assert origin in ORIGINS[part], f"'{part}' cannot be counted from '{origin}'; use one of {ORIGINS[part]}"
        parsed.append((float(at), [float(value) for value in place], origin))
    found: dict[str, tuple[tuple[float, float], ...]] = {}
    for origin in dict.fromkeys(origin for _, _, origin in parsed):
        found[f"{part}.{origin}"] = tuple((at, float(origin == own)) for at, _, own in parsed)
        for number, axis in enumerate(AXES):
            found[f"{part}.{origin}.{axis}"] = tuple((at, place[number]) for at, place, own in parsed if own == origin)
    return found
