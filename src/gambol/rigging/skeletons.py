"""The skeleton of a body: its trunk, then its limbs."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from gambol.rigging.curves import Centrelines
from gambol.rigging.layout import Layout
from gambol.rigging.limbs import ARM, EAR, FIN, WING, Limbs, LimbStyle, bug_style, hip_of, leg_style, shoulder_of
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
    hips = [hip_of(leg, solid, mirror, frame, roles.upright) for leg in roles.legs]
    shoulder = shoulder_of(roles.arms, frame) if roles.arms and roles.upright else None
    trunk = _trunk(builder, layout, roles, frame, hips, shoulder, spine, tail)
    for number, (leg, hip) in enumerate(zip(roles.legs, hips, strict=True)):
        parent = trunk.hips if len(roles.legs) == 1 else _nearest(layout, trunk.spine, hip, frame)
        if len(roles.legs) == 2:
            parent = (trunk.chest, trunk.hips)[number]
        limbs.add(leg, _style(roles, number), parent, hip)
    if roles.arms:
        limbs.add(roles.arms, ARM, trunk.chest, shoulder, "shoulder" if roles.upright else None)
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
    hips: list[Float[np.ndarray, 3]],
    shoulder: Float[np.ndarray, 3] | None,
    spine: int | None,
    tail: int | None,
) -> Trunk:
    if not roles.legs:
        return builder.chain(layout, spine, tail)
    upper = roles.arms or roles.wings
    if roles.upright:
        height = shoulder if shoulder is not None else roles.wings.base if roles.wings else None
        return builder.upright(
            layout, float(hips[0] @ frame.up), None if height is None else float(height @ frame.up), spine, tail
        )
    behind = float(hips[-1] @ frame.forward)
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
