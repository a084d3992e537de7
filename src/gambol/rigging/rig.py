"""`gambol.rig`: a mesh becomes a character with a skeleton and skin weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from gambol.character.anatomy import Anatomy, analyze
from gambol.character.axes import AXES, axis_name
from gambol.character.character import Character, Mesh
from gambol.character.coarse import joined, small_enough
from gambol.character.heat import HeatMethod
from gambol.character.plans import LEG_PAIRS, Plan
from gambol.character.skin import BoundCharacter, baked, bind_mesh
from gambol.character.welding import corners_of
from gambol.errors import GambolError
from gambol.rigging.certainty import SYMMETRIC, Found, notes_on, plan_certainty
from gambol.rigging.curve_skeleton import build_branches
from gambol.rigging.curves import Centrelines
from gambol.rigging.facing import find_forward, toe_vote
from gambol.rigging.joint_names import NameScheme, named_as
from gambol.rigging.joint_positions import (
    JointPositions,
    far_outside,
    joint_positions,
    move_joints,
    partners_of,
    read_joint_positions,
)
from gambol.rigging.layout import Layout
from gambol.rigging.mirror import find_mirror
from gambol.rigging.parts import find_parts
from gambol.rigging.roles import Frame, Roles, frame_of, roles_of
from gambol.rigging.skeletons import build_skeleton
from gambol.rigging.solid import Solid, solid_of
from gambol.text import printable

OnProgress = Callable[[int, int], None]
MOST_ODD, LONG = 3, 0.15
"""Long extremities beyond head and tail that are not in pairs, from which on a body without legs has no plan; and how
long that is [longest sides]."""
FLAT = 1e-3
"""A mesh thinner than this share of its size has no inside."""


@dataclass(frozen=True)
class RigOptions:
    """What the user knows better."""

    plan: Plan | None = None
    up: str | None = None
    """As in '+z'; None: y, unless the mesh stands on legs only when another axis is up."""
    forward: str | None = None
    """As in '+x'; None: found."""
    spine: int | None = None
    """Bones from the hips to the chest."""
    tail: int | None = None
    """Bones of a tail."""
    names: NameScheme = "gambol"
    """Whose names joints get."""
    joints: JointPositions | None = None
    """Joints by hand: some that are moved, or all."""
    weights: HeatMethod = "normals"
    """How bones are chosen that warm the skin; see `gambol.character.heat`."""


@dataclass(frozen=True)
class RiggedMesh:
    """A mesh with its new skeleton, and how sure that is."""

    character: Character
    anatomy: Anatomy
    """As the rest of gambol reads the new skeleton."""
    plan: str
    """In the words of `gambol info`: 'quadruped', 'biped, winged'."""
    plan_certainty: float
    """From 0 to 1."""
    forward: str
    """The axis that it faces."""
    forward_certainty: float
    """From 0, a guess, to 1."""
    joints: int
    notes: tuple[str, ...]
    """What the user should look at."""

    @property
    def sentence(self) -> str:
        """What was made, how sure that is, and what to do if it is wrong."""
        return (
            f"rigged '{printable(self.character.name)}' with {self.joints} joints as {self.plan} "
            f"({self.plan_certainty:.0%} sure) that faces {self.forward} ({self.forward_certainty:.0%} sure); "
            "if that is wrong, run gambol rig with --plan or --forward first"
        )


def is_bare(character: Character) -> bool:
    """Whether a character is a mesh that nothing can move."""
    return not character.can_move and any(len(mesh.faces) for mesh in character.meshes)


def rig(
    character: Character | str | Path,
    *,
    plan: Plan | None = None,
    up: str | None = None,
    forward: str | None = None,
    spine: int | None = None,
    tail: int | None = None,
    names: NameScheme = "gambol",
    joints: str | Path | Mapping[str, Any] | None = None,
    weights: HeatMethod = "normals",
) -> Character:
    """A mesh with a skeleton and skin weights; see `rig_mesh`, which also says how sure it is.

    joints: positions by hand, a .json or .toml file or what it holds; see `gambol.rigging.joint_positions`.
    """
    if joints is None:
        given = None
    else:
        given = joint_positions(joints) if isinstance(joints, Mapping) else read_joint_positions(Path(joints))
    return rig_mesh(character, RigOptions(plan, up, forward, spine, tail, names, given, weights)).character


def rig_mesh(
    character: Character | str | Path, options: RigOptions | None = None, advance: OnProgress | None = None
) -> RiggedMesh:
    """Find the parts of a mesh, put joints where an animator would, and bind the mesh to them with heat weights.

    The pose of the mesh becomes the rest pose. GambolError if the mesh has a skeleton already or no inside.
    """
    options = options or RigOptions()
    mesh = _loaded(character)
    _check(options)
    meshes = baked(mesh)
    if not meshes:
        raise GambolError(f"'{printable(mesh.name)}' has no mesh with faces: there is nothing to rig")
    meshes = small_enough(meshes)
    vertices, faces = joined(meshes)
    _require_inside(mesh.name, vertices, faces)
    if options.joints and options.joints.is_whole:
        return _bound_by_hand(mesh, vertices, options, advance)
    found = find_upright(solid_of(vertices, faces), options)
    layout, roles, forward, certainty = _joints(mesh.name, found, meshes, options)
    bound = _bound(mesh, layout, options, advance)
    sure = 1.0 if options.plan else plan_certainty(found, roles, direction(found.up))
    anatomy = analyze(bound.small, up=found.up)
    notes = [*notes_on(anatomy, found, roles, forward, bool(options.up)), *_outside(options, vertices)]
    plan = roles.plan if roles else "a body without a plan"
    count = sum(not tip for tip in layout.is_tip)
    return RiggedMesh(bound.character, anatomy, plan, sure, axis_name(forward), certainty, count, tuple(notes))


def _joints(
    name: str, found: Found, meshes: list[Mesh], options: RigOptions
) -> tuple[Layout, Roles | None, Float[np.ndarray, 3], float]:
    """Joints, the roles of parts (None without a plan), forward, and how sure that is."""
    solid, up = found.solid, direction(found.up)
    lines = Centrelines(solid, found.parts.centre)
    axis = np.cross(found.mirror.normal, up)
    axis *= 1.0 if axis @ (0.001, 0.0, 1.0) >= 0 else -1.0
    if options.forward:
        forward, certainty = direction(options.forward), 1.0
    else:
        layout, _ = _skeleton(found, axis, lines, options)
        forward, certainty = find_forward(meshes, layout, found.up, axis, toe_vote(solid, found.parts, up, axis))
    size = frame_of(solid, up, forward).size
    roles: Roles | None = None
    if _has_plan(found, options, size):
        layout, roles = _skeleton(found, forward, lines, options)
    else:
        layout = build_branches(found.parts, lines, size)
    partners = partners_of(layout)
    if options.names != "gambol":
        if roles is None or not _is_person(roles):
            raise GambolError(
                f"names of {options.names} are for people, and '{printable(name)}' was taken for "
                f"{roles.plan if roles else 'a body without a plan'}; leave them out, or give the plan biped"
            )
        layout.names = named_as(layout.names, options.names)
    if options.joints:
        move_joints(layout, options.joints, found.mirror, partners, size)
    return layout, roles, forward, certainty


def _bound_by_hand(
    mesh: Character, vertices: Float[np.ndarray, "vertices 3"], options: RigOptions, advance: OnProgress | None
) -> RiggedMesh:
    """The mesh on a skeleton that is the user's own; plan and facing are what the rest of gambol sees in it."""
    assert options.joints is not None
    layout = options.joints.layout()
    bound = _bound(mesh, layout, options, advance)
    anatomy = analyze(bound.small, up=options.up, forward=options.forward, plan=options.plan)
    count = sum(not tip for tip in layout.is_tip)
    facing = axis_name(anatomy.forward), anatomy.certainty
    return RiggedMesh(bound.character, anatomy, anatomy.plan, 1.0, *facing, count, _outside(options, vertices))


def _bound(mesh: Character, layout: Layout, options: RigOptions, advance: OnProgress | None) -> BoundCharacter:
    """The mesh with heat weights on new joints."""
    bare = Character(mesh.name, layout.skeleton(), (), np.zeros(0, np.int64), np.zeros((0, 4, 4)))
    return bind_mesh(mesh, bare, advance=advance, method=options.weights)


def _outside(options: RigOptions, vertices: Float[np.ndarray, "vertices 3"]) -> tuple[str, ...]:
    """A note on joints by hand that are likely in other units than the mesh."""
    names = far_outside(options.joints, vertices) if options.joints else []
    if not names:
        return ()
    listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return (f"{len(names)} joint(s) by hand are far outside of the mesh ({listed}): are they in its units and axes?",)


def direction(axis: str) -> Float[np.ndarray, 3]:
    """The unit vector of an axis, as '+y' names it."""
    return np.array(dict(AXES)[axis], float)  # type: ignore[index]


def _loaded(character: Character | str | Path) -> Character:
    if not isinstance(character, Character):
        from gambol.formats import load

        character = load(character)
    if character.skeleton.is_joint.any():
        raise GambolError(
            f"'{printable(character.name)}' has a skeleton already, of {int(character.skeleton.is_joint.sum())} joints"
        )
    return character


def _check(options: RigOptions) -> None:
    for name, choice in (("up", options.up), ("forward", options.forward)):
        if choice is not None and choice not in AXES:
            raise GambolError(f"{name} must be one of {', '.join(AXES)}, got {printable(choice)[:40]!r}")
    if options.up and options.forward and options.up[1] == options.forward[1]:
        raise GambolError(f"up {options.up} and forward {options.forward} must be different axes")
    if options.plan is not None and options.plan not in LEG_PAIRS:
        raise GambolError(f"a plan must be one of {', '.join(LEG_PAIRS)}, got {printable(options.plan)[:40]!r}")
    placed = options.spine is not None or options.tail is not None or options.names != "gambol"
    if placed and options.joints and options.joints.is_whole:
        raise GambolError("spine, tail and names are for joints that gambol places; the file of joints gives all")


def _require_inside(name: str, vertices: Float[np.ndarray, "vertices 3"], faces: Int[np.ndarray, "faces 3"]) -> None:
    """Refuse what is flat: bones have to lie inside."""
    used = vertices[corners_of(faces)]
    if not np.isfinite(used).all():
        raise GambolError(f"'{printable(name)}' has vertices that are NaN or infinite; repair the mesh first")
    size = max(float(np.ptp(used, axis=0).max()), 1e-30)
    about = (used - used.mean(0)) / size
    if np.linalg.eigvalsh(about.T @ about / len(about))[0] < FLAT**2:
        raise GambolError(f"'{printable(name)}' is flat: a skeleton needs a body with an inside")


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


def _skeleton(
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


def _is_person(roles: Roles) -> bool:
    """Whether it has two legs and two arms."""
    return roles.plan == "biped" and roles.upright and roles.arms is not None
