"""The skeleton of a body: its trunk, then its limbs."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from gambol.rigging.curves import Centrelines
from gambol.rigging.layout import Layout
from gambol.rigging.limbs import ARM, EAR, FIN, WING, Limbs, LimbStyle, bug_style, leg_style, lift_of
from gambol.rigging.mirror import MirrorPlane
from gambol.rigging.parts import Parts
from gambol.rigging.roles import Frame, Roles
from gambol.rigging.solid import Solid
from gambol.rigging.trunk import Trunk, TrunkBuilder


def build_skeleton(
    solid: Solid,
    mirror: MirrorPlane,
    parts: Parts,
    roles: Roles,
    frame: Frame,
    lines: Centrelines,
    spine: int | None = None,
    tail: int | None = None,
) -> Layout:
    """Joints of a body whose parts are known. spine, tail: numbers of joints, if not the usual ones."""
    layout = Layout()
    builder = TrunkBuilder(solid, mirror, frame, parts, roles, lines)
    limbs = Limbs(solid, mirror, frame, lines, layout)
    lifts = [lift_of(leg, solid, mirror, frame, roles.upright) for leg in roles.legs]
    trunk = _trunk(builder, layout, roles, frame, lifts, spine, tail)
    for number, (leg, lift) in enumerate(zip(roles.legs, lifts, strict=True)):
        root = leg.base + lift * frame.up
        parent = trunk.hips if len(roles.legs) == 1 else _nearest(layout, trunk.spine, root, frame)
        if len(roles.legs) == 2:
            parent = (trunk.chest, trunk.hips)[number]
        limbs.add(leg, _style(roles, number), parent, lift)
    if roles.arms:
        limbs.add(roles.arms, ARM, trunk.chest, inner="shoulder" if roles.upright else None)
    if roles.wings:
        parent = trunk.chest if roles.upright else _nearest(layout, trunk.spine, roles.wings.base, frame)
        limbs.add(roles.wings, WING, parent)
    for fin in roles.fins:
        limbs.add(fin, FIN, _nearest(layout, trunk.spine, fin.base, frame))
    if roles.ears:
        limbs.add(roles.ears, EAR, trunk.head)
    return layout


def _trunk(
    builder: TrunkBuilder,
    layout: Layout,
    roles: Roles,
    frame: Frame,
    lifts: list[float],
    spine: int | None,
    tail: int | None,
) -> Trunk:
    if not roles.legs:
        return builder.chain(layout, spine, tail)
    hips = roles.legs[-1].base + lifts[-1] * frame.up
    upper = roles.arms or roles.wings
    if roles.upright:
        shoulders = float(upper.base @ frame.up) if upper else None
        return builder.upright(layout, float(hips @ frame.up), shoulders, spine, tail)
    behind = float(hips @ frame.forward)
    if len(roles.legs) > 1:
        chest = float(roles.legs[0].base @ frame.forward)
    else:
        ends = [float(upper.base @ frame.forward)] if upper else []
        head = float(roles.head.base @ frame.forward) if roles.head else behind + 0.4 * frame.size
        chest = max([*ends, behind + 0.6 * (head - behind), behind + 0.1 * frame.size])
    return builder.lengthwise(layout, behind, chest, spine, tail)


def _style(roles: Roles, number: int) -> LimbStyle:
    count = len(roles.legs)
    if count == 1:
        return leg_style("", roles.upright)
    if count == 2:
        return leg_style(("front_", "hind_")[number], False)
    return bug_style(f"leg{number + 1}_")


def _nearest(layout: Layout, joints: tuple[int, ...], point: Float[np.ndarray, 3], frame: Frame) -> int:
    """The joint that is nearest along the body."""
    return min(joints, key=lambda joint: abs(float((layout.points[joint] - point) @ frame.forward)))
