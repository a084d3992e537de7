"""Where the joints of a mesh go: the axis up, the facing, the parts, and a skeleton by templates and the network."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from gambol.character.character import Mesh
from gambol.character.plans import LEG_PAIRS, Plan
from gambol.errors import GambolError
from gambol.rigging.certainty import NO_PLAN, SYMMETRIC, Found
from gambol.rigging.curve_skeleton import build_branches
from gambol.rigging.curves import Centrelines
from gambol.rigging.facing import find_forward, toe_vote
from gambol.rigging.joint_names import named_as
from gambol.rigging.joint_positions import move_joints, partners_of
from gambol.rigging.layout import Layout
from gambol.rigging.learned.model import Look, shipped_model
from gambol.rigging.learned.placing import with_learned_joints
from gambol.rigging.learned.seen_skeleton import learned_skeleton, plan_seen
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
BETTER, MOST_PAIRS = 0.15, 4
"""By how much more joints agree if the template has as many legs as the network sees that these are taken; more pairs
of legs than spiders have are feelers, too."""
LEGS_SEEN, INSIDE = 0.9, 0.9
"""Probability of legs, and share of joints inside, from which on the network is believed that a body has legs where a
template sees none."""
ODD, WELL = 0.45, 0.5
"""How badly a body looks with y up that other axes are tried, and how well it must look with one of these: a person who
lies looks 0.3 with y up, as a quadruped, and 1.0 as a person. Insects and spiders, on which templates and the network
agree little, look like people with their belly forward (0.54); they keep y."""


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


def find_body(solid: Solid, up: str, options: RigOptions) -> Found:
    """The mirror plane and the parts of a solid, for an axis up."""
    upward = direction(up)
    across = np.cross(upward, direction(options.forward)) if options.forward else None
    mirror = find_mirror(solid, upward, across)
    return Found(solid, up, mirror, find_parts(solid, mirror, upward, options.plan))


def place_joints(
    solid: Solid,
    meshes: list[Mesh],
    vertices: Float[np.ndarray, "vertices 3"],
    faces: Int[np.ndarray, "faces 3"],
    options: RigOptions,
) -> tuple[Found, Placement]:
    """Joints by the method of the options, with those by hand, and the body that they are in.

    y is up unless the body then looks odd, and clearly better with another axis up.
    """
    found, placed = _place(find_body(solid, options.up or "+y", options), meshes, vertices, faces, options)
    given = options.up is not None or options.plan is not None or len(found.parts.legs) > 2
    if not given and _looks(found, placed) < ODD:
        others = [up for up in ("+z", "-z", "+x", "-x", "-y") if not options.forward or options.forward[1] != up[1]]
        bodies = [find_body(solid, up, options) for up in others]
        tried = [_place(body, meshes, vertices, faces, options) for body in bodies if body.mirror.likeness > SYMMETRIC]
        best = max(tried, key=lambda each: _looks(*each), default=(found, placed))
        if _looks(*best) > WELL:
            return best
    return found, placed


def _looks(found: Found, placed: Placement) -> float:
    """How well a body stands with an axis up: templates and the network agree on joints, and on where it faces."""
    stands = found.parts.legs and found.mirror.likeness > SYMMETRIC
    return placed.forward_certainty * (placed.agreement or 0.0) if stands else 0.0


def _place(
    found: Found,
    meshes: list[Mesh],
    vertices: Float[np.ndarray, "vertices 3"],
    faces: Int[np.ndarray, "faces 3"],
    options: RigOptions,
) -> tuple[Found, Placement]:
    up = direction(found.up)
    axis = np.cross(found.mirror.normal, up)
    axis *= 1.0 if axis @ (0.001, 0.002, 1.0) >= 0 else -1.0
    look = None if options.method == "templates" else shipped_model().look(vertices, faces, up, axis)
    lines = Centrelines(found.solid, found.parts.centre)
    forward, certainty = _facing(found, meshes, axis, lines, look, options)
    placed = _placed(found, forward, certainty, lines, look, options)
    plan = _other_plan(placed, look, up) if options.plan is None else None
    if plan is not None:
        with suppress(GambolError):  # too few limbs stick out of the mesh for that plan
            other = find_body(found.solid, found.up, replace(options, plan=plan))
            lines = Centrelines(other.solid, other.parts.centre)
            again = _placed(other, forward, certainty, lines, look, replace(options, plan=plan))
            gain = (again.agreement or 0.0) - (placed.agreement or 0.0)
            too_many = placed.roles and len(placed.roles.legs) > MOST_PAIRS
            if not other.parts.hidden and (gain > BETTER or (gain >= 0 and too_many)):
                return other, again
    return found, placed


def _other_plan(placed: Placement, look: Look | None, up: Float[np.ndarray, 3]) -> Plan | None:
    """The plan that the network sees, if it has another number of legs than a template sees."""
    guess = look.joints(placed.forward) if look else None
    if guess is None or placed.roles is None:
        return None
    seen = plan_seen(guess, up, placed.forward)
    if seen.legs in (0, len(placed.roles.legs)):
        return None
    wanted = [plan for plan, pairs in LEG_PAIRS.items() if pairs == seen.legs]
    return wanted[-1] if seen.wings else wanted[0]


def finish_joints(name: str, found: Found, placed: Placement, options: RigOptions) -> None:
    """Name the joints as the options ask, and put those by hand where the user wants them."""
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
        size = frame_of(found.solid, direction(found.up), placed.forward).size
        move_joints(layout, options.joints, found.mirror, partners, size)


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
    if look and options.method == "network":
        return look.likely_forward, abs(learned)
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
        layout = learned_skeleton(guess, found.mirror, up, forward)
        symmetric = found.mirror.likeness > SYMMETRIC
        if seen.legs and seen.certainty > LEGS_SEEN and symmetric and _share_inside(layout, found.solid) > INSIDE:
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


def _share_inside(layout: Layout, solid: Solid) -> float:
    """Share of joints that lie in the flesh, tips left out."""
    return float(solid.contains(layout.heads[~np.array(layout.is_tip)]).mean())


def _is_person(layout: Layout) -> bool:
    """Whether it has the legs of who stands upright, and arms."""
    return {"thigh.L", "upper_arm.L"} <= set(layout.names)
