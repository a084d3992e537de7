"""`gambol.rig`: a mesh becomes a character with a skeleton and skin weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from gambol.character.anatomy import Anatomy, analyze
from gambol.character.axes import AXES, axis_name
from gambol.character.character import Character, Mesh
from gambol.character.plans import LEG_PAIRS, Plan
from gambol.character.skin import baked, bind_mesh
from gambol.errors import GambolError
from gambol.rigging.curve_skeleton import build_branches
from gambol.rigging.curves import Centrelines
from gambol.rigging.facing import find_forward, toe_vote
from gambol.rigging.joint_names import NameScheme, named_as
from gambol.rigging.layout import Layout
from gambol.rigging.mirror import MirrorPlane, find_mirror
from gambol.rigging.parts import Parts, find_parts
from gambol.rigging.roles import Frame, Roles, frame_of, roles_of
from gambol.rigging.skeletons import build_skeleton
from gambol.rigging.solid import Solid, solid_of
from gambol.text import printable

OnProgress = Callable[[int, int], None]
SYMMETRIC = 0.6
"""Below this likeness of its halves a mesh has no mirror plane worth the name."""
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


@dataclass(frozen=True)
class _Found:
    """A solid with what sticks out of it, for one axis up."""

    up: str
    mirror: MirrorPlane
    parts: Parts


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
) -> Character:
    """A mesh with a skeleton and skin weights; see `rig_mesh`, which also says how sure it is."""
    return rig_mesh(character, RigOptions(plan, up, forward, spine, tail, names)).character


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
    vertices, faces = _all_faces(meshes)
    _require_inside(mesh.name, vertices, faces)
    solid = solid_of(vertices, faces)
    found = _upright(solid, options)
    up = direction(found.up)
    lines = Centrelines(solid, found.parts.centre)
    axis = np.cross(found.mirror.normal, up)
    axis *= 1.0 if axis @ (0.001, 0.0, 1.0) >= 0 else -1.0
    if options.forward:
        forward, certainty = direction(options.forward), 1.0
    else:
        layout, _ = _skeleton(solid, found, axis, lines, options)
        forward, certainty = find_forward(meshes, layout, found.up, axis, toe_vote(solid, found.parts, up, axis))
    size = frame_of(solid, up, forward).size
    if _has_plan(found, options, size):
        layout, roles = _skeleton(solid, found, forward, lines, options)
    else:
        layout, roles = build_branches(found.parts, lines, size), None
    joints = sum(not tip for tip in layout.is_tip)
    if options.names != "gambol":
        if roles is None or not _is_person(roles):
            raise GambolError(
                f"names of {options.names} are for people, and '{printable(mesh.name)}' was taken for "
                f"{roles.plan if roles else 'a body without a plan'}; leave them out, or give the plan biped"
            )
        layout.names = named_as(layout.names, options.names)
    bare = Character(mesh.name, layout.skeleton(), (), np.zeros(0, np.int64), np.zeros((0, 4, 4)))
    bound = bind_mesh(replace(mesh, warnings=()), bare, advance=advance)
    plan_certainty = 1.0 if options.plan else _plan_certainty(found, roles, solid, up)
    rigged = replace(bound.character, warnings=(*mesh.warnings, *bound.character.warnings))
    anatomy = analyze(rigged, up=found.up)
    notes = _notes(anatomy, found, roles, solid, forward, options)
    plan = roles.plan if roles else "a body without a plan"
    return RiggedMesh(rigged, anatomy, plan, plan_certainty, axis_name(forward), certainty, joints, notes)


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


def _all_faces(meshes: list[Mesh]) -> tuple[Float[np.ndarray, "vertices 3"], Int[np.ndarray, "faces 3"]]:
    starts = np.cumsum([0, *(len(mesh.positions) for mesh in meshes)])
    faces = [mesh.faces + start for mesh, start in zip(meshes, starts[:-1], strict=True)]
    return np.concatenate([mesh.positions for mesh in meshes]), np.concatenate(faces)


def _require_inside(name: str, vertices: Float[np.ndarray, "vertices 3"], faces: Int[np.ndarray, "faces 3"]) -> None:
    """Refuse what is flat: bones have to lie inside."""
    used = vertices[np.unique(faces)]
    if not np.isfinite(used).all():
        raise GambolError(f"'{printable(name)}' has vertices that are NaN or infinite; repair the mesh first")
    spread = np.linalg.svd(used - used.mean(0), compute_uv=False) / len(used) ** 0.5
    if len(spread) < 3 or spread[2] < FLAT * max(float(np.ptp(used, axis=0).max()), 1e-30):
        raise GambolError(f"'{printable(name)}' is flat: a skeleton needs a body with an inside")


def _upright(solid: Solid, options: RigOptions) -> _Found:
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


def _find(solid: Solid, up: str, options: RigOptions) -> _Found:
    upward = direction(up)
    across = np.cross(upward, direction(options.forward)) if options.forward else None
    mirror = find_mirror(solid, upward, across)
    return _Found(up, mirror, find_parts(solid, mirror, upward, options.plan))


def _skeleton(
    solid: Solid, found: _Found, forward: Float[np.ndarray, 3], lines: Centrelines, options: RigOptions
) -> tuple[Layout, Roles]:
    frame: Frame = frame_of(solid, direction(found.up), forward)
    roles = roles_of(solid, found.mirror, found.parts, frame)
    return build_skeleton(solid, found.mirror, found.parts, roles, frame, lines, options.spine, options.tail), roles


def _has_plan(found: _Found, options: RigOptions, size: float) -> bool:
    """Whether it stands on legs, or is one long thing with fins or wings, rather than something with many branches."""
    parts = found.parts
    if parts.legs or options.plan:
        return True
    odd = [part for part in (*parts.middle, *parts.single) if part.length > LONG * size]
    return found.mirror.likeness > SYMMETRIC and len(odd) - 2 < MOST_ODD


def _is_person(roles: Roles) -> bool:
    """Whether it has two legs and two arms."""
    return roles.plan == "biped" and roles.upright and roles.arms is not None


def _plan_certainty(found: _Found, roles: Roles | None, solid: Solid, up: Float[np.ndarray, 3]) -> float:
    """How far the shortest leg is from none at all, and how alike the halves are."""
    alike = float(np.clip((found.mirror.likeness - 0.5) / 0.4, 0.1, 1))
    if roles is None:
        return 0.3
    if not roles.legs:
        return 0.7 * alike
    height = float(np.ptp(solid.points @ up))
    if found.parts.hidden:
        return 0.4 * alike
    shortest = min(leg.length for leg in roles.legs) / height
    return alike * float(np.clip(0.5 + shortest / 0.4, 0.5, 0.95))


def _notes(
    seen: Anatomy,
    found: _Found,
    roles: Roles | None,
    solid: Solid,
    forward: Float[np.ndarray, 3],
    options: RigOptions,
) -> tuple[str, ...]:
    notes = []
    if found.up != "+y" and not options.up:
        notes.append(f"it stands with {found.up} up; give --up if it does not")
    if found.mirror.likeness < SYMMETRIC:
        notes.append("its left and right halves differ: look at the joints with --picture")
    if found.parts.hidden:
        notes.append("its legs touch each other or are hidden, and were put in by guess")
    if roles is None:
        notes.append("it has no body plan that gambol knows: its bones follow its branches; give --plan if it has one")
    elif found.parts.single:
        notes.append(f"{len(found.parts.single)} part(s) without a mirror image got no joints, such as a weapon")
    if solid.floating:
        notes.append(f"{solid.floating} piece(s) far from the body follow the nearest bone")
    if roles and (seen.plan != roles.plan or seen.forward @ forward < 0.9):
        notes.append(
            f"gambol reads the new skeleton as {seen.plan} that faces {axis_name(seen.forward)}; "
            f"give --plan and --forward to other commands as well"
        )
    return tuple(notes)
