"""Recognition: which action a clip looks like, and whether tempo and reach are those of artists' clips of its action.

The artists' clips are kept as features (`quality.motion_features`) in artists_motion.json, which
`benchmarks/artists_motion.py` records. No prior is asked: what made a clip has no say in its verdict.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

import numpy as np
from jaxtyping import Bool, Float

from gambol.actions import ACTIONS, general_action
from gambol.quality.motion_features import Features

FEWEST, FEWEST_PACKS = 8, 3
"""Smallest number of artists' clips of an action and kind of body, and of their packs, to compare with."""
ENOUGH = 16
"""Smallest number of such clips for tempo, speed and reach to make a clip doubtful. With 8, 26 % of 95 artists' clips
of the packs for calibration were doubtful, with 16 it is 16 %: the few bodies without legs that die are fish and blobs.
"""
KNOWN = 4
"""Smallest number of artists' clips of an action for which a clip can be taken for another."""
SHARED = 10
"""Smallest number of features that two clips must share to be compared."""
MISTAKEN = 1.6
"""How many times nearer clips of another action are than those of its own for a clip that shows the other one: more in
4 of 100 artists' clips of the packs for tuning, compared with other packs."""
OTHER_BODY = 0.3
"""Added to the distance of clips of bodies with another number of legs."""
RANGES = {"tempo": (-0.95, 0.65), "speed": (-1.7, 1.3), "reach": (-0.95, 0.85)}
"""Logarithms of tempo, speed and reach over the median of artists' clips of the same action and kind of body; about 3
to 5 of 100 artists' clips of the packs for tuning are outside on each side of each range."""
RECOGNISED = 0.9
"""Largest distance to clips of its action over that to clips of others for a clip that is surely recognised."""
TYPICAL = {"tempo": 1.5, "speed": 2.0, "reach": 2.0}
"""How many times tempo, speed and reach may differ from the median of the peers, either way, in a typical clip. These
and `RECOGNISED` decide what is called good. They were chosen on the clips for calibration (docs/quality.md): 11 of 45
of ours that were accepted are typical and free of faults, 33 of 91 artists' clips, none of 26 that were graded as
rejected, and 5 of 278 if spoiled clips that nobody graded count as well. With tempo up to 1.65 times it is 13."""
WORDS = {
    "tempo": ("slower", "faster"),
    "speed": ("less speed", "more speed"),
    "reach": ("less reach", "more reach"),
}
LIKE = (
    ("stand", "look", "stretch", "laugh", "roar", "nod", "shake head", "wag tail", "bark", "push", "interact"),
    ("attack", "hit", "throw", "push", "roar", "interact", "cast spell", "pick up", "dodge", "point", "wave"),
    ("die", "lie down", "sleep", "roll", "play dead", "hit"),
    ("sit", "sit down", "crouch", "get up", "pick up", "crawl", "sleep"),
    ("run", "trot", "walk"),
    ("hop", "jump", "flip", "roll", "run"),
    ("swim", "fly", "stand", "crawl", "climb"),
    ("dance", "cheer", "wave", "hop", "jump", "stand", "laugh", "clap"),
    ("eat", "drink", "sniff", "attack", "stand"),
)
"""Actions that a person may take for each other."""


def alike(one: str, other: str) -> bool:
    """Whether a person may take an action for another."""
    one, other = general_action(one), general_action(other)
    return one == other or any(one in group and other in group for group in LIKE)


@dataclass(frozen=True)
class Comparison:
    """What a clip looks like beside artists' clips."""

    peers: int
    """Number of artists' clips of the same action and kind of body; 0 if there are too few."""
    nearer: float | None
    """Distance to clips of its action over that to clips of others; None without clips of its action."""
    taken_for: str
    """The other action that is nearest."""
    beside: dict[str, float]
    """Logarithms of tempo, speed and reach over the median of the peers."""

    @property
    def reservations(self) -> tuple[str, ...]:
        """Why it is not typical of its action, in words for the user; nothing if it is."""
        if self.nearer is None or not self.peers or len(self.beside) < len(TYPICAL):
            return ("too few artists' clips show this action on such a body",)
        found = []
        if self.nearer > RECOGNISED:
            found.append(f"it is not clearly told from '{self.taken_for}'")
        return (*found, *self._differences({key: (-np.log(most), np.log(most)) for key, most in TYPICAL.items()}))

    @property
    def reasons(self) -> tuple[str, ...]:
        """What is wrong, in words for the user."""
        found = []
        if self.nearer is not None and self.nearer > MISTAKEN:
            found.append(f"it looks more like '{self.taken_for}'")
        return (*found, *(self._differences(RANGES) if self.peers >= ENOUGH else ()))

    def _differences(self, ranges: Mapping[str, tuple[float, float]]) -> tuple[str, ...]:
        """What is outside some ranges of the logarithms, in words."""
        found = []
        for key, value in self.beside.items():
            low, high = ranges[key]
            if not low <= value <= high:
                word = WORDS[key][value > 0]
                found.append(f"{np.exp(abs(value)):.1f} times {word} than {self.peers} artists' clips of the action")
        return tuple(found)


class ArtistMotions:
    """Features of artists' clips."""

    def __init__(
        self,
        names: tuple[str, ...],
        values: Float[np.ndarray, "clips features"],
        actions: Collection[str],
        plans: Collection[str],
        packs: Collection[str],
    ):
        self.names, self.values = names, values
        self.actions, self.plans, self.packs = (np.array(list(each), dtype=str) for each in (actions, plans, packs))

    def without(self, packs: Collection[str]) -> ArtistMotions:
        """The same without the clips of some packs."""
        kept = ~np.isin(self.packs, list(packs))
        return ArtistMotions(self.names, self.values[kept], self.actions[kept], self.plans[kept], self.packs[kept])

    def compare(self, features: Features, action: str, plan: str) -> Comparison:
        """Compare a clip, given by its features, with the artists' clips."""
        clip = np.array([features.get(name, np.nan) for name in self.names], dtype=float)
        nearer, taken_for = self._recognise(clip, action, plan)
        peers = self._peers(action, plan)
        if peers.sum() < FEWEST or len(set(self.packs[peers])) < FEWEST_PACKS:
            return Comparison(0, nearer, taken_for, {})
        return Comparison(int(peers.sum()), nearer, taken_for, self._beside(clip, peers))

    def _peers(self, action: str, plan: str) -> Bool[np.ndarray, " clips"]:
        """Clips of an action and a kind of body; with or without wings if these are few."""
        same = (self.actions == action) & (self.plans == plan)
        return same if same.sum() >= FEWEST else (self.actions == action) & self._legs(plan)

    def _legs(self, plan: str) -> Bool[np.ndarray, " clips"]:
        return np.array([each.split(",")[0] == plan.split(",")[0] for each in self.plans], dtype=bool)

    @cached_property
    def _limits(self) -> tuple[Float[np.ndarray, " features"], Float[np.ndarray, " features"]]:
        low, high = np.nanquantile(self.values, (0.02, 0.98), axis=0)
        return low, high

    @cached_property
    def _weights(self) -> Float[np.ndarray, " features"]:
        """How well each feature tells actions apart: its variance over that within actions, in parts of its spread."""
        values = np.clip(self.values, *self._limits)
        total, within, count = np.nanvar(values, axis=0), np.zeros(len(self.names)), 0
        for action in np.unique(self.actions):
            own = values[self.actions == action]
            if len(own) >= FEWEST:
                known = (~np.isnan(own)).sum(0) > 1
                variance = np.where(known, np.nanvar(np.where(known, own, 0.0), axis=0), total)
                within += len(own) * variance
                count += len(own)
        ratio = total / np.maximum(within / max(count, 1), 1e-9)
        return np.sqrt(np.clip(ratio, 0.9, 10.0) - 0.9 + 1e-6) / (np.sqrt(total) + 1e-6)

    def _recognise(self, clip: Float[np.ndarray, " features"], action: str, plan: str) -> tuple[float | None, str]:
        """Distance to the two nearest clips of the action over that to the two nearest of others, and the nearest."""
        low, high = self._limits
        spread = np.nanstd(self.values, axis=0)
        far = self._weights * (np.clip(clip, low - spread, high + spread) - np.clip(self.values, low, high))
        shared = (~np.isnan(far)).sum(1)
        distance = np.sqrt(np.nansum(far**2, axis=1) / np.maximum(shared, 1))
        distance = np.where(shared >= SHARED, distance, np.inf) + OTHER_BODY * ~self._legs(plan)
        kind = general_action(action)
        known = {name: general_action(name) if name in ACTIONS else name for name in np.unique(self.actions)}
        own = np.array([known[name] == kind for name in self.actions], dtype=bool)
        others = np.array([not alike(name, action) for name in self.actions], dtype=bool)
        if own.sum() < KNOWN or others.sum() < KNOWN or not np.isfinite(np.sort(distance[own])[1]):
            return None, ""
        near, other = (float(np.sort(distance[each])[:2].mean()) for each in (own, others))
        return near / max(other, 1e-9), str(self.actions[others][distance[others].argmin()])

    def _beside(self, clip: Float[np.ndarray, " features"], peers: Bool[np.ndarray, " clips"]) -> dict[str, float]:
        """Means over the body's parts of logarithms beside the peers: of rates, of speeds, and of ranges."""
        found: dict[str, list[float]] = {key: [] for key in RANGES}
        for number, name in enumerate(self.names):
            there = self.values[peers, number]
            if np.isnan(clip[number]) or np.isnan(there).all():
                continue
            usual = float(np.nanmedian(there))
            if name.endswith(" rate") or name == "seconds":
                found["tempo"].append((clip[number] - usual) * (-1 if name == "seconds" else 1))
            elif name.endswith(" speed"):
                found["speed"].append(clip[number] - usual)
            elif " range" in name or name in ("head pitches", "head yaws", "sways"):
                found["reach"].append(float(np.log((clip[number] + 0.05) / (usual + 0.05))))
        return {key: float(np.mean(values)) for key, values in found.items() if values}

    @staticmethod
    def from_json(text: str) -> ArtistMotions:
        plain = json.loads(text)
        rows = plain["clips"]
        values = np.array([[np.nan if v is None else v for v in row["values"]] for row in rows], dtype=float)
        return ArtistMotions(
            tuple(plain["features"]),
            values.reshape(len(rows), len(plain["features"])),
            *([row[key] for row in rows] for key in ("action", "plan", "pack")),
        )


@cache
def artist_motions() -> ArtistMotions:
    """The artists' clips that ship with gambol."""
    return ArtistMotions.from_json((files("gambol.quality") / "artists_motion.json").read_text())
