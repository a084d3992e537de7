"""Where the joints of a mesh go: the axis up, the facing, the parts, and a skeleton by templates and the network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from gambol.character.character import Mesh
from gambol.errors import GambolError
from gambol.rigging.certainty import NO_PLAN, SYMMETRIC, Found
from gambol.rigging.curve_skeleton import build_branches
from gambol.rigging.curves import Centrelines
from gambol.rigging.facing import find_forward, toe_vote
from gambol.rigging.joint_names import named_as
from gambol.rigging.joint_positions import move_joints, partners_of
from gambol.rigging.layout import Layout
from gambol.rigging.learned.model import Look, shipped_model
from gambol.rigging.learned.placing import learned_skeleton, plan_seen, with_learned_joints
from gambol.rigging.mirror import find_mirror
from gambol.rigging.options import RigOptions, direction
from gambol.rigging.parts import find_parts
from gambol.rigging.roles import Frame, Roles, frame_of, roles_of
from gambol.rigging.skeletons import build_skeleton
from gambol.rigging.solid import Solid
from gambol.text import printable

MOST_ODD, LONG = 3, 0.15
"""Long extremities beyond head and tail that are not in pairs, from which on a body without legs has no plan; and how
long that is [longest sides]."""
LEGS_SEEN = 0.9
"""Probability of legs from which on the network is believed that a body has them which does not stand on any."""


@dataclass(frozen=True)
class Placement:
    """Joints of a mesh, and what it was taken for."""

    layout: Layout
    roles: Roles | None
    """What the parts of the body are for a template; None if its joints are not a template's."""
    plan: str
    forward: Float[np.ndarray, 3]
    forward_certainty: float
    agreement: float | None = None
    """Share of joints that templates and the network see at the same place; None if only one of them placed joints."""
    plan_certainty: float = 0.0
    """Of the network, where it alone placed joints."""
    notes: tuple[str, ...] = ()


def find_upright(solid: Solid, options: RigOptions) -> Found:
    """Parts with the axis up on which the body stands on legs, y before others."""
    first = options.up or "+y"
    found = _find(solid, first, options)
    if options.up is None and not found.parts.legs and options.plan is None:
        for up in ("+z", "-z", "-y"):
            if options.forward and options.forward[1] == up[1]:
                continue
            turned = _find(solid, up, options)
            if len(turned.parts.legs) > 1 and turned.mirror.likeness > SYMMETRIC:
                return turned
    return found


def _find(solid: Solid, up: str, options: RigOptions) -> Found:
    upward = direction(up)
    across = np.cross(upward, direction(options.forward)) if options.forward else None
    mirror = find_mirror(solid, upward, across)
    return Found(solid, up, mirror, find_parts(solid, mirror, upward, options.plan))


def place_joints(
    name: str,
    found: Found,
    meshes: list[Mesh],
    vertices: Float[np.ndarray, "vertices 3"],
    faces: Int[np.ndarray, "faces 3"],
    options: RigOptions,
) -> Placement:
    """Joints by the method of the options, under the names that these ask for, with those by hand."""
    up = direction(found.up)
    axis = np.cross(found.mirror.normal, up)
    axis *= 1.0 if axis @ (0.001, 0.0, 1.0) >= 0 else -1.0
    look = None if options.method == "templates" else shipped_model().look(vertices, faces, up, axis)
    lines = Centrelines(found.solid, found.parts.centre)
    forward, certainty = _facing(found, meshes, axis, lines, look, options)
    placed = _placed(found, forward, certainty, lines, look, options)
    layout = placed.layout
    partners = partners_of(layout)
    if options.names != "gambol":
        if not _is_person(layout):
            raise GambolError(
                f"names of {options.names} are for people, and '{printable(name)}' was taken for {placed.plan}; "
                "leave them out, or give the plan biped"
            )
        layout.names = named_as(layout.names, options.names)
    if options.joints:
        move_joints(layout, options.joints, found.mirror, partners, frame_of(found.solid, up, forward).size)
    return placed


def _facing(
    found: Found,
    meshes: list[Mesh],
    axis: Float[np.ndarray, 3],
    lines: Centrelines,
    look: Look | None,
    options: RigOptions,
) -> tuple[Float[np.ndarray, 3], float]:
    if options.forward:
        return direction(options.forward), 1.0
    learned = look.vote if look else 0.0
    if options.method == "network":
        return (axis if learned >= 0 else -axis), abs(learned)
    layout, _ = _template(found, axis, lines, options)
    toes = toe_vote(found.solid, found.parts, direction(found.up), axis)
    return find_forward(meshes, layout, found.up, axis, toes, learned)


def _placed(
    found: Found,
    forward: Float[np.ndarray, 3],
    certainty: float,
    lines: Centrelines,
    look: Look | None,
    options: RigOptions,
) -> Placement:
    up = direction(found.up)
    size = frame_of(found.solid, up, forward).size
    guess = look.joints(forward) if look else None
    if options.method == "network":
        if look is None or guess is None:
            raise GambolError("the network does not see a body that faces that way; leave out --forward, or --method")
        layout, seen = learned_skeleton(guess, found.mirror, up, forward), plan_seen(guess, up, forward)
        return Placement(layout, None, seen.words, forward, certainty, plan_certainty=seen.certainty)
    if guess and options.plan is None and not found.parts.legs:
        seen = plan_seen(guess, up, forward)
        if seen.legs and seen.certainty > LEGS_SEEN:
            layout = learned_skeleton(guess, found.mirror, up, forward)
            note = "its legs do not stand apart, and all joints are where the network sees them"
            return Placement(layout, None, seen.words, forward, certainty, None, seen.certainty, (note,))
    if not _has_plan(found, options, size):
        layout = build_branches(found.parts, lines, size)
        return Placement(layout, None, NO_PLAN, forward, certainty)
    layout, roles = _template(found, forward, lines, options)
    if guess is None:
        return Placement(layout, roles, roles.plan, forward, certainty)
    learned = with_learned_joints(layout, guess, found.mirror, found.solid, size)
    return Placement(layout, roles, roles.plan, forward, certainty, learned.agreement, notes=learned.notes)


def _template(
    found: Found, forward: Float[np.ndarray, 3], lines: Centrelines, options: RigOptions
) -> tuple[Layout, Roles]:
    frame: Frame = frame_of(found.solid, direction(found.up), forward)
    roles = roles_of(found.solid, found.mirror, found.parts, frame)
    layout = build_skeleton(found.solid, found.mirror, found.parts, roles, frame, lines, options.spine, options.tail)
    return layout, roles


def _has_plan(found: Found, options: RigOptions, size: float) -> bool:
    """Whether it stands on legs, or is one long thing with fins or wings, rather than something with many branches."""
    parts = found.parts
    if parts.legs or options.plan:
        return True
    odd = [part for part in (*parts.middle, *parts.single) if part.length > LONG * size]
    return found.mirror.likeness > SYMMETRIC and len(odd) - 2 < MOST_ODD


def _is_person(layout: Layout) -> bool:
    """Whether it has the legs of who stands upright, and arms."""
    return {"thigh.L", "upper_arm.L"} <= set(layout.names)
