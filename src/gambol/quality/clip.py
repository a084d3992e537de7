"""How good a distilled clip is: what its prior takes it for, what its legs do, and what its feet do to the ground."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from gambol.character.anatomy import Anatomy
from gambol.distillation.distill import Scene
from gambol.distillation.doubts import ON_LEGS
from gambol.distillation.figures import FigureSet
from gambol.distillation.footing import find_loads
from gambol.motion.draft import Draft
from gambol.motion.low_skin import LowSkin
from gambol.priors.pocket.actions import ACTIONS
from gambol.priors.pocket.look import limb_weights, scaled
from gambol.priors.recognise import log_errors
from gambol.quality.feet import Feet, measure_feet
from gambol.quality.gait import Gait, Pairings, measure_gait, pairings
from gambol.quality.opinion import LEVELS

RIVALS = ("stand", "walk", "trot", "run", "jump")
"""What a clip is compared with, besides what it should be."""
SKATES, SINKS = 0.08, 0.03
"""Beyond these, feet are said to slide (share of the speed) and the body to sink (leg lengths)."""


RULED = ("stand", "walk", "trot", "run", "jump")
"""Actions whose legs are checked by rules of their own. Of others only the prior that made them has an opinion, so they
are called plausible at best."""
TELLING = 0.6
"""Correlation from which legs go together, or by turns."""
STILL = 6.0
"""Legs that swing by less stand [degrees]."""
ALOFT = 0.03
"""A body whose lowest sole is so high has left the ground [leg lengths]."""


@dataclass(frozen=True)
class ClipReport:
    """Of one clip."""

    seconds: float
    loops: bool
    feet: Feet | None
    """None without feet."""
    feet_before: Feet | None
    """Before the act that cares for them; None without."""
    gait: Gait | None
    pairings: Pairings | None
    rise: float
    """How far the body rises above its lowest place [leg lengths]."""
    aloft: float
    """How high the lowest sole is at its highest [leg lengths]: above 0, the whole body has left the ground."""
    taken_for: str | None
    """What the prior takes the clip for; None if it cannot be asked."""
    asked_for: str | None

    @property
    def recognised(self) -> bool | None:
        return None if self.taken_for is None else self.taken_for == self.asked_for

    @property
    def summary(self) -> str:
        """One honest line."""
        said = []
        if self.taken_for is not None:
            seen = "recognises it" if self.recognised else f"takes it for '{self.taken_for}'"
            said.append(f"the prior {seen}")
        if self.feet:
            skates = "feet slide" if self.feet.skating > SKATES else "feet hold"
            how = f"{self.feet.skating:.1%} of the speed" if self.feet.speed > 1 else f"{self.feet.slide:.2f} legs/s"
            said.append(f"{skates} ({how})")
            if self.feet.depth > SINKS:
                said.append(f"the body sinks {self.feet.depth:.1%} of a leg into the ground")
        if self.gait is not None and len(self.gait.flexion):
            said.append(
                f"knees bend {np.median(self.gait.flexion):.0f}°, feet lift {np.median(self.gait.lift):.0%} of a leg"
            )
        broken = self.broken_word
        bad_feet = self.feet is not None and (self.feet.skating > SKATES or self.feet.depth > SINKS)
        good = self.recognised is not False and not broken and not bad_feet
        said = [broken, *said] if broken else said
        if not said:
            return "nothing of it could be measured"
        verdict = "doubtful" if not good else "good" if self.asked_for in RULED else "plausible"
        return f"{verdict}: {'; '.join(said)}"

    @property
    def broken_word(self) -> str:
        """What the legs do that the action forbids, in words; "" if nothing."""
        if self.gait is None and self.asked_for in ON_LEGS:
            return f"there are no legs to {self.asked_for} with"
        if self.gait is None or self.pairings is None or self.asked_for is None:
            return ""
        sides, action = self.pairings.sides, self.asked_for
        quadruped = len(self.gait.swing) == 4
        if action == "stand":
            return "legs swing while it stands" if self.gait.swing.mean() > STILL else ""
        if action == "jump":
            return "" if self.aloft > ALOFT else "the feet never all leave the ground"
        if action in ("walk", "trot") or (action == "run" and not quadruped):
            if sides is None or sides > -TELLING:
                return "left and right legs do not alternate"
            if action == "trot" and quadruped and (self.pairings.diagonals or 0) < TELLING:
                return "diagonal legs do not go together"
        if action == "run" and quadruped and (sides is None or sides < 0.3):
            return "front legs, or hind legs, do not go together as in a gallop"
        return ""

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """(what, value, remark), for a table."""
        found = [("length", f"{self.seconds:.2f} s", "loops" if self.loops else "from start to end")]
        if self.taken_for is not None:
            found.append(("taken for", self.taken_for, f"asked for: {self.asked_for}"))
        if self.feet:
            was = self.feet_before
            before = [""] * 3
            if was:
                before = [f"before: {was.skating:.1%}", f"before: {was.depth:.1%}", f"before: {was.floating:.1%}"]
            found.append(("speed", f"{self.feet.speed:.2f} legs/s", ""))
            found.append(
                ("loaded feet slide, of the speed or of a leg a second", f"{self.feet.skating:.1%}", before[0])
            )
            found.append(("deepest below the ground, of a leg", f"{self.feet.depth:.1%}", before[1]))
            found.append(("loaded soles above the ground, of a leg", f"{self.feet.floating + 0.0:.1%}", before[2]))
        if self.pairings and self.pairings.sides is not None:
            found.append(
                ("left with right legs", f"{self.pairings.sides:+.2f}", "correlation: -1 by turns, +1 at once")
            )
        if self.pairings and self.pairings.diagonals is not None:
            found.append(("diagonal legs", f"{self.pairings.diagonals:+.2f}", "correlation"))
        if self.gait is not None:
            found.append(("knees bend", _listed(self.gait.flexion, "°"), "leg by leg, front to back"))
            found.append(("feet lift, of a leg", _listed(100 * self.gait.lift, "%"), ""))
            found.append(("legs swing", _listed(self.gait.swing, "°"), ""))
        found.append(("the body rises, of a leg", f"{self.rise:.1%}", ""))
        return found


def _listed(values, unit: str) -> str:
    return ", ".join(f"{value:.0f}{unit}" for value in values)


def measure_clip(scene: Scene, draft: Draft, before: Draft | None = None) -> ClipReport:
    """draft: what the last act left; before: what the last act began with, if that cares for feet."""
    anatomy, rig = scene.anatomy, scene.rig
    draft = scene.travelling(draft)
    on_the_spot = draft.leading(draft.way @ up_of(anatomy) * up_of(anatomy))
    poses = _as_matrices(on_the_spot.world(rig))
    legs = bool(anatomy.legs) and anatomy.stands
    bears = legs and not scene.floats
    height = draft.world(rig)[:, :, :, 3].mean(1) @ up_of(anatomy)
    return ClipReport(
        seconds=scene.rounds * draft.seconds + scene.still,
        loops=draft.loops,
        feet=feet_of(scene, draft) if bears else None,
        feet_before=feet_of(scene, before) if bears and before is not None else None,
        gait=measure_gait(anatomy, poses) if legs else None,
        pairings=pairings(anatomy, poses) if legs else None,
        rise=float(height.max() - height.min()) / scene.film_set.length,
        aloft=_aloft(scene, draft) if legs else 0.0,
        taken_for=_taken_for(scene, on_the_spot),
        asked_for=scene.intent.action if scene.intent else None,
    )


def feet_of(scene: Scene, draft: Draft) -> Feet:
    """Of the soles that bear weight in a draft."""
    anatomy, rig, length = scene.anatomy, scene.rig, scene.film_set.length
    loads = find_loads(anatomy, rig, draft, length, goes=scene.goes, leaps=scene.leaps)
    world = draft.repeated(2, rig).world(rig)[: len(draft) + 1] if draft.loops else draft.world(rig)
    return measure_feet(
        loads.points(world),
        LowSkin(scene.character, anatomy, rig).heights(world),
        up=up_of(anatomy),
        stand=loads.stand,
        length=length,
        rate=draft.rate,
        speed=float(draft.way.norm()) / draft.seconds,
    )


def _aloft(scene: Scene, draft: Draft) -> float:
    loads = find_loads(scene.anatomy, scene.rig, draft, scene.film_set.length, goes=False)
    if not len(loads.joints):
        return 0.0
    heights = loads.points(draft.world(scene.rig)) @ up_of(scene.anatomy) - loads.stand
    return float(heights.amin(1).max()) / scene.film_set.length


@torch.no_grad()
def _taken_for(scene: Scene, draft: Draft) -> str | None:
    """The action under which the prior denoises the clip's own video best. What was asked for is known here, and so is
    where its cycle begins, which `opinion.ask` must first find out."""
    prior, film_set = scene.prior, scene.film_set
    if not isinstance(film_set, FigureSet) or scene.intent is None:
        return None
    names = list(dict.fromkeys([scene.intent.action, *RIVALS]))
    if not ACTIONS[scene.intent.action].loops:
        names = [name for name in names if name == scene.intent.action or name in ("stand", "walk")]
    views = torch.arange(min(film_set.views, 2))
    frames = draft.resampled(prior.format.frames[0]).world(scene.rig)
    videos, rests = film_set.film(frames, views), film_set.at_rest()[views]
    prompts, noise = [prior.embed(name) for name in names], torch.Generator().manual_seed(0)
    weights = limb_weights(scaled(videos), scaled(rests))
    errors = log_errors(prior, prior.encode(videos), prompts, LEVELS, noise, rests, weights)
    return names[int(errors.mean((1, 2)).argmin())]


def up_of(anatomy: Anatomy) -> torch.Tensor:
    return torch.as_tensor(anatomy.up, dtype=torch.float32)


def _as_matrices(T_world_joint: torch.Tensor) -> np.ndarray:
    poses = np.zeros((*T_world_joint.shape[:2], 4, 4))
    poses[..., :3, :], poses[..., 3, 3] = T_world_joint.double().numpy(), 1.0
    return poses
