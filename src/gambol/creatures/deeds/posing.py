"""Poses of a body in a deed: the trunk goes where the goals say, legs reach their feet, the muzzle its height."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from gambol.character.anatomy import Anatomy
from gambol.character.rig import Rig, build_rig
from gambol.character.transforms import nearest_rotation, rotation_about
from gambol.creatures.deeds.keys import Deed
from gambol.creatures.deeds.person import person_poses
from gambol.creatures.deeds.whole_body import whole_body_poses
from gambol.creatures.gaits.foot_paths import PerFrame, Rotations, Turns, Vectors
from gambol.creatures.gaits.gait import likely_metres
from gambol.creatures.gaits.plan import place_leg
from gambol.creatures.gaits.trunk import line_to_head, spine_of, transforms
from gambol.motion.legs import Leg, hip_height_of, legs_of, stature_of

USUAL_HEIGHT = 1.0
"""Height of a body whose deeds last as long as the table says; others by the fourth root of their height [m]."""
STYLE = 1.12
"""Factor by which the size differs at most from one performance to the next."""
DIP = np.radians(8.0)
"""How far a trunk leans down at most where the neck is too short to bring the muzzle to its height, and less if its
forelegs do not fold."""
NECK_DOWN = np.radians(85.0)
"""How far a neck is lowered at most for the same."""
LAG = 0.06
"""By how much of a deed the end of a tail is late: follow-through."""
TAIL_UP = np.radians(130.0)
"""How far a tail is lifted at most to stay above the ground."""
SKIN = 400
"""Number of vertices by which a body that lies is put onto the ground."""
RUMP = 0.30
"""Height of the hips of who sits on the ground, as a share of that of who stands."""
SEATED, LOW, STOUT = np.radians(24.0), 0.35, 0.4
"""How far the trunk is nose up at least when somebody sits whose belly is lower than this share of the hips' height, or
whose hips are lower than this share of the body's."""
ASLANT = 0.35
"""A leg whose foot is farther ahead of or behind its first joint begins with a bone along the body [its reach]."""
SQUAT = 0.62
"""How far the hips of who sits on two legs come down, as a share of their height."""
PLANTED = 0.02
"""Movement up to which a foot counts as standing [hip heights]."""


@dataclass(frozen=True, eq=False)
class DeedMotion:
    """A deed of a body."""

    world: Float[np.ndarray, "frames joints 4 4"]
    """T_world_joint [file units]."""
    down: Float[np.ndarray, "frames legs"]
    """1 where a foot stands."""
    wings: PerFrame
    """How far wings are spread, from 0, folded, to 1; of fliers, how hard they beat."""
    flap: PerFrame
    """How far they are raised [rad]."""


def perform(anatomy: Anatomy, deed: Deed, frames: int, generator: np.random.Generator) -> DeedMotion:
    """A deed in a random style, every frame an even share of its time; a loop without its last frame."""
    share = np.arange(frames) / (frames if deed.loops else frames - 1)
    if deed.build == "person":
        poses, down = person_poses(anatomy, deed, share, generator)
        bottom = np.broadcast_to([0.0, 0.0, 0.0, 1.0], (*poses.shape[:2], 1, 4))
        return DeedMotion(np.concatenate([poses, bottom], 2), down, np.zeros(frames), np.zeros(frames))
    if deed.build in ("compact", "flier"):
        size, mirror = float(STYLE ** generator.uniform(-1, 1)), float(generator.choice([-1.0, 1.0]))
        whole = whole_body_poses(anatomy, deed, share, size, mirror)
        still = np.zeros((frames, len(anatomy.legs)))
        return DeedMotion(whole, still, deed.value("beat", share, 1.0), np.radians(deed.value("flap", share)))
    return _Performer(anatomy, deed, share, generator).motion()


def usual_seconds(anatomy: Anatomy, deed: Deed) -> float:
    """How long a deed takes a body [s]."""
    metres = anatomy.height * likely_metres(anatomy)
    return deed.seconds * float(np.clip((metres / USUAL_HEIGHT) ** 0.25, 0.6, 1.6))


class _Performer:
    def __init__(self, anatomy: Anatomy, deed: Deed, share: PerFrame, generator: np.random.Generator):
        self.anatomy, self.deed, self.share = anatomy, deed, share
        self.rig: Rig = build_rig(anatomy)
        self.legs: list[Leg] = legs_of(anatomy)
        self.hip = stature_of(self.legs, hip_height_of(anatomy))
        self.size = float(STYLE ** generator.uniform(-1, 1))
        self.mirror = float(generator.choice([-1.0, 1.0]))
        self.neck, self.spine = line_to_head(anatomy), spine_of(anatomy)
        hind = max((leg.limb.rank for leg in self.legs), default=0)
        self.hind = hind
        hips = [self._top(leg) for leg in self.legs if leg.limb.rank == hind]
        self.pivot = np.mean(hips, axis=0) if hips else self.rig.pivot
        fore = [self._top(leg) for leg in self.legs if leg.limb.rank == 0]
        self.length = float((np.mean(fore, axis=0) - self.pivot) @ anatomy.forward) if hind else 0.0
        """From hips to shoulders; 0 if all hang on the hips."""
        self.muzzle = self._muzzle()

    def _top(self, leg: Leg) -> Float[np.ndarray, 3]:
        """Hip or shoulder: where a leg begins, or ends its first bone if that leads there along the body."""
        points = leg.chain.points
        aslant = abs((points[0] - leg.end) @ self.anatomy.forward) > ASLANT * leg.chain.reach
        return points[1] if aslant and len(leg.links) > 2 else points[0]

    def of(self, goal: str, default: float = 0.0) -> PerFrame:
        return self.deed.value(goal, self.share, default)

    def angle(self, goal: str) -> PerFrame:
        """A goal in degrees, in the size of this performance [rad]."""
        return np.radians(self.size * self.of(goal))

    def _muzzle(self) -> Float[np.ndarray, 3]:
        """The foremost point of the head."""
        body = self.anatomy.body
        if not self.neck:
            return self.pivot
        skin = body.skin_of(body.subtree(self.neck[-1]))
        points = skin if len(skin) else body.tips[self.neck[-1:]]
        middle = np.abs((points - body.heads[self.neck[-1]]) @ self.anatomy.left) < 0.15 * self.anatomy.height
        points = points[middle] if middle.any() else points
        return points[int((points @ self.anatomy.forward).argmax())]

    def motion(self) -> DeedMotion:
        dip = np.zeros(len(self.share))
        lowered = np.zeros(len(self.share))
        if self.neck and self.deed.has("muzzle"):
            lowered, dip = self._reaching()
        root = self._root(dip)
        turns = self._turns(root, lowered)
        root = self._seated(root, turns)
        rotations, shifts = transforms(self.anatomy, turns, root)
        down = np.ones((len(self.share), len(self.legs)))
        for number, leg in enumerate(self.legs):
            parent = int(self.anatomy.body.parents[leg.links[0]])
            above = (rotations[:, parent], shifts[:, parent]) if parent >= 0 else root
            down[:, number] = self._step(turns, leg, above)
        self._raise_tail(turns, root)
        rotations, shifts = transforms(self.anatomy, turns, root)
        shifts = shifts + self._settling(rotations, shifts)[:, None, None] * self.anatomy.up
        moved = np.zeros((len(self.share), len(self.anatomy.body), 4, 4))
        moved[..., :3, :3], moved[..., :3, 3], moved[..., 3, 3] = rotations, shifts, 1.0
        return DeedMotion(moved @ self.rig.world(), down, np.clip(self.of("wings"), 0, 1), self.angle("flap"))

    # The trunk.

    def _root(self, dip: PerFrame) -> tuple[Rotations, Vectors]:
        """Rotation and shift of the whole body."""
        up, forward, left = self.anatomy.up, self.anatomy.forward, self.anatomy.left
        sit, lie = np.clip(self.of("sit"), 0, 1), np.clip(self.of("lie"), 0, 1)
        drop = sit * (1 - RUMP) * self.hip
        sunk = lie * self._lying
        pitch, back = self.angle("pitch") - dip, np.zeros(len(self.share))
        if self.length > 0.2 * self.hip:
            rising = np.arcsin(np.clip(drop / self.length, 0, 0.85))
            rising = np.maximum(rising, SEATED * sit) if self._low_slung else rising
            pitch = pitch + rising
            back = self.length * (1 - np.cos(rising))
        else:  # on two legs, who sits squats
            drop = sit * SQUAT * self.hip
        rotation = (
            rotation_about(up, self.mirror * self.angle("yaw"))
            @ rotation_about(left, -pitch)
            @ rotation_about(forward, self.mirror * np.radians(self.of("roll")))
        )
        rise = np.maximum(self.size * self.of("rise") * self.hip, -self._belly) - drop - sunk
        ahead = self.size * self.of("ahead") * self.hip + back
        aside = self.mirror * self.size * self.of("aside") * self.hip
        shift = rise[:, None] * up + ahead[:, None] * forward + aside[:, None] * left
        return rotation, self.pivot + shift - rotation @ self.pivot

    @cached_property
    def _belly(self) -> float:
        """Height of the belly above the ground [file units]."""
        trunk = self.anatomy.body.skin_of(self.anatomy.joints_of("trunk"))
        heights = (trunk if len(trunk) else self.pivot[None]) @ self.anatomy.up - self.anatomy.ground
        return float(np.clip(np.percentile(heights, 3), 0.0, 0.9 * self.hip))

    @cached_property
    def _low_slung(self) -> bool:
        """Whether the belly is so near the ground that there is no room for hips that come down to sit."""
        low = self._belly < LOW * self.hip or self.hip < STOUT * self.anatomy.height
        return low and self.length > 0.2 * self.hip

    @cached_property
    def _lying(self) -> float:
        """How far the body comes down to lie: to its belly, unless its legs do not fold so far [file units]; forelegs
        that do not are stretched ahead."""
        folding = [leg for leg in self.legs if leg.limb.rank] or self.legs
        if all(len(leg.links) == 1 for leg in folding):  # stretched along the ground
            return self._belly
        folded = hip_height_of(self.anatomy) - 1.05 * max(leg.chain.shortest for leg in folding)
        return min(self._belly, max(folded, 0.3 * self._belly))

    @cached_property
    def _dip(self) -> float:
        """How far the trunk can lean down [rad]."""
        if self.length <= 0.2 * self.hip:
            return DIP
        fore = [leg.chain for leg in self.legs if leg.limb.rank == 0]
        gives = min(float(np.linalg.norm(chain.points[-1] - chain.points[0])) - chain.shortest for chain in fore)
        return min(DIP, float(np.arcsin(np.clip(0.9 * gives / self.length, 0, 1))))

    def _turns(self, root: tuple[Rotations, Vectors], lowered: PerFrame) -> Turns:
        up, left = self.anatomy.up, self.anatomy.left
        turns = np.tile(np.eye(3), (len(self.share), len(self.anatomy.body), 1, 1))
        arch, bend = self.angle("arch"), self.mirror * self.angle("bend")
        for joint in self.spine:
            each = 1 / len(self.spine)
            turns[:, joint] = rotation_about(up, bend * each) @ rotation_about(left, arch * each)
        self._hold_head(turns, root, lowered)
        tail = self.anatomy.joints_of("tail")
        for order, joint in enumerate(tail):
            late = self.share - LAG * order / max(len(tail) - 1, 1)
            late = late % 1.0 if self.deed.loops else np.clip(late, 0, 1)
            share = 0.6 if order == 0 else 0.4 / (len(tail) - 1)
            lift = share * np.radians(self.size * self.deed.value("tail", late))
            aside = np.radians(self.size * self.deed.value("wag", late)) * 1.3 / len(tail) ** 0.8
            turns[:, joint] = rotation_about(up, self.mirror * aside) @ rotation_about(left, lift)
        for limb in self.anatomy.limbs:
            if limb.kind == "arm":
                turns[:, limb.chain[0]] = rotation_about(left, -self.angle("arms"))
        return turns

    def _raise_tail(self, turns: Turns, root: tuple[Rotations, Vectors]) -> None:
        """Lift the root of the tail until none of it is below the ground, by bisection."""
        tail, body, up = self.anatomy.joints_of("tail"), self.anatomy.body, self.anatomy.up
        if not tail:
            return
        points = np.concatenate([body.heads[tail[1:]], body.tips[tail]])
        owners = [*tail[1:], *tail]
        goal = self.anatomy.ground + min(0.02 * self.hip, float((points @ up).min()) - self.anatomy.ground)
        before, low, high = turns[:, tail[0]].copy(), np.zeros(len(self.share)), np.full(len(self.share), TAIL_UP)
        for number in range(12):
            amount = np.zeros(len(self.share)) if number == 0 else (low + high) / 2
            turns[:, tail[0]] = before @ rotation_about(self.anatomy.left, amount)
            rotations, shifts = transforms(self.anatomy, turns, root)
            places = (rotations[:, owners] @ points[..., None])[..., 0] + shifts[:, owners]
            clear = (places @ up).min(1) >= goal - 1e-9
            if number == 0:
                high = np.where(clear, 0.0, high)
            else:
                low, high = np.where(clear, low, amount), np.where(clear, np.minimum(amount, high), high)
        turns[:, tail[0]] = before @ rotation_about(self.anatomy.left, high)

    def _seated(self, root: tuple[Rotations, Vectors], turns: Turns) -> tuple[Rotations, Vectors]:
        """The root of who sits with its rump on the ground, rather than below; of a low body, no higher, either."""
        sits = np.clip(self.of("sit"), 0, 1)
        if not sits.any() or self.length <= 0.2 * self.hip:
            return root
        depth = self._depth(self.anatomy.joints_of("trunk"), *transforms(self.anatomy, turns, root))
        rise = sits * (depth if self._low_slung else np.maximum(depth, 0.0))
        return root[0], root[1] + rise[:, None] * self.anatomy.up

    def _settling(self, rotations: Turns, shifts: Float[np.ndarray, "frames joints 3"]) -> PerFrame:
        """How far a body that lies is above the ground with its lowest skin, negative; 0 for who stands."""
        weight = np.clip(self.of("settle"), 0, 1)
        if not weight.any():
            return weight
        wings = [joint for limb in self.anatomy.limbs if limb.kind == "wing" for joint in limb.joints]
        others = [joint for joint in range(len(self.anatomy.body)) if joint not in wings]  # wings are folded later
        return weight * self._depth(others, rotations, shifts)

    def _depth(self, joints: list[int], rotations: Turns, shifts: Float[np.ndarray, "frames joints 3"]) -> PerFrame:
        """How far the lowest skin of joints is below the ground [file units]."""
        body = self.anatomy.body
        held = np.flatnonzero(np.isin(body.owners, joints))
        held = held[:: max(len(held) // SKIN, 1)]
        points, owners = (body.vertices[held], body.owners[held]) if len(held) else (body.heads, np.arange(len(body)))
        places = (rotations[:, owners] @ points[..., None])[..., 0] + shifts[:, owners]
        return self.anatomy.ground - (places @ self.anatomy.up).min(1)

    def _hold_head(self, turns: Turns, root: tuple[Rotations, Vectors], lowered: PerFrame) -> None:
        """Neck and head undo most of what the trunk does, then do what they are told. lowered: how far the neck is
        brought down [rad]."""
        if not self.neck:
            return
        line, body, left, up = self.neck, self.anatomy.body, self.anatomy.left, self.anatomy.up
        rotations, _ = transforms(self.anatomy, turns, root)
        parent = int(body.parents[line[0]])
        above = rotations[:, parent] if parent >= 0 else root[0]
        steady = self.of("steady", 0.8)
        ahead = above @ self.anatomy.forward
        pitched = np.arctan2(ahead @ up, np.hypot(ahead @ left, ahead @ self.anatomy.forward))
        undo = steady * pitched  # nose down against a trunk that is nose up
        count = len(line)
        neck, nod = self.angle("neck") - lowered, self.angle("nod") + 0.35 * lowered
        look, tilt = self.mirror * self.angle("look"), self.mirror * self.angle("tilt")
        shares = [1.0] if count <= 2 else [0.7, *[0.3 / (count - 2)] * (count - 2)]  # of the neck; the head has its own
        shares = [*shares, *[0.0] * (count - len(shares))]
        for order, joint in enumerate(line):
            pitch = undo / count - shares[order] * neck
            if order == count - 1:
                pitch = pitch - nod
            turn = rotation_about(up, look / count) @ rotation_about(left, pitch)
            if order == count - 1:
                turn = turn @ rotation_about(self.anatomy.forward, tilt)
            turns[:, joint] = turn

    def _reaching(self) -> tuple[PerFrame, PerFrame]:
        """How far neck and trunk come down so that the muzzle gets to its height [rad], by bisection."""
        wanted = np.clip(self.of("muzzle", 1.0), 0, 1)
        rest = float(self.muzzle @ self.anatomy.up) - self.anatomy.ground
        goal = self.anatomy.ground + np.maximum(wanted * rest, 0.02 * self.hip)
        low, high = np.zeros(len(self.share)), np.full(len(self.share), 2.0)
        for _ in range(14):
            middle = (low + high) / 2
            above = self._muzzle_height(middle) > goal
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        found = np.where(wanted > 0.999, 0.0, (low + high) / 2)
        return NECK_DOWN * np.clip(found, 0, 1), self._dip * np.clip(found - 1, 0, 1)

    def _muzzle_height(self, amount: PerFrame) -> PerFrame:
        root = self._root(self._dip * np.clip(amount - 1, 0, 1))
        turns = self._turns(root, NECK_DOWN * np.clip(amount, 0, 1))
        rotations, shifts = transforms(self.anatomy, turns, root)
        last = self.neck[-1]
        return (rotations[:, last] @ self.muzzle + shifts[:, last]) @ self.anatomy.up

    # Legs.

    def _step(self, turns: Turns, leg: Leg, above: tuple[Rotations, Vectors]) -> PerFrame:
        """Write the turns of a leg, and return 1 where its foot stands."""
        up, forward, left = self.anatomy.up, self.anatomy.forward, self.anatomy.left
        side = 1.0 if leg.limb.side == "left" else -1.0
        names = self._names(leg)

        def goal(what: str) -> PerFrame:
            return np.sum([self.of(f"{name}.{what}") for name in names], axis=0)

        outward = side * goal("out") + self.mirror * goal("aside")
        shift = self.hip * (goal("ahead")[:, None] * forward + goal("up")[:, None] * up + outward[:, None] * left)
        free = np.clip(goal("free"), 0, 1)
        home = leg.end + leg.home
        planted = home + shift
        carried = (above[0] @ (leg.end + shift)[..., None])[..., 0] + above[1]
        place = planted + free[:, None] * (carried - planted)
        stretched = self._stretched(leg, place, above)
        place = place + stretched[:, None] * forward
        level = np.tile(np.eye(3), (len(self.share), 1, 1))
        turned = nearest_rotation(level + free[:, None, None] * (above[0] - level)) if free.any() else level
        curl = goal("curl")
        bent = turned @ rotation_about(left, np.radians(curl))
        place_leg(turns, leg, place, bent, np.radians(curl)[:, None] * leg.wrists, above, up, self.anatomy.ground)
        lifted = np.abs(goal("up")) + free
        speed = np.abs(np.gradient(goal("ahead") + stretched / self.hip)) + np.abs(np.gradient(goal("out")))
        return ((lifted < PLANTED) & (speed < PLANTED)).astype(np.float64)

    def _stretched(self, leg: Leg, place: Vectors, above: tuple[Rotations, Vectors]) -> PerFrame:
        """How much farther ahead a foot must be for who lies or sits, if the leg cannot fold so far: forelegs of who
        lies, and hind legs without knees."""
        lies, sits = np.clip(self.of("lie"), 0, 1), np.clip(self.of("sit"), 0, 1)
        folds = len(leg.links) > 1
        lowered = np.maximum(lies, 0 if folds else sits) if leg.limb.rank == 0 or not folds else np.zeros_like(lies)
        if not lowered.any():
            return lowered
        way = place - (above[0] @ leg.chain.points[0] + above[1])
        ahead = way @ self.anatomy.forward
        aside = np.linalg.norm(way - ahead[:, None] * self.anatomy.forward, axis=1)
        least = np.sqrt(np.maximum((1.02 * leg.chain.shortest) ** 2 - aside**2, 0.0))
        back = leg.limb.rank > 0 and not sits.any()  # who lies on its belly stretches its hind legs behind
        further = -np.maximum(least + ahead, 0.0) if back else np.maximum(least - ahead, 0.0)
        return np.where(lowered > 0, further, 0.0)

    def _names(self, leg: Leg) -> list[str]:
        """What deeds call a leg: 'fore', 'hind', 'middle', 'near' or 'far' (the side that acts, or the other), and
        both, as 'near fore'."""
        rank = "hind" if leg.limb.rank == self.hind else "fore" if leg.limb.rank == 0 else "middle"
        side = "near" if (leg.limb.side == "left") == (self.mirror > 0) else "far"
        return ["all", rank, side, f"{side} {rank}"]
