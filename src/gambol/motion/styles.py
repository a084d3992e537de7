"""Styles: how a motion is done, as changes of its tracks that keep what is done. A row of the table for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from jaxtyping import Float
from scipy.ndimage import gaussian_filter1d
from scipy.spatial.transform import Rotation
from torch import Tensor

from gambol.motion.arm_postures import shrugged, with_arms
from gambol.motion.body_tracks import BodyTracks
from gambol.motion.body_turns import KNEE, stays_upright, turn_about, turns_about
from gambol.motion.chains import DIGITS, END, STATIONS, UPPER, Chains
from gambol.motion.rhythms import looking_about, reeled, stepped, swayed

BALANCE = 0.28
"""How far legs lean back for each degree that the trunk leans ahead, so that feet stay below the weight."""
STILL = 12.0
"""Legs whose thighs turn by less than this in a motion only stand, and may stand otherwise [degrees]."""
BENT = 40.0
"""Knees of who stands are bent less than this in the mean [degrees]."""
SOFT_LIFT = 0.05
"""Deviation of the smoothing of when a foot is in the air [cycles]."""


@dataclass(frozen=True)
class Style:
    """What a style changes. Angles are degrees; factors are 1 and offsets 0 where nothing changes."""

    pace: float = 0.0
    """How much faster, from -1 to 1, as `Intent.pace`."""
    energy: float = 1.0
    """Factor on how far arms, trunk, neck and tail move about their mean pose."""
    step: float = 1.0
    """Factor on how far legs swing, and on the way."""
    bounce: float = 1.0
    """Factor on the rise and fall of the body."""
    lean: float = 0.0
    """How far the spine of a trunk that stands bends forward, from the hips to the shoulders."""
    head: float = 0.0
    """How far the head is raised."""
    tail: float = 0.0
    """How far the tail is raised."""
    knees: float = 0.0
    """How far knees of two-legged bodies are bent more."""
    spread: float = 0.0
    """How far arms are held off the body, if they have no posture."""
    sway: float = 0.0
    """How far the body rocks from side to side, once a cycle or second."""
    stepped: float = 0.0
    """Poses a second from one to the next of which it moves in jerks; 0 for a motion that flows."""
    hips: float = 0.0
    """How far the whole trunk of who stands is tilted forward at the hips."""
    arms: str = ""
    """How free arms of who stands are held (`arm_postures.ARM_POSTURES`); "" as they are."""
    shoulders: float = 0.0
    """How far shoulders are raised."""
    wide: float = 0.0
    """How far each leg of two is turned outwards at the hip."""
    toes: float = 0.0
    """How far the toes of two-legged bodies point outwards."""
    lift: float = 0.0
    """How far the thigh of a foot in the air is raised, of two-legged bodies; the shin hangs back by as much."""
    look: float = 0.0
    """How far the head turns to one side and the other."""
    reel: float = 0.0
    """How far the trunk rocks of who reels, weaves, and takes uneven steps."""


# fmt: off
STYLES = {
    "sad": Style(pace=-0.7, energy=0.5, step=0.6, bounce=0.6, lean=28, head=-36, tail=-30, arms="hang limp",
                 shoulders=-5, knees=5),
    "happy": Style(pace=0.35, energy=1.25, step=1.05, bounce=2.0, lean=-6, head=14, tail=30, arms="springy", lift=12,
                   sway=4),
    "proud": Style(pace=-0.15, energy=1.1, step=1.1, lean=-14, head=20, tail=25, spread=6, arms="chest out"),
    "tired": Style(pace=-0.8, energy=0.6, step=0.6, bounce=1.2, lean=26, hips=12, head=-28, tail=-25, knees=14, sway=4,
                   arms="dangle", shoulders=-6),
    "old": Style(pace=-0.5, energy=0.4, step=0.62, bounce=0.5, lean=34, hips=10, head=4, tail=-20, knees=17, toes=8,
                 arms="on a stick", shoulders=4),
    "drunk": Style(pace=-0.4, energy=1.1, step=0.85, lean=4, head=-14, reel=16, arms="balance", knees=6),
    "angry": Style(pace=0.5, energy=1.2, step=1.1, lean=16, hips=4, head=-12, tail=15, spread=9, arms="fists", lift=6,
                   shoulders=9),
    "scared": Style(pace=0.2, energy=0.6, step=0.55, lean=16, head=-6, tail=-45, knees=22, spread=-4, arms="shielding",
                    shoulders=16, look=32),
    "sneaky": Style(pace=-0.5, energy=0.7, step=0.8, bounce=0.5, lean=30, hips=8, head=6, tail=-15, knees=30, lift=8,
                    arms="paws"),
    "heavy": Style(pace=-0.5, energy=0.7, step=0.8, bounce=1.4, lean=-8, head=-4, sway=10, spread=9, knees=6, wide=7,
                   toes=16, arms="off the belly"),
    "light": Style(pace=0.25, energy=1.05, bounce=1.5, lean=-3, head=6, tail=10),
    "robotic": Style(pace=-0.2, energy=0.25, step=0.85, bounce=0.4, stepped=7, arms="right angles"),
    "energetic": Style(pace=0.4, energy=1.3, step=1.1, bounce=1.3, head=4, tail=15, lean=5, lift=8, arms="pumping"),
    "calm": Style(pace=-0.4, energy=0.8, bounce=0.8),
    "big": Style(energy=1.35, step=1.2, bounce=1.2),
    "small": Style(energy=0.6, step=0.65, bounce=0.7),
    "head high": Style(head=24),
    "head low": Style(head=-30),
}
# fmt: on
FACTORS = ("energy", "step", "bounce")


def joined(names: Sequence[str]) -> Style:
    """Several styles as one: factors multiply, angles add up, arms are held as in the first that says so."""
    found: dict[str, float] = {}
    for field in fields(Style):
        if field.name == "arms":
            continue
        values = [getattr(STYLES[name], field.name) for name in names]
        found[field.name] = float(np.prod(values)) if field.name in FACTORS else float(np.sum(values))
    arms = next((STYLES[name].arms for name in names if STYLES[name].arms), "")
    return Style(**{**found, "pace": float(np.clip(found["pace"], -1, 1))}, arms=arms)


def random_style(generator: np.random.Generator) -> Style:
    """A slight style, by which motions of one formula differ."""
    energy, step, bounce, lean, head, tail = generator.uniform(-1, 1, 6)
    return Style(0.0, 1.2**energy, 1.08**step, 1.25**bounce, 2.5 * lean, 6 * head, 12 * tail)


def styled(tracks: BodyTracks, chains: Chains, style: Style, walks: bool) -> BodyTracks:
    """The same motion in a style, but for its pace. walks: whether legs carry it, so that steps may be longer."""
    tracks = stepped(tracks, style.stepped) if style.stepped else tracks
    rotations = _scaled(tracks.rotations.clone(), chains, style, walks)
    stands = stays_upright(rotations, chains)
    rotations = _posed(rotations, chains, style, stands)
    if stands and len(chains.legs) == 2 and (walks or _only_stands(tracks.rotations, chains)):
        rotations = _on_other_legs(rotations, chains, tracks, style)
    if stands and style.shoulders:
        rotations = shrugged(rotations, chains, style.shoulders)
    if stands and style.arms:
        rotations = with_arms(rotations, chains, style.arms, walks)
    if style.look:
        rotations = looking_about(rotations, chains, tracks, style.look)
    if style.sway:
        rotations = swayed(rotations, chains, tracks, style.sway)
    height = tracks.height
    if not tracks.contacts.any() or walks:
        height = height.mean() + style.bounce * (height - height.mean())
    step = style.step if walks else 1.0
    path = tracks.path[:1] + step * (tracks.path - tracks.path[:1])
    found = replace(tracks, rotations=rotations, height=height, path=path, travel=step * tracks.travel)
    return reeled(found, chains, style.reel, walks) if style.reel else found


def _scaled(
    rotations: Float[Tensor, "frames chains stations 3 3"], chains: Chains, style: Style, walks: bool
) -> Float[Tensor, "frames chains stations 3 3"]:
    """Movements about the mean pose made larger or smaller."""
    found = rotations.clone()
    for number, chain in enumerate(chains.chains):
        factor = (style.step if walks else 1.0) if chain.kind == "leg" else style.energy
        if factor == 1.0 or (chain.kind == "trunk" and factor > 1.0):  # a trunk that moves more swings all the rest
            continue
        for station in range(STATIONS):
            each = Rotation.from_matrix(rotations[:, number, station].double().numpy())
            middle = each.mean()
            moved = Rotation.from_rotvec(factor * (middle.inv() * each).as_rotvec())
            found[:, number, station] = torch.as_tensor((middle * moved).as_matrix()).float()
    return found


def _posed(
    rotations: Float[Tensor, "frames chains stations 3 3"], chains: Chains, style: Style, stands: bool
) -> Float[Tensor, "frames chains stations 3 3"]:
    """Another posture of all but legs. stands: whether the trunk does."""
    found = rotations.clone()
    along = torch.linspace(0, 1, STATIONS)
    hangs_on = chains.roots[0]
    lean, hips = (style.lean, style.hips) if stands else (0.0, 0.0)
    for number, chain in enumerate(chains.chains):
        share = float(along[hangs_on[number]])
        for station in range(STATIONS):
            angle = hips + lean * (float(along[station]) if chain.kind == "trunk" else share)
            if chain.kind == "trunk":
                turn = turn_about(0, angle)
            elif chain.kind == "neck":  # the head keeps looking ahead but for what is asked of it
                keeps = angle * (1 - 0.7 * float(along[station]))
                turn = turn_about(0, keeps - style.head * (0.4 + 0.6 * float(along[station])))
            elif chain.kind == "tail":
                turn = turn_about(0, style.tail * (0.6 + 0.4 * float(along[station])))
            elif chain.kind == "arm":
                side = 1.0 if chain.side == "left" else -1.0
                turn = turn_about(2, side * style.spread) @ turn_about(0, 0.5 * angle)
            else:
                continue
            found[:, number, station] = turn @ found[:, number, station]
    return found


def _on_other_legs(
    rotations: Float[Tensor, "frames chains stations 3 3"], chains: Chains, tracks: BodyTracks, style: Style
) -> Float[Tensor, "frames chains stations 3 3"]:
    """Two legs with bent knees, apart, toes outwards, feet raised higher, below a trunk that leans."""
    found = rotations.clone()
    back = -BALANCE * (style.hips + 0.5 * style.lean)
    for number in chains.legs:
        side = 1.0 if chains.chains[number].side == "left" else -1.0
        lift = style.lift * _in_the_air(tracks, number)
        upper = turns_about(0, back - style.knees - lift)
        lower = turns_about(0, back + style.knees + lift)
        out, aside = turn_about(1, side * style.toes), turn_about(2, side * style.wide)
        for station in range(UPPER, DIGITS + 1):
            if station < END:
                turn = aside @ out @ (upper if station < KNEE else lower)
            else:
                turn = out.expand(len(rotations), 3, 3)
            found[:, number, station] = turn @ found[:, number, station]
    return found


def _in_the_air(tracks: BodyTracks, number: int) -> Float[np.ndarray, " frames"]:
    """How far the foot of a leg is in the middle of its time in the air, from 0 to 1; 0 if nothing is known of that."""
    up = 1 - tracks.contacts[:, number].double().numpy()
    if not 0 < up.mean() < 1:
        return np.zeros(len(up))
    mode = "wrap" if tracks.loops else "nearest"
    soft = gaussian_filter1d(up, max(SOFT_LIFT * len(up), 1.0), mode=mode)
    return np.clip((soft - 0.3) / max(float(soft.max()) - 0.3, 0.1), 0, 1) ** 2


def _only_stands(rotations: Float[Tensor, "frames chains stations 3 3"], chains: Chains) -> bool:
    """Whether legs stand, nearly straight, and hardly move."""
    for number in chains.legs:
        ways = [
            torch.einsum("fij,j->fi", rotations[:, number, station], torch.tensor([0.0, -1.0, 0.0]))
            for station in (UPPER, KNEE)
        ]
        moved = torch.rad2deg(torch.acos((ways[0] @ ways[0].mean(0) / ways[0].mean(0).norm()).clamp(-1, 1)))
        bent = torch.rad2deg(torch.acos((ways[0] * ways[1]).sum(1).clamp(-1, 1)))
        if moved.max() > STILL or bent.mean() > BENT:
            return False
    return True


def acting_side(tracks: BodyTracks, chains: Chains, kind: str) -> str:
    """'left' or 'right': which limb of a kind moves more, seen from the trunk."""
    moved: dict[str, float] = {}
    for number, chain in enumerate(chains.chains):
        if chain.kind == kind:
            seen = tracks.rotations[:, 0, chains.roots[0][number]].mT[:, None] @ tracks.rotations[:, number]
            moved[chain.side] = moved.get(chain.side, 0.0) + float(torch.diff(seen, dim=0).square().sum())
    return max(moved, key=lambda side: moved[side], default="")
